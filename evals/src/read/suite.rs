//! The file: keys of the suite, and where its tests are.

use std::{
    cell::RefCell,
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use evaluator_document::{
    ConfigError, Field, Fields, Node, NodeKind, Problems, Span, Syntax, load, read_json,
};
use globset::GlobBuilder;

use super::{
    Reader, Surroundings,
    case::{self, Defaults},
    list::{self, Place},
    message,
    values::{first, flag, fraction, whole},
};
use crate::{
    files::{Findings, Opened, Places, syntax_of},
    model::{Generation, Suite, Test},
};

/// Keys under which tests are listed.
pub(super) const TESTS: [&str; 3] = ["tests", "eval_cases", "evalcases"];

/// Keys of a test that only AgentV 4 has.
const NEW_KEYS: [&str; 4] = ["criteria", "assertions", "assert", "vars"];

/// Keys of a test that only AgentV 2 has.
const OLD_KEYS: [&str; 4] = ["input_messages", "expected_messages", "expected_outcome", "outcome"];

/// Reads an eval file and all files that it names.
///
/// # Errors
///
/// Every problem of every file, one error per file.
pub fn read(file: &Path, surroundings: &Surroundings) -> Result<Suite, Vec<ConfigError>> {
    match load(file, "eval file") {
        Ok(text) => parse(file, &text, surroundings),
        Err(error) => Err(vec![error]),
    }
}

/// Reads the text of an eval file, and all files that it names.
///
/// # Errors
///
/// Every problem of every file, one error per file.
pub fn parse(
    file: &Path,
    text: &str,
    surroundings: &Surroundings,
) -> Result<Suite, Vec<ConfigError>> {
    let findings = Findings::default();
    let directory = surroundings.directory.join(file);
    let directory = directory.parent().unwrap_or(&surroundings.directory).to_owned();
    let suite = if file.extension().is_some_and(|it| it.eq_ignore_ascii_case("jsonl")) {
        lines(file, text, &directory, surroundings, &findings)
    } else {
        findings.read_text(file, text, syntax_of(file), |root, opened| {
            let root =
                root.or_else(|| opened.problems.add_to_file("the eval file is empty").none())?;
            let generation = generation(&root);
            let reader = reader(surroundings, &findings, &directory, generation);
            whole_file(&reader, root, opened)
        })
    };
    let warnings = findings.finish()?;
    match suite {
        Some(suite) => Ok(Suite { warnings, ..suite }),
        None => {
            let message = "internal error: the eval file was rejected without a reason".to_owned();
            Err(vec![ConfigError::new(file, message, None)])
        }
    }
}

fn reader<'r>(
    surroundings: &'r Surroundings,
    findings: &'r Findings,
    directory: &'r Path,
    generation: Generation,
) -> Reader<'r> {
    Reader {
        surroundings,
        findings,
        places: Places::new(directory, &surroundings.directory),
        directory,
        generation,
        ids: RefCell::new(HashMap::new()),
    }
}

fn get<'n>(node: &'n Node, key: &str) -> Option<&'n Node> {
    let NodeKind::Mapping(entries) = &node.kind else { return None };
    entries.iter().find(|(name, _)| name.as_str() == Some(key)).map(|(_, value)| value)
}

fn has_any(node: &Node, keys: &[&str]) -> bool {
    keys.iter().any(|key| get(node, key).is_some())
}

/// Returns the generation of a YAML or JSON file: `evalcases` without a key of a later one is AgentV 2.
fn generation(root: &Node) -> Generation {
    let Some(cases) = get(root, "evalcases") else { return Generation::V4 };
    let is_new = match &cases.kind {
        NodeKind::Sequence(cases) => cases.iter().any(|case| has_any(case, &NEW_KEYS)),
        _ => true,
    };
    if is_new || has_any(root, &["tests", "eval_cases", "assertions", "assert"]) {
        Generation::V4
    } else {
        Generation::V2
    }
}

