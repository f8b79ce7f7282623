//! Classes of bytes, numbers, and the content of strings: plain bytes and escapes.
//!
//! Most of a recording is the content of strings, and where messages are recorded as JSON in a string, every few bytes are
//! an escape. Skipping strings is therefore the hot loop of the index: on a document of 63 MB with such messages it runs at
//! 5.0 GB/s with `wide`, at 1.9 GB/s with `memchr2`, and at 1.6 GB/s with eight bytes at a time (x86-64, 2026-11). Copying
//! them is a third of the work of a run over long conversations.

use wide::u8x16;

/// The character of a backslash followed by a byte; 0 for bytes that start a longer escape, or none.
const ESCAPED: [u8; 256] = {
    let mut table = [0; 256];
    table[b'"' as usize] = b'"';
    table[b'\\' as usize] = b'\\';
    table[b'/' as usize] = b'/';
    table[b'b' as usize] = 0x8;
    table[b'f' as usize] = 0xc;
    table[b'n' as usize] = b'\n';
    table[b'r' as usize] = b'\r';
    table[b't' as usize] = b'\t';
    table
};

/// Bytes that are looked at together.
const BLOCK: usize = 16;

/// Returns true for the whitespace of JSON.
#[inline]
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Returns the character of a backslash followed by this byte, if those two bytes are the whole escape.
#[inline]
pub(crate) fn escaped(byte: u8) -> Option<u8> {
    Some(ESCAPED[usize::from(byte)]).filter(|&byte| byte != 0)
}

/// Reads a `\u` escape, or two that are a surrogate pair. Returns its length and its character, which a lone surrogate does
/// not have.
pub(crate) fn unicode_escape(bytes: &[u8]) -> Option<(usize, Option<char>)> {
    let unit = |from: usize| {
        let mut digits = bytes.get(from..from + 4)?.iter();
        digits.try_fold(0, |unit, &byte| Some(unit * 16 + char::from(byte).to_digit(16)?))
    };
    let first = unit(2)?;
    let second = if bytes.get(6..8) == Some(b"\\u") { unit(8) } else { None };
    Some(match (first, second) {
        (0xd800..=0xdbff, Some(second @ 0xdc00..=0xdfff)) => {
            (12, char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00)))
        }
        _ => (6, char::from_u32(first)),
    })
}

/// Returns the length of the number at the start, and whether it has a fraction or an exponent.
///
/// As in Python, a number ends before the first character that cannot belong to it: `01` is `0` followed by `1`.
pub(crate) fn number(bytes: &[u8]) -> Option<(usize, bool)> {
    let digits = |from: usize| {
        let rest = bytes.get(from..).unwrap_or_default();
        rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
    };
    let sign = usize::from(bytes.first() == Some(&b'-'));
    let whole = if bytes.get(sign) == Some(&b'0') { 1 } else { digits(sign) };
    if whole == 0 {
        return None;
    }
    let integer = sign + whole;
    let mut end = integer;
    if bytes.get(end) == Some(&b'.') && digits(end + 1) > 0 {
        end += 1 + digits(end + 1);
    }
    if let Some(b'e' | b'E') = bytes.get(end) {
        let start = end + 1 + usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if digits(start) > 0 {
            end = start + digits(start);
        }
    }
    Some((end, end > integer))
}

/// Returns the number of bytes before the first quote, backslash or control character.
#[inline]
pub(crate) fn plain_length(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(block) = bytes[at..].first_chunk() {
        let plain = plain_bytes(*block);
        at += plain;
        if plain < BLOCK {
            return at;
        }
    }
    let is_special = |byte: &u8| *byte == b'"' || *byte == b'\\' || *byte < 0x20;
    at + bytes[at..].iter().position(is_special).unwrap_or(bytes.len() - at)
}

/// Returns the number of bytes before the first that the string cannot simply continue with: a quote, a control character,
/// or a backslash that does not start an escape of two bytes.
pub(crate) fn passable_length(bytes: &[u8]) -> usize {
    let mut at = 0;
    // Most strings are short and end here.
    for _ in 0..2 {
        let rest = &bytes[at..];
        at += plain_length(rest.get(..16).unwrap_or(rest));
        match bytes[at..] {
            [b'\\', next, ..] if escaped(next).is_some() => at += 2,
            [b'"' | b'\\' | 0..0x20, ..] | [] => return at,
            _ => {}
        }
    }
    // 1 if the first byte of the block belongs to an escape that started before it.
    let mut is_escaped = 0;
    while let Some(block) = bytes[at..].first_chunk::<64>() {
        let Marks { quotes, backslashes, controls, ens } = Marks::of(block);
        let escapes = Escapes::among(backslashes, is_escaped);
        let ends = (quotes & !escapes.escaped) | controls;
        let end = ends.trailing_zeros();
        let unusual = escapes.escaped & !(quotes | backslashes | ens);
        let mut left = unusual & (ends ^ ends.wrapping_sub(1));
        while left != 0 {
            let place = left.trailing_zeros() as usize;
            if escaped(block[place]).is_none() {
                // Back to the backslash, which may be the last byte of the block before.
                return at + place - 1;
            }
            left &= left - 1;
        }
        if ends != 0 {
            return at + end as usize;
        }
        at += 64;
        is_escaped = escapes.last_escapes;
    }
    // Back to the backslash of an escape that is not complete yet.
    at -= is_escaped as usize;
    loop {
        at += plain_length(&bytes[at..]);
        match bytes[at..] {
            [b'\\', next, ..] if escaped(next).is_some() => at += 2,
            _ => return at,
        }
    }
}

