//! Fingerprints of evaluators: everything that decides their answers.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Component, Path, PathBuf},
};

use serde::Serialize;
use serde_json::Value;

use crate::{
    files::open_regular,
    report::run_file::{Digest, Digester, FingerprintParts},
    runtime::{Inputs, paths},
    trace::FileStamp,
};

/// Bytes that are hashed of the beginning and of the end of an interpreter. Its build id is among them.
const SAMPLE: u64 = 64 << 10;

/// Directory next to the configuration of a bundle with what was elsewhere where the bundle was made: compiled programs,
/// packages, fetched evaluators.
pub const BUNDLED: &str = "bundle-files";

/// Everything that decides the answers of an evaluator, as it was when the run started.
#[derive(Clone, Debug)]
pub struct Fingerprint {
    parts: FingerprintParts,
    digest: Digest,
    /// The files that run, as they were then.
    files: Vec<(PathBuf, FileStamp)>,
    /// Recordings of the models that it asks. They decide about the answers of this run, but two runs with different
    /// recordings have the same plan. An error if no answer may be used again.
    recorded: Vec<Result<String, String>>,
}

impl Fingerprint {
    /// Fingerprint of an evaluator that is the same as long as these parts are.
    pub fn new(parts: FingerprintParts) -> Self {
        let digest = parts.fingerprint();
        Self { parts, digest, files: Vec::new(), recorded: Vec::new() }
    }

    /// Fingerprint of a program of a project that consists of these files. Reads the files. `parts` are the others.
    ///
    /// Sources count by name and content, interpreters by a sample of their content: the same evaluator has the same code
    /// on another machine.
    ///
    /// # Errors
    ///
    /// One of the files cannot be read. The message names it.
    pub fn of_program(
        inputs: &Inputs,
        project: &Project,
        mut parts: FingerprintParts,
    ) -> io::Result<Self> {
        let failed = |path: &Path, error: io::Error| {
            io::Error::other(format!("cannot read {}: {error}", path.display()))
        };
        let read = |path: &Path| content(path).map_err(|error| failed(path, error));
        let (mut files, mut run) = (Vec::new(), Vec::new());
        for path in &inputs.files {
            let (stamp, content) = read(path)?;
            files.push((path.clone(), stamp));
            run.push((path, content));
        }
        let name = |path: &Path, all| project.name(path, all);
        if inputs.sources.is_empty() && inputs.code.is_empty() {
            parts.code.extend(run.into_iter().map(|(path, it)| (name(path, &inputs.files), it)));
        } else {
            for path in &inputs.sources {
                parts.code.insert(name(path, &inputs.sources), read(path)?.1);
            }
            for (name, digest) in &inputs.code {
                parts.code.insert(name.clone(), known_digest(digest)?);
            }
            let compiled: Vec<Digest> = run.into_iter().map(|(_, content)| content).collect();
            parts.environment.insert("program".to_owned(), value_digest(&compiled));
        }
        add_environment(inputs, &mut parts)?;
        Ok(Self { files, ..Self::new(parts) })
    }

    /// Adds digests of recorded answers, or reasons why no answer may be used again.
    #[must_use]
    pub fn with_recorded(self, recorded: Vec<Result<String, String>>) -> Self {
        Self { recorded, ..self }
    }

    /// The digest without the files.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// What the digest is of.
    pub fn parts(&self) -> &FingerprintParts {
        &self.parts
    }

