//! The trace file: OTLP documents, one a line, that are on the disk before a request is answered.
//!
//! Neither a killed process nor a power failure loses a span that was accepted. What cannot be written is taken back as a
//! whole. The last lines may be of requests that were not answered, and the very last one may be cut off.

use std::{
    fmt::Display,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write},
    path::Path,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Instant,
};

use serde::de::IgnoredAny;
use tokio::sync::Notify;

use crate::{
    lines::Line,
    open::{Conversations, Piece},
};

/// The trace file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct FileError(String);

impl FileError {
    /// Converts an error of the system.
    pub(crate) fn system(path: &Path) -> impl Fn(io::Error) -> Self + Copy {
        move |error| Self(format!("cannot use the trace file {}: {error}", path.display()))
    }
}

/// Returns the lines of a document.
pub(crate) type ReadLines = fn(&[u8]) -> Result<Vec<Line>, String>;

/// Reason for not writing lines: their conversations are too many.
const FULL: &str = "too many conversations are open; try again later";

/// Conversations, and a signal that there are further ones.
#[derive(Debug)]
pub(crate) struct Shared {
    conversations: Mutex<Conversations>,
    pub(crate) changed: Notify,
}

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Conversations> {
        lock(&self.conversations)
    }
}

/// The file, and the conversations in it.
#[derive(Debug)]
pub(crate) struct TraceFile {
    pub(crate) shared: Arc<Shared>,
    file: File,
    /// End of the last line.
    end: Mutex<u64>,
    /// End of what is on the disk.
    synced: Mutex<u64>,
    /// The error after which that is not known. The system tells it once, to one of those who wait.
    failure: OnceLock<String>,
}

impl TraceFile {
    /// Opens or creates the file, and adds what is in it to the conversations.
    ///
    /// Returns the number of bytes at the end that were removed, because they are a line that was cut off.
    ///
    /// # Errors
    ///
    /// The file cannot be used.
    pub(crate) fn open(
        path: &Path,
        mut conversations: Conversations,
        read: ReadLines,
    ) -> Result<(Self, u64), FileError> {
        let system = FileError::system(path);
        if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            return Err(system(io::Error::other("it is not a regular file; name another one")));
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(path).map_err(system)?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => {
                let file = path.display();
                FileError(format!("the trace file {file} is in use by another receiver"))
            }
            TryLockError::Error(error) => system(error),
        })?;
        let (end, cut) = restore(&mut file, path, &mut conversations, read)?;
        let (conversations, changed) = (Mutex::new(conversations), Notify::new());
        let shared = Arc::new(Shared { conversations, changed });
        let (end, synced) = (Mutex::new(end), Mutex::new(end));
        Ok((Self { shared, file, end, synced, failure: OnceLock::new() }, cut))
    }

    /// Writes lines, all or none, and returns when they are on the disk.
    ///
    /// # Errors
    ///
    /// The reason why nothing was written.
    pub(crate) fn append(&self, lines: &[Line]) -> Result<(), String> {
        let end = self.append_text(lines)?;
        let mut synced = lock(&self.synced);
        if *synced >= end {
            return Ok(());
        }
        self.check()?;
        // With those of all requests that wait.
        let written = *lock(&self.end);
        if let Err(error) = self.file.sync_data() {
            self.failure.get_or_init(|| format!("{error}; start the receiver again"));
        }
        self.check()?;
        *synced = written;
        Ok(())
    }

    fn check(&self) -> Result<(), String> {
        self.failure.get().map_or(Ok(()), |error| Err(unwritten(error)))
    }

    /// Writes lines, and returns where they end.
    fn append_text(&self, lines: &[Line]) -> Result<u64, String> {
        self.check()?;
        let traces = lines.iter().map(|line| line.trace).collect();
        let text: Vec<u8> =
            lines.iter().flat_map(|line| [&line.text, &b"\n"[..]].concat()).collect();
        let now = Instant::now();
        let mut end = lock(&self.end);
        if !self.shared.lock().has_room(&traces, now) {
            // Some may be finished for the next attempt.
            self.shared.changed.notify_one();
            return Err(FULL.to_owned());
        }
        let mut file = &self.file;
        // What an earlier attempt has left is removed first.
        let written = file.set_len(*end).and_then(|()| file.seek(SeekFrom::Start(*end)));
        if let Err(error) = written.and_then(|_| file.write_all(&text)) {
            let _ = file.set_len(*end);
            return Err(unwritten(&error));
        }
        let mut conversations = self.shared.lock();
        for line in lines {
            let length = line.text.len();
            conversations.add(line, Piece { start: *end, length }, now);
            *end += length as u64 + 1;
        }
        self.shared.changed.notify_one();
        Ok(*end)
    }
}

