//! More and more conversations: neither the time of each nor the memory of all may grow with their number.

use std::{env, path::Path};

use evaluator_tests::bench::{measure::Usage, recording};

use crate::{
    bench::{Bench, EVALUATORS, in_rust},
    table::{self, Table, verdict},
};

/// What a conversation may take longer at the end than at the beginning, of wall time and of processors, and how much more memory
/// all of them may take, in MB.
const LONGER: f64 = 1.10;
const MORE: f64 = 20.0;

pub(crate) fn measure(bench: &Bench, table: &mut Table) {
    let last = env::var("BENCH_TRACES").map_or(100_000, |number| number.parse().unwrap());
    let config = bench.configuration("growth.yaml", "", &EVALUATORS[..2], in_rust);
    let traces = bench.directory.file("growth.json");
    let command = bench.evaluator(&[&*traces, Path::new("-c"), &*config]);
    let mut first: Option<(usize, Usage)> = None;
    for number in [1_000, 10_000, last] {
        recording::write_offers(&traces, number);
        let runs = if number > 10_000 { 3 } else { 7 };
        let usage = bench.measure_warm("growth-report.json", runs, &command);
        let work = format!("{number} traces, 2 Rust evaluators");
        let each = usage.wall * 1e6 / number as f64;
        let ours = format!("{}, {each:.0} us each", table::usage(usage));
        let Some((beginning, less)) = first else {
            table.add_text([&work, "-", "", &ours, "", ""]);
            first = Some((number, usage));
            continue;
        };
        let times = number as f64 / beginning as f64;
        let (wall, cpu) = (usage.wall / less.wall / times, usage.cpu() / less.cpu() / times);
        let more = usage.peak - less.peak;
        table.add_text([
            &work,
            "-",
            &format!("{LONGER:.2} x, +{MORE:.0} MB"),
            &ours,
            &format!("{wall:.2} x, CPU {cpu:.2} x, {more:+.0} MB"),
            &verdict(wall <= LONGER && cpu <= LONGER && more <= MORE),
        ]);
    }
}
