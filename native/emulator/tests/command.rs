//! The command `pubsub-emulator` as a process.

mod common;

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};

use common::pb;
use pb::subscriber_client::SubscriberClient;
use tonic::transport::Channel;

struct Running {
    child: Child,
    out: BufReader<ChildStdout>,
    address: String,
    control: String,
}

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pubsub-emulator"));
    command
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn start(args: &[&str]) -> Running {
    let mut child = command(args).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    let words: Vec<_> = line.split_whitespace().collect();
    assert_eq!(
        [words[0], words[1], words[2], words[4]],
        ["pubsub-emulator", "listening", "on", "control"]
    );
    let (address, control) = (words[3].to_owned(), words[5].to_owned());
    Running {
        child,
        out,
        address,
        control,
    }
}

impl Running {
    fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .args([name, &self.child.id().to_string()])
            .status()
            .unwrap();
        assert!(sent.success());
    }

    /// The exit code, after which nothing more is printed.
    fn exit(mut self) -> Option<i32> {
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "");
        self.child.wait().unwrap().code()
    }
}

#[test]
fn it_says_when_it_is_ready_and_ends_cleanly_at_a_signal() {
    for (args, signal) in [
        (&["--port", "0"][..], "-TERM"),
        (&["--port", "0"], "-INT"),
        (&["bench", "--port", "0"], "-TERM"),
    ] {
        let running = start(args);
        assert!(std::net::TcpStream::connect(&running.address).is_ok());
        assert!(std::net::TcpStream::connect(&running.control).is_ok());
        running.signal(signal);
        assert_eq!(running.exit(), Some(0));
    }
}

#[test]
fn it_ends_with_its_standard_input_when_asked_to() {
    let mut running = start(&["--port", "0", "--exit-on-stdin-close"]);
    drop(running.child.stdin.take());
    assert_eq!(running.exit(), Some(0));
}

#[tokio::test]
async fn it_begins_with_its_seed() {
    let dir = tempfile::tempdir().unwrap();
    let seed = dir.path().join("seed.yaml");
    let text = "{project: demo, topics: [orders], subscriptions: [{name: orders-sub, topic: orders}], \
                messages: [{topic: orders, data: hello}]}";
    std::fs::write(&seed, text).unwrap();
    let running = start(&[
        "--port",
        "0",
        "--ack-id-bytes",
        "230",
        "--seed",
        seed.to_str().unwrap(),
    ]);
    let endpoint = Channel::from_shared(format!("http://{}", running.address)).unwrap();
    let mut subscriber = SubscriberClient::new(endpoint.connect().await.unwrap());
    let request = pb::PullRequest {
        subscription: "projects/demo/subscriptions/orders-sub".into(),
        max_messages: 1,
        ..Default::default()
    };
    let received = subscriber
        .pull(request)
        .await
        .unwrap()
        .into_inner()
        .received_messages;
    assert_eq!(
        received[0].message.as_ref().unwrap().data.as_ref(),
        b"hello"
    );
    assert_eq!(received[0].ack_id.len(), 230);
    running.signal("-TERM");
    assert_eq!(running.exit(), Some(0));
}

#[test]
fn mistakes_end_it_with_a_message() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let dir = tempfile::tempdir().unwrap();
    let seed = dir.path().join("seed.yaml");
    std::fs::write(&seed, "{topics: [orders]}").unwrap();
    let seed = seed.to_str().unwrap();
    for (args, part) in [
        (&["--port", &port][..], "cannot listen on 127.0.0.1"),
        (&["--port", "0", "--seed", "/nonexistent"], "/nonexistent"),
        (&["--port", "0", "--seed", seed], "no project"),
        (&["--port", "0", "--tls-cert", "x.pem"], "--tls-key"),
        (&["--port", "0", "--ack-id-bytes", "3"], "length"),
        (&["--seed", seed, "bench"], "bench"),
    ] {
        let output = command(args).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "{args:?}");
        assert!(error.contains(part), "{args:?}: {error}");
    }
}

#[test]
fn help_names_every_option() {
    let help = command(&["--help"]).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let documented = include_str!("../../../docs/emulator.md");
    for line in help.lines() {
        let Some(option) = line.split_whitespace().find(|word| word.starts_with("--")) else {
            continue;
        };
        let option = option.trim_end_matches(',');
        if option == "--help" || option == "--version" {
            continue;
        }
        assert!(
            documented.contains(option),
            "{option} is not in docs/emulator.md"
        );
    }
}
