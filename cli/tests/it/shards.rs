//! Shards of a run, and parts of runs that are reported together.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::fs;

use evaluator_host::report::{
    ConversationReport, Report,
    run_file::{Digest, Golden, Header, InputError, RunWriter, read},
};
use evaluator_test_support::{
    Written,
    processes::{signal, wait_for_line},
};
use serde_json::{Value, json};

use crate::{
    run_file::sealed,
    support::{Directory, Ran, all_output_formats, eval_set, finish, trace},
};

/// A trace of one turn in a file of lines.
pub(crate) fn line(
    id: &str,
    says: &str,
    attributes: &[(&str, &str)],
    session: Option<&str>,
) -> String {
    let attribute =
        |(key, value): (&str, &str)| json!({"key": key, "value": {"stringValue": value}});
    let said = json!([{"role": "user", "parts": [{"type": "text", "content": says}]}]).to_string();
    let own = [("gen_ai.operation.name", "chat"), ("gen_ai.input.messages", &*said)];
    let own: Vec<Value> =
        own.into_iter().chain(attributes.iter().copied()).map(attribute).collect();
    let span = json!({
        "traceId": id, "spanId": "s", "startTimeUnixNano": "1", "endTimeUnixNano": "3000001", "attributes": own,
    });
    let session = session.map(|it| attribute(("agentevals.session_name", it)));
    let resource = json!({"attributes": session.into_iter().collect::<Vec<_>>()});
    let batch =
        json!({"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": [span]}]}]});
    format!("{batch}\n")
}

