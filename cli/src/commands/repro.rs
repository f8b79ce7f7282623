//! `evaluator repro`: one evaluation of a saved run again.

use std::{
    collections::BTreeMap,
    env,
    path::{Path, PathBuf},
    slice,
    sync::Arc,
};

use evaluator_host::{
    config::Config,
    conversation::GroupBy,
    document::did_you_mean,
    models::Mode,
    process::CommandSpec,
    report::{
        ALL_EVALUATORS, CANCELLED, ConversationReport, EvaluationReport, Report,
        run_file::{self, Change, ChangeKind, Header, changes},
    },
    run::{OneConversation, Preview, Request, RunEvent, Runner},
};

use super::{
    broken, clean_line, eval_file, open_session, print, print_document, run, unusable, watched,
};
use crate::{
    args::{ReproArgs, RunArgs, run_again},
    exit, render, signals,
};

/// Maximum number of conversations that a message names.
const NAMED: usize = 10;

/// Repeats one evaluation.
pub(super) fn repro(args: &ReproArgs, verbose: u8, runner: Runner) -> Result<u8, u8> {
    let recorded = Recorded::find(args).map_err(unusable)?;
    let traces = recorded.traces(args).map_err(unusable)?;
    let run_args = run_again(&recorded.options, &traces).map_err(|error| {
        unusable(format!(
            "the options of the run cannot be used here: {error}; run `evaluator repro` in the directory in which the run was started"
        ))
    })?;
    let mut runner = runner;
    runner.identify = true;
    runner.locked = run_args.locked;
    let request = request(&recorded, run_args, &mut runner, verbose)?;
    signals::watch(runner.cancellation.clone());
    let preview = watched(verbose, async |on_event| runner.preview(&request, on_event).await)?;
    let preview = preview.map_err(|error| {
        unusable(format!(
            "the evaluation cannot be repeated: {error}; `--traces PATH` names other files or directories with its traces"
        ))
    })?;
    recorded.check(&preview, args.live).map_err(unusable)?;
    let name = &recorded.evaluation.name;
    if args.print_input {
        let document = preview.document.ok_or_else(|| {
            unusable(format!("{name} is no program, so there is no document that it reads"))
        })?;
        return Ok(print_document(|out| out.write_all(&document), exit::OK));
    }
    if args.shell {
        let command = preview.command.map_err(|reason| {
            unusable(format!("there is no command line for {name} without `evaluator`: {reason}"))
        })?;
        let document = preview.document.unwrap_or_default();
        let line = shell_line(&command, &document).map_err(unusable)?;
        return Ok(print(&format!("{line}\n"), exit::OK));
    }
    let mut results = Vec::new();
    for _ in 0..args.repeat {
        results.push(repeated(&recorded, &request, &runner, verbose)?);
    }
    Ok(report(&recorded.evaluation, &results))
}

/// An evaluation of a saved run.
#[derive(Debug)]
struct Recorded {
    header: Arc<Header>,
    options: Vec<String>,
    conversation: ConversationReport,
    evaluation: EvaluationReport,
}

impl Recorded {
    /// Finds an evaluation in the file of its run.
    ///
    /// # Errors
    ///
    /// There is none, there are several, or it was not evaluated: a message.
    fn find(args: &ReproArgs) -> Result<Self, String> {
        let file = args.run.display();
        let report =
            run_file::read(slice::from_ref(&args.run), false).map_err(|error| error.to_string())?;
        let header = report.header.clone().ok_or_else(|| format!("{file} has no evaluations"))?;
        let options = header.options.clone().ok_or_else(|| {
            format!(
                "{file} does not say how its evaluators were run: it is a baseline, or an older version or another program wrote \
                 it; evaluate again with `run --save-run`"
            )
        })?;
        let conversation = conversation(&report, &args.case, &args.run)?;
        let mut evaluations = conversation.evaluations.iter();
        let Some(evaluation) = evaluations.clone().find(|it| it.name == args.evaluator).cloned()
        else {
            if let Some(all) = evaluations.find(|it| it.name == ALL_EVALUATORS) {
                let error = clean_line(all.error.as_deref().unwrap_or_default());
                return Err(format!("no evaluator was asked about {}: {error}", args.case));
            }
            let names = || conversation.evaluations.iter().map(|it| it.name.as_str());
            let hint = did_you_mean(&args.evaluator, names())
                .unwrap_or_else(|| format!("there are {}", names().collect::<Vec<_>>().join(", ")));
            return Err(format!("{file} has no evaluator `{}`; {hint}", args.evaluator));
        };
        if !evaluation.was_run() || evaluation.error_type == Some(CANCELLED) {
            return Err(format!(
                "{} was not asked about {}, because the run ended before",
                args.evaluator, args.case
            ));
        }
        Ok(Self { header, options, conversation, evaluation })
    }

