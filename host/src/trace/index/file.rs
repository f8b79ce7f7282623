//! From a file to its index.

use std::{
    fs::{self, File},
    path::Path,
    sync::Arc,
};

use super::{
    Halt,
    builder::{Builder, Leaves},
    catalog::{Catalog, Found, Stamp},
    lines,
    otlp::{self, Root},
};
use crate::{
    json::{Ahead, Checked, Interrupted, ParseError, ParseErrorKind, ScanError, Scanner, Source},
    trace::{Format, LoadError, LoadErrorKind, Trace, load::load_file},
};

/// Up to so many pieces are read without another thread.
const FEW_PIECES: usize = 16;

/// The traces of a file.
#[derive(Debug)]
pub(super) enum Indexed {
    /// To be read when they are needed.
    Catalog(Box<Catalog>),
    /// In memory: the file cannot be read again, or has a shape that has to be loaded whole.
    Held(Vec<Arc<Trace>>),
}

/// Walks through a file, of which `chunk` bytes are read at a time.
pub(super) fn index_file(
    path: &Path,
    format: Option<Format>,
    keys: &'static [&'static str],
    chunk: usize,
) -> Result<Indexed, LoadError> {
    let held = || Ok(Indexed::Held(load_file(path, format)?.into_iter().map(Arc::new).collect()));
    if !can_be_read_again(path) {
        return held();
    }
    match (Walk { path, format, keys, chunk }).catalog() {
        Ok(catalog) => Ok(Indexed::Catalog(Box::new(catalog))),
        Err(Halt::Odd) => held(),
        Err(Halt::Load(kind)) => Err(LoadError { path: path.to_owned(), kind }),
        Err(Halt::Scan(ScanError::Interrupted(interrupted))) => {
            Err(LoadError { path: path.to_owned(), kind: interrupted.into() })
        }
        // The walk is stricter than the parser, or the file has changed meanwhile: let the parser say.
        Err(Halt::Scan(ScanError::Json { .. })) => held(),
    }
}

/// Whether it is a file that another reader finds as this one did: not a pipe, and not the standard input under a
/// name, whose position may be shared.
fn can_be_read_again(path: &Path) -> bool {
    let is_file = fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
    is_file && !path.starts_with("/dev") && !path.starts_with("/proc")
}

impl From<Interrupted> for LoadErrorKind {
    fn from(interrupted: Interrupted) -> Self {
        match interrupted {
            Interrupted::Read(error) => Self::Read(error),
            Interrupted::NotUtf8 { offset, byte } => Self::NotUtf8 { offset, byte },
        }
    }
}

/// What there is at the top of a text.
enum Top {
    Object(Box<Root>),
    /// With whether all items look like spans.
    List(Leaves, bool),
    Scalar,
}

/// A walk through a file.
pub(super) struct Walk<'a> {
    pub(super) path: &'a Path,
    pub(super) format: Option<Format>,
    pub(super) keys: &'static [&'static str],
    pub(super) chunk: usize,
}

