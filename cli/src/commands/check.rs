//! `evaluator check`.

use std::{io, path::Path};

use evaluator_host::{
    config::Config,
    run::{Examination, Runner},
};

use super::{show_table, watched};
use crate::{exit, render, render::Columns, signals};

/// Reads a configuration, looks for everything it names, and asks programs what they hold, without evaluating anything.
pub(super) fn check(file: &Path, locked: bool, build: bool, verbose: u8, runner: Runner) -> u8 {
    let config = match runner.load_config(file) {
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
    let mut runner = runner;
    runner.locked = locked;
    let mut findings = runner.check(&config);
    let examination = match examined(&runner, &config, build, verbose) {
        Ok(examination) => examination,
        Err(error) => {
            render::message(&format!("cannot start: {error}"));
            return exit::ERRORED;
        }
    };
    for problem in examination.problems {
        let known = findings
            .iter_mut()
            .find(|finding| finding.subject == problem.subject && finding.result.is_ok());
        if let Some(finding) = known {
            *finding = problem;
        }
    }
    if !examination.not_built.is_empty() {
        render::warning(&format!(
            "not built, so that names and settings were not checked: {} (`check --build` builds them)",
            examination.not_built.join(", ")
        ));
    }
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

/// What the programs say of themselves.
fn examined(runner: &Runner, config: &Config, build: bool, verbose: u8) -> io::Result<Examination> {
    signals::watch(runner.cancellation.clone());
    watched(verbose, async |on_event| runner.examine(config, build, on_event).await)
}
