//! Statistics of evaluations as pure functions: intervals, gates, paired comparisons, repeats, random numbers.
//!
//! This crate makes no promise of stability; `evaluator-host` has what programs that embed it need.
//!
//! | file | contents |
//! |---|---|
//! | `bounded` | [`bounded_mean`]: the interval of a mean of bounded values |
//! | `proportion` | [`clopper_pearson`]: the interval of a proportion |
//! | `corrected` | [`JudgeRates`]: a pass rate corrected for the errors of a judge |
//! | `unbounded` | [`mean_t`], [`mean_clustered`]: intervals of means that have no bounds |
//! | `gate` | three-valued decisions: [`gate_mean`], [`gate_rate`], [`noninferiority`], and [`min_cases`] |
//! | `betting` | [`Betting`]: a decision that may be looked at after every value |
//! | `paired` | p-values of two runs over the same cases, and [`PowerOfMean`] |
//! | `repeats` | [`pass_at_k`], [`disagreement`], [`anova`] |
//! | `agreement` | raters held against each other: [`confusion`], [`kappa`], [`kripp`], [`auroc`], [`best_threshold`], [`correlation`] |
//! | `random` | [`Random`]: seeded random numbers |
//! | `distribution` | quantiles and distribution functions |
//!
//! Confidences are two-sided: 0.95 leaves 2.5 % at each end. Sums are compensated, so the order of values does not matter
//! beyond the last digit.
//!
//! # Reproducibility
//!
//! Results depend on the arguments alone, and have the same bits on every machine: arithmetic, square roots and random numbers
//! are exact or correctly rounded, and the crate `libm` computes logarithms and exponentials in Rust. Those of the standard
//! library call the platform's C library, whose last digits depend on its version; `clippy.toml` refuses them.
//!
//! ```
//! use evaluator_statistics::{GateVerdict, gate_mean};
//!
//! // Five perfect scores do not show that the mean is at least 0.95.
//! let decision = gate_mean(&[1.0; 5], None, 0.95, 0.95)?;
//! assert_eq!(decision.verdict, GateVerdict::Inconclusive);
//! assert_eq!(decision.needed, Some(92));
//! # Ok::<(), evaluator_statistics::Refusal>(())
//! ```

mod agreement;
mod betting;
mod bounded;
mod corrected;
mod distribution;
mod gate;
mod paired;
mod proportion;
mod random;
mod refusal;
mod repeats;
mod sum;
mod unbounded;
mod units;

pub use agreement::{
    Alpha, Auroc, BestThreshold, Confusion, Correlation, Kappa, Level, Rates, Weights, auroc,
    best_threshold, confusion, correlation, kappa, kripp,
};
pub use betting::Betting;
pub use bounded::{Estimate, Interval, bounded_mean};
pub use corrected::{JudgeRates, LEAST_LABELS, LabelCounts};
pub use distribution::{beta_quantile, binomial_cdf, normal_quantile, student_quantile};
pub use gate::{
    Decision, GateKind, GateVerdict, MOST_CASES, gate_mean, gate_rate, min_cases, noninferiority,
};
pub use paired::{PowerOfMean, SignFlips, holm, mcnemar, signflip_exact, signflip_mc};
pub use proportion::clopper_pearson;
pub use random::Random;
pub use refusal::Refusal;
pub use repeats::{PassK, Variance, anova, disagreement, pass_at_k};
pub use unbounded::{ClusteredMean, Mean, mean_clustered, mean_t};
