//! From a file to its index.

use std::{fs::File, path::Path, sync::Arc};

use tempfile::TempPath;

use super::{
    Halt, Watch,
    builder::{Builder, Leaves},
    catalog::{Catalog, Content, Found},
    lines,
    otlp::{self, Root},
};
use crate::{
    json::{Ahead, Checked, Interrupted, ParseError, ParseErrorKind, ScanError, Scanner, Source},
    trace::{
        Format, LeftOut, LoadError, LoadErrorKind,
        left_out::Position,
        load::{FileTraces, load_source},
        spool::copy_if_needed,
        stamp::Stamp,
    },
};

/// Up to so many pieces are read without another thread.
const FEW_PIECES: usize = 16;

/// Walks through a file, of which `chunk` bytes are read at a time, and adds its traces to the catalog. Returns their
/// number, and what was left out.
///
/// Held in memory are those of a file in a shape that has to be loaded whole.
pub(super) fn index_file(
    path: &Path,
    format: Option<Format>,
    watch: Watch,
    chunk: usize,
    catalog: &mut Catalog,
) -> Result<(usize, LeftOut), LoadError> {
    let fail = |kind| LoadError { path: path.to_owned(), kind };
    let copy = copy_if_needed(path).map_err(fail)?;
    let source = copy.as_deref().unwrap_or(path).to_owned();
    let walk = Walk { path, source: &source, format, watch, chunk };
    match walk.add_to(copy, catalog) {
        Ok(added) => Ok(added),
        Err((_, Halt::Load(kind))) => Err(fail(kind)),
        Err((_, Halt::Scan(ScanError::Interrupted(interrupted)))) => Err(fail(interrupted.into())),
        // The walk is stricter than the parser, or the file has changed meanwhile: let the parser say. The copy is
        // removed only then.
        Err((_copy, Halt::Odd | Halt::Scan(ScanError::Json { .. }))) => {
            let FileTraces { traces, left_out } = load_source(&source, path, format)?;
            let traces = traces.into_iter().map(Arc::new).collect();
            Ok((catalog.hold(traces).map_err(fail)?, left_out))
        }
    }
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
    /// The file as it was given.
    pub(super) path: &'a Path,
    /// The file that is read: the same, or a copy.
    pub(super) source: &'a Path,
    pub(super) format: Option<Format>,
    pub(super) watch: Watch,
    pub(super) chunk: usize,
}

impl Walk<'_> {
    /// Adds the traces of the file to the catalog, which keeps the copy. It is returned on failure.
    fn add_to(
        &self,
        copy: Option<TempPath>,
        catalog: &mut Catalog,
    ) -> Result<(usize, LeftOut), (Option<TempPath>, Halt)> {
        let mut walk = || {
            let file = self.open()?;
            let stamp = Stamp::of(&file.metadata().map_err(LoadErrorKind::Read)?);
            let mut builder = catalog.builder(self.watch, stamp.length);
            let mut found = Found::default();
            let format = self.look(file, &mut builder, &mut found)?;
            let origins = builder.origins;
            let left_out = found.take_left_out();
            let content = Content::new(self.path, stamp, format);
            Ok((catalog.add(content, origins, found)?, left_out))
        };
        match walk() {
            Ok(added) => {
                if added.0 > 0
                    && let Some(copy) = copy
                {
                    catalog.keep_copy(copy);
                }
                Ok(added)
            }
            Err(halt) => Err((copy, halt)),
        }
    }

    fn look(
        &self,
        file: File,
        builder: &mut Builder<'_>,
        found: &mut Found,
    ) -> Result<Format, Halt> {
        let mut scanner = Scanner::new(self.text(file)?);
        match top(&mut scanner, builder) {
            Ok(top) => {
                found.lone_surrogates = scanner.lone_surrogates;
                self.take(top, found)
            }
            Err(Halt::Scan(ScanError::Json { kind, offset })) => {
                drop(scanner);
                let whole = self.located(kind, offset)?;
                builder.origins.clear();
                builder.position = Position::default();
                found.spans = Leaves::with_room(std::mem::take(&mut builder.room));
                let looked = self.broken(whole, builder, found);
                if looked.is_err() {
                    // That the text is no text at all is the first thing to say.
                    Scanner::new(self.text(self.open()?)?).drain()?;
                }
                looked
            }
            Err(halt) => Err(halt),
        }
    }

    pub(super) fn open(&self) -> Result<File, Halt> {
        Ok(File::open(self.source).map_err(LoadErrorKind::Read)?)
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
                Some(data) if data.is_list => {
                    found.spans.append(data.spans);
                    let errors = root.errors.unwrap_or_default();
                    found.spans.left_out.note_reported(&errors);
                }
                _ => return Err(LoadErrorKind::NoJaegerData.into()),
            },
            (Format::JaegerJson, _) => return Err(LoadErrorKind::NoJaegerData.into()),
            (Format::OtlpJson, Top::Object(root)) if root.is_document() => {
                let (spans, logs) = root.into_document();
                found.spans.append(spans);
                found.logs.append(logs);
            }
            (Format::OtlpJson, Top::Object(root)) if root.is_span => found.spans.append(root.bare),
            (Format::OtlpJson, Top::List(leaves, _)) => found.spans.append(leaves),
            (Format::OtlpJson, _) => return Err(LoadErrorKind::NotOtlp.into()),
        }
        Ok(format)
    }

    /// A text that is not one value, and why.
    fn broken(
        &self,
        whole: ParseError,
        builder: &mut Builder<'_>,
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
fn top<S: Source>(scanner: &mut Scanner<S>, builder: &mut Builder<'_>) -> Result<Top, Halt> {
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
