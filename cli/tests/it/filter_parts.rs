//! Parts that the filter form writes, reported together.

use std::io::Write as _;

use evaluator_host::report::{
    ConversationReport, Report,
    run_file::{Digest, Header, RunWriter},
};
use evaluator_test_support::Written;
use flate2::{Compression, write::GzEncoder};
use serde_json::{Value, json};

use crate::{
    shards::{broken, filtered, refused, whole},
    support::eval_set,
};

#[test]
fn parts_of_a_filter_are_whole_only_if_it_is_known_how_many_lines_were_sent() {
    let (directory, run) = whole(&[]);
    let all: Vec<usize> = (0..run.conversations.len()).collect();
    let count = all.len();
    let halves = [&all[..3], &all[3..]];
    directory.file("a.evalrun", filtered(&run, halves[0], 0));
    directory.file("b.evalrun", filtered(&run, halves[1], 0));
    let report = |args: &[&str]| {
        directory.evaluator(&[&["report", "-o", "json", "a.evalrun", "b.evalrun"], args].concat())
    };
    let sent = count.to_string();
    let known = report(&["--expect", &sent]);
    assert_eq!(known.json()["partial"], Value::Null);
    // The unusable file of the run is no line.
    let ids = known.json()["traces"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["trace_id"].to_string())
        .collect::<Vec<_>>();
    assert!(ids.is_sorted() && ids.len() == count, "{ids:?}");
    let any =
        report(&["--expect", "any"]).says("parts that are missing are not noticed (--expect any)");
    let unchecked = "parts that are missing are not noticed, as --expect any asks for";
    let mut expected = known.json();
    expected["warnings"].as_array_mut().unwrap().push(unchecked.into());
    let mut found = any.json();
    found["warnings"].as_array_mut().unwrap().sort_by_key(|it| it.as_str() == Some(unchecked));
    assert_eq!(found, expected);
    for form in ["junit", "markdown", "github"] {
        let args = ["report", "-o", form, "a.evalrun", "b.evalrun", "--expect", "any"];
        let ran = directory.evaluator(&args);
        assert!(ran.stdout.contains("not noticed, as --expect any asks for"), "{}", ran.stdout);
    }
    let unknown = report(&[]).exits(3);
    assert!(
        unknown.json()["errors"].to_string().contains("it is not known whether parts are missing")
    );
    for expected in [count - 1, count + 1] {
        let expected = expected.to_string();
        let json = report(&["--expect", &expected]).exits(3).json();
        let reason = format!("the parts have read {count} lines, and {expected} were sent");
        let hint =
            "equal parts count once: if lines of the input are equal, divide `sort -u` of it";
        let errors = json["errors"].to_string();
        assert!(errors.contains(&reason), "{errors}");
        assert_eq!(errors.contains(hint), expected == (count + 1).to_string(), "{errors}");
    }
    // Parts of a job that was divided in another way overlap.
    directory.file("c.evalrun", filtered(&run, &all[2..], 0));
    let json = directory
        .evaluator(&["report", "-o", "json", "a.evalrun", "c.evalrun", "--expect", &sent])
        .exits(3)
        .json();
    assert!(json["errors"].to_string().contains("the parts have read"), "{}", json["errors"]);
    // The overlap makes up for what is in none.
    directory.file("d.evalrun", filtered(&run, &all[1..count - 1], 0));
    let overlap = |expected: &str| {
        let args = ["report", "-o", "json", "a.evalrun", "d.evalrun", "--expect", expected];
        directory.evaluator(&args)
    };
    let read = (3 + count - 2).to_string();
    let json = overlap(&read).exits(3).json();
    let reason = "2 lines are in several parts, so it is not known whether others are missing";
    assert!(json["errors"].to_string().contains(reason), "{}", json["errors"]);
    assert_eq!(json["partial_reason"], "parts of the run are missing, or not known to be all");
    assert_eq!(overlap("any").json()["partial"], Value::Null);
    // A line that is twice in one part was sent twice.
    directory.file("e.evalrun", filtered(&run, &[0, 1, 2, 2], 0));
    let sent_twice = (count + 1).to_string();
    let json = directory
        .evaluator(&["report", "-o", "json", "e.evalrun", "b.evalrun", "--expect", &sent_twice])
        .json();
    assert_eq!((&json["partial"], &json["traces"]), (&Value::Null, &known.json()["traces"]));
    // The same part twice is one, also under another name and joined.
    directory.file(
        "all.evalrun",
        ["a", "b", "a"].map(|it| directory.read(&format!("{it}.evalrun"))).concat(),
    );
    let joined = directory.evaluator(&["merge", "-o", "json", "all.evalrun", "--expect", &sent]);
    assert_eq!(joined.stdout, known.stdout);
    joined.says("3 conversations were there several times with the same results, and counted once");
    refused(
        &directory,
        &["a.evalrun", "whole.evalrun"],
        "the first is a part of `pipe`, the second is a whole run",
    );
    refused(&directory, &["a.evalrun", "--expect", "x"], "expected the number of lines");
    let update = ["--expect", "any", "--baseline", "base.json", "--update-baseline"];
    refused(&directory, &[&["a.evalrun"], &update[..]].concat(), "its report is no baseline");
    assert!(!directory.join("base.json").exists());
}

