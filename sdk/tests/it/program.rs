//! Evaluator programs as hosts meet them: arguments and a document in, an answer, messages and an exit code out.

use std::io::{BufRead, BufReader, Read, Write};

use super::support::{Outcome, run, run_with, start};
use serde_json::{Value, json};

const TWO_TURNS: &str = r#"{"protocol_version": "1.1", "metric_name": "quality", "config": {"min_length": 3},
    "invocations": [{"final_response": "long enough"}, {"final_response": "no"}]}"#;

fn named(metric_name: &str) -> String {
    json!({"metric_name": metric_name}).to_string()
}

mod one_shot {
    use super::*;

    #[test]
    fn one_document_in_one_out() {
        let outcome = run("response_quality", &[], TWO_TURNS);
        let expected = json!({"score": 0.5, "status": null, "per_invocation_scores": [1.0, 0.0], "details": null});
        assert_eq!(outcome.answer(), expected);
        assert_eq!(outcome.stderr, "");
    }

    #[test]
    fn whatever_else_is_printed_does_not_reach_the_answer() {
        let outcome = run("noisy", &[], &named("m"));
        assert_eq!(outcome.answer()["score"], json!(1.0));
        for noise in ["noise from println\n", "noise from a child\n", "noise without a line feed"] {
            assert!(outcome.stderr.contains(noise), "{outcome:?}");
        }
    }

    #[test]
    fn a_reader_that_is_gone_is_no_noise() {
        let mut child = start("response_quality", &[], &[]);
        drop(child.stdout.take());
        child.stdin.take().unwrap().write_all(TWO_TURNS.as_bytes()).unwrap();
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert_eq!((child.wait().unwrap().code(), stderr.as_str()), (Some(1), ""));
    }

    #[test]
    fn large_and_deep_documents_are_read() {
        let turns = vec![json!({"final_response": "x".repeat(1 << 20)}); 20];
        let large = json!({"metric_name": "m", "invocations": turns}).to_string();
        assert_eq!(run("response_quality", &[], &large).answer()["score"], json!(1.0));
        let nested = |levels| {
            format!(
                r#"{{"metric_name": "m", "config": {{"min_length": {}{}}}}}"#,
                "[".repeat(levels),
                "]".repeat(levels)
            )
        };
        assert_eq!(run("troublesome", &[], &nested(400)).answer()["score"], json!(1.0));
        run("response_quality", &[], &nested(400))
            .failed(3, "config.min_length: invalid type: array");
        run("response_quality", &[], &nested(1_000_000)).failed(3, "nested deeper than");
    }
}

mod bad_input {
    use super::*;

