//! One conversation: the time a user waits.

use std::path::Path;

use evaluator_tests::bench::{recording, scores};

use crate::{
    bench::{Bench, EVALUATORS, in_python, in_rust},
    table::{Aim, Table},
};

/// Built-in metrics that run with the two evaluators: trajectory and ROUGE.
const METRICS: &str = "  - {name: tool_trajectory_avg_score, type: builtin}\n  \
                       - {name: response_match_score, type: builtin}\n";

pub(crate) fn measure(bench: &Bench, table: &mut Table) {
    let (trace, set) = (bench.directory.file("one.json"), bench.directory.file("one-set.json"));
    recording::write_traces(&trace, 1);
    recording::write_eval_set(&set);
    let two = &EVALUATORS[..2];
    let rust = bench.configuration("one-rust.yaml", METRICS, two, in_rust);
    let python = bench.configuration("one-python.yaml", METRICS, two, in_python);
    let arguments = |config| [&*trace, Path::new("-c"), config, Path::new("-e"), &*set];

    let theirs = bench.agentevals(&arguments(&*python)).map(|command| {
        // The first run compiles Python's modules.
        bench.measure_warm("one-agentevals.json", 3, &command)
    });
    let mut ours = |work: &str, report: &str, command, aim| {
        let usage = bench.measure_warm(report, 9, &command);
        table.add(work, theirs, aim, usage);
        if theirs.is_some() {
            let theirs = bench.directory.file("one-agentevals.json");
            scores::assert_same(&bench.directory.file(report), &theirs);
        }
    };
    let aim = Aim { wall: Some(0.030), peak: Some(25.0) };
    ours(
        "1 trace, trajectory, ROUGE, 2 Rust evaluators (built)",
        "one-rust.json",
        bench.evaluator(&arguments(&*rust)),
        aim,
    );
    let work = "1 trace, trajectory, ROUGE, the same 2 with the Python SDK";
    let Some(interpreter) = bench.python() else {
        table.add_text([work, "-", "", "no SDK", "", ""]);
        return;
    };
    let mut command = bench.evaluator(&arguments(&*python));
    command.env("EVALUATOR_PYTHON", interpreter);
    ours(work, "one-python.json", command, Aim::default());
}
