//! Scores against two classes.

use super::ranks::ranks;
use crate::{
    bounded::Interval,
    distribution::normal_quantile,
    random::Random,
    refusal::{Refusal, require, require_confidence, require_finite},
    sum::sum,
};

/// Area under the receiver operating characteristic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Auroc {
    /// Chance that a positive item has a higher score than a negative one; equal scores count half.
    pub auroc: f64,
    /// Standard error of it; `None` with fewer than two items of a class.
    pub se: Option<f64>,
    /// Interval of it, within 0..=1.
    pub interval: Option<Interval>,
}

/// The threshold that separates two classes best.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BestThreshold {
    /// Score from which on items are taken for positive ones.
    pub threshold: f64,
    /// Youden's J there: recall + specificity - 1.
    pub youden_j: f64,
    /// Interval of the threshold; `None` if no resample has both classes.
    pub interval: Option<Interval>,
    /// Number of resamples with both classes.
    pub used: u64,
}

/// Returns the area under the curve of scores (Mann and Whitney 1947), with the standard error of DeLong et al. (1988) by the
/// ranks of Sun and Xu (2014). The interval is the area -+ z se, cut to 0..=1.
///
/// # Errors
///
/// The numbers of labels and scores differ, a score is not finite, a class has no item, or the confidence is not between 0 and 1.
pub fn auroc(labels: &[bool], scores: &[f64], confidence: f64) -> Result<Auroc, Refusal> {
    require_finite(scores)?;
    require_confidence(confidence)?;
    require(labels.len() == scores.len(), Refusal::Length)?;
    let of = |class: bool| -> Vec<usize> {
        (0..labels.len()).filter(|index| labels[*index] == class).collect()
    };
    let (positive, negative) = (of(true), of(false));
    require(!positive.is_empty() && !negative.is_empty(), Refusal::OneClass)?;
    let overall = ranks(scores);
    // How many items of the other class are below an item of this one.
    let below = |class: &[usize], others: usize| -> Vec<f64> {
        let own: Vec<f64> = class.iter().map(|index| scores[*index]).collect();
        let within = ranks(&own).into_iter();
        class
            .iter()
            .zip(within)
            .map(|(index, rank)| (overall[*index] - rank) / others as f64)
            .collect()
    };
    let (above, below) = (below(&positive, negative.len()), below(&negative, positive.len()));
    let (m, n) = (positive.len() as f64, negative.len() as f64);
    let auroc = sum(above.iter().copied()) / m;
    let se = (m >= 2.0 && n >= 2.0).then(|| (variance(&above) / m + variance(&below) / n).sqrt());
    let z = normal_quantile(1.0 - (1.0 - confidence) / 2.0);
    let interval = se
        .map(|se| Interval { lower: (auroc - z * se).max(0.0), upper: (auroc + z * se).min(1.0) });
    Ok(Auroc { auroc, se, interval })
}

fn variance(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = sum(values.iter().copied()) / n;
    sum(values.iter().map(|value| (value - mean) * (value - mean))) / (n - 1.0)
}

/// Returns the score from which on items should be taken for positive ones: the lowest of those with the highest J (Youden 1950).
///
/// The interval has the percentiles of the best thresholds of this many samples of the items, drawn with replacement by
/// [`Random`]; those with one class do not count.
///
/// # Errors
///
/// The numbers of labels and scores differ, a score is not finite, a class has no item, or the confidence is not between 0 and 1.
pub fn best_threshold(
    labels: &[bool],
    scores: &[f64],
    seed: u64,
    resamples: u64,
    confidence: f64,
) -> Result<BestThreshold, Refusal> {
    require_finite(scores)?;
    require_confidence(confidence)?;
    require(labels.len() == scores.len(), Refusal::Length)?;
    let mut values = scores.to_vec();
    values.sort_by(f64::total_cmp);
    values.dedup();
    // The number of each item's score among all different ones.
    let places: Vec<usize> =
        scores.iter().map(|score| values.partition_point(|value| value < score)).collect();
    let mut counts = vec![[0_u64; 2]; values.len()];
    let count = |counts: &mut Vec<[u64; 2]>, item: usize| {
        counts[places[item]][usize::from(labels[item])] += 1;
    };
    (0..labels.len()).for_each(|item| count(&mut counts, item));
    let (best, youden_j) = best(&counts).ok_or(Refusal::OneClass)?;
    let mut random = Random::new(seed);
    let mut found = Vec::new();
    for _ in 0..resamples {
        counts.fill([0, 0]);
        (0..labels.len()).for_each(|_| count(&mut counts, random.below(labels.len())));
        found.extend(self::best(&counts).map(|(place, _)| values[place]));
    }
    found.sort_by(f64::total_cmp);
    let tail = (1.0 - confidence) / 2.0;
    let interval = (!found.is_empty()).then(|| Interval {
        lower: percentile(&found, tail),
        upper: percentile(&found, 1.0 - tail),
    });
    Ok(BestThreshold { threshold: values[best], youden_j, interval, used: found.len() as u64 })
}

/// Returns the place of the best threshold among counts of negative and positive items by score, and its J; `None` if there is
/// only one class. J is compared as whole numbers.
fn best(counts: &[[u64; 2]]) -> Option<(usize, f64)> {
    let negatives: u64 = counts.iter().map(|it| it[0]).sum();
    let positives: u64 = counts.iter().map(|it| it[1]).sum();
    if negatives == 0 || positives == 0 {
        return None;
    }
    let (mut true_negatives, mut true_positives) = (0, positives);
    let product = |a: u64, b: u64| u128::from(a).saturating_mul(b.into());
    let mut top: Option<(u128, usize, f64)> = None;
    for (place, [negative, positive]) in counts.iter().enumerate() {
        if negative + positive == 0 {
            continue;
        }
        let value =
            product(true_positives, negatives).saturating_add(product(true_negatives, positives));
        if top.is_none_or(|(most, ..)| value > most) {
            let j = true_positives as f64 / positives as f64
                + true_negatives as f64 / negatives as f64
                - 1.0;
            top = Some((value, place, j));
        }
        true_negatives += negative;
        true_positives -= positive;
    }
    top.map(|(_, place, j)| (place, j))
}

/// Returns a quantile of sorted values, between two of them by linear interpolation.
fn percentile(sorted: &[f64], q: f64) -> f64 {
    let place = (sorted.len() - 1) as f64 * q;
    let low = place.floor();
    let index = low as usize;
    let next = sorted[(index + 1).min(sorted.len() - 1)];
    sorted[index] + (place - low) * (next - sorted[index])
}
