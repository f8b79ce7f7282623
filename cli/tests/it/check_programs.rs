//! What `evaluator check` finds out by asking programs.

use std::{fs, time::SystemTime};

use crate::support::{Directory, Ran, TWO_EVALUATORS};

fn check(directory: &Directory, args: &[&str]) -> Ran {
    directory.evaluator(&[&["check", "c.yaml"], args].concat())
}

#[test]
fn names_that_a_program_does_not_have_are_found() {
    let directory = Directory::new();
    let source = directory.file("two.rs", TWO_EVALUATORS);
    directory.file(
        "c.yaml",
        "evaluators:\n- {name: always, type: code, path: two.rs}\n- {name: nver, type: code, path: two.rs}\n",
    );
    check(&directory, &[])
        .exits(0)
        .says("not built, so that names and settings were not checked: always, nver");
    let found =
        "[FAIL]  nver    its program has no evaluator called `nver` (did you mean `never`?)";
    for args in [&["--build"][..], &[]] {
        let ran = check(&directory, args).exits(2);
        assert!(ran.stdout.contains(found), "{}", ran.stdout);
        assert!(ran.stdout.contains("[PASS]  always"), "{}", ran.stdout);
    }
    // A program that is older than its source says nothing about it.
    fs::File::options()
        .append(true)
        .open(source)
        .unwrap()
        .set_modified(SystemTime::now() + std::time::Duration::from_secs(10))
        .unwrap();
    check(&directory, &[]).exits(0).says("not built");
}

#[test]
fn settings_of_the_wrong_type_are_found_in_any_program_that_describes_itself() {
    let directory = Directory::new();
    let description = r#"{"sdk":"mine","sdk_version":"1","protocol_version":"1.1","evaluators":[{"name":"a","contract":"agentevals","config_schema":{"type":"object","properties":{"max":{"type":"integer"}},"required":["max"]}}]}"#;
    let program = format!(
        "---\n---\nfn main() {{ if std::env::args().any(|arg| arg == \"--describe\") {{ print!(\"{{}}\", {description:?}) }} else {{ std::process::exit(9) }} }}\n"
    );
    directory.file("a.rs", program);
    for (config, expected) in [
        ("{max: 3}", None),
        ("{max: many}", Some("`max`: want integer, but got string")),
        ("{}", Some("max")),
    ] {
        directory.file(
            "c.yaml",
            format!("evaluators:\n- {{name: a, type: code, path: a.rs, config: {config}}}\n"),
        );
        if config.contains("many") {
            let ran = directory.evaluator(&["serve", "-c", "c.yaml"]);
            ran.exits(2).says("evaluator: a: its `config` is not what the evaluator takes: `max`");
        }
        let ran = check(&directory, &["--build"]);
        match expected {
            None => assert_eq!(ran.code, Some(0), "{}", ran.stdout),
            Some(expected) => {
                assert_eq!(ran.code, Some(2), "{}", ran.stdout);
                assert!(
                    ran.stdout.contains("its `config` is not what the evaluator takes"),
                    "{}",
                    ran.stdout
                );
                assert!(ran.stdout.contains(expected), "{}", ran.stdout);
            }
        }
    }
}

#[test]
fn a_program_that_does_not_compile_is_found_by_building_it() {
    let directory = Directory::new();
    directory.file("bad.rs", "fn main() { broken }\n");
    directory.file("c.yaml", "evaluators:\n- {name: bad, type: code, path: bad.rs}\n");
    let ran = check(&directory, &["--build"]).exits(2);
    assert!(ran.stdout.contains("does not compile: 1 error"), "{}", ran.stdout);
}
