//! What happens while a person waits, on stderr.

use std::{
    collections::HashMap,
    path::Path,
    time::{Duration, Instant},
};

use evaluator_host::{report::run_file::Damage, run::RunEvent, runtime::PrepareEvent};

use super::{
    bar::Counts,
    message, note,
    plain::{line_of, one_line},
    remark as line,
    stderr::{self, Level, shows_status},
    warning,
};

/// Work that takes less than this is nobody's business.
const QUIET_BUILD: Duration = Duration::from_millis(700);
const QUIET: Duration = Duration::from_secs(2);

/// How often a line is written where lines cannot be changed.
const PLAIN_INTERVAL: Duration = Duration::from_secs(5);

/// How often one evaluator's stderr is shown when it breaks again and again.
const SAME_EVALUATOR: usize = 3;

/// Lines shown of it, from its end.
const STDERR_LINES: usize = 20;

/// Shows what takes long, what is wrong, and with `-v` how everything was understood.
pub(crate) struct Progress {
    verbose: u8,
    terminal: bool,
    phase: Phase,
    /// When a line that is not changed was last written of the phase.
    last_line: Option<Instant>,
    /// What compilers have said, shown once.
    diagnostics: Vec<String>,
    /// What each evaluator wrote to stderr, as far as it was shown.
    shown: HashMap<String, Vec<String>>,
}

/// What is being waited for.
enum Phase {
    Nothing,
    Building { begun: Instant, what: String, detail: String, announced: bool },
    Loading { begun: Instant, files: usize },
    Evaluating { begun: Instant, counts: Counts },
}

impl Progress {
    pub(crate) fn new(verbose: u8) -> Self {
        Self {
            verbose,
            terminal: shows_status(),
            phase: Phase::Nothing,
            last_line: None,
            diagnostics: Vec::new(),
            shown: HashMap::new(),
        }
    }

