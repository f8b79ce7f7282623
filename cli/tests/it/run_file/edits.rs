//! What was edited is evaluated again, and nothing else.

use super::*;

#[test]
fn what_was_edited_runs_again_and_nothing_else_does() {
    let folder = folder();
    run(&folder, "0", &RESUME).exits(3);
    let all = |name: &str| vec![name.to_owned(); CONVERSATIONS];
    folder.script("two", &format!("{SCORES} # edited"));
    run(&folder, "1", &RESUME).exits(3);
    assert_eq!(starts(&folder, "1"), all("two"));
    // Another order is nothing new, and neither are comments of the configuration.
    folder.file("c.yaml", format!("# other\n{}", config(&["breaks", "two", "one"])));
    let reordered = run(&folder, "2", &RESUME).exits(3).says(&taken(4 * CONVERSATIONS));
    assert_eq!(reordered.evaluations(0)[0], "breaks ERROR exited");
    let (one, five) = (trace("a01_otlp_basic_parts"), trace("i11_five_traces_plain"));
    let goldens = eval_set("library");
    let args = ["-v", "run", &five, &one, "-c", "c.yaml", "-e", &goldens, "-o", "json"];
    finish(folder.command(&[&args[..], &RESUME].concat()).env("RUN", "3").spawn().unwrap())
        .exits(3)
        .says(&taken(4 * CONVERSATIONS));
    assert_eq!((starts(&folder, "2"), starts(&folder, "3")), (vec![], vec![]));
    // Whatever its entry says may decide.
    for (run_number, more) in
        ["threshold: 0.9", "config: {a: 1}", "timeout: 7", "env: {A: b}", "env: [RUN, MY_TOKEN]"]
            .iter()
            .enumerate()
    {
        let config = config(&EVALUATORS).replace("./one}", &format!("./one, {more}}}"));
        folder.file("c.yaml", config);
        let number = format!("more-{run_number}");
        run(&folder, &number, &RESUME).exits(3);
        assert_eq!(starts(&folder, &number), all("one"), "{more}");
    }
    folder.file("c.yaml", config(&EVALUATORS));
    run(&folder, "back", &RESUME).exits(3).says(&taken(4 * CONVERSATIONS));
    // Without --resume nothing is taken from it.
    let anew = run(&folder, "anew", &SAVE).exits(3).says(&taken(0));
    assert_eq!(starts(&folder, "anew").len(), 3 * CONVERSATIONS);
    assert!(anew.json()["errors"].as_array().unwrap().is_empty());
}

#[test]
fn a_changed_trace_is_evaluated_again() {
    let folder = folder();
    let path = folder.file("t.json", fs::read(trace("i11_five_traces_plain")).unwrap());
    let args = ["-v", "run", "t.json", "-c", "c.yaml", "--resume"];
    let run =
        |number: &str| finish(folder.command(&args).env("RUN", number).spawn().unwrap()).exits(3);
    run("0");
    let text = fs::read_to_string(&path).unwrap();
    let said = text.match_indices("\\\"content\\\": \\\"").next();
    let (at, start) = said.unwrap_or_else(|| panic!("another spelling: {}", &text[..2000]));
    let at = at + start.len();
    fs::write(&path, format!("{}x{}", &text[..at], &text[at..])).unwrap();
    run("1");
    let again = starts(&folder, "1");
    assert!((1..=3).contains(&again.len()), "{again:?}");
}

#[test]
fn an_edited_module_is_an_edited_evaluator() {
    let folder = Folder::new();
    let evaluator = "import json, os, sys\nimport rules\n\
                     open('starts.' + os.environ['RUN'], 'a').write(sys.argv[0] + '\\n')\n\
                     json.load(sys.stdin)\nprint(json.dumps({'score': rules.SCORE}))\n";
    folder.file("one.py", evaluator);
    folder.file("two.py", evaluator.replace("rules", "other"));
    folder.file("rules.py", "SCORE = 0.5\n");
    folder.file("other.py", "SCORE = 0.5\n");
    folder.file(
        "c.yaml",
        config(&["one", "two"]).replace("./one", "./one.py").replace("./two", "./two.py"),
    );
    run(&folder, "0", &RESUME);
    let before = starts(&folder, "0").len();
    assert_eq!(before, 2 * CONVERSATIONS);
    run(&folder, "1", &RESUME);
    assert_eq!(starts(&folder, "1"), [""; 0]);
    folder.file("rules.py", "SCORE = 0.625\n");
    let ran = run(&folder, "2", &RESUME);
    assert_eq!(starts(&folder, "2"), vec!["one.py"; CONVERSATIONS]);
    assert_eq!(ran.json()["traces"][0]["metrics"][0]["score"], 0.625);
}

