//! The typed config.

use std::ops::{Deref, DerefMut};

use evaluator_protocol::{DecodeError, JsonObject};
use serde_core::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::Value;

use super::FromInput;
use crate::{context::Context, contract::HasConfig, failure::Rejection};

/// The config of the document as a type of yours.
///
/// Serde reads the type: give fields `#[serde(default)]` and the type `#[serde(deny_unknown_fields)]` so that a
/// typo in the host's configuration is an error. Errors name the key by its path, e.g. `config.min_length: invalid
/// type: string "long", expected usize`.
///
/// `Config<T>` reads a missing config as an empty object. `Option<Config<T>>` is `None` for an empty one; a config that
/// is there and wrong is an error for both.
///
/// ```
/// use evaluator_sdk::{Config, EvalInput, Score, evaluator};
///
/// #[derive(serde::Deserialize)]
/// #[serde(deny_unknown_fields)]
/// struct Settings {
///     words: Vec<String>,
///     #[serde(default)]
///     ignore_case: bool,
/// }
///
/// /// Scores how many of the words are in the last answer.
/// #[evaluator]
/// fn mentions(input: &EvalInput, Config(settings): Config<Settings>) -> Result<Score, &'static str> {
///     let answer = input.invocations.last().and_then(|turn| turn.final_response.as_deref()).unwrap_or_default();
///     let fold = |text: &str| if settings.ignore_case { text.to_lowercase() } else { text.to_owned() };
///     let answer = fold(answer);
///     let found = settings.words.iter().filter(|word| answer.contains(&fold(word))).count();
///     Score::checked_ratio(found, settings.words.len()).ok_or("`words` is empty")
/// }
/// # let input = evaluator_sdk::testing::input("mentions").turn("Hi", "Hello!");
/// # assert!(mentions(&input, Config(Settings { words: Vec::new(), ignore_case: false })).is_err());
/// ```
///
/// # Values out of range
///
/// A function's `Err` is an error of the kind `evaluator`. To refuse a value as an error of the kind `config`,
/// with the path of its key, refuse it while it is read: give it a type with `#[serde(try_from = "..")]`.
///
/// ```
/// use evaluator_sdk::{Config, EvalInput, evaluator, testing};
///
/// #[derive(serde::Deserialize)]
/// struct Settings {
///     share: Share,
/// }
///
/// /// A number in 0..=1.
/// #[derive(serde::Deserialize)]
/// #[serde(try_from = "f64")]
/// struct Share(f64);
///
/// impl TryFrom<f64> for Share {
///     type Error = String;
///
///     fn try_from(value: f64) -> Result<Self, String> {
///         if (0.0..=1.0).contains(&value) { Ok(Self(value)) } else { Err(format!("{value} is not in 0..=1")) }
///     }
/// }
///
/// #[evaluator]
/// fn constant(_: &EvalInput, Config(settings): Config<Settings>) -> f64 {
///     settings.share.0
/// }
///
/// let input = testing::input("constant").config("share", 1.5);
/// let failure = testing::run(&constant::EVALUATOR, &input).unwrap_err();
/// assert_eq!(failure.kind(), "config");
/// assert_eq!(failure.message(), "config.share: 1.5 is not in 0..=1");
/// ```
///
/// A rule about several keys is a `try_from` of the whole type; its errors have the path `config`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Config<T>(
    /// The config.
    pub T,
);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Config<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self)
    }
}

/// A type that [`Config`] can hold: any type that implements `serde::Deserialize` and borrows nothing.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read from a config",
    label = "does not implement `serde::Deserialize`, or borrows",
    note = "add `#[derive(serde::Deserialize)]` to it, and own its texts (`String` instead of `&str`)"
)]
pub trait ConfigType: DeserializeOwned {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned> ConfigType for T {}

// Recommended, so that the compiler asks for the `ConfigType` that is missing.
impl<C: HasConfig, T: ConfigType> FromInput<'_, C> for Config<T> {
    fn from_input(context: &Context<C>) -> Result<Self, Rejection> {
        let none = JsonObject::new();
        let config = C::config(context.input()).unwrap_or(&none);
        // Reading is fast without the path, which is only looked for when something is wrong.
        match T::deserialize(config) {
            Ok(value) => Ok(Self(value)),
            Err(_) => Ok(Self(DecodeError::locate(C::PATH, &Value::Object(config.clone()))?)),
        }
    }

    fn from_input_if_present(context: &Context<C>) -> Result<Option<Self>, Rejection> {
        match C::config(context.input()) {
            Some(config) if !config.is_empty() => Self::from_input(context).map(Some),
            _ => Ok(None),
        }
    }
}

impl<T> Deref for Config<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Config<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
