//! Recognizes Python functions that other hosts call, in the text of a source file.

use std::{fmt, fs, path::Path};

use evaluator_protocol::Contract;

use super::foreign::host_of;

/// The most of a file that is looked at.
const MAX_LENGTH: u64 = 1 << 20;

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

/// Whether Agenta would find its function in the file, and nothing else calls it.
pub(super) fn is_agenta(path: &Path) -> bool {
    source(path).is_some_and(|text| {
        !runs_by_itself(&text) && functions(&text).iter().any(|(name, _)| name == AGENTA)
    })
}

/// Whether the file may define this name; one that cannot be read may.
pub(super) fn may_define(path: &Path, name: &str) -> bool {
    source(path).is_none_or(|text| {
        text.split(|c: char| c != '_' && !c.is_alphanumeric()).any(|word| word == name)
            || text.contains("import *")
    })
}

fn runs_by_itself(text: &str) -> bool {
    text.contains("__main__")
}

fn source(path: &Path) -> Option<String> {
    let is_python = path.extension().is_some_and(|it| it.eq_ignore_ascii_case("py"));
    let size = fs::metadata(path).ok().filter(fs::Metadata::is_file)?.len();
    if !is_python || size > MAX_LENGTH {
        return None;
    }
    fs::read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
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
}
