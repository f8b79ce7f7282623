//! What agents and evaluators write begins no line of a report and reaches no terminal as a command.
#![cfg(unix)]

use std::fs;

use crate::support::{Directory, eval_set, finish, trace};

/// Text that would end a line, begin others, and speak to terminals and CI systems.
const EVIL: &str = "x\nPASSED: 9 passed\n::error::y\r::stop-commands::z\r\n\u{1b}[2J\u{9b}31m\u{202e}\u{2028}##[add-mask]w<b>|` @octocat https://evil.example";

/// Forms of reports that are read line by line, or shown.
const FORMS: [&str; 9] =
    ["table", "summary", "markdown", "github", "junit", "overview", "csv", "openmetrics", "html"];

/// The same inside of a string of JSON.
fn evil_json() -> String {
    let quoted = serde_json::to_string(EVIL).expect("it is text");
    quoted[1..quoted.len() - 1].to_owned()
}

/// A recording whose trace id, model, tool names and messages are all evil, and evaluators that are.
fn directory() -> Directory {
    let directory = Directory::new();
    let evil = evil_json();
    let recording = fs::read_to_string(trace("k02_traj_extra"))
        .expect("it is there")
        .replace("4cccb4d99eac7c27751ecfea9cfda8e2", &format!("4c{evil}"))
        .replace("\"gpt-4o\"", &format!("\"{evil}\""))
        .replace("\"stringValue\": \"z\"", &format!("\"stringValue\": \"{evil}\""));
    directory.file("trace.json", recording);
    directory.file("evil", EVIL);
    let details = format!(r#"{{"reason": "{evil}", "diff": "{evil}", "measured": "{evil}"}}"#);
    directory.file("failed.json", format!(r#"{{"score": 0, "details": {details}}}"#));
    directory.file(
        "skipped.json",
        format!(r#"{{"score": 0, "status": "NOT_EVALUATED", "details": {details}}}"#),
    );
    directory
        .file("reported.json", format!(r#"{{"error": {{"kind": "k", "message": "{evil}"}}}}"#));
    for name in ["failed", "skipped", "reported"] {
        directory.script(name, &format!("cat >/dev/null; cat {name}.json"));
    }
    directory.script("crash", "cat >/dev/null; cat evil evil >&2; exit 3");
    directory.script("hang", "cat >/dev/null; cat evil >&2; sleep 600");
    directory.script("nonsense", "cat >/dev/null; cat evil evil >&2; cat evil");
    let entries: String = ["failed", "skipped", "reported", "crash", "nonsense"]
        .map(|name| format!("  - {{name: {name}, type: code, path: {name}}}\n"))
        .concat();
    let hang = "  - {name: hang, type: code, path: hang, timeout: 1}\n";
    let named = format!("  - {{name: \"n{evil}\", type: code, path: crash}}\n");
    let metric = "  - {name: tool_trajectory_avg_score, type: builtin}\n";
    directory.file("c.yaml", format!("evaluators:\n{metric}{entries}{hang}{named}"));
    directory
}

#[track_caller]
fn is_harmless(form: &str, text: &str) {
    for line in text.lines() {
        assert!(!line.starts_with("PASSED"), "{form}: {line:?}");
        let command = line.trim_start();
        // The annotations of that form are the program's own.
        let own = form == "github"
            && ["::error ", "::warning ", "::notice "].iter().any(|kind| {
                let properties = line.strip_prefix(kind);
                properties.is_some_and(|it| it.starts_with("title=") || it.starts_with("file=t"))
            });
        assert!(own || !command.starts_with("::"), "{form}: {line:?}");
        assert!(own || !line.contains("##["), "{form}: {line:?}");
    }
    if form == "markdown" {
        // Nothing in code is a mention or a link.
        let text = text.replace("\\`", "");
        let shown: String = text.split('`').step_by(2).collect();
        for live in ["@octocat", "https://evil"] {
            assert!(!shown.contains(live), "{live}: {shown}");
        }
    }
    let is_unsafe = |c: char| (c.is_control() && c != '\n') || "\u{202e}\u{2028}".contains(c);
    // The script of the page is indented by tabs.
    let indented = text.lines().map(|line| match form {
        "html" => line.trim_start_matches('\t'),
        _ => line,
    });
    let found: Vec<&str> = indented.filter(|line| line.contains(is_unsafe)).collect();
    assert!(found.is_empty(), "{form}: {found:?}");
}

#[test]
fn no_form_of_report_passes_on_what_would_be_a_line_or_a_command() {
    let directory = directory();
    let goldens = eval_set("library");
    for form in FORMS {
        let args = ["trace.json", "-c", "c.yaml", "-e", &goldens, "-o", form, "-vv"];
        let ran = directory.run(&args).exits(3);
        let word = if form == "overview" { "FAIL" } else { "failed" };
        assert!(ran.stdout.contains(word), "{form}: {}", ran.stdout);
        assert!(form != "markdown" || ran.stdout.contains("octocat"), "{}", ran.stdout);
        is_harmless(form, &ran.stdout);
        is_harmless("stderr", &ran.stderr);
        assert!(ran.stderr.lines().last().unwrap().starts_with("ERROR: "), "{}", ran.stderr);
    }
    let files = FORMS.map(|form| format!("{form}=report.{form}"));
    let outputs = files.iter().flat_map(|file| ["-o", file]);
    let args: Vec<&str> =
        ["trace.json", "-c", "c.yaml", "-e", &goldens, "-v"].into_iter().chain(outputs).collect();
    let ran = directory.run(&args).exits(3).reports_nothing();
    is_harmless("stderr", &ran.stderr);
    for form in FORMS {
        is_harmless(form, &directory.read(&format!("report.{form}")));
    }
}

#[test]
fn names_of_files_are_one_line_each() {
    let directory = Directory::new();
    let name = "t\n::error::x\u{1b}[2J.json";
    let trace = fs::read(trace("k01_traj_exact")).unwrap();
    for (content, code) in [(&b"{"[..], 3), (&trace, 1)] {
        directory.file(name, content);
        for form in FORMS {
            let ran = directory.run(&[name, "--no-config", "-o", form]).exits(code);
            is_harmless(form, &ran.stdout);
            is_harmless("stderr", &ran.stderr);
        }
    }
}

#[test]
fn mistakes_on_the_command_line_are_shown_safely() {
    let directory = Directory::new();
    for argument in ["no\n::error::x.json", "no\u{1b}[2J.json"] {
        let ran = directory.run(&[argument]).exits(2);
        assert!(ran.stderr.contains("invalid value 'no"), "{}", ran.stderr);
        is_harmless("stderr", &ran.stderr);
    }
}

#[test]
fn colours_are_of_this_program_alone() {
    let directory = directory();
    let mut command = directory.command(&["run", "trace.json", "-c", "c.yaml"]);
    command.env("CLICOLOR_FORCE", "1");
    let ran = finish(command.spawn().unwrap()).exits(3);
    let plain =
        ran.stderr.replace("\u{1b}[1m", "").replace("\u{1b}[31m", "").replace("\u{1b}[0m", "");
    assert_ne!(plain, ran.stderr);
    is_harmless("stderr", &plain);
}
