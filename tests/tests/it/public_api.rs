//! The public interfaces that are promised to others: what changes in them is seen in `tests/public-api`.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use public_api::Builder;
use serde_json::Value;

/// Format of the JSON that the pinned compiler writes and that the library reads. Each release may have another one.
const FORMAT: u32 = 57;

/// Writes the documentation of a package as JSON, with all features, and returns the file.
///
/// The compiler writes it on a stable toolchain only if it is told to act as another one. The target directory is its own,
/// because that changes everything that is compiled.
fn documentation(package: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("public-api");
    let output = Command::new(env!("CARGO"))
        .args(["rustdoc", "--package", package, "--lib", "--all-features", "--locked", "--offline"])
        .args(["--", "-Z", "unstable-options", "--output-format", "json"])
        .current_dir(root)
        .env("CARGO_TARGET_DIR", &target)
        .env("RUSTC_BOOTSTRAP", "1")
        .env_remove("RUSTDOCFLAGS")
        .env_remove("RUSTFLAGS")
        .output()
        .unwrap();
    assert!(output.status.success(), "{package}: {}", String::from_utf8_lossy(&output.stderr));
    target.join(format!("doc/{}.json", package.replace('-', "_")))
}

#[test]
fn public_interfaces_for_evaluators_are_those_that_were_reviewed() {
    assert_reviewed(&["evaluator-protocol", "evaluator-sdk"]);
}

#[test]
#[ignore = "compiles all crates of the host once more: the step public-api of .ci/full"]
fn the_public_interface_for_embedding_is_the_one_that_was_reviewed() {
    // The host re-exports types of the engine, which are in the list of that crate.
    assert_reviewed(&["evaluator-host", "evaluator-engine"]);
}

fn assert_reviewed(packages: &[&str]) {
    let mut outdated = Vec::new();
    for package in packages {
        let file = documentation(package);
        let json: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        if json["format_version"] != FORMAT {
            let format = &json["format_version"];
            eprintln!(
                "SKIPPED: public interfaces (format {format} of this compiler, not {FORMAT})"
            );
            return;
        }
        let api = Builder::from_rustdoc_json(file)
            .omit_auto_derived_impls(true)
            .omit_auto_trait_impls(true)
            .omit_blanket_impls(true)
            .build()
            .unwrap()
            .to_string();
        assert!(api.lines().count() > 50, "{api}");
        let list = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("public-api/{package}.txt"));
        if env::var_os("PUBLIC_API").is_some_and(|it| it == "overwrite") {
            fs::write(&list, &api).unwrap();
        }
        let reviewed = fs::read_to_string(&list).unwrap_or_default();
        let is_in = |text: &str, line: &&str| text.lines().any(|it| it == *line);
        let added = api.lines().filter(|line| !is_in(&reviewed, line)).map(|it| format!("+ {it}"));
        let removed =
            reviewed.lines().filter(|line| !is_in(&api, line)).map(|it| format!("- {it}"));
        outdated.extend(removed.chain(added).map(|line| format!("{package}: {line}")));
    }
    assert!(
        outdated.is_empty(),
        "these interfaces have changed; see whether users can follow, note it in CHANGELOG.md, and let \
         PUBLIC_API=overwrite write the lists again:\n{}",
        outdated.join("\n")
    );
}
