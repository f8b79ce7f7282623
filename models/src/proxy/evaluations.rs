//! Evaluations whose programs may ask, and their calls.

use std::sync::{Arc, Mutex};

use subtle::ConstantTimeEq as _;
use tokio::{sync::watch, task::spawn_blocking, time::timeout};

use super::{
    access::{Account, Made, Offer, Reserved},
    fault::{Cause, Fault},
    token::Tokens,
};
use crate::{Answer, Request, clock::lock};

/// Evaluation whose requests a listener serves.
#[derive(Debug)]
pub(super) struct Evaluation {
    pub(super) offer: Arc<Offer>,
    pub(super) token: String,
    pub(super) account: Arc<Account>,
    /// Its sender is dropped when the evaluation ends.
    pub(super) open: watch::Receiver<()>,
}

/// All evaluations that a listener serves.
#[derive(Debug)]
pub(super) struct Evaluations {
    tokens: Arc<Tokens>,
    registered: Mutex<Registered>,
}

#[derive(Debug, Default)]
struct Registered {
    evaluations: Vec<Arc<Evaluation>>,
    /// Tokens of earlier evaluations, each with the one that took it over. They count before the own ones.
    inherited: Vec<(String, Arc<Evaluation>)>,
}

impl Evaluations {
    /// Creates a list without evaluations. `tokens` gives their tokens.
    pub(super) fn new(tokens: Arc<Tokens>) -> Self {
        Self { tokens, registered: Mutex::default() }
    }

    pub(super) fn add(&self, evaluation: Arc<Evaluation>) {
        lock(&self.registered).evaluations.push(evaluation);
    }

    pub(super) fn remove(&self, token: &str) {
        let mut registered = lock(&self.registered);
        registered.evaluations.retain(|evaluation| evaluation.token != token);
        registered.inherited.retain(|(_, heir)| heir.token != token);
    }

    /// Lets a token stand for this evaluation instead of an earlier one, until it ends or another one takes it over: the clients of a
    /// process that evaluates one document after the other may keep the token that they began with.
    pub(super) fn inherit(&self, heir: &Arc<Evaluation>, token: &str) -> Result<(), Fault> {
        if !self.tokens.has_issued(token.as_bytes()) {
            return Err(Fault::bad("`token` is none that was given here"));
        }
        let mut registered = lock(&self.registered);
        registered.inherited.retain(|(known, _)| !is_same(known, token.as_bytes()));
        registered.inherited.push((token.to_owned(), Arc::clone(heir)));
        Ok(())
    }

    /// Returns the evaluation of one of these tokens, if it has not ended.
    pub(super) fn admit<'t>(
        &self,
        tokens: impl Iterator<Item = &'t [u8]> + Clone,
    ) -> Result<Arc<Evaluation>, Fault> {
        let registered = lock(&self.registered);
        let opens = |known: &str| tokens.clone().any(|token| is_same(known, token));
        let mut heirs = registered.inherited.iter();
        let heir = heirs.find_map(|(token, heir)| opens(token).then_some(heir));
        let own = || registered.evaluations.iter().find(|evaluation| opens(&evaluation.token));
        let evaluation = heir.or_else(own).ok_or_else(|| {
            let is_old = tokens.clone().any(|token| self.tokens.has_issued(token));
            Fault::new(if is_old { Cause::Expired } else { Cause::NoToken }, "Unauthorized")
        })?;
        if evaluation.account.is_closed() {
            Err(Fault::ended())
        } else {
            Ok(Arc::clone(evaluation))
        }
    }
}

/// Compares tokens. The duration does not depend on what is sent.
fn is_same(known: &str, sent: &[u8]) -> bool {
    sent.ct_eq(known.as_bytes()).into()
}

impl Evaluation {
    /// Returns when the evaluation has ended.
    pub(super) async fn closed(&self) {
        // Nothing is ever sent: it ends with the sender.
        while self.open.clone().changed().await.is_ok() {}
    }

    /// Counts a request that is not accepted.
    pub(super) fn refused(&self, fault: Fault) -> Fault {
        self.account.refuse(&fault.message);
        fault
    }

    /// Returns the fault of a request beyond the limit of calls.
    pub(super) fn used_up(&self) -> Fault {
        let message = format!("Max calls exceeded (limit: {})", self.offer.max_calls);
        Fault::new(Cause::UsedUp, message)
    }

    /// Asks a model, which uses a reserved call. An answer that cannot be read is a failure.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        reserved: &mut Reserved<'_>,
        (model, request): (usize, Request),
        read: impl FnOnce(&Answer) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let made = Arc::new(reserved.use_one());
        let (offer, account) = (Arc::clone(&self.offer), Arc::clone(&self.account));
        let (limit, asked) = (offer.call_limit, Arc::clone(&made));
        // The end of a call counts even if the client does not wait for it.
        let call = spawn_blocking(move || call(&offer, &account, &asked, (model, request), read));
        let fault = match timeout(limit, call).await {
            Ok(Ok(result)) => return result,
            Ok(Err(error)) => Fault::new(Cause::Unreadable, error.to_string()),
            Err(_) => {
                let message = format!("the model did not answer within {} s", limit.as_secs_f64());
                Fault::new(Cause::Late, message)
            }
        };
        self.account.give_up(&made, &fault);
        Err(fault)
    }
}

/// Makes a call, and counts its end.
fn call<T>(
    offer: &Offer,
    account: &Account,
    made: &Made,
    (model, mut request): (usize, Request),
    read: impl FnOnce(&Answer) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let model_asked = &offer.models[model].1;
    let sample = account.sample(model, request.digest());
    request.sample = sample;
    request.metric = Some(offer.evaluator.clone());
    request.location = format!("{}, a call through the target proxy", offer.evaluator);
    let result = model_asked.ask(request, offer.call_limit);
    let answered = match &result {
        Ok(answer) => read(answer),
        Err(error) => Err(Fault::from(error)),
    };
    let fault = answered.as_ref().err();
    account.finish(made, model_asked.label(), (result.as_ref().ok(), sample), fault);
    answered
}
