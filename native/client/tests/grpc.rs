//! Raw gRPC against a server that follows a script.

mod support;

use std::time::Duration;

use bytes::Bytes;
use h2::Reason;
use pubsub_client::connect::{Connection, ConnectionOptions, Windows};
use pubsub_client::error::{Code, Error};
use pubsub_client::grpc::{
    DEFAULT_MAX_MESSAGE, Message, RequestSender, ResponseStream, Routing, open_stream, unary,
};
use support::{Answers, SOON, Server, prefixed, soon};
use tokio::net::TcpListener;
use tokio::runtime::Handle;

const UNARY: &str = "/google.pubsub.v1.Subscriber/Acknowledge";
const STREAM: &str = "/google.pubsub.v1.Subscriber/StreamingPull";
const NAME: &str = "projects/p/subscriptions/s";

fn call(
    connection: &Connection,
    message: impl Into<Message>,
    timeout: Duration,
) -> tokio::task::JoinHandle<Result<Bytes, Error>> {
    let (connection, message) = (connection.clone(), message.into());
    tokio::spawn(async move {
        let routing = Routing::new("subscription", NAME);
        unary(&connection, UNARY, routing, message, timeout).await
    })
}

async fn open(connection: &Connection, max: usize) -> (RequestSender, ResponseStream) {
    let channel = connection.stream_channel(Windows::SPEED);
    let routing = Routing::new("subscription", NAME);
    let first = Bytes::from_static(b"first");
    soon(open_stream(
        connection, &channel, STREAM, routing, first, max,
    ))
    .await
    .unwrap()
}

/// A stream whose server half is open.
async fn opened(server: &mut Server) -> (RequestSender, ResponseStream, Answers) {
    let (sender, mut responses) = open(&server.connect(), DEFAULT_MAX_MESSAGE).await;
    // The call is made when the stream is asked.
    let driven = tokio::spawn(async move {
        // Waits for the headers, and for a message after that.
        let message = responses.next().await;
        (responses, message)
    });
    let mut call = server.call().await;
    assert_eq!(call.request().await, "first");
    let mut answers = call.open();
    answers.message(b"ready");
    let (responses, message) = soon(driven).await.unwrap();
    assert_eq!(message.unwrap().unwrap().into_contiguous(), "ready");
    (sender, responses, answers)
}

async fn next(responses: &mut ResponseStream) -> Option<Bytes> {
    let message = soon(responses.next()).await.unwrap();
    message.map(|message| message.into_contiguous())
}

async fn failure(responses: &mut ResponseStream) -> Error {
    soon(responses.next()).await.unwrap_err()
}

#[tokio::test]
async fn a_call_carries_its_headers_and_slices() {
    let mut server = Server::start().await;
    let slices = vec![
        Bytes::from_static(b"one "),
        Bytes::from(vec![b'x'; 100_000]),
    ];
    let answer = call(&server.connect(), slices, SOON);
    let mut call = server.call().await;
    assert_eq!(call.path, UNARY);
    assert_eq!(call.header("te"), Some("trailers"));
    assert_eq!(call.header("content-type"), Some("application/grpc"));
    assert_eq!(call.header("grpc-timeout"), Some("20000m"));
    assert_eq!(
        call.header("x-goog-request-params"),
        Some("subscription=projects%2Fp%2Fsubscriptions%2Fs")
    );
    let client = format!("flink-pubsub-native/{}", env!("CARGO_PKG_VERSION"));
    assert_eq!(call.header("x-goog-api-client"), Some(client.as_str()));
    assert!(call.header("user-agent").unwrap().starts_with(&client));
    for absent in [
        "authorization",
        "x-goog-user-project",
        "content-length",
        "grpc-encoding",
    ] {
        assert_eq!(call.header(absent), None, "{absent}");
    }
    let request = call.request().await;
    assert_eq!(request.len(), 100_004);
    assert_eq!(&request[..6], b"one xx");
    assert!(call.body.next().await.is_none());
    call.answer(b"done");
    assert_eq!(soon(answer).await.unwrap().unwrap(), "done");
}

#[tokio::test]
async fn an_empty_request_and_an_empty_answer_are_messages() {
    let mut server = Server::start().await;
    let answer = call(&server.connect(), Bytes::new(), SOON);
    let mut call = server.call().await;
    assert_eq!(call.request().await, "");
    call.answer(b"");
    assert_eq!(soon(answer).await.unwrap().unwrap(), "");
}

