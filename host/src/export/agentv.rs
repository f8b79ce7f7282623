//! For AgentV: an entry for each of its generations, which name the same thing differently.

use super::{Export, ExportedFile, Origin, Program, program::CommandLine, text};

/// What AgentV makes of other keys.
const CONFIG: &str =
    "# Other keys of the entry are the evaluator's config; AgentV writes them in snake_case.";

/// Why there is a shell.
const GUARDED: &str = "# The shell is a guard: AgentV records a PASS for programs that are killed, or print no JSON object.";

pub(super) fn export(program: &Program, command: &CommandLine, origin: &Origin) -> Export {
    let (name, words) = (text::quoted(&program.name), words(command));
    let head = |versions: &str, place: &str| {
        format!("# {}\n# For AgentV {versions}: {place}.\n{CONFIG}\n{GUARDED}\n", origin.line())
    };
    let files = vec![
        ExportedFile::new(
            format!("{}.agentv-2.yaml", program.name),
            format!(
                "{}execution:\n  evaluators:\n    - name: {name}\n      type: code_judge\n      script: {words}\n",
                head("2", "a part of a case, or of the file")
            ),
        ),
        ExportedFile::new(
            format!("{}.agentv-4.yaml", program.name),
            format!(
                "{}assertions:\n  - name: {name}\n    type: code-grader\n    command: {words}\n",
                head("3 and 4", "a part of a test, or of the file")
            ),
        ),
        ExportedFile::new(
            format!("{}.agentv-5.yaml", program.name),
            format!(
                "{}# AgentV 5 does not send what is expected. Where tests have it as a variable, uncomment the last line.\n\
                 assert:\n  - metric: {name}\n    type: script\n    command: {words}\n    # config: {{expected: \"{{{{ expected_output }}}}\"}}\n",
                head("5", "a part of a test, or of `default_test`")
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

/// Hands on what looks like an answer, and makes an error of everything else.
///
/// From 4.25 on, AgentV records a PASS for programs that are killed by a signal (no program can keep the system from ending it
/// for want of memory), and for those that print no JSON object.
const GUARD: &str = concat!(
    r#"a=$("$0" "$@") || { s=$?; echo "the evaluator ended with status $s" >&2; exit $s; }; "#,
    r#"case $a in {*}) printf '%s' "$a";; *) echo 'the evaluator gave no answer' >&2; exit 1;; esac"#
);

/// The command as a list. An entry cannot set variables, `env` can.
pub(super) fn words(command: &CommandLine) -> String {
    let set = command.environment.iter().map(|(name, value)| format!("{name}={value}"));
    let mut words: Vec<String> = Vec::new();
    if !command.environment.is_empty() {
        words.push("env".to_owned());
        words.extend(set);
    }
    words.extend(["sh", "-c", GUARD].map(str::to_owned));
    words.extend(command.words.iter().cloned());
    text::list(&words)
}
