//! System calls of Linux without a safe interface.

#![expect(unsafe_code, reason = "rustix has no safe interface for these")]

mod landlock;

use std::{
    io, mem,
    os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd},
    ptr,
};

use rustix::{
    process::{Pid, Signal},
    thread::UnshareFlags,
};

pub(crate) use landlock::{Ruleset, landlock_abi, right};

use crate::filter::Instruction;

fn check(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Ends this process without running destructors.
pub(crate) fn exit(code: i32) -> ! {
    // SAFETY: this has no preconditions.
    unsafe { libc::_exit(code) }
}

/// Returns the id of the child, or `None` in the child.
///
/// The caller has no other thread: a child of several would have only this one, and the locks of all.
pub(crate) fn fork() -> io::Result<Option<Pid>> {
    // SAFETY: the helper starts no thread.
    let id = unsafe { libc::fork() };
    check(id.into()).map(|_| Pid::from_raw(id))
}

/// Moves this process into new namespaces; its children, with `NEWPID`.
pub(crate) fn unshare(namespaces: UnshareFlags) -> io::Result<()> {
    // SAFETY: only flags of namespaces are used, which leave memory and descriptors alone.
    Ok(unsafe { rustix::thread::unshare_unsafe(namespaces) }?)
}

/// Attributes of a mount.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MountAttributes(u64);

impl MountAttributes {
    pub(crate) const READ_ONLY: Self = Self(libc::MOUNT_ATTR_RDONLY | Self::WRITABLE.0);
    pub(crate) const WRITABLE: Self = Self(libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV);
    pub(crate) const NO_WRITES: Self = Self(libc::MOUNT_ATTR_RDONLY);
    /// Devices can be written to nevertheless; only their attributes cannot be changed.
    pub(crate) const DEVICE: Self =
        Self(libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NOEXEC);
}

/// Adds attributes to the mount of this directory or file, and with `recursive` to those below it.
pub(crate) fn set_mount_attributes(
    mount: impl AsFd,
    attributes: MountAttributes,
    recursive: bool,
) -> io::Result<()> {
    let attributes = [attributes.0, 0, 0, 0];
    let flags = libc::AT_EMPTY_PATH | if recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path is empty, and the attributes are a `struct mount_attr` of four numbers.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_fd().as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const attributes,
            size_of_val(&attributes),
        )
    };
    check(result).map(drop)
}

/// Kills every other process of the PID namespace whose process 1 this is.
pub(crate) fn kill_namespace() {
    // SAFETY: this process sees no others, and the signal does not reach process 1. It fails where there are no others.
    unsafe { libc::kill(-1, libc::SIGKILL) };
}

/// Lets `exec` close every descriptor from 3 on.
pub(crate) fn close_at_exec() -> io::Result<()> {
    let flags = libc::CLOSE_RANGE_CLOEXEC;
    // SAFETY: nothing is closed now.
    check(unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, flags) }).map(drop)
}

/// Closes every descriptor from 3 on. The helper does so first: what the host left open is not for it.
pub(crate) fn close_inherited() -> io::Result<()> {
    // SAFETY: nothing is open yet that this process has opened.
    check(unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) }).map(drop)
}

/// Closes the standard streams, so that their other ends see when the program closes them.
pub(crate) fn close_standard_streams() {
    for descriptor in 0..3 {
        // SAFETY: the helper neither reads nor writes them after this, and opens nothing.
        unsafe { libc::close(descriptor) };
    }
}

/// More capabilities than there can be: they are bits of a number.
const CAPABILITIES: libc::c_ulong = 64;

/// Takes all capabilities from this process, its descendants and the programs that they execute. It needs `no_new_privs`:
/// without it, programs could gain what a user without privileges cannot drop here.
pub(crate) fn drop_capabilities() -> io::Result<()> {
    for capability in 0..CAPABILITIES {
        let none: libc::c_ulong = 0;
        // SAFETY: this call takes numbers only.
        if unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, none, none, none) } < 0 {
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                // One more than the last capability; or none to drop others with.
                Some(libc::EINVAL) if capability > 0 => break,
                Some(libc::EPERM) => break,
                _ => return Err(error),
            }
        }
    }
    rustix::thread::clear_ambient_capability_set()?;
    rustix::thread::set_capabilities(None, none())?;
    Ok(())
}

