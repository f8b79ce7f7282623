//! Warnings on standard error, for programs whose author set up no subscriber.

use std::{
    fmt::{self, Write as _},
    io::Write as _,
    sync::atomic::{AtomicU64, Ordering},
};

use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    level_filters::LevelFilter,
    span,
};

/// The environment variable that sets the level.
pub(crate) const VARIABLE: &str = "EVALUATOR_LOG";

/// Writes events of `tracing` to standard error, unless the program already has a subscriber of its own.
pub(crate) fn install() {
    let wanted = std::env::var_os(VARIABLE);
    let level = wanted.as_ref().map(|text| text.to_string_lossy().parse::<LevelFilter>());
    let writer = Stderr {
        level: *level.as_ref().and_then(|level| level.as_ref().ok()).unwrap_or(&LevelFilter::WARN),
        spans: AtomicU64::new(1),
    };
    // An error means that there is a subscriber: then it is used alone.
    if tracing::subscriber::set_global_default(writer).is_ok() {
        if let Some(Err(_)) = level {
            let text = wanted.unwrap_or_default();
            tracing::warn!(
                "{VARIABLE}={} is not a level (off, error, warn, info, debug, trace)",
                text.to_string_lossy()
            );
        }
    }
}

/// A subscriber that writes each event as a line and knows nothing of spans.
struct Stderr {
    level: LevelFilter,
    spans: AtomicU64,
}

impl Subscriber for Stderr {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= self.level
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.level)
    }

    fn event(&self, event: &Event<'_>) {
        let label = match *event.metadata().level() {
            Level::ERROR => "error",
            Level::WARN => "warning",
            Level::INFO => "info",
            Level::DEBUG => "debug",
            Level::TRACE => "trace",
        };
        let mut line = Line::default();
        event.record(&mut line);
        let text = format!("{label}:{}{}\n", line.message, line.fields);
        // An error cannot be reported if standard error is closed.
        let _ = std::io::stderr().write_all(text.as_bytes());
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(self.spans.fetch_add(1, Ordering::Relaxed))
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// The values of an event as text: ` the message`, ` key=value`.
#[derive(Default)]
struct Line {
    message: String,
    fields: String,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a string does not fail.
        let _ = match field.name() {
            "message" => write!(self.message, " {value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => self.record_debug(field, &format_args!("{value}")),
            _ => self.record_debug(field, &value),
        }
    }
}
