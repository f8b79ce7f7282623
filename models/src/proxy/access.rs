//! Models that one evaluation may ask, and its calls.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use rust_decimal::Decimal;

use super::{fault::Fault, model::ProxiedModel};
use crate::{Answer, RecordId, Usage, clock::lock};

/// Models that an evaluation may ask, and how often.
#[derive(Clone, Debug)]
pub struct Offer {
    /// Models by name. The first one answers requests that name none.
    pub models: Vec<(String, Arc<dyn ProxiedModel>)>,
    /// Maximum number of calls of an evaluation.
    pub max_calls: u64,
    /// Time limit of a call, with its waits and repetitions.
    pub call_limit: Duration,
    /// Evaluator that asks, for recordings and error messages.
    pub evaluator: String,
}

impl Offer {
    /// Maximum number of calls of an evaluation by default, which is AgentV's.
    pub const MAX_CALLS: u64 = 50;

    /// Time limit of a call by default: that of the SDK's client.
    pub const CALL_LIMIT: Duration = Duration::from_secs(100);

    /// Creates an offer with the default limits.
    pub fn new(evaluator: impl Into<String>, models: Vec<(String, Arc<dyn ProxiedModel>)>) -> Self {
        let evaluator = evaluator.into();
        Self { models, max_calls: Self::MAX_CALLS, call_limit: Self::CALL_LIMIT, evaluator }
    }

    /// Returns the position of the model of that name; the first one without a name.
    pub(super) fn find(&self, name: Option<&str>) -> Option<usize> {
        match name {
            Some(name) => self.models.iter().position(|(known, _)| known == name),
            None => (!self.models.is_empty()).then_some(0),
        }
    }

    /// Returns the position of the model of that name, else of the model that is offered under another name.
    pub(super) fn find_model(&self, name: &str) -> Option<usize> {
        let is_label = |label: &str| {
            label == name || label.split_once('/').is_some_and(|(_, model)| model == name)
        };
        let by_label = || self.models.iter().position(|(_, model)| is_label(&model.label()));
        self.find(Some(name)).or_else(by_label)
    }

    pub(super) fn names(&self) -> Vec<&str> {
        self.models.iter().map(|(name, _)| &**name).collect()
    }
}

/// Calls of one evaluation through its proxy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProxyUsage {
    /// Calls, also those that failed.
    pub calls: u64,
    /// Maximum number of calls.
    pub max_calls: u64,
    /// Calls without an answer.
    pub failed: u64,
    /// Calls that were not answered when the evaluation ended.
    pub unfinished: u64,
    /// Requests that were not accepted: beyond the limit of calls, not readable, or for an unknown model.
    pub refused: u64,
    /// Message of the first failed call or request.
    pub first_error: Option<String>,
    /// Tokens of all answers that state them.
    pub tokens: Usage,
    /// Cost of all answers, if their models have prices.
    pub cost: Option<Decimal>,
    /// Models that were asked, as provider and model, sorted.
    pub models: Vec<String>,
    /// Message of the first call that a cassette has no reply to and that must not be asked. What the program makes of it is no
    /// result.
    pub not_recorded: Option<String>,
    /// Recordings of the answers, whether a cassette is used or not.
    pub recordings: BTreeSet<RecordId>,
}

impl ProxyUsage {
    /// Adds what another attempt of the same evaluation asked.
    #[must_use]
    pub fn and(mut self, later: Self) -> Self {
        self.calls = self.calls.saturating_add(later.calls);
        self.max_calls = later.max_calls;
        self.failed = self.failed.saturating_add(later.failed);
        self.unfinished = self.unfinished.saturating_add(later.unfinished);
        self.refused = self.refused.saturating_add(later.refused);
        self.first_error = self.first_error.or(later.first_error);
        // An answer of a later attempt needs no reply that an earlier one missed.
        self.not_recorded = later.not_recorded;
        self.tokens.add(&later.tokens);
        self.add_cost(later.cost);
        for model in later.models {
            self.add_model(model);
        }
        self.recordings.extend(later.recordings);
        self
    }

    /// Returns the warning about failed calls, which the program may have ignored; `None` if there are none.
    pub fn warning(&self) -> Option<String> {
        let counted =
            |count: u64, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
        let verb = |count: u64| if count == 1 { "was" } else { "were" };
        let (calls, requests) =
            (counted(self.unfinished, "model call"), counted(self.refused, "request"));
        let parts: Vec<String> = [
            (
                self.failed,
                format!("{} of {} failed", self.failed, counted(self.calls, "model call")),
            ),
            (
                self.unfinished,
                format!("{calls} {} still unanswered at its end", verb(self.unfinished)),
            ),
            (self.refused, format!("{requests} to its models {} refused", verb(self.refused))),
        ]
        .into_iter()
        .filter_map(|(count, text)| (count > 0).then_some(text))
        .collect();
        let first = self.first_error.as_ref().map(|error| format!(" (first: {error})"));
        (!parts.is_empty()).then(|| parts.join(", ") + &first.unwrap_or_default())
    }

    fn add_cost(&mut self, cost: Option<Decimal>) {
        if let Some(cost) = cost {
            self.cost = Some(self.cost.unwrap_or_default().saturating_add(cost));
        }
    }

    fn add_model(&mut self, model: String) {
        // The order of answers may differ between runs.
        if let Err(place) = self.models.binary_search(&model) {
            self.models.insert(place, model);
        }
    }
}

