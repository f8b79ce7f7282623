//! `evaluator export`.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use evaluator_host::{
    hosts::{
        export::{self, Contract, Export, Language, Origin, Program, Reads},
        functions_of,
    },
    process::CommandSpec,
    run::{Description, Runner},
    runtime::{Cargo, PrepareError},
};
use evaluator_publish::{
    manifest::{self, LoadedManifest},
    name_of,
};

use super::{broken, config::prepare_and_describe, preparing, print, sandbox, unusable};
use crate::{args::ExportArgs, exit, render, signals};

/// Writes the files with which a host runs an evaluator, and prints instructions.
pub(super) fn export(args: &ExportArgs, verbose: u8, runner: Runner) -> Result<u8, u8> {
    let target = args.host;
    let directory = std::path::absolute(&args.output)
        .map_err(|error| unusable(format!("{}: {error}", args.output.display())))?;
    let mut whole = Export::default();
    let mut copies = BTreeMap::new();
    for mut program in programs(args, verbose, runner)? {
        if args.copy {
            match program.language {
                Language::Native => {
                    let built = PathBuf::from(&program.command.program);
                    let place = export::copy_of(&built, &directory);
                    program.command.program = place.clone().into();
                    copies.insert(place, built);
                }
                _ => render::warning(&format!(
                    "{} is not an executable, so it is not copied: the files name its path",
                    program.entrypoint.display()
                )),
            }
        }
        if program.contract.is_none() {
            render::note(&format!(
                "{} does not name the contract of its documents; it must be the one that {} sends",
                program.entrypoint.display(),
                target.name
            ));
        }
        let one = export::export(&program, target, &directory, &origin(args)).map_err(unusable)?;
        whole.add(one);
    }
    let paths =
        export::write(&args.output, &whole.files, args.force).map_err(|error| match error {
            export::WriteError::Io { .. } => broken(error),
            _ => unusable(error),
        })?;
    for (place, built) in &copies {
        export::copy(built, place).map_err(broken)?;
    }
    // Relative to the directory as it was given.
    let copies = copies
        .keys()
        .map(|place| args.output.join(place.strip_prefix(&directory).unwrap_or(place)));
    let mut output = String::new();
    for path in copies.chain(paths) {
        output += &format!("wrote {}\n", path.strip_prefix(".").unwrap_or(&path).display());
    }
    let place = match args.output.as_path() {
        here if here == Path::new(".") => String::new(),
        other => format!(", in {}", other.display()),
    };
    for line in whole.usage {
        output += &format!("next{place}: {line}\n");
    }
    Ok(print(&output, exit::OK))
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
    let flags = [(args.release, "--release"), (args.copy, "--copy"), (args.contain, "--contain")];
    arguments.extend(flags.iter().filter(|(given, _)| *given).map(|(_, flag)| (*flag).to_owned()));
    Origin::new(args.host, &arguments, concat!("evaluator ", env!("CARGO_PKG_VERSION")))
}

/// Returns the evaluators of a file or package, prepared.
fn programs(args: &ExportArgs, verbose: u8, runner: Runner) -> Result<Vec<Program>, u8> {
    let (path, name) = entrypoint(&args.evaluator)?;
    if let Some(defined) = functions_of(&path) {
        return Err(unusable(format!(
            "{} only defines the function `{}`, which {host} calls itself: give {host} the file as it is; export writes files that \
             start programs",
            path.display(),
            defined.function,
            host = defined.host()
        )));
    }
    let executor = args.contain.then(|| sandbox(&runner)).transpose()?;
    let (mut runtimes, cancellation) = (runner.registries.runtimes, runner.cancellation);
    if args.release {
        runtimes.register(Cargo::default().with_profile("release"));
    }
    let runtime = runtimes.for_path(&path).map_err(unusable)?;
    signals::watch(cancellation.clone());
    let prepared = preparing(verbose, async |on_event| {
        let programs = (&runtimes, executor.as_deref());
        prepare_and_describe(&path, programs, &cancellation, on_event).await
    })?;
    let (command, description) = prepared.map_err(|error| match error {
        PrepareError::NotFound { .. } | PrepareError::UnknownExtension { .. } => unusable(error),
        _ => broken(error),
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
fn entrypoint(path: &Path) -> Result<(PathBuf, Option<String>), u8> {
    if !manifest::has_manifest(path) {
        return Ok((path.to_owned(), None));
    }
    let loaded = LoadedManifest::load(path).map_err(unusable)?;
    Ok((loaded.entrypoint(), Some(loaded.manifest.name)))
}

/// Returns the evaluators that a program describes.
fn described(
    description: &Description,
    command: &CommandSpec,
    program: impl Fn(&str, CommandSpec) -> Program,
) -> Vec<Program> {
    let is_only = description.evaluators.len() == 1;
    let programs = description.evaluators.iter().map(|each| {
        // Most hosts do not name the evaluator in their documents.
        let command = match is_only {
            true => command.clone(),
            false => command.clone().args(["--evaluator", &each.name]),
        };
        let program = program(&each.name, command);
        match each.contract.parse() {
            Ok(Contract::Agentevals) => program.reads(Reads::All),
            Ok(contract) => program.reads(Reads::One(contract)),
            // A contract of a newer SDK.
            Err(_) => program,
        }
    });
    programs.collect()
}
