//! What is asked, in the spelling of all generations.

use serde::Serialize;

use super::error::TargetError;

/// A question for a target.
///
/// Where only the text matters, a `&str` or `String` will do.
///
/// ```
/// use evaluator_sdk::target::Request;
///
/// let request = Request::new("Is Paris the capital of France?").system_prompt("Answer yes or no.").target("judge");
/// assert_eq!(request.question, "Is Paris the capital of France?");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Request {
    /// The text. Not empty: the proxy refuses that.
    pub question: String,
    /// Instructions that go before it.
    pub system_prompt: Option<String>,
    /// The test case it is about, for the host's records.
    pub eval_case_id: Option<String>,
    /// Which try it is, for the host's records.
    pub attempt: Option<u32>,
    /// Name of the target, where it is not the host's choice. See
    /// [`Info::available_targets`](super::Info::available_targets).
    pub target: Option<String>,
}

impl Request {
    /// A question and nothing else.
    pub fn new(question: impl Into<String>) -> Self {
        Self { question: question.into(), ..Self::default() }
    }

    /// Sets the instructions that go before it.
    #[must_use]
    pub fn system_prompt(mut self, text: impl Into<String>) -> Self {
        self.system_prompt = Some(text.into());
        self
    }

    /// Sets the test case it is about.
    #[must_use]
    pub fn eval_case_id(mut self, id: impl Into<String>) -> Self {
        self.eval_case_id = Some(id.into());
        self
    }

    /// Sets which try it is.
    #[must_use]
    pub fn attempt(mut self, number: u32) -> Self {
        self.attempt = Some(number);
        self
    }

    /// Names the target.
    #[must_use]
    pub fn target(mut self, name: impl Into<String>) -> Self {
        self.target = Some(name.into());
        self
    }
}

impl<T: Into<String>> From<T> for Request {
    fn from(question: T) -> Self {
        Self::new(question)
    }
}

/// A request as all generations read it: what is a target to one is a provider to another.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SentRequest<'a> {
    question: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_prompt: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    eval_case_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<&'a str>,
}

impl<'a> From<&'a Request> for SentRequest<'a> {
    fn from(request: &'a Request) -> Self {
        let target = request.target.as_deref();
        Self {
            question: &request.question,
            system_prompt: request.system_prompt.as_deref(),
            eval_case_id: request.eval_case_id.as_deref(),
            attempt: request.attempt,
            target,
            provider: target,
        }
    }
}

/// The body of one request.
pub(super) fn invoke_body(request: &Request) -> Result<Vec<u8>, TargetError> {
    json(&SentRequest::from(request))
}

/// The body of a batch.
pub(super) fn batch_body(requests: &[Request]) -> Result<Vec<u8>, TargetError> {
    #[derive(Serialize)]
    struct Batch<'a> {
        requests: Vec<SentRequest<'a>>,
    }
    json(&Batch { requests: requests.iter().map(SentRequest::from).collect() })
}

fn json(value: &impl Serialize) -> Result<Vec<u8>, TargetError> {
    serde_json::to_vec(value)
        .map_err(|error| TargetError::InvalidRequest { message: format!("it is no JSON: {error}") })
}
