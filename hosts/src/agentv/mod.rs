//! AgentV: documents of a code judge, code grader or script grader of any generation, and their answers.

mod answer;
mod conform;
mod document;

use evaluator_protocol::Contract;

pub use document::snake_case;

use super::{
    ForeignContract, ForeignHost,
    answer::title_of,
    export::{CommandLine, Export, ExportError, Exporter, Job, text},
    question::{add, object},
};

pub(super) static HOST: ForeignHost = ForeignHost {
    name: "agentv",
    title: title_of(Contract::AgentV),
    contract: Contract::AgentV,
    foreign: Some(&CONTRACT),
    suite: Some(conform::SUITE),
    exporter: Some(EXPORTER),
};

const CRITERIA_HINT: &str = "give `criteria` in the `config` of its entry";
const REFERENCE_HINT: &str = "give an eval set with an expected answer for the last turn";

static CONTRACT: ForeignContract = ForeignContract {
    answer_keys: &["hits", "misses", "assertions", "checks", "reasoning", "pass"],
    document_keys: &[
        "candidate_answer",
        "expected_outcome",
        "reference_answer",
        "expected_messages",
        "input_messages",
        "output_messages",
        "trace_summary",
    ],
    source_keys: &[
        "candidate_answer",
        "candidateAnswer",
        "expected_messages",
        "input_messages",
        "output_messages",
        "trace_summary",
        "traceSummary",
    ],
    optional_keys: &[
        ("criteria", CRITERIA_HINT),
        ("expected_outcome", CRITERIA_HINT),
        ("reference_answer", REFERENCE_HINT),
        ("expected_output_text", REFERENCE_HINT),
    ],
    // The threshold is AgentV's own, and not part of the document.
    ..ForeignContract::new(document::document, answer::answer, |document, defaults| {
        add(object(document, &["config"])?, &defaults.config);
        Some(())
    })
};

/// Shell script that starts the evaluator, given as its arguments. Since 4.25 AgentV records a PASS for programs that are
/// killed by a signal (which no program can prevent when memory runs out) and for those that print no JSON object.
const GUARD: &str = include_str!("guard.sh");

pub(super) const EXPORTER: Exporter =
    Exporter { about: "An entry for each generation of AgentV", files };

fn files(job: &Job<'_>) -> Result<Export, ExportError> {
    let name = text::quoted(&job.program.name);
    let entries = [
        (
            "2",
            "2: a part of a case, or of the file.",
            format!(
                "execution:\n  evaluators:\n    - name: {name}\n      type: code_judge\n      script:\n{}",
                items(&job.command, "        ")
            ),
        ),
        (
            "4",
            "3 and 4: a part of a test, or of the file.",
            format!(
                "assertions:\n  - name: {name}\n    type: code-grader\n    command:\n{}",
                items(&job.command, "      ")
            ),
        ),
        (
            "5",
            "5: a part of a test, or of `default_test`. It does not send what is expected; where tests have that as a \
             variable, uncomment the line for it.",
            format!(
                "assert:\n  - metric: {name}\n    type: script\n    # config: {{expected: \"{{{{ expected_output }}}}\"}}\n    command:\n{}",
                items(&job.command, "      ")
            ),
        ),
    ];
    let mut export = Export::default()
        .usage("take the entry of your version of AgentV into your eval file")
        .usage("`agentv eval FILE --threshold 0.8` is what makes AgentV 4 fail when a case does");
    for (generation, about, entry) in entries {
        let about = format!(
            "For AgentV {about} Other keys of the entry are the evaluator's config; AgentV writes them in snake_case."
        );
        let file = format!("{}.agentv-{generation}.yaml", job.program.name);
        export = export.file(file, text::yaml(job, &about, &entry));
    }
    Ok(export)
}

/// Returns the command as a list, one item per line. An entry cannot set variables, but `env` can.
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
