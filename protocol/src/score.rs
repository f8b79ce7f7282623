//! The score type, and numbers as the hosts read them.
//!
//! A ratio of nothing is not a score: `Score::ratio` panics where `checked_ratio` is `None`. 1 would pass an agent for
//! nothing, 0 would fail it.

use std::{cmp::Ordering, fmt};

use serde_core::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A score: finite and in `0.0..=1.0`, where 1 is best.
///
/// It cannot hold any other number, so every score can be written and compared.
///
/// ```
/// use evaluator_protocol::Score;
/// assert_eq!(Score::new(0.25)?.get(), 0.25);
/// assert_eq!(Score::ratio(3, 4).get(), 0.75);
/// assert!(Score::new(1.5).is_err());
/// # Ok::<(), evaluator_protocol::ScoreError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score(f64);

impl Score {
    /// The worst score.
    pub const ZERO: Self = Self(0.0);
    /// The best score.
    pub const ONE: Self = Self(1.0);

    /// Creates a score of exactly this value.
    ///
    /// # Errors
    ///
    /// [`ScoreError`] when `value` is not finite or lies outside `0.0..=1.0`.
    pub fn new(value: f64) -> Result<Self, ScoreError> {
        if (0.0..=1.0).contains(&value) {
            // Adding zero turns -0.0, which is in the range, into 0.0.
            Ok(Self(value + 0.0))
        } else {
            Err(ScoreError { value })
        }
    }

    /// Returns the score nearest to a value that may have left the range by rounding or by penalties; `None` for NaN.
    pub fn clamped(value: f64) -> Option<Self> {
        (!value.is_nan()).then(|| Self(value.clamp(0.0, 1.0) + 0.0))
    }

    /// Returns the share of `part` in `whole`; a part larger than the whole scores 1.
    ///
    /// # Panics
    ///
    /// If `whole` is 0: either score would be a statement about an agent that was not judged. If `whole` comes from a
    /// document or a setting, use [`checked_ratio`](Self::checked_ratio).
    #[track_caller]
    pub fn ratio(part: usize, whole: usize) -> Self {
        match Self::checked_ratio(part, whole) {
            Some(score) => score,
            None => panic!(
                "`Score::ratio({part}, 0)`: a share of nothing is not a score; use `Score::checked_ratio`, which is `None` here"
            ),
        }
    }

    /// Returns the share of `part` in `whole`, as [`ratio`](Self::ratio) does; `None` if `whole` is 0.
    ///
    /// ```
    /// use evaluator_protocol::{EvalResult, Score};
    /// // (good calls, calls) of each turn: the second one made no calls, and is not scored.
    /// let turns = [(1, 2), (0, 0)];
    /// let result = EvalResult::mean_of(turns.map(|(good, calls)| Score::checked_ratio(good, calls)));
    /// assert_eq!(result.score, Score::ratio(1, 2));
    /// assert_eq!(result.per_invocation_scores, [Some(Score::ratio(1, 2)), None]);
    /// ```
    pub fn checked_ratio(part: usize, whole: usize) -> Option<Self> {
        match whole {
            0 => None,
            _ if part >= whole => Some(Self::ONE),
            _ => Some(Self(part as f64 / whole as f64)),
        }
    }

    /// Returns the mean; `None` without scores.
    ///
    /// ```
    /// use evaluator_protocol::Score;
    /// assert_eq!(Score::mean([Score::ZERO, Score::ONE]), Some(Score::ratio(1, 2)));
    /// assert_eq!(Score::mean([]), None);
    /// ```
    pub fn mean(scores: impl IntoIterator<Item = Self>) -> Option<Self> {
        let (sum, count) = scores
            .into_iter()
            .fold((0.0, 0_usize), |(sum, count), score| (sum + score.0, count + 1));
        // Rounding may carry a mean out of the range.
        (count > 0).then(|| Self((sum / count as f64).clamp(0.0, 1.0)))
    }

