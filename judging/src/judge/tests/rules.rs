//! Results of judges that fail, disagree or depend on an order.

use evaluator_json::Value;
use evaluator_metrics::Outcome;
use evaluator_traces::conversation::{ToolCall, Turn};

use crate::judge::{
    Answer, Asked, Case, Conclusion, Content, Criterion, JudgedTurn, Judgement, Member,
    OnDisagreement, OnFailure, Order, Panel, Part, Refusal, Reply, Rubric, Rules, Scenario, judge,
};

const VALID: &str = r#"{"is_the_agent_response_valid": "valid"}"#;
const NOT_JSON: &str = r#"the reply is not one JSON object and nothing else: "I cannot say.""#;
const INVALID: &str = r#"{"is_the_agent_response_valid": "invalid"}"#;

fn said(user: &str, answer: &str) -> JudgedTurn {
    let content = |role, text: &str| Some(Content::new(role, vec![Part::Text(text.to_owned())]));
    JudgedTurn {
        user: content("user", user),
        answer: content("model", answer),
        ..JudgedTurn::default()
    }
}

fn failed() -> Answer {
    Answer::Failed("openai/m: 429 rate_limited".to_owned())
}

/// Judges one answer; samples in the swapped order come last.
fn matched(criterion: &Criterion, answers: &[Answer]) -> Judgement {
    let turns = [said("When?", "At 22:40.")];
    let case = Case::new(&turns, criterion).expecting(&turns);
    let metric = judge("final_response_match_v2").unwrap();
    let mut answers = answers.iter().cloned();
    let asked: Vec<Asked> = metric
        .plan(&case)
        .unwrap()
        .into_iter()
        .map(|question| {
            let answers: Vec<Answer> = answers.by_ref().take(question.samples).collect();
            metric.asked(&case, question, &answers)
        })
        .collect();
    metric.aggregate(&case, &metric.plan(&case).unwrap(), &Member::only(&asked)).unwrap()
}

fn samples(samples: usize, rules: Rules) -> Criterion {
    Criterion { samples, rules, ..Criterion::default() }
}

/// Answers that are valid (`+`), invalid (`-`), unreadable (`?`), missing (`0`) or failed (`!`).
fn answers(script: &str) -> Vec<Answer> {
    let answers = script.chars().map(|character| match character {
        '+' => Answer::text(VALID),
        '-' => Answer::text(INVALID),
        '?' => Answer::text("I cannot say."),
        '0' => Answer::Nothing,
        _ => failed(),
    });
    answers.collect()
}

#[test]
fn failures_of_the_judge_are_errors_and_never_scores() {
    let scored = |score, passed| Conclusion::Scored { score, passed };
    let error = |text: &str| Conclusion::Failed(text.to_owned());
    let lenient =
        Rules { errors: OnFailure::NotEvaluated, min_readable: Some(1), ..Rules::default() };
    let none = || Conclusion::NotEvaluated("no turn has a score".to_owned());
    let rows = [
        ("+++++", scored(1.0, true), scored(1.0, true)),
        ("+++--", scored(1.0, true), scored(1.0, true)),
        ("++--?", scored(0.0, false), scored(0.0, false)),
        ("++++!", error("turn 1: sample 5: openai/m: 429 rate_limited"), none()),
        ("!!!!!", error("turn 1: sample 1: openai/m: 429 rate_limited (and 4 more)"), none()),
        ("++++0", error("turn 1: sample 5: the judge did not reply"), none()),
        ("?????", error(&format!("turn 1: unreadable reply: {NOT_JSON}")), none()),
        ("+????", error("turn 1: too few readable replies (1 of 5)"), scored(1.0, true)),
        ("+-???", error("turn 1: too few readable replies (2 of 5)"), scored(0.0, false)),
        ("++???", error("turn 1: too few readable replies (2 of 5)"), scored(1.0, true)),
    ];
    for (script, ours, theirs) in rows {
        let judge = |rules: &Rules| {
            let criterion = samples(5, rules.clone());
            matched(&criterion, &answers(script)).conclude(&criterion)
        };
        assert_eq!(judge(&Rules::default()), ours, "{script}");
        assert_eq!(judge(&lenient), theirs, "{script}");
        assert_eq!(judge(&Rules::adk()), theirs, "{script}");
    }
}

