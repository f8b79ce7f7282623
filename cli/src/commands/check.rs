//! `evaluator check`.

use std::path::Path;

use evaluator_host::{config::Config, run::Runner};

use super::show_table;
use crate::{exit, render, render::Columns};

/// Reads a configuration and looks for everything it names, without running anything.
pub(super) fn check(file: &Path, locked: bool, verbose: u8, runner: Runner) -> u8 {
    let config = match Config::load(file) {
        Ok(config) => config,
        Err(error) => {
            render::config_error(&error);
            return exit::USAGE;
        }
    };
    render::config_remarks(&config, verbose > 0);
    let runnable = config.ensure_runnable();
    if let Err(error) = &runnable {
        render::config_error(error);
    }
    let findings = Runner { locked, ..runner }.check(&config);
    let mut table = Columns::new(["", "Name", "Finding"]);
    for finding in &findings {
        let (mark, text) = match &finding.result {
            Ok(what) => ("[PASS]", what),
            Err(problem) => ("[FAIL]", problem),
        };
        table.row([mark.to_owned(), finding.subject.clone(), text.clone()]);
    }
    let sound = runnable.is_ok() && findings.iter().all(|finding| finding.result.is_ok());
    show_table(table, if sound { exit::OK } else { exit::USAGE })
}