#[tokio::test]
async fn every_way_of_failing_has_its_code() {
    let mut server = Server::start().await;
    let connection = server.connect();

    let answer = call(&connection, Bytes::new(), SOON);
    server.call().await.refuse(Code::NotFound, "no %C3%A9");
    let error = soon(answer).await.unwrap().unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "NOT_FOUND from Acknowledge on {NAME}: no é (create it, or check its name and project)"
        )
    );

    let answer = call(&connection, Bytes::new(), SOON);
    let mut answers = server.call().await.open();
    answers.message(b"half");
    answers.end(9, "precondition");
    let error = soon(answer).await.unwrap().unwrap_err();
    assert_eq!(
        (error.code(), error.message()),
        (Code::FailedPrecondition, "precondition")
    );

    let answer = call(&connection, Bytes::new(), SOON);
    server.call().await.open().end(0, "");
    let error = soon(answer).await.unwrap().unwrap_err();
    assert_eq!(
        (error.code(), error.message()),
        (Code::Internal, "the server sent no answer")
    );

    let answer = call(&connection, Bytes::new(), SOON);
    let mut answers = server.call().await.open();
    answers.message(b"one");
    answers.message(b"two");
    answers.end(0, "");
    let error = soon(answer).await.unwrap().unwrap_err();
    assert_eq!(
        (error.code(), error.message()),
        (Code::Internal, "the server sent two answers")
    );

    let answer = call(&connection, Bytes::new(), SOON);
    server.call().await.answer_http(404, "<html>");
    assert_eq!(
        soon(answer).await.unwrap().unwrap_err().code(),
        Code::Unimplemented
    );

    let answer = call(&connection, Bytes::new(), SOON);
    server.call().await.answer_http(200, "<html>");
    let error = soon(answer).await.unwrap().unwrap_err();
    assert_eq!(error.code(), Code::Unimplemented);
    assert!(error.to_string().contains("does not speak gRPC"), "{error}");

    for reason in [
        Reason::NO_ERROR,
        Reason::CANCEL,
        Reason::REFUSED_STREAM,
        Reason::INTERNAL_ERROR,
    ] {
        let answer = call(&connection, Bytes::new(), SOON);
        server.call().await.reset(reason);
        let error = soon(answer).await.unwrap().unwrap_err();
        assert_eq!(error.code(), Code::Unavailable, "{reason:?}: {error}");
        assert!(error.is_retryable());
    }
}

#[tokio::test]
async fn a_call_ends_with_its_time_and_is_cancelled() {
    let mut server = Server::start().await;
    let answer = call(&server.connect(), Bytes::new(), Duration::from_millis(100));
    let mut call = server.call().await;
    let error = soon(answer).await.unwrap().unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("DEADLINE_EXCEEDED from Acknowledge on {NAME}: no answer in time")
    );
    assert_eq!(call.cancelled().await, Reason::CANCEL);
}

#[tokio::test]
async fn nothing_listening_names_the_endpoint() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let options = ConnectionOptions::emulator(&address).unwrap();
    let connection = Connection::open(options, &Handle::current()).unwrap();
    let error = soon(call(&connection, Bytes::new(), SOON))
        .await
        .unwrap()
        .unwrap_err();
    assert_eq!(error.code(), Code::Unavailable);
    let text = error.to_string();
    assert!(
        text.contains(&format!("cannot connect to {address}")),
        "{text}"
    );
    assert!(
        text.contains("check the endpoint, and that a server listens there"),
        "{text}"
    );
    let (_, mut responses) = open(&connection, DEFAULT_MAX_MESSAGE).await;
    assert!(
        failure(&mut responses)
            .await
            .to_string()
            .contains("cannot connect to")
    );
}

