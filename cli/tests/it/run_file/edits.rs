//! What was edited is evaluated again, and nothing else.

use super::*;

#[test]
fn what_was_edited_runs_again_and_nothing_else_does() {
    let directory = directory();
    run(&directory, "0", &RESUME).exits(3);
    let all = |name: &str| vec![name.to_owned(); CONVERSATIONS];
    directory.script("two", &format!("{SCORES} # edited"));
    run(&directory, "1", &RESUME).exits(3);
    assert_eq!(starts(&directory, "1"), all("two"));
    // Another order is nothing new, and neither are comments of the configuration.
    directory.file("c.yaml", format!("# other\n{}", config(&["breaks", "two", "one"])));
    let reordered = run(&directory, "2", &RESUME).exits(3).says(&taken(4 * CONVERSATIONS));
    assert_eq!(reordered.evaluations(0)[0], "breaks ERROR exited");
    let (one, five) = (trace("a01_otlp_basic_parts"), trace("i11_five_traces_plain"));
    let goldens = eval_set("library");
    let args = ["-v", "run", &five, &one, "-c", "c.yaml", "-e", &goldens, "-o", "json"];
    finish(directory.command(&[&args[..], &RESUME].concat()).env("RUN", "3").spawn().unwrap())
        .exits(3)
        .says(&taken(4 * CONVERSATIONS));
    assert_eq!((starts(&directory, "2"), starts(&directory, "3")), (vec![], vec![]));
    // Whatever its entry says may decide.
    for (run_number, more) in
        ["threshold: 0.9", "config: {a: 1}", "timeout: 7", "env: {A: b}", "env: [RUN, MY_TOKEN]"]
            .iter()
            .enumerate()
    {
        let config = config(&EVALUATORS).replace("./one}", &format!("./one, {more}}}"));
        directory.file("c.yaml", config);
        let number = format!("more-{run_number}");
        run(&directory, &number, &RESUME).exits(3);
        assert_eq!(starts(&directory, &number), all("one"), "{more}");
    }
    directory.file("c.yaml", config(&EVALUATORS));
    run(&directory, "back", &RESUME).exits(3).says(&taken(4 * CONVERSATIONS));
    // Without --resume nothing is taken from it.
    let again = run(&directory, "again", &SAVE).exits(3).says(&taken(0));
    assert_eq!(starts(&directory, "again").len(), 3 * CONVERSATIONS);
    assert!(again.json()["errors"].as_array().unwrap().is_empty());
}

#[test]
fn a_changed_trace_is_evaluated_again() {
    let directory = directory();
    let path = directory.file("t.json", fs::read(trace("i11_five_traces_plain")).unwrap());
    let args = ["-v", "run", "t.json", "-c", "c.yaml", "--resume"];
    let run = |number: &str| {
        finish(directory.command(&args).env("RUN", number).spawn().unwrap()).exits(3)
    };
    run("0");
    let text = fs::read_to_string(&path).unwrap();
    let said = text.match_indices("\\\"content\\\": \\\"").next();
    let (at, start) = said.unwrap_or_else(|| panic!("another spelling: {}", &text[..2000]));
    let at = at + start.len();
    fs::write(&path, format!("{}x{}", &text[..at], &text[at..])).unwrap();
    run("1");
    let again = starts(&directory, "1");
    assert!((1..=3).contains(&again.len()), "{again:?}");
}

#[test]
fn an_edited_module_is_an_edited_evaluator() {
    let directory = Directory::new();
    let evaluator = "import json, os, sys\nimport rules\n\
                     open('starts.' + os.environ['RUN'], 'a').write(sys.argv[0] + '\\n')\n\
                     json.load(sys.stdin)\nprint(json.dumps({'score': rules.SCORE}))\n";
    directory.file("one.py", evaluator);
    directory.file("two.py", evaluator.replace("rules", "other"));
    directory.file("rules.py", "SCORE = 0.5\n");
    directory.file("other.py", "SCORE = 0.5\n");
    directory.file(
        "c.yaml",
        config(&["one", "two"]).replace("./one", "./one.py").replace("./two", "./two.py"),
    );
    run(&directory, "0", &RESUME);
    let before = starts(&directory, "0").len();
    assert_eq!(before, 2 * CONVERSATIONS);
    run(&directory, "1", &RESUME);
    assert_eq!(starts(&directory, "1"), [""; 0]);
    directory.file("rules.py", "SCORE = 0.625\n");
    let ran = run(&directory, "2", &RESUME);
    assert_eq!(starts(&directory, "2"), vec!["one.py"; CONVERSATIONS]);
    assert_eq!(ran.json()["traces"][0]["metrics"][0]["score"], 0.625);
}

