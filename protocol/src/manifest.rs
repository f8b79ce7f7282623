//! `evaluator.yaml`: what a folder that holds an evaluator says about it.

use serde::{Deserialize, Serialize};

/// The manifest of an evaluator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Manifest {
    /// Name, as used in `name:` of a configuration.
    pub name: String,
    /// What it scores.
    #[serde(default)]
    pub description: String,
    /// Language: `rust`, `python`, `javascript` or `typescript`.
    #[serde(default)]
    pub language: String,
    /// File that is run, relative to the manifest.
    pub entrypoint: String,
    /// Words to find it by.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Who wrote it.
    #[serde(default)]
    pub author: String,
}