fn whole_file(reader: &Reader<'_>, mut root: Node, opened: Opened<'_>) -> Option<Suite> {
    reader.substitute(&mut root);
    let field = root.field("the eval file", opened.problems);
    let mut fields = field.fields("this eval file")?;
    fields.null_is_absent();
    let head = head(reader, &mut fields, opened);
    let tests = first(&mut fields, &TESTS);
    if tests.is_none() {
        fields.missing("tests");
    }
    fields.finish();
    let (mut suite, defaults) = head?;
    suite.tests = tests.and_then(|tests| self::tests(reader, &defaults, &tests, opened))?;
    Some(suite)
}

/// Reads all keys but the tests.
fn head(
    reader: &Reader<'_>,
    fields: &mut Fields<'_>,
    opened: Opened<'_>,
) -> Option<(Suite, Defaults)> {
    for (key, what) in [
        ("workspace", "workspaces are not supported"),
        ("preprocessors", "preprocessors are not supported"),
        ("providers", "it is a key of AgentV 5, of which eval files are not read"),
        ("prompts", "it is a key of AgentV 5, of which eval files are not read"),
        ("default_test", "it is a key of AgentV 5, of which eval files are not read"),
        ("experiment", "experiments are not supported"),
    ] {
        fields.refuse(key, format!("`{key}`: {what}"), "see docs/reference/agentv-evals.md");
    }
    let name = first(fields, &["name", "dataset"]).map(|name| name.sentence());
    default_judge(fields);
    for key in ["description", "version", "tags", "metadata", "$schema", "license", "author"] {
        fields.take(key);
    }
    let (input, files) = (fields.take("input"), fields.take("input_files"));
    let input = message::input(reader, input.as_ref(), files.as_ref());
    let outer_target = fields.take("target").map(|target| target.sentence());
    let own = first(fields, &["assertions", "assert"]);
    let execution = fields.take("execution").map(|execution| self::execution(&execution));
    let execution = execution.unwrap_or_else(|| Some(Execution::default()));
    let list = match (&own, &execution) {
        (Some(own), Some(Execution { list: Some(hidden), .. })) => {
            let message = format!("these `{}` have no effect next to `{}`", hidden.key, own.key);
            hidden.problems.warn(hidden.node.span.start(), message);
            Some(*own)
        }
        (Some(own), _) => Some(*own),
        (None, execution) => execution.as_ref().and_then(|execution| execution.list),
    };
    let evaluators = list.map(|list| {
        let is_old_key = list.key == "evaluators";
        list::read(reader, &list, Place { is_old_key, ..Place::new(opened) })
    });
    let execution = execution?;
    let target = match (execution.target, outer_target) {
        (None, Some(outer)) => Some(outer?),
        (inner, _) => inner,
    };
    let suite = Suite {
        file: opened.file.to_owned(),
        directory: reader.directory.to_owned(),
        name: name.unwrap_or_else(|| Some(name_of(opened.file)))?,
        generation: reader.generation,
        target,
        threshold: execution.threshold,
        tests: Vec::new(),
        warnings: Vec::new(),
    };
    let evaluators = match evaluators {
        Some(evaluators) => Some(evaluators?),
        None => None,
    };
    Some((suite, Defaults { evaluators, input: input? }))
}

/// Reads the kind of the default judge, of which there is one.
fn default_judge(fields: &mut Fields<'_>) {
    let Some(field) = fields.take("evaluator") else { return };
    let names = ["llm_judge", "llm-judge", "llm_grader", "llm-grader"];
    if !field.node.as_str().is_some_and(|name| names.contains(&name)) {
        field.add("`evaluator`: the default judge is `llm-grader`; others are not supported");
    }
}

/// Returns the name of a suite without one.
fn name_of(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let ends = [".eval.yaml", ".eval.yml", ".yaml", ".yml", ".jsonl", ".json"];
    let end = ends.iter().find_map(|end| name.strip_suffix(end));
    end.map_or(name.clone(), str::to_owned)
}

