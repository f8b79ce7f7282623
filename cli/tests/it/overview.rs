//! Forms of the report that show a run at a glance, and those for spreadsheets and metrics.
#![cfg(unix)]

use std::{fmt::Write as _, process::Command, sync::LazyLock};

use crate::support::{Directory, Ran};

/// A recording of conversations whose users say `<0>`, `<1>` and so on.
fn recording(conversations: usize) -> String {
    let mut text = String::new();
    for number in 0..conversations {
        let said = format!(
            r#"[{{\"role\": \"user\", \"parts\": [{{\"type\": \"text\", \"content\": \"<{number}> please\"}}]}}]"#
        );
        let _ = writeln!(
            text,
            r#"{{"traceId": "t{number}", "spanId": "s", "startTimeUnixNano": "1", "endTimeUnixNano": "3000001", "attributes": [{{"key": "gen_ai.operation.name", "value": {{"stringValue": "chat"}}}}, {{"key": "gen_ai.input.messages", "value": {{"stringValue": "{said}"}}}}]}}"#
        );
    }
    text
}

/// Sets the variable `n` to the number of the conversation.
const NUMBER: &str = "n=$(grep -o '<[0-9]*>' | head -1 | tr -d '<>')";

/// Thirty conversations. `polite` fails every third one, the 27th worst; `quick` breaks in the 5th and does not apply to the 6th.
fn directory() -> Directory {
    let directory = Directory::new();
    directory.file("all.jsonl", recording(30));
    directory.script(
        "polite",
        &format!(
            r#"{NUMBER}; score=1; [ $((n % 3)) = 0 ] && score=0.4; [ "$n" = 27 ] && score=0.1
            echo "{{\"score\": $score, \"details\": {{\"reason\": \"=rude in $n\"}}}}""#
        ),
    );
    directory.script(
        "quick",
        &format!(
            r#"{NUMBER}; [ "$n" = 5 ] && exit 3
            [ "$n" = 6 ] && echo '{{"score": 0, "status": "NOT_EVALUATED"}}' && exit
            echo '{{"score": 1}}'"#
        ),
    );
    directory.file(
        "c.yaml",
        "evaluators: [{name: polite, type: code, path: polite}, {name: quick, type: code, path: quick}]",
    );
    directory
}

/// The report of one run in a form.
fn report(form: &str) -> Ran {
    static SAVED: LazyLock<Directory> = LazyLock::new(|| {
        let directory = directory();
        directory.run(&["all.jsonl", "-c", "c.yaml", "--save-run", "a.evalrun"]).exits(3);
        directory
    });
    SAVED.evaluator(&["report", "a.evalrun", "-o", form]).exits(3)
}

#[test]
fn an_overview_has_a_row_per_evaluator_and_the_worst_conversations() {
    let ran = report("overview");
    let lines: Vec<&str> = ran.stdout.lines().collect();
    let cells = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(cells(lines[2])[..5], ["polite", "30", "66.7", "%", "0.7900"], "{}", ran.stdout);
    let quick = cells(lines[3]);
    assert_eq!(quick[..5], ["quick", "28", "100.0", "%", "1.0000"], "{}", ran.stdout);
    assert_eq!(quick[quick.len() - 2..], ["1", "1"], "not evaluated, and errors");
    let title = "What needs attention, worst first (10 of 30 conversations failed):";
    assert!(ran.stdout.contains(title), "{}", ran.stdout);
    let who: Vec<&str> = lines.iter().filter(|it| it.contains("<")).copied().collect();
    assert_eq!(who.len(), 10);
    assert_eq!(who[0], "all.jsonl #28: \"<27> please\"");
    assert_eq!(who[1], "all.jsonl: \"<0> please\"");
    let why = "  [FAIL] polite 0.1000: score 0.1000 is below the threshold 0.5: =rude in 27";
    assert!(lines.contains(&why), "{}", ran.stdout);
    assert!(ran.stdout.contains("[ERR ] quick: 1 of error type exited, first in trace t5"));
    assert!(lines.contains(&"Run the worst one again: evaluator repro a.evalrun t27 polite"));
    assert!(lines.len() <= 60, "{}", lines.len());
}

