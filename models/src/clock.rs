//! Time as the broker sees it, and cancellation.

use std::{
    fmt::Debug,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Locks a mutex. A panic of another thread leaves counters as they were before or after one step, so they can be used.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Source of time and of randomness.
pub trait Clock: Send + Sync + Debug {
    /// Time since an arbitrary origin.
    fn now(&self) -> Duration;

    /// Waits, at most until the calls are cancelled.
    fn wait(&self, duration: Duration, cancel: &Cancel);

    /// Random number from 0 to 1, for the jitter of waits.
    fn jitter(&self) -> f64;
}

/// Time of the system.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock(Instant);

impl Default for SystemClock {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn wait(&self, duration: Duration, cancel: &Cancel) {
        let (mutex, changed) = &*cancel.0;
        let guard = lock(mutex);
        let waited = changed.wait_timeout_while(guard, duration, |is_cancelled| !*is_cancelled);
        drop(waited);
    }

    fn jitter(&self) -> f64 {
        fastrand::f64()
    }
}

/// Time that passes only by waits, for tests. Waits return at once and are recorded; there is no jitter.
#[derive(Clone, Debug, Default)]
pub struct VirtualClock(Arc<Mutex<(Duration, Vec<Duration>)>>);

impl VirtualClock {
    /// Waits so far, in order.
    pub fn waits(&self) -> Vec<Duration> {
        lock(&self.0).1.clone()
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Duration {
        lock(&self.0).0
    }

    fn wait(&self, duration: Duration, cancel: &Cancel) {
        if !cancel.is_cancelled() {
            let mut state = lock(&self.0);
            state.0 = state.0.saturating_add(duration);
            state.1.push(duration);
        }
    }

    fn jitter(&self) -> f64 {
        1.0
    }
}

/// Ends waiting calls, from any thread.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<(Mutex<bool>, Condvar)>);

impl Cancel {
    /// Sends no further call. Waiting calls end with an error; a call in flight is not interrupted.
    pub fn cancel(&self) {
        *lock(&self.0.0) = true;
        self.0.1.notify_all();
    }

    /// Returns true after [`cancel`](Self::cancel).
    pub fn is_cancelled(&self) -> bool {
        *lock(&self.0.0)
    }
}
