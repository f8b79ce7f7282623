//! Creates the files of an evaluator.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
};

use evaluator_host::{config::schema_line, runtime::sdk};
use glob::{MatchOptions, Pattern};
use toml_edit::{DocumentMut, Item};

use super::{Entry, Language, Request, ScaffoldError, SdkSource};

/// Creates the directory of an evaluator.
///
/// The files are written to a temporary directory next to it that is renamed at the end, so the directory is never incomplete.
///
/// # Errors
///
/// [`ScaffoldError`] if the name exists already or the files cannot be written.
pub fn render(request: &Request, sdk: &SdkSource) -> Result<Created, ScaffoldError> {
    let directory = request.parent.join(request.name.as_str());
    // Other errors are reported better when the directory is created.
    if fs::symlink_metadata(&directory).is_ok() {
        return Err(ScaffoldError(format!(
            "{} exists already; choose another name or remove it first",
            directory.display()
        )));
    }
    if request.parent != Path::new("") && !request.parent.is_dir() {
        let parent = request.parent.display();
        let problem = match request.parent.exists() {
            true => "is not a directory",
            false => "does not exist; create it first",
        };
        return Err(ScaffoldError(format!("{parent} {problem}")));
    }
    let workspace = claiming_workspace(&directory);
    let cannot = |path: &Path, error: io::Error| {
        ScaffoldError(format!("cannot create {}: {error}", path.display()))
    };
    let mut created = Created {
        files: Vec::new(),
        request: request.clone(),
        sdk: sdk.clone(),
        workspace,
        directory: directory.clone(),
    };
    // Members of a workspace share one copy, because a workspace cannot have two packages of the same name.
    if let (Some(copy), Some(_)) = (created.sdk_copy(), &created.workspace)
        && !copy.is_dir()
    {
        write_shared_copy(&copy).map_err(|error| cannot(&copy, error))?;
    }
    created.files = write(&created).map_err(|error| cannot(&directory, error))?;
    Ok(created)
}

/// Start of the part of a template's manifest that only the root of a workspace may have.
const ROOT_ONLY: &str = "\n[profile.dev]\n";

/// Copy of the SDK below the directory of a package or of its workspace.
const SDK_COPY: &str = "vendor/evaluator-sdk";

/// Last line of the manifest of a package that has a copy of the SDK, which is not a member of its workspace.
const EXCLUDE_COPY: &str = "exclude = [\"vendor\"]\n";

fn write_shared_copy(copy: &Path) -> io::Result<()> {
    copy.parent().map_or(Ok(()), fs::create_dir_all)?;
    let partial = PartialDirectory::create(copy)?;
    sdk::write_copy(&partial.path)?;
    partial.rename(copy)
}

fn write(created: &Created) -> io::Result<Vec<PathBuf>> {
    let Created { request, directory, .. } = created;
    let is_member = created.workspace.is_some();
    let partial = PartialDirectory::create(directory)?;
    let has_copy = created.sdk_copy().is_some();
    if has_copy && !is_member {
        sdk::write_copy(&partial.path.join(SDK_COPY))?;
    }
    let sdk = created.sdk_to_toml();
    let mut files = Vec::new();
    for file in request.template.files() {
        let name = request.fill(file.name, &sdk);
        let name = name.strip_suffix(".tmpl").unwrap_or(&name);
        let path = partial.path.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let mut text = request.fill(file.text, &sdk);
        match (name, is_member) {
            ("Cargo.toml", true) => text.truncate(text.find(ROOT_ONLY).unwrap_or(text.len())),
            ("Cargo.toml", false) if has_copy => text += EXCLUDE_COPY,
            _ => {}
        }
        fs::write(path, text)?;
        files.push(PathBuf::from(name));
    }
    partial.rename(directory)?;
    Ok(files)
}

/// Temporary directory that is removed unless it is renamed.
pub(super) struct PartialDirectory {
    path: PathBuf,
    complete: bool,
}

