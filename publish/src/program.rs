//! Entries for programs that a configuration does not name.

use std::path::{Path, PathBuf};

use crate::{
    config::{CodeConfig, EvaluatorConfig, EvaluatorKind},
    manifest::{self, LoadedManifest},
};

/// Returns an entry with these settings for the program at `path`: a file, the directory of a package, or a directory with a
/// manifest, which decides the name.
///
/// # Errors
///
/// Returns a message if the manifest cannot be used.
pub fn program_at(path: &Path, settings: &CodeConfig) -> Result<EvaluatorConfig, String> {
    let entry = |name: String, path: PathBuf| {
        let mut code = settings.clone();
        code.path.clone_from(&path);
        let mut evaluator = EvaluatorConfig::code(name, path);
        evaluator.kind = EvaluatorKind::Code(code);
        Ok(evaluator)
    };
    if !manifest::has_manifest(path) {
        // A name without a directory would also be searched on `PATH`.
        let file = std::path::absolute(path).unwrap_or_else(|_| PathBuf::from(path));
        return entry(name_of(&file), file);
    }
    let loaded = LoadedManifest::load(path).map_err(|error| {
        let problems: Vec<&str> =
            error.problems.iter().map(|problem| problem.message.as_str()).collect();
        format!("{}: {}", error.file.display(), problems.join("; "))
    })?;
    entry(loaded.manifest.name.clone(), loaded.entrypoint())
}

/// Returns the name of an evaluator by its path: `checks/polite.py`, `polite/src/main.rs` and the directory `polite` are called
/// `polite`.
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