/// Special bytes among 64, one bit for each; the lowest bit is the first byte.
struct Marks {
    quotes: u64,
    backslashes: u64,
    controls: u64,
    /// `n`, which with quotes and backslashes is nearly all that is escaped in JSON recorded as a string.
    ens: u64,
}

impl Marks {
    #[inline]
    fn of(block: &[u8; 64]) -> Self {
        let mut marks = Self { quotes: 0, backslashes: 0, controls: 0, ens: 0 };
        let last_control = u8x16::splat(0x1f);
        let (quarters, _) = block.as_chunks::<16>();
        for (number, quarter) in quarters.iter().enumerate() {
            let bytes = u8x16::new(*quarter);
            let bits = |places: u8x16| u64::from(places.to_bitmask()) << (number * 16);
            marks.quotes |= bits(bytes.simd_eq(u8x16::splat(b'"')));
            marks.backslashes |= bits(bytes.simd_eq(u8x16::splat(b'\\')));
            marks.ens |= bits(bytes.simd_eq(u8x16::splat(b'n')));
            marks.controls |= bits(bytes.max(last_control).simd_eq(last_control));
        }
        marks
    }
}

/// Escapes among 64 bytes.
struct Escapes {
    /// The bytes after the backslashes that escape something.
    escaped: u64,
    /// 1 if the last byte is such a backslash.
    last_escapes: u64,
}

impl Escapes {
    /// In a run of backslashes every other one escapes the next. A subtraction carries that through the runs: it turns
    /// over the bits of each run from its start on, and runs that start at odd places have been turned over before.
    #[inline]
    fn among(backslashes: u64, first_is_escaped: u64) -> Self {
        const ODD: u64 = 0xaaaa_aaaa_aaaa_aaaa;
        let may_escape = backslashes & !first_is_escaped;
        let carried = ((may_escape << 1) | ODD).wrapping_sub(may_escape);
        let in_turn = carried ^ ODD;
        Self {
            escaped: in_turn ^ (backslashes | first_is_escaped),
            last_escapes: (in_turn & backslashes) >> 63,
        }
    }
}

/// Appends the bytes that [`passable_length`] counts, with escapes replaced. Returns their number in `bytes`.
pub(crate) fn unescape(bytes: &[u8], out: &mut Vec<u8>) -> usize {
    let mut at = 0;
    loop {
        // Plain bytes are often few, so a block is copied before it is known how many of them count.
        match bytes[at..].first_chunk::<BLOCK>() {
            Some(block) => {
                out.extend_from_slice(block);
                let plain = plain_bytes(*block);
                at += plain;
                if plain == BLOCK {
                    continue;
                }
                out.truncate(out.len() + plain - BLOCK);
            }
            None => {
                let plain = plain_length(&bytes[at..]);
                out.extend_from_slice(&bytes[at..at + plain]);
                at += plain;
            }
        }
        match bytes[at..] {
            [b'\\', next, ..] if escaped(next).is_some() => {
                out.push(ESCAPED[usize::from(next)]);
                at += 2;
            }
            _ => return at,
        }
    }
}

/// Returns the number of bytes before the first quote, backslash or control character.
#[inline]
fn plain_bytes(block: [u8; BLOCK]) -> usize {
    let (bytes, last_control) = (u8x16::new(block), u8x16::splat(0x1f));
    let special = bytes.simd_eq(u8x16::splat(b'"'))
        | bytes.simd_eq(u8x16::splat(b'\\'))
        | bytes.max(last_control).simd_eq(last_control);
    // With a bit for the end of the block.
    (special.to_bitmask() | 1 << BLOCK).trailing_zeros() as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn many_at_a_time_is_as_one_at_a_time(
            bytes in prop::collection::vec(
                prop_oneof![
                    90 => 0x20..=0x21_u8,
                    8 => any::<u8>(),
                    60 => prop::sample::select(b"nt\x80\\\\".to_vec()),
                    4 => prop::sample::select(b"\"u\x1f".to_vec()),
                ],
                0..200,
            ),
            backslashes in any::<bool>(),
        ) {
            let mut bytes = bytes;
            if backslashes {
                // Whole escapes only, so that the end is not near.
                let whole = bytes.iter().map(|&byte| if byte == b'\\' { [b'\\', b'\\'] } else { [byte, b'x'] });
                bytes = whole.flatten().collect();
            }
            let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
            let plain = bytes.iter().position(is_special).unwrap_or(bytes.len());
            prop_assert_eq!(plain_length(&bytes), plain);

            let (mut at, mut text) = (0, Vec::new());
            while let Some(&byte) = bytes.get(at) {
                match bytes.get(at + 1).copied().and_then(escaped).filter(|_| byte == b'\\') {
                    Some(escaped) => {
                        text.push(escaped);
                        at += 2;
                    }
                    None if is_special(&byte) => break,
                    None => {
                        text.push(byte);
                        at += 1;
                    }
                }
            }
            prop_assert_eq!(passable_length(&bytes), at);
            let mut out = b"before".to_vec();
            prop_assert_eq!(unescape(&bytes, &mut out), at);
            prop_assert_eq!(&out[6..], text);
        }
    }
}
