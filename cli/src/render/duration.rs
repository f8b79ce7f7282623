//! Durations in words.

/// `153ms`, `4.5s`, `2m 5s`. Halves round to even.
pub(super) fn milliseconds(milliseconds: f64) -> String {
    // Spans may end before they start. Less than half a millisecond before is zero, not "-0".
    let rounded = milliseconds.round_ties_even() + 0.0;
    if rounded < 1000.0 {
        return format!("{rounded}ms");
    }
    let seconds = rounded / 1000.0;
    if seconds < 60.0 {
        return format!("{seconds:.1}s");
    }
    format!("{}m {}s", (seconds / 60.0).floor(), (seconds % 60.0).floor())
}

#[cfg(test)]
mod tests {
    use super::milliseconds;

    #[test]
    fn units_change_with_size() {
        for (value, text) in [
            (0.0, "0ms"),
            (-0.4, "0ms"),
            (-3.0, "-3ms"),
            (0.5, "0ms"),
            (1.5, "2ms"),
            (999.4, "999ms"),
            (999.6, "1.0s"),
            (59_900.0, "59.9s"),
            (125_000.0, "2m 5s"),
        ] {
            assert_eq!(milliseconds(value), text, "{value}");
        }
    }
}
