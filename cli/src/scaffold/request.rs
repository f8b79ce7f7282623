//! Requests for new evaluators, and the reasons to reject them.

use std::path::{Path, PathBuf};

use evaluator_host::runtime::sdk;

use super::{
    Language, Name, ScaffoldError, Template,
    template::{argument, languages},
};

/// An evaluator to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Parent directory; empty for the working directory.
    pub(super) parent: PathBuf,
    pub(super) name: Name,
    pub(super) template: Template,
}

impl Request {
    /// Interprets the arguments of a command.
    ///
    /// `target` is the name, optionally with directories before it and with an extension that selects the language:
    /// `my_check`, `evaluators/my_check`, `my_check.py`. `default` is the language if
    /// nothing selects one.
    ///
    /// # Errors
    ///
    /// [`ScaffoldError`] if the name cannot be used or the arguments contradict each other.
    pub fn new(
        target: &Path,
        language: Option<Language>,
        template: Option<Template>,
        default: Language,
    ) -> Result<Self, ScaffoldError> {
        let (parent, file_name) = match target.file_name() {
            Some(file_name) => {
                (target.parent().unwrap_or(Path::new("")), file_name.to_string_lossy())
            }
            // The check of the name rejects `..`.
            None => (Path::new(""), target.to_string_lossy()),
        };
        let (name, by_extension) = split_extension(&file_name)?;
        let hints = [
            by_extension.map(|language| (format!("`{file_name}`"), language)),
            language.map(|language| (format!("`--runtime {}`", argument(language)), language)),
            template.and_then(|template| {
                Some((format!("`--template {}`", template.name()), template.language()?))
            }),
        ];
        let hints: Vec<_> = hints.into_iter().flatten().collect();
        let language = agree(&hints)?.unwrap_or(default);
        let template = template.unwrap_or_else(|| Template::default_of(language));
        if let (None, Some((hint, language))) = (template.language(), hints.first()) {
            return Err(ScaffoldError(format!(
                "{hint} selects {}, and `--template {}` is not a program; remove one of them",
                language.name(),
                template.name()
            )));
        }
        let name = Name::new(name, template.language())?;
        Ok(Self { parent: parent.to_owned(), name, template })
    }

    /// Replaces the placeholders in the text of a template.
    ///
    /// `sdk` is the key and value of a dependency table, e.g. `version = "0.1.0"`.
    pub(super) fn fill(&self, text: &str, sdk: &str) -> String {
        text.replace("{{project-name}}", self.name.as_str())
            .replace("{{crate_name}}", &self.name.identifier())
            .replace("{{sdk}}", sdk)
    }
}

fn split_extension(file_name: &str) -> Result<(&str, Option<Language>), ScaffoldError> {
    let Some((name, extension)) =
        file_name.rsplit_once('.').filter(|(name, ext)| !name.is_empty() && !ext.is_empty())
    else {
        return Ok((file_name, None));
    };
    let lower = extension.to_ascii_lowercase();
    if let Some(language) = languages().find(|language| argument(*language) == lower) {
        return Ok((name, Some(language)));
    }
    let known: Vec<_> = languages().map(Language::extension).collect();
    let (last, others) = known.split_last().map_or(("", &[][..]), |(last, others)| (last, others));
    Err(ScaffoldError(format!(
        "`{file_name}` has the extension `.{extension}`, but evaluators can be created as {} or {last}",
        others.join(", ")
    )))
}

/// Returns the language that all arguments imply.
fn agree(hints: &[(String, Language)]) -> Result<Option<Language>, ScaffoldError> {
    let Some((first, language)) = hints.first() else { return Ok(None) };
    match hints.iter().find(|(_, other)| other != language) {
        Some((second, other)) => Err(ScaffoldError(format!(
            "{first} selects {}, and {second} selects {}; remove one of them",
            language.name(),
            other.name()
        ))),
        None => Ok(Some(*language)),
    }
}

/// Source of `evaluator-sdk` for a new Rust package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SdkSource {
    /// A copy of the sources in this program, which is written next to the package.
    Copy,
    /// The registry, from this version on.
    Version(String),
}

impl SdkSource {
    /// A copy if this program was built in the repository of the SDK; else the version of this program.
    pub fn of_this_build() -> Self {
        if sdk::is_embedded() { Self::Copy } else { Self::of_the_registry() }
    }

    /// The published version of this program.
    pub fn of_the_registry() -> Self {
        Self::Version(env!("CARGO_PKG_VERSION").to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(
        target: &str,
        language: Option<Language>,
        template: Option<Template>,
    ) -> Result<(String, String, Template), String> {
        Request::new(Path::new(target), language, template, Language::Rust)
            .map(|request| {
                let parent = request.parent.display().to_string();
                (parent, request.name.as_str().to_owned(), request.template)
            })
            .map_err(|error| error.to_string())
    }

    #[test]
    fn the_language_comes_from_any_argument() {
        use Language::{Python, Rust, TypeScript as Ts};
        use Template::{
            Basic, Javascript, Judge, Python as PythonTemplate, TypedConfig, Typescript,
        };
        for (target, language, template, parent, name, expected) in [
            ("my_check", None, None, "", "my_check", Basic),
            ("my-check/", None, None, "", "my-check", Basic),
            ("a/b/my_check.py", None, None, "a/b", "my_check", PythonTemplate),
            ("my_check.JS", None, None, "", "my_check", Javascript),
            ("my_check", Some(Ts), None, "", "my_check", Typescript),
            ("my_check.py", Some(Python), Some(PythonTemplate), "", "my_check", PythonTemplate),
            ("my_check", Some(Rust), Some(TypedConfig), "", "my_check", TypedConfig),
            ("my_check", None, Some(Javascript), "", "my_check", Javascript),
            // Reserved words of languages are names like others.
            ("match", None, Some(Judge), "", "match", Judge),
        ] {
            assert_eq!(
                request(target, language, template).unwrap(),
                (parent.to_owned(), name.to_owned(), expected)
            );
        }
    }

    #[test]
    fn contradictions_are_named() {
        assert_eq!(
            request("my_check.py", Some(Language::JavaScript), None).unwrap_err(),
            "`my_check.py` selects Python, and `--runtime js` selects JavaScript; remove one of them"
        );
        assert_eq!(
            request("my_check", Some(Language::Python), Some(Template::TypedConfig)).unwrap_err(),
            "`--runtime py` selects Python, and `--template typed-config` selects Rust; remove one of them"
        );
        assert_eq!(
            request("my_check.py", None, Some(Template::Judge)).unwrap_err(),
            "`my_check.py` selects Python, and `--template judge` is not a program; remove one of them"
        );
    }

    #[test]
    fn other_names_are_refused() {
        for (target, expected) in [
            (
                "my_check.rb",
                "`my_check.rb` has the extension `.rb`, but evaluators can be created as .rs, .py, .js or .ts",
            ),
            (
                "..",
                "`..` cannot be the name of an evaluator: it begins with '.', not with a letter; try `my_check`",
            ),
            ("", "`` cannot be the name of an evaluator: it is empty; try `my_check`"),
            (
                ".py",
                "`.py` cannot be the name of an evaluator: it begins with '.', not with a letter; try `py`",
            ),
        ] {
            assert_eq!(request(target, None, None).unwrap_err(), expected);
        }
    }
}
