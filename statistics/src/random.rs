//! Seeded random numbers that are the same with every version and on every machine.

use rand_pcg::{Lcg128Xsl64, rand_core::Rng as _};

/// The default stream of PCG.
const STREAM: u128 = 0xa02_bdbf_7bb3_c0a7_ac28_fa16_a64a_bf96;

/// A generator of random numbers: PCG XSL RR 128/64 (O'Neill 2014), as numpy's `PCG64` with the same state.
///
/// One generator serves one statistic. Indices and shuffles are defined here, since those of `rand` change with its versions.
#[derive(Clone, Debug)]
pub struct Random(Lcg128Xsl64);

impl Random {
    /// Creates the generator of a seed.
    pub fn new(seed: u64) -> Self {
        Self(Lcg128Xsl64::new(u128::from(seed), STREAM))
    }

    /// Returns the next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns the next index below `n`, or 0 if `n` is 0: the upper half of the next 64 bits times `n`.
    pub fn below(&mut self, n: usize) -> usize {
        let product = u128::from(self.next_u64()).wrapping_mul(n as u128);
        // Less than `n`.
        (product >> 64) as usize
    }

    /// Shuffles items: Fisher and Yates, from the end.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last + 1);
            items.swap(last, other);
        }
    }
}
