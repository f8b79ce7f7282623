//! `evaluator test`: the tests that evaluators bring, in every language.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic, too")]

use serde_json::Value;

use crate::support::{Directory, Ran, finish, has};

fn test(directory: &Directory, args: &[&str]) -> Ran {
    let mut command = directory.command(&[&["test"], args].concat());
    command
        .env_remove("VIRTUAL_ENV")
        // An interpreter without pytest, whatever is on this machine.
        .env("PYTHONNOUSERSITE", "1");
    finish(command.spawn().unwrap())
}

const CASES: &str = "import unittest\nimport check\n\nclass T(unittest.TestCase):\n    def test_one(self):\n        self.assertEqual(check.score(), 1)\n";

#[test]
fn python_tests_run_next_to_the_script_and_in_directories() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    directory.file("check.py", "def score():\n    return 1\n");
    directory.file("test_check.py", CASES);
    directory.file("tests/unit/test_more.py", CASES);
    directory.file("test_other.py", "raise SystemExit('another evaluator')\n");
    let ran = test(&directory, &["check.py"]).exits(0).says("evaluator: check.py: 2 tests passed");
    assert!(
        ran.stderr.contains("Ran 2 tests"),
        "what the test runner says is shown: {}",
        ran.stderr
    );
    // Arguments go to the test runner.
    let ran = test(&directory, &["check.py", "--", "-v", "-k", "one"]).exits(0);
    assert!(ran.stderr.contains("test_one (test_check.T"), "{}", ran.stderr);
    directory.file("check.py", "def score():\n    return 2\n");
    test(&directory, &["check.py"]).exits(1).says("evaluator: check.py: FAILED, 2 tests ran");
}

#[test]
fn a_test_that_does_not_run_is_no_success() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    directory.file("check.py", "def score():\n    return 1\n");
    test(&directory, &["check.py"])
        .exits(2)
        .says("tests are looked for in test_*.py and *_test.py");
    directory.file(
        "test_check.py",
        "import check\n\ndef test_for_pytest():\n    assert check.score() == 1\n",
    );
    let ran = test(&directory, &["check.py"]).exits(2).says("check.py: no test ran: ");
    assert!(ran.stderr.contains("has no pytest"), "{}", ran.stderr);
    directory
        .file("test_check.py", CASES.replace("    def", "    @unittest.skip('later')\n    def"));
    test(&directory, &["check.py"]).exits(2).says("check.py: no test ran: ");
    test(&directory, &["check.py", "--", "-k", "nothing_is_called_so"])
        .exits(2)
        .says("no test ran");
    test(&directory, &["gone.py"]).exits(2).says("no such file");
    directory.file("check.py", "# /// script\n# requires-python = \">=3.99\"\n# ///\n");
    test(&directory, &["check.py"]).exits(3).says("it requires Python >=3.99");
}

#[test]
fn pytest_is_used_where_it_is() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    directory.file(
        "lib/pytest-9.9.dist-info/METADATA",
        "Metadata-Version: 2.1\nName: pytest\nVersion: 9.9\n",
    );
    directory.file(
        "lib/pytest/__main__.py",
        "import sys\nprint(sys.argv[1:])\nprint('==== 3 passed, 1 skipped in 0.01s ====')\n",
    );
    directory.file("check.py", "def test_inside():\n    pass\n");
    let mut command = directory.command(&["test", "check.py", "--", "-x"]);
    command.env("PYTHONPATH", directory.path().join("lib")).env_remove("VIRTUAL_ENV");
    let ran = finish(command.spawn().unwrap()).exits(0).says("check.py: 3 tests passed");
    assert!(ran.stdout.contains("['-x', 'check.py']"), "{}", ran.stdout);
}