/// A directory with all that a share of the traces could judge in another way than the whole run: a named session that joins the
/// others, copies of spans, spans of a trace in two files, a case that is not recorded, and a file that cannot be used.
fn traps() -> Directory {
    let directory = Directory::new();
    let item = |value: &'static str| ("dataset.item", value);
    let conversation = |id: &'static str| ("gen_ai.conversation.id", id);
    let mut text = line("t0", "named", &[item("a")], Some("one"));
    text += &line("t1", "first", &[conversation("c"), item("b")], None);
    text += &line("t2", "second", &[conversation("c")], None);
    for number in 3..9 {
        text += &line(&format!("t{number}"), &format!("says {number}"), &[item("b")], None);
    }
    // Copies of three spans.
    for number in [4, 7, 8] {
        text += &line(&format!("t{number}"), &format!("says {number}"), &[item("b")], None);
    }
    directory.file("t.jsonl", text);
    directory.file("five.json", fs::read_to_string(trace("i11_five_traces_plain")).unwrap());
    directory.file("broken.json", "{\"resourceSpans\": [{\"scopeSpans\": 1}]}");
    directory.script(
        "scores",
        r#"length=$(wc -c); echo "{\"score\": 0.$((length % 7)), \"details\": {\"length\": $length}}""#,
    );
    directory
        .script("breaks", r#"case "$(cat)" in *'says 5'*) exit 7;; esac; echo '{"score": 1}'"#);
    // It differs in the second of two repeats.
    directory.script(
        "moody",
        r#"sum=$(cksum | tr -dc 0-9); if [ -e "seen.$sum" ]; then rm "seen.$sum"; echo '{"score": 0}'; else touch "seen.$sum"; echo '{"score": 1}'; fi"#,
    );
    directory.file(
        "c.yaml",
        "evaluators:\n\
         - {name: scores, type: code, path: ./scores}\n\
         - {name: breaks, type: code, path: ./breaks}\n\
         - {name: moody, type: code, path: ./moody, repeat: 2}\n\
         - {name: tool_trajectory_avg_score, type: builtin}\n",
    );
    directory
}

const TRACES: [&str; 3] = ["t.jsonl", "five.json", "broken.json"];

/// Runs the traps, and saves the run in a file.
fn run(directory: &Directory, file: &str, more: &[&str]) -> Ran {
    let goldens = eval_set("library");
    let options = ["-c", "c.yaml", "-e", &goldens, "--case-key", "dataset.item", "--jobs", "1"];
    let saved = ["--save-run", file];
    directory.run(&[&TRACES[..], &options, &saved, more].concat())
}

/// Runs all shards of the traps. Returns their files.
fn shards(directory: &Directory, of: usize, more: &[&str]) -> Vec<String> {
    let run = |number: usize| {
        let (file, shard) = (format!("{number}-{of}.evalrun"), format!("{number}/{of}"));
        let ran = run(directory, &file, &[&["--shard", &shard], more].concat());
        let last = ran.exits(0).stderr.lines().last().unwrap().to_owned();
        assert!(last.starts_with(&format!("PART {shard}: ")), "{last}");
        assert!(
            last.ends_with("nothing is decided before the parts are reported together"),
            "{last}"
        );
        let text = directory.read(&file);
        directory.file(&file, without_chance(&text));
        file
    };
    (1..=of).map(run).collect()
}

/// A run file without what differs between two runs: durations, ids and times.
fn without_chance(text: &str) -> String {
    let line = |line: &str| {
        let rest = line.split_once(',').unwrap().1;
        let mut pieces = rest.split("\"duration_ns\":");
        let mut same = pieces.next().unwrap().to_owned();
        for piece in pieces {
            same += "\"duration_ns\":1000000";
            same += piece.trim_start_matches(|c: char| c.is_ascii_digit());
        }
        for key in ["id", "started"] {
            let start = format!("\"{key}\":\"");
            if same.starts_with("\"kind\":\"header\"")
                && let Some(at) = same.find(&start)
            {
                let from = at + start.len();
                let until = from + same[from..].find('"').unwrap();
                same.replace_range(from..until, "same");
            }
        }
        sealed(&same)
    };
    text.lines().map(line).collect()
}

/// The report of files in every form, and the last lines on stderr.
fn forms(
    directory: &Directory,
    files: &[String],
    more: &[&str],
) -> (Option<i32>, Vec<(String, String)>, String) {
    let place = directory.join("forms");
    drop(fs::remove_dir_all(&place));
    fs::create_dir(&place).unwrap();
    let outputs: Vec<String> = all_output_formats()
        .flat_map(|form| ["-o".to_owned(), format!("{form}=forms/{form}")])
        .collect();
    let args: Vec<&str> = ["report"]
        .into_iter()
        .chain(files.iter().map(String::as_str))
        .chain(outputs.iter().map(String::as_str))
        .chain(more.iter().copied())
        .collect();
    let ran = directory.evaluator(&args);
    let read = |form: &'static str| (form.to_owned(), directory.read(&format!("forms/{form}")));
    (ran.code, all_output_formats().map(read).collect(), ran.stderr)
}

#[test]
fn the_report_of_all_shards_is_that_of_one_run() {
    let directory = traps();
    for (more, numbers) in [
        (&[][..], &[1, 2, 5, 7][..]),
        (&["--require-evaluated=0.5"], &[3]),
        (&["--max-error-rate", "0.3", "--gate", "scores: mean >= 0.1"], &[4]),
        (&["--group-by", "trace", "--transcripts", "all", "--by", "dataset.item"], &[3]),
    ] {
        run(&directory, "whole.evalrun", more);
        let whole = without_chance(&directory.read("whole.evalrun"));
        directory.file("r.evalrun", &whole);
        let expected = forms(&directory, &["r.evalrun".to_owned()], &[]);
        for of in numbers {
            let files = shards(&directory, *of, more);
            // In one file, which has the name of that of the whole run; in any order.
            let texts: Vec<String> = files.iter().rev().map(|file| directory.read(file)).collect();
            directory.file("r.evalrun", texts.concat());
            let joined = forms(&directory, &["r.evalrun".to_owned()], &[]);
            assert_eq!(joined.0, expected.0, "{of} {more:?}: {}", joined.2);
            assert_eq!(joined.2, expected.2, "{of} {more:?}");
            for ((form, text), (_, expected)) in joined.1.iter().zip(&expected.1) {
                assert_eq!(text, expected, "{form} of {of} {more:?}");
            }
            // And in files of their own, some of them twice.
            let twice = [&files[..], &files[..1], &files[..1]].concat();
            let (code, found, stderr) = forms(&directory, &twice, &[]);
            assert_eq!(code, expected.0, "{stderr}");
            let json = |forms: &[(String, String)]| forms.iter().find(|it| it.0 == "json").cloned();
            assert_eq!(json(&found), json(&expected.1), "{of} {more:?}");
        }
    }
}

#[test]
fn a_stranger_is_not_compared_with_the_only_case_because_it_is_alone_in_its_shard() {
    let directory = Directory::new();
    directory.file("t.jsonl", line("t1", "hello", &[], None) + &line("t4", "other", &[], None));
    let case = json!({"eval_id": "c", "conversation": [{
        "user_content": {"parts": [{"text": "hello"}]}, "final_response": {"parts": [{"text": "hi"}]},
    }]});
    directory.file("e.json", json!({"eval_set_id": "e", "eval_cases": [case]}).to_string());
    let args = ["t.jsonl", "-m", "response_match_score", "-e", "e.json", "--save-run"];
    let outcomes = |ran: Ran| -> Vec<Value> {
        let json = ran.json();
        let traces = json["traces"].as_array().unwrap().iter();
        traces
            .map(|it| json!([it["trace_id"], it["eval_case_id"], it["metrics"][0]["outcome"]]))
            .collect()
    };
    directory.run(&[&args[..], &["w.evalrun"]].concat());
    let whole = outcomes(directory.evaluator(&["report", "w.evalrun", "-o", "json"]));
    assert_eq!(whole[1][2], "not_evaluated", "{whole:?}");
    for (file, shard) in [("1.evalrun", "1/2"), ("2.evalrun", "2/2")] {
        directory.run(&[&args[..], &[file, "--shard", shard]].concat()).exits(0);
    }
    let parts = directory.evaluator(&["report", "2.evalrun", "1.evalrun", "-o", "json"]);
    assert_eq!(outcomes(parts), whole);
}

#[test]
fn what_looks_like_the_report_of_a_share_is_refused_before_anything_is_written() {
    let directory = traps();
    directory.file("f.yaml", directory.read("c.yaml") + "fail_fast: true\n");
    directory.file("b.yaml", directory.read("c.yaml") + "baseline: b.evalrun\n");
    directory.file("b.evalrun", "");
    let shard = ["--shard", "1/3"];
    let saved = ["--save-run", "p.evalrun"];
    for (options, reason) in [
        (&["--shard", "0/3", "--save-run", "p.evalrun"][..], "expected I/N"),
        (&["--shard", "4/3", "--save-run", "p.evalrun"], "there is no shard 4 of 3"),
        (&["--shard", "1/0", "--save-run", "p.evalrun"], "expected I/N"),
        (&["--shard", "x", "--save-run", "p.evalrun"], "expected I/N"),
        (&["--shard", "+1/3", "--save-run", "p.evalrun"], "expected I/N"),
        (&["--shard", "1/+3", "--save-run", "p.evalrun"], "expected I/N"),
        (&shard, "--save-run <FILE>"),
        (&[&shard[..], &saved, &["-o", "json=o"]].concat(), "'--output"),
        (
            &[&shard[..], &saved, &["-o", "json", "--output-file", "o"]].concat(),
            "--output-file <FILE>",
        ),
        (&[&shard[..], &saved, &["--emit-otel"]].concat(), "'--emit-otel'"),
        (&[&shard[..], &saved, &["--fail-fast"]].concat(), "'--fail-fast'"),
        (&[&shard[..], &saved, &["--until-decided"]].concat(), "'--until-decided'"),
        (&[&shard[..], &saved, &["--baseline", "b.evalrun"]].concat(), "'--baseline"),
        (&[&shard[..], &saved, &["--update-baseline"]].concat(), "'--update-baseline'"),
        (&[&shard[..], &saved, &["-c", "f.yaml"]].concat(), "the key `fail_fast`"),
        (&[&shard[..], &saved, &["-c", "b.yaml"]].concat(), "the key `baseline`"),
    ] {
        let config = if options.contains(&"-c") { &[][..] } else { &["-c", "c.yaml"] };
        let ran = directory.run(&[&["t.jsonl"], config, options].concat());
        assert_eq!(ran.code, Some(2), "{options:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(reason), "{options:?}: {}", ran.stderr);
        for file in ["p.evalrun", "o"] {
            assert!(!directory.join(file).exists(), "{options:?} wrote {file}");
        }
    }
}

#[test]
fn a_shard_that_was_killed_goes_on_and_one_that_is_missing_is_named() {
    let directory = traps();
    let files = shards(&directory, 3, &[]);
    let whole = forms(&directory, &files, &[]);
    // Killed after its first two evaluations.
    let killed = &files[1];
    let text = directory.read(killed);
    let kept: Vec<&str> = text.lines().take(3).collect();
    directory.file(killed, kept.join("\n") + "\n");
    let report = |files: &[&str]| directory.evaluator(&[&["report", "-o", "json"], files].concat());
    let all: Vec<&str> = files.iter().map(String::as_str).collect();
    let partial = report(&all).exits(3);
    let json = partial.json();
    let reason = format!("{killed} has no end line");
    assert!(json["errors"].to_string().contains(&reason), "{}", json["errors"]);
    assert_eq!(json["partial"], true);
    run(&directory, killed, &["--shard", "2/3", "--resume"]).exits(0).says("PART 2/3: ");
    directory.file(killed, without_chance(&directory.read(killed)));
    let again = forms(&directory, &files, &[]);
    let without_reused = |forms: &[(String, String)]| {
        forms.iter().find(|(form, _)| form == "csv").map(|(_, text)| text.clone())
    };
    assert_eq!(without_reused(&again.1), without_reused(&whole.1));
    for (given, missing) in [
        (&all[..2], "shard 3/3 is missing"),
        (&[all[0], all[2]], "shard 2/3 is missing"),
        (&all[1..2], "shard 1/3 is missing"),
    ] {
        let ran = report(given).exits(3);
        let json = ran.json();
        assert!(json["errors"].to_string().contains(missing), "{}", json["errors"]);
        assert_eq!(json["partial_reason"], "parts of the run are missing, or not known to be all");
    }
}

#[test]
fn a_shard_that_was_cancelled_gives_way_to_its_repeat() {
    let directory = Directory::new();
    let lines: String = (0..8).map(|it| line(&format!("t{it}"), "hello", &[], None)).collect();
    directory.file("t.jsonl", lines);
    // The third evaluation waits.
    directory.script(
        "scores",
        r#"cat >/dev/null; echo >>asked; if [ "$(wc -l <asked)" = 3 ] && [ ! -e go ]; then echo $$ >waiting; sleep 600; fi; echo '{"score": 1}'"#,
    );
    directory.file("c.yaml", "evaluators:\n- {name: scores, type: code, path: ./scores}\n");
    let args = |file: &'static str| {
        ["t.jsonl", "-c", "c.yaml", "--jobs", "1", "--shard", "1/1", "--save-run", file]
    };
    let mut child =
        directory.command(&[&["run"], &args("cancelled.evalrun")[..]].concat()).spawn().unwrap();
    wait_for_line(&directory.join("waiting"));
    assert!(signal("TERM", &child.id().to_string()));
    assert_eq!(child.wait().unwrap().code(), Some(3));
    directory.file("go", "");
    directory.run(&args("whole.evalrun")).exits(0);
    let whole = forms(&directory, &["whole.evalrun".to_owned()], &[]);
    assert_eq!(whole.0, Some(0));
    for files in [["cancelled.evalrun", "whole.evalrun"], ["whole.evalrun", "cancelled.evalrun"]] {
        let both = forms(&directory, &files.map(str::to_owned), &[]);
        assert_eq!(both.0, Some(0), "{}", both.2);
        let cases = |forms: &[(String, String)]| {
            forms.iter().find(|it| it.0 == "junit").unwrap().1.matches("<testcase").count()
        };
        assert_eq!(cases(&both.1), cases(&whole.1));
        assert!(both.2.contains("2 conversations were there several times"), "{}", both.2);
    }
    let alone = directory.evaluator(&["report", "-o", "json", "cancelled.evalrun"]).exits(3);
    assert_eq!(alone.json()["partial"], true);
}

/// The report as JSON of a changed set of parts, which is never green.
pub(crate) fn broken(directory: &Directory, files: &[&str], reason: &str) -> Value {
    let ran = directory.evaluator(&[&["report", "-o", "json"], files].concat());
    let json = ran.exits(3).json();
    assert!(json["errors"].to_string().contains(reason), "{reason}: {}", json["errors"]);
    json
}

pub(crate) fn refused(directory: &Directory, args: &[&str], reason: &str) {
    let ran = directory.evaluator(&[&["report", "-o", "json"], args].concat());
    ran.exits(2).says(reason).reports_nothing();
}

#[test]
fn each_damage_of_a_shard_is_named_with_its_file() {
    let directory = traps();
    let files = shards(&directory, 2, &[]);
    let [first, second] = &files[..] else { panic!("{files:?}") };
    let text = directory.read(second);
    let lines: Vec<&str> = text.lines().collect();
    let conversation =
        lines.iter().position(|it| it.contains("\"kind\":\"conversation\"")).unwrap();
    let without = |line: usize| {
        let kept = lines.iter().enumerate().filter(|(place, _)| *place != line);
        kept.map(|(_, line)| format!("{line}\n")).collect::<String>()
    };
    let changed = |from: &str, to: &str, is_sealed: bool| {
        let line = lines[conversation].replacen(from, to, 1);
        assert_ne!(line, lines[conversation]);
        let line = match is_sealed {
            true => sealed(line.split_once(',').unwrap().1),
            false => format!("{line}\n"),
        };
        text.replace(&format!("{}\n", lines[conversation]), &line)
    };
    let number = conversation + 1;
    for (text, reason) in [
        (String::new(), "d.evalrun is empty".to_owned()),
        (text[..text.len() - 9].to_owned(), format!("d.evalrun, line {}", lines.len())),
        (without(lines.len() - 1), "d.evalrun has no end line".to_owned()),
        (without(conversation), "d.evalrun: its conversations are not as many".to_owned()),
        (changed("PASSED", "FAILED", false), format!("d.evalrun, line {number} (byte ")),
        (changed("\"content\":\"", "\"content\":\"0", false), format!("d.evalrun, line {number}")),
        (changed("\"turns\":1", "\"turns\":2", false), format!("d.evalrun, line {number}")),
        (
            changed("\"trace_id\":\"", "\"trace_id\":\"x", true),
            // Of ids in other shards, half are.
            "d.evalrun".to_owned(),
        ),
    ] {
        directory.file("d.evalrun", text);
        let json = broken(&directory, &[first, "d.evalrun"], &reason);
        assert_eq!(json["partial"], true, "{reason}");
        assert!(!json["traces"].as_array().unwrap().is_empty());
    }
}

#[test]
fn parts_of_other_runs_are_refused_with_the_first_difference() {
    let directory = traps();
    let shard = |file: &str, shard: &str, more: &[&str]| {
        run(&directory, file, &[&["--shard", shard], more].concat()).exits(0);
    };
    shard("1.evalrun", "1/2", &[]);
    shard("2-of-3.evalrun", "2/3", &[]);
    shard("gate.evalrun", "2/2", &["--gate", "scores: mean >= 0.1"]);
    shard("rate.evalrun", "2/2", &["--max-error-rate", "0.5"]);
    run(&directory, "whole.evalrun", &[]);
    let config = directory.read("c.yaml");
    let other = |file: &str, config: String| {
        directory.file("c.yaml", config);
        shard(file, "2/2", &[]);
    };
    other("timeout.evalrun", config.replace("./breaks}", "./breaks, timeout: 7}"));
    other("threshold.evalrun", config.replace("./breaks}", "./breaks, threshold: 0.25}"));
    let mut lines: Vec<&str> = config.split_inclusive('\n').collect();
    lines.swap(1, 2);
    other("order.evalrun", lines.concat());
    directory.file("c.yaml", config);
    directory.file("t.jsonl", line("x", "x", &[], None) + &directory.read("t.jsonl"));
    shard("inputs.evalrun", "2/2", &[]);
    for (other, reason) in [
        ("2-of-3.evalrun", "one is a shard of 2, the other of 3"),
        ("gate.evalrun", "their gates differ: `scores: mean >= 0.1` is only in the second"),
        ("rate.evalrun", "`max_error_rate` is 0.0 in the first and 0.5 in the second"),
        ("whole.evalrun", "the first is a shard, the second is a whole run"),
        ("timeout.evalrun", "`evaluators.breaks.settings.timeout` is another one; "),
        (
            "threshold.evalrun",
            "`evaluators.breaks.threshold` is 0.5 in the first and 0.25 in the second",
        ),
        ("order.evalrun", "their evaluators are not in the same order"),
        ("inputs.evalrun", "they are shards of other traces"),
    ] {
        refused(&directory, &["1.evalrun", other], reason);
    }
    refused(&directory, &["1.evalrun", "--expect", "3"], "--expect and --eval-set are about parts");
}

/// Changes the first line of this kind in a run file, which has a valid checksum again.
fn forged(text: &str, kind: &str, change: impl Fn(&mut Value)) -> String {
    let start = format!("\"kind\":\"{kind}\",");
    let line = |line: &str| {
        if !line.contains(&start) {
            return format!("{line}\n");
        }
        let mut record: Value = serde_json::from_str(line).unwrap();
        record.as_object_mut().unwrap().retain(|key, _| key != "crc32" && key != "kind");
        change(&mut record);
        sealed(&format!("{start}{}", record.to_string().strip_prefix('{').unwrap()))
    };
    text.lines().map(line).collect()
}

#[test]
fn parts_with_the_plan_of_others_and_other_policies_are_refused() {
    let directory = traps();
    let files = shards(&directory, 2, &["--gate", "scores: mean >= 0.1"]);
    let second = directory.read(&files[1]);
    for (key, value, reason) in [
        ("settings", json!(0.5), "`settings.max_error_rate` is 0.0 in the first and 0.5 in"),
        ("report", json!(0.5), "`max_error_rate` is 0.0 in the first and 0.5 in the second"),
    ] {
        let text =
            forged(&second, "header", |header| header[key]["max_error_rate"] = value.clone());
        directory.file("forged.evalrun", text);
        refused(&directory, &[&files[0], "forged.evalrun"], reason);
    }
    let text = forged(&second, "header", |header| header["gates"] = json!([]));
    directory.file("forged.evalrun", text);
    let reason = "their gates differ: `scores: mean >= 0.1` is only in the first";
    refused(&directory, &[&files[0], "forged.evalrun"], reason);
    // The last line decides in a report.
    let text = forged(&second, "end", |end| end["report"]["max_error_rate"] = json!(1.0));
    directory.file("forged.evalrun", text);
    let reason = "forged.evalrun: its last line has other policies than its first one";
    broken(&directory, &[&files[0], "forged.evalrun"], reason);
}

#[test]
fn errors_of_the_input_name_their_file_and_are_in_the_order_of_their_lines() {
    let (directory, run) = whole(&[]);
    let part = filtered(&run, &[0], 3);
    // Equal but for their lines, so that nothing else tells them apart.
    directory.file("b.evalrun", &part);
    directory.file("a.evalrun", filtered(&run, &[1], 2));
    let expected = ["a.evalrun, line 3", "a.evalrun, line 4", "b.evalrun, line 3"];
    let expected = expected.into_iter().chain(["b.evalrun, line 4", "b.evalrun, line 5"]);
    let expected: Vec<String> = expected
        .map(|place| {
            let line = place[place.len() - 1..].parse::<usize>().unwrap() - 1;
            format!("{place}: line {line} (byte 0) of the input cannot be used (unreadable_line): it is not JSON")
        })
        .collect();
    for files in [["a.evalrun", "b.evalrun"], ["b.evalrun", "a.evalrun"]] {
        let json = broken(&directory, &[&files[..], &["--expect", "7"]].concat(), "");
        // The first one is about a file of the run.
        assert_eq!(json["errors"].as_array().unwrap()[1..], expected);
    }
    // Of equal parts, the first one is named.
    directory.file("c.evalrun", &part);
    let args = ["c.evalrun", "b.evalrun", "a.evalrun", "--expect", "7"];
    assert_eq!(broken(&directory, &args, "")["errors"].as_array().unwrap()[1..], expected);
}

#[test]
fn parts_are_compared_and_shown_as_they_are_reported() {
    let (directory, run) = whole(&[]);
    let all: Vec<usize> = (0..run.conversations.len()).collect();
    let count = all.len().to_string();
    directory.file("a.evalrun", filtered(&run, &all[..3], 0));
    directory.file("b.evalrun", filtered(&run, &all[3..], 0));
    directory.file("joined.evalrun", directory.read("a.evalrun") + &directory.read("b.evalrun"));
    let compare = |args: &[&str]| directory.evaluator(&[&["compare", "-o", "json"], args].concat());
    compare(&["joined.evalrun", "a.evalrun", "b.evalrun"])
        .exits(2)
        .says("join the parts of each run first, in any order: `cat PART.. >RUN`");
    compare(&["joined.evalrun", "whole.evalrun"])
        .exits(2)
        .says("joined.evalrun is not compared, because parts of the run are missing, or not known to be all")
        .says("with --expect N");
    for files in [["joined.evalrun", "whole.evalrun"], ["joined.evalrun", "joined.evalrun"]] {
        // A trap of the run breaks in both.
        let ran = compare(&[&files[..], &["--expect", &count]].concat()).exits(3);
        assert!(ran.stderr.contains("joined.evalrun is a run in which something broke"));
        let compared = ran.json();
        assert!(compared.is_object(), "{compared}");
    }
    let any = compare(&["joined.evalrun", "whole.evalrun", "--expect", "any"]).exits(3);
    any.says("joined.evalrun: parts that are missing are not noticed (--expect any)");
    compare(&["whole.evalrun", "whole.evalrun", "--expect", "3"])
        .exits(2)
        .says("--expect and --eval-set are about parts that `pipe` wrote");
    let shards = shards(&directory, 2, &[]);
    directory
        .file("shards.evalrun", shards.iter().map(|it| directory.read(it)).collect::<String>());
    compare(&["shards.evalrun", "whole.evalrun"]).exits(3);
    let page = |args: &[&str]| {
        let mut command = directory.command(&[&["view"], args].concat());
        command.env("EVALUATOR_CACHE_DIR", directory.join("cache")).env_remove("DISPLAY");
        let ran = finish(command.env_remove("WAYLAND_DISPLAY").spawn().unwrap()).exits(0);
        fs::read(ran.stdout.trim()).unwrap()
    };
    let known = page(&["a.evalrun", "b.evalrun", "--expect", &count]);
    assert_ne!(page(&["a.evalrun", "b.evalrun"]), known);
}

#[test]
fn another_environment_and_what_cannot_be_followed_are_warnings() {
    let directory = traps();
    let files = shards(&directory, 2, &[]);
    let text = directory.read(&files[1]);
    let (header, rest) = text.split_once('\n').unwrap();
    let mut changed: Value = serde_json::from_str(header).unwrap();
    let digest = Value::from("0".repeat(64));
    changed["evaluators"][0]["environment"]["interpreter"] = digest;
    changed["evaluators"][1]["fingerprint"] = Value::Null;
    changed.as_object_mut().unwrap().remove("crc32");
    // `kind` comes first.
    let text = changed.to_string();
    let body = format!(
        "\"kind\":\"header\",{}",
        text.replacen("\"kind\":\"header\",", "", 1).strip_prefix('{').unwrap()
    );
    directory.file("changed.evalrun", sealed(&body) + rest);
    let ran = directory.evaluator(&["report", "-o", "json", &files[0], "changed.evalrun"]);
    let warnings = ran.json()["warnings"].to_string();
    for warning in [
        "scores was not in the same environment in all parts: `interpreter` differs",
        "breaks may not be the same in all parts: changes of it would not be noticed",
    ] {
        assert!(warnings.contains(warning), "{warnings}");
    }
}

#[test]
fn the_same_conversation_with_other_results_or_other_spans_is_shown_with_both_places() {
    let directory = traps();
    let files = shards(&directory, 2, &[]);
    let text = directory.read(&files[0]);
    let change = |from: &str, to: &str| {
        let mut is_first = true;
        let lines = text.lines().map(|line| {
            if !line.contains("\"kind\":\"conversation\"") || !is_first || !line.contains(from) {
                return format!("{line}\n");
            }
            is_first = false;
            sealed(&line.split_once(',').unwrap().1.replacen(from, to, 1))
        });
        let changed: String = lines.collect();
        assert_ne!(changed, text);
        directory.file("other.evalrun", changed);
    };
    change("\"details\":{\"length\":", "\"details\":{\"length\":9");
    let json = broken(
        &directory,
        &[&files[1], &files[0], "other.evalrun"],
        " (1 turn); report one of the two",
    );
    let errors = json["errors"].to_string();
    assert!(
        errors.contains("1-2.evalrun, line ") && errors.contains("other.evalrun, line "),
        "{errors}"
    );
    // The other order says the same.
    let again = broken(&directory, &["other.evalrun", &files[0], &files[1]], "has other results");
    assert_eq!(json["errors"], again["errors"]);
    assert_eq!(json["traces"], again["traces"]);
}

/// The part that a filter writes for these conversations of a run.
pub(crate) fn filtered(run: &Report, numbers: &[usize], unusable: usize) -> Vec<u8> {
    let out = Written::default();
    let mut writer = RunWriter::stream(Box::new(out.clone()));
    let header: Header = (**run.header.as_ref().unwrap()).clone();
    let inputs = None;
    writer.start(Header { conversations: 0, inputs, ..header });
    for (line, number) in numbers.iter().enumerate() {
        let mut conversation: ConversationReport = run.conversations.get(*number).unwrap().unwrap();
        conversation.trace_file = None;
        writer.conversation(line, &conversation);
    }
    for line in numbers.len()..numbers.len() + unusable {
        let (error_type, message) = ("unreadable_line".to_owned(), "it is not JSON".to_owned());
        let content = Digest::default();
        writer.input_error(
            line,
            &InputError { line: line as u64 + 1, offset: 0, error_type, message, content },
        );
    }
    let mut report = run.header.as_ref().unwrap().report.clone();
    assert!(writer.finish(&mut report).is_none());
    out.bytes()
}

/// A directory with a whole run and its report.
pub(crate) fn whole(more: &[&str]) -> (Directory, Report) {
    let directory = traps();
    run(&directory, "whole.evalrun", more);
    directory.file("whole.evalrun", without_chance(&directory.read("whole.evalrun")));
    let report = read(&[directory.join("whole.evalrun")], false).unwrap();
    (directory, report)
}

#[test]
fn a_file_of_another_part_is_not_resumed_and_not_changed() {
    let (directory, report) = whole(&[]);
    directory.file("pipe.evalrun", filtered(&report, &[0, 1], 0));
    let shard = &shards(&directory, 2, &[])[0];
    let resume = ["--resume"];
    let other = ["--resume", "--shard", "2/2"];
    for (file, more, found, expected) in [
        ("pipe.evalrun", &resume[..], "a part that `evaluator pipe` wrote", "a whole run"),
        (shard, &resume, "shard 1/2", "a whole run"),
        (shard, &other, "shard 1/2", "shard 2/2"),
        ("whole.evalrun", &other, "a whole run", "shard 2/2"),
    ] {
        let before = directory.read(file);
        let reason =
            format!("{file} has {found}, and was not changed: {expected} cannot resume it");
        run(&directory, file, more).exits(2).says(&reason);
        assert_eq!(directory.read(file), before);
    }
}

#[test]
fn a_whole_set_of_parts_is_a_baseline_and_an_incomplete_one_is_not() {
    let directory = traps();
    fs::remove_file(directory.join("broken.json")).unwrap();
    let shard = |number: &str| {
        let (file, shard) = (format!("{number}.evalrun"), format!("{number}/2"));
        let args = [
            "t.jsonl",
            "five.json",
            "--evaluator",
            "./always",
            "--save-run",
            &file,
            "--shard",
            &shard,
        ];
        directory.run(&args).exits(0);
    };
    directory.script("always", "cat >/dev/null; echo '{\"score\": 1}'");
    shard("1");
    shard("2");
    let update = ["--baseline", "b.evalrun", "--update-baseline"];
    directory.evaluator(&[&["report", "1.evalrun"][..], &update].concat()).exits(3);
    assert!(!directory.join("b.evalrun").exists());
    directory.evaluator(&[&["report", "2.evalrun", "1.evalrun"][..], &update].concat()).exits(0);
    let whole = directory.evaluator(&["report", "b.evalrun"]).exits(0);
    let parts = directory.evaluator(&["report", "1.evalrun", "2.evalrun"]).exits(0);
    assert_eq!(whole.stderr.lines().last(), parts.stderr.lines().last());
    let claims = ["--baseline", "b.evalrun", "--no-regressions"];
    directory.evaluator(&[&["report", "1.evalrun", "2.evalrun"][..], &claims].concat()).exits(0);
    let golden = Golden::default();
    assert_eq!(golden.digest(), golden.clone().without_cases().digest());
}
