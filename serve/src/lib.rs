//! Offers evaluators over HTTP. This crate makes no promise of stability.
//!
//! | request | answer |
//! |---|---|
//! | `POST /evaluators/NAME` | result of the evaluator for the document in the body, which may be of any contract |
//! | `POST /evaluators/NAME/invoke` | the same; Agenta appends `/invoke` to the address of a remote workflow |
//! | `POST /`, `POST /invoke` | the same, if only one evaluator is offered |
//! | `GET /evaluators`, `GET /evaluators/NAME` | names, descriptions, contracts, schemas of settings |
//! | `GET /openapi.json` | this table, as an OpenAPI document |
//! | `GET /healthz` | 200 while the server runs; needs no token |
//! | `GET /readyz` | 200 while every evaluator can answer, else 503; needs no token |
//! | `GET /metrics` | metrics in the text format of Prometheus |
//!
//! With a base path, the same paths are also served below it.
//!
//! A result is 200 with one JSON document in the format of the document's contract. Every other status is an error:
//!
//! | status | reason |
//! |---|---|
//! | 400 | the body is not JSON |
//! | 401 | the token is missing or wrong |
//! | 403 | the request may come from a web page, and no token is configured |
//! | 404, 405 | the evaluator does not exist, or the method is wrong |
//! | 408 | the body was not received in time |
//! | 413, 415 | the body is too large, or compressed |
//! | 422 | no contract fits the document, the evaluator takes another one or refuses the document, or skips it and the contract cannot express that |
//! | 429 | too many documents are waiting; `Retry-After` has the time to wait |
//! | 500 | the evaluator failed |
//! | 503 | the server is shutting down, files of the evaluator have changed, or the system has no resources for a process |
//! | 504 | the evaluator took too long |
//!
//! The body of an error is `{"error": {"kind": .., "message": ..}}`. Agenta cannot read a JSON object with a status other than
//! 200 and receives plain text; it is recognized by the path (`/invoke`) or by the document.
//!
//! Only programs that number their answers stay running: a run finds out at its end that answers were mixed up, a
//! server would have sent them by then. A document takes one of a bounded number of places (`--jobs` and `--queue`)
//! before its body is read. A request names no file. Web pages are refused where there is no token, recognized by
//! `Origin` and by `Host` (DNS rebinding). axum's own `serve` has no time limits, so connections are hyper's.

mod access;
mod admission;
mod catalog;
mod fault;
mod metrics;
mod routes;
mod server;
mod service;
mod settings;
mod token;

pub use access::{Access, Remarks};
pub use admission::admit;
pub use fault::{Fault, read_encoded_body};
pub use server::{Ended, Server};
pub use service::{Answered, Offered, Refusal, Service, Unservable};
pub use settings::{BasePath, BasePathError, Settings};
pub use token::{BadToken, ServeError, Token};
