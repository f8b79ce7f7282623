//! What happens while a person waits, on stderr.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use evaluator_host::{run::RunEvent, runtime::PrepareEvent};

use super::{
    message,
    stderr::{self, line},
};

/// Work that takes less than this is nobody's business.
const QUIET_BUILD: Duration = Duration::from_millis(700);
const QUIET_EVALUATIONS: Duration = Duration::from_secs(2);

/// How often a line is written where lines cannot be changed.
const PLAIN_INTERVAL: Duration = Duration::from_secs(10);

/// How often one evaluator's stderr is shown when it breaks again and again.
const SAME_EVALUATOR: usize = 3;

/// Lines shown of it, from its end.
const STDERR_LINES: usize = 20;

/// Shows what takes long, what is wrong, and with `-v` how everything was understood.
pub(crate) struct Progress {
    verbose: u8,
    terminal: bool,
    phase: Phase,
    /// What compilers have said, shown once.
    diagnostics: Vec<String>,
    /// How often the stderr of each evaluator was shown.
    shown: HashMap<String, usize>,
}

/// What is being waited for.
enum Phase {
    Nothing,
    Building { begun: Instant, what: String, detail: String, announced: bool },
    Evaluating { begun: Instant, last_line: Instant, done: usize, total: usize, errored: usize },
}

impl Progress {
    pub(crate) fn new(verbose: u8) -> Self {
        Self {
            verbose,
            terminal: stderr::is_terminal(),
            phase: Phase::Nothing,
            diagnostics: Vec::new(),
            shown: HashMap::new(),
        }
    }

    pub(crate) fn event(&mut self, event: &RunEvent) {
        match event {
            RunEvent::BadInput { message: text, cause, hint } => {
                let more = |name: &str, text: &Option<String>| {
                    text.as_ref().map(|text| format!("\n  {name}: {text}")).unwrap_or_default()
                };
                message(&(text.clone() + &more("cause", cause) + &more("hint", hint)));
            }
            RunEvent::NoSpans { path } => {
                message(&format!(
                    "{} holds no spans with a trace id and a span id; nothing in it is evaluated",
                    path.display()
                ));
            }
            RunEvent::Found { evaluator, path, beside_config, runtime } if self.verbose > 0 => {
                let beside = if *beside_config { ", found beside the configuration" } else { "" };
                line(&format!("{evaluator}: {} ({runtime}{beside})", path.display()));
            }
            RunEvent::EvalSetBesideConfig { path } if self.verbose > 0 => {
                line(&format!("eval set: {}, found beside the configuration", path.display()));
            }
            RunEvent::UnusedJudge { metric, settings } => {
                let settings = settings.join("`, `");
                message(&format!("{metric} asks no judge, so `{settings}` changes nothing"));
            }
            RunEvent::Pinned { evaluators, file } => {
                message(&format!(
                    "pinned {} in {}; keep it under version control",
                    evaluators.join(", "),
                    file.display()
                ));
            }
            RunEvent::Prepare(event) => self.prepare(event),
            RunEvent::BuildFailed { evaluator, summary, rendered } => {
                self.build_failed(evaluator, summary, rendered);
            }
            RunEvent::ReportInMemory { reason } => {
                message(&format!(
                    "warning: what comes of the evaluations stays in memory from here on, because no temporary file can \
                     be written ({reason}); nothing is lost, and TMPDIR names another folder for such files"
                ));
            }
            RunEvent::Evaluating { total } => {
                let begun = Instant::now();
                let (done, errored) = (0, 0);
                self.phase =
                    Phase::Evaluating { begun, last_line: begun, done, total: *total, errored };
            }
            RunEvent::Evaluated {
                evaluator,
                trace_id,
                error,
                warnings,
                stderr,
                done,
                total,
                errored,
            } => {
                self.warn(evaluator, trace_id, warnings);
                self.evaluated(evaluator, trace_id, error.as_deref(), stderr);
                self.count(*done, *total, *errored);
            }
            _ => {}
        }
        self.tick();
    }

    /// Shows how long it has taken so far; to be called a few times a second.
    pub(crate) fn tick(&self) {
        if !self.terminal {
            return;
        }
        let seconds = |begun: &Instant| begun.elapsed().as_secs();
        stderr::status(&match &self.phase {
            Phase::Building { begun, what, detail, .. } if begun.elapsed() > QUIET_BUILD => {
                format!("{what} ({} s): {detail}", seconds(begun))
            }
            Phase::Evaluating { begun, done, total, errored, .. }
                if begun.elapsed() > QUIET_EVALUATIONS =>
            {
                format!("{} ({} s)", counted(*done, *total, *errored), seconds(begun))
            }
            _ => String::new(),
        });
    }