impl Walk<'_> {
    fn catalog(&self) -> Result<Catalog, Halt> {
        let file = self.open()?;
        let stamp = Stamp::of(&file.metadata().map_err(LoadErrorKind::Read)?);
        let mut scanner = Scanner::new(self.text(file)?);
        let mut builder = Builder::new(self.keys);
        let mut found = Found::default();
        let format = match top(&mut scanner, &mut builder) {
            Ok(top) => {
                let format = self.take(top, &mut found)?;
                found.lone_surrogates = scanner.lone_surrogates;
                format
            }
            Err(Halt::Scan(ScanError::Json { kind, offset })) => {
                drop(scanner);
                let whole = self.located(kind, offset)?;
                builder = Builder::new(self.keys);
                match self.broken(whole, &mut builder, &mut found) {
                    Ok(format) => format,
                    Err(halt) => {
                        // That the text is no text at all is the first thing to say.
                        Scanner::new(self.text(self.open()?)?).drain()?;
                        return Err(halt);
                    }
                }
            }
            Err(halt) => return Err(halt),
        };
        Ok(Catalog::new((self.path.to_owned(), stamp, format), builder, found))
    }

    pub(super) fn open(&self) -> Result<File, Halt> {
        Ok(File::open(self.path).map_err(LoadErrorKind::Read)?)
    }

    /// The text of a file, read ahead on another thread where it is long enough to be worth it.
    pub(super) fn text(&self, file: File) -> Result<Box<dyn Source>, Halt> {
        let length = file.metadata().map_err(LoadErrorKind::Read)?.len();
        let pieces = Checked::new(file, self.chunk);
        if length <= (self.chunk * FEW_PIECES) as u64 {
            return Ok(Box::new(pieces));
        }
        Ok(Box::new(Ahead::new(pieces).map_err(LoadErrorKind::Read)?))
    }

    /// An error with its line and column.
    pub(super) fn located(&self, kind: ParseErrorKind, offset: usize) -> Result<ParseError, Halt> {
        let located = ParseError::in_text(kind, self.open()?, offset);
        Ok(located.map_err(LoadErrorKind::Read)?)
    }

    pub(super) fn undetected(&self, json: Option<ParseError>) -> Halt {
        Halt::Load(LoadErrorKind::Undetected { path: self.path.to_owned(), json })
    }

    /// Takes what counts out of a text that is one value.
    fn take(&self, top: Top, found: &mut Found) -> Result<Format, Halt> {
        let detected = match &top {
            Top::Object(root) if root.is_document() || root.is_span => Some(Format::OtlpJson),
            Top::Object(root) => root.data.as_ref().map(|_| Format::JaegerJson),
            Top::List(_, are_spans) => are_spans.then_some(Format::OtlpJson),
            Top::Scalar => None,
        };
        let Some(format) = self.format.or(detected) else { return Err(self.undetected(None)) };
        match (format, top) {
            (Format::JaegerJson, Top::Object(root)) => match root.data {
                Some(data) if data.is_list => found.add_spans(data.spans),
                _ => return Err(LoadErrorKind::NoJaegerData.into()),
            },
            (Format::JaegerJson, _) => return Err(LoadErrorKind::NoJaegerData.into()),
            (Format::OtlpJson, Top::Object(root)) if root.is_document() => {
                let (spans, logs) = root.into_document();
                found.add_spans(spans);
                found.add_logs(logs);
            }
            (Format::OtlpJson, Top::Object(root)) if root.is_span => found.add_spans(root.bare),
            (Format::OtlpJson, Top::List(leaves, _)) => found.add_spans(leaves),
            (Format::OtlpJson, _) => return Err(LoadErrorKind::NotOtlp.into()),
        }
        Ok(format)
    }

    /// A text that is not one value, and why.
    fn broken(
        &self,
        whole: ParseError,
        builder: &mut Builder,
        found: &mut Found,
    ) -> Result<Format, Halt> {
        match self.format {
            Some(Format::JaegerJson) => {
                let path = self.path.to_owned();
                return Err(LoadErrorKind::InvalidJaeger { path, json: whole }.into());
            }
            // Blanks that JSON does not know may stand before the first line.
            None if whole.kind == ParseErrorKind::ExpectedValue => return Err(Halt::Odd),
            None if whole.kind != ParseErrorKind::TrailingText => {
                return Err(self.undetected(Some(whole)));
            }
            _ => {}
        }
        lines::walk(self, &whole, builder, found)?;
        Ok(Format::OtlpJson)
    }
}

/// Walks through a text that is one value.
fn top<S: Source>(scanner: &mut Scanner<S>, builder: &mut Builder) -> Result<Top, Halt> {
    scanner.begin()?;
    let top = match scanner.peek()? {
        Some(b'{') => Top::Object(Box::new(otlp::root(scanner, builder)?)),
        Some(b'[') => {
            let mut leaves = Leaves::default();
            let are_spans = otlp::bare_spans(scanner, builder, &mut leaves)?;
            Top::List(leaves, are_spans)
        }
        _ => {
            scanner.skip_value()?;
            Top::Scalar
        }
    };
    scanner.finish()?;
    Ok(top)
}