/// The calls of one evaluation.
#[derive(Debug)]
pub(super) struct Account(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    usage: ProxyUsage,
    /// Calls that batches in progress may still make.
    reserved: u64,
    is_closed: bool,
    /// Number of the first sample.
    first_sample: u32,
    /// Next sample of equal requests, by model and digest: each is a sample of its own.
    samples: HashMap<(usize, String), u32>,
}

/// A call that was made.
#[derive(Debug, Default)]
pub(super) struct Made {
    has_ended: AtomicBool,
}

impl Made {
    /// Counts the end of the call, once.
    fn end(&self, usage: &mut ProxyUsage, fault: Option<&Fault>) {
        if self.has_ended.swap(true, Ordering::Relaxed) {
            return;
        }
        usage.unfinished = usage.unfinished.saturating_sub(1);
        if let Some(fault) = fault {
            usage.failed = usage.failed.saturating_add(1);
            usage.first_error.get_or_insert_with(|| fault.message.clone());
            if fault.is_not_recorded() {
                usage.not_recorded.get_or_insert_with(|| fault.message.clone());
            }
        }
    }
}

/// There are fewer calls left than requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UsedUp {
    /// Calls that are made or reserved.
    pub(super) current: u64,
}

impl Account {
    pub(super) fn new(max_calls: u64) -> Self {
        let usage = ProxyUsage { max_calls, ..ProxyUsage::default() };
        Self(Mutex::new(State { usage, ..State::default() }))
    }

    /// Returns the number of calls.
    pub(super) fn calls(&self) -> u64 {
        lock(&self.0).usage.calls
    }

    /// Returns an error if no call is left. Nothing is reserved.
    pub(super) fn check(&self) -> Result<(), UsedUp> {
        let state = lock(&self.0);
        let current = state.current();
        if current < state.usage.max_calls { Ok(()) } else { Err(UsedUp { current }) }
    }

    /// Reserves calls, all of them or none.
    pub(super) fn reserve(&self, calls: u64) -> Result<Reserved<'_>, UsedUp> {
        let mut state = lock(&self.0);
        let current = state.current();
        match current.checked_add(calls) {
            Some(sum) if sum <= state.usage.max_calls || calls == 0 => {
                state.reserved = state.reserved.saturating_add(calls);
                Ok(Reserved { account: self, calls })
            }
            _ => Err(UsedUp { current }),
        }
    }

    /// Counts a request that was not accepted.
    pub(super) fn refuse(&self, message: &str) {
        let mut state = lock(&self.0);
        state.usage.refused = state.usage.refused.saturating_add(1);
        state.usage.first_error.get_or_insert_with(|| message.to_owned());
    }

    /// Sets the number of the first sample of all questions, before any is asked.
    pub(super) fn count_samples_from(&self, first: u32) {
        lock(&self.0).first_sample = first;
    }

    /// Returns the sample of a call: the number of earlier calls with the same request, from the first sample on. Counts the call.
    pub(super) fn sample(&self, model: usize, digest: String) -> u32 {
        let mut state = lock(&self.0);
        let first = state.first_sample;
        let next = state.samples.entry((model, digest)).or_insert(first);
        let sample = *next;
        *next = next.saturating_add(1);
        sample
    }

    /// Counts the end of a call. Results after the evaluation are not counted: its report may be written already. The tokens
    /// of a call that was given up count, its end does not again.
    pub(super) fn finish(
        &self,
        made: &Made,
        model: String,
        (answer, sample): (Option<&Answer>, u32),
        fault: Option<&Fault>,
    ) {
        let mut state = lock(&self.0);
        if state.is_closed {
            return;
        }
        let usage = &mut state.usage;
        usage.add_model(model);
        if let Some(answer) = answer {
            usage.tokens.add(&answer.reply.usage.unwrap_or_default());
            usage.add_cost(answer.cost);
            usage.recordings.extend(answer.key.clone().map(|key| (key, sample)));
        }
        made.end(usage, fault);
    }

    /// Counts a call as failed whose answer is not awaited any more.
    pub(super) fn give_up(&self, made: &Made, fault: &Fault) {
        let mut state = lock(&self.0);
        if !state.is_closed {
            made.end(&mut state.usage, Some(fault));
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        lock(&self.0).is_closed
    }

    /// Ends the account and returns what it counted.
    pub(super) fn close(&self) -> ProxyUsage {
        let mut state = lock(&self.0);
        state.is_closed = true;
        state.samples.clear();
        state.usage.clone()
    }
}

impl State {
    fn current(&self) -> u64 {
        self.usage.calls.saturating_add(self.reserved)
    }
}

/// Reserved calls. Those that are not used are given back when it is dropped.
#[derive(Debug)]
pub(super) struct Reserved<'a> {
    account: &'a Account,
    calls: u64,
}

impl Reserved<'_> {
    /// Counts one of the calls as made.
    pub(super) fn use_one(&mut self) -> Made {
        let used = self.calls.min(1);
        self.calls = self.calls.saturating_sub(used);
        let mut state = lock(&self.account.0);
        state.reserved = state.reserved.saturating_sub(used);
        state.usage.calls = state.usage.calls.saturating_add(used);
        state.usage.unfinished = state.usage.unfinished.saturating_add(used);
        Made::default()
    }

    /// Gives a call back that is not made.
    pub(super) fn give_back(&mut self, calls: u64) {
        let calls = calls.min(self.calls);
        self.calls = self.calls.saturating_sub(calls);
        let mut state = lock(&self.account.0);
        state.reserved = state.reserved.saturating_sub(calls);
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        self.give_back(self.calls);
    }
}
