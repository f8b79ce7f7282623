//! The trace file: OTLP documents, one a line, that are on the disk before a request is answered.
//!
//! A thread writes what has come from all requests since its last turn, and forces it to the disk at once: a request waits
//! for one such turn, however many there are, and neither a killed process nor a power failure loses a span that was
//! accepted. What cannot be written is taken back as a whole, so the file has only lines that were accepted, and perhaps the
//! beginning of one that was not.

use std::{
    collections::HashSet,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{self, Receiver, Sender},
    },
    thread::{self, JoinHandle},
    time::Instant,
};

use tokio::sync::{Notify, oneshot};

use crate::{
    lines::Line,
    open::{Conversations, Piece},
};

/// Maximum number of requests that are written in one turn.
const TURN: usize = 256;

/// The trace file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system refuses it.
    #[error("cannot use the trace file {}: {error}", file.display())]
    System {
        /// The file.
        file: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
    /// Another process writes it.
    #[error("the trace file {} is in use by another receiver", file.display())]
    InUse {
        /// The file.
        file: PathBuf,
    },
    /// It has a line that is not an OTLP document.
    #[error("the trace file {}, line {line}, is not OTLP: {reason}; name another file", file.display())]
    NotOtlp {
        /// The file.
        file: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// The reason.
        reason: String,
    },
}

/// Reason why lines were not written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Too many conversations are open.
    Full,
    /// The error of the system.
    Unwritten(String),
}

/// Conversations, and a signal that there are further ones.
#[derive(Debug)]
pub(crate) struct Shared {
    conversations: Mutex<Conversations>,
    pub(crate) changed: Notify,
}

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Conversations> {
        self.conversations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The file, its thread, and the conversations in it.
#[derive(Debug)]
pub(crate) struct TraceFile {
    pub(crate) shared: Arc<Shared>,
    batches: Sender<Batch>,
    thread: JoinHandle<()>,
}

struct Batch {
    lines: Vec<Line>,
    answer: oneshot::Sender<Result<(), Refused>>,
}

/// Writes the file.
struct Writer {
    file: File,
    end: u64,
    shared: Arc<Shared>,
    /// The error after which the end of the file is not known.
    failure: Option<String>,
}

impl TraceFile {
    /// Opens or creates the file, and adds what is in it to the conversations. `read` returns the lines of a document.
    ///
    /// Returns the number of bytes at the end that were removed, because they are a line that was cut off.
    ///
    /// # Errors
    ///
    /// The file cannot be used.
    pub(crate) fn open(
        path: &Path,
        mut conversations: Conversations,
        read: &dyn Fn(&str) -> Result<Vec<Line>, String>,
    ) -> Result<(Self, u64), FileError> {
        let system = |error| FileError::System { file: path.to_owned(), error };
        if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            return Err(system(io::Error::other("it is not a regular file; name another one")));
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(path).map_err(system)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(FileError::InUse { file: path.to_owned() });
            }
            Err(TryLockError::Error(error)) => return Err(system(error)),
        }
        let (end, cut) = restore(&mut file, path, &mut conversations, read)?;
        let shared = Shared { conversations: Mutex::new(conversations), changed: Notify::new() };
        let shared = Arc::new(shared);
        let (batches, waiting) = mpsc::channel();
        let mut writer = Writer { file, end, shared: Arc::clone(&shared), failure: None };
        let thread = thread::Builder::new().name("trace-file".to_owned());
        let thread = thread.spawn(move || writer.run(&waiting)).map_err(system)?;
        Ok((Self { shared, batches, thread }, cut))
    }

    /// Writes lines, and returns when they are on the disk.
    pub(crate) async fn append(&self, lines: Vec<Line>) -> Result<(), Refused> {
        let (answer, written) = oneshot::channel();
        // The thread ends after this, unless it has panicked.
        let _ = self.batches.send(Batch { lines, answer });
        let lost = || Refused::Unwritten("the thread that writes it has panicked".to_owned());
        written.await.unwrap_or_else(|_| Err(lost()))
    }

    /// Ends the thread, which has written everything.
    pub(crate) fn close(self) {
        drop(self.batches);
        // Its panic was an answer to those who waited for it.
        let _ = self.thread.join();
    }
}

/// How each line begins, without white space.
const BEGINNING: &[u8] = b"{\"resourceSpans\":";

