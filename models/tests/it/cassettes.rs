//! Files of cassettes: modes, bytes, misses, merging, secrets.

use std::{
    fs,
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use evaluator_models::{
    Broker, Call, Cassette, Endpoint, ErrorKind, Fake, Limits, Message, Mode, ModelError,
    Providers, Redactor, Reply, Request, Secret, Settings, Waits, tidy,
};

use serde_json::Value;

use crate::server::request;

fn open(path: &Path, mode: Mode) -> Broker {
    let cassette = Cassette::open(path, mode, Redactor::default()).unwrap();
    Broker::new(Limits::default()).with_cassette(cassette)
}

/// A model that answers with the sample and a mark.
fn echo(mark: &'static str) -> Fake {
    Fake::answering(move |request| {
        let text = format!("{mark} {}", request.sample);
        Ok(Reply { text, ..Reply::default() })
    })
}

/// The request of the tests with another text of the user.
fn saying(text: &str) -> Request {
    let request = request();
    let messages = vec![request.messages[0].clone(), Message::user(text)];
    Request { messages: messages.into(), ..request }
}

fn silent() -> Fake {
    Fake::answering(|_| panic!("nothing may be asked"))
}

fn samples(broker: &Broker, model: &dyn Endpoint, count: u32) -> Vec<Result<String, ModelError>> {
    let ask = |sample| {
        let request = Request { sample, ..request() };
        broker.ask(&Call::new(model, &request)).map(|answer| answer.reply.text)
    };
    (0..count).map(ask).collect()
}

fn texts(results: Vec<Result<String, ModelError>>) -> Vec<String> {
    results.into_iter().map(Result::unwrap).collect()
}

fn record(path: &Path, mark: &'static str, count: u32) -> String {
    let broker = open(path, Mode::Record);
    samples(&broker, &echo(mark), count);
    broker.cassette().unwrap().save().unwrap();
    fs::read_to_string(path).unwrap()
}

#[test]
fn five_samples_stay_five() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("c.jsonl");
    let bytes = record(&path, "a", 5);
    assert_eq!(bytes.lines().count(), 5);
    let broker = open(&path, Mode::Replay);
    assert_eq!(texts(samples(&broker, &silent(), 5)), ["a 0", "a 1", "a 2", "a 3", "a 4"]);
    broker.cassette().unwrap().save().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), bytes);
}

#[test]
fn a_miss_shows_the_text_that_changed_and_not_the_delimiter_that_depends_on_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("c.jsonl");
    let ask = |broker: &Broker, text: &str| {
        let request = Request::new(vec![Message::user(text)]);
        broker.ask(&Call::new(&echo("a"), &request))
    };
    let fenced = |mark: &str, text: &str| format!("<<<{mark}\n{text}\n{mark}>>>");
    let broker = open(&path, Mode::Record);
    ask(&broker, &fenced("0123456789abcdef0123456789abcdef", "Is polite.")).unwrap();
    broker.cassette().unwrap().save().unwrap();
    let broker = open(&path, Mode::Replay);
    let error =
        ask(&broker, &fenced("ffffffffffffffff0123456789abcdef", "Is polite!")).unwrap_err();
    assert!(error.message.contains(r#"differs at 2:10 ("Is polite.\n0123"#), "{error}");
}

#[test]
fn equal_runs_write_equal_bytes_in_any_order() {
    let directory = tempfile::tempdir().unwrap();
    let (one, many) = (directory.path().join("one"), directory.path().join("many"));
    let expected = record(&one, "a", 32);
    let (broker, model) = (open(&many, Mode::Record), echo("a"));
    thread::scope(|scope| {
        for sample in (0..32).rev() {
            let (broker, model) = (&broker, &model);
            scope.spawn(move || {
                broker.ask(&Call::new(model, &Request { sample, ..request() })).unwrap();
            });
        }
    });
    broker.cassette().unwrap().save().unwrap();
    assert_eq!(fs::read_to_string(&many).unwrap(), expected);
    for word in ["127.0.0.1", "c1", "turn 2", directory.path().to_str().unwrap()] {
        assert!(!expected.contains(word), "{word}");
    }
}

#[test]
fn modes_decide_what_is_asked() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("c.jsonl");
    record(&path, "a", 2);
    let broker = open(&path, Mode::Auto);
    assert_eq!(texts(samples(&broker, &echo("b"), 3)), ["a 0", "a 1", "b 2"]);
    broker.cassette().unwrap().save().unwrap();
    record(&path, "c", 1);
    assert_eq!(texts(samples(&open(&path, Mode::Replay), &silent(), 3)), ["c 0", "a 1", "b 2"]);
    let bytes = fs::read(&path).unwrap();
    let broker = open(&path, Mode::Off);
    assert_eq!(texts(samples(&broker, &echo("d"), 1)), ["d 0"]);
    broker.cassette().unwrap().save().unwrap();
    assert_eq!(fs::read(&path).unwrap(), bytes);
}

