//! `evaluator compare` and `evaluator report` with results of promptfoo and logs of Inspect, which `tests/producers/runs/record`
//! recorded.

use std::{collections::BTreeSet, fs, path::Path};

use serde_json::{Value, json};

use crate::support::{Directory, Ran};

/// The recorded file with this name.
fn recorded(name: &str) -> String {
    let runs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/producers/runs");
    runs.join(format!("{name}.json")).display().to_string()
}

fn compare(base: &str, new: &str, more: &[&str]) -> Ran {
    let files = [recorded(base), recorded(new)];
    Directory::new().evaluator(&[&["compare", &files[0], &files[1]], more].concat())
}

/// Compares a recorded file with an edited copy.
fn compare_edited(name: &str, more: &[&str], edit: impl FnOnce(&mut Value)) -> Ran {
    let directory = Directory::new();
    write_edited(&directory, "base.json", name, |_| ());
    write_edited(&directory, "new.json", name, edit);
    directory.evaluator(&[&["compare", "base.json", "new.json"], more].concat())
}

/// Writes an edited copy of a recorded file.
fn write_edited(directory: &Directory, file: &str, name: &str, edit: impl FnOnce(&mut Value)) {
    // No number of these files is needed to the last digit, and `NaN` is not of JSON.
    let text = fs::read_to_string(recorded(name)).expect("recorded").replace("NaN", "null");
    let mut value: Value = serde_json::from_str(&text).expect("JSON");
    edit(&mut value);
    directory.file(file, value.to_string());
}

/// Checks that the report of `new.json` has an error with this text.
fn reports(directory: &Directory, error: &str) {
    let ran = directory.evaluator(&["report", "new.json", "-o", "json"]).exits(3);
    assert!(ran.stdout.contains(error), "{}", ran.stdout);
}

/// The result of the test with this number.
fn test(results: &mut Value, number: u64) -> &mut Value {
    let results = results["results"]["results"].as_array_mut().expect("results");
    results.iter_mut().find(|it| it["testIdx"] == number).expect("is recorded")
}

/// The changes of an evaluator, each as `case: change`.
fn changes(ran: &Ran, evaluator: &str) -> Vec<String> {
    let found = ran.json();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let evaluators = list(&found["evaluators"]);
    let evaluator = evaluators.iter().find(|it| it["name"] == evaluator).expect("is compared");
    let change = |it: &Value| format!("{}: {}", it["case"], it["change"]).replace('"', "");
    list(&evaluator["changes"]).iter().map(change).collect()
}

#[test]
fn results_of_promptfoo_are_compared_test_by_test() {
    let ran = compare("promptfoo-base", "promptfoo-new", &["--no-regressions"]).exits(1).says(
        "results of promptfoo do not have the files, the code and the models that assertions use",
    );
    let text = "right: 0.8333 -> 0.8333, +0.0000 (-0.8878 to +0.8878) over 6 cases, p = 1.000";
    assert!(ran.stdout.starts_with(text), "{}", ran.stdout);
    assert!(ran.stdout.contains("1 regressed: Peru (1.0000 -> 0.0000)"), "{}", ran.stdout);
    assert!(ran.stdout.contains("1 fixed: Japan (0.7317 -> 1.0000)"), "{}", ran.stdout);
    compare("promptfoo-base", "promptfoo-base", &["--no-regressions"])
        .exits(0)
        .says("PASSED: no case changed");
}

#[test]
fn a_test_without_an_answer_and_a_judge_that_broke_are_errors() {
    let ran = compare("promptfoo-base", "promptfoo-broken", &["-o", "json"])
        .exits(3)
        .says("is a run in which something broke");
    let kenya = "capital=Nairobi, country=Kenya: regressed";
    assert_eq!(changes(&ran, "right"), ["France: broke", "Japan: fixed", kenya]);
    // France is not judged, and the judge of Chad cannot be reached.
    assert_eq!(changes(&ran, "llm-rubric"), ["capital=N'Djamena, country=Chad: broke"]);
    assert_eq!(changes(&ran, "not-icontains"), [""; 0]);
    let ran = compare("inspect-base", "inspect-broken", &["-o", "json"]).exits(3);
    assert_eq!(changes(&ran, "includes"), ["peru: broke"]);
}

