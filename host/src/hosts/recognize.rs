//! Recognizes, in the text of a source file, evaluators of other hosts: Python functions that these hosts call, and programs
//! that read the keys of their documents.

use std::{collections::BTreeSet, ffi::OsStr, fmt, fs, path::Path};

use evaluator_protocol::Contract;

use super::foreign::host_of;
use crate::verdict::BadAnswer;

/// The most of a file that is looked at.
const MAX_LENGTH: u64 = 1 << 20;

/// Keys that only documents of other hosts have, and that are not usual names of anything else.
const READ_KEYS: [(Contract, &[&str]); 3] = [
    (
        Contract::AgentV,
        &[
            "candidate_answer",
            "candidateAnswer",
            "expected_messages",
            "input_messages",
            "output_messages",
            "trace_summary",
            "traceSummary",
        ],
    ),
    (Contract::Adk, &["actual_invocations", "actualInvocations"]),
    (Contract::Agenta, &["app_params"]),
];

/// A word of this list says that a file knows documents of the default contract: all that an agent did is in `invocations`.
const OWN_WORDS: [&str; 5] =
    ["invocations", "agentevals", "agentevals_evaluator_sdk", "evaluator_sdk", "EvalInput"];

/// Extensions of files that are compiled. Programs of the SDK recognize documents by themselves.
const COMPILED: [&str; 2] = ["rs", "go"];

/// Reason why a file does not work with the contract of its entry.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mismatch {
    /// It defines a function of another host, and nothing calls the function.
    Uncalled(Defined),
    /// It reads a key that only documents of another host have, and none of the default contract.
    Reads {
        /// The host's contract.
        contract: Contract,
        /// The key.
        key: &'static str,
    },
}

impl Mismatch {
    /// The mismatch of a file in an entry with this contract.
    #[must_use]
    pub fn of(path: &Path, contract: Option<Contract>) -> Option<Self> {
        let uncalled =
            functions_of(path).filter(|it| contract.is_none_or(|contract| contract == it.contract));
        match (uncalled, contract) {
            (Some(defined), _) => Some(Self::Uncalled(defined)),
            (None, None) => reads(path),
            (None, Some(_)) => None,
        }
    }

    /// The contract that the file is written for.
    #[must_use]
    pub fn contract(&self) -> Contract {
        match self {
            Self::Uncalled(defined) => defined.contract,
            Self::Reads { contract, .. } => *contract,
        }
    }

    /// The error that an answer of such a file is where it was not given what it judges.
    pub(crate) fn error(&self) -> Option<BadAnswer> {
        match self {
            // The file may read its document by a module next to it.
            Self::Uncalled(_) => None,
            Self::Reads { contract, key } => Some(BadAnswer::Foreign {
                contract: *contract,
                found: format!("it reads `{key}`, which its document does not have"),
            }),
        }
    }
}

impl fmt::Display for Mismatch {
    /// What the file is, and what to write into its entry.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uncalled(defined) => defined.fmt(f),
            Self::Reads { contract, key } => write!(
                f,
                "it reads `{key}`, a key of {} documents: add `contract: {contract}` to its entry, or `contract: agentevals` if \
                 it reads documents of agentevals",
                host_of(*contract)
            ),
        }
    }
}

/// The key of another host that a script reads, if it reads none of the default contract.
fn reads(path: &Path) -> Option<Mismatch> {
    let code = without_comments(&text_of(path)?);
    let words: BTreeSet<&str> = words(&code).collect();
    if OWN_WORDS.iter().any(|word| words.contains(word)) {
        return None;
    }
    READ_KEYS.into_iter().find_map(|(contract, keys)| {
        let key = keys.iter().find(|key| words.contains(**key))?;
        Some(Mismatch::Reads { contract, key })
    })
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| c != '_' && !c.is_alphanumeric())
}

/// A function that another host calls, in a file that is not a program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Defined {
    /// The host's contract.
    pub contract: Contract,
    /// Name of the function.
    pub function: String,
}

impl fmt::Display for Defined {
    /// What it is, and what to write into its entry.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { contract, function } = self;
        match contract {
            Contract::Agenta => write!(
                f,
                "it defines Agenta's `{function}` function, which prints nothing by itself: add `contract: agenta`"
            ),
            _ => write!(
                f,
                "it defines the metric `{function}` for {}, which prints nothing by itself: add `contract: {contract}` and \
                 `function: {function}`",
                host_of(*contract)
            ),
        }
    }
}

/// The function of another host in a Python file that does not run it by itself.
#[must_use]
pub fn functions_of(path: &Path) -> Option<Defined> {
    let text = source(path)?;
    if runs_by_itself(&text) || text.contains("stdin") {
        return None;
    }
    functions(&text).into_iter().find_map(|(name, parameters)| {
        let has = |wanted: &str| parameters.iter().any(|parameter| parameter == wanted);
        let starts = |wanted: &[&str]| {
            wanted.iter().zip(&parameters).filter(|(wanted, given)| *wanted == given).count()
                == wanted.len()
        };
        let contract = if has("eval_metric") && has("actual_invocations") {
            Contract::Adk
        } else if name == AGENTA && (has("app_params") || starts(&["inputs", "outputs"])) {
            Contract::Agenta
        } else {
            return None;
        };
        Some(Defined { contract, function: name })
    })
}

