//! Configurations: every problem has a place that can be shown.

#![no_main]

use std::path::Path;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use evaluator_host::config::Config;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Err(error) = Config::parse(text, Path::new("fuzzed.yaml")) else { return };
    assert!(!error.problems.is_empty());
    for problem in &error.problems {
        let Some(place) = problem.place else { continue };
        assert!(text.get(place.start..place.end).is_some(), "{problem:?}");
        assert!(place.line <= text.matches('\n').count() + 1, "{problem:?}");
        let annotation = AnnotationKind::Primary.span(place.start..place.end);
        let snippet = Snippet::source(text).path("fuzzed.yaml").annotation(annotation);
        let group = Level::ERROR.primary_title(&problem.message).element(snippet);
        Renderer::plain().render(&[group]);
    }
});
