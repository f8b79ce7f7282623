//! The output of a build: which programs were built, and why the others were not.

use std::{
    path::{Path, PathBuf},
    process::ExitStatus,
    time::Instant,
};

use serde::Deserialize;

use super::{
    findings::{Findings, ScriptOutput},
    unit::Unit,
};
use crate::runtime::{
    PrepareEvent,
    own_tests::renamed,
    tool::{Stream, ToolError},
};

/// Number of last lines of cargo that are kept to explain a failure without a compiler message.
const KEPT_LINES: usize = 200;

/// Reason why a program was not built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    /// Text after the name of the program: `does not compile: 2 errors`.
    pub(super) what: String,
    /// Message of the compiler, or of cargo.
    pub(super) rendered: String,
}

/// A line of `cargo build --message-format=json`.
#[derive(Debug, Deserialize)]
#[serde(tag = "reason")]
enum Message {
    #[serde(rename = "compiler-message")]
    Diagnostic { package_id: String, target: Target, message: Diagnostic },
    #[serde(rename = "compiler-artifact")]
    Artifact { package_id: String, target: Target, executable: Option<PathBuf> },
    #[serde(rename = "build-script-executed")]
    Script(ScriptOutput),
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
struct Target {
    kind: Vec<String>,
    name: String,
}

#[derive(Debug, Deserialize)]
struct Diagnostic {
    message: String,
    level: String,
    rendered: Option<String>,
}

impl Diagnostic {
    /// Returns true for the final count of errors or warnings, which cargo prints itself.
    fn is_count(&self) -> bool {
        self.message.starts_with("aborting due to ")
            || self.message.ends_with(" warning emitted")
            || self.message.ends_with(" warnings emitted")
    }
}

/// A compiler message about one target.
struct Rendered {
    package: String,
    target: Target,
    is_error: bool,
    rendered: String,
}

/// Interprets the output of a build.
pub(super) struct Log<'a> {
    unit: &'a Unit,
    what: String,
    started: Instant,
    reported_start: bool,
    said: Vec<Rendered>,
    built: Vec<(String, Target, PathBuf)>,
    scripts: Vec<ScriptOutput>,
    pub(super) has_dylibs: bool,
    cargo_lines: Vec<String>,
}

impl<'a> Log<'a> {
    pub(super) fn new(unit: &'a Unit, programs: &[&str]) -> Self {
        let what = match programs {
            [program] => unit.lone_file.as_deref().unwrap_or(program).to_owned(),
            _ => format!("{} Rust evaluators", programs.len()),
        };
        Self {
            unit,
            what,
            started: Instant::now(),
            reported_start: false,
            said: Vec::new(),
            built: Vec::new(),
            scripts: Vec::new(),
            has_dylibs: false,
            cargo_lines: Vec::new(),
        }
    }

    pub(super) fn line(
        &mut self,
        stream: Stream,
        line: &str,
        on_event: &mut dyn FnMut(PrepareEvent),
    ) {
        // A wrapper around the compiler may print other lines.
        match serde_json::from_str(line) {
            Ok(message) if stream == Stream::Stdout => self.message(message, on_event),
            _ => self.progress(line, on_event),
        }
    }

    fn message(&mut self, message: Message, on_event: &mut dyn FnMut(PrepareEvent)) {
        match message {
            Message::Diagnostic { message, .. } if message.is_count() => {}
            Message::Diagnostic { package_id, target, message } => {
                let rendered = message.rendered.as_deref().unwrap_or(&message.message);
                let rendered = renamed(rendered, &self.unit.renames);
                on_event(PrepareEvent::Diagnostic { rendered: rendered.clone() });
                let is_error = message.level.starts_with("error");
                self.said.push(Rendered { package: package_id, target, is_error, rendered });
            }
            Message::Artifact { package_id, target, executable: Some(path) } => {
                self.built.push((package_id, target, path));
            }
            Message::Artifact { target, executable: None, .. } => {
                self.has_dylibs |= target.kind.iter().any(|kind| kind == "dylib");
            }
            Message::Script(output) => self.scripts.push(output),
            Message::Other => {}
        }
    }