/// The name that Agenta's functions have.
pub(super) const AGENTA: &str = "evaluate";

/// Returns true if Agenta would find its function in the file, and the file is not a program that reads the document. What a
/// `__main__` section prints without reading it is a trial of the function, not a judgement.
pub(super) fn is_agenta(path: &Path) -> bool {
    source(path).is_some_and(|text| {
        !reads_input(&text) && functions(&text).iter().any(|(name, _)| name == AGENTA)
    })
}

/// Returns true if a Python file reads standard input.
fn reads_input(text: &str) -> bool {
    let code = without_comments(text);
    let mut rest = code.as_str();
    while let Some(at) = rest.find("input(") {
        let is_builtin =
            !rest[..at].ends_with(|c: char| c == '_' || c == '.' || c.is_alphanumeric());
        if is_builtin {
            return true;
        }
        rest = &rest[at + "input(".len()..];
    }
    code.contains("open(0") || words(&code).any(|word| matches!(word, "stdin" | "fileinput"))
}

/// The text without lines that are comments, what follows a `#`, and documentation in triple quotes.
fn without_comments(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut open = None;
    for line in text.lines() {
        let mut rest = line;
        loop {
            match open {
                Some(quotes) => match rest.split_once(quotes) {
                    Some((_, after)) => (open, rest) = (None, after),
                    None => break,
                },
                None => {
                    let first = ["\"\"\"", "'''"]
                        .into_iter()
                        .filter_map(|quotes| Some((rest.find(quotes)?, quotes)))
                        .min();
                    let Some((at, quotes)) = first else {
                        code.push_str(uncommented(rest));
                        break;
                    };
                    code.push_str(&rest[..at]);
                    (open, rest) = (Some(quotes), &rest[at + quotes.len()..]);
                }
            }
        }
        code.push('\n');
    }
    code
}

fn uncommented(line: &str) -> &str {
    let start = line.trim_start();
    if ["//", "/*", "* ", "#"].iter().any(|mark| start.starts_with(mark)) {
        return "";
    }
    line.split_once(" #").map_or(line, |(code, _)| code)
}

/// Whether the file may define this name; one that cannot be read may.
pub(super) fn may_define(path: &Path, name: &str) -> bool {
    source(path).is_none_or(|text| {
        let known: BTreeSet<&str> = words(&text).collect();
        name.split('.').all(|part| known.contains(part)) || text.contains("import *")
    })
}

fn runs_by_itself(text: &str) -> bool {
    text.contains("__main__")
}

/// The text of a Python file.
fn source(path: &Path) -> Option<String> {
    let is_python = path.extension().is_some_and(|it| it.eq_ignore_ascii_case("py"));
    if is_python {
        bytes_of(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    } else {
        None
    }
}

/// The text of a script in any language.
fn text_of(path: &Path) -> Option<String> {
    let extension = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    if COMPILED.iter().any(|known| extension.eq_ignore_ascii_case(known)) {
        return None;
    }
    String::from_utf8(bytes_of(path)?).ok()
}

fn bytes_of(path: &Path) -> Option<Vec<u8>> {
    let size = fs::metadata(path).ok().filter(fs::Metadata::is_file)?.len();
    if size > MAX_LENGTH { None } else { fs::read(path).ok() }
}

/// The functions at the top level with the names of their parameters.
fn functions(text: &str) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let definition =
            line.strip_prefix("async ").unwrap_or(line).trim_start_matches([' ', '\t']);
        let is_top = line.starts_with("def ") || line.starts_with("async ");
        if is_top && let Some(rest) = definition.strip_prefix("def ") {
            let at = start + line.len() - rest.len();
            if let Some((name, parameters)) = text[at..].split_once('(') {
                found.push((name.trim().to_owned(), parameter_names(parameters)));
            }
        }
        start += line.len();
    }
    found
}

