//! What one stream of a bench server sends.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::{Bytes, BytesMut};
use googleapis_tonic_google_pubsub_v1::google::pubsub::v1 as pb;
use tokio::sync::mpsc;

use super::template::{Shape, Template};
use super::{Counters, Outstanding, Quota};
use crate::server::grpc::StreamItem;
use crate::time::Time;

/// Buffers in flight per stream: in the channel, in HTTP/2's hands, being written.
const BUFFERS: usize = 6;

/// Makes the responses of one stream as fast as they are taken.
pub(super) struct Feed {
    template: Template,
    /// What the stream adds to the outstanding messages its subscription may have; `None` is no limit.
    allowance: Option<i64>,
    outstanding: Arc<Outstanding>,
    quota: Arc<Quota>,
    counters: Arc<Counters>,
}

impl Feed {
    pub fn new(
        shape: &Shape,
        first: &pb::StreamingPullRequest,
        outstanding: Arc<Outstanding>,
        quota: Arc<Quota>,
        counters: Arc<Counters>,
    ) -> Self {
        let by_count = Some(first.max_outstanding_messages).filter(|max| *max > 0);
        let size = (shape.payload_bytes + 1) as i64;
        let by_bytes = Some(first.max_outstanding_bytes)
            .filter(|max| *max > 0)
            .map(|max| (max / size).max(1));
        let allowance = by_count.into_iter().chain(by_bytes).min();
        let max = allowance.map_or(usize::MAX, |max| usize::try_from(max).unwrap_or(1));
        // A quarter of the allowance, so that there is always something on its way.
        let template = Template::new(shape, if max < 4000 { max.div_ceil(4) } else { max });
        counters.streams_opened.add(1);
        outstanding
            .allowed
            .fetch_add(allowance.unwrap_or(i64::MAX / 1024), Ordering::AcqRel);
        Feed {
            template,
            allowance,
            outstanding,
            quota,
            counters,
        }
    }

    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Gives the stream's allowance back. With the last stream of a subscription, what is out is
    /// forgotten.
    pub fn close(&self) {
        self.counters.streams_closed.add(1);
        let allowance = self.allowance.unwrap_or(i64::MAX / 1024);
        let before = self
            .outstanding
            .allowed
            .fetch_sub(allowance, Ordering::AcqRel);
        if before == allowance {
            self.outstanding.out.store(0, Ordering::Release);
        }
    }

    /// Sends until the client is gone; nothing more once the limit is reached.
    pub async fn run(&self, out: &mpsc::Sender<StreamItem>) {
        let mut pool: Vec<Bytes> = Vec::with_capacity(BUFFERS);
        let mut next = 0;
        loop {
            self.wait_for_room(self.template.len() as i64).await;
            let Ok(permit) = out.reserve().await else {
                return;
            };
            let n = self.template.len() as u64;
            let renewed = self.quota.renewed.notified();
            tokio::pin!(renewed);
            renewed.as_mut().enable();
            let (first, granted) = self.quota.take(n);
            if granted < n {
                if granted > 0 {
                    permit.send(StreamItem::Message(self.last(granted, first)));
                } else {
                    drop(permit);
                }
                renewed.await;
                continue;
            }
            let mut buffer = if pool.len() < BUFFERS {
                BytesMut::from(&self.template.bytes[..])
            } else {
                let oldest = std::mem::take(&mut pool[next]);
                // Usually sent long ago, so that only the ids have to be written.
                oldest
                    .try_into_mut()
                    .unwrap_or_else(|_| BytesMut::from(&self.template.bytes[..]))
            };
            self.template.renew(&mut buffer, first, Time::system());
            let buffer = buffer.freeze();
            if pool.len() < BUFFERS {
                pool.push(buffer.clone());
            } else {
                pool[next] = buffer.clone();
                next = (next + 1) % BUFFERS;
            }
            self.count(n, buffer.len());
            permit.send(StreamItem::Message(buffer));
        }
    }

    /// The last response before the limit.
    fn last(&self, n: u64, first: u64) -> Bytes {
        let mut template = self.template.clone();
        template.truncate(n as usize);
        let mut bytes = template.bytes.clone();
        template.renew(&mut bytes, first, Time::system());
        self.count(n, bytes.len());
        bytes.into()
    }

    fn count(&self, messages: u64, bytes: usize) {
        self.outstanding
            .out
            .fetch_add(messages as i64, Ordering::AcqRel);
        self.counters.messages_sent.add(messages);
        self.counters.responses_sent.add(1);
        self.counters.bytes_sent.add(bytes as u64);
    }

    async fn wait_for_room(&self, n: i64) {
        loop {
            let freed = self.outstanding.freed.notified();
            tokio::pin!(freed);
            // Registered before the numbers are read, so that no ack falls in between.
            freed.as_mut().enable();
            let allowed = self.outstanding.allowed.load(Ordering::Acquire);
            if self.outstanding.out.load(Ordering::Acquire) + n <= allowed {
                return;
            }
            freed.await;
        }
    }
}
