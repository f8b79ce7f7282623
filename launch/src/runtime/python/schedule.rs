//! Several environments at a time, told as one piece of work.

use std::{
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::Instant,
};

use super::venv::{Recipe, Venv};
use crate::{process::Cancellation, runtime::PrepareEvent};

/// Builds at a time, at most. Installers spend half of their time waiting for the network, the other half computing.
const AT_ONCE: usize = 4;

/// An environment to build, and for whom.
#[derive(Debug)]
pub(super) struct Job<'a> {
    pub(super) venv: &'a Venv,
    pub(super) recipe: Recipe<'a>,
    /// File names of its evaluators; at least one.
    pub(super) evaluators: Vec<String>,
}

/// Builds environments; one result for each, in their order.
pub(super) fn build(
    jobs: &[Job<'_>],
    cancellation: &Cancellation,
    on_event: &mut dyn FnMut(PrepareEvent),
) -> Vec<Result<(), String>> {
    if jobs.is_empty() {
        return Vec::new();
    }
    let begun = Instant::now();
    let evaluators: Vec<&String> = jobs.iter().flat_map(|job| &job.evaluators).collect();
    let whose = match evaluators[..] {
        [only] => only.clone(),
        _ => format!("{} Python evaluators", evaluators.len()),
    };
    on_event(PrepareEvent::Started { what: format!("installing requirements of {whose}") });
    let line = format!("Installing with {}", jobs[0].recipe.installer.name());
    on_event(PrepareEvent::Progress { line });

    let mut results: Vec<_> = jobs.iter().map(|_| Err("it was not begun".to_owned())).collect();
    let next = AtomicUsize::new(0);
    let (sender, news) = mpsc::channel();
    let workers = thread::available_parallelism().map_or(1, usize::from).min(AT_ONCE);
    thread::scope(|scope| {
        for _ in 0..workers.min(jobs.len()) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(index) else { break };
                    // Nobody listens any more when the caller's callback panicked.
                    let tell = |news| drop(sender.send((index, news)));
                    let mut on_line = |line: &str| tell(News::Line(line.to_owned()));
                    tell(News::Result(job.venv.build(&job.recipe, cancellation, &mut on_line)));
                }
            });
        }
        drop(sender);
        for (index, news) in news {
            match news {
                News::Line(line) if jobs.len() == 1 => on_event(PrepareEvent::Progress { line }),
                News::Line(line) => {
                    let line = format!("{}: {line}", jobs[index].evaluators.join(", "));
                    on_event(PrepareEvent::Progress { line });
                }
                News::Result(result) => results[index] = result,
            }
        }
    });
    let failed = results.iter().filter(|result| result.is_err()).count();
    let seconds = begun.elapsed().as_secs_f64();
    let outcome = match failed {
        0 => format!("installed requirements of {whose} in {seconds:.1} s"),
        _ if jobs.len() == 1 => {
            format!("requirements of {whose} could not be installed ({seconds:.1} s)")
        }
        _ => format!(
            "requirements of {whose}: {failed} of {} environments could not be built ({seconds:.1} s)",
            jobs.len()
        ),
    };
    on_event(PrepareEvent::Finished { what: outcome });
    results
}

enum News {
    Line(String),
    Result(Result<(), String>),
}
