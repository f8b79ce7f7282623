//! `evaluator runtimes`.

use evaluator_host::run::Runner;

use super::show_table;
use crate::{exit, render::Columns};

pub(super) fn runtimes(runner: &Runner) -> u8 {
    let mut table = Columns::new(["Runtime", "Extensions", "Available", "Detail"]);
    for runtime in runner.runtimes.iter() {
        let (available, detail) = match runtime.availability() {
            Ok(detail) => ("yes", detail),
            Err(reason) => ("no", reason),
        };
        table.row([
            runtime.name().to_owned(),
            runtime.extensions().join(", "),
            available.to_owned(),
            detail,
        ]);
    }
    show_table(table, exit::OK)
}
