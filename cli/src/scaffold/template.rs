//! The templates, built into the program.

use clap::{
    ValueEnum,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use evaluator_host::runtime::Language;
use serde_json::{Value, json};

/// Template of an evaluator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Template {
    /// Rust: the share of turns that the agent answered.
    Basic,
    /// Rust: length and wording of answers, with typed settings.
    TypedConfig,
    /// Rust: tool calls against the golden turns of an eval set.
    ToolTrajectory,
    /// Python, without any library.
    Python,
    /// JavaScript, without any library.
    Javascript,
    /// TypeScript, without any library.
    Typescript,
    /// A prompt for a model that judges, without a program.
    Judge,
}

/// File of a template: its path in the new directory and its text, both with placeholders.
pub(super) struct TemplateFile {
    pub(super) name: &'static str,
    pub(super) text: &'static str,
}

/// The files of a directory below `templates/`, with those of every template. The name `Cargo.toml.tmpl` prevents cargo from
/// taking the template for a package.
macro_rules! files {
    ($directory:literal: $($file:literal),+) => {
        files!(@ $directory: $($file,)+ "evaluator.yaml", "README.md", ".gitignore")
    };
    (@ $directory:literal: $($file:literal),+) => {
        &[$(TemplateFile {
            name: $file,
            text: include_str!(concat!("../../templates/", $directory, "/", $file)),
        }),+]
    };
}

impl Template {
    /// Returns all templates; the first one of a language is its default.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::value_variants().iter().copied()
    }

    /// Default template of a language.
    pub(super) fn default_of(language: Language) -> Self {
        Self::all().find(|template| template.language() == Some(language)).unwrap_or(Self::Basic)
    }

    /// Language of the template; `None` if it is not a program.
    pub fn language(self) -> Option<Language> {
        match self {
            Self::Basic | Self::TypedConfig | Self::ToolTrajectory => Some(Language::Rust),
            Self::Python => Some(Language::Python),
            Self::Javascript => Some(Language::JavaScript),
            Self::Typescript => Some(Language::TypeScript),
            Self::Judge => None,
        }
    }

    /// Name on the command line, and of the directory below `templates/`.
    pub fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    pub(super) fn files(self) -> &'static [TemplateFile] {
        match self {
            Self::Basic => files!("basic": "Cargo.toml.tmpl", "src/main.rs"),
            Self::TypedConfig => files!("typed-config": "Cargo.toml.tmpl", "src/main.rs"),
            Self::ToolTrajectory => files!("tool-trajectory": "Cargo.toml.tmpl", "src/main.rs"),
            Self::Python => files!("python": "{{crate_name}}.py", "test_{{crate_name}}.py"),
            Self::Javascript => {
                files!("javascript": "{{crate_name}}.js", "{{crate_name}}.test.js", "package.json")
            }
            Self::Typescript => files!("typescript":
                "{{crate_name}}.ts", "{{crate_name}}.test.ts", "package.json", "tsconfig.json"),
            Self::Judge => files!(@ "judge": "prompt.md", "README.md"),
        }
    }

    /// File that a configuration names, with placeholders.
    pub(super) fn entrypoint(self) -> String {
        match self.language() {
            None => "prompt.md".to_owned(),
            Some(Language::Rust) => "src/main.rs".to_owned(),
            Some(other) => format!("{{{{crate_name}}}}{}", other.extension()),
        }
    }

    /// Further keys of the entry of a configuration.
    pub(super) fn settings(self) -> Option<(&'static str, Value)> {
        match self {
            Self::TypedConfig => {
                Some(("config", json!({"min_length": 20, "forbidden": ["I guess"]})))
            }
            Self::Judge => Some(("choices", json!({"yes": 1, "partly": 0.5, "no": 0}))),
            _ => None,
        }
    }
}

/// Returns the languages with a template, the default one first.
pub(super) fn languages() -> impl Iterator<Item = Language> {
    let mut languages: Vec<Language> = Template::all().filter_map(Template::language).collect();
    languages.dedup();
    languages.into_iter()
}

/// Returns the name of a language on the command line: the extension of its files, without the dot.
pub(super) fn argument(language: Language) -> &'static str {
    language.extension().trim_start_matches('.')
}

/// Returns what reads the language of a new evaluator on the command line.
pub(crate) fn language_parser() -> impl TypedValueParser<Value = Language> {
    let value = |language: Language| {
        PossibleValue::new(argument(language)).alias(language.as_str()).help(language.name())
    };
    PossibleValuesParser::new(languages().map(value)).try_map(|name| {
        let mut known = languages();
        let is_named = |it: &Language| {
            [argument(*it), it.as_str()].iter().any(|known| known.eq_ignore_ascii_case(&name))
        };
        known.find(is_named).ok_or("is not known")
    })
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    #[test]
    fn every_file_of_a_template_is_built_in() {
        for template in Template::all() {
            let root =
                Path::new(env!("CARGO_MANIFEST_DIR")).join("templates").join(template.name());
            let built_in: BTreeSet<_> =
                template.files().iter().map(|file| root.join(file.name)).collect();
            let mut directories = vec![root];
            while let Some(directory) = directories.pop() {
                for entry in fs::read_dir(directory).unwrap() {
                    let path = entry.unwrap().path();
                    if path.is_dir() {
                        directories.push(path);
                        continue;
                    }
                    let for_cargo_generate = path.file_stem().unwrap() == "cargo-generate";
                    assert!(for_cargo_generate || built_in.contains(&path), "{}", path.display());
                }
            }
        }
    }

    #[test]
    fn every_template_contains_its_entrypoint() {
        for template in Template::all() {
            let names: Vec<_> = template.files().iter().map(|file| file.name).collect();
            let expected = template.entrypoint();
            assert!(names.contains(&&*expected), "{}: {expected}", template.name());
        }
    }
}
