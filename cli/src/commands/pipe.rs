//! `evaluator pipe`.

use std::io::{self, BufReader};

use evaluator_host::{
    config::Overrides,
    run::{Lines, PipeError, Request, RunEvent, Runner},
};

use super::{broken, bundle, ensure_contained, load_config, open_session, unusable, watched};
use crate::{args::PipeArgs, exit, render, signals, streams};

/// Bytes of the input that are read at a time.
const BUFFER: usize = 256 << 10;

/// Evaluates the conversation on each line of the standard input, and writes a part of a run file.
pub(super) fn pipe(args: PipeArgs, verbose: u8, mut runner: Runner) -> Result<u8, u8> {
    streams::check_stdout().map_err(|error| broken(format!("cannot write to stdout: {error}")))?;
    streams::check_stdin().map_err(|error| unusable(format!("cannot read stdin: {error}")))?;
    let mut config = load_config(Some(&args.config), &runner)?;
    let overrides = Overrides { retries: args.retries, ..args.judge.overrides() };
    overrides.apply(&mut config, &runner.registries.metrics);
    config.eval_set = args.eval_set.or(config.eval_set.take());
    config.group_by = args.group_by.or(config.group_by);
    PipeError::check_grouping(config.group_by).map_err(unusable)?;
    signals::watch_ending();
    streams::watch_stdout();
    let mut lines = Lines::new(BufReader::with_capacity(BUFFER, io::stdin()), args.max_line);
    let is_empty = lines.is_empty();
    if is_empty.as_ref().is_ok_and(|is_empty| !is_empty) {
        // Nothing of this is needed for an empty stream, for which engines start the program, too.
        bundle::open(Some(&args.config), &mut runner)?;
        ensure_contained(false, &config, &runner)?;
        runner.session = Some(open_session(&config, verbose, &runner)?);
    }
    runner.jobs = args.jobs;
    let request = Request::new::<&str>([], config);
    let piped = watched(verbose, async |on_event| {
        // Each line has its record, which says what happened to it.
        let mut on_event = |event: RunEvent| match event {
            RunEvent::Prepare(_) | RunEvent::BuildFailed { .. } | RunEvent::Unreliable { .. } => {
                on_event(event);
            }
            event if verbose > 0 => on_event(event),
            _ => {}
        };
        runner.pipe(&request, lines, signals::UntilEnd(io::stdout()), &mut on_event).await
    })?;
    match piped {
        Ok(piped) => {
            render::note(&piped.to_string());
            Ok(exit::OK)
        }
        Err(error @ (PipeError::Grouping | PipeError::Refused(_))) => Err(unusable(error)),
        Err(error) => Err(broken(error)),
    }
}
