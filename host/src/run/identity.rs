//! Fingerprints of evaluators: everything that decides their answers.

use std::{
    env, fs,
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
};

use crate::{
    files::open_regular,
    report::run_file::{Digest, Digester},
    runtime::Inputs,
    trace::FileStamp,
};

/// Bytes that are hashed of the beginning and of the end of an interpreter. Its build id is among them.
const SAMPLE: u64 = 64 << 10;

/// Everything that decides the answers of an evaluator, as it was when the run started.
#[derive(Clone, Debug)]
pub(super) struct Fingerprint {
    digest: Digest,
    /// The files whose content is in the digest, as they were then.
    files: Vec<(PathBuf, FileStamp)>,
    /// Recordings of the models that it asks. They decide about the answers of this run, but two runs with different
    /// recordings have the same plan. An error if no answer may be used again.
    recorded: Vec<Result<String, String>>,
}

impl Fingerprint {
    /// Fingerprint of an evaluator that is the same as long as its settings are.
    #[must_use]
    pub(super) fn of_settings(settings: Digester) -> Self {
        Self { digest: settings.finish(), files: Vec::new(), recorded: Vec::new() }
    }

    /// Fingerprint of a program that consists of these files and has these settings. Reads the files.
    ///
    /// Files count by name and content, interpreters by a sample of their content: the same evaluator has the same
    /// fingerprint on another machine.
    ///
    /// # Errors
    ///
    /// One of the files cannot be read. The message names it.
    pub(super) fn of_program(inputs: &Inputs, settings: Digester) -> io::Result<Self> {
        let failed = |path: &Path, error: io::Error| {
            io::Error::other(format!("cannot read {}: {error}", path.display()))
        };
        let (mut files, mut contents) = (Vec::new(), Vec::new());
        for path in &inputs.files {
            let (stamp, content) = content(path).map_err(|error| failed(path, error))?;
            contents.push((portable(path), content));
            files.push((path.clone(), stamp));
        }
        for path in &inputs.programs {
            let content = sample(path).map_err(|error| failed(path, error))?;
            contents.push((format!("interpreter {}", portable(path)), content));
        }
        contents.sort();
        let digester = settings.json("files", &contents).json("notes", &inputs.notes);
        Ok(Self { digest: digester.finish(), files, recorded: Vec::new() })
    }

    /// Adds digests of recorded answers, or reasons why no answer may be used again.
    #[must_use]
    pub(super) fn with_recorded(self, recorded: Vec<Result<String, String>>) -> Self {
        Self { recorded, ..self }
    }

    /// The digest without the files.
    #[must_use]
    pub(super) fn digest(&self) -> Digest {
        self.digest
    }

    /// The key of the evaluation of an input: evaluations with the same key are the same work. `None` if no answer may be used
    /// again.
    #[must_use]
    pub(super) fn key(&self, input: &Digest) -> Option<Digest> {
        let digester = Digester::new("evaluation")
            .bytes("evaluator", self.digest.as_ref())
            .bytes("input", input.as_ref());
        let recorded = self.recorded.iter();
        let digester = recorded.map(Result::as_ref).try_fold(digester, |digester, recorded| {
            recorded.map(|recorded| digester.bytes("recorded", recorded.as_bytes()))
        });
        Some(digester.ok()?.finish())
    }

    /// Returns a file that has changed since the start of the run, by its size, time and inode.
    #[must_use]
    pub(super) fn changed(&self) -> Option<&Path> {
        let is_same = |path: &Path, stamp: &FileStamp| {
            fs::metadata(path).is_ok_and(|metadata| FileStamp::of(&metadata) == *stamp)
        };
        let changed = self.files.iter().find(|(path, stamp)| !is_same(path, stamp));
        changed.map(|(path, _)| path.as_path())
    }
}

/// A path as other machines have it, too: relative to the working directory; outside of it, the name of the file.
#[must_use]
pub(super) fn portable(path: &Path) -> String {
    let here = env::current_dir().unwrap_or_default();
    let name = path.strip_prefix(here).ok().or(path.file_name().map(Path::new));
    name.unwrap_or(path).to_string_lossy().replace('\\', "/")
}

