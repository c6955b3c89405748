//! Flow control of streaming pulls.

use std::time::Duration;

use hashbrown::HashMap;

/// Names an open stream of a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub(crate) u32);

/// What the first request of a stream asks for.
#[derive(Clone, Debug)]
pub struct StreamOptions {
    /// How long a delivery on this stream is leased.
    pub ack_deadline: Duration,
    /// Messages sent and not yet acked or nacked, at most; `None` is no limit.
    pub max_messages: Option<u64>,
    /// Sending stops at this many bytes; `None` is no limit.
    pub max_bytes: Option<u64>,
    /// What the client calls itself.
    pub client_id: String,
}

#[derive(Debug)]
pub(crate) struct Stream {
    pub options: StreamOptions,
    pub messages: u64,
    pub bytes: u64,
    /// It has asked and found nothing: what comes next can go to it at once.
    pub hungry: bool,
}

impl Stream {
    pub fn has_capacity(&self) -> bool {
        self.options
            .max_messages
            .is_none_or(|max| self.messages < max)
            && self.options.max_bytes.is_none_or(|max| self.bytes < max)
    }
}

/// The open streams of one subscription.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    open: HashMap<StreamId, Stream>,
    last: u32,
}

impl Streams {
    pub fn open(&mut self, options: StreamOptions) -> StreamId {
        self.last += 1;
        let id = StreamId(self.last);
        self.open.insert(
            id,
            Stream {
                options,
                messages: 0,
                bytes: 0,
                hungry: false,
            },
        );
        id
    }

    pub fn close(&mut self, id: StreamId) -> Option<Stream> {
        self.open.remove(&id)
    }

    pub fn get_mut(&mut self, id: StreamId) -> Option<&mut Stream> {
        self.open.get_mut(&id)
    }

    pub fn get(&self, id: StreamId) -> Option<&Stream> {
        self.open.get(&id)
    }

    pub fn iter(&self) -> impl Iterator<Item = (StreamId, &Stream)> {
        self.open.iter().map(|(id, stream)| (*id, stream))
    }

    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// Streams that could take a message now.
    pub fn with_capacity(&self) -> usize {
        self.open.values().filter(|s| s.has_capacity()).count()
    }

    /// Counts a delivery.
    pub fn sent(&mut self, id: StreamId, bytes: usize) {
        if let Some(stream) = self.open.get_mut(&id) {
            stream.messages += 1;
            stream.bytes += bytes as u64;
        }
    }

    /// Counts the end of a delivery's lease; true when the stream can take messages again.
    pub fn released(&mut self, id: StreamId, bytes: usize) -> bool {
        let Some(stream) = self.open.get_mut(&id) else {
            return false;
        };
        let full = !stream.has_capacity();
        stream.messages -= 1;
        stream.bytes -= bytes as u64;
        full && stream.has_capacity()
    }
}
