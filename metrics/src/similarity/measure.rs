//! Measures of similarity by their names.

use std::path::PathBuf;

use super::{
    bleu::{Smoothing, bleu, sacrebleu},
    cosine,
    fuzzy_match::fuzzy_match,
    gleu::gleu,
    meteor::{Synonyms, meteor, order_factor},
    ngrams::Pair,
    rouge::{Rouge, Words},
    tokens::{characters, is_space, spaced, split, tokens_13a},
};
use crate::turn_scores::TurnScore;

/// Names of all measures and their variants, without `cosine`, which needs the embeddings of a model.
pub const SIMILARITIES: &[&str] = &[
    "fuzzy_match",
    "bleu",
    "bleu:azure",
    "bleu:sacre",
    "bleu:char",
    "gleu",
    "gleu:char",
    "meteor",
    "meteor:nosyn",
    "rouge_1",
    "rouge_1:stem",
    "rouge_1:char",
    "rouge_2",
    "rouge_2:stem",
    "rouge_2:char",
    "rouge_3",
    "rouge_3:stem",
    "rouge_3:char",
    "rouge_4",
    "rouge_4:stem",
    "rouge_4:char",
    "rouge_5",
    "rouge_5:stem",
    "rouge_5:char",
    "rouge_l",
    "rouge_l:stem",
    "rouge_l:char",
    "cosine:tf",
    "cosine",
];

/// A measure of the similarity of two texts.
#[derive(Clone, Debug)]
pub struct Measure {
    name: &'static str,
    method: Method,
}

#[derive(Clone, Debug)]
enum Method {
    FuzzyMatch,
    Bleu(Smoothing, Units),
    SacreBleu,
    Gleu(Units),
    Meteor(Synonyms),
    Rouge(Rouge, Words),
    CosineOfCounts,
}

/// What a token of BLEU and GLEU is.
#[derive(Clone, Copy, Debug)]
enum Units {
    Tokens,
    Characters,
}

impl Units {
    fn pair(self, candidate: &str, reference: &str) -> Pair {
        match self {
            Self::Tokens => {
                let (candidate, reference) = (spaced(candidate), spaced(reference));
                Pair::new(split(&candidate), split(&reference))
            }
            Self::Characters => Pair::new(characters(candidate), characters(reference)),
        }
    }
}

impl Measure {
    /// Returns the measure of that name, one of [`SIMILARITIES`]; `None` for other names, and for `cosine`.
    ///
    /// Only `meteor` uses WordNet. Without it, `meteor` is `None` too, because it would be another measure.
    pub fn named(name: &str, wordnet: Option<PathBuf>) -> Option<Self> {
        let name = *SIMILARITIES.iter().find(|known| **known == name)?;
        let (base, variant) = name.split_once(':').unwrap_or((name, ""));
        let units = if variant == "char" { Units::Characters } else { Units::Tokens };
        let words = match variant {
            "stem" => Words::Stemmed,
            "char" => Words::Characters,
            _ => Words::Plain,
        };
        let method = match (base, variant) {
            ("fuzzy_match", _) => Method::FuzzyMatch,
            ("bleu", "sacre") => Method::SacreBleu,
            ("bleu", "azure") => Method::Bleu(Smoothing::Azure, units),
            ("bleu", _) => Method::Bleu(Smoothing::Reweighed, units),
            ("gleu", _) => Method::Gleu(units),
            ("meteor", "nosyn") => Method::Meteor(Synonyms::default()),
            ("meteor", _) => Method::Meteor(Synonyms::of(wordnet?)),
            ("rouge_l", _) => Method::Rouge(Rouge::L, words),
            ("cosine", "tf") => Method::CosineOfCounts,
            _ => Method::Rouge(Rouge::N(base.strip_prefix("rouge_")?.parse().ok()?), words),
        };
        Some(Self { name, method })
    }

    /// Returns the name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns text that identifies the measure and the files that decide its scores; `None` if they cannot be read.
    pub(super) fn identity(&self) -> Option<String> {
        Some(match &self.method {
            Method::Meteor(synonyms) => format!("{} {}", self.name, synonyms.identity()?),
            _ => self.name.to_owned(),
        })
    }

    /// Returns the similarity of a text to a reference, from 0 to 1.
    ///
    /// # Errors
    ///
    /// Message that says why WordNet cannot be read.
    pub fn score(&self, candidate: &str, reference: &str) -> Result<f64, String> {
        let pair = |units: &Units| units.pair(candidate, reference);
        let score = match &self.method {
            Method::FuzzyMatch => fuzzy_match(candidate, reference),
            Method::Bleu(smoothing, units) => bleu(&pair(units), *smoothing),
            Method::SacreBleu => sacrebleu(candidate, reference),
            Method::Gleu(units) => gleu(&pair(units)),
            Method::Meteor(synonyms) => {
                let wordnet = synonyms.load().map_err(|error| error.to_string())?;
                meteor(candidate, reference, wordnet)
            }
            Method::Rouge(rouge, words) => rouge.score(candidate, reference, *words),
            Method::CosineOfCounts => cosine::of_counts(candidate, reference),
        };
        Ok(score.clamp(0.0, 1.0))
    }

    /// Returns the reason why the measure cannot compare anything with a reference, which is not a fault of the compared
    /// text: the reference has text, but too few tokens.
    pub fn blind_to(&self, reference: &str) -> Option<String> {
        if reference.chars().all(is_space) {
            return None;
        }
        let (tokens, needed) = match &self.method {
            Method::FuzzyMatch => return None,
            Method::Rouge(rouge, words) => {
                let needed = if let Rouge::N(n) = rouge { *n } else { 1 };
                (words.tokens(&reference.to_lowercase()).len(), needed)
            }
            Method::Bleu(_, Units::Characters) | Method::Gleu(Units::Characters) => return None,
            _ => (tokens_13a(reference).len(), 1),
        };
        let name = self.name;
        match tokens {
            0 if needed > 0 => Some(format!(
                "{name} sees no word in the expected text; `rouge_1:char` or `fuzzy_match` compare characters"
            )),
            _ if tokens < needed => Some(format!(
                "{name} needs {needed} words, and the expected text has {tokens}; use a shorter n-gram or `fuzzy_match`"
            )),
            _ => None,
        }
    }

    /// Scores a turn, unless the measure is blind to its expected text.
    pub fn turn_score(
        &self,
        answer: &str,
        reference: &str,
        threshold: f64,
    ) -> Result<TurnScore, String> {
        if let Some(reason) = self.blind_to(reference) {
            return Ok(TurnScore::NotEvaluated(reason));
        }
        let score = self.score(answer, reference)?;
        let best = self.best_score(reference);
        let note = (best < threshold).then(|| {
            format!(
                "the expected text is so short that no answer scores more than {best:.3}, and the threshold is {threshold}"
            )
        });
        Ok(TurnScore::Scored { score, passed: score >= threshold, note })
    }

    /// Returns the score of a text that equals the reference; it is less than 1 for METEOR.
    fn best_score(&self, reference: &str) -> f64 {
        match (&self.method, tokens_13a(reference).len()) {
            (Method::Meteor(_), words @ 1..) => order_factor(1, words),
            _ => 1.0,
        }
    }
}
