//! Code that a script runs and that cannot be found by reading the script.
//!
//! A script may decide at run time which file it imports: by `sys.path`, a composed name, a variable. The content of
//! such a file is not known, so results of that script cannot be reused. A false match (a word in a string) only costs
//! an evaluation that could have been reused.
//!
//! | language | followed | not followed |
//! |---|---|---|
//! | Python | `import_module("rules")`, `run_path(join(dirname(__file__), "rules.py"))` | `sys.path`, `__import__(name)`, `exec(text)` |
//! | JavaScript, TypeScript | `require("./rules")`, `import("./rules.mjs")` | `require(name)`, `NODE_PATH`, `#rules` |
//! | shell | `. ./rules.sh`, `"$(dirname "$0")/bin/rules"` | `. "$RULES"`, `"$RULES/check"`, `PATH=..`, `eval "$text"` |
//! | others | names in quotes | search paths, and names in variables |

use std::{
    path::{Path, PathBuf},
    sync::LazyLock,
};

use regex_lite::Regex;

use super::language::{Language, Rules};
use crate::environment::{is_executable, is_listed};

/// Code that one file of a script runs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Traced {
    /// Files whose paths are literals.
    pub(super) files: Vec<PathBuf>,
    /// Modules imported by a literal name outside of import statements.
    pub(super) modules: Vec<String>,
    /// The first construct that cannot be followed.
    pub(super) dynamic_code: Option<String>,
}

/// Reads the `text` of `file`.
pub(super) fn trace(file: &Path, text: &str) -> Traced {
    let mut traced = Traced::default();
    let rules = rules(file, text);
    let code = without_comments(text, rules);
    match rules {
        Rules::Python => python(file, &code, &mut traced),
        Rules::JavaScript => javascript(file, &code, &mut traced),
        Rules::Shell => shell(file, &code, &mut traced),
        Rules::Other => traced.dynamic_code = first_match(&OTHER, &code),
    }
    traced
}

fn rules(file: &Path, text: &str) -> Rules {
    let extension = file.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    match extension.to_ascii_lowercase().as_str() {
        "pyi" => return Rules::Python,
        "jsx" | "tsx" => return Rules::JavaScript,
        "sh" | "bash" => return Rules::Shell,
        _ => {}
    }
    if let Some(rules) = Language::of(file).and_then(Language::rules) {
        return rules;
    }
    let first = text.lines().next().filter(|line| line.starts_with("#!")).unwrap_or_default();
    let mut words = first.split(['/', ' ', '\t']);
    let interpreter = words.find_map(|word| {
        let name = word.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        match name {
            "python" | "pypy" => Some(Rules::Python),
            "node" | "tsx" | "deno" | "bun" => Some(Rules::JavaScript),
            "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash" => Some(Rules::Shell),
            _ => None,
        }
    });
    interpreter.unwrap_or(Rules::Other)
}

/// The text without comment lines.
fn without_comments(text: &str, rules: Rules) -> String {
    let is_comment = |line: &str| match rules {
        Rules::JavaScript => is_javascript_comment(line),
        _ => line.starts_with('#'),
    };
    let is_code = |line: &&str| !is_comment(line.trim());
    text.lines().filter(is_code).collect::<Vec<_>>().join("\n")
}

/// Returns true if a line is a JavaScript comment, or part of a long one. Code may follow the end of a comment.
fn is_javascript_comment(line: &str) -> bool {
    let begins = line.starts_with("/*") || line == "*" || line.starts_with("* ") || line == "*/";
    line.starts_with("//")
        || begins && line.split_once("*/").is_none_or(|(_, rest)| rest.is_empty())
}

fn regex(pattern: &str) -> Regex {
    #[expect(
        clippy::unwrap_used,
        reason = "the patterns are constants, and a test uses all of them"
    )]
    Regex::new(pattern).unwrap()
}

/// The text of the first match, for messages.
fn first_match(pattern: &Regex, code: &str) -> Option<String> {
    pattern.find(code).map(|found| shown(found.as_str()))
}

