//! Looks at sources without running them.

use std::{path::Path, time::Duration};

use super::tool::{self, Stream, ToolError};
use crate::process::{Cancellation, CommandSpec};

/// How long an interpreter may look at one file.
const LIMIT: Duration = Duration::from_secs(60);

/// What a look at a source found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// It can be read.
    Sound,
    /// It cannot.
    Broken {
        /// What the interpreter said, possibly several lines.
        rendered: String,
    },
    /// Nobody here can tell.
    Unchecked {
        /// Why, and one hint.
        reason: String,
    },
    /// This language is compiled: mistakes show when an evaluator is prepared.
    WhenPrepared,
}

/// Compiles a file in memory: the compiler's own command would leave a file behind.
const COMPILE: &str = "import sys, traceback
path = sys.argv[1]
try:
    with open(path, 'rb') as file:
        source = file.read()
    compile(source, path, 'exec', dont_inherit=True)
except Exception as error:
    sys.stderr.write(''.join(traceback.format_exception_only(type(error), error)))
    sys.exit(43)
";

/// Whether Python can read the file.
pub(super) fn python(interpreter: &Path, source: &Path, cancellation: &Cancellation) -> Syntax {
    // Without the site's own start-up code, and without warnings about what is right but odd.
    let compile = CommandSpec::new(interpreter).args(["-I", "-S", "-W", "ignore", "-c", COMPILE]);
    verdict(ask(&compile.arg(source), cancellation), BROKEN)
}

/// Whether Node.js can read the file as JavaScript.
pub(super) fn javascript(node: &Path, source: &Path, cancellation: &Cancellation) -> Syntax {
    verdict(ask(&CommandSpec::new(node).arg("--check").arg(source), cancellation), 1)
}

/// Takes the types out of a file. A Node.js that does not know how to runs such files as scripts in JavaScript.
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

/// The exit code of our own scripts for a file that cannot be read; any other is the interpreter's.
const BROKEN: i32 = 43;

/// The exit code of [`STRIP`] for a file that may be TypeScript and is no JavaScript.
const CANNOT_STRIP: i32 = 42;

/// Whether Node.js can read the file as TypeScript.
pub(super) fn typescript(node: &Path, source: &Path, cancellation: &Cancellation) -> Syntax {
    let strip =
        CommandSpec::new(node).args(["--no-warnings", "--input-type=commonjs", "-e", STRIP, "--"]);
    match ask(&strip.arg(source), cancellation) {
        Ok(Answer { code: Some(CANNOT_STRIP), .. }) => Syntax::Unchecked {
            reason: "this Node.js cannot read TypeScript; install Node.js 22.18 or later"
                .to_owned(),
        },
        answer => verdict(answer, BROKEN),
    }
}

/// How an interpreter ended, and what it wrote to stderr.
struct Answer {
    code: Option<i32>,
    stderr: String,
}

fn ask(command: &CommandSpec, cancellation: &Cancellation) -> Result<Answer, ToolError> {
    let mut stderr = String::new();
    let status = tool::run(command, LIMIT, cancellation, &mut |stream, line| {
        if stream == Stream::Stderr {
            stderr.push_str(line);
            stderr.push('\n');
        }
    })?;
    Ok(Answer { code: status.code(), stderr })
}

/// What an answer means; `broken` is the exit code that speaks against the file.
fn verdict(answer: Result<Answer, ToolError>, broken: i32) -> Syntax {
    match answer {
        Ok(Answer { code: Some(0), .. }) => Syntax::Sound,
        Ok(Answer { code: Some(code), stderr }) if code == broken => {
            Syntax::Broken { rendered: stderr.trim_end().to_owned() }
        }
        // An interpreter that dies, or does not know what it is asked for, says nothing of the file.
        Ok(Answer { code, stderr }) => {
            let how =
                code.map_or_else(|| "a signal".to_owned(), |code| format!("exit code {code}"));
            let reason = format!("the interpreter ended with {how}: {}", stderr.trim());
            Syntax::Unchecked { reason }
        }
        Err(error) => Syntax::Unchecked { reason: error.to_string() },
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::runtime::{Environment, testing::Folder};

    #[test]
    fn python_reads_and_leaves_nothing_behind() {
        let Some(python3) = Environment::inherited().find_program("python3") else { return };
        let folder = Folder::new("syntax-python");
        let look =
            |source: &str| python(&python3, &folder.file("a.py", source), &Cancellation::new());
        assert_eq!(look("x = 1\nimport nothing_of_this_name\n"), Syntax::Sound);
        assert_eq!(look("'a' is 'a'\n"), Syntax::Sound, "odd is not wrong");
        let Syntax::Broken { rendered } = look("x = 1\ny = (\n") else { panic!("it is wrong") };
        assert!(rendered.contains("line 2") && rendered.contains("SyntaxError"), "{rendered}");
        assert!(matches!(look("x = '\0'\n"), Syntax::Broken { .. }));
        let left = std::fs::read_dir(folder.path("")).unwrap().count();
        assert_eq!(left, 1);
    }

    #[test]
    fn node_reads_javascript_and_only_newer_ones_typescript() {
        let Some(node) = Environment::inherited().find_program("node") else { return };
        let folder = Folder::new("syntax-node");
        let js =
            |source: &str| javascript(&node, &folder.file("a.js", source), &Cancellation::new());
        assert_eq!(js("console.log(nothing);"), Syntax::Sound);
        let Syntax::Broken { rendered } = js("let x = ;") else { panic!("it is wrong") };
        assert!(rendered.contains("SyntaxError"), "{rendered}");
        let ts =
            |source: &str| typescript(&node, &folder.file("a.ts", source), &Cancellation::new());
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
        let folder = Folder::new("syntax-dead");
        let source = folder.file("a.py", "x = (");
        for script in ["exit 7", "exit 1", "kill -9 $$"] {
            let interpreter = folder.script("python", script);
            let found = python(&interpreter, &source, &Cancellation::new());
            assert!(matches!(found, Syntax::Unchecked { .. }), "{script}: {found:?}");
        }
    }
}
