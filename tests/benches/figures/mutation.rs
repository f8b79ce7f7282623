//! Damaged conversations, beside undamaged ones.

use std::path::Path;

use evaluator_tests::bench::{measure::Usage, recording};

use crate::{
    bench::{Bench, in_python, in_rust},
    table::{Table, usage, verdict},
};

/// Conversations that are damaged.
const TRACES: usize = 500;

/// Damaged conversations by an evaluator in Rust, and by one in Python.
const MUTANTS: [usize; 2] = [20_000, 500];

/// How much more processor time a damaged conversation may take than an evaluation of a run.
const DAMAGED: f64 = 1.5;

/// Damaged conversations in a second by an evaluator in Rust, and by one in Python.
const PER_SECOND: [f64; 2] = [10_000.0, 100.0];

/// The evaluator.
const EVALUATOR: &str = "tools_work";

pub(crate) fn measure(bench: &Bench, table: &mut Table) {
    let traces = bench.directory.file("damaged.json");
    recording::write_offers(&traces, TRACES);
    let many = bench.directory.file("undamaged.json");
    recording::write_offers(&many, MUTANTS[0]);
    let rust = bench.configuration("damaged.yaml", "", &[EVALUATOR], in_rust);
    let run = bench.evaluator(&[&many, Path::new("-c"), &rust]);
    let run = bench.measure_warm("undamaged-run.json", 3, &run);
    let damaged = mutate(bench, &traces, &rust, MUTANTS[0]);
    // The undamaged conversations are evaluated twice.
    let evaluations = MUTANTS[0] + 2 * TRACES;
    let ratio = (damaged.cpu() / evaluations as f64) / (run.cpu() / MUTANTS[0] as f64);
    let speed = evaluations as f64 / damaged.wall;
    table.add_text([
        &format!("{} damaged conversations, an evaluator in Rust", MUTANTS[0]),
        "-",
        &format!("{DAMAGED:.1} x the CPU of a run, {:.0}/s", PER_SECOND[0]),
        &format!("{}, {speed:.0}/s", usage(damaged)),
        &format!("{ratio:.2} x"),
        &verdict(ratio <= DAMAGED && speed >= PER_SECOND[0]),
    ]);
    let python = bench.configuration("damaged-python.yaml", "", &[EVALUATOR], in_python);
    let Some(interpreter) = bench.python() else { return };
    let mut command = command(bench, &traces, &python, MUTANTS[1]);
    command.env("EVALUATOR_PYTHON", interpreter);
    let damaged = bench.measure_warm("damaged-python.json", 3, &command);
    let speed = (MUTANTS[1] + 2 * TRACES) as f64 / damaged.wall;
    table.add_text([
        &format!("{} damaged conversations, an evaluator with the Python SDK", MUTANTS[1]),
        "-",
        &format!("{:.0}/s", PER_SECOND[1]),
        &format!("{}, {speed:.0}/s", usage(damaged)),
        "",
        &verdict(speed >= PER_SECOND[1]),
    ]);
}

fn mutate(bench: &Bench, traces: &Path, config: &Path, mutants: usize) -> Usage {
    bench.measure_warm("damaged-run.json", 3, &command(bench, traces, config, mutants))
}

fn command(bench: &Bench, traces: &Path, config: &Path, mutants: usize) -> std::process::Command {
    let mut command = bench.saved([Path::new("mutate"), traces, Path::new("-c"), config]);
    // Any result will do: an evaluator that breaks would be an error.
    command.args(["--no-relations", "--sample", &mutants.to_string()]);
    command
}
