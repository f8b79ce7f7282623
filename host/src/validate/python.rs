//! The form of an evaluator in Python.

use std::{fs, path::Path};

use crate::runtime::requirements::check_plain;

/// What the community's repository asks for in the source besides.
const SDK_NOTE: &str = "it speaks the protocol itself, which every host takes; the agentevals community's repository takes \
     only evaluators that import agentevals_evaluator_sdk and use its @evaluator";

/// What is wrong with the source of an entrypoint and with `requirements.txt`, and what is worth a note.
pub(super) fn structure(entrypoint: &Path) -> (Vec<String>, Vec<String>) {
    let mut problems = Vec::new();
    let mut notes = Vec::new();
    // What cannot be read is no Python either, and its syntax is checked, too.
    let source = fs::read(entrypoint).unwrap_or_default();
    let source = String::from_utf8_lossy(&source);
    let mut lines = source.lines();
    if !lines.any(is_main_guard) {
        problems.push(
            "there is no `if __name__ == \"__main__\":` in it; without, importing it in a test runs it, or starting it does nothing"
                .to_owned(),
        );
    }
    let code = || source.lines().map(str::trim_start);
    let imports_sdk = code().any(|line| {
        (line.starts_with("import ") || line.starts_with("from "))
            && line.contains("agentevals_evaluator_sdk")
    });
    let decorates = code().any(|line| line.starts_with('@') && line.contains("evaluator"));
    match (imports_sdk, decorates) {
        (true, false) => problems.push(
            "it imports agentevals_evaluator_sdk, but no function has its @evaluator".to_owned(),
        ),
        (true, true) => {}
        (false, _) => notes.push(SDK_NOTE.to_owned()),
    }
    match fs::read(entrypoint.with_file_name(REQUIREMENTS)) {
        Ok(text) => {
            let text = String::from_utf8_lossy(&text);
            if names_nothing(&text) {
                problems.push(format!("{REQUIREMENTS} names no dependency; remove it"));
            } else if let Err(error) = check_plain(&text) {
                problems.push(format!(
                    "{REQUIREMENTS}: {error}; of an evaluator that was fetched, hosts install packages of the index only"
                ));
            }
        }
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            problems.push(format!("{REQUIREMENTS} cannot be read: {error}"));
        }
        Err(_) => {}
    }
    (problems, notes)
}

/// The file beside an entrypoint that names the packages it needs.
pub(super) const REQUIREMENTS: &str = "requirements.txt";

/// However it is spaced and quoted, and with parentheses or without.
fn is_main_guard(line: &str) -> bool {
    let Some(condition) = line.strip_prefix("if").filter(|rest| rest.starts_with([' ', '\t', '(']))
    else {
        return false;
    };
    let plain: String = condition
        .chars()
        .filter(|c| !c.is_whitespace() && !matches!(c, '(' | ')'))
        .map(|c| if c == '\'' { '"' } else { c })
        .collect();
    plain.starts_with("__name__==\"__main__\"") || plain.starts_with("\"__main__\"==__name__")
}

fn names_nothing(requirements: &str) -> bool {
    requirements.lines().map(str::trim).all(|line| line.is_empty() || line.starts_with('#'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::testing::Folder;

    #[test]
    fn guards_are_known_however_they_are_written() {
        for line in [
            "if __name__ == '__main__':",
            "if __name__==\"__main__\": main()",
            "if (__name__ == \"__main__\"):",
            "if \"__main__\" == __name__:",
            "if __name__ == \"__main__\" and True:",
        ] {
            assert!(is_main_guard(line), "{line}");
        }
        for line in ["ifx __name__ == '__main__':", "# if __name__ == '__main__':", "if __name__:"]
        {
            assert!(!is_main_guard(line), "{line}");
        }
    }

    #[test]
    fn the_form_of_a_source() {
        let folder = Folder::new("validate-python");
        let found = |source: &str| {
            let (problems, notes) = structure(&folder.file("a.py", source));
            (problems.len(), notes.len())
        };
        let main = "if __name__ == '__main__':\n    x.run()\n";
        let sdk = "from agentevals_evaluator_sdk import evaluator\n";
        assert_eq!(found(&format!("{sdk}@evaluator\ndef x(): pass\n{main}")), (0, 0));
        assert_eq!(found(&format!("{sdk}def x(): pass\n{main}")), (1, 0));
        assert_eq!(found(&format!("{sdk}# @evaluator\n# {main}")), (2, 0), "comments are no code");
        assert_eq!(found(main), (0, 1));
        assert_eq!(found("print(1)\n"), (1, 1));
        folder.file("requirements.txt", "# none\n\n");
        assert_eq!(found(main), (1, 1));
        folder.file("requirements.txt", "numpy\n");
        assert_eq!(found(main), (0, 1));
        folder.file("requirements.txt", "numpy\n-e .\n");
        assert_eq!(found(main), (1, 1));
    }
}
