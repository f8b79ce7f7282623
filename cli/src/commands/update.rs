//! `evaluator update`.

use evaluator_host::{
    config::{Config, EvaluatorKind},
    run::{RunEvent, Runner},
};

use super::show;
use crate::{args::UpdateArgs, exit, render, render::Columns, signals};

/// Fetches the remote evaluators of a configuration anew and says what changed.
pub(super) fn update(args: &UpdateArgs, verbose: u8) -> u8 {
    let config = match Config::load(&args.config) {
        Ok(config) => config,
        Err(error) => {
            render::config_error(&error);
            return exit::USAGE;
        }
    };
    if let Some(problem) = args.names.iter().find_map(|name| unsuitable(name, &config)) {
        render::message(&problem);
        return exit::USAGE;
    }
    let runner = Runner::default();
    signals::watch(runner.cancellation.clone());
    let mut progress = render::Progress::new(verbose);
    let updated =
        runner.update(&config, &args.names, &mut |event| progress.event(&RunEvent::Prepare(event)));
    progress.finish();
    let updated = match updated {
        Ok(updated) => updated,
        Err(error) => {
            render::message(&error.to_string());
            return exit::ERRORED;
        }
    };
    if updated.is_empty() {
        render::message("no evaluator here has `type: remote`; there is nothing to update");
        return exit::OK;
    }
    let mut table = Columns::new(["Source", "Ref", "Content"]);
    let mut code = exit::OK;
    for one in updated {
        let content = match (&one.before, &one.after) {
            (Some(before), Ok(after)) if before == after => {
                format!("{} (unchanged)", after.short())
            }
            (Some(before), Ok(after)) => format!("{} -> {}", before.short(), after.short()),
            (None, Ok(after)) => format!("{} (new)", after.short()),
            (_, Err(error)) => {
                code = exit::ERRORED;
                render::message(&format!("{}: {error}", one.wanted));
                "not updated".to_owned()
            }
        };
        table.row([one.wanted.source.clone(), one.wanted.reference.to_string(), content]);
    }
    show(&table.to_text(), code)
}

/// Why an evaluator of this name cannot be updated, if it cannot.
fn unsuitable(name: &str, config: &Config) -> Option<String> {
    match config.evaluators.iter().find(|evaluator| evaluator.name == name) {
        Some(evaluator) => match evaluator.kind {
            EvaluatorKind::Remote(_) => None,
            _ => Some(format!("`{name}` is not of `type: remote`; there is nothing to update")),
        },
        None => {
            let remote = |kind: &EvaluatorKind| matches!(kind, EvaluatorKind::Remote(_));
            let names: Vec<&str> = config
                .evaluators
                .iter()
                .filter(|evaluator| remote(&evaluator.kind))
                .map(|evaluator| evaluator.name.as_str())
                .collect();
            Some(format!("no evaluator is called `{name}` (remote ones: {})", names.join(", ")))
        }
    }
}