#[derive(Default)]
struct Execution<'n> {
    target: Option<String>,
    threshold: Option<f64>,
    list: Option<Field<'n>>,
}

fn execution<'n>(field: &Field<'n>) -> Option<Execution<'n>> {
    let mut fields = field.fields("this `execution`")?;
    fields.null_is_absent();
    for (key, what) in [
        ("targets", "several targets are not supported; name one with `target` or --target"),
        ("trials", "trials are not supported"),
        ("budget_usd", "budgets of targets are not supported"),
        ("total_budget_usd", "budgets of targets are not supported"),
    ] {
        fields.refuse(key, format!("`{key}`: {what}"), "remove it");
    }
    let list = first(&mut fields, &["assertions", "assert", "evaluators"]);
    let target = fields.take("target").map(|field| field.sentence());
    let threshold = fields.take("threshold").map(|field| fraction(&field));
    let workers = fields.take("workers").map(|field| whole(&field, 1..=1000));
    let skips = first(&mut fields, &["skip_defaults", "skipDefaults"]).map(|field| flag(&field));
    if skips == Some(Some(true)) {
        field
            .problems
            .warn(field.node.span.start(), "`skip_defaults` has no effect outside of a test");
    }
    fields.finish();
    workers.unwrap_or(Some(1))?;
    skips.unwrap_or(Some(false))?;
    Some(Execution {
        target: match target {
            Some(target) => Some(target?),
            None => None,
        },
        threshold: match threshold {
            Some(threshold) => Some(threshold?),
            None => None,
        },
        list,
    })
}

/// Reads the tests: a list, a file, or a directory.
fn tests(
    reader: &Reader<'_>,
    defaults: &Defaults,
    field: &Field<'_>,
    opened: Opened<'_>,
) -> Option<Vec<Test>> {
    let tests = match &field.node.kind {
        NodeKind::Scalar(evaluator_json::Value::String(path)) => {
            elsewhere(reader, defaults, path, field)?
        }
        _ => {
            let read = field.items()?.into_iter().map(|item| match item.node.as_str() {
                Some(text) => match text.strip_prefix("file://") {
                    Some(pattern) => matching(reader, defaults, pattern, &item),
                    None => item.expected("a test, or file:// and a path").none(),
                },
                None => {
                    case::read(reader, defaults, item.node, opened, None).map(|test| vec![test])
                }
            });
            // All tests are read, also behind a problem.
            let read: Vec<Option<Vec<Test>>> = read.collect();
            read.into_iter().collect::<Option<Vec<_>>>()?.concat()
        }
    };
    if tests.is_empty() {
        return field.add(format!("`{}` is empty: there is nothing to run", field.key)).none();
    }
    Some(tests)
}

/// Reads the tests of another file, or of a directory with a `case.yaml` in each directory.
fn elsewhere(
    reader: &Reader<'_>,
    defaults: &Defaults,
    path: &str,
    field: &Field<'_>,
) -> Option<Vec<Test>> {
    let path = path.strip_prefix("file://").unwrap_or(path);
    let Some(found) = reader.places.find(path) else {
        return field.add(format!("`{path}` does not exist")).none();
    };
    if !found.is_dir() {
        return of_file(reader, defaults, &found, field);
    }
    let entries = match fs::read_dir(&found) {
        Ok(entries) => entries,
        Err(error) => {
            return field.add(format!("cannot read the directory `{path}`: {error}")).none();
        }
    };
    let mut directories: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    directories.sort();
    let mut tests = Some(Vec::new());
    for directory in directories {
        let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let file = ["case.yaml", "case.yml"].map(|name| directory.join(name));
        let Some(file) = file.iter().find(|file| file.is_file()) else {
            let message = format!("`{path}/{name}` has no case.yaml");
            field.problems.warn(field.node.span, message);
            continue;
        };
        let test = reader.findings.read(file, "test", |root, opened| {
            let mut root =
                root.or_else(|| opened.problems.add_to_file("the test is empty").none())?;
            reader.substitute(&mut root);
            case::read(reader, defaults, &root, opened, Some(&name))
        });
        match (test, &mut tests) {
            (Some(test), Some(tests)) => tests.push(test),
            _ => tests = None,
        }
    }
    tests
}

