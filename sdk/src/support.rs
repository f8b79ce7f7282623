//! Internals for the expansion of `#[evaluator]`. They change without notice.

use std::{future::Future, marker::PhantomData};

use evaluator_protocol::{Answer, DecodeError, Document};
use serde_core::{
    Deserializer,
    de::{self, Visitor, value},
    forward_to_deserialize_any,
};
use serde_json::Value;

use crate::{
    context::Context,
    contract::{Agentevals, Contract, HasParameters},
    evaluator::{Call, ConfigSchema, Evaluator},
    failure::{Failure, Rejection},
};

pub use crate::extract::{ParameterType, Referred};

/// Returns the value of `EVALUATOR`.
pub const fn evaluator<C: Contract>(
    name: &'static str,
    docs: &'static str,
    strict: bool,
    call: Call,
    config_schema: ConfigSchema,
) -> Evaluator {
    Evaluator::new::<C>(name, docs, strict, call, config_schema)
}

/// Returns the value of `EVALUATOR` next to a compile error.
pub const fn stub() -> Evaluator {
    const NEVER: &str = "this evaluator did not compile";
    evaluator::<Agentevals>("", "", false, |_| Err(Failure::new("stub", NEVER)), || None)
}

/// Creates the context of the extractors.
pub fn context<C: Contract>(document: Document, evaluator: &str) -> Result<Context<C>, Failure> {
    Ok(Context::new(C::adopt(document, evaluator)?))
}

/// Returns the number of turns that the answer is checked against. To be called before an argument takes the document.
pub fn turns<C: Contract>(context: &Context<C>) -> Option<usize> {
    C::turns(context.input())
}

/// Checks the result of the function, and converts it to an answer of any contract.
pub fn answer<C: Contract>(
    output: Result<C::Output, Failure>,
    turns: Option<usize>,
) -> Result<Answer, Failure> {
    let output = output?;
    turns.map_or(Ok(()), |turns| C::check(&output, turns))?;
    Ok(C::answer(output))
}

/// Returns the argument that has this name.
pub fn parameter<C: HasParameters, T: ParameterType>(
    name: &'static str,
    context: &Context<C>,
) -> Result<T, Failure> {
    let value = C::parameter(context.input(), name);
    // Reading is fast without the path, which is only looked for when something is wrong.
    let read = match value.as_deref() {
        Some(value) => T::deserialize(value).ok(),
        None => T::deserialize(Missing).ok(),
    };
    if let Some(argument) = read {
        return Ok(argument);
    }
    let error = match (C::instead(context.input(), name), value) {
        (Some(instead), _) => DecodeError::locate(name, &instead),
        (None, Some(value)) if !value.is_null() => DecodeError::locate(name, &value),
        _ => Err(DecodeError::shape(
            name,
            "the document has none (an evaluator that can do without it takes an `Option`)",
        )),
    };
    error.map_err(|error| Rejection::from(error).into())
}

/// Deserializer for missing values: an `Option` reads `None`, and other types fail. From a `null` a
/// [`Value`] could be read, and the author would take it for a value of the document.
struct Missing;

impl<'de> Deserializer<'de> for Missing {
    type Error = value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, value::Error> {
        Err(de::Error::custom("missing"))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, value::Error> {
        visitor.visit_none()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// Returns the argument, or its rejection with its name.
pub fn argument<T>(name: &'static str, value: Result<T, Rejection>) -> Result<T, Failure> {
    value.map_err(|rejection| rejection.of_argument(name).into())
}

/// Returns the output of an async evaluator.
pub fn block_on<F: Future>(future: F) -> F::Output {
    crate::block_on::block_on(future)
}

/// Finds out whether a type is a config that has a schema.
///
/// A type that has one gets it from an inherent method. All others fall back on the method of [`WithoutSchema`], since
/// inherent methods whose bounds do not hold are passed over.
#[derive(Debug)]
pub struct Probe<T>(PhantomData<T>);

impl<T> Probe<T> {
    /// The probe.
    pub const NEW: Self = Self(PhantomData);
}

#[cfg(feature = "schema")]
impl<T: schemars::JsonSchema> Probe<crate::Config<T>> {
    /// Returns the schema.
    pub fn config_schema(&self) -> Option<Value> {
        Some(schemars::schema_for!(T).to_value())
    }
}

#[cfg(feature = "schema")]
impl<T: schemars::JsonSchema> Probe<Option<crate::Config<T>>> {
    /// Returns the schema.
    pub fn config_schema(&self) -> Option<Value> {
        Some(schemars::schema_for!(T).to_value())
    }
}

/// The schema of types without one.
pub trait WithoutSchema {
    /// `None`.
    fn config_schema(&self) -> Option<Value>;
}

impl<T> WithoutSchema for Probe<T> {
    fn config_schema(&self) -> Option<Value> {
        None
    }
}
