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
        fn arbitrary_bytes_end(bytes: Vec<u8>) {
            proptest::prop_assert!(Fields::new(&bytes).count() <= bytes.len());
        }
    }
}
