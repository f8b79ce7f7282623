//! Reading, merging and writing the files of cassettes.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::{self, BufRead, BufReader, Read as _, Write},
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::{
    RecordId,
    record::{Record, VERSION},
};
use crate::{ErrorKind, ModelError, Redactor};

/// Records of a file.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Found {
    /// Records by key and sample.
    pub records: BTreeMap<RecordId, Record>,
    /// Records that contradicted others and were left out.
    pub warnings: Vec<String>,
    /// Lines with a record.
    lines: usize,
}

/// Longest line in bytes, many times the longest request that a model can read.
const LONGEST: u64 = 64 << 20;

/// What [`tidy`] did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tidied {
    /// Records that the file has now.
    pub kept: usize,
    /// Lines that repeated or contradicted another.
    pub repeated: usize,
    /// Records that were not used.
    pub unused: usize,
}

pub(super) fn failed(path: &Path, reason: impl std::fmt::Display) -> ModelError {
    ModelError::new(ErrorKind::Cassette, format!("cassette {}: {reason}", path.display()))
}

/// Reads the records of a file.
///
/// # Errors
///
/// The file cannot be read, is not a regular file, does not exist (unless it may be missing), or has a line that is not a record.
pub fn read(path: &Path, may_be_missing: bool) -> Result<Found, ModelError> {
    // A pipe would wait for its writer, and a device may never end.
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(failed(path, "is not a regular file"));
    }
    match File::open(path) {
        Ok(file) => parse(path, BufReader::new(file)),
        Err(error) if may_be_missing && error.kind() == io::ErrorKind::NotFound => {
            Ok(Found::default())
        }
        Err(error) => Err(failed(path, error)),
    }
}

/// Reads records line by line.
fn parse(path: &Path, mut file: impl BufRead) -> Result<Found, ModelError> {
    let mut found = Found::default();
    let mut line = Vec::new();
    for number in 1_usize.. {
        line.clear();
        let bad = |reason: String| failed(path, format!("line {number}: {reason}"));
        let read = file.by_ref().take(LONGEST).read_until(b'\n', &mut line);
        match read.map_err(|error| bad(error.to_string()))? {
            0 => break,
            length if length as u64 == LONGEST => {
                return Err(bad(format!("is longer than {LONGEST} bytes")));
            }
            _ => {}
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let record: Record = serde_json::from_slice(&line)
            .map_err(|error| bad(format!("is not a record ({error}); restore or delete it")))?;
        if record.v != VERSION {
            return Err(bad(format!("has version {}, known is {VERSION}", record.v)));
        }
        found.lines = found.lines.saturating_add(1);
        insert(&mut found, record);
    }
    Ok(found)
}

/// Adds a record. Of two records with different replies the one with the smaller digest stays.
fn insert(found: &mut Found, mut record: Record) {
    let id = (record.key.clone(), record.sample);
    if let Some(other) = found.records.get_mut(&id) {
        other.dropped.append(&mut record.dropped);
        record.dropped.clone_from(&other.dropped);
        if other.reply == record.reply {
            return;
        }
        found.warnings.push(format!(
            "sample {} of request {} has two recorded replies; the one with the smaller digest is used",
            record.sample,
            record.key.get(..12).unwrap_or(&record.key)
        ));
        if other.digest() < record.digest() {
            return;
        }
    }
    found.records.insert(id, record);
}

/// Adds records to a file, in place of those with the same key and sample. Returns warnings.
pub(super) fn add(
    path: &Path,
    fresh: BTreeMap<RecordId, Record>,
    redactor: &Redactor,
) -> Result<Vec<String>, ModelError> {
    let _lock = exclusive(path)?;
    let mut found = read(path, true)?;
    let mut warnings = found.warnings;
    for (id, record) in fresh {
        let redacted = redacted(&record, redactor).map_err(|error| failed(path, error))?;
        if redacted != record {
            let key = record.key.get(..12).unwrap_or(&record.key);
            warnings.push(format!("a secret was removed from the record of request {key}"));
        }
        found.records.insert(id, redacted);
    }
    write(path, found.records.values())?;
    Ok(warnings)
}

/// Appends a record to a file, as a whole line.
pub(super) fn append(path: &Path, record: &Record, redactor: &Redactor) -> Result<(), ModelError> {
    let record = redacted(record, redactor).map_err(|error| failed(path, error))?;
    let mut line = b"\n".to_vec();
    line.extend(serde_json_canonicalizer::to_vec(&record).map_err(|error| failed(path, error))?);
    line.push(b'\n');
    let _lock = exclusive(path)?;
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(failed(path, "is not a regular file"));
    }
    let append = || -> io::Result<()> {
        let mut file = fs::OpenOptions::new().create(true).append(true).open(path)?;
        // An edited file may lack its last line feed. Empty lines are skipped.
        let start = usize::from(file.metadata()?.len() == 0);
        file.write_all(&line[start..])
    };
    append().map_err(|error| failed(path, error))
}