#[test]
fn repetitions_and_epochs_are_conversations_of_a_case() {
    let report = |name: &str| {
        let ran = Directory::new().evaluator(&["report", &recorded(name), "-o", "json"]).exits(1);
        serde_json::from_str::<Value>(&ran.stdout).unwrap()
    };
    for (name, conversations, case, evaluator, scores) in [
        ("promptfoo-repeats", 9, "Japan", "right", [0.0, 1.0, 1.0]),
        ("inspect-epochs", 18, "japan", "includes", [0.0, 1.0, 1.0]),
    ] {
        let report = report(name);
        let all = report["traces"].as_array().unwrap();
        assert_eq!(all.len(), conversations, "{name}");
        let found: Vec<f64> = all
            .iter()
            .filter(|it| it["eval_case_id"] == case)
            .flat_map(|it| it["metrics"].as_array().unwrap())
            .filter(|it| it["metric_name"] == evaluator)
            .map(|it| it["score"].as_f64().unwrap())
            .collect();
        assert_eq!(found, scores, "{name}");
    }
    // Two of three conversations pass.
    let ran = compare("inspect-epochs", "inspect-epochs", &["-o", "json"]).exits(0);
    assert_eq!(changes(&ran, "includes"), [""; 0]);
}

#[test]
fn several_providers_are_several_cases_of_a_test() {
    let directory = Directory::new();
    let ran = directory
        .evaluator(&["report", &recorded("promptfoo-providers"), "-o", "overview"])
        .exits(1)
        .says("FAILED: ");
    assert!(ran.stdout.contains("France [echo]"), "{}", ran.stdout);
    assert!(ran.stdout.contains("Japan [agent]"), "{}", ran.stdout);
}

#[test]
fn providers_and_prompts_with_one_label_are_different_cases() {
    let directory = Directory::new();
    let of_all = |edit: fn(&mut Value)| {
        write_edited(&directory, "new.json", "promptfoo-providers", |it| {
            let results = it["results"]["results"].as_array_mut().unwrap();
            results.iter_mut().for_each(edit);
        });
        let ran = directory.evaluator(&["report", "new.json", "-o", "json"]).exits(1);
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        let all = report["traces"].as_array().unwrap();
        let mut cases: Vec<String> = all.iter().map(|it| it["eval_case_id"].to_string()).collect();
        let conversations = cases.len();
        cases.sort();
        cases.dedup();
        assert_eq!(cases.len(), conversations, "{cases:?}");
        cases
    };
    let cases = of_all(|it| it["provider"]["label"] = json!("agent"));
    assert!(cases.contains(&"\"France\"".to_owned()), "{cases:?}");
    assert!(cases.contains(&"\"France #2\"".to_owned()), "{cases:?}");
    // The same provider with two prompts of one label.
    of_all(|it| {
        it["provider"] = json!({"id": "echo"});
        it["prompt"]["label"] = json!("ask");
    });
    // A repetition has the number of its provider.
    write_edited(&directory, "new.json", "promptfoo-repeats", |it| {
        let results = it["results"]["results"].as_array_mut().unwrap();
        let mut others = results.clone();
        for other in &mut others {
            other["promptIdx"] = json!(1);
            other["id"] = json!(format!("{} of 2", other["id"]));
        }
        results.append(&mut others);
        for key in ["successes", "failures", "errors"] {
            let count = it["results"]["stats"][key].as_u64().unwrap();
            it["results"]["stats"][key] = json!(2 * count);
        }
    });
    let ran = directory.evaluator(&["report", "new.json", "-o", "json"]).exits(1);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let all = report["traces"].as_array().unwrap();
    for case in ["Japan", "Japan #2"] {
        assert_eq!(all.iter().filter(|it| it["eval_case_id"] == case).count(), 3, "{case}");
    }
}

