//! Ack ids: what a lease is called on the wire.

use super::lease::LeaseId;

/// Makes and reads ack ids of a given length.
///
/// An id names the subscription, the slot of the lease and the slot's generation in 24 hex digits;
/// the rest is filler, because the ids of the service are long and clients must cope with that.
#[derive(Clone, Debug)]
pub struct AckIds {
    filler: Box<[u8]>,
}

/// The shortest ack id.
pub const MIN_LEN: usize = 24;
/// The longest ack id that can be asked for.
pub const MAX_LEN: usize = 65_536;
/// About the length that the service uses.
pub const DEFAULT_LEN: usize = 180;

const HEX: &[u8; 16] = b"0123456789abcdef";

impl Default for AckIds {
    fn default() -> Self {
        Self::with_len(DEFAULT_LEN)
    }
}

impl AckIds {
    /// Ids of `len` bytes, within [`MIN_LEN`] and [`MAX_LEN`].
    pub fn with_len(len: usize) -> Self {
        let filler = b"-_QV5AwsrUVAfAw8XEFBbS1kDT1VYAA";
        let len = len.clamp(MIN_LEN, MAX_LEN);
        AckIds {
            filler: filler.iter().copied().cycle().take(len - MIN_LEN).collect(),
        }
    }

    /// The length of each id.
    pub fn id_len(&self) -> usize {
        MIN_LEN + self.filler.len()
    }

    /// Appends the id of a lease.
    pub(crate) fn write(&self, subscription: u32, lease: LeaseId, out: &mut Vec<u8>) {
        for number in [subscription, lease.slot, lease.generation] {
            let mut digits = [0; 8];
            for (i, digit) in digits.iter_mut().enumerate() {
                *digit = HEX[(number >> (28 - 4 * i)) as usize & 15];
            }
            out.extend_from_slice(&digits);
        }
        out.extend_from_slice(&self.filler);
    }

    /// The id of a lease as a string.
    pub(crate) fn format(&self, subscription: u32, lease: LeaseId) -> String {
        let mut out = Vec::with_capacity(self.id_len());
        self.write(subscription, lease, &mut out);
        String::from_utf8(out).unwrap_or_default()
    }
}

/// The subscription and the lease that an id names; `None` when it was never given out.
pub(crate) fn parse(id: &[u8]) -> Option<(u32, LeaseId)> {
    let digits = id.get(..MIN_LEN)?;
    let mut numbers = [0u32; 3];
    for (number, digits) in numbers.iter_mut().zip(digits.chunks_exact(8)) {
        for digit in digits {
            let value = match digit {
                b'0'..=b'9' => digit - b'0',
                b'a'..=b'f' => digit - b'a' + 10,
                _ => return None,
            };
            *number = *number << 4 | u32::from(value);
        }
    }
    let filler = &id[MIN_LEN..];
    if filler.first().is_some_and(|b| *b != b'-') || id.len() > MAX_LEN {
        return None;
    }
    let [subscription, slot, generation] = numbers;
    Some((subscription, LeaseId { slot, generation }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_their_length_and_are_read_back() {
        for len in [24, 25, 180, 230, 5000] {
            let ids = AckIds::with_len(len);
            let lease = LeaseId {
                slot: 0xdead_beef,
                generation: 7,
            };
            let id = ids.format(3, lease);
            assert_eq!(id.len(), len);
            assert_eq!(parse(id.as_bytes()), Some((3, lease)));
        }
    }

    #[test]
    fn what_was_never_given_out_is_refused() {
        assert_eq!(parse(b""), None);
        assert_eq!(parse(b"ack-id"), None);
        assert_eq!(parse(&[b'g'; 24]), None);
    }
}
