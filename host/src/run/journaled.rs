//! Evaluations that are taken from a journal, or kept in it.

use std::{collections::BTreeMap, env, path::PathBuf};

use super::{
    PlannedEvaluator, RunEvent, Runner,
    permits::Permits,
    plan::Work,
    program::Candidate,
    ready::{Given, Ready},
    retry,
    subject::Subject,
};
use crate::{
    config::CodeConfig,
    journal::{Digester, Fingerprint, Journal},
    report::Report,
    runtime::{Inputs, Launch, imported_from, secrets::is_secret_name},
    verdict::{Evaluation, Verdict},
};

/// Takes an evaluation from the journal; or has it done as soon as there is a permit, and keeps it before anybody is told.
pub(super) async fn evaluate(
    journal: Option<&Journal>,
    evaluator: &Ready,
    subject: &Subject,
    permits: &Permits,
) -> Evaluation {
    let (Some(journal), Some(fingerprint), Some(key)) =
        (journal, evaluator.fingerprint(), journal.and_then(|_| evaluator.key(subject)))
    else {
        return retry::evaluate(evaluator, Given::Conversation(subject), permits).await;
    };
    if let Some(known) = journal.find(fingerprint, &key) {
        if evaluator.went_wrong(&known.verdict, Given::Conversation(subject)) {
            permits.something_went_wrong();
        }
        return known;
    }
    let evaluation = retry::evaluate(evaluator, Given::Conversation(subject), permits).await;
    // Nobody knows how it would have ended.
    if matches!(evaluation.verdict, Verdict::Cancelled | Verdict::NotRun) {
        return evaluation;
    }
    match fingerprint.changed() {
        None => {
            let trace_id = &subject.conversation().trace_id;
            journal.append(&key, evaluator.name(), trace_id, &evaluation).await;
        }
        // What another program said must not stand for what this one says.
        Some(file) => journal.leave_out(evaluator.name(), file),
    }
    evaluation
}

/// What an evaluator is that needs no other program; `None` when nobody asks, or it cannot be known.
pub(super) fn of_this_program(
    evaluator: &PlannedEvaluator,
    runner: &Runner,
    on_event: &mut dyn FnMut(RunEvent),
) -> Option<Fingerprint> {
    runner.journal.as_ref()?;
    let name = evaluator.name.as_bytes();
    match &evaluator.work {
        Work::Metric { metric, settings } => {
            let digester = Digester::new("metric")
                .bytes("name", name)
                .bytes("revision", metric.revision()?.as_bytes())
                .bytes("threshold", &evaluator.threshold.to_bits().to_le_bytes())
                .shown("settings", settings);
            Some(Fingerprint::of_settings(digester))
        }
        // Its code is somewhere in this program. Threshold and settings are in the document.
        Work::Linked { timeout, .. } => {
            let digester = Digester::new("linked").bytes("name", name).shown("timeout", timeout);
            let files = [running_program()].into();
            let inputs = Inputs { files, ..Inputs::default() };
            of_program(&evaluator.name, &inputs, digester, on_event)
        }
        Work::Program(_) | Work::Broken(_) => None,
    }
}

/// The file of this program as it runs, even if there is another in its place by now.
fn running_program() -> PathBuf {
    let running = PathBuf::from("/proc/self/exe");
    if running.exists() { running } else { env::current_exe().unwrap_or_default() }
}

/// What a program is that was made ready; `None` when nobody asks, or it cannot be known.
pub(super) fn of_launch(
    (evaluator, candidate): (&str, &Candidate),
    inputs: &Inputs,
    launch: &Launch,
    runner: &Runner,
    on_event: &mut dyn FnMut(RunEvent),
) -> Option<Fingerprint> {
    runner.journal.as_ref()?;
    if let Some(what) = dynamic_code(candidate, inputs, launch) {
        let reason = format!(
            "it runs code whose changes would not be noticed ({what}), so it is evaluated again in every run"
        );
        on_event(RunEvent::NotJournaled { evaluator: evaluator.to_owned(), reason });
        return None;
    }
    // The path as it was written depends on where the configuration was found; the files have theirs. All other settings
    // count, also those that hardly change an answer: a limit decides whether there is one.
    // How often it is tried is no part of what came of it.
    let settings = CodeConfig { path: Default::default(), retries: None, ..candidate.code.clone() };
    let mut digester = Digester::new("program")
        .shown("settings", &settings)
        .shown("program", &launch.one_shot.program)
        .shown("arguments", &launch.one_shot.args)
        // Programs find files by it.
        .shown("working directory", &env::current_dir().ok());
    // What an entry asks to be passed on is a setting of it; a secret opens doors, and its owner may renew it at any time.
    let passed_on = candidate.code.process.env.variables.iter().filter(|(_, own)| own.is_none());
    for (name, _) in passed_on.filter(|(name, _)| !is_secret_name(name)) {
        digester = digester.shown(name, &env::var_os(name));
    }
    if let Some(pin) = &candidate.pin {
        digester = digester.bytes("pin", pin.as_str().as_bytes());
    }
    of_program(evaluator, inputs, digester, on_event)
}

