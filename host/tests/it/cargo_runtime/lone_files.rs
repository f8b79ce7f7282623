//! Files that belong to no package.

use super::*;

#[test]
fn a_lone_file_can_use_the_sdk_and_serde_and_is_compiled_in_its_place() {
    let fixture =
        Fixture::new("a_lone_file_can_use_the_sdk_and_serde_and_is_compiled_in_its_place");
    let text = "use evaluator_sdk as _;\nuse serde::Deserialize;\n#[derive(Deserialize)]\nstruct Word(String);\n\
                mod helper;\n\
                fn main() {\n    let Word(word) = serde_json::from_str(helper::JSON).unwrap();\n    println!(\"{word}\");\n}\n";
    fixture.file("helper.rs", "pub const JSON: &str = include_str!(\"data.json\");");
    fixture.file("data.json", "\"from data\"");
    let source = fixture.file("lone.rs", text);
    assert_eq!(fixture.output_of(&source), "from data");

    fixture.file("lone.rs", &text.replace("{word}", "{}"));
    let (results, _) = fixture.prepare(&[&source]);
    let (summary, rendered) = failure(&results[0]);
    assert_eq!(summary, format!("{} does not compile: 1 error", source.display()));
    assert!(rendered.contains(&format!("--> {}:8:15", source.display())), "{rendered}");
}

#[test]
fn frontmatter_is_a_manifest_and_errors_point_into_the_file() {
    let fixture = Fixture::new("frontmatter_is_a_manifest_and_errors_point_into_the_file");
    fixture.file(
        "lib/Cargo.toml",
        "[package]\nname = \"words\"\nversion = \"0.1.0\"\nedition = \"2024\"\n",
    );
    fixture.file("lib/src/lib.rs", "pub const WORD: &str = \"from lib\";");
    let text = "#!/usr/bin/env evaluator\n---cargo\n[dependencies]\nwords = { path = \"lib\" }\n---\n\
                fn main() {\n    println!(\"{}\", words::WORD);\n}\n";
    let source = fixture.file("front.rs", text);
    assert_eq!(fixture.output_of(&source), "from lib");

    fixture.file("front.rs", &text.replace("WORD", "SPEECH"));
    let (results, _) = fixture.prepare(&[&source]);
    let (_, rendered) = failure(&results[0]);
    assert!(rendered.contains(&format!("--> {}:7:", source.display())), "{rendered}");

    fixture.file("front.rs", &text.replace("\"lib\"", "\"gone\""));
    let (results, _) = fixture.prepare(&[&source]);
    let (summary, _) = failure(&results[0]);
    assert!(summary.starts_with(&format!("{} was not built: ", source.display())), "{summary}");

    fixture.file("front.rs", &text.replace("words =", "words"));
    let (results, _) = fixture.prepare(&[&source]);
    let error = results[0].as_ref().unwrap_err().to_string();
    assert!(
        error
            .starts_with(&format!("{}:4: embedded manifest is not valid TOML: ", source.display())),
        "{error}"
    );
}

#[test]
fn a_cargo_block_in_the_leading_comment_is_a_manifest() {
    let fixture = Fixture::new("a_cargo_block_in_the_leading_comment_is_a_manifest");
    let source = fixture.file(
        "block.rs",
        "//! Says a word.\n//!\n//! ```cargo\n//! [package]\n//! edition = \"2015\"\n//! ```\n\
         fn main() { let async = \"2015\"; println!(\"{}\", async); }\n",
    );
    assert_eq!(fixture.output_of(&source), "2015");
}

#[test]
fn names_that_are_not_crate_names_work_and_equal_names_do_not_meet() {
    let fixture = Fixture::new("names_that_are_not_crate_names_work_and_equal_names_do_not_meet");
    let manifest = "//! ```cargo\n//! ```\n";
    let names = [
        "3 d.rs",
        "überprüfung.rs",
        "fn.rs",
        "a/test.rs",
        "b/test.rs",
        "-x.rs",
        "build.RS",
        "it's [a] \"b\" #.rs",
    ];
    let sources = names.map(|name| {
        let word = name.replace('"', "'");
        fixture.file(name, &format!("{manifest}{}", says(&word)))
    });
    let (results, _) = fixture.prepare(&sources);
    for (name, result) in names.iter().zip(&results) {
        assert_eq!(one_shot(result.as_ref().unwrap()), name.replace('"', "'"));
    }
}

#[test]
fn two_runs_of_one_script_at_once_both_get_it() {
    let fixture = Fixture::new("two_runs_of_one_script_at_once_both_get_it");
    for round in 0..3 {
        // Differs from what an earlier run of this test left in the cache: there is something to write and to build.
        let word = format!("shared-{}-{round}", std::process::id());
        let source = fixture.file("shared.rs", &format!("---\n---\n{}", says(&word)));
        let begin = std::sync::Barrier::new(4);
        std::thread::scope(|scope| {
            let run = || {
                begin.wait();
                fixture.output_of(&source)
            };
            let runs = [(); 4].map(|()| scope.spawn(run));
            for run in runs {
                assert_eq!(run.join().unwrap(), word);
            }
        });
    }
}

#[test]
fn an_entry_of_the_sdk_may_name_features_only() {
    let fixture = Fixture::new("an_entry_of_the_sdk_may_name_features_only");
    let text = "---\n[dependencies]\nevaluator-sdk = { features = [\"tokio\"] }\n---\n\
                use evaluator_sdk::{EvalInput, evaluator};\n\
                #[evaluator]\nasync fn slow(_: &EvalInput) -> bool { true }\n\
                fn main() -> std::process::ExitCode { println!(\"built\"); let _ = slow::EVALUATOR; std::process::ExitCode::SUCCESS }\n";
    assert_eq!(fixture.output_of(&fixture.file("slow.rs", text)), "built");
    let versioned = text.replace("{ features", "{ version = \"0.1\", features");
    assert_eq!(fixture.output_of(&fixture.file("versioned.rs", &versioned)), "built");
    let other = text.replace("{ features", "{ version = \"9\", features");
    let (results, _) = fixture.prepare(&[fixture.file("other.rs", &other)]);
    let (summary, _) = failure(&results[0]);
    assert!(summary.contains("evaluator-sdk"), "{summary}");
    let broken = text.replace("{ features = [\"tokio\"] }", "{ workspace = true }");
    let (results, _) = fixture.prepare(&[fixture.file("broken.rs", &broken)]);
    let (summary, _) = failure(&results[0]);
    assert!(summary.contains("failed to parse manifest"), "{summary}");
    assert!(summary.contains("`workspace.dependencies` was not defined"), "{summary}");
}
