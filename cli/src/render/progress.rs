//! Progress of long work, on stderr.

use std::{
    borrow::Borrow,
    collections::HashMap,
    path::Path,
    time::{Duration, Instant},
};

use evaluator_host::{report::run_file::Damage, run::RunEvent, runtime::PrepareEvent};

use super::{
    counted, message, note,
    plain::{line_of, one_line},
    remark as line,
    stderr::{self, Level, shows_status},
    warning,
};

/// Shorter work is not reported.
const QUIET_BUILD: Duration = Duration::from_millis(700);
const QUIET: Duration = Duration::from_secs(2);

/// Interval of lines where lines cannot be overwritten.
const PLAIN_INTERVAL: Duration = Duration::from_secs(5);

/// Maximum number of errors of an evaluator whose stderr is shown.
const SAME_EVALUATOR: usize = 3;

/// Maximum number of shown lines of stderr, from its end.
const STDERR_LINES: usize = 20;

/// Shows long work and problems; with `-v`, also details.
pub(crate) struct Progress {
    verbose: u8,
    terminal: bool,
    phase: Phase,
    /// Start of the phase.
    started: Instant,
    /// Time of the last line about the phase, where lines cannot be overwritten.
    last_line: Option<Instant>,
    /// Messages of compilers, shown once.
    diagnostics: Vec<String>,
    /// Shown stderr of each evaluator.
    shown: HashMap<String, Vec<String>>,
}

/// Current work.
enum Phase {
    Idle,
    Building { what: String, detail: String, announced: bool },
    Loading { files: usize },
    Evaluating(Counts),
}

impl Progress {
    pub(crate) fn new(verbose: u8) -> Self {
        Self {
            verbose,
            terminal: shows_status(),
            phase: Phase::Idle,
            started: Instant::now(),
            last_line: None,
            diagnostics: Vec::new(),
            shown: HashMap::new(),
        }
    }

    pub(crate) fn event(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Prepare(event) => self.prepare(event),
            RunEvent::BuildFailed { evaluator, summary, rendered } => {
                self.build_failed(evaluator, summary, rendered);
            }
            RunEvent::Evaluating { total } => {
                self.start(Phase::Evaluating(Counts { total: *total, ..Counts::default() }));
            }
            RunEvent::Loading { files } => self.start(Phase::Loading { files: *files }),
            RunEvent::Loaded { .. } => self.start(Phase::Idle),
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
                // The last lines of a run contain the first warning of each evaluator, the report all of them.
                for text in warnings.iter().filter(|_| self.verbose > 0) {
                    warning(&one_line(&format!("{evaluator}, trace {trace_id}: {text}")));
                }
                self.evaluated(evaluator, trace_id, error.as_deref(), stderr);
                if let Phase::Evaluating(counts) = &mut self.phase {
                    *counts = Counts { done: *done, total: *total, errored: *errored };
                }
                // Thousands of evaluations may end in a second; the timer updates the status.
                return;
            }
            event => problem(event),
        }
        if self.verbose > 0 {
            detail(event);
        }
        self.tick();
    }

    fn start(&mut self, phase: Phase) {
        self.phase = phase;
        self.started = Instant::now();
        self.last_line = None;
    }

    /// Updates the shown progress and duration; to be called a few times a second.
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

    /// Returns the line that is overwritten.
    fn status(&self) -> String {
        let elapsed = self.started.elapsed();
        match &self.phase {
            Phase::Building { what, detail, .. } if elapsed > QUIET_BUILD => {
                format!("{what} ({} s): {detail}", elapsed.as_secs())
            }
            Phase::Evaluating(counts) if elapsed > QUIET => counts.bar(elapsed),
            Phase::Loading { .. } => self.plain().unwrap_or_default(),
            _ => String::new(),
        }
    }

    /// Returns a line that stays. Builds write their own lines.
    fn plain(&self) -> Option<String> {
        let elapsed = self.started.elapsed();
        match &self.phase {
            _ if elapsed <= QUIET => None,
            Phase::Loading { files } => {
                let files = counted(*files as u64, "trace file");
                Some(format!("reading {files} ({} s)", elapsed.as_secs()))
            }
            Phase::Evaluating(counts) if counts.done < counts.total => Some(counts.line(elapsed)),
            _ => None,
        }
    }

    /// Removes the line that is overwritten.
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
                let what = what.clone();
                self.start(Phase::Building { what, detail: String::new(), announced });
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
                self.start(Phase::Idle);
            }
        }
    }

    fn build_progress(&mut self, text: &str) {
        if self.verbose > 0 {
            line(&format!("  {text}"));
        }
        match &mut self.phase {
            Phase::Building { what, detail, announced } => {
                text.clone_into(detail);
                // Cargo waits for another cargo, without a time limit.
                if text.starts_with("Blocking ") && self.verbose == 0 {
                    *announced = true;
                    line(&format!("{what} ... ({text})"));
                }
                // The first sign of real work: something is compiled or installed.
                let works = ["Compiling ", "Installing "].iter().any(|it| text.starts_with(it));
                if !*announced && (self.started.elapsed() > QUIET_BUILD || works) {
                    *announced = true;
                    line(&format!("{what} ..."));
                }
            }
            // Outside of a build, the line names what the build waits for.
            _ if self.verbose == 0 => line(text),
            _ => {}
        }
    }

    /// Reports a failed build. Diagnostics of the compiler were shown before.
    fn build_failed(&mut self, evaluator: &str, summary: &str, rendered: &str) {
        let rendered = rendered.trim();
        if !self.diagnostics.iter().any(|shown| rendered.contains(shown.as_str())) {
            self.diagnostics.push(rendered.to_owned());
            stderr::line(Level::Error, rendered);
        }
        message(&format!("{evaluator}: {summary}"));
    }

    /// Shows stderr that the error does not contain.
    fn evaluated(&mut self, evaluator: &str, trace_id: &str, error: Option<&str>, stderr: &str) {
        let stderr = stderr.trim();
        let is_known = stderr.is_empty() || error.is_some_and(|error| error.contains(stderr));
        let is_wanted = error.is_some() || self.verbose > 1;
        if is_known || !is_wanted {
            return;
        }
        if self.verbose == 0 {
            let shown = self.shown.entry(evaluator.to_owned()).or_default();
            // Equal texts are shown once.
            if shown.len() > SAME_EVALUATOR || shown.iter().any(|known| known == stderr) {
                return;
            }
            shown.push(stderr.to_owned());
            if shown.len() > SAME_EVALUATOR {
                line(&format!("{evaluator}: stderr of further evaluations is shown with -v"));
                return;
            }
        }
        let trace_id = one_line(trace_id);
        line(&format!("{evaluator}, trace {trace_id}, stderr:\n{}", indented_end(stderr)));
    }
}

