//! Custom metrics and their criteria.
//!
//! An entry of `custom_metrics` names the program that computes the metric, and describes the metric. The criterion defines
//! how the program is called:
//!
//! | key | meaning |
//! |---|---|
//! | `threshold` | lowest score that passes |
//! | `command` | command line: a list, or text that is split as a shell would; only if `code_config` names a Python function, which it replaces |
//! | `timeout` | seconds for one evaluation; 60 by default |
//! | `missing_turns` | `fail` (default) or `ignore`: effect of golden turns without a recording |
//! | `on_error` | `raise` or `fail`: what ADK does when a program breaks; here that is always an error |
//! | any other | a setting that the program finds in its `config` |

use std::time::Duration;

use evaluator_document::{Field, Node, NodeKind};
use evaluator_judging::read_pydantic_number as number;
use evaluator_protocol::Contract;

use super::{
    super::{
        CodeConfig, ProcessConfig,
        paths::{PathKind, python_file},
        process,
        reader::{Reader, is_identifier},
    },
    criterion::{MISSING_TURNS_KEYS, plain, required_threshold},
};
use crate::{json::Object, runtime::Runtimes};

/// Keys of a criterion that are not settings of the program.
const OWN_KEYS: [&str; 6] =
    ["threshold", "command", "timeout", "on_error", MISSING_TURNS_KEYS.0, MISSING_TURNS_KEYS.1];

/// Default time limit of one evaluation.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Maximum time limit in seconds.
const MAX_TIMEOUT: f64 = 1e9;

/// A custom metric.
#[derive(Debug)]
pub(super) struct Custom<'n> {
    pub(super) name: &'n str,
    /// Position of the name.
    pub(super) span: evaluator_document::Span,
    /// `code_config.name`; `None` after a problem.
    code: Option<Field<'n>>,
    process: ProcessConfig,
}

/// Reads an entry of `custom_metrics`.
pub(super) fn read<'n>(
    key: &'n Node,
    metric: &'n Node,
    reader: &'n Reader<'n>,
) -> Option<Custom<'n>> {
    let name = key.as_str()?;
    let process = ProcessConfig::default();
    let mut custom = Custom { name, span: key.span, code: None, process };
    let Some(mut fields) = metric.field(name, &reader.problems).fields("this custom metric") else {
        return Some(custom);
    };
    match fields.take_either("code_config", "codeConfig") {
        Some(field) => custom.code = read_code(field),
        None => {
            let message = format!("the key `code_config` is missing in the custom metric `{name}`");
            let hint = r#"for example {"code_config": {"name": "checks/polite.rs"}}"#;
            reader.problems.add(key.span, message).hint(hint);
        }
    }
    custom.process = process::read(&mut fields, &reader.paths);
    fields.take("description").and_then(text_or_empty);
    fields.null_is_absent();
    let info = fields.take_either("metric_info", "metricInfo");
    info.and_then(|field| check_info(name, field));
    fields.finish();
    Some(custom)
}

