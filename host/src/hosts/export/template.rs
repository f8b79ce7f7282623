//! Python files with an evaluator filled in.

use super::{Origin, program::CommandLine, text};

/// Starting the program, in every file that does not become the program.
const RUN: &str = include_str!("templates/run.py");

/// Reading a score, where hosts have them from 0 to 1.
const SCORE: &str = include_str!("templates/score.py");

/// Fills in who made the file, and what it starts.
///
/// Templates are Python themselves: what is filled in stands in comments and strings.
pub(super) fn fill(template: &str, command: &CommandLine, origin: &Origin) -> String {
    let header = text::comment(origin.line());
    let words = text::python_list(&command.words);
    let environment = text::python_dict(&command.environment);
    let mut filled = String::new();
    let mut rest = template;
    // In the order in which they stand there: what was filled in is not looked at again.
    for (place, content) in [
        ("# @HEADER@\n", &*header),
        ("\"@COMMAND@\"", &words),
        ("\"@ENVIRONMENT@\"", &environment),
        ("# @RUN@\n", RUN),
        ("# @SCORE@\n", SCORE),
    ] {
        if let Some((before, after)) = rest.split_once(place) {
            filled.push_str(before);
            filled.push_str(content);
            rest = after;
        }
    }
    filled + rest
}
