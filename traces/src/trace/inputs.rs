//! Input files: those of directories, and copies of inputs that cannot be read in place.
//!
//! Standard input, pipes and compressed files are copied to a temporary file and indexed like any other, so memory
//! stays flat. `zstd` is the reference implementation: it reads several frames and bounds its window.

use std::{
    fs::{self, File, Metadata},
    io::{self, Cursor, Read, Write as _},
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use flate2::read::MultiGzDecoder;
use tempfile::{Builder, TempPath};

use super::error::{EXTENSIONS_TEXT, LoadError, LoadErrorKind};

/// Extensions of trace files, which may be followed by one of [`COMPRESSED`].
const EXTENSIONS: [&str; 3] = ["json", "jsonl", "ndjson"];
/// Extensions of compressed files.
const COMPRESSED: [&str; 3] = ["gz", "zst", "zstd"];

/// The trace files of some paths.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct TraceFiles {
    /// Files in the order of the paths, those of a directory sorted.
    pub files: Vec<PathBuf>,
    /// One error per directory that cannot be used.
    pub errors: Vec<LoadError>,
    /// Entries of directories that may hold traces but are not read: files with an extension of trace files that is not
    /// the last (`t.json.1`), and links to directories.
    skipped: Vec<PathBuf>,
}

impl TraceFiles {
    /// Returns the warning about skipped entries, if there are any.
    pub fn warning(&self) -> Option<String> {
        let first = self.skipped.first()?;
        let more = match self.skipped.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Some(format!(
            "{}{more} not read: a directory stands for files with the extensions {EXTENSIONS_TEXT}, and links to \
             directories are not followed; name what is to be read",
            first.display()
        ))
    }
}

/// Returns the trace files of some paths.
///
/// The trace files of a directory are the files with an extension of trace files in it and in its subdirectories, sorted by path.
/// Hidden files, hidden directories and links to directories are skipped. Every other path is a trace file itself.
pub fn trace_files(paths: &[PathBuf]) -> TraceFiles {
    let mut all = TraceFiles::default();
    for path in paths {
        if !path.is_dir() {
            all.files.push(path.clone());
            continue;
        }
        let mut found = Vec::new();
        if let Err((path, error)) = collect(path, &mut found, &mut all.skipped) {
            all.errors.push(LoadError { path, kind: LoadErrorKind::Read(error) });
        } else if found.is_empty() {
            all.errors.push(LoadError { path: path.clone(), kind: LoadErrorKind::EmptyDirectory });
        }
        found.sort_unstable();
        all.files.append(&mut found);
    }
    all.skipped.sort_unstable();
    all
}

fn collect(
    directory: &Path,
    found: &mut Vec<PathBuf>,
    skipped: &mut Vec<PathBuf>,
) -> Result<(), (PathBuf, io::Error)> {
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        let failed = |error| (directory.clone(), error);
        for entry in fs::read_dir(&directory).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.file_name().to_string_lossy().starts_with('.') {
                continue;
            }
            let path = entry.path();
            if entry.file_type().map_err(failed)?.is_dir() {
                open.push(path);
            } else if path.is_dir() {
                skipped.push(path);
            } else if is_trace_file(&path) {
                found.push(path);
            } else if may_be_trace_file(&path) {
                skipped.push(path);
            }
        }
    }
    Ok(())
}

/// Returns true for a path with an extension of trace files.
fn is_trace_file(path: &Path) -> bool {
    let has = |path: &Path, known: &[&str]| {
        let extension = path.extension().map(|it| it.to_string_lossy().to_lowercase());
        extension.is_some_and(|extension| known.contains(&&*extension))
    };
    has(path, &EXTENSIONS)
        || (has(path, &COMPRESSED)
            && path.file_stem().is_some_and(|stem| has(Path::new(stem), &EXTENSIONS)))
}

/// Returns true for a name with an extension of trace files that is not its last one, such as `t.json.1`.
fn may_be_trace_file(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    name.split('.').skip(1).any(|extension| EXTENSIONS.contains(&extension))
}

/// The path of the standard input.
const STDIN: &str = "-";
/// Prefix of the names of copies, by which those of a killed run are found.
const PREFIX: &str = "evaluator-trace-";
/// Size in bytes of the copy buffer.
const BUFFER: usize = 64 << 10;
/// Maximum length in bytes of the signature of a compression format.
const MAGIC: u64 = 4;

/// A compression format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compression {
    Gzip,
    Zstd,
}

impl Compression {
    /// Returns the format of content that starts with these bytes.
    fn of(start: &[u8]) -> Option<Self> {
        if start.starts_with(b"\x1f\x8b") {
            Some(Self::Gzip)
        } else if start.starts_with(b"\x28\xb5\x2f\xfd") {
            Some(Self::Zstd)
        } else {
            None
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }

    fn decoder<'r>(self, input: impl Read + 'r) -> io::Result<Box<dyn Read + 'r>> {
        Ok(match self {
            Self::Gzip => Box::new(MultiGzDecoder::new(input)),
            Self::Zstd => Box::new(zstd::stream::read::Decoder::new(input)?),
        })
    }
}

/// Copies an input that cannot be read in place to a temporary file: standard input, a pipe, or a compressed file, which is
/// decompressed. Returns `None` for other files.
///
/// A trace file is read several times, at any position. The copy keeps memory flat whatever the input is.
///
/// # Errors
///
/// The input cannot be read or decompressed, or the copy cannot be written.
pub(super) fn copy_if_needed(path: &Path) -> Result<Option<TempPath>, LoadErrorKind> {
    if path.as_os_str() == STDIN {
        return copy(io::stdin().lock()).map(Some);
    }
    let file = File::open(path).map_err(LoadErrorKind::Read)?;
    if !can_be_read_again(path) {
        return copy(file).map(Some);
    }
    let mut start = Vec::new();
    (&file).take(MAGIC).read_to_end(&mut start).map_err(LoadErrorKind::Read)?;
    match Compression::of(&start) {
        Some(_) => copy(Cursor::new(start).chain(file)).map(Some),
        None => Ok(None),
    }
}

