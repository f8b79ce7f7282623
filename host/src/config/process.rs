//! Limits, environment variables and working directory of an evaluator's process: `limits`, `env`, `inherit_env`, `cwd`.

use std::path::PathBuf;

use evaluator_document::{Field, Fields, Node, NodeKind, keys, schema::text};
use serde_json::json;

use super::paths::{PathKind, Paths};
use crate::process::{Limits, Resources};

/// Limits and environment of an evaluator's process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProcessConfig {
    /// Resource limits.
    pub limits: LimitsConfig,
    /// Environment variables.
    pub env: EnvConfig,
    /// Working directory; that of this process if `None`.
    pub cwd: Option<PathBuf>,
}

/// Resource limits of an evaluator's process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LimitsConfig {
    /// Bytes of standard output that are accepted; 64 MiB by default.
    pub output: Option<usize>,
    /// Bytes of standard error that are kept, a quarter of them from the start and the rest from the end; 64 KiB by
    /// default.
    pub stderr: Option<usize>,
    /// Limits that the operating system enforces; none by default.
    pub resources: Resources,
}

impl LimitsConfig {
    /// Returns `limits` changed by this configuration.
    pub fn apply(&self, mut limits: Limits) -> Limits {
        if let Some(output) = self.output {
            limits.stdout_cap = output;
        }
        if let Some(stderr) = self.stderr {
            limits.stderr_head = stderr / 4;
            limits.stderr_tail = stderr - stderr / 4;
        }
        limits
    }
}

/// Environment variables of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EnvConfig {
    /// Whether the program gets all variables of this process (`true`), or only those that programs need to start
    /// (`false`). If `None`, it gets all but [secrets](crate::runtime::secrets); a fetched program gets as with `false`.
    pub inherit: Option<bool>,
    /// Additional variables by name: with the value in this process (`None`), or with another one.
    pub variables: Vec<(String, Option<String>)>,
}

/// Minimum limit of memory. With less not even a shell starts, so another unit was intended.
const MIN_MEMORY: u64 = 1 << 20;

/// Minimum number of open files: the three standard streams.
const MIN_OPEN_FILES: u32 = 3;

/// Pattern of the name of a variable.
const NAME: &str = r"^[^=\s]([^=]*[^=\s])?$";

/// Takes the keys from an entry.
pub(super) fn read(fields: &mut Fields<'_>, paths: &Paths) -> ProcessConfig {
    let names =
        json!({"type": "array", "items": {"type": "string", "pattern": NAME}, "uniqueItems": true});
    let values = json!({"type": ["string", "null"]});
    let values = json!({"type": "object", "additionalProperties": values, "propertyNames": {"pattern": NAME}});
    let directory = |field: Field<'_>| {
        if field.text()?.contains('\0') {
            return field.add("`cwd` has a NUL character").none();
        }
        paths.read(field, PathKind::Directory)
    };
    keys! { fields;
        /// Resource limits of the program.
        let limits = mapping("for example {memory: 512MiB}", read_limits);
        /// Additional environment variables: names to pass on, or names with values (null: passed on).
        let env = read(json!({"oneOf": [names, values]}), |field| Some(read_variables(field)));
        /// true: the program gets all variables, including secrets; false: only PATH, HOME, locale, time zone, temporary
        /// directory and `env`. If absent: all except those that look like secrets; a program from a source gets as with
        /// false.
        let inherit_env | inheritEnv = flag();
        /// Working directory of the program, relative to this file; default: that of the command.
        let cwd = read(text(), directory);
    }
    let (limits, variables) = (limits.unwrap_or_default(), env.unwrap_or_default());
    ProcessConfig { limits, env: EnvConfig { inherit: inherit_env, variables }, cwd }
}

fn read_limits(fields: &mut Fields<'_>) -> LimitsConfig {
    let what = format!("a whole number, at least {MIN_OPEN_FILES}");
    keys! { fields;
        /// Maximum bytes of standard output: a number, or text like 512MiB or 64kB; default: 64MiB.
        let output = size(1);
        /// Bytes of standard error that are kept; default: 64KiB.
        let stderr = size(0);
        /// Bytes of writable memory per process; default: no limit.
        let memory = size(MIN_MEMORY);
        /// Seconds of processor time; default: no limit. With a limit, every conversation gets a process of its own.
        let cpu = seconds();
        /// Open files per process, including the standard streams; default: the limit of the command.
        let open_files = at_least(MIN_OPEN_FILES, &what, "256");
    }
    // On 32-bit systems a larger size is as good as no limit.
    let in_memory = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    let (output, stderr) = (output.map(in_memory), stderr.map(in_memory));
    let cpu = cpu.map(|time| time.as_secs());
    LimitsConfig { output, stderr, resources: Resources { memory, cpu, open_files } }
}

