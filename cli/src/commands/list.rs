//! `evaluator list`.

use evaluator_host::metric::Metrics;

use super::print;
use crate::{args::Source, exit, render::Columns};

pub(super) fn list(source: Source) -> u8 {
    match source {
        Source::Builtin => {
            let mut table = Columns::new(["Name", "Source", "Available", "Description"]);
            for metric in Metrics::default().iter() {
                let available = metric
                    .unavailable()
                    .map_or_else(|| "yes".to_owned(), |reason| format!("no: {reason}"));
                table.row([
                    metric.name().to_owned(),
                    "builtin".to_owned(),
                    available,
                    metric.description().to_owned(),
                ]);
            }
            print(&table.to_text(), exit::OK)
        }
    }
}