/// Shortens code to one line for messages.
fn shown(code: &str) -> String {
    let words: Vec<&str> = code.split_whitespace().collect();
    let text = words.join(" ");
    let text = text.trim_matches(|c: char| c.is_whitespace() || ";&|{}".contains(c));
    let short: String = text.chars().take(60).collect();
    if short.len() < text.len() { format!("`{short}..`") } else { format!("`{short}`") }
}

/// Changes of the module search path.
static PYTHON_PATHS: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"\bsys\s*\.\s*(path|meta_path|path_hooks)\b|\bfrom\s+sys\s+import\s[^\n]*\b(path|meta_path|path_hooks)\b|\.path\s*\.\s*(insert|append|extend)\s*\(|\bsys\s+as\s|\baddsitedir\b|\b__path__\b",
    )
});

/// Functions that import a module by name, or run a file by path.
static PYTHON_CALLS: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(^|[^.\w])(exec|execfile)\s*\(|\b(__import__|import_module|run_module|run_path|spec_from_file_location|spec_from_loader|SourceFileLoader|SourcelessFileLoader|ExtensionFileLoader|load_source|load_module|zipimporter)\b",
    )
});

/// Identifiers in an expression that, with literals, is a path below the directory of the script.
const IN_DIRECTORY: &str = "\
    os path join dirname abspath realpath normpath __file__ Path pathlib parent parents resolve absolute str \
    with_name joinpath open read read_text compile exec globals None __name__ __package__ package name";

fn python(file: &Path, code: &str, traced: &mut Traced) {
    traced.dynamic_code = first_match(&PYTHON_PATHS, code);
    for found in PYTHON_CALLS.find_iter(code) {
        let rest = &code[found.end()..];
        let called = found.as_str().trim_end_matches(['(', ' ']);
        let line = code[..found.end()].rsplit('\n').next().unwrap_or_default().trim_start();
        let arguments = if found.as_str().ends_with('(') {
            arguments(rest)
        } else {
            match rest.trim_start().strip_prefix('(') {
                Some(rest) => arguments(rest),
                // It is imported here and called elsewhere; an alias cannot be followed.
                None if line.starts_with("from ") && !rest.trim_start().starts_with("as ") => {
                    continue;
                }
                None => {
                    traced.dynamic_code.get_or_insert_with(|| shown(line));
                    continue;
                }
            }
        };
        if code[..found.start()].trim_end().ends_with("def") {
            continue;
        }
        let by_name = ["__import__", "import_module", "run_module"];
        let is_followed = if by_name.iter().any(|name| called.ends_with(name)) {
            literal(arguments).map(|name| traced.modules.push(name.to_owned())).is_some()
        } else if called.ends_with("exec")
            && literal(arguments).is_some_and(|it| it.len() + 2 == arguments.trim().len())
        {
            // The code is a literal.
            true
        } else {
            spelled_out(file, arguments).map(|path| traced.files.push(path)).is_some()
        };
        if !is_followed {
            traced.dynamic_code.get_or_insert_with(|| shown(&format!("{called}({arguments})")));
        }
    }
}

/// The text up to the closing parenthesis.
fn arguments(rest: &str) -> &str {
    let mut depth = 1;
    for (at, character) in rest.char_indices() {
        match character {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &rest[..at];
        }
    }
    rest
}

/// The literal that is the first argument, if it is nothing else.
fn literal(arguments: &str) -> Option<&str> {
    let arguments = arguments.trim_start();
    let quote = arguments.chars().next().filter(|c| "\"'`".contains(*c))?;
    let (text, rest) = arguments[1..].split_once(quote)?;
    let ends = rest.trim_start();
    let is_computed = text.contains(['\\', '\n']) || quote == '`' && text.contains("${");
    (!is_computed && (ends.is_empty() || ends.starts_with([',', ')']))).then_some(text)
}