/// The names in a list of parameters, up to the parenthesis that closes it.
fn parameter_names(list: &str) -> Vec<String> {
    let (mut names, mut depth, mut part) = (Vec::new(), 0_usize, String::new());
    let mut end = |part: &mut String| {
        let name = part.split([':', '=']).next().unwrap_or_default();
        let name = name.trim().trim_start_matches('*').to_owned();
        part.clear();
        if !name.is_empty() && name != "/" {
            names.push(name);
        }
    };
    for line in list.lines() {
        for c in line.split('#').next().unwrap_or_default().chars() {
            match c {
                ')' if depth == 0 => {
                    end(&mut part);
                    return names;
                }
                ',' if depth == 0 => end(&mut part),
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth = depth.saturating_sub(1),
                c if depth == 0 => part.push(c),
                _ => {}
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::testing::Folder;

    #[test]
    fn parameters_are_found_whatever_is_written_beside_them() {
        for (text, names) in [
            (
                "def evaluate(app_params: Dict[str, str], inputs, output: str = \"a\", correct_answer) -> float:\n",
                vec!["app_params", "inputs", "output", "correct_answer"],
            ),
            (
                "async def evaluate(\n    inputs,  # a, b\n    outputs=(1, 2),\n    *,\n    trace,\n):\n",
                vec!["inputs", "outputs", "trace"],
            ),
            ("def evaluate():\n", vec![]),
            ("def evaluate(", vec![]),
        ] {
            let found = functions(text);
            assert_eq!(found[0].0, "evaluate");
            assert_eq!(found[0].1, names, "{text}");
        }
        assert!(
            functions("class A:\n    def evaluate(self): pass\n# def evaluate(a)\n").is_empty()
        );
    }

    #[test]
    fn functions_of_hosts_are_told_from_programs() {
        let folder = Folder::new("contract-source");
        let told = |text: &str| {
            let path = folder.file("check.py", text);
            functions_of(&path).map(|it| (it.contract, it.function))
        };
        let v1 = "def evaluate(app_params, inputs, output, correct_answer):\n    return 1\n";
        let agenta = Some((Contract::Agenta, "evaluate".to_owned()));
        assert_eq!(told(v1), agenta);
        assert_eq!(told("def evaluate(inputs, outputs, trace):\n    return 1\n"), agenta);
        let metric = "async def exact(eval_metric, actual_invocations, expected_invocations, scenario):\n    pass\n";
        assert_eq!(told(metric), Some((Contract::Adk, "exact".to_owned())));
        assert_eq!(told("def evaluate(data):\n    return 1\n"), None);
        assert_eq!(told(&format!("{v1}if __name__ == '__main__': pass\n")), None);
        assert_eq!(told(&format!("import sys\n{v1}print(evaluate(*sys.stdin))\n")), None);
        assert_eq!(functions_of(&folder.path("gone.py")), None);
    }

    #[test]
    fn a_function_of_agenta_is_called_unless_its_file_reads_the_document() {
        let folder = Folder::new("contract-agenta");
        let is_called = |text: String| is_agenta(&folder.file("check.py", &text));
        let function = "def evaluate(app_params, inputs, output, correct_answer):\n    return 1\n";
        for more in [
            "",
            "if __name__ == '__main__':\n    print(evaluate({}, {}, 'a', 'a'))\n",
            "# nothing is read from stdin\nparse_input(1)\nself.input(2)\n",
            "'''Standard input (stdin) is not read.\n__main__\n'''\n",
        ] {
            assert!(is_called(format!("{more}{function}")), "{more}");
            assert!(is_called(format!("{function}{more}")), "{more}");
        }
        for more in [
            "import json, sys\nprint(evaluate(**json.load(sys.stdin)))\n",
            "from sys import stdin\n",
            "print(evaluate(1, 2, 3, input()))\n",
            "for line in fileinput.input(): pass\n",
            "text = open(0).read()\n",
        ] {
            assert!(!is_called(format!("{function}{more}")), "{more}");
        }
    }

    #[test]
    fn keys_of_other_hosts_are_found_in_scripts_of_any_language() {
        let folder = Folder::new("contract-reads");
        let found = |name: &str, text: &str, contract| {
            Mismatch::of(&folder.file(name, text), contract).map(|it| it.contract())
        };
        let judge = "import json, sys\nprint(json.load(sys.stdin).get('candidate_answer'))\n";
        assert_eq!(found("judge.py", judge, None), Some(Contract::AgentV));
        assert_eq!(
            found("judge.js", "say(d.output_messages.length)", None),
            Some(Contract::AgentV)
        );
        assert_eq!(found("judge", "#!/bin/sh\njq .trace_summary\n", None), Some(Contract::AgentV));
        assert_eq!(found("metric.mjs", "d.actual_invocations", None), Some(Contract::Adk));
        assert_eq!(found("check.rb", "d['app_params']", None), Some(Contract::Agenta));
        for (name, text, contract) in [
            ("judge.py", judge, Some(Contract::AgentV)),
            ("judge.py", judge, Some(Contract::Agentevals)),
            ("judge.rs", "input.candidate_answer()", None),
            ("own.py", "# candidate_answer\nd['config']['reference_answer']", None),
            ("own.js", "// reads candidate_answer\nd.metric_name", None),
            ("both.py", "d.get('candidate_answer') or d['invocations'][-1]", None),
            ("sdk.py", "from agentevals_evaluator_sdk import run\ncandidate_answer = 1", None),
            ("my.py", "my_candidate_answer = 1", None),
        ] {
            assert_eq!(found(name, text, contract), None, "{text}");
        }
    }
}
