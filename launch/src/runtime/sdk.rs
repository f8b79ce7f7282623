//! The SDK that belongs to this program.
//!
//! A program that was built in the repository has the sources of the SDK in it: packages can be built with them on any
//! machine, wherever the repository is. A program that was built from the registry uses the same version from there.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use toml_edit::{DocumentMut, Item, TableLike, Value};

use super::PrepareError;

include!(concat!(env!("OUT_DIR"), "/sdk.rs"));

/// Directory of the package `evaluator-sdk` inside of a copy.
pub const PACKAGE: &str = "sdk";

/// Returns true if this program has the sources of the SDK in it.
pub const fn is_embedded() -> bool {
    !SOURCES.is_empty()
}

/// Writes the sources of the SDK to an empty `directory`, as packages that need no workspace around them. They are as old as
/// this program: cargo does not compile a copy again if it has compiled another one in the same build directory since.
///
/// # Errors
///
/// A file cannot be written.
pub fn write_copy(directory: &Path) -> io::Result<()> {
    let workspace = SOURCES.iter().find(|(name, _)| *name == "Cargo.toml");
    let workspace: DocumentMut = parse(workspace.map_or("", |(_, text)| *text))?;
    let made = env::current_exe()?.metadata()?.modified()?;
    for (name, text) in SOURCES.iter().filter(|(name, _)| *name != "Cargo.toml") {
        let path = directory.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        match name.ends_with("/Cargo.toml") {
            true => fs::write(&path, standalone(text, &workspace)?)?,
            false => fs::write(&path, text)?,
        }
        fs::File::options().append(true).open(path)?.set_modified(made)?;
    }
    Ok(())
}

/// Returns the directory of the package `evaluator-sdk` in a copy of the sources below `cache`, which is written if it
/// does not exist; `None` if the sources are not in this program.
pub(super) fn cached(cache: &Path) -> Result<Option<PathBuf>, PrepareError> {
    if !is_embedded() {
        return Ok(None);
    }
    let directory = cache.join("sdk").join(DIGEST);
    if !directory.is_dir() {
        write_cached(&directory).map_err(|error| {
            PrepareError::unusable(format!(
                "cannot write the SDK to {}: {error}; set EVALUATOR_CACHE_DIR to a directory that can be written",
                directory.display()
            ))
        })?;
    }
    Ok(Some(directory.join(PACKAGE)))
}

fn write_cached(directory: &Path) -> io::Result<()> {
    let parent = directory.parent().unwrap_or(directory);
    fs::create_dir_all(parent)?;
    let partial = tempfile::tempdir_in(parent)?;
    write_copy(partial.path())?;
    match fs::rename(partial.path(), directory) {
        // Another process has written it meanwhile.
        Err(_) if directory.is_dir() => Ok(()),
        renamed => renamed,
    }
}

/// Returns the manifest of a package of `workspace` as one that needs no workspace, without tests, benches and examples.
fn standalone(manifest: &str, workspace: &DocumentMut) -> io::Result<String> {
    let mut manifest = parse(manifest)?;
    for key in ["lints", "dev-dependencies", "example", "bench", "test"] {
        manifest.remove(key);
    }
    let shared = |table: &str, key: &str| workspace.get("workspace")?.get(table)?.get(key).cloned();
    if let Some(package) = manifest.get_mut("package").and_then(Item::as_table_like_mut) {
        for key in ["readme", "keywords", "categories", "documentation"] {
            package.remove(key);
        }
        for (key, item) in package.iter_mut() {
            if is_inherited(item) {
                *item = shared("package", key.get()).ok_or_else(|| not_shared(key.get()))?;
            }
        }
    }
    if let Some(dependencies) = manifest.get_mut("dependencies").and_then(Item::as_table_like_mut) {
        for (name, item) in dependencies.iter_mut() {
            if is_inherited(item) {
                let shared = shared("dependencies", name.get());
                inherit(item, &shared.ok_or_else(|| not_shared(name.get()))?);
            }
        }
    }
    Ok(manifest.to_string())
}

