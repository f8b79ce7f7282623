//! HTML reports of saved runs.

use std::{fs, path::Path};

use evaluator_tests::bench::recording;

use crate::{
    bench::{Bench, EVALUATORS},
    statistics::Runs,
    table::{Aim, Table, usage, verdict},
};

/// Numbers of conversations, what writing may take, and MB of the file.
const PAGES: [(usize, Aim, f64); 2] = [
    (10_000, Aim { wall: Some(1.0), peak: Some(60.0) }, 10.0),
    (100_000, Aim { wall: None, peak: None }, 25.0),
];

/// What a page says on top if it does not have everything.
const LEFT_OUT: &str = "This file would be too large with everything";

pub(crate) fn measure(bench: &Bench, table: &mut Table) {
    let runs = Runs::new(bench);
    for (conversations, aim, most) in PAGES {
        let file = runs.save_keeping("failed", "paged", conversations, recording::write_offers);
        let command = bench.saved([Path::new("report"), &file, Path::new("-o"), Path::new("html")]);
        let written = bench.measure_warm("page.html", 3, &command);
        let page = fs::read_to_string(bench.directory.file("page.html")).unwrap();
        let size = page.len() as f64 / 1e6;
        let note = if page.contains(LEFT_OUT) { ", says what it leaves out" } else { "" };
        let is_reached = [(aim.wall, written.wall), (aim.peak, written.peak), (Some(most), size)]
            .iter()
            .all(|(aim, ours)| aim.is_none_or(|aim| *ours <= aim));
        table.add_text([
            &format!("page of {conversations} conversations x {}", EVALUATORS.len()),
            "-",
            &format!("{} file of {most:.0} MB", aim.text()),
            &format!("{}, file of {size:.1} MB{note}", usage(written)),
            "",
            &verdict(is_reached),
        ]);
    }
}
