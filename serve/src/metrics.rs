//! Metrics of a server, in the text format of Prometheus.

use std::{
    collections::BTreeMap,
    fmt::{Display, Write as _},
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// The media type of the text format.
pub(super) const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Upper bounds of the histogram, in seconds.
const BOUNDS: [f64; 11] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0];

/// Counts requests. The number of series depends on the evaluators offered, never on what requests contain.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    requests: BTreeMap<Option<u16>, u64>,
    /// By evaluator, contract of the document and status.
    documents: BTreeMap<(String, &'static str, Option<u16>), u64>,
    durations: BTreeMap<String, Histogram>,
}

#[derive(Debug, Default)]
struct Histogram {
    /// By bound; durations above all bounds are in `count` only.
    buckets: [u64; BOUNDS.len()],
    count: u64,
    sum: f64,
}

impl Metrics {
    /// Counts a request. `document` is the evaluator that was asked, and the contract of the document if it is known.
    pub(super) fn count(
        &self,
        status: Option<u16>,
        took: Duration,
        document: Option<(&str, Option<&'static str>)>,
    ) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.requests.entry(status).or_default() += 1;
        let Some((evaluator, contract)) = document else { return };
        let series = (evaluator.to_owned(), contract.unwrap_or("unknown"), status);
        *counts.documents.entry(series).or_default() += 1;
        let seconds = took.as_secs_f64();
        let histogram = counts.durations.entry(evaluator.to_owned()).or_default();
        for (bucket, bound) in histogram.buckets.iter_mut().zip(BOUNDS) {
            *bucket += u64::from(seconds <= bound);
        }
        histogram.count += 1;
        histogram.sum += seconds;
    }

    /// Returns the text, with the number of documents in progress and its limit.
    pub(super) fn text(&self, in_progress: usize, limit: usize) -> String {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let mut out = Text::default();
        out.family("evaluator_build_info", "gauge", "Version of the server.");
        out.sample("evaluator_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1);
        out.family("evaluator_http_requests_total", "counter", "Requests, by status.");
        for (status, count) in &counts.requests {
            out.sample("evaluator_http_requests_total", &[("status", &shown(*status))], *count);
        }
        out.family("evaluator_documents_total", "counter", "Documents passed to an evaluator.");
        for ((evaluator, contract, status), count) in &counts.documents {
            let labels = [
                ("evaluator", evaluator.as_str()),
                ("contract", contract),
                ("status", &shown(*status)),
            ];
            out.sample("evaluator_documents_total", &labels, *count);
        }
        let name = "evaluator_document_duration_seconds";
        out.family(name, "histogram", "Time until the answer, including waiting.");
        for (evaluator, histogram) in &counts.durations {
            histogram.write(&mut out, name, evaluator);
        }
        out.family(
            "evaluator_documents_in_progress",
            "gauge",
            "Documents being evaluated or waiting.",
        );
        out.sample("evaluator_documents_in_progress", &[], in_progress);
        out.family(
            "evaluator_documents_limit",
            "gauge",
            "Maximum number of documents in progress.",
        );
        out.sample("evaluator_documents_limit", &[], limit);
        out.0
    }
}

impl Histogram {
    fn write(&self, out: &mut Text, name: &str, evaluator: &str) {
        let bucket = format!("{name}_bucket");
        for (count, bound) in self.buckets.iter().zip(BOUNDS) {
            out.sample(&bucket, &[("evaluator", evaluator), ("le", &bound.to_string())], *count);
        }
        out.sample(&bucket, &[("evaluator", evaluator), ("le", "+Inf")], self.count);
        out.sample(&format!("{name}_sum"), &[("evaluator", evaluator)], self.sum);
        out.sample(&format!("{name}_count"), &[("evaluator", evaluator)], self.count);
    }
}

/// Returns the status as a label; `none` if the client disconnected before the response.
fn shown(status: Option<u16>) -> String {
    status.map_or_else(|| "none".to_owned(), |status| status.to_string())
}

#[derive(Default)]
struct Text(String);

impl Text {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string cannot fail.
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let labels: Vec<String> =
            labels.iter().map(|(label, text)| format!("{label}=\"{}\"", escaped(text))).collect();
        let labels =
            if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.0, "{name}{labels} {value}");
    }
}

/// Escapes the value of a label: names of evaluators may have any character.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_in_the_text_format() {
        let metrics = Metrics::default();
        metrics.count(Some(200), Duration::from_millis(3), Some(("a\"b", Some("adk"))));
        metrics.count(Some(200), Duration::from_secs(60), Some(("a\"b", None)));
        metrics.count(None, Duration::ZERO, None);
        let text = metrics.text(1, 64);
        for line in [
            "evaluator_http_requests_total{status=\"none\"} 1",
            "evaluator_http_requests_total{status=\"200\"} 2",
            r#"evaluator_documents_total{evaluator="a\"b",contract="adk",status="200"} 1"#,
            r#"evaluator_document_duration_seconds_bucket{evaluator="a\"b",le="0.0025"} 0"#,
            r#"evaluator_document_duration_seconds_bucket{evaluator="a\"b",le="0.005"} 1"#,
            r#"evaluator_document_duration_seconds_bucket{evaluator="a\"b",le="+Inf"} 2"#,
            r#"evaluator_document_duration_seconds_sum{evaluator="a\"b"} 60.003"#,
            r#"evaluator_document_duration_seconds_count{evaluator="a\"b"} 2"#,
            "evaluator_documents_in_progress 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert!(text.ends_with('\n'));
    }
}
