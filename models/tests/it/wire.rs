//! What is sent to each provider, and which provider a name means.

use std::time::Duration;

use evaluator_models::{
    Call, CommandError, CommandRunner, ErrorKind, JsonSchema, Params, Providers, Secret, Settings,
};
use serde_json::{Value, json};

use crate::server::{DECOY, broker, chat, connect, request, settings, start};

fn all_params() -> Params {
    Params {
        temperature: Some(0.0),
        top_p: Some(0.5),
        max_output_tokens: Some(100),
        stop: vec!["END".to_owned()],
        ..Params::default()
    }
}

/// Asks and returns path, header of the key, and body.
fn sent(model: &str, params: Params, header: &str) -> (String, String, Value) {
    let server = start(vec![("200 OK", vec![], chat("valid"))]);
    let mut request = request();
    request.params = params;
    // The answer has another shape for some providers; what was sent is the same.
    let _ = broker().0.ask(&Call::new(&*connect(&server, model), &request));
    let got = server.requests().remove(0);
    let header = got.headers.get(header).cloned().unwrap_or_default();
    (got.path, header, serde_json::from_slice(&got.body).unwrap())
}

#[test]
fn only_what_is_given_is_sent() {
    let (path, header, body) = sent("openai/gpt-4o-mini", Params::default(), "authorization");
    assert_eq!((&*path, header), ("/chat/completions", format!("Bearer {DECOY}")));
    let keys: Vec<&String> = body.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["messages", "model"]);
    assert_eq!(body["model"], "gpt-4o-mini");
    assert_eq!(body["messages"][0], json!({"role": "system", "content": "You judge answers."}));
}

#[test]
fn every_provider_has_its_shape() {
    let (_, _, body) = sent("openai/gpt-4o-mini", all_params(), "");
    assert_eq!(body["max_completion_tokens"], 100);
    assert_eq!((&body["temperature"], &body["stop"]), (&json!(0.0), &json!(["END"])));
    let (_, header, body) = sent("hosted_vllm/org/model", all_params(), "authorization");
    assert_eq!((&body["max_tokens"], &body["model"]), (&json!(100), &json!("org/model")));
    assert_eq!(header, format!("Bearer {DECOY}"));
    let (path, header, _) = sent("azure/judge", all_params(), "api-key");
    assert_eq!(path, "/openai/deployments/judge/chat/completions?api-version=2024-10-21");
    assert_eq!(header, DECOY);
    let (path, header, _) = sent("ollama/llama3", Params::default(), "authorization");
    assert_eq!((&*path, &*header), ("/v1/chat/completions", ""));

    let (path, header, body) = sent("anthropic/claude-x", all_params(), "x-api-key");
    assert_eq!((&*path, &*header), ("/v1/messages", DECOY));
    assert_eq!(
        body,
        json!({
            "model": "claude-x", "system": "You judge answers.", "max_tokens": 100,
            "messages": [{"role": "user", "content": "Is it Paris?\nAnswer: Paris"}],
            "temperature": 0.0, "top_p": 0.5, "stop_sequences": ["END"],
        })
    );
    let (_, header, body) = sent("claude-x", Params::default(), "anthropic-version");
    assert_eq!((&*header, &body["max_tokens"]), ("2023-06-01", &json!(4096)));

    let (path, header, body) = sent("gemini/gemini-2.5-flash", all_params(), "x-goog-api-key");
    assert_eq!((&*path, &*header), ("/v1beta/models/gemini-2.5-flash:generateContent", DECOY));
    assert_eq!(
        body,
        json!({
            "systemInstruction": {"parts": [{"text": "You judge answers."}]},
            "contents": [{"role": "user", "parts": [{"text": "Is it Paris?\nAnswer: Paris"}]}],
            "generationConfig":
                {"temperature": 0.0, "topP": 0.5, "maxOutputTokens": 100, "stopSequences": ["END"]},
        })
    );
}

#[test]
fn a_schema_has_the_shape_of_each_provider() {
    let schema = json!({"type": "object", "properties": {"score": {"type": "number"}}});
    let body = |model: &str| {
        let json_schema = JsonSchema { name: "verdict".to_owned(), schema: schema.clone() };
        sent(model, Params { json_schema: Some(json_schema), ..Params::default() }, "").2
    };
    let of_openai = json!({"name": "verdict", "strict": true, "schema": schema});
    let expected = json!({"type": "json_schema", "json_schema": of_openai});
    assert_eq!(body("openai/gpt-4o-mini")["response_format"], expected);
    // Without the header of the beta, whose key was `output_format`.
    let expected = json!({"format": {"type": "json_schema", "schema": schema}});
    assert_eq!(body("anthropic/claude-x")["output_config"], expected);
    let of_gemini = &body("gemini/gemini-2.5-flash")["generationConfig"];
    assert_eq!(of_gemini["responseMimeType"], "application/json");
    assert_eq!(of_gemini["responseJsonSchema"], schema);
}

#[test]
fn the_prefix_decides() {
    let settings = settings("http://127.0.0.1:1");
    for (name, provider, model) in [
        ("openai/gpt-4o", "openai", "gpt-4o"),
        ("gpt-4o", "openai", "gpt-4o"),
        ("o3-mini", "openai", "o3-mini"),
        ("ollama_chat/llama3:8b", "ollama", "llama3:8b"),
        ("groq/llama", "groq", "llama"),
        ("openrouter/openai/gpt-4o", "openrouter", "openai/gpt-4o"),
        ("claude-opus", "anthropic", "claude-opus"),
        ("gemma-3", "gemini", "gemma-3"),
        ("azure/x", "azure", "x"),
        ("replay", "replay", "replay"),
        ("anything-else", "openai_like", "anything-else"),
    ] {
        let endpoint = Providers::default().connect(name, &settings).unwrap();
        assert_eq!((endpoint.provider(), endpoint.model()), (provider, model), "{name}");
    }
}