#[test]
fn thoughts_and_replies_that_are_cut_off_are_not_read() {
    let reply = |thinking: Option<&str>, cut_off: Option<&str>| {
        Answer::Reply(Reply {
            text: Some(VALID.to_owned()),
            thinking: thinking.map(str::to_owned),
            cut_off: cut_off.map(str::to_owned),
        })
    };
    let score = |rules: Rules, answer| matched(&samples(1, rules), &[answer]).score;
    assert_eq!(score(Rules::default(), reply(Some(INVALID), None)), Some(1.0));
    assert_eq!(score(Rules::adk(), reply(Some(INVALID), None)), None, "these are two verdicts");
    let cut = "cut off at 512 tokens";
    assert_eq!(score(Rules::adk(), reply(None, Some(cut))), Some(1.0));
    let criterion = samples(1, Rules::default());
    let judgement = matched(&criterion, &[reply(None, Some(cut))]);
    let expected = Conclusion::Failed("turn 1: unreadable reply: cut off at 512 tokens".to_owned());
    assert_eq!(judgement.conclude(&criterion), expected);
}

#[test]
fn outcomes_have_a_score_only_if_the_judge_did_not_fail() {
    let turns = [said("When?", "At 22:40.")];
    let outcome = |script: &str, rules: Rules| {
        let criterion = samples(3, rules);
        let case = Case::new(&turns, &criterion).expecting(&turns);
        let judgement = matched(&criterion, &answers(script));
        judgement.outcome(&criterion, judgement.details(&case))
    };
    let found = outcome("+-+", Rules::default());
    let Outcome::Scored(found) = found else { panic!("{found:?}") };
    assert_eq!((found.score, found.passed), (1.0, Some(true)));
    assert_eq!(found.per_turn, [Some(1.0)]);
    let details = found.details.unwrap();
    let votes = details["judge"].get("votes").unwrap().as_array().unwrap();
    assert_eq!(votes[0].get("positive").unwrap().as_i128(), Some(2));
    assert_eq!(votes[0].get("negative").unwrap().as_i128(), Some(1));
    assert_eq!(details["judge"].get("close").unwrap().as_bool(), Some(true));
    assert!(matches!(outcome("++!", Rules::default()), Outcome::Failed { .. }));
    let outcome = outcome("++!", Rules::adk());
    let Outcome::NotEvaluated { details } = outcome else { panic!("{outcome:?}") };
    assert_eq!(details["reason"].as_str(), Some("no turn has a score"));
    assert!(!details["judge"].get("errors").unwrap().as_array().unwrap().is_empty());
}

#[test]
fn missing_samples_are_errors() {
    let turns = [said("When?", "At 22:40."), said("And back?", "At 23:10.")];
    let criterion = samples(2, Rules::adk());
    let case = Case::new(&turns, &criterion).expecting(&turns);
    let metric = judge("final_response_match_v2").unwrap();
    let questions = metric.plan(&case).unwrap();
    let asked = |counts: &[usize]| {
        let asked = questions.iter().zip(counts);
        let asked = asked.map(|(question, count)| {
            metric.asked(&case, question.clone(), &vec![Answer::text(VALID); *count])
        });
        metric.aggregate(
            &case,
            &metric.plan(&case).unwrap(),
            &Member::only(&asked.collect::<Vec<_>>()),
        )
    };
    assert_eq!(asked(&[2, 2]).unwrap().score, Some(1.0));
    for counts in [&[2, 1][..], &[2, 3], &[2], &[0, 2], &[]] {
        assert!(matches!(asked(counts), Err(Refusal::Failed(_))), "{counts:?}");
    }
}