fn unwritten(error: &dyn Display) -> String {
    format!("spans cannot be written: {error}")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How each line begins, without white space.
const BEGINNING: &[u8] = b"{\"resourceSpans\":";

/// Adds the lines of a file to the conversations. Returns the end of its last line, and the number of bytes behind it, which
/// are removed: the beginning of a line that was never accepted.
fn restore(
    file: &mut File,
    path: &Path,
    conversations: &mut Conversations,
    read: ReadLines,
) -> Result<(u64, u64), FileError> {
    let system = FileError::system(path);
    let (mut start, mut line, mut number) = (0, Vec::new(), 0);
    let (now, mut lines) = (Instant::now(), BufReader::new(&mut *file));
    while lines.read_until(b'\n', &mut line).map_err(system)? > 0 {
        number += 1;
        let is_whole = line.ends_with(b"\n");
        let text = line.trim_ascii();
        match if text.is_empty() { Ok(Vec::new()) } else { read(text) } {
            Ok(read) => {
                let piece = Piece { start, length: line.len() - usize::from(is_whole) };
                read.iter().for_each(|line| conversations.add(line, piece, now));
            }
            Err(_) if !is_whole && is_beginning(text) && !is_json(text) => {
                file.set_len(start).map_err(system)?;
                return Ok((start, line.len() as u64));
            }
            Err(reason) => {
                let line = format!("the trace file {}, line {number}", path.display());
                return Err(FileError(format!("{line}, is not OTLP: {reason}; name another file")));
            }
        }
        start += line.len() as u64;
        if !is_whole {
            // Another program has written it.
            file.seek(SeekFrom::End(0)).and_then(|_| file.write_all(b"\n")).map_err(system)?;
            return Ok((start + 1, 0));
        }
        line.clear();
    }
    Ok((start, 0))
}

/// Returns true if a text may be the beginning of a line.
fn is_beginning(text: &[u8]) -> bool {
    let text = text.iter().filter(|byte| !byte.is_ascii_whitespace());
    text.zip(BEGINNING).all(|(byte, expected)| byte == expected)
}

fn is_json(text: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(text).is_ok()
}

/// Returns the text of some pieces of a file, a line each.
///
/// # Errors
///
/// The file cannot be read, or is not what was written.
pub(crate) fn read(file: &mut File, pieces: &[Piece]) -> io::Result<String> {
    let mut text = String::new();
    for piece in pieces {
        file.seek(SeekFrom::Start(piece.start))?;
        if file.take(piece.length as u64).read_to_string(&mut text)? != piece.length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        text.push('\n');
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{lines::parse, open::Rules};

    const ONE: &str = "0af7651916cd43dd8448eb211c80319c";
    const TWO: &str = "0af7651916cd43dd8448eb211c80319d";

    /// In these tests, a document is the id of its trace.
    fn read_id(text: &[u8]) -> Result<Vec<Line>, String> {
        let trace = str::from_utf8(text).ok().and_then(parse).ok_or("no id")?;
        Ok(vec![Line { trace, has_root: true, text: text.into(), session: None }])
    }

    fn open(path: &Path) -> Result<(TraceFile, u64), FileError> {
        TraceFile::open(path, Conversations::new(Rules::new(false)), read_id)
    }

    fn append(file: &TraceFile, ids: &[&str]) -> Result<(), String> {
        let lines: Vec<_> = ids.iter().flat_map(|id| read_id(id.as_bytes()).unwrap()).collect();
        file.append(&lines)
    }

    fn pieces(file: &TraceFile, id: &str) -> String {
        let mut conversations = file.shared.lock();
        let index = conversations.of(&parse(id).unwrap()).unwrap();
        let later = Instant::now().checked_add(std::time::Duration::from_secs(3600)).unwrap();
        loop {
            match conversations.next(later) {
                crate::open::Next::Judge(it) if it.index == index => {
                    return it.pieces.iter().map(|it| format!("{} ", it.start)).collect();
                }
                crate::open::Next::Judge(_) => {}
                crate::open::Next::Wait(_) => panic!("{id} is not open"),
            }
        }
    }

    #[test]
    fn what_was_written_is_read_by_the_next_receiver() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.jsonl");
        let (file, cut) = open(&path).unwrap();
        assert_eq!((append(&file, &[ONE, TWO]), append(&file, &[ONE]), cut), (Ok(()), Ok(()), 0));
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{ONE}\n{TWO}\n{ONE}\n"));
        assert_eq!(pieces(&file, ONE), "0 66 ");
        drop(file);
        let (file, cut) = open(&path).unwrap();
        assert_eq!(cut, 0);
        assert_eq!(pieces(&file, ONE), "0 66 ");
        assert_eq!(append(&file, &[ONE]), Ok(()));
        assert_eq!(pieces(&file, ONE), "0 66 99 ");
        let mut spans = File::open(&path).unwrap();
        let last = [Piece { start: 33, length: 32 }, Piece { start: 99, length: 32 }];
        assert_eq!(read(&mut spans, &last).unwrap(), format!("{TWO}\n{ONE}\n"));
        let behind = [Piece { start: 130, length: 32 }];
        assert_eq!(read(&mut spans, &behind).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_line_that_was_cut_off_is_removed_and_a_whole_one_is_ended() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.jsonl");
        for (content, expected_cut, kept) in [
            (format!("{ONE}\n{{\"resource"), 10, format!("{ONE}\n")),
            (format!("{ONE}\n{TWO}"), 0, format!("{ONE}\n{TWO}\n")),
            (format!("{ONE}\n{{\"resourceSpans\": [\u{e9}"), 21, format!("{ONE}\n")),
            ("{".to_owned(), 1, String::new()),
        ] {
            fs::write(&path, &content).unwrap();
            let (file, cut) = open(&path).unwrap();
            assert_eq!(cut, expected_cut, "{content}");
            assert_eq!(append(&file, &[ONE]), Ok(()));
            drop(file);
            assert_eq!(fs::read_to_string(&path).unwrap(), format!("{kept}{ONE}\n"));
        }
    }

    #[test]
    fn a_whole_document_that_is_refused_stays_also_without_a_line_end() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.jsonl");
        let document = r#"{"resourceSpans": [{}]}"#;
        fs::write(&path, document).unwrap();
        let error = open(&path).unwrap_err().to_string();
        assert!(error.ends_with("line 1, is not OTLP: no id; name another file"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), document);
    }

    #[test]
    fn nothing_is_accepted_once_it_is_not_known_what_is_on_the_disk() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.jsonl");
        let (file, _) = open(&path).unwrap();
        assert_eq!(append(&file, &[ONE]), Ok(()));
        file.failure.set("it broke".to_owned()).unwrap();
        assert_eq!(append(&file, &[TWO]), Err("spans cannot be written: it broke".to_owned()));
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{ONE}\n"));
    }

    #[test]
    fn a_file_of_something_else_or_of_another_receiver_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.jsonl");
        fs::write(&path, format!("{ONE}\n\nother\n{TWO}\n")).unwrap();
        let error = open(&path).unwrap_err().to_string();
        assert!(
            error.ends_with("t.jsonl, line 3, is not OTLP: no id; name another file"),
            "{error}"
        );
        // A last line without a line feed, too: it is kept.
        for content in ["my notes", "version: 1", "{\"data\": [", "\u{e9}"] {
            fs::write(&path, content).unwrap();
            let error = open(&path).unwrap_err().to_string();
            assert!(error.contains("t.jsonl, line 1, is not OTLP: "), "{error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
        }
        fs::write(&path, "").unwrap();
        let (_file, _) = open(&path).unwrap();
        let error = open(&path).unwrap_err().to_string();
        assert!(error.ends_with("t.jsonl is in use by another receiver"), "{error}");
        let error = open(directory.path()).unwrap_err().to_string();
        assert!(error.ends_with("it is not a regular file; name another one"), "{error}");
        if cfg!(unix) {
            let error = open(Path::new("/dev/zero")).unwrap_err().to_string();
            let expected =
                "cannot use the trace file /dev/zero: it is not a regular file; name another one";
            assert_eq!(error, expected);
        }
    }

    #[test]
    fn nothing_is_written_if_there_is_no_room_for_its_conversations() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.jsonl");
        let rules = Rules { open: 1, ..Rules::new(false) };
        let (file, _) = TraceFile::open(&path, Conversations::new(rules), read_id).unwrap();
        let full = || Err(FULL.to_owned());
        assert_eq!(append(&file, &[ONE, TWO]), full());
        assert_eq!((append(&file, &[ONE]), append(&file, &[ONE])), (Ok(()), Ok(())));
        assert_eq!(append(&file, &[TWO]), full());
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{ONE}\n{ONE}\n"));
    }
}
