//! `type: metric`: metrics of other libraries, which are called by a program of the host.

use std::sync::Arc;

use evaluator_document::{Field, Fields, Node, NodeKind, did_you_mean, keys};
use evaluator_engine::identity::BUNDLED;
use serde_json::json;

use super::{
    model::CodeConfig,
    reader::{Reader, is_identifier},
};
use crate::{
    hosts::library::{LIBRARIES, Library, LibraryMetric},
    json::{Object, Value},
    report::run_file::Digester,
    runtime::{Environment, requirements::is_requirement},
};

/// Pattern of `metric`.
const METRIC: &str = r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*$";

/// Variable of the key that clients of OpenAI's insist on.
const KEY: &str = "OPENAI_API_KEY";

/// What pip installs. Its options and bare paths are refused in programs, and this program is not one that the user has written.
const REQUIREMENT: (&str, fn(&str) -> bool) =
    ("a requirement, such as `rapidfuzz>=3` or `name @ file:///FILE.whl`", is_requirement);

const TOOL: (&str, fn(&str) -> bool) =
    ("a name of a tool", |text| !text.is_empty() && !text.contains(char::is_control));

/// A metric as an entry names it.
#[derive(Clone, Copy)]
struct Named<'n> {
    library: &'static Library,
    module: &'n str,
    name: &'n str,
}

/// Takes the keys of a metric, and completes the settings of the program that calls it; `None` after a problem.
pub(super) fn read(
    fields: &mut Fields<'_>,
    mut code: CodeConfig,
    reader: &Reader<'_>,
) -> Option<CodeConfig> {
    fields.describe(json!({"title": "A metric of another library"}));
    let names =
        json!({"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1});
    let metric = json!({"type": "string", "pattern": METRIC});
    keys! { fields;
        /// The metric as MODULE:NAME, e.g. autoevals:Levenshtein.
        let metric! = read(metric, read_metric);
        /// Arguments of the metric.
        let args = object();
        /// Python packages to install, each as autoevals==0.4.1 or NAME @ file:///FILE.whl; default: the version of the library that was tried.
        let requirements = read(names.clone(), |field| read_names(field, "autoevals==0.4.1", REQUIREMENT));
        /// Tools whose results are the retrieved texts, for metrics that need them.
        let retrieval = read(names, |field| read_names(field, "search", TOOL));
    }
    let named: Named<'_> = metric?;
    let requirements =
        requirements.unwrap_or_else(|| named.library.requirements().map(str::to_owned).collect());
    let bundled = reader.paths.directory().map(|it| it.join(BUNDLED)).filter(|it| it.is_dir());
    let cache = || Environment::inherited().cache_directory("evaluator");
    let Some(directory) = bundled.or_else(cache) else {
        let message = "there is no home directory to keep the program of the metric in";
        let node = fields.peek("metric")?;
        return fields.problems().add(node.span, message).hint("set EVALUATOR_CACHE_DIR").none();
    };
    let digest =
        |text: &str| Digester::new("metric").bytes("text", text.as_bytes()).finish().to_string();
    let name = (named.module, named.name);
    let metric = LibraryMetric::new(named.library, name, &requirements, &directory, digest);
    code.path.clone_from(&metric.path);
    code.config = settings(&metric, args, retrieval, code.models.is_some());
    let variables = &mut code.process.env.variables;
    for (name, value) in named.library.variables {
        if !variables.iter().any(|(given, _)| given == name) {
            variables.push(((*name).to_owned(), Some((*value).to_owned())));
        }
    }
    // Some metrics make a client that they never use, and which insists on a key. Set before the import, it changes no settings later.
    let is_given = |name: &str| variables.iter().any(|(given, _)| given == name);
    if code.models.is_none() && !is_given(KEY) {
        variables.push((KEY.to_owned(), Some("none".to_owned())));
    }
    code.library = Some(Arc::new(metric));
    Some(code)
}

/// Returns what the program reads in `config` of its documents.
fn settings(
    metric: &LibraryMetric,
    args: Option<Object>,
    retrieval: Option<Vec<String>>,
    has_models: bool,
) -> Object {
    let mut settings = Object::default();
    settings.insert("metric".to_owned(), Value::from(metric.metric.as_str()));
    let args = args.filter(|args| !args.is_empty()).map(Value::Object);
    settings.extend(args.map(|args| ("args".to_owned(), args)));
    let tools = retrieval.map(|tools| tools.iter().map(|it| Value::from(it.as_str())).collect());
    settings.extend(tools.map(|tools| ("retrieval".to_owned(), Value::Array(tools))));
    if has_models {
        settings.insert("models".to_owned(), Value::Bool(true));
    }
    settings
}

fn read_metric(field: Field<'_>) -> Option<Named<'_>> {
    let text = field.text()?;
    let (module, name) = text.split_once(':').unwrap_or((text, ""));
    let libraries = || LIBRARIES.iter().map(|library| library.name);
    let first = module.split('.').next().unwrap_or_default();
    let Some(library) = Library::of(module) else {
        let known = || format!("libraries: {}", libraries().collect::<Vec<_>>().join(", "));
        let hint = did_you_mean(first, libraries()).unwrap_or_else(known);
        return field.add(format!("no metrics of a library `{first}` are known")).hint(hint).none();
    };
    if !is_identifier(name) || !module.split('.').all(is_identifier) {
        let example = library.modules.first().unwrap_or(&library.name);
        let message = format!("`metric` must be MODULE:NAME, not `{text}`");
        return field.add(message).hint(format!("for example {example}:NAME")).none();
    }
    Some(Named { library, module, name })
}

/// Reads a list of texts that are `kind` if `accepts` returns true.
fn read_names(
    field: Field<'_>,
    example: &str,
    (kind, accepts): (&str, fn(&str) -> bool),
) -> Option<Vec<String>> {
    let NodeKind::Sequence(items) = &field.node.kind else {
        return field.expected("a list").hint(format!("for example [{example}]")).none();
    };
    if items.is_empty() {
        return field.add(format!("`{}` is empty", field.key)).hint("leave it out").none();
    }
    let text = |node: &Node| {
        let item = Field { node, ..field };
        let text = item.text()?.trim();
        if !accepts(text) {
            let shown = text.escape_debug();
            return item.add(format!("`{}` has `{shown}`, which is not {kind}", field.key)).none();
        }
        Some(text.to_owned())
    };
    items.iter().map(text).collect()
}
