//! Reading and writing JSON as Python does: vectors recorded from Python, and what must never happen.

use evaluator_json::{
    AsText, MAX_DEPTH, NonFinite, ParseErrorKind, ParseOptions, Surrogates, Value, normalize,
    output_text, parse, parse_python, python_eq, reindent_inside, to_pretty, to_pretty_inside,
    to_python, to_string,
};
use proptest::prelude::*;

fn read(text: &str) -> Value {
    parse(text, &ParseOptions::default()).unwrap_or_else(|error| panic!("{error}: {text:?}")).value
}

fn refusal(text: &str) -> String {
    parse(text, &ParseOptions::default()).expect_err(text).to_string()
}

#[test]
fn python_text_of_values() {
    let mut cases = 0;
    for line in include_str!("../data/json_dumps.jsonl").lines() {
        let case = read(line);
        let expected = case.get("output").and_then(Value::as_str).expect("an output");
        assert_eq!(output_text(case.get("value").expect("a value")), expected);
        cases += 1;
    }
    assert!(cases > 200, "only {cases} cases");
}

#[test]
fn normalized_text() {
    let mut cases = 0;
    for line in include_str!("../data/text_rules.jsonl").lines() {
        let case = read(line);
        if case.get("fn").and_then(Value::as_str) != Some("normalize_text") {
            continue;
        }
        let input = case.get("in").and_then(Value::as_str).unwrap_or_default();
        let expected = case.get("out").and_then(Value::as_str).expect("a text");
        assert_eq!(normalize(input), expected, "{line}");
        cases += 1;
    }
    assert!(cases > 15, "only {cases} cases");
}