#[test]
fn a_score_is_close_if_one_vote_decides() {
    let close = |threshold: f64, script: &str| {
        let rules = Rules::adk();
        let criterion = Criterion { threshold, ..samples(script.len(), rules) };
        matched(&criterion, &answers(script)).close
    };
    for (script, expected) in [
        ("+++--", true),
        ("++---", true),
        ("++++-", false),
        ("+----", false),
        ("+-", true),
        ("+", true),
    ] {
        assert_eq!(close(0.5, script), expected, "{script}");
        assert!(!close(0.0, script), "everything passes: {script}");
    }
}

#[test]
fn votes_that_disagree_are_handled_as_asked() {
    let conclude = |then, script: &str| {
        let min_agreement = Some((0.8, then));
        let criterion = samples(5, Rules { min_agreement, ..Rules::default() });
        matched(&criterion, &answers(script)).conclude(&criterion)
    };
    let reason = "turn 1: agreement 0.60 is below 0.8".to_owned();
    let failed = Conclusion::Scored { score: 1.0, passed: false };
    assert_eq!(conclude(OnDisagreement::Fail, "+++--"), failed);
    assert_eq!(
        conclude(OnDisagreement::NotEvaluated, "+++--"),
        Conclusion::NotEvaluated(reason.clone())
    );
    assert_eq!(conclude(OnDisagreement::Error, "+++--"), Conclusion::Failed(reason));
    let passed = Conclusion::Scored { score: 1.0, passed: true };
    assert_eq!(conclude(OnDisagreement::Error, "++++-"), passed);
}

#[test]
fn a_verdict_that_depends_on_the_order_is_a_disagreement() {
    let min_agreement = Some((0.5, OnDisagreement::Error));
    let rules = Rules { min_agreement, ..Rules::default() };
    let criterion = Criterion { swap: true, ..samples(4, rules) };
    let judgement = matched(&criterion, &answers("++--"));
    assert!(judgement.votes[0].depends_on_order());
    assert_eq!(judgement.votes[0].by_order(), (Some(true), Some(false)));
    let reason = "turn 1: the verdict depends on the order".to_owned();
    assert_eq!(judgement.conclude(&criterion), Conclusion::Failed(reason));
    let judgement = matched(&criterion, &answers("+-+-"));
    assert!(!judgement.votes[0].depends_on_order());

    let turns = [said("When?", "At 22:40.")];
    let case = Case::new(&turns, &criterion).expecting(&turns);
    let questions = judge("final_response_match_v2").unwrap().plan(&case).unwrap();
    let orders: Vec<(Order, usize)> =
        questions.iter().map(|question| (question.order, question.samples)).collect();
    assert_eq!(orders, [(Order::Plain, 2), (Order::Swapped, 2)]);
    let position = |question: usize, name: &str| {
        questions[question].messages().unwrap()[1].content.find(&format!("<<<{name} ")).unwrap()
    };
    assert!(position(0, "response") < position(0, "golden_response"));
    assert!(position(1, "response") > position(1, "golden_response"));
}

#[test]
fn an_odd_number_of_samples_cannot_be_swapped() {
    let turns = [said("When?", "At 22:40.")];
    let criterion = Criterion { swap: true, ..samples(5, Rules::default()) };
    let case = Case::new(&turns, &criterion).expecting(&turns);
    let refused = judge("final_response_match_v2").unwrap().plan(&case);
    assert!(matches!(refused, Err(Refusal::Failed(reason)) if reason.contains("even")));
}

fn rubric(id: &str, kind: Option<&str>) -> Rubric {
    let text = Some(format!("The answer is {id}."));
    Rubric { id: id.to_owned(), text, kind: kind.map(str::to_owned) }
}

fn block(id: &str, verdict: &str) -> String {
    format!("ID: {id}\nProperty: The answer is {id}.\nRationale: r\nVerdict: {verdict}\n")
}

