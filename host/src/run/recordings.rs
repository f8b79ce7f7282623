//! The conversations of a request and their golden cases, for a run over parts of them or changed ones.

use std::sync::Arc;

use evaluator_engine::{
    attributes::Attributes,
    conversation_source::ConversationSource,
    conversations::{Conversations, extracted},
    document::Turns,
};

use super::{Request, RunEvent, Runner, stages::with_policy};
use crate::{
    config::Config,
    conversation::{Conventions, Conversation, Group},
    eval_set::{CaseIndex, EvalCase, EvalSet},
    json::{Value, parse_python},
    trace::{ReadError, Trace},
};

/// The conversations of a request. Each is read when it is needed.
#[derive(Debug)]
pub struct Recordings {
    conversations: Conversations,
    eval_set: Option<EvalSet>,
    strict_matching: bool,
}

impl Recordings {
    /// Returns conversations without golden cases.
    pub(super) fn without_cases(conversations: Conversations) -> Self {
        Self { conversations, eval_set: None, strict_matching: false }
    }

    /// Returns the golden cases, to be [found](CaseIndex::find) for conversations.
    pub fn cases(&self) -> CaseIndex<'_> {
        CaseIndex::new(self.eval_set.as_ref()).strict(self.strict_matching)
    }

    /// Returns the golden case at a position of the eval set.
    pub fn case(&self, position: usize) -> Option<&EvalCase> {
        self.eval_set.as_ref()?.cases.get(position)
    }
}

impl ConversationSource for Recordings {
    fn len(&self) -> usize {
        self.conversations.len()
    }

    fn trace_id(&self, number: usize) -> Arc<str> {
        self.conversations.trace_id(number)
    }

    fn of_run(&self) -> usize {
        self.conversations.of_run()
    }

    fn load(&self, number: usize) -> Result<Conversation, ReadError> {
        self.conversations.load(number)
    }
}

impl Runner {
    /// Loads the traces of a request and its eval set.
    ///
    /// # Errors
    ///
    /// There is nothing to evaluate, or a file cannot be used: messages.
    pub async fn recordings(
        &self,
        request: &Request,
        on_event: &mut dyn FnMut(RunEvent),
    ) -> Result<Recordings, Vec<String>> {
        let mut report = with_policy(&request.config);
        let opened = self.load_conversations(request, &mut report, on_event).await;
        match opened {
            Some((conversations, eval_set)) if report.errors.is_empty() => {
                let strict_matching = request.config.strict_matching;
                Ok(Recordings { conversations, eval_set, strict_matching })
            }
            _ => Err(report.errors),
        }
    }
}

/// Extracts conversations as the runs of a configuration do.
#[derive(Clone, Debug)]
pub struct Extractor {
    conventions: Conventions,
    attributes: Attributes,
}

impl Extractor {
    /// Prepares the extraction for a configuration.
    pub fn new(runner: &Runner, config: &Config) -> Self {
        let conventions = runner.registries.conventions.clone();
        Self { conventions, attributes: runner.attributes(config) }
    }

    /// Returns the conversation of these traces, at least one.
    pub fn conversation(&self, traces: &[Trace]) -> Conversation {
        self.of_group(&Group::new(traces.iter().collect()))
    }

    pub(super) fn of_group(&self, group: &Group<'_>) -> Conversation {
        extracted(group, &self.conventions, &self.attributes)
    }
}

/// Returns the recorded and the golden turns of a conversation, as the document of an evaluator has them.
pub fn turns_document(conversation: &Conversation, golden: Option<&EvalCase>) -> Value {
    parse_python(&Turns::new(conversation, golden).to_object()).unwrap_or_default()
}
