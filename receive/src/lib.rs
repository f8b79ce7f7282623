//! Receives spans by OTLP over HTTP, and has conversations judged when they are finished.
//!
//! This crate makes no promise of stability.
//!
//! | file | contents |
//! |---|---|
//! | `routes` | requests and answers |
//! | `otlp` | the request of the protocol, in protobuf and JSON |
//! | `lines` | a request as lines of the trace file, one for each trace in each scope |
//! | `file` | the trace file: written before a request is answered, and read when a receiver starts |
//! | `open` | which conversations have spans, and which are finished |
//! | `receiver` | all of them together, and the run that judges |
//!
//! | request | answer |
//! |---|---|
//! | `POST /v1/traces` | 200 as soon as the spans are on the disk; spans with invalid ids, and those that a run could not read, are rejected by `partialSuccess` |
//! | not OTLP, or damaged | 400 |
//! | without the token, or of a web page | 401, 403 |
//! | metrics, logs, anything else | 404 |
//! | larger than the limit, also after decompression | 413 |
//! | of another type or compression | 415 |
//! | too many open conversations, too many requests, a full disk | 503 with `Retry-After` |
//! | gRPC | `UNIMPLEMENTED`, with the setting for HTTP |
//!
//! The trace file is the only place of the spans: in memory are their positions alone, so that conversations may stay
//! open for long. The file is one that `evaluator run` reads.

mod file;
mod lines;
mod open;
mod otlp;
mod receiver;
mod routes;

pub use file::FileError;
pub use open::Rules;
pub use receiver::{OnJudged, OnRemark, Received, Receiver};
pub use routes::Remark;
