//! The filter form: what a line costs next to a conversation of a run, what nothing costs, and whether memory grows.

use std::{path::Path, process::Command};

use evaluator_tests::bench::recording;

use crate::{
    bench::{Bench, EVALUATORS, in_rust},
    table::{self, Table, verdict},
};

/// Lines that are compared with a run.
const LINES: usize = 20_000;

/// Processor time of a line next to that of a conversation of a run, seconds for no line at all, and MB from 1,000 to 100,000 lines.
const TIMES: f64 = 1.0;
const NOTHING: f64 = 0.010;
const MORE: f64 = 5.0;

pub(crate) fn measure(bench: &Bench, table: &mut Table) {
    let config = bench.configuration("pipe.yaml", "", &EVALUATORS[..2], in_rust);
    let lines = bench.directory.file("pipe.jsonl");
    let filter = || -> Command {
        let evaluator = bench.saved(["pipe"]);
        let program = evaluator.get_program().to_string_lossy().into_owned();
        let words = [&*program, "pipe", "-c", &config.to_string_lossy(), "--group-by", "trace"];
        let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        let mut command = Command::new("sh");
        // The shell becomes the filter.
        command.arg("-c").arg(format!("exec {} <'{}'", quoted.join(" "), lines.display()));
        command
    };
    recording::write_offer_lines(&lines, LINES);
    let run = bench.evaluator(&[&*lines, Path::new("-c"), &*config]);
    let run = bench.measure_warm("pipe-run.json", 3, &run);
    let pipe = bench.measure_warm("pipe-part.evalrun", 3, &filter());
    let times = pipe.cpu() / run.cpu();
    table.add_text([
        &format!("{LINES} lines, 2 Rust evaluators, next to `run`"),
        "-",
        &format!("CPU {TIMES:.1} x"),
        &table::usage(pipe),
        &format!("CPU {times:.2} x"),
        &verdict(times <= TIMES),
    ]);
    recording::write_offer_lines(&lines, 0);
    let nothing = bench.measure_warm("pipe-nothing.evalrun", 15, &filter());
    let aim = format!("{:.0} ms", NOTHING * 1e3);
    let reached = verdict(nothing.wall <= NOTHING);
    table.add_text(["no line", "-", &aim, &table::usage(nothing), "", &reached]);
    let [few, many] = [1_000, 100_000].map(|number| {
        recording::write_offer_lines(&lines, number);
        bench.measure_warm("pipe-growth.evalrun", 1, &filter())
    });
    let more = many.peak - few.peak;
    table.add_text([
        "100,000 lines next to 1,000",
        "-",
        &format!("+{MORE:.0} MB"),
        &table::usage(many),
        &format!("{more:+.0} MB"),
        &verdict(more <= MORE),
    ]);
}
