//! Recognizes foreign contracts where no contract is named: by an answer, by an error message, by the text of a source file.
//!
//! An answer that only another host understands is an error, recognized by keys that results of the default contract
//! do not have: a judge of AgentV would otherwise score 0 on a document that it does not read.

use std::{collections::BTreeSet, ffi::OsStr, fmt, path::Path};

use evaluator_protocol::Contract;

use super::{BadAnswer, ForeignContract, Functions, HOSTS, foreign_contract, host_of};
use crate::{files::read_regular, json::Value, runtime::Language};

/// Maximum size of a source file that is read, in bytes.
const MAX_LENGTH: u64 = 1 << 20;

/// Keys that only answers of the default contract have.
const DEFAULT_ANSWER_KEYS: [&str; 2] = ["status", "per_invocation_scores"];

/// Words of sources that read documents of the default contract: everything an agent did is in `invocations`.
const DEFAULT_SOURCE_WORDS: [&str; 5] =
    ["invocations", "agentevals", "agentevals_evaluator_sdk", "evaluator_sdk", "EvalInput"];

/// Extensions of compiled sources. Programs of the SDK recognize documents by themselves.
const COMPILED: [&str; 2] = ["rs", "go"];

/// Returns all foreign contracts.
fn contracts() -> impl Iterator<Item = (Contract, &'static ForeignContract)> {
    HOSTS.iter().filter_map(|host| Some((host.contract, host.foreign?)))
}

/// Returns the contract and one of the keys that `found` accepts.
fn by_key(
    keys: fn(&'static ForeignContract) -> &'static [&'static str],
    found: impl Fn(&str) -> bool,
) -> Option<(Contract, &'static str)> {
    contracts().find_map(|(contract, foreign)| {
        let key = keys(foreign).iter().find(|key| found(key))?;
        Some((contract, *key))
    })
}

/// Returns the contract of an answer that only its host understands, and the keys or type that identify the contract.
pub fn foreign_answer(answer: &Value) -> Option<(Contract, String)> {
    let bare = |found: &str| {
        let (contract, _) = contracts().find(|(_, foreign)| foreign.bare_answers)?;
        Some((contract, format!("{found}, not an object like {{\"score\": 0.5}}")))
    };
    let object = match answer {
        Value::Object(object) => object,
        Value::Int(_) | Value::Float(_) => return bare("a bare number"),
        Value::Bool(_) => return bare("true or false alone"),
        _ => return None,
    };
    if DEFAULT_ANSWER_KEYS.iter().any(|key| object.contains_key(*key)) {
        return None;
    }
    contracts().find_map(|(contract, foreign)| {
        let keys = foreign.answer_keys.iter().filter(|key| object.contains_key(**key));
        let found: Vec<String> = keys.map(|key| format!("`{key}`")).collect();
        (!found.is_empty()).then(|| (contract, found.join(", ")))
    })
}

/// Returns true for a key of answers of another contract.
pub(super) fn is_foreign_key(key: &str) -> bool {
    contracts().any(|(_, foreign)| foreign.answer_keys.contains(&key))
}

/// Returns what to change for an evaluator that failed because a key is missing in its document, or because a program of the
/// SDK was written against another contract. `contract` is the one of its entry.
pub fn missing_key_hint(contract: Option<Contract>, stderr: &str) -> Option<String> {
    let last = stderr.trim_end().lines().next_back()?;
    let missing = last.strip_prefix("KeyError: ").map(|key| key.trim_matches(['\'', '"']));
    if let Some(contract) = contract {
        let key = missing?;
        let optional = foreign_contract(contract)?.optional_keys;
        let (_, hint) = optional.iter().find(|(optional, _)| *optional == key)?;
        return Some(format!("the document has no `{key}` here: {hint}"));
    }
    if let Some((_, rest)) = last.split_once("is written against the contract `") {
        let contract: Contract = rest.split('`').next()?.parse().ok()?;
        return Some(format!("add `contract: {contract}` to its entry"));
    }
    let (contract, key) = by_key(|foreign| foreign.document_keys, |key| missing == Some(key))?;
    let host = host_of(contract).title;
    Some(format!("`{key}` is a key of {host}'s documents: add `contract: {contract}` to its entry"))
}

/// Reason why a file does not work with the contract of its entry.
#[derive(Clone, Debug, PartialEq, Eq, derive_more::Display)]
pub enum Mismatch {
    /// The file defines a function that another host calls, and nothing calls the function.
    Uncalled(Defined),
    /// The file reads a key that only documents of another host have, and none of the default contract.
    #[display(
        "it reads `{key}`, a key of {} documents: add `contract: {contract}` to its entry, or `contract: agentevals` if \
         it reads documents of agentevals",
        host_of(*contract).title
    )]
    Reads {
        /// Contract of the host.
        contract: Contract,
        /// The key.
        key: &'static str,
    },
}

