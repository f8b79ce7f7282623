//! The bytes of an archive, which are the same for the same files.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use flate2::{Compression, GzBuilder};
use tar::{Builder, HeaderMode};

/// Writes the files of a directory, and a program that is not in it.
pub(crate) fn write(
    directory: &Path,
    (name, program): (&str, &Path),
    out: &mut dyn Write,
) -> io::Result<()> {
    // A program with information for debuggers is large, and a compressor that was not optimized is slow.
    let level = if cfg!(debug_assertions) { Compression::none() } else { Compression::default() };
    let mut archive = Builder::new(GzBuilder::new().write(out, level));
    archive.mode(HeaderMode::Deterministic);
    archive.follow_symlinks(false);
    // Where a file has holes differs between file systems.
    archive.sparse(false);
    archive.append_file(name, &mut File::open(program)?)?;
    for path in below(directory)? {
        archive.append_path_with_name(&path, path.strip_prefix(directory).unwrap_or(&path))?;
    }
    archive.into_inner()?.finish()?.flush()
}

/// Returns everything below a directory in the order of the names, each directory before what is in it. Follows no links.
pub(crate) fn below(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory)?.map(|entry| Ok(entry?.path()));
    let mut entries = entries.collect::<io::Result<Vec<_>>>()?;
    entries.sort();
    let mut all = Vec::new();
    for path in entries {
        let is_directory = path.symlink_metadata()?.is_dir();
        all.push(path.clone());
        if is_directory {
            all.extend(below(&path)?);
        }
    }
    Ok(all)
}

/// Returns every file below a directory, likewise.
pub(crate) fn files_below(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut all = below(directory)?;
    all.retain(|path| path.is_file() && !path.is_symlink());
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_in_files_change_nothing() {
        let archives = [true, false].map(|has_hole| {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("file");
            let length = 1 << 20;
            match has_hole {
                true => File::create(&path).unwrap().set_len(length).unwrap(),
                false => fs::write(&path, vec![0; usize::try_from(length).unwrap()]).unwrap(),
            }
            let mut out = Vec::new();
            write(directory.path(), ("program", &path), &mut out).unwrap();
            out
        });
        assert!(archives[0] == archives[1]);
    }
}