#[test]
fn what_cannot_be_asked_is_an_error_before_anything_is_sent() {
    let connect = |model: &str, settings: &Settings| {
        let error = Providers::default().connect(model, settings).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Config);
        error.message
    };
    let empty = Settings::new(|_| None);
    for (model, text) in [
        ("openai/gpt-4o", "set OPENAI_API_KEY"),
        ("gemini-2.5-flash", "set GEMINI_API_KEY or GOOGLE_API_KEY"),
        ("hosted_vllm/m", "needs a base URL"),
        ("unknown/m", "known are openai/MODEL, ollama/MODEL"),
        ("", "is of no known provider"),
        ("bedrock/m", "Bedrock is not supported yet"),
        ("fake:/does/not/exist", "No such file"),
        ("command:judge", "programs cannot be started here"),
        ("azure/x", "needs the variable AZURE_API_BASE"),
    ] {
        let message = connect(model, &empty);
        assert!(message.contains(text), "{model}: {message}");
    }
    let no_certificates = Settings::new(|name| match name {
        "SSL_CERT_FILE" => Some("/does/not/exist".to_owned()),
        name => (name == "OPENAI_API_KEY").then(|| DECOY.to_owned()),
    });
    let message = connect("gpt-4o", &no_certificates);
    assert!(message.contains("SSL_CERT_FILE names /does/not/exist"), "{message}");
    let mut bad_key = Settings::new(|_| None);
    bad_key.key = Some(Secret::new("MY_KEY", "decoy with blanks"));
    let message = connect("gpt-4o", &bad_key);
    assert!(message.contains("MY_KEY") && !message.contains("decoy"), "{message}");

    // Nothing will be sent, so nothing is needed.
    let mut offline = Settings::new(|_| None);
    offline.is_offline = true;
    for model in
        ["gpt-4o", "azure/x", "hosted_vllm/m", "claude-x", "gemini-x", "command:x", "fake:x"]
    {
        Providers::default().connect(model, &offline).unwrap();
    }
}

#[test]
fn a_program_answers() {
    #[derive(Debug)]
    struct Runner(Value);
    impl CommandRunner for Runner {
        fn run(&self, name: &str, input: &[u8], _: Duration) -> Result<Vec<u8>, CommandError> {
            let input: Value = serde_json::from_slice(input).unwrap();
            assert_eq!((name, &input["sample"]), ("judge", &json!(3)));
            assert_eq!(input["params"], json!({"temperature": 0.5}));
            let text = &input["messages"][1]["content"];
            Ok(json!({"text": text, "usage": self.0}).to_string().into())
        }
    }
    let mut request = request();
    request.sample = 3;
    request.params.temperature = Some(0.5);
    let ask = |usage| {
        let mut settings = Settings::new(|_| None);
        settings.runner = Some(std::sync::Arc::new(Runner(usage)));
        let endpoint = Providers::default().connect("command:judge", &settings).unwrap();
        broker().0.ask(&Call::new(&*endpoint, &request)).map(|answer| answer.reply)
    };
    let reply = ask(json!({"input": 1, "output": 2})).unwrap();
    assert_eq!(reply.text, "Is it Paris?\nAnswer: Paris");
    assert_eq!(reply.usage.unwrap().total(), 3);
    assert_eq!(ask(Value::Null).unwrap().usage, None);
    for unknown in [json!({"input_tokens": 1, "output_tokens": 2}), json!({"input": "1"}), json!(3)]
    {
        let error = ask(unknown).unwrap_err();
        assert_eq!(error.kind, ErrorKind::BadAnswer);
        assert!(error.message.contains("`usage` has no number of tokens `input`"), "{error}");
    }
}

#[test]
fn another_model_is_a_warning() {
    let server = start(vec![("200 OK", vec![], chat("valid"))]);
    let ask =
        |model| broker().0.ask(&Call::new(&*connect(&server, model), &request())).unwrap().warnings;
    assert_eq!(ask("gpt-4o-mini"), Vec::<String>::new(), "a version of the model");
    assert_eq!(ask("gpt-5"), ["`gpt-5` was answered by `gpt-4o-mini-2024-07-18`"]);
}

#[test]
fn every_text_needs_its_vector() {
    let ask = |data: Value| {
        let server = start(vec![("200 OK", vec![], json!({ "data": data }).to_string())]);
        let request = evaluator_models::Request::embeddings(["a", "b"]);
        broker().0.ask(&Call::new(&*connect(&server, "text-embedding-3-large"), &request))
    };
    let item = |index: i64, vector: Value| json!({"index": index, "embedding": vector});
    let good = ask(json!([item(1, json!([0.5, 2])), item(0, json!([1]))])).unwrap();
    assert_eq!(
        good.reply.vectors().unwrap(),
        [vec![1.0], vec![0.5, 2.0]],
        "in the order of the texts"
    );
    for bad in [
        json!([item(0, json!([1]))]),
        json!([item(0, json!([1])), item(1, json!([]))]),
        json!([item(0, json!([1])), item(1, json!([null]))]),
        json!([item(0, json!([1])), item(7, json!([1]))]),
        json!(null),
    ] {
        assert_eq!(ask(bad.clone()).unwrap_err().kind, ErrorKind::BadAnswer, "{bad}");
    }
    let claude = Providers::default().connect("claude-x", &settings("http://127.0.0.1:1")).unwrap();
    let request = evaluator_models::Request::embeddings(["a"]);
    assert_eq!(broker().0.ask(&Call::new(&*claude, &request)).unwrap_err().kind, ErrorKind::Config);
}
