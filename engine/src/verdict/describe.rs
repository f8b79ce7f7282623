//! Error messages for text reports. `explain` has the messages that other hosts compare.

use std::time::Duration;

use super::{BadAnswer, Verdict};

/// Reason of evaluations that were not run, as a clause that follows a name.
const WAS_NOT_RUN: &str =
    "was not run, because the run had stopped at an earlier failure or error (fail-fast)";

impl Verdict {
    /// Returns the error as a clause that follows the name of the evaluator; `None` for an answer.
    ///
    /// The clause contains the most specific line of `stderr`, the standard error of the evaluator: the message of a panic,
    /// of an exception, or of the SDK. Only errors of preparations (compilers, installers) have several lines.
    pub fn describe(&self, name: &str, stderr: &str) -> Option<String> {
        let with_message = |what: String| match message_in(name, stderr) {
            Some(message) => format!("{what}: {message}"),
            None => what,
        };
        Some(match self {
            Self::Answer(_) => return None,
            Self::Exited { code } => with_message(format!("exited with code {code}")),
            Self::Signalled { signal } => with_message(match signal_name(*signal) {
                Some(name) => format!("killed by signal {signal} ({name})"),
                None => format!("killed by signal {signal}"),
            }),
            Self::TimedOut { limit } => format!("timed out after {}", seconds(*limit)),
            Self::LeakedPipe => "exited, but a process that it started still has its stdout open, so the result may be \
                 incomplete; wait for that process, or give it another output"
                .to_owned(),
            Self::BadAnswer(BadAnswer::Empty) => {
                with_message("exited with code 0 and produced no output on stdout".to_owned())
            }
            Self::BadAnswer(BadAnswer::NotJson { reason }) => {
                format!("its output is not JSON: {reason}")
            }
            Self::BadAnswer(bad @ BadAnswer::Invalid { .. }) => {
                format!("its result is not valid: {bad}")
            }
            Self::BadAnswer(foreign @ BadAnswer::Foreign { .. }) => foreign.to_string(),
            Self::BadAnswer(BadAnswer::TooLarge { limit }) => {
                format!("wrote more than {limit} bytes to stdout")
            }
            Self::Cancelled => "was not finished, because the run was cancelled".to_owned(),
            Self::NotRun => WAS_NOT_RUN.to_owned(),
            Self::Lost { reason } => {
                with_message(format!("exited, but its exit status is not available: {reason}"))
            }
            Self::SpawnFailed { reason, .. }
            | Self::PrepareFailed { reason }
            | Self::MetricFailed { reason } => reason.clone(),
            Self::Reported { kind, message } if kind == "error" => {
                format!("reported an error: {message}")
            }
            Self::Reported { kind, message } => format!("reported an error ({kind}): {message}"),
        })
    }
}

/// Formats a duration in seconds, e.g. `30s` or `1.5s`.
fn seconds(duration: Duration) -> String {
    match duration.subsec_nanos() {
        0 => format!("{}s", duration.as_secs()),
        _ => format!("{}s", duration.as_secs_f64()),
    }
}

/// Returns the line of standard error that contains the cause, without prefixes that the report contains already.
fn message_in(name: &str, stderr: &str) -> Option<String> {
    // Node.js and env end with lines about themselves.
    let is_message = |line: &&str| {
        !line.trim().is_empty()
            && !line.starts_with("Node.js v")
            && !line.starts_with("(Use `node --trace")
            && !line.ends_with("use -[v]S to pass options in shebang lines")
    };
    let lines: Vec<&str> = stderr.lines().map(str::trim_end).filter(is_message).collect();
    rust_panic(&lines)
        .or_else(|| reported_error(&lines, name))
        .or_else(|| exception(&lines))
        .or_else(|| lines.last().map(|line| line.trim().to_owned()))
}

/// Returns the message and location of the last panic of a Rust program.
fn rust_panic(lines: &[&str]) -> Option<String> {
    let (at, place) = lines.iter().enumerate().rev().find_map(|(at, line)| {
        let (thread, place) = line.split_once(" panicked at ")?;
        thread.trim_start().starts_with("thread '").then_some((at, place))
    })?;
    // Before Rust 1.73 the message stood in the same line, in quotes.
    if let Some((message, place)) =
        place.strip_prefix('\'').and_then(|rest| rest.rsplit_once("', "))
    {
        return Some(format!("panicked: {message} ({place})"));
    }
    let place = place.trim_end_matches(':');
    let message = lines.get(at + 1).map(|line| line.trim());
    let message =
        message.filter(|line| !line.starts_with("note: ") && !line.starts_with("error: "));
    Some(format!("panicked: {} ({place})", message.unwrap_or("(no message)")))
}

