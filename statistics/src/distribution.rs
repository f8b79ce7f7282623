//! Quantiles and distribution functions.

use libm::{erfc, exp, lgamma, log};

/// Steps of a continued fraction: more than shapes of many millions need.
const MOST_STEPS: u32 = 100_000;

/// Returns the quantile of the standard normal distribution. `p` is between 0 and 1, both excluded.
pub fn normal_quantile(p: f64) -> f64 {
    let above = |z: f64| 0.5 * erfc(z * std::f64::consts::FRAC_1_SQRT_2);
    by_tail(p, |tail| bisect(0.0, 40.0, |z| above(z) > tail))
}

/// Returns the quantile of Student's distribution with `df` > 0 degrees of freedom, which need not be whole. `p` is between
/// 0 and 1, both excluded.
pub fn student_quantile(p: f64, df: f64) -> f64 {
    // P(T > t) = I(df / (df + t^2); df/2, 1/2) / 2.
    let above = |t: f64| {
        let sum = df + t * t;
        0.5 * regularized_beta(df / 2.0, 0.5, [df / sum, t * t / sum])
    };
    by_tail(p, |tail| {
        let mut high = 1.0_f64;
        while high.is_finite() && above(high) > tail {
            high *= 2.0;
        }
        bisect(0.0, high, |t| above(t) > tail)
    })
}

/// Returns the quantile of a distribution that is symmetric around 0. `positive` returns the number above which a
/// probability of at most 0.5 lies.
fn by_tail(p: f64, positive: impl Fn(f64) -> f64) -> f64 {
    if p < 0.5 { -positive(p) } else { positive(1.0 - p) }
}

/// Returns the quantile of the Beta distribution with the shapes `a` > 0 and `b` > 0. `p` is between 0 and 1, both excluded.
pub fn beta_quantile(p: f64, a: f64, b: f64) -> f64 {
    bisect(0.0, 1.0, |x| regularized_beta(a, b, [x, 1.0 - x]) < p)
}

/// Returns the probability of at most `k` successes in `n` draws that each succeed with the probability `p`:
/// I(1 - p; n - k, k + 1). Accurate to 1e-9 up to `n` = 100,000, and to 1e-8 up to a million.
pub fn binomial_cdf(k: u64, n: u64, p: f64) -> f64 {
    if k >= n {
        return 1.0;
    }
    regularized_beta((n - k) as f64, k as f64 + 1.0, [1.0 - p, p])
}

/// Returns the regularized incomplete beta function I(x; a, b). `sides` are x and 1 - x, since one of the two may be too close
/// to 1 to have all digits of the other.
///
/// Evaluates the continued fraction 8.17.22 of the Digital Library of Mathematical Functions with Lentz's method, on the side
/// of the mean where it converges: the number of steps grows with the square root of the larger shape.
fn regularized_beta(a: f64, b: f64, sides: [f64; 2]) -> f64 {
    let [x, rest] = sides;
    if x <= 0.0 || rest <= 0.0 {
        return if x <= 0.0 { 0.0 } else { 1.0 };
    }
    // Not by a second call of this: rounding may put both sides above their means.
    if x > (a + 1.0) / (a + b + 2.0) {
        1.0 - below_mean(b, a, [rest, x])
    } else {
        below_mean(a, b, sides)
    }
}

/// The same on one side of the mean.
fn below_mean(a: f64, b: f64, [x, rest]: [f64; 2]) -> f64 {
    let (mut fraction, mut above, mut below) = (1.0_f64, 1.0_f64, 0.0_f64);
    for step in 0..MOST_STEPS {
        let before = fraction;
        let m = f64::from(step);
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let m = m + 1.0;
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        for coefficient in [odd, even] {
            below = 1.0 / (1.0 + coefficient * below);
            above = 1.0 + coefficient / above;
            fraction *= above * below;
        }
        if (fraction - before).abs() <= 1e-16 * before {
            break;
        }
    }
    let beta = lgamma(a) + lgamma(b) - lgamma(a + b);
    exp(a * log(x) + b * log(rest) - beta) / (a * fraction)
}

/// Returns the number at which the condition stops to hold, to the last bit.
pub(crate) fn bisect(mut low: f64, mut high: f64, is_below: impl Fn(f64) -> bool) -> f64 {
    loop {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            return high;
        }
        if is_below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_that_are_both_above_their_means_by_rounding_have_a_value() {
        let (a, b, x) = (6.858_677_490_285_651, 72.790_203_804_996_51, 0.096_249_665_220_333_43);
        let value = regularized_beta(a, b, [x, 1.0 - x]);
        assert!((value - 0.662_973_410_802).abs() < 1e-9, "{value}");
    }
}