/// The file that an expression names by literals and the directory of the script.
fn spelled_out(file: &Path, expression: &str) -> Option<PathBuf> {
    let (mut texts, mut others) = (Vec::new(), String::new());
    for (number, part) in expression.split(['"', '\'']).enumerate() {
        match number % 2 {
            1 => texts.push(part),
            _ => others.push_str(part),
        }
    }
    let mut words = others.split(|c: char| !c.is_alphanumeric() && c != '_');
    // Numbers select a parent directory; the prefix of a literal (`f"..."`) is not a known identifier.
    let is_known = |word: &str| word.is_empty() || word == "0" || is_listed(word, IN_DIRECTORY);
    if !words.all(is_known) {
        return None;
    }
    let directory = file.parent()?;
    let joined: PathBuf = texts.iter().collect();
    let mut candidates = vec![joined];
    candidates.extend(texts.iter().map(PathBuf::from));
    let mut files = candidates.iter().map(|path| directory.join(path));
    files.find(|path| path.is_file()).or_else(|| {
        // Such a path is relative to the working directory.
        candidates
            .into_iter()
            .filter(|path| path.is_file())
            .find_map(|path| path.canonicalize().ok())
    })
}

/// Functions that import by name.
static JAVASCRIPT_CALLS: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(^|[^.\w$])(require|import)\s*\(|\brequire\.resolve\s*\("));

/// Other ways to run code.
static JAVASCRIPT_OTHERS: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"\b(runInThisContext|runInNewContext|runInContext|vm\.Script|SourceTextModule|dlopen|registerHooks|_load)\b|\bmodule\.paths\b|\bnew\s+Function\s*\(|(^|[^.\w$])eval\s*\(|\b(from|import|require\s*\(|import\s*\()\s*['"][#~@]/?[^a-z'"][^'"]*['"]|\b(from|import|require\s*\(|import\s*\()\s*['"]#[^'"]*['"]|(const|let|var)\s+\w*[a-qs-z0-9_]\w*\s*=\s*[\w.]*createRequire\b"#,
    )
});

fn javascript(file: &Path, code: &str, traced: &mut Traced) {
    traced.dynamic_code = JAVASCRIPT_OTHERS
        .find_iter(code)
        .map(|it| it.as_str())
        .find(|it| !is_own_require(it))
        .map(shown);
    for found in JAVASCRIPT_CALLS.find_iter(code) {
        let arguments = arguments(&code[found.end()..]);
        match literal(arguments) {
            Some(path) => traced.files.extend(imported_path(file, path)),
            // The declaration of a method, or `import()` in a type.
            None if arguments.trim().is_empty() => {}
            None => {
                let called = found.as_str().trim_start_matches(|c: char| !c.is_alphabetic());
                traced.dynamic_code.get_or_insert_with(|| shown(&format!("{called}{arguments})")));
            }
        }
    }
}

/// Returns true if this declares a function `require`, whose calls are found.
fn is_own_require(declaration: &str) -> bool {
    let mut words = declaration.split(|c: char| !c.is_alphanumeric() && c != '_');
    declaration.contains("createRequire") && words.nth(1) == Some("require")
}

/// The path that an import names, possibly without extension; `None` for the name of a package.
fn imported_path(file: &Path, path: &str) -> Option<PathBuf> {
    let path = path.strip_prefix("file://").unwrap_or(path);
    let is_path = path.starts_with(['/', '.']);
    is_path.then(|| file.parent().unwrap_or(Path::new("")).join(path))
}

/// Commands that run another file.
static SHELL_RUNS: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(^|[\n;&|({`]|\b(then|do|else|exec|env|if|while|time)[ \t])[ \t]*(\.|source|eval|sh|bash|dash|zsh|ksh|python[0-9.]*|node|ruby|perl)[ \t]+",
    )
});

/// Commands that are named by a path, behind assignments of variables; changes of the directory; and assignments that decide
/// where commands are found.
static SHELL_PATHS: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(^|[\n;&|({`!]|\b(then|do|else|exec|env|if|while|time|command|nohup)[ \t])[ \t]*([A-Za-z_]\w*=[^ \t\n;&|()]*[ \t]+)*([^ \t\n;&|()<>=*]*/[^ \t\n;&|()<>*]*)",
    )
});
static SHELL_MOVES: LazyLock<Regex> = LazyLock::new(|| regex(r"(^|[\s;&|({])(cd|pushd)[ \t]"));
static SHELL_SEARCH: LazyLock<Regex> = LazyLock::new(|| regex(r"(^|[\s;&|({])PATH=\S*"));

