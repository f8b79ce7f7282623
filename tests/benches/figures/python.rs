//! Many conversations by evaluators that use the Python SDK.

use std::path::Path;

use evaluator_tests::bench::{recording, scores};

use crate::{
    bench::{Bench, EVALUATORS, in_python},
    table::{Aim, Table},
};

pub(crate) fn measure(bench: &Bench, table: &mut Table) {
    let Some(interpreter) = bench.python() else {
        table.add_text(["200 traces, 5 evaluators with the Python SDK", "-", "", "no SDK", "", ""]);
        return;
    };
    let traces = bench.directory.file("python.json");
    recording::write_offers(&traces, 200);
    let forked = bench.configuration("python.yaml", "", &EVALUATORS, in_python);
    let fresh = bench.configuration("python-process.yaml", "", &EVALUATORS, |name| {
        format!("{}, isolation: process", in_python(name))
    });
    let arguments = |config| [&*traces, Path::new("-c"), config];
    let ours = |config| {
        let mut command = bench.evaluator(&arguments(config));
        command.env("EVALUATOR_PYTHON", interpreter);
        command
    };

    // One run: it takes minutes.
    let theirs = bench
        .agentevals(&arguments(&*forked))
        .map(|command| bench.measure("python-agentevals.json", 1, &command));
    let usage = bench.measure_warm("python-forked.json", 3, &ours(&*forked));
    let aim = Aim { wall: Some(6.0), ..Aim::default() };
    table.add("200 traces, 5 evaluators with the Python SDK", theirs, aim, usage);
    let report = bench.directory.file("python-forked.json");
    if theirs.is_some() {
        scores::assert_same(&report, &bench.directory.file("python-agentevals.json"));
    }
    let usage = bench.measure("python-process.json", 1, &ours(&*fresh));
    table.add("the same, each evaluation started again", theirs, Aim::default(), usage);
    scores::assert_same(&report, &bench.directory.file("python-process.json"));
}