/// Reads a file that holds a list of tests.
fn of_file(
    reader: &Reader<'_>,
    defaults: &Defaults,
    file: &Path,
    field: &Field<'_>,
) -> Option<Vec<Test>> {
    let is_lines = file.extension().is_some_and(|it| it.eq_ignore_ascii_case("jsonl"));
    let tests = if is_lines {
        let text = load(file, "file of tests").map_err(|error| reader.findings.add(error)).ok()?;
        each_line(file, &text, reader.findings, |rows, opened| {
            of_rows(reader, defaults, rows, opened)
        })
    } else {
        reader.findings.read(file, "file of tests", |root, opened| {
            let Some(mut root) = root else { return Some(Vec::new()) };
            reader.substitute(&mut root);
            let rows = root.field("tests", opened.problems).items()?;
            let read: Vec<_> = rows
                .iter()
                .map(|row| case::read(reader, defaults, row.node, opened, None))
                .collect();
            read.into_iter().collect()
        })
    };
    if tests.as_ref().is_some_and(Vec::is_empty) {
        let message = format!("{} has no tests", file.display());
        field.problems.warn(field.node.span, message);
    }
    tests
}

/// Reads the files that match a pattern, sorted by their paths. Each holds a list of tests.
fn matching(
    reader: &Reader<'_>,
    defaults: &Defaults,
    pattern: &str,
    field: &Field<'_>,
) -> Option<Vec<Test>> {
    if !pattern.contains(['*', '?', '{', '[']) {
        let Some(file) = reader.places.find(pattern).filter(|file| file.is_file()) else {
            return field.add(format!("the file `{pattern}` does not exist")).none();
        };
        return of_file(reader, defaults, &file, field);
    }
    // Only directories behind the fixed part of the pattern are searched.
    let fixed = pattern.find(['*', '?', '{', '[']).and_then(|at| pattern.get(..at)?.rfind('/'));
    let (base, pattern_below) = match fixed {
        Some(at) => pattern.split_at(at + 1),
        None => ("", pattern),
    };
    let base = reader.directory.join(base);
    let glob = GlobBuilder::new(pattern_below).literal_separator(true).build();
    let glob = match glob {
        Ok(glob) => glob.compile_matcher(),
        Err(error) => return field.add(format!("not a pattern of paths: {error}")).none(),
    };
    let mut files = Vec::new();
    files_below(&base, &base, 0, &mut |file, relative| {
        if glob.is_match(relative) {
            files.push(file.to_owned());
        }
    });
    files.sort();
    if files.is_empty() {
        field.problems.warn(field.node.span, format!("no file matches `{pattern}`"));
    }
    let read: Vec<_> = files.iter().map(|file| of_file(reader, defaults, file, field)).collect();
    Some(read.into_iter().collect::<Option<Vec<_>>>()?.concat())
}

/// Calls `found` with every file below a directory, and its path relative to `base`.
fn files_below(base: &Path, directory: &Path, depth: usize, found: &mut dyn FnMut(&Path, &Path)) {
    const MAX_DEPTH: usize = 16;
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = entry.file_name();
        // Links are not followed, so that there are no circles.
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => {
                let is_followed = depth < MAX_DEPTH && name != "node_modules" && name != ".git";
                if is_followed {
                    files_below(base, &path, depth + 1, found);
                }
            }
            Ok(_) if path.is_file() => {
                if let Ok(relative) = path.strip_prefix(base) {
                    found(&path, relative);
                }
            }
            _ => {}
        }
    }
}

