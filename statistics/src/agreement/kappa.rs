//! Cohen's kappa.

use crate::{
    refusal::{Refusal, require},
    sum::{square, sum},
};

/// Weights of disagreements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weights {
    /// Every disagreement counts the same.
    Equal,
    /// A disagreement counts as the square of the number of categories between both.
    Quadratic,
}

/// Agreement of two raters, corrected for that by chance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kappa {
    /// Kappa, at most 1; `None` if both raters always use the same single category.
    pub kappa: Option<f64>,
    /// Standard error of it.
    pub se: Option<f64>,
}

/// Returns Cohen's kappa of two raters (1960; weighted: 1968), and its large-sample standard error (Fleiss, Cohen and Everitt
/// 1969).
///
/// `categories` are all values that a rating may have, in their order. With the observed shares o, their margins r and c, and
/// the weights w of disagreements: kappa = 1 - sum(w o) / sum(w r c).
///
/// # Errors
///
/// The raters did not rate the same number of items, there are none, or a rating is not one of the categories.
pub fn kappa(a: &[f64], b: &[f64], categories: &[f64], weights: Weights) -> Result<Kappa, Refusal> {
    require(a.len() == b.len(), Refusal::Length)?;
    require(!a.is_empty(), Refusal::Empty)?;
    let k = categories.len();
    let index =
        |rating: &f64| categories.iter().position(|it| it == rating).ok_or(Refusal::Category);
    let mut counts = vec![0_u64; k * k];
    for (one, other) in a.iter().zip(b) {
        counts[index(one)? * k + index(other)?] += 1;
    }
    let n = a.len() as f64;
    let share = |row: usize, column: usize| counts[row * k + column] as f64 / n;
    let rows: Vec<f64> = (0..k).map(|row| sum((0..k).map(|it| share(row, it)))).collect();
    let columns: Vec<f64> = (0..k).map(|column| sum((0..k).map(|it| share(it, column)))).collect();
    let most = match weights {
        Weights::Equal => 1.0,
        Weights::Quadratic => square(k as f64 - 1.0),
    };
    // Weights of agreements, from 0 to 1.
    let agreement = |row: usize, column: usize| match weights {
        Weights::Equal => f64::from(row == column),
        Weights::Quadratic => 1.0 - square(row.abs_diff(column) as f64) / most,
    };
    let cells = || (0..k).flat_map(|row| (0..k).map(move |column| (row, column)));
    let by_chance =
        cells().map(|(row, column)| (1.0 - agreement(row, column)) * rows[row] * columns[column]);
    let (observed, by_chance) = (
        sum(cells().map(|(row, column)| (1.0 - agreement(row, column)) * share(row, column))),
        sum(by_chance),
    );
    if k < 2 || by_chance == 0.0 {
        return Ok(Kappa { kappa: None, se: None });
    }
    let kappa = 1.0 - observed / by_chance;
    let of_row: Vec<f64> =
        (0..k).map(|row| sum((0..k).map(|it| agreement(row, it) * columns[it]))).collect();
    let of_column: Vec<f64> =
        (0..k).map(|column| sum((0..k).map(|it| rows[it] * agreement(it, column)))).collect();
    let chance = 1.0 - by_chance;
    let squares = sum(cells().map(|(row, column)| {
        let mean = (of_row[row] + of_column[column]) * (1.0 - kappa);
        share(row, column) * square(agreement(row, column) - mean)
    }));
    let spread = squares - square(kappa - chance * (1.0 - kappa));
    let variance = spread / (n * by_chance * by_chance);
    Ok(Kappa { kappa: Some(kappa), se: Some(variance.max(0.0).sqrt()) })
}
