//! The packed form of everything a report of a conversation is made of.

use super::packed::{Names, Packed, Packer, Unpacker, packed_fields};
use crate::{
    conversation::{Counts, JudgedSpan, Latency, PerformanceMetrics, Stats, Tokens},
    events::{EventContext, EventTurn},
    json::{Object, Value},
    report::{ConversationReport, EvaluationReport},
    verdict::Status,
};

packed_fields!(ConversationReport { trace_id, turns, warnings, evaluations, performance, events });
packed_fields!(EvaluationReport {
    name,
    score,
    threshold,
    status,
    failure_reason,
    per_invocation_scores,
    duration,
    error,
    headline,
    error_type,
    stderr,
    attempts,
    warnings,
    details,
});
packed_fields!(PerformanceMetrics { latency, tokens, counts, models, tool_names });
packed_fields!(Latency { overall, llm_calls, tool_executions });
packed_fields!(Stats { min, median, max, count, p50, p95, p99 });
packed_fields!(Tokens {
    total_prompt,
    total_output,
    total,
    per_llm_call,
    cache_creation_tokens,
    cache_read_tokens,
});
packed_fields!(Counts { llm_calls, tool_calls, invocations });
packed_fields!(EventContext { case_id, turns });
packed_fields!(EventTurn { span, response_id });
packed_fields!(JudgedSpan { trace_id, span_id, agent_name, conversation_id });

impl ConversationReport {
    /// Writes the report at the end of these bytes.
    pub(in crate::report) fn write(&self, bytes: &mut Vec<u8>, names: &mut Names) {
        self.pack(&mut Packer { bytes, names });
    }

    /// Reads a report that is all of these bytes; `None` when they are none.
    pub(in crate::report) fn read(bytes: &[u8], names: &Names) -> Option<Self> {
        let mut from = Unpacker { bytes, names };
        Self::unpack(&mut from).filter(|_| from.bytes.is_empty())
    }
}

impl Packed for Status {
    fn pack(&self, out: &mut Packer<'_>) {
        out.byte(match self {
            Self::Passed => 0,
            Self::Failed => 1,
            Self::NotEvaluated => 2,
        });
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        Some(match from.byte()? {
            0 => Self::Passed,
            1 => Self::Failed,
            2 => Self::NotEvaluated,
            _ => return None,
        })
    }
}

impl Packed for Value {
    fn pack(&self, out: &mut Packer<'_>) {
        match self {
            Self::Null => out.byte(0),
            Self::Bool(false) => out.byte(1),
            Self::Bool(true) => out.byte(2),
            Self::Int(int) => {
                out.byte(3);
                int.pack(out);
            }
            Self::BigInt(digits) => {
                out.byte(4);
                digits.pack(out);
            }
            Self::Float(float) => {
                out.byte(5);
                float.pack(out);
            }
            Self::String(text) => {
                out.byte(6);
                text.pack(out);
            }
            Self::Array(items) => {
                out.byte(7);
                items.pack(out);
            }
            Self::Object(object) => {
                out.byte(8);
                object.pack(out);
            }
        }
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        Some(match from.byte()? {
            0 => Self::Null,
            1 => Self::Bool(false),
            2 => Self::Bool(true),
            3 => Self::Int(Packed::unpack(from)?),
            4 => Self::BigInt(Packed::unpack(from)?),
            5 => Self::Float(Packed::unpack(from)?),
            6 => Self::String(Packed::unpack(from)?),
            7 => Self::Array(Packed::unpack(from)?),
            8 => Self::Object(Packed::unpack(from)?),
            _ => return None,
        })
    }
}

impl Packed for Object {
    fn pack(&self, out: &mut Packer<'_>) {
        self.len().pack(out);
        for (key, value) in self {
            key.pack(out);
            value.pack(out);
        }
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        let length = usize::unpack(from)?;
        (0..length).map(|_| Some((Packed::unpack(from)?, Packed::unpack(from)?))).collect()
    }
}