    #[test]
    fn has_one_message_that_names_the_place() {
        let message = |input: &str| {
            let outcome = run("response_quality", &[], input);
            outcome.failed(3, "");
            assert_eq!(outcome.stderr.lines().count(), 1, "{outcome:?}");
            outcome.stderr
        };
        assert_eq!(
            message(""),
            "error: response_quality: standard input is empty; \
             expected a JSON document with at least a `metric_name` (see --help)\n"
        );
        assert_eq!(message(" \n"), message(""));
        assert!(message("nonsense").starts_with("error: response_quality: invalid JSON: "));
        assert!(message("{}").starts_with("error: response_quality: missing field `metric_name`"));
        assert!(
            message(r#"{"metric_name": "m", "invocations": [{"user_content": 5}]}"#).starts_with(
                "error: response_quality: invocations[0].user_content: invalid type: integer `5`"
            )
        );
        assert_eq!(
            message(r#"{"metric_name": "m", "config": {"min_length": "x"}}"#),
            "error: response_quality: config.min_length: invalid type: string \"x\", expected usize\n"
        );
        assert!(
            message(r#"{"metric_name": "m", "config": {"min_len": 1}}"#)
                .starts_with("error: response_quality: config.min_len: unknown field `min_len`")
        );
        assert!(
            message(r#"{"metric_name": "m", "protocol_version": 1}"#)
                .starts_with("error: response_quality: protocol_version: invalid type")
        );
    }

    #[test]
    fn of_an_unknown_major_version_is_warned_of_once_or_refused() {
        let document = r#"{"metric_name": "m", "protocol_version": "2.3"}"#;
        let outcome = run("troublesome", &[], document);
        assert_eq!(outcome.answer()["score"], json!(1.0));
        assert_eq!(
            outcome.stderr,
            "warning: protocol version 2.3 is not known (this program reads 1.x); its documents may be misread\n"
        );
        let many = run("troublesome", &["--stream"], &format!("{document}\n{document}\n"));
        assert_eq!((many.stdout.lines().count(), many.stderr.lines().count()), (2, 1), "{many:?}");
        run("strict", &[], document).failed(
            3,
            "error: strict: protocol_version: version 2.3 is not known; `strict` is strict and reads 1.x only\n",
        );
        assert_eq!(
            run("strict", &[], r#"{"metric_name": "m", "protocol_version": "1.7"}"#).stderr,
            ""
        );
    }
}

mod failing_evaluators {
    use super::*;

    fn trouble(name: &str) -> Outcome {
        run("troublesome", &[], &named(name))
    }

    #[test]
    fn errors_come_with_their_causes() {
        let outcome = trouble("error");
        outcome.failed(1, "error: troublesome: cannot read the rules\n  caused by: No such file");
    }

    #[test]
    fn scores_that_are_none_are_errors() {
        trouble("nan").failed(
            1,
            "error: troublesome: NaN is not a score: it must be finite (a division by zero?)\n",
        );
    }

    #[test]
    fn panics_are_reported_once() {
        let outcome = trouble("panic");
        outcome.failed(1, "error: troublesome: the evaluator panicked\n");
        assert_eq!(outcome.stderr.matches("on purpose").count(), 1, "{outcome:?}");
    }

    #[cfg(unix)]
    #[test]
    fn crashes_are_exits_and_not_signals() {
        trouble("abort").failed(70, "error: the evaluator crashed: aborted (SIGABRT)\n");
        trouble("segfault").failed(70, "error: the evaluator crashed: invalid memory access");
        trouble("illegal")
            .failed(70, "error: the evaluator crashed: illegal instruction (SIGILL)\n");
        for overflow in ["overflow", "overflow in a thread"] {
            let outcome = trouble(overflow);
            outcome.failed(70, "error: the evaluator crashed");
            assert!(outcome.stderr.contains("has overflowed its stack"), "{outcome:?}");
        }
    }
}

mod failures_and_main {
    use super::*;

    /// What an author may do with the value of `run()`.
    const WAYS: [&str; 9] = [
        "statement",
        "underscore",
        "drop",
        "shown",
        "async main",
        "thread",
        "caught",
        "exit",
        "any --evaluator",
    ];

    fn careless(way: &str, arguments: &[&str], input: &str) -> Outcome {
        let (way, mut all) = match way.split_once(' ') {
            Some((way, option @ "--evaluator")) => (way, vec![option, "fails"]),
            _ => (way, Vec::new()),
        };
        all.extend(arguments);
        run(&format!("careless/{way}"), &all, input)
    }

    #[test]
    fn a_failure_stays_one_whatever_main_does() {
        for way in WAYS {
            for failure in ["panic", "nan", "error"] {
                careless(way, &[], &named(failure)).failed(1, "error: ");
            }
            careless(way, &[], "nonsense").failed(3, "invalid JSON");
            careless(way, &["--fast"], &named("fine")).failed(2, "unknown option `--fast`");
            let stream = careless(way, &["--stream", "--describe"], "");
            stream.failed(2, "`--stream` and `--describe` exclude each other");
        }
    }

    #[test]
    fn an_answer_stays_one_and_main_goes_on() {
        for way in WAYS.into_iter().filter(|way| *way != "exit") {
            let outcome = careless(way, &[], &named("fine"));
            assert_eq!(outcome.answer()["score"], json!(1.0), "{way}");
            assert_eq!(outcome.stderr, "guard dropped\n", "{way}");
        }
    }

    #[test]
    fn a_stream_with_errors_ends_as_before() {
        let outcome = careless("statement", &["--stream"], &named("panic"));
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
    }

    #[test]
    fn a_second_call_is_an_error() {
        let message =
            "error: `run()` was called twice; serve several evaluators with one `run_any(&[..])`\n";
        for arguments in [&[][..], &["--stream"], &["--describe"], &["--help"]] {
            let outcome = careless("twice", arguments, &named("fine"));
            assert_eq!((outcome.code, &*outcome.stderr), (Some(2), message), "{arguments:?}");
        }
        careless("twice", &[], &named("panic")).failed(1, "the evaluator panicked");
    }

    #[cfg(unix)]
    #[test]
    fn an_answer_that_nobody_takes_is_a_failure() {
        let mut child = start("careless/statement", &[], &[]);
        drop(child.stdout.take());
        child.stdin.take().unwrap().write_all(named("fine").as_bytes()).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(1));
    }
}

mod arguments {
    use super::*;

    #[test]
    fn that_are_wrong_are_named_and_input_is_still_drained() {
        let input = "x".repeat(1 << 20);
        run("response_quality", &["--fast"], &input)
            .failed(2, "error: unknown option `--fast` (see --help)\n");
        run("response_quality", &["document.json"], &input)
            .failed(2, "error: unexpected argument `document.json`");
        run("response_quality", &["--evaluator", "other"], &input).failed(
            2,
            "error: there is no evaluator `other` in this program; it has `response_quality`\n",
        );
    }

    #[test]
    fn choose_one_of_several() {
        let with = |arguments: &[&str], name: &str| run("several", arguments, &named(name));
        // By the document, by the argument, and by the argument against the document.
        assert_eq!(with(&[], "strict").answer()["score"], json!(1.0));
        assert_eq!(with(&[], "response_quality").answer()["status"], json!("NOT_EVALUATED"));
        assert_eq!(with(&["--evaluator", "strict"], "anything").answer()["score"], json!(1.0));
        assert_eq!(with(&["--evaluator=strict"], "response_quality").answer()["score"], json!(1.0));
        with(&[], "anything").failed(
            3,
            "error: metric_name: there is no evaluator `anything` in this program; \
             it has `response_quality`, `strict` (name the evaluator so in the configuration, or choose with --evaluator)\n",
        );
    }

    #[test]
    fn inform_without_reading() {
        // Standard input stays open: a program that read it would never end.
        let informed = |arguments: &[&str]| {
            let mut child = start("several", arguments, &[]);
            let stdin = child.stdin.take();
            let mut text = String::new();
            child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
            assert_eq!(child.wait().unwrap().code(), Some(0));
            drop(stdin);
            text
        };
        let help = informed(&["--help"]);
        for part in [
            "response_quality\n    Scores how many answers are long enough.\n\n    With a second paragraph.\n\nstrict\n",
            "--stream ",
            "    70    ",
        ] {
            assert!(help.contains(part), "{part:?} is not in {help}");
        }
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(
            informed(&["--version"]),
            format!("response_quality, strict (evaluator-sdk {version}, protocol 1.1)\n")
        );
        let description: Value = serde_json::from_str(&informed(&["--describe"])).unwrap();
        assert_eq!(
            description,
            json!({
                "sdk": "evaluator-sdk",
                "sdk_version": version,
                "protocol_version": "1.1",
                "capabilities": ["stream", "numbered", "target"],
                "evaluators": [
                    {
                        "name": "response_quality",
                        "description": "Scores how many answers are long enough.\n\nWith a second paragraph.",
                        "contract": "agentevals",
                        "strict": false
                    },
                    {"name": "strict", "description": "", "contract": "agentevals", "strict": true}
                ]
            })
        );
        let one: Value =
            serde_json::from_str(&informed(&["--describe", "--evaluator", "strict"])).unwrap();
        assert_eq!(one["evaluators"].as_array().unwrap().len(), 1);
    }
}

mod stream {
    use super::*;

    fn lines(outcome: &Outcome) -> Vec<Value> {
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        outcome.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn answers_every_line_in_order_and_survives_bad_ones() {
        let input = [
            &named("fine"),
            "",
            "not json",
            "  \r",
            r#"{"threshold": 1}"#,
            &named("nan"),
            &named("panic"),
            &named("error"),
            &format!("{}\r", named("fine")),
            // The last line may lack its line feed.
            &named("fine"),
        ]
        .join("\n");
        let outcome = run("troublesome", &["--stream"], &input);
        let kinds: Vec<Value> = lines(&outcome)
            .iter()
            .map(|line| line.pointer("/error/kind").unwrap_or(&line["score"]).clone())
            .collect();
        assert_eq!(
            json!(kinds),
            json!([1.0, "input", "input", "answer", "panic", "evaluator", 1.0, 1.0])
        );
    }

    #[test]
    fn errors_say_what_they_would_say_alone() {
        let outcome = run(
            "response_quality",
            &["--stream"],
            &[
                r#"{"metric_name": "m", "config": {"min_length": "x"}}"#,
                TWO_TURNS.replace('\n', " ").as_str(),
            ]
            .join("\n"),
        );
        assert_eq!(
            lines(&outcome)[0],
            json!({"error": {"kind": "config", "message": "config.min_length: invalid type: string \"x\", expected usize"}})
        );
        assert_eq!(lines(&outcome)[1]["score"], json!(0.5));
        let panics = run("troublesome", &["--stream"], &named("panic"));
        assert_eq!(
            lines(&panics)[0]["error"]["message"],
            json!("the evaluator panicked: on purpose")
        );
    }

    #[test]
    fn a_host_may_wait_for_each_answer() {
        let mut child = start("response_quality", &["--stream"], &[]);
        let mut stdin = child.stdin.take().unwrap();
        let mut answers = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        for _ in 0..3 {
            // The start of the next document comes along: it must not hold the answer back.
            stdin.write_all(format!("{}\n  ", named("m")).as_bytes()).unwrap();
            line.clear();
            answers.read_line(&mut line).unwrap();
            assert!(line.contains("NOT_EVALUATED"), "{line}");
        }
        drop(stdin);
        assert_eq!(answers.read_line(&mut line).unwrap(), 0);
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }

    #[test]
    fn many_documents_go_through_at_once() {
        let input = format!("{}\n", TWO_TURNS.replace('\n', " ")).repeat(5_000);
        let outcome = run("response_quality", &["--stream"], &input);
        assert_eq!(lines(&outcome).len(), 5_000);
    }

    #[test]
    fn an_empty_stream_has_no_answers() {
        let outcome = run("response_quality", &["--stream"], "");
        assert_eq!(
            (outcome.code, outcome.stdout.as_str(), outcome.stderr.as_str()),
            (Some(0), "", "")
        );
    }

    #[test]
    fn noise_stays_out_and_documents_choose_their_evaluator() {
        let noisy = run("noisy", &["--stream"], &format!("{0}\n{0}\n", named("m")));
        assert_eq!(lines(&noisy).len(), 2);
        let input = ["strict", "response_quality", "other"].map(named).join("\n");
        let several = lines(&run("several", &["--stream"], &input));
        assert_eq!(several[0]["score"], json!(1.0));
        assert_eq!(several[1]["status"], json!("NOT_EVALUATED"));
        assert_eq!(several[2]["error"]["kind"], json!("input"));
    }

    #[test]
    fn numbers_come_back_and_mark_what_is_said() {
        let documents = ["fine", "error", "panic", "nan", "fine"];
        let input: String = (7..)
            .zip(documents)
            .map(|(number, name)| format!("{number} {}\n", named(name)))
            .collect();
        let outcome = run("troublesome", &["--stream"], &input);
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        let mut marked = outcome.stderr.split('\u{1e}');
        assert_eq!(marked.next(), Some(""), "nothing is said before the first");
        for ((number, document), line) in (7..).zip(documents).zip(outcome.stdout.lines()) {
            let answer = line.strip_prefix(&format!("{number} ")).unwrap();
            let answer: Value = serde_json::from_str(answer).unwrap();
            let said = marked.next().unwrap().strip_prefix(&format!("{number}\n")).unwrap();
            // As it ends when it is given this document alone.
            let alone = run("troublesome", &[], &named(document));
            let code = answer.pointer("/error/exit_code").map_or(Some(0), |code| code.as_i64());
            assert_eq!(code, alone.code.map(i64::from), "{document}: {line}");
            if document != "panic" {
                // Panics tell the thread's number.
                assert_eq!(said, alone.stderr, "{document}");
            }
        }
        assert_eq!((marked.next(), outcome.stdout.lines().count()), (None, documents.len()));
    }

    #[test]
    fn what_was_printed_is_said_before_the_answer() {
        let noisy = run("noisy", &["--stream"], &format!("0 {0}\n1 {0}\n", named("m")));
        let noise = "noise from println\nnoise from a child\nnoise without a line feed";
        assert_eq!(noisy.stderr, format!("\u{1e}0\n{noise}\u{1e}1\n{noise}"));
        assert!(
            noisy.stdout.lines().zip(["0 {", "1 {"]).all(|(line, start)| line.starts_with(start))
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_reader_that_left_ends_the_stream_quietly() {
        let mut child = start("response_quality", &["--stream"], &[]);
        drop(child.stdout.take());
        // The writer would go on for ever.
        let mut stdin = child.stdin.take().unwrap();
        let document = format!("{}\n", named("m"));
        while stdin.write_all(document.as_bytes()).is_ok() {}
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert_eq!((child.wait().unwrap().code(), stderr.as_str()), (Some(1), ""));
    }
}

mod messages {
    use super::*;

    #[test]
    fn of_the_author_go_to_standard_error() {
        let outcome = run("troublesome", &[], &named("warn"));
        assert_eq!(outcome.stderr, "warning: the author's own turns=2 why=\"two words\"\n");
    }

    #[test]
    fn follow_the_level() {
        let at = |level: &str| {
            run_with("troublesome", &[], &[("EVALUATOR_LOG", level)], &named("warn")).stderr
        };
        assert_eq!(
            at("info"),
            "warning: the author's own turns=2 why=\"two words\"\ninfo: details\n"
        );
        assert_eq!(at("off"), "");
        assert!(at("loud").starts_with("warning: EVALUATOR_LOG=loud is not a level"));
    }

    #[test]
    fn go_to_the_author_s_subscriber_alone_where_there_is_one() {
        assert_eq!(run("own subscriber", &[], &named("warn")).stderr, "own: fixture\n");
    }
}
