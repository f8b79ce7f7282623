//! Manifests of lone `.rs` files: the one embedded in the file, and the one generated from it.
//!
//! Two embedded forms are read: the frontmatter of cargo scripts, between `---` fences at the top of the file, and the
//! <code>```cargo</code> block in the leading `//!` comment that `rust-script` introduced.

use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, InlineTable, Item, Table, TableLike, Value, value};

use crate::{
    files,
    runtime::{PrepareError, sdk},
};

const SDK: &str = "evaluator-sdk";

/// Source of the SDK for lone files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SdkSource {
    /// A directory of this machine.
    Path(PathBuf),
    /// A version requirement, from the registry.
    Version(String),
}

impl SdkSource {
    /// The SDK that belongs to this program: a copy of its sources below `cache`, or the same version from the registry.
    pub(super) fn of_this_build(cache: &Path) -> Result<Self, PrepareError> {
        let version = || Self::Version(env!("CARGO_PKG_VERSION").to_owned());
        Ok(sdk::cached(cache)?.map_or_else(version, Self::Path))
    }
}

/// Inputs of a generated manifest.
#[derive(Debug)]
pub(super) struct Parts<'a> {
    /// The file of the user, as an absolute path.
    pub(super) script: &'a Path,
    /// The manifest in it.
    pub(super) embedded: Option<&'a Embedded>,
    /// Name of the package and of its target.
    pub(super) name: &'a str,
    /// The file to compile: `script`, or a copy of it.
    pub(super) main: &'a Path,
    /// The SDK.
    pub(super) sdk: &'a SdkSource,
}

/// Renders the manifest.
pub(super) fn render(parts: &Parts<'_>) -> Result<String, PrepareError> {
    let mut document = DocumentMut::new();
    if let Some(embedded) = parts.embedded {
        document = parse(parts.script, embedded)?;
        refuse_layout_keys(parts.script, embedded, &document)?;
        if let Some(directory) = parts.script.parent() {
            make_paths_absolute(&mut document, directory)?;
        }
    }

    let package = section(parts, document.as_table_mut(), "package")?;
    package.entry("name").or_insert(value(parts.name));
    package.entry("version").or_insert(value("0.0.0"));
    package.entry("edition").or_insert(value("2024"));
    package.entry("publish").or_insert(value(false));
    // No target is found by its location: the only one is named below.
    package.insert("build", value(false));
    package.insert("autobins", value(false));

    let dependencies = section(parts, document.as_table_mut(), "dependencies")?;
    if !dependencies.iter().any(|(name, dependency)| package_of(name, dependency) == SDK) {
        dependencies.insert(SDK, value(InlineTable::new()));
    }
    // The SDK depends on both, so they cost nothing.
    if !dependencies.contains_key("serde") {
        let features = Value::Array(["derive"].into_iter().collect());
        let serde = InlineTable::from_iter([("version", "1".into()), ("features", features)]);
        dependencies.insert("serde", value(serde));
    }
    if !dependencies.contains_key("serde_json") {
        dependencies.insert("serde_json", value("1"));
    }
    for_each_dependencies(&mut document, &["dependencies"], &mut |dependencies| {
        complete(dependencies, parts.sdk)
    })?;

    let mut target = Table::new();
    target.insert("name", value(parts.name));
    target.insert("path", value(text_of(parts.main)?));
    let mut targets = toml_edit::ArrayOfTables::new();
    targets.push(target);
    document.insert("bin", Item::ArrayOfTables(targets));

    // The generated package is not part of any workspace above it.
    document.insert("workspace", Item::Table(Table::new()));
    // Line tables are enough for backtraces, and halve the link time.
    let profiles = section(parts, document.as_table_mut(), "profile")?;
    if !profiles.contains_key("dev") {
        let mut dev = Table::new();
        dev.insert("debug", value("line-tables-only"));
        profiles.insert("dev", Item::Table(dev));
    }
    Ok(document.to_string())
}