    /// Returns the score as a number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl Eq for Score {}

impl Ord for Score {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Score {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl From<bool> for Score {
    fn from(passed: bool) -> Self {
        if passed { Self::ONE } else { Self::ZERO }
    }
}

impl From<Score> for f64 {
    fn from(score: Score) -> Self {
        score.0
    }
}

impl TryFrom<f64> for Score {
    type Error = ScoreError;

    fn try_from(value: f64) -> Result<Self, ScoreError> {
        Self::new(value)
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Score {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0)
    }
}

impl<'de> Deserialize<'de> for Score {
    /// Also reads numeric text and booleans, as the hosts of this contract do.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        lenient_number(deserializer, Self::new)
    }
}

/// A type that is a score: [`Score`].
///
/// The trait exists for the compile error about plain numbers.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a score",
    label = "expected `Score`",
    note = "make one with `Score::new(number)?`, which refuses what is not in 0..=1, `Score::from(bool)` or \
            `Score::checked_ratio(part, whole)`",
    note = "where there is no score, return `EvalResult::not_evaluated(\"why\")`"
)]
pub trait IntoScore: sealed::Score {
    /// Returns the score.
    fn into_score(self) -> Score;
}

#[diagnostic::do_not_recommend]
impl IntoScore for Score {
    fn into_score(self) -> Score {
        self
    }
}

/// A type that is the score of a turn: [`Score`], or `Option<Score>`, which is `None` for a turn that is not scored.
///
/// The trait exists for the compile error about plain numbers.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the score of a turn",
    label = "expected `Score` or `Option<Score>`",
    note = "make one with `Score::new(number)?`, which refuses what is not in 0..=1, `Score::from(bool)` or \
            `Score::checked_ratio(part, whole)`; `None` stands for a turn that is not scored"
)]
pub trait IntoTurnScore: sealed::TurnScore {
    /// Returns the score; `None` for a turn that is not scored.
    fn into_turn_score(self) -> Option<Score>;
}

#[diagnostic::do_not_recommend]
impl IntoTurnScore for Score {
    fn into_turn_score(self) -> Option<Score> {
        Some(self)
    }
}

#[diagnostic::do_not_recommend]
impl IntoTurnScore for Option<Score> {
    fn into_turn_score(self) -> Option<Score> {
        self
    }
}

mod sealed {
    pub trait Score {}
    impl Score for super::Score {}
    pub trait TurnScore {}
    impl TurnScore for super::Score {}
    impl TurnScore for Option<super::Score> {}
}

/// Error: a number is not a score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoreError {
    value: f64,
}

impl ScoreError {
    /// Returns the number.
    pub fn value(&self) -> f64 {
        self.value
    }
}

impl fmt::Display for ScoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.value;
        if value.is_finite() {
            write!(
                f,
                "{value} is not a score: it must lie in 0..=1 (scale it, or use `Score::clamped`)"
            )
        } else {
            write!(f, "{value} is not a score: it must be finite (a division by zero?)")
        }
    }
}

impl std::error::Error for ScoreError {}

/// A finite number as the hosts read it: numeric text and booleans count.
pub(crate) struct LenientNumber(pub(crate) f64);

impl<'de> Deserialize<'de> for LenientNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        lenient_number(deserializer, |value| Ok::<_, ScoreError>(Self(value)))
    }
}

