//! Synonyms of WordNet 3.0, read from its files.

use std::{
    collections::{BTreeSet, HashMap},
    env, fs,
    io::{self, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use foldhash::fast::RandomState;
use sha2::{Digest as _, Sha256};

/// Where systems install WordNet.
const INSTALLED: &str = "/usr/share/wordnet";

/// Version that the measures are defined with.
const VERSION: &str = "WordNet 3.0";

/// Bytes of the beginning and of the end of a file that identify it, with its length.
const SAMPLE: u64 = 16 << 10;

/// Most words whose synonyms are remembered.
const MAX_KNOWN: usize = 200_000;

/// Endings of inflected forms and what replaces them.
type Endings = &'static [(&'static str, &'static str)];

/// Name in file names, and endings, of each part of speech.
const PARTS_OF_SPEECH: [(&str, Endings); 4] = [
    (
        "noun",
        &[
            ("s", ""),
            ("ses", "s"),
            ("ves", "f"),
            ("xes", "x"),
            ("zes", "z"),
            ("ches", "ch"),
            ("shes", "sh"),
            ("men", "man"),
            ("ies", "y"),
        ],
    ),
    (
        "verb",
        &[
            ("s", ""),
            ("ies", "y"),
            ("es", "e"),
            ("es", ""),
            ("ed", "e"),
            ("ed", ""),
            ("ing", "e"),
            ("ing", ""),
        ],
    ),
    ("adj", &[("er", ""), ("est", ""), ("er", "e"), ("est", "e")]),
    ("adv", &[]),
];

/// Reason why WordNet cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WordNetError {
    /// No directory has the files.
    #[error("WordNet is not installed")]
    NotInstalled,
    /// A file cannot be read.
    #[error("cannot read {}: {reason}", path.display())]
    Unreadable {
        /// File.
        path: PathBuf,
        /// Reason.
        reason: String,
    },
    /// A file has other content.
    #[error("{} is not a file of WordNet: {reason}", path.display())]
    Malformed {
        /// File.
        path: PathBuf,
        /// Reason.
        reason: &'static str,
    },
}

/// Finds the directory of WordNet: `chosen`, else the variable `EVALUATOR_WORDNET`, else where systems install it. Returns
/// it with its version if that is not the one of the measures.
///
/// # Errors
///
/// The directory has no `index.noun` of WordNet.
pub fn find_wordnet(chosen: Option<&Path>) -> Result<(PathBuf, Option<String>), WordNetError> {
    let variable = || env::var_os("EVALUATOR_WORDNET").filter(|value| !value.is_empty());
    let directory = match chosen.map(Path::to_owned).or_else(|| variable().map(PathBuf::from)) {
        Some(directory) => directory,
        None if Path::new(INSTALLED).join("index.noun").exists() => PathBuf::from(INSTALLED),
        None => return Err(WordNetError::NotInstalled),
    };
    let path = directory.join("index.noun");
    let mut start = Vec::new();
    let read = fs::File::open(&path).and_then(|file| file.take(4_096).read_to_end(&mut start));
    if let Err(error) = read {
        return Err(WordNetError::Unreadable { path, reason: error.to_string() });
    }
    let licence = String::from_utf8_lossy(&start);
    let Some(name) = licence.find("WordNet ") else {
        return Err(WordNetError::Malformed { path, reason: "it does not begin with its licence" });
    };
    let words: Vec<&str> = licence[name..].split_whitespace().take(2).collect();
    let version = words.join(" ");
    Ok((directory, (version != VERSION).then_some(version)))
}

/// Returns text that identifies the content of a WordNet: a digest of the lengths, beginnings and ends of its files. The
/// directory does not count.
///
/// # Errors
///
/// A file cannot be read.
pub(super) fn identity(directory: &Path) -> io::Result<String> {
    let mut digest = Sha256::new();
    for (name, _) in PARTS_OF_SPEECH {
        for file in files(name) {
            let mut file = fs::File::open(directory.join(file))?;
            let length = file.metadata()?.len();
            digest.update(length.to_le_bytes());
            for start in [0, length.saturating_sub(SAMPLE)] {
                let mut sample = Vec::new();
                file.seek(SeekFrom::Start(start))?;
                (&file).take(SAMPLE).read_to_end(&mut sample)?;
                digest.update(&sample);
            }
        }
    }
    Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Names of the index, the data and the exceptions of a part of speech.
fn files(name: &str) -> [String; 3] {
    [format!("index.{name}"), format!("data.{name}"), format!("{name}.exc")]
}

/// Synonyms of WordNet.
pub struct WordNet {
    parts_of_speech: Vec<PartOfSpeech>,
    /// Synonyms of words that were looked up.
    known: Mutex<HashMap<String, Arc<[String]>, RandomState>>,
}

impl std::fmt::Debug for WordNet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WordNet").finish_non_exhaustive()
    }
}

struct PartOfSpeech {
    endings: Endings,
    /// Positions in `data` of the synsets of each single word.
    index: HashMap<String, Vec<usize>>,
    /// Base forms of irregular forms.
    exceptions: HashMap<String, Vec<String>>,
    /// One line per synset.
    data: String,
}

/// Every WordNet that was read, by its directory.
static SHARED: Mutex<Vec<(PathBuf, Arc<WordNet>)>> = Mutex::new(Vec::new());

