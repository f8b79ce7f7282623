//! The value type.

use indexmap::IndexMap;

/// A JSON object in the order of its keys' first appearance; a repeated key keeps its place and takes the last value.
pub type Object = IndexMap<String, Value>;

/// A JSON value as Python's `json` module would hold it.
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer that fits 64 bits.
    Int(i64),
    /// An integer that does not fit [`Value::Int`], as its canonical decimal digits (`-` first, no leading zeros).
    BigInt(Box<str>),
    /// A number written with a fraction or an exponent, or `NaN`, `Infinity`, `-Infinity`.
    Float(f64),
    /// A string. A lone surrogate escape is held as U+FFFD (the parser counts them).
    String(String),
    /// An array.
    Array(Vec<Value>),
    /// An object.
    Object(Object),
}
