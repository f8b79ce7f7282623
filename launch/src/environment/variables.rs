//! Environment variables: a snapshot in which runtimes look things up, and the variables that an evaluator gets.

use std::{
    env,
    ffi::{OsStr, OsString},
    io::Read,
    path::{Path, PathBuf},
};

use super::secrets::{is_listed, is_secret_name, looks_secret};
use crate::{files::open_regular, process::CommandSpec};

/// A snapshot of environment variables, in which runtimes look things up.
///
/// A value of its own, so that tests need not change the variables of the whole process.
// The text for debugging has names only: values may be secrets.
#[derive(Clone, Default, PartialEq, Eq, derive_more::Debug)]
#[debug("{:?}", vars.iter().map(|(name, _)| name).collect::<Vec<_>>())]
pub struct Environment {
    vars: Vec<(OsString, OsString)>,
    /// Names of secrets, whatever they look like.
    secrets: Vec<String>,
}

impl Environment {
    /// The variables of this process.
    pub fn inherited() -> Self {
        Self::new(env::vars_os())
    }

    /// Exactly these variables.
    pub fn new<N: Into<OsString>, V: Into<OsString>>(
        vars: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let vars = vars.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        Self { vars, secrets: Vec::new() }
    }

    /// Withholds these variables from evaluators, too, e.g. because a configuration names them as keys of models.
    #[must_use]
    pub fn with_secrets<'n>(mut self, names: impl IntoIterator<Item = &'n str>) -> Self {
        self.secrets.extend(names.into_iter().map(str::to_owned));
        self
    }

    /// Sets a variable.
    #[must_use]
    pub fn with(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        let name = name.into();
        self.vars.retain(|(known, _)| !same_name(known, &name));
        self.vars.push((name, value.into()));
        self
    }

    /// Sets a variable, unless it has a value.
    #[must_use]
    pub(crate) fn with_default(self, name: &str, value: &str) -> Self {
        if self.get(name).is_some() { self } else { self.with(name, value) }
    }

    /// Returns the value of a variable; an empty one counts as not set.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.vars
            .iter()
            .find(|(known, _)| same_name(known, OsStr::new(name)))
            .map(|(_, value)| value.as_os_str())
            .filter(|value| !value.is_empty())
    }

    /// All variables.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.vars.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// `$EVALUATOR_CACHE_DIR`, or the directory `name` in the cache directory of the user, by default `~/.cache`; `None`
    /// without a home directory.
    pub fn cache_directory(&self, name: &str) -> Option<PathBuf> {
        if let Some(directory) = self.get("EVALUATOR_CACHE_DIR") {
            return std::path::absolute(directory).ok();
        }
        // The specification requires a relative $XDG_CACHE_HOME to be ignored.
        let chosen = self
            .get("XDG_CACHE_HOME")
            .map(PathBuf::from)
            .filter(|directory| directory.is_absolute());
        let home = chosen.or_else(|| {
            if cfg!(windows) {
                self.get("LOCALAPPDATA").map(PathBuf::from)
            } else {
                self.get("HOME").map(|home| Path::new(home).join(".cache"))
            }
        });
        home.map(|home| home.join(name))
    }

    /// The variables for a fetched program, which must not see secrets of this machine: those needed to start a program
    /// and to use the language of the user.
    pub fn confined(&self) -> Self {
        let is_allowed = |name: &str| is_harmless(name) && !is_secret_name(name);
        self.retaining(|name, _| name.to_str().is_some_and(is_allowed))
    }

    /// The variables for which `keeps` returns true, given name and value.
    pub(crate) fn retaining(&self, keeps: impl Fn(&OsStr, &OsStr) -> bool) -> Self {
        let kept = self.vars.iter().filter(|(name, value)| keeps(name, value));
        Self { vars: kept.cloned().collect(), secrets: self.secrets.clone() }
    }

    /// The command with these variables and no others.
    pub(crate) fn give_to(&self, mut command: CommandSpec) -> CommandSpec {
        command.clear_env = true;
        command.env = self.iter().map(|(name, value)| (name.into(), Some(value.into()))).collect();
        command
    }

    /// Returns the absolute path of a program: a name is looked up on `PATH`, anything with a directory is taken as it
    /// is.
    pub fn find_program(&self, name: impl AsRef<OsStr>) -> Option<PathBuf> {
        let name = Path::new(name.as_ref());
        if name.components().count() > 1 {
            return std::path::absolute(name).ok().and_then(|path| program_file(&path));
        }
        // An empty entry means the current directory, where a run must not pick up programs by accident.
        env::split_paths(self.get("PATH")?)
            .filter(|directory| !directory.as_os_str().is_empty())
            .filter_map(|directory| std::path::absolute(directory).ok())
            .find_map(|directory| program_file(&directory.join(name)))
    }
}

