//! What happens while a person waits, on stderr.

use std::{
    io::{self, IsTerminal},
    time::{Duration, Instant},
};

use evaluator_host::{run::RunEvent, runtime::PrepareEvent};

use super::line;

/// Builds that take less than this are nobody's business.
const QUIET: Duration = Duration::from_millis(700);

/// Shows builds that take long, whatever compilers have to say, and with `-v` everything else.
pub(crate) struct Progress {
    verbose: u8,
    terminal: bool,
    /// What was begun and not said yet.
    pending: Option<(Instant, String)>,
    said: bool,
}

impl Progress {
    pub(crate) fn new(verbose: u8) -> Self {
        Self { verbose, terminal: io::stderr().is_terminal(), pending: None, said: false }
    }

    pub(crate) fn event(&mut self, event: &RunEvent) {
        match event {
            RunEvent::FoundBesideConfig { evaluator, path } if self.verbose > 0 => {
                line(&format!("{evaluator}: using {}, beside the configuration", path.display()));
            }
            RunEvent::Prepare(event) => self.prepare(event),
            _ => {}
        }
    }

    fn prepare(&mut self, event: &PrepareEvent) {
        match event {
            PrepareEvent::Started { what } => {
                self.said = false;
                self.pending = Some((Instant::now(), what.clone()));
                if self.verbose > 0 {
                    self.say_pending();
                }
            }
            PrepareEvent::Progress { line: text } => {
                // The first sign of real work: something is compiled or installed.
                let slow = self.pending.as_ref().is_some_and(|(begun, _)| begun.elapsed() > QUIET);
                if slow || text.trim_start().starts_with("Compiling") {
                    self.say_pending();
                }
                if self.verbose > 0 || (self.terminal && self.said) {
                    line(&format!("  {}", text.trim()));
                }
            }
            PrepareEvent::Diagnostic { rendered } => line(rendered.trim_end()),
            PrepareEvent::Finished { what } => {
                if self.said {
                    line(what);
                }
                self.pending = None;
            }
        }
    }

    fn say_pending(&mut self) {
        if let Some((_, what)) = self.pending.take() {
            line(&format!("{what} ..."));
            self.said = true;
        }
    }
}