#[tokio::test]
async fn a_cut_connection_is_made_again() {
    let mut server = Server::start().await;
    let connection = server.connect();
    let answer = call(&connection, Bytes::new(), SOON);
    let _under_way = server.call().await;
    server.cut();
    let error = soon(answer).await.unwrap().unwrap_err();
    assert_eq!(error.code(), Code::Unavailable);
    let answer = call(&connection, Bytes::new(), SOON);
    server.call().await.answer(b"again");
    assert_eq!(soon(answer).await.unwrap().unwrap(), "again");
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn after_goaway_calls_under_way_end_and_others_use_a_new_connection() {
    let mut server = Server::start().await;
    let connection = server.connect();
    let first = call(&connection, Bytes::new(), SOON);
    let under_way = server.call().await;
    server.go_away();
    // Until the GOAWAY has arrived, calls go to the old connection.
    soon(async {
        while server.connections() == 1 {
            let mut other = call(&connection, Bytes::new(), SOON);
            tokio::select! {
                // Refused by the old connection.
                _ = &mut other => {}
                call = server.call() => {
                    call.answer(b"other");
                    let _ = other.await.unwrap();
                }
            }
        }
    })
    .await;
    under_way.answer(b"first");
    assert_eq!(soon(first).await.unwrap().unwrap(), "first");
}

#[tokio::test]
async fn a_stream_is_there_before_the_server_says_anything() {
    let mut server = Server::start().await;
    let (sender, responses, mut answers) = opened(&mut server).await;
    sender.send(Bytes::from_static(b"second")).unwrap();
    assert_eq!(soon(answers.requests.next()).await.unwrap(), "second");
    drop(sender);
    assert!(soon(answers.requests.next()).await.is_none());
    drop(responses);
    assert_eq!(answers.cancelled().await, Reason::CANCEL);
}

#[tokio::test]
async fn a_stream_that_is_not_wanted_any_more_is_reset_whoever_can_still_send() {
    let mut server = Server::start().await;
    let (sender, responses, mut answers) = opened(&mut server).await;
    drop(responses);
    assert_eq!(answers.cancelled().await, Reason::CANCEL);
    drop(sender);
}

#[tokio::test]
async fn messages_are_cut_from_frames_however_they_lie() {
    let mut server = Server::start().await;
    let (_sender, mut responses, mut answers) = opened(&mut server).await;
    let wire = [&prefixed(b"abc")[..], &prefixed(b""), &prefixed(b"defg")].concat();
    let (a, b) = wire.split_at(3);
    answers.frame(a.to_vec());
    // A future that is dropped takes nothing with it.
    let early = tokio::time::timeout(Duration::from_millis(20), responses.next()).await;
    assert!(early.is_err());
    answers.frame(b.to_vec());
    for expected in ["abc", "", "defg"] {
        assert_eq!(next(&mut responses).await.unwrap(), expected);
    }
    answers.end(0, "");
    assert!(next(&mut responses).await.is_none());
    assert!(next(&mut responses).await.is_none());
}

#[tokio::test]
async fn messages_larger_than_grpcs_default_pass_and_those_beyond_the_limit_are_named() {
    let mut server = Server::start().await;
    let (_sender, mut responses, mut answers) = opened(&mut server).await;
    let large = vec![7; 9_900_000];
    answers.message(&large);
    assert!(next(&mut responses).await.unwrap() == large);
    drop(responses);

    let (_sender, mut responses) = open(&server.connect(), 10).await;
    let answers = tokio::spawn(async move {
        let mut answers = server.call().await.open();
        answers.message(&[0; 11]);
        answers.cancelled().await
    });
    let error = failure(&mut responses).await;
    assert_eq!(
        error.to_string(),
        format!(
            "OUT_OF_RANGE from StreamingPull on {NAME}: the server sent a message of 11 bytes; the limit is 10"
        )
    );
    assert!(next(&mut responses).await.is_none());
    assert_eq!(soon(answers).await.unwrap(), Reason::CANCEL);
}

#[tokio::test]
async fn every_end_of_a_stream_has_its_code() {
    let mut server = Server::start().await;

    let (_sender, mut responses, mut answers) = opened(&mut server).await;
    answers.message(b"last");
    answers.end(14, "moved");
    assert_eq!(next(&mut responses).await.unwrap(), "last");
    let error = failure(&mut responses).await;
    assert_eq!(
        (error.code(), error.message()),
        (Code::Unavailable, "moved")
    );

    for reason in [Reason::NO_ERROR, Reason::CANCEL, Reason::INTERNAL_ERROR] {
        let (_sender, mut responses, answers) = opened(&mut server).await;
        answers.reset(reason);
        assert_eq!(failure(&mut responses).await.code(), Code::Unavailable);
    }

    let (_sender, mut responses, mut answers) = opened(&mut server).await;
    answers.frame(prefixed(b"cut").slice(..6));
    answers.end(0, "");
    assert_eq!(failure(&mut responses).await.code(), Code::Unavailable);

    let (sender, mut responses, _answers) = opened(&mut server).await;
    server.cut();
    assert_eq!(failure(&mut responses).await.code(), Code::Unavailable);
    // The request's half learns of it a moment later.
    let closed = soon(async {
        loop {
            match sender.send(Bytes::new()) {
                Err(error) => break error,
                Ok(()) => tokio::task::yield_now().await,
            }
        }
    });
    assert_eq!(closed.await.code(), Code::Unavailable);
}

#[tokio::test]
async fn a_stream_that_is_not_read_holds_up_nothing_else() {
    let mut server = Server::start().await;
    let connection = server.connect();
    let (_sender, mut responses, mut answers) = opened(&mut server).await;
    // More than the windows of the stream and of its connection.
    let size = (Windows::SPEED.connection + (1 << 20)) as usize;
    let large = vec![1; size];
    answers.message(&large);
    let answer = call(&connection, Bytes::new(), SOON);
    server.call().await.answer(b"through");
    assert_eq!(soon(answer).await.unwrap().unwrap(), "through");
    assert_eq!(server.connections(), 2);
    assert_eq!(next(&mut responses).await.unwrap().len(), size);
}

#[tokio::test]
async fn signs_of_life_become_rarer_when_silent_connections_are_closed() {
    let mut server = Server::start().await;
    let connection = server.connect();
    for (silence, before, after) in [(59, 30, 30), (61, 30, 60), (119, 60, 60), (121, 60, 120)] {
        assert_eq!(connection.keepalive_interval(), Duration::from_secs(before));
        let (_sender, mut responses, _answers) = opened(&mut server).await;
        let early = tokio::time::timeout(Duration::from_millis(1), responses.next()).await;
        assert!(early.is_err());
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(silence)).await;
        tokio::time::resume();
        server.cut();
        let error = failure(&mut responses).await;
        assert_eq!(error.code(), Code::Unavailable, "{error}");
        assert_eq!(connection.keepalive_interval(), Duration::from_secs(after));
    }
}
