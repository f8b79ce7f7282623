//! Simulations of how often an interval claims too much. Nominal are 2.5 % at each end.

use std::ops::RangeInclusive;

use libm::{cos, log, pow};

use super::bounded_interval;
use crate::{Random, distribution::*, sum::square, units::Units};

/// Number of samples of each case.
const SAMPLES: usize = 2000;

/// Share of false claims that no case may exceed: what is nominal, and three standard errors of so many samples.
const MOST: f64 = 0.04;

/// Number of values in a sample. From 200 values on, intervals are closer to nominal.
const SIZES: [usize; 6] = [5, 10, 20, 40, 80, 200];

/// Draws of distributions.
struct Draws(Random);

impl Draws {
    fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn happens(&mut self, p: f64) -> bool {
        self.uniform() < p
    }

    /// Box and Muller.
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * log(1.0 - self.uniform())).sqrt();
        radius * cos(std::f64::consts::TAU * self.uniform())
    }

    /// Marsaglia and Tsang.
    fn gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            let power = pow(1.0 - self.uniform(), 1.0 / shape);
            return self.gamma(shape + 1.0) * power;
        }
        let d = shape - 1.0 / 3.0;
        loop {
            let x = self.normal();
            let root = 1.0 + x / (9.0 * d).sqrt();
            let v = root * root * root;
            if v > 0.0 && log(1.0 - self.uniform()) < 0.5 * x * x + d * (1.0 - v + log(v)) {
                return d * v;
            }
        }
    }

    fn beta(&mut self, a: f64, b: f64) -> f64 {
        let (x, y) = (self.gamma(a), self.gamma(b));
        // Both underflow if the shapes are small: then it is at one of the ends.
        if x + y > 0.0 { x / (x + y) } else { f64::from(self.happens(a / (a + b))) }
    }

    /// Number of trials up to the first success, at most 60.
    fn geometric(&mut self, p: f64) -> usize {
        (1..60).find(|_| self.happens(p)).unwrap_or(60)
    }
}

/// Checks that few of the samples claim that the mean is above or below the truth.
fn check(
    label: &str,
    truth: f64,
    range: &RangeInclusive<f64>,
    units: usize,
    mut sample: impl FnMut(&mut Units<'_>),
) {
    let (z, t) = (normal_quantile(0.975), student_quantile(0.975, units as f64 - 1.0));
    let (mut above, mut below) = (0, 0);
    let mut drawn = Units { sums: vec![0.0; units].into(), sizes: vec![1.0; units] };
    for _ in 0..SAMPLES {
        sample(&mut drawn);
        let interval = bounded_interval(&drawn, 1.0, range, square(z) / 2.0, t);
        above += usize::from(interval.lower > truth + 1e-12);
        below += usize::from(interval.upper < truth - 1e-12);
    }
    for (claim, wrong) in [("above", above), ("below", below)] {
        let share = wrong as f64 / SAMPLES as f64;
        assert!(share <= MOST, "{label}: {share} of the intervals are {claim} the truth");
    }
}

#[test]
fn few_intervals_of_scores_with_rare_failures_miss_the_mean() {
    let mut draws = Draws(Random::new(1));
    for zeros in [0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5]
    {
        for rest in [0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0] {
            let jitter = if rest < 1.0 { 0.01 } else { 0.0 };
            for n in SIZES {
                let label = format!("{zeros} zeros, others {rest}, {n} values");
                check(&label, (1.0 - zeros) * rest, &(0.0..=1.0), n, |units| {
                    for sum in units.sums.to_mut() {
                        let score = rest + jitter * (draws.uniform() - 0.5);
                        *sum = if draws.happens(zeros) { 0.0 } else { score };
                    }
                });
            }
        }
    }
}

#[test]
fn few_intervals_of_beta_distributed_scores_miss_the_mean() {
    let mut draws = Draws(Random::new(2));
    let shapes = [
        (8.0, 2.0),
        (2.0, 2.0),
        (20.0, 1.0),
        (0.5, 0.1),
        (50.0, 50.0),
        (5.0, 1.0),
        (1.0, 1.0),
        (0.2, 0.05),
        (30.0, 3.0),
        (2.0, 8.0),
        (0.3, 0.3),
    ];
    for (a, b) in shapes {
        for n in SIZES {
            check(&format!("beta({a}, {b}), {n} values"), a / (a + b), &(0.0..=1.0), n, |units| {
                units.sums.to_mut().iter_mut().for_each(|sum| *sum = draws.beta(a, b));
            });
        }
    }
}

#[test]
fn few_intervals_of_clustered_passes_miss_the_rate() {
    let mut draws = Draws(Random::new(3));
    for clusters in [2, 3, 5, 10, 20, 30, 60] {
        for are_equal in [true, false] {
            for truth in [0.8, 0.9, 0.95] {
                for correlation in [0.0, 0.2, 0.5, 0.9] {
                    let label = format!(
                        "{clusters} clusters, equal: {are_equal}, rate {truth}, correlation {correlation}"
                    );
                    check(&label, truth, &(0.0..=1.0), clusters, |units| {
                        for (sum, size) in units.sums.to_mut().iter_mut().zip(&mut units.sizes) {
                            let count = if are_equal { 5 } else { draws.geometric(0.2) };
                            let k = (1.0 - correlation) / correlation;
                            let p = match correlation {
                                0.0 => truth,
                                _ => draws.beta(truth * k, (1.0 - truth) * k),
                            };
                            *size = count as f64;
                            *sum = (0..count).filter(|_| draws.happens(p)).count() as f64;
                        }
                    });
                }
            }
        }
    }
}

#[test]
fn few_intervals_of_paired_differences_miss_the_mean() {
    let mut draws = Draws(Random::new(4));
    for n in SIZES {
        for margin in [0.02, 0.05, 0.1] {
            for gains in [0.0, 0.01, 0.03, 0.1, 0.2] {
                for noise in [0.0, 0.05] {
                    let label = format!("margin {margin}, gains {gains}, noise {noise}, {n} pairs");
                    check(&label, -margin, &(-1.0..=1.0), n, |units| {
                        for sum in units.sums.to_mut() {
                            let draw = draws.uniform();
                            *sum = if draw < gains + margin {
                                -1.0
                            } else if draw < 2.0 * gains + margin {
                                1.0
                            } else if noise > 0.0 {
                                noise * draws.normal()
                            } else {
                                0.0
                            };
                        }
                    });
                }
            }
        }
    }
}