#[test]
fn lines_that_cannot_be_used_and_filters_that_were_killed_are_errors() {
    let (directory, run) = whole(&[]);
    let text = filtered(&run, &[0, 1, 2], 1);
    directory.file("a.evalrun", &text);
    let json =
        broken(&directory, &["a.evalrun", "--expect", "4"], "cannot be used (unreadable_line)");
    assert_eq!((json["traces"].as_array().unwrap().len(), &json["partial"]), (3, &Value::Null));
    // The first ones are named, all are counted.
    directory.file("many.evalrun", filtered(&run, &[0], 130));
    let more = "many.evalrun: 30 more lines of the input cannot be used; its records of the kind `input_error` name them";
    let json = broken(&directory, &["many.evalrun", "--expect", "131"], more);
    let errors = json["errors"].to_string();
    assert_eq!(errors.matches("of the input cannot be used (unreadable_line)").count(), 100);
    for (form, count) in [
        ("overview", "and 121 more errors: "),
        ("html", "131 errors in all"),
        // Two evaluations failed, too.
        ("github", "123 errors more; "),
    ] {
        let ran = directory.evaluator(&["report", "-o", form, "many.evalrun", "--expect", "131"]);
        assert!(ran.stdout.contains(count), "{form}: {}", ran.stdout);
        ran.says("; 131 errors outside of any conversation");
    }
    assert_eq!(json["partial"], Value::Null);
    let text = String::from_utf8(text).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    directory.file("b.evalrun", lines[..3].join("\n") + "\n");
    let json = broken(
        &directory,
        &["b.evalrun", "--expect", "2"],
        "b.evalrun has no end line: a filter was killed",
    );
    assert_eq!(json["partial"], true);
    // Without one of its lines.
    directory.file("c.evalrun", [&lines[..1], &lines[2..]].concat().join("\n") + "\n");
    broken(&directory, &["c.evalrun", "--expect", "4"], "its conversations are not as many");
    let other = lines[1].replacen("\"turns\":1", "\"turns\":2", 1);
    directory.file("d.evalrun", text.replace(lines[1], &other));
    broken(&directory, &["d.evalrun", "--expect", "4"], "d.evalrun, line 2 (byte ");
    let more = "; what it recorded is not in the report, send its lines to another filter";
    broken(&directory, &["d.evalrun", "--expect", "4"], more);
}

#[test]
fn parts_in_another_encoding_are_named_with_it_and_blank_lines_between_parts_are_nothing() {
    let (directory, run) = whole(&[]);
    let part = filtered(&run, &[0, 1], 0);
    let lines = String::from_utf8(part.clone()).unwrap();
    let other = String::from_utf8(filtered(&run, &[2], 0)).unwrap();
    directory.file("other.evalrun", &other);
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(&part).unwrap();
    let utf_16: Vec<u8> = lines.encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (content, encoding) in [
        (gzip.finish().unwrap(), "compressed with gzip; decompress it"),
        (zstd::encode_all(&*part, 0).unwrap(), "compressed with zstd; decompress it"),
        ([b"\xef\xbb\xbf", &*part].concat(), "text that starts with a byte order mark"),
        ([b"\xff\xfe", &*utf_16].concat(), "UTF-16"),
    ] {
        directory.file("part.evalrun", content);
        let problem = format!("part.evalrun is {encoding}");
        refused(&directory, &["part.evalrun", "other.evalrun", "--expect", "3"], &problem);
        refused(&directory, &["part.evalrun", "--expect", "2"], &problem);
    }
    directory.file("joined.evalrun", format!("{lines}\n{other}\n"));
    let ran = directory.evaluator(&["report", "joined.evalrun", "--expect", "3", "-o", "json"]);
    assert_eq!(ran.json()["partial"], Value::Null, "{}", ran.stderr);
}

#[test]
fn errors_about_a_part_of_a_joined_file_name_the_line_at_which_it_starts() {
    let (directory, run) = whole(&[]);
    let text = String::from_utf8(filtered(&run, &[0, 1, 2], 1)).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let join = |parts: &[&[&str]]| {
        let text: String = parts.concat().iter().map(|line| format!("{line}\n")).collect();
        directory.file("joined.evalrun", text);
    };
    let without_a_line = [&lines[..1], &lines[2..]].concat();
    for (parts, problem) in [
        ([&lines[..], &lines[..3]], "joined.evalrun (the part from line 7 on) has no end line"),
        ([&lines[..3], &lines[..]], "joined.evalrun (the part from line 1 on) has no end line"),
        (
            [&lines[..], &without_a_line],
            "joined.evalrun (the part from line 7 on): its conversations are not as many",
        ),
    ] {
        join(&parts);
        broken(&directory, &["joined.evalrun", "--expect", "4"], problem);
    }
    let whole = directory.read("whole.evalrun");
    join(&[&lines, &whole.lines().collect::<Vec<_>>()]);
    let difference = "joined.evalrun and joined.evalrun are not parts of one run: the second starts at line 7, and the first is a \
                      part of `pipe`";
    refused(&directory, &["joined.evalrun"], difference);
}

