//! Parsers of values.

use std::{
    net::{SocketAddr, ToSocketAddrs as _},
    num::NonZeroUsize,
    ops::RangeInclusive,
    path::PathBuf,
};

use clap::{
    ValueEnum,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use evaluator_host::files::check_destination;

use crate::streams;

/// Parses one of these names, in any case where the argument ignores it. A row has the name, its value and a help text.
pub(super) fn one_of<T: Copy + Send + Sync + 'static>(
    rows: impl IntoIterator<Item = (&'static str, T, &'static str)>,
) -> impl TypedValueParser<Value = T> {
    let rows: Vec<_> = rows.into_iter().collect();
    let values = rows.iter().map(|(name, _, help)| PossibleValue::new(*name).help(*help));
    PossibleValuesParser::new(values).try_map(move |given| {
        let row = rows.iter().find(|(name, ..)| name.eq_ignore_ascii_case(&given));
        row.map(|(_, value, _)| *value).ok_or("unknown value")
    })
}

pub(super) fn existing(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    if path.exists() { Ok(path) } else { Err("no such file".to_owned()) }
}

/// A file, not a directory.
pub(super) fn file(text: &str) -> Result<PathBuf, String> {
    let path = existing(text)?;
    if path.is_dir() { Err("is a directory; name a file in it".to_owned()) } else { Ok(path) }
}

/// Returns a parser of whole numbers in a range.
pub(super) fn whole<N: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<N, String> + Clone + Send + Sync + 'static {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        let number = number.and_then(|number| N::try_from(number).ok());
        number.ok_or_else(|| {
            format!("must be a whole number from {} to {}", range.start(), range.end())
        })
    }
}

/// Parses the name of an attribute.
pub(super) fn name(text: &str) -> Result<String, String> {
    let name = text.trim();
    if name.is_empty() { Err("must not be empty".to_owned()) } else { Ok(name.to_owned()) }
}

/// Parses an address, whose host may be a name.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    let found = text.to_socket_addrs().map_err(|error| format!("{error}; write HOST:PORT"))?;
    found.into_iter().next().ok_or_else(|| "the host has no address".to_owned())
}

/// Parses the name of a host, without a port.
pub(super) fn host(text: &str) -> Result<String, String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if text.is_empty() || !text.chars().all(is_name) {
        return Err("write the name alone, without a scheme or a port".to_owned());
    }
    Ok(text.to_owned())
}

/// Parses a number of parallel evaluations.
pub(super) fn jobs(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| "must be a whole number above 0".to_owned())
}

/// A trace file, a directory of trace files, or `-`.
pub(super) fn trace_input(text: &str) -> Result<PathBuf, String> {
    match text {
        "-" => match streams::check_stdin() {
            Ok(()) => Ok(PathBuf::from(text)),
            Err(error) => Err(format!("cannot read stdin: {error}")),
        },
        pattern if pattern.contains(['*', '?', '[']) => existing(pattern).map_err(|_| {
            "no file matches; shells leave such a pattern as it is, and PowerShell and cmd expand \
             none: name the directory"
                .to_owned()
        }),
        path => existing(path),
    }
}

pub(super) fn directory(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match path.metadata() {
        Ok(found) if found.is_dir() => Ok(path),
        Ok(_) => Err("not a directory".to_owned()),
        Err(_) => Err("no such directory".to_owned()),
    }
}

/// Parses the name of a file, and checks as far as possible before any work that the file can be written.
pub(super) fn writable(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    check_destination(&path).map_err(|error| error.to_string())?;
    Ok(path)
}

/// Form of the result of a command that is not the report of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ResultForm {
    #[default]
    Table,
    Json,
    Markdown,
    Html,
}

/// Form and destination of a result.
#[derive(Clone, Debug, Default)]
pub(crate) struct ResultOutput {
    pub(crate) form: ResultForm,
    /// `None` for stdout.
    pub(crate) file: Option<PathBuf>,
}

/// Parses `FORM` or `FORM=FILE`.
pub(super) fn result_output(text: &str) -> Result<ResultOutput, String> {
    let (form, file) = text.split_once('=').map_or((text, None), |(form, file)| (form, Some(file)));
    let form = ResultForm::from_str(form, false).map_err(|_| {
        format!("there is no form `{form}`; the forms are table, json, markdown, html")
    })?;
    let file = file.filter(|file| *file != "-").map(writable).transpose()?;
    Ok(ResultOutput { form, file })
}
