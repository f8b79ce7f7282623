//! What a user asked for.

use std::path::{Path, PathBuf};

use super::{Language, Name, ScaffoldError, Template};

/// An evaluator to be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    parent: PathBuf,
    name: Name,
    template: Template,
}

impl Request {
    /// Makes sense of the arguments of a command.
    ///
    /// `target` is the name, with folders before it if it shall not be in the current one, and with an extension if that
    /// shall choose the language: `my_check`, `evaluators/my_check`, `my_check.py`. Without any hint the language is Rust.
    ///
    /// # Errors
    ///
    /// [`ScaffoldError`] when the name cannot be used or when the arguments contradict each other.
    pub fn new(
        target: &Path,
        language: Option<Language>,
        template: Option<Template>,
    ) -> Result<Self, ScaffoldError> {
        let (parent, file_name) = match target.file_name() {
            Some(file_name) => {
                (target.parent().unwrap_or(Path::new("")), file_name.to_string_lossy())
            }
            // `..` and the like: the check of the name finds the words for it.
            None => (Path::new(""), target.to_string_lossy()),
        };
        let (name, by_extension) = split_extension(&file_name)?;
        let wishes = [
            by_extension.map(|language| (format!("`{file_name}`"), language)),
            language.map(|language| (format!("`--runtime {}`", language.extension()), language)),
            template
                .map(|template| (format!("`--template {}`", template.name()), template.language())),
        ];
        let language = agree(wishes.into_iter().flatten())?.unwrap_or(Language::Rust);
        Ok(Self {
            parent: parent.to_owned(),
            name: Name::new(name, language)?,
            template: template.unwrap_or_else(|| Template::default_of(language)),
        })
    }

    /// The folder that will hold the folder of the evaluator; empty for the current one.
    #[must_use]
    pub fn parent(&self) -> &Path {
        &self.parent
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// The template.
    #[must_use]
    pub fn template(&self) -> Template {
        self.template
    }
}

fn split_extension(file_name: &str) -> Result<(&str, Option<Language>), ScaffoldError> {
    let Some((name, extension)) =
        file_name.rsplit_once('.').filter(|(name, ext)| !name.is_empty() && !ext.is_empty())
    else {
        return Ok((file_name, None));
    };
    let language = match extension.to_ascii_lowercase().as_str() {
        "rs" => Language::Rust,
        "py" => Language::Python,
        "js" => Language::Javascript,
        "ts" => Language::Typescript,
        _ => {
            return Err(ScaffoldError::Extension {
                name: file_name.to_owned(),
                extension: format!(".{extension}"),
            });
        }
    };
    Ok((name, Some(language)))
}

/// The one language all wishes ask for.
fn agree(
    wishes: impl Iterator<Item = (String, Language)>,
) -> Result<Option<Language>, ScaffoldError> {
    let mut agreed: Option<(String, Language)> = None;
    for (wish, language) in wishes {
        match &agreed {
            Some((first, other)) if *other != language => {
                return Err(ScaffoldError::Contradiction {
                    first: first.clone(),
                    first_language: other.name(),
                    second: wish,
                    second_language: language.name(),
                });
            }
            Some(_) => {}
            None => agreed = Some((wish, language)),
        }
    }
    Ok(agreed.map(|(_, language)| language))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(
        target: &str,
        language: Option<Language>,
        template: Option<Template>,
    ) -> Result<(String, String, Template), String> {
        Request::new(Path::new(target), language, template)
            .map(|request| {
                let parent = request.parent().display().to_string();
                (parent, request.name().as_str().to_owned(), request.template())
            })
            .map_err(|error| error.to_string())
    }

    #[test]
    fn the_language_comes_from_any_argument() {
        use Language::{Python, Rust, Typescript as Ts};
        use Template::{Basic, Javascript, Python as PythonTemplate, TypedConfig, Typescript};
        for (target, language, template, parent, name, expected) in [
            ("my_check", None, None, "", "my_check", Basic),
            ("my-check/", None, None, "", "my-check", Basic),
            ("a/b/my_check.py", None, None, "a/b", "my_check", PythonTemplate),
            ("my_check.JS", None, None, "", "my_check", Javascript),
            ("my_check", Some(Ts), None, "", "my_check", Typescript),
            ("my_check.py", Some(Python), Some(PythonTemplate), "", "my_check", PythonTemplate),
            ("my_check", Some(Rust), Some(TypedConfig), "", "my_check", TypedConfig),
            ("my_check", None, Some(Javascript), "", "my_check", Javascript),
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
            request("my_check.py", Some(Language::Javascript), None).unwrap_err(),
            "`my_check.py` asks for Python, `--runtime js` for JavaScript; leave one of them out"
        );
        assert_eq!(
            request("my_check", Some(Language::Python), Some(Template::TypedConfig)).unwrap_err(),
            "`--runtime py` asks for Python, `--template typed-config` for Rust; leave one of them out"
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
