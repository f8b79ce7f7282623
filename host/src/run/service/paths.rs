//! Evaluators that are named by their file or folder.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{
    config::{EvaluatorConfig, EvaluatorKind},
    manifest::{self, LoadedManifest},
};

/// An evaluator of which nothing but its place was given.
pub(super) struct Placed {
    /// The entry it would have in a configuration.
    pub(super) entry: EvaluatorConfig,
    /// Whether a manifest says what it is called. Otherwise a program says it, if it does.
    pub(super) is_named: bool,
}

/// The evaluator at `path`: a file, the folder of a package, or a folder with a manifest.
pub(super) fn placed(path: &Path, timeout: Duration) -> Result<Placed, String> {
    if manifest::has_manifest(path) {
        let loaded = LoadedManifest::load(path).map_err(|error| {
            let problems: Vec<&str> =
                error.problems.iter().map(|problem| problem.message.as_str()).collect();
            format!("{}: {}", error.file.display(), problems.join("; "))
        })?;
        let entry = entry(loaded.manifest.name.clone(), loaded.entrypoint(), timeout);
        return Ok(Placed { entry, is_named: true });
    }
    // A name without a folder would be looked for elsewhere, too.
    let file = std::path::absolute(path).unwrap_or_else(|_| PathBuf::from(path));
    Ok(Placed { entry: entry(name_of(&file), file, timeout), is_named: false })
}

fn entry(name: String, file: PathBuf, timeout: Duration) -> EvaluatorConfig {
    let mut entry = EvaluatorConfig::code(name, file);
    if let EvaluatorKind::Code(code) = &mut entry.kind {
        code.timeout = timeout;
    }
    entry
}

/// What an evaluator is called of which nothing but its file or folder is known: `checks/polite.py` is called `polite`;
/// `polite/src/main.rs` and the folder `polite` too.
#[must_use]
pub fn name_of(path: &Path) -> String {
    let part = |path: Option<&Path>| {
        let name = path.and_then(Path::file_stem);
        name.map(|name| name.to_string_lossy().into_owned()).filter(|name| !name.is_empty())
    };
    match part(Some(path)) {
        Some(stem) if stem == "main" => part(path.ancestors().nth(2)).unwrap_or(stem),
        stem => stem.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_main_file_is_called_like_its_package() {
        for (path, name) in [
            ("/x/my_check/src/main.rs", "my_check"),
            ("my_check/src/main.rs", "my_check"),
            ("main.rs", "main"),
            ("/x/polite.py", "polite"),
            ("/x/my_check", "my_check"),
        ] {
            assert_eq!(name_of(Path::new(path)), name);
        }
    }
}
