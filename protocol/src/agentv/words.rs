//! Words of a fixed list, to which later versions add.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$doc])* $variant,)*
            /// A word of a later version.
            Other(String),
        }

        impl $name {
            /// The word.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)*
                    Self::Other(word) => word,
                }
            }
        }

        impl From<&str> for $name {
            fn from(word: &str) -> Self {
                match word {
                    $($text => Self::$variant,)*
                    other => Self::Other(other.to_owned()),
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer).map(|word| Self::from(word.as_str()))
            }
        }
    };
}

words! {
    /// Who speaks in a message.
    Role {
        /// The agent.
        Assistant = "assistant",
        /// Whoever asks.
        User = "user",
        /// Instructions.
        System = "system",
        /// A tool, with its result.
        Tool = "tool",
    }
}

words! {
    /// What happened in an event of a trace.
    EventKind {
        /// Somebody spoke.
        Message = "message",
        /// The model was called.
        ModelTurn = "model_turn",
        /// A tool was called.
        ToolCall = "tool_call",
        /// A tool answered.
        ToolResult = "tool_result",
        /// The agent gave its answer.
        FinalResponse = "final_response",
        /// Something went wrong.
        Error = "error",
    }
}

words! {
    /// How a tool call ended.
    ToolStatus {
        /// Well.
        Ok = "ok",
        /// With an error.
        Error = "error",
        /// Not in time.
        Timeout = "timeout",
        /// It was called off.
        Cancelled = "cancelled",
        /// Nobody knows.
        Unknown = "unknown",
    }
}

impl ToolStatus {
    /// Whether the call is known to have failed.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::Error | Self::Timeout | Self::Cancelled)
    }
}
