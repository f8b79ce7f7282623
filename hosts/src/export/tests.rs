//! Tests of exported files.

use super::*;
use crate::process::CommandSpec;

use evaluator_test_support::TestDirectory;

fn host(name: &str) -> &'static ForeignHost {
    HOSTS.iter().copied().find(|host| host.name == name).unwrap()
}

fn program(name: &str) -> Program {
    let command = CommandSpec::new("/opt/it's \"here\"/polite").arg("--evaluator").arg("né");
    Program::new(name, "polite.rs", Language::Native, command)
}

fn exported(program: &Program, target: &'static ForeignHost) -> Export {
    let arguments = ["checks/polite.rs".to_owned(), "-o".to_owned(), "a b".to_owned()];
    let origin = Origin::new(target, &arguments, "evaluator 1.2.3");
    export(program, target, Path::new("/out"), &origin).unwrap()
}

fn text_of(export: &Export, name: &str) -> String {
    let found = export.files.iter().find(|file| file.name == name);
    found.unwrap_or_else(|| panic!("{name} among {export:#?}")).text.clone()
}

#[test]
fn every_file_says_where_it_is_from_and_names_the_program() {
    for &target in HOSTS {
        let one = exported(&program("polite"), target);
        assert_eq!(one, exported(&program("polite"), target), "the same in, the same out");
        for file in &one.files {
            let line = format!(
                "Written by `evaluator export --for {} checks/polite.rs -o 'a b'` (evaluator 1.2.3).",
                target.name
            );
            let flowing = file.text.replace("\n# ", " ");
            assert!(flowing.lines().take(8).any(|first| first.contains(&line)), "{}", file.text);
            assert!(write::is_exported(file.text.as_bytes()));
            assert!(!file.text.replace("$@", "").contains('@'), "{}", file.text);
            assert!(file.text.ends_with('\n') && !file.text.contains("\t"), "{}", file.text);
            let words = [r#""/opt/it's \"here\"/polite""#, r#""--evaluator""#, r#""né""#];
            let names_it = words.iter().all(|word| file.text.contains(word));
            let leads_to_it = file.name.ends_with(".yaml") && !file.name.contains("agentv");
            assert!(names_it || leads_to_it, "{}", file.text);
            if !file.name.ends_with(".json") {
                assert!(file.text.lines().all(|line| line.chars().count() <= 88), "{}", file.text);
            }
        }
    }
}

#[test]
fn entries_are_yaml_of_the_right_words() {
    let agentv = exported(&program("polite"), host("agentv"));
    for (generation, head, indent) in [
        (
            2,
            "execution:\n  evaluators:\n    - name: \"polite\"\n      type: code_judge\n      script:\n",
            8,
        ),
        (4, "assertions:\n  - name: \"polite\"\n    type: code-grader\n    command:\n", 6),
        (5, "assert:\n  - metric: \"polite\"\n    type: script\n    command:\n", 6),
    ] {
        let text = text_of(&agentv, &format!("polite.agentv-{generation}.yaml"));
        let entry: String = text
            .lines()
            .filter(|line| !line.trim_start().starts_with('#'))
            .flat_map(|line| [line, "\n"])
            .collect();
        let items = entry.strip_prefix(head).unwrap_or_else(|| panic!("{entry}"));
        let items: String = items.lines().map(|line| format!("{}\n", &line[indent..])).collect();
        assert!(items.starts_with("- \"sh\"\n- \"-c\"\n- |\n  exec 3<&0\n"), "{items}");
        let words = "  exit 1\n- \"/opt/it's \\\"here\\\"/polite\"\n- \"--evaluator\"\n- \"né\"\n";
        assert!(items.ends_with(words), "{items}");
        // AgentV 5 takes these for places to fill in.
        assert!(!["{{", "{%", "{#"].iter().any(|place| items.contains(place)), "{items}");
    }
    let entry =
        text_of(&exported(&program("polite"), host("agentevals")), "polite.agentevals.yaml");
    let entry_of_ours =
        "evaluators:\n  - name: \"polite\"\n    type: code\n    path: \"/out/polite.py\"\n";
    assert!(entry.contains(entry_of_ours), "{entry}");
}

#[test]
fn the_configuration_for_adk_is_one_that_we_read_too() {
    let adk = exported(&program("tool-check"), host("adk"));
    let text = text_of(&adk, "tool-check.adk.json");
    let config: serde_json::Value = serde_json::from_str(&text).unwrap();
    let criterion = &config["criteria"]["tool-check"];
    assert_eq!(criterion["on_error"], "fail");
    assert_eq!(criterion["command"][2], "né");
    assert_eq!(
        config["custom_metrics"]["tool-check"]["code_config"]["name"],
        "tool_check_adk_metric.evaluate"
    );
    text_of(&adk, "tool_check_adk_metric.py");
}

#[test]
fn scripts_that_agentevals_starts_are_exported_as_they_are() {
    let directory = TestDirectory::new();
    let script = directory.file("polite.py", "");
    let program = |path: &Path| {
        let command = CommandSpec::new("/usr/bin/python3").arg(path);
        Program::new("polite", path, Language::of(path, false), command)
    };
    let agentevals = exported(&program(&script), host("agentevals"));
    assert_eq!(agentevals.files.len(), 1);
    assert!(agentevals.files[0].text.contains(&format!("path: \"{}\"", script.display())));
    // It does not take these, but a Python file.
    let module = directory.file("polite.mjs", "");
    assert_eq!(exported(&program(&module), host("agentevals")).files.len(), 2);
}

#[test]
fn no_host_gets_an_evaluator_that_cannot_read_its_documents() {
    use evaluator_protocol::Contract;
    let native = program("polite");
    let script = Program { language: Language::Script, ..native.clone() };
    let script = Program::new("polite", "polite.py", Language::Script, script.command);
    let origin = |target: &'static ForeignHost| Origin::new(target, &[], "");
    let fits = |program: &Program, target: &'static ForeignHost| {
        export(program, target, Path::new("/out"), &origin(target))
            .map(drop)
            .map_err(|error| error.to_string())
    };
    for &target in HOSTS {
        assert_eq!(fits(&native, target), Ok(()), "its documents are not known");
        assert_eq!(fits(&native.clone().reads(Reads::All), target), Ok(()));
        assert_eq!(fits(&script, target).is_ok(), target.name == "agentevals");
        for &contract in Contract::ALL {
            let one = script.clone().reads(Reads::One(contract));
            assert_eq!(fits(&one, target).is_ok(), contract == target.contract);
        }
    }
    let error = fits(&script, host("adk")).unwrap_err();
    assert!(
        error.starts_with(
            "`polite` reads documents of agentevals, and adk sends those of Google ADK; "
        ),
        "{error}"
    );
    let error = fits(&program("a/b"), host("adk")).unwrap_err();
    assert_eq!(error, "`a/b` is not a file name; rename the evaluator");
}

