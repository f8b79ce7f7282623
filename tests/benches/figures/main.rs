//! Measures the figures that this project promises, and those of agentevals in the same run.
//!
//! `cargo bench -p evaluator-tests --bench figures` installs what it compares with (some 1 GB below cargo's target directory, once),
//! builds, measures for about twelve minutes, and prints one table. Five of them are runs that start an interpreter for each
//! of 1,000 evaluations, as agentevals does. After `--`:
//!
//! | argument | measures |
//! |---|---|
//! | `one` | one conversation: the time a user waits |
//! | `python` | many conversations by evaluators that use the Python SDK |
//! | `rust` | the same by evaluators in Rust: as processes, as workers, linked |
//! | `worker` | processor time of one evaluation, when there is always a next one |
//! | `growth` | more and more conversations |
//! | `pipe` | the filter form: lines next to a run, no line, many lines |
//! | `parts` | a million conversations: reports of 10 and of 10,000 parts, and a run (some 3 GB of files, one after another) |
//! | `judges` | answers that a model judges, which takes 50 ms for each, judgements from a cassette, and calls of a program |
//! | `containment` | starts, evaluations and runs in a sandbox, beside those without and those of other tools |
//! | `statistics` | gates, comparisons, overviews and agreement of saved runs |
//! | `page` | time, memory and size of HTML reports |
//! | `live` | spans that come while conversations are judged, for a minute |
//! | `mutation` | damaged conversations by evaluators in Rust and Python |
//! | `libraries` | metrics of other Python libraries: computed ones, and judges from a cassette |
//! | `--ours` | ours alone, with nothing to compare with |
//!
//! `BENCH_TRACES` is another number of conversations to grow to than 100,000 (a file of 410 MB), and than 1,000,000 for `parts`;
//! `BENCH_FOLDER` is a directory in which all files are left. With `--profile dev`, all programs are built so: a quick try. `AGENTEVALS` and `EVALUATOR_SDK_PYTHON` name programs to be used in place of installed ones.

#![expect(clippy::disallowed_methods, reason = "what is measured are whole processes")]
#![expect(
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, and may panic"
)]

mod bench;
mod containment;
mod growth;
mod judges;
mod libraries;
mod live;
mod mutation;
mod one;
mod page;
mod parts;
mod pipe;
mod python;
mod rust;
mod saturation;
mod statistics;
mod table;

use std::{env, thread};

use bench::Bench;
use evaluator_tests::bench::{is_wanted, measure};
use table::Table;

/// A part of the table: its name, and the function that measures it and adds its rows.
type Part = (&'static str, fn(&Bench, &mut Table));

const PARTS: [Part; 14] = [
    ("one", one::measure),
    ("python", python::measure),
    ("rust", rust::measure),
    ("worker", saturation::measure),
    ("growth", growth::measure),
    ("pipe", pipe::measure),
    ("parts", parts::measure),
    ("judges", judges::measure),
    ("containment", containment::measure),
    ("mutation", mutation::measure),
    ("statistics", statistics::measure),
    ("page", page::measure),
    ("libraries", libraries::measure),
    ("live", live::measure),
];

/// Argument that leaves out the programs to compare with, which would be installed.
const OURS: &str = "--ours";

fn main() {
    evaluator_sandbox::run_if_helper();
    if measure::is_measuring() || !is_wanted() {
        return;
    }
    let arguments: Vec<String> = env::args().skip(1).filter(|other| other != "--bench").collect();
    let is_part = |argument: &String| PARTS.iter().any(|(name, _)| name == argument);
    if let Some(unknown) = arguments.iter().find(|other| !is_part(other) && *other != OURS) {
        let names = PARTS.map(|(name, _)| name).join(", ");
        panic!("there is no part `{unknown}`; there are {names}, and {OURS}");
    }
    let wanted = |name: &str| {
        !arguments.iter().any(is_part) || arguments.iter().any(|argument| argument == name)
    };
    let bench = Bench::new(!arguments.iter().any(|argument| argument == OURS));
    let mut table = Table::default();
    for (_, measure) in PARTS.into_iter().filter(|(name, _)| wanted(name)) {
        measure(&bench, &mut table);
    }
    let processors = thread::available_parallelism().map_or(1, usize::from);
    println!(
        "\nwall time, processor time of all processes, memory of the largest; {processors} processors\n"
    );
    print!("{table}");
}
