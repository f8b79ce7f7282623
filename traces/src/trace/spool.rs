//! Copies of inputs that cannot be read in place: standard input, pipes and compressed files.
//!
//! A trace file is read several times, at any position. What does not allow that is copied to a temporary file first,
//! so that memory stays flat whatever the input is.

use std::{
    fs::{self, File},
    io::{self, Cursor, Read, Write as _},
    path::Path,
};

use flate2::read::MultiGzDecoder;
use tempfile::{Builder, TempPath};

use super::error::LoadErrorKind;

/// The name that stands for the standard input.
const STDIN: &str = "-";
/// How the names of copies begin: a killed run leaves its copies behind.
const PREFIX: &str = "evaluator-trace-";
/// Bytes that are copied at a time.
const CHUNK: usize = 64 << 10;
/// Bytes by which a compression format is known, at most.
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

/// Copies an input to a temporary file, decompressed if it is compressed. Returns `None` for a file that can be read in
/// place.
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

/// Returns true for a file that another reader finds as this one did: not a pipe, and not the standard input under a
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
    let mut chunk = vec![0; CHUNK];
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

/// The error of a copy that cannot be written.
fn unwritable(error: io::Error) -> LoadErrorKind {
    let text = format!("cannot copy it to the temporary directory: {error}");
    LoadErrorKind::Read(io::Error::new(error.kind(), text))
}

#[cfg(test)]
mod tests {
    use flate2::{Compression as Level, write::GzEncoder};

    use super::*;

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