#[test]
fn halves_of_a_conversation_are_never_joined() {
    let (directory, run) = whole(&[]);
    let part = |file: &str, change: &dyn Fn(&mut ConversationReport)| {
        let out = Written::default();
        let mut writer = RunWriter::stream(Box::new(out.clone()));
        let header: Header = (**run.header.as_ref().unwrap()).clone();
        writer.start(Header { inputs: None, ..header });
        let mut conversation = run.conversations.get(0).unwrap().unwrap();
        change(&mut conversation);
        writer.conversation(0, &conversation);
        assert!(writer.finish(&mut Report::default()).is_none());
        directory.file(file, out.bytes());
    };
    part("a.evalrun", &|it| it.session = Some("s".into()));
    part("b.evalrun", &|it| {
        it.content = Some(Digest::default());
        it.turns = 2;
    });
    let json = broken(
        &directory,
        &["a.evalrun", "b.evalrun", "--expect", "2"],
        "with other spans in b.evalrun, line 2 (2 turns)",
    );
    assert!(
        json["errors"].to_string().contains("a.evalrun, line 2 (1 turn)"),
        "{}",
        json["errors"]
    );
    part("c.evalrun", &|it| {
        it.session = Some("s".into());
        it.trace_id = "other".into();
    });
    let reason = "the traces of the conversation s are in a.evalrun, line 2 (1 turn) and c.evalrun, line 2 (1 turn)";
    broken(&directory, &["c.evalrun", "a.evalrun", "--expect", "2"], reason);
}

#[test]
fn required_cases_of_filters_need_their_eval_set() {
    let (directory, run) = whole(&["--require-all-cases"]);
    let all: Vec<usize> = (0..run.conversations.len()).collect();
    directory.file("a.evalrun", filtered(&run, &all, 0));
    let sent = all.len().to_string();
    let args = ["a.evalrun", "--expect", &*sent];
    refused(&directory, &args, "name the eval set of the run with --eval-set");
    let goldens = eval_set("library");
    let ran = directory.evaluator(&[&["report", "-o", "json", "-e", &goldens][..], &args].concat());
    let whole = directory.evaluator(&["report", "-o", "json", "whole.evalrun"]).json();
    assert_eq!(ran.json()["unrecorded_cases"], whole["unrecorded_cases"]);
    directory.file("e.json", json!({"eval_set_id": "e", "eval_cases": []}).to_string());
    refused(&directory, &[&["-e", "e.json"], &args[..]].concat(), "the eval set is not the one");
}

#[test]
fn filters_without_input_change_nothing() {
    let (directory, run) = whole(&[]);
    let all: Vec<usize> = (0..run.conversations.len()).collect();
    directory.file("a.evalrun", filtered(&run, &all, 0));
    let empty = |file: &str, change: &dyn Fn(&mut Report)| {
        let out = Written::default();
        let mut writer = RunWriter::stream(Box::new(out.clone()));
        let mut policies = run.header.as_ref().unwrap().report.clone();
        policies.errors.clear();
        change(&mut policies);
        writer.start(Header { report: policies.clone(), ..Header::default() });
        assert!(writer.finish(&mut policies).is_none());
        directory.file(file, out.bytes());
    };
    empty("empty.evalrun", &|_| ());
    empty("other.evalrun", &|report| report.max_error_rate = 1.0);
    let sent = all.len().to_string();
    let report = |files: &[&str]| {
        directory.evaluator(&[&["report", "-o", "json", "--expect", &sent], files].concat())
    };
    let expected = report(&["a.evalrun"]).stdout;
    assert_eq!(report(&["empty.evalrun", "a.evalrun", "empty.evalrun"]).stdout, expected);
    assert_eq!(report(&["a.evalrun", "empty.evalrun"]).stdout, expected);
    for files in [["a.evalrun", "other.evalrun"], ["other.evalrun", "a.evalrun"]] {
        report(&files).exits(2).says("`max_error_rate` is ");
    }
    report(&["empty.evalrun", "other.evalrun", "a.evalrun"]).exits(2).says("`max_error_rate` is ");
    directory
        .evaluator(&["report", "empty.evalrun", "--expect", "0"])
        .exits(1)
        .says("NOTHING EVALUATED");
}
