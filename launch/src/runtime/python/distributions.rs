//! Which packages an interpreter finds installed, without asking it.

use std::{collections::BTreeSet, fs, path::Path};

/// Names and versions of the packages that are installed for an interpreter, sorted: those of its virtual environment, and
/// of the installation that it was made from. Each package has a folder or file named so beside its modules.
///
/// Empty where nothing is found; packages that are found by other ways (`PYTHONPATH`, `.pth` files) are not listed.
pub(super) fn installed_for(interpreter: &Path) -> Vec<String> {
    let real = interpreter.canonicalize().ok();
    let prefixes = [Some(interpreter), real.as_deref()].into_iter().flatten();
    let mut found = BTreeSet::new();
    for prefix in prefixes.filter_map(|program| program.parent()?.parent()) {
        list(&prefix.join("Lib/site-packages"), &mut found);
        for lib in ["lib", "lib64", "local/lib"].map(|lib| prefix.join(lib)) {
            for python in names(&lib).filter(|name| name.starts_with("python3")) {
                for packages in ["site-packages", "dist-packages"] {
                    list(&lib.join(&python).join(packages), &mut found);
                }
            }
        }
    }
    found.into_iter().collect()
}

fn list(packages: &Path, found: &mut BTreeSet<String>) {
    let describes = |name: &String| name.ends_with(".dist-info") || name.ends_with(".egg-info");
    found.extend(names(packages).filter(describes));
}

fn names(folder: &Path) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::runtime::testing::Folder;

    #[test]
    fn an_environment_has_its_own_packages_and_those_below_it() {
        let folder = Folder::new("python-distributions");
        let system = folder.program("usr/bin/python3.12");
        folder.file("usr/lib/python3/dist-packages/six-1.16.0.egg-info", "");
        folder.file("usr/lib/python3.12/os.py", "");
        folder.file("venv/lib/python3.12/site-packages/pydantic-2.7.0.dist-info/RECORD", "");
        folder.file("venv/lib/python3.12/site-packages/pydantic/main.py", "");
        folder.file("venv/bin/activate", "");
        std::os::unix::fs::symlink(&system, folder.path("venv/bin/python")).unwrap();
        assert_eq!(
            installed_for(&folder.path("venv/bin/python")),
            ["pydantic-2.7.0.dist-info", "six-1.16.0.egg-info"]
        );
        assert_eq!(installed_for(&system), ["six-1.16.0.egg-info"]);
        assert!(installed_for(Path::new("python3")).is_empty());
    }
}
