//! Reads files from untrusted sources.

use std::{
    fs::{self, File, Metadata},
    io::{self, Read as _},
    path::Path,
};

/// Reads a regular file of at most `limit` bytes. Links are followed.
///
/// A pipe or device, e.g. in a cloned repository, could block for ever or never end.
///
/// # Errors
///
/// The file cannot be read, is not a regular file, or is longer.
pub fn read_file(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    // Before it is opened, which waits for a writer of a pipe, and again, because it may have been replaced.
    check(&fs::metadata(path)?)?;
    let file = File::open(path)?;
    check(&file.metadata()?)?;
    read_at_most(file, limit)
}

/// Reads everything, which must not be longer than `limit` bytes.
///
/// # Errors
///
/// It cannot be read, or is longer.
pub fn read_at_most(file: impl io::Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > limit {
        let text = format!("it is longer than {limit} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
    }
    Ok(bytes)
}

fn check(metadata: &Metadata) -> io::Result<()> {
    // Reading a directory is an error of the system.
    if metadata.is_file() || metadata.is_dir() {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_files_are_refused() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let length = fs::metadata(&path).unwrap().len();
        assert_eq!(read_file(&path, length).unwrap().len() as u64, length);
        let error = read_file(&path, length - 1).unwrap_err();
        assert!(error.to_string().contains("longer than"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn devices_are_refused() {
        let error = read_file(Path::new("/dev/zero"), 10).unwrap_err();
        assert_eq!(error.to_string(), "it is not a regular file");
    }
}