/// Reads a list of names, or a mapping with values.
fn read_variables(field: Field<'_>) -> Vec<(String, Option<String>)> {
    let given: Vec<(&Node, Option<&Node>)> = match &field.node.kind {
        NodeKind::Sequence(names) => names.iter().map(|name| (name, None)).collect(),
        NodeKind::Mapping(entries) => {
            entries.iter().map(|(name, value)| (name, Some(value))).collect()
        }
        NodeKind::Scalar(_) => {
            field.expected("a list of names or a mapping").hint("for example [OPENAI_API_KEY]");
            return Vec::new();
        }
    };
    let mut variables: Vec<(String, Option<String>)> = Vec::with_capacity(given.len());
    for (name_node, value) in given {
        let name = read_variable_name(Field { node: name_node, ..field });
        let value = match value {
            Some(node) if !node.is_null() => {
                Some(read_value(name.unwrap_or_default(), Field { node, ..field }))
            }
            _ => None,
        };
        let Some(name) = name else { continue };
        if variables.iter().any(|(known, _)| known == name) {
            field.problems.add(name_node.span, format!("`{name}` is in `env` twice"));
            continue;
        }
        variables.push((name.to_owned(), value.map(Option::unwrap_or_default)));
    }
    variables
}

fn read_variable_name(field: Field<'_>) -> Option<&str> {
    let Some(name) = field.node.as_str() else {
        let message = format!("`env` must have names of variables, not {}", field.noun());
        let hint = match field.node.kind {
            NodeKind::Mapping(_) => "write `env:` as a mapping, without the dashes",
            _ => "for example OPENAI_API_KEY",
        };
        return field.add(message).hint(hint).none();
    };
    if let Some((before, _)) = name.split_once('=') {
        let hint = format!("write `env:` as a mapping, with `{before}: VALUE`");
        return field.add(format!("`{name}` is not a name of a variable")).hint(hint).none();
    }
    if name.is_empty() || name.contains('\0') || name.trim() != name {
        return field.add(format!("{name:?} is not a name of a variable")).none();
    }
    Some(name)
}

