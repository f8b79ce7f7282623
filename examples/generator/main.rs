//! Writes the recorded conversations in `examples/traces/`.
//!
//! A travel desk's agent searches trains, books seats and changes bookings. `scenario` says what happened; `semconv` and
//! `adk` say how two kinds of instrumentation would have recorded it; `jaeger` and `otlp` are the file formats. The same
//! scenario always gives the same bytes, so the files can be checked in and compared.
//!
//! ```sh
//! cargo run -p evaluator-examples --bin make-traces
//! ```

mod adk;
mod jaeger;
mod otlp;
mod scenario;
mod semconv;
mod span;

use std::{fs, io, path::Path};

/// Returns the files to write: their names and texts.
fn trace_files() -> [(&'static str, String); 4] {
    let regression: Vec<_> = scenario::regression().iter().flat_map(semconv::record).collect();
    let expenses = semconv::record_without_tool_spans(&scenario::expenses());
    [
        ("booking.json", jaeger::export(&semconv::record(&scenario::booking()))),
        ("change.json", otlp::document(&adk::record(&scenario::change()))),
        ("expenses.jsonl", otlp::lines(&expenses)),
        ("regression.json", jaeger::export(&regression)),
    ]
}

fn main() -> io::Result<()> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("traces");
    trace_files().into_iter().try_for_each(|(name, text)| fs::write(directory.join(name), text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_in_the_repository_are_what_the_generator_writes() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("traces");
        for (name, text) in trace_files() {
            let written = fs::read_to_string(directory.join(name)).unwrap();
            assert!(
                written == text,
                "{name} is out of date: cargo run -p evaluator-examples --bin make-traces"
            );
        }
    }

    #[test]
    fn every_file_in_the_directory_is_generated() {
        let names: Vec<_> = trace_files().into_iter().map(|(name, _)| name).collect();
        for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("traces")).unwrap() {
            let name = entry.unwrap().file_name();
            assert!(names.iter().any(|known| name == *known), "nothing generates {name:?}");
        }
    }

    #[test]
    fn span_ids_are_unique_and_parents_exist() {
        let spans: Vec<_> = [scenario::booking(), scenario::expenses()]
            .iter()
            .chain(&scenario::regression())
            .flat_map(semconv::record)
            .chain(adk::record(&scenario::change()))
            .collect();
        for (index, span) in spans.iter().enumerate() {
            assert!(spans[..index].iter().all(|other| other.span_id != span.span_id));
            let parent_known = |id| {
                spans.iter().any(|other| other.span_id == id && other.trace_id == span.trace_id)
            };
            assert!(span.parent_id.is_none_or(parent_known), "{span:?}");
            assert!(span.start_us < span.end_us, "{span:?}");
        }
    }
}