#[test]
fn an_edited_program_of_a_shell_script_is_an_edited_evaluator() {
    let directory = Directory::new();
    fs::create_dir(directory.path().join("bin")).unwrap();
    let (by_name, by_variable) = ("./bin/sc", "\"$PWD/bin/sc\"");
    for (name, program) in [("one", by_name), ("two", by_variable)] {
        directory
            .script(name, &format!("cat >/dev/null; echo \"$0\" >>\"starts.$RUN\"; {program}"));
    }
    directory.script("bin/sc", "echo '{\"score\": 1}'");
    directory.file("c.yaml", config(&["one", "two"]));
    let first = run(&directory, "0", &RESUME);
    first.says("results of two cannot be reused").says("(`$PWD/bin/sc` in ");
    // What cannot be followed is never reused.
    run(&directory, "1", &RESUME);
    assert_eq!(starts(&directory, "1"), vec!["two"; CONVERSATIONS]);
    directory.script("bin/sc", "echo '{\"score\": 0.25}'");
    let ran = run(&directory, "2", &RESUME);
    assert_eq!(starts(&directory, "2").len(), 2 * CONVERSATIONS);
    assert_eq!(ran.json()["traces"][0]["metrics"][0]["score"], 0.25);
}

#[test]
fn an_evaluator_that_is_replaced_during_the_run_is_not_kept_for_what_it_was() {
    let directory = Directory::new();
    let replaces = r#"cat >/dev/null; echo "$0" >>"starts.$RUN"
if [ $RUN = 0 ] && [ "$(wc -l <starts.0)" = 3 ]; then cp "$0" new; echo '# new' >>new; mv new "$0"; fi
echo '{"score": 1}'"#;
    directory.script("one", replaces);
    let before = fs::read(directory.path().join("one")).unwrap();
    directory.file("c.yaml", config(&["one"]));
    let first = run(&directory, "0", &[&SAVE[..], &["--jobs", "1"]].concat()).exits(3);
    // What another program says is not mixed with what this one said; of the one that was just running when the file was
    // replaced, it is not known which of them it was.
    let summary = &first.json()["summary"];
    assert_eq!(
        summary["passed"].as_u64().unwrap() + summary["errored"].as_u64().unwrap(),
        CONVERSATIONS as u64 + 1
    );
    assert_eq!(summary["errored"], CONVERSATIONS - 2);
    first.says("results of one cannot be reused: ").says("has changed since the run started");
    directory.script("one", replaces);
    assert_eq!(fs::read(directory.path().join("one")).unwrap(), before);
    run(&directory, "3", &RESUME).exits(0);
    assert_eq!(starts(&directory, "3").len(), CONVERSATIONS - 2);
}

/// An evaluator that scores what a module says which it finds by itself.
fn finds_its_module(import: &str) -> String {
    format!(
        "import importlib, json, os, runpy, sys\n{import}\n\
         open('starts.' + os.environ['RUN'], 'a').write(sys.argv[0] + '\\n')\n\
         json.load(sys.stdin)\nprint(json.dumps({{'score': SCORE}}))\n"
    )
}

#[test]
fn results_of_code_that_cannot_be_followed_are_not_reused() {
    let shell = "#!/bin/sh\ncat >/dev/null; echo \"$0\" >>\"starts.$RUN\"; LIB=shared\n";
    for (file, text) in [
        ("one.py", finds_its_module("sys.path.insert(0, 'shared')\nfrom rules import SCORE")),
        (
            "one.py",
            finds_its_module("sys.path += ['shared']\nSCORE = __import__('ru' + 'les').SCORE"),
        ),
        (
            "one.py",
            finds_its_module(
                "sys.path.append('shared')\nSCORE = importlib.import_module('ru' + 'les').SCORE",
            ),
        ),
        ("one.py", finds_its_module("exec(open('shared/ru' + 'les.py').read())")),
        ("one.py", finds_its_module("SCORE = runpy.run_path('shared/ru' + 'les.py')['SCORE']")),
        ("one", format!("{shell}. \"$LIB/rules.py\"; echo \"{{\\\"score\\\": $SCORE}}\"\n")),
    ] {
        let directory = Directory::new();
        let path = directory.file(file, &text);
        fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        directory.file("c.yaml", config(&["one"]).replace("./one", &format!("./{file}")));
        directory.file("shared/rules.py", "SCORE=0.5\n");
        let reason =
            "results of one cannot be reused: it runs code whose changes would not be noticed (`";
        let first = run(&directory, "0", &RESUME).says(reason);
        assert_eq!(first.json()["traces"][0]["metrics"][0]["score"], 0.5, "{text}");
        directory.file("shared/rules.py", "SCORE=0.625\n");
        let second = run(&directory, "1", &RESUME).says(reason);
        assert_eq!(second.json()["traces"][0]["metrics"][0]["score"], 0.625, "{text}");
        assert_eq!(starts(&directory, "1"), vec![file; CONVERSATIONS]);
        // Metrics are.
        second.says(&format!(
            "; {CONVERSATIONS} of {} results from an earlier run",
            2 * CONVERSATIONS
        ));
    }
}