/// Returns the last line that starts with `error: `, as programs of the SDK write it, without that and the name, and with
/// the causes in the lines below it.
fn reported_error(lines: &[&str], name: &str) -> Option<String> {
    let at = lines.iter().rposition(|line| line.starts_with("error: "))?;
    let message = lines[at].strip_prefix("error: ")?;
    let message =
        message.strip_prefix(name).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(message);
    let causes = lines[at + 1..].iter().map_while(|line| line.strip_prefix("  caused by: "));
    Some([message.trim()].into_iter().chain(causes).collect::<Vec<_>>().join(": "))
}

/// Returns the uncaught exception of a Python or JavaScript program.
fn exception(lines: &[&str]) -> Option<String> {
    let is_traceback = |line: &&str| line.starts_with("Traceback (most recent call last)");
    let found = match lines.iter().rposition(is_traceback) {
        // The calls are indented, and the exception stands below them.
        Some(traceback) => {
            lines[traceback + 1..].iter().find(|line| !line.starts_with(char::is_whitespace))
        }
        // The exception stands above the calls.
        None => {
            let calls = lines.iter().position(|line| line.starts_with("    at "))?;
            let above = &lines[..calls];
            above.iter().rev().find(|line| names_error(line)).or(above.last())
        }
    };
    found.map(|line| line.trim_start_matches("Uncaught ").to_owned())
}

/// Returns true if the line begins with the name of an error of JavaScript.
fn names_error(line: &str) -> bool {
    let name = line.trim_start_matches("Uncaught ").split([':', ' ']).next().unwrap_or_default();
    name.ends_with("Error")
}

/// Returns the name of a signal that terminates programs. Numbers differ between systems only where Linux is checked.
fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 if cfg!(target_os = "linux") => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        31 if cfg!(target_os = "linux") => "SIGSYS",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn signals_have_names_and_results_are_told_from_json() {
        let describe = |verdict: Verdict| verdict.describe("x", "").unwrap();
        for (verdict, text) in [
            (Verdict::Signalled { signal: 6 }, "killed by signal 6 (SIGABRT)"),
            (Verdict::Signalled { signal: 64 }, "killed by signal 64"),
            (Verdict::TimedOut { limit: Duration::from_millis(1500) }, "timed out after 1.5s"),
            (Verdict::Exited { code: 3 }, "exited with code 3"),
            (
                Verdict::BadAnswer(BadAnswer::Invalid {
                    path: "score".into(),
                    reason: "odd".into(),
                }),
                "its result is not valid: score: odd",
            ),
            (
                Verdict::BadAnswer(BadAnswer::NotJson { reason: "odd".into() }),
                "its output is not JSON: odd",
            ),
            (
                Verdict::Reported { kind: "quota".into(), message: "spent".into() },
                "reported an error (quota): spent",
            ),
        ] {
            assert_eq!(describe(verdict), text);
        }
    }

    #[test]
    fn the_line_that_says_why_is_found() {
        for (stderr, message) in [
            ("boom\n", "boom"),
            ("warning: x\nboom\n\n", "boom"),
            (
                "/a.js:1\nthrow 'oops'\n^\noops\n(Use `node --trace-uncaught ...` to show where ...)\n\nNode.js v22.1.0\n",
                "oops",
            ),
            ("error: check: no reply\n  caused by: y\n  caused by: z\nx\n", "no reply: y: z"),
            ("error: config.max: missing", "config.max: missing"),
            ("error: check2: missing", "check2: missing"),
            (
                "debug 1\n\nthread 'main' (77) panicked at src/main.rs:5:9:\nindex out of bounds\nnote: run with \
                 `RUST_BACKTRACE=1`\nerror: check: the evaluator panicked\n",
                "panicked: index out of bounds (src/main.rs:5:9)",
            ),
            (
                "thread 'main' panicked at 'old', src/main.rs:5:9\nnote: x",
                "panicked: old (src/main.rs:5:9)",
            ),
            (
                "thread 'main' panicked at src/main.rs:5:9:\n\nnote: x",
                "panicked: (no message) (src/main.rs:5:9)",
            ),
            (
                "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    {}['x']\nKeyError: 'x'\n",
                "KeyError: 'x'",
            ),
            (
                "Traceback (most recent call last):\n  File \"a.py\", line 1\npydantic.ValidationError: 2 problems\n  a\n  b\n",
                "pydantic.ValidationError: 2 problems",
            ),
            (
                "Traceback (most recent call last):\n  a\nKeyError: 'x'\n\nDuring handling of the above exception, another \
                 exception occurred:\n\nTraceback (most recent call last):\n  b\nNoSuchModel: gpt\n",
                "NoSuchModel: gpt",
            ),
            (
                "/a.js:1\nthrow new TypeError('x')\n^\n\nTypeError: x\n    at Object.<anonymous> (/a.js:1:7)\n\nNode.js v22.1.0\n",
                "TypeError: x",
            ),
        ] {
            assert_eq!(message_in("check", stderr).as_deref(), Some(message), "{stderr}");
        }
        assert_eq!(message_in("check", " \n\n"), None);
    }
}
