//! The file: keys of the suite, and where its tests are.

use std::{
    cell::RefCell,
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
};

use evaluator_document::{ConfigError, Field, Fields, Node, NodeKind, Syntax, load};
use evaluator_json::{Object, Value};
use globset::GlobBuilder;

use super::{
    ReadOptions, Reader,
    case::{self, Defaults, Execution},
    foreign, list, message,
    place::Place,
    values::{TESTS, first, has_any, json},
};
use crate::{
    files::{Findings, Opened, Places, all, has_extension, regular, syntax_of},
    model::{EvalFile, Generation, Test},
};

/// Keys of the suite that describe it, without an effect.
const METADATA: [&str; 9] = [
    "$schema",
    "author",
    "category",
    "description",
    "license",
    "requires",
    "suite",
    "tags",
    "version",
];

/// Beginning of keys that AgentV ignores, under which files keep what they refer to elsewhere.
const EXTENSION: &str = "x-";

/// Keys of a test that only AgentV 4 has.
const NEW_KEYS: [&str; 4] = ["criteria", "assertions", "assert", "vars"];

/// Keys of a test that only AgentV 2 has.
const OLD_KEYS: [&str; 4] = ["input_messages", "expected_messages", "expected_outcome", "outcome"];

/// Reads an eval file and all files that it names.
///
/// # Errors
///
/// Every problem of every file, one error per file.
pub fn read(file: &Path, options: &ReadOptions) -> Result<EvalFile, Vec<ConfigError>> {
    let text = load(file, "eval file").map_err(|error| vec![error])?;
    parse(file, &text, options)
}

/// Reads the text of an eval file, and all files that it names.
///
/// # Errors
///
/// Every problem of every file, one error per file.
pub fn parse(file: &Path, text: &str, options: &ReadOptions) -> Result<EvalFile, Vec<ConfigError>> {
    let findings = Findings::default();
    let directory = options.directory.join(file);
    let directory = directory.parent().unwrap_or(&options.directory).to_owned();
    let suite = if has_extension(file, "jsonl") {
        lines(file, text, &directory, options, &findings)
    } else {
        findings.read_text(file, text, syntax_of(file), |root, opened| {
            let root =
                root.or_else(|| opened.problems.add_to_file("the eval file is empty").none())?;
            let generation = generation(&root);
            let reader = reader(options, &findings, &directory, generation);
            whole_file(&reader, root, opened)
        })
    };
    let warnings = findings.finish()?;
    suite.map(|suite| EvalFile { warnings, ..suite }).ok_or_else(|| {
        let message = "internal error: the eval file was rejected without a reason".to_owned();
        vec![ConfigError::new(file, message, None)]
    })
}

fn reader<'r>(
    options: &'r ReadOptions,
    findings: &'r Findings,
    directory: &'r Path,
    generation: Generation,
) -> Reader<'r> {
    Reader {
        options,
        findings,
        places: Places::new(directory, &options.directory),
        directory,
        generation,
        ids: RefCell::new(HashMap::new()),
    }
}

