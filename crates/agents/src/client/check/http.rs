//! Posts messages to a URL in the same way as an agent.

use crate::client::fields;
use std::collections::VecDeque;
use std::io::{BufReader, Read};
use std::time::{Duration, Instant};

use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Method, Request, StatusCode};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use zeroize::Zeroizing;

use super::events::{Events, UntilQuiet};
use super::session::DEADLINE;
use super::step_error::{StepError, broken};
use super::transport::Transport;
use crate::agents::agent::Agent;
use crate::client::address::Address;
use mcpkg_base::http::{self as client, Failure, Limits, Response, read_failure};
use mcpkg_base::redact::redact;
use mcpkg_base::secret::Reference;

/// The maximum size of an answer in bytes.
const ANSWER: u64 = 64 << 20;
/// The maximum size of a refusal in bytes.
const REFUSAL: u64 = 16 << 10;

/// The time for which the check listens to a session's stream. It is short, because a server that sends messages of its own
/// does so right after the session starts.
const LOOK: Duration = Duration::from_millis(300);

/// The maximum time to wait for the server to end the session.
const GOODBYE: Duration = Duration::from_secs(2);

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const REVISION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");

/// Posts messages to a URL.
pub(super) struct HttpTransport {
    url: String,
    headers: Vec<(HeaderName, HeaderValue)>,
    /// The names of the variables that the headers use.
    variables: Vec<String>,
    /// The command that adds a key to the entry, for error messages.
    with_key: String,
    events: Events,
    session: Option<String>,
    revision: Option<String>,
    answers: VecDeque<Value>,
    cancelled: CancellationToken,
}

impl HttpTransport {
    /// Checks that something listens at the URL, and takes the keys from the environment.
    pub(super) fn new(
        url: &str,
        headers: &[(String, String)],
        with_key: String,
        reads_as: &'static Agent,
        cancelled: &CancellationToken,
    ) -> Result<Self, StepError> {
        let address = Address::parse(url).map_err(|error| StepError::new(error.message(), "add it again"))?;
        let mut variables = Vec::new();
        let headers = headers.iter().map(|(name, value)| header(name, &expanded(value, &mut variables)?));
        let headers = headers.collect::<Result<Vec<_>, StepError>>()?;
        let transport = Self {
            url: url.to_owned(),
            headers,
            variables,
            with_key,
            events: Events::of(reads_as),
            session: None,
            revision: None,
            answers: VecDeque::new(),
            cancelled: cancelled.clone(),
        };
        transport.connect(&address)?;
        Ok(transport)
    }

    /// Checks that something listens at the address.
    fn connect(&self, address: &Address) -> Result<(), StepError> {
        let Address { host, port, .. } = address;
        let limits = self.limits(Instant::now() + DEADLINE, REFUSAL);
        client::connect(host, *port, &limits).map_err(|failure| {
            let why = match failure {
                Failure::Cancelled => return StepError::cancelled(),
                Failure::NotConnected(why) => why,
                other => other.to_string(),
            };
            let advice = "start the server with `mcpkg serve --http`, and check the address in the entry";
            StepError::new(format!("cannot reach {host}:{port}: {why}"), advice)
        })
    }

    fn limits(&self, until: Instant, size: u64) -> Limits {
        Limits { until, cancelled: self.cancelled.clone(), size }
    }

    /// Sends a request with the headers in `more`, the session's header, and the headers of the client's entry.
    fn request(
        &self,
        method: Method,
        more: &[(HeaderName, &str)],
        body: Vec<u8>,
        limits: Limits,
    ) -> Result<Response, Failure> {
        let mut request = Request::builder().method(method).uri(&self.url);
        for (name, value) in more {
            request = request.header(name, *value);
        }
        if let Some(session) = &self.session {
            request = request.header(SESSION, session);
        }
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        client::send(request.body(body).map_err(|error| Failure::Broken(error.to_string()))?, limits)
    }