impl PartialDirectory {
    /// Creates a directory next to `directory`, so that the rename stays in one file system.
    pub(super) fn create(directory: &Path) -> io::Result<Self> {
        let name = directory.file_name().unwrap_or_default().to_string_lossy();
        let path = directory.with_file_name(format!(".{name}.{}.partial", std::process::id()));
        fs::create_dir(&path)?;
        Ok(Self { path, complete: false })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn rename(mut self, directory: &Path) -> io::Result<()> {
        fs::rename(&self.path, directory)?;
        self.complete = true;
        Ok(())
    }
}

impl Drop for PartialDirectory {
    fn drop(&mut self) {
        if !self.complete {
            // The first error is reported.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Returns the manifest of the workspace that already has `directory` as a member: its `members` match the path, and its
/// `exclude` does not.
///
/// Cargo rejects a member that is a workspace itself, and with it the whole workspace.
fn claiming_workspace(directory: &Path) -> Option<PathBuf> {
    let directory = std::path::absolute(directory).ok()?;
    let (root, workspace) = directory.ancestors().skip(1).find_map(|root| {
        let text = fs::read_to_string(root.join("Cargo.toml")).ok()?;
        // A manifest that cargo cannot parse either is skipped.
        let mut manifest: DocumentMut = text.parse().ok()?;
        manifest.remove("workspace").map(|workspace| (root, workspace))
    })?;
    let path = directory.strip_prefix(root).ok()?;
    let excluded = patterns(&workspace, "exclude").any(|exclude| path.starts_with(exclude));
    let member = patterns(&workspace, "members").any(|pattern| matches(path, pattern));
    (member && !excluded).then(|| root.join("Cargo.toml"))
}

fn patterns<'a>(workspace: &'a Item, key: &str) -> impl Iterator<Item = &'a str> {
    let list = workspace.get(key).and_then(Item::as_array).into_iter().flatten();
    list.filter_map(|pattern| pattern.as_str()).map(|pattern| pattern.trim_start_matches("./"))
}

/// Returns true if a pattern such as `crates/*` matches a whole path.
fn matches(path: &Path, pattern: &str) -> bool {
    let options = MatchOptions { require_literal_separator: true, ..MatchOptions::default() };
    Pattern::new(pattern.trim_end_matches('/'))
        .is_ok_and(|pattern| pattern.matches_path_with(path, options))
}

/// A new evaluator. Its text lists the files, and how to test it.
#[derive(Clone, Debug)]
pub struct Created {
    directory: PathBuf,
    /// Relative to the directory.
    files: Vec<PathBuf>,
    request: Request,
    sdk: SdkSource,
    /// Manifest of the workspace that the package is a member of.
    workspace: Option<PathBuf>,
}

impl Created {
    /// The file that is run.
    pub fn entrypoint(&self) -> PathBuf {
        let entrypoint = self.request.template.entrypoint();
        self.directory.join(self.request.fill(&entrypoint, ""))
    }

    /// The entry that runs the evaluator, with paths relative to the working directory.
    pub fn entry(&self) -> Entry {
        let template = self.request.template;
        let path = forward_slashes(&self.entrypoint()).into();
        let mut keys = vec![("name", self.request.name.identifier().into())];
        match template.language() {
            Some(_) => keys.extend([("type", "code".into()), ("path", path)]),
            None => keys.extend([("type", "llm_judge".into()), ("prompt", path)]),
        }
        keys.push(("threshold", 0.5.into()));
        keys.extend(template.settings());
        Entry(keys)
    }

    /// A configuration with this entry.
    pub fn config(&self) -> String {
        format!("{}evaluators:\n{}", schema_line(), self.entry().to_yaml("  "))
    }

    /// Returns true if the evaluator is a program.
    pub fn is_program(&self) -> bool {
        self.request.template.language().is_some()
    }

    /// Directory of a Rust package that is not a member of a workspace.
    pub(crate) fn lone_package(&self) -> Option<&Path> {
        (self.sdk().is_some() && self.workspace.is_none()).then_some(&self.directory)
    }

