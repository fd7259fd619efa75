//! Serves, over HTTP, the API that `tests/fixtures/api/hosting.json` describes. The API has state, and fails where a
//! test asks for it.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::{ServerConfig, pki_types};

/// The number of requests for a database before the database is ready.
const LOOKS: u64 = 2;

/// A failure instead of the next normal answer.
#[derive(Clone, Debug)]
pub enum Trouble {
    /// The server never answers.
    Stall,
    /// The server closes the connection.
    Drop,
    /// The answer has this status, these headers and this body.
    Status(u16, Vec<(&'static str, String)>, &'static str),
    /// The answer is not HTTP.
    Garbage,
    /// The server sends half of a body and closes the connection.
    Half,
    /// The server sends the head of an answer, and never the body.
    HeadAlone,
    /// The answer has a body of this many bytes.
    Large(usize),
    /// The body is not JSON, but the `Content-Type` says that it is.
    NoJson,
    /// The normal answer comes after this time.
    Late(Duration),
    /// The server does the work, but never answers.
    Unheard,
}

/// A request that the server received.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The method with the path and the query, such as `GET /api/v1/apps?limit=1`.
    pub line: String,
    pub headers: HashMap<String, String>,
    pub body: Vec<u8>,
}

#[derive(Default)]
struct State {
    seen: Vec<Seen>,
    /// The failures of the next answers, in order. `None` stands for a normal answer.
    trouble: VecDeque<Option<Trouble>>,
    apps: Vec<Value>,
    databases: Vec<(Value, u64)>,
    keys: HashMap<String, Value>,
    token: Option<String>,
}

/// An API server on a port of its own. Dropping it ends the server.
pub struct Api {
    address: SocketAddr,
    /// The certificate, if the server uses TLS.
    pub certificate: Option<String>,
    state: Arc<Mutex<State>>,
    runtime: Option<Runtime>,
}

impl Drop for Api {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

type Answer = Response<BoxBody<Bytes, io::Error>>;

impl Api {
    /// Starts a server that uses plain HTTP.
    pub fn start() -> Self {
        Self::listening(None)
    }

    /// Starts a server that uses TLS, with a certificate for `localhost` that no client trusts by default.
    pub fn start_tls() -> Self {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate");
        let key = pki_types::PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .expect("a configuration");
        let mut api = Self::listening(Some(TlsAcceptor::from(Arc::new(config))));
        api.certificate = Some(made.cert.pem());
        api
    }

    fn listening(tls: Option<TlsAcceptor>) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).expect("a port");
        let address = listener.local_addr().expect("an address");
        let state: Arc<Mutex<State>> = Arc::default();
        let shared = Arc::clone(&state);
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(connection(stream, tls.clone(), Arc::clone(&shared)));
            }
        });
        Self { address, certificate: None, state, runtime: Some(runtime) }
    }

    /// Returns the base URL of the API.
    pub fn base(&self) -> String {
        match self.certificate {
            Some(_) => format!("https://localhost:{}/api/v1", self.address.port()),
            None => format!("http://{}/api/v1", self.address),
        }
    }

    /// Makes the next requests fail in these ways, in this order.
    pub fn trouble(&self, trouble: impl IntoIterator<Item = Trouble>) {
        self.state().trouble.extend(trouble.into_iter().map(Some));
    }

    /// Makes one request fail, after `count` normal answers.
    pub fn trouble_after(&self, count: usize, trouble: Trouble) {
        let mut state = self.state();
        state.trouble.extend((0..count).map(|_| None));
        state.trouble.push_back(Some(trouble));
    }

    /// Resets the server: forgets all requests and what they created, planned failures, and the required header.
    pub fn reset(&self) {
        *self.state() = State::default();
    }

    /// From now on, answers 401 unless a request has this `Authorization` header.
    pub fn require(&self, authorization: &str) {
        self.state().token = Some(authorization.to_owned());
    }

    /// Returns the requests that the server received.
    pub fn seen(&self) -> Vec<Seen> {
        self.state().seen.clone()
    }

    /// Returns how many requests had a method and path that begin with `line`.
    pub fn count(&self, line: &str) -> usize {
        self.state().seen.iter().filter(|seen| seen.line.starts_with(line)).count()
    }

    /// Returns how many apps there are.
    pub fn apps(&self) -> usize {
        self.state().apps.len()
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("nobody panicked")
    }
}