#[test]
fn a_miss_shows_the_nearest_record() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("c.jsonl");
    record(&path, "a", 2);
    let ask = |change: fn(&mut Request)| {
        let mut request = request();
        change(&mut request);
        let error = open(&path, Mode::Replay).ask(&Call::new(&silent(), &request)).unwrap_err();
        assert_eq!(error.kind, ErrorKind::NotInCassette);
        error.to_string()
    };
    for (change, text) in [
        (
            (|request| *request = saying("Is it Paris?\nAnswer: Pariz")) as fn(&mut Request),
            r#"messages[1] differs at 2:13 ("Answer: Paris" -> "Answer: Pariz")"#,
        ),
        (|request| request.params.temperature = Some(0.5), "params.temperature absent -> 0.5"),
        (|request| request.messages = request.messages[..1].to_vec().into(), "2 messages -> 1"),
        (|request| request.sample = 7, "the same request with 2 recorded samples"),
    ] {
        let message = ask(change);
        assert!(message.contains(text), "{message}");
        for part in ["match, conversation c1, turn 2", "fake/script", "--judge-mode auto"] {
            assert!(message.contains(part), "{message}");
        }
    }
    let missing = Cassette::open(&directory.path().join("no"), Mode::Replay, Redactor::default());
    assert_eq!(missing.unwrap_err().kind, ErrorKind::Cassette);
}

#[test]
fn the_model_replay_answers_from_any_record() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("c.jsonl");
    record(&path, "a", 1);
    let replay = Providers::default().connect("replay", &Settings::new(|_| None)).unwrap();
    let results = samples(&open(&path, Mode::Replay), &*replay, 2);
    assert_eq!(results[0].as_ref().unwrap(), "a 0");
    assert_eq!(results[1].as_ref().unwrap_err().kind, ErrorKind::NotInCassette);
    let error = Broker::new(Limits::default()).ask(&Call::new(&*replay, &request())).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Config);
}

#[test]
fn an_equal_call_of_a_run_is_asked_once() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let directory = tempfile::tempdir().unwrap();
    let broker = open(&directory.path().join("c.jsonl"), Mode::Auto);
    let model = Fake::answering(|_| {
        let number = ASKED.fetch_add(1, Ordering::SeqCst);
        // Time for the other calls to look the request up.
        thread::sleep(std::time::Duration::from_millis(20));
        Ok(Reply { text: format!("answer {number}"), ..Reply::default() })
    });
    let barrier = std::sync::Barrier::new(16);
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                barrier.wait();
                let answer = broker.ask(&Call::new(&model, &request())).unwrap();
                assert_eq!(answer.reply.text, "answer 0");
            });
        }
    });
    assert_eq!(ASKED.load(Ordering::SeqCst), 1);
}

#[test]
fn secrets_are_removed_and_the_record_still_fits() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("c.jsonl");
    let redactor = || Redactor::new([Secret::new("DB", "decoy\"password")]);
    let request = saying("the password is decoy\"password");
    let model = Fake::in_order(["you said decoy\"password"]);
    let cassette = Cassette::open(&path, Mode::Auto, redactor()).unwrap();
    let broker = Broker::new(Limits::default()).with_cassette(cassette);
    broker.ask(&Call::new(&model, &request)).unwrap();
    broker.cassette().unwrap().save().unwrap();
    assert!(broker.cassette().unwrap().take_warnings()[0].contains("secret was removed"));
    let text = fs::read_to_string(&path).unwrap();
    assert!(!text.contains("decoy") && text.matches("<redacted:DB>").count() == 2, "{text}");
    let answer = open(&path, Mode::Replay).ask(&Call::new(&silent(), &request)).unwrap();
    assert_eq!(answer.reply.text, "you said <redacted:DB>");
}

#[test]
fn texts_can_be_left_out() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("c.jsonl");
    let cassette = Cassette::open(&path, Mode::Auto, Redactor::default()).unwrap();
    let broker = Broker::new(Limits::default()).with_cassette(cassette.without_text());
    samples(&broker, &echo("a"), 1);
    broker.cassette().unwrap().save().unwrap();
    assert!(!fs::read_to_string(&path).unwrap().contains("Paris"));
    assert_eq!(texts(samples(&open(&path, Mode::Replay), &silent(), 1)), ["a 0"]);
}

