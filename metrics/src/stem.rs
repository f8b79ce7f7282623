//! Stems of English words by Porter's algorithm of 1980 with the extensions of NLTK.

/// Words that are their own stem, against the rules.
const INVARIABLE: [&str; 9] =
    ["sky", "news", "inning", "outing", "canning", "howe", "proceed", "exceed", "succeed"];

/// Words with stems that no rule finds.
const IRREGULAR: [Rule; 7] = [
    ("skies", "sky"),
    ("dying", "die"),
    ("lying", "lie"),
    ("tying", "tie"),
    ("innings", "inning"),
    ("outings", "outing"),
    ("cannings", "canning"),
];

/// Returns the stem of a word in lower case. Letters that are not ASCII are consonants.
pub(super) fn stem(word: &str) -> String {
    if let Some((_, stem)) = IRREGULAR.iter().find(|(irregular, _)| *irregular == word) {
        return (*stem).to_owned();
    }
    if length(word) <= 2 || INVARIABLE.contains(&word) {
        return word.to_owned();
    }
    let mut word = word.to_owned();
    plurals(&mut word);
    past_and_progressive(&mut word);
    final_y(&mut word);
    double_suffixes(&mut word);
    apply(&mut word, &TO_SHORTER, |stem| measure(stem) > 0);
    remove_suffixes(&mut word);
    final_e(&mut word);
    final_ll(&mut word);
    word
}

/// A suffix and its replacement.
type Rule = (&'static str, &'static str);

/// Applies the first rule whose suffix the word has, if what is before the suffix fulfils the condition. A suffix
/// whose condition fails hides the rules after it.
fn apply(word: &mut String, rules: &[Rule], condition: impl Fn(&str) -> bool) {
    let rule = rules.iter().find_map(|(suffix, by)| Some((word.strip_suffix(suffix)?.len(), by)));
    if let Some((stem, by)) = rule
        && condition(&word[..stem])
    {
        word.truncate(stem);
        word.push_str(by);
    }
}

/// Step 1a.
fn plurals(word: &mut String) {
    if length(word) == 4 && word.ends_with("ies") {
        word.pop();
    } else {
        apply(word, &[("sses", "ss"), ("ies", "i"), ("ss", "ss"), ("s", "")], |_| true);
    }
}

/// Step 1b.
fn past_and_progressive(word: &mut String) {
    if word.ends_with("ied") {
        let by = if length(word) == 4 { "ie" } else { "i" };
        word.truncate(word.len() - 3);
        word.push_str(by);
        return;
    }
    if word.ends_with("eed") {
        apply(word, &[("eed", "ee")], |stem| measure(stem) > 0);
        return;
    }
    let stem = ["ed", "ing"]
        .into_iter()
        .filter_map(|suffix| word.strip_suffix(suffix))
        .find(|stem| has_vowel(stem))
        .map(str::len);
    let Some(stem) = stem else { return };
    word.truncate(stem);
    if ["at", "bl", "iz"].iter().any(|ending| word.ends_with(ending)) {
        word.push('e');
    } else if ends_with_double_consonant(word) {
        if !word.ends_with(['l', 's', 'z']) {
            word.pop();
        }
    } else if measure(word) == 1 && ends_with_short_syllable(word) {
        word.push('e');
    }
}

/// Step 1c.
fn final_y(word: &mut String) {
    if let Some(stem) = word.strip_suffix('y')
        && length(stem) > 1
        && vowels(stem).last() == Some(false)
    {
        word.pop();
        word.push('i');
    }
}

/// Step 2.
fn double_suffixes(word: &mut String) {
    const RULES: [Rule; 21] = [
        ("ational", "ate"),
        ("tional", "tion"),
        ("enci", "ence"),
        ("anci", "ance"),
        ("izer", "ize"),
        ("bli", "ble"),
        ("alli", "al"),
        ("entli", "ent"),
        ("eli", "e"),
        ("ousli", "ous"),
        ("ization", "ize"),
        ("ation", "ate"),
        ("ator", "ate"),
        ("alism", "al"),
        ("iveness", "ive"),
        ("fulness", "ful"),
        ("ousness", "ous"),
        ("aliti", "al"),
        ("iviti", "ive"),
        ("biliti", "ble"),
        ("fulli", "ful"),
    ];
    // Each round makes the word shorter.
    while word.strip_suffix("alli").is_some_and(|stem| measure(stem) > 0) {
        word.truncate(word.len() - 2);
    }
    if let Some(stem) = word.strip_suffix("logi") {
        // Here the l belongs to the stem.
        if measure(&word[..=stem.len()]) > 0 {
            word.pop();
        }
    } else {
        apply(word, &RULES, |stem| measure(stem) > 0);
    }
}

/// Step 3.
const TO_SHORTER: [Rule; 7] = [
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
];

/// Step 4.
fn remove_suffixes(word: &mut String) {
    const SUFFIXES: [&str; 19] = [
        "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion",
        "ou", "ism", "ate", "iti", "ous", "ive", "ize",
    ];
    let found = SUFFIXES.into_iter().find_map(|suffix| {
        let stem = word.strip_suffix(suffix)?;
        Some(measure(stem) > 1 && (suffix != "ion" || stem.ends_with(['s', 't'])))
            .map(|removed| (stem.len(), removed))
    });
    if let Some((stem, true)) = found {
        word.truncate(stem);
    }
}

/// Step 5a.
fn final_e(word: &mut String) {
    if let Some(stem) = word.strip_suffix('e') {
        let measure = measure(stem);
        if measure > 1 || (measure == 1 && !ends_with_short_syllable(stem)) {
            word.pop();
        }
    }
}

/// Step 5b.
fn final_ll(word: &mut String) {
    if word.ends_with("ll") && measure(&word[..word.len() - 1]) > 1 {
        word.pop();
    }
}

fn length(word: &str) -> usize {
    word.chars().count()
}

/// Returns for each letter whether it is a vowel. A `y` after a consonant is a vowel; digits are consonants.
fn vowels(word: &str) -> impl Iterator<Item = bool> {
    let mut after_consonant = false;
    word.chars().map(move |letter| {
        let vowel = match letter {
            'a' | 'e' | 'i' | 'o' | 'u' => true,
            'y' => after_consonant,
            _ => false,
        };
        after_consonant = !vowel;
        vowel
    })
}

/// Returns the number of places where a consonant follows a vowel.
fn measure(word: &str) -> usize {
    let mut after_vowel = false;
    vowels(word)
        .filter(|&vowel| {
            let counts = after_vowel && !vowel;
            after_vowel = vowel;
            counts
        })
        .count()
}

fn has_vowel(word: &str) -> bool {
    vowels(word).any(|vowel| vowel)
}

fn ends_with_double_consonant(word: &str) -> bool {
    let mut letters = word.chars().rev();
    letters.next().is_some_and(|last| letters.next() == Some(last))
        && vowels(word).last() == Some(false)
}

/// Returns true after consonant, vowel, consonant other than w, x and y; or for a word of a vowel and a consonant.
fn ends_with_short_syllable(word: &str) -> bool {
    let vowels: Vec<bool> = vowels(word).collect();
    match vowels[..] {
        [true, false] => true,
        [.., false, true, false] => !word.ends_with(['w', 'x', 'y']),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_reference_implementation() {
        let vectors = include_str!("../tests/data/rouge/stems.jsonl");
        for line in vectors.lines() {
            let (word, expected): (String, String) = serde_json::from_str(line).unwrap();
            assert_eq!(stem(&word), expected, "{word}");
        }
    }
}