    fn post(&mut self, message: &Value, until: Instant) -> Result<(), StepError> {
        let mut headers = vec![(CONTENT_TYPE, "application/json"), (ACCEPT, "application/json, text/event-stream")];
        let asked = message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str();
        headers.extend(asked.or(self.revision.as_deref()).map(|revision| (REVISION, revision)));
        if let (Some(_), Some(method)) = (asked, message["method"].as_str()) {
            headers.push((METHOD, method));
        }
        let limits = self.limits(until, ANSWER);
        let response = self.request(Method::POST, &headers, message.to_string().into_bytes(), limits);
        let Response { status, headers, body } = response.map_err(|failure| broken(&failure))?;
        let header = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        if let Some(session) = header(SESSION) {
            self.session = Some(session.to_owned());
        }
        let is_stream = header(CONTENT_TYPE).is_some_and(|kind| kind.contains("text/event-stream"));
        match status.as_u16() {
            200 | 202 | 204 => {}
            // An older server does not know server/discover, which is the first request.
            400 | 404 | 405 if message["method"] == "server/discover" => return Ok(()),
            status => return Err(self.refused(status, &self.reason(body.take(REFUSAL)))),
        }
        if message.get("id").is_none() {
            return Ok(());
        }
        if is_stream {
            let answers = &mut self.answers;
            return self.events.read(BufReader::new(body), |told| {
                let is_answer = told["id"] == message["id"] && told.get("method").is_none();
                answers.push_back(told);
                is_answer
            });
        }
        let mut text = String::new();
        let mut body = body;
        body.read_to_string(&mut text).map_err(|error| broken(&read_failure(&error)))?;
        if let Ok(answer) = serde_json::from_str(&text) {
            self.answers.push_back(answer);
            return Ok(());
        }
        let shown: String = redact(&text).chars().take(80).collect();
        let advice = "is this the URL of an MCP server?";
        Err(StepError::new(format!("the server responded with `{shown}`, which is not an MCP message"), advice))
    }

    /// Returns the error message in a refusal; empty if there is none.
    fn reason(&self, body: impl Read) -> String {
        let body: Value = serde_json::from_reader(body).unwrap_or_default();
        let message = body["error"]["message"].as_str().or(body["message"].as_str()).unwrap_or_default();
        let line = redact(message);
        let line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).take(300).collect();
        line.trim().to_owned()
    }

    /// Returns the error for a refusal, with the server's own message if there is one.
    fn refused(&self, status: u16, reason: &str) -> StepError {
        let shows_key = self.headers.iter().any(|(name, _)| *name == AUTHORIZATION);
        let (usual, advice) = match status {
            401 if !shows_key => (
                "the server requires a key",
                format!("run `{}`: the agent then sends the key from that environment variable", self.with_key),
            ),
            401 => ("the server rejects the key", {
                let make = "on the server's machine, list the keys with `mcpkg access list`, or create one with `mcpkg \
                    access create NAME`";
                match self.variables.first() {
                    Some(name) => format!("{make}, and set {name} to the key in the environment of the agent"),
                    None => make.to_owned(),
                }
            }),
            403 if shows_key => (
                "the key does not give access to this URL",
                "on the server's machine, `mcpkg access list` shows what each key can access".to_owned(),
            ),
            403 => ("the server refuses this request", "check the URL against the server's message".to_owned()),
            404 if self.url.contains("/projects/") => (
                "the project does not exist",
                "on the server's machine, list the projects with `mcpkg project list`; a project's URL ends in \
                    /projects/NAME/mcp"
                    .to_owned(),
            ),
            404 => ("there is no server at this path", "a server's URL ends in /mcp".to_owned()),
            _ => ("the server does not respond", "see the server's log".to_owned()),
        };
        let why = if reason.is_empty() { usual } else { reason };
        StepError::new(format!("{why} (status {status})"), advice)
    }
}

