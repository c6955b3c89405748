//! The few pieces of protobuf's wire format that the hot path needs.
//!
//! Only what is read or written without a generated message is here: variable-length integers, field keys, and the
//! three requests that carry ack ids.

use bytes::{BufMut, Bytes, BytesMut};

/// The longest variable-length integer, in bytes.
pub(crate) const MAX_VARINT: usize = 10;

/// Wire type of variable-length integers.
pub(crate) const VARINT: u8 = 0;
/// Wire type of eight fixed bytes.
pub(crate) const FIXED64: u8 = 1;
/// Wire type of length-delimited fields: strings, bytes, messages.
pub(crate) const LENGTH: u8 = 2;
/// Wire type of four fixed bytes.
pub(crate) const FIXED32: u8 = 5;

/// The key of a length-delimited field below 16.
pub(crate) const fn length_key(field: u8) -> u8 {
    field << 3 | LENGTH
}

/// Reads a variable-length integer at `*at` and moves `*at` behind it.
#[inline(always)]
pub(crate) fn varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let first = *bytes.get(*at)?;
    if first < 0x80 {
        *at += 1;
        return Some(u64::from(first));
    }
    long_varint(bytes, at)
}

#[inline(never)]
fn long_varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut value = 0u64;
    for (i, &byte) in bytes.get(*at..)?.iter().take(MAX_VARINT).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            *at += i + 1;
            return Some(value);
        }
    }
    None
}

/// How many bytes `value` takes as a variable-length integer.
pub(crate) const fn varint_len(value: u64) -> usize {
    let bits = 64 - (value | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}

/// Appends `value` as a variable-length integer.
#[inline]
pub(crate) fn put_varint(out: &mut impl BufMut, mut value: u64) {
    while value >= 0x80 {
        out.put_u8(value as u8 | 0x80);
        value >>= 7;
    }
    out.put_u8(value as u8);
}

/// Appends one length-delimited field below 16.
#[inline]
pub(crate) fn put_bytes(out: &mut impl BufMut, field: u8, value: &[u8]) {
    out.put_u8(length_key(field));
    put_varint(out, value.len() as u64);
    out.put_slice(value);
}

/// Appends one integer field below 16; zero is protobuf's default and is left out.
pub(crate) fn put_int(out: &mut impl BufMut, field: u8, value: u64) {
    if value != 0 {
        out.put_u8(field << 3 | VARINT);
        put_varint(out, value);
    }
}

/// One length-delimited field as an encoded message of its own.
pub(crate) fn encoded_field(field: u8, value: &[u8]) -> Bytes {
    let mut out = BytesMut::with_capacity(1 + MAX_VARINT + value.len());
    put_bytes(&mut out, field, value);
    out.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn varints_round_trip(value: u64) {
            let mut out = Vec::new();
            put_varint(&mut out, value);
            prop_assert_eq!(out.len(), varint_len(value));
            let mut at = 0;
            prop_assert_eq!(varint(&out, &mut at), Some(value));
            prop_assert_eq!(at, out.len());
        }
    }

    #[test]
    fn an_unfinished_varint_is_refused() {
        let mut at = 0;
        assert_eq!(varint(&[0x80, 0x80], &mut at), None);
        assert_eq!(varint(&[0xff; 11], &mut at), None);
        assert_eq!(at, 0);
    }
}
