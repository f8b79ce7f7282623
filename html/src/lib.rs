//! The report of a run as one HTML file, which needs no network and no other file.
//!
//! This crate makes no promise of stability; `evaluator-host` has what programs that embed it need.
//!
//! The file holds the results as JSON, and a script that draws them. Whatever an agent or an evaluator wrote is data in it: the
//! script makes text nodes only, and the security policy of the page permits this script, images in the file, and nothing else.
//!
//! | file | contents |
//! |---|---|
//! | `page` | the frame: title, security policy, the table without JavaScript |
//! | `data` | everything but rows and cases: sums, gates, the run |
//! | `rows` | a row per conversation, as columns |
//! | `cases` | everything about a conversation, in compressed blocks, as much as the file may hold |
//! | `comparison` | the comparison with an earlier run |
//! | `reason` | why an evaluation failed, in a sentence |
//! | `result` | pages of other results: agreement with labels, mutation tests |
//! | `words` | texts that the command has |
//! | `text` | escaping of JSON and HTML, numbers |
//! | `base.js`, `report.js`, `result.js`, `report.css` | the script and the style, as they are |

mod cases;
mod comparison;
mod data;
mod page;
mod reason;
mod result;
mod rows;
mod text;
mod words;

use std::io::{self, Write};

use evaluator_results::Report;

use comparison::Base;
pub use result::{Subject, write_result};
pub use words::Words;

/// Writes a report as an HTML file. The same run file has the same bytes.
///
/// # Errors
///
/// Writing fails, or a conversation cannot be read back.
pub fn write(report: &Report, mut words: Words<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut rows = rows::Rows::default();
    let mut base = words.base.map(Base::new).transpose()?;
    let mut cases = cases::Cases::choose(report, base.as_ref().map_or(0, Base::size))?;
    let title = text::html(&format!("{}: {}", words.verdict, words.sentence));
    page::begin(&title, page::Script::Run, out)?;
    page::without_script(&words, &title, out)?;
    let conversations = report.conversations.iter();
    conversations.try_for_each_ahead(|conversation| {
        let other = base.as_mut().map(|it| it.case(conversation.case()));
        cases.add(report, rows.count, &conversation, other.transpose()?.as_deref(), out)?;
        let name = (words.name)(&conversation);
        rows.add(&conversation, &name)
    })?;
    cases.finish(out)?;
    rows.finish();
    data::write(report, &words, &rows, &cases, out)?;
    page::end(page::Script::Run, out)
}
