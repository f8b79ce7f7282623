//! Calls: recordings, concurrency, budgets, panels, repeated questions, limits of time.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use evaluator_judging::{Environment, JudgeSettings, Judged, Session, judge::Panel};
use evaluator_metrics::Outcome;
use evaluator_models::{
    BudgetLimits, Endpoint, Fake, FakeReply, Mode, ModelError, Provider, Reply, Request, Settings,
    Usage,
};

use crate::{INVALID, VALID, detail, lines, matched, path, scripted, session, turns};

/// A reply to a request to the model of this name.
type Answering = dyn Fn(&str, &Request) -> FakeReply + Send + Sync;

/// Models `script/NAME` that answer by a function.
#[derive(Clone)]
struct Script(Arc<Answering>);

impl std::fmt::Debug for Script {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Script")
    }
}

impl Provider for Script {
    fn forms(&self) -> Vec<String> {
        vec!["script/NAME".to_owned()]
    }

    fn accepts(&self, model: &str) -> bool {
        model.starts_with("script/")
    }

    fn connect(&self, model: &str, _: &Settings) -> Result<Arc<dyn Endpoint>, ModelError> {
        let (script, name) = (Arc::clone(&self.0), model.to_owned());
        Ok(Arc::new(Named { fake: Fake::answering(|_| panic!("not used")), script, name }))
    }
}

/// An endpoint that may be asked by several threads at the same time.
struct Named {
    fake: Fake,
    script: Arc<Answering>,
    name: String,
}

impl std::fmt::Debug for Named {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

impl Endpoint for Named {
    fn provider(&self) -> &str {
        "script"
    }

    fn model(&self) -> &str {
        self.name.trim_start_matches("script/")
    }

    fn queue(&self) -> String {
        self.name.clone()
    }

    fn parameters(
        &self,
        params: &evaluator_models::Params,
    ) -> Result<serde_json::Map<String, serde_json::Value>, ModelError> {
        self.fake.parameters(params)
    }

