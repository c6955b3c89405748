//! Walking protobuf messages without building them.

/// A field of an encoded message.
#[derive(Debug, PartialEq, Eq)]
pub enum Field<'a> {
    /// A varint.
    Varint(u64),
    /// A string, bytes, or an embedded message.
    Bytes(&'a [u8]),
    /// A fixed-width number.
    Fixed(&'a [u8]),
}

/// Iterates over the fields of one encoded message. An illegal encoding ends it with an error.
#[derive(Debug)]
pub struct Fields<'a>(&'a [u8]);

/// The bytes are not a protobuf message.
#[derive(Debug, PartialEq, Eq)]
pub struct Malformed;

impl<'a> Fields<'a> {
    /// Over the message in `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Fields(bytes)
    }

    fn varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0u64;
        for (i, byte) in self.0.iter().take(10).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * i);
            if byte & 0x80 == 0 {
                self.0 = &self.0[i + 1..];
                return Ok(value);
            }
        }
        Err(Malformed)
    }

    fn bytes(&mut self, len: u64) -> Result<&'a [u8], Malformed> {
        let len = usize::try_from(len).map_err(|_| Malformed)?;
        if len > self.0.len() {
            return Err(Malformed);
        }
        let (head, tail) = self.0.split_at(len);
        self.0 = tail;
        Ok(head)
    }

    fn field(&mut self) -> Result<(u64, Field<'a>), Malformed> {
        let tag = self.varint()?;
        let field = match tag & 7 {
            0 => Field::Varint(self.varint()?),
            1 => Field::Fixed(self.bytes(8)?),
            2 => {
                let len = self.varint()?;
                Field::Bytes(self.bytes(len)?)
            }
            5 => Field::Fixed(self.bytes(4)?),
            _ => return Err(Malformed),
        };
        Ok((tag >> 3, field))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Field<'a>), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

/// Counts how often a field comes in one encoded message that is fed in pieces.
#[derive(Debug)]
pub struct FieldCount {
    number: u64,
    count: u64,
    at: At,
    varint: u64,
    shift: u32,
}

/// What the next byte belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Key,
    Varint,
    Length,
    /// So many bytes, at least one, of a value.
    Value(u64),
    Nothing,
}

impl FieldCount {
    /// Of the field `number`.
    pub fn of(number: u64) -> Self {
        FieldCount {
            number,
            count: 0,
            at: At::Key,
            varint: 0,
            shift: 0,
        }
    }

    /// Takes the next piece of the message.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while let [byte, rest @ ..] = bytes {
            match self.at {
                At::Nothing => return,
                At::Value(left) => {
                    let here = left.min(bytes.len() as u64);
                    self.skip(left - here);
                    bytes = &bytes[here as usize..];
                    continue;
                }
                At::Key | At::Varint | At::Length => {}
            }
            bytes = rest;
            if self.shift > 63 {
                self.at = At::Nothing;
                return;
            }
            self.varint |= u64::from(byte & 0x7f) << self.shift;
            self.shift += 7;
            if byte & 0x80 == 0 {
                let varint = std::mem::take(&mut self.varint);
                self.shift = 0;
                match self.at {
                    At::Key => self.key(varint),
                    At::Length => self.skip(varint),
                    _ => self.at = At::Key,
                }
            }
        }
    }

    fn key(&mut self, key: u64) {
        self.count += u64::from(key >> 3 == self.number);
        self.at = match key & 7 {
            0 => At::Varint,
            1 => At::Value(8),
            2 => At::Length,
            5 => At::Value(4),
            _ => At::Nothing,
        };
    }

    fn skip(&mut self, bytes: u64) {
        self.at = match bytes {
            0 => At::Key,
            left => At::Value(left),
        };
    }

    /// The number, when the message ends here.
    pub fn end(self) -> Result<u64, Malformed> {
        if self.at == At::Key && self.shift == 0 {
            Ok(self.count)
        } else {
            Err(Malformed)
        }
    }
}

/// The bytes that a varint takes.
pub fn varint_len(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}

/// Appends a varint.
pub fn put_varint(buf: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        buf.push(value as u8 | 0x80);
        value >>= 7;
    }
    buf.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost::Message;

    #[test]
    fn fields_come_in_order_with_their_numbers() {
        let request =
            googleapis_tonic_google_pubsub_v1::google::pubsub::v1::ModifyAckDeadlineRequest {
                subscription: "s".into(),
                ack_ids: vec!["a".into(), "bc".into()],
                ack_deadline_seconds: 300,
            };
        let bytes = request.encode_to_vec();
        let fields: Vec<_> = Fields::new(&bytes).map(Result::unwrap).collect();
        assert_eq!(
            fields,
            vec![
                (1, Field::Bytes(b"s")),
                (3, Field::Varint(300)),
                (4, Field::Bytes(b"a")),
                (4, Field::Bytes(b"bc")),
            ]
        );
    }

    #[test]
    fn varints_have_the_length_that_is_said() {
        for value in [0, 1, 127, 128, 16383, 16384, u64::from(u32::MAX), u64::MAX] {
            let mut buf = Vec::new();
            put_varint(&mut buf, value);
            assert_eq!(buf.len(), varint_len(value), "{value}");
        }
    }

    proptest::proptest! {
        #[test]
        fn a_field_is_counted_alike_in_any_pieces(
            fields in proptest::collection::vec((1u64..4, 0u8..40), 0..20),
            noise in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..3),
            cuts in proptest::collection::vec(1usize..30, 1..20),
        ) {
            let mut bytes = Vec::new();
            for (number, length) in fields {
                let kind = if length == 3 { 5 } else { length.min(2) };
                put_varint(&mut bytes, number << 3 | u64::from(kind));
                match length {
                    0 => put_varint(&mut bytes, 300),
                    1 => bytes.extend([9; 8]),
                    3 => bytes.extend([9; 4]),
                    _ => {
                        put_varint(&mut bytes, length.into());
                        bytes.extend(vec![7; length.into()]);
                    }
                }
            }
            bytes.extend(noise);
            let mut expected = Ok(0);
            for field in Fields::new(&bytes) {
                expected = match (field, expected) {
                    (Ok((number, _)), Ok(count)) => Ok(count + u64::from(number == 2)),
                    _ => Err(Malformed),
                };
            }
            let mut counted = FieldCount::of(2);
            let mut rest = &bytes[..];
            for cut in cuts.into_iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (piece, tail) = rest.split_at(cut.min(rest.len()));
                counted.feed(piece);
                rest = tail;
            }
            proptest::prop_assert_eq!(counted.end(), expected);
        }

        #[test]
        fn arbitrary_bytes_end(bytes: Vec<u8>) {
            proptest::prop_assert!(Fields::new(&bytes).count() <= bytes.len());
        }
    }
}
