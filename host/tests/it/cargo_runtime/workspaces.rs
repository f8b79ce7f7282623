//! Packages in workspaces, and what they share with the builds of their users.

use super::*;

/// Runs cargo as the user of a package does.
fn cargo(fixture: &Fixture, args: &[&str]) -> String {
    let mut command =
        CommandSpec::new("cargo").args(args).arg("--manifest-path").arg(fixture.path("Cargo.toml"));
    for name in
        ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_TARGET_DIR", "RUSTC_WORKSPACE_WRAPPER"]
    {
        command = command.env_remove(name);
    }
    let output = start(&command);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{stderr}");
    stderr
}

/// Cargo says where it builds from 1.91 on.
fn can_share(fixture: &Fixture) -> bool {
    let command = CommandSpec::new("cargo")
        .args(["metadata", "--no-deps", "--format-version", "1", "--manifest-path"])
        .arg(fixture.path("Cargo.toml"));
    stdout(&command).contains("\"build_directory\"")
}

fn member(fixture: &Fixture, name: &str, more: &str, files: &[(&str, &str)]) {
    let manifest =
        format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n{more}");
    fixture.file(&format!("{name}/Cargo.toml"), &manifest);
    for (file, text) in files {
        fixture.file(&format!("{name}/{file}"), text);
    }
}

#[test]
fn dependencies_are_compiled_once_for_the_user_and_the_host() {
    let fixture = Fixture::new("dependencies_are_compiled_once_for_the_user_and_the_host");
    member(&fixture, "slow", "", &[("src/lib.rs", "pub const WORD: &str = \"one\";\n")]);
    fixture.file(
        "Cargo.toml",
        "[package]\nname = \"mine\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[dependencies]\nslow = { path = \"slow\" }\n[workspace]\n",
    );
    fixture.file("src/main.rs", "fn main() { println!(\"{}\", slow::WORD) }\n");
    if !can_share(&fixture) {
        return;
    }
    cargo(&fixture, &["test"]);
    let (results, events) = fixture.prepare(&[&fixture.directory]);
    let launch = results[0].as_ref().unwrap();
    let compiled = |event: &PrepareEvent| matches!(event, PrepareEvent::Progress { line } if line.starts_with("Compiling slow"));
    assert!(!events.iter().any(compiled), "{events:?}");
    assert_eq!(one_shot(launch), "one");
    let said = cargo(&fixture, &["build"]);
    assert!(!said.contains("Compiling slow"), "{said}");

    // What the user builds meanwhile is not what runs.
    fixture.file("src/main.rs", "fn main() { println!(\"two\") }\n");
    cargo(&fixture, &["build"]);
    assert_eq!(one_shot(launch), "one");
}

#[test]
fn programs_of_the_same_name_are_not_mixed_up() {
    let fixture = Fixture::new("programs_of_the_same_name_are_not_mixed_up");
    fixture.file("Cargo.toml", "[workspace]\nmembers = [\"a\", \"b\"]\nresolver = \"3\"\n");
    for name in ["a", "b"] {
        let files = [("src/bin/check.rs", says(name)), ("examples/check.rs", says("example"))];
        member(&fixture, name, "", &files.each_ref().map(|(file, text)| (*file, text.as_str())));
    }
    let sources = ["a/src/bin/check.rs", "b/src/bin/check.rs", "a/examples/check.rs", "a"];
    let (results, _) = fixture.prepare(&sources.map(|source| fixture.path(source)));
    if can_share(&fixture) {
        let words = results.iter().map(|result| one_shot(result.as_ref().unwrap()));
        assert_eq!(words.collect::<Vec<_>>(), ["a", "b", "example", "a"]);
    } else {
        let error = results[0].as_ref().unwrap_err().to_string();
        assert!(error.contains("has a program called `check`, too"), "{error}");
        assert_eq!(one_shot(results[1].as_ref().unwrap()), "b");
    }
}

#[test]
fn a_member_inherits_and_uses_other_members_and_its_build_script() {
    let fixture = Fixture::new("a_member_inherits_and_uses_other_members_and_its_build_script");
    fixture.file(
        "Cargo.toml",
        "[workspace]\nmembers = [\"a\", \"words\"]\nresolver = \"3\"\n[workspace.package]\nrust-version = \"1.85\"\n\
         [workspace.dependencies]\nwords = { path = \"words\" }\n[workspace.lints.rust]\nunused = \"deny\"\n\
         [profile.dev]\nopt-level = 1\n",
    );
    member(&fixture, "words", "", &[("src/lib.rs", "pub const WORD: &str = \"shared\";\n")]);
    member(
        &fixture,
        "a",
        "rust-version.workspace = true\ndefault-run = \"two\"\n[dependencies]\nwords = { workspace = true }\n[lints]\nworkspace = true\n",
        &[
            (
                "build.rs",
                "fn main() { println!(\"cargo::rustc-env=BUILT=built\"); let out = std::env::var(\"OUT_DIR\").unwrap(); \
                 std::fs::write(out + \"/word.txt\", \"made\").unwrap(); }",
            ),
            (
                "src/bin/one.rs",
                "fn main() { println!(\"{} {} {}\", words::WORD, env!(\"BUILT\"), include_str!(concat!(env!(\"OUT_DIR\"), \"/word.txt\"))) }",
            ),
            (
                "src/bin/two.rs",
                "fn main() { let out = std::env::var(\"OUT_DIR\").unwrap(); println!(\"{}\", std::fs::read_to_string(out + \"/word.txt\").unwrap()) }",
            ),
        ],
    );
    let (results, _) = fixture.prepare(&[fixture.path("a/src/bin/one.rs"), fixture.path("a")]);
    assert_eq!(one_shot(results[0].as_ref().unwrap()), "shared built made");
    assert_eq!(one_shot(results[1].as_ref().unwrap()), "made");
}

#[test]
fn a_target_directory_that_cannot_be_used_is_reported() {
    let fixture = Fixture::new("a_target_directory_that_cannot_be_used_is_reported");
    fixture.package(&[("src/main.rs", &says("never"))]);
    // A checkout that cannot be written fails in the same way, but not for the super-user.
    fixture.file("target", "not a directory");
    let (results, _) = fixture.prepare(&[&fixture.directory]);
    let (summary, _) = failure(&results[0]);
    assert!(summary.contains(" was not built: ") && summary.contains("target"), "{summary}");
}

#[test]
fn a_dependency_that_does_not_exist_is_reported_with_its_cause() {
    let fixture = Fixture::new("a_dependency_that_does_not_exist_is_reported_with_its_cause");
    fixture.package(&[("src/main.rs", &says("never"))]);
    let manifest = fs::read_to_string(fixture.path("Cargo.toml")).unwrap();
    fixture.file("Cargo.toml", &(manifest + "[dependencies]\ngone = { path = \"gone\" }\n"));
    let (results, _) = fixture.prepare(&[&fixture.directory]);
    let (summary, _) = failure(&results[0]);
    assert!(summary.contains("gone/Cargo.toml"), "{summary}");
    assert!(summary.contains("No such file or directory"), "{summary}");
}
