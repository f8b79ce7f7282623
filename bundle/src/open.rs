//! A configuration that has a `bundle.json` next to it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use evaluator_host::{
    run::{BUNDLED, Runner},
    runtime::{Environment, Node, Python, paths},
    source::Cache,
};

use crate::{
    error::BundleError,
    manifest::{self, Entry, Manifest},
    programs::{Compiled, FETCHED, digest_of_packages},
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
    let packages = manifest.evaluators.iter().filter_map(|entry| {
        let source = paths::absolute(&directory.join(entry.source.as_ref()?));
        Some((source, directory.join(&entry.packages.as_ref()?.0)))
    });
    let packages: BTreeMap<PathBuf, PathBuf> = packages.collect();
    let python = Python::bundled(environment.clone(), packages);
    manifest.check(|| python.interpreter())?;
    check_packages(&directory, &manifest.evaluators)?;
    let runtimes = &mut runner.registries.runtimes;
    runtimes.register(python);
    runtimes.register(Node::javascript(environment.clone()));
    runtimes.register(Node::typescript(environment));
    runtimes.register(Compiled::new(&directory, &manifest.evaluators));
    runner.cache = Cache::complete(directory.join(BUNDLED).join(FETCHED));
    Ok(())
}

/// Checks that packages are those that the bundle was made with.
fn check_packages(directory: &Path, evaluators: &[Entry]) -> Result<(), BundleError> {
    let packages: BTreeMap<_, _> = evaluators.iter().filter_map(|it| it.packages.clone()).collect();
    for (name, digest) in packages {
        let path = directory.join(name);
        let damaged = |reason: &str| BundleError::Misfit(format!("{}: {reason}", path.display()));
        let found = digest_of_packages(&path);
        if found.map_err(|error| damaged(&format!("the bundle is damaged: {error}")))? != digest {
            return Err(damaged(
                "its files are not the packages that the bundle was made with; unpack the bundle again",
            ));
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
