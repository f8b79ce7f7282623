//! Pages of results that are not those of a run: the agreement of evaluators with labels, and mutation tests.

use std::io::{self, Write};

use evaluator_results::run_file::TOOL;
use serde::Serialize;
use serde_json::json;

use super::{
    page::{self, Script},
    text,
};

/// What a result is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// Evaluators against labels of people, or against each other.
    Agreement,
    /// Evaluators that were tried on damaged conversations.
    Mutation,
}

impl Subject {
    /// Returns how intervals are computed.
    fn intervals(self) -> &'static str {
        match self {
            Self::Agreement => {
                "Intervals: Clopper-Pearson for shares; kappa by Fleiss, Cohen and Everitt."
            }
            Self::Mutation => "Intervals: Clopper-Pearson.",
        }
    }
}

/// Writes a result as an HTML file. `result` is its JSON form; `verdict` is a word in capital letters, and `sentence` says what it
/// rests on.
///
/// # Errors
///
/// Writing fails, or the result has no JSON form.
pub fn write_result(
    subject: Subject,
    (verdict, sentence): (&str, &str),
    result: &impl Serialize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let title = text::html(&format!("{verdict}: {sentence}"));
    page::begin(&title, Script::Result, out)?;
    writeln!(
        out,
        "<noscript>\n<h1>{title}</h1>\n<p>Everything else in this file is shown with JavaScript only.</p>\n</noscript>"
    )?;
    let data = json!({
        "subject": subject,
        "verdict": verdict,
        "sentence": sentence,
        "footer": format!("{} This file loads nothing; made by {TOOL}.", subject.intervals()),
        "result": result,
    });
    let data = text::json(&data)?;
    writeln!(out, "<script type=\"application/json\" id=\"data\">{data}</script>")?;
    page::end(Script::Result, out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_data_of_a_page_with_its_verdict() {
        let result = json!({"evaluators": [{"name": "</script><img src=x>"}]});
        let mut out = Vec::new();
        let verdict = ("FAILED", "kappa is too low, <b>");
        write_result(Subject::Agreement, verdict, &result, &mut out).unwrap();
        let html = String::from_utf8(out).unwrap();
        assert!(html.contains("<title>FAILED: kappa is too low, &lt;b&gt;</title>"), "{html}");
        assert!(!html.contains("<img") && html.matches("</script>").count() == 2, "{html}");
        assert!(html.contains(r#""subject":"agreement","verdict":"FAILED"}"#), "{html}");
    }
}
