//! Cutting text into words.

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

use super::stem::stem;

/// The words of a text: compatibility-normalized, lower case, English ones of more than three letters stemmed.
pub(super) fn tokens(text: &str) -> Vec<String> {
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

/// What a character does to the words around it.
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

    #[test]
    fn agrees_with_the_reference_implementation() {
        let vectors = include_str!("../../../tests/data/rouge/tokens.jsonl");
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
            serde_json::from_str(include_str!("../../../tests/data/rouge/wordchars.json")).unwrap();
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