/// State of a file, and the hash of its content.
fn content(path: &Path) -> io::Result<(FileStamp, Digest)> {
    let mut file = open_regular(path)?;
    let metadata = file.metadata()?;
    let mut hasher = Digester::default();
    io::copy(&mut file, &mut hasher)?;
    Ok((FileStamp::of(&metadata), hasher.finish()))
}

/// Hash of the length, the beginning and the end of a file.
fn sample(path: &Path) -> io::Result<Digest> {
    let mut file = open_regular(path)?;
    let length = file.metadata()?.len();
    let mut hasher = Digester::default();
    hasher.write_all(&length.to_le_bytes())?;
    io::copy(&mut (&file).take(SAMPLE), &mut hasher)?;
    file.seek(SeekFrom::Start(length.saturating_sub(SAMPLE)))?;
    io::copy(&mut file.take(SAMPLE), &mut hasher)?;
    Ok(hasher.finish())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::runtime::testing::Directory;

    #[test]
    fn keys_depend_on_the_evaluator_and_on_the_input() {
        let key = |evaluator: &str, input: &str| {
            let input = Digester::new(input).finish();
            Fingerprint::of_settings(Digester::new(evaluator)).key(&input)
        };
        assert_ne!(key("a", "1"), key("a", "2"));
        assert_ne!(key("a", "1"), key("b", "1"));
    }

    #[test]
    fn what_decides_the_answers_changes_the_key_and_nothing_else_does() {
        let directory = Directory::new("run-fingerprint");
        let check = directory.file("check.py", "1");
        let helper = directory.file("helper.py", "1");
        let python = directory.file("python", "x");
        let inputs = |files: &[&PathBuf]| Inputs {
            files: files.iter().map(|path| (*path).clone()).collect(),
            programs: BTreeSet::from([python.clone()]),
            ..Inputs::default()
        };
        let both = inputs(&[&check, &helper]);
        let key = |inputs: &Inputs, settings: &str| {
            let settings = Digester::new("program").bytes("settings", settings.as_bytes());
            Fingerprint::of_program(inputs, settings).unwrap().digest()
        };
        let before = key(&both, "a");
        assert_eq!(before, key(&both, "a"));
        assert_eq!(before, key(&inputs(&[&helper, &check]), "a"));
        let noted = Inputs { notes: vec!["sdk 1".to_owned()], ..both.clone() };
        for other in [key(&both, "b"), key(&inputs(&[&check]), "a"), key(&noted, "a")] {
            assert_ne!(before, other);
        }
        let fingerprint = Fingerprint::of_program(&both, Digester::new("")).unwrap();
        assert_eq!(fingerprint.changed(), None);
        directory.file("helper.py", "22");
        assert_eq!(fingerprint.changed(), Some(helper.as_path()));
        assert_ne!(before, key(&both, "a"));
        directory.file("helper.py", "1");
        assert_eq!(before, key(&both, "a"), "the content counts, not the time");
        directory.file("python", "xx");
        assert_ne!(before, key(&both, "a"));
    }

    #[test]
    fn the_directory_of_an_evaluator_does_not_count() {
        let key = |directory: &Directory| {
            let files =
                BTreeSet::from([directory.file("check.py", "1"), directory.file("a.py", "2")]);
            let inputs = Inputs { files, ..Inputs::default() };
            Fingerprint::of_program(&inputs, Digester::new("")).unwrap().digest()
        };
        assert_eq!(key(&Directory::new("run-here")), key(&Directory::new("run-there")));
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let directory = Directory::new("run-unreadable");
        let mut inputs = Inputs::default();
        inputs.files.insert(directory.path("gone.py"));
        let error = Fingerprint::of_program(&inputs, Digester::new("")).unwrap_err();
        assert!(error.to_string().contains("gone.py"), "{error}");
        inputs.files = BTreeSet::from([directory.path("")]);
        assert!(Fingerprint::of_program(&inputs, Digester::new("")).is_err());
    }
}