    /// Returns the files with the conversation.
    fn traces(&self, args: &ReproArgs) -> Result<Vec<PathBuf>, String> {
        if !args.traces.is_empty() {
            return Ok(args.traces.clone());
        }
        let Some(file) = &self.conversation.trace_file else {
            return Err(
                "the traces of the run came from the standard input; --traces PATH names a file with them".to_owned()
            );
        };
        let path = PathBuf::from(&**file);
        if path.exists() {
            return Ok(vec![path]);
        }
        Err(format!(
            "{file} does not exist here; run `evaluator repro` in the directory in which the run was started, or name the file with \
             --traces PATH"
        ))
    }

    /// Checks that the same is evaluated now, and shows what differs.
    ///
    /// # Errors
    ///
    /// Something else is evaluated, and that is not wanted: a message.
    fn check(&self, preview: &Preview, is_live: bool) -> Result<(), String> {
        let (mut refused, mut said) = (Vec::new(), Vec::new());
        for change in self.changes(preview) {
            let list =
                if change.kind == ChangeKind::Environment { &mut said } else { &mut refused };
            list.push(change.to_string());
        }
        let old = self.conversation.content;
        let file = self.conversation.trace_file.as_deref().unwrap_or("the standard input");
        match (old, preview.content) {
            (Some(old), Some(new)) if old == new => {}
            (None, _) => refused.push(
                "content: the run did not keep what was evaluated, which is produced again each time".to_owned(),
            ),
            _ => refused.push(format!(
                "content: the recording is not the one that was read from {file}{}",
                match self.grouping() {
                    Some(GroupBy::Conversation) =>
                        " (if it has traces in several files, --traces names all of them)",
                    _ => "",
                }
            )),
        }
        let (old, new) =
            (self.conversation.eval_case_id.as_deref(), preview.eval_case_id.as_deref());
        if old != new {
            let shown = |id: Option<&str>| id.map_or("none".to_owned(), |id| format!("`{id}`"));
            refused.push(format!(
                "golden case of the conversation: {} -> {}",
                shown(old),
                shown(new)
            ));
        }
        said.iter().for_each(|change| render::note(change));
        if is_live {
            refused.iter().for_each(|change| render::warning(change));
            return Ok(());
        }
        match refused.is_empty() {
            true => Ok(()),
            false => Err(format!(
                "this would be another evaluation than the recorded one:\n{}\n--live evaluates all the same",
                refused.join("\n")
            )),
        }
    }

    /// Returns how the run grouped traces into conversations.
    fn grouping(&self) -> Option<GroupBy> {
        match self.header.settings.get("group_by")?.as_str()? {
            "conversation" => Some(GroupBy::Conversation),
            "trace" => Some(GroupBy::Trace),
            _ => None,
        }
    }

    /// Returns what differs in the evaluator, the settings and the golden case.
    fn changes(&self, preview: &Preview) -> Vec<Change> {
        let case = self.conversation.eval_case_id.as_deref();
        let own = |header: &Header| {
            let entries = header.evaluators.iter().filter(|it| it.name == self.evaluation.name);
            let mut header = Header { evaluators: entries.cloned().collect(), ..header.clone() };
            for suite in header.evaluators.iter_mut().filter(|it| it.kind == "suite") {
                // They are tests, by their ids.
                suite.parts.settings.retain(|id, _| **id == *self.conversation.trace_id);
            }
            header
        };
        changes(&own(&self.header), &own(&preview.header), |id| Some(id) == case)
    }
}