/// Reads the value of a variable. Numbers and booleans would not arrive as they are written (`010`, `on`).
fn read_value(name: &str, field: Field<'_>) -> Option<String> {
    let Some(text) = field.node.as_str() else {
        let hint = matches!(field.node.kind, NodeKind::Scalar(_))
            .then(|| "put it in quotes, and it arrives as it is written".to_owned());
        let message = format!("`{name}` in `env` must be text, not {}", field.noun());
        return field.add(message).maybe_hint(hint).none();
    };
    if text.contains('\0') {
        return field.add(format!("`{name}` in `env` has a NUL character")).none();
    }
    Some(text.to_owned())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::{Config, EvaluatorKind};

    fn read(keys: &str) -> Result<ProcessConfig, String> {
        let text = format!("evaluators:\n- {{name: a, type: code, path: a.py, {keys}}}");
        let config =
            Config::parse(&text, Path::new("c.yaml")).map_err(|error| error.to_string())?;
        let EvaluatorKind::Code(code) = &config.evaluators[0].kind else { panic!("{config:?}") };
        Ok(code.process.clone())
    }

    fn env(keys: &str) -> Result<EnvConfig, String> {
        read(keys).map(|process| process.env)
    }

    #[test]
    fn limits_are_read_and_applied() {
        let keys = "limits: {output: 64kB, stderr: 1001, memory: 512MiB, cpu: 2, open_files: 32}, cwd: data";
        let process = read(keys).unwrap();
        assert_eq!(
            process.limits.resources,
            Resources { memory: Some(512 << 20), cpu: Some(2), open_files: Some(32) }
        );
        assert_eq!(process.cwd.as_deref(), Some(Path::new("data")));
        let limits = process.limits.apply(Limits::default());
        assert_eq!((limits.stdout_cap, limits.stderr_head, limits.stderr_tail), (64_000, 250, 751));
        assert_eq!(read("limits: {}"), Ok(ProcessConfig::default()));
        assert_eq!(LimitsConfig::default().apply(Limits::default()), Limits::default());
    }

    #[test]
    fn limits_that_make_no_sense_are_refused_with_their_place() {
        for (keys, message) in [
            ("limits: 3", "`limits` must be a mapping, not"),
            ("limits: {output: 0}", "`output` must be at least 1 byte"),
            ("limits: {output: -1}", "`output` must be at least 1 byte"),
            (
                "limits: {output: 9223372036854775808}",
                "`output` exceeds the maximum of 2^63 - 1 bytes",
            ),
            ("limits: {output: 99999999TiB}", "`output` exceeds the maximum of 2^63 - 1 bytes"),
            ("limits: {output: 1.5}", "`output` must be a number of bytes, or text"),
            ("limits: {output: }", "`output` must be a number of bytes, or text"),
            ("limits: {memory: 512}", "`memory` must be at least 1MiB"),
            ("limits: {memory: 512M}", "`512MiB` counts in 1024s, `512MB` in 1000s"),
            ("limits: {stderr: 4k}", "`4KiB` counts in 1024s, `4kB` in 1000s"),
            ("limits: {memory: lots}", "units are B, kB, MB, GB, TB, KiB, MiB, GiB and TiB"),
            ("limits: {cpu: 0}", "`cpu` must be a whole number of seconds, at least 1"),
            ("limits: {cpu: 0.5}", "`cpu` must be a whole number of seconds, at least 1"),
            ("limits: {open_files: 2}", "`open_files` must be a whole number, at least 3"),
            ("limits: {open_files: many}", "`open_files` must be a whole number, at least 3"),
            ("limits: {memroy: 1GiB}", "did you mean `memory`?"),
            ("limits: {time: 3}", "known keys: output, stderr, memory, cpu, open_files"),
            ("limit: {cpu: 3}", "did you mean `limits`?"),
            ("cwd: ''", "`cwd` is empty"),
            ("cwd: 3", "`cwd` must be text"),
            ("cwd: \"a\\0\"", "`cwd` has a NUL character"),
        ] {
            let error = read(keys).unwrap_err();
            assert!(error.contains(message), "{keys}: {error}");
            assert!(error.contains("c.yaml:2:"), "{keys}: {error}");
        }
    }

    fn variables(keys: &str) -> Vec<(String, Option<String>)> {
        env(keys).unwrap().variables
    }

    #[test]
    fn names_are_passed_on_and_values_are_set() {
        let passed = |name: &str| (name.to_owned(), None);
        let set = |name: &str, value: &str| (name.to_owned(), Some(value.to_owned()));
        assert_eq!(variables("env: [A, B_KEY]"), [passed("A"), passed("B_KEY")]);
        assert_eq!(
            variables("env: {A: , B: null, C: '', D: '010', E: x y}"),
            [passed("A"), passed("B"), set("C", ""), set("D", "010"), set("E", "x y")]
        );
        assert_eq!(variables("env: []"), []);
        assert_eq!(env("timeout: 3"), Ok(EnvConfig::default()));
        for (word, inherit) in [("true", true), ("no", false)] {
            assert_eq!(env(&format!("inherit_env: {word}")).unwrap().inherit, Some(inherit));
        }
    }

    #[test]
    fn what_is_no_variable_is_refused() {
        for (keys, message) in [
            ("env: A", "`env` must be a list of names or a mapping, not text"),
            ("env: ", "`env` must be a list of names or a mapping, not nothing"),
            ("env: [1]", "`env` must have names of variables, not"),
            ("env: [A: 1]", "write `env:` as a mapping, without the dashes"),
            ("env: [A=1]", "write `env:` as a mapping, with `A: VALUE`"),
            ("env: ['']", r#""" is not a name of a variable"#),
            ("env: ['A ']", r#""A " is not a name of a variable"#),
            ("env: [\"A\\0\"]", "is not a name of a variable"),
            ("env: [A, A]", "`A` is in `env` twice"),
            ("env: {A: 8080}", "`A` in `env` must be text, not"),
            ("env: {A: on}", "put it in quotes, and it arrives as it is written"),
            ("env: {A: [x]}", "`A` in `env` must be text, not"),
            ("env: {A: \"x\\0\"}", "`A` in `env` has a NUL character"),
            ("inherit_env: sometimes", "`inherit_env` must be true or false, not text"),
            ("inherit_en: true", "did you mean `inherit_env`?"),
        ] {
            let error = read(keys).unwrap_err();
            assert!(error.contains(message), "{keys}: {error}");
        }
    }
}