#[test]
fn merged_files_are_tidied() {
    let directory = tempfile::tempdir().unwrap();
    let (a, b) = (directory.path().join("a"), directory.path().join("b"));
    let (first, second) = (record(&a, "a", 2), record(&b, "b", 3));
    let mut kept = Vec::new();
    for text in [format!("{first}{second}"), format!("{second}\n{first}")] {
        fs::write(&a, text).unwrap();
        let broker = open(&a, Mode::Replay);
        assert_eq!(broker.cassette().unwrap().take_warnings().len(), 2);
        samples(&broker, &silent(), 2);
        let tidied = tidy(&a, Some(&broker.cassette().unwrap().used()), &Waits::default()).unwrap();
        assert_eq!((tidied.kept, tidied.repeated, tidied.unused), (2, 2, 1));
        kept.push(fs::read_to_string(&a).unwrap());
    }
    assert_eq!(kept[0], kept[1], "the order of the lines does not matter");
}

#[test]
fn a_broken_line_is_an_error_with_its_number() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("c.jsonl");
    let good = record(&path, "a", 1);
    for (line, reason) in [
        ("{", "is not a record"),
        ("<<<<<<< HEAD", "is not a record"),
        (&*good.trim().replace("\"v\":1", "\"v\":2"), "has version 2"),
        (&*good.trim().replace("\"v\":1", "\"v\":1,\"new\":1"), "unknown field `new`"),
    ] {
        fs::write(&path, format!("{good}\n{line}\n")).unwrap();
        let error = Cassette::open(&path, Mode::Auto, Redactor::default()).unwrap_err();
        assert!(error.message.contains("line 3: ") && error.message.contains(reason), "{error}");
    }
}

/// Recordings of users must stay valid: the key is the one that another implementation of RFC 8785 computes.
#[test]
fn the_key_is_stable() {
    let mut request = saying("Is it Paris?\nAnswer: Paris \u{e9}\u{2028}");
    request.params.temperature = Some(0.5);
    request.params.max_output_tokens = Some(10);
    let directory = tempfile::tempdir().unwrap();
    let key = |request: &Request| {
        let path = directory.path().join("c.jsonl");
        let cassette = Cassette::open(&path, Mode::Record, Redactor::default()).unwrap();
        let broker = Broker::new(Limits::default()).with_cassette(cassette);
        broker.ask(&Call::new(&echo("a"), request)).unwrap().key.unwrap()
    };
    assert_eq!(key(&request), "fea5e7bed8204ed48ddd2ecab4d71eab32393f0c169449bd6df6d172d4c7fcc0");
    // What is not sent is not in the key.
    let other = Request { sample: 3, metric: None, location: String::new(), ..request.clone() };
    assert_eq!(key(&other), key(&request));
}

#[test]
fn a_record_under_the_key_of_another_request_is_refused_with_its_line() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("c.jsonl");
    let broker = open(&path, Mode::Record);
    for text in ["ALPHA", "BETA"] {
        broker.ask(&Call::new(&echo("a"), &saying(text))).unwrap();
    }
    broker.cassette().unwrap().save().unwrap();
    let lines: Vec<Value> = fs::read_to_string(&path)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let refused = |change: &dyn Fn(&mut Value), reason: &str| {
        let mut changed = lines.clone();
        change(&mut changed[1]);
        fs::write(&path, changed.iter().map(|line| format!("{line}\n")).collect::<String>())
            .unwrap();
        let opened = Cassette::open(&path, Mode::Replay, Redactor::default());
        match reason {
            "" => drop(opened.unwrap()),
            reason => {
                let message = opened.unwrap_err().message;
                assert!(message.contains(&format!("line 2: {reason}")), "{message}");
            }
        }
    };
    let (prompt_sha, key) = ("`prompt_sha` is not the digest of", "`key` is not the digest of");
    refused(&|_| (), "");
    refused(&|it| it["messages"] = lines[0]["messages"].clone(), prompt_sha);
    refused(&|it| it["key"] = lines[0]["key"].clone(), key);
    refused(&|it| it["model"] = "other".into(), key);
    refused(&|it| it["params"]["temperature"] = 1.into(), key);
    refused(&|it| it["messages"][1]["role"] = "assistant".into(), prompt_sha);
    // What was removed cannot be checked, and a reader sees that it was.
    refused(&|it| it["messages"][1]["content"] = "<redacted:DB>".into(), "");
}

