//! Runs a fake authorization server. By default, it serves only its metadata and its keys. With [`Issuer::sign_in`], it also
//! signs in everybody who comes with a browser.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use super::tokens::{Signer, encode};
use mcpkg_base::sha256;

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
    signing_in: Option<SigningIn>,
    /// The codes that were not used yet.
    codes: HashMap<String, Code>,
}

/// How people sign in.
struct SigningIn {
    client: String,
    secret: Option<String>,
    /// Signs the usual claims of an ID token, which it may change.
    sign: Box<Sign>,
}

type Sign = dyn Fn(Value) -> String + Send;

struct Code {
    challenge: String,
    redirect: String,
    token: String,
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
                // Browsers also open connections that they do not use.
                let state = Arc::clone(&state);
                std::thread::spawn(move || drop(answer(stream, &state)));
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

    /// Signs in everybody who comes with a browser, as users of a client that has this secret.
    pub fn sign_in(&self, client: &str, secret: Option<&str>, sign: impl Fn(Value) -> String + Send + 'static) {
        let url = self.url();
        self.describe(&json!({
            "issuer": url,
            "jwks_uri": format!("{url}/keys"),
            "authorization_endpoint": format!("{url}/authorize"),
            "token_endpoint": format!("{url}/token"),
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": true,
        }));
        self.state().signing_in =
            Some(SigningIn { client: client.to_owned(), secret: secret.map(str::to_owned), sign: Box::new(sign) });
    }

    /// Makes the issuer close connections without an answer, or answer again.
    pub fn down(&self, is_down: bool) {
        self.state().is_down = is_down;
    }

    /// Returns how many requests there were for a path, with any query.
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
    let (mut length, mut authorization) = (0, String::new());
    loop {
        let mut header = String::new();
        if reader.read_line(&mut header)? == 0 || header.trim().is_empty() {
            break;
        }
        let (name, value) = header.split_once(':').unwrap_or_default();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap_or(0),
            "authorization" => value.trim().clone_into(&mut authorization),
            _ => {}
        }
    }
    let mut form = vec![0; length];
    reader.read_exact(&mut form)?;
    let target = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let (status, more, body) = {
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        state.seen.push(path.to_owned());
        if state.is_down {
            return Ok(());
        }
        let found = state.documents.iter().find(|(known, _)| *known == path).map(|(_, document)| document.clone());
        match (found, path) {
            (Some((status, body)), _) => (status, String::new(), body),
            (None, "/authorize") => (302, format!("Location: {}\r\n", state.authorize(query)), String::new()),
            (None, "/token") => {
                let (status, body) = state.redeem(&form, &authorization);
                (status, String::new(), body.to_string())
            }
            (None, _) => (404, String::new(), String::new()),
        }
    };
    let head = format!(
        "HTTP/1.1 {status} X\r\n{more}Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

fn fields(text: &[u8]) -> HashMap<String, String> {
    form_urlencoded::parse(text).into_owned().collect()
}

impl State {
    /// Signs in the person at a browser. Returns where the browser goes.
    fn authorize(&mut self, query: &str) -> String {
        let asked = fields(query.as_bytes());
        let of = |name: &str| asked.get(name).cloned().unwrap_or_default();
        let signing_in = self.signing_in.as_ref().expect("the issuer signs people in");
        assert_eq!((of("response_type"), of("code_challenge_method")), ("code".to_owned(), "S256".to_owned()));
        assert_eq!((of("client_id"), of("scope").contains("openid")), (signing_in.client.clone(), true));
        let metadata = self.documents.iter().find(|(path, _)| path.contains("openid-configuration")).expect("metadata");
        let issuer = serde_json::from_str::<Value>(&metadata.1.1).expect("JSON")["issuer"].clone();
        let now = mcpkg_base::clock::Clock::system().now() / 1000;
        let claims = json!({
            "iss": issuer, "aud": signing_in.client, "sub": "u1", "exp": now + 300, "nonce": of("nonce"),
        });
        let token = (signing_in.sign)(claims);
        let code = format!("code-{}", self.seen.len());
        self.codes.insert(code.clone(), Code { challenge: of("code_challenge"), redirect: of("redirect_uri"), token });
        let mut back = form_urlencoded::Serializer::new(String::new());
        back.append_pair("code", &code).append_pair("state", &of("state"));
        back.append_pair("iss", issuer.as_str().unwrap_or_default());
        format!("{}?{}", of("redirect_uri"), back.finish())
    }

    /// Exchanges a code, as RFC 6749 and RFC 7636 say.
    fn redeem(&mut self, form: &[u8], authorization: &str) -> (u16, Value) {
        let form = fields(form);
        let of = |name: &str| form.get(name).cloned().unwrap_or_default();
        let signing_in = self.signing_in.as_ref().expect("the issuer signs people in");
        let is_client = match &signing_in.secret {
            None => of("client_id") == signing_in.client,
            Some(secret) => {
                use base64::Engine;
                let pair = format!("{}:{secret}", signing_in.client);
                authorization == format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(pair))
            }
        };
        if !is_client {
            return (401, json!({ "error": "invalid_client" }));
        }
        let code = self.codes.remove(&of("code")).filter(|code| {
            code.redirect == of("redirect_uri") && code.challenge == encode(sha256::of(of("code_verifier")))
        });
        match code {
            Some(code) => {
                (200, json!({ "id_token": code.token, "access_token": "unused-token", "token_type": "Bearer" }))
            }
            None => (400, json!({ "error": "invalid_grant", "error_description": "a secret of the issuer" })),
        }
    }
}