#[test]
fn an_evaluator_that_is_replaced_during_the_run_is_not_kept_for_what_it_was() {
    let folder = Folder::new();
    let replaces = r#"cat >/dev/null; echo "$0" >>"starts.$RUN"
if [ $RUN = 0 ] && [ "$(wc -l <starts.0)" = 3 ]; then cp "$0" new; echo '# new' >>new; mv new "$0"; fi
echo '{"score": 1}'"#;
    folder.script("one", replaces);
    let before = fs::read(folder.path().join("one")).unwrap();
    folder.file("c.yaml", config(&["one"]));
    let first = run(&folder, "0", &[&SAVE[..], &["--jobs", "1"]].concat()).exits(3);
    // What another program says is not mixed with what this one said; of the one that was just running when the file was
    // replaced, it is not known which of them it was.
    let summary = &first.json()["summary"];
    assert_eq!(
        summary["passed"].as_u64().unwrap() + summary["errored"].as_u64().unwrap(),
        CONVERSATIONS as u64 + 1
    );
    assert_eq!(summary["errored"], CONVERSATIONS - 2);
    first.says("results of one cannot be reused: ").says("has changed since the run started");
    folder.script("one", replaces);
    assert_eq!(fs::read(folder.path().join("one")).unwrap(), before);
    run(&folder, "3", &RESUME).exits(0);
    assert_eq!(starts(&folder, "3").len(), CONVERSATIONS - 2);
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
        let folder = Folder::new();
        let path = folder.file(file, &text);
        fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        folder.file("c.yaml", config(&["one"]).replace("./one", &format!("./{file}")));
        folder.file("shared/rules.py", "SCORE=0.5\n");
        let reason =
            "results of one cannot be reused: it runs code whose changes would not be noticed (`";
        let first = run(&folder, "0", &RESUME).says(reason);
        assert_eq!(first.json()["traces"][0]["metrics"][0]["score"], 0.5, "{text}");
        folder.file("shared/rules.py", "SCORE=0.625\n");
        let second = run(&folder, "1", &RESUME).says(reason);
        assert_eq!(second.json()["traces"][0]["metrics"][0]["score"], 0.625, "{text}");
        assert_eq!(starts(&folder, "1"), vec![file; CONVERSATIONS]);
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
        let folder = Folder::new();
        folder.file("one.py", finds_its_module(import));
        folder.file("c.yaml", config(&["one"]).replace("./one", "./one.py"));
        folder.file(module, "SCORE = 0.5\n");
        run(&folder, "0", &RESUME);
        run(&folder, "1", &RESUME);
        assert_eq!(starts(&folder, "1"), [""; 0], "{import}");
        folder.file(module, "SCORE = 0.625\n");
        let ran = run(&folder, "2", &RESUME);
        assert_eq!(ran.json()["traces"][0]["metrics"][0]["score"], 0.625, "{import}");
    }
}

#[test]
fn modules_found_by_pythonpath_are_not_followed() {
    let folder = Folder::new();
    folder.file("one.py", finds_its_module("from rules import SCORE"));
    let entry = config(&["one"]).replace("./one", "./one.py, env: {PYTHONPATH: shared}");
    folder.file("c.yaml", entry);
    folder.file("shared/rules.py", "SCORE = 0.5\n");
    run(&folder, "0", &RESUME);
    folder.file("shared/rules.py", "SCORE = 0.625\n");
    let ran = run(&folder, "1", &RESUME).says("(shared/rules.py, found by PYTHONPATH)");
    assert_eq!(ran.json()["traces"][0]["metrics"][0]["score"], 0.625);
}

#[test]
fn a_module_that_changes_during_the_run_is_an_error_of_the_run() {
    // With few and with enough conversations for forks, saved or not.
    for (traces, saved) in [(1, &SAVE[..]), (2, &SAVE), (2, &[])] {
        let folder = Folder::new();
        folder.file(
            "one.py",
            "import json, os, sys, rules\njson.load(sys.stdin)\n\
             if os.path.exists('edit'): open('rules.py', 'a').write('# edited\\n')\n\
             print(json.dumps({'score': 1}))\n",
        );
        folder.file("rules.py", "SCORE = 1\n");
        folder.file("edit", "");
        folder.file("c.yaml", config(&["one"]).replace("./one", "./one.py"));
        let files = [trace("a01_otlp_basic_parts"), trace("i11_five_traces_plain")];
        let mut args = vec!["run", "-c", "c.yaml", "-o", "json", "--jobs", "1"];
        args.extend(files[..traces].iter().map(String::as_str));
        args.extend(saved);
        let ran = finish(folder.command(&args).spawn().unwrap()).exits(3);
        assert!(
            ran.evaluations(0).contains(&"one ERROR prepare_failed".to_owned()),
            "{}",
            ran.stdout
        );
        let error = ran.error_of("one");
        assert!(error.contains("rules.py changed during the run"), "{error}");
        let kept = lines(&folder, "evaluation");
        let is_kept =
            |line: &String| line.contains("\"name\":\"one\"") && line.contains("\"reusable\":true");
        assert!(!kept.iter().any(is_kept), "{kept:?}");
    }
}
