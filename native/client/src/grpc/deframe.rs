//! From DATA frames to gRPC messages, without copying.

use std::collections::VecDeque;

use bytes::{Buf, Bytes, BytesMut};
use tonic::Code;

use crate::error::Error;

/// Flag (1 byte) and length (4 bytes, big-endian) before every message.
pub(super) const PREFIX: usize = 5;

/// One message as it arrived: the parts of its frames, one behind the other. No part is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WireMessage {
    /// The parts; together they are the encoded message.
    pub frames: Vec<Bytes>,
    /// Length of all parts together, in bytes.
    pub len: usize,
}

impl WireMessage {
    /// Copies the message to the front of `target`.
    ///
    /// # Panics
    ///
    /// If `target` is shorter than [`WireMessage::len`].
    pub fn copy_to(&self, target: &mut [u8]) {
        let mut rest = &mut target[..self.len];
        for frame in &self.frames {
            let (part, tail) = rest.split_at_mut(frame.len());
            part.copy_from_slice(frame);
            rest = tail;
        }
    }

    /// The message in one piece; copies only when there is more than one part.
    pub fn into_contiguous(mut self) -> Bytes {
        if self.frames.len() < 2 {
            return self.frames.pop().unwrap_or_default();
        }
        let mut whole = BytesMut::with_capacity(self.len);
        for frame in &self.frames {
            whole.extend_from_slice(frame);
        }
        whole.freeze()
    }
}

/// Cuts what arrives into messages. A frame may hold parts of several messages, and a prefix may be
/// spread over several frames.
#[derive(Debug)]
pub struct Deframer {
    max: usize,
    arrived: VecDeque<Bytes>,
    prefix: [u8; PREFIX],
    prefix_len: usize,
    /// Of the message that is being read.
    frames: Vec<Bytes>,
    len: usize,
    missing: usize,
}

impl Deframer {
    /// Refuses messages longer than `max` bytes.
    pub fn new(max: usize) -> Self {
        Self {
            max,
            arrived: VecDeque::new(),
            prefix: [0; PREFIX],
            prefix_len: 0,
            frames: Vec::new(),
            len: 0,
            missing: 0,
        }
    }

    /// Takes what a DATA frame held.
    pub fn push(&mut self, data: Bytes) {
        if !data.is_empty() {
            self.arrived.push_back(data);
        }
    }

    /// The next whole message, or `None` when more must arrive. After an error the rest of the
    /// stream means nothing.
    #[allow(clippy::should_implement_trait)] // An iterator ends at None; this goes on after a push.
    pub fn next(&mut self) -> Result<Option<WireMessage>, Error> {
        loop {
            if self.prefix_len == PREFIX && self.missing == 0 {
                self.prefix_len = 0;
                return Ok(Some(WireMessage {
                    frames: std::mem::take(&mut self.frames),
                    len: self.len,
                }));
            }
            let Some(data) = self.arrived.front_mut() else {
                return Ok(None);
            };
            if self.prefix_len < PREFIX {
                let take = data.len().min(PREFIX - self.prefix_len);
                self.prefix[self.prefix_len..][..take].copy_from_slice(&data[..take]);
                self.prefix_len += take;
                data.advance(take);
                if self.prefix_len == PREFIX {
                    self.len = self.read_prefix()?;
                    self.missing = self.len;
                }
            } else {
                let part = data.split_to(data.len().min(self.missing));
                self.missing -= part.len();
                self.frames.push(part);
            }
            if self.arrived.front().is_some_and(Bytes::is_empty) {
                self.arrived.pop_front();
            }
        }
    }

    /// Checks that the stream did not end within a message.
    pub fn finish(&self) -> Result<(), Error> {
        if self.prefix_len == 0 && self.arrived.is_empty() {
            return Ok(());
        }
        Err(Error::new(
            Code::Unavailable,
            "the answer ended within a message",
        ))
    }

