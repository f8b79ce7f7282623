//! Which system calls a contained program may make.
//!
//! Everything is permitted but a list: a list of permitted calls breaks programs with every new C library.

mod docker;
mod program;
mod table;

pub use docker::docker_profile;
#[cfg(target_os = "linux")]
pub(crate) use program::{Instruction, Network, Rules, program};

/// `EPERM`, on every system.
const NOT_PERMITTED: u32 = 1;

/// `ENOSYS` of Linux, on every system.
const NOT_IMPLEMENTED: u32 = 38;

/// `EOPNOTSUPP` of Linux, on every system.
const NOT_SUPPORTED: u32 = 95;

/// Address families of Linux.
const AF_UNIX: u32 = 1;
const AF_INET: u32 = 2;
const AF_INET6: u32 = 10;

/// Arguments of TCP sockets: the type, and the numbers of the protocol. The other bits of a type are flags.
const SOCK_STREAM: u32 = 1;
const TYPES: u32 = 0xf;
const TCP: [u32; 2] = [0, 6];

/// Flags of `clone` that make namespaces. The lowest one (`CLONE_NEWTIME`) is a signal number for `clone`.
const NEW_NAMESPACE: [u32; 7] = [
    0x0002_0000, // mount
    0x0200_0000, // cgroup
    0x0400_0000, // UTS
    0x0800_0000, // IPC
    0x1000_0000, // user
    0x2000_0000, // PID
    0x4000_0000, // network
];

/// Commands of `fcntl` that make other processes wait when they open a file, and that report what happens in a
/// directory: `F_SETLEASE`, `F_NOTIFY`, `F_SETDELEG`.
const LEASES: [u32; 3] = [1024, 1026, 1040];

/// Requests of `ioctl` that type into a terminal: `TIOCSTI`, `TIOCLINUX`.
const TERMINAL_INPUT: [u32; 2] = [0x5412, 0x541c];

/// `MAP_SHARED` with `MAP_ANONYMOUS`: memory that no limit counts.
const SHARED_ANONYMOUS: u32 = 0x21;

/// `MAP_GROWSDOWN`: memory that counts as a stack, which the limit of memory leaves out.
const GROWS_DOWN: u32 = 0x100;