#[test]
fn accepts_what_python_accepts() {
    assert_eq!(to_python(&read(" [NaN, Infinity,\t-Infinity ]\r\n")), "[NaN, Infinity, -Infinity]");
    assert_eq!(to_string(&read("[NaN, -Infinity]"), NonFinite::Null), "[null,null]");
    assert_eq!(
        to_string(&read("[-0, -0.0, 1e400, 1E2, 1e-7]"), NonFinite::Literal),
        "[0,-0.0,Infinity,100.0,1e-07]"
    );
    let digits = "9".repeat(5000);
    assert_eq!(to_string(&read(&digits), NonFinite::Null), digits);
    assert_eq!(
        to_string(&read(r#"{"a": 1, "b": 2, "a": 3}"#), NonFinite::Null),
        r#"{"a":3,"b":2}"#
    );
    assert_eq!(
        read(r#""\u00e9\ud83d\ude00\"\\\/\b\f\n\r\t""#).as_str(),
        Some("é😀\"\\/\u{8}\u{c}\n\r\t")
    );
    assert_eq!(read("\"\u{2028}\u{7f}\"").as_str(), Some("\u{2028}\u{7f}"));
}

#[test]
fn refuses_with_the_position() {
    for (text, expected) in [
        ("", "expected a value at line 1 column 1 (byte 0)"),
        ("  ", "unexpected end of text at line 1 column 3 (byte 2)"),
        (
            "\u{feff}{}",
            "unexpected byte order mark (save the text as UTF-8 without BOM) at line 1 column 1 (byte 0)",
        ),
        ("{\"é\":\n  x}", "expected a value at line 2 column 3 (byte 9)"),
        ("{'a': 1}", "expected a key in double quotes at line 1 column 2 (byte 1)"),
        ("{\"a\" 1}", "expected ':' after the key at line 1 column 6 (byte 5)"),
        ("[1 2]", "expected ',' or ']' at line 1 column 4 (byte 3)"),
        ("{\"a\": 1 \"b\"}", "expected ',' or '}' at line 1 column 9 (byte 8)"),
        ("[1,\n]", "trailing comma at line 1 column 3 (byte 2)"),
        ("{\"a\": 1,}", "trailing comma at line 1 column 8 (byte 7)"),
        ("[1", "unexpected end of text at line 1 column 3 (byte 2)"),
        ("{\"a\"", "unexpected end of text at line 1 column 5 (byte 4)"),
        ("{} {}", "unexpected text after the value at line 1 column 4 (byte 3)"),
        ("01", "unexpected text after the value at line 1 column 2 (byte 1)"),
        ("1.", "unexpected text after the value at line 1 column 2 (byte 1)"),
        ("1e+", "unexpected text after the value at line 1 column 2 (byte 1)"),
        ("-", "expected a value at line 1 column 1 (byte 0)"),
        ("+1", "expected a value at line 1 column 1 (byte 0)"),
        ("-NaN", "expected a value at line 1 column 1 (byte 0)"),
        ("nul", "expected a value at line 1 column 1 (byte 0)"),
        ("[\"a", "unterminated string at line 1 column 2 (byte 1)"),
        ("\"\\", "unterminated string at line 1 column 1 (byte 0)"),
        ("\"a\tb\"", "unescaped control character in a string at line 1 column 3 (byte 2)"),
        ("\"\\x41\"", "invalid escape in a string at line 1 column 2 (byte 1)"),
        ("\"\\u12g4\"", "expected four hexadecimal digits after '\\u' at line 1 column 2 (byte 1)"),
        ("\"\\u+123\"", "expected four hexadecimal digits after '\\u' at line 1 column 2 (byte 1)"),
        ("\u{a0}1", "expected a value at line 1 column 1 (byte 0)"),
    ] {
        assert_eq!(refusal(text), expected, "{text:?}");
        assert!(parse_python(text).is_none(), "{text:?}");
    }
}

#[test]
fn lone_surrogates_are_replaced_and_counted_or_refused() {
    let text = r#"{"\udc00": "a\ud83d", "b": "\ud83d\ud83d\ude00", "c": "\ud83d\u0041"}"#;
    let parsed = parse(text, &ParseOptions::default()).expect("valid");
    assert_eq!(parsed.replaced_surrogates, 4);
    let expected = "{\"\u{fffd}\":\"a\u{fffd}\",\"b\":\"\u{fffd}😀\",\"c\":\"\u{fffd}A\"}";
    assert_eq!(to_string(&parsed.value, NonFinite::Null), expected);
    let strict = ParseOptions { surrogates: Surrogates::Reject, ..ParseOptions::default() };
    let error = parse(text, &strict).expect_err("refused");
    assert_eq!((error.kind, error.offset), (ParseErrorKind::LoneSurrogate, 2));
}

#[test]
fn non_finite_numbers_can_be_refused() {
    let strict = ParseOptions { non_finite: false, ..ParseOptions::default() };
    for text in ["[NaN]", "[Infinity]", "[-Infinity]"] {
        let error = parse(text, &strict).expect_err(text);
        assert_eq!((error.kind, error.offset), (ParseErrorKind::NonFinite, 1));
    }
}

#[test]
fn nesting_is_bounded() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let limited =
        |max_depth, text: &str| parse(text, &ParseOptions { max_depth, ..ParseOptions::default() });
    assert!(limited(199, &nested(199)).is_ok());
    let error = limited(199, &nested(200)).expect_err("too deep");
    assert_eq!((error.kind, error.offset), (ParseErrorKind::TooDeep { limit: 199 }, 199));
    let error = limited(usize::MAX, &"[{\"a\":".repeat(1_000_000)).expect_err("too deep");
    assert_eq!(error.kind, ParseErrorKind::TooDeep { limit: MAX_DEPTH });
    assert!(limited(0, "1").is_ok() && limited(0, "[]").is_err());
}

/// Everything that walks a value by recursion has to live with the smallest stack threads usually get.
#[test]
fn the_deepest_value_fits_a_small_stack() {
    let work = || {
        let text = format!("{}1{}", "{\"a\":[".repeat(MAX_DEPTH / 2), "]}".repeat(MAX_DEPTH / 2));
        let value = read(&text);
        assert!(python_eq(&value, &value.clone()));
        assert_eq!(to_string(&value, NonFinite::Null), text);
        assert!(to_python(&value).len() > text.len());
        assert!(to_pretty(&value).len() > text.len());
        assert!(format!("{value:?}").len() > text.len());
        assert_eq!(serde_json::to_string(&value).expect("serializes"), text);
        drop(Value::from(serde_json::Value::from(&value)));
    };
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(work);
    thread.expect("a thread").join().expect("no panic");
}

#[test]
fn reports_are_indented_and_ascii() {
    let value = read(r#"{"b": [], "a": {"é": [1, "😀"], "x": {}}, "n": NaN}"#);
    let expected = "{\n  \"b\": [],\n  \"a\": {\n    \"\\u00e9\": [\n      1,\n      \"\\ud83d\\ude00\"\n    ],\n    \"x\": {}\n  },\n  \"n\": NaN\n}";
    assert_eq!(to_pretty(&value), expected);
}

fn any_value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        any::<i128>().prop_map(Value::from),
        any::<f64>().prop_map(Value::Float),
        any::<String>().prop_map(Value::String),
    ];
    scalar.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_reads_back(value in any_value()) {
        let compact = to_string(&value, NonFinite::Literal);
        let again = read(&compact);
        prop_assert_eq!(&compact, &to_string(&again, NonFinite::Literal));
        prop_assert_eq!(to_python(&value), to_python(&read(&to_pretty(&value))));
        // Sorting keys is idempotent, so the sorted text of what the sorted text says is itself.
        let sorted = to_python(&value);
        prop_assert_eq!(&sorted, &to_python(&read(&sorted)));
        if !compact.contains("NaN") {
            prop_assert!(python_eq(&value, &again));
        }
    }

    #[test]
    fn text_is_indented_as_its_value_is(value in any_value(), depth in 0..3usize) {
        let expected = to_pretty_inside(&value, depth);
        let texts = [serde_json::to_string(&AsText(&value)), serde_json::to_string_pretty(&AsText(&value))];
        for text in texts {
            let mut found = String::new();
            reindent_inside(&text.expect("serializes"), depth, &mut found);
            prop_assert_eq!(&found, &expected);
        }
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in any::<String>()) {
        let _ = parse(&text, &ParseOptions::default());
    }

    #[test]
    fn no_json_like_text_makes_the_parser_panic(text in r#"([\[\]{},:"\\ueE.+\-0-9dfntNI é😀]|\\u|NaN|Infinity|null){0,40}"#) {
        if let Ok(parsed) = parse(&text, &ParseOptions::default()) {
            prop_assert!(parse_python(&text).is_some());
            let _ = to_python(&parsed.value);
        }
        reindent_inside(&text, 0, &mut String::new());
    }
}
