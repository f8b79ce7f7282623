//! Labels of all forms, and files that have none.

use std::fs;

use super::*;

/// Reads a file with this name and text.
fn read_with(name: &str, text: impl AsRef<[u8]>, meanings: &Meanings) -> Result<Labels, String> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    fs::write(&path, text).unwrap();
    let start = format!("{}/", directory.path().display());
    read_labels(&[path], meanings).map_err(|error| error.to_string().replace(&start, ""))
}

fn read(name: &str, text: impl AsRef<[u8]>) -> Result<Labels, String> {
    read_with(name, text, &Meanings::default())
}

/// What labels say, in short.
fn said(labels: &Labels) -> Vec<String> {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let labels = labels.labels.iter().map(|it| {
        let place = it.place.to_string();
        let place = place.rsplit_once('/').map_or(&*place, |(_, name)| name);
        let parts = [text(&it.case), text(&it.trace_id), it.value.to_string(), text(&it.rater)];
        format!("{place} {}", [&parts[..], &[text(&it.evaluator)]].concat().join("|"))
    });
    labels.collect()
}

#[test]
fn csv_is_read_with_its_lines_whatever_writes_it() {
    // A mark at the start, ends of lines of Windows, an empty line, quoted ends of lines, spaces, Unicode.
    let text = "\u{feff}case,label,rater,comment,other\r\nc1,PASS,Ana,\"two\r\nlines, and a comma\",x\r\n\r\n\"c,2\", no ,Бо,,\r\nc3,,Ana,,\r\nc4,1,,,\n";
    let labels = read("l.csv", text).unwrap();
    assert_eq!(
        said(&labels),
        ["l.csv:2 c1||pass|Ana|", "l.csv:5 c,2||fail|Бо|", "l.csv:7 c4||1||"]
    );
    assert_eq!(labels.counts.not_labelled, 1);
    assert_eq!(labels.labels[0].comment.as_deref(), Some("two\r\nlines, and a comma"));
}

#[test]
fn columns_may_be_separated_as_spreadsheets_of_other_countries_do() {
    for (separator, name) in [(";", "l.csv"), ("\t", "l.tsv")] {
        let text = "\u{feff}case;label;comment;rater, or none\r\nc1;PASS;\"a; b\nand \"\"c\"\", d\";\r\nc2;0;e, f;x\r\n";
        let labels = read(name, text.replace(';', separator)).unwrap();
        let (second, third) = (format!("{name}:2 c1||pass||"), format!("{name}:4 c2||0||"));
        assert_eq!(said(&labels), [second, third]);
        let comment = "a; b\nand \"c\", d".replace(';', separator);
        assert_eq!(labels.labels[0].comment.as_deref(), Some(&*comment));
    }
}

#[test]
fn json_lines_and_arrays_have_the_keys_of_columns() {
    let lines = "{\"trace_id\": \"t1\", \"label\": true, \"evaluator\": \"judge\"}\n\n{\"case\": 7, \"label\": 0.5, \"split\": \"test\"}\n{\"case\": \"c\", \"label\": null}\n";
    let labels = read("l.jsonl", lines).unwrap();
    assert_eq!(said(&labels), ["l.jsonl:1 |t1|pass||judge", "l.jsonl:3 7||0.5||"]);
    assert_eq!((labels.counts.not_labelled, labels.labels[1].split.as_deref()), (1, Some("test")));
    let array = r#"[{"case": "a", "label": "bad"}, {"case": "b", "label": 4}]"#;
    assert_eq!(
        said(&read("l.json", array).unwrap()),
        ["l.json: item 1 a||fail||", "l.json: item 2 b||4||"]
    );
}

