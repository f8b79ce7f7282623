//! A run file with a name: opened, locked, read for a run that resumes it, and replaced when that run starts.

use std::{
    collections::{BTreeSet, HashMap},
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, BufWriter, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use evaluator_traces::trace::FileStamp;
use serde::Deserialize;

use super::{
    FileProblem, Header, RunFileError, Unusable,
    format::{
        self, EndRecord, EvaluationRecord, FOREIGN, FORMAT, START, VERSION, WithdrawnRecord, kind,
    },
    part::{Part, part_name},
    store::{Lines, Span, Store},
};
use crate::{
    Partial,
    digest::{Digest, Digester, ENCODING},
};

/// Directory of run files without a name, in the working directory.
const DIRECTORY: &str = ".evaluator";

/// Time for which the lock may still be held after the program exited: processes that it was starting hold the lock until
/// they execute their program.
const LOCK_LIMIT: Duration = Duration::from_millis(500);

/// The file that a run is saved in.
///
/// A file that cannot be opened or written, because of its permissions or a full disk, does not stop a run: the run ends
/// with an error, and its report is complete.
#[derive(Debug)]
pub struct RunFile {
    path: PathBuf,
    resume: bool,
    /// Taken by the run; an error message if the file cannot be used.
    opened: Mutex<Result<Opened, String>>,
}

/// A file that is open and locked, and the part of its content that a run may use.
#[derive(Debug)]
pub(super) struct Opened {
    file: File,
    /// Lines of evaluations that are kept, by their keys, each with the name of its evaluator.
    evaluations: HashMap<Digest, (Span, String)>,
    /// Damaged lines, if there are any.
    pub(super) damage: Option<Damage>,
}

/// The members of a header that decide whether the others can be read.
#[derive(Default, Deserialize)]
#[serde(default)]
struct FormatOf {
    format: String,
    version: u64,
}

/// The part of an evaluation that is read: the name of the evaluator.
#[derive(Deserialize)]
struct Named {
    name: String,
}

/// The part of an end line that is read: whether everything was evaluated.
#[derive(Deserialize)]
struct Ended {
    partial: Option<Partial>,
}

/// Lines of a run file that differ from those that were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Number of the first damaged line, from 1.
    pub line: usize,
    /// Its position in bytes.
    pub offset: u64,
    /// Description of the damage.
    pub reason: String,
    /// Number of damaged lines.
    pub lines: usize,
}

impl Damage {
    /// Counts a damaged line.
    pub(super) fn add(damage: &mut Option<Self>, line: usize, offset: u64, reason: &str) {
        let first = || Self { line, offset, reason: reason.to_owned(), lines: 0 };
        damage.get_or_insert_with(first).lines += 1;
    }
}

impl RunFile {
    /// Opens a run file, or creates an empty one. The run that starts replaces its content.
    ///
    /// With `resume`, the run uses the evaluations in the file, and keeps those that it does not need. Without, it keeps
    /// those of a run that did not end, for a run that resumes later, and uses none. Blocks while the file is read.
    ///
    /// # Errors
    ///
    /// The file is in use, or is not a run file that this version reads. Nothing in it was changed.
    pub fn open(path: &Path, resume: bool) -> Result<Self, RunFileError> {
        Self::open_part(path, resume, None)
    }

    /// Opens a run file for a part of a run, as [`open`](Self::open) does for a whole one.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open), and the run would resume a file that has another part.
    pub fn open_part(path: &Path, resume: bool, part: Option<Part>) -> Result<Self, RunFileError> {
        let opened = match Opened::new(path, resume, part) {
            Ok(opened) => Ok(opened),
            Err(Unusable::Refused(error)) => return Err(error),
            Err(Unusable::Failed(error)) => Err(error.to_string()),
        };
        Ok(Self { path: path.to_owned(), resume, opened: Mutex::new(opened) })
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns true if the run uses evaluations in the file.
    pub fn resumes(&self) -> bool {
        self.resume
    }

    /// Hands the file to a run.
    pub(super) fn take(&self) -> Result<Opened, String> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut opened, Err("it belongs to another run".to_owned()))
    }
}

