//! The first line of a journal.

use super::line;
use crate::json;

/// Version of the format that this crate reads and writes.
pub(super) const VERSION: i128 = 1;

/// Which program writes; for people only.
const TOOL: &str = concat!("evaluator ", env!("CARGO_PKG_VERSION"));

/// The header this crate writes, with its line end.
pub(super) fn text() -> String {
    line::sealed(&format!(
        r#"{{"format":"evaluator-journal","version":{VERSION},"tool":"{TOOL}"}}"#
    ))
}

/// What the first line of a file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Header {
    /// That of a journal this crate reads.
    Ours,
    /// That of a journal of another version.
    Version(String),
    /// Once that of a journal.
    Damaged,
    /// Something else.
    Foreign,
}

/// Reads a first line, without its line end.
pub(super) fn read(first: &[u8]) -> Header {
    if !line::may_start(first) {
        return Header::Foreign;
    }
    let rest = match line::opened(first) {
        Ok(rest) => String::from_utf8_lossy(rest).into_owned(),
        Err(_) => return Header::Damaged,
    };
    let Some(header) = json::parse_python(&format!("{{{rest}")) else { return Header::Damaged };
    if header.get("format").and_then(json::Value::as_str) != Some("evaluator-journal") {
        return Header::Foreign;
    }
    match header.get("version") {
        Some(version) if version.as_i128() == Some(VERSION) => Header::Ours,
        Some(version) => Header::Version(json::to_string(version, json::NonFinite::Literal)),
        None => Header::Damaged,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_own_header_is_read() {
        let own = text();
        let own = own.trim_end().as_bytes();
        assert_eq!(read(own), Header::Ours);
        let other = line::sealed(r#"{"format":"evaluator-journal","version":2}"#);
        assert_eq!(read(other.trim_end().as_bytes()), Header::Version("2".to_owned()));
        assert_eq!(read(&own[..own.len() - 1]), Header::Damaged);
        for foreign in ["evaluators:", "{\"traces\": []}", "\0\0\0\0"] {
            assert_eq!(read(foreign.as_bytes()), Header::Foreign);
        }
        assert_eq!(read(line::sealed(r#"{"key":"1"}"#).trim_end().as_bytes()), Header::Foreign);
    }
}
