//! The form in which values are written down: compact, and exactly reversible.
//!
//! Nothing but this very process reads it, so there are no names and no versions in it. A type that is given another
//! field does not compile until the field is written down as well.

use std::{sync::Arc, time::Duration};

/// Texts that are part of the program, each written down as its place in this list.
#[derive(Clone, Debug, Default)]
pub(in crate::report) struct Names(Vec<&'static str>);

/// What values are written to.
pub(super) struct Packer<'p> {
    pub(super) bytes: &'p mut Vec<u8>,
    pub(super) names: &'p mut Names,
}

/// What is left to be read.
pub(super) struct Unpacker<'p> {
    pub(super) bytes: &'p [u8],
    pub(super) names: &'p Names,
}

/// A value that can be written down and read again.
pub(super) trait Packed: Sized {
    fn pack(&self, out: &mut Packer<'_>);

    /// `None` when these are not the bytes that [`pack`](Self::pack) has written.
    fn unpack(from: &mut Unpacker<'_>) -> Option<Self>;
}

/// Writes the fields of a struct one after the other.
macro_rules! packed_fields {
    ($type:ident { $($field:ident),+ $(,)? }) => {
        impl Packed for $type {
            fn pack(&self, out: &mut Packer<'_>) {
                let Self { $($field),+ } = self;
                $($field.pack(out);)+
            }

            fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
                $(let $field = Packed::unpack(from)?;)+
                Some(Self { $($field),+ })
            }
        }
    };
}
pub(super) use packed_fields;

impl Packer<'_> {
    pub(super) fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    fn text(&mut self, text: &str) {
        text.len().pack(self);
        self.bytes.extend_from_slice(text.as_bytes());
    }
}

impl<'p> Unpacker<'p> {
    pub(super) fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    fn text(&mut self) -> Option<&'p str> {
        let length = usize::unpack(self)?;
        let (text, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        std::str::from_utf8(text).ok()
    }
}

/// Seven bits in a byte, the lowest first; a byte that is not the last has its highest bit set.
impl Packed for u64 {
    fn pack(&self, out: &mut Packer<'_>) {
        let mut left = *self;
        while left >= 0x80 {
            out.byte(left as u8 | 0x80);
            left >>= 7;
        }
        out.byte(left as u8);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        let mut value = 0;
        for shift in (0..Self::BITS).step_by(7) {
            let byte = from.byte()?;
            value |= Self::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }
}

impl Packed for usize {
    fn pack(&self, out: &mut Packer<'_>) {
        (*self as u64).pack(out);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        u64::unpack(from)?.try_into().ok()
    }
}

impl Packed for u32 {
    fn pack(&self, out: &mut Packer<'_>) {
        u64::from(*self).pack(out);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        u64::unpack(from)?.try_into().ok()
    }
}

/// The sign in the lowest bit, so that small numbers are short whatever their sign.
impl Packed for i64 {
    fn pack(&self, out: &mut Packer<'_>) {
        ((*self << 1) ^ (*self >> 63)).cast_unsigned().pack(out);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        let value = u64::unpack(from)?;
        Some((value >> 1).cast_signed() ^ (value & 1).cast_signed().wrapping_neg())
    }
}

/// Its bits, so that `-0.0` and every `NaN` stay what they are. Most scores end in bytes of zeros; these come first, where
/// they cost nothing.
impl Packed for f64 {
    fn pack(&self, out: &mut Packer<'_>) {
        self.to_bits().swap_bytes().pack(out);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        Some(Self::from_bits(u64::unpack(from)?.swap_bytes()))
    }
}

impl Packed for Duration {
    fn pack(&self, out: &mut Packer<'_>) {
        self.as_secs().pack(out);
        self.subsec_nanos().pack(out);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        let seconds = u64::unpack(from)?;
        let nanoseconds = u32::unpack(from).filter(|it| *it < 1_000_000_000)?;
        Some(Self::new(seconds, nanoseconds))
    }
}

impl Packed for String {
    fn pack(&self, out: &mut Packer<'_>) {
        out.text(self);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        from.text().map(str::to_owned)
    }
}

impl Packed for Box<str> {
    fn pack(&self, out: &mut Packer<'_>) {
        out.text(self);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        from.text().map(Self::from)
    }
}

impl Packed for Arc<str> {
    fn pack(&self, out: &mut Packer<'_>) {
        out.text(self);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        from.text().map(Self::from)
    }
}

impl Packed for &'static str {
    fn pack(&self, out: &mut Packer<'_>) {
        let names = &mut out.names.0;
        let place = names.iter().position(|name| name == self).unwrap_or_else(|| {
            names.push(self);
            names.len() - 1
        });
        place.pack(out);
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        let place = usize::unpack(from)?;
        from.names.0.get(place).copied()
    }
}

impl<T: Packed> Packed for Option<T> {
    fn pack(&self, out: &mut Packer<'_>) {
        out.byte(self.is_some().into());
        if let Some(value) = self {
            value.pack(out);
        }
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        match from.byte()? {
            0 => Some(None),
            1 => T::unpack(from).map(Some),
            _ => None,
        }
    }
}

impl<T: Packed> Packed for Vec<T> {
    fn pack(&self, out: &mut Packer<'_>) {
        self.len().pack(out);
        self.iter().for_each(|item| item.pack(out));
    }

    fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        let length = usize::unpack(from)?;
        (0..length).map(|_| T::unpack(from)).collect()
    }
}