impl Opened {
    fn new(path: &Path, resume: bool, part: Option<Part>) -> Result<Self, Unusable> {
        create_default_directory(path)?;
        outlive_limits();
        let file = open_locked(path)?;
        let mut opened = Self { file, evaluations: HashMap::new(), damage: None };
        let (mut lines, mut buffer) = (Lines::new(opened.file.try_clone()?), Vec::new());
        let Some(first) = lines.next(&mut buffer)? else { return Ok(opened) };
        let is_cut_off = lines.end == first.length;
        if is_cut_off && (format::may_start(&buffer) || is_zero(&opened.file)?) {
            // The process or the machine stopped while the header was written, so there never was a record.
            Damage::add(&mut opened.damage, 1, 0, "the line is cut off");
            return Ok(opened);
        }
        let header = read_header(path, &buffer)?;
        if resume && header.part != part {
            let [found, expected] = [header.part, part].map(part_name);
            return Err(FileProblem::OtherPart(found, expected).of(path).into());
        }
        if header.encoding != ENCODING {
            return if resume { Err(FileProblem::Encoding.of(path).into()) } else { Ok(opened) };
        }
        let mut is_complete = false;
        while let Some(span) = lines.next(&mut buffer)? {
            let is_cut_off = lines.end == span.start + span.length;
            let record = match format::open(&buffer) {
                Ok(_) if is_cut_off => Err("the line end is missing"),
                record => record,
            };
            is_complete = false;
            let read = match record {
                Ok(kind::END) => format::record(&buffer)
                    .map(|end: EndRecord<Ended>| is_complete = end.report.partial.is_none()),
                Ok(kind::EVALUATION) => {
                    format::record(&buffer).map(|record| opened.keep(span, record))
                }
                Ok(kind::WITHDRAWN) => {
                    format::record(&buffer).map(|WithdrawnRecord { evaluator, .. }| {
                        opened.evaluations.retain(|_, (_, name)| *name != evaluator);
                    })
                }
                other => other.map(drop),
            };
            if let Err(reason) = read {
                Damage::add(&mut opened.damage, lines.number, span.start, reason);
            }
        }
        if is_complete && !resume {
            opened.evaluations.clear();
        }
        Ok(opened)
    }

    /// Returns true if the file has no content.
    pub(super) fn is_empty(&self) -> bool {
        self.file.metadata().is_ok_and(|found| found.len() == 0)
    }

    /// Keeps an evaluation. A later one with the same key replaces it.
    fn keep(&mut self, span: Span, record: EvaluationRecord<Named>) {
        if let (Some(key), true) = (record.key, record.reusable) {
            self.evaluations.insert(key, (span, record.evaluation.name));
        }
    }

    /// Replaces the content by a header and the evaluations that are kept. Returns where those are, by their keys, and the
    /// store that continues the file.
    ///
    /// The file is replaced in one step, so a process that is killed meanwhile loses none of them.
    ///
    /// # Errors
    ///
    /// Writing fails.
    pub(super) fn start(
        self,
        path: &Path,
        header: Header,
    ) -> io::Result<(Store, HashMap<Digest, Span>)> {
        let Self { mut file, evaluations, .. } = self;
        let header = Header { earlier: evaluations.len(), ..header };
        let mut line = Vec::new();
        format::write_line(&mut line, kind::HEADER, &header)?;
        if evaluations.is_empty() {
            file.set_len(0)?;
            file.seek(SeekFrom::Start(0))?;
            file.write_all(&line).inspect_err(|_| drop(file.set_len(0)))?;
            file.sync_data()?;
            return Ok((Store::named(file, line.len() as u64), HashMap::new()));
        }
        let directory = directory_of(path);
        let new = tempfile::Builder::new()
            .prefix(".evaluator-")
            .suffix(".part")
            .tempfile_in(directory)?;
        // It is locked before it has its name. A file system without locks has none for the old file either.
        let _ = new.as_file().try_lock();
        let (end, kept) = copy(&mut file, evaluations, &line, new.as_file())?;
        new.as_file().sync_data()?;
        // The lock is held until the new file is in place, where a file that is open can be replaced.
        let _old = (!cfg!(windows)).then_some(file);
        let file = new.persist(path).map_err(|error| error.error)?;
        // The new name is on the disk, too, where directories can be opened.
        if cfg!(unix) {
            File::open(directory)?.sync_all()?;
        }
        Ok((Store::named(file, end), kept))
    }
}

/// Writes a header and the lines of evaluations to a new file. Returns its length, and where the lines are.
fn copy(
    old: &mut File,
    evaluations: HashMap<Digest, (Span, String)>,
    header: &[u8],
    new: &File,
) -> io::Result<(u64, HashMap<Digest, Span>)> {
    let mut at: HashMap<u64, Digest> =
        evaluations.into_iter().map(|(key, (span, _))| (span.start, key)).collect();
    let (mut end, mut kept) = (header.len() as u64, HashMap::with_capacity(at.len()));
    let mut out = BufWriter::new(new);
    out.write_all(header)?;
    old.seek(SeekFrom::Start(0))?;
    let (mut lines, mut line) = (Lines::new(old), Vec::new());
    while let Some(span) = lines.next(&mut line)? {
        if let Some(key) = at.remove(&span.start) {
            line.push(b'\n');
            out.write_all(&line)?;
            kept.insert(key, Span { start: end, ..span });
            end += line.len() as u64;
        }
    }
    out.flush()?;
    Ok((end, kept))
}

/// Likely cause of a damaged header at whose end there is a carriage return.
const CRLF: &str = ", because another program has changed its line ends from LF to CR LF (git, an editor, a transfer as text); copy \
                    it again as a binary file";

