//! `response_match_score`: ROUGE-1 over stemmed words.

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

use evaluator_traces::conversation::TurnPart;

use super::{
    Metric, MetricInput, Outcome, similarity::ngram_f_measure, stem::stem, turns::mean_over_turns,
};

/// Scores how many words each answer shares with the expected one: the F-measure of ROUGE-1 over stemmed words.
///
/// A turn without an answer, or without an expected one, has an empty text, and an empty text matches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct ResponseMatch;

impl Metric for ResponseMatch {
    fn name(&self) -> &str {
        "response_match_score"
    }

    fn description(&self) -> &str {
        "Words the answers share with the expected answers (ROUGE-1, F-measure)."
    }

    fn revision(&self) -> Option<&str> {
        Some(super::REVISION)
    }

    fn evaluate(&self, input: &MetricInput<'_>) -> Outcome {
        mean_over_turns(input, &[TurnPart::Answer], |(turn, expected)| {
            let reference = expected.final_text("\n").unwrap_or_default();
            rouge_1(turn.final_text.as_deref().unwrap_or_default(), &reference)
        })
    }
}

/// Returns the F-measure of the words of `candidate` and `reference`, in 0..=1; 0 when either has no words.
///
/// Words are compared without case and, if English letters, by their stem. Scripts written without spaces count each
/// character, or each letter with its marks, as a word.
pub fn rouge_1(candidate: &str, reference: &str) -> f64 {
    ngram_f_measure(&tokens(candidate), &tokens(reference), 1)
}

/// Splits a text into words: compatibility-normalized, lower case, English ones of more than three letters stemmed.
fn tokens(text: &str) -> Vec<String> {
    let mut spaced = String::with_capacity(text.len());
    for character in normalize(text).chars() {
        match role(character) {
            Role::OwnWord => {
                spaced.push(' ');
                spaced.push(character);
                spaced.push(' ');
            }
            Role::StartOfWord => {
                spaced.push(' ');
                spaced.push(character);
            }
            Role::InWord => spaced.push(character),
            Role::Between => spaced.push(' '),
        }
    }
    spaced
        .split(' ')
        .filter(|word| !word.is_empty())
        .map(|word| if word.is_ascii() && word.len() > 3 { stem(word) } else { word.to_owned() })
        .collect()
}

fn normalize(text: &str) -> String {
    if is_nfkc_quick(text.chars()) == IsNormalized::Yes {
        text.to_lowercase()
    } else {
        text.nfkc().collect::<String>().to_lowercase()
    }
}

/// Effect of a character on the words around it.
enum Role {
    OwnWord,
    StartOfWord,
    InWord,
    Between,
}

