//! Limits of resources.

/// Limits that the system enforces on a process, and on each of its child processes separately. `None` inherits the
/// limit of this process; a stricter inherited limit stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Resources {
    /// Bytes of writable memory: heap, stacks of threads, and other private mappings. On Linux this is `RLIMIT_DATA`,
    /// because `RLIMIT_AS` would also count the gigabytes of addresses that V8, Go and allocators reserve and never
    /// use. Other systems use `RLIMIT_AS`.
    pub memory: Option<u64>,
    /// Seconds of processor time: after them it gets `SIGXCPU`, and a second later `SIGKILL`.
    pub cpu: Option<u64>,
    /// Number of open files, including the standard streams.
    pub open_files: Option<u64>,
}

impl Resources {
    /// Returns true if nothing is limited.
    pub fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }
}