fn parse(script: &Path, embedded: &Embedded) -> Result<DocumentMut, PrepareError> {
    embedded.toml.parse::<DocumentMut>().map_err(|error| {
        let before = error.span().and_then(|span| embedded.toml.get(..span.start)).unwrap_or("");
        let line = embedded.lines_before + before.matches('\n').count() + 1;
        malformed(
            script,
            (line, format!("embedded manifest is not valid TOML: {}", error.message())),
        )
    })
}

/// Refuses keys that define the layout of the package.
fn refuse_layout_keys(
    script: &Path,
    embedded: &Embedded,
    document: &DocumentMut,
) -> Result<(), PrepareError> {
    let refused = ["workspace", "lib", "bin", "example", "test", "bench"];
    match refused.into_iter().find(|key| document.contains_key(key)) {
        None => Ok(()),
        Some(key) => {
            let reason = format!(
                "an embedded manifest cannot have `{key}`; make a package (Cargo.toml and src/main.rs) instead"
            );
            Err(malformed(script, (embedded.lines_before + 1, reason)))
        }
    }
}

/// Returns the table `key`, which is created if it is absent.
fn section<'a>(
    parts: &Parts<'_>,
    parent: &'a mut Table,
    key: &str,
) -> Result<&'a mut dyn TableLike, PrepareError> {
    let mut new = Table::new();
    // Its header is written only if it has keys of its own.
    new.set_implicit(true);
    parent.entry(key).or_insert(Item::Table(new)).as_table_like_mut().ok_or_else(|| {
        let script = parts.script.display();
        PrepareError::unusable(format!("{script}: `{key}` in the embedded manifest is not a table"))
    })
}

/// Name of the package of a dependency, which may have another name in the manifest.
fn package_of<'a>(name: &'a str, dependency: &'a Item) -> &'a str {
    let renamed =
        dependency.as_table_like().and_then(|table| table.get("package")).and_then(Item::as_str);
    renamed.unwrap_or(name)
}

