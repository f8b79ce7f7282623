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
//!
//! | file | what |
//! |---|---|
//! | `server` | [`Server`]: the address, connections, and how it ends |
//! | `base_path` | [`BasePath`]: a prefix that a proxy keeps |
//! | `settings` | [`Settings`]: limits, and who may ask |
//! | `browser` | web pages, which must not drive a server that asks for no token |
//! | `token` | [`Token`]: who may ask, compared in a time that tells nothing |
//! | `patient` | connections whose other end has to take what it is sent |
//! | `routes` | which path is what |
//! | `evaluate` | one document |
//! | `body` | bodies of requests: read, or skimmed where they are refused |
//! | `fault` | what is no answer |
//! | `catalog` | what is offered |
//! | `openapi` | the OpenAPI document |
//! | `metrics` | counters for Prometheus |
//! | `access` | what is told of each request |

mod access;
mod base_path;
mod body;
mod browser;
mod catalog;
mod evaluate;
mod fault;
mod metrics;
mod openapi;
mod patient;
mod routes;
mod server;
mod settings;
mod token;

pub use access::{Access, Remarks};
pub use base_path::{BasePath, BasePathError};
pub use server::{Ended, ServeError, Server};
pub use settings::Settings;
pub use token::{BadToken, Token};
