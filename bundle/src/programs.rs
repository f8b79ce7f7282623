//! Compiled programs, packages and fetched evaluators: into a bundle, and as a runtime out of it.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use evaluator_host::{
    process::{Cancellation, CommandSpec},
    report::run_file::{Digest, Digester},
    run::{BUNDLED, OutlinedProgram, RunEvent, Runner},
    runtime::{
        Entrypoint, Environment, Inputs, Language, Launch, PrepareError, PrepareEvent, Python,
        Runtime, paths,
    },
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

/// Adds a program to a bundle, and what the bundle says about it to `entry`. Returns the name of its language.
pub(crate) fn add(
    contents: &mut Contents,
    program: &OutlinedProgram,
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
    let source = if program.fetched.is_empty() {
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
    let installed = || {
        let digest = digest_of_packages(&directory).map_err(BundleError::disk("read", &directory));
        Ok(Some((portable(&name), digest?)))
    };
    if directory.exists() {
        return installed();
    }
    let of = (&program.entrypoint, Path::new(&program.launch.one_shot.program));
    let mut report = |event: PrepareEvent| on_event(RunEvent::Prepare(event));
    python.install_into(&directory, of, &runner.cancellation, &mut report).map_err(failed)?;
    if directory.is_dir() { installed() } else { Ok(None) }
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

fn digest_of(path: &Path) -> io::Result<Digest> {
    let mut digester = Digester::default();
    io::copy(&mut File::open(path)?, &mut digester)?;
    Ok(digester.finish())
}

/// Returns the digest of the names and contents of installed files. What Python compiles of them while it runs is left out.
pub(crate) fn digest_of_packages(directory: &Path) -> io::Result<Digest> {
    let mut files = files_below(directory)?;
    files.retain(|path| !path.iter().any(|part| part == "__pycache__"));
    files.sort();
    let mut digester = Digester::default();
    for path in files {
        let name = portable(path.strip_prefix(directory).unwrap_or(&path));
        writeln!(digester, "{name} {}", digest_of(&path)?)?;
    }
    Ok(digester.finish())
}

/// The compiled programs of a bundle, in place of a compiler.
#[derive(Debug)]
pub(crate) struct Compiled(BTreeMap<PathBuf, Program>);

#[derive(Debug)]
struct Program {
    file: PathBuf,
    digest: Digest,
    code: BTreeMap<String, String>,
}

impl Compiled {
    /// Takes the compiled programs of a bundle in this directory.
    pub(crate) fn new(directory: &Path, entries: &[Entry]) -> Self {
        let program = |entry: &Entry| {
            let (file, digest) = entry.program.as_ref()?;
            let code = entry.code.iter().map(|(name, digest)| (name.clone(), digest.to_string()));
            let program =
                Program { file: directory.join(file), digest: *digest, code: code.collect() };
            Some((paths::absolute(&directory.join(entry.source.as_ref()?)), program))
        };
        Self(entries.iter().filter_map(program).collect())
    }

    fn find(&self, path: &Path) -> Result<&Program, PrepareError> {
        self.0.get(&paths::resolve(path)?).ok_or_else(|| {
            let path = path.display();
            PrepareError::unusable(format!("{path} is not in the bundle; make the bundle again"))
        })
    }

    fn launch(&self, path: &Path) -> Result<Launch, PrepareError> {
        let Program { file, digest, .. } = self.find(path)?;
        let shown = file.display();
        let unusable = |what: String| PrepareError::unusable(format!("{shown} {what}"));
        let found =
            digest_of(file).map_err(|error| unusable(format!("cannot be read: {error}")))?;
        if found != *digest {
            return Err(unusable("is not the program that the bundle was made with".to_owned()));
        }
        let own = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
        let launch = Launch::new(CommandSpec::new(file)).with_stream();
        Ok(launch.with_visible([own.to_owned(), file.clone()]))
    }
}

impl Runtime for Compiled {
    fn name(&self) -> &str {
        Language::Rust.name()
    }

    fn extensions(&self) -> &[&str] {
        Language::Rust.extensions()
    }

    fn claims(&self, path: &Path) -> bool {
        paths::has_extension(path, self.extensions())
            || path.ends_with("Cargo.toml")
            || path.join("Cargo.toml").is_file()
    }

    fn availability(&self) -> Result<String, String> {
        Ok("compiled programs of a bundle".to_owned())
    }

    fn inspect(&self, entrypoint: &Entrypoint) -> Result<String, PrepareError> {
        let launch = self.launch(&entrypoint.path)?;
        Ok(format!("{}, of the bundle", Path::new(&launch.one_shot.program).display()))
    }

    fn prepare(
        &self,
        entrypoints: &[Entrypoint],
        _: &Cancellation,
        _: &mut dyn FnMut(PrepareEvent),
    ) -> Vec<Result<Launch, PrepareError>> {
        entrypoints.iter().map(|it| self.launch(&it.path)).collect()
    }

    fn inputs(&self, entrypoint: &Entrypoint, launch: &Launch) -> Inputs {
        let code = self.find(&entrypoint.path).map(|it| it.code.clone()).unwrap_or_default();
        let files = [PathBuf::from(&launch.one_shot.program)].into();
        Inputs { files, code, ..Inputs::default() }
    }
}