    /// Takes away what is only of interest while it lasts.
    pub(crate) fn finish(self) {
        stderr::status("");
    }

    fn prepare(&mut self, event: &PrepareEvent) {
        match event {
            PrepareEvent::Started { what } => {
                let announced = self.verbose > 0;
                if announced {
                    line(&format!("{what} ..."));
                }
                let (begun, what) = (Instant::now(), what.clone());
                self.phase = Phase::Building { begun, what, detail: String::new(), announced };
            }
            PrepareEvent::Progress { line: text } => self.build_progress(text.trim()),
            PrepareEvent::Diagnostic { rendered } => {
                // A blank line after each, as cargo prints them.
                line(&format!("{}\n", rendered.trim_end()));
                self.diagnostics.push(rendered.trim().to_owned());
            }
            PrepareEvent::Finished { what } => {
                if matches!(&self.phase, Phase::Building { announced: true, .. }) {
                    line(what);
                }
                self.phase = Phase::Nothing;
            }
        }
    }

    fn build_progress(&mut self, text: &str) {
        if self.verbose > 0 {
            line(&format!("  {text}"));
        }
        match &mut self.phase {
            Phase::Building { begun, what, detail, announced } => {
                text.clone_into(detail);
                // The first sign of real work: something is compiled or installed.
                let begins =
                    ["Compiling ", "Installing "].iter().any(|word| text.starts_with(word));
                if !*announced && (begun.elapsed() > QUIET_BUILD || begins) {
                    *announced = true;
                    line(&format!("{what} ..."));
                }
            }
            // Outside of a build it is about something that keeps the build waiting.
            _ if self.verbose == 0 => line(text),
            _ => {}
        }
    }

    /// A compiler's own text was shown when it came, or never if it was no diagnostic.
    fn build_failed(&mut self, evaluator: &str, summary: &str, rendered: &str) {
        let rendered = rendered.trim();
        if !self.diagnostics.iter().any(|shown| rendered.contains(shown.as_str())) {
            self.diagnostics.push(rendered.to_owned());
            line(rendered);
        }
        message(&format!("{evaluator}: {summary}"));
    }

    /// Shows stderr where the report does not.
    fn evaluated(&mut self, evaluator: &str, trace_id: &str, error: Option<&str>, stderr: &str) {
        let stderr = stderr.trim();
        let told = stderr.is_empty() || error.is_some_and(|error| error.contains(stderr));
        let wanted = error.is_some() || self.verbose > 1;
        if told || !wanted {
            return;
        }
        let shown = self.shown.entry(evaluator.to_owned()).or_default();
        *shown += 1;
        if self.verbose > 0 || *shown <= SAME_EVALUATOR {
            line(&format!("{evaluator}, trace {trace_id}, stderr:\n{}", indented_end(stderr)));
        } else if *shown == SAME_EVALUATOR + 1 {
            line(&format!("{evaluator}: stderr of further evaluations is shown with -v"));
        }
    }

    /// The last lines of the run tell the first one of each evaluator, and the report holds all of them.
    fn warn(&self, evaluator: &str, trace_id: &str, warnings: &[String]) {
        for warning in warnings.iter().filter(|_| self.verbose > 0) {
            message(&format!("{evaluator}, trace {trace_id}: {warning}"));
        }
    }

    fn count(&mut self, now_done: usize, now_total: usize, now_errored: usize) {
        let Phase::Evaluating { begun, last_line, done, total, errored } = &mut self.phase else {
            return;
        };
        (*done, *total, *errored) = (now_done, now_total, now_errored);
        if !self.terminal && last_line.elapsed() > PLAIN_INTERVAL && now_done < now_total {
            *last_line = Instant::now();
            let seconds = begun.elapsed().as_secs();
            line(&format!("{} ({seconds} s)", counted(now_done, now_total, now_errored)));
        }
    }
}

fn counted(done: usize, total: usize, errored: usize) -> String {
    let broke = if errored > 0 { format!(", {errored} broke") } else { String::new() };
    format!("evaluated {done} of {total}{broke}")
}

/// The last lines, indented.
fn indented_end(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let skipped = lines.len().saturating_sub(STDERR_LINES);
    let skipped_note = (skipped > 0).then(|| format!("  ... {skipped} lines before"));
    let shown = lines[skipped..].iter().map(|line| format!("  {line}"));
    skipped_note.into_iter().chain(shown).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_stderr_is_shown_from_its_end() {
        assert_eq!(indented_end("a\nb"), "  a\n  b");
        let long: Vec<String> = (0..30).map(|n| n.to_string()).collect();
        let shown = indented_end(&long.join("\n"));
        assert!(shown.starts_with("  ... 10 lines before\n  10\n"), "{shown}");
        assert!(shown.ends_with("\n  29"), "{shown}");
    }
}
