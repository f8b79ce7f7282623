//! The arguments of an evaluator program, and the forms that only print: `--help`, `--version` and `--describe`.

use std::{ffi::OsString, fmt::Write as _};

use evaluator_protocol::{
    Capability, Contract, Description, EvaluatorDescription, ProtocolVersion,
};

use super::Choice;
use crate::{evaluator::Evaluator, exit, log};

/// The parsed arguments.
#[derive(Debug)]
pub(super) struct Arguments<'a> {
    pub(super) form: Form,
    pub(super) choice: Choice<'a>,
}

/// The forms of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Form {
    /// One document in, one out.
    #[default]
    OneShot,
    /// One document per line in, one per line out.
    Stream,
    /// Describes the evaluators as JSON.
    Describe,
    /// The same, for people.
    Help,
    Version,
}

impl Form {
    fn flag(self) -> &'static str {
        match self {
            Self::OneShot => "",
            Self::Stream => "--stream",
            Self::Describe => "--describe",
            Self::Help => "--help",
            Self::Version => "--version",
        }
    }
}

/// Reads the arguments.
///
/// # Errors
///
/// The problem with the arguments, with a hint.
pub(super) fn parse(
    arguments: impl IntoIterator<Item = OsString>,
    evaluators: &[Evaluator],
) -> Result<Arguments<'_>, String> {
    let mut form = Form::OneShot;
    let mut name: Option<String> = None;
    let mut contract: Option<Contract> = None;
    let mut arguments = arguments.into_iter().map(|text| text.to_string_lossy().into_owned());
    while let Some(argument) = arguments.next() {
        let (option, value) = match argument.split_once('=') {
            Some((option @ ("--evaluator" | "--contract"), value)) => {
                (option, Some(value.to_owned()))
            }
            _ => (argument.as_str(), None),
        };
        let asked = match option {
            "--stream" => Form::Stream,
            "--describe" => Form::Describe,
            "--help" | "-h" => Form::Help,
            "--version" | "-V" => Form::Version,
            "--evaluator" => {
                let value = value.or_else(|| arguments.next());
                set(option, &mut name, value.ok_or("`--evaluator` needs a name (see --help)")?)?;
                continue;
            }
            "--contract" => {
                let value = value.or_else(|| arguments.next());
                let value = value.ok_or("`--contract` needs a name (see --help)")?;
                let value = value.parse().map_err(|error| format!("`--contract`: {error}"))?;
                set(option, &mut contract, value)?;
                continue;
            }
            other => return Err(unexpected(other)),
        };
        if form != Form::OneShot && form != asked {
            return Err(format!("`{}` and `{}` exclude each other", form.flag(), asked.flag()));
        }
        form = asked;
    }
    let mut choice = Choice::new(evaluators)?;
    if let Some(name) = name {
        choice = choice.named(&name)?;
    }
    if let Some(contract) = contract {
        choice = choice.of_contract(contract);
    }
    Ok(Arguments { form, choice })
}

fn set<T>(option: &str, place: &mut Option<T>, value: T) -> Result<(), String> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(format!("`{option}` is given twice")),
    }
}

fn unexpected(argument: &str) -> String {
    if argument.starts_with('-') {
        format!("unknown option `{argument}` (see --help)")
    } else {
        format!(
            "unexpected argument `{argument}`; the document comes on standard input (see --help)"
        )
    }
}

/// Returns the text of `--help`.
pub(super) fn help(choice: Choice<'_>) -> String {
    let mut text = String::new();
    for evaluator in choice.all() {
        text.push_str(evaluator.name());
        text.push('\n');
        for line in evaluator.description().lines() {
            text.push_str(format!("    {line}").trim_end());
            text.push('\n');
        }
        text.push('\n');
    }
    let choose = if choice.only().is_some() { "" } else { CHOOSE };
    // Writing to a string does not fail.
    let _ = write!(
        text,
        "Reads a JSON document from standard input and writes its answer to standard output.\n\
         \n\
         Usage: <program> [OPTIONS] < document.json\n\
         \n\
         Options:\n    \
         --stream            Read one document per line, write one answer per line\n    \
         --evaluator NAME    Evaluator that answers{choose}\n    \
         --contract NAME     Contract of the documents: {contracts} [detected by their keys]\n    \
         --describe          Print the evaluators of this program, as JSON\n    \
         --help, -h          Print this help\n    \
         --version, -V       Print the versions\n\
         \n\
         Environment:\n    \
         {variable}       Level of messages on standard error: off, error, warn, info, debug, trace [warn]\n\
         \n\
         Exit codes:\n    \
         {answered:<5} The document was answered; with --stream, all were (errors are answers there)\n    \
         {failed:<5} The evaluator failed: an error, a panic, or an answer that cannot be written\n    \
         {usage:<5} Wrong arguments\n    \
         {input:<5} The document or its config cannot be read, or is refused\n    \
         {crashed:<5} The evaluator crashed\n",
        contracts = Contract::names(),
        variable = log::VARIABLE,
        answered = exit::ANSWERED,
        failed = exit::FAILED,
        usage = exit::USAGE,
        input = exit::INPUT,
        crashed = exit::CRASHED,
    );
    text
}