/// Reports an event that the user has to know of.
fn problem(event: &RunEvent) {
    match event {
        RunEvent::BadInput { message: text, cause, hint } => {
            let more = |name: &str, text: &Option<String>| {
                let text = text.as_deref().map(one_line);
                text.map(|text| format!("\n  {name}: {text}")).unwrap_or_default()
            };
            message(&(one_line(text).into_owned() + &more("cause", cause) + &more("hint", hint)));
        }
        RunEvent::UnusedJudge { metric, settings } => {
            let settings = settings.join("`, `");
            warning(&format!("{metric} uses no judge, so `{settings}` has no effect"));
        }
        RunEvent::Pinned { evaluators, file } => {
            let (evaluators, file) = (evaluators.join(", "), file.display());
            note(&format!("pinned {evaluators} in {file}; keep it under version control"));
        }
        RunEvent::NamedSecret { evaluator, variable } => warning(&format!(
            "{evaluator} names {variable} in its source, and does not see it: secrets are withheld, unless the entry has \
             `env: [{variable}]`"
        )),
        RunEvent::JudgeWarning { message } | RunEvent::HopelessGate { message } => warning(message),
        RunEvent::Difference { message, is_allowed: true } => warning(message),
        RunEvent::Difference { message, .. } => note(message),
        RunEvent::DamagedRunFile { file, damage } => warning(&damaged(file, damage)),
        RunEvent::NotResumable { evaluator, reason } => {
            warning(&format!("results of {evaluator} cannot be reused: {reason}"));
        }
        RunEvent::UnsavedRun { message: text } | RunEvent::Unreliable { message: text } => {
            message(text);
        }
        RunEvent::ReportInMemory { reason } => warning(&format!(
            "results stay in memory from here on, because no temporary file can be written ({reason}); nothing is lost, \
             and TMPDIR names another directory for such files"
        )),
        _ => {}
    }
}

/// Reports an event of interest with `-v`.
fn detail(event: &RunEvent) {
    match event {
        RunEvent::Found { evaluator, path, runtime } => {
            line(&format!("{evaluator}: {} ({runtime})", path.display()));
        }
        RunEvent::Saved { file, reused, total } => {
            let file = file.display();
            line(&format!(
                "the run is saved in {file}; {reused} of {total} evaluations are from an earlier run"
            ));
        }
        RunEvent::Withheld { evaluators, variables } => line(&format!(
            "withheld from {}: {} (an evaluator gets the variables that its entry names under `env`)",
            evaluators.join(", "),
            variables.join(", ")
        )),
        RunEvent::Uncontained { evaluators } => line(&uncontained(evaluators)),
        RunEvent::Contained { evaluator, description } => {
            line(&format!("{evaluator}: {description}"));
        }
        RunEvent::NotReused { evaluator, reason } => line(&format!("{evaluator}: {reason}")),
        _ => {}
    }
}