/// Ends the session. Otherwise the server would keep the session for some time.
impl Drop for HttpTransport {
    fn drop(&mut self) {
        if self.session.is_some() {
            // If this fails, the server ends the session by itself later.
            let limits =
                Limits { cancelled: CancellationToken::new(), ..self.limits(Instant::now() + GOODBYE, REFUSAL) };
            let _ = self.request(Method::DELETE, &[], Vec::new(), limits);
        }
    }
}

impl Transport for HttpTransport {
    fn send(&mut self, message: &Value, until: Instant) -> Result<(), StepError> {
        self.post(message, until)
    }

    fn receive(&mut self, _: Instant) -> Result<Option<Value>, StepError> {
        Ok(self.answers.pop_front())
    }

    fn agreed(&mut self, revision: &str) {
        self.revision = Some(revision.to_owned());
    }

    /// Listens to the session's stream for a moment, if the agent rejects events without data.
    fn begun(&mut self) -> Result<(), StepError> {
        if self.session.is_none() || !self.events.strict() {
            return Ok(());
        }
        let mut headers = vec![(ACCEPT, "text/event-stream")];
        headers.extend(self.revision.as_deref().map(|revision| (REVISION, revision)));
        let limits = self.limits(Instant::now() + LOOK, REFUSAL);
        // The stream is optional, and most servers send nothing on it.
        match self.request(Method::GET, &headers, Vec::new(), limits) {
            Ok(Response { status: StatusCode::OK, body, .. }) => {
                self.events.read(BufReader::new(UntilQuiet::new(body)), |_| false)
            }
            _ => Ok(()),
        }
    }
}

/// Returns a header of the entry, with its value marked as sensitive, so that the value is never printed.
fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), StepError> {
    let wrong = || StepError::new(format!("the header `{name}` cannot be sent"), "fix the entry");
    let name = HeaderName::try_from(name).map_err(|_| wrong())?;
    let mut value = HeaderValue::try_from(value).map_err(|_| wrong())?;
    value.set_sensitive(true);
    Ok((name, value))
}

/// Returns a header's value with its variables replaced. Adds the variables' names to `variables`.
fn expanded(value: &str, variables: &mut Vec<String>) -> Result<Zeroizing<String>, StepError> {
    let mut text = Zeroizing::new(String::new());
    let mut rest = value;
    while let Some(c) = rest.chars().next() {
        let Some((name, after)) = variable(rest) else {
            text.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        };
        let secret = Reference::Environment(name.to_owned()).resolve(&CancellationToken::new()).map_err(|_| {
            let advice = format!("in the environment of the agent, set {name} to a key from `mcpkg access create`");
            StepError::new(format!("the variable {name} is not set"), advice)
        })?;
        text.push_str(secret.expose());
        variables.push(name.to_owned());
        rest = after;
    }
    Ok(text)
}

/// Returns the variable at the start of a text, in any agent's syntax, and the text after it.
fn variable(text: &str) -> Option<(&str, &str)> {
    fields::variable_forms().into_iter().find_map(|form| {
        let (before, after) = form.split_once("NAME")?;
        let rest = text.strip_prefix(before)?;
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let (name, rest) = rest.split_at(end);
        Some((name, rest.strip_prefix(after)?)).filter(|(name, _)| !name.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_comes_from_the_environment_in_any_agents_form() {
        let path = std::env::var("PATH").expect("PATH");
        let text = |value: &str| expanded(value, &mut Vec::new()).map(|text| text.to_string());
        for form in ["Bearer ${PATH}", "Bearer ${env:PATH}", "Bearer {env:PATH}", "Bearer $PATH"] {
            assert_eq!(text(form), Ok(format!("Bearer {path}")), "{form}");
        }
        assert_eq!(text("a $ {b} é").as_deref(), Ok("a $ {b} é"));
        let error = text("Bearer ${MCPKG_NO_SUCH_KEY}").expect_err("not set");
        assert_eq!(error.why, "the variable MCPKG_NO_SUCH_KEY is not set");
    }
}