/// Adds the source of the SDK and the version of `serde` and `serde_json` to entries that only name features.
fn complete(dependencies: &mut dyn TableLike, sdk: &SdkSource) -> Result<(), PrepareError> {
    for (name, dependency) in dependencies.iter_mut() {
        let package = package_of(name.get(), dependency).to_owned();
        // A string is a version requirement.
        if package == SDK
            && let (Some(version), SdkSource::Path(_)) = (dependency.as_str(), sdk)
        {
            *dependency = value(InlineTable::from_iter([("version", version)]));
        }
        let Some(table) = dependency.as_table_like_mut() else { continue };
        let has = |key: &str| table.contains_key(key);
        if ["path", "git", "registry", "workspace"].into_iter().any(has) {
            continue;
        }
        let has_version = has("version");
        match (package.as_str(), sdk) {
            (SDK, SdkSource::Path(directory)) => {
                table.insert("path", value(text_of(directory)?));
            }
            (SDK, SdkSource::Version(version)) if !has_version => {
                table.insert("version", value(version.as_str()));
            }
            ("serde" | "serde_json", _) if !has_version => {
                table.insert("version", value("1"));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Makes relative paths of dependencies absolute: they are relative to the script, not to the generated manifest.
fn make_paths_absolute(document: &mut DocumentMut, directory: &Path) -> Result<(), PrepareError> {
    let kinds = ["dependencies", "dev-dependencies", "build-dependencies"];
    for_each_dependencies(document, &kinds, &mut |table| dependency_paths(table, directory))?;
    if let Some(replaced) = document.get_mut("replace").and_then(Item::as_table_like_mut) {
        dependency_paths(replaced, directory)?;
    }
    let patch = document.get_mut("patch").and_then(Item::as_table_like_mut);
    patch
        .into_iter()
        .flat_map(|patch| patch.iter_mut())
        .filter_map(|(_, registry)| registry.as_table_like_mut())
        .try_for_each(|patched| dependency_paths(patched, directory))
}

/// Calls `change` with the tables of these kinds, e.g. `dependencies`, including those of platforms.
fn for_each_dependencies(
    document: &mut DocumentMut,
    kinds: &[&str],
    change: &mut dyn FnMut(&mut dyn TableLike) -> Result<(), PrepareError>,
) -> Result<(), PrepareError> {
    let mut of = |table: &mut dyn TableLike| {
        kinds.iter().try_for_each(|kind| {
            let found = table.get_mut(kind).and_then(Item::as_table_like_mut);
            found.map_or(Ok(()), &mut *change)
        })
    };
    of(document.as_table_mut())?;
    let Some(platforms) = document.get_mut("target").and_then(Item::as_table_like_mut) else {
        return Ok(());
    };
    platforms.iter_mut().filter_map(|(_, platform)| platform.as_table_like_mut()).try_for_each(of)
}

fn dependency_paths(
    dependencies: &mut dyn TableLike,
    directory: &Path,
) -> Result<(), PrepareError> {
    for (_, dependency) in dependencies.iter_mut() {
        let path = dependency.as_table_like_mut().and_then(|table| table.get_mut("path"));
        if let Some(path) = path
            && let Some(relative) = path.as_str()
        {
            *path = value(text_of(&directory.join(relative))?);
        }
    }
    Ok(())
}

fn text_of(path: &Path) -> Result<&str, PrepareError> {
    path.to_str().ok_or_else(|| {
        PrepareError::unusable(format!(
            "the path {} is not valid UTF-8, which a Cargo.toml needs; rename it",
            path.display()
        ))
    })
}

/// A manifest found in a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Embedded {
    /// The manifest's TOML.
    pub(super) toml: String,
    /// Number of lines of the file before the first line of `toml`.
    pub(super) lines_before: usize,
    /// The source that stable compilers can read, with the same line numbers; `None` if that is the file itself.
    pub(super) plain_source: Option<String>,
}

/// An error in an embedded manifest: the line of the file, from 1, and what is wrong and what to write.
type Malformed = (usize, String);

fn malformed(path: &Path, (line, reason): Malformed) -> PrepareError {
    PrepareError::unusable(format!("{}:{line}: {reason}", path.display()))
}

/// Reads the manifest embedded in a file. A file that is not text has none; the compiler will report it.
pub(super) fn read(path: &Path) -> Result<Option<Embedded>, PrepareError> {
    let bytes = files::read_regular(path, files::MAX_SOURCE).map_err(|error| {
        PrepareError::unusable(format!("cannot read {}: {error}", path.display()))
    })?;
    let Ok(text) = std::str::from_utf8(&bytes) else { return Ok(None) };
    find(text).map_err(|error| malformed(path, error))
}

/// Finds the manifest embedded in `source`, if there is one.
fn find(source: &str) -> Result<Option<Embedded>, Malformed> {
    match frontmatter(source)? {
        Some(embedded) => Ok(Some(embedded)),
        None => comment_block(source),
    }
}

/// ````text
/// #!/usr/bin/env evaluator     (optional)
///                              (blank lines)
/// ---cargo                     (three dashes or more; `cargo` is optional)
/// [dependencies]
/// ---                          (as many dashes)
/// ````
fn frontmatter(source: &str) -> Result<Option<Embedded>, Malformed> {
    let text = source.strip_prefix('\u{feff}').unwrap_or(source);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut start = usize::from(lines.first().is_some_and(|line| is_shebang(line)));
    while lines.get(start).is_some_and(|line| line.trim().is_empty()) {
        start += 1;
    }
    let Some(opening) = lines.get(start) else { return Ok(None) };
    let dashes = leading_dashes(opening);
    if dashes < 3 {
        return Ok(None);
    }
    let info = opening[dashes..].trim();
    if !matches!(info, "" | "cargo") {
        let reason = format!("frontmatter of kind `{info}` is not a manifest; write `---cargo`");
        return Err((start + 1, reason));
    }
    let first = start + 1;
    let Some(length) = lines[first..].iter().position(|line| leading_dashes(line) == dashes) else {
        let closing = "-".repeat(dashes);
        let reason = format!("frontmatter is not closed; write `{closing}` on a line of its own");
        return Err((start + 1, reason));
    };
    let closing = first + length;
    if !lines[closing][dashes..].trim().is_empty() {
        let reason = "nothing may follow the dashes that close frontmatter";
        return Err((closing + 1, reason.to_owned()));
    }
    // Line numbers of the compiler must be those of the file.
    let mut plain_source = "\n".repeat(closing + 1);
    plain_source.extend(lines[closing + 1..].iter().copied());
    Ok(Some(Embedded {
        toml: lines[first..closing].concat(),
        lines_before: first,
        plain_source: Some(plain_source),
    }))
}

fn comment_block(source: &str) -> Result<Option<Embedded>, Malformed> {
    let mut block: Option<(usize, String)> = None;
    for (index, line) in source.lines().enumerate() {
        let line = line.trim_start();
        let Some(comment) = line.strip_prefix("//!") else {
            if let Some((start, _)) = block {
                return Err(unclosed_block(start));
            }
            // The comment may come after a `#!` line, blank lines and ordinary comments, but before any code.
            if line.is_empty() || line.starts_with("//") || (index == 0 && is_shebang(line)) {
                continue;
            }
            return Ok(None);
        };
        let comment = comment.strip_prefix(' ').unwrap_or(comment);
        match &mut block {
            None if comment.trim() == "```cargo" => block = Some((index + 1, String::new())),
            None => {}
            Some((start, toml)) if comment.trim() == "```" => {
                return Ok(Some(Embedded {
                    toml: std::mem::take(toml),
                    lines_before: *start,
                    plain_source: None,
                }));
            }
            Some((_, toml)) => {
                toml.push_str(comment);
                toml.push('\n');
            }
        }
    }
    block.map_or(Ok(None), |(start, _)| Err(unclosed_block(start)))
}

fn unclosed_block(line: usize) -> Malformed {
    (line, "the ```cargo block is not closed; write `//! ```` below it".to_owned())
}

/// Returns true for a `#!` line that is not the start of an inner attribute.
fn is_shebang(line: &str) -> bool {
    line.strip_prefix("#!").is_some_and(|rest| !rest.trim_start().starts_with('['))
}

fn leading_dashes(line: &str) -> usize {
    line.bytes().take_while(|&byte| byte == b'-').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(toml: Option<&str>) -> Result<String, String> {
        let embedded = toml.map(|toml| Embedded {
            toml: toml.to_owned(),
            lines_before: 2,
            plain_source: None,
        });
        render(&Parts {
            script: Path::new("/evals/a \"b\".rs"),
            embedded: embedded.as_ref(),
            name: "a-1",
            main: Path::new("/evals/a \"b\".rs"),
            sdk: &SdkSource::Path("/sdk".into()),
        })
        .map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_without_manifest_gets_the_sdk_and_serde() {
        let expected = r#"[package]
name = "a-1"
version = "0.0.0"
edition = "2024"
publish = false
build = false
autobins = false

[dependencies]
evaluator-sdk = { path = "/sdk" }
serde = { version = "1", features = ["derive"] }
serde_json = "1"

[[bin]]
name = "a-1"
path = '/evals/a "b".rs'

[workspace]

[profile.dev]
debug = "line-tables-only"
"#;
        assert_eq!(rendered(None).unwrap(), expected);
    }

    #[test]
    fn an_embedded_manifest_is_kept_and_completed() {
        let text = rendered(Some(
            "[package]\nname = \"mine\"\nedition = \"2021\" # old\n[dependencies]\nrand = \"0.9\"\n\
             [profile.dev]\nopt-level = 1\n",
        ))
        .unwrap();
        for kept in
            ["name = \"mine\"", "edition = \"2021\" # old", "rand = \"0.9\"", "opt-level = 1"]
        {
            assert!(text.contains(kept), "{text}");
        }
        assert!(text.contains("evaluator-sdk = { path = \"/sdk\" }"), "{text}");
        assert!(text.contains("name = \"a-1\""), "the program's name stays ours: {text}");
        assert!(text.contains("serde = {") && text.contains("serde_json = \"1\""), "{text}");
        assert!(!text.contains("line-tables-only"), "{text}");
    }

    #[test]
    fn a_named_serde_is_not_replaced() {
        for toml in [
            "[dependencies]\nserde = \"1.0.200\"\nserde_json = { version = \"1.0.100\" }\n",
            "[dependencies.serde]\nversion = \"1.0.200\"\n[dependencies.serde_json]\nversion = \"1.0.100\"\n",
        ] {
            let text = rendered(Some(toml)).unwrap();
            assert!(text.contains("1.0.200") && text.contains("1.0.100"), "{text}");
            assert!(!text.contains("derive") && !text.contains("\"1\""), "{text}");
        }
    }

    #[test]
    fn a_named_sdk_comes_from_where_it_says_or_from_where_the_host_has_it() {
        for (toml, expected) in [
            (
                "[dependencies]\nevaluator-sdk = { features = [\"tokio\"] }\n",
                "evaluator-sdk = { features = [\"tokio\"] , path = \"/sdk\" }",
            ),
            ("[dependencies]\nevaluator-sdk = {}\n", "path = \"/sdk\""),
            (
                "[dependencies]\nevaluator-sdk = \"0.1\"\n",
                "evaluator-sdk = { version = \"0.1\", path = \"/sdk\" }",
            ),
            (
                "[dependencies.evaluator-sdk]\nversion = \"0.1\"\nfeatures = [\"tokio\"]\n",
                "features = [\"tokio\"]\npath = \"/sdk\"\n",
            ),
            (
                "dependencies = { sdk = { package = \"evaluator-sdk\", default-features = false } }\n",
                "default-features = false , path = \"/sdk\"",
            ),
            (
                "[target.'cfg(unix)'.dependencies]\nevaluator-sdk = { features = [\"tokio\"] }\n",
                "evaluator-sdk = { features = [\"tokio\"] , path = \"/sdk\" }",
            ),
        ] {
            let text = rendered(Some(toml)).unwrap();
            assert!(text.contains(expected), "{toml}: {text}");
            text.parse::<DocumentMut>().unwrap();
        }
        for toml in [
            "[dependencies]\nevaluator-sdk = { path = \"/mine\" }\n",
            "[dependencies]\nevaluator-sdk = { git = \"https://h.example/r\" }\n",
            "[dependencies]\nevaluator-sdk = { version = \"1\", registry = \"mine\" }\n",
        ] {
            assert!(!rendered(Some(toml)).unwrap().contains("/sdk"), "{toml}");
        }
    }

    #[test]
    fn features_alone_are_enough_for_what_every_file_can_use() {
        let toml = "[dependencies]\nserde = { features = [\"rc\"] }\nserde_json = { features = [\"preserve_order\"] }\n";
        let text = rendered(Some(toml)).unwrap();
        assert_eq!(text.matches("version = \"1\"").count(), 2, "{text}");
    }

    #[test]
    fn relative_paths_start_from_the_directory_of_the_script() {
        let text = rendered(Some(
            "[dependencies]\na = { path = \"lib/a\" }\nb = { path = \"/abs/b\" }\n\
             [target.'cfg(unix)'.dependencies.c]\npath = \"../c\"\n\
             [patch.crates-io]\nd = { path = \"d\" }\n",
        ))
        .unwrap();
        for path in ["\"/evals/lib/a\"", "\"/abs/b\"", "\"/evals/../c\"", "\"/evals/d\""] {
            assert!(text.contains(path), "{path} in {text}");
        }
    }

    #[test]
    fn mistakes_are_reported_with_the_line_of_the_file() {
        let error = rendered(Some("[dependencies]\na = \n")).unwrap_err();
        assert!(
            error.starts_with("/evals/a \"b\".rs:4: embedded manifest is not valid TOML: "),
            "{error}"
        );
        assert_eq!(
            rendered(Some("[workspace]\n")).unwrap_err(),
            "/evals/a \"b\".rs:3: an embedded manifest cannot have `workspace`; \
             make a package (Cargo.toml and src/main.rs) instead"
        );
        assert_eq!(
            rendered(Some("dependencies = 1\n")).unwrap_err(),
            "/evals/a \"b\".rs: `dependencies` in the embedded manifest is not a table"
        );
    }
}

#[cfg(test)]
mod embedded_tests {
    use super::*;

    fn found(source: &str) -> Embedded {
        find(source).unwrap().expect("a manifest")
    }

    #[test]
    fn ordinary_sources_have_none() {
        for source in [
            "",
            "\n\n",
            "fn main() {}",
            "#!/usr/bin/env evaluator\nfn main() {}",
            "#![allow(dead_code)]\n//! ```cargo\n//! ```\n",
            "//! ```rust\n//! a();\n//! ```\nfn main() {}",
            "fn main() {}\n---\n[package]\n---\n",
            "-- not frontmatter",
        ] {
            assert_eq!(find(source), Ok(None), "{source:?}");
        }
    }

    #[test]
    fn frontmatter_keeps_the_line_numbers_of_the_code() {
        let source =
            "#!/usr/bin/env x\n\n---cargo\n[dependencies]\nserde = \"1\"\n---\nfn main() {}\n";
        assert_eq!(
            found(source),
            Embedded {
                toml: "[dependencies]\nserde = \"1\"\n".to_owned(),
                lines_before: 3,
                plain_source: Some("\n\n\n\n\n\nfn main() {}\n".to_owned()),
            }
        );
    }

    #[test]
    fn frontmatter_may_be_long_bare_windows_and_empty() {
        assert_eq!(
            found("-----\r\na = 1\r\n---\r\n-----\r\nfn main() {}").toml,
            "a = 1\r\n---\r\n"
        );
        assert_eq!(found("\u{feff}---\n---").toml, "");
        assert_eq!(found("---   cargo  \n---  \n").toml, "");
    }

    #[test]
    fn malformed_frontmatter_is_named_with_its_line() {
        let error = |source| find(source).unwrap_err();
        assert_eq!(error("\n---yaml\n---\n").0, 2);
        assert_eq!(
            error("---yaml\n---\n").1,
            "frontmatter of kind `yaml` is not a manifest; write `---cargo`"
        );
        assert_eq!(
            error("----\n---\nfn main() {}").1,
            "frontmatter is not closed; write `----` on a line of its own"
        );
        assert_eq!(error("---\na = 1\n--- x\n").0, 3);
    }

    #[test]
    fn a_comment_block_is_read_and_the_file_left_as_it_is() {
        let source = "#!/usr/bin/env rust-script\n//! Checks things.\n//!\n//! ```cargo\n//! [dependencies]\n\
                      //!     a = \"1\"\n//!\n//! ```\nfn main() {}\n";
        assert_eq!(
            found(source),
            Embedded {
                toml: "[dependencies]\n    a = \"1\"\n\n".to_owned(),
                lines_before: 4,
                plain_source: None,
            }
        );
    }

    #[test]
    fn a_comment_block_must_be_closed() {
        assert_eq!(find("//! ```cargo\n//! a = 1\nfn main() {}").unwrap_err().0, 1);
        assert_eq!(find("//! ```cargo\n//! a = 1").unwrap_err().0, 1);
    }
}
