//! What a split has received and Java has not fetched.

use std::collections::VecDeque;

use bytes::Bytes;

use super::pending::Guard;
use crate::lease::Millis;

/// A response on its way from the wire to Java.
#[derive(Debug)]
pub(crate) struct Response {
    pub frames: Vec<Bytes>,
    pub len: usize,
    pub messages: u32,
    pub received: Millis,
    pub lease: Millis,
    /// The sequence number of its first message, once the ledger has it.
    pub first: Option<u64>,
}

impl Response {
    /// Whether its sequence numbers come right after those of `last`. One fetch has one first number, so only such
    /// responses may share it: what was dropped or given back between two others has left a gap.
    pub(crate) fn follows(&self, last: &Response) -> bool {
        match (last.first, self.first) {
            (None, None) => true,
            (Some(first), Some(next)) => first + u64::from(last.messages) == next,
            _ => false,
        }
    }

    pub(crate) fn contiguous(&mut self) -> Bytes {
        if self.frames.len() != 1 {
            self.frames = vec![Bytes::from(self.frames.concat())];
        }
        self.frames[0].clone()
    }
}

/// What a split has received and Java has not fetched.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    pub responses: VecDeque<Response>,
    pub bytes: u64,
    pub messages: u64,
    /// Of `messages`, those that the ledger does not know yet.
    pub unregistered: u64,
    pub paused: bool,
    pub closed: bool,
    /// Whether the split waits in the subscriber's line of splits to fetch from.
    pub in_line: bool,
    /// Responses were taken out and are not in the ledger yet. Sequence numbers follow the order of fetching, so nothing
    /// behind them may be registered meanwhile.
    pub fetching: bool,
    /// What is to be given back once the running fetch has ended, see [`Split::give_back_held`](super::split::Split::give_back_held).
    pub give_back: Option<(bool, Guard)>,
}

impl Buffer {
    pub(crate) fn push(&mut self, response: Response) {
        self.bytes += response.len as u64;
        self.messages += u64::from(response.messages);
        if response.first.is_none() {
            self.unregistered += u64::from(response.messages);
        }
        self.responses.push_back(response);
    }

    pub(crate) fn pop(&mut self) -> Option<Response> {
        let response = self.responses.pop_front()?;
        self.bytes -= response.len as u64;
        self.messages -= u64::from(response.messages);
        if response.first.is_none() {
            self.unregistered -= u64::from(response.messages);
        }
        Some(response)
    }
}
