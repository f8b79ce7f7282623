//! One queue per server and key: how many calls are in flight, and when the next may be sent.

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, PoisonError},
    time::Duration,
};

use crate::{Cancel, Clock, ErrorKind, ModelError, clock::lock};

/// Interval in which a waiting call looks whether it was cancelled.
const LOOK: Duration = Duration::from_millis(100);
const MINUTE: Duration = Duration::from_secs(60);
/// Least number of calls in flight at the beginning, if the limit adapts.
const FIRST_LIMIT: usize = 4;

/// Returns the number of calls in flight at the beginning.
fn first_limit(settings: &Concurrency) -> usize {
    let max = settings.max.max(1);
    if settings.adaptive { FIRST_LIMIT.max(max / 2).min(max) } else { max }
}

/// Number and rate of calls to one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Concurrency {
    /// Maximum number of calls in flight.
    pub max: usize,
    /// Whether the limit starts at half of the maximum (at least 4) and is halved if the server is overloaded. Until then
    /// it grows by one with each good answer, so that it doubles in the time of a call; afterwards by one with as many good
    /// answers as the limit.
    pub adaptive: bool,
    /// Maximum number of requests in a minute.
    pub requests_per_minute: Option<u64>,
    /// Number of tokens in the last minute from which on calls wait.
    pub tokens_per_minute: Option<u64>,
}

impl Default for Concurrency {
    fn default() -> Self {
        Self { max: 8, adaptive: true, requests_per_minute: None, tokens_per_minute: None }
    }
}

#[derive(Debug)]
struct State {
    settings: Concurrency,
    in_flight: usize,
    limit: usize,
    /// Good answers since the limit changed.
    good: usize,
    /// Number of times that the limit was halved. A call halves it only if no other did since the call was sent.
    wave: u64,
    held_until: Duration,
    stopped: Option<ModelError>,
    /// Times of requests and tokens of answers in the last minute.
    sent: VecDeque<Duration>,
    tokens: VecDeque<(Duration, u64)>,
}

impl State {
    /// Returns the time until the rate permits another request.
    fn wait_for_rate(&mut self, now: Duration) -> Duration {
        let is_over = |time: Duration| time.saturating_add(MINUTE) <= now;
        let left = |time: Duration| time.saturating_add(MINUTE).saturating_sub(now);
        let mut wait = Duration::ZERO;
        if let Some(most) = self.settings.requests_per_minute {
            while self.sent.front().is_some_and(|time| is_over(*time)) {
                self.sent.pop_front();
            }
            if self.sent.len() as u64 >= most.max(1) {
                wait = self.sent.front().map(|time| left(*time)).unwrap_or_default();
            }
        }
        if let Some(most) = self.settings.tokens_per_minute {
            while self.tokens.front().is_some_and(|(time, _)| is_over(*time)) {
                self.tokens.pop_front();
            }
            let sum = self.tokens.iter().fold(0_u64, |sum, (_, it)| sum.saturating_add(*it));
            if sum >= most.max(1) {
                let first = self.tokens.front().map(|(time, _)| left(*time)).unwrap_or_default();
                wait = wait.max(first);
            }
        }
        wait
    }
}

#[derive(Debug)]
pub(crate) struct Queue {
    state: Mutex<State>,
    freed: Condvar,
}

/// Right to send one request.
#[derive(Debug)]
pub(crate) struct Permit<'a> {
    queue: &'a Queue,
    wave: u64,
}

impl Queue {
    pub(crate) fn new(settings: Concurrency) -> Self {
        let limit = first_limit(&settings);
        let state = State {
            settings,
            in_flight: 0,
            limit,
            good: 0,
            wave: 0,
            held_until: Duration::ZERO,
            stopped: None,
            sent: VecDeque::new(),
            tokens: VecDeque::new(),
        };
        Self { state: Mutex::new(state), freed: Condvar::new() }
    }

    /// Lowers the limits to these, where they are smaller.
    pub(crate) fn tighten(&self, other: &Concurrency) {
        let mut state = lock(&self.state);
        let least = |a: Option<u64>, b: Option<u64>| a.into_iter().chain(b).min();
        let settings = &mut state.settings;
        settings.max = settings.max.min(other.max.max(1));
        settings.adaptive |= other.adaptive;
        settings.requests_per_minute =
            least(settings.requests_per_minute, other.requests_per_minute);
        settings.tokens_per_minute = least(settings.tokens_per_minute, other.tokens_per_minute);
        let max = settings.max;
        let first = first_limit(settings);
        let is_idle = state.in_flight == 0 && state.good == 0 && state.wave == 0;
        state.limit = if is_idle { first } else { state.limit.min(max) };
    }

