//! Programs under test: started with pipes, bounded in time, and checked when they have exited.

use std::{
    env,
    io::{Read, Write as _},
    process::{Child, Command, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

/// Time after which a program counts as hanging: far more than any of them takes on a busy machine.
pub const TIME_LIMIT: Duration = Duration::from_secs(600);

/// Exit code and output of a program.
#[derive(Debug)]
pub struct Output {
    /// Exit code; `None` after death by a signal.
    pub code: Option<i32>,
    /// Standard output, where it is a pipe.
    pub stdout: String,
    /// Standard error, where it is a pipe.
    pub stderr: String,
}

/// Runs a program with an empty standard input and pipes for its output.
#[track_caller]
pub fn run(command: &mut Command) -> Output {
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    finish(command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}")))
}

/// Runs a program with this input and pipes for its output.
#[track_caller]
pub fn run_with_input(command: &mut Command, input: impl AsRef<[u8]>) -> Output {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (mut stdin, input) = (child.stdin.take().unwrap(), input.as_ref().to_owned());
    // A program need not read its input.
    thread::spawn(move || stdin.write_all(&input));
    finish(child)
}

/// Waits for a program while reading its pipes.
///
/// # Panics
///
/// If it still runs after [`TIME_LIMIT`], or if its output is not UTF-8.
#[track_caller]
pub fn finish(mut child: Child) -> Output {
    let (open, closed) = mpsc::channel::<()>();
    let read = |pipe: Option<Box<dyn Read + Send>>| {
        let open = open.clone();
        thread::spawn(move || {
            let mut bytes = Vec::new();
            pipe.map(|mut pipe| pipe.read_to_end(&mut bytes)).transpose().unwrap();
            drop(open);
            String::from_utf8(bytes).expect("output is UTF-8")
        })
    };
    let stdout = read(child.stdout.take().map(|pipe| Box::new(pipe) as Box<_>));
    let stderr = read(child.stderr.take().map(|pipe| Box::new(pipe) as Box<_>));
    drop(open);
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if start.elapsed() > TIME_LIMIT {
            child.kill().unwrap();
            panic!("the program hangs; stderr: {}", stderr.join().unwrap());
        }
        // The end of its outputs mostly is that of the program, too, which thus is noticed at once.
        if closed.recv_timeout(Duration::from_millis(20)) == Err(RecvTimeoutError::Disconnected) {
            thread::sleep(Duration::from_millis(1));
        }
    };
    let (stdout, stderr) = (stdout.join().unwrap(), stderr.join().unwrap());
    Output { code: status.code(), stdout, stderr }
}

impl Output {
    /// Checks the exit code.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }

    /// Checks that standard error has this text exactly once.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        let count = self.stderr.matches(text).count();
        assert_eq!(count, 1, "`{text}` is there {count} times: {}", self.stderr);
        self
    }

    /// Checks that standard output is empty.
    #[track_caller]
    pub fn reports_nothing(self) -> Self {
        assert_eq!(self.stdout, "", "{}", self.stderr);
        self
    }

    /// Standard output as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}\n{}", self.stdout, self.stderr))
    }

    /// Evaluations of a conversation in a JSON report: name with status or error type, for example `polite PASSED` or
    /// `polite ERROR timed_out`.
    #[track_caller]
    pub fn evaluations(&self, conversation: usize) -> Vec<String> {
        let json = self.json();
        let metrics = json["traces"][conversation]["metrics"].as_array().unwrap();
        metrics
            .iter()
            .map(|metric| {
                let name = metric["metric_name"].as_str().unwrap();
                match metric["error_type"].as_str() {
                    Some(kind) => format!("{name} ERROR {kind}"),
                    None => format!("{name} {}", metric["eval_status"].as_str().unwrap()),
                }
            })
            .collect()
    }

    /// Error message of an evaluation of the first conversation in a JSON report.
    #[track_caller]
    pub fn error_of(&self, name: &str) -> String {
        let json = self.json();
        let metrics = json["traces"][0]["metrics"].as_array().unwrap();
        let metric = metrics.iter().find(|metric| metric["metric_name"] == name).unwrap();
        metric["error"].as_str().unwrap().to_owned()
    }
}

/// Returns true if a program is on `PATH`, else reports that a test is skipped.
pub fn has(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&path).any(|directory| directory.join(program).is_file());
    if !found {
        eprintln!("SKIPPED: {program} is not on PATH");
    }
    found
}

/// Returns true if `node` runs TypeScript with its types, else reports that a test is skipped.
pub fn has_typescript() -> bool {
    if !has("node") {
        return false;
    }
    let asked = run(Command::new("node").args(["-p", "process.features.typescript || false"]));
    let found = asked.stdout.trim() != "false";
    if !found {
        eprintln!("SKIPPED: node does not run TypeScript; 22.18 does");
    }
    found
}
