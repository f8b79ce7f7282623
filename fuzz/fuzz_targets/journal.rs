//! Journals as a machine, a disk or a person may have left them.
//!
//! The input is the text of a journal without checksums, which no mutation would hit: they are put in here, but for lines
//! that begin with `!`, which stay as they are without it. `@0`, `@1` and `@2` stand for keys that are looked up.

#![no_main]

use std::{
    fs,
    future::Future,
    pin::pin,
    task::{Context, Poll, Waker},
    thread,
    time::Duration,
};

use evaluator_fuzz::scratch;
use evaluator_host::{
    journal::{Digester, Fingerprint, Journal, JournalError, Key},
    verdict::{Evaluation, Verdict},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    let evaluator = Fingerprint::of_settings(Digester::new("fuzz"));
    let keys = [0, 1, 2].map(|number| evaluator.key(&[number; 32]));
    let sealed = sealed(text, &keys);
    let path = scratch("journal.jsonl", &sealed);
    let found = |journal: &Journal| keys.map(|key| format!("{:?}", journal.find(&evaluator, &key)));

    let journal = match Journal::open(&path, true) {
        Ok(journal) => journal,
        Err(error) => {
            assert!(!matches!(error, JournalError::Busy { .. }), "{error}");
            assert!(error.to_string().contains("journal.jsonl"), "{error}");
            assert_eq!(fs::read(&path).unwrap(), sealed, "what is refused is left alone");
            return;
        }
    };
    assert_eq!(journal.failure(), None);
    let dropped = journal.damage().map_or(0, |damage| damage.bytes);
    let mended = fs::read(&path).unwrap();
    let kept = usize::try_from(sealed.len() as u64 - dropped).unwrap();
    assert!(kept == 0 || mended == sealed[..kept], "what is whole is kept, and nothing else");
    let before = found(&journal);

    let reason = String::from_utf8_lossy(text).into_owned();
    let verdict = Verdict::Reported { kind: "fuzz".to_owned(), message: reason };
    let added = Evaluation::without_process(verdict, Duration::from_nanos(7));
    block_on(journal.append(&keys[2], "fuzzed", "trace", &added));
    assert_eq!(journal.failure(), None);
    drop(journal);

    let journal = Journal::open(&path, true).expect("what was just written is a journal");
    assert!(journal.damage().is_none(), "{:?}", journal.damage());
    let after = found(&journal);
    assert_eq!(before[..2], after[..2]);
    assert_eq!(after[2], format!("{:?}", Some(added)));

    block_on(journal.withdraw(&evaluator, "fuzzed", "its answers are unreliable"));
    drop(journal);
    let journal = Journal::open(&path, true).expect("what was just written is a journal");
    assert_eq!(found(&journal), ["None"; 3], "what was withdrawn is not found");
});

/// The text with checksums and keys.
fn sealed(text: &[u8], keys: &[Key]) -> Vec<u8> {
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
        let mut rest = line.strip_prefix(b"{").unwrap_or(line).to_vec();
        for (number, key) in (b'0'..).zip(keys) {
            while let Some(at) = rest.windows(2).position(|two| two == [b'@', number]) {
                rest.splice(at..at + 2, key.to_string().into_bytes());
            }
        }
        sealed.extend(format!("{{\"crc32\":\"{:08x}\",", crc32fast::hash(&rest)).bytes());
        sealed.extend(rest);
        sealed.extend(end);
    }
    sealed
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(done) => return done,
            Poll::Pending => thread::yield_now(),
        }
    }
}
