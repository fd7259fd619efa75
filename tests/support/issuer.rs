//! Runs a fake authorization server. By default, it serves only its metadata and its keys, which is all that mcpkg
//! reads.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use super::tokens::Signer;

/// A document to serve: its HTTP status and its text.
type Document = (u16, String);

/// An issuer that listens on a port of its own.
pub struct Issuer {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// The documents by their paths.
    documents: Vec<(String, Document)>,
    /// Whether the issuer closes connections without an answer.
    is_down: bool,
    /// The paths of the requests.
    seen: Vec<String>,
}

impl Issuer {
    /// Starts an issuer that publishes these keys.
    pub fn start(signers: &[&Signer]) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        let state: Arc<Mutex<State>> = Arc::default();
        let issuer = Self { address, state: Arc::clone(&state) };
        issuer.describe(&json!({ "issuer": issuer.url(), "jwks_uri": format!("{}/keys", issuer.url()) }));
        issuer.publish(signers);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let _ = answer(stream, &state);
            }
        });
        issuer
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Replaces the metadata.
    pub fn describe(&self, metadata: &Value) {
        self.serve("/.well-known/openid-configuration", 200, metadata.to_string());
    }

    /// Replaces the published keys.
    pub fn publish(&self, signers: &[&Signer]) {
        let keys: Vec<Value> = signers.iter().map(|signer| signer.public()).collect();
        self.serve("/keys", 200, json!({ "keys": keys }).to_string());
    }

    /// Replaces the document at a path.
    pub fn serve(&self, path: &str, status: u16, body: String) {
        let mut state = self.state();
        state.documents.retain(|(known, _)| known != path);
        state.documents.push((path.to_owned(), (status, body)));
    }

    /// Makes the issuer close connections without an answer, or answer again.
    pub fn down(&self, is_down: bool) {
        self.state().is_down = is_down;
    }

    /// Returns how many requests there were for a path.
    pub fn asked(&self, path: &str) -> usize {
        self.state().seen.iter().filter(|seen| *seen == path).count()
    }

    /// Returns the claims of a valid token for an audience, which expires in this many seconds. `more` replaces claims;
    /// null removes a claim.
    pub fn claims(&self, audience: &str, seconds: i64, more: Value) -> Value {
        let now = mcpkg_base::clock::Clock::system().now() / 1000;
        let mut claims =
            json!({ "iss": self.url(), "aud": audience, "sub": "u1", "client_id": "c1", "exp": now + seconds });
        let fields = claims.as_object_mut().expect("claims");
        fields.extend(more.as_object().expect("claims").clone());
        fields.retain(|_, value| !value.is_null());
        claims
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn answer(mut stream: TcpStream, state: &Mutex<State>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    loop {
        let mut header = String::new();
        if reader.read_line(&mut header)? == 0 || header.trim().is_empty() {
            break;
        }
    }
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let (status, body) = {
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        state.seen.push(path.clone());
        if state.is_down {
            return Ok(());
        }
        let found = state.documents.iter().find(|(known, _)| *known == path);
        found.map_or_else(|| (404, String::new()), |(_, document)| document.clone())
    };
    let head = format!(
        "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}
