//! Outputs that were recorded earlier, by the ids of their tests.

use std::{
    collections::BTreeMap,
    fmt::Display,
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
};

use evaluator_document::did_you_mean;
use evaluator_host::run::Runner;
use evaluator_json::{MARKED, Object, ParseOptions, Value, parse, parse_python, take_repeated_key};

use super::{
    Output,
    fixtures::{SCHEMA, fixtures},
    form::{failure, strictly},
    joined, traces,
};
use crate::files::has_extension;

/// Name of the format of transcripts.
const TRANSCRIPT: &str = "agentv.transcript.v1";

/// Extensions of files with one output each.
const EXTENSIONS: [&str; 4] = ["json", "txt", "md", "text"];

/// Recorded outputs.
#[derive(Debug, Default)]
pub struct Recordings {
    outputs: BTreeMap<String, Result<Output, String>>,
}

impl Recordings {
    /// Reads recordings:
    ///
    /// | given | form |
    /// |---|---|
    /// | a directory | `ID.json`, `ID.txt`, `ID.md`, as a `cli` target writes them; or an `index.jsonl` |
    /// | a JSONL file | fixtures of `replay`, results of AgentV 2, `index.jsonl` of AgentV 4, transcripts |
    /// | another file | traces |
    ///
    /// # Errors
    ///
    /// A file cannot be read, or has another form.
    pub fn read(path: &Path, runner: &Runner) -> Result<Self, String> {
        if !path.is_dir() {
            return if holds_rows(path) { lines(path) } else { of_traces(path, runner) };
        }
        let index = path.join("index.jsonl");
        if index.is_file() {
            return lines(&index);
        }
        let mut recordings = Self::default();
        let unreadable = |error| format!("cannot read {}: {error}", path.display());
        let mut files: Vec<PathBuf> = fs::read_dir(path)
            .map_err(unreadable)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<_, _>>()
            .map_err(unreadable)?;
        files.sort();
        for file in files {
            let extension = file.extension().map(|it| it.to_string_lossy().to_ascii_lowercase());
            let is_output = extension.is_some_and(|it| EXTENSIONS.contains(&&*it));
            let Some(id) = file.file_stem().filter(|_| is_output && file.is_file()) else {
                continue;
            };
            recordings.add(&id.to_string_lossy(), of_output(&file));
        }
        if recordings.outputs.is_empty() {
            let mut text = format!(
                "{} has no recorded outputs: neither ID.json, ID.txt, ID.md nor index.jsonl",
                path.display()
            );
            // Runs of AgentV 4 are directories that are named after their time.
            let below = fs::read_dir(path).map_err(unreadable)?.flatten().map(|it| it.path());
            let newest = below.filter(|run| run.join("index.jsonl").is_file()).max();
            if let Some(run) = newest {
                text.extend(["; the last run in it is ", &run.display().to_string()]);
            }
            return Err(text);
        }
        Ok(recordings)
    }

    /// Returns the recording of a test; the error is the reason why it cannot be used.
    pub fn get(&self, id: &str) -> Option<&Result<Output, String>> {
        self.outputs.get(id)
    }

    /// Returns the ids of the recordings.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.outputs.keys().map(String::as_str)
    }

    /// Adds a recording. Two of one test are an error of that test.
    fn add(&mut self, id: &str, output: Result<Output, String>) {
        let repeated = || Err(format!("there is more than one recording of the test `{id}`"));
        let output = if self.outputs.contains_key(id) { repeated() } else { output };
        self.outputs.insert(id.to_owned(), output);
    }
}

/// Keys of recordings that no line of a trace has.
const KEYS: [&str; 7] = [
    "schema_version",
    "test_id",
    "eval_id",
    "output",
    "output_messages",
    "text",
    "candidate_answer",
];

/// Returns true if a file holds a recording per line: its first line has a key that no trace has, perhaps misspelt.
fn holds_rows(file: &Path) -> bool {
    if !has_extension(file, "jsonl") {
        return false;
    }
    let Ok(opened) = fs::File::open(file) else { return true };
    let mut lines = BufReader::new(opened).lines();
    let first = lines.find(|line| line.as_ref().map_or(true, |line| !line.trim().is_empty()));
    let Some(Ok(first)) = first else { return true };
    let row = parse_python(&first);
    row.is_none_or(|row| {
        let is_misspelt = |key: &str| did_you_mean(key, ["test_id", "eval_id"]).is_some();
        let mut keys = row.as_object().into_iter().flat_map(|row| row.keys());
        keys.any(|key| KEYS.contains(&&**key) || is_misspelt(key))
    })
}

