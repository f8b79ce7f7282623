//! The bytes of an archive, which are the same for the same files.

use std::{
    fs::{self, File, FileType},
    io::{self, Write},
    path::{Path, PathBuf},
};

use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType, Header};

/// Time of every file: 1980, the first that all archives can have.
const TIME: u64 = 315_532_800;

/// Writes the files of a directory, and a program that is not in it.
pub(crate) fn write(
    directory: &Path,
    (name, program): (&str, &Path),
    out: &mut dyn Write,
) -> io::Result<()> {
    // A program with information for debuggers is large, and a compressor that was not optimized is slow.
    let level = if cfg!(debug_assertions) { Compression::none() } else { Compression::default() };
    let mut archive = Builder::new(GzBuilder::new().write(out, level));
    append_file(&mut archive, Path::new(name), program, true)?;
    append_below(&mut archive, directory, Path::new(""))?;
    archive.into_inner()?.finish()?.flush()
}

/// Adds the entries of a directory in the order of their names, with those below them.
fn append_below(
    archive: &mut Builder<impl Write>,
    directory: &Path,
    inner: &Path,
) -> io::Result<()> {
    let entries = fs::read_dir(directory.join(inner))?.map(|entry| Ok(entry?.file_name()));
    let mut names = entries.collect::<io::Result<Vec<_>>>()?;
    names.sort();
    for name in names {
        let name = inner.join(name);
        let path = directory.join(&name);
        let metadata = path.symlink_metadata()?;
        if metadata.is_symlink() {
            let mut header = header(EntryType::Symlink, 0o777);
            archive.append_link(&mut header, &name, fs::read_link(&path)?)?;
        } else if metadata.is_dir() {
            let mut header = header(EntryType::Directory, 0o755);
            archive.append_data(&mut header, &name, io::empty())?;
            append_below(archive, directory, &name)?;
        } else {
            append_file(archive, &name, &path, is_program(&metadata))?;
        }
    }
    Ok(())
}

fn append_file(
    archive: &mut Builder<impl Write>,
    name: &Path,
    path: &Path,
    is_program: bool,
) -> io::Result<()> {
    let file = File::open(path)?;
    let mut header = header(EntryType::Regular, if is_program { 0o755 } else { 0o644 });
    header.set_size(file.metadata()?.len());
    archive.append_data(&mut header, name, file)
}

fn header(kind: EntryType, mode: u32) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_mtime(TIME);
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(0);
    header
}

#[cfg(unix)]
fn is_program(metadata: &fs::Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o111 != 0
}

/// Modes are of Unix: elsewhere, the name of a file decides.
#[cfg(not(unix))]
fn is_program(_: &fs::Metadata) -> bool {
    false
}

/// Returns every file below a directory, without following links.
pub(crate) fn files_below(directory: &Path) -> io::Result<Vec<PathBuf>> {
    below(directory, FileType::is_file)
}

/// Returns every link below a directory.
pub(crate) fn links_below(directory: &Path) -> io::Result<Vec<PathBuf>> {
    below(directory, FileType::is_symlink)
}

fn below(directory: &Path, is_wanted: fn(&FileType) -> bool) -> io::Result<Vec<PathBuf>> {
    let (mut found, mut unread) = (Vec::new(), vec![directory.to_owned()]);
    while let Some(directory) = unread.pop() {
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                unread.push(entry.path());
            } else if is_wanted(&kind) {
                found.push(entry.path());
            }
        }
    }
    Ok(found)
}
