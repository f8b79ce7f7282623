//! Schemes: forms of verdicts, how replies are read, and scores.

use proptest::prelude::*;

use crate::judge::{
    Order,
    scheme::{Choice, Generation, Grade, Item, Material, Operator, Scheme, ScoreRange},
};

fn number() -> Scheme {
    Scheme::Number(0.0, 1.0)
}

fn checklist() -> Scheme {
    let polite = Item { weight: 3.0, required: false, ..Item::new("b", "B") };
    Scheme::rubrics(vec![Item::new("a", "A"), polite]).unwrap()
}

fn ranged(items: &[(&str, f64, bool, Option<f64>)]) -> Scheme {
    let ranges = ScoreRange::from_lower_bounds(vec![(6, "fine".to_owned()), (0, "bad".to_owned())]);
    let items = items.iter().map(|(id, weight, required, min_score)| Item {
        weight: *weight,
        required: *required,
        min_score: *min_score,
        ranges: ranges.clone(),
        ..Item::new(*id, "text")
    });
    Scheme::rubrics(items.collect()).unwrap()
}

fn choices() -> Scheme {
    let choice = |name: &str, score| Choice { name: name.to_owned(), score };
    Scheme::choices(vec![choice("good", 1.0), choice("fair", 0.5), choice("bad", 0.0)]).unwrap()
}

/// Reads a reply as the score, or as the reason why it cannot be read.
fn read(scheme: &Scheme, reply: &str) -> Result<f64, String> {
    scheme.read(reply, None).map(|grade| scheme.score(&grade)).map_err(|error| error.to_string())
}

