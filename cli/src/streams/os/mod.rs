//! Inspects the standard streams before the standard library replaces those that are closed.
#![cfg_attr(
    unix,
    expect(
        unsafe_code,
        reason = "this has to run before `main`, and to look at a descriptor that may be closed"
    )
)]

#[cfg(unix)]
pub(super) use unix::{stdin_is_unusable, stdout_is_closed, stdout_is_unusable};

/// On this system, the standard library treats a missing handle as an empty input.
#[cfg(not(unix))]
pub(super) fn stdin_is_unusable() -> bool {
    false
}

/// On this system, writes to a missing handle fail.
#[cfg(not(unix))]
pub(super) fn stdout_is_unusable() -> bool {
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

    static STDIN_IS_UNUSABLE: AtomicBool = AtomicBool::new(false);
    static STDOUT_IS_UNUSABLE: AtomicBool = AtomicBool::new(false);

    // The same numbers on all systems.
    const GET_MODE: c_int = 3;
    const MODES: c_int = 3;
    const READ_ONLY: c_int = 0;
    const WRITE_ONLY: c_int = 1;

    unsafe extern "C" {
        fn fcntl(descriptor: c_int, command: c_int, ...) -> c_int;
    }

    #[used]
    #[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
    #[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
    static BEFORE_MAIN: extern "C" fn() = look;

    extern "C" fn look() {
        let is_unusable = |descriptor: c_int, wrong: c_int| {
            // SAFETY: the command (`F_GETFL`) takes no argument and changes nothing; a closed descriptor is an error that it
            // returns.
            let mode = unsafe { fcntl(descriptor, GET_MODE) };
            mode < 0 || mode & MODES == wrong
        };
        STDIN_IS_UNUSABLE.store(is_unusable(0, WRITE_ONLY), Ordering::Relaxed);
        STDOUT_IS_UNUSABLE.store(is_unusable(1, READ_ONLY), Ordering::Relaxed);
    }

    pub(crate) fn stdin_is_unusable() -> bool {
        STDIN_IS_UNUSABLE.load(Ordering::Relaxed)
    }

    pub(crate) fn stdout_is_unusable() -> bool {
        STDOUT_IS_UNUSABLE.load(Ordering::Relaxed)
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