/// Returns true if any program may see a variable of this name. `*_LIBRARY_PATH` is needed by interpreters that are not
/// installed in the system.
pub(crate) fn is_harmless(name: &str) -> bool {
    const NAMES: &str = "PATH HOME LANG LANGUAGE TZ TMPDIR TEMP TMP LD_LIBRARY_PATH DYLD_LIBRARY_PATH DYLD_FALLBACK_LIBRARY_PATH";
    // Needed on Windows by programs that use the network or temporary files.
    const WINDOWS: &str = "\
        APPDATA COMSPEC HOMEDRIVE HOMEPATH LOCALAPPDATA NUMBER_OF_PROCESSORS PATHEXT PROCESSOR_ARCHITECTURE \
        PROGRAMDATA PROGRAMFILES SYSTEMDRIVE SYSTEMROOT USERPROFILE WINDIR";
    let name = if cfg!(windows) { &name.to_ascii_uppercase() } else { name };
    is_listed(name, NAMES) || name.starts_with("LC_") || cfg!(windows) && is_listed(name, WINDOWS)
}

/// Returns true if two names denote the same variable.
pub(crate) fn same_name(a: &OsStr, b: &OsStr) -> bool {
    if cfg!(windows) { a.eq_ignore_ascii_case(b) } else { a == b }
}

/// The file that starting `path` would start: itself or, on Windows, itself with the extension of a program.
fn program_file(path: &Path) -> Option<PathBuf> {
    if is_executable(path) {
        return Some(path.to_owned());
    }
    if cfg!(windows) {
        return ["exe", "cmd", "bat"].iter().find_map(|extension| {
            let mut name = path.as_os_str().to_owned();
            name.push(".");
            name.push(extension);
            let path = PathBuf::from(name);
            is_executable(&path).then_some(path)
        });
    }
    None
}

/// Returns true if a file is a script with a `#!` line.
pub(crate) fn is_script(path: &Path) -> bool {
    let mut start = [0; 2];
    open_regular(path)
        .and_then(|mut file| file.read_exact(&mut start))
        .is_ok_and(|()| start == *b"#!")
}

/// The interpreter in the first line of a script, looked up on `PATH` if it is named by way of `env`; `None` for other
/// files.
pub(crate) fn interpreter(script: &Path, environment: &Environment) -> Option<PathBuf> {
    let mut start = Vec::new();
    open_regular(script).ok()?.take(256).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line);
    let mut words = line.split_whitespace();
    let named = Path::new(words.next()?);
    // Also `env -S python3 -u` and `env A=1 python3`.
    let by_env = named.file_name().is_some_and(|name| name == "env");
    let program = words.find(|word| !word.starts_with('-') && !word.contains('='));
    let found = by_env.then(|| environment.find_program(program?)).flatten();
    Some(found.unwrap_or_else(|| named.to_owned()))
}

/// Returns true if the operating system can start this file.
#[cfg(unix)]
pub(crate) fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// Returns true if the operating system can start this file.
#[cfg(not(unix))]
pub(crate) fn is_executable(path: &Path) -> bool {
    let known = |extension: &OsStr| {
        ["exe", "cmd", "bat"].iter().any(|program| extension.eq_ignore_ascii_case(program))
    };
    path.is_file() && path.extension().is_some_and(known)
}

/// Which variables of this process an evaluator inherits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inherit {
    /// All variables.
    All,
    /// All variables except [secrets](super::secrets), and those of [`Environment::with_secrets`].
    #[default]
    Open,
    /// Only those needed to start a program, see [`Environment::confined`].
    Confined,
}

/// The variables that an evaluator gets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnvironmentFilter {
    /// All variables except those in `set`; `None` for those of this process without `withheld`.
    only: Option<Environment>,
    withheld: Vec<OsString>,
    set: Vec<(String, String)>,
    absent: Vec<String>,
}

