//! Grades outputs without a model or a program.
//!
//! | file | contents |
//! |---|---|
//! | `text` | the text of the answer |
//! | `trajectory` | tool calls |
//! | `fields`, `dates` | fields of an answer that is JSON |
//! | `score` | a score with its observations |
//! | `limits` | time, money, tokens, numbers of calls |

mod dates;
mod fields;
mod limits;
mod score;
mod text;
mod trajectory;

pub use fields::grade as fields;
pub use limits::grade as limits;
use score::share;
pub use score::{Row, Score};
pub use text::{grade as text, needs_search};
pub use trajectory::grade as trajectory;
