//! Many conversations by evaluators in Rust: as processes, as workers, linked.

use std::path::Path;

use evaluator_tests::bench::{recording, scores};

use crate::{
    bench::{Bench, EVALUATORS, in_rust},
    table::{Aim, Table},
};

const RUNS: usize = 9;

pub(crate) fn measure(bench: &Bench, table: &mut Table) {
    let traces = bench.directory.file("rust.json");
    recording::write_offers(&traces, 200);
    let entry = |isolation| move |name: &str| format!("{}, isolation: {isolation}", in_rust(name));
    let fresh = bench.configuration("rust-process.yaml", "", &EVALUATORS, entry("process"));
    let warm = bench.configuration("rust.yaml", "", &EVALUATORS, entry("auto"));
    let linked =
        bench.configuration("rust-linked.yaml", "", &EVALUATORS, |_| "type: linked".to_owned());
    let arguments = |config| [&*traces, Path::new("-c"), config];
    let wall = |wall| Aim { wall: Some(wall), ..Aim::default() };

    let mut row = |work, report: &str, command, aim| {
        let usage = bench.measure_warm(report, RUNS, &command);
        table.add(work, None, aim, usage);
        bench.directory.file(report)
    };
    let workers = row(
        "200 traces, 5 Rust evaluators through processes",
        "rust-workers.json",
        bench.evaluator(&arguments(&*warm)),
        wall(0.4),
    );
    let in_process = row(
        "the same, in process",
        "rust-in-process.json",
        bench.linked(&arguments(&*linked)),
        wall(0.1),
    );
    let apart = row(
        "the same, a process for each evaluation",
        "rust-apart.json",
        bench.evaluator(&arguments(&*fresh)),
        Aim::default(),
    );
    scores::assert_same(&workers, &in_process);
    scores::assert_same(&workers, &apart);
}
