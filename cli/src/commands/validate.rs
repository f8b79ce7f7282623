//! `evaluator validate`.

use std::time::Duration;

use evaluator_host::{run::Runner, runtime::PrepareEvent};
use evaluator_publish::validate::{Standing, Validation, Validator, targets};

use super::{preparing, print, sandbox, show, unusable};
use crate::{
    args::{TextOrJson, ValidateArgs},
    exit, render, signals,
};

/// Checks evaluators, and reports the results.
pub(super) fn validate(args: &ValidateArgs, verbose: u8, runner: Runner) -> Result<u8, u8> {
    let targets = targets(&args.directories).map_err(unusable)?;
    for (path, reason) in &targets.passed_over {
        render::warning(&format!("ignored {}: {reason}", path.display()));
    }
    let validator = Validator {
        executor: args.contain.then(|| sandbox(&runner)).transpose()?,
        runtimes: runner.registries.runtimes,
        timeout: Duration::from_secs(args.timeout),
        cancellation: runner.cancellation,
        ..Validator::default()
    };
    signals::watch(validator.cancellation.clone());
    let validations = preparing(verbose, async |on_event| {
        // The report contains the messages of compilers.
        let mut on_event = |event| match event {
            PrepareEvent::Diagnostic { .. } => {}
            event => on_event(event),
        };
        validator.validate(&targets.directories, &mut on_event).await
    })?;
    let code = exit_code(&validations);
    Ok(match args.output {
        TextOrJson::Text => show(&render::validation_text(&validations), code),
        TextOrJson::Json => print(&render::validation_json(&validations), code),
    })
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