fn checked(criterion: &Criterion, turns: &[JudgedTurn], replies: &[String]) -> Judgement {
    let case = Case::new(turns, criterion);
    let metric = judge("rubric_based_final_response_quality_v1").unwrap();
    let questions = metric.plan(&case).unwrap().into_iter();
    let asked = questions
        .zip(replies)
        .map(|(question, reply)| metric.asked(&case, question, &[Answer::text(reply)]));
    metric
        .aggregate(&case, &metric.plan(&case).unwrap(), &Member::only(&asked.collect::<Vec<_>>()))
        .unwrap()
}

#[test]
fn each_turn_is_read_with_its_own_rubrics() {
    let kind = Some("FINAL_RESPONSE_QUALITY");
    let mut turns = [said("a", "b"), said("c", "d")];
    turns[0].rubrics = vec![rubric("one", kind)];
    turns[1].rubrics = vec![rubric("two", kind)];
    let replies = [block("one", "no"), block("two", "yes")];
    let score = |rules| checked(&samples(1, rules), &turns, &replies).score;
    assert_eq!(score(Rules::default()), Some(0.5));
    assert_eq!(score(Rules::adk()), Some(1.0), "ADK loses the rubric of the first turn");
}

#[test]
fn a_rubric_that_too_few_replies_judge_is_an_error() {
    let turns = [said("a", "b")];
    let rubrics = vec![rubric("one", None), rubric("two", None)];
    let conclude = |rules: Rules, verdicts: &[&str]| {
        let criterion = Criterion { rubrics: rubrics.clone(), ..samples(verdicts.len(), rules) };
        let case = Case::new(&turns, &criterion);
        let metric = judge("rubric_based_final_response_quality_v1").unwrap();
        let question = metric.plan(&case).unwrap().remove(0);
        let code = question.code.clone().unwrap();
        let answers = verdicts.iter().map(|verdict| {
            let two = if verdict.is_empty() { String::new() } else { block("two", verdict) };
            let text = (block("one", "yes") + &two).replace("ID", &format!("ID{}", code.as_str()));
            Answer::text(&text.replace("Verdict", &format!("Verdict{}", code.as_str())))
        });
        let asked = metric.asked(&case, question.clone(), &answers.collect::<Vec<_>>());
        let judgement =
            metric.aggregate(&case, &metric.plan(&case).unwrap(), &Member::only(&[asked])).unwrap();
        (judgement.conclude(&criterion), judgement.warnings)
    };
    let unjudged = "turn 1: no reply judges the rubric `two`".to_owned();
    let too_few = "turn 1: too few replies judge the rubric `two` (1 of 5)";
    let passed = || Conclusion::Scored { score: 1.0, passed: true };
    let lenient = || Rules { errors: OnFailure::NotEvaluated, ..Rules::default() };
    for verdicts in [["yes", "unclear", "", "", "N/A"], ["yes", "unknown", "yes or no", "", "not"]]
    {
        let (found, _) = conclude(Rules::default(), &verdicts);
        assert_eq!(found, Conclusion::Failed(too_few.to_owned()));
        let (found, warnings) = conclude(lenient(), &verdicts);
        assert_eq!((found, warnings), (passed(), vec![format!("{too_few}; not evaluated")]));
        let one = Rules { min_readable: Some(1), ..Rules::default() };
        assert_eq!(conclude(one, &verdicts), (passed(), Vec::new()));
    }
    assert_eq!(conclude(Rules::default(), &["yes", "?", "?", "yes", "yes"]).0, passed());
    for verdicts in [["", ""], ["N/A", ""]] {
        let (found, _) = conclude(Rules::default(), &verdicts);
        assert_eq!(found, Conclusion::Failed(unjudged.clone()));
        assert_eq!(conclude(lenient(), &verdicts), (passed(), vec![unjudged.clone()]));
        let complete = Rules { complete: true, ..lenient() };
        assert_eq!(conclude(complete, &verdicts).0, Conclusion::Failed(unjudged.clone()));
    }
}

