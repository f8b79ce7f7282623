//! `evaluator validate`.

use std::time::Duration;

use evaluator_host::{
    run::{RunEvent, Runner},
    runtime::PrepareEvent,
    validate::{Standing, Validation, Validator, targets},
};

use super::{print, show, watched};
use crate::{
    args::{ValidateArgs, ValidateOutput},
    exit, render, signals,
};

/// Checks evaluators, and reports the results.
pub(super) fn validate(args: &ValidateArgs, verbose: u8, runner: Runner) -> u8 {
    let targets = match targets(&args.folders) {
        Ok(targets) => targets,
        Err(error) => {
            render::message(&error.to_string());
            return exit::USAGE;
        }
    };
    for (path, reason) in &targets.passed_over {
        render::warning(&format!("ignored {}: {reason}", path.display()));
    }
    let validator = Validator {
        runtimes: runner.runtimes,
        timeout: Duration::from_secs(args.timeout),
        cancellation: runner.cancellation,
        ..Validator::default()
    };
    signals::watch(validator.cancellation.clone());
    let validations = watched(verbose, async |on_event| {
        // The report contains the messages of compilers.
        let mut on_event = |event| match event {
            PrepareEvent::Diagnostic { .. } => {}
            event => on_event(RunEvent::Prepare(event)),
        };
        validator.validate(&targets.folders, &mut on_event).await
    });
    let validations = match validations {
        Ok(validations) => validations,
        Err(error) => {
            render::message(&format!("cannot start: {error}"));
            return exit::ERRORED;
        }
    };
    let code = exit_code(&validations);
    match args.output {
        ValidateOutput::Text => show(&render::validation_text(&validations), code),
        ValidateOutput::Json => print(&render::validation_json(&validations), code),
    }
}

/// Returns the exit code. A failed check counts more than a skipped one, because it has to be fixed first.
fn exit_code(validations: &[Validation]) -> u8 {
    let any = |standing| validations.iter().any(|validation| validation.standing() == standing);
    if any(Standing::Invalid) {
        exit::FAILED
    } else if any(Standing::Incomplete) {
        exit::ERRORED
    } else {
        exit::OK
    }
}