const CHOOSE: &str = " [the one named by `metric_name`]";

/// Returns the text of `--version`.
pub(super) fn version(choice: Choice<'_>) -> String {
    let names: Vec<&str> = choice.all().iter().map(|evaluator| evaluator.name()).collect();
    format!(
        "{} ({} {}, protocol {})\n",
        names.join(", "),
        env!("CARGO_PKG_NAME"),
        env!("CARGO_PKG_VERSION"),
        ProtocolVersion::CURRENT
    )
}

/// Returns the description as a line of JSON.
pub(super) fn describe(choice: Choice<'_>) -> serde_json::Result<String> {
    let mut description = Description::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
    description.capabilities = vec![Capability::Stream, Capability::Numbered];
    if cfg!(feature = "target") {
        description.capabilities.push(Capability::Target);
    }
    description.evaluators = choice.all().iter().map(describe_one).collect();
    description.to_line()
}

fn describe_one(evaluator: &Evaluator) -> EvaluatorDescription {
    let mut description = EvaluatorDescription::new(evaluator.name(), evaluator.contract());
    description.description = evaluator.description();
    description.strict = evaluator.is_strict();
    description.config_schema = evaluator.config_schema();
    description
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{contract::Agentevals, failure::Failure};

    const fn evaluator(name: &'static str) -> Evaluator {
        Evaluator::new::<Agentevals>(
            name,
            "",
            false,
            |_| Err(Failure::new("", String::new())),
            || None,
        )
    }

    const TWO: [Evaluator; 2] = [evaluator("a"), evaluator("b")];

    fn error(arguments: &[&str]) -> String {
        parse(arguments.iter().map(OsString::from), &TWO).unwrap_err()
    }

    #[test]
    fn reads_every_form() {
        let form = |arguments: &[&str]| {
            parse(arguments.iter().map(OsString::from), &TWO).map(|arguments| arguments.form)
        };
        assert_eq!(form(&[]), Ok(Form::OneShot));
        assert_eq!(form(&["--stream", "--evaluator", "b"]), Ok(Form::Stream));
        assert_eq!(form(&["--evaluator=a", "--describe"]), Ok(Form::Describe));
        assert_eq!(form(&["-h"]), Ok(Form::Help));
        assert_eq!(form(&["-V", "--version"]), Ok(Form::Version));
    }

    #[test]
    fn says_what_is_wrong() {
        assert_eq!(error(&["--fast"]), "unknown option `--fast` (see --help)");
        assert!(
            error(&["input.json"]).starts_with("unexpected argument `input.json`; the document")
        );
        assert_eq!(
            error(&["--stream", "--describe"]),
            "`--stream` and `--describe` exclude each other"
        );
        assert_eq!(error(&["--evaluator"]), "`--evaluator` needs a name (see --help)");
        assert_eq!(
            error(&["--contract", "agentx"]),
            "`--contract`: there is no contract `agentx`; there are agentevals, agentv, adk, agenta"
        );
        assert_eq!(error(&["--contract=adk", "--contract=adk"]), "`--contract` is given twice");
        assert_eq!(error(&["--evaluator=a", "--evaluator=a"]), "`--evaluator` is given twice");
        assert_eq!(
            error(&["--evaluator=c"]),
            "there is no evaluator `c` in this program; it has `a`, `b`"
        );
    }

    #[test]
    fn a_program_needs_evaluators_with_names_of_their_own() {
        let error = |evaluators: &[Evaluator]| parse([], evaluators).unwrap_err();
        assert_eq!(error(&[]), "there is no evaluator in this program");
        assert_eq!(
            error(&[evaluator("a"), evaluator("a")]),
            "two evaluators of this program are called `a`; name one with `#[evaluator(name = \"..\")]`"
        );
    }
}
