//! Implements the remote gate, which answers over HTTP.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Cursor, Read};
use std::time::{Duration, Instant};

use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE};
use http::{Method, Request, StatusCode};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Map, Value, json};

use super::candidate::Candidate;
use super::files::{Files, PathKind};
use super::input;
use super::interface::{Gate, Line, Model, Options, Route, Status, no_model, onnx};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::http::{Failure, Limits, Response, Upload, Url, read_failure, send};
use mcpkg_core::op::Context;

/// The maximum size of a response, in bytes.
const MAX_ANSWER: u64 = 8 << 20;

/// The time for which mcpkg reads a log stream that does not end.
const LOG: Duration = Duration::from_secs(5);

/// An error quotes at most this many characters of a server's error message.
const LONGEST: usize = 300;

/// Characters of a name that must be percent-encoded in a URL's path.
const IN_PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

pub struct Remote<'c> {
    pub context: &'c Context,
    pub base: Url,
    /// The time limit of each request.
    pub timeout: Duration,
}

/// A list in a response: either a plain array, or an object such as `{"models": [..]}`.
#[derive(Deserialize)]
#[serde(untagged)]
enum Listed<T> {
    Alone(Vec<T>),
    Models { models: Vec<T> },
    Routes { routes: Vec<T> },
}

/// The response to a test.
#[derive(Deserialize)]
struct Tested {
    output: Value,
    latency_ms: Option<f64>,
}

struct Payload {
    content_type: String,
    body: Upload,
}

impl Payload {
    fn json(bytes: Vec<u8>) -> Self {
        let size = bytes.len() as u64;
        Self { content_type: "application/json".to_owned(), body: Upload::new(Cursor::new(bytes), size) }
    }

    /// Returns a multipart form with a model's name and file. The file is read while it is sent. Names of models
    /// contain no characters that would need escaping here.
    fn form(name: &str, candidate: Candidate, boundary: &str) -> Self {
        let head = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\n{name}\r\n\
             --{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}.onnx\"\r\n\
             Content-Type: application/octet-stream\r\n\r\n"
        );
        let tail = format!("\r\n--{boundary}--\r\n");
        let size = head.len() as u64 + candidate.size + tail.len() as u64;
        let file = candidate.file.take(candidate.size);
        let whole = Cursor::new(head.into_bytes()).chain(file).chain(Cursor::new(tail.into_bytes()));
        Self { content_type: format!("multipart/form-data; boundary={boundary}"), body: Upload::new(whole, size) }
    }
}

impl Remote<'_> {
    /// Sends a request, and returns the response if its status is a success. If `model` is given, a 404 becomes an
    /// error about that model.
    fn send(&self, method: Method, path: &str, payload: Option<Payload>, model: Option<&str>) -> Result<Response> {
        let url = self.base.below(path, &[]);
        let request = Request::builder()
            .method(method)
            .uri(url.as_str())
            .header(ACCEPT_ENCODING, "identity")
            .header(ACCEPT, "application/json");
        let request = match payload {
            Some(Payload { content_type, body }) => request.header(CONTENT_TYPE, content_type).body(body),
            None => request.body(Upload::new(std::io::empty(), 0)),
        };
        let request =
            request.map_err(|error| Error::internal("a URL is not valid for a request").with_source(error))?;
        let time = if path == LOGS { self.timeout.min(LOG) } else { self.timeout };
        let limits =
            Limits { until: Instant::now() + time, cancelled: self.context.cancelled.clone(), size: MAX_ANSWER };
        (self.context.step_aside)();
        let mut response = send(request, limits).map_err(|failure| self.failed(&failure))?;
        match (response.status, model) {
            (status, _) if status.is_success() => Ok(response),
            (StatusCode::NOT_FOUND, Some(model)) => Err(no_model(model, &[])),
            (status, _) if status.is_redirection() => {
                Err(self.unreachable("http", Some(status), "it responded with a redirect, which mcpkg does not follow"))
            }
            (status, _) => {
                let said = self.whole(&mut response).ok().and_then(|bytes| words(&bytes));
                let said = said.map_or_else(String::new, |said| format!(": {said}"));
                Err(self.unreachable("http", Some(status), &format!("it responded with {status}{said}")))
            }
        }
    }

    /// Sends a request and parses the JSON response.
    fn ask<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        payload: Option<Payload>,
        model: Option<&str>,
    ) -> Result<T> {
        let mut response = self.send(method, path, payload, model)?;
        let body = self.whole(&mut response)?;
        serde_json::from_slice(&body).map_err(|error| {
            self.unreachable("parse", Some(response.status), &format!("its response is not from a model gate: {error}"))
        })
    }

    fn list<T: DeserializeOwned>(&self, path: &str) -> Result<Vec<T>> {
        self.ask(Method::GET, path, None, None).map(|listed| match listed {
            Listed::Alone(rows) | Listed::Models { models: rows } | Listed::Routes { routes: rows } => rows,
        })
    }

    /// Reads the whole body of a response.
    fn whole(&self, response: &mut Response) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let read = response.body.read_to_end(&mut bytes);
        read.map_err(|error| self.failed(&read_failure(&error)))?;
        Ok(bytes)
    }

    fn failed(&self, failure: &Failure) -> Error {
        let kind = match failure {
            Failure::Cancelled => return Error::new(Code::Cancelled, "Cancelled while waiting for the model gate"),
            Failure::NoAddress(_) => "dns",
            Failure::NotConnected(_) => "refused",
            Failure::Tls(_) => "tls",
            Failure::TimedOut => "timeout",
            Failure::NotHttp | Failure::TooLarge(_) => "parse",
            Failure::Unavailable(_) | Failure::Broken(_) | Failure::Refused(_) | Failure::Redirected(_) => "http",
        };
        self.unreachable(kind, None, &failure.to_string())
    }

    fn unreachable(&self, kind: &str, status: Option<StatusCode>, why: &str) -> Error {
        let url = self.base.as_str();
        Error::new(
            Code::GateUnreachable,
            format!("The model gate at {url} failed ({kind}): {why}"),
        )
        .with_details(json!({
            "url": url,
            "kind": kind,
            "status": status.map(|status| status.as_u16()),
            "suggestion": "Check that ModelGate is running there and that the address is right",
        }))
        .hint("the address comes from --url, MODELGATE_URL or `[gate].url`; without them mcpkg uses its embedded gate")
    }

    /// Records a change to the remote gate as an event.
    fn note(&self, kind: &str, subject: &str) -> Result<()> {
        self.context.store.write(|db| self.context.event(db, self.context.author(), None, kind, subject))
    }
}

