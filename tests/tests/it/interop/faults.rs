//! How evaluators break.

use crate::interop::case::Recorded;

/// A way to break, or to behave badly.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    /// Name in the settings of the fixtures.
    pub(crate) name: &'static str,
    /// True if there is an answer all the same.
    pub(crate) is_harmless: bool,
    /// True if an evaluator in Python can trigger it.
    pub(crate) in_python: bool,
    /// True if it ends its process.
    pub(crate) ends: bool,
    pub(crate) hangs: bool,
}

const BREAKS: Fault =
    Fault { name: "", is_harmless: false, in_python: true, ends: false, hangs: false };

/// [The fixture](../../../fixtures/interop/main.rs) does all of them, [Python](drivers/theirs/faults.py) most.
pub(crate) const ALL: [Fault; 14] = [
    Fault { name: "stray output", is_harmless: true, ..BREAKS },
    Fault { name: "3 MB of messages", is_harmless: true, ..BREAKS },
    Fault { name: "error", ..BREAKS },
    Fault { name: "panic", in_python: false, ..BREAKS },
    Fault { name: "exit 3", ends: true, ..BREAKS },
    Fault { name: "exit 0 without an answer", ends: true, ..BREAKS },
    Fault { name: "abort", ends: true, ..BREAKS },
    Fault { name: "out of memory", ends: true, in_python: false, ..BREAKS },
    Fault { name: "stack overflow", ends: true, in_python: false, ..BREAKS },
    Fault { name: "segfault", ends: true, ..BREAKS },
    Fault { name: "killed", ends: true, ..BREAKS },
    Fault { name: "hang", hangs: true, ..BREAKS },
    Fault { name: "score NaN", ..BREAKS },
    Fault { name: "score 2", ..BREAKS },
];

/// Judges evaluators that run in the host's own process: those that end it, or never end, each by itself, the others together.
pub(crate) fn apart(
    faults: &[Fault],
    judge: impl Fn(&[Fault]) -> Result<Vec<Recorded>, Recorded>,
) -> Vec<Recorded> {
    let (alone, together): (Vec<Fault>, Vec<Fault>) =
        faults.iter().partition(|fault| fault.ends || fault.hangs);
    let mut recorded = Vec::new();
    for some in std::iter::once(&*together).chain(alone.chunks(1)) {
        let records = judge(some).unwrap_or_else(|ended| vec![ended; some.len()]);
        recorded.extend(some.iter().map(|fault| fault.name).zip(records));
    }
    let of = |fault: &Fault| recorded.iter().find(|(name, _)| *name == fault.name);
    faults.iter().map(|fault| of(fault).unwrap().1.clone()).collect()
}