/// Usual expressions for the directory of the script.
const HERE: [&str; 12] = [
    r#"$(cd "$(dirname "$0")" && pwd)"#,
    r#"$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"#,
    r#"$(cd "$(dirname "$0")"; pwd)"#,
    r#"$(dirname "$0")"#,
    r#"$(dirname -- "$0")"#,
    r#"$(dirname $0)"#,
    r#"$(dirname "${BASH_SOURCE[0]}")"#,
    r#"$(dirname "$BASH_SOURCE")"#,
    r#"$(dirname "$(readlink -f "$0")")"#,
    r#"$(dirname "$(realpath "$0")")"#,
    "${0%/*}",
    "${BASH_SOURCE%/*}",
];

fn shell(file: &Path, code: &str, traced: &mut Traced) {
    let directory = file.parent().unwrap_or(Path::new("")).to_string_lossy().into_owned();
    traced.dynamic_code = first_match(&SHELL_SEARCH, code);
    let located = HERE.iter().fold(code.to_owned(), |code, here| code.replace(here, &directory));
    let moves = SHELL_MOVES.is_match(&located);
    for found in SHELL_PATHS.captures_iter(&located) {
        let path = found.get(4).map_or("", |path| path.as_str()).replace(['"', '\''], "");
        // Text of a script has slashes, too. What is not there may be there behind a `cd`.
        let may_run =
            path.starts_with(['.', '~']) || path.contains('$') || moves && !path.starts_with('/');
        match shell_file(&directory, &path) {
            Some(path) => traced.files.push(path),
            None if may_run => drop(traced.dynamic_code.get_or_insert_with(|| shown(&path))),
            None => {}
        }
    }
    // Programs whose paths are arguments of others, e.g. of `timeout` or `xargs`.
    for word in located.split(|c: char| c.is_whitespace() || ";&|(){}<>`\"'".contains(c)) {
        let path = shell_file(&directory, word).filter(|_| word.contains('/'));
        traced.files.extend(path.filter(|path| is_executable(path)));
    }
    for found in SHELL_RUNS.captures_iter(code) {
        let Some(command) = found.get(3) else { continue };
        let rest = code[command.end()..].lines().next().unwrap_or_default().trim();
        let command = command.as_str();
        let rest = HERE.iter().fold(rest.to_owned(), |rest, here| rest.replace(here, &directory));
        let plain = rest.replace(['"', '\''], "");
        let argument =
            plain.split([' ', '\t', ';', '&', '|', ')', '<', '>']).next().unwrap_or_default();
        let is_dynamic = if command == "eval" {
            rest.contains(['$', '`'])
        } else if argument.contains(['$', '`', '~', '*']) {
            true
        } else if let Some(path) = shell_file(&directory, argument) {
            traced.files.push(path);
            false
        } else {
            matches!(command, "." | "source")
        };
        if is_dynamic {
            traced.dynamic_code.get_or_insert_with(|| shown(&format!("{command} {rest}")));
        }
    }
}

/// The file that a shell command refers to: relative to the working directory, or next to the script, which is often
/// the same.
fn shell_file(directory: &str, argument: &str) -> Option<PathBuf> {
    if argument.is_empty() || argument.starts_with('-') {
        return None;
    }
    let here = Path::new(argument);
    let found = here.is_file().then(|| here.canonicalize().ok()).flatten();
    found.or_else(|| Some(Path::new(directory).join(argument)).filter(|path| path.is_file()))
}

