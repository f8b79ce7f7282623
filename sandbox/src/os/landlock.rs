//! Landlock: three system calls.

use std::{
    io,
    os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd},
    ptr,
};

use super::check;

/// Rights of files and directories, as Landlock counts them.
pub(crate) mod right {
    pub(crate) const EXECUTE: u64 = 1;
    pub(crate) const WRITE_FILE: u64 = 1 << 1;
    pub(crate) const READ_FILE: u64 = 1 << 2;
    pub(crate) const READ_DIR: u64 = 1 << 3;
    pub(crate) const MAKE_CHAR: u64 = 1 << 6;
    pub(crate) const MAKE_BLOCK: u64 = 1 << 11;
    pub(crate) const TRUNCATE: u64 = 1 << 14;
    pub(crate) const IOCTL_DEVICE: u64 = 1 << 15;
    /// Rights that can be granted for a file.
    pub(crate) const OF_FILES: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEVICE;
}

/// Rights that every version from 3 on has; 5 adds the last one.
const RIGHTS: u64 = right::IOCTL_DEVICE - 1;

/// From version 4 on: binding TCP sockets to ports, connecting them to ports.
const BIND: u64 = 1;
const CONNECT: u64 = 1 << 1;

/// From version 6 on: connections to abstract Unix sockets and signals stay inside.
const SCOPES: u64 = 3;

/// Version of Landlock's interface, or why there is none.
pub(crate) fn landlock_abi() -> io::Result<u32> {
    let (none, size) = (ptr::null::<u64>(), 0_usize);
    // SAFETY: a question for the version takes no structure.
    let version = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, none, size, 1) };
    check(version).map(|version| u32::try_from(version).unwrap_or(0))
}

/// Rules that permit access to what is below a directory, and nothing else.
#[derive(Debug)]
pub(crate) struct Ruleset {
    descriptor: OwnedFd,
    handled: u64,
}

impl Ruleset {
    /// Rules of this version of the interface, which is 3 or later. With a port, no other one can be connected to by TCP,
    /// and none can be bound, as far as the version knows ports.
    pub(crate) fn new(abi: u32, port: Option<u16>) -> io::Result<Self> {
        let port = port.filter(|_| abi >= 4);
        let handled = if abi >= 5 { RIGHTS | right::IOCTL_DEVICE } else { RIGHTS };
        let ports = port.map_or(0, |_| BIND | CONNECT);
        // Files, ports of TCP, scopes: `struct landlock_ruleset_attr`. Older kernels take zeros behind what they know.
        let attributes = [handled, ports, if abi >= 6 { SCOPES } else { 0 }];
        // SAFETY: the structure is initialized and has this size.
        let descriptor = check(unsafe {
            libc::syscall(
                libc::SYS_landlock_create_ruleset,
                &raw const attributes,
                size_of_val(&attributes),
                0,
            )
        })?;
        let descriptor = i32::try_from(descriptor).map_err(io::Error::other)?;
        // SAFETY: it is new.
        let rules = Self { descriptor: unsafe { OwnedFd::from_raw_fd(descriptor) }, handled };
        port.map_or(Ok(()), |port| rules.permit_port(port))?;
        Ok(rules)
    }

    /// Permits connections to a port.
    fn permit_port(&self, port: u16) -> io::Result<()> {
        // Rights and port: `struct landlock_net_port_attr`.
        let rule = [CONNECT, u64::from(port)];
        // SAFETY: a structure of type 2.
        let result = unsafe {
            libc::syscall(
                libc::SYS_landlock_add_rule,
                self.descriptor.as_raw_fd(),
                2,
                &raw const rule,
                0,
            )
        };
        check(result).map(drop)
    }

    /// Permits these rights for a file, or for a directory and everything below it.
    pub(crate) fn permit(&self, path: impl AsFd, rights: u64) -> io::Result<()> {
        #[repr(C, packed)]
        struct Below {
            rights: u64,
            path: i32,
        }
        let below = Below { rights: rights & self.handled, path: path.as_fd().as_raw_fd() };
        // SAFETY: a `struct landlock_path_beneath_attr`, of type 1.
        let result = unsafe {
            libc::syscall(
                libc::SYS_landlock_add_rule,
                self.descriptor.as_raw_fd(),
                1,
                &raw const below,
                0,
            )
        };
        check(result).map(drop)
    }

    /// Restricts this process and its descendants. It needs `no_new_privs`.
    pub(crate) fn restrict(&self) -> io::Result<()> {
        // SAFETY: this call takes numbers only.
        let result = unsafe {
            libc::syscall(libc::SYS_landlock_restrict_self, self.descriptor.as_raw_fd(), 0)
        };
        check(result).map(drop)
    }
}
