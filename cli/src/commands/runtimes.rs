//! `evaluator runtimes`.

use evaluator_host::runtime::{Availability, Runtimes};

use super::show_table;
use crate::{exit, render::Columns};

pub(super) fn runtimes() -> u8 {
    let mut table = Columns::new(["Runtime", "Extensions", "Available", "Detail"]);
    for runtime in Runtimes::default().iter() {
        let (available, detail) = match runtime.availability() {
            Availability::Available { detail } => ("yes", detail),
            Availability::Missing { reason } => ("no", reason),
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