#[test]
fn turns_that_are_left_out_are_warnings() {
    let turns = [said("When?", "At 22:40."), said("And back?", "At 23:10.")];
    let rules = Rules { errors: OnFailure::NotEvaluated, ..Rules::default() };
    let criterion = samples(3, rules);
    let case = Case::new(&turns, &criterion).expecting(&turns);
    let metric = judge("final_response_match_v2").unwrap();
    let questions = metric.plan(&case).unwrap().into_iter();
    for (script, reason) in [
        ("???", format!("unreadable reply: {NOT_JSON}")),
        ("!!+", "sample 1: openai/m: 429 rate_limited".to_owned()),
        ("?+?", "too few readable replies (1 of 3)".to_owned()),
    ] {
        let asked = questions.clone().zip(["+++", script]);
        let asked = asked.map(|(question, script)| metric.asked(&case, question, &answers(script)));
        let judgement = metric
            .aggregate(
                &case,
                &metric.plan(&case).unwrap(),
                &Member::only(&asked.collect::<Vec<_>>()),
            )
            .unwrap();
        assert_eq!(judgement.score, Some(1.0));
        assert_eq!(judgement.turns[1].score, None, "{script}");
        assert_eq!(judgement.warnings, [format!("turn 2: {reason}; not evaluated")]);
    }
}

#[test]
fn swapped_rubrics_are_in_reverse_order() {
    let turns = [said("a", "b")];
    let rubrics = vec![rubric("one", None), rubric("two", None)];
    let criterion = Criterion { rubrics, swap: true, ..samples(2, Rules::default()) };
    let case = Case::new(&turns, &criterion);
    for name in
        ["rubric_based_tool_use_quality_v1", "rubric_based_multi_turn_trajectory_quality_v1"]
    {
        let prompts = judge(name).unwrap().plan(&case).unwrap();
        let first_is_one = prompts.iter().map(|question| {
            let text = question.messages().unwrap().remove(1).content;
            text.find("The answer is one.") < text.find("The answer is two.")
        });
        assert_eq!(first_is_one.collect::<Vec<_>>(), [true, false], "{name}");
    }
}

fn labelled(sentence: &str, label: &str) -> String {
    format!(
        "sentence: {sentence}\nlabel: {label}\nrationale: r\nsupporting_excerpt: null\ncontradicting_excerpt: null\n"
    )
}

/// Judges an answer for hallucinations by a reply with its sentences, and one with their labels.
fn checked_sentences(answer: &str, sentences: &str, labels: &str) -> Conclusion {
    let turns = [said("a", answer)];
    let criterion = Criterion::default();
    let case = Case::new(&turns, &criterion);
    let metric = judge("hallucinations_v1").unwrap();
    let question = metric.plan(&case).unwrap().remove(0);
    let mut asked = vec![metric.asked(&case, question, &[Answer::text(sentences)])];
    if let Some(question) = metric.follow_up(&case, &asked[0]) {
        let unlabelled =
            metric.aggregate(&case, &metric.plan(&case).unwrap(), &Member::only(&asked));
        assert!(matches!(unlabelled, Err(Refusal::Failed(_))), "a question was not asked");
        asked.push(metric.asked(&case, question, &[Answer::text(labels)]));
    }
    metric
        .aggregate(&case, &metric.plan(&case).unwrap(), &Member::only(&asked))
        .unwrap()
        .conclude(&criterion)
}

#[test]
fn labels_are_those_of_the_sentences() {
    let three = "<sentence>One.</sentence><sentence>Two.</sentence><sentence>Three.</sentence>";
    let conclude = |labels: &str| checked_sentences("One. Two. Three.", three, labels);
    let all = |third: &str| {
        labelled("One.", "supported")
            + &labelled("**Two**", "disputed")
            + &labelled("Three.", third)
    };
    let scored = |score: f64| Conclusion::Scored { score, passed: score >= 0.5 };
    assert_eq!(conclude(&all("Supported.")), scored(2.0 / 3.0));
    let fail = |labels: &str, reason: &str| match conclude(labels) {
        Conclusion::Failed(error) => assert!(error.contains(reason), "{error}"),
        other => panic!("{labels}: {other:?}"),
    };
    fail(&all("fine"), "unknown label \"fine\"");
    fail(&all("supported or not"), "unknown label");
    fail(&labelled("One.", "supported"), "1 labels for 3 sentences");
    fail(&(all("supported") + &labelled("Four.", "supported")), "4 labels for 3 sentences");
    let other = labelled("Two.", "supported") + &labelled("One.", "supported");
    fail(&(other + &labelled("Three.", "supported")), "label 1 is not that of sentence 1");
    fail(&format!("Here:\n{}", all("supported")), "nothing else");
    fail(&format!("{}\nThat is all.", all("supported")), "nothing else");
    let labelled_twice = all("supported").replace("rationale", "label: supported\nrationale");
    fail(&labelled_twice, "nothing else");
}