    fn progress(&mut self, line: &str, on_event: &mut dyn FnMut(PrepareEvent)) {
        let line = renamed(line, &self.unit.renames);
        let shown = line.trim();
        // A build with nothing to do is not reported.
        let is_quiet = shown.is_empty() || (!self.reported_start && shown.starts_with("Finished "));
        if !is_quiet {
            if !self.reported_start {
                self.reported_start = true;
                on_event(PrepareEvent::Started { what: format!("building {}", self.what) });
            }
            on_event(PrepareEvent::Progress { line: shown.to_owned() });
        }
        if self.cargo_lines.len() == KEPT_LINES {
            self.cargo_lines.remove(0);
        }
        self.cargo_lines.push(line);
    }

    pub(super) fn finish(&self, on_event: &mut dyn FnMut(PrepareEvent)) {
        if self.reported_start {
            let seconds = self.started.elapsed().as_secs_f64();
            on_event(PrepareEvent::Finished {
                what: format!("build of {} took {seconds:.1} s", self.what),
            });
        }
    }

    fn is(&self, package: &str, target: &Target, program: &str) -> bool {
        target.name == program
            && target.kind.iter().any(|kind| kind == self.unit.kind.name())
            && self.unit.package.as_deref().is_none_or(|id| id == package)
    }

    /// Returns what the program needs at run time.
    pub(super) fn findings_for(&self, program: &Path) -> Findings {
        let package = self.built.iter().find(|(_, _, path)| path == program).map(|(id, _, _)| id);
        Findings::new(&self.scripts, package.map(String::as_str), self.has_dylibs)
    }

    pub(super) fn result_of(
        &self,
        program: &str,
        outcome: &Result<ExitStatus, ToolError>,
    ) -> Result<PathBuf, Failure> {
        if let Some((_, _, path)) =
            self.built.iter().find(|(package, target, _)| self.is(package, target, program))
        {
            return Ok(path.clone());
        }
        let failure = |said: &[&Rendered], place: &str| {
            let count = match said.iter().filter(|said| said.is_error).count() {
                1 => "1 error".to_owned(),
                errors => format!("{errors} errors"),
            };
            let rendered: Vec<&str> = said.iter().map(|said| said.rendered.as_str()).collect();
            Failure {
                what: format!("does not compile: {count}{place}"),
                rendered: rendered.join("\n"),
            }
        };
        let own: Vec<&Rendered> =
            self.said.iter().filter(|said| self.is(&said.package, &said.target, program)).collect();
        if own.iter().any(|said| said.is_error) {
            return Err(failure(&own, ""));
        }
        let rendered = self.cargo_lines.join("\n");
        if let Err(error) = outcome {
            return Err(Failure { what: format!("was not built: {error}"), rendered });
        }
        // The library of its package or a dependency did not compile. Other programs of the package are not the reason.
        let others: Vec<&Rendered> = self
            .said
            .iter()
            .filter(|said| {
                said.is_error && !said.target.kind.iter().any(|kind| kind == self.unit.kind.name())
            })
            .collect();
        if let Some(first) = others.first() {
            let place = format!(" in `{}`, which it uses", first.target.name);
            return Err(failure(&others, &place));
        }
        let said = headline(&rendered);
        let what =
            format!("was not built: {}", said.as_deref().unwrap_or("cargo printed no reason"));
        Err(Failure { what, rendered })
    }
}