impl WordNet {
    /// Returns the WordNet of a directory, which is read once.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load).
    pub(super) fn shared(directory: &Path) -> Result<Arc<Self>, WordNetError> {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, loaded)) = shared.iter().find(|(known, _)| known == directory) {
            return Ok(Arc::clone(loaded));
        }
        let loaded = Arc::new(Self::load(directory)?);
        shared.push((directory.to_owned(), Arc::clone(&loaded)));
        Ok(loaded)
    }

    /// Reads the files of a directory, 28 MB.
    ///
    /// # Errors
    ///
    /// A file cannot be read, or its parts do not fit together.
    pub fn load(directory: &Path) -> Result<Self, WordNetError> {
        let parts_of_speech = PARTS_OF_SPEECH
            .iter()
            .map(|(name, endings)| PartOfSpeech::load(directory, name, endings))
            .collect::<Result<_, _>>()?;
        Ok(Self { parts_of_speech, known: Mutex::default() })
    }

    /// Returns the words that share a meaning with a form of `word`, in the case of WordNet.
    pub(super) fn synonyms(&self, word: &str) -> Arc<[String]> {
        if let Some(known) = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(word) {
            return Arc::clone(known);
        }
        let lemmas = self.parts_of_speech.iter().flat_map(|part| part.synonyms(word));
        let lemmas: BTreeSet<&str> = lemmas.collect();
        let lemmas: Arc<[String]> = lemmas.into_iter().map(str::to_owned).collect();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() < MAX_KNOWN {
            known.insert(word.to_owned(), Arc::clone(&lemmas));
        }
        lemmas
    }
}

impl PartOfSpeech {
    fn load(directory: &Path, name: &str, endings: Endings) -> Result<Self, WordNetError> {
        let read = |file: String| {
            let path = directory.join(file);
            match fs::read_to_string(&path) {
                Ok(text) => Ok((path, text)),
                Err(error) => Err(WordNetError::Unreadable { path, reason: error.to_string() }),
            }
        };
        let [(path, index), (_, data), (_, exceptions)] = {
            let [index, data, exceptions] = files(name);
            [read(index)?, read(data)?, read(exceptions)?]
        };
        let is_synset = |offset: &str| {
            let position = offset.parse().ok()?;
            data.get(position..)?.starts_with(offset).then_some(position)
        };
        let mut positions = HashMap::new();
        // Lines of the licence begin with a space.
        for line in index.lines().filter(|line| !line.starts_with(' ')) {
            let Some((word, offsets)) = synset_offsets(line) else {
                return Err(WordNetError::Malformed {
                    path,
                    reason: "it has a line without synsets",
                });
            };
            let synsets: Option<Vec<usize>> = offsets.into_iter().map(is_synset).collect();
            let Some(synsets) = synsets else {
                return Err(WordNetError::Malformed {
                    path,
                    reason: "it names a synset that is not there",
                });
            };
            if !word.contains('_') {
                positions.insert(word.to_owned(), synsets);
            }
        }
        let exceptions = exceptions.lines().filter_map(|line| {
            let mut words = line.split_whitespace().map(str::to_owned);
            Some((words.next()?, words.collect()))
        });
        Ok(Self { endings, index: positions, exceptions: exceptions.collect(), data })
    }

    /// Returns all single words of all synsets of all forms of `word`.
    fn synonyms<'s>(&'s self, word: &'s str) -> impl Iterator<Item = &'s str> {
        let regular =
            |(ending, by): &(&str, &str)| Some(word.strip_suffix(ending)?.to_owned() + by);
        let forms: Vec<String> = match self.exceptions.get(word) {
            Some(forms) => forms.clone(),
            None => self.endings.iter().filter_map(regular).collect(),
        };
        let synsets = [word.to_owned()].into_iter().chain(forms);
        let synsets = synsets.filter_map(|form| self.index.get(&form)).flatten();
        synsets.flat_map(|synset| lemmas(&self.data[*synset..]))
    }
}

/// Returns the word of a line of an index, and the numbers of its synsets:
/// `WORD POS SYNSETS POINTERS [POINTER ..] SENSES TAGGED [OFFSET ..]`.
fn synset_offsets(line: &str) -> Option<(&str, Vec<&str>)> {
    let mut fields = line.split_whitespace();
    let word = fields.next()?;
    let synsets: usize = fields.nth(1)?.parse().ok()?;
    let pointers: usize = fields.next()?.parse().ok()?;
    let offsets: Vec<&str> = fields.skip(pointers).skip(2).collect();
    (offsets.len() == synsets && synsets > 0).then_some((word, offsets))
}

/// Returns the single words of the synset at the start of the text: `OFFSET FILE TYPE WORDS [WORD ID ..] ..`. Markers of
/// where an adjective may stand are not part of its word.
fn lemmas(synset: &str) -> impl Iterator<Item = &str> {
    let mut fields = synset.split(' ').skip(3);
    let count = fields.next().and_then(|count| usize::from_str_radix(count, 16).ok()).unwrap_or(0);
    let words = fields.step_by(2).take(count);
    words.filter(|word| !word.contains('_')).map(|word| {
        ["(a)", "(p)", "(ip)"].iter().find_map(|marker| word.strip_suffix(marker)).unwrap_or(word)
    })
}