/// Adds the lines of a file to the conversations. Returns the end of its last line, and the number of bytes behind it, which
/// are removed.
fn restore(
    file: &mut File,
    path: &Path,
    conversations: &mut Conversations,
    read: &dyn Fn(&str) -> Result<Vec<Line>, String>,
) -> Result<(u64, u64), FileError> {
    let system = |error| FileError::System { file: path.to_owned(), error };
    let (mut start, mut line, mut number) = (0, Vec::new(), 0);
    let (now, mut lines) = (Instant::now(), BufReader::new(&mut *file));
    loop {
        line.clear();
        number += 1;
        let length = lines.read_until(b'\n', &mut line).map_err(system)?;
        let Some(text) = line.strip_suffix(b"\n") else { break };
        let read = str::from_utf8(text)
            .map_err(|error| error.to_string())
            .and_then(|text| if text.trim().is_empty() { Ok(Vec::new()) } else { read(text) });
        let not_otlp = |reason| FileError::NotOtlp { file: path.to_owned(), line: number, reason };
        let read = read.map_err(not_otlp)?;
        let length_of_piece =
            u32::try_from(text.len()).map_err(|error| not_otlp(error.to_string()))?;
        let piece = Piece { start, length: length_of_piece };
        read.iter().for_each(|line| conversations.add(line, piece, now));
        start += length as u64;
    }
    if line.is_empty() {
        return Ok((start, 0));
    }
    // It was never answered, unless another program has written it.
    if let Ok(Ok(read)) = str::from_utf8(&line).map(read)
        && let Ok(length) = u32::try_from(line.len())
    {
        read.iter().for_each(|line| conversations.add(line, Piece { start, length }, now));
        file.seek(SeekFrom::End(0)).and_then(|_| file.write_all(b"\n")).map_err(system)?;
        return Ok((start + u64::from(length) + 1, 0));
    }
    // What another program has written is not removed.
    let rest = line.iter().filter(|byte| !byte.is_ascii_whitespace());
    if !rest.zip(BEGINNING).all(|(byte, expected)| byte == expected) {
        let reason = "it is no OTLP export document, and has no line feed".to_owned();
        return Err(FileError::NotOtlp { file: path.to_owned(), line: number, reason });
    }
    file.set_len(start).map_err(system)?;
    Ok((start, line.len() as u64))
}

impl Writer {
    fn run(&mut self, waiting: &Receiver<Batch>) {
        while let Ok(first) = waiting.recv() {
            let batches = [first].into_iter().chain(waiting.try_iter().take(TURN - 1)).collect();
            self.turn(batches);
        }
    }

    /// Writes the batches that there is room for, and answers all.
    fn turn(&mut self, batches: Vec<Batch>) {
        let now = Instant::now();
        let mut taken = HashSet::new();
        let mut accepted = Vec::new();
        for batch in batches {
            let traces = batch.lines.iter().map(|line| line.trace);
            let wanted: HashSet<_> = taken.iter().copied().chain(traces).collect();
            match self.shared.lock().has_room(&wanted, now) {
                true => {
                    taken = wanted;
                    accepted.push(batch);
                }
                false => drop(batch.answer.send(Err(Refused::Full))),
            }
        }
        let written = self.write(&accepted);
        if written.is_ok() {
            let mut conversations = self.shared.lock();
            for line in accepted.iter().flat_map(|batch| &batch.lines) {
                // A request is at most some MiB.
                let length = u32::try_from(line.text.len()).unwrap_or(u32::MAX);
                conversations.add(line, Piece { start: self.end, length }, now);
                self.end += u64::from(length) + 1;
            }
        }
        // Also those that were refused may have finished some.
        self.shared.changed.notify_one();
        for batch in accepted {
            // The client may be gone.
            let _ = batch.answer.send(written.clone().map_err(Refused::Unwritten));
        }
    }

    /// Writes lines at the end of the file, all or none.
    fn write(&mut self, batches: &[Batch]) -> Result<(), String> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let mut text = Vec::new();
        for line in batches.iter().flat_map(|batch| &batch.lines) {
            text.extend_from_slice(&line.text);
            text.push(b'\n');
        }
        let written = self.file.seek(SeekFrom::Start(self.end)).and_then(|_| {
            self.file.write_all(&text)?;
            self.file.sync_data()
        });
        written.map_err(|error| {
            if let Err(error) = self.file.set_len(self.end) {
                self.failure = Some(format!("the end of the file is not known any more: {error}"));
            }
            error.to_string()
        })
    }
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
        let length = file.take(piece.length.into()).read_to_string(&mut text)?;
        if length != piece.length as usize {
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
    fn read_id(text: &str) -> Result<Vec<Line>, String> {
        let trace = parse(text).ok_or("no id")?;
        Ok(vec![Line { trace, has_root: true, text: text.into(), session: None }])
    }

    fn open(path: &Path) -> Result<(TraceFile, u64), FileError> {
        TraceFile::open(path, Conversations::new(Rules::new(false)), &read_id)
    }

    fn append(file: &TraceFile, ids: &[&str]) -> Result<(), Refused> {
        let lines = ids.iter().flat_map(|id| read_id(id).unwrap()).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(file.append(lines))
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
        file.close();
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
            file.close();
            assert_eq!(fs::read_to_string(&path).unwrap(), format!("{kept}{ONE}\n"));
        }
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
        let (file, _) = TraceFile::open(&path, Conversations::new(rules), &read_id).unwrap();
        assert_eq!(append(&file, &[ONE, TWO]), Err(Refused::Full));
        assert_eq!((append(&file, &[ONE]), append(&file, &[ONE])), (Ok(()), Ok(())));
        assert_eq!(append(&file, &[TWO]), Err(Refused::Full));
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{ONE}\n{ONE}\n"));
    }
}
