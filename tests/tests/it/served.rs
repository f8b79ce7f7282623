//! Programs of the SDK that are kept ready for documents of any contract.

use std::{num::NonZeroUsize, path::PathBuf};

use evaluator_host::{
    config::{CodeConfig, Config},
    run::Runner,
};
use evaluator_serve::{Service, Unservable};
use serde_json::{Value, json};

const WEBHOOK: &str =
    r#"{"inputs":{"country":"France","correct_answer":"Paris"},"output":"Paris"}"#;

async fn service(config: &str) -> Result<Service, Vec<Unservable>> {
    let program = PathBuf::from(env!("CARGO_BIN_EXE_served"));
    let config = config.replace("PROGRAM", &program.display().to_string());
    let config = match &*config {
        "" => Config::default(),
        text => Config::parse(text, "c.yaml".as_ref()).unwrap(),
    };
    let paths = if config.evaluators.is_empty() { vec![program] } else { Vec::new() };
    let mut runner = Runner::default();
    runner.jobs = NonZeroUsize::MIN;
    Service::new(&config, &paths, &CodeConfig::default(), &runner, &mut |_| {}).await
}

/// The answer, or the kind of the refusal and its status.
async fn answer(service: &Service, name: &str, document: &str) -> Result<Value, (String, u16)> {
    let answered = service.answer(name, document.as_bytes()).await.unwrap();
    match answered.result {
        Ok(text) => Ok(serde_json::from_str(&text).unwrap()),
        Err(refusal) => Err((refusal.kind.to_owned(), refusal.status.code())),
    }
}

fn doing(what: &str) -> String {
    json!({"metric_name": "other", "config": {"do": what}, "invocations": []}).to_string()
}

#[tokio::test]
async fn all_evaluators_of_a_program_are_offered() {
    let service = service("").await.unwrap();
    let offered: Vec<(&str, &str, &str)> =
        service.offered().map(|one| (&*one.name, &*one.contract, &*one.description)).collect();
    assert_eq!(
        offered,
        [
            (
                "resident",
                "agentevals",
                "Says in which process it is, and does otherwise what its config says."
            ),
            ("correct", "agenta", "Whether the output is the correct answer."),
            ("counting", "agenta", "Scores which document of its process this is: 1, 1/2, 1/3 .."),
        ]
    );
    assert!(service.answer("unknown", b"{}").await.is_none());
    service.close().await;
}

#[tokio::test]
async fn one_process_answers_document_after_document() {
    let service = service("").await.unwrap();
    let pid =
        async || answer(&service, "resident", &doing("")).await.unwrap()["details"]["pid"].clone();
    let first = pid().await;
    assert_eq!(pid().await, first);
    let broken = |kind: &str| Err((kind.to_owned(), 500));
    assert_eq!(answer(&service, "resident", &doing("fail")).await, broken("exited"));
    assert_eq!(pid().await, first);
    // A document that ends the process costs no other one.
    assert_eq!(answer(&service, "resident", &doing("die")).await, broken("exited"));
    assert_ne!(pid().await, first);
    let abstained = answer(&service, "resident", &doing("abstain")).await.unwrap();
    assert_eq!(abstained["status"], "NOT_EVALUATED");
    service.close().await;
}

#[tokio::test]
async fn those_of_other_contracts_stay_too() {
    let service = service("").await.unwrap();
    let asked = async |output: &str| {
        let document = WEBHOOK.replace(r#""output":"Paris""#, &format!(r#""output":"{output}""#));
        let answer = answer(&service, "counting", &document).await?;
        Ok::<_, (String, u16)>(answer["score"].as_f64().unwrap())
    };
    let broken = Err(("exited".to_owned(), 500));
    assert_eq!(asked("a").await, Ok(1.0));
    assert_eq!(asked("b").await, Ok(0.5));
    assert_eq!(asked("fail").await, broken);
    assert_eq!(asked("c").await, Ok(0.25));
    assert_eq!(asked("die").await, broken);
    assert_eq!(asked("d").await, Ok(1.0));
    service.close().await;
}

#[tokio::test]
async fn answers_are_in_the_terms_of_the_document() {
    let service = service(
        "evaluators:\n  - {name: resident, type: code, path: PROGRAM, threshold: 0.8}\n  \
         - {name: correct, type: code, path: PROGRAM}\n",
    )
    .await
    .unwrap();
    let score = json!({"score": 0.75, "success": false});
    assert_eq!(answer(&service, "resident", WEBHOOK).await, Ok(score));
    let said = WEBHOOK.replace("\"output\"", "\"parameters\":{\"threshold\":0.7},\"outputs\"");
    let score = json!({"score": 0.75, "success": true});
    assert_eq!(answer(&service, "resident", &said).await, Ok(score));
    let abstain = said.replace("\"threshold\"", "\"do\":\"abstain\",\"threshold\"");
    let refusal = ("not_evaluated".to_owned(), 422);
    assert_eq!(answer(&service, "resident", &abstain).await, Err(refusal));

    // One of another contract reads the document as it is, and refuses those of others.
    let passed = answer(&service, "correct", WEBHOOK).await.unwrap();
    assert_eq!(passed["success"], json!(true), "{passed}");
    let refusal = ("other_contract".to_owned(), 422);
    assert_eq!(answer(&service, "correct", &doing("")).await, Err(refusal));
    let refusal = ("bad_document".to_owned(), 400);
    assert_eq!(answer(&service, "correct", "nonsense").await, Err(refusal));
    service.close().await;
}

#[tokio::test]
async fn an_entry_names_an_evaluator_of_its_program() {
    let problems = service("evaluators:\n  - {name: other, type: code, path: PROGRAM}\n").await;
    assert_eq!(
        problems.unwrap_err()[0].to_string(),
        "other: there is no evaluator of that name in its program, which has resident, correct, counting"
    );
}