#[test]
fn javascript_tests_run_and_an_empty_file_is_none() {
    if !has("node") {
        return;
    }
    let directory = Directory::new();
    directory.file("check.js", "exports.score = () => 1;\n");
    let text = "const { test } = require('node:test');\nconst check = require('./check.js');\n\
                test('one', () => { if (check.score() !== 1) throw new Error('no'); });\n";
    directory.file("check.test.js", text);
    test(&directory, &["check.js"]).exits(0).says("check.js: 1 test passed");
    directory.file("check.js", "exports.score = () => 2;\n");
    test(&directory, &["check.js"]).exits(1).says("check.js: FAILED, 1 test ran");
    directory.file("check.test.js", "");
    test(&directory, &["check.js"]).exits(2).says("check.js: no test ran: ");
    directory.file("other.js", "");
    test(&directory, &["other.js"]).exits(2).says("tests are looked for in *.test.*");
}

#[test]
fn typescript_tests_run_or_are_refused() {
    let directory = Directory::new();
    // A Node.js that strips no types, which passes over files of TypeScript.
    directory.script(
        "bin/node",
        "[ \"$1\" = --version ] && echo v20.20.2 || { echo 'ℹ pass 0'; exit 42; }",
    );
    directory.file("package.json", "{\"type\": \"module\"}");
    directory.file("check.ts", "export const score: number = 1;\n");
    directory.file("check.test.ts", "import { score } from './check.ts';\n");
    let run = |args: &[&str]| {
        let path = format!("{}:/usr/bin:/bin", directory.path().join("bin").display());
        finish(directory.command(args).env("PATH", path).spawn().unwrap())
    };
    let expected = "Node.js 20.20 cannot run TypeScript; install Node.js 22.18 or later";
    run(&["test", "check.ts"]).exits(3).says(expected);
    // Everything says so.
    directory.file("c.yaml", "evaluators:\n  - {name: check, type: code, path: check.ts}\n");
    let checked = run(&["check", "c.yaml"]).exits(2).stdout;
    assert!(
        checked.contains(&format!("[FAIL]  check  runtime not available: {expected}")),
        "{checked}"
    );
    let runtimes = run(&["runtimes"]).exits(0).stdout;
    let row = runtimes.lines().find(|line| line.starts_with("TypeScript")).unwrap();
    assert!(row.contains("no") && row.contains(expected), "{runtimes}");
    let created = run(&["init", "typed.ts"]).exits(0);
    assert!(
        created.stderr.contains(&format!(
            "this machine cannot run it yet: runtime not available: {expected}"
        )),
        "{}",
        created.stderr
    );
    // Its own test runs by the command, which says why it fails, and finds tsx.
    let package: Value = serde_json::from_str(&directory.read("typed/package.json")).unwrap();
    assert_eq!(package["scripts"]["test"], "evaluator test .");
    run(&["test", "typed"]).exits(3).says(expected);
    directory.script(
        "typed/node_modules/.bin/tsx",
        "echo \"tsx $1\"; echo 'ℹ tests 1'; echo 'ℹ pass 1'",
    );
    let ran = run(&["test", "typed"]);
    assert!(format!("{}{}", ran.stdout, ran.stderr).contains("tsx --test"), "{}", ran.stderr);
    let created = run(&["init", "plain.js"]).exits(0);
    assert_eq!(created.stderr, "");
}

const RUST: &str = r#"
use evaluator_sdk::{EvalInput, evaluator};

#[evaluator]
fn check(_: &EvalInput) -> f64 {
    1.0
}

fn main() -> std::process::ExitCode {
    check::run()
}
"#;

const RUST_TESTS: &str = r#"
#[cfg(test)]
mod tests {
    #[test]
    fn it_scores() {
        assert_eq!(super::check(&Default::default()), 1.0);
    }
    #[test]
    fn it_fails() {
        assert!(std::env::var_os("FAIL").is_none());
    }
}
"#;