/// Reads the first line of a file, without its line end.
///
/// # Errors
///
/// The line is not the header of a run file that this version reads.
pub(super) fn read_header(path: &Path, line: &[u8]) -> Result<Header, RunFileError> {
    let cause = if line.ends_with(b"\r") { CRLF } else { "" };
    let found: FormatOf = match format::open(line) {
        Ok(_) => serde_json::from_slice(line).unwrap_or_default(),
        Err(reason) if reason != FOREIGN && line.starts_with(START) => {
            return Err(FileProblem::Damaged(cause).of(path));
        }
        Err(_) => return Err(FileProblem::Foreign.of(path)),
    };
    match found {
        FormatOf { format, .. } if format != FORMAT => Err(FileProblem::Foreign.of(path)),
        FormatOf { version, .. } if version != VERSION => {
            Err(FileProblem::Version(version).of(path))
        }
        _ => serde_json::from_slice(line).map_err(|_| FileProblem::Damaged(cause).of(path)),
    }
}

/// Opens a file and locks it. On a file system without locks, several runs may write to the same file.
fn open_locked(path: &Path) -> Result<File, Unusable> {
    let started = Instant::now();
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    private(&mut options);
    loop {
        if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            return Err(FileProblem::NotAFile.of(path).into());
        }
        let file = options.open(path)?;
        match file.try_lock() {
            // A run that ended meanwhile may have replaced the file.
            Ok(()) if FileStamp::of(&file.metadata()?) == FileStamp::of(&fs::metadata(path)?) => {
                return Ok(file);
            }
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                return Ok(file);
            }
            Err(TryLockError::Error(error)) => return Err(error.into()),
            Ok(()) => {}
            Err(TryLockError::WouldBlock) if started.elapsed() < LOCK_LIMIT => {
                thread::sleep(Duration::from_millis(10));
            }
            Err(TryLockError::WouldBlock) => return Err(FileProblem::Busy.of(path).into()),
        }
    }
}

/// Returns true if a file contains nothing but zeros, as a machine without power may leave it.
fn is_zero(mut file: &File) -> io::Result<bool> {
    let mut buffer = vec![0; 1 << 16];
    file.seek(SeekFrom::Start(0))?;
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(true),
            length if buffer[..length].iter().any(|byte| *byte != 0) => return Ok(false),
            _ => {}
        }
    }
}

/// Makes the file readable by its owner only, since it contains the answers of evaluators.
#[cfg(unix)]
fn private(options: &mut OpenOptions) {
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
}

/// Directories in a user's profile belong to the user.
#[cfg(not(unix))]
fn private(_: &mut OpenOptions) {}

fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The file of a resumed run without a name: `.evaluator/run-<hash>.evalrun` in the working directory.
///
/// The name depends on the path of the configuration, or without one on the names of the `evaluators` in any order. It does
/// not depend on the trace files, so a run with one more trace resumes the last one.
pub fn default_file<'a>(
    config: Option<&Path>,
    evaluators: impl IntoIterator<Item = &'a str>,
) -> PathBuf {
    let digester = match config {
        Some(config) => {
            let absolute = std::path::absolute(config).unwrap_or_else(|_| config.to_owned());
            Digester::new("file").bytes("config", absolute.as_os_str().as_encoded_bytes())
        }
        None => Digester::new("file").json("evaluators", &BTreeSet::from_iter(evaluators)),
    };
    let hash = &digester.finish().to_string()[..16];
    Path::new(DIRECTORY).join(format!("run-{hash}.evalrun"))
}

/// Creates the directory of [`default_file`], with a file that keeps it out of version control.
fn create_default_directory(file: &Path) -> io::Result<()> {
    let directory = Path::new(DIRECTORY);
    if file.parent() != Some(directory) || directory.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(directory)?;
    fs::write(directory.join(".gitignore"), "*\n")
}

/// Has the system refuse writes beyond the maximum size of a file (`ulimit -f`), instead of ending this process.
///
/// The handler stays installed for the life of the process; child processes are unaffected.
#[cfg(unix)]
fn outlive_limits() {
    use tokio::{
        runtime::Builder,
        signal::unix::{SignalKind, signal},
    };
    let Ok(runtime) = Builder::new_current_thread().enable_io().build() else { return };
    {
        let _inside = runtime.enter();
        drop(signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())));
    }
    // The caller may be inside another one.
    runtime.shutdown_background();
}

/// Other systems do not have this limit.
#[cfg(not(unix))]
fn outlive_limits() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_evaluators_have_the_same_file() {
        let file = |config: Option<&str>, evaluators: &[&str]| {
            default_file(config.map(Path::new), evaluators.iter().copied())
        };
        let first = file(Some("c.yaml"), &["a"]);
        assert_eq!(first, file(Some("./c.yaml"), &["b"]));
        assert_ne!(first, file(Some("d.yaml"), &["a"]));
        assert_eq!(file(None, &["a", "b"]), file(None, &["b", "a"]));
        assert_ne!(file(None, &["a", "b"]), file(None, &["a"]));
        let name = first.to_str().unwrap();
        assert!(name.starts_with(".evaluator/run-") && name.ends_with(".evalrun"), "{name}");
    }
}
