//! Measures what a server on this machine costs per message.
//!
//! ```text
//! cargo run --release --example load -- ADDRESS PID [pull|publish] [MESSAGES] [PAYLOAD_BYTES]
//! ```
//! Pulls (or publishes) that many messages over one connection, acks them in requests of 1,000, and
//! prints the rate and the CPU seconds that the process PID has used meanwhile, per million messages.
//! The client walks responses without decoding them, so that it does not become the bottleneck. Before
//! pulling it creates the topic and subscription and publishes the messages.

use std::time::{Duration, Instant};

use bytes::{Buf, Bytes, BytesMut};
use googleapis_tonic_google_pubsub_v1::google::pubsub::v1 as pb;
use http::Request;
use prost::Message;
use pubsub_emulator::server::grpc;
use pubsub_emulator::wire::{Field, Fields};

type Error = Box<dyn std::error::Error + Send + Sync>;
type Sender = h2::client::SendRequest<Bytes>;

const TOPIC: &str = "projects/load/topics/load";
const SUBSCRIPTION: &str = "projects/load/subscriptions/load";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let args: Vec<String> = std::env::args().collect();
    let arg = |i: usize, default: &str| args.get(i).cloned().unwrap_or_else(|| default.to_owned());
    let (address, pid, mode) = (arg(1, "127.0.0.1:8085"), arg(2, "self"), arg(3, "pull"));
    let (messages, payload): (u64, usize) = (arg(4, "1000000").parse()?, arg(5, "1024").parse()?);

    let socket = tokio::net::TcpStream::connect(&address).await?;
    socket.set_nodelay(true)?;
    let (sender, connection) = h2::client::Builder::new()
        .initial_window_size(16 << 20)
        .initial_connection_window_size(32 << 20)
        .max_frame_size(1 << 20)
        .handshake(socket)
        .await?;
    tokio::spawn(connection);
    let _ = call(
        &sender,
        "Publisher/CreateTopic",
        &pb::Topic {
            name: TOPIC.into(),
            ..Default::default()
        },
    )
    .await?;
    let subscription = pb::Subscription {
        name: SUBSCRIPTION.into(),
        topic: TOPIC.into(),
        ack_deadline_seconds: 600,
        ..Default::default()
    };
    let _ = call(&sender, "Subscriber/CreateSubscription", &subscription).await?;

    let before = (cpu(&pid), Instant::now(), memory(&pid));
    let published = publish(&sender, messages, payload).await?;
    if mode == "publish" {
        report("published", published, &pid, before.0, before.1);
        println!(
            "{} bytes of memory per message",
            (memory(&pid).saturating_sub(before.2)) / published
        );
        return Ok(());
    }
    report("published", published, &pid, before.0, before.1);
    println!(
        "{} bytes of memory per message",
        (memory(&pid).saturating_sub(before.2)) / published
    );
    let before = (cpu(&pid), Instant::now());
    let pulled = pull(&sender, messages).await?;
    report("pulled and acked", pulled, &pid, before.0, before.1);
    Ok(())
}

fn report(what: &str, n: u64, pid: &str, cpu_before: f64, since: Instant) {
    let seconds = since.elapsed().as_secs_f64();
    let millions = n as f64 / 1e6;
    println!(
        "{n} {what} in {seconds:.2} s, {:.0}/s; server CPU {:.3} s per million",
        n as f64 / seconds,
        (cpu(pid) - cpu_before) / millions
    );
}

/// CPU seconds that a process has used.
fn cpu(pid: &str) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let ticks = |i: usize| {
        fields
            .get(i)
            .and_then(|f| f.parse::<f64>().ok())
            .unwrap_or(0.0)
    };
    (ticks(11) + ticks(12)) / 100.0
}

/// Resident bytes of a process.
fn memory(pid: &str) -> u64 {
    let statm = std::fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default();
    statm
        .split_whitespace()
        .nth(1)
        .and_then(|f| f.parse::<u64>().ok())
        .unwrap_or(0)
        * 4096
}