async fn connection(mut stream: TcpStream, tls: Option<TlsAcceptor>, state: Arc<Mutex<State>>) {
    let garbage = {
        let mut state = state.lock().expect("nobody panicked");
        let is_next = matches!(state.trouble.front(), Some(Some(Trouble::Garbage)));
        is_next.then(|| state.trouble.pop_front())
    };
    if garbage.is_some() {
        // This server does not wait for a request, but the client must have sent one before it reads the answer.
        let _ = stream.read(&mut [0; 1024]).await;
        let _ = stream.write_all(b"220 mail.example ESMTP\r\n").await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        return;
    }
    let service = service_fn(move |request| answer(request, Arc::clone(&state)));
    let http = hyper::server::conn::http1::Builder::new();
    match tls {
        None => drop(http.serve_connection(TokioIo::new(stream), service).await),
        Some(tls) => {
            if let Ok(stream) = tls.accept(stream).await {
                drop(http.serve_connection(TokioIo::new(stream), service).await);
            }
        }
    }
}

async fn answer(request: Request<Incoming>, state: Arc<Mutex<State>>) -> Result<Answer, io::Error> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
    let headers = head
        .headers
        .iter()
        .map(|(name, value)| (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned()));
    let headers: HashMap<String, String> = headers.collect();
    let trouble = {
        let mut state = state.lock().expect("nobody panicked");
        let line = format!("{} {path}", head.method);
        state.seen.push(Seen { line, headers: headers.clone(), body: body.to_vec() });
        state.trouble.pop_front().flatten()
    };
    let work = || state.lock().expect("nobody panicked").answer(head.method.as_str(), &path, &headers, &body);
    match trouble {
        Some(trouble) => troubled(trouble, work).await,
        None => Ok(work()),
    }
}

/// Answers with a failure. `work` does the work of the request and returns the normal answer.
async fn troubled(trouble: Trouble, work: impl FnOnce() -> Answer) -> Result<Answer, io::Error> {
    let pieces =
        |pieces: Vec<Result<Frame<Bytes>, io::Error>>| BodyExt::boxed(StreamBody::new(tokio_stream::iter(pieces)));
    let json = |length: usize, body| {
        let builder = Response::builder().header("content-type", "application/json").header("content-length", length);
        builder.body(body).map_err(io::Error::other)
    };
    match trouble {
        Trouble::Stall => std::future::pending().await,
        Trouble::Unheard => {
            drop(work());
            std::future::pending().await
        }
        Trouble::Late(by) => {
            let answer = work();
            tokio::time::sleep(by).await;
            Ok(answer)
        }
        Trouble::Drop | Trouble::Garbage => Err(io::Error::other("the connection ends")),
        Trouble::Status(status, headers, body) => {
            let mut response = Response::builder().status(status);
            for (name, value) in headers {
                response = response.header(name, value);
            }
            response.body(full(body.as_bytes().to_vec())).map_err(io::Error::other)
        }
        Trouble::Half => {
            let half = vec![Ok(Frame::data(Bytes::from_static(b"[{\"id\":"))), Err(io::Error::other("half"))];
            json(100, pieces(half))
        }
        Trouble::HeadAlone => {
            let pending = futures_util::stream::pending::<Result<Frame<Bytes>, io::Error>>();
            json(100, BodyExt::boxed(StreamBody::new(pending)))
        }
        Trouble::Large(size) => {
            // There is no `Content-Length`, so that the client notices the size only while it reads.
            let piece = Bytes::from(vec![b' '; 64 << 10]);
            let count = size.div_ceil(piece.len());
            let body = pieces((0..count).map(|_| Ok(Frame::data(piece.clone()))).collect());
            Response::builder().header("content-type", "text/plain").body(body).map_err(io::Error::other)
        }
        Trouble::NoJson => json(5, full(b"<html".to_vec())),
    }
}

