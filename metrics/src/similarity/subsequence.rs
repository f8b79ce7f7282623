//! The longest common subsequence of two texts.

/// Numbers of bits, and symbols of the pattern, that are worked on together.
const WORDS: usize = 4;
const BLOCK: usize = WORDS * 64;

/// Returns the length of the longest common subsequence of two lists of symbols, which are below `symbols`.
///
/// The algorithm is that of Hyyrö: a column of the table is an integer of as many bits as the pattern is long, and the next
/// column takes an addition. The pattern is taken in blocks, so that a block of a column stays in registers; what is
/// carried from block to block is noted for each symbol of the text. Time: the product of the lengths divided by 64.
pub(super) fn common_subsequence<S: Copy + Eq + Into<u32>>(
    candidate: &[S],
    reference: &[S],
    symbols: usize,
) -> usize {
    let equal = |(one, other): &(&S, &S)| one == other;
    let before = candidate.iter().zip(reference).take_while(equal).count();
    let (candidate, reference) = (&candidate[before..], &reference[before..]);
    let behind = candidate.iter().rev().zip(reference.iter().rev()).take_while(equal).count();
    let candidate = &candidate[..candidate.len() - behind];
    let reference = &reference[..reference.len() - behind];
    // Blocks cost the same whether they are full or not.
    let (pattern, text) = match candidate.len() > reference.len() {
        true => (candidate, reference),
        false => (reference, candidate),
    };
    let index = |symbol: &S| (*symbol).into() as usize;

    let mut positions = vec![[0_u64; WORDS]; symbols];
    let mut carries = vec![false; text.len()];
    let mut common = before + behind;
    for block in pattern.chunks(BLOCK) {
        for (at, symbol) in block.iter().enumerate() {
            positions[index(symbol)][at / 64] |= 1 << (at % 64);
        }
        let mut column = [u64::MAX; WORDS];
        for (symbol, carry) in text.iter().zip(&mut carries) {
            for (word, matches) in column.iter_mut().zip(&positions[index(symbol)]) {
                let (sum, overflows) = word.overflowing_add(*word & matches);
                let (sum, overflows_again) = sum.overflowing_add(u64::from(*carry));
                *carry = overflows | overflows_again;
                *word = sum | (*word & !matches);
            }
        }
        common += column.iter().map(|word| word.count_zeros() as usize).sum::<usize>();
        for symbol in block {
            positions[index(symbol)] = [0; WORDS];
        }
    }
    common
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    /// The table of the textbook.
    fn by_table(one: &[u32], other: &[u32]) -> usize {
        let mut row = vec![0; other.len() + 1];
        for symbol in one {
            let mut diagonal = 0;
            for (at, other) in other.iter().enumerate() {
                let above = row[at + 1];
                row[at + 1] = if symbol == other { diagonal + 1 } else { above.max(row[at]) };
                diagonal = above;
            }
        }
        row[other.len()]
    }

    proptest! {
        #[test]
        fn the_length_is_that_of_the_table(
            symbols in 1..5_u32,
            one in vec(any::<u32>(), 0..700),
            other in vec(any::<u32>(), 0..700),
        ) {
            let below = |list: Vec<u32>| list.into_iter().map(|it| it % symbols).collect::<Vec<_>>();
            let (one, other) = (below(one), below(other));
            let found = common_subsequence(&one, &other, symbols as usize);
            prop_assert_eq!(found, by_table(&one, &other));
        }
    }
}