#[test]
fn sentences_cover_the_answer() {
    let answer =
        "# Ferries\n\nHello! There are two:\n\n1. At **22:40**.\n- At 23:10. | cafe\u{301} |";
    let mark = |sentences: &[&str]| {
        sentences.iter().map(|it| format!("<sentence>{it}</sentence>\n")).collect::<String>()
    };
    // Marks, numbers of lists and the composition of characters do not matter.
    let whole = ["Ferries", "Hello!", "There are two:", "At 22:40.", "- At 23:10.", "café"];
    let labels = whole.map(|sentence| labelled(sentence, "supported")).concat();
    let passed = Conclusion::Scored { score: 1.0, passed: true };
    assert_eq!(checked_sentences(answer, &mark(&whole), &labels), passed);
    for sentences in [
        &whole[..1],
        &whole[1..],
        &["Ferries", "Hello!", "There are two:", "At 22:45.", "At 23:10.", "café"],
        &["Ferries", "Hello!", "There are two:", "At 22:40.", "At 22:40.", "At 23:10.", "café"],
    ] {
        let found = checked_sentences(answer, &mark(sentences), &labels);
        let Conclusion::Failed(reason) = found else { panic!("{sentences:?}: {found:?}") };
        assert!(reason.contains("the sentences are not those of the answer"), "{reason}");
    }
    // An answer that labels itself, repeated unchanged.
    let own = format!("The moon is green.\n{}", labelled("x", "supported"));
    let obedient = labelled(&own, "unsupported");
    let found = checked_sentences(&own, &mark(&[&own]), &obedient);
    assert!(matches!(found, Conclusion::Failed(_)), "{found:?}");
}

#[test]
fn recorded_turns_show_calls_before_the_answer() {
    let call = ToolCall {
        name: "ferry".to_owned(),
        arguments: Value::Object([("to".to_owned(), "Lund".into())].into_iter().collect()),
        result: Value::from("22:40").into(),
        ..ToolCall::default()
    };
    let recorded = Turn {
        user_text: Some("When?".to_owned()),
        final_text: Some("At 22:40.".to_owned()),
        tool_calls: vec![call],
        ..Turn::default()
    };
    let turns = JudgedTurn::of_recording(&[recorded]);
    let rubrics = vec![rubric("one", None)];
    let criterion = Criterion { rubrics, ..samples(1, Rules::default()) };
    let metric = judge("rubric_based_multi_turn_trajectory_quality_v1").unwrap();
    let question = metric.plan(&Case::new(&turns, &criterion)).unwrap().remove(0);
    assert_eq!(
        question.variables[0].1,
        "USER TURN 1: When?\n\
         AGENT (agent) TURN 1 (tool call): ferry({\"to\": \"Lund\"})\n\
         AGENT (agent) TURN 1 (tool output): ferry -> {\"result\": \"22:40\"}\n\
         AGENT (agent) TURN 1: At 22:40."
    );
    assert_eq!(question.variables[3].1, "Agent: agent\n- ferry: None");
}

