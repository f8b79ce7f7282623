//! Forms and destinations of the report of a run.

use std::{
    ffi::OsStr,
    io,
    path::{self, Path, PathBuf},
};

use clap::{
    Arg, Command, ValueEnum,
    builder::{PossibleValue, TypedValueParser},
};
use evaluator_host::{
    config::OutputFormat,
    files::{check_destination, is_stdout},
};

use super::run::Output;

/// File name that stands for stdout.
const STDOUT: &str = "-";

/// Form and destination of a report: `FORM`, or `FORM=FILE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReportOutput {
    pub(crate) form: OutputFormat,
    /// `None` for stdout.
    pub(crate) file: Option<PathBuf>,
}

/// Parses a [`ReportOutput`], and names the forms for help texts and completions.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReportOutputParser;

impl TypedValueParser for ReportOutputParser {
    type Value = ReportOutput;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<ReportOutput, clap::Error> {
        report_output.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue>>> {
        Some(Box::new(Output::value_variants().iter().filter_map(ValueEnum::to_possible_value)))
    }
}

/// Parses `FORM` or `FORM=FILE`.
fn report_output(text: &str) -> Result<ReportOutput, String> {
    let (form, file) = match text.split_once('=') {
        Some((form, file)) => (form, Some(file)),
        None => (text, None),
    };
    let Ok(form) = Output::from_str(form, false) else {
        let forms: Vec<String> = Output::value_variants()
            .iter()
            .filter_map(|form| form.to_possible_value())
            .map(|form| form.get_name().to_owned())
            .collect();
        return Err(format!("there is no form `{form}`; the forms are {}", forms.join(", ")));
    };
    let file = match file {
        Some("") => return Err("the file after `=` is missing".to_owned()),
        Some(STDOUT) | None => None,
        Some(file) => Some(report_file(file)?).filter(|file| !is_stdout(file)),
    };
    Ok(ReportOutput { form: form.into(), file })
}

/// Parses the name of a file, and checks as far as possible before the run that a report can be written to it.
pub(super) fn report_file(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    check_destination(&path).map_err(|error| error.to_string())?;
    Ok(path)
}

/// Returns the outputs of a run: those of `-o`, with the file of `--output-file`; without `-o`, the form of the configuration.
///
/// # Errors
///
/// Returns a message if two forms share a destination, or `--output-file` is ambiguous.
pub(crate) fn outputs(
    given: Vec<ReportOutput>,
    output_file: Option<PathBuf>,
    configured: Option<OutputFormat>,
) -> Result<Vec<ReportOutput>, String> {
    let mut outputs = given;
    if outputs.is_empty() {
        outputs.push(ReportOutput { form: configured.unwrap_or_default(), file: None });
    }
    if let Some(file) = output_file {
        let file = Some(file).filter(|file| !is_stdout(file));
        match &mut *outputs {
            [ReportOutput { file: missing @ None, .. }] => *missing = file,
            _ => {
                return Err(
                    "`--output-file` needs a single form without its own file; write `-o FORM=FILE` for each".to_owned()
                );
            }
        }
    }
    for (at, output) in outputs.iter().enumerate() {
        let place = |output: &ReportOutput| output.file.as_deref().map(destination);
        let same = |other: &ReportOutput| match (place(other), place(output)) {
            (Some(Ok(other)), Some(Ok(this))) => other == this,
            _ => other.file == output.file,
        };
        if outputs[..at].iter().any(same) {
            let place = output.file.as_deref().map(Path::display);
            let place = place.map_or_else(|| "stdout".to_owned(), |place| place.to_string());
            return Err(format!(
                "two forms of the report would go to {place}; write `-o FORM=FILE` with a file for each"
            ));
        }
    }
    Ok(outputs)
}

/// Resolves links in the path of a file, which need not exist.
fn destination(path: &Path) -> io::Result<PathBuf> {
    path.canonicalize().or_else(|_| {
        let path = path::absolute(path)?;
        let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(path);
        };
        Ok(directory.canonicalize()?.join(name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(form: OutputFormat, file: Option<&str>) -> ReportOutput {
        ReportOutput { form, file: file.map(PathBuf::from) }
    }

    #[test]
    fn a_form_may_have_a_file() {
        assert_eq!(report_output("json"), Ok(output(OutputFormat::Json, None)));
        assert_eq!(report_output("junit=-"), Ok(output(OutputFormat::Junit, None)));
        assert_eq!(report_output("junit=a=b"), Ok(output(OutputFormat::Junit, Some("a=b"))));
        for (text, message) in [
            (
                "xml",
                "there is no form `xml`; the forms are table, json, summary, junit, markdown, github",
            ),
            ("json=", "the file after `=` is missing"),
            ("json=.", ". is a directory"),
            ("json=no/such/file", "no/such does not exist"),
        ] {
            assert_eq!(report_output(text), Err(message.to_owned()));
        }
    }

    #[test]
    fn each_output_has_its_own_destination() {
        use OutputFormat::{Github, Json, Junit, Table};
        let file = |name: &str| Some(PathBuf::from(name));
        let both = vec![output(Github, None), output(Junit, Some("a"))];
        assert_eq!(outputs(both.clone(), None, Some(Json)), Ok(both.clone()));
        assert_eq!(outputs(vec![], None, None), Ok(vec![output(Table, None)]));
        assert_eq!(outputs(vec![], file("a"), Some(Json)), Ok(vec![output(Json, Some("a"))]));
        for (given, output_file) in [
            (both, file("b")),
            (vec![output(Json, Some("a"))], file("b")),
            (vec![output(Json, None), output(Table, None)], None),
            (vec![output(Json, Some("a")), output(Junit, Some("./a"))], None),
        ] {
            assert!(outputs(given.clone(), output_file, None).is_err(), "{given:?}");
        }
    }
}
