//! `evaluator export`.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use evaluator_host::{
    hosts::export::{self, Contract, Export, Language, Origin, Program, Reads},
    manifest::{self, LoadedManifest},
    process::CommandSpec,
    run::{Description, RunEvent, Runner, describe, name_of},
    runtime::{Cargo, Environment, Inherit, PrepareError, Visible},
};

use super::{config::DESCRIBE_LIMIT, print, watched};
use crate::{args::ExportArgs, exit, render, signals};

/// Writes the files with which a host runs an evaluator, and prints instructions.
pub(super) fn export(args: &ExportArgs, verbose: u8, runner: Runner) -> u8 {
    match exported(args, verbose, runner) {
        Ok(output) => print(&output, exit::OK),
        Err((message, code)) => {
            render::message(&message);
            code
        }
    }
}

/// Returns the output; or a message, with the exit code.
fn exported(args: &ExportArgs, verbose: u8, runner: Runner) -> Result<String, (String, u8)> {
    let target = args.host;
    let folder = std::path::absolute(&args.output)
        .map_err(|error| (format!("{}: {error}", args.output.display()), exit::USAGE))?;
    let mut whole = Export::default();
    let mut copies = BTreeMap::new();
    for mut program in programs(args, verbose, runner)? {
        if args.copy {
            match program.language {
                Language::Native => {
                    let built = PathBuf::from(&program.command.program);
                    let place = export::copy_of(&built, &folder);
                    program.command.program = place.clone().into();
                    copies.insert(place, built);
                }
                _ => render::warning(&format!(
                    "note: {} is not an executable, so it is not copied: the files name its path",
                    program.entrypoint.display()
                )),
            }
        }
        if program.contract.is_none() {
            render::note(&format!(
                "note: {} does not say whose documents it reads; they must be those that {} sends",
                program.entrypoint.display(),
                target.name
            ));
        }
        let one = export::export(&program, target, &folder, &origin(args))
            .map_err(|error| (error.to_string(), exit::USAGE))?;
        whole.add(one);
    }
    let paths = export::write(&args.output, &whole.files, args.force).map_err(|error| {
        let code = match error {
            export::WriteError::Io { .. } => exit::ERRORED,
            _ => exit::USAGE,
        };
        (error.to_string(), code)
    })?;
    for (place, built) in &copies {
        export::copy(built, place).map_err(|error| (error.to_string(), exit::ERRORED))?;
    }
    let mut output = String::new();
    for place in copies.keys() {
        output += &format!("wrote {}\n", shown(place, &folder, &args.output).display());
    }
    for path in paths {
        output += &format!("wrote {}\n", path.strip_prefix(".").unwrap_or(&path).display());
    }
    let place = match args.output.as_path() {
        here if here == Path::new(".") => String::new(),
        folder => format!(", in {}", folder.display()),
    };
    for line in whole.usage {
        output += &format!("next{place}: {line}\n");
    }
    Ok(output)
}

/// Returns a path below the directory, relative to the directory as it was given.
fn shown(path: &Path, folder: &Path, given: &Path) -> PathBuf {
    let below = path.strip_prefix(folder).unwrap_or(path);
    if given == Path::new(".") { below.to_owned() } else { given.join(below) }
}

/// Returns the command line that writes the files again.
fn origin(args: &ExportArgs) -> Origin {
    let mut arguments = vec![args.evaluator.to_string_lossy().into_owned()];
    if args.output != Path::new(".") {
        arguments.extend(["-o".to_owned(), args.output.to_string_lossy().into_owned()]);
    }
    if let Some(contract) = args.contract {
        arguments.extend(["--contract".to_owned(), contract.to_string()]);
    }
    let flags = [(args.release, "--release"), (args.copy, "--copy")];
    arguments.extend(flags.iter().filter(|(given, _)| *given).map(|(_, flag)| (*flag).to_owned()));
    Origin::new(args.host, &arguments, concat!("evaluator ", env!("CARGO_PKG_VERSION")))
}

/// Returns the evaluators of a file or package, prepared.
fn programs(args: &ExportArgs, verbose: u8, runner: Runner) -> Result<Vec<Program>, (String, u8)> {
    let usage = |error: &dyn std::error::Error| (error.to_string(), exit::USAGE);
    let (path, name) = entrypoint(&args.evaluator).map_err(|error| (error, exit::USAGE))?;
    let Runner { mut runtimes, cancellation, .. } = runner;
    if args.release {
        runtimes.register(Cargo::default().with_profile("release"));
    }
    let runtime = runtimes.for_path(&path).map_err(|error| usage(&error))?;
    signals::watch(cancellation.clone());
    let prepared = watched(verbose, async |on_event| {
        let mut on_event = |event| on_event(RunEvent::Prepare(event));
        let launch =
            runtimes.prepare_all(&[path.clone().into()], &cancellation, &mut on_event).pop();
        let launch =
            launch.unwrap_or_else(|| Err(PrepareError::NotFound { path: path.clone() }))?;
        // A script would run instead of describing itself.
        let description = match launch.worker {
            Some(_) => {
                let visible = Visible::new(&Environment::inherited(), Inherit::Open, &[]);
                let asked = launch.clone().seeing(&visible).one_shot;
                describe(&asked, DESCRIBE_LIMIT, &cancellation).await
            }
            None => None,
        };
        Ok((launch.one_shot, description))
    });
    let prepared = prepared.map_err(|error| (format!("cannot start: {error}"), exit::ERRORED))?;
    let (command, description) = prepared.map_err(|error: PrepareError| {
        let code = match error {
            PrepareError::NotFound { .. } | PrepareError::UnknownExtension { .. } => exit::USAGE,
            _ => exit::ERRORED,
        };
        (error.to_string(), code)
    })?;
    let is_native = runtime.extensions().is_empty() || runtime.name() == "Rust";
    let language = Language::of(&path, is_native);
    let name = name.unwrap_or_else(|| name_of(&path));
    let program = |name: &str, command| {
        let program = Program::new(name, &path, language, command);
        match args.contract {
            Some(contract) => program.reads(Reads::One(contract)),
            None => program,
        }
    };
    Ok(match description {
        Some(description) if !description.evaluators.is_empty() => {
            described(&description, &command, program)
        }
        _ => vec![program(&name, command)],
    })
}

/// Returns the file of an evaluator, and its name in the manifest.
fn entrypoint(path: &Path) -> Result<(PathBuf, Option<String>), String> {
    if !manifest::has_manifest(path) {
        return Ok((path.to_owned(), None));
    }
    let loaded = LoadedManifest::load(path).map_err(|error| error.to_string())?;
    Ok((loaded.entrypoint(), Some(loaded.manifest.name)))
}

/// Returns the evaluators that a program describes.
fn described(
    description: &Description,
    command: &CommandSpec,
    program: impl Fn(&str, CommandSpec) -> Program,
) -> Vec<Program> {
    let one = |name: &str, contract: &str, command| {
        let program = program(name, command);
        match contract.parse() {
            Ok(Contract::Agentevals) => program.reads(Reads::All),
            Ok(contract) => program.reads(Reads::One(contract)),
            // A contract of a newer SDK.
            Err(_) => program,
        }
    };
    match description.evaluators.as_slice() {
        [only] => vec![one(&only.name, &only.contract, command.clone())],
        // Most hosts do not name the evaluator in their documents.
        several => several
            .iter()
            .map(|each| {
                let command = command.clone().args(["--evaluator", &each.name]);
                one(&each.name, &each.contract, command)
            })
            .collect(),
    }
}
