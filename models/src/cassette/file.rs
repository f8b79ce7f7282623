//! Reading, merging and writing the files of cassettes.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::{self, BufRead, BufReader, Read as _, Seek as _, SeekFrom, Write},
    path::Path,
};

use super::{
    lock::{Waits, directory, exclusive, failed},
    record::{Record, RecordId, VERSION},
};
use crate::{ModelError, Redactor};

/// Records of a file.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Records by key and sample.
    pub records: BTreeMap<RecordId, Record>,
    /// Records that contradicted others or were cut off, and were left out.
    pub warnings: Vec<String>,
    /// Lines with a record.
    lines: usize,
}

/// Longest line in bytes, many times the longest request that a model can read.
const LONGEST: u64 = 64 << 20;

/// Changes that [`tidy`] made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tidied {
    /// Records that the file has now.
    pub kept: usize,
    /// Lines that repeated or contradicted another.
    pub repeated: usize,
    /// Records that were not used.
    pub unused: usize,
}

/// Reads the records of a file. A last line that is cut off is left out with a warning: its run was killed while it wrote.
///
/// # Errors
///
/// The file cannot be read, is not a regular file, does not exist (unless it may be missing), or has a line that is not a record,
/// or one whose key is that of other messages.
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
        let record: Record = match serde_json::from_slice(&line) {
            Ok(record) => record,
            Err(_) if is_cut_off(&line) => {
                let place = path.display();
                found.warnings.push(format!(
                    "cassette {place}: line {number} is cut off and was left out: its run ended while it was written"
                ));
                break;
            }
            Err(error) => {
                return Err(bad(format!("is not a record ({error}); restore or delete it")));
            }
        };
        if record.v != VERSION {
            return Err(bad(format!("has version {}, known is {VERSION}", record.v)));
        }
        record.check().map_err(|what| {
            bad(format!(
                "{what}, so its reply may be that to another question; restore or delete it"
            ))
        })?;
        found.lines = found.lines.saturating_add(1);
        insert(&mut found, record);
    }
    Ok(found)
}

/// Returns true for a last line of which the end was not written.
fn is_cut_off(line: &[u8]) -> bool {
    line.starts_with(b"{")
        && !line.ends_with(b"\n")
        && serde_json::from_slice::<serde::de::IgnoredAny>(line).is_err_and(|error| error.is_eof())
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
    waits: &Waits,
) -> Result<Vec<String>, ModelError> {
    let _lock = exclusive(path, waits)?;
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

/// Appends a record to a file, as a whole line or not at all.
pub(super) fn append(
    path: &Path,
    record: &Record,
    redactor: &Redactor,
    waits: &Waits,
) -> Result<(), ModelError> {
    let record = redacted(record, redactor).map_err(|error| failed(path, error))?;
    let mut line =
        serde_json_canonicalizer::to_vec(&record).map_err(|error| failed(path, error))?;
    line.push(b'\n');
    let _lock = exclusive(path, waits)?;
    refuse_others(path)?;
    let mut append = || -> io::Result<()> {
        let mut options = fs::OpenOptions::new();
        options.create(true).read(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(path)?;
        let end = end_of_lines(&mut file)?;
        // An edited file may lack its last line feed.
        if end.lacks_line_feed {
            line.insert(0, b'\n');
        }
        // Half a line, e.g. on a full disk, would make the next record part of it.
        file.write_all(&line).inspect_err(|_| drop(file.set_len(end.length)))
    };
    append().map_err(|error| failed(path, error))
}

/// End of the lines of a file.
struct End {
    length: u64,
    /// Whether the last line is a whole record without a line feed.
    lacks_line_feed: bool,
}

/// Returns the end of the lines of a file, and removes a last line that was cut off.
fn end_of_lines(file: &mut File) -> io::Result<End> {
    let length = file.metadata()?.len();
    let mut last = [b'\n'];
    if length > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    if last == *b"\n" {
        return Ok(End { length, lacks_line_feed: false });
    }
    let mut text = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut text)?;
    let start = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at.saturating_add(1));
    if !is_cut_off(&text[start..]) {
        return Ok(End { length, lacks_line_feed: true });
    }
    file.set_len(start as u64)?;
    Ok(End { length: start as u64, lacks_line_feed: false })
}

/// Refuses what is not a regular file.
fn refuse_others(path: &Path) -> Result<(), ModelError> {
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(failed(path, "is not a regular file"));
    }
    Ok(())
}

/// Returns the record without secrets. Its key stays the one of the request that was sent.
fn redacted(record: &Record, redactor: &Redactor) -> serde_json::Result<Record> {
    let mut value = serde_json::to_value(record)?;
    redactor.redact_json(&mut value);
    let redacted: Record = serde_json::from_value(value)?;
    Ok(Record { key: record.key.clone(), prompt_sha: record.prompt_sha.clone(), ..redacted })
}

/// Writes records in order, each as canonical JSON, so that equal records are equal bytes. Only its owner can read a new file,
/// which contains texts of conversations; an existing one keeps its permissions.
fn write<'a>(path: &Path, records: impl Iterator<Item = &'a Record>) -> Result<(), ModelError> {
    // The target of a link is replaced, not the link.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    refuse_others(&target)?;
    let mut text = Vec::new();
    for record in records {
        let line = serde_json_canonicalizer::to_vec(record).map_err(|error| failed(path, error))?;
        text.extend(line);
        text.push(b'\n');
    }
    let write = || -> io::Result<()> {
        let builder = tempfile::Builder::new().prefix(".cassette-").tempfile_in(directory(&target));
        let mut file = builder?;
        if let Ok(metadata) = fs::metadata(&target) {
            file.as_file().set_permissions(metadata.permissions())?;
        }
        file.write_all(&text)?;
        file.persist(&target)?;
        Ok(())
    };
    write().map_err(|error| failed(path, error))
}

/// Writes a cassette again: sorted, each record once, and only `used` ones if given. `waits` hears of other processes that write.
///
/// # Errors
///
/// The file cannot be read or written.
pub fn tidy(
    path: &Path,
    used: Option<&BTreeSet<RecordId>>,
    waits: &Waits,
) -> Result<Tidied, ModelError> {
    let _lock = exclusive(path, waits)?;
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
