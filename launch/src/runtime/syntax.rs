//! Checks the syntax of sources without running them.

use std::{
    path::{self, Path},
    time::Duration,
};

use super::tool::{self, ToolError, ToolOutput};
use crate::process::{Cancellation, CommandSpec};

/// Time limit for one file.
const LIMIT: Duration = Duration::from_secs(60);

/// Result of a syntax check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// The file has no syntax error.
    Sound,
    /// The file has a syntax error.
    Broken {
        /// Message of the interpreter, possibly several lines.
        rendered: String,
    },
    /// The file cannot be checked here.
    Unchecked {
        /// Reason, and one hint.
        reason: String,
    },
    /// The language is compiled: errors show when an evaluator is prepared.
    WhenPrepared,
}

/// Compiles a file in memory: `py_compile` would leave a file behind.
const COMPILE: &str = "import sys, traceback
path = sys.argv[1]
try:
    with open(path, 'rb') as file:
        source = file.read()
    compile(source, sys.argv[2], 'exec', dont_inherit=True)
except Exception as error:
    sys.stderr.write(''.join(traceback.format_exception_only(type(error), error)))
    sys.exit(43)
";

/// Checks a Python file.
pub(super) fn python(interpreter: &Path, source: &Path, cancellation: &Cancellation) -> Syntax {
    // Without start-up code of the site, and without warnings about valid code.
    let compile = CommandSpec::new(interpreter).args(["-I", "-S", "-W", "ignore", "-c", COMPILE]);
    let compile = asking(compile).arg(full(source)).arg(source);
    verdict(tool::output(&compile, LIMIT, cancellation), BROKEN)
}

/// Checks a JavaScript file.
pub(super) fn javascript(node: &Path, source: &Path, cancellation: &Cancellation) -> Syntax {
    let check = asking(CommandSpec::new(node).arg("--check")).arg(full(source));
    verdict(tool::output(&check, LIMIT, cancellation), 1)
}

/// Returns the command of an interpreter that reads a file and nothing of the working directory.
fn asking(command: CommandSpec) -> CommandSpec {
    // Its options can name files of the working directory.
    CommandSpec { cwd: Some(tool::neutral_directory()), ..command }.env_remove("NODE_OPTIONS")
}

fn full(source: &Path) -> path::PathBuf {
    path::absolute(source).unwrap_or_else(|_| source.to_owned())
}

/// Strips the types of a file. A Node.js that cannot do so runs such files as JavaScript.
const STRIP: &str = "const { stripTypeScriptTypes, wrap } = require('node:module');
const source = require('node:fs').readFileSync(process.argv[1], 'utf8');
try {
  if (stripTypeScriptTypes) stripTypeScriptTypes(source);
  else new (require('node:vm').Script)(wrap(source));
} catch (error) {
  console.error(String(error.stack ?? error).split('\\n    at ')[0]);
  process.exit(stripTypeScriptTypes ? 43 : 42);
}
";

/// Exit code of [`COMPILE`] and [`STRIP`] for a syntax error; any other is the interpreter's.
const BROKEN: i32 = 43;

/// Exit code of [`STRIP`] for a file that may be TypeScript and is not JavaScript.
const CANNOT_STRIP: i32 = 42;

/// Checks a TypeScript file.
pub(super) fn typescript(node: &Path, source: &Path, cancellation: &Cancellation) -> Syntax {
    let strip =
        CommandSpec::new(node).args(["--no-warnings", "--input-type=commonjs", "-e", STRIP, "--"]);
    match tool::output(&asking(strip).arg(full(source)), LIMIT, cancellation) {
        Ok(answer) if answer.status.code() == Some(CANNOT_STRIP) => Syntax::Unchecked {
            reason: "this Node.js cannot read TypeScript; install Node.js 22.18 or later"
                .to_owned(),
        },
        answer => verdict(answer, BROKEN),
    }
}

/// Interprets the result of a check; `broken` is the exit code for a syntax error.
fn verdict(answer: Result<ToolOutput, ToolError>, broken: i32) -> Syntax {
    let reason = match answer {
        Ok(ToolOutput { status, stderr, .. }) => match status.code() {
            Some(0) => return Syntax::Sound,
            Some(code) if code == broken => {
                return Syntax::Broken { rendered: stderr.trim_end().to_owned() };
            }
            // An interpreter that dies, or does not know an option, is no evidence about the file.
            Some(code) => format!("the interpreter exited with code {code}: {}", stderr.trim()),
            None => format!("the interpreter was killed by a signal: {}", stderr.trim()),
        },
        Err(error) => error.to_string(),
    };
    Syntax::Unchecked { reason }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::runtime::{Environment, testing::Directory};

    #[test]
    fn python_reads_and_leaves_nothing_behind() {
        let Some(python3) = Environment::inherited().find_program("python3") else { return };
        let directory = Directory::new("syntax-python");
        let look =
            |source: &str| python(&python3, &directory.file("a.py", source), &Cancellation::new());
        assert_eq!(look("x = 1\nimport nothing_of_this_name\n"), Syntax::Sound);
        assert_eq!(look("'a' is 'a'\n"), Syntax::Sound, "odd is not wrong");
        let Syntax::Broken { rendered } = look("x = 1\ny = (\n") else { panic!("it is wrong") };
        assert!(rendered.contains("line 2") && rendered.contains("SyntaxError"), "{rendered}");
        assert!(matches!(look("x = '\0'\n"), Syntax::Broken { .. }));
        let left = std::fs::read_dir(directory.path("")).unwrap().count();
        assert_eq!(left, 1);
    }

    #[test]
    fn node_reads_javascript_and_only_newer_ones_typescript() {
        let Some(node) = Environment::inherited().find_program("node") else { return };
        let directory = Directory::new("syntax-node");
        let js =
            |source: &str| javascript(&node, &directory.file("a.js", source), &Cancellation::new());
        assert_eq!(js("console.log(nothing);"), Syntax::Sound);
        let Syntax::Broken { rendered } = js("let x = ;") else { panic!("it is wrong") };
        assert!(rendered.contains("SyntaxError"), "{rendered}");
        let ts =
            |source: &str| typescript(&node, &directory.file("a.ts", source), &Cancellation::new());
        assert_eq!(ts("const x = 1;"), Syntax::Sound);
        let strips = ts("const x: number = 1;") == Syntax::Sound;
        match ts("const x: = 1;") {
            Syntax::Broken { rendered } if strips => {
                assert!(rendered.contains("const x: = 1;"), "{rendered}")
            }
            Syntax::Unchecked { reason } if !strips => {
                assert!(reason.contains("22.18"), "{reason}")
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_interpreter_that_does_not_work_says_nothing_of_the_file() {
        let directory = Directory::new("syntax-dead");
        let source = directory.file("a.py", "x = (");
        for script in ["exit 7", "exit 1", "kill -9 $$"] {
            let interpreter = directory.script("python", script);
            let found = python(&interpreter, &source, &Cancellation::new());
            assert!(matches!(found, Syntax::Unchecked { .. }), "{script}: {found:?}");
        }
    }
}
