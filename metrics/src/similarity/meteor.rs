//! `meteor`: words matched by form, stem and meaning, `single_meteor_score` of nltk.

use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use foldhash::fast::RandomState;

use super::{
    ngrams::ratio,
    tokens::{spaced, split},
    wordnet::{WordNet, WordNetError, identity},
};
use crate::stem::stem;

/// Where synonyms come from.
#[derive(Clone, Debug, Default)]
pub(super) struct Synonyms {
    /// Directory of WordNet; words have no synonyms if `None`.
    directory: Option<PathBuf>,
    loaded: OnceLock<Result<Arc<WordNet>, WordNetError>>,
}

impl Synonyms {
    /// Takes synonyms from a directory, which is read when the first texts are compared.
    pub(super) fn of(directory: PathBuf) -> Self {
        Self { directory: Some(directory), loaded: OnceLock::new() }
    }

    /// Returns text that identifies the content of the directory; `None` if it cannot be read.
    pub(super) fn identity(&self) -> Option<String> {
        self.directory.as_deref().map_or_else(|| Some(String::new()), |it| identity(it).ok())
    }

    pub(super) fn load(&self) -> Result<Option<&WordNet>, WordNetError> {
        let Some(directory) = &self.directory else { return Ok(None) };
        match self.loaded.get_or_init(|| WordNet::shared(directory)) {
            Ok(wordnet) => Ok(Some(wordnet)),
            Err(error) => Err(error.clone()),
        }
    }
}

/// Returns the score of two texts.
pub(super) fn meteor(candidate: &str, reference: &str, wordnet: Option<&WordNet>) -> f64 {
    let words =
        |text: &str| -> Open { split(&spaced(text)).map(str::to_lowercase).enumerate().collect() };
    let (candidate, reference) = (words(candidate), words(reference));
    let lengths = (candidate.len(), reference.len());
    let matches = matches(candidate, reference, wordnet);
    if matches.is_empty() {
        return 0.0;
    }
    let precision = ratio(matches.len(), lengths.0);
    let recall = ratio(matches.len(), lengths.1);
    let mean = precision * recall / (0.9 * precision + (1.0 - 0.9) * recall);
    let is_gap = |pair: &&[(usize, usize)]| match pair {
        [before, after] => (before.0 + 1, before.1 + 1) != *after,
        _ => false,
    };
    let chunks = 1 + matches.windows(2).filter(is_gap).count();
    mean * order_factor(chunks, matches.len())
}

/// Returns the factor for matches in so many chunks: less than 1 also for one chunk.
pub(super) fn order_factor(chunks: usize, matches: usize) -> f64 {
    let share = ratio(chunks, matches);
    1.0 - 0.5 * share * share * share
}

/// Words that no stage has matched so far, with their positions in ascending order.
type Open = Vec<(usize, String)>;

/// Open positions of each word in ascending order.
type Positions<'r> = HashMap<&'r str, Vec<usize>, RandomState>;

/// Returns the positions of matched words, in the order of the candidate.
fn matches(candidate: Open, reference: Open, wordnet: Option<&WordNet>) -> Vec<(usize, usize)> {
    let stems = |words: Open| -> Open {
        words.into_iter().map(|(position, word)| (position, stem(&word))).collect()
    };
    let same = |word: &str, open: &mut Positions<'_>| open.get_mut(word)?.pop();
    let mut matched = Vec::new();
    let (candidate, reference) = stage(candidate, reference, same, &mut matched);
    let (candidate, reference) = stage(stems(candidate), stems(reference), same, &mut matched);
    // The meaning of a stem is looked up, as nltk does: `large` is `larg` here, which has no synonyms.
    if let Some(wordnet) = wordnet {
        let synonym = |word: &str, open: &mut Positions<'_>| {
            let synonyms = wordnet.synonyms(word);
            let last = |word: &String| open.get(word.as_str())?.last().copied();
            let (_, word) = synonyms.iter().filter_map(|word| Some((last(word)?, word))).max()?;
            open.get_mut(word.as_str())?.pop()
        };
        stage(candidate, reference, synonym, &mut matched);
    }
    matched.sort_unstable();
    matched
}

/// Matches words from the last to the first of the candidate, each with the last open position that is acceptable; `take`
/// removes and returns it. Returns the words that remain.
fn stage(
    candidate: Open,
    reference: Open,
    take: impl Fn(&str, &mut Positions<'_>) -> Option<usize>,
    matched: &mut Vec<(usize, usize)>,
) -> (Open, Open) {
    let mut open = Positions::default();
    for (position, word) in &reference {
        open.entry(word).or_default().push(*position);
    }
    let mut remaining = Open::new();
    for (position, word) in candidate.into_iter().rev() {
        match take(&word, &mut open) {
            Some(other) => matched.push((position, other)),
            None => remaining.push((position, word)),
        }
    }
    remaining.reverse();
    let still_open: HashSet<usize> = open.into_values().flatten().collect();
    let reference = reference.into_iter().filter(|(position, _)| still_open.contains(position));
    (remaining, reference.collect())
}