/// Reads a JSONL file: a test per line, with the suite in a YAML file of the same name.
fn lines(
    file: &Path,
    text: &str,
    directory: &Path,
    surroundings: &Surroundings,
    findings: &Findings,
) -> Option<Suite> {
    each_line(file, text, findings, |rows, opened| {
        let is_new = rows.iter().any(|row| has_any(row, &NEW_KEYS));
        let is_old = rows.iter().any(|row| has_any(row, &OLD_KEYS));
        let generation = if is_old && !is_new { Generation::V2 } else { Generation::V4 };
        let reader = reader(surroundings, findings, directory, generation);
        let (mut suite, defaults) = sidecar(&reader, file)?;
        suite.tests = of_rows(&reader, &defaults, rows, opened)?;
        if suite.tests.is_empty() {
            return opened.problems.add_to_file("the eval file has no tests").none();
        }
        Some(suite)
    })
}

/// Reads the suite of a JSONL file.
fn sidecar(reader: &Reader<'_>, file: &Path) -> Option<(Suite, Defaults)> {
    let candidates = ["yaml", "yml"].map(|extension| file.with_extension(extension));
    let text = "{}";
    let read = |root: Option<Node>, opened: Opened<'_>| {
        let mut root = root.or_else(|| opened.problems.add_to_file("the suite is empty").none())?;
        reader.substitute(&mut root);
        let field = root.field("the suite", opened.problems);
        let mut fields = field.fields("this suite")?;
        fields.null_is_absent();
        let head = head(reader, &mut fields, opened);
        fields.finish();
        head
    };
    let (mut suite, defaults) = match candidates.iter().find(|file| file.is_file()) {
        Some(suite) => reader.findings.read(suite, "suite", read)?,
        None => reader.findings.read_text(file, text, Syntax::Json, read)?,
    };
    file.clone_into(&mut suite.file);
    Some((suite, defaults))
}

fn of_rows(
    reader: &Reader<'_>,
    defaults: &Defaults,
    mut rows: Vec<Node>,
    opened: Opened<'_>,
) -> Option<Vec<Test>> {
    rows.iter_mut().for_each(|row| reader.substitute(row));
    let read: Vec<_> =
        rows.iter().map(|row| case::read(reader, defaults, row, opened, None)).collect();
    read.into_iter().collect()
}

/// Reads JSON lines; blank lines are skipped.
fn each_line<T>(
    file: &Path,
    text: &str,
    findings: &Findings,
    read: impl FnOnce(Vec<Node>, Opened<'_>) -> Option<T>,
) -> Option<T> {
    let problems = Problems::new(text, Syntax::Json);
    let (mut rows, mut offset, mut is_sound) = (Vec::new(), 0, true);
    for line in text.split_inclusive('\n') {
        if !line.trim().is_empty() {
            match read_json(line) {
                Ok(document) => {
                    for again in &document.repeated {
                        let span = moved(again.again, offset);
                        problems.add(span, format!("the key `{}` is repeated", again.key));
                    }
                    let mut root = document.root;
                    shift(&mut root, offset);
                    rows.push(root);
                }
                Err(error) => {
                    let at = offset + error.offset;
                    problems
                        .add(Span { start: at, end: at + 1 }, format!("not JSON: {}", error.kind));
                    is_sound = false;
                }
            }
        }
        offset += line.len();
    }
    let value = is_sound.then(|| read(rows, Opened { file, problems: &problems })).flatten();
    findings.warn(file, problems.remarks().0);
    match problems.error(file) {
        Some(error) => {
            findings.add(error);
            None
        }
        None => value,
    }
}

fn moved(span: Span, offset: usize) -> Span {
    Span { start: span.start + offset, end: span.end + offset }
}

fn shift(node: &mut Node, offset: usize) {
    node.span = moved(node.span, offset);
    match &mut node.kind {
        NodeKind::Scalar(_) => {}
        NodeKind::Sequence(items) => items.iter_mut().for_each(|item| shift(item, offset)),
        NodeKind::Mapping(entries) => {
            for (key, value) in entries {
                shift(key, offset);
                shift(value, offset);
            }
        }
    }
}