impl Mismatch {
    /// Returns the mismatch of a file in an entry with this contract.
    pub fn of(path: &Path, contract: Option<Contract>) -> Option<Self> {
        let uncalled =
            functions_of(path).filter(|it| contract.is_none_or(|contract| contract == it.contract));
        match (uncalled, contract) {
            (Some(defined), _) => Some(Self::Uncalled(defined)),
            (None, None) => reads(path),
            (None, Some(_)) => None,
        }
    }

    /// Returns the contract that the file is written for.
    pub fn contract(&self) -> Contract {
        match self {
            Self::Uncalled(defined) => defined.contract,
            Self::Reads { contract, .. } => *contract,
        }
    }

    /// Returns the function that the entry must name.
    pub fn function(&self) -> Option<&str> {
        match self {
            Self::Uncalled(defined) if !defined.is_default() => Some(&defined.function),
            _ => None,
        }
    }

    /// Returns the error that replaces an answer of this file to a document of the default contract.
    pub fn error(&self) -> Option<BadAnswer> {
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

/// Returns the key of another host that a script reads, if it reads none of the default contract.
fn reads(path: &Path) -> Option<Mismatch> {
    let code = without_comments(&script_text(path)?);
    let words: BTreeSet<&str> = words(&code).collect();
    if DEFAULT_SOURCE_WORDS.iter().any(|word| words.contains(word)) {
        return None;
    }
    let (contract, key) = by_key(|foreign| foreign.source_keys, |key| words.contains(key))?;
    Some(Mismatch::Reads { contract, key })
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| c != '_' && !c.is_alphanumeric())
}

/// A function that a host calls, in a file that is not a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defined {
    /// Contract of the host.
    pub contract: Contract,
    /// Name of the function.
    pub function: String,
}

impl Defined {
    /// Returns the name of the host.
    pub fn host(&self) -> &'static str {
        host_of(self.contract).title
    }

    /// Returns true if an entry need not name the function.
    fn is_default(&self) -> bool {
        let functions = foreign_contract(self.contract).and_then(|it| it.functions.as_ref());
        functions.is_some_and(|functions| functions.name == Some(self.function.as_str()))
    }
}

impl fmt::Display for Defined {
    /// Writes what the function is, and what to add to its entry.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { contract, function } = self;
        let host = self.host();
        write!(
            f,
            "it defines the function `{function}` for {host}, which prints nothing by itself: add `contract: {contract}`"
        )?;
        if self.is_default() { Ok(()) } else { write!(f, " and `function: {function}`") }
    }
}

/// Returns the function that a host calls in a Python file that is not a program.
pub fn functions_of(path: &Path) -> Option<Defined> {
    let text = python_text(path)?;
    if text.contains("__main__") || text.contains("stdin") {
        return None;
    }
    functions(&text).into_iter().find_map(|(name, parameters)| {
        let is_called = |(_, foreign): &(_, &ForeignContract)| {
            foreign
                .functions
                .as_ref()
                .is_some_and(|functions| (functions.is_called)(&name, &parameters))
        };
        let (contract, _) = contracts().find(is_called)?;
        Some(Defined { contract, function: name })
    })
}