const LOGS: &str = "api/v1/logs";

/// Returns the URL path of a model. Refuses an empty name, `.` and `..`, because they would change the path.
fn of_model(room: &str, name: &str) -> Result<String> {
    if name.is_empty() || name == "." || name == ".." {
        return Err(no_model(name, &[]));
    }
    Ok(format!("api/v1/{room}/{}", utf8_percent_encode(name, IN_PATH)))
}

/// Extracts the message from a JSON error response.
fn words(bytes: &[u8]) -> Option<String> {
    let value: Map<String, Value> = serde_json::from_slice(bytes).ok()?;
    let said = ["message", "error", "detail"].iter().find_map(|key| value.get(*key)?.as_str())?;
    Some(said.chars().filter(|c| !c.is_control()).take(LONGEST).collect())
}

impl Gate for Remote<'_> {
    fn is_embedded(&self) -> bool {
        false
    }

    fn status(&self) -> Result<Status> {
        let status: Status = self.ask(Method::GET, "health", None, None)?;
        Ok(Status { mode: "remote".to_owned(), url: Some(self.base.as_str().to_owned()), engine: None, ..status })
    }

    fn models(&self) -> Result<Vec<Model>> {
        let mut models: Vec<Model> = self.list("api/v1/models")?;
        models.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(models)
    }

    fn look(&self, files: &mut Files, path: &str, name: &str) -> Result<Model> {
        let Candidate { size, header, .. } = Candidate::open(files, path)?;
        Ok(Model {
            name: name.to_owned(),
            format: onnx(),
            size_bytes: size,
            registered_at: None,
            status: "unloaded".to_owned(),
            sha256: None,
            opset: header.opset,
            inputs: Some(header.inputs),
            outputs: Some(header.outputs),
        })
    }

    fn add(&self, files: &mut Files, path: &str, name: &str) -> Result<(Model, bool)> {
        let candidate = Candidate::open(files, path)?;
        let boundary = format!("mcpkg-{}", self.context.clock.uuid().simple());
        let payload = Payload::form(name, candidate, &boundary);
        let model = self.ask(Method::POST, "api/v1/models", Some(payload), None)?;
        self.note("gate.models.add", name)?;
        Ok((model, true))
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.send(Method::DELETE, &of_model("models", name)?, None, Some(name))?;
        self.note("gate.models.remove", name)
    }

    fn routes(&self) -> Result<Vec<Route>> {
        let mut routes: Vec<Route> = self.list("api/v1/routes")?;
        routes.sort_by(|one, other| one.endpoint.cmp(&other.endpoint));
        Ok(routes)
    }

    fn set_route(&self, route: &Route) -> Result<Route> {
        let Route { model, endpoint, active, .. } = route;
        let body = json!({ "model": model, "endpoint": endpoint, "active": active });
        let payload = Payload::json(body.to_string().into_bytes());
        let set = self.ask(Method::PUT, "api/v1/routes", Some(payload), Some(model))?;
        self.note("gate.routes.set", endpoint)?;
        Ok(set)
    }

    fn test(&self, files: &mut Files, model: &str, text: &str, _: Options) -> Result<Value> {
        let path = files.path(text)?;
        let is_json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
        if files.kind_of(&path)? == PathKind::Folder || !is_json {
            return Err(input::refused(text, "only the embedded gate accepts this kind of input; use a .json file"));
        }
        let bytes = files.read(&path, input::MAX_JSON)?;
        if let Err(error) = serde_json::from_slice::<IgnoredAny>(&bytes) {
            return Err(input::refused(text, &format!("it is not valid JSON: {error}")));
        }
        let payload = Payload::json(bytes);
        let tested: Tested = self.ask(Method::POST, &of_model("inference", model)?, Some(payload), Some(model))?;
        Ok(json!({ "model": model, "output": tested.output, "latency_ms": tested.latency_ms }))
    }

    fn logs(&self, lines: usize) -> Result<Vec<Line>> {
        let response = self.send(Method::GET, LOGS, None, None)?;
        let (mut newest, mut body, mut line) = (VecDeque::new(), BufReader::new(response.body), Vec::new());
        loop {
            line.clear();
            match body.read_until(b'\n', &mut line) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) => match read_failure(&error) {
                    // The server keeps the log stream open, so stop here.
                    Failure::TimedOut if !newest.is_empty() => break,
                    failure => return Err(self.failed(&failure)),
                },
            }
            if let Some(data) = line.strip_prefix(b"data:") {
                if newest.len() == lines {
                    newest.pop_front();
                }
                newest.push_back(String::from_utf8_lossy(data).trim().to_owned());
            }
        }
        Ok(newest.into_iter().map(|line| Line { at: None, line }).collect())
    }
}