/// Returns the generation of a YAML or JSON file: `evalcases` without a key of a later one is AgentV 2.
fn generation(root: &Node) -> Generation {
    let Some(cases) = root.get("evalcases") else { return Generation::V4 };
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

fn whole_file(reader: &Reader<'_>, mut root: Node, opened: Opened<'_>) -> Option<EvalFile> {
    without_extensions(&mut root);
    if let Some(found) = foreign::find(&root) {
        return opened.problems.add(found.span, found.message).hint(found.hint).none();
    }
    reader.substitute(&mut root, opened);
    let field = root.field("the eval file", opened.problems);
    let mut fields = field.fields("this eval file")?;
    fields.null_is_absent();
    let head = head(reader, &mut fields, opened);
    let tests = first(&mut fields, &TESTS);
    if tests.is_none() {
        fields.missing("tests");
    }
    fields.finish();
    let (mut suite, defaults) = head;
    suite.tests = tests.and_then(|tests| self::tests(reader, &defaults, &tests, opened))?;
    Some(suite)
}

/// Removes keys that have no meaning.
fn without_extensions(root: &mut Node) {
    if let NodeKind::Mapping(entries) = &mut root.kind {
        entries.retain(|(key, _)| !key.as_str().is_some_and(|key| key.starts_with(EXTENSION)));
    }
}

/// Reads the metadata that every test inherits. `governance` is a part of them.
fn metadata(fields: &mut Fields<'_>) -> Option<Value> {
    let mut object = |key| {
        let field: Field<'_> = fields.take(key)?;
        if field.is_mapping() { json(&field) } else { None }
    };
    let (metadata, governance) = (object("metadata"), object("governance"));
    let Some(governance) = governance else { return metadata };
    let mut metadata = match metadata {
        Some(Value::Object(metadata)) => metadata,
        _ => Object::default(),
    };
    metadata.insert("governance".to_owned(), governance);
    Some(Value::Object(metadata))
}

/// Reads all keys but the tests.
fn head(reader: &Reader<'_>, fields: &mut Fields<'_>, opened: Opened<'_>) -> (EvalFile, Defaults) {
    let message = "`evaluators` of a suite are not read by AgentV";
    fields.refuse("evaluators", message, "write `assertions`");
    for key in ["preprocessors", "experiment"] {
        fields.refuse(key, format!("`{key}` is not supported"), "remove it");
    }
    reader.production(fields, &[("workspace", "workspaces are not supported")]);
    let name = first(fields, &["name", "dataset"]).and_then(|name| name.sentence());
    case::default_judge(fields);
    for key in METADATA {
        fields.take(key);
    }
    let metadata = metadata(fields);
    let (input, files) = (fields.take("input"), fields.take("input_files"));
    let input = message::input(reader, input.as_ref(), files.as_ref());
    let outer_target = fields.take("target").and_then(|target| target.sentence());
    let own = first(fields, &["assertions", "assert"]);
    let execution =
        fields.take("execution").map(|field| Execution::read(reader, &field, Some(opened.file)));
    let execution = execution.unwrap_or_default();
    if let (Some(own), Some(hidden)) = (&own, &execution.list) {
        let message = format!("these `{}` have no effect next to `{}`", hidden.key, own.key);
        hidden.problems.warn(hidden.node.span.start(), message);
    }
    let list = own.or(execution.list);
    let evaluators = list.map(|list| list::read(reader, &list, Place::new(opened)));
    let suite = EvalFile {
        file: opened.file.to_owned(),
        directory: reader.directory.to_owned(),
        name: name.unwrap_or_else(|| name_of(opened.file)),
        generation: reader.generation,
        target: execution.target.or(outer_target),
        threshold: execution.threshold,
        containment: execution.containment,
        tests: Vec::new(),
        warnings: Vec::new(),
    };
    (suite, Defaults { evaluators, input: input.unwrap_or_default(), metadata })
}

/// Returns the name of a suite without one.
fn name_of(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let ends = [".eval.yaml", ".eval.yml", ".yaml", ".yml", ".jsonl", ".json"];
    let end = ends.iter().find_map(|end| name.strip_suffix(end));
    end.map_or(name.clone(), str::to_owned)
}

/// Reads the tests: a list, a file, or a directory.
fn tests(
    reader: &Reader<'_>,
    defaults: &Defaults,
    field: &Field<'_>,
    opened: Opened<'_>,
) -> Option<Vec<Test>> {
    let tests = match &field.node.kind {
        NodeKind::Scalar(Value::String(path)) => elsewhere(reader, defaults, path, field)?,
        _ => {
            let read = field.items()?.into_iter().map(|item| match item.node.as_str() {
                Some(text) => match text.strip_prefix("file://") {
                    Some(pattern) => matching(reader, defaults, pattern, &item),
                    None => item.expected("a test, or file:// and a path").none(),
                },
                None => Some(vec![case::read(reader, defaults, item.node, opened, None)?]),
            });
            all(read)?.concat()
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
    if !found.is_dir() && !found.is_file() {
        return field.add(format!("`{path}` is neither a regular file nor a directory")).none();
    }
    if !found.is_dir() {
        return of_file(reader, defaults, &found, field);
    }
    let directories = match entries(&found) {
        Ok(entries) => entries.into_iter().filter(|path| !path.is_file()),
        Err(reason) => return field.add(reason).none(),
    };
    let tests = directories.filter_map(|directory| {
        let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let files = ["case.yaml", "case.yml"].map(|name| directory.join(name));
        let Some(file) = files.iter().find(|file| !is_absent(file)) else {
            let message = format!("`{path}/{name}` has no case.yaml");
            field.problems.warn(field.node.span, message);
            return None;
        };
        Some(reader.findings.read(file, "test", |root, opened| {
            let mut root =
                root.or_else(|| opened.problems.add_to_file("the test is empty").none())?;
            reader.substitute(&mut root, opened);
            case::read(reader, defaults, &root, opened, Some(&name))
        }))
    });
    all(tests)
}

/// Returns the paths of the entries of a directory, sorted.
fn entries(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let paths = fs::read_dir(directory)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>());
    let mut paths = paths
        .map_err(|error| format!("cannot read the directory {}: {error}", directory.display()))?;
    paths.sort();
    Ok(paths)
}

/// Returns true if nothing has this path. A link to nothing, and what cannot be read, is there.
fn is_absent(path: &Path) -> bool {
    fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// Reads a file that holds a list of tests.
fn of_file(
    reader: &Reader<'_>,
    defaults: &Defaults,
    file: &Path,
    field: &Field<'_>,
) -> Option<Vec<Test>> {
    let tests = if has_extension(file, "jsonl") {
        let text =
            regular(file, "file of tests").map_err(|error| reader.findings.add(error)).ok()?;
        reader
            .findings
            .read_lines(file, &text, |rows, opened| of_rows(reader, defaults, rows, opened))
    } else {
        reader.findings.read(file, "file of tests", |root, opened| {
            let Some(mut root) = root else { return Some(Vec::new()) };
            reader.substitute(&mut root, opened);
            let rows = root.field("tests", opened.problems).items()?;
            all(rows.iter().map(|row| case::read(reader, defaults, row.node, opened, None)))
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
    let files = match is_absent(&base) {
        true => Ok(Vec::new()),
        false => files_below(&base),
    };
    let mut files = match files {
        Ok(files) => files,
        Err(reason) => return field.add(reason).none(),
    };
    files.retain(|file| file.strip_prefix(&base).is_ok_and(|relative| glob.is_match(relative)));
    if files.is_empty() {
        field.problems.warn(field.node.span, format!("no file matches `{pattern}`"));
    }
    Some(all(files.iter().map(|file| of_file(reader, defaults, file, field)))?.concat())
}

/// Returns the files below a directory, sorted by their paths, with links to nothing. Links to directories are not followed,
/// so that there are no circles.
fn files_below(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let (mut files, mut directories) = (Vec::new(), vec![directory.to_owned()]);
    while let Some(directory) = directories.pop() {
        for path in entries(&directory)? {
            let is_skipped = path.ends_with("node_modules") || path.ends_with(".git");
            if path.is_dir() {
                directories.extend((!path.is_symlink() && !is_skipped).then_some(path));
            } else if path.is_file() || path.is_symlink() {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Reads a JSONL file: a test per line, with the suite in a YAML file of the same name.
fn lines(
    file: &Path,
    text: &str,
    directory: &Path,
    options: &ReadOptions,
    findings: &Findings,
) -> Option<EvalFile> {
    findings.read_lines(file, text, |rows, opened| {
        let is_new = rows.iter().any(|row| has_any(row, &NEW_KEYS));
        let is_old = rows.iter().any(|row| has_any(row, &OLD_KEYS));
        let generation = if is_old && !is_new { Generation::V2 } else { Generation::V4 };
        let reader = reader(options, findings, directory, generation);
        let (mut suite, defaults) = sidecar(&reader, file)?;
        suite.tests = of_rows(&reader, &defaults, rows, opened)?;
        if suite.tests.is_empty() {
            return opened.problems.add_to_file("the eval file has no tests").none();
        }
        Some(suite)
    })
}

/// Reads the suite of a JSONL file.
fn sidecar(reader: &Reader<'_>, file: &Path) -> Option<(EvalFile, Defaults)> {
    let candidates = ["yaml", "yml"].map(|extension| file.with_extension(extension));
    let text = "{}";
    let read = |root: Option<Node>, opened: Opened<'_>| {
        let mut root = root.or_else(|| opened.problems.add_to_file("the suite is empty").none())?;
        without_extensions(&mut root);
        reader.substitute(&mut root, opened);
        let field = root.field("the suite", opened.problems);
        let mut fields = field.fields("this suite")?;
        fields.null_is_absent();
        let head = head(reader, &mut fields, opened);
        fields.finish();
        Some(head)
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
    rows.iter_mut().for_each(|row| reader.substitute(row, opened));
    all(rows.iter().map(|row| case::read(reader, defaults, row, opened, None)))
}
