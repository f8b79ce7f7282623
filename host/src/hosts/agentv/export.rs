//! For AgentV: an entry for each of its generations, which name the same thing differently.

use super::{Export, ExportedFile, Origin, Program, program::CommandLine, text};

/// Starts the evaluator, which is the words behind it. From 4.25 on, AgentV records a PASS for programs that are killed by a
/// signal (no program can keep the system from ending it for want of memory), and for those that print no JSON object.
const GUARD: &str = include_str!("templates/agentv.sh");

/// What AgentV makes of other keys.
const CONFIG: &str =
    "Other keys of the entry are the evaluator's config; AgentV writes them in snake_case.";

pub(super) fn export(program: &Program, command: &CommandLine, origin: &Origin) -> Export {
    let name = text::quoted(&program.name);
    let file = |generation: &str, about: &str, entry: String| {
        let comment = text::comment(&format!("For AgentV {about} {CONFIG}"));
        ExportedFile::new(
            format!("{}.agentv-{generation}.yaml", program.name),
            format!("{}{comment}{entry}", text::comment(origin.line())),
        )
    };
    let files = vec![
        file(
            "2",
            "2: a part of a case, or of the file.",
            format!(
                "execution:\n  evaluators:\n    - name: {name}\n      type: code_judge\n      script:\n{}",
                items(command, "        ")
            ),
        ),
        file(
            "4",
            "3 and 4: a part of a test, or of the file.",
            format!(
                "assertions:\n  - name: {name}\n    type: code-grader\n    command:\n{}",
                items(command, "      ")
            ),
        ),
        file(
            "5",
            "5: a part of a test, or of `default_test`. It does not send what is expected; where tests have that as a \
             variable, uncomment the line for it.",
            format!(
                "assert:\n  - metric: {name}\n    type: script\n    # config: {{expected: \"{{{{ expected_output }}}}\"}}\n    command:\n{}",
                items(command, "      ")
            ),
        ),
    ];
    let usage = vec![
        "take the entry of your version of AgentV into your eval file".to_owned(),
        "`agentv eval FILE --threshold 0.8` is what makes AgentV 4 fail when a case does"
            .to_owned(),
    ];
    Export { files, usage }
}

/// The command as a list, an item a line. An entry cannot set variables, `env` can.
fn items(command: &CommandLine, indent: &str) -> String {
    let item = |word: &str| format!("{indent}- {}\n", text::quoted(word));
    let mut items = String::new();
    if !command.environment.is_empty() {
        items += &item("env");
        let set = command.environment.iter().map(|(name, value)| item(&format!("{name}={value}")));
        items.extend(set);
    }
    items += &format!("{}{}{indent}- |\n", item("sh"), item("-c"));
    items.extend(GUARD.lines().map(|line| format!("{indent}  {line}\n")));
    items.extend(command.words.iter().map(|word| item(word)));
    items
}
