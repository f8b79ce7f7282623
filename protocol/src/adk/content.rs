//! What was said: contents and their parts.

use serde_json::Value;

use super::{Bytes, object::object};
use crate::JsonObject;

object! {
    /// What the user, the agent or a tool said.
    pub struct Content {
        /// Its parts; `None` and an empty list both mean that nothing was said.
        ["parts"] parts: Option<Vec<Part>>,
        /// `user` or `model`.
        ["role"] role: Option<String>,
    }
}

impl Content {
    /// A content of one text.
    pub fn from_text(text: impl Into<String>) -> Self {
        Self::from_parts([Part::from_text(text)])
    }

    /// A content of these parts.
    pub fn from_parts(parts: impl IntoIterator<Item = Part>) -> Self {
        Self { parts: Some(parts.into_iter().collect()), ..Self::default() }
    }

    /// Sets the role.
    #[must_use]
    pub fn role(mut self, role: impl Into<String>) -> Self {
        self.role = Some(role.into());
        self
    }

    /// The parts, none if there is no list of them.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        self.parts.as_deref().unwrap_or_default()
    }

    /// The texts of all parts that have one, a line each, as the built-in metrics of ADK join them. Thoughts are texts,
    /// too.
    ///
    /// ```
    /// use evaluator_protocol::adk::{Content, Part};
    ///
    /// let content = Content::from_parts([Part::from_text("It rains."), Part::from_text(""), Part::from_text("Stay in.")]);
    /// assert_eq!(content.text(), "It rains.\nStay in.");
    /// ```
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.parts().iter().filter_map(|part| part.text.as_deref());
        texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
    }
}

object! {
    /// A part of a content: a text, or one of the other things.
    pub struct Part {
        /// A text.
        ["text"] text: Option<String>,
        /// A call of a tool.
        ["function_call" | "functionCall"] function_call: Option<FunctionCall>,
        /// What a tool answered.
        ["function_response" | "functionResponse"] function_response: Option<FunctionResponse>,
        /// Bytes, such as an image.
        ["inline_data" | "inlineData"] inline_data: Option<Blob>,
        /// A file that is elsewhere.
        ["file_data" | "fileData"] file_data: Option<FileData>,
        /// Code that the model wrote to be run.
        ["executable_code" | "executableCode"] executable_code: Option<ExecutableCode>,
        /// What came of such code.
        ["code_execution_result" | "codeExecutionResult"] code_execution_result: Option<CodeExecutionResult>,
        /// Whether the part is a thought of the model's.
        ["thought"] thought: Option<bool>,
        /// Signature of a thought.
        ["thought_signature" | "thoughtSignature"] thought_signature: Option<Bytes>,
        /// Resolution of a medium.
        ["media_resolution" | "mediaResolution"] media_resolution: Option<Value>,
        /// What part of a video it is.
        ["video_metadata" | "videoMetadata"] video_metadata: Option<Value>,
        /// A call of a tool on the model's side.
        ["tool_call" | "toolCall"] tool_call: Option<Value>,
        /// What such a tool answered.
        ["tool_response" | "toolResponse"] tool_response: Option<Value>,
        /// Metadata of the application's.
        ["part_metadata" | "partMetadata"] part_metadata: Option<Value>,
        /// Transcription of an audio.
        ["audio_transcription" | "audioTranscription"] audio_transcription: Option<Value>,
        /// How a medium is processed.
        ["media_processing" | "mediaProcessing"] media_processing: Option<Value>,
        /// Metadata of speech.
        ["speech_metadata" | "speechMetadata"] speech_metadata: Option<Value>,
    }
}

