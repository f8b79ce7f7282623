//! Conventions: the ways in which instrumentations record agents, and one reading of a span whatever convention it follows.
//!
//! A [`Convention`] recognizes spans and fills a [`SpanDraft`] from what they recorded: messages, and attributes under the
//! names of the `GenAI` semantic conventions. [`Conventions`] is the registry; its order is the precedence. A part that is
//! already filled is never replaced, and a list of messages is taken completely from one source.
//!
//! | file | contents |
//! |---|---|
//! | `model`, `kind` | the trait, and the kinds of spans |
//! | `registry` | the registry, classification of the spans of a trace |
//! | `draft` | a span in canonical form, while it is filled and afterwards |
//! | `setup` | instructions and declared tools of an agent |
//! | `attributes`, `keys` | canonical attributes and their names |
//! | `genai` | `GenAI` semantic conventions: attributes of spans, details events, older names |
//! | `events` | one event or log record per message, from older versions of these conventions |
//! | `adk` | Google's Agent Development Kit |
//! | `pydantic_ai` | Pydantic AI, and Logfire's spans of the `OpenAI` Agents SDK |
//! | `semantic_kernel` | older releases of Semantic Kernel |
//! | `crewai` | tasks of `CrewAI` |
//! | `langsmith` | spans of `LangSmith` |
//! | `langfuse` | observations of Langfuse |
//! | `mastra` | what Mastra's exporter adds to the `GenAI` conventions |
//! | `vercel_ai` | Vercel's AI SDK |
//! | `traceloop` | indexed messages of `OpenLLMetry` |
//! | `openinference`, `values` | `OpenInference`, and the messages in its `input.value` and `output.value` |
//! | `contents` | whether a span records messages |
//! | `indexed` | lists of objects that are flattened into attributes |

mod adk;
mod attributes;
mod contents;
mod crewai;
mod draft;
mod events;
mod genai;
mod indexed;
pub(super) mod keys;
mod kind;
mod langfuse;
mod langsmith;
mod mastra;
mod model;
mod openinference;
mod pydantic_ai;
mod registry;
mod semantic_kernel;
mod setup;
#[cfg(test)]
mod tests;
mod traceloop;
mod values;
mod vercel_ai;

pub(super) use attributes::TooLarge;
pub use draft::SpanDraft;
pub(super) use draft::{Side, SpanView, Wanted};
pub(super) use genai::NAME as GENAI;
pub(super) use kind::OPERATIONS;
pub use kind::{Kind, Kinds};
pub use model::{Content, Convention};
pub use registry::Conventions;
pub use setup::Setup;