    /// Source of the SDK of the new package; `None` for evaluators that need none.
    fn sdk(&self) -> Option<&SdkSource> {
        (self.request.template.language() == Some(Language::Rust)).then_some(&self.sdk)
    }

    /// Directory of the copy of the SDK; `None` if the package does not use one.
    fn sdk_copy(&self) -> Option<PathBuf> {
        let root = match &self.workspace {
            Some(manifest) => manifest.parent()?,
            None => &self.directory,
        };
        (self.sdk()? == &SdkSource::Copy).then(|| root.join(SDK_COPY))
    }

    /// Formats the key and value of the dependency. A path is relative, so that the package can be moved.
    fn sdk_to_toml(&self) -> String {
        if let SdkSource::Version(version) = &self.sdk {
            return format!("version = \"{version}\"");
        }
        let root = self.workspace.as_deref().and_then(Path::parent);
        let directory = std::path::absolute(&self.directory).unwrap_or_default();
        let below = root.and_then(|root| directory.strip_prefix(root).ok());
        let up = "../".repeat(below.map_or(0, |below| below.components().count()));
        format!("path = \"{up}{SDK_COPY}/{}\"", sdk::PACKAGE)
    }
}

impl fmt::Display for Created {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "created {}", self.directory.display())?;
        for file in &self.files {
            writeln!(f, "    {}", file.display())?;
        }
        if let Some(sdk) = self.sdk() {
            let version = env!("CARGO_PKG_VERSION");
            match (sdk, self.sdk_copy()) {
                (SdkSource::Version(version), _) => {
                    writeln!(f, "\nIt uses evaluator-sdk {version} from the registry.")?;
                }
                (SdkSource::Copy, copy) => writeln!(
                    f,
                    "\nIt uses a copy of evaluator-sdk {version}: keep {} with it, also under version control.\n\
                     To use a published one, write `version = \"{version}\"` instead of its `path` in {}.",
                    copy.unwrap_or_default().display(),
                    self.directory.join("Cargo.toml").display()
                )?,
            }
            if let Some(workspace) = &self.workspace {
                writeln!(f, "It is a member of the workspace {}.", workspace.display())?;
            }
        }
        if self.is_program() {
            let directory = self.directory.display().to_string();
            writeln!(f, "\nTest it:\n\n    evaluator test {}", shell_words::quote(&directory))?;
        }
        Ok(())
    }
}