fn none() -> rustix::thread::CapabilitySets {
    let empty = rustix::thread::CapabilitySet::empty();
    rustix::thread::CapabilitySets { effective: empty, permitted: empty, inheritable: empty }
}

/// Brings up the loopback interface of this network namespace. `socket` is any socket of the namespace for IPv4.
pub(crate) fn bring_up_loopback(socket: impl AsFd) -> io::Result<()> {
    let socket = socket.as_fd().as_raw_fd();
    // SAFETY: all zeros are a valid `struct ifreq`, in which both calls find a name that ends with a zero. The second one
    // gets the flags that the first one has filled in.
    let result = unsafe {
        let mut request: libc::ifreq = mem::zeroed();
        for (place, byte) in request.ifr_name.iter_mut().zip(*b"lo") {
            *place = byte as libc::c_char;
        }
        check(libc::ioctl(socket, libc::SIOCGIFFLAGS as _, &raw mut request).into())?;
        request.ifr_ifru.ifru_flags |= libc::IFF_UP as libc::c_short;
        libc::ioctl(socket, libc::SIOCSIFFLAGS as _, &raw const request)
    };
    check(result.into()).map(drop)
}

/// Installs the filter for this process and its descendants. It needs `no_new_privs`.
pub(crate) fn install_filter(program: &[Instruction]) -> io::Result<()> {
    let length = u16::try_from(program.len()).map_err(io::Error::other)?;
    let program = libc::sock_fprog { len: length, filter: program.as_ptr().cast_mut().cast() };
    // SAFETY: `Instruction` is a `struct sock_filter`, and the kernel only reads it.
    let result = unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program)
    };
    check(result).map(drop)
}

/// Signals that the helper ignores: those that ask a process to end are for the program, and a report that cannot be
/// written must not end the helper.
const IGNORED: [libc::c_int; 3] = [libc::SIGTERM, libc::SIGINT, libc::SIGPIPE];

/// Takes over the signals of this process: ignores those of [`IGNORED`], gives all others their default actions, and blocks
/// only `CHLD`. The descriptor can be read when a child has ended.
///
/// Ignored signals are inherited: a host that was started in the background ignores `INT`, and one that ignores
/// `CHLD` would take the status of the children away.
pub(crate) fn take_signals() -> io::Result<OwnedFd> {
    // SAFETY: all zeros are a valid set of signals, and no call keeps a pointer.
    unsafe {
        reset_signals()?;
        for signal in IGNORED {
            libc::signal(signal, libc::SIG_IGN);
        }
        let mut child: libc::sigset_t = mem::zeroed();
        libc::sigemptyset(&raw mut child);
        libc::sigaddset(&raw mut child, libc::SIGCHLD);
        check(libc::sigprocmask(libc::SIG_SETMASK, &raw const child, ptr::null_mut()).into())?;
        let descriptor =
            libc::signalfd(-1, &raw const child, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        check(descriptor.into())?;
        Ok(OwnedFd::from_raw_fd(descriptor))
    }
}

/// Gives all signals their default actions, and blocks none.
pub(crate) fn reset_signals() -> io::Result<()> {
    // SAFETY: all zeros are a valid set of signals, and no call keeps a pointer.
    unsafe {
        // It fails for numbers that are not signals, and for those that always have their default action.
        for signal in 1..=libc::SIGRTMAX() {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut none: libc::sigset_t = mem::zeroed();
        libc::sigemptyset(&raw mut none);
        check(libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut()).into())?;
    }
    Ok(())
}

/// Ends this process by a signal, without a core dump.
pub(crate) fn die_of(signal: i32) -> ! {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structures are initialized, and no call keeps a pointer.
    unsafe {
        libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
        libc::signal(signal, libc::SIG_DFL);
        let mut only: libc::sigset_t = mem::zeroed();
        libc::sigemptyset(&raw mut only);
        libc::sigaddset(&raw mut only, signal);
        libc::sigprocmask(libc::SIG_UNBLOCK, &raw const only, ptr::null_mut());
        libc::kill(libc::getpid(), signal);
    }
    exit(128 + signal)
}

/// The signal that cannot be caught.
pub(crate) const KILL: i32 = Signal::KILL.as_raw();
