//! Parts that are written to a stream.

use evaluator_test_support::Written;
use serde_json::Value;

use super::{super::*, header, scored};
use crate::{ConversationReport, Partial, Report};

fn lines(out: &Written) -> Vec<Value> {
    out.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn kinds(out: &Written) -> Vec<String> {
    lines(out).iter().map(|line| line["kind"].as_str().unwrap().to_owned()).collect()
}

fn conversation(number: usize) -> ConversationReport {
    let mut report = ConversationReport::new(format!("t{number}").into());
    report.evaluations = vec![scored(0.5)];
    report
}

fn input_error(line: u64) -> InputError {
    let content = Digester::new("line").json("number", &line).finish();
    let (error_type, message) = ("unreadable_line".to_owned(), "x".to_owned());
    InputError { line, offset: 0, error_type, message, content }
}

#[test]
fn records_are_written_in_the_order_of_their_lines() {
    let out = Written::default();
    let mut writer = RunWriter::stream(Box::new(out.clone()));
    let golden = Golden {
        id: "g".to_owned(),
        cases: [("c".to_owned(), Digest::default())].into(),
        digest: None,
    };
    writer.start(Header { golden: Some(golden.clone()), ..header(0) });
    assert!(writer.flush().is_none());
    for (number, written) in [(2, 1), (1, 1), (0, 4)] {
        match number {
            1 => assert!(writer.input_error(1, &input_error(2))),
            _ => writer.conversation(number, &conversation(number)),
        }
        assert!(writer.flush().is_none());
        assert_eq!(lines(&out).len(), written);
        assert_eq!(writer.waiting().0, [0, 2, 1][number]);
    }
    let mut report = Report::default();
    assert!(writer.finish(&mut report).is_none());
    assert!(!report.unsaved);
    assert_eq!(kinds(&out), ["header", "conversation", "input_error", "conversation", "end"]);
    let lines = lines(&out);
    assert_eq!(lines[0]["part"], serde_json::json!({"pipe": true}));
    let digest = serde_json::to_value(golden.digest()).unwrap();
    assert_eq!(lines[0]["golden"], serde_json::json!({"id": "g", "digest": digest}));
    assert_eq!((&lines[1]["number"], &lines[3]["number"]), (&Value::from(0), &Value::from(2)));
    assert_eq!((&lines[4]["conversations"], &lines[4]["read"]), (&Value::from(2), &Value::from(3)));
    assert_eq!(lines[4]["tally"]["passed"], 2);
    assert_ne!(lines[4]["sum"], Value::Null);
}

#[test]
fn there_is_no_last_line_without_all_others() {
    // Nothing of the input has the number 0.
    let out = Written::default();
    let mut writer = RunWriter::stream(Box::new(out.clone()));
    writer.start(header(0));
    writer.conversation(1, &conversation(1));
    let mut report = Report::default();
    assert!(writer.finish(&mut report).is_none());
    assert_eq!((report.unsaved, kinds(&out)), (true, vec!["header".to_owned()]));

    let out = Written::default();
    let mut writer = RunWriter::stream(Box::new(out.clone()));
    writer.start(header(0));
    writer.conversation(0, &conversation(0));
    let mut report = Report { partial: Some(Partial::Cancelled), ..Report::default() };
    assert!(writer.finish(&mut report).is_none());
    assert_eq!((report.unsaved, kinds(&out).len()), (true, 2));

    // The reader went away.
    let out = Written::up_to(1500);
    let mut writer = RunWriter::stream(Box::new(out.clone()));
    writer.start(header(0));
    let failures = (0..20).filter(|number| {
        writer.conversation(*number, &conversation(*number));
        writer.flush().is_some()
    });
    assert_eq!(failures.count(), 1);
    let mut report = Report::default();
    assert!(writer.finish(&mut report).is_none());
    assert!(report.unsaved && !kinds(&out).contains(&"end".to_owned()));
}
