//! Built-in metrics that score the similarity of each answer to the expected one.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use evaluator_document::{Field, Fields};
use evaluator_json::Object;
use evaluator_traces::conversation::TurnPart;

use super::{Measure, find_wordnet};
use crate::{
    Metric, MetricInput, Outcome, Setting,
    turn_scores::{TurnScore, TurnScores},
};

/// Names and descriptions.
const METRICS: &str = "\
fuzzy_match: Characters the answers share with the expected answers, in order (rapidfuzz).
bleu: Precision of the n-grams of the answers, given the expected answers (nltk, smoothed).
gleu: N-grams the answers share with the expected answers (Google BLEU of nltk).
meteor: Words the answers share with the expected answers by form, stem and meaning (nltk).
rouge_1: Words the answers share with the expected answers (rouge-score, F-measure, not stemmed).
rouge_2: Pairs of words the answers share with the expected answers (rouge-score, F-measure).
rouge_3: Runs of three words the answers share with the expected answers (rouge-score, F-measure).
rouge_4: Runs of four words the answers share with the expected answers (rouge-score, F-measure).
rouge_5: Runs of five words the answers share with the expected answers (rouge-score, F-measure).
rouge_l: Longest sequence of words the answers share with the expected answers (rouge-score, F-measure).";

const VARIANT: Setting = Setting::new(
    "variant",
    r#"{"description": "Text similarity: another form of the measure.",
        "enum": ["azure", "char", "nosyn", "sacre", "stem"]}"#,
    "",
);

/// Settings of measures with variants.
const VARIANTS: [Setting; 1] = [VARIANT];

const METEOR: [Setting; 2] = [
    VARIANT,
    Setting::new(
        "wordnet",
        r#"{"description": "meteor: directory of WordNet 3.0. Default: EVALUATOR_WORDNET, then /usr/share/wordnet.",
            "type": "string", "minLength": 1}"#,
        "",
    ),
];

/// Name of the measure that needs WordNet.
const METEOR_NAME: &str = "meteor";

/// What is said and can be done without WordNet.
pub const NO_WORDNET: &str = "install Debian's package wordnet-base, name its directory in EVALUATOR_WORDNET, or use the variant `nosyn`";

/// Scores the similarity of each answer to the expected one by a measure of text similarity.
///
/// A turn without an answer has an empty text. A turn without an expected answer, or with one that the measure cannot see,
/// is not evaluated; the conversation passes if every other turn does.
#[derive(Clone, Debug)]
pub struct Similarity {
    name: &'static str,
    description: &'static str,
    /// `None` for `meteor` without WordNet.
    measure: Option<Measure>,
    /// Determined when it is asked for, since files are read.
    revision: OnceLock<Option<String>>,
}

impl Similarity {
    /// Returns the metrics of all measures, without variants.
    pub fn all() -> impl Iterator<Item = Self> {
        let rows = METRICS.lines().filter_map(|row| row.split_once(": "));
        rows.map(|(name, description)| {
            let wordnet = || find_wordnet(None).ok().map(|(directory, _)| directory);
            let wordnet = (name == METEOR_NAME).then(wordnet).flatten();
            Self::new(name, description, Measure::named(name, wordnet))
        })
    }

    fn new(name: &'static str, description: &'static str, measure: Option<Measure>) -> Self {
        Self { name, description, measure, revision: OnceLock::new() }
    }
}

impl Metric for Similarity {
    fn name(&self) -> &str {
        self.name
    }

    fn description(&self) -> &str {
        self.description
    }

    fn settings(&self) -> &'static [Setting] {
        match self.name {
            "fuzzy_match" => &[],
            METEOR_NAME => &METEOR,
            _ => &VARIANTS,
        }
    }

    fn configure(&self, fields: &mut Fields<'_>) -> Option<Arc<dyn Metric>> {
        let (variant, wordnet) = match self.settings() {
            [] => (None, None),
            [_] => (fields.take("variant"), None),
            _ => (fields.take("variant"), fields.take("wordnet")),
        };
        let variant = variant.and_then(|field| field.choice(variants(self.name)));
        let name = match variant {
            Some(variant) => format!("{}:{variant}", self.name),
            None => self.name.to_owned(),
        };
        let directory = match wordnet {
            Some(field) => {
                if variant.is_some() {
                    field.add("`wordnet` has no effect with this variant").hint("leave it out");
                }
                read_wordnet(field)
            }
            None => find_wordnet(None).ok().map(|(directory, _)| directory),
        };
        let measure = Measure::named(&name, directory);
        if measure.is_none() && wordnet.is_none() {
            fields.missing("wordnet").hint(NO_WORDNET);
        }
        Some(Arc::new(Self::new(self.name, self.description, measure)))
    }

    fn revision(&self) -> Option<&str> {
        let revision = || {
            let identity = self.measure.as_ref()?.identity()?;
            Some(format!("{} {identity}", crate::REVISION))
        };
        self.revision.get_or_init(revision).as_deref()
    }

    fn unavailable(&self) -> Option<&str> {
        self.measure.is_none().then_some(NO_WORDNET)
    }

    fn evaluate(&self, input: &MetricInput<'_>) -> Outcome {
        let Some(measure) = &self.measure else {
            return Outcome::Failed { reason: format!("{} {NO_WORDNET}", self.name) };
        };
        let golden = match input.comparable_turns(&[TurnPart::Answer]) {
            Ok(golden) => golden,
            Err(not_evaluated) => return not_evaluated,
        };
        let mut scores = TurnScores::default();
        for (turn, expected) in input.turns.iter().zip(golden) {
            let Some(reference) = expected.final_text(" ") else {
                scores.add(TurnScore::NotEvaluated("it has no expected answer".to_owned()));
                continue;
            };
            let answer = turn.final_text.as_deref().unwrap_or_default();
            match measure.turn_score(answer, &reference, input.threshold) {
                Ok(score) => scores.add(score),
                Err(reason) => return Outcome::Failed { reason },
            }
        }
        scores.outcome(input.turns.len(), golden.len(), Object::default())
    }
}

