//! Makes the processes of a JavaScript evaluator share compiled code.
//!
//! Each evaluation still has its own process. Node.js checks that cached code belongs to the exact content of a source and to
//! its own version, and compiles anything else again. The cache is a private directory of one evaluator in one run: compiled
//! code must not come from anywhere else.
//!
//! The cache is enabled by a file that Node.js loads before the evaluator, not by `NODE_COMPILE_CACHE`, which the evaluator and
//! its child processes would see. It remains visible in the command line as the system shows it, in
//! `module.getCompileCacheDir()`, and in the order in which Node.js has loaded its own modules.

use std::{fs, path::Path};

use crate::{
    process::CommandSpec,
    runtime::{CachedCommand, PrivateDirectory, imports},
};

const PRELOAD: &str = include_str!("compile_cache.cjs");

/// Size of sources, in bytes, from which loading compiled code is faster than compiling.
const MUCH: u64 = 64 << 10;

/// Variables that configure the cache, or make a process report what it compiles and loads.
const UNUSUAL_VARIABLES: &str = "NODE_COMPILE_CACHE NODE_DISABLE_COMPILE_CACHE NODE_V8_COVERAGE NODE_DEBUG NODE_DEBUG_NATIVE \
    NODE_PRESERVE_SYMLINKS NODE_REPL_EXTERNAL_MODULE";

/// Options in `NODE_OPTIONS` that do not affect modules. Those that end with `=` have a value.
const HARMLESS_OPTIONS: &str = "--disable-warning= --dns-result-order= --max-http-header-size= --max-old-space-size= \
    --max-semi-space-size= --no-deprecation --no-warnings --stack-trace-limit= --unhandled-rejections= --use-bundled-ca \
    --use-openssl-ca --use-system-ca";

/// Returns true if an evaluator has packages or long files to compile. One that manages a cache itself is left alone.
pub(super) fn has_much_to_compile(source: &Path) -> bool {
    let Ok(text) = fs::read(source) else { return false };
    if String::from_utf8_lossy(&text).contains("CompileCache") {
        return false;
    }
    let mut directories = source.ancestors().skip(1);
    let size = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
    directories.any(|directory| directory.join("node_modules").is_dir())
        || imports::of_script(source).files.iter().map(|file| size(file)).sum::<u64>() >= MUCH
}

/// Makes the command that does what `command` does with the cache enabled.
pub(super) fn cached(command: &CommandSpec) -> Result<CachedCommand, String> {
    for name in UNUSUAL_VARIABLES.split_whitespace() {
        if command.variable(name).is_some_and(|value| !value.is_empty()) {
            return Err(format!("{name} is set"));
        }
    }
    let options = command.variable("NODE_OPTIONS").unwrap_or_default();
    let is_harmless = |options: &str| options.split_whitespace().all(is_harmless_option);
    if !options.to_str().is_some_and(is_harmless) {
        return Err("NODE_OPTIONS is set".to_owned());
    }
    let directory = PrivateDirectory::new("compiled");
    let preload =
        directory.and_then(|directory| Ok((directory.write("preload.cjs", PRELOAD)?, directory)));
    let (preload, directory) =
        preload.map_err(|error| format!("no directory for compiled code: {error}"))?;
    let mut args = vec!["--require".into(), preload.clone().into_os_string()];
    args.extend_from_slice(&command.args);
    Ok(CachedCommand {
        command: CommandSpec { args, ..command.clone() },
        needs: preload,
        keeps: Box::new(directory),
    })
}

fn is_harmless_option(option: &str) -> bool {
    HARMLESS_OPTIONS.split_whitespace().any(|known| match known.ends_with('=') {
        true => option.starts_with(known),
        false => option == known,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::testing::Folder;

    fn command() -> CommandSpec {
        let nothing = CommandSpec { clear_env: true, ..CommandSpec::new("node") };
        nothing.args(["--experimental-strip-types", "check.ts", "x"])
    }

    #[test]
    fn the_file_comes_first_and_goes_with_the_command() {
        let cached = cached(&command()).unwrap();
        let preload = cached.needs.clone();
        assert!(preload.is_file() && preload.is_absolute());
        let args = cached.command.args.clone();
        assert_eq!((&args[0], &args[1]), (&"--require".into(), &preload.clone().into()));
        assert_eq!(args[2..], command().args);
        assert_eq!(CommandSpec { args: command().args, ..cached.command.clone() }, command());
        drop(cached);
        assert!(!preload.exists());
    }

    #[test]
    fn variables_that_change_what_modules_do_are_unusual() {
        for name in UNUSUAL_VARIABLES.split_whitespace() {
            assert_eq!(cached(&command().env(name, "1")).unwrap_err(), format!("{name} is set"));
            assert!(cached(&command().env(name, "")).is_ok());
        }
        for options in ["", " ", "--max-old-space-size=4096 --no-warnings", "--use-system-ca"] {
            assert!(cached(&command().env("NODE_OPTIONS", options)).is_ok(), "{options}");
        }
        for options in [
            "--require ./x.js",
            "-r x",
            "--import=x",
            "--no-warnings --enable-source-maps",
            "--no-warnings-of-mine",
            "\"--no-warnings\"",
            "--max-old-space-size 4096",
        ] {
            let error = cached(&command().env("NODE_OPTIONS", options)).unwrap_err();
            assert_eq!(error, "NODE_OPTIONS is set", "{options}");
        }
    }

    #[test]
    fn packages_and_long_files_are_much_to_compile() {
        let directory = Folder::new("node-much");
        let long = format!("module.exports = '{}';", "x".repeat(MUCH as usize));
        let small = directory.file("a/small.js", "console.log(1)");
        directory.file("a/lib/long.js", &long);
        assert!(!has_much_to_compile(&small));
        assert!(has_much_to_compile(&directory.file("a/imports.js", "require('./lib/long.js')")));
        assert!(has_much_to_compile(&directory.file("a/bundle.js", &long)));
        directory.file("b/node_modules/x/index.js", "");
        assert!(has_much_to_compile(&directory.file("b/deep/check.js", "require('x')")));
        let own = "require('module').enableCompileCache(); require('x')";
        assert!(!has_much_to_compile(&directory.file("b/own.js", own)));
        assert!(!has_much_to_compile(&directory.path("b/gone.js")));
    }
}