/// Returns the conversation of a run that the user named.
///
/// # Errors
///
/// There is none, or several: a message.
fn conversation(report: &Report, case: &str, file: &Path) -> Result<ConversationReport, String> {
    let is_named = |it: &ConversationReport| {
        let names = [it.eval_case_id.as_ref(), it.case.as_ref(), Some(&it.trace_id)];
        names.into_iter().flatten().any(|name| **name == *case)
    };
    let (mut named, mut similar) = (Vec::new(), Vec::new());
    for conversation in report.conversations.iter() {
        let conversation = conversation.map_err(|error| error.to_string())?;
        if is_named(&conversation) {
            named.push(conversation);
        } else if !case.is_empty() && conversation.trace_id.starts_with(case) {
            similar.push(conversation);
        }
    }
    let mut found = if named.is_empty() { similar } else { named };
    let file = file.display();
    match found.len() {
        0 => Err(format!(
            "{file} has no conversation `{case}`; name its golden case, its value of --case-key, or its trace id"
        )),
        1 => Ok(found.remove(0)),
        all => {
            let ids: Vec<&str> = found.iter().take(NAMED).map(|it| &*it.trace_id).collect();
            let more = if all > NAMED { ", .." } else { "" };
            Err(format!(
                "`{case}` stands for {all} conversations of {file}: {}{more}; name one by its trace id",
                ids.join(", ")
            ))
        }
    }
}

/// Returns the request that evaluates the conversation again, as the run did.
fn request(
    recorded: &Recorded,
    mut args: RunArgs,
    runner: &mut Runner,
    verbose: u8,
) -> Result<Request, u8> {
    if args.judge.judge_mode == Some(Mode::Record) {
        // What is recorded answers.
        args.judge.judge_mode = Some(Mode::Auto);
    }
    let mut request = match eval_file::given(&args, runner).map_err(unusable)? {
        Some(file) => {
            let plan = eval_file::planned(&file, &mut args, verbose > 0, runner)?;
            runner.session = Some(plan.session());
            let mut config = Config::default();
            eval_file::configure(&mut config, &args);
            plan.request(config)
        }
        None => {
            let mut config = run::configuration(&mut args, runner)?;
            let name = &recorded.evaluation.name;
            config.evaluators.retain(|evaluator| evaluator.name == *name);
            if config.evaluators.is_empty() {
                return Err(unusable(format!(
                    "the configuration of the run has no evaluator `{name}` any more"
                )));
            }
            if config.judge.mode == Some(Mode::Record) {
                config.judge.mode = Some(Mode::Auto);
            }
            config.group_by = recorded.grouping().or(config.group_by);
            config.gates.clear();
            config.until_decided = false;
            config.fail_fast = false;
            runner.session = Some(open_session(&config, verbose, runner)?);
            Request::new(args.traces, config)
        }
    };
    let (trace_id, of) =
        (Arc::clone(&recorded.conversation.trace_id), recorded.header.conversations);
    request.only = Some(OneConversation { trace_id, of });
    Ok(request)
}

/// Evaluates once, and shows what the program wrote to stderr.
fn repeated(
    recorded: &Recorded,
    request: &Request,
    runner: &Runner,
    verbose: u8,
) -> Result<EvaluationReport, u8> {
    let name = &recorded.evaluation.name;
    let report = watched(verbose, async |_| {
        // Events about the preparation have been shown.
        let mut on_event = |event: RunEvent| {
            if let RunEvent::Evaluated { stderr, .. } = event
                && !stderr.is_empty()
            {
                render::remark(&format!("{name} wrote to stderr:\n{stderr}"));
            }
        };
        runner.run(request, &mut on_event).await
    })?;
    if report.partial.is_some() {
        return Err(broken("the evaluation was interrupted"));
    }
    report.errors.iter().for_each(|error| render::warning(error));
    let conversation = report.conversations.get(0).transpose().map_err(broken)?;
    let evaluations = conversation.into_iter().flat_map(|it| it.evaluations);
    let mut found = evaluations.filter(|it| [name.as_str(), ALL_EVALUATORS].contains(&&*it.name));
    let evaluation = found.next().ok_or_else(|| broken(format!("{name} was not asked")))?;
    evaluation.error.iter().for_each(|error| render::remark(error));
    Ok(evaluation)
}

/// Prints how the results compare with the recorded one. Returns the exit code.
fn report(then: &EvaluationReport, results: &[EvaluationReport]) -> u8 {
    let same = results.iter().filter(|now| is_same(then, now)).count();
    let code = exit::worst(results.iter().map(|now| match now.error {
        _ if is_same(then, now) => exit::OK,
        Some(_) if then.error.is_none() => exit::ERRORED,
        _ => exit::FAILED,
    }));
    if let [now] = results {
        let text = match code {
            exit::OK => format!("reproduced: {}, as recorded\n", shown(then)),
            _ => {
                let (then, now) = differing(then, now);
                format!("not reproduced: {then} then, {now} now\n")
            }
        };
        return print(&text, code);
    }
    let all = results.len();
    let reproduced = if same == 0 { "not reproduced" } else { "reproduced" };
    let mut text = format!("{reproduced}: {same} of {all} times {}, as recorded\n", shown(then));
    let mut others = BTreeMap::<String, usize>::new();
    for now in results.iter().filter(|now| !is_same(then, now)) {
        *others.entry(differing(then, now).1).or_default() += 1;
    }
    for (result, count) in others {
        text.push_str(&format!("  {count} of {all} times {result}\n"));
    }
    print(&text, code)
}