#[test]
fn modules_that_are_spelled_out_are_followed_wherever_they_are() {
    for (import, module) in [
        ("SCORE = runpy.run_path('lib/rules.py')['SCORE']", "lib/rules.py"),
        (
            "SCORE = runpy.run_path(os.path.join(os.path.dirname(__file__), 'lib', 'rules.py'))['SCORE']",
            "lib/rules.py",
        ),
        ("SCORE = importlib.import_module('lib.rules').SCORE", "lib/rules.py"),
        ("SCORE = runpy.run_module('rules')['SCORE']", "rules.py"),
    ] {
        let directory = Directory::new();
        directory.file("one.py", finds_its_module(import));
        directory.file("c.yaml", config(&["one"]).replace("./one", "./one.py"));
        directory.file(module, "SCORE = 0.5\n");
        run(&directory, "0", &RESUME);
        run(&directory, "1", &RESUME);
        assert_eq!(starts(&directory, "1"), [""; 0], "{import}");
        directory.file(module, "SCORE = 0.625\n");
        let ran = run(&directory, "2", &RESUME);
        assert_eq!(ran.json()["traces"][0]["metrics"][0]["score"], 0.625, "{import}");
    }
}

#[test]
fn modules_found_by_pythonpath_are_not_followed() {
    let directory = Directory::new();
    directory.file("one.py", finds_its_module("from rules import SCORE"));
    let entry = config(&["one"]).replace("./one", "./one.py, env: {PYTHONPATH: shared}");
    directory.file("c.yaml", entry);
    directory.file("shared/rules.py", "SCORE = 0.5\n");
    run(&directory, "0", &RESUME);
    directory.file("shared/rules.py", "SCORE = 0.625\n");
    let ran = run(&directory, "1", &RESUME).says("(shared/rules.py, found by PYTHONPATH)");
    assert_eq!(ran.json()["traces"][0]["metrics"][0]["score"], 0.625);
}

#[test]
fn a_module_that_changes_during_the_run_is_an_error_of_the_run() {
    // With few and with enough conversations for forks, saved or not.
    for (traces, saved) in [(1, &SAVE[..]), (2, &SAVE), (2, &[])] {
        let directory = Directory::new();
        directory.file(
            "one.py",
            "import json, os, sys, rules\njson.load(sys.stdin)\n\
             if os.path.exists('edit'): open('rules.py', 'a').write('# edited\\n')\n\
             print(json.dumps({'score': 1}))\n",
        );
        directory.file("rules.py", "SCORE = 1\n");
        directory.file("edit", "");
        directory.file("c.yaml", config(&["one"]).replace("./one", "./one.py"));
        let files = [trace("a01_otlp_basic_parts"), trace("i11_five_traces_plain")];
        let mut args = vec!["run", "-c", "c.yaml", "-o", "json", "--jobs", "1"];
        args.extend(files[..traces].iter().map(String::as_str));
        args.extend(saved);
        let ran = finish(directory.command(&args).spawn().unwrap()).exits(3);
        assert!(
            ran.evaluations(0).contains(&"one ERROR prepare_failed".to_owned()),
            "{}",
            ran.stdout
        );
        let error = ran.error_of("one");
        assert!(error.contains("rules.py changed during the run"), "{error}");
        let kept = lines(&directory, "evaluation");
        let is_kept =
            |line: &String| line.contains("\"name\":\"one\"") && line.contains("\"reusable\":true");
        assert!(!kept.iter().any(is_kept), "{kept:?}");
    }
}