/// Returns the names of the variants of a metric.
fn variants(name: &str) -> &'static [(&'static str, &'static str)] {
    match name {
        "bleu" => &[("azure", "azure"), ("char", "char"), ("sacre", "sacre")],
        "gleu" => &[("char", "char")],
        "meteor" => &[("nosyn", "nosyn")],
        _ => &[("char", "char"), ("stem", "stem")],
    }
}

/// Reads the directory of WordNet. Another version is a warning, because its scores differ.
pub fn read_wordnet(field: Field<'_>) -> Option<PathBuf> {
    let directory = Path::new(field.text()?);
    if directory.is_relative() {
        return field.add(format!("`{}` must be an absolute path", field.key)).none();
    }
    match find_wordnet(Some(directory)) {
        Ok((directory, other_version)) => {
            if let Some(version) = other_version {
                let message = format!("`{}` is {version}; scores are defined with 3.0", field.key);
                field.problems.warn(field.node.span, message);
            }
            Some(directory)
        }
        Err(error) => field.add(error.to_string()).none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{configured, not_evaluated, scored, turn};
    use evaluator_traces::{
        conversation::Turn,
        eval_set::{EvalCase, ExpectedTurn},
    };

    fn evaluate(name: &str, settings: &str, turns: &[(Option<&str>, Option<&str>)]) -> Outcome {
        let metric = Similarity::all().find(|metric| metric.name == name).unwrap();
        let metric = configured(settings, |fields| metric.configure(fields)).unwrap();
        let answers: Vec<Turn> = turns
            .iter()
            .map(|(answer, _)| Turn { final_text: answer.map(str::to_owned), ..turn(Vec::new()) })
            .collect();
        let expected = |text: &Option<&str>| ExpectedTurn {
            final_parts: text.map(|text| vec![text.to_owned()]),
            ..ExpectedTurn::default()
        };
        let expected = turns.iter().map(|(_, text)| expected(text)).collect();
        let case = EvalCase { id: "c".to_owned(), turns: expected, ..EvalCase::default() };
        metric.evaluate(&MetricInput::new(&answers, Ok(&case), 0.6))
    }

    #[test]
    fn every_turn_has_to_pass() {
        let turns = [(Some("one two"), Some("one two")), (Some("one"), Some("one two three"))];
        let scored = scored(evaluate("rouge_1", "{}", &turns));
        assert_eq!(scored.per_turn, [Some(1.0), Some(0.5)]);
        assert_eq!((scored.score, scored.passed), (0.75, Some(false)));
    }

    #[test]
    fn turns_that_cannot_be_compared_are_not_evaluated() {
        let chinese = "\u{4f60}\u{597d}";
        let turns = [(Some("Rome"), Some("Rome")), (Some(chinese), Some(chinese)), (None, None)];
        let outcome = scored(evaluate("rouge_1", "{}", &turns));
        assert_eq!(outcome.per_turn, [Some(1.0), None, None]);
        assert_eq!(outcome.passed, Some(true));
        let details = outcome.details.unwrap();
        assert_eq!(details["evaluated_turns"].as_i128(), Some(1));
        assert_eq!(details["turns"].as_i128(), Some(3));
        let outcome = scored(evaluate("rouge_1", "variant: char", &turns[1..2]));
        assert_eq!(outcome.per_turn, [Some(1.0)]);
        let reason = not_evaluated(evaluate("rouge_1", "{}", &turns[1..2]));
        assert!(reason["reason"].as_str().unwrap().contains("sees no word"), "{reason:?}");
    }

    #[test]
    fn no_answer_where_one_is_expected_scores_nothing() {
        let outcome = scored(evaluate("bleu", "{}", &[(None, Some("Rome"))]));
        assert_eq!((outcome.score, outcome.passed), (0.0, Some(false)));
    }

    #[test]
    fn the_revision_of_meteor_is_that_of_the_content_of_wordnet() {
        let directory = |noun: &str| {
            let directory = tempfile::tempdir().unwrap();
            for name in ["noun", "verb", "adj", "adv"] {
                for file in [format!("index.{name}"), format!("data.{name}"), format!("{name}.exc")]
                {
                    let content = if file == "data.noun" { noun } else { "WordNet 3.0 Copyright" };
                    std::fs::write(directory.path().join(file), content).unwrap();
                }
            }
            directory
        };
        let revision = |directory: &tempfile::TempDir| {
            let measure = Measure::named("meteor", Some(directory.path().to_owned()));
            Similarity::new("meteor", "", measure).revision().map(str::to_owned)
        };
        let (one, same, other) = (directory("a"), directory("a"), directory("b"));
        assert!(revision(&one).is_some_and(|it| it.contains("meteor")));
        assert_eq!(revision(&one), revision(&same));
        assert_ne!(revision(&one), revision(&other));
        std::fs::remove_file(one.path().join("noun.exc")).unwrap();
        assert_eq!(revision(&one), None, "changes would not be noticed");
    }

    #[test]
    fn a_short_reference_of_meteor_is_noted() {
        let turns = [(Some("Rome"), Some("Rome"))];
        let outcome = scored(evaluate("meteor", "variant: nosyn", &turns));
        assert_eq!((outcome.score, outcome.passed), (0.5, Some(false)));
        let notes = format!("{:?}", outcome.details);
        assert!(notes.contains("no answer scores more than 0.500"), "{notes}");
    }
}