    pub(crate) fn event(&mut self, event: &RunEvent) {
        match event {
            RunEvent::BadInput { message: text, cause, hint } => {
                let more = |name: &str, text: &Option<String>| {
                    let text = text.as_deref().map(one_line);
                    text.map(|text| format!("\n  {name}: {text}")).unwrap_or_default()
                };
                message(
                    &(one_line(text).into_owned() + &more("cause", cause) + &more("hint", hint)),
                );
            }
            RunEvent::Found { evaluator, path, runtime } if self.verbose > 0 => {
                line(&format!("{evaluator}: {} ({runtime})", path.display()));
            }
            RunEvent::UnusedJudge { metric, settings } => {
                let settings = settings.join("`, `");
                warning(&format!("{metric} asks no judge, so `{settings}` changes nothing"));
            }
            RunEvent::Pinned { evaluators, file } => {
                note(&format!(
                    "pinned {} in {}; keep it under version control",
                    evaluators.join(", "),
                    file.display()
                ));
            }
            RunEvent::DamagedRunFile { file, damage } => warning(&damaged(file, damage)),
            RunEvent::NotResumable { evaluator, reason } => {
                warning(&format!("results of {evaluator} cannot be reused: {reason}"));
            }
            RunEvent::UnsavedRun { message: text } | RunEvent::Unreliable { message: text } => {
                message(text);
            }
            RunEvent::Saved { file, reused, total } if self.verbose > 0 => {
                let file = file.display();
                line(&format!(
                    "the run is saved in {file}; {reused} of {total} evaluations are from an earlier run"
                ));
            }
            RunEvent::Withheld { evaluators, variables } if self.verbose > 0 => {
                line(&format!(
                    "withheld from {}: {} (an evaluator gets those that its entry names under `env`)",
                    evaluators.join(", "),
                    variables.join(", ")
                ));
            }
            RunEvent::NotForked { evaluator, reason } if self.verbose > 0 => {
                line(&format!("{evaluator}: a new process for every evaluation ({reason})"));
            }
            RunEvent::NotCached { evaluator, reason } if self.verbose > 0 => {
                line(&format!("{evaluator}: compiled anew for every evaluation ({reason})"));
            }
            RunEvent::Prepare(event) => self.prepare(event),
            RunEvent::BuildFailed { evaluator, summary, rendered } => {
                self.build_failed(evaluator, summary, rendered);
            }
            RunEvent::ReportInMemory { reason } => {
                warning(&format!(
                    "results stay in memory from here on, because no temporary file can be written ({reason}); nothing \
                     is lost, and TMPDIR names another directory for such files"
                ));
            }
            RunEvent::Evaluating { total } => {
                let counts = Counts { total: *total, ..Counts::default() };
                self.begin(Phase::Evaluating { begun: Instant::now(), counts });
            }
            RunEvent::Loading { files } => {
                self.begin(Phase::Loading { begun: Instant::now(), files: *files });
            }
            RunEvent::Loaded { .. } => self.begin(Phase::Nothing),
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
                if let Phase::Evaluating { counts, .. } = &mut self.phase {
                    *counts = Counts { done: *done, total: *total, errored: *errored };
                }
            }
            _ => {}
        }
        // Thousands may end in a second; they are counted when it is time to.
        if !matches!(event, RunEvent::Evaluated { .. }) {
            self.tick();
        }
    }

    fn begin(&mut self, phase: Phase) {
        self.phase = phase;
        self.last_line = None;
    }

    /// Shows how far it has come and how long it has taken so far; to be called a few times a second.
    pub(crate) fn tick(&mut self) {
        if self.terminal {
            stderr::status(&self.status());
        } else if self.last_line.is_none_or(|last| last.elapsed() > PLAIN_INTERVAL)
            && let Some(text) = self.plain()
        {
            self.last_line = Some(Instant::now());
            line(&text);
        }
    }

    /// The line that changes.
    fn status(&self) -> String {
        match &self.phase {
            Phase::Building { begun, what, detail, .. } if begun.elapsed() > QUIET_BUILD => {
                format!("{what} ({} s): {detail}", begun.elapsed().as_secs())
            }
            Phase::Evaluating { begun, counts } if begun.elapsed() > QUIET => {
                counts.bar(begun.elapsed())
            }
            Phase::Loading { .. } => self.plain().unwrap_or_default(),
            _ => String::new(),
        }
    }

    /// A line that stays, if there is something to tell. Builds tell their own.
    fn plain(&self) -> Option<String> {
        match &self.phase {
            Phase::Loading { begun, files } if begun.elapsed() > QUIET => {
                let files = if *files == 1 {
                    "1 trace file".to_owned()
                } else {
                    format!("{files} trace files")
                };
                Some(format!("reading {files} ({} s)", begun.elapsed().as_secs()))
            }
            Phase::Evaluating { begun, counts }
                if begun.elapsed() > QUIET && counts.done < counts.total =>
            {
                Some(counts.line(begun.elapsed()))
            }
            _ => None,
        }
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
                self.begin(Phase::Building { begun, what, detail: String::new(), announced });
            }
            PrepareEvent::Progress { line: text } => self.build_progress(text.trim()),
            PrepareEvent::Diagnostic { rendered } => {
                // A blank line after each, as cargo prints them.
                stderr::line(Level::Info, &format!("{}\n", rendered.trim_end()));
                self.diagnostics.push(rendered.trim().to_owned());
            }
            PrepareEvent::Finished { what } => {
                if matches!(&self.phase, Phase::Building { announced: true, .. }) {
                    line(what);
                }
                self.begin(Phase::Nothing);
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
                // Cargo waits for another cargo, for as long as that takes.
                if text.starts_with("Blocking ") && self.verbose == 0 {
                    *announced = true;
                    line(&format!("{what} ... ({text})"));
                }
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
            stderr::line(Level::Error, rendered);
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
        // Equal texts are shown once.
        if self.verbose == 0 && shown.iter().any(|known| known == stderr) {
            return;
        }
        if self.verbose > 0 || shown.len() < SAME_EVALUATOR {
            if self.verbose == 0 {
                shown.push(stderr.to_owned());
            }
            let trace_id = one_line(trace_id);
            line(&format!("{evaluator}, trace {trace_id}, stderr:\n{}", indented_end(stderr)));
        } else if shown.len() == SAME_EVALUATOR {
            shown.push(String::new());
            line(&format!("{evaluator}: stderr of further evaluations is shown with -v"));
        }
    }

    /// The last lines of the run tell the first one of each evaluator, and the report holds all of them.
    fn warn(&self, evaluator: &str, trace_id: &str, warnings: &[String]) {
        for warning in warnings.iter().filter(|_| self.verbose > 0) {
            super::warning(&format!(
                "{evaluator}, trace {}: {}",
                one_line(trace_id),
                one_line(warning)
            ));
        }
    }
}

/// The warning about damaged lines of a run file.
fn damaged(file: &Path, damage: &Damage) -> String {
    let Damage { line, offset, reason, lines, .. } = damage;
    let more = if *lines > 1 { format!(" and {} more lines", lines - 1) } else { String::new() };
    format!(
        "{}, line {line} (byte {offset}){more}: {reason}; what it recorded is evaluated again",
        file.display()
    )
}

/// The last lines, behind a prefix that tells them from messages of this program.
fn indented_end(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let skipped = lines.len().saturating_sub(STDERR_LINES);
    let skipped_note = (skipped > 0).then(|| format!("  | ... {skipped} lines before"));
    let shown = lines[skipped..].iter().map(|line| format!("  | {}", line_of(line)));
    skipped_note.into_iter().chain(shown).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_stderr_is_shown_from_its_end() {
        assert_eq!(indented_end("a\nb"), "  | a\n  | b");
        let long: Vec<String> = (0..30).map(|n| n.to_string()).collect();
        let shown = indented_end(&long.join("\n"));
        assert!(shown.starts_with("  | ... 10 lines before\n  | 10\n"), "{shown}");
        assert!(shown.ends_with("\n  | 29"), "{shown}");
    }
}