/// Summarizes an error of cargo in one line: the error and its causes.
pub(super) fn headline(text: &str) -> Option<String> {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.clone().next()?;
    let error = lines.find_map(|line| line.strip_prefix("error: ")).unwrap_or(first);
    let mut headline = error.to_owned();
    while let Some(line) = lines.next() {
        // The lines after the first one of a cause show a part of a file.
        if line == "Caused by:"
            && let Some(cause) = lines.next()
        {
            headline.push_str(": ");
            headline.push_str(cause);
        }
    }
    Some(headline)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{super::unit::ProgramKind, *};

    fn unit() -> Unit {
        Unit {
            manifest: "/p/Cargo.toml".into(),
            package: Some("p".to_owned()),
            target_directory: "/t".into(),
            build_directory: None,
            package_name: "p".to_owned(),
            workspace: PathBuf::new(),
            features: vec!["a".to_owned(), "b".to_owned()],
            kind: ProgramKind::Bin,
            sources: PathBuf::new(),
            lone_file: None,
            renames: vec![("/cache/main.rs".to_owned(), "/evals/check.rs".to_owned())],
        }
    }

    fn message(package: &str, kind: &str, name: &str, level: &str, text: &str) -> String {
        format!(
            r#"{{"reason":"compiler-message","package_id":"{package}","target":{{"kind":["{kind}"],"name":"{name}"}},
               "message":{{"message":"{text}","level":"{level}","rendered":"{level}: {text}\n --> /cache/main.rs:1:1\n"}}}}"#
        )
    }

    fn artifact(package: &str, kind: &str, name: &str, path: &str) -> String {
        format!(
            r#"{{"reason":"compiler-artifact","package_id":"{package}",
               "target":{{"kind":["{kind}"],"name":"{name}"}},"executable":"{path}"}}"#
        )
    }

    fn results(
        stdout: &[String],
        stderr: &[&str],
        programs: &[&str],
    ) -> Vec<Result<PathBuf, Failure>> {
        let unit = unit();
        let mut log = Log::new(&unit, programs);
        for line in stdout {
            log.line(Stream::Stdout, line, &mut |_| ());
        }
        for line in stderr {
            log.line(Stream::Stderr, line, &mut |_| ());
        }
        let outcome =
            Err(ToolError::TimedOut { program: "cargo".to_owned(), limit: Duration::from_secs(9) });
        let ended = Ok(ExitStatus::default());
        let outcome = if stderr == ["hangs"] { outcome } else { ended };
        programs.iter().map(|program| log.result_of(program, &outcome)).collect()
    }

    #[test]
    fn each_program_answers_for_its_own_errors() {
        let lines = [
            message("p", "bin", "a", "error", "oops"),
            message("p", "bin", "a", "warning", "unused"),
            message("p", "bin", "a", "error", "aborting due to 1 previous error"),
            artifact("other", "bin", "b", "/t/other"),
            artifact("p", "bin", "b", "/t/b"),
        ];
        let results = results(&lines, &[], &["a", "b"]);
        let failure = results[0].clone().unwrap_err();
        assert_eq!(failure.what, "does not compile: 1 error");
        assert_eq!(
            failure.rendered,
            "error: oops\n --> /evals/check.rs:1:1\n\nwarning: unused\n --> /evals/check.rs:1:1\n"
        );
        assert_eq!(results[1], Ok("/t/b".into()));
    }

    #[test]
    fn errors_of_the_library_are_everybody_s() {
        let lines = [message("p", "lib", "mine", "error", "oops")];
        for result in results(&lines, &[], &["a", "b"]) {
            let failure = result.unwrap_err();
            assert_eq!(failure.what, "does not compile: 1 error in `mine`, which it uses");
            assert!(failure.rendered.contains("oops"));
        }
    }

    #[test]
    fn an_error_of_cargo_is_reported_as_cargo_prints_it() {
        let stderr = [
            "warning: something",
            "error: no matching package named `gone` found",
            "location searched: x",
        ];
        let failure = results(&[], &stderr, &["a"]).remove(0).unwrap_err();
        assert_eq!(failure.what, "was not built: no matching package named `gone` found");
        assert_eq!(failure.rendered, stderr.join("\n"));
        let stderr = [
            "error: failed to parse manifest at `/c/Cargo.toml`",
            "",
            "Caused by:",
            "  dependency (a) specified without providing a local path",
            "",
            "Caused by:",
            "  because",
            "  of this",
        ];
        let failure = results(&[], &stderr, &["a"]).remove(0).unwrap_err();
        assert_eq!(
            failure.what,
            "was not built: failed to parse manifest at `/c/Cargo.toml`: dependency (a) specified without providing a \
             local path: because"
        );
        let failure = results(&[], &[], &["a"]).remove(0).unwrap_err();
        assert_eq!(failure.what, "was not built: cargo printed no reason");
    }

    #[test]
    fn a_build_that_hangs_is_reported_as_such() {
        let failure = results(&[], &["hangs"], &["a"]).remove(0).unwrap_err();
        assert_eq!(failure.what, "was not built: cargo took longer than 9 s and was stopped");
    }

    #[test]
    fn a_build_with_nothing_to_do_is_silent_and_any_other_is_framed() {
        let unit = unit();
        let mut events = Vec::new();
        let mut log = Log::new(&unit, &["a", "b"]);
        log.line(Stream::Stderr, "    Finished `dev` profile in 0.01s", &mut |event| {
            events.push(event)
        });
        log.finish(&mut |event| events.push(event));
        assert_eq!(events, []);

        let mut log = Log::new(&unit, &["a", "b"]);
        log.line(Stream::Stderr, "   Compiling a v0.1.0", &mut |event| events.push(event));
        log.line(Stream::Stderr, "    Finished `dev` profile in 1s", &mut |event| {
            events.push(event)
        });
        log.finish(&mut |event| events.push(event));
        assert_eq!(
            events[0],
            PrepareEvent::Started { what: "building 2 Rust evaluators".to_owned() }
        );
        assert_eq!(events[1], PrepareEvent::Progress { line: "Compiling a v0.1.0".to_owned() });
        assert!(matches!(events[3], PrepareEvent::Finished { .. }), "{events:?}");
    }

    #[test]
    fn the_only_program_of_a_build_is_named() {
        let started = |unit: &Unit| {
            let mut events = Vec::new();
            let mut log = Log::new(unit, &["a"]);
            log.line(Stream::Stderr, "   Compiling a v0.1.0", &mut |event| events.push(event));
            events.remove(0)
        };
        let mut unit = unit();
        assert_eq!(started(&unit), PrepareEvent::Started { what: "building a".to_owned() });
        unit.lone_file = Some("check.rs".to_owned());
        assert_eq!(started(&unit), PrepareEvent::Started { what: "building check.rs".to_owned() });
    }

    #[test]
    fn what_build_scripts_say_reaches_the_programs_of_their_package() {
        let unit = unit();
        let mut log = Log::new(&unit, &["a"]);
        let mut line = |text: &str| log.line(Stream::Stdout, text, &mut |_| ());
        for (package, variable) in [("p", "MINE"), ("dependency", "THEIRS")] {
            line(&format!(
                r#"{{"reason":"build-script-executed","package_id":"{package}","linked_libs":[],"cfgs":[],
                   "linked_paths":["native=/t/{package}"],"env":[["{variable}","1"]],"out_dir":"/t/out/{package}"}}"#
            ));
        }
        line(
            r#"{"reason":"compiler-artifact","package_id":"p","target":{"kind":["bin"],"name":"a"},"executable":"/t/a"}"#,
        );
        let findings = log.findings_for(Path::new("/t/a"));
        assert_eq!(findings.linked, ["native=/t/p", "native=/t/dependency"]);
        assert_eq!(findings.own, [("MINE".to_owned(), "1".to_owned())]);
        assert_eq!(findings.out_dir.as_deref(), Some(Path::new("/t/out/p")));
        assert!(!findings.has_dylibs);
    }
}