#[test]
fn a_message_with_images_is_recorded_with_a_digest_of_all_of_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("c.jsonl");
    let parts = vec![serde_json::json!({"type": "image_url", "image_url": {"url": "data:,x"}})];
    let messages = vec![Message { parts, ..Message::user("see") }];
    let request = Request { messages: messages.into(), ..request() };
    let broker = open(&path, Mode::Record);
    broker.ask(&Call::new(&echo("a"), &request)).unwrap();
    broker.cassette().unwrap().save().unwrap();
    let answer = open(&path, Mode::Replay).ask(&Call::new(&silent(), &request)).unwrap();
    assert_eq!(answer.reply.text, "a 0");
}

#[test]
fn a_last_line_that_was_cut_off_costs_its_reply_only() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("c.jsonl");
    let whole = record(&path, "a", 2);
    let cut = &whole[..whole.len() - 40];
    fs::write(&path, cut).unwrap();
    let broker = open(&path, Mode::Auto);
    let warnings = broker.cassette().unwrap().take_warnings();
    assert!(warnings[0].contains("line 2 is cut off and was left out"), "{warnings:?}");
    assert_eq!(texts(samples(&broker, &echo("b"), 2)), ["a 0", "b 1"]);
    // The new record is appended before the run ends, in place of the half line.
    let appended = fs::read_to_string(&path).unwrap();
    assert_eq!(appended.lines().count(), 2);
    assert_eq!(texts(samples(&open(&path, Mode::Replay), &silent(), 2)), ["a 0", "b 1"]);
    // A whole record without a line feed stays.
    fs::write(&path, whole.trim_end()).unwrap();
    let broker = open(&path, Mode::Auto);
    assert_eq!(texts(samples(&broker, &echo("c"), 3)), ["a 0", "a 1", "c 2"]);
    assert_eq!(texts(samples(&open(&path, Mode::Replay), &silent(), 3)), ["a 0", "a 1", "c 2"]);
}

#[cfg(unix)]
#[test]
fn cassettes_are_private_when_they_are_new_and_keep_their_permissions() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("c.jsonl");
    let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    let broker = open(&path, Mode::Auto);
    samples(&broker, &echo("a"), 1);
    assert_eq!(mode(), 0o600, "appended");
    broker.cassette().unwrap().save().unwrap();
    assert_eq!(mode(), 0o600, "saved");
    for chosen in [0o640, 0o664, 0o600] {
        fs::set_permissions(&path, fs::Permissions::from_mode(chosen)).unwrap();
        record(&path, "b", 2);
        assert_eq!(mode(), chosen, "saved");
        tidy(&path, None, &Waits::default()).unwrap();
        assert_eq!(mode(), chosen, "tidied");
    }
}

#[test]
fn the_identity_changes_with_the_replies_and_does_not_exist_where_all_is_asked() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("c.jsonl");
    record(&path, "a", 2);
    let identity = |mode| Cassette::open(&path, mode, Redactor::default()).unwrap().identity();
    let before = identity(Mode::Replay);
    assert_eq!((before.is_ok(), identity(Mode::Auto)), (true, before.clone()));
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("a 1", "a one")).unwrap();
    assert_ne!(identity(Mode::Replay), before);
    assert!(identity(Mode::Record).unwrap_err().contains("asks every question again"));
}

#[test]
fn what_answers_a_model_is_part_of_its_identity() {
    let connect = |model: &str, base: Option<&str>| {
        let (api, replies) = ("https://api.example/v1", base.unwrap_or_default().to_owned());
        let value = replies.clone();
        let mut settings = Settings::new(move |name| match name {
            "OPENAI_BASE_URL" => Some(value.clone()).filter(|value| !value.is_empty()),
            "AZURE_API_VERSION" => Some("2024-10-21".to_owned()),
            "AZURE_API_BASE" => Some(api.to_owned()),
            name => name.ends_with("_KEY").then(|| "decoy".to_owned()),
        });
        if !model.starts_with("gpt") {
            settings.base_url = base.map(str::to_owned);
        }
        Providers::default().connect(model, &settings).unwrap().identity()
    };
    for model in ["gpt-4o-mini", "claude-sonnet-4", "gemini-2.5-flash", "azure/judge"] {
        let own = connect(model, None).unwrap();
        assert_ne!(own, connect(model, Some("https://other.example/v1")).unwrap(), "{model}");
        assert!(own.starts_with("https://"), "{own}");
    }
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("replies");
    let of_file = |text: &str| {
        fs::write(&file, text).unwrap();
        connect(&format!("fake:{}", file.display()), None).unwrap()
    };
    assert_ne!(of_file("\"a\""), of_file("\"b\""));
    assert!(echo("a").identity().is_err());
}
