//! Models for programs: an HTTP server on the loopback interface, in the protocol of AgentV's target proxy, and in those of the
//! SDKs of OpenAI and Anthropic.
//!
//! A [`ProxyServer`] is one thread for all evaluations of a run. [`ProxyServer::open`] gives an evaluation an address and a
//! token of its own, so a program that floods its proxy delays no other program; closing the [`Proxy`] closes the address.
//!
//! A program in a network namespace of its own cannot reach such an address. There, one listening socket is made inside and
//! handed over to a [`SharedListener`]; the token of a request identifies its evaluation. A process that evaluates one document
//! after the other may have a shared address outside, too ([`ProxyServer::listen`]), so that its clients can be used again.
//!
//! The models that a program may ask are an [`Offer`]; they are asked through [`ProxiedModel`], usually by a
//! [`Broker`](crate::Broker), on threads for blocking work.
//!
//! | request | answer |
//! |---|---|
//! | `OPTIONS` | 204 |
//! | no token, or another one | 401 |
//! | after the evaluation | 503, then no connection; 401 at a listener that was handed over |
//! | `GET /info` | names, `maxCalls`, `callCount` |
//! | `POST /invoke` | `{"output", "outputMessages", "rawText", "tokenUsage"?}`; 429 if all calls are used |
//! | `POST /invokeBatch` | `{"responses": [..]}`, one after the other; 429 if there are fewer calls left than requests |
//! | `POST /inherit` with `{"token"}`, one of an earlier evaluation | 204; at this address it stands for this evaluation from now on |
//! | any other path | 404 |
//! | a body that is not JSON, with a repeated key, without a question, or with an unknown name | 400 |
//! | a body that is too long, too slow | 413, 408 |
//! | a model that fails; has a spent budget; is too slow | 500; 429; 504 |
//!
//! Paths that begin with `/v1/` are those of the SDKs. Their requests are [forwarded](crate::Request::forwarded) as they are to
//! models that speak the same interface, and translated for others.
//!
//! Keys of both generations of AgentV are read and written. A reply that cannot be read as an answer is an error, too.

mod accept;
mod access;
mod agentv;
mod body;
mod evaluations;
mod fault;
mod json;
mod model;
#[cfg(target_os = "linux")]
mod receive;
mod routes;
mod sdk;
mod server;
mod token;

pub use access::{Offer, ProxyUsage};
pub use model::{BrokeredModel, ProxiedModel};
pub use server::{
    Proxy, ProxyServer, SDK_VARIABLES, SharedListener, VARIABLES, names_proxy, receiver_name,
};
