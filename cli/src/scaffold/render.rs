//! Writing a template's files.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{Created, Name, Request, ScaffoldError, SdkSource, workspace};

/// Creates the folder of an evaluator.
///
/// The files are written to a folder beside it that is renamed at last, so that nothing is ever half there.
///
/// # Errors
///
/// [`ScaffoldError`] when something has that name already or the place cannot be written to.
pub fn render(request: &Request, sdk: &SdkSource) -> Result<Created, ScaffoldError> {
    let folder = request.parent().join(request.name().as_str());
    // Whatever cannot be looked at is not there, or gives the better error when it is created.
    if fs::symlink_metadata(&folder).is_ok() {
        return Err(ScaffoldError::Exists { path: folder });
    }
    if request.parent() != Path::new("") && !request.parent().is_dir() {
        return Err(ScaffoldError::NoFolder { path: request.parent().to_owned() });
    }
    let workspace = workspace::claiming(&folder);
    write(request, sdk, &folder, workspace.is_some())
        .map_err(|source| ScaffoldError::Io { path: folder.clone(), source })
        .map(|files| Created::new(request, sdk, folder, files, workspace))
}

/// What only the root of a workspace may have stands from here to the end of a template's manifest.
const OF_A_ROOT: &str = "\n[profile.dev]\n";

fn write(
    request: &Request,
    sdk: &SdkSource,
    folder: &Path,
    is_member: bool,
) -> io::Result<Vec<PathBuf>> {
    let partial = PartialFolder::create(folder)?;
    let mut files = Vec::new();
    for file in request.template().files() {
        let name = fill(file.name, request.name(), sdk);
        let name = name.strip_suffix(".tmpl").unwrap_or(&name);
        let path = partial.path.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        let mut text = fill(file.text, request.name(), sdk);
        if is_member && name == "Cargo.toml" {
            text.truncate(text.find(OF_A_ROOT).unwrap_or(text.len()));
        }
        fs::write(path, text)?;
        files.push(PathBuf::from(name));
    }
    partial.rename(folder)?;
    Ok(files)
}

/// Puts values for placeholders.
pub(super) fn fill(text: &str, name: &Name, sdk: &SdkSource) -> String {
    text.replace("{{project-name}}", name.as_str())
        .replace("{{crate_name}}", &name.identifier())
        .replace("{{sdk}}", &sdk.to_toml())
}

/// A folder that is removed again unless it gets its final name.
struct PartialFolder {
    path: PathBuf,
    complete: bool,
}

impl PartialFolder {
    /// A new folder beside `folder`, where a rename cannot cross file systems.
    fn create(folder: &Path) -> io::Result<Self> {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let path = folder.with_file_name(format!(".{name}.{}.partial", std::process::id()));
        fs::create_dir(&path)?;
        Ok(Self { path, complete: false })
    }

    fn rename(mut self, folder: &Path) -> io::Result<()> {
        fs::rename(&self.path, folder)?;
        self.complete = true;
        Ok(())
    }
}

impl Drop for PartialFolder {
    fn drop(&mut self) {
        if !self.complete {
            // The error that led here is the one to report.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::scaffold::Template;

    /// A folder that goes away with the test.
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
            let request = Request::new(&self.0.join(name), None, Some(template))?;
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
        for template in Template::ALL {
            let name = format!("my-{}", template.name());
            let created = scratch.render(&name, template).unwrap();
            for file in created.files() {
                assert!(!file.display().to_string().contains("{{"), "{}", file.display());
                let text = fs::read_to_string(&file).unwrap();
                assert!(!text.contains("{{") && !text.contains("{%"), "{}", file.display());
                assert!(text.ends_with('\n'), "{}", file.display());
            }
        }
        assert_eq!(scratch.names().len(), Template::ALL.len());
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
        fs::create_dir(scratch.0.join("folder")).unwrap();
        fs::write(scratch.0.join("file"), "precious").unwrap();
        for name in ["folder", "file"] {
            let error = scratch.render(name, Template::Python).unwrap_err();
            assert!(
                matches!(&error, ScaffoldError::Exists { path } if path.ends_with(name)),
                "{error}"
            );
        }
        assert_eq!(scratch.names(), ["file", "folder"]);
        assert_eq!(fs::read_to_string(scratch.0.join("file")).unwrap(), "precious");
    }

    #[test]
    fn a_place_that_is_not_there_is_named() {
        let scratch = Scratch::new();
        fs::write(scratch.0.join("file"), "").unwrap();
        for parent in ["nowhere", "file"] {
            let error = scratch.render(&format!("{parent}/my_check"), Template::Basic).unwrap_err();
            assert!(
                matches!(&error, ScaffoldError::NoFolder { path } if path.ends_with(parent)),
                "{error}"
            );
        }
        assert_eq!(scratch.names(), ["file"]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_place_that_cannot_be_written_to_is_named() {
        let request = Request::new(Path::new("/proc/self/my_check"), None, None).unwrap();
        let error = render(&request, &SdkSource::of_the_registry()).unwrap_err();
        assert!(error.to_string().starts_with("cannot create /proc/self/my_check: "), "{error}");
    }

    #[test]
    fn a_folder_that_is_not_completed_goes_away() {
        let scratch = Scratch::new();
        let partial = PartialFolder::create(&scratch.0.join("my_check")).unwrap();
        fs::create_dir(partial.path.join("src")).unwrap();
        fs::write(partial.path.join("src/main.rs"), "").unwrap();
        assert_eq!(scratch.names().len(), 1);
        drop(partial);
        assert_eq!(scratch.names(), [""; 0]);
    }

    #[test]
    fn a_folder_that_appears_meanwhile_is_left_alone() {
        let scratch = Scratch::new();
        let folder = scratch.0.join("my_check");
        let partial = PartialFolder::create(&folder).unwrap();
        fs::create_dir_all(folder.join("src")).unwrap();
        assert!(partial.rename(&folder).is_err());
        assert_eq!(scratch.names(), ["my_check"]);
        assert!(folder.join("src").is_dir());
    }

    #[test]
    fn a_workspace_that_takes_the_folder_gets_a_member_and_any_other_is_left_alone() {
        let scratch = Scratch::new();
        let manifest = "[workspace]\nmembers = [\"crates/*\"]\nexclude = [\"crates/not\"]\n";
        fs::write(scratch.0.join("Cargo.toml"), manifest).unwrap();
        fs::create_dir(scratch.0.join("crates")).unwrap();
        for template in [Template::Basic, Template::TypedConfig, Template::ToolTrajectory] {
            for (name, is_member) in
                [("crates/member", true), ("crates/not", false), ("beside", false)]
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
}
