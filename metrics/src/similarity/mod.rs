//! Similarity of two texts by the measures of OpenAI's graders: each gives the score of the library that it names.

mod bleu;
mod cosine;
mod fuzzy_match;
mod gleu;
mod measure;
mod meteor;
mod metric;
mod ngrams;
mod rouge;
mod subsequence;
mod tokens;
mod wordnet;

pub use cosine::{NoCosine, cosine};
pub use measure::{Measure, SIMILARITIES};
pub use metric::{NO_WORDNET, Similarity, read_wordnet};
pub(crate) use ngrams::ngram_f_measure;
pub use tokens::tokens_13a;
pub use wordnet::{WordNet, WordNetError, find_wordnet};

#[cfg(test)]
mod tests;
