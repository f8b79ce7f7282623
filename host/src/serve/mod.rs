//! Offers evaluators over HTTP.
//!
//! | request | answer |
//! |---|---|
//! | `POST /evaluators/NAME` | what the evaluator makes of the document in the body, which may be one of any contract |
//! | `POST /evaluators/NAME/invoke` | the same; Agenta appends `/invoke` to the address of a remote workflow |
//! | `POST /`, `POST /invoke` | the same, where only one evaluator is offered |
//! | `GET /evaluators`, `GET /evaluators/NAME` | what is offered: names, descriptions, contracts, schemas of settings |
//! | `GET /openapi.json` | this table, as an OpenAPI document |
//! | `GET /healthz` | that the server is there; needs no token |
//! | `GET /readyz` | that it accepts documents; needs no token |
//! | `GET /metrics` | numbers in the text format of Prometheus |
//!
//! With a base path, the same paths are also served below it.
//!
//! An answer is 200 with one JSON document, in the terms of the document's contract. Everything else is no answer:
//!
//! | status | what |
//! |---|---|
//! | 400 | the body is not JSON |
//! | 401 | the token is missing or wrong |
//! | 403 | a web page may be asking, and there is no token that says it may |
//! | 404, 405 | there is no such evaluator, or it is asked by another method |
//! | 408 | the body did not come in time |
//! | 413, 415 | the body is too large, or compressed |
//! | 422 | the document is of no contract, the evaluator refuses it, or does not judge it and the contract has no word for that |
//! | 429 | too many documents are waiting; `Retry-After` says when to come back |
//! | 500 | the evaluator broke |
//! | 503 | the server is shutting down, or the system has no resources for a process |
//! | 504 | the evaluator took too long |
//!
//! What is no answer is told as `{"error": {"kind": .., "message": ..}}`, and as plain text to Agenta, which fails itself over a
//! JSON object with any status but 200. Who is Agenta is told by the path (`/invoke`) or by the document.

mod admission;
mod catalog;
mod fault;
mod metrics;
mod routes;
mod server;
mod settings;

pub use admission::{BadToken, Token};
pub use routes::{Access, Remarks};
pub use server::{Ended, ServeError, Server};
pub use settings::{BasePath, BasePathError, Settings};
