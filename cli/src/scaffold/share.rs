//! One build directory for the Rust packages of a directory.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use super::create::PartialDirectory;

/// Cargo's settings of a directory with packages. Programs stay in the target directory of each package.
const SETTINGS: &str = "\
# The packages of this directory share one build directory: cargo compiles their dependencies once. It tells packages apart by
# name, so each needs a name of its own. Cargo before 1.91 does not know the key, and builds each package for itself.
[build]
build-dir = \".cargo/build\"
";

/// Variables by which the user has chosen where cargo builds.
const CHOSEN: [&str; 3] = ["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR", "CARGO_BUILD_BUILD_DIR"];

/// Writes settings of cargo by which the packages of a directory share one build directory. Returns the directory of the
/// settings; `None` if the user has settings or a package there or above, or chooses a directory by a variable.
///
/// # Errors
///
/// The settings cannot be written.
pub(crate) fn share_builds(parent: &Path) -> io::Result<Option<PathBuf>> {
    let is_chosen = CHOSEN.iter().any(|name| env::var_os(name).is_some());
    let home = env::home_dir().map(|home| home.join(".cargo"));
    let home = env::var_os("CARGO_HOME").map(PathBuf::from).or(home);
    let absolute =
        std::path::absolute(if parent == Path::new("") { Path::new(".") } else { parent })?;
    if is_chosen || is_settled(&absolute, home.as_deref()) {
        return Ok(None);
    }
    let settings = parent.join(".cargo");
    let partial = PartialDirectory::create(&settings)?;
    fs::write(partial.path().join("config.toml"), SETTINGS)?;
    fs::write(partial.path().join(".gitignore"), "/build\n")?;
    partial.rename(&settings)?;
    Ok(Some(settings))
}

/// Returns true if a directory or one above it has a manifest or settings of cargo, or the directory a place for settings. What
/// is in `home` is for all packages of this user.
fn is_settled(directory: &Path, home: Option<&Path>) -> bool {
    let settings = directory.join(".cargo");
    let is_settled = |directory: &Path| {
        let settings = directory.join(".cargo");
        let has_settings =
            settings.join("config.toml").exists() || settings.join("config").exists();
        directory.join("Cargo.toml").exists() || has_settings && Some(&*settings) != home
    };
    Some(&*settings) == home
        || fs::symlink_metadata(&settings).is_ok()
        || directory.ancestors().any(is_settled)
}

#[cfg(test)]
mod tests {
    use evaluator_test_support::directory::TestDirectory;

    use super::*;

    #[test]
    fn settings_and_packages_of_the_user_stay_alone() {
        let root = TestDirectory::new();
        for file in [
            "package/Cargo.toml",
            "package/evals/x",
            "settings/.cargo/config.toml",
            "settings/evals/x",
            "old/.cargo/config",
            "place/.cargo/x",
            "home/.cargo/config.toml",
            "home/evals/x",
            "evals/x",
        ] {
            root.file(file, "");
        }
        let home = root.join("home/.cargo");
        let new_home = root.join("evals/.cargo");
        for (directory, home, expected) in [
            ("package", &home, true),
            ("package/evals", &home, true),
            ("settings", &home, true),
            ("settings/evals", &home, true),
            ("old", &home, true),
            ("place", &home, true),
            ("home", &home, true),
            ("home/evals", &home, false),
            ("evals", &home, false),
            ("evals", &new_home, true),
        ] {
            let found = is_settled(&root.join(directory), Some(home));
            assert_eq!(found, expected, "{directory} {}", home.display());
        }
    }
}
