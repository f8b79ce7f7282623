//! Gates, comparisons, overviews and agreement of saved runs.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use evaluator_statistics::signflip_mc;
use evaluator_tests::bench::{measure::Usage, recording};

use crate::{
    bench::{Bench, EVALUATORS, in_rust},
    table::{Aim, Table, usage, verdict},
};

/// Conversations of a saved run, of all five evaluators.
const TRACES: usize = 20_000;

/// Conversations of an overview, and the lines that it may have.
const SHOWN: usize = 2_000;
const LINES: usize = 60;

/// Labels of people, a conversation for each.
const LABELS: usize = 10_000;

/// Seconds of 9,999 flips of 1,000 differences.
const FLIPS: f64 = 0.15;

/// How much more processor time a run with gates may take than one without: both collect the values of cases.
const GATED: f64 = 1.05;

/// Gates that the agent passes.
const GATE: [&str; 4] =
    ["--gate", "answer_length: mean >= 0.4", "--gate", "tools_work: pass_rate >= 0.9"];

pub(crate) fn measure(bench: &Bench, table: &mut Table) {
    let runs = Runs::new(bench);
    let (base, new) = (
        runs.save("base", recording::write_offers),
        runs.save("new", recording::write_other_offers),
    );
    let number = TRACES * EVALUATORS.len();
    let aim = Aim { wall: Some(1.0), peak: Some(100.0) };
    let report = [Path::new("report"), &base, Path::new("-o"), Path::new("overview")];
    let gates = bench.saved(report.iter().map(|it| it.as_os_str()).chain(GATE.map(AsRef::as_ref)));
    let gates = bench.measure_warm("gates.txt", 5, &gates);
    table.add(&format!("gates of a saved run of {number} evaluations"), None, aim, gates);
    let compare = bench.saved([Path::new("compare"), &base, &new]);
    let compared = bench.measure_warm("compared.txt", 5, &compare);
    table.add(&format!("comparison of two such runs of {number} evaluations"), None, aim, compared);
    overview(&runs, table);
    agreement(&runs, table);
    gated(&runs, table);
    flips(table);
}

/// The measured runs.
pub(crate) struct Runs<'b> {
    pub(crate) bench: &'b Bench,
    config: PathBuf,
}

impl<'b> Runs<'b> {
    pub(crate) fn new(bench: &'b Bench) -> Self {
        let config = bench.configuration("saved.yaml", "", &EVALUATORS, |name| {
            let is_graded = name == "answer_length";
            let settings = if is_graded { ", config: {min_length: 2000}" } else { "" };
            format!("{}{settings}", in_rust(name))
        });
        Self { bench, config }
    }

    /// Saves a run. Returns its file.
    fn save(&self, name: &str, write: fn(&Path, usize)) -> PathBuf {
        self.save_some(name, TRACES, write)
    }

    fn save_some(&self, name: &str, traces: usize, write: fn(&Path, usize)) -> PathBuf {
        self.save_keeping("none", name, traces, write)
    }

    /// Saves a run over this number of conversations with some of their transcripts. Returns its file.
    pub(crate) fn save_keeping(
        &self,
        transcripts: &str,
        name: &str,
        traces: usize,
        write: fn(&Path, usize),
    ) -> PathBuf {
        let (recording, file) = (
            self.bench.directory.file(&format!("{name}.json")),
            self.bench.directory.file(&format!("{name}.evalrun")),
        );
        write(&recording, traces);
        let kept = [Path::new("--transcripts"), Path::new(transcripts)];
        let arguments =
            [&*recording, Path::new("-c"), &self.config, Path::new("--save-run"), &file];
        let arguments = [&arguments[..], &kept].concat();
        let _: Usage =
            self.bench.measure(&format!("{name}-saved.json"), 1, &self.bench.evaluator(&arguments));
        file
    }
}

/// Measures an overview, and counts its lines.
fn overview(runs: &Runs<'_>, table: &mut Table) {
    let bench = runs.bench;
    let file = runs.save_some("shown", SHOWN, recording::write_offers);
    let command = bench.saved([Path::new("report"), &file, Path::new("-o"), Path::new("overview")]);
    let shown = bench.measure_warm("overview.txt", 5, &command);
    let lines = fs::read_to_string(bench.directory.file("overview.txt")).unwrap().lines().count();
    let aim = 0.3;
    table.add_text([
        &format!("overview of {SHOWN} x {} evaluations", EVALUATORS.len()),
        "-",
        &format!("{:.0} ms, {LINES} lines", aim * 1e3),
        &format!("{}, {lines} lines", usage(shown)),
        "",
        &verdict(shown.wall <= aim && lines <= LINES),
    ]);
}

/// Measures an evaluator against labels, a tenth of which say something else, and writes the page of its run.
fn agreement(runs: &Runs<'_>, table: &mut Table) {
    let bench = runs.bench;
    let file = runs.save_some("labelled", LABELS, recording::write_offers);
    let label = |number: usize| {
        let word = if number % 10 < 3 { "fail" } else { "pass" };
        format!("{number:032x},{word}\n")
    };
    let labels = bench.directory.file("labels.csv");
    let rows: String = (1..=LABELS).map(label).collect();
    fs::write(&labels, format!("trace_id,label\n{rows}")).unwrap();
    let evaluator = [Path::new("--evaluator"), Path::new(EVALUATORS[0])];
    let agree = [&[Path::new("agree"), &*labels, &*file][..], &evaluator].concat();
    let measured = bench.measure_warm("agreed.txt", 5, &bench.saved(agree));
    let aim = Aim { wall: Some(1.0), peak: None };
    table.add(&format!("agreement with {LABELS} labels"), None, aim, measured);
}

/// Measures a run with a gate and one without, by turns.
fn gated(runs: &Runs<'_>, table: &mut Table) {
    let bench = runs.bench;
    let recording = bench.directory.file("shown.json");
    let plain = bench.evaluator(&[&recording, Path::new("-c"), &runs.config]);
    let mut gated = bench.evaluator(&[&recording, Path::new("-c"), &runs.config]);
    gated.args(GATE);
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..7 {
        without.push(bench.measure("ungated.json", 1, &plain));
        with.push(bench.measure("gated.json", 1, &gated));
    }
    let (without, with) = (Usage::median(&without), Usage::median(&with));
    let ratio = with.cpu() / without.cpu();
    table.add_text([
        &format!("a run of {SHOWN} x {} evaluations, with gates", EVALUATORS.len()),
        "-",
        &format!("{GATED:.2} x the CPU without"),
        &usage(with),
        &format!("{ratio:.3} x"),
        &verdict(ratio <= GATED),
    ]);
}

/// Measures random sign flips.
fn flips(table: &mut Table) {
    let differences: Vec<f64> = (1..=1_000_i32).map(|it| f64::from(it % 37 - 17) / 40.0).collect();
    let seconds = (0..7).map(|seed| {
        let start = Instant::now();
        assert!(signflip_mc(&differences, seed, 9_999).unwrap().p <= 1.0);
        start.elapsed().as_secs_f64()
    });
    let seconds = seconds.fold(f64::INFINITY, f64::min);
    table.add_text([
        "9,999 sign flips of 1,000 differences",
        "-",
        &format!("{:.0} ms", FLIPS * 1e3),
        &format!("{:.0} ms", seconds * 1e3),
        "",
        &verdict(seconds <= FLIPS),
    ]);
}
