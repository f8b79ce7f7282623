//! Python files with an evaluator filled in.

use super::{Origin, program::CommandLine, text};

/// Starting the program, in every file that does not become the program.
const RUN: &str = include_str!("templates/run.py");

/// Fills in who made the file, and what it starts.
///
/// Templates are Python themselves: what is filled in stands in comments and strings.
pub(super) fn fill(template: &str, command: &CommandLine, origin: &Origin) -> String {
    let (words, environment) = (text::list(&command.words), text::object(&command.environment));
    let mut filled = String::new();
    let mut rest = template;
    // In the order in which they stand there: what was filled in is not looked at again.
    for (place, content) in [
        ("@HEADER@", origin.line()),
        ("\"@COMMAND@\"", &words),
        ("\"@ENVIRONMENT@\"", &environment),
        ("# @RUN@\n", RUN),
    ] {
        if let Some((before, after)) = rest.split_once(place) {
            filled.push_str(before);
            filled.push_str(content);
            rest = after;
        }
    }
    filled + rest
}