#[test]
fn variables_that_the_program_needs_are_set_and_those_of_cargo_are_not() {
    let mut program = program("polite");
    program.command.env = vec![
        ("CARGO_MANIFEST_DIR".into(), Some("/src".into())),
        ("LD_LIBRARY_PATH".into(), Some("/src/target".into())),
        ("GONE".into(), None),
    ];
    for target in [host("agentevals"), host("adk"), host("agenta"), host("promptfoo")] {
        let text = &exported(&program, target).files[0].text;
        let set = "= {\n    \"LD_LIBRARY_PATH\": \"/src/target\",\n}\n";
        assert!(text.contains(set), "{text}");
    }
    let agentv = exported(&program, host("agentv"));
    assert!(
        agentv.files[0]
            .text
            .contains("- \"env\"\n        - \"LD_LIBRARY_PATH=/src/target\"\n        - \"sh\"\n"),
        "{}",
        agentv.files[0].text
    );
}

#[test]
fn names_of_files_do_not_become_code() {
    let arguments = ["x\nimport os`\u{2028}y".to_owned()];
    let origin = Origin::new(host("adk"), &arguments, "evaluator 1.2.3");
    assert!(!origin.line().contains(['\n', '\u{2028}']), "{}", origin.line());
    // Placeholders in inserted text are not filled in.
    let odd =
        Program::new("x", "x", Language::Native, CommandSpec::new("/\"@ENVIRONMENT@\"\n@HEADER@"));
    let text = text_of(&exported(&odd, host("agentevals")), "x.py");
    assert!(text.contains(r#"    "/\"@ENVIRONMENT@\"\u000a@HEADER@","#), "{text}");
}

#[test]
fn files_of_users_are_not_overwritten() {
    let directory = TestDirectory::new();
    let out = directory.join("new/out");
    let files = exported(&program("polite"), host("agentv")).files;
    let paths = write(&out, &files, false).unwrap();
    assert_eq!(paths.len(), 3);
    assert_eq!(write(&out, &files, false).unwrap(), paths, "they were exported");
    std::fs::write(&paths[2], "mine").unwrap();
    std::fs::remove_file(&paths[0]).unwrap();
    let error = write(&out, &files, false).unwrap_err().to_string();
    assert!(error.contains("polite.agentv-5.yaml exists and was not written by"), "{error}");
    assert!(!paths[0].exists(), "nothing was written");
    write(&out, &files, true).unwrap();
    assert_eq!(std::fs::read_to_string(&paths[2]).unwrap(), files[2].text);
    assert_eq!(std::fs::read_dir(&out).unwrap().count(), 3, "no temporary files are left");
}

#[test]
fn evaluators_do_not_overwrite_each_other() {
    let directory = TestDirectory::new();
    let mut both = exported(&program("tool-check"), host("adk"));
    both.add(exported(&program("tool_check"), host("adk")));
    let error = write(&directory.join("out"), &both.files, true).unwrap_err().to_string();
    assert!(error.contains("tool_check_adk_metric.py would be written for two"), "{error}");
    assert!(!directory.join("out").exists());
    let file = directory.file("file", "");
    let error = write(&file, &[], true).unwrap_err().to_string();
    assert!(error.ends_with("file is not a directory"), "{error}");
}