/// Returns the record without secrets. Its key stays the one of the request that was sent.
fn redacted(record: &Record, redactor: &Redactor) -> serde_json::Result<Record> {
    fn walk(value: &mut Value, redactor: &Redactor) {
        match value {
            Value::String(text) => *text = redactor.redact(text),
            Value::Array(items) => items.iter_mut().for_each(|item| walk(item, redactor)),
            Value::Object(fields) => fields.values_mut().for_each(|value| walk(value, redactor)),
            _ => {}
        }
    }
    let mut value = serde_json::to_value(record)?;
    walk(&mut value, redactor);
    let redacted: Record = serde_json::from_value(value)?;
    Ok(Record { key: record.key.clone(), prompt_sha: record.prompt_sha.clone(), ..redacted })
}

/// Writes records in order, each as canonical JSON, so that equal records are equal bytes.
fn write<'a>(path: &Path, records: impl Iterator<Item = &'a Record>) -> Result<(), ModelError> {
    // The target of a link is replaced, not the link.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if fs::metadata(&target).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(failed(path, "is not a regular file"));
    }
    let mut text = Vec::new();
    for record in records {
        let line = serde_json_canonicalizer::to_vec(record).map_err(|error| failed(path, error))?;
        text.extend(line);
        text.push(b'\n');
    }
    let write = || -> io::Result<()> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".cassette-");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        let mut file = builder.tempfile_in(directory(&target))?;
        file.write_all(&text)?;
        file.persist(&target)?;
        Ok(())
    };
    write().map_err(|error| failed(path, error))
}

fn directory(path: &Path) -> &Path {
    path.parent().filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Locks a cassette against other processes. The lock file is in the directory for temporary files, because directories with
/// cassettes are under version control.
fn exclusive(path: &Path) -> Result<File, ModelError> {
    let target = fs::canonicalize(path)
        .or_else(|_| {
            fs::canonicalize(directory(path))
                .map(|it| it.join(path.file_name().unwrap_or_default()))
        })
        .map_err(|error| failed(path, error))?;
    let name = crate::request::sha(target.as_os_str().as_encoded_bytes());
    let place: PathBuf =
        std::env::temp_dir().join(format!("evaluator-cassette-{}.lock", &name[..24]));
    let mut options = fs::OpenOptions::new();
    options.create(true).truncate(false).write(true);
    let file = options.open(place).map_err(|error| failed(path, format!("lock: {error}")))?;
    file.lock().map_err(|error| failed(path, format!("lock: {error}")))?;
    Ok(file)
}

/// Writes a cassette again: sorted, each record once, and only `used` ones if given.
///
/// # Errors
///
/// The file cannot be read or written.
pub fn tidy(path: &Path, used: Option<&BTreeSet<RecordId>>) -> Result<Tidied, ModelError> {
    let _lock = exclusive(path)?;
    let Found { mut records, lines, .. } = read(path, false)?;
    let unique = records.len();
    if let Some(used) = used {
        records.retain(|id, _| used.contains(id));
    }
    write(path, records.values())?;
    Ok(Tidied {
        kept: records.len(),
        repeated: lines.saturating_sub(unique),
        unused: unique.saturating_sub(records.len()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_limited_and_read_one_by_one() {
        let error = |file: &mut dyn BufRead| parse(Path::new("c.jsonl"), file).unwrap_err().message;
        let endless = error(&mut BufReader::new(io::repeat(b' ')));
        assert_eq!(endless, format!("cassette c.jsonl: line 1: is longer than {LONGEST} bytes"));
        let broken = error(&mut &b"\n\xff\n"[..]);
        assert!(broken.contains("line 2: is not a record"), "{broken}");
        // What follows the first broken line is not read.
        let endless = error(&mut BufReader::new(b"{}\n".chain(io::repeat(b' '))));
        assert!(endless.contains("line 1: is not a record"), "{endless}");
    }
}