/// Formats a path with separators that all systems understand.
fn forward_slashes(path: &Path) -> String {
    let text = path.display().to_string();
    if cfg!(windows) { text.replace('\\', "/") } else { text }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::scaffold::Template;

    /// A directory that is removed with the test.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new() -> Self {
            static COUNT: AtomicU32 = AtomicU32::new(0);
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = std::env::temp_dir()
                .join(format!("evaluator-scaffold-{}-{number}", std::process::id()));
            fs::create_dir(&path).unwrap();
            Self(path)
        }

        fn names(&self) -> Vec<String> {
            let mut names: Vec<_> = fs::read_dir(&self.0)
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        }

        fn render(&self, name: &str, template: Template) -> Result<Created, ScaffoldError> {
            let request = Request::new(&self.0.join(name), None, Some(template), Language::Rust)?;
            render(&request, &SdkSource::of_the_registry())
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn no_placeholder_is_left() {
        let scratch = Scratch::new();
        for template in Template::all() {
            let name = format!("my-{}", template.name());
            let created = scratch.render(&name, template).unwrap();
            for file in created.files.iter().map(|file| created.directory.join(file)) {
                assert!(!file.display().to_string().contains("{{"), "{}", file.display());
                let text = fs::read_to_string(&file).unwrap();
                // A prompt has variables, whose names have blanks around them.
                let text = text.replace("{{ ", "");
                assert!(!text.contains("{{") && !text.contains("{%"), "{}", file.display());
                assert!(text.ends_with('\n'), "{}", file.display());
            }
        }
        assert_eq!(scratch.names().len(), Template::all().count());
    }

    #[test]
    fn the_package_has_the_name_and_the_function_its_identifier() {
        let scratch = Scratch::new();
        scratch.render("my-check", Template::Basic).unwrap();
        let manifest = fs::read_to_string(scratch.0.join("my-check/Cargo.toml")).unwrap();
        assert!(manifest.contains("name = \"my-check\""));
        assert!(manifest.contains("evaluator-sdk = { version = \"0.1.0\" }"));
        assert!(manifest.contains("\n[workspace]\n"));
        let code = fs::read_to_string(scratch.0.join("my-check/src/main.rs")).unwrap();
        assert!(code.contains("fn my_check(input: &EvalInput) -> EvalResult {"));
    }

    #[test]
    fn what_exists_is_left_alone() {
        let scratch = Scratch::new();
        fs::create_dir(scratch.0.join("directory")).unwrap();
        fs::write(scratch.0.join("file"), "precious").unwrap();
        for name in ["directory", "file"] {
            let error = scratch.render(name, Template::Python).unwrap_err();
            let expected = format!("{name} exists already; choose another name or remove it first");
            assert!(error.to_string().ends_with(&expected), "{error}");
        }
        assert_eq!(scratch.names(), ["directory", "file"]);
        assert_eq!(fs::read_to_string(scratch.0.join("file")).unwrap(), "precious");
    }

    #[test]
    fn a_missing_parent_is_named() {
        let scratch = Scratch::new();
        fs::write(scratch.0.join("file"), "").unwrap();
        for (parent, problem) in
            [("nowhere", "does not exist; create it first"), ("file", "is not a directory")]
        {
            let error = scratch.render(&format!("{parent}/my_check"), Template::Basic).unwrap_err();
            assert!(error.to_string().ends_with(&format!("/{parent} {problem}")), "{error}");
        }
        assert_eq!(scratch.names(), ["file"]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_parent_that_cannot_be_written_to_is_named() {
        let request =
            Request::new(Path::new("/proc/self/my_check"), None, None, Language::Rust).unwrap();
        let error = render(&request, &SdkSource::of_the_registry()).unwrap_err();
        assert!(error.to_string().starts_with("cannot create /proc/self/my_check: "), "{error}");
    }

    #[test]
    fn an_incomplete_directory_is_removed() {
        let scratch = Scratch::new();
        let partial = PartialDirectory::create(&scratch.0.join("my_check")).unwrap();
        fs::create_dir(partial.path.join("src")).unwrap();
        fs::write(partial.path.join("src/main.rs"), "").unwrap();
        assert_eq!(scratch.names().len(), 1);
        drop(partial);
        assert_eq!(scratch.names(), [""; 0]);
    }

    #[test]
    fn a_directory_that_appears_meanwhile_is_left_alone() {
        let scratch = Scratch::new();
        let directory = scratch.0.join("my_check");
        let partial = PartialDirectory::create(&directory).unwrap();
        fs::create_dir_all(directory.join("src")).unwrap();
        assert!(partial.rename(&directory).is_err());
        assert_eq!(scratch.names(), ["my_check"]);
        assert!(directory.join("src").is_dir());
    }

    #[test]
    fn a_workspace_that_matches_the_directory_gets_a_member_and_any_other_is_left_alone() {
        let scratch = Scratch::new();
        let manifest = "[workspace]\nmembers = [\"crates/*\"]\nexclude = [\"crates/not\"]\n";
        fs::write(scratch.0.join("Cargo.toml"), manifest).unwrap();
        fs::create_dir(scratch.0.join("crates")).unwrap();
        for template in [Template::Basic, Template::TypedConfig, Template::ToolTrajectory] {
            for (name, is_member) in
                [("crates/member", true), ("crates/not", false), ("other", false)]
            {
                let created = scratch.render(name, template).unwrap();
                let text = fs::read_to_string(scratch.0.join(name).join("Cargo.toml")).unwrap();
                assert_eq!(!text.contains("[workspace]"), is_member, "{name}: {text}");
                assert_eq!(!text.contains("[profile"), is_member, "{name}: {text}");
                assert!(text.contains("evaluator-sdk"), "{name}: {text}");
                assert_eq!(created.to_string().contains("It is a member of"), is_member, "{name}");
                fs::remove_dir_all(scratch.0.join(name)).unwrap();
            }
        }
    }

    #[test]
    fn a_copy_of_the_sdk_moves_with_the_package_and_is_shared_in_a_workspace() {
        let scratch = Scratch::new();
        let manifest = "[workspace]\nmembers = [\"crates/*\"]\n";
        fs::write(scratch.0.join("Cargo.toml"), manifest).unwrap();
        fs::create_dir(scratch.0.join("crates")).unwrap();
        for (name, path, root) in [
            ("alone", "vendor/evaluator-sdk/sdk", "alone"),
            ("crates/one", "../../vendor/evaluator-sdk/sdk", ""),
            ("crates/two", "../../vendor/evaluator-sdk/sdk", ""),
        ] {
            let request = Request::new(&scratch.0.join(name), None, None, Language::Rust).unwrap();
            let created = render(&request, &SdkSource::Copy).unwrap();

            let text = fs::read_to_string(scratch.0.join(name).join("Cargo.toml")).unwrap();
            let document: DocumentMut = text.parse().unwrap();
            assert_eq!(document["dependencies"]["evaluator-sdk"]["path"].as_str(), Some(path));
            let exclude = document.get("workspace").and_then(|it| it.get("exclude")).is_some();
            assert_eq!(exclude, name == "alone", "{text}");
            let copy = scratch.0.join(root).join("vendor/evaluator-sdk");
            assert_eq!(created.sdk_copy().unwrap(), copy);
            assert!(copy.join("sdk/src/lib.rs").is_file());
        }
        assert_eq!(scratch.names(), ["Cargo.toml", "alone", "crates", "vendor"]);
    }

    fn created(target: &str, template: Option<Template>, sdk: &SdkSource) -> Created {
        let request = Request::new(Path::new(target), None, template, Language::Rust).unwrap();
        let files = request.template.files().iter();
        let files =
            files.map(|file| request.fill(file.name, "").replace(".tmpl", "").into()).collect();
        let directory = Path::new(target).with_extension("");
        Created { directory, files, request, sdk: sdk.clone(), workspace: None }
    }

    #[test]
    fn says_what_is_there_and_what_is_next() {
        let text = created("my-check", None, &SdkSource::Copy).to_string();
        let expected = "\
created my-check
    Cargo.toml
    src/main.rs
    evaluator.yaml
    README.md
    .gitignore

It uses a copy of evaluator-sdk 0.1.0: keep my-check/vendor/evaluator-sdk with it, also under version control.
To use a published one, write `version = \"0.1.0\"` instead of its `path` in my-check/Cargo.toml.

Test it:

    evaluator test my-check
";
        assert_eq!(text, expected);
    }

    #[test]
    fn only_packages_need_the_sdk() {
        let sdk = SdkSource::of_the_registry();
        for template in Template::all() {
            let has_manifest = template.files().iter().any(|file| file.name == "Cargo.toml.tmpl");
            assert_eq!(created("my_check", Some(template), &sdk).sdk().is_some(), has_manifest);
        }
        assert!(
            created("my_check", None, &sdk)
                .to_string()
                .contains("evaluator-sdk 0.1.0 from the registry")
        );
    }

    #[test]
    fn settings_are_shown() {
        let sdk = SdkSource::of_the_registry();
        let config = |template| created("my_check", Some(template), &sdk).config();
        let text = config(Template::TypedConfig);
        assert!(text.ends_with("    config: {forbidden: ['I guess'], min_length: 20}\n"), "{text}");
        let text = config(Template::Judge);
        assert!(text.contains("    type: llm_judge\n    prompt: my_check/prompt.md\n"), "{text}");
    }

    #[test]
    fn a_directory_is_a_word_of_a_shell() {
        let text = created("it's my/check", None, &SdkSource::Copy).to_string();
        assert!(text.ends_with("\n    evaluator test 'it'\\''s my/check'\n"), "{text}");
    }

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
