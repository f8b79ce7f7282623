//! What the text of a label says.

use super::LabelValue;

/// Words for good and bad, in any case.
const WORDS: [(&str, bool); 8] = [
    ("pass", true),
    ("fail", false),
    ("true", true),
    ("false", false),
    ("yes", true),
    ("no", false),
    ("good", true),
    ("bad", false),
];

/// Meanings of words: those that are known, and those of the user.
#[derive(Clone, Debug, Default)]
pub struct Meanings(Vec<(String, LabelValue)>);

impl Meanings {
    /// Adds a word, from a text `WORD=MEANING`, where the meaning is a known label.
    ///
    /// # Errors
    ///
    /// The text is another one, or the word has a meaning already. Words for classes may become grades.
    pub fn add(&mut self, text: &str) -> Result<(), String> {
        let (word, meaning) = text
            .rsplit_once('=')
            .ok_or("write WORD=MEANING, for example partly=0.5 or wrong=fail")?;
        let value = known(meaning.trim()).ok_or_else(|| {
            format!("`{}` is not a meaning; write pass, fail or a number", meaning.trim())
        })?;
        let word = word.trim();
        if word.is_empty() {
            return Err("the word before the `=` is missing".to_owned());
        }
        if let (Some(LabelValue::Class(_)), LabelValue::Class(_)) = (known(word), value) {
            return Err(format!("`{word}` has a meaning already; only a number can replace it"));
        }
        if let Some(LabelValue::Number(_)) = known(word) {
            return Err(format!("`{word}` is a number, which has a meaning already"));
        }
        self.0.push((word.to_lowercase(), value));
        Ok(())
    }

    /// Reads the text of a label, which is not empty.
    ///
    /// # Errors
    ///
    /// It is no label: a message.
    pub(super) fn read(&self, text: &str) -> Result<LabelValue, String> {
        let lower = text.to_lowercase();
        let own = self.0.iter().find(|(word, _)| *word == lower).map(|(_, value)| *value);
        own.or_else(|| known(text)).ok_or_else(|| {
            let shown: String = text.chars().take(60).collect();
            format!(
                "`{shown}` is not a label; labels are pass, fail, true, false, yes, no, good, bad, or numbers, and \
                 --label 'WORD=MEANING' adds a word"
            )
        })
    }
}

fn known(text: &str) -> Option<LabelValue> {
    let word = WORDS.iter().find(|(word, _)| text.eq_ignore_ascii_case(word));
    if let Some((_, class)) = word {
        return Some(LabelValue::Class(*class));
    }
    // `inf` and `nan` are numbers for Rust.
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
    number.map(LabelValue::Number)
}
