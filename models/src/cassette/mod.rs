//! Recorded replies: a file with a line per request and sample, found by the content of the request.

mod file;
mod lock;
mod nearest;
mod record;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::{Path, PathBuf},
    sync::{Condvar, Mutex, PoisonError},
    time::Duration,
};

pub use file::{Found, Tidied, read, tidy};
pub use lock::Waits;
pub use record::{Record, RecordId, StoredMessage, StoredReply};

pub(crate) use record::Identity;

use crate::{
    Cancel, Endpoint, ErrorKind, ModelError, Redactor, Reply, Request, clock::lock,
    parameters::Parameters, request::canonical_sha,
};

/// Interval in which a call that waits for the reply of an equal call looks whether it was cancelled.
const LOOK: Duration = Duration::from_millis(100);

/// Use of a cassette.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The cassette is neither read nor written.
    Off,
    /// Everything is asked; the records of what was asked are replaced.
    Record,
    /// Nothing is asked; what is not recorded is an error.
    Replay,
    /// Recorded replies are replayed; other questions are asked and recorded.
    #[default]
    Auto,
}

impl std::str::FromStr for Mode {
    type Err = ModelError;

    fn from_str(text: &str) -> Result<Self, ModelError> {
        match text {
            "off" => Ok(Self::Off),
            "record" => Ok(Self::Record),
            "replay" => Ok(Self::Replay),
            "auto" => Ok(Self::Auto),
            _ => Err(ModelError::new(
                ErrorKind::Config,
                format!("mode `{text}` is not known; known are off, record, replay, auto"),
            )),
        }
    }
}

/// Recorded replies of a run. See the [crate's documentation](crate#cassettes).
#[derive(Debug)]
pub struct Cassette {
    path: PathBuf,
    mode: Mode,
    stores_text: bool,
    redactor: Redactor,
    waits: Waits,
    state: Mutex<State>,
    answered: Condvar,
}

#[derive(Debug, Default)]
struct State {
    records: BTreeMap<RecordId, Record>,
    /// Records that were replayed or asked in this run.
    used: BTreeSet<RecordId>,
    /// Records that were asked in this run.
    fresh: BTreeSet<RecordId>,
    /// Calls in flight. An equal call waits for them, so that a run has one reply per key and sample.
    asking: BTreeSet<RecordId>,
    /// Records of the file when it was opened, whose replacements must not be appended.
    before: BTreeSet<RecordId>,
    /// Records that note further dropped parameters since the cassette was opened.
    noted: BTreeSet<RecordId>,
    /// Whether a record could not be appended. Further ones would fail in the same way, after a wait for a lock each.
    is_stuck: bool,
    /// Dropped parameters of all records that may be replayed, by the key of the request that had them.
    dropped: HashMap<String, Vec<String>>,
    warnings: Vec<String>,
}

/// Result of looking a request up.
#[derive(Debug)]
pub(crate) enum Claim<'a> {
    Recorded(Recorded),
    Ask(Recording<'a>),
}

/// Reply of a cassette.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) reply: Reply,
    /// Whether an equal call of this run asked for it.
    pub(crate) is_fresh: bool,
}

/// A call whose reply is to be recorded. Dropping it records nothing.
#[derive(Debug)]
pub(crate) struct Recording<'a> {
    cassette: &'a Cassette,
    id: RecordId,
}

impl Cassette {
    /// Reads a cassette. A file that does not exist is empty, except in [`Mode::Replay`].
    ///
    /// # Errors
    ///
    /// The file cannot be read, or a line of it is not a record.
    pub fn open(path: &Path, mode: Mode, redactor: Redactor) -> Result<Self, ModelError> {
        let mut state = State::default();
        if mode != Mode::Off {
            if mode == Mode::Replay && !path.exists() {
                let missing = "the file does not exist; record it first, with the mode `record`";
                return Err(lock::failed(path, missing));
            }
            let found = read(path, true)?;
            (state.records, state.warnings) = (found.records, found.warnings);
            state.before = state.records.keys().cloned().collect();
        }
        if mode != Mode::Record {
            let dropped = state.records.values().flat_map(|record| record.dropped.clone());
            state.dropped = dropped.collect();
        }
        Ok(Self {
            path: path.to_owned(),
            mode,
            stores_text: true,
            redactor,
            waits: Waits::default(),
            state: Mutex::new(state),
            answered: Condvar::new(),
        })
    }

    /// Stores hashes instead of the texts of requests.
    #[must_use]
    pub fn without_text(self) -> Self {
        Self { stores_text: false, ..self }
    }

    /// Reports waits for other processes that write the file.
    #[must_use]
    pub fn reporting(self, waits: Waits) -> Self {
        Self { waits, ..self }
    }

    /// Mode.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Returns a digest of the records, for keys of saved results. To be called before anything is asked.
    ///
    /// # Errors
    ///
    /// The mode is [`Mode::Record`], in which no reply is used again. The message is the reason.
    pub fn identity(&self) -> Result<String, String> {
        if self.mode == Mode::Record {
            return Err("`mode: record` asks every question again".to_owned());
        }
        let state = lock(&self.state);
        let records: Vec<_> = state
            .records
            .iter()
            .map(|((key, sample), record)| (key, sample, &record.dropped, record.digest()))
            .collect();
        Ok(canonical_sha(&records))
    }

    /// Records that were replayed or asked so far, for [`tidy`].
    pub fn used(&self) -> BTreeSet<RecordId> {
        lock(&self.state).used.clone()
    }