/// Returns what to change in a file that is not a program, and whose function has the name of one that a host calls, but not its
/// parameters or its language.
pub fn uncalled_function(path: &Path) -> Option<String> {
    let text = script_text(path)?;
    if text.contains("__main__") || reads_input(&text) {
        return None;
    }
    contracts().find_map(|(contract, foreign)| {
        let Functions { name, parameters, .. } = foreign.functions.as_ref()?;
        let (name, host) = ((*name)?, host_of(contract).title);
        if let Some((_, found)) = functions(&text).iter().find(|(it, _)| it == name)
            && python_text(path).is_some()
        {
            let found = found.join(", ");
            return Some(format!(
                "it defines `{name}({found})`, which nothing calls; {host} calls it with {parameters}: take these, and add \
                 `contract: {contract}` to its entry"
            ));
        }
        let code = without_comments(&text);
        let forms = [format!("function {name}("), format!("{name} = (")];
        let defines = forms.iter().any(|form| code.contains(form));
        let is_called = code.matches(&format!("{name}(")).count() > 1;
        (defines && !is_called && is_javascript(path)).then(|| {
            format!(
                "it defines the function `{name}`, which nothing calls, because functions of {host} are called in Python files \
                 only: read the document from stdin, and print one JSON document like {{\"score\": 0.5}}"
            )
        })
    })
}

/// Returns true for a file of JavaScript or TypeScript.
pub fn is_javascript(path: &Path) -> bool {
    Language::of(path).is_some_and(Language::is_for_node)
}

/// Returns true if a Python file defines this function and is not a program that reads its document. Output of a `__main__`
/// section that reads nothing is a trial of the function, not a judgement.
pub(super) fn defines(path: &Path, function: &str) -> bool {
    python_text(path).is_some_and(|text| {
        !reads_input(&text) && functions(&text).iter().any(|(name, _)| name == function)
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

/// Returns the text without comments and documentation in triple quotes.
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

/// Returns true if the file may define this name, or cannot be read.
pub(super) fn may_define(path: &Path, name: &str) -> bool {
    python_text(path).is_none_or(|text| {
        let known: BTreeSet<&str> = words(&text).collect();
        name.split('.').all(|part| known.contains(part)) || text.contains("import *")
    })
}

/// Returns the text of a Python file.
fn python_text(path: &Path) -> Option<String> {
    let is_python = Language::of(path) == Some(Language::Python);
    let bytes = bytes_of(path).filter(|_| is_python)?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the text of a script in any language.
fn script_text(path: &Path) -> Option<String> {
    let extension = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    if COMPILED.iter().any(|known| extension.eq_ignore_ascii_case(known)) {
        return None;
    }
    String::from_utf8(bytes_of(path)?).ok()
}

fn bytes_of(path: &Path) -> Option<Vec<u8>> {
    read_regular(path, MAX_LENGTH).ok()
}

/// Returns the functions at the top level with the names of their parameters.
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

/// Returns the names in a list of parameters, up to its closing parenthesis.
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
    use evaluator_test_support::TestDirectory;

    #[test]
    fn parameters_are_found_among_types_defaults_and_comments() {
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
    fn functions_of_hosts_are_distinguished_from_programs() {
        let directory = TestDirectory::new();
        let found = |text: &str| {
            let path = directory.file("check.py", text);
            functions_of(&path).map(|it| (it.contract, it.function))
        };
        let v1 = "def evaluate(app_params, inputs, output, correct_answer):\n    return 1\n";
        let agenta = Some((Contract::Agenta, "evaluate".to_owned()));
        assert_eq!(found(v1), agenta);
        assert_eq!(found("def evaluate(inputs, outputs, trace):\n    return 1\n"), agenta);
        let metric = "async def exact(eval_metric, actual_invocations, expected_invocations, scenario):\n    pass\n";
        assert_eq!(found(metric), Some((Contract::Adk, "exact".to_owned())));
        assert_eq!(found("def evaluate(data):\n    return 1\n"), None);
        assert_eq!(found(&format!("{v1}if __name__ == '__main__': pass\n")), None);
        assert_eq!(found(&format!("import sys\n{v1}print(evaluate(*sys.stdin))\n")), None);
        assert_eq!(functions_of(&directory.join("gone.py")), None);
    }

    #[test]
    fn a_function_of_agenta_is_called_unless_its_file_reads_the_document() {
        let directory = TestDirectory::new();
        let is_called = |text: String| defines(&directory.file("check.py", &text), "evaluate");
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
        let directory = TestDirectory::new();
        let found = |name: &str, text: &str, contract| {
            Mismatch::of(&directory.file(name, text), contract).map(|it| it.contract())
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
