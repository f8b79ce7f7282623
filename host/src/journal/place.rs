//! Where the journal of a run is when nobody says.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::digest::{Digester, hex};

/// The folder of journals that nobody named, in the working directory.
const FOLDER: &str = ".evaluator";

/// The journal of a run that was given these files: `.evaluator/journal-<hash>.jsonl` in the working directory. The name is
/// made of where the files are, in any order, so that the same call finds it again, also after a file was edited, and
/// other calls have others.
#[must_use]
pub fn default_file(config: Option<&Path>, traces: &[PathBuf]) -> PathBuf {
    let bytes = |path: &Path| {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        absolute.as_os_str().as_encoded_bytes().to_vec()
    };
    let mut traces: Vec<_> = traces.iter().map(|path| bytes(path)).collect();
    traces.sort();
    let digester = Digester::new("journal").bytes("config", &config.map(bytes).unwrap_or_default());
    let digester = traces.iter().fold(digester, |all, trace| all.bytes("trace", trace));
    let hash = &hex(&digester.finish())[..16];
    Path::new(FOLDER).join(format!("journal-{hash}.jsonl"))
}

/// Makes the folder that [`default_file`] is in, with a note that keeps it out of version control.
///
/// # Errors
///
/// The system does not let us.
pub(super) fn make_default_folder(file: &Path) -> io::Result<()> {
    if file.parent() != Some(Path::new(FOLDER)) || Path::new(FOLDER).is_dir() {
        return Ok(());
    }
    fs::create_dir_all(FOLDER)?;
    fs::write(Path::new(FOLDER).join(".gitignore"), "*\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_call_has_the_same_journal() {
        let file = |config: Option<&str>, traces: &[&str]| {
            let traces: Vec<PathBuf> = traces.iter().map(PathBuf::from).collect();
            default_file(config.map(Path::new), &traces)
        };
        let one = file(Some("c.yaml"), &["a.json", "b.json"]);
        assert!(one.starts_with(".evaluator"), "{}", one.display());
        assert_eq!(one, file(Some("./c.yaml"), &["b.json", "./a.json"]));
        for other in [
            file(None, &["a.json", "b.json"]),
            file(Some("c.yaml"), &["a.json"]),
            file(None, &["c.yaml", "a.json", "b.json"]),
        ] {
            assert_ne!(one, other);
        }
    }
}
