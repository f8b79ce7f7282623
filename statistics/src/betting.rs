//! Decisions that may be looked at after every value.

use libm::{log, log1p};

use crate::{
    gate::GateVerdict,
    refusal::{Refusal, require, require_confidence, require_finite},
};

/// A test that bets on the mean of values from 0 to 1, and against it, as they come (Waudby-Smith and Ramdas 2024).
///
/// Capital that grows although the mean is at the limit is a martingale, so it exceeds 2/a with a probability of at most
/// a/2, whenever one looks. With a = 1 - confidence, x_i the values, and m_i and v_i their running mean and variance, which
/// start at 1/2 and 1/4 as if a value had been seen before:
///
/// ```text
/// bet_i = sqrt(2 ln(2/a) / (v_(i-1) i ln(i+1)))
/// capital above:  prod (1 + min(bet_i, 1/(2 limit)) (x_i - limit))
/// capital below:  prod (1 - min(bet_i, 1/(2 (1 - limit))) (x_i - limit))
/// ```
///
/// The first capital that reaches 2/a decides: the upper one that the mean is at least the limit, the lower one that it is
/// below. Sums are in the order of the values.
#[derive(Clone, Debug)]
pub struct Betting {
    limit: f64,
    /// ln(2/a).
    target: f64,
    n: u64,
    sum: f64,
    squares: f64,
    variance: f64,
    above: f64,
    below: f64,
    decided: Option<(GateVerdict, u64)>,
}

impl Betting {
    /// Creates a test whether the mean is at least `limit`.
    ///
    /// # Errors
    ///
    /// The limit or the confidence is not between 0 and 1, both excluded.
    pub fn new(limit: f64, confidence: f64) -> Result<Self, Refusal> {
        require_confidence(confidence)?;
        require(limit > 0.0 && limit < 1.0, Refusal::Range)?;
        Ok(Self {
            limit,
            target: log(2.0 / (1.0 - confidence)),
            n: 0,
            sum: 0.0,
            squares: 0.0,
            variance: 0.25,
            above: 0.0,
            below: 0.0,
            decided: None,
        })
    }

    /// Takes the next value, and returns the verdict. It does not change any more once the test has decided.
    ///
    /// # Errors
    ///
    /// The value is not finite, or not from 0 to 1. Nothing has changed.
    pub fn observe(&mut self, value: f64) -> Result<GateVerdict, Refusal> {
        require_finite(&[value])?;
        require((0.0..=1.0).contains(&value), Refusal::Range)?;
        self.n += 1;
        let i = self.n as f64;
        let bet = (2.0 * self.target / (self.variance * i * log(i + 1.0))).sqrt();
        let distance = value - self.limit;
        self.above += log1p(bet.min(0.5 / self.limit) * distance);
        self.below += log1p(-bet.min(0.5 / (1.0 - self.limit)) * distance);
        self.sum += value;
        let mean = (0.5 + self.sum) / (i + 1.0);
        self.squares += (value - mean) * (value - mean);
        self.variance = (0.25 + self.squares) / (i + 1.0);
        if self.decided.is_none() {
            if self.above >= self.target {
                self.decided = Some((GateVerdict::Pass, self.n));
            } else if self.below >= self.target {
                self.decided = Some((GateVerdict::Fail, self.n));
            }
        }
        Ok(self.verdict())
    }

    /// Returns the verdict so far.
    pub fn verdict(&self) -> GateVerdict {
        self.decided.map_or(GateVerdict::Inconclusive, |(verdict, _)| verdict)
    }

    /// Returns the number of values with which the test decided.
    pub fn decided_at(&self) -> Option<u64> {
        self.decided.map(|(_, n)| n)
    }

    /// Returns the natural logarithms of the capital that bets on a mean above the limit, and below.
    pub fn log_capital(&self) -> [f64; 2] {
        [self.above, self.below]
    }
}
