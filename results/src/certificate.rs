//! Certificates: what labels of people have shown about an evaluator, in a file.

use std::{collections::BTreeMap, fs, path::Path};

use evaluator_json::{ParseErrorKind, ParseOptions, RepeatedKeys};
use evaluator_statistics::{JudgeRates, LEAST_LABELS, LabelCounts, Refusal};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::digest::{Digest, Digester};

/// Version of the files.
const VERSION: u64 = 1;

/// Confidence of the intervals in the file, and with which labels have to show that an evaluator is better than chance.
const CONFIDENCE: f64 = 0.95;

/// What labels of people have shown about an evaluator: how often it passes what they call good, and fails what they call bad.
///
/// As a file it is JSON that depends on nothing but the labels and the run. Its digest shows that it was edited, not who made
/// it: anyone can compute SHA-256 for another one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    /// Version of the file: 1.
    version: u64,
    /// Name of the evaluator.
    pub evaluator: String,
    /// `judge`, `builtin`, `code`, `grader` or `linked`.
    pub kind: String,
    /// Score from which on an evaluation passes.
    pub threshold: f64,
    /// The labels, and what the evaluator said about the labelled cases.
    pub labels: CertifiedLabels,
    /// Cohen's kappa; `None` if it is not defined.
    pub kappa: Option<f64>,
    /// Share of the good cases that it passed.
    pub true_positive_rate: Rate,
    /// Share of the bad cases that it failed.
    pub true_negative_rate: Rate,
    /// Digests of its files, by their names.
    pub code: BTreeMap<String, Digest>,
    /// Digests of its settings: prompt, model, parameters.
    pub settings: BTreeMap<String, Digest>,
    /// Digest of everything else in the file.
    digest: Digest,
}

/// Labels that a certificate rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CertifiedLabels {
    /// Digest of the labels that count, with the cases that they are about.
    pub digest: Digest,
    /// The part of the labels that counts; `None` if they have no parts, and all count.
    pub split: Option<String>,
    /// Cases that people call good.
    pub good: usize,
    /// Those of them that the evaluator passed.
    pub good_passed: usize,
    /// Cases that people call bad.
    pub bad: usize,
    /// Those of them that the evaluator failed.
    pub bad_failed: usize,
    /// Conversations that are left out because as many people call them good as bad.
    pub ties: u64,
}

/// A rate with its interval of 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// The rate.
    pub value: f64,
    /// Lower end of the interval.
    pub lower: f64,
    /// Upper end of the interval.
    pub upper: f64,
}

/// Reason why there is no certificate, or why a file is none: a message that begins with the evaluator or the file.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct CertificateError(pub(crate) String);

impl Certificate {
    /// Creates the certificate of an evaluator with these digests of its code and settings.
    ///
    /// # Errors
    ///
    /// A class has fewer than 20 labels, or they do not show that the evaluator passes good cases more often than bad ones.
    pub(crate) fn new(
        (evaluator, kind, threshold): (&str, &str, f64),
        [code, settings]: [BTreeMap<String, Digest>; 2],
        labels: CertifiedLabels,
        kappa: Option<f64>,
    ) -> Result<Self, CertificateError> {
        let unusable = |reason| CertificateError(format!("{evaluator}: {reason}"));
        let rates = labels.rates(CONFIDENCE).map_err(unusable)?;
        let [tpr, tnr] = [rates.tpr, rates.tnr].map(|it| Rate {
            value: rounded(it.mean),
            lower: rounded(it.interval.lower),
            upper: rounded(it.interval.upper),
        });
        let certificate = Self {
            version: VERSION,
            evaluator: evaluator.to_owned(),
            kind: kind.to_owned(),
            threshold,
            labels,
            kappa: kappa.map(rounded),
            true_positive_rate: tpr,
            true_negative_rate: tnr,
            code,
            settings,
            digest: Digest::default(),
        };
        Ok(Self { digest: certificate.content(), ..certificate })
    }