#[test]
fn an_overview_by_an_attribute_stays_short_and_says_what_is_left_out() {
    let directory = Directory::new();
    let line = |(number, line): (usize, &str)| {
        let team = format!(
            r#""attributes": [{{"key": "team", "value": {{"stringValue": "team {}"}}}}, "#,
            number % 12
        );
        line.replace(r#""attributes": ["#, &team) + "\n"
    };
    let text: String = recording(40).lines().enumerate().map(line).collect();
    directory.file("all.jsonl", text);
    directory.script("low", "echo '{\"score\": 0.1}'");
    let entries =
        ["a", "b", "c", "d", "e"].map(|it| format!("{{name: {it}, type: code, path: low}}"));
    directory.file("c.yaml", format!("evaluators: [{}]", entries.join(", ")));
    directory
        .run(&["all.jsonl", "-c", "c.yaml", "--by", "team", "--save-run", "a.evalrun"])
        .exits(1);
    let report = |form| directory.evaluator(&["report", "a.evalrun", "-o", form]).exits(1).stdout;
    let rows = |text: &str| text.lines().filter(|line| line.contains("    team ")).count();
    let overview = report("overview");
    assert!(overview.lines().count() <= 60, "{overview}");
    assert!(overview.contains("\n  and 30 more rows: -o table shows them\n"), "{overview}");
    assert!(overview.contains("\n  and 2 more values: -o json=FILE has them\n"), "{overview}");
    assert_eq!((rows(&overview), rows(&report("table"))), (20, 50));
    let gated = ["report", "a.evalrun", "-o", "overview", "--gate", "a: mean >= 0.5"];
    let gated = directory.evaluator(&gated).exits(1).stdout;
    assert!(gated.contains("  FAIL: mean >= 0.5 (0."), "{gated}");
    // Fewer conversations than the worst ten, and the number of all others.
    let named = overview.matches(" please\"").count();
    let more = format!("and {} more: -o csv=FILE", 40 - named);
    assert!((3..10).contains(&named) && overview.contains(&more), "{overview}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "Python makes a terminal")]
fn a_terminal_gets_the_overview_of_a_long_run_and_a_file_the_table() {
    let directory = directory();
    let spawn = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)";
    let on_terminal = |trace: &str| {
        let evaluator = directory.command(&[]);
        let mut command = Command::new("python3");
        command.args(["-c", spawn]).arg(evaluator.get_program());
        command.args(["run", trace, "-c", "c.yaml"]).current_dir(directory.path());
        let output = command.output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let long = on_terminal("all.jsonl");
    assert!(long.contains("What needs attention") && !long.contains("Trace: t1"), "{long}");
    directory.file("few.jsonl", recording(20));
    let short = on_terminal("few.jsonl");
    assert!(!short.contains("What needs attention") && short.contains("Trace: t1"), "{short}");
    let piped = directory.run(&["all.jsonl", "-c", "c.yaml"]).exits(3);
    assert!(piped.stdout.contains("Trace: t1"), "{}", piped.stdout);
}

#[test]
fn csv_has_a_row_per_evaluation_and_no_formula() {
    let ran = report("csv");
    let mut reader = csv::Reader::from_reader(ran.stdout.as_bytes());
    let headers = reader.headers().unwrap().clone();
    let at = |column: &str| headers.iter().position(|it| it == column).unwrap();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 60);
    let row = rows.iter().find(|row| &row[at("trace_id")] == "t27").unwrap();
    assert_eq!(&row[at("conversation")], "all.jsonl #28");
    assert_eq!((&row[at("outcome")], &row[at("score")]), ("failed", "0.1"));
    assert!(row[at("reason")].starts_with("score 0.1"), "{row:?}");
    let passed = rows.iter().find(|row| &row[at("trace_id")] == "t1").unwrap();
    assert_eq!(&passed[at("reason")], "'=rude in 1");
    let kinds: Vec<&str> =
        rows.iter().map(|row| &row[at("error_type")]).filter(|it| !it.is_empty()).collect();
    assert_eq!(kinds, ["exited"]);
}

#[test]
fn openmetrics_has_the_numbers_of_each_evaluator() {
    let ran = report("openmetrics");
    for line in [
        "# TYPE evaluator_pass_rate gauge",
        "evaluator_evaluations{evaluator=\"quick\",outcome=\"error\"} 1",
        "evaluator_evaluations{evaluator=\"polite\",outcome=\"failed\"} 10",
        "evaluator_pass_rate{evaluator=\"quick\"} 1",
    ] {
        assert!(ran.stdout.lines().any(|it| it == line), "{line}\n{}", ran.stdout);
    }
    assert!(ran.stdout.ends_with("# EOF\n"));
}

#[test]
fn annotations_are_no_more_than_github_shows_and_the_worst_come_first() {
    let directory = Directory::new();
    directory.file("all.jsonl", recording(30));
    directory.script("low", &format!(r#"{NUMBER}; echo "{{\"score\": 0.$((40 - n))}}""#));
    directory.file("c.yaml", "evaluators: [{name: low, type: code, path: low}]");
    let ran = directory.run(&["all.jsonl", "-c", "c.yaml", "-o", "github"]).exits(1);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    let errors = lines.iter().take_while(|line| line.starts_with("::error ")).count();
    assert_eq!((errors, ran.stdout.matches("::error ").count()), (10, 10), "{}", ran.stdout);
    assert!(lines[0].contains("low on t29::score 0.11"), "{}", lines[0]);
    let rest = "::notice title=not shown::20 errors more; see the other forms of the report";
    assert_eq!(lines.last(), Some(&rest));
}

#[test]
fn junit_names_tests_the_same_in_every_run() {
    let ran = report("junit");
    let suite = r#"<testsuite name="polite" tests="30" failures="10" errors="0" skipped="0">"#;
    assert!(ran.stdout.contains(suite), "{}", ran.stdout);
    let case = r#"<testcase classname="polite" name="all.jsonl #28" "#;
    assert!(ran.stdout.contains(case), "{}", ran.stdout);
}

#[test]
fn a_gated_evaluator_fails_by_its_gate_alone_in_forms_for_ci() {
    let directory = Directory::new();
    directory.file("all.jsonl", recording(30));
    directory.script(
        "polite",
        &format!(
            r#"{NUMBER}; [ $((n % 3)) = 0 ] && echo '{{"score": 0}}' || echo '{{"score": 1}}'"#
        ),
    );
    directory.file("c.yaml", "evaluators: [{name: polite, type: code, path: polite}]");
    let run = |gate: &str, more: &[&str], code| {
        let args =
            ["all.jsonl", "-c", "c.yaml", "--gate", gate, "-o", "junit", "-o", "github=g.txt"];
        let ran = directory.run(&[&args, more].concat()).exits(code);
        (ran.stdout, directory.read("g.txt"))
    };
    let gates = |failures, skipped| {
        format!(
            r#"<testsuite name="gates" tests="1" failures="{failures}" errors="0" skipped="{skipped}">"#
        )
    };
    let (junit, annotations) = run("polite: pass_rate >= 0.4", &[], 0);
    assert!(junit.contains(&gates(0, 0)), "{junit}");
    assert!(junit.contains(r#"tests="31" failures="0""#), "{junit}");
    assert_eq!(
        junit.matches(r#"<property name="below_threshold" value="score 0.0000 is below"#).count(),
        10
    );
    assert!(!annotations.contains("::error"), "{annotations}");
    assert!(annotations.contains("::notice title=not shown::1 notice more"), "{annotations}");
    let (junit, annotations) = run("polite: pass_rate >= 0.95", &[], 1);
    assert!(junit.contains(&gates(1, 0)), "{junit}");
    assert!(
        annotations.starts_with("::error title=gate::polite: pass_rate >= 0.95: FAIL"),
        "{annotations}"
    );
    let (junit, _) = run("polite: pass_rate >= 0.7", &[], 4);
    assert!(junit.contains(r#"type="inconclusive""#), "{junit}");
    let (junit, annotations) = run("polite: pass_rate >= 0.7", &["--inconclusive", "pass"], 0);
    assert!(junit.contains(&gates(0, 1)), "{junit}");
    assert!(annotations.starts_with("::warning title=gate::"), "{annotations}");
}

#[test]
fn markdown_of_many_conversations_counts_those_that_passed_and_stays_short() {
    let ran = report("markdown");
    assert!(ran.stdout.contains("| polite | 30 | 66.7 % | 0.7900 |"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("✅"), "{}", ran.stdout);
    assert_eq!(ran.stdout.matches("❌").count(), 10);
    let again = "\nRun the worst one again: `evaluator repro a.evalrun t27 polite`\n";
    assert!(ran.stdout.ends_with(again), "{}", ran.stdout);
    let directory = Directory::new();
    directory.file("all.jsonl", recording(400));
    let reason = "x".repeat(300);
    directory.script(
        "low",
        &format!(r#"cat >/dev/null; echo '{{"score": 0, "details": {{"reason": "{reason}"}}}}'"#),
    );
    directory.file("c.yaml", "evaluators: [{name: low, type: code, path: low}]");
    let ran = directory.run(&["all.jsonl", "-c", "c.yaml", "-o", "markdown"]).exits(1);
    assert!(ran.stdout.len() < 65_536, "{}", ran.stdout.len());
    let (_, more) = ran.stdout.rsplit_once("... and ").unwrap();
    let more: usize = more.split(' ').next().unwrap().parse().unwrap();
    assert_eq!(ran.stdout.matches("❌").count() + more, 400);
}
