//! State that the connections of a session share: the broker, entries to its queues, and counts.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use evaluator_models::{Answer, Broker, Cancel, Concurrency, Endpoint, Limits, ModelError};
use tokio::sync::{Mutex as AsyncMutex, Semaphore};

use crate::usage::CallUsage;

/// State that the connections of a session share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) broker: Broker,
    gates: Mutex<HashMap<String, Arc<Gate>>>,
    counted: Mutex<Counted>,
    /// Held by the evaluation whose calls are next, for models whose replies belong to the calls by their order.
    pub(crate) turn: AsyncMutex<()>,
}

/// Sums over calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counted {
    pub(crate) usage: CallUsage,
    /// Other models that servers say they used, by the name of the model that was asked.
    pub(crate) reported: BTreeMap<String, BTreeSet<String>>,
    /// Parameters that were dropped, by the name of the model.
    pub(crate) dropped: BTreeMap<String, BTreeSet<String>>,
}

/// Entry to the queue of a server: as many calls as may be in flight have a thread.
#[derive(Debug)]
pub(crate) struct Gate {
    pub(crate) places: Arc<Semaphore>,
    max: Mutex<usize>,
}

/// Locks a mutex. What it guards is consistent at every step, so a panic of another thread does not matter.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub(crate) fn new(cancel: Cancel) -> Self {
        Self {
            broker: Broker::new(Limits::default()).cancelled_by(cancel),
            gates: Mutex::default(),
            counted: Mutex::default(),
            turn: AsyncMutex::default(),
        }
    }

    /// Returns the entry to the queue of an endpoint. The smallest limit counts.
    pub(crate) fn gate(&self, endpoint: &dyn Endpoint, limits: Concurrency) -> Arc<Gate> {
        let max = if endpoint.is_ordered() { 1 } else { limits.max };
        let concurrency = Concurrency { max, ..limits };
        self.broker.limit(endpoint, &concurrency);
        let most = max.clamp(1, Semaphore::MAX_PERMITS);
        let mut gates = lock(&self.gates);
        let gate = gates.entry(endpoint.queue()).or_insert_with(|| {
            Arc::new(Gate { places: Arc::new(Semaphore::new(most)), max: Mutex::new(most) })
        });
        let mut max = lock(&gate.max);
        if most < *max {
            gate.places.forget_permits(max.saturating_sub(most));
            *max = most;
        }
        Arc::clone(gate)
    }

    /// Returns the maximum number of calls that may be in flight at the same time.
    pub(crate) fn concurrency(&self) -> usize {
        let gates = lock(&self.gates);
        gates.values().map(|gate| *lock(&gate.max)).fold(0, usize::saturating_add)
    }

    /// Counts the result of a call.
    pub(crate) fn count(&self, endpoint: &dyn Endpoint, result: &Result<Answer, ModelError>) {
        let mut counted = lock(&self.counted);
        counted.usage.add(result);
        let Ok(answer) = result else { return };
        let model = || format!("{}/{}", endpoint.provider(), endpoint.model());
        if !answer.dropped_params.is_empty() {
            let dropped = counted.dropped.entry(model()).or_default();
            dropped.extend(answer.dropped_params.iter().cloned());
        }
        // The rule of the broker: an extension of the name is the same model.
        if let (Some(reported), false) = (&answer.reply.model_reported, answer.warnings.is_empty())
        {
            counted.reported.entry(model()).or_default().insert(reported.clone());
        }
    }

    /// Returns the sums so far.
    pub(crate) fn counted(&self) -> Counted {
        lock(&self.counted).clone()
    }
}
