//! All calls of language models.
//!
//! This crate makes no promise of stability; `evaluator-host` has what programs that embed it need.
//!
//! A [`Broker`] sends every call: it looks the request up in a [`Cassette`], waits for a place in the queue of the server, sends
//! it again if the failure may pass, and counts it in [`Budget`]s. What has no answer is a [`ModelError`], never an empty reply.
//!
//! ```
//! use evaluator_models::{Broker, Call, Fake, Limits, Message, Request};
//!
//! let model = Fake::in_order([r#"{"reasoning": "same city", "is_the_agent_response_valid": "valid"}"#]);
//! let request = Request::new(vec![
//!     Message::system("Compare the answer with the reference."),
//!     Message::user("answer: Paris\nreference: The capital is Paris."),
//! ]);
//! let broker = Broker::new(Limits::default());
//! let answer = broker.ask(&Call::new(&model, &request))?;
//! assert!(answer.reply.readable().is_ok_and(|text| text.contains("valid")));
//! # Ok::<(), evaluator_models::ModelError>(())
//! ```
//!
//! Real models come from [`Providers`] by name:
//!
//! ```
//! use evaluator_models::{Providers, Settings};
//!
//! let mut settings = Settings::new(|name| (name == "OPENAI_API_KEY").then(|| "sk-decoy".to_owned()));
//! let model = Providers::default().connect("openai/gpt-4o-mini", &settings)?;
//! assert_eq!((model.provider(), model.model()), ("openai", "gpt-4o-mini"));
//!
//! // Any server that speaks OpenAI's protocol.
//! settings.base_url = Some("http://127.0.0.1:8000/v1".to_owned());
//! Providers::default().connect("hosted_vllm/Qwen/Qwen3-8B", &settings)?;
//! # Ok::<(), evaluator_models::ModelError>(())
//! ```
//!
//! # Calls
//!
//! Calls block their thread, because the transport does; an asynchronous host calls [`Broker::ask`] on threads for blocking
//! work. There is one queue per server and key. The number of calls in flight starts at half of its maximum (at least 4), grows
//! with good answers and is halved when the server is overloaded. A server's own `retry-after` holds the whole queue, so that
//! waiting calls do not each meet the limit. A wrong key or a spent quota stops the queue: every further call fails with the same error.
//!
//! # Budgets
//!
//! A [`Budget`] limits calls, tokens or money. A call may count in several of them: of the run, of its evaluator, of a program.
//! Prices come from the user. A spent budget is the error [`ErrorKind::BudgetExceeded`].
//!
//! # Cassettes
//!
//! A [`Cassette`] is a file with one JSON object per line. The key of a record is the SHA-256 of the canonical JSON of provider,
//! model, parameters and messages; next to it is the number of the sample, so that several samples of one request stay several.
//! Equal runs write equal bytes: records are sorted and hold no time, host, header or id. Final answers are recorded, also
//! refused and unreadable ones; failures of the transport are not. Known secrets are removed before writing.
//!
//! ```
//! use evaluator_models::{Broker, Call, Cassette, Fake, Limits, Message, Mode, Redactor, Request};
//!
//! let directory = tempfile::tempdir()?;
//! let path = directory.path().join("judge.cassette.jsonl");
//! let request = Request::new(vec![Message::user("Is it Paris?")]);
//!
//! let recording = Cassette::open(&path, Mode::Auto, Redactor::default())?;
//! let broker = Broker::new(Limits::default()).with_cassette(recording);
//! broker.ask(&Call::new(&Fake::in_order(["yes"]), &request))?;
//! broker.cassette().expect("it was given").save()?;
//!
//! let replaying = Cassette::open(&path, Mode::Replay, Redactor::default())?;
//! let broker = Broker::new(Limits::default()).with_cassette(replaying);
//! let silent = Fake::in_order(Vec::<String>::new());
//! assert_eq!(broker.ask(&Call::new(&silent, &request))?.reply.text, "yes");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Keys
//!
//! A [`Secret`] shows its name only. It is sent to the configured base URL and nowhere else: redirects are not followed, and
//! `http` is for this machine only, unless the user allows it.

mod broker;
mod budget;
mod cassette;
mod certificates;
mod clock;
mod error;
mod parameters;
mod provider;
mod proxy;
mod queue;
mod refusal;
mod reply;
mod request;
mod secret;

pub use broker::{Answer, Broker, Call, Limits, Retries};
pub use budget::{Budget, BudgetLimits, Price, Prices, Spent};
pub use cassette::{
    Cassette, Found, Mode, Record, RecordId, StoredMessage, StoredReply, Tidied, Waits, read, tidy,
};
pub use certificates::{parse_certificates, read_certificates};
pub use clock::{Cancel, Clock, SystemClock, VirtualClock};
pub use error::{ErrorKind, ModelError};
pub use provider::{
    CommandError, CommandRunner, Endpoint, Fake, FakeReply, ProgramIdentity, Provider, Providers,
    Settings, Variables, is_program, read_reply,
};
pub use proxy::{
    BrokeredModel, Offer, ProxiedModel, Proxy, ProxyServer, ProxyUsage, SDK_VARIABLES,
    SharedListener, VARIABLES as PROXY_VARIABLES, names_proxy, receiver_name,
};
pub use queue::Concurrency;
pub use reply::{Finish, Reply, Usage};
pub use request::{
    Api, Forwarded, JsonSchema, Message, Messages, Params, Request, Role, first_sample,
};
pub use rust_decimal::Decimal;
pub use secret::{Redactor, Secret};
