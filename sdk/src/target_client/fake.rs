//! A target for tests, without a proxy.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{
    client::{Info, Reply, Request, TargetClient},
    error::TargetError,
};

type Answer = Result<Reply, TargetError>;
type Otherwise = Arc<dyn Fn(&Request) -> Answer + Send + Sync>;

/// A target with scripted answers that records its requests: see
/// [`testing::target`](crate::testing::target).
///
/// Answers are given in the order in which they were added; after them [`otherwise`](FakeTarget::otherwise) decides. Like a
/// proxy, it counts calls, enforces their limit, refuses empty questions, and fails with texts that begin with `Error: `.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct FakeTarget {
    script: Arc<Script>,
}

/// State that a fake target shares with its clients.
#[derive(Default)]
pub(super) struct Script {
    state: Mutex<State>,
}

struct State {
    answers: VecDeque<Answer>,
    otherwise: Option<Otherwise>,
    requests: Vec<Request>,
    max_calls: u64,
    call_count: u64,
    broken: Option<TargetError>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            answers: VecDeque::new(),
            otherwise: None,
            requests: Vec::new(),
            // The default of hosts.
            max_calls: 50,
            call_count: 0,
            broken: None,
        }
    }
}

impl FakeTarget {
    /// Creates a target without scripted answers.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds an answer with this text.
    pub fn answer(self, text: impl Into<String>) -> Self {
        self.reply(Reply::new(text))
    }

    /// Adds an answer.
    pub fn reply(self, reply: Reply) -> Self {
        self.script.state().answers.push_back(Ok(reply));
        self
    }

    /// Adds an answer that is an error of this one call, such as [`TargetError::ProviderFailed`].
    pub fn fail(self, error: TargetError) -> Self {
        self.script.state().answers.push_back(Err(error));
        self
    }

    /// Sets the answer to the requests after the scripted ones.
    pub fn otherwise(
        self,
        answer: impl Fn(&Request) -> Result<Reply, TargetError> + Send + Sync + 'static,
    ) -> Self {
        self.script.state().otherwise = Some(Arc::new(answer));
        self
    }

    /// Sets how many calls are granted; 50 by default, as by hosts.
    pub fn max_calls(self, limit: u64) -> Self {
        self.script.state().max_calls = limit;
        self
    }

    /// Makes every request fail with this error, as with a proxy that is unreachable.
    pub fn broken(self, error: TargetError) -> Self {
        self.script.state().broken = Some(error);
        self
    }

    /// Returns a client of it.
    pub fn client(&self) -> TargetClient {
        TargetClient::of_script(Arc::clone(&self.script))
    }

    /// Returns the requests so far, in order. The requests of a batch are listed one by one.
    pub fn requests(&self) -> Vec<Request> {
        self.script.state().requests.clone()
    }
}

impl Script {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics halfway through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn info(&self) -> Result<Info, TargetError> {
        let state = self.state();
        state.broken.clone().map_or(Ok(()), Err)?;
        Ok(Info {
            target_name: "fake".to_owned(),
            max_calls: state.max_calls,
            call_count: state.call_count,
            available_targets: vec!["fake".to_owned()],
        })
    }

    pub(super) fn invoke(&self, request: Request) -> Answer {
        self.state().admit(1)?;
        self.answer(request)
    }

    pub(super) fn invoke_batch(&self, requests: Vec<Request>) -> Result<Vec<Answer>, TargetError> {
        self.state().admit(requests.len() as u64)?;
        Ok(requests.into_iter().map(|request| self.answer(request)).collect())
    }

    fn answer(&self, request: Request) -> Answer {
        // The guard is dropped before anything panics, or a callback that inspects the requests is called.
        let next = self.state().next(&request);
        let answer = match next {
            (Some(answer), _) => answer,
            (None, Some(otherwise)) => otherwise(&request),
            // An error would be one that the evaluator under test may handle, and the mistake is in the test.
            (None, None) => panic!(
                "this target has no answer left for `{}`: give it one more, or `otherwise`",
                request.question
            ),
        };
        answer.and_then(Reply::checked)
    }
}

impl State {
    fn admit(&self, calls: u64) -> Result<(), TargetError> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        let limit = self.max_calls;
        if self.call_count.saturating_add(calls) > limit {
            let message = format!("Max calls exceeded (limit: {limit})");
            return Err(TargetError::BudgetExhausted { limit: Some(limit), message });
        }
        Ok(())
    }

    /// Returns the scripted answer to a request, if any is left, and what answers otherwise.
    fn next(&mut self, request: &Request) -> (Option<Answer>, Option<Otherwise>) {
        self.requests.push(request.clone());
        if request.question.is_empty() {
            let message = "Missing required field: question".to_owned();
            return (Some(Err(TargetError::InvalidRequest { message })), None);
        }
        self.call_count += 1;
        (self.answers.pop_front(), self.otherwise.clone())
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("Script")
            .field("answers", &state.answers)
            .field("requests", &state.requests)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_in_order_and_then_otherwise() {
        let target = FakeTarget::new()
            .answer("one")
            .fail(TargetError::ShuttingDown)
            .otherwise(|request| Ok(Reply::new(request.question.to_uppercase())));
        let client = target.client();
        assert_eq!(client.invoke("a").unwrap().text(), Ok("one"));
        assert_eq!(client.invoke("b"), Err(TargetError::ShuttingDown));
        let last = client.invoke(Request::new("c").system_prompt("s")).unwrap();
        assert_eq!(last.text(), Ok("C"));
        let asked: Vec<String> =
            target.requests().into_iter().map(|request| request.question).collect();
        assert_eq!(asked, ["a", "b", "c"]);
        assert_eq!(target.requests()[2].system_prompt.as_deref(), Some("s"));
    }

    #[test]
    fn the_limit_is_that_of_a_proxy() {
        let target = FakeTarget::new().answer("a").answer("b").max_calls(3);
        let client = target.client();
        let replies = client.invoke_batch(["x", "", "y"]).unwrap();
        assert!(matches!(replies[1], Err(TargetError::InvalidRequest { .. })));
        assert_eq!(client.info().unwrap().remaining_calls(), 1);
        let exhausted =
            |error| matches!(error, TargetError::BudgetExhausted { limit: Some(3), .. });
        assert!(exhausted(client.invoke_batch(["x", "y"]).unwrap_err()));
        assert_eq!(target.requests().len(), 3);
    }

    #[test]
    fn a_text_that_says_so_is_an_error() {
        let client = FakeTarget::new().answer("Error: boom").client();
        let failed = TargetError::ProviderFailed { message: "boom".to_owned() };
        assert_eq!(client.invoke("a"), Err(failed));
    }

    #[test]
    fn a_broken_one_answers_nothing() {
        let client = FakeTarget::new().answer("a").broken(TargetError::Unauthorized).client();
        assert_eq!(client.info(), Err(TargetError::Unauthorized));
        assert_eq!(client.invoke("a"), Err(TargetError::Unauthorized));
        assert_eq!(client.invoke_batch(["a"]), Err(TargetError::Unauthorized));
    }

    #[test]
    #[should_panic(expected = "no answer left for `b`")]
    fn a_script_that_is_too_short_is_the_tests_mistake() {
        let client = FakeTarget::new().answer("a").client();
        let _ = client.invoke("a").and_then(|_| client.invoke("b"));
    }
}
