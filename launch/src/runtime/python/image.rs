//! Python evaluators in an image, whose interpreter and packages run them. Nothing is installed there.

use std::path::Path;

use super::{
    installer::Sdk,
    interpreter::{MissingModule, Questions},
    needs::Needs,
};
use crate::{
    executor::{Image, Visible},
    process::{Cancellation, CommandSpec},
    runtime::{Entrypoint, Launch, PrepareError, paths},
};

/// Interpreter of every image with Python 3.
const PYTHON: &str = "python3";

/// Returns how the interpreter of an image runs an evaluator, after comparing the packages that the evaluator names with
/// those that the image has. `checks_imports`: also looks for the modules that it imports.
///
/// # Errors
///
/// The image lacks packages.
pub(super) fn prepare(
    entrypoint: &Entrypoint,
    image: &Image,
    sdk: &Sdk,
    checks_imports: bool,
    cancellation: &Cancellation,
) -> Result<Launch, PrepareError> {
    let source = paths::resolve(&entrypoint.path)?;
    let directory = source.parent().unwrap_or(&source);
    let needs = Needs::of(&source, entrypoint.fetched)?;
    let launch = Launch::in_image(CommandSpec::new(PYTHON), &source, directory);
    if needs.is_none() && !checks_imports {
        return Ok(launch);
    }
    let mut questions = Questions::default();
    if let Some(needs) = &needs {
        needs.ask(sdk, &mut questions);
    }
    if checks_imports {
        questions.missing(&source);
    }
    let unusable = |problem: &str| {
        PrepareError::runtime_missing(format!(
            "the image {} cannot run {}: {problem}; add what is missing to the image",
            image.name(),
            source.file_name().unwrap_or_default().display()
        ))
    };
    let containment = entrypoint.contained.clone().unwrap_or_default();
    let visible = Visible { paths: [directory.to_owned()].into() };
    let python = Path::new(PYTHON);
    let answers = image
        .run(questions.bare_command(python), &containment, &visible)
        .and_then(|command| questions.ask_by(&command, cancellation))
        .map_err(|problem| unusable(&problem))?;
    if let Some(needs) = needs {
        needs.accept(python, &answers.identity.version).map_err(|problem| unusable(&problem))?;
        // What names no package of the index cannot be looked up.
        let mut missing = needs.missing(sdk, &answers);
        missing.retain(|requirement| !requirement.starts_with("-r "));
        if !missing.is_empty() {
            let problem = format!("it lacks {} ({})", missing.join(", "), needs.named_in());
            return Err(unusable(&problem));
        }
    }
    if let Some(module) = answers.missing(&source).first()
        && module.may_be_found(entrypoint).is_none()
    {
        let MissingModule { name, file, line, .. } = module;
        return Err(unusable(&format!("it has no module `{name}` ({file}:{line})")));
    }
    Ok(launch)
}