impl Part {
    /// A text.
    pub fn from_text(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    /// A call of a tool.
    #[must_use]
    pub fn from_function_call(call: FunctionCall) -> Self {
        Self { function_call: Some(call), ..Self::default() }
    }

    /// What a tool answered.
    #[must_use]
    pub fn from_function_response(response: FunctionResponse) -> Self {
        Self { function_response: Some(response), ..Self::default() }
    }

    /// Bytes of that type.
    pub fn from_bytes(data: impl Into<Bytes>, mime_type: impl Into<String>) -> Self {
        let blob =
            Blob { data: Some(data.into()), mime_type: Some(mime_type.into()), ..Blob::default() };
        Self { inline_data: Some(blob), ..Self::default() }
    }
}

object! {
    /// A call of a tool.
    pub struct FunctionCall {
        /// Id that ties the call to its response.
        ["id"] id: Option<String>,
        /// Name of the tool.
        ["name"] name: Option<String>,
        /// Arguments. No arguments and an empty object are different in ADK.
        ["args"] args: Option<JsonObject>,
        /// Arguments that are still being written.
        ["partial_args" | "partialArgs"] partial_args: Option<Value>,
        /// Whether more of the call follows.
        ["will_continue" | "willContinue"] will_continue: Option<bool>,
    }
}

object! {
    /// What a tool answered.
    pub struct FunctionResponse {
        /// Id of the call.
        ["id"] id: Option<String>,
        /// Name of the tool.
        ["name"] name: Option<String>,
        /// The answer. What tools return is often in its key `result` or `output`, and what went wrong in `error`.
        ["response"] response: Option<JsonObject>,
        /// Media that belong to the answer.
        ["parts"] parts: Option<Value>,
        /// Whether more of the answer follows.
        ["will_continue" | "willContinue"] will_continue: Option<bool>,
        /// When the answer is given to the model.
        ["scheduling"] scheduling: Option<Value>,
    }
}

/// Makes the ends of a tool call, which have a name, an id, and an object of what is told.
macro_rules! told {
    ($name:ident: $new:literal, $field:ident into $object:ident: $one:literal) => {
        impl $name {
            #[doc = $new]
            pub fn new(name: impl Into<String>) -> Self {
                Self { name: Some(name.into()), ..Self::default() }
            }

            #[doc = $one]
            #[must_use]
            pub fn $field(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
                self.$object.get_or_insert_default().insert(name.into(), value.into());
                self
            }

            /// Sets the id that ties the call to its response.
            #[must_use]
            pub fn id(mut self, id: impl Into<String>) -> Self {
                self.id = Some(id.into());
                self
            }
        }
    };
}

told!(FunctionCall: "A call without arguments.", arg into args: "Sets one argument.");
told!(FunctionResponse: "An answer that says nothing.", field into response: "Sets one key of the answer.");

object! {
    /// Bytes of some type.
    pub struct Blob {
        /// The bytes.
        ["data"] data: Option<Bytes>,
        /// Their type, e.g. `image/png`.
        ["mime_type" | "mimeType"] mime_type: Option<String>,
        /// What to call them.
        ["display_name" | "displayName"] display_name: Option<String>,
    }
}

object! {
    /// A file that is elsewhere.
    pub struct FileData {
        /// Where it is.
        ["file_uri" | "fileUri"] file_uri: Option<String>,
        /// Its type, e.g. `application/pdf`.
        ["mime_type" | "mimeType"] mime_type: Option<String>,
        /// What to call it.
        ["display_name" | "displayName"] display_name: Option<String>,
    }
}

object! {
    /// Code that the model wrote to be run.
    pub struct ExecutableCode {
        /// The code.
        ["code"] code: Option<String>,
        /// Its language, e.g. `PYTHON`.
        ["language"] language: Option<String>,
        /// Id that ties it to its result.
        ["id"] id: Option<String>,
    }
}

object! {
    /// What came of code that was run.
    pub struct CodeExecutionResult {
        /// How it ended, e.g. `OUTCOME_OK`.
        ["outcome"] outcome: Option<String>,
        /// What it wrote.
        ["output"] output: Option<String>,
        /// Id of the code.
        ["id"] id: Option<String>,
    }
}