fn full(bytes: Vec<u8>) -> BoxBody<Bytes, io::Error> {
    Full::new(Bytes::from(bytes)).map_err(|never: Infallible| match never {}).boxed()
}

fn told(status: u16, value: &Value) -> Answer {
    let body = if value.is_null() { Vec::new() } else { value.to_string().into_bytes() };
    let response = Response::builder().status(status).header("content-type", "application/json");
    response.body(full(body)).expect("an answer")
}

impl State {
    fn answer(&mut self, method: &str, path: &str, headers: &HashMap<String, String>, body: &[u8]) -> Answer {
        if self.token.is_some() && self.token.as_ref() != headers.get("authorization") {
            let given = headers.get("authorization").cloned().unwrap_or_default();
            return told(401, &json!({ "message": format!("'{given}' is not known here") }));
        }
        let path = path.split('?').next().unwrap_or_default();
        let segments: Vec<&str> =
            path.trim_start_matches("/api/v1").split('/').filter(|part| !part.is_empty()).collect();
        let given: Value = serde_json::from_slice(body).unwrap_or_default();
        let find = |apps: &[Value], id: &str| apps.iter().position(|app| app["id"] == id || app["name"] == id);
        match (method, &segments[..]) {
            ("GET", ["apps"]) => told(200, &json!(self.apps)),
            ("POST", ["apps"]) => self.create(&given, headers.get("idempotency-key")),
            ("GET", ["apps", id]) => match find(&self.apps, id) {
                Some(n) => told(200, &self.apps[n]),
                None => told(404, &json!({ "message": "no such app" })),
            },
            ("DELETE", ["apps", id]) => match find(&self.apps, id) {
                Some(n) => {
                    self.apps.remove(n);
                    told(204, &Value::Null)
                }
                None => told(404, &json!({ "message": "no such app" })),
            },
            ("GET", ["apps", _, "logs"]) => {
                let response = Response::builder().header("content-type", "text/plain");
                response.body(full(b"started\n".to_vec())).expect("an answer")
            }
            ("POST", ["databases"]) => {
                let id = format!("db-{}", self.databases.len() + 1);
                let database = json!({ "id": id, "plan": given["plan"], "app_id": given["app_id"] });
                self.databases.push((database.clone(), 0));
                told(202, &database)
            }
            ("GET", ["databases", id]) => {
                let found = self.databases.iter_mut().find(|(database, _)| database["id"] == **id);
                let Some((database, looks)) = found else {
                    return told(404, &json!({ "message": "no such database" }));
                };
                *looks += 1;
                database["state"] = json!(if *looks > LOOKS { "ready" } else { "creating" });
                told(200, database)
            }
            ("POST" | "PUT" | "PATCH", _) => told(200, &json!({ "echo": String::from_utf8_lossy(body) })),
            _ => told(404, &json!({ "message": "nothing is here" })),
        }
    }

    /// Creates an app. A second request with the same idempotency key returns the first one's app.
    fn create(&mut self, given: &Value, key: Option<&String>) -> Answer {
        if let Some(before) = key.and_then(|key| self.keys.get(key)) {
            return told(201, before);
        }
        let id = format!("app-{}", self.apps.len() + 1);
        let app = json!({ "id": id, "name": given["name"].as_str().unwrap_or(&id), "region": given["region"] });
        self.apps.push(app.clone());
        if let Some(key) = key {
            self.keys.insert(key.clone(), app.clone());
        }
        told(201, &app)
    }
}