#[test]
fn a_lone_rust_file_is_tested_with_the_sdk() {
    let directory = Directory::new();
    directory.file("check.rs", format!("{RUST}{RUST_TESTS}"));
    test(&directory, &["check.rs"]).exits(0).says("check.rs: 2 tests passed");
    let ran =
        test(&directory, &["check.rs", "--", "it_scores"]).exits(0).says("check.rs: 1 test passed");
    assert!(ran.stdout.contains("test tests::it_scores ... ok"), "{}", ran.stdout);
    directory.file("check.rs", format!("{RUST}{}", RUST_TESTS.replace("is_none", "is_some")));
    test(&directory, &["check.rs"]).exits(1).says("check.rs: FAILED, 2 tests ran");
    directory.file("check.rs", RUST);
    test(&directory, &["check.rs"])
        .exits(2)
        .says("check.rs: no test ran: it has no function with #[test]");
    directory.file("check.rs", format!("{RUST}\nfn broken() -> f64 {{ \"high\" }}\n"));
    let ran = test(&directory, &["check.rs"]).exits(3);
    assert!(ran.stderr.contains("mismatched types"), "{}", ran.stderr);
}

#[test]
fn a_package_and_its_files_are_tested_with_cargo() {
    let directory = Directory::new();
    directory.file(
        "mine/Cargo.toml",
        "[package]\nname = \"mine\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n",
    );
    directory.file("mine/src/main.rs", "fn main() {}\n#[test]\nfn in_main() {}\n");
    directory.file("mine/tests/more.rs", "#[test]\nfn one() {}\n#[test]\nfn two() {}\n");
    directory.file("mine/examples/other.rs", "fn main() {}\n#[test]\nfn in_example() {}\n");
    for path in ["mine", "mine/Cargo.toml", "mine/src/main.rs"] {
        test(&directory, &[path]).exits(0).says(&format!("{path}: 3 tests passed"));
    }
    test(&directory, &["mine/examples/other.rs"]).exits(0).says("other.rs: 1 test passed");
}

#[test]
fn a_directory_is_every_evaluator_in_it() {
    if !has("python3") || !has("node") {
        return;
    }
    let directory = Directory::new();
    directory.file("all/check.py", "def score():\n    return 1\n");
    directory.file("all/test_check.py", CASES);
    directory.file("all/helper.py", "");
    directory.file(
        "all/named/evaluator.yaml",
        "name: named\nlanguage: javascript\ndescription: x\nentrypoint: named.js\n",
    );
    directory.file("all/named/named.js", "");
    let tests =
        "const { test } = require('node:test');\nrequire('./named.js');\ntest('one', () => {});\n";
    directory.file("all/named/named.test.js", tests);
    directory.file("all/empty/file", "");
    let ran = test(&directory, &["all"]).exits(0);
    for said in [
        "all/check.py: 1 test passed",
        "named.js: 1 test passed",
        "ignored all/helper.py: it has no tests",
    ] {
        assert!(ran.stderr.contains(said), "{said}\n{}", ran.stderr);
    }
    test(&directory, &["all/named"]).exits(0).says("named.js: 1 test passed");
    directory.file("all/named/named.test.js", "require('./named.js');");
    test(&directory, &["all"]).exits(2).says("named.js: no test ran");
    test(&directory, &["all/empty"]).exits(2).says("there is nothing to test in all/empty");
    directory.script("tool", "");
    test(&directory, &["tool"])
        .exits(2)
        .says("no test of tool: the runtime `Executable` cannot run tests");
}

#[test]
fn what_a_template_creates_is_tested_and_not_without_a_test() {
    let directory = Directory::new();
    for (name, needs) in [("a.py", "python3"), ("b.js", "node")] {
        if !has(needs) {
            continue;
        }
        let created = directory.evaluator(&["init", name]).exits(0);
        let stem = name.split('.').next().unwrap();
        assert!(created.stdout.contains(&format!("evaluator test {stem}\n")), "{}", created.stdout);
        test(&directory, &[stem]).exits(0).says("3 tests passed");
    }
}
