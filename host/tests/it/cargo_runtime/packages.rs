//! Sources that belong to a package.

use super::*;

#[test]
fn a_library_that_does_not_compile_is_blamed_for_its_programs() {
    let fixture = Fixture::new("a_library_that_does_not_compile_is_blamed_for_its_programs");
    fixture.package(&[
        ("src/lib.rs", "pub fn score() -> f64 { \"\" }"),
        ("src/main.rs", &says("main")),
    ]);
    let (results, _) = fixture.prepare(&[&fixture.directory]);
    let (summary, rendered) = failure(&results[0]);
    assert_eq!(
        summary,
        format!(
            "{} does not compile: 1 error in `mine`, which it uses",
            fixture.directory.display()
        )
    );
    assert!(rendered.contains("--> src/lib.rs:1:25"), "{rendered}");
}

#[test]
fn a_package_is_named_by_its_directory_or_manifest() {
    let fixture = Fixture::new("a_package_is_named_by_its_directory_or_manifest");
    fixture.package(&[("src/main.rs", &says("package"))]);
    let runtimes = Runtimes::in_environment(&fixture.environment);
    let paths =
        [fixture.directory.clone(), fixture.path("Cargo.toml"), fixture.path("src/main.rs")];
    let results = runtimes.prepare_all(&paths.map(Into::into), &Cancellation::new(), &mut |_| ());
    for result in &results {
        assert_eq!(one_shot(result.as_ref().unwrap()), "package");
    }
}

#[test]
fn a_program_that_needs_a_feature_gets_it() {
    let fixture = Fixture::new("a_program_that_needs_a_feature_gets_it");
    fixture.package(&[("src/bin/extra.rs", &says("extra")), ("src/main.rs", &says("main"))]);
    fixture.file(
        "Cargo.toml",
        "[package]\nname = \"mine\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n[features]\nmore = []\n\
         [[bin]]\nname = \"extra\"\nrequired-features = [\"more\"]\n",
    );
    let sources = ["src/bin/extra.rs", "src/main.rs"].map(|source| fixture.path(source));
    let (results, _) = fixture.prepare(&sources);
    assert_eq!(worker(results[0].as_ref().unwrap()), "extra --stream");
    assert_eq!(worker(results[1].as_ref().unwrap()), "main --stream");
}

#[test]
fn a_member_of_a_workspace_is_built_on_its_own() {
    let fixture = Fixture::new("a_member_of_a_workspace_is_built_on_its_own");
    fixture.file("Cargo.toml", "[workspace]\nmembers = [\"a\", \"b\"]\nresolver = \"3\"\n");
    for (name, text) in [("a", says("a")), ("b", "fn main() { broken }".to_owned())] {
        let manifest =
            format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n");
        fixture.file(&format!("{name}/Cargo.toml"), &manifest);
        fixture.file(&format!("{name}/src/main.rs"), &text);
    }
    fixture.file("scripts/lone.rs", &says("lone"));
    let sources = ["a/src/main.rs", "b", "scripts/lone.rs", ""].map(|source| fixture.path(source));
    let (results, _) = fixture.prepare(&sources);
    assert_eq!(one_shot(results[0].as_ref().unwrap()), "a");
    assert!(failure(&results[1]).1.contains("cannot find value `broken`"));
    assert_eq!(one_shot(results[2].as_ref().unwrap()), "lone");
    assert_eq!(
        results[3].as_ref().unwrap_err().to_string(),
        format!(
            "{} is a workspace, not a package; name the directory of one of its packages: a, b",
            fixture.path("Cargo.toml").display()
        )
    );
}

#[test]
fn a_file_in_src_that_is_not_a_program_says_what_is() {
    let fixture = Fixture::new("a_file_in_src_that_is_not_a_program_says_what_is");
    fixture.package(&[("src/main.rs", &says("main")), ("src/scoring.rs", "")]);
    let (results, _) = fixture.prepare(&[fixture.path("src/scoring.rs")]);
    assert_eq!(
        results[0].as_ref().unwrap_err().to_string(),
        format!(
            "{} is a module of package `mine`, not a program; name one of its programs: mine (src/main.rs)",
            fixture.path("src/scoring.rs").display()
        )
    );
}

#[test]
fn a_manifest_that_cargo_refuses_is_reported_in_its_words() {
    let fixture = Fixture::new("a_manifest_that_cargo_refuses_is_reported_in_its_words");
    fixture.file("Cargo.toml", "[package]\nname = \n");
    let source = fixture.file("src/main.rs", "");
    let (results, _) = fixture.prepare(&[source]);
    let (summary, rendered) = failure(&results[0]);
    assert!(
        summary
            .starts_with(&format!("cargo cannot read {}: ", fixture.path("Cargo.toml").display())),
        "{summary}"
    );
    assert!(
        rendered.contains("--> Cargo.toml:2:8") || rendered.contains("Cargo.toml:2:8"),
        "{rendered}"
    );
}
