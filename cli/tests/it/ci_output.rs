//! The forms of the report that are made for CI systems.
#![cfg(unix)]

use std::fs;

use crate::support::{Directory, Ran, trace};

/// One of each outcome, with text that needs escaping in every form.
fn run(more: &[&str]) -> (Directory, Ran) {
    let directory = Directory::new();
    directory.script("good", r#"cat >/dev/null; echo '{"score": 1}'"#);
    directory.script(
        "low",
        r#"cat >/dev/null; echo '{"score": 0.25, "per_invocation_scores": [0.25], "details": {"message": "", "issues": ["too short", "rude"]}}'"#,
    );
    directory.script("own", r#"cat >/dev/null; echo '{"score": 1, "status": "FAILED"}'"#);
    directory.script("none", r#"cat >/dev/null; echo '{"score": 0, "status": "NOT_EVALUATED", "details": {"reason": "a|b <c>, 100%"}}'"#);
    directory.script("crash", r"printf 'boom <&> \033 %%\nline 2' >&2; exit 3");
    directory.file(
        "c.yaml",
        "evaluators:\n  - {name: good, type: code, path: good}\n  - {name: low, type: code, path: low}\n  \
         - {name: own, type: code, path: own}\n  - {name: none, type: code, path: none}\n  \
         - {name: 'cr:a,sh', type: code, path: crash}\n",
    );
    let traces = [trace("k01_traj_exact"), trace("c13_truncated")];
    let mut args = vec![traces[0].as_str(), &traces[1], "-c", "c.yaml"];
    args.extend(more);
    let ran = directory.run(&args).exits(3);
    (directory, ran)
}

#[test]
fn junit_counts_every_outcome_and_stays_well_formed() {
    let (_, ran) = run(&["-o", "junit"]);
    let (text, file) = (&ran.stdout, trace("k01_traj_exact"));
    assert!(text.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"evaluator\" tests=\"6\" failures=\"2\" errors=\"2\" skipped=\"1\">\n"), "{text}");
    for part in [
        "<testsuite name=\"inputs\" tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\">",
        "<testsuite name=\"low\" tests=\"1\" failures=\"1\" errors=\"0\" skipped=\"0\">",
        &format!("<testcase classname=\"low\" name=\"{file}\" time="),
        "<property name=\"trace_id\" value=\"8c0d82df351c54b1bb96cfd3028f66f9\"/>",
        "<failure message=\"score 0.2500 is below the threshold 0.5 (turn 1: 0.2500): too short; rude\">",
        "<failure message=\"failed by the evaluator itself, with score 1.0000\">",
        "<property name=\"scored\" value=\"1\"/>",
        "<property name=\"not_evaluated\" value=\"1\"/>",
        "<property name=\"total\" value=\"1\"/>",
        &format!("file=\"{file}\">\n      <properties>"),
        "<system-out>warning: it says FAILED, though its score 1 reaches the threshold 0.5</system-out>",
        "the file ends too early; was it written completely?",
        "<skipped message=\"a|b &lt;c&gt;, 100%\">",
        "<error message=\"exited with code 3: line 2\" type=\"exited\">",
        "<system-err>boom &lt;&amp;&gt; \\u{1b} %&#10;line 2</system-err>",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let mut reader = quick_xml::Reader::from_str(text);
    let mut cases = 0;
    loop {
        match reader.read_event().unwrap() {
            quick_xml::events::Event::Eof => break,
            quick_xml::events::Event::Start(tag) | quick_xml::events::Event::Empty(tag) => {
                cases += usize::from(tag.name().as_ref() == b"testcase");
            }
            _ => {}
        }
    }
    assert_eq!(cases, 6);
}

#[test]
fn markdown_shows_what_needs_attention_first() {
    let (_, ran) = run(&["-o", "markdown"]);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(
        lines[0],
        "### ERROR: 1 passed, 2 failed, 1 errored, 1 not evaluated (5 evaluations in 1 conversation), 3 scored of 5 in total; 1 conversation dropped out of an evaluator; 1 error outside of any conversation"
    );
    assert!(lines[2].starts_with("- Failed to load trace file"), "{}", lines[2]);
    assert!(
        lines[2].ends_with("(unterminated string at line 1 column 3593 (byte 3592); the file ends too early; was it written completely?)"),
        "{}",
        lines[2]
    );
    assert!(
        lines[3].ends_with(": it says FAILED, though its score 1 reaches the threshold 0.5"),
        "{}",
        lines[3]
    );
    let names: Vec<&str> = lines[7..].iter().map(|row| row.split(" | ").nth(2).unwrap()).collect();
    assert_eq!(names, ["cr:a,sh", "low", "own", "none", "good"]);
    assert!(lines[7].contains("boom &lt;&amp;>"), "{}", lines[7]);
    assert!(lines[10].contains("a\\|b &lt;c>, 100%"), "{}", lines[10]);
    let file = format!("` in `{}` |", trace("k01_traj_exact"));
    assert!(lines[8].contains(&file) && lines[8].ends_with(": too short; rude |"), "{}", lines[8]);
    assert!(!lines[11].contains(&file), "{}", lines[11]);
}

#[test]
fn annotations_are_one_line_each() {
    let (_, ran) = run(&["-o", "github"]);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines.len(), 6, "{lines:#?}");
    assert!(lines[0].starts_with("::error title=input::Failed to load"), "{}", lines[0]);
    assert!(lines[0].contains("the file ends too early"), "{}", lines[0]);
    let of_file = |line: &str, kind: &str, rest: &str| {
        let start = format!("::{kind} file={},title={rest}", trace("k01_traj_exact"));
        assert!(line.starts_with(&start), "{line}");
    };
    // Broken evaluators come first.
    of_file(lines[1], "error", "cr%3Aa%2Csh on ");
    assert!(
        lines[1].contains("::exited with code 3: line 2%0A")
            && lines[1].contains(" %25%0Astderr: line 2"),
        "{}",
        lines[1]
    );
    of_file(lines[2], "error", "low on ");
    assert!(lines[2].ends_with("(turn 1: 0.2500): too short; rude"), "{}", lines[2]);
    of_file(lines[3], "error", "own on ");
    of_file(
        lines[4],
        "warning",
        "own on 8c0d82df351c54b1bb96cfd3028f66f9::it says FAILED, though its score 1 reaches the threshold 0.5",
    );
    assert_eq!(lines[5], "::notice title=none on 1 conversation::not evaluated: a|b <c>, 100%25");
    // The counts are on stderr, once.
    ran.says("ERROR: 1 passed");
}

#[test]
fn an_evaluation_that_is_not_evaluated_without_a_reason_is_shown_too() {
    let directory = Directory::new();
    let answer = r#"{"score": 0, "status": "NOT_EVALUATED"}"#;
    directory.script("silent", &format!("cat >/dev/null; echo '{answer}'"));
    directory.file("c.yaml", "evaluators: [{name: silent, type: code, path: silent}]");
    let ran = directory.run(&[&trace("i11_five_traces_plain"), "-c", "c.yaml", "-o", "github"]);
    let reason = "not evaluated: the evaluator gives no reason";
    assert_eq!(ran.stdout, format!("::notice title=silent on 5 conversations::{reason}\n"));
    ran.says(&format!("silent: 5 conversations {reason}"));
}

#[test]
fn answers_that_contradict_themselves_are_reported() {
    let (_, ran) = run(&["-o", "json"]);
    let own = &ran.json()["traces"][0]["metrics"][2];
    assert_eq!(own["warnings"][0], "it says FAILED, though its score 1 reaches the threshold 0.5");
    assert_eq!(ran.json()["traces"][0]["metrics"][0]["warnings"], serde_json::Value::Null);
    ran.says(": it says FAILED, though its score 1 reaches the threshold 0.5");
}

#[test]
fn contradictions_are_counted_instead_of_repeated() {
    let directory = Directory::new();
    directory.script("own", r#"cat >/dev/null; echo '{"score": 1, "status": "FAILED"}'"#);
    directory.file("c.yaml", "evaluators: [{name: own, type: code, path: own}]");
    let trace = trace("i11_five_traces_plain");
    let ran = directory.run(&[&trace, "-c", "c.yaml"]).exits(1);
    ran.says("reaches the threshold 0.5 (and 4 more of its kind)").says("warning: own, trace ");
    let all = directory.run(&[&trace, "-c", "c.yaml", "-v"]).exits(1);
    assert_eq!(all.stderr.matches("reaches the threshold 0.5").count(), 5, "{}", all.stderr);
}

#[test]
fn a_file_takes_the_place_of_stdout() {
    let (directory, ran) = run(&["-o", "json", "--output-file", "report.json"]);
    assert_eq!(ran.stdout, "");
    let report = fs::read_to_string(directory.path().join("report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["summary"]["total"], 5);
    // Nothing on stdout names what broke.
    ran.says("cr:a,sh: 1 of error type exited, first in trace ");
    let left: Vec<_> =
        fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().ends_with(".part")), "{left:?}");
}

#[test]
fn a_file_for_people_ends_with_what_it_amounts_to() {
    for form in ["table", "summary"] {
        let (directory, _) = run(&["-o", form, "--output-file", "report.txt"]);
        let report = fs::read_to_string(directory.path().join("report.txt")).unwrap();
        let last = report.lines().last().unwrap();
        assert!(last.starts_with("ERROR: 1 passed, 2 failed, 1 errored"), "{report}");
    }
}

#[test]
fn a_file_that_cannot_be_made_is_refused_before_anything_runs() {
    let directory = Directory::new();
    let trace = trace("k01_traj_exact");
    directory
        .run(&[&trace, "--output-file", "no/such/directory/report.json"])
        .exits(2)
        .says("no/such/directory does not exist");
    directory.run(&[&trace, "--output-file", "."]).exits(2).says(". is a directory");
}
