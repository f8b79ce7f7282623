//! Where the journal of a run is when nobody says.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use super::digest::{Digester, hex};

/// The folder of journals that nobody named, in the working directory.
const FOLDER: &str = ".evaluator";

/// The journal of a run that nobody named: `.evaluator/journal-<hash>.jsonl` in the working directory.
///
/// The name depends on where the configuration is, or without one on the names of the `evaluators` in any order. It does not
/// depend on the trace files, so that a run with one more trace goes on where the last one ended. Which evaluations are
/// reused is decided record by record, so runs that share a journal share results and nothing else.
pub fn default_file<'a>(
    config: Option<&Path>,
    evaluators: impl IntoIterator<Item = &'a str>,
) -> PathBuf {
    let digester = match config {
        Some(config) => {
            let absolute = std::path::absolute(config).unwrap_or_else(|_| config.to_owned());
            Digester::new("journal").bytes("config", absolute.as_os_str().as_encoded_bytes())
        }
        None => {
            let names: BTreeSet<&str> = evaluators.into_iter().collect();
            let add = |all: Digester, name: &&str| all.bytes("evaluator", name.as_bytes());
            names.iter().fold(Digester::new("journal"), add)
        }
    };
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
    fn the_same_evaluators_have_the_same_journal() {
        let file = |config: Option<&str>, evaluators: &[&str]| {
            default_file(config.map(Path::new), evaluators.iter().copied())
        };
        let one = file(Some("c.yaml"), &["a", "b"]);
        assert!(one.starts_with(".evaluator"), "{}", one.display());
        assert_eq!(one, file(Some("./c.yaml"), &[]));
        let without = file(None, &["a", "b"]);
        assert_eq!(without, file(None, &["b", "a", "b"]));
        for other in [file(Some("d.yaml"), &["a", "b"]), without, file(None, &["a"])] {
            assert_ne!(one, other);
        }
        assert_ne!(file(None, &["ab"]), file(None, &["a", "b"]));
    }
}