#[test]
fn short_exports_of_label_studio_name_the_annotator_and_leave_out_what_has_no_label() {
    let item = |case: &str, label: &str, by: u8| {
        let rest = r#""created_at": "", "updated_at": "", "lead_time": 1.5"#;
        format!(
            r#"{{"case": "{case}", "id": 3, {label} "annotator": {by}, "annotation_id": null, {rest}}}"#
        )
    };
    let array =
        [item("a", "", 1), item("a", r#""label": "Yes","#, 2), item("b", r#""label": "No","#, 1)];
    let labels = read("l.json", format!("[{}]", array.join(","))).unwrap();
    assert_eq!(said(&labels), ["l.json: item 2 a||pass|2|", "l.json: item 3 b||fail|1|"]);
    assert_eq!(labels.counts.not_labelled, 1);
    let error = read("l.json", format!("[{}]", item("a", r#""verdict": "Yes","#, 1))).unwrap_err();
    assert!(error.starts_with("l.json: there is no label (1 rows without one"), "{error}");
    assert!(error.ends_with("the control has to be called `label`"), "{error}");
}

#[test]
fn exports_of_label_studio_have_a_label_for_each_annotation() {
    let result = |kind: &str, value: &str| {
        format!(
            r#"{{"id": "x", "from_name": "{kind}", "to_name": "chat", "type": "{kind}", "value": {value}}}"#
        )
    };
    let task = |id: u32, data: &str, annotations: &str| {
        format!(
            r#"{{"id": {id}, "project": 1, "data": {data}, "annotations": [{annotations}], "drafts": [], "predictions": []}}"#
        )
    };
    let annotation = |by: &str, cancelled: bool, results: &[String]| {
        let results = results.join(", ");
        format!(
            r#"{{"id": 9, "completed_by": {by}, "was_cancelled": {cancelled}, "ground_truth": false, "result": [{results}]}}"#
        )
    };
    let pass = result("choices", r#"{"choices": ["Pass"]}"#);
    let blank = result("textarea", r#"{"text": [" "]}"#);
    let text = result("textarea", r#"{"text": ["not\nbooked"]}"#);
    let both = [
        annotation("3", false, &[pass.clone(), blank, text]),
        annotation(
            r#"{"id": 4, "email": "b@example.org"}"#,
            false,
            &[result("choices", r#"{"choices": ["Fail"]}"#)],
        ),
        annotation("5", true, &[]),
        annotation("6", false, &[]),
    ];
    let tasks = [
        task(31, r#"{"case": "", "eval_case_id": "c1"}"#, &both.join(", ")),
        task(32, r#"{"trace_id": "t2", "text": "x"}"#, &annotation("3", false, &[pass])),
        task(33, r#"{"case": "c3"}"#, ""),
    ];
    let labels = read("e.json", format!("[{}]", tasks.join(",\n"))).unwrap();
    assert_eq!(
        said(&labels),
        [
            "e.json: task 1 (id 31) c1||pass|3|",
            "e.json: task 1 (id 31) c1||fail|b@example.org|",
            "e.json: task 2 (id 32) |t2|pass|3|",
        ]
    );
    assert_eq!((labels.counts.not_labelled, labels.counts.cancelled), (2, 1));
    assert_eq!(labels.labels[0].comment.as_deref(), Some("not\nbooked"));
    // Several controls are about one evaluator each.
    let rated = annotation(
        "3",
        false,
        &[result("tone", r#"{"rating": 4}"#), result("length", r#"{"number": 0.5}"#)],
    );
    let labels = read("e.json", format!("[{}]", task(1, r#"{"case": "c"}"#, &rated))).unwrap();
    assert_eq!(
        said(&labels),
        ["e.json: task 1 (id 1) c||4|3|tone", "e.json: task 1 (id 1) c||0.5|3|length"]
    );
    let twice = annotation("3", false, &[result("choices", r#"{"choices": ["Pass", "Fail"]}"#)]);
    let error = read("e.json", format!("[{}]", task(8, r#"{"case": "c"}"#, &twice))).unwrap_err();
    assert_eq!(error, "e.json: task 1 (id 8): the annotation has several choices; labels need one");
    let unknown = annotation("3", false, &[result("choices", r#"{"choices": ["Pass"]}"#)]);
    let error = read("e.json", format!("[{}]", task(8, r#"{"text": "x"}"#, &unknown))).unwrap_err();
    assert_eq!(error, "e.json: task 1 (id 8): its `data` has neither `case` nor `trace_id`");
    let empty = annotation("3", false, &[result("choices", r#"{"choices": [""]}"#)]);
    let error = read("e.json", format!("[{}]", task(8, r#"{"case": "c"}"#, &empty))).unwrap_err();
    assert_eq!(error, "e.json: task 1 (id 8): a label is empty; choose again");
}

#[test]
fn scores_of_langfuse_count_if_people_gave_them_to_traces() {
    let score = |members: &str| {
        format!(r#"{{"id": "s", "name": "judge", "timestamp": "2026-01-01T00:00:00Z", {members}}}"#)
    };
    let scores = [
        r#""traceId": "t1", "observationId": null, "source": "ANNOTATION", "dataType": "BOOLEAN", "value": 1, "stringValue": "True", "authorUserId": "u1", "comment": "fine""#,
        r#""traceId": "t2", "source": "ANNOTATION", "dataType": "CATEGORICAL", "value": null, "stringValue": "fail""#,
        r#""traceId": "t3", "source": "ANNOTATION", "dataType": "NUMERIC", "value": 0.25, "stringValue": null"#,
        r#""traceId": "t4", "source": "EVAL", "dataType": "NUMERIC", "value": 1"#,
        r#""traceId": "t5", "source": "API", "dataType": "NUMERIC", "value": 1"#,
        r#""traceId": "t6", "observationId": "o", "source": "ANNOTATION", "dataType": "NUMERIC", "value": 1"#,
        r#""sessionId": "s", "traceId": null, "source": "ANNOTATION", "dataType": "NUMERIC", "value": 1"#,
        r#""source": "ANNOTATION", "dataType": "BOOLEAN", "value": false, "subject": {"kind": "trace", "id": "t8"}"#,
        r#""traceId": "t9", "source": "ANNOTATION", "dataType": "TEXT", "value": null, "stringValue": "free""#,
    ]
    .map(score);
    let expected = ["|t1|pass|u1|judge", "|t2|fail||judge", "|t3|0.25||judge", "|t8|fail||judge"];
    for (name, text) in [
        ("page.json", format!(r#"{{"data": [{}], "meta": {{"page": 1}}}}"#, scores.join(", "))),
        ("array.json", format!("[{}]", scores.join(",\n"))),
        ("lines.jsonl", scores.join("\n")),
    ] {
        let labels = read(name, text).unwrap();
        let found = said(&labels);
        let found: Vec<&str> = found.iter().map(|it| it.rsplit_once(' ').unwrap().1).collect();
        assert_eq!(found, expected, "{name}");
        assert_eq!(
            (labels.counts.not_by_people, labels.counts.not_about_conversations),
            (2, 3),
            "{name}"
        );
    }
    let table = "id,trace_id,observation_id,name,source,data_type,value,string_value,author_user_id,comment\n1,t1,,judge,ANNOTATION,BOOLEAN,1,True,u1,\n2,t2,,judge,EVAL,NUMERIC,0.5,,,\n";
    let labels = read("scores.csv", table).unwrap();
    assert_eq!(
        (said(&labels), labels.counts.not_by_people),
        (vec!["scores.csv:2 |t1|pass|u1|judge".to_owned()], 1)
    );
}

#[test]
fn words_of_the_user_are_labels() {
    let mut meanings = Meanings::default();
    for word in ["partly=0.5", "Wrong = fail", "a=b=1"] {
        meanings.add(word).unwrap();
    }
    let text = "case,label\na,PARTLY\nb,wrong\nc,a=b\n";
    let labels = read_with("l.csv", text, &meanings).unwrap();
    assert_eq!(said(&labels), ["l.csv:2 a||0.5||", "l.csv:3 b||fail||", "l.csv:4 c||1||"]);
    meanings.add("good=5").unwrap();
    let labels = read_with("l.csv", "case,label\na,good\n", &meanings).unwrap();
    assert_eq!(said(&labels), ["l.csv:2 a||5||"]);
    for (text, message) in [
        ("x", "WORD=MEANING"),
        ("x=maybe", "`maybe`"),
        ("=1", "missing"),
        ("pass=fail", "`pass` has a meaning already"),
        ("NO=no", "`NO` has"),
        ("1=0", "`1` is a number"),
    ] {
        assert!(meanings.add(text).unwrap_err().contains(message), "{text}");
    }
}

#[test]
fn quotes_that_are_closed_or_open_no_cell_are_text() {
    let text = "case,label,comment\na,pass,5\" wide\r\nb,\"fail\",\"he said \"\"no\"\"\"\nc,pass,\"\"\nd,pass,\"x\"y\"\n";
    let labels = read("l.csv", text).unwrap();
    let comments: Vec<_> = labels.labels.iter().map(|it| it.comment.as_deref()).collect();
    assert_eq!(comments, [Some("5\" wide"), Some("he said \"no\""), None, Some("xy\"")]);
}

#[test]
fn what_is_no_label_is_refused_with_its_position() {
    for (name, text, message) in [
        ("l.csv", "case,label\na,pass\n\nb,maybe\n", "l.csv:4: `maybe` is not a label"),
        ("l.csv", "case,label\na,NaN\n", "l.csv:2: `NaN` is not a label"),
        ("l.csv", "case,label\n,pass\n", "l.csv:2: it has a label, and neither `case` nor"),
        (
            "l.csv",
            "case,label\na,pass,x\n",
            "l.csv:2: the row has 3 cells, and the first line names 2",
        ),
        (
            "l.csv",
            "case,label,comment\na,pass,\"x\ny\"\nb,pass,\"a\nc,fail,\n",
            "l.csv:4: a quote opens here and is not closed",
        ),
        ("l.csv", "case,label\na,\"pass\"\"", "l.csv:2: a quote opens here and is not closed"),
        ("l.csv", "case|label\na|pass\n", "l.csv:1: there is no column `label`"),
        (
            "l.csv",
            "case;label\na;\"pass\nb;fail\n",
            "l.csv:2: a quote opens here and is not closed",
        ),
        (
            "l.csv",
            "case,verdict\na,pass\n",
            "l.csv:1: there is no column `label`; the first line names the columns, and these are case, verdict",
        ),
        ("l.csv", "id,label\na,pass\n", "l.csv:1: there is no column `case` or `trace_id`"),
        ("l.csv", "case,label,label\na,pass,fail\n", "l.csv:1: there are two columns `label`"),
        (
            "l.csv",
            "case,label\na,\nb, \n",
            "l.csv: there is no label (2 rows without one, 0 cancelled",
        ),
        ("l.csv", "", "l.csv: the file is empty"),
        ("l.csv", "\u{feff} \n", "l.csv: the file is empty"),
        (
            "l.jsonl",
            "{\"case\": \"a\", \"label\": 1}\n{\"case\": \"b\"\n",
            "l.jsonl:2: it is not JSON: ",
        ),
        (
            "l.jsonl",
            "{\"case\": \"a\", \"label\": 1, \"label\": 0}\n",
            "l.jsonl:1: it is not JSON: ",
        ),
        ("l.jsonl", "{\"case\": \"a\", \"label\": [1]}\n", "l.jsonl:1: `label` is an array"),
        ("l.jsonl", "{\"case\": \"a\", \"verdict\": 1}\n", "l.jsonl:1: it has neither `label`"),
        ("l.json", "[{\"case\": \"a\", \"label\": \"x\"}]", "l.json: item 1: `x` is not a label"),
        ("l.json", "[1]", "l.json: item 1: it is an integer"),
        ("l.json", "[", "l.json: "),
    ] {
        let error = read(name, text).unwrap_err();
        assert!(error.starts_with(message), "{text:?}: {error}");
    }
    let error = read("l.csv", b"case,label\na,pass\n\xff,fail\n").unwrap_err();
    assert_eq!(error, "l.csv:3: the text is not UTF-8; save the file as UTF-8");
    let nowhere = read_labels(&["/nowhere/l.csv".into()], &Meanings::default()).unwrap_err();
    assert!(nowhere.to_string().starts_with("/nowhere/l.csv: "), "{nowhere}");
}