/// Returns what is missing in a row, with the keys that it has.
fn lacks(row: &Object, missing: &str) -> String {
    let keys: Vec<String> = row.keys().map(|key| format!("`{key}`")).collect();
    let mut text = format!("a recording needs {missing}, and this one has {}", keys.join(", "));
    let mut unknown = row.keys().filter(|key| !KEYS.contains(&&***key));
    let hint = unknown.find_map(|key| Some((key, did_you_mean(key, KEYS)?)));
    if let Some((key, hint)) = hint {
        text.extend(["; instead of `", key, "`, ", &hint]);
    }
    text
}

/// Reads the conversations of a trace file.
fn of_traces(file: &Path, runner: &Runner) -> Result<Recordings, String> {
    let mut recordings = Recordings::default();
    let traces = traces::read(file, runner).map_err(|error| {
        format!(
            "{error}\nRecorded outputs are a trace file, JSON lines with `test_id` and `output`, or a directory with ID.json or \
             ID.txt for each test."
        )
    });
    for (id, output) in traces? {
        recordings.add(&id, output);
    }
    Ok(recordings)
}

fn text_of(file: &Path) -> Result<String, String> {
    let bytes =
        fs::read(file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Reads a file with a recording per line, or the messages of transcripts.
fn lines(file: &Path) -> Result<Recordings, String> {
    let text = text_of(file)?;
    let directory = file.parent().unwrap_or(file);
    let mut recordings = Recordings::default();
    let mut transcripts: BTreeMap<String, Vec<(i64, Value)>> = BTreeMap::new();
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = |reason: String| format!("{}:{number}: {reason}", file.display());
        let mut object = match parse(line, &MARKED).map(|parsed| parsed.value) {
            Ok(Value::Object(object)) => object,
            _ => return Err(wrong("a recording must be a JSON object on one line".to_owned())),
        };
        let repeated = take_repeated_key(&mut object);
        let repeated = repeated.map(|key| format!("the key `{key}` is repeated"));
        let schema = object.get("schema_version").and_then(Value::as_str);
        match schema {
            Some(SCHEMA) => {
                let fixtures = fixtures(file).map_err(|errors| joined(&errors))?;
                fixtures.into_iter().for_each(|it| recordings.add(&it.test_id, Ok(it.output)));
                break;
            }
            Some(TRANSCRIPT) => {
                let message = repeated.map_or_else(|| of_transcript(&object), Err);
                let (id, index, message) = message.map_err(wrong)?;
                transcripts.entry(id).or_default().push((index, message));
            }
            Some(other) => {
                return Err(wrong(format!("`{other}` is not a known form of recordings")));
            }
            None => {
                let (id, output) = of_result(&object, directory).map_err(wrong)?;
                recordings.add(&id, repeated.map_or(output, Err));
            }
        }
    }
    for (id, mut messages) in transcripts {
        messages.sort_by_key(|(index, _)| *index);
        let messages = messages.into_iter().map(|(_, message)| message).collect();
        recordings.add(&id, Ok(Output { messages, ..Output::default() }));
    }
    if recordings.outputs.is_empty() {
        return Err(format!("{} has no recordings", file.display()));
    }
    Ok(recordings)
}

/// Reads the file of one output.
fn of_output(file: &Path) -> Result<Output, String> {
    let text = text_of(file)?;
    let named = |reason: &dyn Display| format!("{}: {reason}", file.display());
    if !has_extension(file, "json") {
        return Output::read(&text).map_err(|reason| named(&reason));
    }
    let options = ParseOptions { non_finite: false, ..MARKED };
    let value = parse(text.trim_start_matches('\u{feff}'), &options);
    // It may have been cut off: its text is not what the agent answered.
    let value = value.map_err(|error| named(&format!("not JSON: {error}")))?.value;
    let output = match value {
        Value::Object(object) => strictly(object, of_object).transpose(),
        _ => Ok(None),
    };
    let output = output.map_err(|reason| named(&reason))?;
    let output = output.unwrap_or_else(|| Output::of_text(&text));
    output.check().map(|()| output).map_err(|reason| named(&reason))
}

/// Reads a recorded object in the form of a `cli` target, in which `output` may also be the answer; `None` if the object has no
/// output, or no messages: AgentV takes it for the answer.
fn of_object(object: &Object) -> Option<Result<Output, String>> {
    if let Some(output) = Output::of_object(object) {
        return Some(output);
    }
    let keys = ["output", "output_messages", "outputMessages", "text"];
    let (key, value) = keys.iter().find_map(|key| Some((*key, object.get(*key)?)))?;
    match value {
        Value::String(answer) => Some(match failure(object) {
            Some(reason) => Err(reason),
            None => Ok(Output::of_text(answer).measured(object)),
        }),
        Value::Array(items) if items.is_empty() => None,
        _ => {
            let form = if key == "text" { "" } else { "messages, each an object with `role`, or " };
            Some(Err(format!("`{key}` must be {form}text")))
        }
    }
}

fn of_transcript(row: &Object) -> Result<(String, i64, Value), String> {
    let text = |key: &str| row.get(key).and_then(Value::as_str);
    let id = text("test_id").ok_or_else(|| lacks(row, "`test_id`"))?;
    text("role").ok_or("a transcript needs `role`")?;
    let index = match row.get("message_index") {
        Some(Value::Int(index)) => *index,
        _ => return Err("a transcript needs `message_index`".to_owned()),
    };
    let kept = ["role", "content", "tool_calls", "name", "metadata"];
    let members = kept.iter().filter_map(|key| Some(((*key).to_owned(), row.get(*key)?.clone())));
    Ok((id.to_owned(), index, Value::Object(members.collect())))
}

/// Reads a row of results: of AgentV 2, which holds the answer, or of AgentV 4, which names its files.
fn of_result(row: &Object, directory: &Path) -> Result<(String, Result<Output, String>), String> {
    let text = |key: &str| row.get(key).and_then(Value::as_str);
    let id = text("test_id").or_else(|| text("eval_id"));
    let id = id.ok_or_else(|| lacks(row, "`test_id`"))?.to_owned();
    if let Some(reason) = failure(row) {
        return Ok((id, Err(reason)));
    }
    if let Some(answer) = text("candidate_answer") {
        let summary = row.get("trace_summary").and_then(Value::as_object);
        let messages =
            row.get("output_messages").and_then(|messages| of_messages(messages.clone()));
        let output = messages.unwrap_or_else(|| Ok(Output::of_text(answer)));
        return Ok((id, output.map(|output| output.measured(summary.unwrap_or(row)))));
    }
    if row.contains_key("output") || row.contains_key("output_messages") || row.contains_key("text")
    {
        let output = of_object(row).unwrap_or_else(|| Err("`output` has no messages".to_owned()));
        return Ok((id, Ok(output?)));
    }
    let output = of_files(row, &id, directory);
    Ok((id, output.map(|output| output.measured(row))))
}

/// Reads a list of messages; `None` if the value is not one.
fn of_messages(messages: Value) -> Option<Result<Output, String>> {
    Output::of_object(&Object::from_iter([("output".to_owned(), messages)]))
}

/// Reads the transcript or the answer that a row of `index.jsonl` names.
fn of_files(row: &Object, id: &str, directory: &Path) -> Result<Output, String> {
    let mut paths = Vec::new();
    texts(&Value::Object(row.clone()), &mut paths);
    let named = |name: &str| {
        let given =
            paths.iter().filter(|path| path.ends_with(name)).map(|path| directory.join(path));
        let suite = row.get("suite").and_then(Value::as_str).unwrap_or_default();
        let usual = [directory.join(suite).join(id), directory.join(id)];
        let usual = usual.into_iter().map(|base| base.join("outputs").join(name));
        given.chain(usual).find(|file| file.is_file())
    };
    if let Some(file) = named("transcript.jsonl") {
        let text = text_of(&file)?;
        let messages: Vec<Value> = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .map(|line| {
                parse_python(line).ok_or_else(|| format!("{} is not JSON lines", file.display()))
            })
            .collect::<Result<_, _>>()?;
        if let Some(output) = of_messages(Value::Array(messages)) {
            return output;
        }
    }
    let answer = ["answer.md", "response.md"].iter().find_map(|name| named(name));
    let missing = "`output`, `candidate_answer` or the path of a transcript or an answer";
    let file = answer.ok_or_else(|| lacks(row, missing))?;
    Ok(Output::of_text(&text_of(&file)?))
}

/// Collects the texts in a value.
fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Object(object) => object.values().for_each(|item| texts(item, found)),
        _ => {}
    }
}