impl EnvironmentFilter {
    /// Combines inherited variables with `variables`: each by name, with a value or, for `None`, with the inherited
    /// value.
    pub fn new(
        inherited: &Environment,
        inherit: Inherit,
        variables: &[(String, Option<String>)],
    ) -> Self {
        let named =
            |name: &OsStr| variables.iter().any(|(known, _)| same_name(name, known.as_ref()));
        let secret = |name: &OsStr, value: &OsStr| {
            inherited.secrets.iter().any(|known| same_name(name, known.as_ref()))
                || looks_secret(&name.to_string_lossy(), &value.to_string_lossy())
        };
        let withheld = inherited
            .iter()
            .filter(|(name, value)| inherit != Inherit::All && !named(name) && secret(name, value))
            .map(|(name, _)| name.to_owned())
            .collect();
        let mut only = (inherit == Inherit::Confined).then(|| inherited.confined());
        let mut absent = Vec::new();
        for (name, _) in variables.iter().filter(|(_, value)| value.is_none()) {
            match inherited.iter().find(|(known, _)| same_name(known, name.as_ref())) {
                Some((name, value)) => only = only.map(|only| only.with(name, value)),
                None => absent.push(name.clone()),
            }
        }
        let set = variables
            .iter()
            .filter_map(|(name, value)| Some((name.clone(), value.clone()?)))
            .collect();
        Self { only, withheld, set, absent }
    }

    /// Secrets of this process that are withheld from the evaluator.
    pub fn withheld(&self) -> impl Iterator<Item = String> {
        self.withheld.iter().map(|name| name.to_string_lossy().into_owned())
    }

    /// Variables that were to be passed on and are not set.
    pub fn absent(&self) -> &[String] {
        &self.absent
    }

    /// Returns true if nothing is changed.
    pub fn is_all(&self) -> bool {
        self.only.is_none() && self.withheld.is_empty() && self.set.is_empty()
    }

    /// Applies the variables to a command. Those that its runtime sets are kept, unless the configuration of the
    /// evaluator sets them.
    pub fn give_to(&self, mut command: CommandSpec) -> CommandSpec {
        let runtimes = std::mem::take(&mut command.env);
        let removed = self.withheld.iter().map(|name| (name.clone(), None));
        let set = self.set.iter().map(|(name, value)| (name.into(), Some(value.into())));
        command.env = match &self.only {
            Some(only) => {
                command.clear_env = true;
                let kept = only.iter().map(|(name, value)| (name.into(), Some(value.into())));
                kept.chain(runtimes).chain(set).collect()
            }
            None => removed.chain(runtimes).chain(set).collect(),
        };
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(unix)]
    use crate::runtime::testing::Directory;

    #[test]
    fn the_cache_directory_follows_the_environment() {
        let of = |vars: &[(&str, &str)]| {
            Environment::new(vars.iter().copied()).cache_directory("evaluator")
        };
        assert_eq!(of(&[]), None);
        let chosen = of(&[("EVALUATOR_CACHE_DIR", "/c"), ("XDG_CACHE_HOME", "/x"), ("HOME", "/h")]);
        assert_eq!(chosen, Some("/c".into()));
        if cfg!(unix) {
            assert_eq!(
                of(&[("XDG_CACHE_HOME", "/x"), ("HOME", "/h")]),
                Some("/x/evaluator".into())
            );
            assert_eq!(
                of(&[("XDG_CACHE_HOME", "relative"), ("HOME", "/h")]),
                Some("/h/.cache/evaluator".into())
            );
        }
    }

    #[test]
    fn an_empty_variable_is_not_set() {
        let environment = Environment::new([("A", "1"), ("B", "")]).with("A", "2");
        assert_eq!(environment.get("A"), Some(OsStr::new("2")));
        assert_eq!(environment.get("B"), None);
    }

    #[test]
    fn values_do_not_get_into_logs() {
        assert_eq!(format!("{:?}", Environment::new([("API_KEY", "secret")])), "[\"API_KEY\"]");
    }