/// Returns true for a file that can be opened and read several times: not a pipe, and not the standard input under another
/// name, whose position may be shared.
fn can_be_read_again(path: &Path) -> bool {
    let is_file = fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
    is_file && !path.starts_with("/dev") && !path.starts_with("/proc")
}

fn copy(mut input: impl Read) -> Result<TempPath, LoadErrorKind> {
    let mut start = Vec::new();
    input.by_ref().take(MAGIC).read_to_end(&mut start).map_err(LoadErrorKind::Read)?;
    let compression = Compression::of(&start);
    let failed = |error| match compression {
        Some(compression) => LoadErrorKind::Decompress { format: compression.name(), error },
        None => LoadErrorKind::Read(error),
    };
    let input = Cursor::new(start).chain(input);
    let mut content: Box<dyn Read> = match compression {
        Some(compression) => compression.decoder(input).map_err(failed)?,
        None => Box::new(input),
    };
    let mut file = Builder::new().prefix(PREFIX).tempfile().map_err(unwritable)?;
    let mut chunk = vec![0; BUFFER];
    loop {
        match content.read(&mut chunk) {
            Ok(0) => break,
            Ok(length) => file.write_all(&chunk[..length]).map_err(unwritable)?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(file.into_temp_path())
}

/// Returns the error of a copy that cannot be written.
fn unwritable(error: io::Error) -> LoadErrorKind {
    let text = format!("cannot copy it to the temporary directory: {error}");
    LoadErrorKind::Read(io::Error::new(error.kind(), text))
}

/// Metadata of a file that changes when the file is written or replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileStamp {
    /// Length in bytes.
    pub length: u64,
    /// Nanoseconds since the epoch; 0 if unknown.
    pub modified: u128,
    /// Inode; 0 if unknown.
    node: u64,
}

impl FileStamp {
    /// Returns the stamp of a file.
    pub fn of(metadata: &Metadata) -> Self {
        let since_epoch = |time: SystemTime| time.duration_since(UNIX_EPOCH).ok();
        let modified = metadata.modified().ok().and_then(since_epoch);
        Self {
            length: metadata.len(),
            modified: modified.map_or(0, |modified| modified.as_nanos()),
            node: node(metadata),
        }
    }
}

#[cfg(unix)]
fn node(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn node(_: &Metadata) -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression as Level, write::GzEncoder};

    #[test]
    fn a_directory_stands_for_the_trace_files_below_it() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for name in ["b.json", "a.JSONL", "sub/c.ndjson.gz", "sub/d.json.zst", "x.txt", "y.gz"] {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        fs::create_dir(root.join(".hidden")).unwrap();
        fs::write(root.join(".hidden/e.json"), "").unwrap();
        fs::write(root.join(".f.json"), "").unwrap();
        fs::create_dir(root.join("dir.json")).unwrap();
        let all = trace_files(&[PathBuf::from("gone.json"), root.to_owned()]);
        assert!(all.errors.is_empty() && all.warning().is_none());
        let files = all.files;
        let names: Vec<_> = files[1..].iter().map(|it| it.strip_prefix(root).unwrap()).collect();
        let expected = ["a.JSONL", "b.json", "sub/c.ndjson.gz", "sub/d.json.zst"];
        assert_eq!(names, expected.map(Path::new));
        let TraceFiles { files, errors, .. } = trace_files(&[root.join("dir.json")]);
        assert!(files.is_empty());
        assert!(errors[0].to_string().ends_with(
            "dir.json': the directory has no trace files (.json, .jsonl, .ndjson, each with or without .gz or .zst)"
        ));
    }

    fn gzip(text: &str) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Level::default());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    fn copied(content: &[u8]) -> Result<String, String> {
        let copy = copy(content).map_err(|error| error.to_string())?;
        Ok(fs::read_to_string(copy).unwrap())
    }

    #[test]
    fn content_is_decompressed_by_its_first_bytes() {
        let zstd = |text: &str| zstd::encode_all(text.as_bytes(), 0).unwrap();
        let name = copy(&b"plain"[..]).unwrap().file_name().unwrap().to_owned();
        assert!(name.to_string_lossy().starts_with(PREFIX), "{}", name.display());
        assert_eq!(copied(b"plain").unwrap(), "plain");
        assert_eq!(copied(b"").unwrap(), "");
        assert_eq!(copied(&gzip("one")).unwrap(), "one");
        assert_eq!(copied(&[gzip("one"), gzip("two")].concat()).unwrap(), "onetwo");
        assert_eq!(copied(&[zstd("one"), zstd("two")].concat()).unwrap(), "onetwo");
    }

    #[test]
    fn compressed_content_that_is_cut_or_damaged_is_an_error_at_every_length() {
        for whole in [gzip("a few words"), zstd::encode_all(&b"a few words"[..], 0).unwrap()] {
            for length in 4..whole.len() {
                let error = copied(&whole[..length]).expect_err("cut");
                assert!(error.starts_with("cannot decompress the "), "{length}: {error}");
            }
        }
        let mut damaged = gzip("a few words");
        let middle = damaged.len() / 2;
        damaged[middle] ^= 0xff;
        assert!(copied(&damaged).is_err());
    }
}