/// Reads such a number and converts it. The conversion is part of the reading, so that its error has the position of the
/// number.
fn lenient_number<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    convert: fn(f64) -> Result<T, ScoreError>,
) -> Result<T, D::Error> {
    struct Visitor<T>(fn(f64) -> Result<T, ScoreError>);

    impl<T> de::Visitor<'_> for Visitor<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a number")
        }

        fn visit_f64<E: de::Error>(self, value: f64) -> Result<T, E> {
            (self.0)(value).map_err(E::custom)
        }

        fn visit_u64<E: de::Error>(self, value: u64) -> Result<T, E> {
            self.visit_f64(value as f64)
        }

        fn visit_i64<E: de::Error>(self, value: i64) -> Result<T, E> {
            self.visit_f64(value as f64)
        }

        fn visit_bool<E: de::Error>(self, value: bool) -> Result<T, E> {
            self.visit_f64(f64::from(u8::from(value)))
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
            match text.trim().parse::<f64>() {
                Ok(value) if value.is_finite() => self.visit_f64(value),
                _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
            }
        }
    }

    deserializer.deserialize_any(Visitor(convert))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn says_what_is_wrong() {
        assert_eq!(
            Score::new(1.5).unwrap_err().to_string(),
            "1.5 is not a score: it must lie in 0..=1 (scale it, or use `Score::clamped`)"
        );
        assert_eq!(
            Score::new(f64::NAN).unwrap_err().to_string(),
            "NaN is not a score: it must be finite (a division by zero?)"
        );
    }

    #[test]
    fn reads_what_hosts_read() {
        for (text, expected) in [("1", 1.0), ("0.5", 0.5), ("true", 1.0), ("\" 0.25 \"", 0.25)] {
            assert_eq!(serde_json::from_str::<Score>(text).unwrap().get(), expected, "{text}");
        }
        for text in ["2", "-0.1", "null", "\"\"", "\"x\"", "\"nan\"", "\"inf\"", "[]", "{}"] {
            assert!(serde_json::from_str::<Score>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_share_of_nothing_is_not_a_score() {
        assert_eq!(Score::checked_ratio(0, 0), None);
        assert_eq!(Score::checked_ratio(1, 0), None);
        let panic = std::panic::catch_unwind(|| Score::ratio(3, 0)).unwrap_err();
        let message = panic.downcast_ref::<String>().unwrap();
        assert!(message.starts_with("`Score::ratio(3, 0)`: a share of nothing"), "{message}");
    }

    #[test]
    fn zero_has_no_sign() {
        assert!(Score::new(-0.0).unwrap().get().is_sign_positive());
        assert!(Score::clamped(-0.0).unwrap().get().is_sign_positive());
    }

    proptest! {
        #[test]
        fn only_finite_numbers_in_range_are_scores(value in proptest::num::f64::ANY) {
            prop_assert_eq!(Score::new(value).is_ok(), value.is_finite() && (0.0..=1.0).contains(&value));
        }

        #[test]
        fn clamping_is_idempotent_and_keeps_scores(value in proptest::num::f64::ANY) {
            if let Some(score) = Score::clamped(value) {
                prop_assert_eq!(Score::clamped(score.get()), Some(score));
                if let Ok(exact) = Score::new(value) { prop_assert_eq!(exact, score); }
            } else {
                prop_assert!(value.is_nan());
            }
        }

        #[test]
        fn a_mean_lies_between_its_extremes(values in proptest::collection::vec(0.0..=1.0_f64, 1..50)) {
            let scores: Vec<Score> = values.iter().map(|v| Score::new(*v).unwrap()).collect();
            let mean = Score::mean(scores.iter().copied()).unwrap().get();
            let least = scores.iter().min().unwrap().get();
            let greatest = scores.iter().max().unwrap().get();
            prop_assert!(mean >= least - 1e-12 && mean <= greatest + 1e-12);
        }

        #[test]
        fn a_ratio_is_a_score(part in 0_usize..1000, whole in 1_usize..1000) {
            let score = Score::ratio(part, whole);
            prop_assert!(Score::new(score.get()).is_ok());
            prop_assert_eq!(Score::checked_ratio(part, whole), Some(score));
        }

        #[test]
        fn round_trips(value in 0.0..=1.0_f64) {
            let score = Score::new(value).unwrap();
            let text = serde_json::to_string(&score).unwrap();
            prop_assert_eq!(serde_json::from_str::<Score>(&text).unwrap(), score);
        }
    }
}
