//! Reports as one HTML file, and the transcripts that they show.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic, too")]

use std::{fmt::Write as _, fs, os::unix::fs::PermissionsExt as _};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use crate::support::{Directory, finish, page::Page, processes::wait_until};

const SECRET: &str = "sk-decoy-0123456789";

/// Conversations whose users say `<0>`, `<1>` and so on, and whose agents answer with a secret.
fn recording(conversations: usize) -> String {
    let message = |role: &str, text: String| {
        let message = json!([{"role": role, "parts": [{"type": "text", "content": text}]}]);
        json!({"stringValue": message.to_string()})
    };
    let mut text = String::new();
    for number in 0..conversations {
        let said = message("user", format!("<{number}> </script><img src=x>"));
        let answered = message("assistant", format!("The key is \"{SECRET}\", {number}."));
        let span = json!({
            "traceId": format!("t{number}"), "spanId": "s", "startTimeUnixNano": "1", "endTimeUnixNano": "3000001",
            "attributes": [
                {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
                {"key": "gen_ai.input.messages", "value": said},
                {"key": "gen_ai.output.messages", "value": answered},
            ],
        });
        let _ = writeln!(text, "{span}");
    }
    text
}

/// Twenty conversations: the 3rd fails, the 18th breaks.
fn directory() -> Directory {
    let directory = Directory::new();
    directory.file("all.jsonl", recording(20));
    directory.script(
        "picky",
        r#"n=$(grep -o '<[0-9]*>' | head -1 | tr -d '<>'); score=1
        [ "$n" = 3 ] && score=0.25; [ "$n" = 18 ] && echo broken >&2 && exit 3
        echo "{\"score\": $score, \"details\": {\"reason\": \"</script> in $n\"}}""#,
    );
    directory.file("c.yaml", "evaluators: [{name: picky, type: code, path: picky}]");
    directory
}

/// Runs `evaluator` with a secret in its environment.
fn evaluator(directory: &Directory, args: &[&str], code: i32) {
    let mut command = directory.command(args);
    command.env("MY_API_KEY", SECRET);
    finish(command.spawn().unwrap()).exits(code);
}

fn page(directory: &Directory, file: &str) -> Page {
    Page::read(&directory.read(file))
}

#[test]
fn a_page_has_everything_about_the_run() {
    let directory = directory();
    let run = ["run", "all.jsonl", "-c", "c.yaml", "--save-run", "a.evalrun", "-o", "html=a.html"];
    evaluator(&directory, &run, 3);
    let Page { data, cases } = page(&directory, "a.html");
    assert_eq!(data["verdict"], "ERROR");
    assert_eq!(data["labels"], json!([["run", "a.evalrun"]]));
    let sentence = data["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("18 passed, 1 failed, 1 errored"), "{sentence}");
    let evaluator = &data["evaluators"][0];
    assert_eq!(evaluator["outcomes"], "00010000000000000020");
    assert_eq!((&evaluator["scores"][3], &evaluator["scores"][18]), (&json!(0.25), &Value::Null));
    assert_eq!((&evaluator["kind"], &evaluator["cases"]), (&json!("code"), &json!(19)));
    assert_eq!(evaluator["bins"], json!([0, 0, 1, 0, 0, 0, 0, 0, 0, 18]));
    assert_eq!(evaluator["times"].as_array().unwrap().len(), 4);
    let shares = json!([["passed", 18], ["failed", 1], ["error", 1]]);
    assert_eq!((&data["shares"], &evaluator["shares"]), (&shares, &shares));
    // The bins below the threshold of 0.5.
    assert_eq!(evaluator["low"], 5);
    let conversations = &data["conversations"];
    assert_eq!(conversations["count"], 20);
    assert_eq!(conversations["trace_id"][7], "t7");
    assert_eq!(conversations["names"][7], "all.jsonl #8");
    assert_eq!(conversations["prompt"][7], "<7> </script><img src=x>");
    assert_eq!(conversations["why"][3], "</script> in 3");
    // A failure is worse than what broke.
    assert_eq!(conversations["badness"][3], 1.5);
    assert_eq!(conversations["badness"][18], 0.01);
    assert_eq!(
        (&conversations["latency_ms"][3], &conversations["tool_calls"][3]),
        (&json!(3), &json!(0))
    );
    let again = "evaluator repro a.evalrun t3 picky";
    assert_eq!(
        data["attention"],
        json!([{"row": 3, "evaluator": 0, "reason": "</script> in 3", "repro": again}])
    );
    assert_eq!(data["errors"][0]["row"], 18);
    assert_eq!(data["run"]["policy"]["max_error_rate"], 0.0);
    assert_eq!(cases.len(), 20);
    assert_eq!(cases[&3]["evaluations"][0]["reason"], "</script> in 3");
    assert_eq!(cases[&0]["evaluations"][0]["details"], json!({"reason": "</script> in 0"}));
    assert!(cases[&18]["evaluations"][0]["error"].as_str().unwrap().contains("broken"));
}

#[test]
fn images_and_files_are_in_transcripts_and_not_in_what_evaluators_read() {
    let directory = Directory::new();
    let png = |size: usize| {
        let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
        bytes.resize(size, 7);
        BASE64_STANDARD.encode(bytes)
    };
    let image = |content: &str| json!({"type": "blob", "modality": "image", "mime_type": "image/png", "content": content});
    let small = png(60);
    // Four of these are more than a transcript keeps, and the last one is too large by itself.
    let (large, huge) = (png(190_000), png(250_001));
    let mut shown = vec![json!({"type": "text", "content": "What is this?"}), image(&small)];
    shown.extend((0..4).map(|_| image(&large)));
    shown.push(image(&huge));
    let user = json!([{"role": "user", "parts": shown}]).to_string();
    let link = format!("https://example.com/{SECRET}.png");
    let answer = json!([{"role": "assistant", "parts": [
        {"type": "uri", "modality": "image", "uri": link},
        {"type": "blob", "modality": "audio", "mime_type": "audio/wav", "content": BASE64_STANDARD.encode("sound")}]}]);
    let text = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
    let attributes = json!([
        text("gen_ai.operation.name", "chat"),
        text("gen_ai.input.messages", &user),
        text("gen_ai.output.messages", &answer.to_string()),
    ]);
    let span = json!({"traceId": "1", "spanId": "1", "name": "x", "startTimeUnixNano": "1", "endTimeUnixNano": "2", "attributes": attributes});
    directory.file("t.jsonl", span.to_string());
    directory.script("check", "cat >seen.json; echo '{\"score\": 1}'");
    directory.file("c.yaml", "evaluators: [{name: check, type: code, path: check}]");
    let run = ["run", "t.jsonl", "-c", "c.yaml", "--transcripts", "all", "-o", "html=a.html"];
    evaluator(&directory, &run, 0);
    let invocation = &page(&directory, "a.html").cases[&0]["transcript"]["invocations"][0];
    let of = |size: usize, data: Option<&str>| {
        let mut it = json!({"kind": "image", "media_type": "image/png", "size": size});
        data.into_iter().for_each(|data| it["data"] = data.into());
        it
    };
    let large = |data: bool| of(190_000, data.then_some(&*large));
    let images = [
        of(60, Some(&small)),
        large(true),
        large(true),
        large(true),
        large(false),
        of(250_001, None),
    ];
    assert_eq!(invocation["user_attachments"], json!(images));
    assert_eq!(
        invocation["final_attachments"],
        json!([{"kind": "image", "url": "https://example.com/<redacted:MY_API_KEY>.png"},
            {"kind": "audio", "media_type": "audio/wav", "size": 5}])
    );
    assert_eq!(
        (&invocation["user_content"], &invocation["final_response"]),
        (&json!("What is this?"), &json!(""))
    );
    let seen: Value = serde_json::from_str(&directory.read("seen.json")).unwrap();
    let keys: Vec<&String> = seen["invocations"][0].as_object().unwrap().keys().collect();
    assert!(keys.iter().all(|key| !key.contains("attachments")), "{keys:?}");
    assert!(!directory.read("seen.json").contains(&small), "a document has an image");
}

#[test]
fn secrets_in_recordings_are_in_no_detail_case_cluster_or_slice() {
    const PIN: &str = "98712345";
    let directory = Directory::new();
    let text = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
    let said = |role: &str, text: &str| {
        json!([{"role": role, "parts": [{"type": "text", "content": text}]}]).to_string()
    };
    let span = |id: &str, more: Value| {
        json!({"traceId": "1", "spanId": id, "parentSpanId": if id == "2" { "1" } else { "" }, "name": "x",
            "startTimeUnixNano": "1", "endTimeUnixNano": "2000", "attributes": more})
    };
    let of = format!("of {SECRET}");
    let agent = span(
        "1",
        json!([
            text("gen_ai.operation.name", "invoke_agent"),
            text("customer", &of),
            text("item", SECRET),
            text("pin", PIN),
            text("gen_ai.input.messages", &said("user", SECRET)),
            text("gen_ai.output.messages", &said("assistant", "done")),
        ]),
    );
    let arguments = format!("{{\"key\": \"{SECRET}\", \"pin\": {PIN}, \"small\": 7}}");
    let tool = span(
        "2",
        json!([
            text("gen_ai.operation.name", "execute_tool"),
            text("gen_ai.tool.name", "login"),
            text("gen_ai.tool.call.arguments", &arguments),
            text("gen_ai.tool.call.result", &arguments),
        ]),
    );
    let trace = json!({"resourceSpans": [{"scopeSpans": [{"spans": [agent, tool]}]}]});
    directory.file("t.json", trace.to_string());
    let golden = json!({"eval_set_id": "s", "eval_cases": [{"eval_id": "one", "conversation": [{
        "user_content": {"parts": [{"text": "hi"}]},
        "intermediate_data": {"tool_uses": [{"name": "login", "args": {"key": "other"}}]}}]}]});
    directory.file("set.json", golden.to_string());
    directory.script("check", "cat >/dev/null; echo '{\"score\": 1}'");
    let run = |args: &[&str], code: i32| {
        let outputs = [
            "--save-run",
            "a.evalrun",
            "--transcripts",
            "all",
            "-o",
            "html=a.html",
            "-o",
            "json=a.json",
        ];
        let by = ["--case-key", "item", "--cluster", "customer", "--by", "customer", "--by", "pin"];
        let mut command = directory.command(&[&["run", "t.json"], args, &outputs, &by].concat());
        command.env("MY_API_KEY", SECRET).env("MY_PASSWORD", PIN);
        finish(command.spawn().unwrap()).exits(code);
        for file in ["a.evalrun", "a.html", "a.json"] {
            let text = directory.read(file);
            assert!(!text.contains(SECRET) && !text.contains(PIN), "{file}: {text}");
        }
        serde_json::from_str::<Value>(&directory.read("a.json")).unwrap()["traces"][0].clone()
    };
    let compared = run(&["-e", "set.json", "-m", "tool_trajectory_avg_score"], 1);
    let actual = &compared["metrics"][0]["details"]["comparisons"][0]["actual"][0];
    let redacted =
        json!({"key": "<redacted:MY_API_KEY>", "pin": "<redacted:MY_PASSWORD>", "small": 7});
    assert_eq!(actual["args"], redacted, "{compared}");
    let keyed = run(&["--evaluator", "check"], 0);
    assert_eq!(keyed["case"], "<redacted:MY_API_KEY>");
    assert_eq!(keyed["cluster"], "of <redacted:MY_API_KEY>");
    let cases = page(&directory, "a.html").cases;
    let call = &cases[&0]["transcript"]["invocations"][0]["intermediate_steps"]["tool_calls"][0];
    assert_eq!(call["args"], redacted, "{}", cases[&0]);
}

#[test]
fn the_same_run_file_gives_the_same_page() {
    let directory = directory();
    let run = ["run", "all.jsonl", "-c", "c.yaml", "--save-run", "a.evalrun", "-o", "html=a.html"];
    evaluator(&directory, &run, 3);
    for file in ["b.html", "c.html"] {
        evaluator(&directory, &["report", "a.evalrun", "-o", &format!("html={file}")], 3);
        assert_eq!(directory.read("a.html"), directory.read(file));
    }
}

#[test]
fn a_page_holds_no_markup_of_others_and_needs_no_other_file() {
    let directory = directory();
    evaluator(&directory, &["run", "all.jsonl", "-c", "c.yaml", "-o", "html=a.html"], 3);
    let html = directory.read("a.html");
    assert!(!html.contains("<img"), "{html}");
    let ends = html.matches("</script>").count();
    // Two blocks, the data and the script.
    assert_eq!((ends, html.matches("<script").count()), (4, 4));
    let policy = html.split("Content-Security-Policy\" content=\"").nth(1).unwrap();
    let (policy, _) = policy.split_once('"').unwrap();
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    // The script and the style are the page's own.
    let (before, rest) = html.split_once("<style>").unwrap();
    let (_, rest) = rest.split_once("</style>").unwrap();
    let (rest, _) = rest.rsplit_once("<script>").unwrap();
    for part in [before, rest] {
        for other in ["http://", "https://", "<link", "<a ", " style=", "src=\""] {
            assert!(!part.contains(other), "{other}");
        }
    }
    let title = html.split("<title>").nth(1).unwrap();
    assert!(title.starts_with("ERROR: 18 passed, 1 failed"), "{title}");
    let without_script = html.split("<noscript>").nth(1).unwrap();
    assert!(without_script.contains("<th scope=\"row\">picky<td>19<td>94.7 %"), "{without_script}");
}

#[test]
fn transcripts_are_kept_as_the_options_and_the_configuration_say() {
    let directory = directory();
    let entries = "evaluators: [{name: picky, type: code, path: picky}]";
    for (keys, options, kept) in [
        ("", &["-o", "json=x.json"][..], &[][..]),
        ("", &["-o", "html=x.html"], &[3, 18]),
        ("", &["-o", "html=x.html", "--transcripts", "none"], &[]),
        ("transcripts: failed", &[], &[3, 18]),
        ("transcripts: all", &["-o", "html=x.html", "--transcripts", "failed"], &[3, 18]),
        ("", &["--transcripts", "all"], &(0..20).collect::<Vec<u64>>()),
    ] {
        directory.file("d.yaml", format!("{entries}\n{keys}\n"));
        let run = ["run", "all.jsonl", "-c", "d.yaml", "--save-run", "a.evalrun"];
        evaluator(&directory, &[&run, options].concat(), 3);
        let lines = directory.read("a.evalrun").matches("\"kind\":\"transcript\"").count();
        evaluator(&directory, &["report", "a.evalrun", "-o", "html=a.html"], 3);
        let page = page(&directory, "a.html");
        assert_eq!(page.transcripts(), kept, "{keys} {options:?}");
        assert_eq!(lines, kept.len(), "{keys} {options:?}");
        let notes = page.data["notes"].to_string();
        assert_eq!(notes.contains("--transcripts all"), kept.len() < 20, "{notes}");
    }
}

#[test]
fn a_transcript_is_what_evaluators_read_without_the_secrets_of_this_machine() {
    let directory = directory();
    let run = ["run", "all.jsonl", "-c", "c.yaml", "--save-run", "a.evalrun", "-o", "html=a.html"];
    evaluator(&directory, &run, 3);
    let page = page(&directory, "a.html");
    let document = &page.cases[&3]["transcript"];
    assert_eq!(document["expected_invocations"], Value::Null);
    let turn = &document["invocations"][0];
    assert_eq!(turn["user_content"], "<3> </script><img src=x>");
    assert_eq!(turn["final_response"], "The key is \"<redacted:MY_API_KEY>\", 3.");
    assert!(!directory.read("a.evalrun").contains(SECRET));
}

#[test]
fn a_run_that_was_resumed_has_its_transcripts_again() {
    let directory = directory();
    let run = ["run", "all.jsonl", "-c", "c.yaml", "--save-run", "a.evalrun", "-o", "html=a.html"];
    evaluator(&directory, &run, 3);
    evaluator(&directory, &[&run[..], &["--resume"]].concat(), 3);
    let page = page(&directory, "a.html");
    assert_eq!((page.transcripts(), &page.data["run"]["reused"]), (vec![3, 18], &json!(20)));
}

#[test]
fn a_damaged_or_partial_run_says_so_on_top() {
    let directory = directory();
    let run =
        ["run", "all.jsonl", "-c", "c.yaml", "--save-run", "a.evalrun", "--transcripts", "all"];
    evaluator(&directory, &run, 3);
    let text = directory.read("a.evalrun");
    let problems = |text: &str, runs: usize| {
        directory.file("b.evalrun", text);
        evaluator(&directory, &["report", "b.evalrun", "-o", "html=b.html"], 3);
        let page = page(&directory, "b.html");
        assert_eq!(page.data["verdict"], "ERROR");
        assert_eq!(page.data["conversations"]["count"], runs);
        page.data["problems"].to_string()
    };
    let transcript = text.replacen("\"user_content\":\"<7>", "\"user_content\":\"<8>", 1);
    assert!(problems(&transcript, 20).contains("the checksum does not match"));
    let end = text.rfind("{\"crc32\"").unwrap();
    let partial = problems(&text[..end], 20);
    assert!(partial.contains("has no end line") && partial.contains("ends before everything"));
    assert!(problems("", 0).contains("is empty: its run was killed"));
}

#[test]
fn a_run_that_was_decided_early_has_no_problem() {
    let directory = directory();
    let run = ["run", "all.jsonl", "--evaluator", "fine", "--gate", "fine: mean >= 0.5"];
    directory.script("fine", "cat >/dev/null; echo '{\"score\": 1}'");
    evaluator(
        &directory,
        &[&run[..], &["--until-decided", "--jobs", "1", "-o", "html=a.html"]].concat(),
        0,
    );
    let page = page(&directory, "a.html");
    assert_eq!((&page.data["verdict"], &page.data["problems"]), (&json!("PASSED"), &json!([])));
    let note = "Not everything was evaluated: the run ended when all gates were decided.";
    assert_eq!(page.data["notes"][0], note);
}

#[test]
fn what_decided_the_run_comes_first_on_its_page() {
    let directory = directory();
    directory.script("fine", "cat >/dev/null; echo '{\"score\": 1}'");
    directory.script("low", "cat >/dev/null; echo '{\"score\": 0.25}'");
    let headline = |more: &[&str], code| {
        let run = ["run", "all.jsonl", "--evaluator", "fine", "--gate", "fine: mean >= 0.95"];
        evaluator(&directory, &[&run[..], more, &["-o", "html=a.html"]].concat(), code);
        [0, 1].map(|part| {
            page(&directory, "a.html").data["headline"][part].as_str().unwrap().to_owned()
        })
    };
    let parts = |[first, second]: [String; 2], (decided, rest): (&str, &str)| {
        assert!(first.starts_with(decided) && second.starts_with(rest), "{first}; {second}");
    };
    parts(headline(&[], 4), ("1 gate undecided (fine: ", "20 passed, 0 failed"));
    parts(headline(&["--inconclusive", "fail"], 1), ("1 gate undecided (", "20 passed, "));
    // An evaluator without a gate.
    parts(
        headline(&["--evaluator", "low"], 1),
        ("20 passed, 20 failed", "1 gate undecided (fine: "),
    );
    parts(
        headline(&["--evaluator", "picky"], 3),
        ("38 passed, 1 failed, 1 err", "1 gate undecided ("),
    );
}

#[test]
fn runs_without_conversations_and_with_errors_only_have_pages() {
    let directory = directory();
    directory.file("empty.jsonl", "");
    directory.file("e.yaml", "evaluators: [{name: gone, type: code, path: breaks}]");
    directory.script("breaks", "cat >/dev/null; exit 7");
    evaluator(&directory, &["run", "empty.jsonl", "-c", "e.yaml", "-o", "html=a.html"], 3);
    let empty = page(&directory, "a.html");
    assert_eq!(empty.data["conversations"]["count"], 0);
    assert!(empty.data["problems"].to_string().contains("No traces loaded."));
    evaluator(&directory, &["run", "all.jsonl", "-c", "e.yaml", "-o", "html=a.html"], 3);
    let broken = page(&directory, "a.html");
    assert_eq!(broken.data["evaluators"][0]["outcomes"], "2".repeat(20));
    assert_eq!(broken.data["errors"][0]["count"], 20);
    assert_eq!(broken.transcripts().len(), 20);
}

#[test]
fn a_page_of_an_eval_file_has_what_was_asked_and_answered() {
    let directory = Directory::new();
    directory.file(
        "suite.yaml",
        "tests:\n\
         - {id: one, criteria: x, input: Where?, expected_output: Paris, assertions: [{type: contains, value: Paris}]}\n\
         - {id: two, criteria: x, input: When?, assertions: [{type: contains, value: Now}]}\n",
    );
    let call = json!({"tool": "look", "input": {"at": 1}, "output": "nothing"});
    let rome =
        json!([{"role": "assistant", "content": format!("Rome {SECRET}"), "tool_calls": [call]}]);
    let rows =
        [json!({"test_id": "one", "output": rome}), json!({"test_id": "two", "output": "Now"})];
    directory.file("outputs.jsonl", rows.map(|row| row.to_string() + "\n").concat());
    let run = ["run", "suite.yaml", "--outputs", "outputs.jsonl", "-o", "html=a.html"];
    let saved = [&run[..], &["--save-run", "a.evalrun"]].concat();
    evaluator(&directory, &saved, 1);
    let page = page(&directory, "a.html");
    assert_eq!(page.data["conversations"]["names"], json!(["one", "two"]));
    assert_eq!(page.data["run"]["suite"]["file"], "suite.yaml");
    // That of the evaluations, not of the suite.
    assert_eq!(page.data["evaluators"][0]["threshold"], 0.8);
    assert_eq!(page.transcripts(), [0]);
    let transcript = &page.cases[&0]["transcript"];
    let turn = &transcript["invocations"][0];
    assert_eq!(turn["user_content"], "Where?");
    assert_eq!(turn["final_response"], "Rome <redacted:MY_API_KEY>");
    let steps = &turn["intermediate_steps"];
    assert_eq!(
        (&steps["tool_calls"][0]["name"], &steps["tool_calls"][0]["args"]),
        (&json!("look"), &json!({"at": 1}))
    );
    assert_eq!(steps["tool_responses"][0]["output"], "nothing");
    assert_eq!(transcript["expected_invocations"][0]["final_response"], "Paris");
    // A result of an earlier run is not graded again, and has its transcript all the same.
    let first = transcript.clone();
    evaluator(&directory, &[&saved[..], &["--resume"]].concat(), 1);
    let resumed = self::page(&directory, "a.html");
    assert_eq!(resumed.data["run"]["reused"], 2);
    assert_eq!((resumed.transcripts(), &resumed.cases[&0]["transcript"]), (vec![0], &first));
}

#[test]
fn repeats_that_disagree_are_counted_on_the_page() {
    let directory = directory();
    // The second of three evaluations of a conversation fails.
    directory.script(
        "flaky",
        r#"n=$(grep -o '<[0-9]*>' | head -1 | tr -d '<>'); echo >>"count.$n"; score=1
        [ "$n" = 5 ] && [ "$(wc -l <"count.$n")" = 2 ] && score=0
        echo "{\"score\": $score}""#,
    );
    directory.file("f.yaml", "evaluators: [{name: flaky, type: code, path: flaky}]");
    let run =
        ["run", "all.jsonl", "-c", "f.yaml", "--repeat", "3", "--jobs", "1", "-o", "html=a.html"];
    evaluator(&directory, &run, 0);
    let page = page(&directory, "a.html");
    assert_eq!(page.data["evaluators"][0]["repeats"], json!({"5": [2, 3]}));
    assert_eq!(page.cases[&5]["evaluations"][0]["repeats"].as_array().unwrap().len(), 3);
}

#[test]
fn view_writes_a_private_page_and_opens_it_where_there_is_a_display() {
    let directory = directory();
    evaluator(&directory, &["run", "all.jsonl", "-c", "c.yaml", "--save-run", "a.evalrun"], 3);
    directory.file("bin/ignored", "");
    directory.script("bin/xdg-open", "echo \"$1\" >opened");
    let path = format!("{}:/usr/bin:/bin", directory.path().join("bin").display());
    let view = |display: &str| {
        let mut command = directory.command(&["view", "a.evalrun"]);
        command.env("EVALUATOR_CACHE_DIR", directory.path().join("cache")).env("PATH", &path);
        command.env("DISPLAY", display).env_remove("WAYLAND_DISPLAY").env_remove("WSL_DISTRO_NAME");
        finish(command.spawn().unwrap()).exits(0).stdout
    };
    let file = view("");
    let mode = fs::metadata(file.trim()).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0);
    assert_eq!(Page::read(&fs::read_to_string(file.trim()).unwrap()).cases.len(), 20);
    assert!(!directory.path().join("opened").exists());
    assert_eq!(view(":0"), file);
    wait_until("the browser is started", || directory.path().join("opened").exists());
    wait_until("its page is named", || directory.read("opened") == file);
    directory.evaluator(&["view", "c.yaml"]).exits(2);
    // The longest name of a file leaves no room for that of its page.
    let long = format!("{}.evalrun", "é".repeat(120));
    fs::rename(directory.path().join("a.evalrun"), directory.path().join(&long)).unwrap();
    let mut command = directory.command(&["view", &long]);
    command.env("EVALUATOR_CACHE_DIR", directory.path().join("cache"));
    command.env("DISPLAY", "").env_remove("WAYLAND_DISPLAY").env_remove("WSL_DISTRO_NAME");
    finish(command.spawn().unwrap()).exits(0);
}

#[test]
fn a_comparison_has_both_runs_side_by_side() {
    let directory = directory();
    // It fails the 3rd in the base, and the 5th in the new run.
    directory.script(
        "turns",
        r#"n=$(grep -o '<[0-9]*>' | head -1 | tr -d '<>'); score=1
        [ "$n" = "$(cat bad)" ] && score=0.25
        echo "{\"score\": $score, \"details\": {\"reason\": \"saw $n\"}}""#,
    );
    directory.file("t.yaml", "evaluators: [{name: turns, type: code, path: turns}]");
    for (bad, file) in [("3", "base.evalrun"), ("5", "new.evalrun")] {
        directory.file("bad", bad);
        let run = ["run", "all.jsonl", "-c", "t.yaml", "--save-run", file, "--transcripts", "all"];
        evaluator(&directory, &run, 1);
    }
    let compare = ["compare", "base.evalrun", "new.evalrun", "--no-regressions"];
    evaluator(&directory, &[&compare[..], &["-o", "html=c.html"]].concat(), 1);
    let html = directory.read("c.html");
    let Page { data, cases } = Page::read(&html);
    assert_eq!(data["verdict"], "FAILED");
    let compared = &data["comparison"];
    assert_eq!(
        (&compared["base_label"], &compared["new_label"]),
        (&json!("base.evalrun"), &json!("new.evalrun"))
    );
    assert_eq!(compared["verdict"], "fail");
    let changes = compared["evaluators"][0]["changes"].as_array().unwrap();
    let changes: Vec<_> =
        changes.iter().map(|it| (&it["change"], &it["case"], &it["row"])).collect();
    assert_eq!(
        changes,
        [
            (&json!("fixed"), &json!("t3"), &json!(3)),
            (&json!("regressed"), &json!("t5"), &json!(5)),
        ]
    );
    let (new, base) = (&cases[&5]["evaluations"][0], &cases[&5]["base"]["evaluations"][0]);
    assert_eq!((&new["outcome"], &base["outcome"]), (&json!("failed"), &json!("passed")));
    assert!(!cases[&5]["base"]["transcript"].is_null());
    assert!(
        html.contains("<caption>Evaluators</caption>")
            && html.contains("<th scope=\"col\">Difference")
    );
    // The comparison of a run with its baseline is on its page, too.
    let report = ["report", "new.evalrun", "--baseline", "base.evalrun", "-o", "html=d.html"];
    evaluator(&directory, &report, 1);
    let page = page(&directory, "d.html");
    assert_eq!(page.data["comparison"]["evaluators"][0]["changes"][1]["row"], 5);
}

#[test]
fn all_recordings_of_a_case_have_its_change_and_its_base() {
    let directory = directory();
    // Conversations 0 to 3 are recordings of a case. The second one fails in the new run.
    let recorded = recording(8).lines().enumerate().fold(String::new(), |mut text, (at, line)| {
        let mut span: Value = serde_json::from_str(line).unwrap();
        let mut add = |key: &str, value: String| {
            let attribute = json!({"key": key, "value": {"stringValue": value}});
            span["attributes"].as_array_mut().unwrap().push(attribute);
        };
        add("item", format!("item-{}", at / 4));
        add("desk", format!("desk-{}", at / 4));
        let _ = writeln!(text, "{span}");
        text
    });
    directory.file("items.jsonl", recorded);
    directory.script(
        "turns",
        r#"n=$(grep -o '<[0-9]*>' | head -1 | tr -d '<>'); score=1
        [ "$n" = "$(cat bad)" ] && score=0.25
        echo "{\"score\": $score}""#,
    );
    directory.file("t.yaml", "evaluators: [{name: turns, type: code, path: turns}]");
    for (bad, file, code) in [("none", "base.evalrun", 0), ("1", "new.evalrun", 1)] {
        directory.file("bad", bad);
        let run = ["run", "items.jsonl", "-c", "t.yaml", "--case-key", "item", "--cluster", "desk"];
        evaluator(&directory, &[&run[..], &["--by", "desk", "--save-run", file]].concat(), code);
    }
    let compare =
        ["compare", "base.evalrun", "new.evalrun", "--no-regressions", "-o", "html=c.html"];
    evaluator(&directory, &compare, 4);
    let Page { data, cases } = page(&directory, "c.html");
    let changes = &data["comparison"]["evaluators"][0]["changes"];
    assert_eq!((&changes[0]["case"], &changes[1]), (&json!("item-0"), &Value::Null));
    assert_eq!(changes[0]["row"], 1);
    let flaky = json!({"0": "flaky", "1": "flaky", "2": "flaky", "3": "flaky"});
    assert_eq!(data["comparison"]["rows"], flaky);
    assert_eq!(data["conversations"]["flaky"], json!([0, 1, 2, 3]));
    let noise = "recordings disagree in 1 of 2 cases (50 %)";
    assert!(data["evaluators"][0]["noise"].as_str().unwrap().starts_with(noise), "{data}");
    assert_eq!(data["comparison"]["slices"][0]["by"], "desk");
    assert!(cases.values().all(|case| case["base"]["evaluations"].is_array()));
    assert_eq!(
        (&cases[&4]["cluster"], &cases[&4]["labels"]["desk"]),
        (&json!("desk-1"), &json!(["desk-1"]))
    );
    assert_eq!(data["conversations"]["case"][4], "item-1");
    assert_eq!(data["evaluators"][0]["clusters"], 2);
}

#[test]
fn runs_of_other_tools_have_pages_and_comparisons() {
    let runs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/producers/runs");
    let recorded = |name: &str| runs.join(name).display().to_string();
    let directory = Directory::new();
    for (base, new) in
        [("promptfoo-base.json", "promptfoo-new.json"), ("inspect-base.json", "inspect-new.json")]
    {
        let (base, new) = (recorded(base), recorded(new));
        let ran = directory.evaluator(&["report", &new, "-o", "html=new.html"]);
        assert!(matches!(ran.code, Some(0 | 1 | 3)), "{}", ran.stderr);
        let whole = page(&directory, "new.html");
        assert!(whole.data["run"]["tool"].is_string() && !whole.cases.is_empty());
        let foreign = whole.data["run"]["tool"].as_str().unwrap();
        assert_eq!(
            whole.data["notes"],
            json!([format!("Results of {foreign} have no transcripts.")])
        );
        assert!(
            whole.data["footer"]
                .as_str()
                .unwrap()
                .contains(&format!(" from results of {foreign}."))
        );
        assert_eq!(whole.data["run"]["policy"], Value::Null);
        let args = ["compare", &base, &new, "--allow-changed", "all", "-o", "html=both.html"];
        directory.evaluator(&args);
        let both = page(&directory, "both.html");
        assert_eq!(both.cases.len(), whole.cases.len());
        assert!(both.cases.values().any(|case| case["base"]["evaluations"].is_array()));
    }
}

#[test]
fn the_question_of_a_judge_and_the_calls_of_an_evaluator_are_on_the_page() {
    let directory = directory();
    let reply = |score: f64| json!(json!({"reasoning": "so", "score": score}).to_string());
    let replies: String = (0..20).map(|at| format!("{}\n", reply(f64::from(at != 3)))).collect();
    directory.file("replies.jsonl", replies);
    directory.file(
        "j.yaml",
        "evaluators:\n\
         - {name: kind, type: llm_judge, criteria: It is kind., judge: {model: 'fake:replies.jsonl', samples: 1}}\n\
         - {name: foreign, type: code, path: picky, contract: agentv}\n",
    );
    let run = ["run", "all.jsonl", "-c", "j.yaml", "--save-run", "a.evalrun", "--jobs", "1"];
    evaluator(&directory, &[&run[..], &["-o", "html=a.html", "-o", "json=a.json"]].concat(), 3);
    let page = page(&directory, "a.html");
    assert_eq!(page.transcripts(), [3, 18]);
    let prompts = &page.cases[&3]["transcript"]["prompts"];
    assert_eq!(prompts["foreign"], Value::Null);
    let [prompt] = &prompts["kind"].as_array().unwrap()[..] else { panic!("{prompts}") };
    assert_eq!(prompt["turn"], 0);
    let text = prompt["messages"].to_string();
    for part in ["It is kind.", "<3> </script>", "<redacted:MY_API_KEY>"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    for file in ["a.evalrun", "a.html", "a.json"] {
        assert!(!directory.read(file).contains(SECRET), "{file}");
    }
    // Only transcripts have the question.
    assert!(!directory.read("a.json").contains("It is kind."));
    let [kind, foreign] = &page.data["evaluators"].as_array().unwrap()[..] else { panic!() };
    assert_eq!((&kind["contract"], &foreign["contract"]), (&Value::Null, &json!("agentv")));
    assert_eq!((&kind["usage"]["calls"], &foreign["usage"]), (&json!(20), &Value::Null));
    evaluator(&directory, &["report", "a.evalrun", "-o", "html=b.html"], 3);
    assert_eq!(directory.read("a.html"), directory.read("b.html"));
}