/// Returns true if two evaluations have the same result. Of errors, the kind counts.
fn is_same(then: &EvaluationReport, now: &EvaluationReport) -> bool {
    match (&then.error, &now.error) {
        (Some(_), Some(_)) => then.error_type == now.error_type,
        (None, None) => {
            let result = |it: &EvaluationReport| {
                (it.score.map(f64::to_bits), it.status, it.failure_reason.clone())
            };
            result(then) == result(now)
        }
        _ => false,
    }
}

/// Returns the result of an evaluation.
fn shown(evaluation: &EvaluationReport) -> String {
    match (&evaluation.error, evaluation.score) {
        (Some(_), _) => format!("error ({})", evaluation.error_type.unwrap_or("unknown")),
        (None, Some(score)) => format!("{score:.3}, {}", evaluation.status),
        (None, None) => evaluation.status.to_string(),
    }
}

/// Returns two results so that their difference is seen.
fn differing(then: &EvaluationReport, now: &EvaluationReport) -> (String, String) {
    let score = |it: &EvaluationReport| it.score.filter(|_| it.error.is_none());
    let texts = (shown(then), shown(now));
    match (score(then), score(now)) {
        (Some(old), Some(new)) if format!("{old:.3}") != format!("{new:.3}") => {
            (format!("{old:.3}"), format!("{new:.3}"))
        }
        (Some(old), Some(new)) if texts.0 == texts.1 => (old.to_string(), new.to_string()),
        (None, Some(new)) => (texts.0, format!("{new:.3}")),
        (Some(old), None) => (format!("{old:.3}"), texts.1),
        _ => texts,
    }
}

/// Returns a line for a shell that starts a program with its document. Values of variables that the shell has are not in it.
///
/// # Errors
///
/// The document is not text, or the working directory does not exist.
fn shell_line(command: &CommandSpec, document: &[u8]) -> Result<String, String> {
    let CommandSpec { program, args, env, clear_env, cwd, resources, .. } = command;
    let document = str::from_utf8(document)
        .map_err(|_| "the document is not UTF-8; --print-input prints it".to_owned())?;
    let cwd = match cwd {
        Some(cwd) => cwd.clone(),
        None => env::current_dir().map_err(|error| error.to_string())?,
    };
    let quoted = |text: &str| shell_words::quote(text).into_owned();
    let mut variables = BTreeMap::new();
    for (name, value) in env {
        variables.insert(name, value);
    }
    let mut words = vec!["env".to_owned()];
    if *clear_env {
        words.push("-i".to_owned());
    }
    for (name, value) in variables {
        let text = name.to_string_lossy();
        match value {
            None if *clear_env => {}
            None => words.extend(["-u".to_owned(), quoted(&text)]),
            Some(value) if is_name(&text) && env::var_os(name).as_ref() == Some(value) => {
                words.push(format!("{text}=\"${text}\""));
            }
            Some(value) => words.push(quoted(&format!("{text}={}", value.to_string_lossy()))),
        }
    }
    if words.len() == 1 {
        words.clear();
    }
    words.push(quoted(&program.to_string_lossy()));
    words.extend(args.iter().map(|arg| quoted(&arg.to_string_lossy())));
    let limits = [
        resources.memory.map(|bytes| format!("ulimit -v {}; ", bytes / 1024)),
        resources.cpu.map(|seconds| format!("ulimit -t {seconds}; ")),
        resources.open_files.map(|files| format!("ulimit -n {files}; ")),
    ];
    let limits: String = limits.into_iter().flatten().collect();
    let (cwd, document) = (quoted(&cwd.to_string_lossy()), quoted(document));
    Ok(format!("cd {cwd} && printf %s {document} | ({limits}exec {})", words.join(" ")))
}

/// Returns true if a shell can name a variable so.
fn is_name(text: &str) -> bool {
    !text.starts_with(|first: char| first.is_ascii_digit())
        && text.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
}
