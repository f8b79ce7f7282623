//! Run files, also damaged, truncated and edited ones.
//!
//! The input is the text of a run file without checksums, which mutations would not keep valid: they are added here, except to
//! lines that start with `!`, which are used without the `!`.

#![no_main]

use std::{fs, slice};

use evaluator_fuzz::scratch;
use evaluator_host::report::run_file::{FileProblem, RunFile, RunFileError, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    let sealed = sealed(text);
    let path = scratch("fuzzed.evalrun", &sealed);
    match read(slice::from_ref(&path), false) {
        Ok(report) => {
            // Everything that cannot be read is in the report.
            for conversation in &report.conversations {
                conversation.expect("what was indexed can be read");
            }
            assert_eq!(report.to_json().is_ok(), report.conversations.unreadable().is_none());
        }
        Err(error) => assert!(error.to_string().contains("fuzzed.evalrun"), "{error}"),
    }
    match RunFile::open(&path, true) {
        Ok(_) => {}
        Err(RunFileError::File { problem: FileProblem::Busy, .. }) => panic!("no other run has the file"),
        Err(error) => assert!(error.to_string().contains("fuzzed.evalrun"), "{error}"),
    }
    assert_eq!(fs::read(&path).unwrap(), sealed, "until a run starts, nothing is changed");
});

/// Returns the text with checksums.
fn sealed(text: &[u8]) -> Vec<u8> {
    let mut sealed = Vec::new();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        if let Some(raw) = line.strip_prefix(b"!") {
            sealed.extend(raw);
            continue;
        }
        let (line, end) = match line.strip_suffix(b"\n") {
            Some(line) => (line, &b"\n"[..]),
            None => (line, &b""[..]),
        };
        let rest = line.strip_prefix(b"{").unwrap_or(line);
        sealed.extend(format!("{{\"crc32\":\"{:08x}\",", crc32fast::hash(rest)).bytes());
        sealed.extend(rest);
        sealed.extend(end);
    }
    sealed
}
