//! `evaluator update`.

use std::path::Path;

use evaluator_host::{
    config::{Config, EvaluatorKind},
    run::{RunEvent, Runner},
    source::{LOCK_FILE, Pins, Wanted},
};

use super::{broken, discovery, show_table, unusable, unusable_config};
use crate::{args::UpdateArgs, exit, render, render::Columns};

/// Fetches remote evaluators again and reports the changes.
pub(super) fn update(args: UpdateArgs, verbose: u8, runner: Runner) -> Result<u8, u8> {
    let file = discovery::configuration(args.config, args.no_config)?;
    if let Some(file) = file.as_ref().filter(|file| evaluator_bundle::is_bundle(file)) {
        return Err(unusable(format!(
            "{} is in a bundle, whose evaluators stay as they are; run `evaluator update` where the bundle was made, and make it \
             again",
            file.display()
        )));
    }
    let config = file.map(|file| runner.load_config(&file)).transpose();
    let config = config.map_err(unusable_config)?;
    let wanted = match &config {
        Some(config) => named(&args.names, config),
        None => pinned(),
    };
    let wanted = wanted.map_err(unusable)?;
    if wanted.is_empty() {
        render::note("no evaluator here has `type: remote`; there is nothing to update");
        return Ok(exit::OK);
    }
    let config = config.unwrap_or_default();
    // Ctrl-C stops this at once, which is safe: files and pins are replaced atomically, one evaluator after the other.
    let mut progress = render::Progress::new(verbose);
    let updated =
        runner.update(&wanted, &config, &mut |event| progress.event(&RunEvent::Prepare(event)));
    progress.finish();
    let mut table = Columns::new(["Source", "Ref", "Content"]);
    let mut code = exit::OK;
    for one in updated.map_err(broken)? {
        let content = match (&one.before, &one.after) {
            (Some(before), Ok(after)) if before == after => {
                format!("{} (unchanged)", after.short())
            }
            (Some(before), Ok(after)) => format!("{} -> {}", before.short(), after.short()),
            (None, Ok(after)) => format!("{} (new)", after.short()),
            (_, Err(error)) => {
                code = broken(format!("{}: {error}", one.wanted));
                "not updated".to_owned()
            }
        };
        table.row([one.wanted.source.clone(), one.wanted.reference.to_string(), content]);
    }
    Ok(show_table(table, 2, code))
}

/// Returns the remote evaluators of these names; without names, all.
fn named(names: &[String], config: &Config) -> Result<Vec<Wanted>, String> {
    let mut remote: Vec<(&String, &Wanted)> = Vec::new();
    for evaluator in &config.evaluators {
        match &evaluator.kind {
            EvaluatorKind::Remote(kind) => remote.push((&evaluator.name, &kind.wanted)),
            _ if names.contains(&evaluator.name) => {
                let name = &evaluator.name;
                return Err(format!(
                    "`{name}` is not of `type: remote`; there is nothing to update"
                ));
            }
            _ => {}
        }
    }
    let known: Vec<&str> = remote.iter().map(|(name, _)| name.as_str()).collect();
    if let Some(name) = names.iter().find(|name| !known.contains(&name.as_str())) {
        let known = known.join(", ");
        return Err(format!("no evaluator is named `{name}` (remote evaluators: {known})"));
    }
    remote.retain(|(name, _)| names.is_empty() || names.contains(name));
    Ok(remote.into_iter().map(|(_, wanted)| wanted.clone()).collect())
}

/// Returns all evaluators that the lock file of the working directory pins.
fn pinned() -> Result<Vec<Wanted>, String> {
    let file = Path::new(LOCK_FILE);
    if !file.exists() {
        return Err(format!(
            "{LOCK_FILE} does not exist in this directory; name the configuration"
        ));
    }
    let pins = Pins::load(file).map_err(|error| error.to_string())?;
    Ok(pins.iter().map(|(wanted, _)| wanted.clone()).collect())
}
