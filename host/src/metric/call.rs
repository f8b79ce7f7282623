//! Tool calls by what counts when they are compared.

use std::borrow::Cow;

use crate::{
    conversation::ToolCall,
    eval_set::ExpectedCall,
    json::{Object, Value, python_eq},
};

/// A name and arguments. Ids and results do not count.
#[derive(Clone, Debug)]
pub(super) struct Call<'a> {
    /// `None` where an eval set does not name the tool.
    pub(super) name: Option<&'a str>,
    pub(super) args: Cow<'a, Value>,
}

impl<'a> Call<'a> {
    /// An actual call. Arguments are always an object: none become an empty one, anything else its member `value`.
    pub(super) fn actual(call: &'a ToolCall) -> Self {
        let args = match &call.arguments {
            Value::Null => Cow::Owned(Value::Object(Object::default())),
            arguments @ Value::Object(_) => Cow::Borrowed(arguments),
            other => {
                Cow::Owned(Value::Object(Object::from_iter([("value".to_owned(), other.clone())])))
            }
        };
        Self { name: Some(&call.name), args }
    }

    /// An expected call, its arguments as the eval set has them: an object, or `Null` where it has none.
    pub(super) fn expected(call: &'a ExpectedCall) -> Self {
        Self { name: call.name.as_deref(), args: Cow::Borrowed(&call.args) }
    }

    /// The name, empty where there is none.
    pub(super) fn name(&self) -> &'a str {
        self.name.unwrap_or_default()
    }

    pub(super) fn is_same(&self, other: &Self, ignore_args: bool) -> bool {
        self.name == other.name && (ignore_args || python_eq(&self.args, &other.args))
    }

    pub(super) fn to_value(&self) -> Value {
        Value::Object(Object::from_iter([
            (
                "name".to_owned(),
                self.name.map_or(Value::Null, |name| Value::String(name.to_owned())),
            ),
            ("args".to_owned(), self.args.clone().into_owned()),
        ]))
    }
}