    /// Reads the certificate of this evaluator.
    ///
    /// # Errors
    ///
    /// The file cannot be read, is no certificate, was edited, is of another evaluator, or its labels show too little.
    pub fn read(file: &Path, evaluator: &str) -> Result<Self, CertificateError> {
        let about = |problem: String| CertificateError(format!("{}{problem}", file.display()));
        let edited = " was edited by hand or is damaged: its digest is not that of its content";
        let unknown = |reason: String| {
            about(format!(" is not a certificate of `evaluator agree --certify`: {reason}"))
        };
        let text = fs::read(file).map_err(|error| about(format!(" cannot be read: {error}")))?;
        // Of a key that is there twice, a person reads the first value and a program takes the last.
        let options =
            ParseOptions { repeated_keys: RepeatedKeys::Reject, ..ParseOptions::default() };
        let strict = str::from_utf8(&text).map(|text| evaluator_json::parse(text, &options));
        if let Ok(Err(error)) = strict
            && error.kind == ParseErrorKind::RepeatedKey
        {
            return Err(about(edited.to_owned()));
        }
        let read = serde_json::from_slice::<serde_json::Value>(&text);
        let value = read.map_err(|error| unknown(error.to_string()))?;
        match value["version"].as_u64() {
            Some(VERSION) => {}
            Some(version) => {
                return Err(unknown(format!("its version is {version}, and 1 is known")));
            }
            None => return Err(unknown("it has no version".to_owned())),
        }
        let read = serde_json::from_value::<Self>(value);
        let certificate = read.map_err(|error| unknown(error.to_string()))?;
        if certificate.digest != certificate.content() {
            return Err(about(edited.to_owned()));
        }
        if certificate.evaluator != evaluator {
            let of = certificate.evaluator;
            return Err(about(format!(" is a certificate of `{of}`, not of `{evaluator}`")));
        }
        let rates = certificate.labels.rates(CONFIDENCE);
        rates.map_err(|reason| about(format!(": {reason}")))?;
        Ok(certificate)
    }

    /// Returns the text of the file.
    pub fn to_text(&self) -> String {
        // Its values are numbers, texts and digests, which JSON has.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Returns the rates of the evaluator.
    ///
    /// # Errors
    ///
    /// Returns the reason if the labels do not suffice for this confidence.
    pub(crate) fn rates(&self, confidence: f64) -> Result<JudgeRates, String> {
        self.labels.rates(confidence)
    }

    fn content(&self) -> Digest {
        let blank = Self { digest: Digest::default(), ..self.clone() };
        Digester::new("certificate").json("content", &blank).finish()
    }
}

impl CertifiedLabels {
    /// Creates counts without labels. `labels` is what their digest is of; `ties` conversations are left out.
    pub fn new(split: Option<String>, labels: &impl Serialize, ties: u64) -> Self {
        let digest = Digester::new("labels").json("labels", labels).finish();
        Self { digest, split, good: 0, good_passed: 0, bad: 0, bad_failed: 0, ties }
    }

    /// Counts a case.
    pub fn add(&mut self, is_good: bool, passed: bool) {
        if is_good {
            self.good += 1;
            self.good_passed += usize::from(passed);
        } else {
            self.bad += 1;
            self.bad_failed += usize::from(!passed);
        }
    }

