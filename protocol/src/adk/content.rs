//! Messages: contents, their parts, and bytes as base64.

use std::{fmt, ops::Deref};

use serde_core::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::{
    JsonObject,
    object::{builder, object, read_text},
};

object! {
    /// A message of the user, the agent or a tool.
    pub struct Content: lenient {
        /// Parts; `None` and an empty list both mean an empty message.
        parts: Option<Vec<Part>>,
        /// `user` or `model`.
        role: Option<String>,
    } unknown
}

impl Content {
    /// Creates a content with one text.
    pub fn from_text(text: impl Into<String>) -> Self {
        Self::from_parts([Part::from_text(text)])
    }

    /// Creates a content of these parts.
    pub fn from_parts(parts: impl IntoIterator<Item = Part>) -> Self {
        Self { parts: Some(parts.into_iter().collect()), ..Self::default() }
    }

    builder! {
        /// Sets the role.
        fn role(self, role: impl Into<String>) { self.role = Some(role.into()); }
    }

    /// Returns the parts; empty if there is no list of parts.
    pub fn parts(&self) -> &[Part] {
        self.parts.as_deref().unwrap_or_default()
    }

    /// Returns the texts of all parts, one per line, as the built-in metrics of ADK join them. This includes thoughts.
    ///
    /// ```
    /// use evaluator_protocol::adk::{Content, Part};
    ///
    /// let content = Content::from_parts([Part::from_text("It rains."), Part::from_text(""), Part::from_text("Stay in.")]);
    /// assert_eq!(content.text(), "It rains.\nStay in.");
    /// ```
    pub fn text(&self) -> String {
        let texts = self.parts().iter().filter_map(|part| part.text.as_deref());
        texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
    }
}

object! {
    /// A part of a content. One of the fields is set.
    pub struct Part: lenient {
        /// A text.
        text: Option<String>,
        /// A tool call.
        function_call | "functionCall": Option<FunctionCall>,
        /// The response of a tool.
        function_response | "functionResponse": Option<FunctionResponse>,
        /// Bytes, such as an image.
        inline_data | "inlineData": Option<Blob>,
        /// A reference to a file.
        file_data | "fileData": Option<FileData>,
        /// Code that the model generated for execution.
        executable_code | "executableCode": Option<ExecutableCode>,
        /// The result of executed code.
        code_execution_result | "codeExecutionResult": Option<CodeExecutionResult>,
        /// Whether the part is a thought of the model.
        thought: Option<bool>,
        /// Signature of a thought.
        thought_signature | "thoughtSignature": Option<Bytes>,
        /// Resolution of a medium.
        media_resolution | "mediaResolution": Option<Value>,
        /// The section of a video.
        video_metadata | "videoMetadata": Option<Value>,
        /// A tool call on the side of the model.
        tool_call | "toolCall": Option<Value>,
        /// The response of such a tool.
        tool_response | "toolResponse": Option<Value>,
        /// Metadata of the application.
        part_metadata | "partMetadata": Option<Value>,
        /// Transcription of an audio.
        audio_transcription | "audioTranscription": Option<Value>,
        /// How a medium is processed.
        media_processing | "mediaProcessing": Option<Value>,
        /// Metadata of speech.
        speech_metadata | "speechMetadata": Option<Value>,
    } unknown
}

impl Part {
    /// Creates a text.
    pub fn from_text(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    /// Creates a tool call.
    pub fn from_function_call(call: FunctionCall) -> Self {
        Self { function_call: Some(call), ..Self::default() }
    }

    /// Creates the response of a tool.
    pub fn from_function_response(response: FunctionResponse) -> Self {
        Self { function_response: Some(response), ..Self::default() }
    }
}

object! {
    /// A tool call.
    pub struct FunctionCall: lenient {
        /// Id that links the call to its response.
        id: Option<String>,
        /// Name of the tool.
        name: Option<String>,
        /// Arguments. ADK distinguishes no arguments and an empty object.
        args: Option<JsonObject>,
        /// Incomplete arguments of a call that is still streamed.
        partial_args | "partialArgs": Option<Value>,
        /// Whether more of the call follows.
        will_continue | "willContinue": Option<bool>,
    } unknown
}

impl FunctionCall {
    /// Creates a call without arguments.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..Self::default() }
    }

    builder! {
        /// Sets one argument.
        fn arg(self, name: impl Into<String>, value: impl Into<Value>) {
            self.args.get_or_insert_default().insert(name.into(), value.into());
        }

        /// Sets the id that links the call to its response.
        fn id(self, id: impl Into<String>) { self.id = Some(id.into()); }
    }
}

object! {
    /// The response of a tool.
    pub struct FunctionResponse: lenient {
        /// Id of the call.
        id: Option<String>,
        /// Name of the tool.
        name: Option<String>,
        /// The response. The result of the tool is often under `result` or `output`, an error under `error`.
        response: Option<JsonObject>,
        /// Media of the response.
        parts: Option<Value>,
        /// Whether more of the response follows.
        will_continue | "willContinue": Option<bool>,
        /// Time at which the response is passed to the model.
        scheduling: Option<Value>,
    } unknown
}

