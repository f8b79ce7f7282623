//! Arguments of `evaluator conform`.

use std::{ffi::OsString, fs};

use clap::{Args, ValueEnum, value_parser};
use evaluator_host::{
    hosts::conform::{Release, UnknownHost},
    json::{self, Object, ParseOptions, Value},
};

pub(super) const EXIT_CODES: &str =
    "Exit codes: 0 it conforms, 1 it does not, 2 usage error, 3 it could not be started or tried";

#[derive(Debug, Args)]
pub(crate) struct ConformArgs {
    /// The program: the file of an evaluator (.rs, .py, .js, .ts, a package, an executable) or a command, with its arguments
    #[arg(required = true, value_name = "COMMAND", trailing_var_arg = true)]
    pub(crate) command: Vec<OsString>,
    /// Host that it must conform to, whose documents alone are then played; repeatable: agentevals, agentv, adk, agenta, or
    /// a release of them, as reports name it (default: all are played, and those count whose documents it answers)
    #[arg(long = "host", value_name = "NAME", value_parser = releases)]
    pub(crate) hosts: Vec<Releases>,
    /// Settings that the evaluator needs: a JSON object, or a file that holds one
    #[arg(short, long, value_name = "JSON|FILE", value_parser = settings)]
    pub(crate) config: Option<Object>,
    /// Seconds it may take for one document
    #[arg(long, value_name = "S", default_value = "30", value_parser = value_parser!(u64).range(1..=86_400))]
    pub(crate) timeout: u64,
    /// Form of the report
    #[arg(short, long, value_enum, default_value_t = ConformOutput::Text)]
    pub(crate) output: ConformOutput,
}

/// Releases that a name stands for.
#[derive(Clone, Debug)]
pub(crate) struct Releases(pub(crate) Vec<&'static Release>);

fn releases(name: &str) -> Result<Releases, UnknownHost> {
    Release::named(name).map(Releases)
}

fn settings(text: &str) -> Result<Object, String> {
    let inline = text.trim_start().starts_with('{');
    let text = if inline {
        text.to_owned()
    } else {
        fs::read_to_string(text)
            .map_err(|error| format!("{error}; give a JSON object, or a file that holds one"))?
    };
    let options = ParseOptions { non_finite: false, ..ParseOptions::default() };
    match json::parse(&text, &options).map_err(|error| error.to_string())?.value {
        Value::Object(object) => Ok(object),
        other => Err(format!("expected an object, found {}", other.kind())),
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ConformOutput {
    /// For people
    Text,
    /// One JSON document
    Json,
}