    fn rates(&self, confidence: f64) -> Result<JudgeRates, String> {
        let Self { good, good_passed, bad, bad_failed, .. } = *self;
        let counts = LabelCounts { good, good_passed, bad, bad_failed };
        counts.rates(confidence).map_err(|refusal| match refusal {
            Refusal::TooFewLabels => format!(
                "{good} good and {bad} bad cases are labelled, and at least {LEAST_LABELS} of each are needed"
            ),
            Refusal::AtChance => format!(
                "it passed {good_passed} of {good} good cases and failed {bad_failed} of {bad} bad ones, which does not show that \
                 it tells them apart"
            ),
            other => other.to_string(),
        })
    }
}

/// Rounds to nine decimals: the digits behind them may differ between machines.
fn rounded(number: f64) -> f64 {
    (number * 1e9).round() / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels([good, good_passed, bad, bad_failed]: [usize; 4]) -> CertifiedLabels {
        let digest = Digester::new("labels").finish();
        CertifiedLabels { digest, split: None, good, good_passed, bad, bad_failed, ties: 0 }
    }

    fn certificate(counts: [usize; 4]) -> Result<Certificate, CertificateError> {
        let digests = [("rules.py".to_owned(), Digester::new("code").finish())].into();
        let about = ("judge", "code", 0.5);
        Certificate::new(about, [digests, BTreeMap::new()], labels(counts), Some(1.0 / 3.0))
    }

    fn read(text: &str, evaluator: &str) -> Result<Certificate, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), text).unwrap();
        let read = Certificate::read(file.path(), evaluator);
        read.map_err(|error| error.to_string().replace(&file.path().display().to_string(), "FILE"))
    }

    #[test]
    fn a_file_is_read_as_it_was_written_and_an_edit_is_noticed() {
        let certificate = certificate([25, 24, 30, 28]).unwrap();
        let text = certificate.to_text();
        assert_eq!(read(&text, "judge").unwrap(), certificate);
        // White space is no edit, every value is one.
        assert!(read(&text.replace("  ", " "), "judge").is_ok());
        let edited = "FILE was edited by hand or is damaged: its digest is not that of its content";
        for (from, to) in [
            ("\"good_passed\": 24", "\"good_passed\": 25"),
            ("0.333333333", "0.9"),
            ("\"threshold\": 0.5", "\"threshold\": 0.6"),
            ("rules.py", "other.py"),
            ("\"ties\": 0", "\"ties\": 1"),
            ("\"split\": null", "\"split\": \"test\""),
            ("\"threshold\": 0.5", "\"threshold\": 0.9, \"threshold\": 0.5"),
            ("\"good\": 25", "\"good\": 90, \"good\": 25"),
        ] {
            let changed = text.replace(from, to);
            assert_ne!(changed, text, "{from}");
            assert_eq!(read(&changed, "judge"), Err(edited.to_owned()), "{from}");
        }
    }

    #[test]
    fn what_is_no_usable_certificate_is_refused_with_the_reason() {
        let text = certificate([25, 24, 30, 28]).unwrap().to_text();
        let start = "FILE is not a certificate of `evaluator agree --certify`: ";
        for (text, says) in [
            ("{", "EOF while parsing an object"),
            ("[]", "it has no version"),
            ("{\"version\": 2}", "its version is 2, and 1 is known"),
            ("{\"version\": 1}", "missing field `evaluator`"),
            (&*text.replace("\"kappa\"", "\"other\""), "unknown field `other`"),
        ] {
            let error = read(text, "judge").unwrap_err();
            assert!(error.starts_with(&format!("{start}{says}")), "{error}");
        }
        let other = read(&text, "another").unwrap_err();
        assert_eq!(other, "FILE is a certificate of `judge`, not of `another`");
        let absent = Certificate::read(Path::new("gone.json"), "judge").unwrap_err();
        assert!(absent.to_string().starts_with("gone.json cannot be read: "), "{absent}");
        for (counts, says) in [
            (
                [19, 19, 30, 28],
                "judge: 19 good and 30 bad cases are labelled, and at least 20 of each are needed",
            ),
            (
                [25, 13, 25, 12],
                "judge: it passed 13 of 25 good cases and failed 12 of 25 bad ones, which does not show that it tells them apart",
            ),
        ] {
            assert_eq!(certificate(counts).unwrap_err().to_string(), says);
            // A file with a digest that was computed again is refused, too.
            let certificate =
                Certificate { labels: labels(counts), ..certificate([25, 24, 30, 28]).unwrap() };
            let text = Certificate { digest: certificate.content(), ..certificate }.to_text();
            assert_eq!(read(&text, "judge").unwrap_err(), says.replacen("judge", "FILE", 1));
        }
    }
}
