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
    let anew = run(&folder, "anew", &JOURNAL).exits(3).says(&taken(0));
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
    let first = run(&folder, "0", &[&JOURNAL[..], &["--jobs", "1"]].concat()).exits(3);
    // What another program says is not mixed with what this one said; of the one that was just running when the file was
    // replaced, nobody knows which of them it was.
    let summary = &first.json()["summary"];
    assert_eq!(
        summary["passed"].as_u64().unwrap() + summary["errored"].as_u64().unwrap(),
        CONVERSATIONS as u64 + 1
    );
    assert_eq!(summary["errored"], CONVERSATIONS - 2);
    first.says("one is not kept in the journal: ").says("has changed since the run began");
    folder.script("one", replaces);
    assert_eq!(fs::read(folder.path().join("one")).unwrap(), before);
    run(&folder, "3", &RESUME).exits(0);
    assert_eq!(starts(&folder, "3").len(), CONVERSATIONS - 2);
}