fn read_code(field: Field<'_>) -> Option<Field<'_>> {
    let mut fields = field.fields("`code_config`")?;
    let name = fields.require("name");
    let hint = "settings stand in the criterion, and so does a `command` with arguments";
    fields.refuse("args", "`code_config` has only a `name`", hint);
    fields.finish();
    name.filter(|name| name.text().is_some())
}

/// Checks `metric_info`, which describes the metric and has no effect.
fn check_info(metric: &str, field: Field<'_>) -> Option<()> {
    let mut fields = field.fields("`metric_info`")?;
    if let Some(name) = fields.require_either("metric_name", "metricName")
        && text_or_empty(name).is_some_and(|given| given != metric)
    {
        let message = format!("`metric_name` has no effect; it is `{metric}`");
        name.problems.note(name.node.span, message);
    }
    let values = fields.require_either("metric_value_info", "metricValueInfo");
    if let Some(mut fields) = values.and_then(|values| values.fields("`metric_value_info`")) {
        fields.null_is_absent();
        fields.take("interval").and_then(check_interval);
        fields.finish();
    }
    fields.take_either("requires_threshold", "requiresThreshold").and_then(|field| field.flag());
    fields.null_is_absent();
    fields.take("description").and_then(text_or_empty);
    fields.finish();
    Some(())
}

/// Warns if scores in the interval are impossible or errors.
fn check_interval(field: Field<'_>) -> Option<()> {
    let mut fields = field.fields("`interval`")?;
    let mut end = |key: &'static str, alias: &'static str| {
        let end = fields.require_either(key, alias)?;
        let number = number(end).filter(|number| !number.is_nan());
        number.or_else(|| end.expected("a number").none())
    };
    let (min, max) = (end("min_value", "minValue"), end("max_value", "maxValue"));
    let mut flag = |key: &'static str, alias: &'static str| {
        fields.take_either(key, alias).and_then(|field| field.flag()).unwrap_or_default()
    };
    let is_open = flag("open_at_min", "openAtMin") | flag("open_at_max", "openAtMax");
    fields.finish();
    let (min, max) = (min?, max?);
    let warn = |message: String| field.problems.warn(field.node.span, message);
    if min > max || (min == max && is_open) {
        warn(format!("no number is in an interval from {min} to {max}"));
    } else if min < 0.0 || max > 1.0 {
        warn("scores outside of 0..=1 are errors here, whatever the interval says".to_owned())
            .hint("let the metric answer with a share of its range");
    }
    Some(())
}

fn text_or_empty(field: Field<'_>) -> Option<&str> {
    field.node.as_str().or_else(|| field.expected("text").none())
}

impl Custom<'_> {
    /// Reads the criterion of the metric.
    pub(super) fn read_criterion(
        &self,
        field: Field<'_>,
        reader: &Reader<'_>,
    ) -> Option<CodeConfig> {
        let mut code =
            CodeConfig { timeout: TIMEOUT, process: self.process.clone(), ..CodeConfig::default() };
        let mut command = None;
        let threshold = if let NodeKind::Mapping(entries) = &field.node.kind {
            let mut fields = field.fields("this criterion")?;
            let threshold = required_threshold(field, false, &mut fields);
            command = fields.take("command").map(|field| (field, read_command(field)));
            if let Some(timeout) = fields.take("timeout").and_then(read_timeout) {
                code.timeout = timeout;
            }
            if let Some(field) = fields.take("on_error") {
                field.choice(&[("raise", ()), ("fail", ())]);
                let message = "`on_error` has no effect here: a metric that breaks is an error";
                field.problems.note(field.node.span, message);
            }
            code.config = settings(entries, field);
            threshold
        } else {
            plain(field, false)
        };
        self.set_program(&mut code, command, reader)?;
        code.threshold = threshold?;
        Some(code)
    }

    /// Sets the program of `code`, and the function of a Python module.
    fn set_program(
        &self,
        code: &mut CodeConfig,
        command: Option<(Field<'_>, Option<Vec<String>>)>,
        reader: &Reader<'_>,
    ) -> Option<()> {
        let field = self.code?;
        let name = field.node.as_str()?;
        match (command, python_function(name, &reader.known.runtimes)) {
            (Some((field, argv)), Some(_)) => {
                let mut argv = argv?.into_iter();
                code.path = reader.paths.locate(field, &argv.next()?, PathKind::Command);
                (code.command, code.args) = (!code.path.exists(), argv.collect());
            }
            (Some((field, _)), None) => {
                return field
                    .add("`command` and `code_config` both say what to run")
                    .hint(format!("keep one of them; `code_config` names `{name}`"))
                    .none();
            }
            (None, Some((module, function))) => {
                let Some(path) = reader.paths.python_module(module) else {
                    return field
                        .add(format!("`{name}` is a Python function, and there is no {} next to the configuration", python_file(module)))
                        .hint("name a file or a program, or give the criterion a `command`")
                        .none();
                };
                code.path = path;
                (code.contract, code.function) = (Some(Contract::Adk), Some(function.to_owned()));
            }
            (None, None) => {
                code.path = reader.paths.locate(field, name, PathKind::Command);
                code.command = !code.path.exists();
            }
        }
        Some(())
    }
}

/// Returns the module and the function if ADK would import `name`: identifiers with dots between them that do not end in the
/// extension of a source file.
fn python_function<'a>(name: &'a str, runtimes: &Runtimes) -> Option<(&'a str, &'a str)> {
    let (module, function) = name.rsplit_once('.')?;
    let extension = format!(".{}", function.to_ascii_lowercase());
    let is_file = runtimes.extensions().any(|known| known == extension);
    (!is_file && name.split('.').all(is_identifier)).then_some((module, function))
}

/// Reads a command line of at least one word.
fn read_command(field: Field<'_>) -> Option<Vec<String>> {
    let words: Vec<String> = match &field.node.kind {
        NodeKind::Sequence(items) => {
            let wrong = items.iter().find(|item| item.as_str().is_none());
            if let Some(node) = wrong {
                return Field { node, ..field }.expected("a list of texts").none();
            }
            items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
        }
        _ => {
            let Some(line) = field.node.as_str() else {
                return field.expected("a list of texts, or text").none();
            };
            let Ok(words) = shell_words::split(line) else {
                return field.add("`command` has a quote without its end").none();
            };
            words
        }
    };
    if words.first().is_none_or(String::is_empty) {
        let hint = r#"for example ["checks/polite.py", "--strict"]"#;
        return field.add("`command` names no program").hint(hint).none();
    }
    if let Some(word) = words.iter().find(|word| word.contains('\0')) {
        return field.add(format!("`command` has a NUL character in {word:?}")).none();
    }
    Some(words)
}

fn read_timeout(field: Field<'_>) -> Option<Duration> {
    let seconds = field.non_negative()?;
    if !(0.001..=MAX_TIMEOUT).contains(&seconds) {
        let message = format!("`timeout` must be a number of seconds above 0, not {seconds}");
        return field.add(message).hint("for example 30").none();
    }
    Duration::try_from_secs_f64(seconds).ok()
}

/// Collects the settings of the program: all other keys of the criterion. Warns of keys that differ in one letter from a key
/// of this module.
fn settings(entries: &[(Node, Node)], field: Field<'_>) -> Object {
    let mut settings = Object::default();
    for (key, value) in entries {
        let Some(name) = key.as_str().filter(|name| !OWN_KEYS.contains(name)) else { continue };
        let near = |own: &&str| strsim::damerau_levenshtein(name, own) == 1;
        if let Some(own) = OWN_KEYS.into_iter().find(|own| near(own)) {
            let message = format!("`{name}` is passed to the program as a setting");
            field.problems.warn(key.span, message).hint(format!("did you mean `{own}`?"));
        }
        if let Ok(value) = value.to_json() {
            settings.insert(name.to_owned(), value);
        }
    }
    settings
}
