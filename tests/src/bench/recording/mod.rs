//! Generated recordings of conversations.

mod desk;
mod offers;

pub use desk::{write_eval_set, write_small_traces, write_traces};
pub use offers::{write_offer_lines, write_offers, write_other_offers};