fn role(character: char) -> Role {
    if character.is_ascii() {
        return if character.is_ascii_alphanumeric() { Role::InWord } else { Role::Between };
    }
    let group = character.general_category_group();
    match character {
        // Han, Hiragana, Katakana and Hangul.
        '\u{4e00}'..='\u{9fff}' | '\u{3040}'..='\u{30ff}' | '\u{ac00}'..='\u{d7af}' => {
            Role::OwnWord
        }
        // Thai, Lao, Myanmar and Khmer: letters stand alone, marks belong to the letter before them.
        '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' => {
            match group {
                GeneralCategoryGroup::Mark => Role::InWord,
                _ => Role::StartOfWord,
            }
        }
        _ => match group {
            GeneralCategoryGroup::Letter
            | GeneralCategoryGroup::Mark
            | GeneralCategoryGroup::Number => Role::InWord,
            _ => Role::Between,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, scored};
    use evaluator_traces::{
        conversation::Turn,
        eval_set::{EvalCase, ExpectedTurn},
    };

    fn score(answer: Option<&str>, expected: Option<&[&str]>) -> f64 {
        let turn = Turn { final_text: answer.map(str::to_owned), ..testing::turn(Vec::new()) };
        let parts = |parts: &[&str]| parts.iter().map(|part| (*part).to_owned()).collect();
        let expected = ExpectedTurn { final_parts: expected.map(parts), ..ExpectedTurn::default() };
        let case = EvalCase { id: "c".to_owned(), turns: vec![expected], ..EvalCase::default() };
        scored(ResponseMatch.evaluate(&MetricInput::new(&[turn], Ok(&case), 0.5))).score
    }

    #[test]
    fn an_answer_that_was_not_recorded_is_not_evaluated() {
        let unknown = evaluator_traces::conversation::Unrecorded {
            part: TurnPart::Answer,
            attribute: "gen_ai.output.messages",
            switch: Some("switch it on"),
        };
        let turn = Turn { unrecorded: vec![unknown], ..testing::turn(Vec::new()) };
        let case = EvalCase { turns: vec![ExpectedTurn::default()], ..EvalCase::default() };
        let input = MetricInput::new(std::slice::from_ref(&turn), Ok(&case), 0.5);
        let details = testing::not_evaluated(ResponseMatch.evaluate(&input));
        let reason = details["reason"].as_str().expect("a reason").to_owned();
        assert!(reason.starts_with("the answer was not recorded: there is no gen_ai.output"));
    }

    #[test]
    fn parts_of_the_expected_answer_are_lines() {
        assert_eq!(score(Some("one two"), Some(&["one", "two"])), 1.0);
        assert_eq!(score(Some("onetwo"), Some(&["one", "two"])), 0.0);
    }

    #[test]
    fn an_answer_that_is_missing_matches_nothing() {
        assert_eq!(score(None, Some(&["one"])), 0.0);
        assert_eq!(score(Some("one"), None), 0.0);
        assert_eq!(score(None, None), 0.0);
    }

    #[test]
    fn scores_agree_with_the_reference_implementation() {
        let vectors = include_str!("../tests/data/rouge/rouge1.jsonl");
        for line in vectors.lines() {
            let (candidate, reference, _, _, expected): (String, String, f64, f64, f64) =
                serde_json::from_str(line).unwrap();
            let score = rouge_1(&candidate, &reference);
            assert!((score - expected).abs() < 1e-9, "{score} instead of {expected}: {line}");
        }
    }

    #[test]
    fn a_word_counts_as_often_as_both_have_it() {
        assert!((rouge_1("a a a b", "a a c c") - 0.5).abs() < 1e-12);
        assert!(rouge_1("", "") == 0.0);
        assert!(rouge_1("...", "word") == 0.0);
    }

    #[test]
    fn words_agree_with_the_reference_implementation() {
        let vectors = include_str!("../tests/data/rouge/tokens.jsonl");
        for line in vectors.lines() {
            let (text, expected): (String, Vec<String>) = serde_json::from_str(line).unwrap();
            assert_eq!(tokens(&text), expected, "{line}");
        }
    }

    /// Later versions of Unicode add word characters; none of those of version 14 may be missing.
    #[test]
    fn knows_all_word_characters() {
        #[derive(serde::Deserialize)]
        struct WordCharacters {
            ranges: Vec<(u32, u32)>,
        }
        let known: WordCharacters =
            serde_json::from_str(include_str!("../tests/data/rouge/wordchars.json")).unwrap();
        let own_rules = |character| matches!(role(character), Role::OwnWord | Role::StartOfWord);
        for (first, last) in known.ranges {
            for character in (first..=last).filter_map(char::from_u32) {
                assert!(
                    matches!(role(character), Role::InWord) || own_rules(character),
                    "U+{:04X} is not part of words",
                    u32::from(character)
                );
            }
        }
        for symbol in ['\u{24b6}', '\u{2028}', '\u{20ac}', '\u{1f600}', '_', '\u{2019}'] {
            assert!(matches!(role(symbol), Role::Between), "{symbol:?}");
        }
    }
}
