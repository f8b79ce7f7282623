//! The faults and their expected verdicts.

use super::case::Fault;
use crate::printed;

/// Expected verdict on the victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// An error of this type.
    Error(&'static str),
    /// The answer, a score of 0: the fault does not affect the evaluation.
    Answer,
    /// The answer, with a warning.
    Warned,
    /// The answer, and an error of the run that has this text: the fault is that of the worker, not of one document.
    Unreliable(&'static str),
}

use Expected::{Answer, Error, Unreliable, Warned};

/// A fault of the program `faulty`, with the same verdict in both forms.
const fn same(name: &'static str, expected: Expected) -> Fault {
    Fault {
        name,
        one_shot: expected,
        warm: expected,
        source: None,
        limits: "",
        is_lasting: false,
        is_long: false,
    }
}

/// A fault with a verdict for each form.
const fn each(name: &'static str, one_shot: Expected, warm: Expected) -> Fault {
    Fault { one_shot, warm, ..same(name, one_shot) }
}

/// A fault that a limit of the entry ends.
const fn limited(name: &'static str, limits: &'static str, expected: Expected) -> Fault {
    Fault { limits, ..same(name, expected) }
}

/// An evaluator that is broken altogether.
const fn broken(
    name: &'static str,
    source: (&'static str, &'static str),
    verdict: &'static str,
) -> Fault {
    Fault { source: Some(source), ..same(name, Error(verdict)) }
}

const DEAF: Option<(&str, &str)> = Some(("check", "#!/bin/sh\necho '{\"score\": 0}'\n"));

/// Faults of the output alone that stand for all of them: `process_faults` has each in every form of a program.
const PRINTED: [&str; 4] = ["truncated JSON", "two documents", "NaN", "error reported"];

/// All faults, those that take the longest first.
pub(crate) fn all() -> Vec<Fault> {
    let printed = printed::all().filter(|(name, ..)| PRINTED.contains(name));
    OTHERS.into_iter().chain(printed.map(|(name, _, error, _)| same(name, Error(error)))).collect()
}

const OTHERS: [Fault; 32] = [
    // A conversation of 2 MB, far more than a pipe holds, that is not read.
    Fault { source: DEAF, is_long: true, ..same("input left unread", Answer) },
    Fault { is_long: true, ..same("empty object, long input", Error("bad_answer")) },
    same("hang", Error("timed_out")),
    same("hang without TERM", Error("timed_out")),
    same("stdout closed", Error("timed_out")),
    each("no output", Error("bad_answer"), Error("timed_out")),
    same("endless output", Error("timed_out")),
    limited("busy without end", "cpu: 1", Error("signalled")),
    same("panic", Error("exited")),
    same("error from main", Error("exited")),
    same("exit 3", Error("exited")),
    // The exit code of a worker belongs to no document.
    each(
        "exit 3 after an answer",
        Error("exited"),
        Unreliable("faulty: a worker exited with code 3, outside of any evaluation"),
    ),
    same("exit 0 without an answer", Error("bad_answer")),
    same("abort", Error("signalled")),
    same("segfault", Error("signalled")),
    same("stack overflow", Error("signalled")),
    same("killed from outside", Error("signalled")),
    same("100 MB on stdout", Error("bad_answer")),
    same("100 MB on stderr", Answer),
    each(
        "pipe held open",
        Error("leaked_pipe"),
        Unreliable("faulty: a worker exited, but a process it started still has its stdout open"),
    ),
    same("daemon left behind", Answer),
    same("too many turns", Error("bad_answer")),
    same("turn out of range", Warned),
    same("status against score", Answer),
    broken("build failure", ("check.rs", "fn main() { not rust }"), "prepare_failed"),
    broken("interpreter missing", ("check", "#!/no/such/interpreter\n"), "spawn_failed"),
    broken("syntax error", ("check.py", "def (:\n"), "exited"),
    Fault { is_lasting: true, ..same("file deleted", Answer) },
    limited("memory without end", "memory: 256MiB", Error("signalled")),
    limited("files without end", "open_files: 32", Error("exited")),
    // Workers continue with the program that they started with; it is unknown which one a new process would run.
    Fault { is_lasting: true, ..each("file replaced", Error("prepare_failed"), Answer) },
    // None is started in place of one that dies.
    Fault {
        is_lasting: true,
        ..each("file replaced and exit 3", Error("prepare_failed"), Error("exited"))
    },
];
