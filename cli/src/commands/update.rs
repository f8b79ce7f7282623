//! `evaluator update`.

use std::path::Path;

use evaluator_host::{
    config::{Config, EvaluatorKind},
    run::{RunEvent, Runner},
    source::{LOCK_FILE, Pins, Wanted},
};

use super::{discovery, show_table};
use crate::{args::UpdateArgs, exit, render, render::Columns};

/// Fetches remote evaluators anew and says what changed.
pub(super) fn update(args: &UpdateArgs, verbose: u8, runner: Runner) -> u8 {
    let config = match discovery::configuration(args.config.clone(), args.no_config) {
        Ok(config) => config,
        Err(code) => return code,
    };
    let config = match config.as_deref().map(|file| runner.load_config(file)).transpose() {
        Ok(config) => config,
        Err(error) => {
            render::config_error(&error);
            return exit::USAGE;
        }
    };
    let wanted = match &config {
        Some(config) => named(&args.names, config),
        None => pinned(),
    };
    let wanted = match wanted {
        Ok(wanted) => wanted,
        Err(problem) => {
            render::message(&problem);
            return exit::USAGE;
        }
    };
    if wanted.is_empty() {
        render::note("no evaluator here has `type: remote`; there is nothing to update");
        return exit::OK;
    }
    let config = config.unwrap_or_default();
    // Ctrl-C ends this at once: files and pins are replaced whole, one evaluator after the other.
    let mut progress = render::Progress::new(verbose);
    let updated =
        runner.update(&wanted, &config, &mut |event| progress.event(&RunEvent::Prepare(event)));
    progress.finish();
    let updated = match updated {
        Ok(updated) => updated,
        Err(error) => {
            render::message(&error.to_string());
            return exit::ERRORED;
        }
    };
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
    show_table(table, code)
}

/// The remote evaluators of these names, or all if there are none.
fn named(names: &[String], config: &Config) -> Result<Vec<Wanted>, String> {
    let remote: Vec<(&str, &Wanted)> = config
        .evaluators
        .iter()
        .filter_map(|evaluator| match &evaluator.kind {
            EvaluatorKind::Remote(remote) => Some((evaluator.name.as_str(), &remote.wanted)),
            _ => None,
        })
        .collect();
    let unknown = |name: &String| !remote.iter().any(|(known, _)| known == name);
    if let Some(name) = names.iter().find(|name| unknown(name)) {
        if config.evaluators.iter().any(|evaluator| evaluator.name == *name) {
            return Err(format!("`{name}` is not of `type: remote`; there is nothing to update"));
        }
        let known: Vec<&str> = remote.iter().map(|(name, _)| *name).collect();
        let known = known.join(", ");
        return Err(format!("no evaluator is called `{name}` (remote ones: {known})"));
    }
    let is_asked_for = |name: &str| names.is_empty() || names.iter().any(|asked| asked == name);
    let asked = remote.into_iter().filter(|(name, _)| is_asked_for(name));
    Ok(asked.map(|(_, wanted)| wanted.clone()).collect())
}

/// Everything that the lock file of the working directory pins.
fn pinned() -> Result<Vec<Wanted>, String> {
    let file = Path::new(LOCK_FILE);
    if !file.exists() {
        return Err(format!("there is no {LOCK_FILE} here; name the configuration"));
    }
    let pins = Pins::load(file).map_err(|error| error.to_string())?;
    Ok(pins.iter().map(|(wanted, _)| wanted.clone()).collect())
}
