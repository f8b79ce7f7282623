//! Time of the random sign flips of a comparison: 9,999 flips of 1,000 differences, to take at most 0.15 s.
//!
//! `cargo bench -p evaluator-statistics --bench sign_flips`

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use std::{hint::black_box, time::Instant};

use evaluator_statistics::{Random, signflip_mc};

fn main() {
    // `cargo test --benches` only checks that it compiles.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let mut random = Random::new(1);
    let differences: Vec<f64> = (0..1000).map(|_| random.below(2001) as f64 - 1000.0).collect();
    let mut seconds: Vec<f64> = (0..11)
        .map(|_| {
            let start = Instant::now();
            let _ = black_box(signflip_mc(black_box(&differences), 0, 9_999));
            start.elapsed().as_secs_f64()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    println!(
        "9,999 flips of 1,000 differences: {:.3} s (median of 11), to reach 0.15 s",
        seconds[5]
    );
}
