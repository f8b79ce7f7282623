//! `evaluator bundle`, and configurations that are in a bundle.

use std::path::Path;

use evaluator_bundle::{BundleError, create};
use evaluator_host::run::Runner;

use super::{
    broken, ensure_runnable, eval_file::is_eval_file, load_config, unusable, watched,
    written::Written,
};
use crate::{args::BundleArgs, exit, render, signals};

/// Writes everything that a machine needs to run the evaluators of a configuration.
pub(super) fn bundle(args: &BundleArgs, verbose: u8, mut runner: Runner) -> Result<u8, u8> {
    Written("bundle").refuse_inputs([&args.output], &[&args.config])?;
    if is_eval_file(&args.config) {
        return Err(unusable(format!(
            "{} is an eval file, and these are not bundled: its targets run elsewhere; name a configuration with `evaluators`",
            args.config.display()
        )));
    }
    let config = load_config(Some(&args.config), &runner)?;
    ensure_runnable(&config, verbose)?;
    runner.locked = args.locked;
    signals::watch(runner.cancellation.clone());
    let created = watched(verbose, async |on_event| {
        create(&config, &args.include, &args.output, &runner, on_event).await
    })?;
    let created = created.map_err(failed)?;
    let needs = [("glibc", &created.glibc), ("Python", &created.python)];
    let needs: Vec<String> = needs
        .into_iter()
        .filter_map(|(what, version)| Some(format!("{what} {}", version.as_ref()?)))
        .collect();
    let needs =
        if needs.is_empty() { String::new() } else { format!(" with {}", needs.join(", ")) };
    render::note(&format!(
        "{}: {}, for {}{needs}",
        args.output.display(),
        render::counted(created.evaluators as u64, "evaluator"),
        created.target
    ));
    Ok(exit::OK)
}

/// Has a runner take what is in the bundle of a configuration, if it is in one.
///
/// # Errors
///
/// Returns the exit code, after a message, if the bundle does not fit here.
pub(super) fn open(config: Option<&Path>, runner: &mut Runner) -> Result<(), u8> {
    config.map_or(Ok(()), |config| evaluator_bundle::open(config, runner)).map_err(failed)
}

fn failed(error: BundleError) -> u8 {
    if error.is_refusal() { unusable(error) } else { broken(error) }
}
