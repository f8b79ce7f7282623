//! From a configuration to an archive, which is tried before it is written.

use std::{
    env,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use evaluator_host::{
    config::{CodeConfig, Config, EvaluatorKind},
    files::{WriteOptions, atomic_write},
    report::run_file::{Header, TOOL},
    run::{Outline, OutlinedProgram, Request, RunEvent, Runner},
    runtime::{Environment, Language, Python},
    source::Pins,
};

use crate::{
    archive::{self, files_below},
    contents::{CONFIG, Contents, PROGRAM},
    error::BundleError,
    machine::{Version, needed_glibc, target},
    manifest::{self, Entry, Manifest},
    open::{is_bundle, open},
    programs,
};

/// A bundle that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Created {
    /// Number of evaluators.
    pub evaluators: usize,
    /// Kind of machine that it is for, e.g. `x86_64-linux-gnu`.
    pub target: String,
    /// Newest version of glibc that a program needs.
    pub glibc: Option<String>,
    /// Version of Python that its evaluators need.
    pub python: Option<String>,
    /// Bytes of the archive.
    pub size: u64,
}

/// Writes a bundle of a configuration, with these further files that its evaluators read.
///
/// Must be called inside a tokio runtime with time and I/O enabled. Blocks while it builds.
///
/// # Errors
///
/// [`BundleError`]; nothing is written then.
pub async fn create(
    config: &Config,
    more: &[PathBuf],
    out: &Path,
    runner: &Runner,
    on_event: &mut dyn FnMut(RunEvent),
) -> Result<Created, BundleError> {
    let file = config.file.clone().unwrap_or_default();
    if is_bundle(&file) {
        let file = file.display();
        let reason = format!("{file}: it is in a bundle already; copy the archive of that");
        return Err(BundleError::Refused(vec![reason]));
    }
    let here = env::temp_dir();
    let staged = tempfile::Builder::new().prefix("evaluator-bundle-").tempdir_in(&here);
    let staged = staged.map_err(BundleError::disk("make a directory in", &here))?;
    let mut contents = Contents::new(&file, staged.path(), out)?;
    contents.refused.extend(config.evaluators.iter().filter_map(refusal));
    contents.ensure_whole()?;
    let outline = outline(config, runner, on_event).await?;
    let asks =
        |(name, model): &(String, String)| format!("`{name}`: its model is the program `{model}`");
    contents.refused.extend(outline.model_programs.iter().map(asks));
    add_named(&mut contents, config, &outline.programs)?;
    more.iter().try_for_each(|path| contents.add(path))?;
    let manifest = add_programs(&mut contents, (config, &outline), runner, on_event)?;
    contents.refuse_secrets_and_links()?;
    contents.ensure_whole()?;
    let program = env::current_exe().map_err(BundleError::disk("find", Path::new(PROGRAM)))?;
    let manifest = finish(&contents, manifest, &program)?;
    verify(&mut contents, &outline.header, runner, on_event).await?;
    let written = atomic_write(out, WriteOptions::default(), |out| {
        archive::write(&contents.directory, (PROGRAM, &program), out)
    });
    written.map_err(BundleError::disk("write", out))?;
    let size = fs::metadata(out).map_err(BundleError::disk("read", out))?.len();
    let Manifest { target, glibc, python, evaluators, .. } = manifest;
    Ok(Created { evaluators: evaluators.len(), target, glibc, python, size })
}

/// Returns why an evaluator cannot be in a bundle, as far as its entry shows it.
fn refusal(evaluator: &evaluator_host::config::EvaluatorConfig) -> Option<String> {
    let name = &evaluator.name;
    let of_program = |code: &CodeConfig| {
        if code.process.env.variables.iter().any(|(variable, _)| variable == "PYTHONPATH") {
            return Some(format!(
                "`{name}`: its entry sets PYTHONPATH, and what is there is not bundled"
            ));
        }
        let executor = &code.executor;
        (!["local", "sandbox"].contains(&&**executor)).then(|| {
            format!("`{name}`: it runs in a container (`executor: {executor}`), and images are not bundled")
        })
    };
    match &evaluator.kind {
        EvaluatorKind::Code(code) => of_program(code),
        EvaluatorKind::Remote(remote) if remote.wanted.source == "local" => Some(format!(
            "`{name}`: evaluators of the source `local` are not bundled; name the file, with `type: code`"
        )),
        EvaluatorKind::Remote(remote) => of_program(&remote.program),
        EvaluatorKind::Linked(_) => {
            Some(format!("`{name}`: it is a part of the program that runs it"))
        }
        _ => None,
    }
}

async fn outline(
    config: &Config,
    runner: &Runner,
    on_event: &mut dyn FnMut(RunEvent),
) -> Result<Outline, BundleError> {
    let request = Request::new::<&Path>([], config.clone());
    runner.outline(&request, on_event).await.map_err(BundleError::Unprepared)
}