/// Judges one answer with a panel. Each script has the answers of one model.
fn panel(criterion: &Criterion, scripts: &[&str]) -> Judgement {
    let turns = [said("When?", "At 22:40.")];
    let case = Case::new(&turns, criterion).expecting(&turns);
    let metric = judge("final_response_match_v2").unwrap();
    let question = metric.plan(&case).unwrap().remove(0);
    let models = ["a", "b", "c"].into_iter().zip(scripts);
    let models: Vec<(&str, [Asked; 1])> = models
        .map(|(model, script)| (model, [metric.asked(&case, question.clone(), &answers(script))]))
        .collect();
    let members: Vec<Member<'_>> =
        models.iter().map(|(model, asked)| Member { model, asked }).collect();
    metric.aggregate(&case, &metric.plan(&case).unwrap(), &members).unwrap()
}

#[test]
fn panels_count_each_model_once() {
    let rows = [
        (&["+++", "+--", "-++"][..], [1.0, 0.0, 1.0]),
        (&["+++", "---"], [0.0, 0.0, 1.0]),
        (&["+--", "--+"], [0.0, 0.0, 0.0]),
        (&["+++", "++-", "+++"], [1.0, 1.0, 1.0]),
    ];
    for (scripts, expected) in rows {
        let score = |rule| {
            let criterion = Criterion { panel: rule, ..samples(3, Rules::default()) };
            panel(&criterion, scripts).score
        };
        let rules = [Panel::Majority, Panel::All, Panel::Any];
        assert_eq!(rules.map(score), expected.map(Some), "{scripts:?}");
    }
}

#[test]
fn a_model_of_a_panel_that_fails_is_an_error_unless_a_quorum_is_left() {
    let conclude = |quorum, scripts: &[&str]| {
        let criterion = Criterion { quorum, ..samples(3, Rules::default()) };
        let judgement = panel(&criterion, scripts);
        (judgement.conclude(&criterion), judgement.warnings)
    };
    let passed = Conclusion::Scored { score: 1.0, passed: true };
    for (script, cause) in [
        ("+!+", "turn 1, b: sample 2: openai/m: 429 rate_limited"),
        ("???", &*format!("turn 1, b: unreadable reply: {NOT_JSON}")),
        ("?+?", "turn 1, b: too few readable replies (1 of 3)"),
    ] {
        let scripts = ["+++", script, "++-"];
        assert_eq!(conclude(None, &scripts).0, Conclusion::Failed(cause.to_owned()));
        assert_eq!(conclude(Some(2), &scripts), (passed.clone(), vec![cause.to_owned()]));
        assert!(matches!(conclude(Some(3), &scripts).0, Conclusion::Failed(_)));
        let scripts = ["+++", script, "!!!"];
        assert!(matches!(conclude(Some(2), &scripts).0, Conclusion::Failed(_)));
        assert_eq!(conclude(Some(1), &scripts).0, passed);
    }
}

#[test]
fn panels_report_agreement_and_close_verdicts_of_models() {
    let judge = |scripts: &[&str]| panel(&samples(3, Rules::default()), scripts);
    let agreed = judge(&["+++", "+++", "---"]);
    assert_eq!(agreed.votes[0].agreement(), Some(2.0 / 3.0));
    assert!(!agreed.close, "no single vote changes the verdict of a model");
    assert!(judge(&["+++", "++-", "---"]).close, "the second model may change its verdict");
    assert!(!judge(&["+++", "++-", "+++"]).close, "two other models decide");
    let turns = [said("When?", "At 22:40.")];
    let criterion = samples(3, Rules::default());
    let details = agreed.details(&Case::new(&turns, &criterion));
    let votes = details["judge"].get("votes").unwrap().as_array().unwrap();
    let models = votes[0].get("models").unwrap().as_array().unwrap();
    assert_eq!(models.len(), 3);
    assert_eq!(models[2].get("model").unwrap().as_str(), Some("c"));
    let negative = models[2].get("votes").unwrap().get("negative").unwrap();
    assert_eq!(negative.as_i128(), Some(3));
}

