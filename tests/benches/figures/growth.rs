//! More and more conversations: what each takes must not grow with their number, nor what all of them take of memory.

use std::{env, path::Path};

use evaluator_tests::bench::{measure::Usage, recording};

use crate::{
    bench::{Bench, EVALUATORS, in_rust},
    table::{self, Table, verdict},
};

/// What a conversation may take longer at the end than at the beginning, and how much more memory all may take, in MB.
const LONGER: f64 = 1.10;
const MORE: f64 = 20.0;

pub(crate) fn measure(bench: &Bench, table: &mut Table) {
    let last = env::var("BENCH_TRACES").map_or(100_000, |number| number.parse().unwrap());
    let config = bench.configuration("growth.yaml", "", &EVALUATORS[..2], in_rust);
    let traces = bench.folder.file("growth.json");
    let command = bench.evaluator(&[&*traces, Path::new("-c"), &*config]);
    let mut first: Option<(f64, Usage)> = None;
    for number in [1_000, 10_000, last] {
        recording::write_offers(&traces, number);
        let runs = if number > 10_000 { 3 } else { 7 };
        let usage = bench.measure_warm("growth-report.json", runs, &command);
        let each = usage.wall * 1e6 / number as f64;
        let work = format!("{number} traces, 2 Rust evaluators");
        let ours = format!("{}, {each:.1} us each", table::usage(usage));
        let Some((each_first, usage_first)) = first else {
            table.add_text([&work, "-", "", &ours, "", ""]);
            first = Some((each, usage));
            continue;
        };
        let (longer, more) = (each / each_first, usage.peak - usage_first.peak);
        table.add_text([
            &work,
            "-",
            &format!("{LONGER:.2} x of 1000, +{MORE:.0} MB"),
            &ours,
            &format!("{longer:.2} x of 1000, {more:+.0} MB"),
            &verdict(longer <= LONGER && more <= MORE),
        ]);
    }
}
