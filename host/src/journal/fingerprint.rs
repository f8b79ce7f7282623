//! What an evaluator is, in so far as it decides what it answers.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

use super::{
    Key,
    digest::{Digest, Digester},
};
use crate::{runtime::Composition, trace::FileStamp};

/// An evaluator as it was when the run began: what it consists of and how it is set up.
#[derive(Clone, Debug)]
pub struct Fingerprint {
    digest: Digest,
    /// The files whose content is in the digest, as they were then.
    files: Vec<(PathBuf, FileStamp)>,
}

/// A file that would have to be read to know what an evaluator is, and cannot be.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}: {source}", .path.display())]
pub struct Unreadable {
    path: PathBuf,
    source: io::Error,
}

impl Fingerprint {
    /// Of something that is the same as long as this is.
    #[must_use]
    pub fn of_settings(settings: Digester) -> Self {
        Self { digest: settings.finish(), files: Vec::new() }
    }

    /// Of a program that consists of these files and has these settings. Reads the files.
    ///
    /// # Errors
    ///
    /// One of them cannot be read.
    pub fn of_program(composition: &Composition, settings: Digester) -> Result<Self, Unreadable> {
        let mut digester = settings;
        let mut files = Vec::with_capacity(composition.files.len());
        for path in &composition.files {
            let (stamp, content) = content(path).map_err(|source| unreadable(path, source))?;
            digester = digester
                .bytes("file", path.as_os_str().as_encoded_bytes())
                .bytes("content", &content);
            files.push((path.clone(), stamp));
        }
        for path in &composition.programs {
            let found = path
                .canonicalize()
                .and_then(|real| Ok((FileStamp::of(&fs::metadata(&real)?), real)));
            let (stamp, real) = found.map_err(|source| unreadable(path, source))?;
            digester = digester
                // An environment's interpreter is a link to that of the system.
                .bytes("program", path.as_os_str().as_encoded_bytes())
                .bytes("real", real.as_os_str().as_encoded_bytes())
                .bytes("length", &stamp.length.to_le_bytes())
                .bytes("modified", &stamp.modified.to_le_bytes());
        }
        for note in &composition.notes {
            digester = digester.bytes("note", note.as_bytes());
        }
        Ok(Self { digest: digester.finish(), files })
    }

    /// The key of its evaluation of an input.
    #[must_use]
    pub fn key(&self, input: &Digest) -> Key {
        Key::new(&self.digest, input)
    }

    /// The key of the record that withdraws all earlier records of this evaluator.
    pub(super) fn withdrawal(&self) -> Key {
        Key::new(&self.digest, &Digester::new("withdrawal").finish())
    }

    /// A file that is not any more what it was when the run began, as far as size, time and place on the disk tell.
    #[must_use]
    pub fn changed(&self) -> Option<&Path> {
        let is_same = |path: &Path, stamp: &FileStamp| {
            fs::metadata(path).is_ok_and(|metadata| FileStamp::of(&metadata) == *stamp)
        };
        let changed = self.files.iter().find(|(path, stamp)| !is_same(path, stamp));
        changed.map(|(path, _)| path.as_path())
    }
}

fn unreadable(path: &Path, source: io::Error) -> Unreadable {
    Unreadable { path: path.to_owned(), source }
}

/// How a file was, and the hash of its content.
fn content(path: &Path) -> io::Result<(FileStamp, Digest)> {
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let (mut hasher, mut buffer) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok((FileStamp::of(&metadata), hasher.finalize().into())),
            read => hasher.update(&buffer[..read]),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::runtime::testing::Folder;

    #[test]
    fn what_decides_the_answers_changes_the_key_and_nothing_else_does() {
        let folder = Folder::new("journal-fingerprint");
        let check = folder.file("check.py", "1");
        let helper = folder.file("helper.py", "1");
        let python = folder.file("python", "x");
        let composition = |files: &[&PathBuf]| Composition {
            files: files.iter().map(|path| (*path).clone()).collect(),
            programs: BTreeSet::from([python.clone()]),
            ..Composition::default()
        };
        let both = composition(&[&check, &helper]);
        let key = |composition: &Composition, settings: &str| {
            let settings = Digester::new("program").bytes("settings", settings.as_bytes());
            Fingerprint::of_program(composition, settings).unwrap().key(&[0; 32])
        };
        let before = key(&both, "a");
        assert_eq!(before, key(&both, "a"));
        assert_eq!(before, key(&composition(&[&helper, &check]), "a"));
        let noted = Composition { notes: vec!["sdk 1".to_owned()], ..both.clone() };
        for other in [key(&both, "b"), key(&composition(&[&check]), "a"), key(&noted, "a")] {
            assert_ne!(before, other);
        }
        let fingerprint = Fingerprint::of_program(&both, Digester::new("")).unwrap();
        assert_eq!(fingerprint.changed(), None);
        folder.file("helper.py", "22");
        assert_eq!(fingerprint.changed(), Some(helper.as_path()));
        assert_ne!(before, key(&both, "a"));
        folder.file("helper.py", "1");
        assert_eq!(before, key(&both, "a"), "the content counts, not the time");
        folder.file("python", "xx");
        assert_ne!(before, key(&both, "a"));
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let folder = Folder::new("journal-unreadable");
        let mut composition = Composition::default();
        composition.files.insert(folder.path("gone.py"));
        let error = Fingerprint::of_program(&composition, Digester::new("")).unwrap_err();
        assert!(error.to_string().contains("gone.py"), "{error}");
        composition.files = BTreeSet::from([folder.path("")]);
        assert!(Fingerprint::of_program(&composition, Digester::new("")).is_err());
    }
}