fn request(path: &str) -> Result<Request<()>, http::Error> {
    Request::post(format!("http://localhost/google.pubsub.v1.{path}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(())
}

async fn send_all(
    stream: &mut h2::SendStream<Bytes>,
    mut data: Bytes,
    end: bool,
) -> Result<(), Error> {
    while data.has_remaining() {
        stream.reserve_capacity(data.len());
        let granted = std::future::poll_fn(|cx| stream.poll_capacity(cx))
            .await
            .ok_or("closed")??;
        let part = data.split_to(granted.min(data.len()));
        let last = end && data.is_empty();
        stream.send_data(part, last)?;
    }
    Ok(())
}

async fn call<M: Message>(sender: &Sender, path: &str, message: &M) -> Result<Bytes, Error> {
    call_framed(sender, path, grpc::frame(message)).await
}

async fn call_framed(sender: &Sender, path: &str, framed: Bytes) -> Result<Bytes, Error> {
    let (response, mut stream) = sender
        .clone()
        .ready()
        .await?
        .send_request(request(path)?, false)?;
    send_all(&mut stream, framed, true).await?;
    let mut body = response.await?.into_body();
    let mut answer = BytesMut::new();
    while let Some(data) = body.data().await {
        let data = data?;
        body.flow_control().release_capacity(data.len())?;
        answer.extend_from_slice(&data);
    }
    Ok(answer.freeze())
}

async fn publish(sender: &Sender, messages: u64, payload: usize) -> Result<u64, Error> {
    let one = pb::PubsubMessage {
        data: vec![b'x'; payload].into(),
        attributes: [("a", "1"), ("b", "2")]
            .map(|(k, v)| (k.to_owned(), v.to_owned()))
            .into(),
        ..Default::default()
    };
    let batch = (9_000_000 / (payload + 64)).clamp(1, 1000);
    let request = pb::PublishRequest {
        topic: TOPIC.into(),
        messages: vec![one; batch],
    };
    let framed = grpc::frame(&request);
    let mut sent = 0;
    while sent < messages {
        call_framed(sender, "Publisher/Publish", framed.clone()).await?;
        sent += batch as u64;
    }
    Ok(sent)
}

async fn pull(sender: &Sender, messages: u64) -> Result<u64, Error> {
    let (response, mut stream) = sender
        .clone()
        .ready()
        .await?
        .send_request(request("Subscriber/StreamingPull")?, false)?;
    let first = pb::StreamingPullRequest {
        subscription: SUBSCRIPTION.into(),
        stream_ack_deadline_seconds: 60,
        max_outstanding_messages: 100_000,
        ..Default::default()
    };
    send_all(&mut stream, grpc::frame(&first), false).await?;
    let mut body = response.await?.into_body();
    let mut buf = BytesMut::new();
    let mut acks = Vec::new();
    let mut received = 0;
    let acked = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    while received < messages {
        let data = body.data().await.ok_or("the stream ended")??;
        body.flow_control().release_capacity(data.len())?;
        buf.extend_from_slice(&data);
        while buf.len() >= grpc::PREFIX {
            let len = u32::from_be_bytes([buf[1], buf[2], buf[3], buf[4]]) as usize;
            if buf.len() < grpc::PREFIX + len {
                break;
            }
            buf.advance(grpc::PREFIX);
            let message = buf.split_to(len);
            for field in Fields::new(&message) {
                let Ok((1, Field::Bytes(one))) = field else {
                    continue;
                };
                received += 1;
                if let Some(Ok((1, Field::Bytes(id)))) = Fields::new(one).next() {
                    acks.push(String::from_utf8_lossy(id).into_owned());
                }
                if acks.len() == 1000 {
                    acknowledge(sender, std::mem::take(&mut acks), &acked);
                }
            }
        }
    }
    if !acks.is_empty() {
        acknowledge(sender, acks, &acked);
    }
    while acked.load(std::sync::atomic::Ordering::Relaxed) < received {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok(received)
}

fn acknowledge(
    sender: &Sender,
    ack_ids: Vec<String>,
    acked: &std::sync::Arc<std::sync::atomic::AtomicU64>,
) {
    let (sender, acked) = (sender.clone(), acked.clone());
    tokio::spawn(async move {
        let n = ack_ids.len() as u64;
        let request = pb::AcknowledgeRequest {
            subscription: SUBSCRIPTION.into(),
            ack_ids,
        };
        match call(&sender, "Subscriber/Acknowledge", &request).await {
            Ok(_) => drop(acked.fetch_add(n, std::sync::atomic::Ordering::Relaxed)),
            Err(e) => eprintln!("acknowledge: {e}"),
        }
    });
}