    /// Waits until a request may be sent.
    ///
    /// # Errors
    ///
    /// The queue was stopped or cancelled, or is held for longer than `max_wait`.
    pub(crate) fn acquire(
        &self,
        clock: &dyn Clock,
        cancel: &Cancel,
        max_wait: Duration,
    ) -> Result<Permit<'_>, ModelError> {
        let mut state = lock(&self.state);
        loop {
            if cancel.is_cancelled() {
                return Err(ModelError::new(ErrorKind::Cancelled, "the run was stopped"));
            }
            if let Some(error) = &state.stopped {
                return Err(ModelError { attempts: 0, ..error.clone() });
            }
            let now = clock.now();
            let held = state.held_until.saturating_sub(now);
            if held > max_wait {
                return Err(too_long(held, "the server holds all requests"));
            }
            let wait = held.max(state.wait_for_rate(now));
            if wait > Duration::ZERO {
                drop(state);
                clock.wait(wait, cancel);
                state = lock(&self.state);
            } else if state.in_flight < state.limit {
                state.in_flight += 1;
                if state.settings.requests_per_minute.is_some() {
                    state.sent.push_back(now);
                }
                return Ok(Permit { queue: self, wave: state.wave });
            } else {
                state =
                    self.freed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }

    /// Holds all calls for a time.
    pub(crate) fn hold(&self, clock: &dyn Clock, duration: Duration) {
        let mut state = lock(&self.state);
        state.held_until = state.held_until.max(clock.now().saturating_add(duration));
    }

    /// Lets every further call fail with this error.
    pub(crate) fn stop(&self, error: &ModelError) {
        lock(&self.state).stopped.get_or_insert_with(|| error.clone());
        self.freed.notify_all();
    }

    /// Number of calls that may be in flight now.
    #[cfg(test)]
    fn limit(&self) -> usize {
        lock(&self.state).limit
    }
}

impl Permit<'_> {
    /// Counts a good answer with its tokens.
    pub(crate) fn succeeded(&self, clock: &dyn Clock, tokens: u64) {
        let mut state = lock(&self.queue.state);
        if state.settings.tokens_per_minute.is_some() {
            state.tokens.push_back((clock.now(), tokens));
        }
        state.good += 1;
        let was_overloaded = state.wave > 0;
        if state.settings.adaptive && (!was_overloaded || state.good >= state.limit) {
            state.good = 0;
            state.limit = (state.limit + 1).min(state.settings.max.max(1));
            self.queue.freed.notify_one();
        }
    }

    /// Halves the limit, unless another call that was in flight at the same time did.
    pub(crate) fn overloaded(&self) {
        let mut state = lock(&self.queue.state);
        if state.settings.adaptive && state.wave == self.wave {
            state.wave += 1;
            state.good = 0;
            state.limit = (state.limit / 2).max(1);
        }
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.queue.state);
        state.in_flight = state.in_flight.saturating_sub(1);
        drop(state);
        self.queue.freed.notify_one();
    }
}

/// Error of a wait that is longer than permitted.
pub(crate) fn too_long(wait: Duration, text: &str) -> ModelError {
    let mut error =
        ModelError::new(ErrorKind::RateLimited, format!("retry after {}: {text}", readable(wait)));
    error.retry_after = Some(wait);
    error.is_final = true;
    error
}

/// Returns a duration for people: `90s`, `10h`.
fn readable(duration: Duration) -> String {
    match duration.as_secs() {
        seconds if seconds >= 7200 => format!("{}h", seconds / 3600),
        seconds if seconds >= 120 => format!("{}min", seconds / 60),
        _ => format!("{:.1}s", duration.as_secs_f64()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::VirtualClock;

    fn acquire<'a>(queue: &'a Queue, clock: &VirtualClock) -> Permit<'a> {
        queue.acquire(clock, &Cancel::default(), Duration::from_secs(600)).unwrap()
    }

    #[test]
    fn the_limit_grows_with_good_answers_and_is_halved_once_per_wave() {
        let (queue, clock) = (Queue::new(Concurrency::default()), VirtualClock::default());
        assert_eq!(queue.limit(), 4);
        for limit in 5..=8 {
            acquire(&queue, &clock).succeeded(&clock, 0);
            assert_eq!(queue.limit(), limit);
        }
        let wave: Vec<_> = (0..3).map(|_| acquire(&queue, &clock)).collect();
        wave.iter().for_each(Permit::overloaded);
        assert_eq!(queue.limit(), 4);
        drop(wave);
        acquire(&queue, &clock).overloaded();
        assert_eq!(queue.limit(), 2);
        for limit in [2, 3, 3, 3, 4] {
            acquire(&queue, &clock).succeeded(&clock, 0);
            assert_eq!(queue.limit(), limit);
        }
        for _ in 0..1000 {
            acquire(&queue, &clock).succeeded(&clock, 0);
        }
        assert_eq!(queue.limit(), 8, "at most the maximum");
    }

    #[test]
    fn the_rate_of_requests_and_tokens_is_kept() {
        let limits = Concurrency { requests_per_minute: Some(3), ..Concurrency::default() };
        let (queue, clock) = (Queue::new(limits), VirtualClock::default());
        for _ in 0..7 {
            drop(acquire(&queue, &clock));
        }
        assert_eq!(clock.now(), Duration::from_secs(120));
        let limits = Concurrency { tokens_per_minute: Some(100), ..Concurrency::default() };
        let (queue, clock) = (Queue::new(limits), VirtualClock::default());
        for _ in 0..3 {
            acquire(&queue, &clock).succeeded(&clock, 60);
        }
        assert_eq!(clock.now(), Duration::from_secs(60));
    }

    #[test]
    fn at_most_the_limit_is_in_flight() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        let limits = Concurrency { max: 3, adaptive: false, ..Concurrency::default() };
        let (queue, clock) = (Queue::new(limits), VirtualClock::default());
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..24 {
                scope.spawn(|| {
                    let _permit = acquire(&queue, &clock);
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    std::thread::yield_now();
                    now.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        assert!(most.into_inner() <= 3);
    }
}
