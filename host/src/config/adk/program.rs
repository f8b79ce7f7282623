//! The criterion of a custom metric: how its program is called.
//!
//! | key | meaning |
//! |---|---|
//! | `threshold` | the score from which on it passes |
//! | `command` | the command line: a list, or text that is split as a shell would; needed where `code_config` names a Python function |
//! | `timeout` | seconds for one evaluation; 60 by default |
//! | `missing_turns` | `fail` or `ignore`: what becomes of an evaluation where golden turns are not recorded; `fail` by default |
//! | `on_error` | `raise` or `fail`: what ADK is told of a program that breaks. Here it is an error in either case |
//! | any other | a setting that the program finds in its `config` |

use std::{path::PathBuf, time::Duration};

use super::{
    criterion::{plain, required_threshold},
    custom::Custom,
    numbers::noun,
    read::MISSING_TURNS_KEYS,
};
use crate::{
    config::{
        CodeConfig,
        fields::{Fields, Problems, choice, non_negative},
        paths::Leads,
        yaml::{Node, NodeKind, Span, object},
    },
    json::Object,
    runtime::Runtimes,
};

/// Keys that are not settings of the program.
const OWN_KEYS: [&str; 6] =
    ["threshold", "command", "timeout", "on_error", MISSING_TURNS_KEYS.0, MISSING_TURNS_KEYS.1];

/// Time one evaluation may take where nothing is said.
const TIMEOUT: Duration = Duration::from_secs(60);

/// More is as good as forever.
const MAX_TIMEOUT: f64 = 1e9;

pub(super) fn read(
    custom: &Custom<'_>,
    node: &Node,
    runtimes: &Runtimes,
    problems: &mut Problems<'_>,
) -> Option<CodeConfig> {
    let mut code = CodeConfig {
        timeout: TIMEOUT,
        info: custom.info.clone(),
        process: custom.process.clone(),
        ..CodeConfig::default()
    };
    let mut command = None;
    let threshold = if let NodeKind::Mapping(entries) = &node.kind {
        let mut fields = Fields::new("this criterion", entries);
        let threshold = required_threshold(custom.name, node, false, &mut fields, problems);
        command = fields.take("command").map(|node| (node, argv(node, problems)));
        if let Some(timeout) = fields.take("timeout").and_then(|node| seconds(node, problems)) {
            code.timeout = timeout;
        }
        if let Some(node) = fields.take("on_error") {
            choice("on_error", node, &[("raise", ()), ("fail", ())], problems);
            problems
                .note(node.span, "`on_error` has no effect here: a metric that breaks is an error");
        }
        code.config = settings(entries);
        tell_slips(entries, problems);
        threshold
    } else {
        plain(custom.name, node, false, problems)
    };
    let (path, is_command, args) = what_to_run(custom, command, runtimes, problems)?;
    (code.path, code.command, code.args) = (path, is_command, args);
    code.threshold = threshold?;
    Some(code)
}

/// Every key is some program's, so a misspelt one of ours can only be told of. One letter away is near enough: `comment` is
/// no `command`.
fn tell_slips(entries: &[(Node, Node)], problems: &mut Problems<'_>) {
    let near =
        |key: &str| OWN_KEYS.into_iter().find(|own| strsim::damerau_levenshtein(key, own) == 1);
    for (key, own) in entries.iter().filter_map(|(key, _)| Some((key, near(key.as_str()?)?))) {
        let message =
            format!("`{}` is handed to the program as a setting", key.as_str().unwrap_or_default());
        problems.warn(key.span, message, Some(format!("did you mean `{own}`?")));
    }
}

/// The program, whether it may be a command's name, and its arguments.
fn what_to_run(
    custom: &Custom<'_>,
    command: Option<(&Node, Option<Vec<String>>)>,
    runtimes: &Runtimes,
    problems: &mut Problems<'_>,
) -> Option<(PathBuf, bool, Vec<String>)> {
    let (name, span) = custom.code?;
    match (command, is_python_function(name, runtimes)) {
        (Some((node, argv)), true) => {
            let mut argv = argv?.into_iter();
            let program = argv.next()?;
            let path = problems.locate("command", &program, node.span, Leads::Command);
            Some((path, true, argv.collect()))
        }
        (Some((node, _)), false) => {
            let hint = format!("keep one of them; `code_config` names `{name}`");
            let message = "`command` and `code_config` both say what to run";
            problems.add(node.span, message, Some(hint));
            None
        }
        (None, true) => {
            let hint = "name a file or a program, or give the criterion a `command`".to_owned();
            let message = format!("`{name}` is a Python function, which cannot be run from here");
            problems.add(span, message, Some(hint));
            None
        }
        (None, false) => {
            Some((problems.locate("name", name, span, Leads::Command), true, Vec::new()))
        }
    }
}

/// Whether ADK would import it: names with dots between them, the last of which is no extension of a source file.
fn is_python_function(name: &str, runtimes: &Runtimes) -> bool {
    let is_identifier = |part: &str| {
        part.starts_with(|c: char| c == '_' || c.is_alphabetic())
            && part.chars().all(|c| c == '_' || c.is_alphanumeric())
    };
    let Some((_, last)) = name.rsplit_once('.') else { return false };
    let extension = format!(".{}", last.to_ascii_lowercase());
    let is_source = runtimes.iter().any(|runtime| runtime.extensions().contains(&&*extension));
    !is_source && name.split('.').all(is_identifier)
}

/// The words of a command line; at least one.
fn argv(node: &Node, problems: &mut Problems<'_>) -> Option<Vec<String>> {
    let words = match &node.kind {
        NodeKind::Sequence(items) => {
            let mut words = Vec::with_capacity(items.len());
            for item in items {
                let Some(word) = item.as_str() else {
                    let message = format!("`command` must be a list of texts, not {}", noun(item));
                    problems.add(item.span, message, None);
                    return None;
                };
                words.push(word.to_owned());
            }
            words
        }
        _ => {
            let Some(line) = node.as_str() else {
                let message =
                    format!("`command` must be a list of texts, or text, not {}", noun(node));
                problems.add(node.span, message, None);
                return None;
            };
            match shell_words::split(line) {
                Ok(words) => words,
                Err(_) => {
                    problems.add(node.span, "`command` has a quote without its end", None);
                    return None;
                }
            }
        }
    };
    if words.first().is_none_or(String::is_empty) {
        let hint = r#"for example ["checks/polite.py", "--strict"]"#.to_owned();
        problems.add(node.span, "`command` names no program", Some(hint));
        return None;
    }
    if let Some(word) = words.iter().find(|word| word.contains('\0')) {
        problems.add(node.span, format!("`command` has a NUL character in {word:?}"), None);
        return None;
    }
    Some(words)
}

fn seconds(node: &Node, problems: &mut Problems<'_>) -> Option<Duration> {
    let seconds = non_negative("timeout", node, problems)?;
    if !(0.001..=MAX_TIMEOUT).contains(&seconds) {
        let message = format!("`timeout` must be a number of seconds above 0, not {seconds}");
        problems.add(node.span, message, Some("for example 30".to_owned()));
        return None;
    }
    Duration::try_from_secs_f64(seconds).ok()
}

/// Everything else in the criterion, as it is.
fn settings(entries: &[(Node, Node)]) -> Object {
    let others: Vec<(Node, Node)> = entries
        .iter()
        .filter(|(key, _)| !key.as_str().is_some_and(|key| OWN_KEYS.contains(&key)))
        .cloned()
        .collect();
    // Keys of JSON are text.
    object(&others).unwrap_or_else(|_: Span| Object::default())
}