/// Returns the recommendation about programs from sources that are not contained.
pub(crate) fn uncontained(evaluators: &[impl Borrow<str>]) -> String {
    format!(
        "{} from a source runs with all of your rights; `executor: sandbox` contains it",
        evaluators.join(", ")
    )
}

/// Returns the warning about damaged lines of a run file.
fn damaged(file: &Path, damage: &Damage) -> String {
    let Damage { line, offset, reason, lines, .. } = damage;
    let more = if *lines > 1 { format!(" and {} more lines", lines - 1) } else { String::new() };
    format!(
        "{}, line {line} (byte {offset}){more}: {reason}; its results are evaluated again",
        file.display()
    )
}

/// Returns the last lines, with a prefix that distinguishes them from messages of this program.
fn indented_end(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let skipped = lines.len().saturating_sub(STDERR_LINES);
    let skipped_note = (skipped > 0).then(|| format!("  | ... {skipped} lines before"));
    let shown = lines[skipped..].iter().map(|line| format!("  | {}", line_of(line)));
    skipped_note.into_iter().chain(shown).collect::<Vec<_>>().join("\n")
}

/// Cells of the bar.
const CELLS: usize = 24;

/// Numbers of evaluations during a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    done: usize,
    total: usize,
    errored: usize,
}

impl Counts {
    /// Formats a line that is overwritten: `[=====>    ] 12/24, 3.4/s, 1 broke, 4 s`.
    fn bar(self, elapsed: Duration) -> String {
        let Self { done, total, .. } = self;
        let filled = (CELLS * done).checked_div(total).unwrap_or(CELLS).min(CELLS);
        let bar = "=".repeat(filled) + ">";
        let (rate, seconds) = (self.rate(elapsed), elapsed.as_secs());
        format!("[{bar:<CELLS$.CELLS$}] {done}/{total}, {rate}/s{}, {seconds} s", self.errors())
    }

    /// Formats a line that stays: `evaluated 12 of 24, 1 broke (3.4/s, 4 s)`.
    fn line(self, elapsed: Duration) -> String {
        let (rate, seconds) = (self.rate(elapsed), elapsed.as_secs());
        format!(
            "evaluated {} of {}{} ({rate}/s, {seconds} s)",
            self.done,
            self.total,
            self.errors()
        )
    }

    /// Returns evaluations per second since the start.
    fn rate(self, elapsed: Duration) -> String {
        let rate = self.done as f64 / elapsed.as_secs_f64().max(0.001);
        if rate < 100.0 { format!("{rate:.1}") } else { format!("{rate:.0}") }
    }

    fn errors(self) -> String {
        if self.errored > 0 { format!(", {} broke", self.errored) } else { String::new() }
    }
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

    fn counts(done: usize, total: usize, errored: usize) -> Counts {
        Counts { done, total, errored }
    }

    #[test]
    fn a_bar_fills_from_nothing_to_everything() {
        let seconds = Duration::from_secs;
        assert_eq!(counts(0, 10, 0).bar(seconds(3)), "[>                       ] 0/10, 0.0/s, 3 s");
        assert_eq!(
            counts(12, 24, 1).bar(seconds(4)),
            "[============>           ] 12/24, 3.0/s, 1 broke, 4 s"
        );
        assert_eq!(
            counts(2400, 2400, 0).bar(seconds(4)),
            "[========================] 2400/2400, 600/s, 4 s"
        );
        // Conversations without turns make a run shorter than it seemed.
        for (done, total) in [(5, 4), (0, 0)] {
            assert!(counts(done, total, 0).bar(seconds(0)).contains("=] "));
        }
        let longest = counts(usize::MAX / 100, usize::MAX / 100, 999_999_999).bar(seconds(99_999));
        assert!(longest.starts_with("[=") && longest.contains("] 18"), "{longest}");
    }

    #[test]
    fn a_line_says_the_same() {
        assert_eq!(
            counts(12, 24, 1).line(Duration::from_millis(2500)),
            "evaluated 12 of 24, 1 broke (4.8/s, 2 s)"
        );
        assert_eq!(counts(0, 24, 0).line(Duration::ZERO), "evaluated 0 of 24 (0.0/s, 0 s)");
    }
}
