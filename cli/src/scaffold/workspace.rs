//! Cargo workspaces that a new package would be a member of.

use std::path::{Component, Path, PathBuf};

use toml_edit::{DocumentMut, Item};

/// The manifest of the workspace that takes `folder` as a member already: its `members` match the path, and its `exclude` does
/// not.
///
/// Cargo refuses a member that says it is a workspace of its own, and with it the whole workspace.
pub(super) fn claiming(folder: &Path) -> Option<PathBuf> {
    let folder = std::path::absolute(folder).ok()?;
    let (above, workspace) = folder.ancestors().skip(1).find_map(|above| {
        let text = std::fs::read_to_string(above.join("Cargo.toml")).ok()?;
        // One that cargo cannot read either is not this command's to report.
        let mut manifest: DocumentMut = text.parse().ok()?;
        manifest.remove("workspace").map(|workspace| (above, workspace))
    })?;
    let path = folder.strip_prefix(above).ok()?;
    let excluded = patterns(&workspace, "exclude").iter().any(|exclude| path.starts_with(exclude));
    let member = patterns(&workspace, "members").iter().any(|members| matches(path, members));
    (member && !excluded).then(|| above.join("Cargo.toml"))
}

fn patterns(workspace: &Item, key: &str) -> Vec<String> {
    let list = workspace.get(key).and_then(Item::as_array);
    list.into_iter()
        .flatten()
        .filter_map(|pattern| pattern.as_str())
        .map(|pattern| pattern.trim_start_matches("./").to_owned())
        .collect()
}

/// Whether a pattern of paths, such as `crates/*`, matches a whole path.
fn matches(path: &Path, pattern: &str) -> bool {
    fn all(path: &[String], pattern: &[&str]) -> bool {
        match (path, pattern) {
            ([], []) => true,
            (_, ["**", rest @ ..]) => (0..=path.len()).any(|skipped| all(&path[skipped..], rest)),
            ([name, path @ ..], [part, pattern @ ..]) => {
                let (name, part): (Vec<char>, Vec<char>) =
                    (name.chars().collect(), part.chars().collect());
                matches_name(&name, &part) && all(path, pattern)
            }
            _ => false,
        }
    }
    let names: Vec<String> = path
        .components()
        .filter(|component| matches!(component, Component::Normal(_)))
        .map(|component| component.as_os_str().to_string_lossy().into_owned())
        .collect();
    let parts: Vec<&str> = pattern.split('/').filter(|part| !part.is_empty()).collect();
    all(&names, &parts)
}

fn matches_name(name: &[char], pattern: &[char]) -> bool {
    match (name, pattern) {
        ([], []) => true,
        (_, ['*', rest @ ..]) => {
            (0..=name.len()).any(|skipped| matches_name(&name[skipped..], rest))
        }
        ([_, name @ ..], ['?', rest @ ..]) => matches_name(name, rest),
        ([first, name @ ..], [char, rest @ ..]) => first == char && matches_name(name, rest),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_paths() {
        for (path, pattern, expected) in [
            ("crates/a", "crates/*", true),
            ("crates/a/b", "crates/*", false),
            ("a", "*", true),
            ("crates/check-a", "crates/check-?", true),
            ("crates/a", "crates/b", false),
            ("crates/a", "crates/a/", true),
            ("x/y/a", "x/**/a", true),
            ("other", "oth", false),
        ] {
            assert_eq!(matches(Path::new(path), pattern), expected, "{path} {pattern}");
        }
    }
}
