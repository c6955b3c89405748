//! A gRPC server whose every answer the test gives itself, down to HTTP/2 frames.
// Each test binary uses a part of it.
#![allow(dead_code)]

pub mod tls;

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::{HeaderMap, Response, StatusCode};
use pubsub_client::connect::{Connection, ConnectionOptions};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio_rustls::TlsAcceptor;

/// How long anything may take.
pub const SOON: Duration = Duration::from_secs(20);

/// Waits for what must happen.
pub async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(SOON, what)
        .await
        .expect("it should have happened by now")
}

/// How often each was asked for; a connection heeds what is asked for after it was made.
#[derive(Clone, Copy, Default, PartialEq)]
struct Orders {
    cut: u32,
    /// Tells clients to go elsewhere; calls under way go on.
    go_away: u32,
}

/// Listens on a free port of 127.0.0.1 until it is dropped.
pub struct Server {
    address: SocketAddr,
    calls: mpsc::UnboundedReceiver<Call>,
    orders: watch::Sender<Orders>,
    connections: Arc<AtomicUsize>,
    listening: tokio::task::JoinHandle<()>,
}

impl Server {
    pub async fn start() -> Self {
        Self::start_with(None).await
    }

    /// Serves over TLS.
    pub async fn start_tls(config: rustls::ServerConfig) -> Self {
        Self::start_with(Some(TlsAcceptor::from(Arc::new(config)))).await
    }

    async fn start_with(tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, calls) = mpsc::unbounded_channel();
        let (orders, _) = watch::channel(Orders::default());
        let connections = Arc::new(AtomicUsize::new(0));
        let listening = {
            let (orders, connections) = (orders.clone(), connections.clone());
            tokio::spawn(async move {
                while let Ok((socket, _)) = listener.accept().await {
                    connections.fetch_add(1, Ordering::SeqCst);
                    socket.set_nodelay(true).unwrap();
                    let (sender, orders) = (sender.clone(), orders.subscribe());
                    let tls = tls.clone();
                    tokio::spawn(async move {
                        match tls {
                            None => serve(socket, sender, orders).await,
                            Some(tls) => {
                                // A client that does not trust the certificate goes away.
                                if let Ok(socket) = tls.accept(socket).await {
                                    serve(socket, sender, orders).await;
                                }
                            }
                        }
                    });
                }
            })
        };
        Self {
            address,
            calls,
            orders,
            connections,
            listening,
        }
    }

    pub fn address(&self) -> String {
        self.address.to_string()
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// A client of this server.
    pub fn connect(&self) -> Connection {
        let options = ConnectionOptions::emulator(&self.address()).unwrap();
        Connection::open(options, &Handle::current()).unwrap()
    }

    /// The next call.
    pub async fn call(&mut self) -> Call {
        soon(self.calls.recv()).await.unwrap()
    }

    /// A call that has arrived already, or will within the time.
    pub async fn call_within(&mut self, time: Duration) -> Option<Call> {
        tokio::time::timeout(time, self.calls.recv())
            .await
            .ok()
            .flatten()
    }

    /// TCP connections made so far.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Cuts every connection; new ones are served.
    pub fn cut(&self) {
        self.orders.send_modify(|orders| orders.cut += 1);
    }

    /// Sends GOAWAY on every connection; new ones are served.
    pub fn go_away(&self) {
        self.orders.send_modify(|orders| orders.go_away += 1);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.cut();
        self.listening.abort();
    }
}

async fn serve(
    socket: impl AsyncRead + AsyncWrite + Unpin,
    calls: mpsc::UnboundedSender<Call>,
    mut orders: watch::Receiver<Orders>,
) {
    let first = *orders.borrow_and_update();
    let mut builder = h2::server::Builder::new();
    builder
        .initial_window_size(1 << 20)
        .initial_connection_window_size(4 << 20)
        .max_send_buffer_size(16 << 20);
    let Ok(mut connection) = builder.handshake::<_, Bytes>(socket).await else {
        return;
    };
    loop {
        tokio::select! {
            biased;
            changed = orders.changed() => {
                let now = *orders.borrow_and_update();
                if changed.is_err() || now.cut != first.cut {
                    return;
                }
                connection.graceful_shutdown();
            }
            accepted = connection.accept() => {
                let Some(Ok((request, respond))) = accepted else { return };
                let (parts, body) = request.into_parts();
                let call = Call {
                    path: parts.uri.path().to_owned(),
                    headers: parts.headers,
                    body: Requests { body, buffer: BytesMut::new(), compressed: false },
                    respond,
                };
                if calls.send(call).is_err() {
                    return;
                }
            }
        }
    }
}

