//! Questions to models.

use std::{borrow::Cow, sync::Arc};

use evaluator_json::Value;
use evaluator_models::Message;

use super::{Code, Order, Template, TemplateError, template::CODE};

/// A question for a model.
#[derive(Clone, Debug)]
pub struct Question {
    /// Index of the turn.
    pub turn: usize,
    /// Index among the questions about the turn.
    pub part: usize,
    /// Name of the prompt.
    pub prompt: Cow<'static, str>,
    /// Text of the prompt.
    pub wording: Wording,
    /// Variables of the prompt; none if the messages are complete.
    pub variables: Variables,
    /// Ending of the keys of the verdict; `None` if the prompt does not ask for one.
    pub code: Option<Code>,
    /// JSON Schema of a reply, for servers that can be held to one; `None` if the reply is not JSON.
    pub schema: Option<Value>,
    /// Number of times that it is asked.
    pub samples: usize,
    /// Order of the things that the judge compares.
    pub order: Order,
}

/// Names and values of the variables of a prompt.
pub type Variables = Vec<(&'static str, String)>;

/// Text of a question.
#[derive(Clone, Debug)]
pub enum Wording {
    /// A prompt that is filled in with the variables of the question.
    Template(Arc<Template>),
    /// Messages that are sent as they are.
    Messages(Vec<Message>),
}

impl Question {
    /// Creates a question about a turn that is asked once: a prompt with values for its variables.
    pub fn new(turn: usize, prompt: impl Into<Cow<'static, str>>, wording: Wording) -> Self {
        Self {
            turn,
            part: 0,
            prompt: prompt.into(),
            wording,
            variables: Vec::new(),
            code: None,
            schema: None,
            samples: 1,
            order: Order::Plain,
        }
    }

    /// Returns the messages that ask the question.
    ///
    /// # Errors
    ///
    /// The prompt has a variable without a value.
    pub fn messages(&self) -> Result<Vec<Message>, TemplateError> {
        match &self.wording {
            Wording::Template(template) => {
                let code = self.code.iter().map(|code| (CODE, code.as_str().to_owned()));
                let variables: Variables = self.variables.iter().cloned().chain(code).collect();
                template.render(&variables)
            }
            Wording::Messages(messages) => Ok(messages.clone()),
        }
    }

    /// Returns the question without a code, for servers that are held to the schema of the reply. A schema with the code would
    /// be another one for each question, and servers take seconds to prepare a schema.
    #[must_use]
    pub fn without_code(mut self) -> Self {
        if let (Some(code), Wording::Messages(messages)) = (self.code.take(), &mut self.wording) {
            for message in messages {
                message.content = message.content.replace(code.as_str(), "");
            }
        }
        self
    }
}
