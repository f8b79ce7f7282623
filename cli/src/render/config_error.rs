//! Problems in configurations, with the lines they are about.
//!
//! `annotate-snippets` draws the errors: two small crates where other renderers bring ten.

use std::path::Path;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use evaluator_host::config::{Config, ConfigError, Problem};

use super::stderr::{self, line};

/// Shows every problem with its line underlined.
pub(crate) fn config_error(error: &ConfigError) {
    line(stderr::Level::Error, &text(error));
}

/// Shows warnings, and with `verbose` also settings without effect.
pub(crate) fn config_remarks(config: &Config, verbose: bool) {
    let notes = if verbose { &*config.notes } else { &[] };
    let warnings = (Level::WARNING, stderr::Level::Warning, "warning", &*config.warnings);
    let notes = (Level::NOTE, stderr::Level::Info, "note", notes);
    for (level, log_level, name, remarks) in [warnings, notes] {
        if !remarks.is_empty() {
            let file = config.file.as_deref().unwrap_or(Path::new(""));
            line(log_level, &underlined(level, name, file, &config.source_text, remarks));
        }
    }
}

/// Formats every problem with its line underlined, without a final line feed.
pub(super) fn text(error: &ConfigError) -> String {
    underlined(Level::ERROR, "error", &error.file, &error.source_text, &error.problems)
}

fn underlined(
    level: Level<'_>,
    name: &str,
    file: &Path,
    source_text: &str,
    problems: &[Problem],
) -> String {
    let path = file.display().to_string();
    let shown: Vec<String> = problems
        .iter()
        .map(|problem| {
            let Some(span) = problem.place else {
                let hint =
                    problem.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
                return format!("{name}: {path}: {}{hint}", problem.message);
            };
            // An empty range, e.g. at the end of the text, is shown as one character.
            let end = span.end.max(span.start);
            let mut annotation = AnnotationKind::Primary.span(span.start..end);
            if let Some(hint) = &problem.hint {
                annotation = annotation.label(hint);
            }
            let snippet = Snippet::source(source_text).path(&path).annotation(annotation);
            let group = level.clone().primary_title(&problem.message).element(snippet);
            Renderer::plain().render(&[group])
        })
        .collect();
    shown.join("\n\n")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use evaluator_host::config::Config;

    #[test]
    fn the_place_is_underlined() {
        let error =
            Config::parse("evaluators:\n  - {name: a, type: biultin}\n", Path::new("c.yaml"))
                .unwrap_err();
        let text = super::text(&error);
        assert!(text.contains("--> c.yaml:2:21"), "{text}");
        assert!(text.contains("^^^^^^^ did you mean `builtin`?"), "{text}");
    }

    #[test]
    fn a_problem_at_the_end_of_the_text_can_be_shown() {
        let error = Config::parse("evaluators: [", Path::new("c.yaml")).unwrap_err();
        assert!(super::text(&error).contains("error: "));
    }
}