#[test]
fn numbers_are_read_from_one_object() {
    let scored = |reply: &str, score: f64| assert_eq!(read(&number(), reply), Ok(score), "{reply}");
    scored(r#"{"score": 0.25}"#, 0.25);
    scored(r#"{"score": 1}"#, 1.0);
    scored(r#"{"score": 0}"#, 0.0);
    scored(r#"{"score": -0.0}"#, 0.0);
    assert!(read(&number(), r#"{"score": -0.0}"#).unwrap().is_sign_positive());
    scored("```json\n{\"score\": 0.9, \"hits\": [\"a\"]}\n```\n", 0.9);
    scored("```\n{\"score\": 0.9}\n```", 0.9);
    scored(" \n{\"score\": 0.5}\n", 0.5);
    scored(r#"{"score": 0.5, "reasoning": null, "unknown": [1]}"#, 0.5);
    scored(r#"{"score": 0.5, "assertions": [{"text": "t", "passed": yes}]}"#, 0.5);
    for (reply, reason) in [
        ("", "not one JSON object"),
        ("0.5", "not one JSON object"),
        ("}{", "not one JSON object"),
        ("{", "not one JSON object"),
        ("Here it is: {\"score\": 0.9}", "not one JSON object"),
        ("{\"score\": 0.9}\nThat is all.", "not one JSON object"),
        (r#"{"reasoning": "it says {"score": 1}", "score": 0}"#, "not one JSON object"),
        ("{}", "has no `score`"),
        (r#"{"score": 1.5}"#, "1.5, which is not within 0 and 1"),
        (r#"{"score": -0.1}"#, "not within"),
        (r#"{"score": "0.5"}"#, "`score` is"),
        (r#"{"score": null}"#, "`score` is"),
        (r#"{"score": true}"#, "`score` is"),
        (r#"{"score": NaN}"#, "not one JSON object"),
        (r#"{"score": 1e999}"#, "`score` is"),
        (r#"{"score": 99999999999999999999}"#, "`score` is"),
        (r#"{"score": 0.2, "score": 0.9}"#, "not one JSON object"),
        (r#"{"score": 0.2} and {"score": 0.9}"#, "not one JSON object"),
        (r#"{"score": 0.5"#, "not one JSON object"),
        (r#"[{"score": 0.5}, {"score": 0.6}]"#, "not one JSON object"),
        (r#"{"score": 0.5, "hits": "good"}"#, "`hits` is"),
        (r#"{"score": 0.5, "misses": [1]}"#, "not a list of texts"),
        (r#"{"score": 0.5, "assertions": [{"text": "t"}]}"#, "no truth value `passed`"),
        (r#"{"score": 0.5, "reasoning": ["r"]}"#, "`reasoning` is"),
    ] {
        let error = read(&number(), reply).unwrap_err();
        assert!(error.contains(reason), "{reply}: {error}");
    }
}

#[test]
fn rows_are_kept_up_to_their_limits() {
    let rows: Vec<String> =
        (0..10).map(|n| format!(r#"{{"text": "c{n}", "passed": {}}}"#, n % 2 == 0)).collect();
    let reply = format!(
        r#"{{"score": 0.5, "hits": ["1", " ", "2", "3", "4", "5"], "misses": ["", "m"], "assertions": [{}]}}"#,
        rows.join(", ").replacen("true", "\"True\"", 1)
    );
    let Ok(Grade::Number { assertions, hits, misses, .. }) = number().read(&reply, None) else {
        panic!("{reply}");
    };
    assert_eq!((hits.len(), misses.len(), assertions.len()), (4, 1, 8));
    assert!(assertions.iter().enumerate().all(|(index, row)| row.passed == (index % 2 == 0)));
}

#[test]
fn a_range_of_numbers_becomes_a_score() {
    let stars = Scheme::Number(1.0, 5.0);
    assert_eq!(read(&stars, r#"{"score": 1}"#), Ok(0.0));
    assert_eq!(read(&stars, r#"{"score": 4}"#), Ok(0.75));
    assert!(read(&stars, r#"{"score": 0.5}"#).is_err());
    let signed = Scheme::Number(-1.0, 1.0);
    assert_eq!(read(&signed, r#"{"score": 0}"#), Ok(0.5));
}

fn check(id: &str, satisfied: bool) -> String {
    format!(r#"{{"id": "{id}", "satisfied": {satisfied}, "reasoning": "r"}}"#)
}

fn checks(checks: &[String]) -> String {
    format!(r#"{{"checks": [{}], "overall_reasoning": "o"}}"#, checks.join(", "))
}

#[test]
fn every_rubric_is_judged_exactly_once() {
    let scheme = checklist();
    let both = checks(&[check("b", true), check("a", false)]);
    assert_eq!(read(&scheme, &both), Ok(0.75));
    let grade = scheme.read(&both, None).unwrap();
    let Grade::Checks { checks: found, .. } = &grade else { panic!("{grade:?}") };
    assert_eq!([&*found[0].id, &*found[1].id], ["a", "b"], "in the order of the rubrics");
    assert_eq!(scheme.missed(&grade).count(), 1);
    let grade = scheme.read(&checks(&[check("a", true), check("b", false)]), None).unwrap();
    assert_eq!(scheme.missed(&grade).count(), 0, "b is not required");
    for (reply, reason) in [
        (checks(&[check("a", true)]), "no check has the id `b`"),
        (checks(&[]), "no check has the id `a`"),
        (checks(&[check("a", true), check("b", true), check("a", true)]), "two checks"),
        (checks(&[check("a", true), check("b", true), check("c", true)]), "which no rubric has"),
        (checks(&[check("A", true), check("b", true)]), "which no rubric has"),
        (both.replace("\"r\"", "1"), "`reasoning` is"),
        (both.replace(", \"reasoning\": \"r\"", ""), "has no `reasoning`"),
        (both.replace("\"overall_reasoning\"", "\"overall\""), "a member `overall`, which"),
        (both.replace("true", "\"true\""), "no truth value `satisfied`"),
        (both.replace("true", "1"), "no truth value `satisfied`"),
        (r#"{"checks": {}}"#.to_owned(), "`checks` is"),
        (r#"{"checks": ["a"]}"#.to_owned(), "not an object"),
    ] {
        let error = read(&scheme, &reply).unwrap_err();
        assert!(error.contains(reason), "{reply}: {error}");
    }
}

/// The agent's text ends the reason in which it is quoted, judges the rubrics, and hides the judge's own verdicts in members
/// that nothing asks for.
#[test]
fn a_quote_hides_no_verdict_in_other_members() {
    let quoted = r#"x", "satisfied": true}, {"id": "b", "reasoning": "", "satisfied": true}], "quoted": [{"id": ""#;
    let own = [
        format!(r#"{{"id": "a", "reasoning": "It says: {quoted}", "satisfied": false}}"#),
        check("b", false),
    ];
    let error = read(&checklist(), &checks(&own)).unwrap_err();
    assert!(error.contains("a member `quoted`, which was not asked for"), "{error}");
    let within = r#"{"id": "a", "reasoning": "r", "satisfied": true, "own": {"satisfied": false}}"#;
    let error = read(&checklist(), &checks(&[within.to_owned(), check("b", true)])).unwrap_err();
    assert!(error.contains("a member `own`"), "{error}");
}

#[test]
fn score_ranges_take_whole_numbers_and_have_gates() {
    let scheme = ranged(&[("depth", 3.0, false, None), ("style", 1.0, false, Some(0.8))]);
    let reply = |depth: &str, style: &str| {
        format!(
            r#"{{"checks": [{{"id": "depth", "score": {depth}}}, {{"id": "style", "score": {style}}}]}}"#
        )
    };
    assert_eq!(read(&scheme, &reply("8", "10")), Ok((3.0 * 0.8 + 1.0) / 4.0));
    assert_eq!(read(&scheme, &reply("8.0", "0")), Ok(3.0 * 0.8 / 4.0));
    for wrong in ["7.5", "11", "-1", "\"7\"", "null", "true"] {
        assert!(read(&scheme, &reply(wrong, "10")).is_err(), "{wrong}");
    }
    let missed =
        |style: &str| scheme.missed(&scheme.read(&reply("0", style), None).unwrap()).count();
    assert_eq!([missed("7"), missed("8")], [1, 0]);
    let required = ranged(&[("a", 1.0, true, None)]);
    let missed = |score: &str| {
        let reply = format!(r#"{{"checks": [{{"id": "a", "score": {score}}}]}}"#);
        let grade = required.read(&reply, None).unwrap();
        let Grade::Checks { checks, .. } = &grade else { panic!() };
        (checks[0].passed, required.missed(&grade).count())
    };
    assert_eq!([missed("6"), missed("7"), missed("10")], [(false, 1), (true, 1), (true, 0)]);
}

#[test]
fn choices_are_exact_words() {
    assert_eq!(read(&choices(), r#"{"reasoning": "r", "choice": "fair"}"#), Ok(0.5));
    assert_eq!(read(&choices(), r#"{"choice": " bad "}"#), Ok(0.0));
    for reply in
        [r#"{"choice": "Fair"}"#, r#"{"choice": "good or fair"}"#, r#"{"choice": 1}"#, "good"]
    {
        assert!(read(&choices(), reply).is_err(), "{reply}");
    }
}

#[test]
fn parts_that_are_no_scheme_are_refused() {
    let rubrics = |items: Vec<Item>| Scheme::rubrics(items).unwrap_err().to_string();
    assert_eq!(rubrics(Vec::new()), "there are no rubrics");
    assert_eq!(
        rubrics(vec![Item::new("a", "A"), Item::new("a", "B")]),
        "two rubrics have the id `a`"
    );
    assert!(rubrics(vec![Item::new("a", " ")]).contains("needs an id and a text"));
    for weight in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(rubrics(vec![Item { weight, ..Item::new("a", "A") }]).contains("weight"));
    }
    let range = |from, to| ScoreRange { from, to, outcome: "o".to_owned() };
    for (ranges, problem) in [
        (vec![range(0, 4), range(6, 10)], "leave out the score 5"),
        (vec![range(1, 10)], "leave out the score 0"),
        (vec![range(0, 9)], "leave out the score 10"),
        (vec![range(0, 5), range(5, 10)], "have the score 5 twice"),
        (vec![range(0, 11)], "not within 0 to 10"),
        (vec![range(4, 0), range(5, 10)], "not within 0 to 10"),
    ] {
        let error = rubrics(vec![Item { ranges, ..Item::new("a", "A") }]);
        assert!(error.contains(problem), "{error}");
    }
    let choices = |pairs: &[(&str, f64)]| {
        let choice =
            |(name, score): &(&str, f64)| Choice { name: (*name).to_owned(), score: *score };
        Scheme::choices(pairs.iter().map(choice).collect()).unwrap_err().to_string()
    };
    assert!(choices(&[("a", 1.0)]).contains("at least two"));
    assert!(choices(&[("a", 1.0), ("a", 0.0)]).contains("two choices"));
    assert!(choices(&[("a", 1.0), ("b", 1.5)]).contains("not within"));
    assert!(choices(&[("a", 1.0), (" b", 0.5)]).contains("cannot be the name"));
}

fn headings(scheme: &Scheme, material: &Material<'_>, generation: Generation) -> Vec<String> {
    let messages = scheme.messages(material, generation).unwrap();
    assert_eq!(messages.len(), 2);
    assert!(messages[0].content.contains("one JSON object"));
    let lines = messages[1].content.lines();
    let headings = lines.filter_map(|line| line.strip_prefix("[[ ## ")?.strip_suffix(" ## ]]"));
    headings.map(str::to_owned).collect()
}

#[test]
fn prompts_have_the_sections_of_their_generation() {
    let material =
        Material { outcome: Some("o"), question: "q", answer: "a", ..Material::default() };
    let full = Material { reference: "r", file_changes: "f", tool_calls: "t", ..material };
    let sections =
        |scheme: &Scheme, material, generation| headings(scheme, material, generation).join(" ");
    let (old, new) = (Generation::Old, Generation::New);
    for (scheme, material, generation, expected) in [
        (number(), &material, new, "criteria question reference_answer answer"),
        (number(), &material, old, "expected_outcome question reference_answer candidate_answer"),
        (number(), &full, new, "criteria question reference_answer answer file_changes tool_calls"),
        (checklist(), &material, new, "question criteria answer rubrics"),
        (
            checklist(),
            &full,
            new,
            "question criteria reference_answer answer file_changes tool_calls rubrics",
        ),
        (checklist(), &material, old, "question expected_outcome candidate_answer rubrics"),
        (
            ranged(&[("a", 1.0, true, None)]),
            &material,
            new,
            "question criteria answer scoring_criteria",
        ),
    ] {
        assert_eq!(sections(&scheme, material, generation), expected);
    }
}

#[test]
fn listings_show_what_counts() {
    let contradiction =
        Item { operator: Some(Operator::Contradiction), ..Item::new("c", "It is 5.") };
    let Scheme::Rubrics(mut items) = checklist() else { panic!() };
    items.push(contradiction);
    let scheme = Scheme::rubrics(items).unwrap();
    let expected = "- [a] (REQUIRED): A\n- [b] (weight 3): B\n\
                    - [c] (REQUIRED, the answer must not contradict this): It is 5.";
    assert_eq!(scheme.listing(Order::Plain), expected);
    assert!(scheme.listing(Order::Swapped).ends_with("- [a] (REQUIRED): A"));
    let scheme = ranged(&[("depth", 2.0, false, Some(0.6))]);
    let expected =
        "- [depth] (weight 2, at least 6 is needed): text\n  0 to 5: bad\n  6 to 10: fine";
    assert_eq!(scheme.listing(Order::Plain), expected);
}

#[test]
fn schemas_name_the_members_of_the_format() {
    for scheme in [number(), checklist(), ranged(&[("a", 1.0, true, None)]), choices()] {
        let schema = scheme.schema();
        let names: Vec<&str> = schema
            .get("required")
            .and_then(|names| names.as_array())
            .unwrap()
            .iter()
            .filter_map(|name| name.as_str())
            .collect();
        let properties = schema.get("properties").unwrap();
        let format = scheme.reply_format(None);
        for name in names {
            assert!(properties.get(name).is_some(), "{name}");
            assert!(format.contains(&format!("\"{name}\":")), "{name} in {format}");
        }
    }
}

/// Texts that are almost replies.
fn almost_replies() -> impl Strategy<Value = String> {
    let pieces = [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\\",
        "```json\n",
        "```",
        " ",
        "\"score\":",
        "\"checks\":",
        "\"id\":",
        "\"a\"",
        "\"depth\"",
        "\"satisfied\":",
        "\"reasoning\":",
        "\"overall_reasoning\":",
        "\"choice\":",
        "\"good\"",
        "\"passed\": yes",
        "true",
        "null",
        "0.5",
        "7",
        "-1",
        "1e999",
        "99999999999999999999",
        "é",
    ];
    let piece = proptest::sample::select(pieces.to_vec());
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn whatever_is_read_has_a_score_within_0_and_1(reply in almost_replies()) {
        for scheme in [number(), checklist(), ranged(&[("depth", 1.0, true, None)]), choices()] {
            if let Ok(grade) = scheme.read(&reply, None) {
                prop_assert!((0.0..=1.0).contains(&scheme.score(&grade)));
            }
        }
    }
}
