//! The file of a journal.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read, Seek, SeekFrom, Write},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use super::{
    Damage, JournalError, Key,
    header::{self, Header},
    scan::{Scanned, Span, scan},
};

/// How long the lock of a program may outlive it: until processes that it was just starting have become others.
const LOCK_PATIENCE: Duration = Duration::from_millis(500);

/// A file that is open, locked, and ends where the next record goes.
#[derive(Debug)]
pub(super) struct JournalFile {
    file: File,
    /// Where the next record goes.
    end: u64,
    /// Whether it can be read, cut off and forced to the disk. Devices and pipes can only be written to.
    is_regular: bool,
}

/// A file that was opened, and what is in it.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) file: JournalFile,
    /// Its records in order; later ones count more.
    pub(super) records: Vec<(Key, Span)>,
    /// What was dropped from its end.
    pub(super) damage: Option<Damage>,
}

/// Why there is no open file.
#[derive(Debug)]
pub(super) enum OpenError {
    /// It must not be used.
    Refused(JournalError),
    /// The system does not let us.
    Failed(io::Error),
}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

impl JournalFile {
    /// Opens a journal, or makes an empty one. What is damaged at its end is cut off.
    pub(super) fn open(path: &Path) -> Result<Opened, OpenError> {
        let is_new = !path.exists();
        let is_regular = is_new || path.is_file();
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).read(is_regular);
        private(&mut options);
        let file = options.open(path)?;
        let mut opened = Self { file, end: 0, is_regular };
        if !is_regular {
            opened.append(header::text().as_bytes())?;
            return Ok(Opened { file: opened, records: Vec::new(), damage: None });
        }
        opened.lock(path)?;
        let refused = |error: JournalError| Err(OpenError::Refused(error));
        let file = path.to_owned();
        let (records, damage) = match scan(&opened.file)? {
            Scanned::Journal(contents) => {
                opened.end = contents.end;
                if contents.damage.is_some() {
                    opened.cut()?;
                }
                (contents.records, contents.damage)
            }
            Scanned::Nothing { length } => {
                opened.cut()?;
                opened.append(header::text().as_bytes())?;
                opened.file.sync_data()?;
                if is_new {
                    keep_entry(path)?;
                }
                let reason = "there is no whole line in it".to_owned();
                let lost = Damage { line: 1, reason, bytes: length, records: 0 };
                (Vec::new(), (length > 0).then_some(lost))
            }
            Scanned::Unusable(Header::Version(version)) => {
                return refused(JournalError::Version { file, version });
            }
            Scanned::Unusable(Header::Damaged) => return refused(JournalError::Damaged { file }),
            Scanned::Unusable(Header::Foreign | Header::Ours) => {
                return refused(JournalError::Foreign { file });
            }
        };
        Ok(Opened { file: opened, records, damage })
    }

    /// Writes at the end. What could be written in part only is taken away again.
    pub(super) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.is_regular {
            self.file.seek(SeekFrom::Start(self.end))?;
        }
        let written = self.file.write_all(bytes);
        match &written {
            Ok(()) => self.end += bytes.len() as u64,
            Err(_) => {
                // If this fails as well, whoever reads the file sees that its end is not whole.
                let _ = self.cut();
            }
        }
        written
    }

    /// The text of a line.
    pub(super) fn read(&mut self, span: Span) -> io::Result<Vec<u8>> {
        self.file.seek(SeekFrom::Start(span.start))?;
        let mut text = Vec::new();
        (&self.file).take(span.length).read_to_end(&mut text)?;
        Ok(text)
    }

    /// Another handle of the same file, to have what is written forced to the disk while it is written to; `None` where
    /// that means nothing.
    pub(super) fn for_syncing(&self) -> io::Result<Option<File>> {
        self.is_regular.then(|| self.file.try_clone()).transpose()
    }

    fn cut(&mut self) -> io::Result<()> {
        if self.is_regular { self.file.set_len(self.end) } else { Ok(()) }
    }

    /// Some network file systems have no locks: there, nobody keeps two runs from writing to the same file.
    fn lock(&self, path: &Path) -> Result<(), OpenError> {
        let begun = Instant::now();
        loop {
            match self.file.try_lock() {
                Ok(()) => return Ok(()),
                Err(TryLockError::WouldBlock) if begun.elapsed() < LOCK_PATIENCE => {
                    thread::sleep(Duration::from_millis(10));
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(OpenError::Refused(JournalError::Busy { file: path.to_owned() }));
                }
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                    return Ok(());
                }
                Err(TryLockError::Error(error)) => return Err(error.into()),
            }
        }
    }
}

/// What evaluators say about conversations is nobody else's business.
#[cfg(unix)]
fn private(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt;
    options.mode(0o600);
}

/// Folders in a user's profile are the user's.
#[cfg(not(unix))]
fn private(_: &mut OpenOptions) {}

/// Forces to the disk that there is a new file of this name.
#[cfg(unix)]
fn keep_entry(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// Folders cannot be forced to the disk here.
#[cfg(not(unix))]
fn keep_entry(_: &Path) -> io::Result<()> {
    Ok(())
}