/// A call that has arrived.
pub struct Call {
    pub path: String,
    pub headers: HeaderMap,
    pub body: Requests,
    respond: SendResponse<Bytes>,
}

impl Call {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// The only request.
    pub async fn request(&mut self) -> Bytes {
        soon(self.body.next()).await.expect("a request")
    }

    /// Answers with one message.
    pub fn answer(self, message: &[u8]) {
        // The client may be gone.
        if let Some(mut stream) = self.try_open() {
            stream.message(message);
            stream.end(0, "");
        }
    }

    /// Answers with a status alone.
    pub fn refuse(mut self, code: tonic::Code, text: &str) {
        let response = Response::builder()
            .header("content-type", "application/grpc")
            .header("grpc-status", (code as i32).to_string())
            .header("grpc-message", text)
            .body(())
            .unwrap();
        // The client may be gone.
        let _ = self.respond.send_response(response, true);
    }

    /// Answers with what is not gRPC.
    pub fn answer_http(mut self, status: u16, text: &'static str) {
        let response = Response::builder()
            .status(StatusCode::from_u16(status).unwrap())
            .header("content-type", "text/html")
            .body(())
            .unwrap();
        let mut stream = self.respond.send_response(response, false).unwrap();
        stream
            .send_data(Bytes::from_static(text.as_bytes()), true)
            .unwrap();
    }

    /// Resets the call.
    pub fn reset(mut self, reason: Reason) {
        self.respond.send_reset(reason);
    }

    /// Sends the headers of an answer.
    pub fn open(self) -> Answers {
        self.try_open().expect("a client that waits")
    }

    fn try_open(mut self) -> Option<Answers> {
        let response = Response::builder()
            .header("content-type", "application/grpc")
            .body(())
            .unwrap();
        let stream = self.respond.send_response(response, false).ok()?;
        Some(Answers {
            stream,
            requests: self.body,
        })
    }

    /// Waits until the client has given the call up.
    pub async fn cancelled(&mut self) -> Reason {
        soon(std::future::poll_fn(|cx| self.respond.poll_reset(cx)))
            .await
            .unwrap()
    }
}

/// The answers to a call.
pub struct Answers {
    pub stream: SendStream<Bytes>,
    pub requests: Requests,
}

impl Answers {
    /// Sends bytes in a frame of their own.
    pub fn frame(&mut self, data: impl Into<Bytes>) {
        self.stream.send_data(data.into(), false).unwrap();
    }

    pub fn message(&mut self, message: &[u8]) {
        // The client may be gone.
        let _ = self.stream.send_data(prefixed(message), false);
    }

    /// Ends with a status.
    pub fn end(mut self, code: i32, text: &str) {
        let mut trailers = HeaderMap::new();
        trailers.insert("grpc-status", code.into());
        trailers.insert("grpc-message", text.parse().unwrap());
        let _ = self.stream.send_trailers(trailers);
    }

    pub fn reset(mut self, reason: Reason) {
        self.stream.send_reset(reason);
    }

    /// Waits until the client has given the call up.
    pub async fn cancelled(&mut self) -> Reason {
        soon(std::future::poll_fn(|cx| self.stream.poll_reset(cx)))
            .await
            .unwrap()
    }
}

/// The requests of a call.
pub struct Requests {
    body: RecvStream,
    buffer: BytesMut,
    /// Of the last message.
    pub compressed: bool,
}

impl Requests {
    /// The next request; `None` when the client has ended its half or the call is over.
    pub async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some((flag, length)) = self.buffer.split_first_chunk::<5>().map(|(prefix, _)| {
                let [flag, length @ ..] = *prefix;
                (flag, u32::from_be_bytes(length) as usize)
            }) && self.buffer.len() >= 5 + length
            {
                self.compressed = flag == 1;
                let _ = self.buffer.split_to(5);
                return Some(self.buffer.split_to(length).freeze());
            }
            let data = self.body.data().await?.ok()?;
            self.body
                .flow_control()
                .release_capacity(data.len())
                .unwrap();
            self.buffer.extend_from_slice(&data);
        }
    }
}

/// A message behind its prefix.
pub fn prefixed(message: &[u8]) -> Bytes {
    let mut data = BytesMut::with_capacity(message.len() + 5);
    data.put_u8(0);
    data.put_u32(message.len() as u32);
    data.put_slice(message);
    data.freeze()
}