    /// The key of the evaluation of an input: evaluations with the same key are the same work. `None` if no answer may be used
    /// again.
    pub(crate) fn key(&self, input: &Digest) -> Option<Digest> {
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
    pub(crate) fn changed(&self) -> Option<&Path> {
        let is_same = |path: &Path, stamp: &FileStamp| {
            fs::metadata(path).is_ok_and(|metadata| FileStamp::of(&metadata) == *stamp)
        };
        let changed = self.files.iter().find(|(path, stamp)| !is_same(path, stamp));
        changed.map(|(path, _)| path.as_path())
    }
}

/// Adds what a program needs of its machine.
///
/// # Errors
///
/// An interpreter cannot be read. The message names it.
pub fn add_environment(inputs: &Inputs, parts: &mut FingerprintParts) -> io::Result<()> {
    let sampled = |path: &PathBuf| {
        let failed = |error| io::Error::other(format!("cannot read {}: {error}", path.display()));
        sample(path).map_err(failed)
    };
    let interpreters = inputs.programs.iter().map(sampled).collect::<io::Result<BTreeSet<_>>>()?;
    if !interpreters.is_empty() {
        parts.environment.insert("interpreter".to_owned(), value_digest(&interpreters));
    }
    if !inputs.notes.is_empty() {
        parts.environment.insert("packages".to_owned(), value_digest(&inputs.notes));
    }
    Ok(())
}

/// Adds the digest of a value by its key; instead of that of an object, those of its members. `null` stands for a key that is
/// not set.
pub fn add_values(digests: &mut BTreeMap<String, Digest>, key: &str, value: &Value) {
    match value {
        Value::Null => {}
        Value::Object(members) if !members.is_empty() => {
            for (name, value) in members {
                let inner = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
                add_values(digests, &inner, value);
            }
        }
        value => drop(digests.insert(key.to_owned(), value_digest(value))),
    }
}

/// The digest of a value.
pub fn value_digest(value: &impl Serialize) -> Digest {
    Digester::new("value").json("value", value).finish()
}

/// The directory of a configuration, from which the files of its evaluators are named: the names are the same in every checkout
/// of a project and in every working directory.
#[derive(Clone, Debug)]
pub struct Project(PathBuf);

impl Project {
    /// The project of a file; of the working directory if there is none.
    pub fn of(config: Option<&Path>) -> Self {
        let directory = config.and_then(Path::parent).filter(|it| !it.as_os_str().is_empty());
        let directory = directory.unwrap_or(Path::new("."));
        Self(paths::resolve(directory).unwrap_or_else(|_| directory.to_owned()))
    }

    /// Returns the name of a file, one of `all`: its path in the project; outside of the project, the last parts of the path
    /// that no other file has.
    pub fn name(&self, path: &Path, all: &BTreeSet<PathBuf>) -> String {
        if let Some(inside) = self.inside(path) {
            return portable(inside);
        }
        let parts: Vec<_> = path.components().collect();
        let is_of = |other: &Path, end: &Path| match self.inside(other) {
            Some(inside) => inside == end,
            None => other != path && other.ends_with(end),
        };
        let mut ends = (0..parts.len()).rev().map(|at| parts[at..].iter().collect::<PathBuf>());
        let end = ends.find(|end| !all.iter().any(|other| is_of(other, end)));
        portable(end.as_deref().unwrap_or(path))
    }

    /// Returns the path in the project. What a bundle has brought from elsewhere is not in it.
    fn inside<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        path.strip_prefix(&self.0).ok().filter(|inside| !inside.starts_with(BUNDLED))
    }

    /// Returns the path from the project, with `..` to what is outside of it: files of one name are different programs.
    pub fn setting(&self, path: &Path) -> String {
        let (own, other) = (self.0.components(), path.components());
        let common = own.clone().zip(other.clone()).take_while(|(own, other)| own == other).count();
        let up = own.skip(common).map(|_| Component::ParentDir);
        portable(&up.chain(other.skip(common)).collect::<PathBuf>())
    }

    /// Returns the path in the project; of a path outside of it, the whole.
    pub fn relative(&self, path: &Path) -> String {
        portable(path.strip_prefix(&self.0).unwrap_or(path))
    }
}

/// The same text on every system.
fn portable(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}

