//! Runs the futures of `async` evaluators.

use std::future::Future;

/// Runs a future to its end on this thread, on a tokio runtime that lives as long as the thread.
#[cfg(feature = "tokio")]
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    use tokio::runtime::{Builder, Handle, Runtime, RuntimeFlavor};

    thread_local! {
        static RUNTIME: std::io::Result<Runtime> = Builder::new_current_thread().enable_all().build();
    }
    if let Ok(handle) = Handle::try_current() {
        // The author brought a runtime, e.g. by `#[tokio::main]`, and a second one cannot run inside it. The threads of
        // a runtime that has some wake this one; a runtime of this very thread would wait for itself for ever.
        assert!(
            handle.runtime_flavor() != RuntimeFlavor::CurrentThread,
            "an async evaluator cannot run inside a current-thread runtime: call `run()` in a `fn main` that is not async"
        );
        return park::block_on(future);
    }
    RUNTIME.with(|runtime| match runtime {
        Ok(runtime) => runtime.block_on(future),
        Err(error) => panic!("cannot start a tokio runtime: {error}"),
    })
}

/// Runs a future to its end on this thread.
#[cfg(not(feature = "tokio"))]
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    park::block_on(future)
}

mod park {
    use std::{
        future::Future,
        pin::pin,
        sync::{
            Arc,
            atomic::{AtomicBool, Ordering},
        },
        task::{Context, Poll, Wake, Waker},
        thread::{self, Thread},
    };

    /// Polls, and sleeps in between until the future is woken from wherever.
    pub(super) fn block_on<F: Future>(future: F) -> F::Output {
        let signal = Arc::new(Signal { thread: thread::current(), woken: AtomicBool::new(false) });
        let waker = Waker::from(Arc::clone(&signal));
        let mut context = Context::from_waker(&waker);
        let mut future = pin!(future);
        loop {
            if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
                return output;
            }
            // A thread's own token is not enough: the future may park and use it up.
            while !signal.woken.swap(false, Ordering::Acquire) {
                thread::park();
            }
        }
    }

    struct Signal {
        thread: Thread,
        woken: AtomicBool,
    }

    impl Wake for Signal {
        fn wake(self: Arc<Self>) {
            self.wake_by_ref();
        }

        fn wake_by_ref(self: &Arc<Self>) {
            self.woken.store(true, Ordering::Release);
            self.thread.unpark();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{future::poll_fn, task::Poll, thread};

    use super::park::block_on;

    #[test]
    fn wakes_from_another_thread() {
        let mut started = false;
        let answer = block_on(poll_fn(|context| {
            if started {
                return Poll::Ready(7);
            }
            started = true;
            let waker = context.waker().clone();
            thread::spawn(move || waker.wake());
            Poll::Pending
        }));
        assert_eq!(answer, 7);
    }

    #[test]
    fn a_future_that_uses_up_the_token_is_still_woken() {
        let mut polls = 0;
        block_on(poll_fn(|context| {
            polls += 1;
            if polls == 2 {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            thread::park();
            Poll::Pending
        }));
    }
}