    fn read_prefix(&self) -> Result<usize, Error> {
        let [flag, length @ ..] = self.prefix;
        match flag {
            0 => {}
            1 => {
                return Err(Error::new(
                    Code::Unimplemented,
                    "the server sent a compressed message, which was not asked for",
                ));
            }
            _ => {
                return Err(Error::new(
                    Code::Unimplemented,
                    format!("the server does not speak gRPC: a message starts with flag {flag}"),
                ));
            }
        }
        let length = u32::from_be_bytes(length) as usize;
        if length > self.max {
            return Err(Error::new(
                Code::OutOfRange,
                format!(
                    "the server sent a message of {length} bytes; the limit is {}",
                    self.max
                ),
            ));
        }
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encode(messages: &[Vec<u8>]) -> Vec<u8> {
        let mut wire = Vec::new();
        for message in messages {
            wire.push(0);
            wire.extend_from_slice(&(message.len() as u32).to_be_bytes());
            wire.extend_from_slice(message);
        }
        wire
    }

    proptest! {
        #[test]
        fn messages_survive_any_framing(
            messages in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..12),
            cuts in proptest::collection::vec(0usize..20, 1..200),
        ) {
            let mut wire = Bytes::from(encode(&messages));
            let mut deframer = Deframer::new(40);
            let mut got = Vec::new();
            let mut cuts = cuts.into_iter().cycle().chain(std::iter::repeat(1));
            let mut zeros = 0;
            while !wire.is_empty() {
                let mut cut = cuts.next().unwrap();
                zeros = if cut == 0 { zeros + 1 } else { 0 };
                if zeros > 3 {
                    cut = 1;
                }
                deframer.push(wire.split_to(cut.min(wire.len())));
                while let Some(message) = deframer.next().unwrap() {
                    prop_assert!(message.frames.iter().all(|f| !f.is_empty()));
                    prop_assert_eq!(message.frames.iter().map(Bytes::len).sum::<usize>(), message.len);
                    let mut copy = vec![0; message.len + 1];
                    message.copy_to(&mut copy);
                    copy.pop();
                    prop_assert_eq!(&copy, &message.clone().into_contiguous());
                    got.push(copy);
                }
            }
            prop_assert!(deframer.finish().is_ok());
            prop_assert_eq!(got, messages);
        }

        #[test]
        fn arbitrary_bytes_never_panic_and_are_never_copied(
            frames in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..30), 0..30),
        ) {
            let mut deframer = Deframer::new(1 << 20);
            let mut ends = Vec::new();
            'all: for frame in frames {
                let frame = Bytes::from(frame);
                ends.push((frame.as_ptr() as usize, frame.as_ptr() as usize + frame.len(), frame.clone()));
                deframer.push(frame);
                loop {
                    match deframer.next() {
                        Ok(None) => break,
                        Ok(Some(message)) => for part in message.frames {
                            let at = part.as_ptr() as usize;
                            prop_assert!(ends.iter().any(|(a, b, _)| *a <= at && at + part.len() <= *b));
                        },
                        Err(_) => break 'all,
                    }
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_taken_is_named() {
        let error = |wire: &[u8]| {
            let mut deframer = Deframer::new(10);
            deframer.push(Bytes::copy_from_slice(wire));
            deframer.next().unwrap_err()
        };
        assert_eq!(error(&[0, 0, 0, 0, 11]).code(), Code::OutOfRange);
        assert_eq!(
            error(&[0, 0, 0, 0, 11]).message(),
            "the server sent a message of 11 bytes; the limit is 10"
        );
        assert_eq!(error(&[1, 0, 0, 0, 1]).code(), Code::Unimplemented);
        assert!(error(b"<html").message().contains("does not speak gRPC"));
    }

    #[test]
    fn an_end_within_a_message_is_noticed() {
        for length in 1..8 {
            let mut deframer = Deframer::new(10);
            deframer.push(Bytes::copy_from_slice(&[0, 0, 0, 0, 3, 1, 2, 3][..length]));
            let ended = match deframer.next().unwrap() {
                Some(_) => true,
                None => deframer.finish().is_ok(),
            };
            assert!(!ended, "{length}");
            assert_eq!(deframer.finish().unwrap_err().code(), Code::Unavailable);
        }
        assert!(Deframer::new(10).finish().is_ok());
    }
}
