//! `evaluator judge`.

use std::{fmt::Write as _, path::Path};

use evaluator_host::{
    judging::judge::{PROMPTS, Prompt},
    models,
    report::run_file,
};

use super::{print, show_table, unusable};
use crate::{args::JudgeCommand, exit, render, render::Columns};

/// Runs a command about judges.
pub(super) fn judge(command: JudgeCommand, waits: &models::Waits) -> Result<u8, u8> {
    match command {
        JudgeCommand::Show { name: None } => Ok(list()),
        JudgeCommand::Show { name: Some(name) } => show(&name),
        JudgeCommand::Tidy { file, unused_since_run } => {
            tidy(&file, unused_since_run.as_deref(), waits)
        }
    }
}

/// Lists the prompts.
fn list() -> u8 {
    let mut table = Columns::new(["Prompt", "Variables"]);
    for prompt in PROMPTS {
        table.row([prompt.name.to_owned(), prompt.variables.join(", ")]);
    }
    show_table(table, 1, exit::OK)
}

/// Prints a prompt as a file that can replace it, or all prompts of a metric.
fn show(name: &str) -> Result<u8, u8> {
    if let Some(prompt) = Prompt::find(name) {
        return Ok(print(prompt.text, exit::OK));
    }
    let mut text = String::new();
    let steps = PROMPTS
        .iter()
        .filter(|prompt| prompt.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')));
    for prompt in steps {
        let separator = if text.is_empty() { "" } else { "\n" };
        let _ = write!(text, "{separator}# {}\n\n{}", prompt.name, prompt.text);
    }
    if text.is_empty() {
        let names: Vec<&str> = PROMPTS.iter().map(|prompt| prompt.name).collect();
        let name = render::one_line(name);
        let names = names.join(", ");
        return Err(unusable(format!("there is no prompt `{name}`; the prompts are {names}")));
    }
    Ok(print(&text, exit::OK))
}

fn tidy(file: &Path, run: Option<&Path>, waits: &models::Waits) -> Result<u8, u8> {
    let used = run.map(|run| {
        let report = run_file::read(&[run.to_owned()], false).map_err(unusable)?;
        if report.partial.is_some() {
            let run = run.display();
            return Err(unusable(format!("{run} is not complete: what it used is not known")));
        }
        report.recorded_samples().map_err(unusable)
    });
    let used = used.transpose()?;
    let tidied =
        models::tidy(file, used.as_ref(), waits).map_err(|error| unusable(error.message))?;
    let text = format!(
        "{}: {} records ({} repeated and {} unused removed)\n",
        file.display(),
        tidied.kept,
        tidied.repeated,
        tidied.unused
    );
    Ok(print(&text, exit::OK))
}
