//! What the system lets a process use.

use super::os;

/// Limits that the system enforces on a process, and on each of those it starts in turn by itself. `None` leaves a limit as it
/// is for this process; a limit that is stricter already stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Resources {
    /// Bytes of memory it may write to: heap, stacks of threads, and other private mappings. On Linux that is `RLIMIT_DATA`,
    /// because `RLIMIT_AS` would also count the gigabytes of addresses that V8, Go and allocators reserve and never use.
    /// Other systems only have `RLIMIT_AS` for what allocators use.
    pub memory: Option<u64>,
    /// Seconds of processor time: when they are used up it gets `SIGXCPU`, and if it goes on, `SIGKILL` a second later.
    pub cpu: Option<u64>,
    /// Files it may have open at a time, with its standard streams.
    pub open_files: Option<u64>,
}

impl Resources {
    /// Whether nothing is limited.
    #[must_use]
    pub fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a process that ended with this code was told that its processor time is used up. The code of a signal is its
    /// negative number, or, as shells hand it on, 128 more than it.
    #[must_use]
    pub fn cpu_is_over(&self, code: i32) -> bool {
        self.cpu.is_some() && is_of(os::CPU_TIME_IS_OVER, code)
    }

    /// Whether a process that ended with this code was killed, which limits do as a last resort, and not only they.
    #[must_use]
    pub fn may_have_killed(&self, code: i32) -> bool {
        !self.is_unlimited() && is_of(os::KILLED, code)
    }
}

fn is_of(signal: Option<i32>, code: i32) -> bool {
    signal.is_some_and(|signal| {
        Some(code) == signal.checked_neg() || Some(code) == signal.checked_add(128)
    })
}
