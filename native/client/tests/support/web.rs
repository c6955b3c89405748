//! An HTTP/1.1 server for tokens: keeps what it was asked and answers as the test says.
// Each test binary uses a part of it.
#![allow(dead_code)]

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// One request.
#[derive(Debug, Clone)]
pub struct Asked {
    pub method: String,
    /// With the query.
    pub path: String,
    /// By names in lower case.
    pub headers: HashMap<String, String>,
    pub body: String,
}

impl Asked {
    /// A field of a form, or of the query.
    pub fn field(&self, name: &str) -> String {
        let query = self.path.split_once('?').map_or("", |(_, query)| query);
        let found = self.body.split('&').chain(query.split('&'));
        let value = found
            .filter_map(|pair| pair.split_once('='))
            .find(|pair| pair.0 == name);
        let value = value.unwrap_or_else(|| panic!("no {name} in {self:?}")).1;
        percent_encoding::percent_decode_str(&value.replace('+', " "))
            .decode_utf8()
            .unwrap()
            .into_owned()
    }
}

type Answer = dyn Fn(&Asked) -> (u16, String) + Send + Sync;

/// Listens on a free port of 127.0.0.1 until it is dropped.
pub struct Web {
    address: std::net::SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    listening: tokio::task::JoinHandle<()>,
}

impl Web {
    /// Answers each request with a status and a body.
    pub async fn start(answer: impl Fn(&Asked) -> (u16, String) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let answer: Arc<Answer> = Arc::new(answer);
        let kept = asked.clone();
        let listening = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (answer, kept) = (answer.clone(), kept.clone());
                tokio::spawn(async move {
                    let _ = serve(socket, &*answer, &kept).await;
                });
            }
        });
        Self {
            address,
            asked,
            listening,
        }
    }

    pub fn host(&self) -> String {
        self.address.to_string()
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// What it was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

async fn serve(
    socket: TcpStream,
    answer: &Answer,
    kept: &Mutex<Vec<Asked>>,
) -> std::io::Result<()> {
    let mut socket = BufReader::new(socket);
    let mut line = String::new();
    socket.read_line(&mut line).await?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let (Some(method), Some(path)) = (words.next(), words.next()) else {
        return Ok(());
    };
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        socket.read_line(&mut line).await?;
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            break;
        };
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let length = headers
        .get("content-length")
        .map_or(0, |n| n.parse().unwrap());
    let mut body = vec![0; length];
    socket.read_exact(&mut body).await?;
    let asked = Asked {
        method,
        path,
        headers,
        body: String::from_utf8(body).unwrap(),
    };
    let (status, body) = answer(&asked);
    kept.lock().unwrap().push(asked);
    let answer = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    socket.write_all(answer.as_bytes()).await
}

/// The body of a token.
pub fn token(token: &str) -> (u16, String) {
    let body = format!(r#"{{"access_token":"{token}","expires_in":3600,"token_type":"Bearer"}}"#);
    (200, body)
}