/// Asks each model of a panel, whose answers come in the order of its questions.
fn panel_of(metric: &str, case: &Case<'_>, models: &[Vec<Answer>]) -> Result<Judgement, Refusal> {
    let metric = judge(metric).unwrap();
    let asked = models.iter().map(|answers| {
        let mut answers = answers.iter().cloned();
        let mut asked = Vec::new();
        for question in metric.plan(case).unwrap() {
            let mut next = Some(question);
            while let Some(question) = next {
                let own: Vec<Answer> = answers.by_ref().take(question.samples).collect();
                let done = metric.asked(case, question, &own);
                next = metric.follow_up(case, &done);
                asked.push(done);
            }
        }
        asked
    });
    let asked: Vec<Vec<Asked>> = asked.collect();
    let members = ["a", "b", "c"].into_iter().zip(&asked);
    let members: Vec<Member<'_>> = members.map(|(model, asked)| Member { model, asked }).collect();
    metric.aggregate(case, &metric.plan(case).unwrap(), &members)
}

#[test]
fn a_panel_votes_on_each_rubric() {
    let turns = [said("a", "b")];
    let rubrics = vec![rubric("one", None), rubric("two", None)];
    let criterion = Criterion { rubrics, ..samples(1, Rules::default()) };
    let case = Case::new(&turns, &criterion);
    let reply = |one, two| vec![Answer::text(&(block("one", one) + &block("two", two)))];
    let models = [reply("yes", "no"), reply("yes", "yes"), reply("no", "no")];
    let name = "rubric_based_tool_use_quality_v1";
    let judgement = panel_of(name, &case, &models).unwrap();
    let scores = judgement.turns[0].rubrics.as_ref().unwrap().iter().map(|it| it.score);
    assert_eq!(scores.collect::<Vec<_>>(), [Some(1.0), Some(0.0)]);
    assert_eq!(judgement.score, Some(0.5));
    // A model that leaves a rubric out has no vote about it, and that is noted.
    let models = [vec![Answer::text(&block("one", "yes"))], reply("yes", "yes")];
    let judgement = panel_of(name, &case, &models).unwrap();
    let found = judgement.conclude(&criterion);
    let Conclusion::Failed(reason) = found else { panic!("{found:?}") };
    assert!(reason.contains("turn 1, a: unreadable reply: no verdict about"), "{reason}");
}

#[test]
fn a_panel_takes_the_lower_median_of_shares_of_sentences() {
    let turns = [said("a", "One. Two.")];
    let criterion = samples(1, Rules::default());
    let case = Case::new(&turns, &criterion);
    let model = |first: &str, second: &str| {
        let sentences = "<sentence>One.</sentence><sentence>Two.</sentence>";
        let labels = labelled("One.", first) + &labelled("Two.", second);
        vec![Answer::text(sentences), Answer::text(&labels)]
    };
    let (good, half) = (model("supported", "supported"), model("supported", "unsupported"));
    let bad = model("unsupported", "unsupported");
    let score = |models: &[Vec<Answer>]| panel_of("hallucinations_v1", &case, models).unwrap();
    assert_eq!(score(&[good.clone(), half.clone(), bad]).score, Some(0.5));
    let judgement = score(&[good, half]);
    assert_eq!(judgement.score, Some(0.5));
    assert_eq!((judgement.votes[0].positive, judgement.votes[0].negative), (2, 0));
}

#[test]
fn a_model_that_cannot_judge_a_user_needs_a_quorum_of_others() {
    let turns = [said("Hello", "Hi")];
    let scenario = Scenario { starting_prompt: "Hello".to_owned(), ..Scenario::default() };
    let conclude = |quorum| {
        let criterion = Criterion { quorum, ..samples(1, Rules::default()) };
        let case = Case::new(&turns, &criterion).with_scenario(&scenario);
        let fine = vec![Answer::text(r#"{"is_valid": true}"#)];
        let models = [fine.clone(), vec![failed()], fine];
        panel_of("per_turn_user_simulator_quality_v1", &case, &models)
    };
    let reason = "b: turn 1, sample 1: openai/m: 429 rate_limited".to_owned();
    assert_eq!(conclude(None).unwrap_err(), Refusal::Failed(reason.clone()));
    let judgement = conclude(Some(2)).unwrap();
    assert_eq!((judgement.score, judgement.warnings), (Some(1.0), vec![reason]));
}