/// Adds the files that the configuration names, apart from programs.
fn add_named(
    contents: &mut Contents,
    config: &Config,
    programs: &[OutlinedProgram],
) -> Result<(), BundleError> {
    let real = |path: &Path| path.canonicalize().ok();
    let programs: Vec<_> = programs.iter().map(|it| real(&it.entrypoint.path)).collect();
    for named in config.named.iter().filter(|named| named.path.exists()) {
        match (programs.contains(&real(&named.path)), named.is_place) {
            (true, _) => {}
            (false, true) => contents.add_place(&named.path)?,
            (false, false) => contents.add(&named.path)?,
        }
    }
    if config.evaluators.iter().any(|it| matches!(it.kind, EvaluatorKind::Remote(_))) {
        contents.add(&Pins::file_of(config.file.as_deref()))?;
    }
    Ok(())
}

/// Adds the programs, and returns what the bundle says about its evaluators.
fn add_programs(
    contents: &mut Contents,
    (config, outline): (&Config, &Outline),
    runner: &Runner,
    on_event: &mut dyn FnMut(RunEvent),
) -> Result<Manifest, BundleError> {
    let mut manifest = Manifest {
        evaluator_bundle: Manifest::VERSION,
        tool: TOOL.to_owned(),
        target: target(),
        plan: outline.header.plan,
        ..Manifest::default()
    };
    let mut needs_python = config.evaluators.iter().any(
        |it| matches!(&it.kind, EvaluatorKind::OpenAiEval(openai) if openai.grader.needs_python()),
    );
    for evaluator in &outline.header.evaluators {
        let code = evaluator.parts.code.clone();
        let mut entry = Entry { name: evaluator.name.clone(), code, ..Entry::default() };
        if let Some(program) = outline.programs.iter().find(|it| it.evaluator == entry.name) {
            let metric = config.evaluators.iter().find_map(|it| match &it.kind {
                EvaluatorKind::Code(code) if it.name == entry.name => code.library.as_deref(),
                _ => None,
            });
            let of = (program, metric.map(|metric| &*metric.name));
            let language = programs::add(contents, of, &mut entry, runner, on_event)?;
            needs_python |= language == Language::Python.name();
            let command = Path::new(&program.launch.one_shot.program);
            let node = match command.file_name().and_then(OsStr::to_str) {
                Some("node") => Some(command.to_owned()),
                // It starts the Node.js that it finds.
                Some("tsx") => Environment::inherited().find_program("node"),
                _ => None,
            };
            let node = node.map(|node| ("node".to_owned(), node.display().to_string()));
            manifest.interpreters.extend(node);
        }
        manifest.evaluators.push(entry);
    }
    if needs_python {
        let python = Python::new(Environment::inherited()).interpreter();
        let python = python.map_err(BundleError::Unprepared)?;
        manifest.python = Version::parse(&python.version).map(|version| version.minor());
        manifest.interpreters.insert("python".to_owned(), python.file.display().to_string());
    }
    Ok(manifest)
}

/// Writes `bundle.json`.
fn finish(
    contents: &Contents,
    mut manifest: Manifest,
    program: &Path,
) -> Result<Manifest, BundleError> {
    let directory = &contents.directory;
    let files = files_below(directory).map_err(BundleError::disk("read", directory))?;
    let mut newest = None;
    for path in files.iter().map(PathBuf::as_path).chain([program]) {
        newest = newest.max(needed_glibc(path).map_err(BundleError::disk("read", path))?);
    }
    manifest.glibc = newest.map(|it| it.to_string());
    let path = directory.join(manifest::FILE);
    let text = serde_json::to_string_pretty(&manifest).map_err(Into::into);
    let written = text.and_then(|text| fs::write(&path, text + "\n"));
    written.map_err(BundleError::disk("write", &path))?;
    Ok(manifest)
}

/// Opens the bundle before it is written: it names nothing outside of itself, and has the same plan.
async fn verify(
    contents: &mut Contents,
    home: &Header,
    runner: &Runner,
    on_event: &mut dyn FnMut(RunEvent),
) -> Result<(), BundleError> {
    let file = contents.directory.join(CONFIG);
    let mut runner = runner.clone();
    open(&file, &mut runner)?;
    let config = runner.load_config(&file);
    let config = config.map_err(|error| BundleError::Unprepared(error.to_string()))?;
    let outside = |path: &Path| path.exists() && !path.starts_with(&contents.directory);
    let outside = config.named.iter().filter(|named| outside(&named.path));
    contents.refused.extend(outside.map(|named| {
        let path = named.path.display();
        format!("{path}: the configuration has to name it relative to itself, since a bundle is anywhere")
    }));
    contents.ensure_whole()?;
    let outline = outline(&config, &runner, on_event).await?;
    if outline.header.plan == home.plan {
        return Ok(());
    }
    let differs = home.evaluators.iter().zip(&outline.header.evaluators);
    let differs = differs.filter(|(home, there)| home.planned() != there.planned());
    let names: Vec<String> = differs.map(|(home, _)| format!("`{}`", home.name)).collect();
    Err(BundleError::Differs(format!("other code or settings of {}", names.join(", "))))
}