/// Changes of the search path, or loading by a variable, in Ruby, Perl, PHP, Lua and R.
static OTHER: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"\$LOAD_PATH|\$:\s*(<<|\.)|\b(require_relative|require|load|autoload|include|include_once|require_once|dofile|loadfile|source)\b\s*\(?\s*[^'"\s(;=,)][^\n]*\$?\w|\buse\s+lib\b|\bpackage\.(path|cpath)\b|\b(include|require)(_once)?\b[^;\n]*\$|\bdo\s+\$|\bunshift\s*\(?\s*@INC|(^|[^.\w])(eval|instance_eval|class_eval)\b\s*\(?\s*[^'"\s{(]"#,
    )
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::testing::Directory;

    fn reason(name: &str, text: &str) -> Option<String> {
        let directory = Directory::new("dynamic_code");
        for other in ["rules.py", "lib/rules.py", "rules.sh", "lib/rules.sh", "rules.rb"] {
            directory.file(other, "");
        }
        let file = directory.file(name, text);
        trace(&file, text).dynamic_code
    }

    #[test]
    fn what_is_spelled_out_is_followed() {
        for (name, text) in [
            ("a.py", "import rules\nfrom lib import rules\nimport os.path\nos.path.join('a', 'b')"),
            ("a.py", "import importlib\nimportlib.import_module('rules')"),
            (
                "a.py",
                "from importlib import import_module\nimport_module(\"lib.rules\", package=None)",
            ),
            ("a.py", "__import__('rules').score()"),
            ("a.py", "import runpy\nrunpy.run_path('rules.py')"),
            ("a.py", "runpy.run_path(os.path.join(os.path.dirname(__file__), 'lib', 'rules.py'))"),
            ("a.py", "exec(open(Path(__file__).parent / 'rules.py').read())"),
            ("a.py", "exec('x = 1')\nre.compile(pattern)\ncursor.exec(sql)\nself.path.join(x)"),
            ("a.py", "# sys.path.insert(0, x)\nsys.argv"),
            (
                "a.js",
                "const x = require('./rules'); import('./y.mjs'); import z from 'fs'; import { q } from '@scope/p'",
            ),
            (
                "a.mjs",
                "const require = createRequire(import.meta.url); require('./x')\nre.exec(text)",
            ),
            ("a.ts", "// require(x)\nimport type { A } from './a.js'"),
            ("a.js", "/* require(x)\n * require(y)\n *\n * require(z) */\n/** import(x) */"),
            (
                "a.sh",
                ". ./rules.sh\n. \"$(dirname \"$0\")/lib/rules.sh\"\nsource \"${BASH_SOURCE%/*}/rules.sh\"; x=1",
            ),
            (
                "a",
                "#!/bin/sh\ncat >/dev/null; echo \"$x\" . ; eval echo\nsh -c 'echo $1'\n[ \"$a\" = . ]",
            ),
            (
                "a.sh",
                "./lib/rules.sh | \"$(dirname \"$0\")/rules.sh\"\nx=$(./rules.sh) && A=1 ./rules.sh\n/bin/echo 1\necho a/b 2>/dev/null",
            ),
            ("a.sh", "echo 'pass/fail (and/or)'\nawk '\n/re/ {print}\n'\necho '{\"a/b\":1}'"),
            ("a.sh", "d=/tmp/x\ncase $x in */y) echo z/z;; esac\nexec env A=b/c ./rules.sh"),
            (
                "a",
                "#!/usr/bin/env ruby\nrequire 'json'\nrequire_relative 'rules'\nputs JSON.parse(STDIN.read)",
            ),
            ("a", "#!/usr/bin/perl\nuse strict; use JSON::PP;\nprint 1;"),
        ] {
            assert_eq!(reason(name, text), None, "{text}");
        }
    }

    #[test]
    fn what_is_made_at_run_time_is_not() {
        for (name, text, expected) in [
            ("a.py", "import sys\nsys.path.insert(0, '../shared')", "`sys.path`"),
            ("a.py", "from sys import path\npath.append(x)", "`from sys import path`"),
            ("a.py", "import sys as s\ns.path[:0] = [x]", "`sys as`"),
            ("a.py", "import site; site.addsitedir(x)", "`addsitedir`"),
            ("a.py", "__import__('hel' + 'per')", "`__import__('hel' + 'per')`"),
            ("a.py", "importlib.import_module(f'rules_{x}')", "`import_module(f'rules_{x}')`"),
            ("a.py", "importlib.import_module(\n    name\n)", "`import_module( name )`"),
            ("a.py", "load = importlib.import_module\nload(x)", "`load = importlib.import_module`"),
            (
                "a.py",
                "from importlib import import_module as im\nim(x)",
                "`from importlib import import_module`",
            ),
            ("a.py", "exec(open(path).read())", "`exec(open(path).read())`"),
            ("a.py", "runpy.run_path(os.environ['RULES'])", "`run_path(os.environ['RULES'])`"),
            ("a.py", "runpy.run_path('gone.py')", "`run_path('gone.py')`"),
            (
                "a.py",
                "spec_from_file_location('rules', where)",
                "`spec_from_file_location('rules', where)`",
            ),
            ("a.js", "require(name)", "`require(name)`"),
            ("a.js", "require(`./${name}`)", "`require(`./${name}`)`"),
            ("a.js", "require('./' + name)", "`require('./' + name)`"),
            ("a.js", "/* istanbul ignore next */ require(name)", "`require(name)`"),
            ("a.js", "/*\n * rules */ require(name)", "`require(name)`"),
            ("a.js", "class A {\n  *load(name) { yield require(name) }\n}", "`require(name)`"),
            (
                "a.mjs",
                "await import(new URL(x, import.meta.url))",
                "`import(new URL(x, import.meta.url))`",
            ),
            ("a.mjs", "import rules from '#rules'", "`from '#rules'`"),
            (
                "a.mjs",
                "const load = createRequire(import.meta.url); load(x)",
                "`const load = createRequire`",
            ),
            ("a.cjs", "vm.runInThisContext(text)", "`runInThisContext`"),
            ("a.sh", "source \"$x\"", "`source \"$x\"`"),
            ("a.sh", "[ -f x ] && . $LIB/rules.sh", "`. $LIB/rules.sh`"),
            (
                "a",
                "#!/usr/bin/env bash\nif true; then . \"$HERE/rules.sh\"; fi",
                "`. \"$HERE/rules.sh\"; fi`",
            ),
            ("a.sh", ". ./gone.sh", "`. ./gone.sh`"),
            ("a.sh", "./gone", "`./gone`"),
            ("a.sh", "x=$(\"$HERE/rules.sh\")", "`$HERE/rules.sh`"),
            ("a.sh", "if ! $LIB/check; then exit 1; fi", "`$LIB/check`"),
            ("a.sh", "cd lib && bin/check", "`bin/check`"),
            ("a.sh", "cat | ~/bin/check", "`~/bin/check`"),
            ("a.sh", "export PATH=\"$PWD/bin:$PATH\"\nsc", "`PATH=\"$PWD/bin:$PATH\"`"),
            ("a.sh", ". ./rules.sh; . \"$x\"", "`. \"$x\"`"),
            ("a.sh", "eval \"$(cat \"$x\")\"", "`eval \"$(cat \"$x\")\"`"),
            ("a.sh", "exec python3 \"$ROOT/impl.py\"", "`python3 \"$ROOT/impl.py\"`"),
            ("a", "#!/usr/bin/env ruby\n$LOAD_PATH.unshift x", "`$LOAD_PATH`"),
            ("a", "#!/usr/bin/env ruby\nload path", "`load path`"),
            ("a", "#!/usr/bin/perl\nuse lib '../shared';", "`use lib`"),
            ("a", "#!/usr/bin/php\n<?php require $x;", "`require $x`"),
        ] {
            assert_eq!(reason(name, text).as_deref(), Some(expected), "{text}");
        }
    }
}