    /// Takes the warnings so far: records that contradict each other, secrets that were removed.
    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.state).warnings)
    }

    /// Writes what was recorded, sorted. Does nothing if nothing was asked. A run calls it at its end. Until then the file has
    /// the replies in the order in which they came.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn save(&self) -> Result<(), ModelError> {
        let mut state = lock(&self.state);
        let mut fresh = BTreeMap::new();
        for id in state.fresh.union(&state.noted) {
            if let Some(record) = state.records.get(id) {
                fresh.insert(id.clone(), record.clone());
            }
        }
        if fresh.is_empty() {
            return Ok(());
        }
        let mut warnings = file::add(&self.path, fresh, &self.redactor, &self.waits)?;
        state.warnings.append(&mut warnings);
        Ok(())
    }

    /// Looks a request up.
    ///
    /// # Errors
    ///
    /// The request is not recorded and must not be asked, or the run was cancelled.
    pub(crate) fn claim(
        &self,
        identity: &Identity<'_>,
        cancel: &Cancel,
    ) -> Result<Claim<'_>, ModelError> {
        let mut state = lock(&self.state);
        let id = state.id(identity);
        loop {
            if !state.asking.contains(&id) {
                break;
            }
            if cancel.is_cancelled() {
                return Err(ModelError::new(ErrorKind::Cancelled, "the run was stopped"));
            }
            let waited = self.answered.wait_timeout(state, LOOK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        match self.take(&mut state, &id, identity)? {
            Some(recorded) => Ok(Claim::Recorded(recorded)),
            None => {
                state.asking.insert(id.clone());
                Ok(Claim::Ask(Recording { cassette: self, id }))
            }
        }
    }

    /// Returns the names of the parameters without which the request is recorded; `None` if it is not known that the server
    /// refuses any.
    pub(crate) fn dropped_params(
        &self,
        endpoint: &dyn Endpoint,
        request: &Request,
        params: &Parameters,
    ) -> Option<Vec<String>> {
        let state = lock(&self.state);
        if state.dropped.is_empty() {
            return None;
        }
        let (provider, model) = (endpoint.provider(), endpoint.model());
        let path = record::path(request);
        let key = record::key(provider, model, params.asked(), path, &request.messages);
        state.dropped.get(&key).cloned()
    }

    /// Returns the recorded reply to a request; `None` if it has to be asked for.
    ///
    /// # Errors
    ///
    /// The request is not recorded and must not be asked.
    pub(crate) fn look_up(&self, identity: &Identity<'_>) -> Result<Option<Recorded>, ModelError> {
        let mut state = lock(&self.state);
        let id = state.id(identity);
        if state.asking.contains(&id) {
            return Ok(None);
        }
        self.take(&mut state, &id, identity)
    }

    fn take(
        &self,
        state: &mut State,
        id: &RecordId,
        identity: &Identity<'_>,
    ) -> Result<Option<Recorded>, ModelError> {
        let is_fresh = state.fresh.contains(id);
        if let Some(record) =
            state.records.get(id).filter(|_| self.mode != Mode::Record || is_fresh)
        {
            let reply = record.reply.to_reply();
            state.used.insert(id.clone());
            state.note_dropped(id, identity, self.mode);
            return Ok(Some(Recorded { reply, is_fresh }));
        }
        if self.mode == Mode::Replay || identity.provider == "replay" {
            return Err(nearest::miss(&self.path, &state.records, identity));
        }
        Ok(None)
    }
}

impl State {
    /// Notes at a record that the request had more parameters, so that a replay of that request finds the record.
    fn note_dropped(&mut self, id: &RecordId, identity: &Identity<'_>, mode: Mode) {
        let (Some(key), Some(record)) = (identity.asked_key(), self.records.get_mut(id)) else {
            return;
        };
        let names = identity.params.dropped().to_vec();
        let earlier = record.dropped.insert(key.clone(), names.clone());
        if earlier.as_ref() != Some(&names) && mode != Mode::Replay {
            self.noted.insert(id.clone());
        }
        self.dropped.insert(key, names);
    }

    /// Returns key and sample of a request. The provider `replay` takes the record of any model with the same messages.
    fn id(&self, identity: &Identity<'_>) -> RecordId {
        let id = (identity.key.clone(), identity.request.sample);
        if identity.provider == "replay" {
            let prompt_sha = identity.prompt_sha();
            let is_it = |record: &&Record| record.prompt_sha == prompt_sha && record.sample == id.1;
            if let Some(record) = self.records.values().find(is_it) {
                return (record.key.clone(), id.1);
            }
        }
        id
    }
}

impl Recording<'_> {
    /// Records a final answer. It is appended to the file at once, so that a run that is killed has it, unless the file has
    /// another reply to the same request: [`Cassette::save`] replaces that one.
    pub(crate) fn store(self, identity: &Identity<'_>, reply: &Reply) {
        let Cassette { path, redactor, waits, stores_text, .. } = self.cassette;
        let mut record = Record::new(identity, reply, *stores_text);
        let mut state = lock(&self.cassette.state);
        // Other calls may have left out parameters to make the same request.
        if let Some(earlier) = state.records.get(&self.id) {
            record.dropped.clone_from(&earlier.dropped);
        }
        if let Some(key) = identity.asked_key() {
            record.dropped.insert(key, identity.params.dropped().to_vec());
        }
        state.dropped.extend(record.dropped.clone());
        if !state.before.contains(&self.id) && !state.is_stuck {
            // If that fails, saving the file at the end of the run fails as well, and says so.
            state.is_stuck = file::append(path, &record, redactor, waits).is_err();
        }
        state.records.insert(self.id.clone(), record);
        state.fresh.insert(self.id.clone());
        state.used.insert(self.id.clone());
    }
}

impl Drop for Recording<'_> {
    fn drop(&mut self) {
        lock(&self.cassette.state).asking.remove(&self.id);
        self.cassette.answered.notify_all();
    }
}
