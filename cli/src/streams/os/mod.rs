//! Inspects the standard streams before the standard library replaces those that are closed.
#![cfg_attr(
    unix,
    expect(
        unsafe_code,
        reason = "this has to run before `main`, and to look at a descriptor that may be closed"
    )
)]

#[cfg(unix)]
pub(super) use unix::{stdout_is_closed, stdout_was_closed};

/// On this system, writes to a missing handle fail.
#[cfg(not(unix))]
pub(super) fn stdout_was_closed() -> bool {
    false
}

/// On this system, a reader that is gone is noticed by the next write.
#[cfg(not(unix))]
pub(super) fn stdout_is_closed() -> bool {
    false
}

#[cfg(unix)]
mod unix {
    use std::{
        ffi::c_int,
        sync::atomic::{AtomicBool, Ordering},
    };

    use rustix::{
        event::{PollFd, PollFlags, poll},
        io::Errno,
    };

    static STDOUT_WAS_CLOSED: AtomicBool = AtomicBool::new(false);

    /// `F_GETFD`, the same number on all systems.
    const GET_FLAGS: c_int = 1;

    const STDOUT: c_int = 1;

    unsafe extern "C" {
        fn fcntl(descriptor: c_int, command: c_int, ...) -> c_int;
    }

    #[used]
    #[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
    #[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
    static BEFORE_MAIN: extern "C" fn() = look;

    extern "C" fn look() {
        // SAFETY: the command takes no argument and changes nothing; a closed descriptor is an error that it returns.
        let flags = unsafe { fcntl(STDOUT, GET_FLAGS) };
        STDOUT_WAS_CLOSED.store(flags < 0, Ordering::Relaxed);
    }

    pub(crate) fn stdout_was_closed() -> bool {
        STDOUT_WAS_CLOSED.load(Ordering::Relaxed)
    }

    /// Waits until the reader of stdout is gone. Returns false if that cannot be known.
    pub(crate) fn stdout_is_closed() -> bool {
        let stdout = std::io::stdout();
        loop {
            // Nothing is asked for: errors are reported in any case.
            let mut watched = [PollFd::new(&stdout, PollFlags::empty())];
            match poll(&mut watched, None) {
                Ok(_) => {
                    let found = watched[0].revents();
                    return found.intersects(PollFlags::ERR | PollFlags::HUP);
                }
                Err(Errno::INTR) => {}
                Err(_) => return false,
            }
        }
    }
}