    #[test]
    fn a_confined_environment_has_no_secrets() {
        let harmless =
            [("PATH", "/bin"), ("HOME", "/h"), ("LC_ALL", "C"), ("LANG", "C"), ("TZ", "UTC")];
        let others =
            ["GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "XLC_A", "PYTHONPATH", "LC", "LC_API_KEY"];
        let all = harmless.into_iter().chain(others.map(|name| (name, "secret")));
        assert_eq!(Environment::new(all).confined(), Environment::new(harmless));
    }

    #[cfg(unix)]
    #[test]
    fn a_script_names_its_interpreter() {
        let directory = Directory::new("environment-interpreter");
        let python = directory.program("bin/python3");
        let environment = Environment::new([("PATH", directory.path("bin"))]);
        for (text, expected) in [
            ("#!/bin/sh -e\n", Some(PathBuf::from("/bin/sh"))),
            ("#! /usr/bin/env python3\nx", Some(python.clone())),
            ("#!/usr/bin/env -S A=1 python3 -u", Some(python)),
            ("#!/usr/bin/env gone", Some("/usr/bin/env".into())),
            ("#!", None),
            ("", None),
            ("\u{7f}ELF", None),
        ] {
            let script = directory.file("script", text);
            assert_eq!(interpreter(&script, &environment), expected, "{text}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn programs_are_executable_files_on_the_path() {
        let directory = Directory::new("environment-path");
        let tool = directory.program("second/tool");
        directory.file("first/tool", "is not executable");
        let path =
            env::join_paths([directory.path("first"), PathBuf::new(), directory.path("second")])
                .unwrap();
        let environment = Environment::new([("PATH", path)]);
        assert_eq!(environment.find_program("tool"), Some(tool.clone()));
        assert_eq!(environment.find_program("other"), None);
        assert_eq!(Environment::default().find_program("tool"), None);
        assert_eq!(Environment::default().find_program(&tool), Some(tool), "a path needs no PATH");
    }
}

#[cfg(test)]
mod visible_tests {
    use super::*;

    const INHERITED: [(&str, &str); 5] = [
        ("PATH", "/bin"),
        ("RUST_LOG", "debug"),
        ("OPENAI_API_KEY", "k"),
        ("GITHUB_TOKEN", "t"),
        ("https_proxy", "http://me:pw@p:1"),
    ];

    fn visible(inherit: Inherit, variables: &[(&str, Option<&str>)]) -> EnvironmentFilter {
        let variables: Vec<_> = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.map(str::to_owned)))
            .collect();
        EnvironmentFilter::new(&Environment::new(INHERITED), inherit, &variables)
    }

    /// Returns the variables of a program whose runtime sets `OWN`, and `RUST_LOG` to another value.
    fn seen(visible: &EnvironmentFilter) -> Vec<(String, String)> {
        let command = CommandSpec::new("x").env("OWN", "1").env("RUST_LOG", "runtime");
        let command = visible.give_to(command);
        let start =
            if command.clear_env { Environment::default() } else { Environment::new(INHERITED) };
        let end = command.env.into_iter().fold(start, |seen, (name, value)| match value {
            Some(value) => seen.with(name, value),
            None => Environment::new(
                seen.iter()
                    .filter(|(known, _)| *known != name)
                    .map(|(n, v)| (n.to_owned(), v.to_owned())),
            ),
        });
        let text = |text: &OsStr| text.to_str().unwrap().to_owned();
        let mut seen: Vec<_> = end.iter().map(|(name, value)| (text(name), text(value))).collect();
        seen.sort();
        seen
    }

    fn names(visible: &EnvironmentFilter) -> Vec<String> {
        seen(visible).into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn each_form_shows_what_it_says() {
        let all = ["GITHUB_TOKEN", "OPENAI_API_KEY", "OWN", "PATH", "RUST_LOG", "https_proxy"];
        assert_eq!(names(&visible(Inherit::All, &[])), all);
        assert_eq!(names(&visible(Inherit::Open, &[])), ["OWN", "PATH", "RUST_LOG"]);
        // `RUST_LOG` is the runtime's.
        assert_eq!(names(&visible(Inherit::Confined, &[])), ["OWN", "PATH", "RUST_LOG"]);
        let secrets = ["OPENAI_API_KEY", "GITHUB_TOKEN", "https_proxy"];
        for inherit in [Inherit::Open, Inherit::Confined] {
            assert!(visible(inherit, &[]).withheld().eq(secrets));
            assert!(!visible(inherit, &[]).is_all());
        }
        assert_eq!(visible(Inherit::All, &[]).withheld().count(), 0);
        assert!(visible(Inherit::All, &[]).is_all());
    }

    #[test]
    fn what_an_entry_names_is_seen_whatever_the_form() {
        let variables = [("OPENAI_API_KEY", None), ("GITHUB_TOKEN", Some("other")), ("GONE", None)];
        for inherit in [Inherit::All, Inherit::Open, Inherit::Confined] {
            let visible = visible(inherit, &variables);
            let seen = seen(&visible);
            for (name, value) in [("OPENAI_API_KEY", "k"), ("GITHUB_TOKEN", "other")] {
                assert!(
                    seen.contains(&(name.to_owned(), value.to_owned())),
                    "{inherit:?} {seen:?}"
                );
            }
            assert_eq!(visible.absent(), ["GONE"]);
            assert!(visible.withheld().all(|name| name == "https_proxy"));
        }
    }

    #[test]
    fn an_entry_has_the_last_word() {
        for inherit in [Inherit::All, Inherit::Open, Inherit::Confined] {
            let seen = seen(&visible(inherit, &[("RUST_LOG", Some("mine"))]));
            assert!(seen.contains(&("RUST_LOG".to_owned(), "mine".to_owned())), "{seen:?}");
        }
    }
}