/// Code of the evaluator that is not part of its inputs, in words.
fn dynamic_code(candidate: &Candidate, inputs: &Inputs, launch: &Launch) -> Option<String> {
    if inputs.dynamic_code.is_some() {
        return inputs.dynamic_code.clone();
    }
    let own = candidate.code.process.env.variables.iter().find(|(name, _)| *name == "PYTHONPATH");
    let folders = match own.and_then(|(_, value)| value.clone()) {
        Some(value) => value.into(),
        None => launch.one_shot.variable("PYTHONPATH")?,
    };
    let folders: Vec<PathBuf> = env::split_paths(&folders).collect();
    let module = imported_from(&inputs.files, &folders)?;
    Some(format!("{}, found by PYTHONPATH", module.display()))
}

fn of_program(
    evaluator: &str,
    inputs: &Inputs,
    settings: Digester,
    on_event: &mut dyn FnMut(RunEvent),
) -> Option<Fingerprint> {
    let error = match Fingerprint::of_program(inputs, settings) {
        Ok(fingerprint) => return Some(fingerprint),
        Err(error) => error,
    };
    let (evaluator, reason) = (evaluator.to_owned(), error.to_string());
    on_event(RunEvent::NotJournaled { evaluator, reason });
    None
}

/// A journal during a run: what becomes of it is told once, and gets into the report.
pub(super) struct Journaling<'a> {
    journal: Option<&'a Journal>,
    reused_before: usize,
    failure_told: bool,
    left_out: BTreeMap<String, PathBuf>,
}

impl<'a> Journaling<'a> {
    pub(super) fn begin(runner: &'a Runner, on_event: &mut dyn FnMut(RunEvent)) -> Self {
        let journal = runner.journal.as_deref();
        if let Some((journal, damage)) = journal.and_then(|it| Some((it, it.damage()?.clone()))) {
            on_event(RunEvent::JournalDamaged { file: journal.path().to_owned(), damage });
        }
        let reused_before = journal.map_or(0, Journal::reused);
        Self { journal, reused_before, failure_told: false, left_out: BTreeMap::new() }
    }

    /// Passes an event on. What went wrong with the journal meanwhile is told as soon as something is told at all.
    pub(super) fn pass(&mut self, event: RunEvent, on_event: &mut dyn FnMut(RunEvent)) {
        on_event(event);
        self.tell_failure(on_event);
        self.tell_left_out(on_event);
    }

    /// Waits until everything is on the disk. A journal that could not be written is an error of the run: whoever asked
    /// for one relies on it, though no result is missing.
    pub(super) async fn end(mut self, report: &mut Report, on_event: &mut dyn FnMut(RunEvent)) {
        let Some(journal) = self.journal else { return };
        journal.flush().await;
        self.tell_failure(on_event);
        let failure = self.failure();
        report.unwritten_journal = failure.is_some();
        report.errors.extend(failure);
        let reused = journal.reused() - self.reused_before;
        report.reused = journal.resumes().then_some(reused);
        on_event(RunEvent::Journaled {
            file: journal.path().to_owned(),
            reused,
            total: report.conversations.asked(),
        });
    }

    fn tell_failure(&mut self, on_event: &mut dyn FnMut(RunEvent)) {
        if let Some(message) = self.failure().filter(|_| !self.failure_told) {
            self.failure_told = true;
            on_event(RunEvent::JournalFailed { message });
        }
    }

    fn tell_left_out(&mut self, on_event: &mut dyn FnMut(RunEvent)) {
        let Some(left_out) = self.journal.map(Journal::left_out) else { return };
        for (evaluator, file) in &left_out {
            if !self.left_out.contains_key(evaluator) {
                let reason = format!("{} has changed since the run began", file.display());
                on_event(RunEvent::NotJournaled { evaluator: evaluator.clone(), reason });
            }
        }
        self.left_out = left_out;
    }

    fn failure(&self) -> Option<String> {
        let journal = self.journal?;
        Some(format!(
            "Failed to write the journal {}: {}. The results are complete, but not all of them are kept.",
            journal.path().display(),
            journal.failure()?
        ))
    }
}
