//! Compensated sums, and squares.

/// Returns the sum of numbers with Neumaier's compensation (1974): its error does not grow with their number.
pub(crate) fn sum(values: impl IntoIterator<Item = f64>) -> f64 {
    let (mut sum, mut lost) = (0.0_f64, 0.0);
    for value in values {
        let next = sum + value;
        lost += if sum.abs() >= value.abs() { (sum - next) + value } else { (value - next) + sum };
        sum = next;
    }
    sum + lost
}

pub(crate) fn square(x: f64) -> f64 {
    x * x
}

#[cfg(test)]
mod tests {
    use super::sum;

    #[test]
    fn what_a_plain_sum_loses_is_kept() {
        assert_eq!(sum([1.0, 1e100, 1.0, -1e100]), 2.0);
        assert_eq!(sum([0.1; 10]), 1.0);
        assert_eq!(sum([]), 0.0);
    }
}
