//! What the process of an evaluator may use and see: `limits`, `env`, `inherit_env` and `cwd`.

use std::path::PathBuf;

use super::{
    EnvConfig, environment,
    fields::{Fields, Problems, number, text},
    paths::Leads,
    size,
    yaml::{Node, NodeKind},
};
use crate::process::{Limits, Resources};

/// What the process of an evaluator may use and see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProcessConfig {
    /// How much it may use.
    pub limits: LimitsConfig,
    /// Which variables it sees.
    pub env: EnvConfig,
    /// Its working directory, as given: relative to ours, and if it is not there, to the configuration file. Ours when
    /// `None`.
    pub cwd: Option<PathBuf>,
}

/// How much the process of an evaluator may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LimitsConfig {
    /// Bytes of standard output that are accepted; 64 MiB by default.
    pub output: Option<usize>,
    /// Bytes of standard error that are kept, a quarter of them from its beginning and the others from its end; 64 KiB by
    /// default.
    pub stderr: Option<usize>,
    /// What the system sets bounds to; none by default.
    pub resources: Resources,
}

impl LimitsConfig {
    /// `limits` with what is said here.
    #[must_use]
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

/// The smallest limit of memory: with less not even a shell starts, so somebody meant another unit.
pub(super) const MIN_MEMORY: u64 = 1 << 20;

/// The smallest number of open files: the three standard streams.
pub(super) const MIN_OPEN_FILES: u64 = 3;

/// Reads the keys out of an entry.
pub(super) fn read(fields: &mut Fields<'_>, problems: &mut Problems<'_>) -> ProcessConfig {
    let limits = fields.take("limits").map(|node| limits(node, problems)).unwrap_or_default();
    let env = environment::read(fields, problems);
    let cwd = fields.take("cwd").and_then(|node| folder(node, problems));
    ProcessConfig { limits, env, cwd }
}

fn folder(node: &Node, problems: &mut Problems<'_>) -> Option<PathBuf> {
    let folder = text("cwd", node, problems)?;
    if folder.contains('\0') {
        problems.add(node.span, "`cwd` has a NUL character", None);
        return None;
    }
    Some(problems.locate("cwd", folder, node.span, Leads::Directory))
}

fn limits(node: &Node, problems: &mut Problems<'_>) -> LimitsConfig {
    let mut limits = LimitsConfig::default();
    let NodeKind::Mapping(entries) = &node.kind else {
        let message = format!("`limits` must be a mapping, not {}", node.noun());
        problems.add(node.span, message, Some("for example {memory: 512MiB}".to_owned()));
        return limits;
    };
    let mut fields = Fields::new("`limits`", entries);
    let mut bytes = |key: &'static str, min: u64, problems: &mut Problems<'_>| {
        size::read(key, fields.take(key)?, min, problems)
    };
    // Where memory is counted in less than 64 bits, more than it can hold is as good as all of it.
    let in_memory = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    limits.output = bytes("output", 1, problems).map(in_memory);
    limits.stderr = bytes("stderr", 0, problems).map(in_memory);
    limits.resources.memory = bytes("memory", MIN_MEMORY, problems);
    limits.resources.cpu = fields.seconds("cpu", problems).map(|time| time.as_secs());
    limits.resources.open_files =
        fields.take("open_files").and_then(|node| count("open_files", node, problems));
    fields.finish(problems);
    limits
}

fn count(key: &str, node: &Node, problems: &mut Problems<'_>) -> Option<u64> {
    // Far more than any system has, and exact as a floating point number.
    let range = MIN_OPEN_FILES as f64..=1e9;
    let count = number(node).filter(|n| n.fract() == 0.0 && range.contains(n));
    if count.is_none() {
        let message = format!("`{key}` must be a whole number, at least {MIN_OPEN_FILES}");
        problems.add(node.span, message, Some("for example 256".to_owned()));
    }
    count.map(|count| count as u64)
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
            ("limits: {output: 9223372036854775808}", "`output` is more than there can be"),
            ("limits: {output: 99999999TiB}", "`output` is more than there can be"),
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
}
