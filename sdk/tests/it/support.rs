//! Evaluator programs under test: started with pipes, given their input, and looked at when they have ended.

#![expect(clippy::disallowed_methods, reason = "the programs under test are started here")]

use std::{
    io::{Read, Write},
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
};

use serde_json::Value;

/// A program with pipes to all its ends: `FIXTURE` of the program `fixture`, or `PROGRAM/FIXTURE` of another one.
pub(crate) fn start(fixture: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Child {
    let (program, fixture) = fixture.split_once('/').unwrap_or(("fixture", fixture));
    let deps = std::env::current_exe().unwrap();
    let program: PathBuf = deps.parent().unwrap().with_file_name("examples").join(program);
    assert!(
        program.exists(),
        "{} is not built: run all tests of the package, or `cargo build --examples`",
        program.display()
    );
    Command::new(program)
        .args(arguments)
        .env("FIXTURE", fixture)
        .env_remove("EVALUATOR_LOG")
        .env_remove("RUST_BACKTRACE")
        .envs(environment.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// What a program left behind.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// `None` after death by a signal.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// Whether the whole of standard input was taken.
    pub(crate) drained: bool,
}

impl Outcome {
    #[track_caller]
    pub(crate) fn answer(&self) -> Value {
        assert_eq!(self.code, Some(0), "{self:?}");
        assert_eq!(self.stdout.lines().count(), 1, "{self:?}");
        serde_json::from_str(&self.stdout).unwrap()
    }

    #[track_caller]
    pub(crate) fn failed(&self, code: i32, message: &str) {
        assert_eq!((self.code, self.stdout.as_str()), (Some(code), ""), "{self:?}");
        assert!(self.drained, "{self:?}");
        assert!(self.stderr.contains(message), "{message:?} is not in {:?}", self.stderr);
    }
}

fn finish(mut child: Child, input: &[u8]) -> Outcome {
    let mut stdin = child.stdin.take().unwrap();
    let (mut stdout, mut stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let (mut out, mut err) = (String::new(), String::new());
    let drained = thread::scope(|scope| {
        let writer = scope.spawn(move || stdin.write_all(input).is_ok());
        scope.spawn(|| stdout.read_to_string(&mut out).unwrap());
        scope.spawn(|| stderr.read_to_string(&mut err).unwrap());
        writer.join().unwrap()
    });
    let code = child.wait().unwrap().code();
    Outcome { code, stdout: out, stderr: err, drained }
}

pub(crate) fn run_with(
    fixture: &str,
    arguments: &[&str],
    environment: &[(&str, &str)],
    input: &str,
) -> Outcome {
    finish(start(fixture, arguments, environment), input.as_bytes())
}

pub(crate) fn run(fixture: &str, arguments: &[&str], input: &str) -> Outcome {
    run_with(fixture, arguments, &[], input)
}