fn is_inherited(item: &Item) -> bool {
    let workspace = item.as_table_like().and_then(|table| table.get("workspace"));
    workspace.and_then(Item::as_bool) == Some(true)
}

/// Replaces `workspace = true` of a dependency by the keys of the workspace's entry; features are those of both.
fn inherit(item: &mut Item, shared: &Item) {
    let Some(own) = item.as_table_like_mut() else { return };
    own.remove("workspace");
    if let Some(version) = shared.as_str() {
        own.insert("version", toml_edit::value(version));
    }
    for (key, value) in shared.as_table_like().into_iter().flat_map(TableLike::iter) {
        match (key, value.as_str(), own.get_mut(key).and_then(Item::as_array_mut)) {
            ("path", Some(path), _) => {
                own.insert(key, toml_edit::value(format!("../{path}")));
            }
            ("features", _, Some(features)) => {
                features.extend(value.as_array().into_iter().flatten().filter_map(Value::as_str));
            }
            _ => {
                own.insert(key, value.clone());
            }
        }
    }
}

fn parse(manifest: &str) -> io::Result<DocumentMut> {
    manifest.parse().map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

fn not_shared(key: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the workspace of the SDK has no `{key}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::testing::Directory;

    #[test]
    fn a_copy_has_packages_that_need_no_workspace() {
        let directory = Directory::new("sdk-copy");
        let package = cached(&directory.path("cache")).unwrap().expect("built in the repository");
        let read = |name: &str| fs::read_to_string(package.parent().unwrap().join(name)).unwrap();

        for (name, path) in [("sdk", Some("../protocol")), ("sdk-macros", None), ("protocol", None)]
        {
            let manifest = read(&format!("{name}/Cargo.toml"));
            let document: DocumentMut = manifest.parse().unwrap();
            assert!(!manifest.contains("workspace"), "{manifest}");
            assert!(!manifest.contains("dev-dependencies"), "{manifest}");
            assert!(!manifest.contains(env!("CARGO_MANIFEST_DIR")), "{manifest}");
            assert_eq!(document["package"]["version"].as_str(), Some(env!("CARGO_PKG_VERSION")));
            if let Some(path) = path {
                assert_eq!(
                    document["dependencies"]["evaluator-protocol"]["path"].as_str(),
                    Some(path)
                );
            }
            assert!(read(&format!("{name}/src/lib.rs")).starts_with("//!"));
        }
        let manifest: DocumentMut = read("protocol/Cargo.toml").parse().unwrap();
        let json = &manifest["dependencies"]["serde_json"];
        assert!(json["version"].is_str());
        let features: Vec<&str> =
            json["features"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert_eq!(features, ["float_roundtrip", "unbounded_depth"]);
        assert!(read("LICENSE-MIT").contains("Permission is hereby granted"));
    }

    #[test]
    fn features_of_both_entries_count() {
        let workspace = parse(
            "[workspace.package]\nversion = '1.2.3'\n\
             [workspace.dependencies]\nserde = { version = '1', features = ['derive'] }\n",
        )
        .unwrap();
        let manifest = "[package]\nname = 'a'\nversion.workspace = true\n[dependencies]\n\
                        serde = { workspace = true, optional = true, features = ['rc'] }\n";

        let text = standalone(manifest, &workspace).unwrap();

        let document = parse(&text).unwrap();
        assert_eq!(document["package"]["version"].as_str(), Some("1.2.3"));
        let serde = &document["dependencies"]["serde"];
        let features: Vec<&str> =
            serde["features"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert_eq!((features, serde["optional"].as_bool()), (vec!["rc", "derive"], Some(true)));
        let unknown = standalone("[package]\nedition.workspace = true\n", &workspace).unwrap_err();
        assert_eq!(unknown.to_string(), "the workspace of the SDK has no `edition`");
    }

    #[test]
    fn a_cache_that_cannot_be_written_is_named() {
        let directory = Directory::new("sdk-cache");
        let file = directory.file("file", "");
        let error = cached(&file).unwrap_err().to_string();
        assert!(
            error.contains("cannot write the SDK to") && error.contains("EVALUATOR_CACHE_DIR"),
            "{error}"
        );
    }
}