#[test]
fn tests_with_one_description_are_told_apart_by_their_variables() {
    let directory = Directory::new();
    let text = fs::read_to_string(recorded("promptfoo-base")).unwrap();
    directory
        .file("one.json", text.replace(r#""description": "Japan""#, r#""description": "France""#));
    let ran = directory.evaluator(&["report", "one.json", "-o", "overview"]).exits(1);
    assert!(ran.stdout.contains("France (capital=Tokyo, country=Japan)"), "{}", ran.stdout);
}

#[test]
fn what_promptfoo_says_about_a_whole_test_counts() {
    let directory = Directory::new();
    let fail = |result: &mut Value, score: f64| {
        result["success"] = json!(false);
        result["failureReason"] = json!(1);
        result["gradingResult"]["pass"] = json!(false);
        result["gradingResult"]["score"] = json!(score);
    };
    write_edited(&directory, "base.json", "promptfoo-base", |it| {
        test(it, 0)["testCase"]["threshold"] = json!(0.9);
    });
    // All assertions pass, and their mean is below the threshold.
    write_edited(&directory, "new.json", "promptfoo-base", |it| {
        let france = test(it, 0);
        france["testCase"]["threshold"] = json!(0.9);
        for component in france["gradingResult"]["componentResults"].as_array_mut().unwrap() {
            component["score"] = json!(0.85);
        }
        fail(france, 0.85);
        france["error"] = json!("Aggregate score 0.85 < 0.9 threshold");
    });
    let compare = ["compare", "base.json", "new.json", "--no-regressions", "-o", "json"];
    let ran = directory.evaluator(&compare).exits(1);
    assert_eq!(changes(&ran, "(test)"), ["France: regressed"]);
    assert_eq!(changes(&ran, "right"), ["France: worse"]);
    // A failure that nothing explains is one all the same.
    write_edited(&directory, "new.json", "promptfoo-base", |it| fail(test(it, 0), 0.25));
    let ran = directory.evaluator(&["report", "new.json", "-o", "json"]).exits(1);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let all = report["traces"].as_array().unwrap();
    let of_tests = all.iter().flat_map(|it| it["metrics"].as_array().unwrap());
    let of_tests: Vec<&Value> = of_tests.filter(|it| it["metric_name"] == "(test)").collect();
    assert_eq!(of_tests.len(), 1);
    assert_eq!(of_tests[0]["score"], 0.25);
    assert_eq!(of_tests[0]["eval_status"], "FAILED");
    // The function that decides may break.
    write_edited(&directory, "new.json", "promptfoo-base", |it| {
        fail(test(it, 0), 0.0);
        test(it, 0)["gradingResult"]["reason"] = json!("Scoring function error: no such file");
    });
    reports(&directory, "no such file");
}

#[test]
fn a_failed_test_without_results_of_its_assertions_is_an_error() {
    let broke = |text: &str, edit: fn(&mut Value)| {
        let directory = Directory::new();
        directory.file("base.json", fs::read_to_string(recorded("promptfoo-base")).unwrap());
        write_edited(&directory, "new.json", "promptfoo-base", |it| {
            let france = test(it, 0);
            france["success"] = json!(false);
            edit(france);
        });
        let ran = directory.evaluator(&["compare", "base.json", "new.json", "-o", "json"]).exits(3);
        assert_eq!(changes(&ran, "right"), ["France: broke"]);
        assert_eq!(changes(&ran, "brief"), ["France: broke"]);
        reports(&directory, text);
    };
    let nothing = "promptfoo says that the test failed, and has no result of an assertion";
    broke(nothing, |it| it["gradingResult"] = Value::Null);
    broke("cannot load it", |it| {
        it["gradingResult"] = json!({"pass": false, "score": 0, "reason": "cannot load it"});
    });
    broke("the agent is gone", |it| {
        it.as_object_mut().unwrap().remove("failureReason");
        it["error"] = json!("the agent is gone");
    });
}

#[test]
fn an_assertion_whose_code_broke_is_an_error() {
    let broke = |edit: fn(&mut Value, Value)| {
        let directory = Directory::new();
        write_edited(&directory, "base.json", "promptfoo-base", |_| ());
        write_edited(&directory, "new.json", "promptfoo-base", |it| {
            let components = &mut test(it, 0)["gradingResult"]["componentResults"];
            let mut broken = components[0].clone();
            broken["pass"] = json!(false);
            broken["score"] = json!(0);
            broken["reason"] = json!("Custom function threw error: capital is not defined");
            edit(components, broken);
        });
        let ran = directory.evaluator(&["compare", "base.json", "new.json", "-o", "json"]).exits(3);
        assert_eq!(changes(&ran, "right"), ["France: broke"]);
        reports(&directory, "capital is not defined");
    };
    broke(|components, broken| components[0] = broken);
    // A set that passes with half of its assertions. Its members follow it.
    broke(|components, broken| {
        components[0]["score"] = json!(0.5);
        components[0]["componentResults"] = json!([broken]);
        components.as_array_mut().unwrap().insert(1, broken);
    });
}

#[test]
fn different_tests_with_one_name_are_different_cases() {
    let directory = Directory::new();
    // Test 1 asks what test 0 asks, and expects something else.
    let twice = |it: &mut Value| {
        let france = test(it, 0)["testCase"].clone();
        test(it, 1)["testCase"] = france;
        test(it, 1)["testCase"]["assert"][0]["value"] = json!("Seine");
    };
    write_edited(&directory, "base.json", "promptfoo-base", twice);
    let compare = ["compare", "base.json", "new.json", "-o", "json"];
    // The first one regresses. (The second one fails in both.)
    write_edited(&directory, "new.json", "promptfoo-base", |it| {
        twice(it);
        let france = test(it, 0);
        france["success"] = json!(false);
        france["gradingResult"]["componentResults"][0]["pass"] = json!(false);
        france["gradingResult"]["componentResults"][0]["score"] = json!(0);
    });
    let ran = directory.evaluator(&[&compare[..], &["--no-regressions"]].concat()).exits(1);
    assert_eq!(changes(&ran, "right"), ["France: regressed"]);
    for (number, case) in [(0, "France"), (1, "France #2")] {
        write_edited(&directory, "new.json", "promptfoo-base", |it| {
            twice(it);
            test(it, number)["testCase"]["assert"][0]["value"] = json!("Loire");
        });
        directory.evaluator(&compare).exits(2).says(&format!("golden case `{case}`: "));
    }
    // Variables of which a name shows the same.
    write_edited(&directory, "new.json", "promptfoo-base", |it| {
        test(it, 4)["testCase"] = test(it, 3)["testCase"].clone();
        test(it, 4)["testCase"]["vars"]["country"] = json!("Kenya ");
    });
    let ran = directory.evaluator(&["report", "new.json", "-o", "json"]);
    let cases = ["capital=Nairobi, country=Kenya", "capital=Nairobi, country=Kenya #2"];
    for case in cases {
        assert!(ran.stdout.contains(&format!("\"{case}\"")), "{}", ran.stdout);
    }
}

#[test]
fn samples_of_inspect_that_do_not_count_are_errors() {
    let broke = |text: &str, edit: fn(&mut Value)| {
        let ran = compare_edited("inspect-base", &["-o", "json"], edit).exits(3);
        assert_eq!(changes(&ran, "includes").len(), 1, "{}", ran.stdout);
        let directory = Directory::new();
        write_edited(&directory, "new.json", "inspect-base", edit);
        reports(&directory, text);
    };
    broke("Inspect reports an error", |it| it["samples"][1]["error"] = json!({"message": " "}));
    broke("Inspect reports an error", |it| it["samples"][1]["error"] = json!(""));
    broke("out of memory", |it| it["samples"][1]["error"] = json!("out of memory"));
    broke("KeyError: 'x'", |it| {
        let traceback = "Traceback (most recent call last):\n  File \"a.py\"\nKeyError: 'x'\n";
        it["samples"][1]["error"] = json!({"message": "", "traceback": traceback});
    });
    broke("the sample was invalidated: wrong tools", |it| {
        it["invalidated"] = json!(true);
        it["samples"][1]["invalidation"] = json!({"author": "me", "reason": "wrong tools"});
    });
}

#[test]
fn samples_of_inspect_whose_ids_differ_in_white_space_are_different_cases() {
    let ids = ["two words", "two  words", "two words ", "two\nwords"];
    let directory = Directory::new();
    write_edited(&directory, "new.json", "inspect-base", |it| {
        for (sample, id) in it["samples"].as_array_mut().unwrap().iter_mut().zip(ids) {
            sample["id"] = json!(id);
        }
    });
    let ran = directory.evaluator(&["report", "new.json", "-o", "json"]).exits(1);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let cases =
        report["traces"].as_array().unwrap().iter().map(|it| it["eval_case_id"].to_string());
    let cases: BTreeSet<String> = cases.filter(|it| it.starts_with("\"two words")).collect();
    assert_eq!(cases.len(), ids.len(), "{cases:?}");
    assert!(cases.contains("\"two words\""), "{cases:?}");
}

#[test]
fn scores_of_inspect_are_letters_numbers_and_objects() {
    let ran = compare("inspect-base", "inspect-new", &["-o", "json"])
        .exits(0)
        .says("logs of Inspect do not have the code of scorers");
    assert_eq!(changes(&ran, "includes"), ["france: fixed", "japan: regressed"]);
    // Neither a scorer that returns nothing nor one that says `NaN` has a score.
    assert_eq!(changes(&ran, "sometimes"), ["france: new", "japan: missing"]);
    assert_eq!(changes(&ran, "style.known"), ["france: fixed"]);
    let ran = compare("inspect-base", "inspect-long", &["-o", "json"]).exits(0);
    // A partial answer is half of a point.
    assert_eq!(changes(&ran, "grade"), ["france: fixed", "kenya: worse"]);
    assert_eq!(changes(&ran, "style.polite"), ["france: worse"]);
}

#[test]
fn scores_beyond_one_are_refused_by_name() {
    for name in ["promptfoo-stars", "inspect-stars"] {
        compare(name, name, &[]).exits(2).says("cannot be used: `stars` scores 4 in case `");
    }
    compare_edited("inspect-base", &[], |log| {
        log["samples"][0]["scores"]["includes"]["value"] = json!("B");
    })
    .exits(2)
    .says("`includes` scores \"B\" in case `6`, which is no number and none of C, P, I, N");
}

#[test]
fn assertions_without_weight_keep_their_scores() {
    let directory = Directory::new();
    write_edited(&directory, "new.json", "promptfoo-base", |it| {
        for result in it["results"]["results"].as_array_mut().unwrap() {
            for part in result["gradingResult"]["componentResults"].as_array_mut().unwrap() {
                part["assertion"] = json!({"type": "javascript", "weight": 0});
                part["score"] = json!(0.08);
            }
        }
    });
    let ran = directory.evaluator(&["report", "new.json", "-o", "json"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["evaluators"][0]["name"], "javascript");
    assert_eq!(report["evaluators"][0]["mean"]["value"], 0.08);
}

#[test]
fn what_was_measured_otherwise_is_refused_as_far_as_the_files_say() {
    compare("inspect-base", "inspect-fewer", &[])
        .exits(2)
        .says("style.known: evaluator: inspect -> missing");
    compare("inspect-base", "inspect-epochs", &[])
        .exits(2)
        .says("`task`: \"capitals\" -> \"epochs\"");
    let refused = |name, word, text, edit: fn(&mut Value)| {
        compare_edited(name, &[], edit)
            .exits(2)
            .says(text)
            .says(&format!("--allow-changed {word}"));
        compare_edited(name, &["--allow-changed", word], edit).exits(0).says(text);
    };
    refused("promptfoo-base", "evaluator", "brief: setting `defaultTest.assert`: ", |it| {
        it["config"]["defaultTest"]["assert"][1]["threshold"] = json!(0.5);
        for result in it["results"]["results"].as_array_mut().unwrap() {
            result["testCase"]["assert"][1]["threshold"] = json!(0.5);
        }
    });
    refused("promptfoo-base", "judge", "llm-rubric: setting `judge.options`: missing -> ", |it| {
        it["config"]["defaultTest"]["options"] = json!({"provider": "openai:gpt-5"});
    });
    refused("promptfoo-base", "golden", "golden case `France`: ", |it| {
        let results = it["results"]["results"].as_array_mut().unwrap();
        let france = results.iter_mut().find(|it| it["testIdx"] == 0).unwrap();
        france["testCase"]["vars"]["capital"] = json!("Lyon");
    });
    refused("inspect-base", "golden", "golden case `6`: ", |it| {
        it["samples"][0]["target"] = json!("Nadi");
    });
    refused("inspect-base", "config", "`task_version`: 0 -> 1", |it| {
        it["eval"]["task_version"] = json!(1);
    });
    refused("inspect-base", "config", "`limits`: missing -> {\"message_limit\":3}", |it| {
        it["eval"]["config"]["message_limit"] = json!(3);
    });
    refused("inspect-base", "judge", "includes: setting `judge.model`: missing -> ", |it| {
        it["eval"]["scorers"][0]["options"]["model"] = json!("openai/gpt-5");
    });
    refused("inspect-base", "evaluator", "includes: setting `options.ignore_case`: ", |it| {
        it["eval"]["scorers"][0]["options"]["ignore_case"] = json!(false);
    });
    // Packages, commits and arguments of the task are said.
    compare_edited("inspect-base", &[], |it| {
        it["eval"]["packages"]["inspect_ai"] = json!("0.4.0");
        it["eval"]["task_args"]["prompt"] = json!("new");
    })
    .exits(0)
    .says("version: inspect_ai 0.3.285 -> inspect_ai 0.4.0")
    .says("`task_args`: {} -> {\"prompt\":\"new\"}");
}

#[test]
fn results_of_two_tools_are_compared_only_on_demand() {
    let directory = Directory::new();
    let files = [recorded("promptfoo-base"), recorded("inspect-base")];
    directory
        .evaluator(&["compare", &files[0], &files[1]])
        .exits(2)
        .says("tool (evaluators of the same name may be different ones): promptfoo -> inspect")
        .says("--allow-changed evaluator compares them all the same");
    directory
        .evaluator(&["compare", &files[0], &files[1], "--allow-changed", "evaluator"])
        .exits(2)
        .says("no evaluator is in both runs; give each");
}

#[test]
fn a_result_of_another_tool_is_a_baseline_as_it_is() {
    let directory = Directory::new();
    let files = [recorded("promptfoo-new"), recorded("promptfoo-base")];
    directory
        .evaluator(&["report", &files[0], "--baseline", &files[1], "--no-regressions"])
        .exits(1)
        .says("2 regressed, 2 fixed");
    let gates = ["--gate", "right: mean >= 0.01", "--gate", "brief: mean >= 0.01"];
    let update = ["report", &files[0], "--baseline", "b.evalrun", "--update-baseline"];
    directory
        .evaluator(&[&update[..], &gates].concat())
        .exits(2)
        .says("a result of another tool is a baseline as it is");
    assert!(!directory.join("b.evalrun").exists());
    // Nor is one replaced.
    let text = fs::read_to_string(&files[0]).unwrap();
    directory.file("pf.json", &text);
    let update = ["report", &files[0], "--baseline", "pf.json", "--update-baseline"];
    let refused = "pf.json is a result of another tool, which --update-baseline does not replace";
    directory.evaluator(&[&update[..], &gates].concat()).exits(2).says(refused);
    assert_eq!(directory.read("pf.json"), text);
}

#[test]
fn results_of_other_tools_are_reported_one_at_a_time() {
    let directory = Directory::new();
    let files = [recorded("promptfoo-new"), recorded("promptfoo-base")];
    for more in [&[][..], &["--parts"]] {
        directory
            .evaluator(&[&["report", &files[0], &files[1]], more].concat())
            .exits(2)
            .says("results of other tools are reported one at a time");
    }
}

#[test]
fn damaged_and_other_files_are_refused_with_what_was_expected() {
    let directory = Directory::new();
    let whole = fs::read_to_string(recorded("promptfoo-base")).unwrap();
    let expected = "is not a run file, a result of promptfoo in JSON or a log of Inspect in JSON: ";
    for (content, reason) in [
        (&whole.as_bytes()[..whole.len() / 2], "it is not JSON: "),
        (b"{\"traces\": []}", "it has neither `evalId` and `results` (promptfoo)"),
        (b"PK\x03\x04...", "`inspect log convert --to json` turns into JSON"),
        (b"{\"\xff\"}", "it is not text"),
    ] {
        directory.file("other", content);
        for arguments in [&["compare", "other", "other"][..], &["report", "other"]] {
            directory.evaluator(arguments).exits(2).says(expected).says(reason);
        }
    }
    let edited = |name, text: &str, edit: fn(&mut Value)| {
        compare_edited(name, &[], edit).exits(2).says("cannot be used: ").says(text);
    };
    edited("promptfoo-base", "the version of its results is 4", |it| {
        it["results"]["version"] = json!(4);
    });
    edited("promptfoo-base", "it has 5 results, and its statistics count 6", |it| {
        it["results"]["results"].as_array_mut().unwrap().pop();
    });
    edited("inspect-base", "the version of the log is 3", |it| it["version"] = json!(3));
    edited("inspect-base", "its status is `cancelled`, so samples are missing", |it| {
        it["status"] = json!("cancelled");
    });
    edited("inspect-base", "it has no `results` with their number of samples", |it| {
        it["results"] = Value::Null;
        it["samples"].as_array_mut().unwrap().pop();
    });
    let broken =
        "every sample has an error; correct the task, and run it again. The first one: no key";
    edited("inspect-base", broken, |it| {
        it.as_object_mut().unwrap().remove("results");
        for sample in it["samples"].as_array_mut().unwrap() {
            sample["error"] = json!({"message": "no key"});
        }
    });
    edited("inspect-base", "it was invalidated, and no sample says why", |it| {
        it["invalidated"] = json!(true);
    });
    edited("inspect-base", "it has 5 samples of 6; run it without `--no-log-samples`", |it| {
        it["samples"].as_array_mut().unwrap().pop();
    });
}
