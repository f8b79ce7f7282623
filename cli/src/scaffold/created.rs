//! What was created, and what to do with it.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use super::{Request, SdkSource, Template, render::fill};

/// A new evaluator. Its text says what was created and what to do next.
#[derive(Clone, Debug)]
pub struct Created {
    folder: PathBuf,
    /// Relative to the folder.
    files: Vec<PathBuf>,
    template: Template,
    /// Name of the evaluator.
    name: String,
    entrypoint: PathBuf,
    sdk: SdkSource,
    /// The manifest of the workspace it is a member of.
    workspace: Option<PathBuf>,
}

impl Created {
    pub(super) fn new(
        request: &Request,
        sdk: &SdkSource,
        folder: PathBuf,
        files: Vec<PathBuf>,
        workspace: Option<PathBuf>,
    ) -> Self {
        let template = request.template();
        let entrypoint = folder.join(fill(template.entrypoint(), request.name(), sdk));
        let name = request.name().identifier();
        Self { folder, files, template, name, entrypoint, sdk: sdk.clone(), workspace }
    }

    /// The new folder, relative to the current one if it was asked for that way.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The new files.
    pub fn files(&self) -> impl ExactSizeIterator<Item = PathBuf> {
        self.files.iter().map(|file| self.folder.join(file))
    }

    /// The file that is run.
    #[must_use]
    pub fn entrypoint(&self) -> &Path {
        &self.entrypoint
    }

    /// A configuration that runs the evaluator, for the current folder.
    #[must_use]
    pub fn config(&self) -> String {
        format!(
            "evaluators:\n  - name: {}\n    type: code\n    path: {}\n    threshold: 0.8\n{}",
            self.name,
            yaml_path(&self.entrypoint),
            self.template.settings()
        )
    }

    /// Where the new package takes the SDK from; `None` for evaluators that need none.
    #[must_use]
    pub fn sdk(&self) -> Option<&SdkSource> {
        self.files.iter().any(|file| file == Path::new("Cargo.toml")).then_some(&self.sdk)
    }
}

impl fmt::Display for Created {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "created {}", self.folder.display())?;
        for file in &self.files {
            writeln!(f, "    {}", file.display())?;
        }
        let manifest = self.folder.join("Cargo.toml");
        match self.sdk() {
            Some(SdkSource::Path(path)) => {
                let published = SdkSource::of_the_registry().to_toml();
                writeln!(f, "\nIt uses the evaluator-sdk of this checkout, {path}.")?;
                writeln!(
                    f,
                    "For the published one, write `{published}` for its `path` in {}.",
                    manifest.display()
                )?;
            }
            Some(SdkSource::Version(version)) => {
                writeln!(f, "\nIt uses evaluator-sdk {version} from the registry.")?;
                writeln!(
                    f,
                    "For a checkout of it, write `path = \"...\"` for its `version` in {}.",
                    manifest.display()
                )?;
            }
            None => {}
        }
        if let (Some(_), Some(workspace)) = (self.sdk(), &self.workspace) {
            writeln!(f, "It is a member of the workspace {}.", workspace.display())?;
        }
        writeln!(f, "\nTest it:\n\n    evaluator test {}", shell_word(&self.folder))?;
        writeln!(f, "\nTo run it over recorded traces, write this to eval_config.yaml here:\n")?;
        for line in self.config().lines() {
            writeln!(f, "    {line}")?;
        }
        writeln!(f, "\nand then:\n\n    evaluator run TRACES --config eval_config.yaml")
    }
}

/// A path as YAML and every system's tools read it.
fn yaml_path(path: &Path) -> String {
    let text = path.display().to_string();
    let text = if cfg!(windows) { text.replace('\\', "/") } else { text };
    if is_plain(&text) {
        return text;
    }
    // JSON's strings are strings in YAML, too.
    let escaped: String = text
        .chars()
        .map(|c| match c {
            '"' | '\\' => format!("\\{c}"),
            control if control.is_control() => format!("\\u{:04x}", u32::from(control)),
            other => other.to_string(),
        })
        .collect();
    format!("\"{escaped}\"")
}

/// A path as one word of a command line.
fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    if is_plain(&text) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// Whether neither YAML nor a shell sees anything special in a path.
fn is_plain(text: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    !text.starts_with('-') && text.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn created(target: &str, template: Option<Template>, sdk: &SdkSource) -> Created {
        let request = Request::new(Path::new(target), None, template).unwrap();
        let folder = Path::new(target).with_extension("");
        let files =
            request.template().files().iter().map(|file| {
                PathBuf::from(fill(file.name, request.name(), sdk).replace(".tmpl", ""))
            });
        Created::new(&request, sdk, folder, files.collect(), None)
    }

    #[test]
    fn says_what_is_there_and_what_is_next() {
        let text = created("my-check", None, &SdkSource::Path("/src/sdk".to_owned())).to_string();
        assert_eq!(
            text,
            "created my-check
    Cargo.toml
    src/main.rs
    evaluator.yaml
    README.md
    .gitignore

It uses the evaluator-sdk of this checkout, /src/sdk.
For the published one, write `version = \"0.1.0\"` for its `path` in my-check/Cargo.toml.

Test it:

    evaluator test my-check

To run it over recorded traces, write this to eval_config.yaml here:

    evaluators:
      - name: my_check
        type: code
        path: my-check/src/main.rs
        threshold: 0.8

and then:

    evaluator run TRACES --config eval_config.yaml
"
        );
    }

    #[test]
    fn only_rust_needs_the_sdk() {
        let sdk = SdkSource::of_the_registry();
        for template in Template::ALL {
            let rust = template.language() == crate::scaffold::Language::Rust;
            assert_eq!(created("my_check", Some(template), &sdk).sdk().is_some(), rust);
        }
        assert!(
            created("my_check", None, &sdk)
                .to_string()
                .contains("evaluator-sdk 0.1.0 from the registry")
        );
    }

    #[test]
    fn settings_are_shown() {
        let config =
            created("my_check", Some(Template::TypedConfig), &SdkSource::of_the_registry())
                .config();
        assert!(
            config.ends_with("    config:\n      min_length: 20\n      forbidden: [I guess]\n")
        );
    }

    #[test]
    fn paths_are_quoted_where_they_must_be() {
        for (path, yaml, shell) in [
            ("a/b_c-d.py", "a/b_c-d.py", "a/b_c-d.py"),
            ("my files/x.py", "\"my files/x.py\"", "'my files/x.py'"),
            ("-x/y", "\"-x/y\"", "'-x/y'"),
            ("it's: \"#\"/x", "\"it's: \\\"#\\\"/x\"", r##"'it'\''s: "#"/x'"##),
        ] {
            assert_eq!(yaml_path(Path::new(path)), yaml);
            assert_eq!(shell_word(Path::new(path)), shell);
        }
    }
}
