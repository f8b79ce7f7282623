//! `evaluator init`, also `cargo evaluator new`.

use std::{fmt::Display, fs, path::Path};

use evaluator_host::{
    files::{WriteOptions, atomic_write},
    run::Runner,
    runtime::Entrypoint,
};

use super::{discovery, print, unusable};
use crate::{
    args::InitArgs,
    exit, render,
    scaffold::{self, Created, Language, Request, SdkSource},
};

/// File that is written in a directory without a configuration.
const CONFIGURATION: &str = "eval_config.yaml";

/// Creates an evaluator from a template, by default in the language `default`, and adds it to the configuration of the working
/// directory. Warns if this machine cannot run it.
pub(super) fn init(args: &InitArgs, default: Language, runner: &Runner) -> Result<u8, u8> {
    let created = Request::new(&args.name, args.runtime, args.template, default)
        .and_then(|request| scaffold::render(&request, &SdkSource::of_this_build()))
        .map_err(unusable)?;
    let next =
        if args.no_config { print_entry(&created, None) } else { configure(&created, runner) };
    let shared = share_builds(&created);
    let code = print(&format!("{created}\n{shared}{next}"), exit::OK);
    if created.is_program() {
        let entrypoint = Entrypoint::from(created.entrypoint().to_owned());
        let runtime = runner.registries.runtimes.for_path(&entrypoint.path);
        if let Err(error) = runtime.and_then(|runtime| runtime.inspect(&entrypoint)) {
            render::warning(&format!("this machine cannot run it yet: {error}"));
        }
    }
    Ok(code)
}

/// Lets the Rust packages of a directory share one build directory. Returns the message about it.
fn share_builds(created: &Created) -> String {
    let Some(parent) = created.lone_package().and_then(Path::parent) else { return String::new() };
    match scaffold::share_builds(parent) {
        Ok(Some(settings)) => format!(
            "Rust packages next to it share their builds, by {}.\n\n",
            settings.join("config.toml").display()
        ),
        Ok(None) => String::new(),
        Err(error) => {
            let reason = format!("Rust packages next to it will not share their builds: {error}");
            render::warning(&reason);
            String::new()
        }
    }
}

/// Adds the evaluator to the configuration of the working directory. Returns what the user does next.
fn configure(created: &Created, runner: &Runner) -> String {
    // The configuration of another directory is not this one's.
    let path = created.entrypoint();
    if !path.is_relative() || path.starts_with("..") {
        return print_entry(created, None);
    }
    let (file, added) = match discovery::candidates()[..] {
        [] => (CONFIGURATION, write(CONFIGURATION, &created.config())),
        [file] => (file, extend(file, created, runner)),
        _ => return print_entry(created, Some(&"there are several configurations here")),
    };
    match added {
        Ok(()) => {
            format!("Added to {file}. Run it over recorded traces:\n\n    evaluator run TRACES\n")
        }
        Err(reason) => print_entry(created, Some(&format!("{file}: {reason}"))),
    }
}

/// Adds the evaluator to a configuration that exists.
fn extend(file: &str, created: &Created, runner: &Runner) -> Result<(), String> {
    let path = Path::new(file);
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    let entry = created.entry();
    let names = |text: &str| -> Result<Vec<String>, String> {
        let config = runner
            .parse_config(text, path)
            .map_err(|_| "it has problems, which `evaluator check` shows")?;
        Ok(config.evaluators.into_iter().map(|evaluator| evaluator.name).collect())
    };
    let is_empty = text.lines().all(|line| line.trim().is_empty() || line.starts_with('#'));
    let mut expected = if is_empty { Vec::new() } else { names(&text)? };
    if expected.iter().any(|name| name == entry.name()) {
        return Err(format!("it has an evaluator `{}` already", entry.name()));
    }
    expected.push(entry.name().to_owned());
    let extended = entry.added_to(&text, file.ends_with(".json"));
    let extended = extended.filter(|text| names(text).as_ref() == Ok(&expected));
    write(file, &extended.ok_or("its layout is not a simple list of evaluators")?)
}

fn write(file: &str, text: &str) -> Result<(), String> {
    atomic_write(Path::new(file), WriteOptions::default(), |out| out.write_all(text.as_bytes()))
        .map_err(|error| error.to_string())
}

/// Returns the entry for a configuration that was not changed, with the reason.
fn print_entry(created: &Created, reason: Option<&dyn Display>) -> String {
    let reason = reason.map(|reason| format!("Added to no configuration ({reason}).\n"));
    let lines: String = created.config().lines().map(|line| format!("    {line}\n")).collect();
    format!(
        "{}To run it over recorded traces, add this to a configuration:\n\n{lines}\nand then:\n\n    evaluator run TRACES --config FILE\n",
        reason.unwrap_or_default()
    )
}