impl FunctionResponse {
    /// Creates a response without content.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..Self::default() }
    }

    builder! {
        /// Sets one key of the response.
        fn field(self, name: impl Into<String>, value: impl Into<Value>) {
            self.response.get_or_insert_default().insert(name.into(), value.into());
        }

        /// Sets the id of the call.
        fn id(self, id: impl Into<String>) { self.id = Some(id.into()); }
    }
}

object! {
    /// Bytes of a media type.
    pub struct Blob: lenient {
        /// The bytes.
        data: Option<Bytes>,
        /// Media type, e.g. `image/png`.
        mime_type | "mimeType": Option<String>,
        /// Display name.
        display_name | "displayName": Option<String>,
    } unknown
}

object! {
    /// A reference to a file.
    pub struct FileData: lenient {
        /// URI of the file.
        file_uri | "fileUri": Option<String>,
        /// Media type, e.g. `application/pdf`.
        mime_type | "mimeType": Option<String>,
        /// Display name.
        display_name | "displayName": Option<String>,
    } unknown
}

object! {
    /// Code that the model generated for execution.
    pub struct ExecutableCode: lenient {
        /// The code.
        code: Option<String>,
        /// Language, e.g. `PYTHON`.
        language: Option<String>,
        /// Id that links it to its result.
        id: Option<String>,
    } unknown
}

object! {
    /// The result of executed code.
    pub struct CodeExecutionResult: lenient {
        /// Outcome, e.g. `OUTCOME_OK`.
        outcome: Option<String>,
        /// Output.
        output: Option<String>,
        /// Id of the code.
        id: Option<String>,
    } unknown
}

/// Bytes: an image, a signature.
///
/// They are written as base64 with `-` and `_` and padding. Both alphabets are read, with padding or without.
///
/// ```
/// use evaluator_protocol::adk::Bytes;
///
/// let bytes: Bytes = serde_json::from_str(r#""-vv8_Q==""#)?;
/// assert_eq!(bytes, Bytes::from(vec![0xfa, 0xfb, 0xfc, 0xfd]));
/// assert_eq!(serde_json::from_str::<Bytes>(r#""+vv8/Q""#)?, bytes);
/// assert_eq!(serde_json::to_string(&bytes)?, r#""-vv8_Q==""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Bytes(Vec<u8>);

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

impl Bytes {
    /// Returns `None` if the text is not base64.
    fn from_base64(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        let padding = digits.iter().rev().take_while(|digit| **digit == b'=').count();
        let digits = &digits[..digits.len() - padding];
        // Padding may be left out; if it is there, it has to fill the last group of four.
        let rest = digits.len() % 4;
        if rest == 1 || padding > 0 && padding != (4 - rest) % 4 {
            return None;
        }
        let mut bytes = Vec::with_capacity(digits.len() / 4 * 3 + 2);
        for group in digits.chunks(4) {
            let mut bits = 0_u32;
            for digit in group {
                bits = bits << 6 | u32::from(value(*digit)?);
            }
            bits <<= 6 * (4 - group.len());
            bytes.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
        }
        Some(Self(bytes))
    }

    fn to_base64(&self) -> String {
        let mut text = String::with_capacity(self.0.len().div_ceil(3) * 4);
        for group in self.0.chunks(3) {
            let bits = group.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
            let bits = bits << (8 * (3 - group.len()));
            for index in 0..4 {
                let digit = ALPHABET[(bits >> (18 - 6 * index) & 63) as usize];
                text.push(if index <= group.len() { char::from(digit) } else { '=' });
            }
        }
        text
    }
}

fn value(digit: u8) -> Option<u8> {
    Some(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'-' | b'+' => 62,
        b'_' | b'/' => 63,
        _ => return None,
    })
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The bytes of an image would hide everything else.
        write!(f, "Bytes({} bytes)", self.0.len())
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_base64())
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The text is not quoted, because it may be of any size.
        read_text(deserializer, "bytes as base64", |text| {
            Self::from_base64(text).ok_or("this text is not base64")
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Option<Vec<u8>> {
        Bytes::from_base64(text).map(|bytes| bytes.0)
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(bytes: Vec<u8>) {
            let text = Bytes::from(bytes.clone()).to_base64();
            prop_assert_eq!(text.len() % 4, 0);
            prop_assert_eq!(read(&text), Some(bytes.clone()));
            prop_assert_eq!(read(text.trim_end_matches('=')), Some(bytes.clone()));
            let classic = text.replace('-', "+").replace('_', "/");
            prop_assert_eq!(read(&classic), Some(bytes));
        }

        #[test]
        fn no_text_is_too_much(text: String) {
            let _ = read(&text);
        }
    }

    #[test]
    fn known_values() {
        for (text, bytes) in [
            ("", &b""[..]),
            ("Zg==", b"f"),
            ("Zm8=", b"fo"),
            ("Zm9v", b"foo"),
            ("AP_--3NpZz4-Pj8_Pw==", b"\x00\xff\xfe\xfbsig>>>???"),
        ] {
            assert_eq!(read(text).as_deref(), Some(bytes));
            assert_eq!(Bytes::from(bytes.to_vec()).to_base64(), text);
        }
    }

    #[test]
    fn what_is_no_base64_is_refused() {
        for text in
            ["Z", "Zg=", "Zg===", "Zm9v=", "=", "====", "Zm 9v", "Zm9v\n", "Zg==Zg==", "Zmé"]
        {
            assert_eq!(read(text), None, "{text:?}");
        }
    }
}