/// Reads a digest that was computed elsewhere.
fn known_digest(text: &str) -> io::Result<Digest> {
    serde_json::from_value(Value::from(text)).map_err(io::Error::other)
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
    use evaluator_test_support::Directory;

    use super::*;

    fn parts(settings: &str) -> FingerprintParts {
        let settings = [("threshold".to_owned(), value_digest(&settings))].into();
        FingerprintParts { settings, ..FingerprintParts::default() }
    }

    fn fingerprint(inputs: &Inputs, directory: &Directory, settings: &str) -> Fingerprint {
        let project = Project::of(Some(&directory.path("c.yaml")));
        Fingerprint::of_program(inputs, &project, parts(settings)).unwrap()
    }

    #[test]
    fn keys_depend_on_the_evaluator_and_on_the_input() {
        let key = |evaluator: &str, input: &str| {
            Fingerprint::new(parts(evaluator)).key(&Digester::new(input).finish())
        };
        assert_ne!(key("a", "1"), key("a", "2"));
        assert_ne!(key("a", "1"), key("b", "1"));
    }

    #[test]
    fn what_decides_the_answers_changes_its_own_digest_and_nothing_else_does() {
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
        let of = |inputs: &Inputs, settings: &str| fingerprint(inputs, &directory, settings);
        let before = of(&both, "a");
        assert_eq!(before.digest(), of(&inputs(&[&helper, &check]), "a").digest());
        let differing = |after: &Fingerprint| {
            let maps = |it: &Fingerprint| {
                let FingerprintParts { code, settings, environment } = it.parts().clone();
                [("code", code), ("settings", settings), ("environment", environment)]
            };
            let pairs = maps(&before).into_iter().zip(maps(after));
            let changed = pairs.flat_map(|((part, old), (_, new))| {
                let names: BTreeSet<String> = old.keys().chain(new.keys()).cloned().collect();
                let changed = names.into_iter().filter(move |it| old.get(it) != new.get(it));
                changed.map(move |name| format!("{part} {name}"))
            });
            let changed: Vec<String> = changed.collect();
            assert_eq!(changed.is_empty(), before.digest() == after.digest());
            changed
        };
        let noted = Inputs { notes: vec!["sdk 1".to_owned()], ..both.clone() };
        assert_eq!(differing(&of(&both, "b")), ["settings threshold"]);
        assert_eq!(differing(&of(&inputs(&[&check]), "a")), ["code helper.py"]);
        assert_eq!(differing(&of(&noted, "a")), ["environment packages"]);
        assert_eq!(before.changed(), None);
        directory.file("helper.py", "22");
        assert_eq!(before.changed(), Some(helper.as_path()));
        assert_eq!(differing(&of(&both, "a")), ["code helper.py"]);
        directory.file("helper.py", "1");
        assert_eq!(differing(&of(&both, "a")), [""; 0], "the content counts, not the time");
        let other = Inputs { programs: [directory.file("python3", "x")].into(), ..both.clone() };
        assert_eq!(differing(&of(&other, "a")), [""; 0], "an interpreter has no name");
        directory.file("python", "xx");
        assert_eq!(differing(&of(&both, "a")), ["environment interpreter"]);
    }

    #[test]
    fn a_compiled_program_is_its_sources_and_part_of_the_environment() {
        let directory = Directory::new("run-compiled");
        let (program, source) = (directory.file("target/x", "1"), directory.file("src/x.rs", "1"));
        let inputs = Inputs {
            files: [program.clone()].into(),
            sources: [source].into(),
            ..Inputs::default()
        };
        let before = fingerprint(&inputs, &directory, "a");
        assert_eq!(before.parts().code.keys().collect::<Vec<_>>(), ["src/x.rs"]);
        directory.file("src/x.rs", "22");
        assert_eq!(before.changed(), None, "the program runs, not the sources");
        let edited = fingerprint(&inputs, &directory, "a");
        assert_ne!(before.parts().code, edited.parts().code);
        assert_eq!(before.parts().environment, edited.parts().environment);
        directory.file("target/x", "22");
        assert_eq!(before.changed(), Some(program.as_path()));
        let rebuilt = fingerprint(&inputs, &directory, "a");
        assert_eq!(edited.parts().code, rebuilt.parts().code);
        assert_ne!(edited.parts().environment, rebuilt.parts().environment);
    }

    #[test]
    fn files_outside_of_the_project_are_named_by_what_tells_them_apart() {
        let project = Project::of(Some(Path::new("/p/evals/c.yaml")));
        let all: BTreeSet<PathBuf> = [
            "/p/evals/check.py",
            "/p/evals/lib/__init__.py",
            "/p/lib/__init__.py",
            "/p/other/__init__.py",
            "/usr/share/rules.py",
        ]
        .map(PathBuf::from)
        .into();
        let names: Vec<String> = all.iter().map(|path| project.name(path, &all)).collect();
        let expected =
            ["check.py", "lib/__init__.py", "p/lib/__init__.py", "other/__init__.py", "rules.py"];
        assert_eq!(names, expected);
        let settings: Vec<String> = all.iter().map(|path| project.setting(path)).collect();
        let expected = [
            "check.py",
            "lib/__init__.py",
            "../lib/__init__.py",
            "../other/__init__.py",
            "../../usr/share/rules.py",
        ];
        assert_eq!(settings, expected);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let directory = Directory::new("run-unreadable");
        let project = Project::of(None);
        let mut inputs = Inputs::default();
        inputs.files.insert(directory.path("gone.py"));
        let error = Fingerprint::of_program(&inputs, &project, parts("")).unwrap_err();
        assert!(error.to_string().contains("gone.py"), "{error}");
        inputs.files = BTreeSet::from([directory.path("")]);
        assert!(Fingerprint::of_program(&inputs, &project, parts("")).is_err());
    }
}
