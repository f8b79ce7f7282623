//! Looks at sources without running them.

use std::{path::Path, time::Duration};

use super::tool::{self, Stream, ToolError};
use crate::process::{Cancellation, CommandSpec};

/// How long an interpreter may look at one file.
const LIMIT: Duration = Duration::from_secs(60);

/// What a look at a source found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
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
    sys.exit(1)
";

/// Whether Python can read the file.
pub(super) fn python(interpreter: &Path, source: &Path, cancellation: &Cancellation) -> Syntax {
    // Without the site's own start-up code, and without warnings about what is right but odd.
    let compile = CommandSpec::new(interpreter).args(["-I", "-S", "-W", "ignore", "-c", COMPILE]);
    verdict(ask(&compile.arg(source), cancellation))
}

/// Whether Node.js can read the file as JavaScript.
pub(super) fn javascript(node: &Path, source: &Path, cancellation: &Cancellation) -> Syntax {
    verdict(ask(&CommandSpec::new(node).arg("--check").arg(source), cancellation))
}

/// Takes the types out of a file, if this Node.js knows how to.
const STRIP: &str = "const { stripTypeScriptTypes } = require('node:module');
if (!stripTypeScriptTypes) process.exit(42);
try {
  stripTypeScriptTypes(require('node:fs').readFileSync(process.argv[1], 'utf8'));
} catch (error) {
  console.error(error.stack ?? String(error));
  process.exit(1);
}
";

/// The exit code of [`STRIP`] where there is nothing to strip with.
const CANNOT_STRIP: i32 = 42;

/// Whether Node.js can read the file as TypeScript.
pub(super) fn typescript(node: &Path, source: &Path, cancellation: &Cancellation) -> Syntax {
    let strip =
        CommandSpec::new(node).args(["--no-warnings", "--input-type=commonjs", "-e", STRIP, "--"]);
    match ask(&strip.arg(source), cancellation) {
        Ok(Answer { code: Some(CANNOT_STRIP), .. }) => {}
        answer => return verdict(answer),
    }
    // Older ones run a file as JavaScript whose types are all in comments.
    match javascript(node, source, cancellation) {
        Syntax::Sound => Syntax::Sound,
        _ => Syntax::Unchecked {
            reason: "this Node.js cannot read TypeScript; install Node.js 22.18 or later"
                .to_owned(),
        },
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

fn verdict(answer: Result<Answer, ToolError>) -> Syntax {
    match answer {
        Ok(Answer { code: Some(0), .. }) => Syntax::Sound,
        Ok(Answer { code: Some(1), stderr }) => {
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