    fn send(
        &self,
        request: &Request,
        _: &serde_json::Map<String, serde_json::Value>,
        _: Duration,
    ) -> FakeReply {
        (self.script)(&self.name, request)
    }
}

fn reply(text: &str) -> FakeReply {
    let usage = Some(Usage { input: 30, output: 10, ..Usage::default() });
    Ok(Reply { text: text.to_owned(), usage, ..Reply::default() })
}

fn with_script(
    settings: JudgeSettings,
    script: impl Fn(&str, &Request) -> FakeReply + Send + Sync + 'static,
) -> Session {
    let mut environment = Environment::new(|_| None);
    environment.providers.register(Script(Arc::new(script)));
    Session::new(settings, environment).unwrap()
}

fn settings(model: &str) -> JudgeSettings {
    let mut settings = JudgeSettings::default();
    settings.models = vec![model.to_owned()];
    settings
}

fn run(session: &Session, count: usize) -> Judged {
    matched(&session.connect("quality", &JudgeSettings::default()).unwrap(), &turns(count))
}

fn score(judged: &Judged) -> f64 {
    match &judged.outcome {
        Outcome::Scored(scored) => scored.score,
        other => panic!("{other:?}"),
    }
}

fn reason(judged: &Judged) -> &str {
    match &judged.outcome {
        Outcome::Failed { reason } => reason,
        other => panic!("{other:?}"),
    }
}

/// Returns the details without what differs between a recording and its replay.
fn comparable(judged: &Judged) -> String {
    let mut details = judged.details.clone();
    if let Some(evaluator_json::Value::Object(judge)) = details.get_mut("judge") {
        assert!(judge.shift_remove("duration_ms").is_some());
        assert!(judge.shift_remove("replayed").is_some());
    }
    format!("{:?} {details:?}", judged.warnings)
}

#[test]
fn a_replay_equals_its_recording_without_asking() {
    let place = tempfile::tempdir().unwrap();
    let cassette = path(&place, "c.jsonl");
    let mut recording = settings("script/m");
    recording.cassette = Some(cassette.clone());
    let session = with_script(recording.clone(), |_, request| {
        reply(if request.sample % 2 == 0 { VALID } else { INVALID })
    });
    let recorded = run(&session, 3);
    assert_eq!(score(&recorded), 1.0);
    assert_eq!(session.finish().usage.requests, 15);
    let bytes = fs::read_to_string(&cassette).unwrap();
    assert_eq!(bytes.lines().count(), 15, "five samples of three turns");

    recording.mode = Some(Mode::Replay);
    let session = with_script(recording.clone(), |_, _| panic!("nothing is asked"));
    let replayed = run(&session, 3);
    assert_eq!(comparable(&replayed), comparable(&recorded));
    let usage = session.finish().usage;
    assert_eq!((usage.requests, usage.replayed, usage.calls), (0, 15, 15));
    assert_eq!(fs::read_to_string(&cassette).unwrap(), bytes);

    // A further turn is a request that is not recorded.
    let session = with_script(recording, |_, _| panic!("nothing is asked"));
    let missing = run(&session, 4);
    let reason = reason(&missing);
    assert!(reason.starts_with("turn 4: sample 1: not_in_cassette: model `script/m`"), "{reason}");
    assert!(reason.contains("quality, conversation c1, turn 4"), "{reason}");
    assert!(reason.contains("differs at"), "{reason}");
}

#[test]
fn equal_questions_of_two_turns_have_their_own_samples() {
    let place = tempfile::tempdir().unwrap();
    let mut recording = settings("script/m");
    recording.cassette = Some(path(&place, "c.jsonl"));
    recording.samples = Some(2);
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let session = with_script(recording, move |_, _| {
        counter.fetch_add(1, Ordering::SeqCst);
        reply(VALID)
    });
    let connection = session.connect("quality", &JudgeSettings::default()).unwrap();
    let mut same = turns(1);
    same.push(same[0].clone());
    let judged = matched(&connection, &same);
    assert_eq!(asked.load(Ordering::SeqCst), 4);
    let replies = detail(&judged, "replies").as_array().unwrap();
    let samples: Vec<i128> = replies
        .iter()
        .map(|reply| reply.get("recorded_sample").unwrap().as_i128().unwrap())
        .collect();
    assert_eq!(samples, [0, 1, 2, 3]);
    // Another conversation with the same question shares the replies, which counts as asked once.
    let again = matched(&connection, &turns(1));
    assert_eq!(asked.load(Ordering::SeqCst), 4);
    assert_eq!(detail(&again, "replayed").as_i128(), Some(0));
}

#[test]
fn a_killed_run_keeps_the_replies_that_came() {
    let place = tempfile::tempdir().unwrap();
    let cassette = path(&place, "c.jsonl");
    let mut recording = settings("script/m");
    recording.cassette = Some(cassette.clone());
    let session = with_script(recording, |_, _| reply(VALID));
    run(&session, 2);
    // Nothing saves the session.
    std::mem::forget(session);
    assert_eq!(
        fs::read_to_string(&cassette).unwrap().lines().filter(|it| !it.is_empty()).count(),
        10
    );
}

#[test]
fn results_do_not_depend_on_the_number_of_calls_in_flight() {
    let judged = |max: u32| {
        let mut limited = settings("script/m");
        limited.max = Some(max);
        limited.adaptive = Some(false);
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let seen = Arc::clone(&most);
        let session = with_script(limited, move |_, request| {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            // Later samples answer earlier.
            thread::sleep(Duration::from_millis(u64::from(5 - request.sample.min(5))));
            now.fetch_sub(1, Ordering::SeqCst);
            let is_valid = request.messages.iter().any(|it| it.content.contains("number 2"));
            reply(if is_valid || request.sample % 3 == 0 { VALID } else { INVALID })
        });
        let text = comparable(&run(&session, 6));
        (text, seen.load(Ordering::SeqCst))
    };
    let (one, alone) = judged(1);
    let (many, together) = judged(32);
    assert_eq!(one, many);
    assert_eq!(alone, 1);
    assert!(together > 1 && together <= 32, "{together}");
}

#[test]
fn a_spent_budget_is_an_error_and_never_a_score_of_fewer_samples() {
    let mut limited = settings("script/m");
    limited.budget = BudgetLimits { calls: Some(12), ..BudgetLimits::default() };
    let session = with_script(limited, |_, _| reply(VALID));
    let judged = run(&session, 3);
    let reason = reason(&judged);
    assert!(reason.contains("budget_exceeded"), "{reason}");
    assert!(reason.contains("the budget of the run is spent (12 calls)"), "{reason}");
    assert_eq!(session.finish().spent.calls, 12);
    assert_eq!(detail(&judged, "calls").as_i128(), Some(15), "failed calls are shown");

    // That of an evaluator counts its calls only.
    let session = with_script(settings("script/m"), |_, _| reply(VALID));
    let mut own = JudgeSettings::default();
    own.budget = BudgetLimits { tokens: Some(41), ..BudgetLimits::default() };
    own.max = Some(1);
    let poor = session.connect("poor", &own).unwrap();
    let judged = matched(&poor, &turns(1));
    let reason = crate::calls::reason(&judged);
    assert!(reason.contains("the budget of evaluator poor is spent (41 tokens)"), "{reason}");
    assert_eq!(poor.spent().calls, 2, "the second one reserves as much as the first one used");
    assert_eq!(score(&run(&session, 1)), 1.0);
}

#[test]
fn money_needs_prices_before_anything_is_asked() {
    let place = tempfile::tempdir().unwrap();
    let prices = path(&place, "prices.yaml");
    fs::write(&prices, "currency: EUR\nother: {input: 1, output: 2}\n").unwrap();
    let mut limited = settings("script/m");
    limited.budget.money = Some("0.001".parse().unwrap());
    limited.prices = Some(prices.clone());
    let session = with_script(limited.clone(), |_, _| reply(VALID));
    let error = session.connect("quality", &JudgeSettings::default()).unwrap_err();
    assert!(error.message.contains("no price: script/m"), "{error}");

    fs::write(&prices, "currency: EUR\nm: {input: 10, output: 20}\n").unwrap();
    let session = with_script(limited, |_, _| reply(VALID));
    let judged = run(&session, 1);
    // A call costs 0.0005.
    assert!(reason(&judged).contains("spent (0.001 of money)"), "{judged:?}");
    let summary = session.finish();
    assert_eq!(summary.currency.as_deref(), Some("EUR"));
    assert!(summary.usage.cost.is_some_and(|cost| cost >= "0.001".parse().unwrap()));
}

#[test]
fn models_of_a_panel_have_a_vote_each() {
    let panel = |rule: Panel| {
        let mut panel = settings("script/yes");
        panel.models = ["script/yes", "script/no", "script/also-no"].map(str::to_owned).to_vec();
        panel.panel = Some(rule);
        panel.samples = Some(3);
        let session = with_script(panel, |model, _| {
            reply(if model.ends_with("yes") { VALID } else { INVALID })
        });
        run(&session, 1)
    };
    assert_eq!(score(&panel(Panel::Majority)), 0.0);
    assert_eq!(score(&panel(Panel::Any)), 1.0);
    assert_eq!(score(&panel(Panel::All)), 0.0);
    let judged = panel(Panel::Majority);
    assert_eq!(detail(&judged, "calls").as_i128(), Some(9));
    assert_eq!(detail(&judged, "model").as_str(), Some("script/yes, script/no, script/also-no"));
}

#[test]
fn a_model_that_fails_is_an_error_of_the_panel_unless_a_quorum_is_enough() {
    let judged = |quorum: Option<u32>| {
        let mut panel = settings("script/a");
        panel.models = ["script/a", "script/b", "script/broken"].map(str::to_owned).to_vec();
        panel.panel_quorum = quorum;
        let session = with_script(panel, |model, _| match model {
            "script/broken" => {
                Err(ModelError::new(evaluator_models::ErrorKind::NotFound, "no such model"))
            }
            _ => reply(VALID),
        });
        run(&session, 1)
    };
    assert!(reason(&judged(None)).contains("script/broken"), "{:?}", judged(None));
    assert_eq!(score(&judged(Some(2))), 1.0);
}

#[test]
fn an_unreadable_reply_is_asked_again_only_on_request() {
    let judged = |reask: Option<u32>| {
        let mut settings = settings("script/m");
        settings.samples = Some(3);
        settings.reask = reask;
        let session = with_script(settings, |_, request| {
            // The first call about each sample is unreadable.
            reply(if request.sample < 3 { "I cannot say." } else { VALID })
        });
        run(&session, 1)
    };
    assert!(reason(&judged(None)).contains("unreadable reply"), "{:?}", judged(None));
    let again = judged(Some(1));
    assert_eq!(score(&again), 1.0);
    assert_eq!(detail(&again, "calls").as_i128(), Some(6));
    let replies = detail(&again, "replies").as_array().unwrap();
    let marked = replies.iter().filter(|reply| reply.get("asked_again").is_some()).count();
    assert_eq!(marked, 3);
    assert_eq!(detail(&again, "readable").as_i128(), Some(3));
}

#[test]
fn a_script_answers_in_the_order_of_the_calls() {
    let place = tempfile::tempdir().unwrap();
    let replies = lines(&[VALID, VALID, INVALID, INVALID, VALID, INVALID]);
    let mut settings = scripted(&place, &replies);
    settings.samples = Some(2);
    let judged = matched(&session(settings).connect("e", &Default::default()).unwrap(), &turns(3));
    match judged.outcome {
        // A tie is negative.
        Outcome::Scored(scored) => {
            assert_eq!(scored.per_turn, [Some(1.0), Some(0.0), Some(0.0)]);
        }
        other => panic!("{other:?}"),
    }
}
