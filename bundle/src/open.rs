//! A configuration that has a `bundle.json` next to it.

use std::{collections::BTreeSet, path::Path};

use evaluator_host::{
    run::{BUNDLED, Runner},
    runtime::{Bundled, Environment, Node, Python, paths},
    source::Cache,
};

use crate::{
    error::BundleError,
    manifest::{self, Entry, Manifest},
    programs::{FETCHED, digest_of},
};

/// Returns true if a configuration is in a bundle.
pub fn is_bundle(config: &Path) -> bool {
    matches!(Manifest::read(directory_of(config)), Ok(Some(_)) | Err(_))
}

/// Has a runner take programs, packages and fetched evaluators from the bundle of a configuration, and build and fetch nothing.
/// Changes nothing for a configuration that is in no bundle.
///
/// # Errors
///
/// [`BundleError::Misfit`] if the bundle does not fit this program or machine.
pub fn open(config: &Path, runner: &mut Runner) -> Result<(), BundleError> {
    let directory = directory_of(config);
    let Some(manifest) = Manifest::read(directory)? else {
        if !directory.join(BUNDLED).exists() {
            return Ok(());
        }
        return Err(BundleError::Misfit(format!(
            "{}: the bundle is damaged: this file is missing, or says nothing of a bundle",
            directory.join(manifest::FILE).display()
        )));
    };
    let directory = directory.canonicalize().map_err(BundleError::disk("open", directory))?;
    let environment = environment(&manifest);
    let source = |entry: &Entry| Some(paths::absolute(&directory.join(entry.source.as_ref()?)));
    let evaluators = manifest.evaluators.iter();
    let packages = evaluators
        .clone()
        .filter_map(|entry| Some((source(entry)?, directory.join(&entry.packages.as_ref()?.0))));
    let programs = evaluators.filter_map(|entry| {
        let code = entry.code.iter().map(|(name, digest)| (name.clone(), digest.to_string()));
        let program = directory.join(&entry.program.as_ref()?.0);
        Some((source(entry)?, (program, code.collect())))
    });
    let python = Python::bundled(environment.clone(), packages.collect());
    manifest.check(|| python.interpreter())?;
    check_files(&directory, &manifest.evaluators)?;
    let runtimes = &mut runner.registries.runtimes;
    runtimes.register(python);
    runtimes.register(Node::javascript(environment.clone()));
    runtimes.register(Node::typescript(environment));
    runtimes.register(Bundled::new(programs));
    runner.cache = Cache::complete(directory.join(BUNDLED).join(FETCHED));
    Ok(())
}

/// Checks that programs and packages are those that the bundle was made with.
fn check_files(directory: &Path, evaluators: &[Entry]) -> Result<(), BundleError> {
    let files = evaluators.iter().flat_map(|it| [&it.program, &it.packages]).flatten();
    // Evaluators may share them.
    for (name, digest) in files.collect::<BTreeSet<_>>() {
        let path = directory.join(name);
        let damaged = |reason: String| BundleError::Misfit(format!("{}: {reason}", path.display()));
        let found = digest_of(&path);
        if found.map_err(|error| damaged(format!("the bundle is damaged: {error}")))? != *digest {
            let reason = "it is not what the bundle was made with; unpack the bundle again";
            return Err(damaged(reason.to_owned()));
        }
    }
    Ok(())
}

fn directory_of(config: &Path) -> &Path {
    config.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Returns the variables of this process. Engines start programs without any: interpreters are then those at the same places as
/// where the bundle was made, if they are there.
fn environment(manifest: &Manifest) -> Environment {
    let mut environment = Environment::inherited();
    if environment.get("PATH").is_some() {
        return environment;
    }
    let found =
        |name: &str| manifest.interpreters.get(name).map(Path::new).filter(|it| it.is_file());
    if let Some(node) = found("node").and_then(Path::parent) {
        environment = environment.with("PATH", node);
    }
    match found("python") {
        Some(python) if environment.get("EVALUATOR_PYTHON").is_none() => {
            environment.with("EVALUATOR_PYTHON", python)
        }
        _ => environment,
    }
}
