//! Compiled programs, packages and fetched evaluators, on their way into a bundle.

use std::{
    fs::File,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use evaluator_host::{
    report::run_file::{Digest, Digester},
    run::{BUNDLED, OutlinedProgram, RunEvent, Runner},
    runtime::{Environment, Language, PrepareError, PrepareEvent, Python, paths},
};

use crate::{
    archive::files_below,
    contents::{Contents, copy},
    error::BundleError,
    manifest::Entry,
};

/// Directory of the cache of fetched evaluators.
pub(crate) const FETCHED: &str = "evaluators";

/// Variables by which a compiled program finds libraries that were built for it.
const LIBRARY_PATHS: [&str; 2] = ["LD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH"];

/// Adds a program to a bundle, and what the bundle says about it to `entry`. Returns the name of its language. A program that calls
/// metrics comes with its name in the bundle.
pub(crate) fn add(
    contents: &mut Contents,
    (program, metric): (&OutlinedProgram, Option<&Path>),
    entry: &mut Entry,
    runner: &Runner,
    on_event: &mut dyn FnMut(RunEvent),
) -> Result<String, BundleError> {
    let failed =
        |error: PrepareError| BundleError::Unprepared(format!("`{}`: {error}", entry.name));
    let path = &program.entrypoint.path;
    let runtime = runner.registries.runtimes.for_path(path).map_err(failed)?;
    let language = runtime.name().to_owned();
    let is_compiled = language == Language::Rust.name();
    let source = if let Some(metric) = metric {
        let name = Path::new(BUNDLED).join(metric);
        copy(path, &contents.directory.join(&name))?;
        Some(name)
    } else if program.fetched.is_empty() {
        if !is_compiled {
            program.inputs.files.iter().try_for_each(|file| contents.add(file))?;
        }
        add_source(contents, path)?
    } else {
        add_fetched(contents, program, runner)?
    };
    entry.source = source.as_deref().map(portable);
    if is_compiled {
        entry.program = add_compiled(contents, program)?;
    } else if language == Language::Python.name() {
        entry.packages = add_packages(contents, program, runner, on_event)?;
    } else if let Some(source) = source.filter(|_| program.fetched.is_empty()) {
        add_modules(contents, path, &source)?;
    }
    Ok(language)
}

/// Adds the file that a configuration names. Of a package, the manifest stands for it.
fn add_source(contents: &mut Contents, path: &Path) -> Result<Option<PathBuf>, BundleError> {
    let Some(name) = contents.name(path) else { return Ok(None) };
    match path.is_dir() {
        true => contents.add(&path.join("Cargo.toml"))?,
        false => contents.add(path)?,
    }
    Ok(Some(name))
}

/// Adds the files of a fetched evaluator, at their places in a cache.
fn add_fetched(
    contents: &mut Contents,
    program: &OutlinedProgram,
    runner: &Runner,
) -> Result<Option<PathBuf>, BundleError> {
    let cache = runner.cache.directory().and_then(|cache| cache.canonicalize().ok());
    let name = |path: &Path| {
        let inner = path.strip_prefix(cache.as_ref()?).ok()?;
        Some(Path::new(BUNDLED).join(FETCHED).join(inner))
    };
    for file in &program.fetched {
        if let Some(name) = name(file) {
            copy(file, &contents.directory.join(name))?;
        }
    }
    Ok(name(&paths::absolute(&program.entrypoint.path)))
}

fn add_compiled(
    contents: &mut Contents,
    program: &OutlinedProgram,
) -> Result<Option<(String, Digest)>, BundleError> {
    let command = &program.launch.one_shot;
    let sets = |variable: &&&str| command.env.iter().any(|(name, _)| name == **variable);
    if let Some(variable) = LIBRARY_PATHS.iter().find(sets) {
        let evaluator = &program.evaluator;
        contents.refused.push(format!(
            "`{evaluator}`: its program needs libraries that its build has made ({variable}); link them into it"
        ));
        return Ok(None);
    }
    let file = Path::new(&command.program);
    let digest = digest_of(file).map_err(BundleError::disk("read", file))?;
    // Two programs of a name may differ, and one may have two evaluators.
    let name = Path::new(BUNDLED).join("programs").join(&digest.to_string()[..16]);
    let name = name.join(file.file_name().unwrap_or_default());
    copy(file, &contents.directory.join(&name))?;
    Ok(Some((portable(&name), digest)))
}

/// Installs the packages that a Python evaluator names. Evaluators that name the same share them.
fn add_packages(
    contents: &mut Contents,
    program: &OutlinedProgram,
    runner: &Runner,
    on_event: &mut dyn FnMut(RunEvent),
) -> Result<Option<(String, Digest)>, BundleError> {
    let failed =
        |error: PrepareError| BundleError::Unprepared(format!("`{}`: {error}", program.evaluator));
    let python = Python::new(Environment::inherited());
    let Some(key) = python.packages_key(&program.entrypoint).map_err(failed)? else {
        return Ok(None);
    };
    let name = Path::new(BUNDLED).join("python").join(&key[..16]);
    let directory = contents.directory.join(&name);
    if !directory.exists() {
        let of = (&program.entrypoint, Path::new(&program.launch.one_shot.program));
        let mut report = |event: PrepareEvent| on_event(RunEvent::Prepare(event));
        python.install_into(&directory, of, &runner.cancellation, &mut report).map_err(failed)?;
    }
    if !directory.is_dir() {
        return Ok(None);
    }
    let digest = digest_of(&directory).map_err(BundleError::disk("read", &directory))?;
    Ok(Some((portable(&name), digest)))
}

/// Adds the packages in the directory of a script and in those above it, up to that of the configuration.
fn add_modules(contents: &mut Contents, path: &Path, name: &Path) -> Result<(), BundleError> {
    let path = paths::absolute(path);
    let depth = name.components().count();
    for directory in path.ancestors().skip(1).take(depth) {
        let modules = directory.join("node_modules");
        if modules.is_dir() {
            contents.add(&modules)?;
        }
    }
    Ok(())
}

fn portable(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}

/// Returns the digest of a file, or of the names and contents of those in a directory. What Python compiles of them while it runs is
/// left out.
pub(crate) fn digest_of(path: &Path) -> io::Result<Digest> {
    let mut digester = Digester::default();
    if !path.is_dir() {
        io::copy(&mut File::open(path)?, &mut digester)?;
        return Ok(digester.finish());
    }
    for file in files_below(path)? {
        if !file.iter().any(|part| part == "__pycache__") {
            let name = portable(file.strip_prefix(path).unwrap_or(&file));
            writeln!(digester, "{name} {}", digest_of(&file)?)?;
        }
    }
    Ok(digester.finish())
}
