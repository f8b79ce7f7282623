//! `evaluator inspect`.

use std::{error::Error as _, io::Write as _};

use evaluator_host::run::{ConversationSource as _, Inspection, Runner};

use super::{print_with, trace_format};
use crate::{
    args::{InspectArgs, TextOrJson},
    exit, render,
};

/// Prints the conversations of traces, and the errors in them.
pub(super) fn inspect(args: InspectArgs, runner: &Runner) -> u8 {
    let group_by = args.group_by.unwrap_or_default();
    let format = trace_format(args.format, runner);
    let formats = runner.registries.trace_formats.given(format.as_ref());
    let inspection =
        Inspection::new(&args.traces, &formats, &runner.registries.conventions, group_by);
    for error in &inspection.errors {
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            let cause_text = cause.to_string();
            if !text.contains(&cause_text) {
                text += &format!("\n  cause: {cause_text}");
            }
            source = cause.source();
        }
        if let Some(hint) = Inspection::hint(error) {
            text += &format!("\n  hint: {hint}");
        }
        render::message(&text);
    }
    if let Some(warning) = &inspection.warning {
        render::warning(warning);
    }
    let mut unusable = 0;
    let code = print_with(
        |out| {
            unusable = match args.output {
                TextOrJson::Text => {
                    let mut out = render::Painted::new(out, render::painted);
                    let unusable = render::inspection_text(&inspection, &mut out)?;
                    out.flush()?;
                    unusable
                }
                TextOrJson::Json => render::inspection_json(&inspection, out)?,
            };
            Ok(())
        },
        exit::OK,
    );
    let is_broken =
        !inspection.errors.is_empty() || inspection.recordings.is_empty() || unusable > 0;
    if is_broken { exit::worst([code, exit::ERRORED]) } else { code }
}
