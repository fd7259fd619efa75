//! Messages posted to a URL, as an agent posts them.

use std::collections::VecDeque;
use std::io::{BufReader, Read};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use http::header::{ACCEPT, CONTENT_TYPE};
use serde_json::Value;
use tokio_rustls::rustls;
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent as HttpAgent, Error};

use super::events::{Events, UntilQuiet};
use super::talk::{DEADLINE, Trouble, Wire};
use crate::client::agent::Agent;
use crate::client::entry::Address;

/// The most bytes of one answer, and of one that is none.
const ANSWER: u64 = 64 << 20;
const REFUSAL: u64 = 16 << 10;

/// How long a stream that a session listens on is looked at: what a server sends by itself comes at once.
const LOOK: Duration = Duration::from_millis(300);

/// How long the end of a session is waited for.
const GOODBYE: Duration = Duration::from_secs(2);

/// A URL that messages are posted to.
pub(super) struct Posted {
    agent: HttpAgent,
    url: String,
    headers: Vec<(String, String)>,
    /// The variables that the headers are made of.
    variables: Vec<String>,
    /// The command that has the agent send a key.
    with_key: String,
    events: Events,
    session: Option<String>,
    revision: Option<String>,
    answers: VecDeque<Value>,
}

impl Posted {
    /// Looks whether somebody listens there, and takes the keys from the environment.
    pub(super) fn new(
        url: &str,
        headers: &[(String, String)],
        with_key: String,
        reads_as: Agent,
    ) -> Result<Self, Trouble> {
        let address = Address::parse(url).map_err(|error| Trouble::new(error.message(), "add it anew"))?;
        let mut variables = Vec::new();
        let headers = headers.iter().map(|(name, value)| Ok((name.clone(), expanded(value, &mut variables)?)));
        let headers = headers.collect::<Result<Vec<_>, Trouble>>()?;
        connect(&address)?;
        let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
        let agent = HttpAgent::config_builder()
            .user_agent(concat!("mcpkg/", env!("CARGO_PKG_VERSION")))
            .tls_config(tls)
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .max_idle_connections(0)
            .proxy(None)
            .build();
        Ok(Self {
            agent: agent.into(),
            url: url.to_owned(),
            headers,
            variables,
            with_key,
            events: Events::of(reads_as),
            session: None,
            revision: None,
            answers: VecDeque::new(),
        })
    }

    fn post(&mut self, message: &Value, until: Instant) -> Result<(), Trouble> {
        let left = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        let mut request = self.agent.post(&self.url).config().timeout_global(Some(left)).build();
        request =
            request.header(CONTENT_TYPE, "application/json").header(ACCEPT, "application/json, text/event-stream");
        let asked = message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str();
        if let Some(revision) = asked.or(self.revision.as_deref()) {
            request = request.header("MCP-Protocol-Version", revision);
        }
        if let (Some(_), Some(method)) = (asked, message["method"].as_str()) {
            request = request.header("Mcp-Method", method);
        }
        if let Some(session) = &self.session {
            request = request.header("Mcp-Session-Id", session);
        }
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let response = request.send(message.to_string()).map_err(broken)?;
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
        if let Some(session) = header("mcp-session-id") {
            self.session = Some(session.to_owned());
        }
        let is_stream = header("content-type").is_some_and(|kind| kind.contains("text/event-stream"));
        let status = response.status().as_u16();
        let body = |most| response.into_body().into_with_config().limit(most).reader();
        match status {
            200 | 202 | 204 => {}
            // An older server does not know what it is asked first.
            400 | 404 | 405 if message["method"] == "server/discover" => return Ok(()),
            _ => return Err(self.refused(status, &reason(body(REFUSAL)))),
        }
        if message.get("id").is_none() {
            return Ok(());
        }
        if is_stream {
            let answers = &mut self.answers;
            return self.events.read(BufReader::new(body(ANSWER)), |told| {
                let is_answer = told["id"] == message["id"] && told.get("method").is_none();
                answers.push_back(told);
                is_answer
            });
        }
        let mut text = String::new();
        body(ANSWER).read_to_string(&mut text).map_err(|error| broken(error.into()))?;
        if let Ok(answer) = serde_json::from_str(&text) {
            self.answers.push_back(answer);
            return Ok(());
        }
        let shown: String = text.chars().take(80).collect();
        Err(Trouble::new(format!("it answered `{shown}`, which is no message"), "is this the URL of an MCP server?"))
    }

    /// Says why the server does not answer, in its own words where it has some.
    fn refused(&self, status: u16, reason: &str) -> Trouble {
        let shows_key = self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        let (usual, advice) = match status {
            401 if !shows_key => (
                "the server asks for a key",
                format!("`{}` has the agent send the key that is in that variable", self.with_key),
            ),
            401 => ("the server does not take the key", {
                let make = "`mcpkg access list` on the server's machine shows the keys; make one with `mcpkg access create NAME`";
                match self.variables.first() {
                    Some(name) => format!("{make}, and start the agent with it in {name}"),
                    None => make.to_owned(),
                }
            }),
            403 if shows_key => (
                "the key does not reach that far",
                "`mcpkg access list` on the server's machine shows what each key reaches".to_owned(),
            ),
            403 => ("the server does not let this in", "compare the URL with what the server says".to_owned()),
            404 if reason.contains("project") => (
                "there is no such project",
                "`mcpkg project list` on the server's machine shows those there are; the URL names one as \
                 /projects/NAME/mcp"
                    .to_owned(),
            ),
            404 => ("nothing is served there", "the URL of a server ends in /mcp".to_owned()),
            _ => ("the server does not answer", "see the server's log".to_owned()),
        };
        let why = if reason.is_empty() { usual } else { reason };
        Trouble::new(format!("{why} (status {status})"), advice)
    }
}

/// Ends the session: the server would keep it for an hour.
impl Drop for Posted {
    fn drop(&mut self) {
        let Some(session) = &self.session else { return };
        let mut request = self.agent.delete(&self.url).config().timeout_global(Some(GOODBYE)).build();
        request = request.header("Mcp-Session-Id", session);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        // A server that does not take it ends the session by itself.
        let _ = request.call();
    }
}

impl Wire for Posted {
    fn send(&mut self, message: &Value, until: Instant) -> Result<(), Trouble> {
        self.post(message, until)
    }

    fn receive(&mut self, _: Instant) -> Result<Option<Value>, Trouble> {
        Ok(self.answers.pop_front())
    }

    fn agreed(&mut self, revision: &str) {
        self.revision = Some(revision.to_owned());
    }

    /// Listens to the session for a moment, where the agent is particular about what it hears.
    fn begun(&mut self) -> Result<(), Trouble> {
        let Some(session) = self.session.clone().filter(|_| self.events.strict()) else { return Ok(()) };
        let mut request = self.agent.get(&self.url).config().timeout_global(Some(LOOK)).build();
        request = request.header(ACCEPT, "text/event-stream").header("Mcp-Session-Id", session);
        if let Some(revision) = &self.revision {
            request = request.header("MCP-Protocol-Version", revision);
        }
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        // A server need not have such a stream, and one that has it mostly says nothing.
        let Ok(response) = request.call() else { return Ok(()) };
        if response.status() != 200 {
            return Ok(());
        }
        let quiet = UntilQuiet::new(response.into_body().into_with_config().limit(REFUSAL).reader());
        self.events.read(BufReader::new(quiet), |_| false)
    }
}

/// A header's value with the variables that agents fill in.
fn expanded(value: &str, variables: &mut Vec<String>) -> Result<String, Trouble> {
    let mut text = String::new();
    let mut rest = value;
    while let Some(at) = rest.find(['$', '{']) {
        text.push_str(&rest[..at]);
        let (name, after) = variable(&rest[at..]);
        match name {
            Some(name) => {
                variables.push(name.to_owned());
                let value = std::env::var(name).ok().filter(|value| !value.is_empty() && !value.contains(['\r', '\n']));
                let advice = format!("set {name} to a key of `mcpkg access create` where the agent is started");
                text.push_str(&value.ok_or_else(|| Trouble::new(format!("the variable {name} is not set"), advice))?);
            }
            None => text.push_str(&rest[at..=at]),
        }
        rest = if name.is_some() { after } else { &rest[at + 1..] };
    }
    text.push_str(rest);
    Ok(text)
}

/// A variable in any agent's words at the beginning of a text, and what follows it.
fn variable(text: &str) -> (Option<&str>, &str) {
    for open in ["${env:", "{env:", "${"] {
        if let Some((name, after)) = text.strip_prefix(open).and_then(|rest| rest.split_once('}')) {
            return (Some(name), after);
        }
    }
    let Some(rest) = text.strip_prefix('$') else { return (None, text) };
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
    if end == 0 { (None, text) } else { (Some(&rest[..end]), &rest[end..]) }
}

/// The message of the error that a refusal carries; empty where it has none.
fn reason(body: impl Read) -> String {
    let body: Value = serde_json::from_reader(body).unwrap_or_default();
    let message = body["error"]["message"].as_str().or(body["message"].as_str()).unwrap_or_default();
    let line: String = message.chars().map(|c| if c.is_control() { ' ' } else { c }).take(300).collect();
    crate::redact::redact(line.trim())
}

/// Looks whether anybody listens at an address.
fn connect(address: &Address) -> Result<(), Trouble> {
    let Address { host, port, .. } = address;
    let until = Instant::now() + DEADLINE;
    let advice = "start the server: `mcpkg serve --http`, and compare its address with the entry's";
    let refused = |why: String| Trouble::new(format!("{host}:{port} cannot be reached: {why}"), advice);
    let found = (host.as_str(), *port).to_socket_addrs().map_err(|error| refused(error.to_string()))?;
    let mut why = "it has no address".to_owned();
    for address in found {
        let left = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        match TcpStream::connect_timeout(&address, left) {
            Ok(_) => return Ok(()),
            Err(error) => why = error.to_string(),
        }
    }
    Err(refused(why))
}

/// Says how a server failed in the middle.
pub(super) fn broken(error: Error) -> Trouble {
    let log = "see the server's log";
    match error {
        Error::Timeout(_) => Trouble::new("no answer in time", log),
        Error::Io(error) => match error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>()) {
            Some(cause) => untrusted(cause),
            None => Trouble::new(format!("the connection broke: {error}"), log),
        },
        Error::Rustls(cause) => untrusted(&cause),
        Error::Protocol(_) | Error::Http(_) => {
            Trouble::new("it does not speak HTTP", "is this the URL of an MCP server?")
        }
        error => Trouble::new(format!("it cannot be talked to: {error}"), log),
    }
}

fn untrusted(cause: &rustls::Error) -> Trouble {
    let advice =
        "this machine has to trust who signed the server's certificate, and the agent too (NODE_EXTRA_CA_CERTS)";
    Trouble::new(format!("TLS does not come about: {cause}"), advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_comes_from_the_environment_in_any_agents_words() {
        let home = std::env::var("HOME").expect("HOME");
        for words in ["Bearer ${HOME}", "Bearer ${env:HOME}", "Bearer {env:HOME}", "Bearer $HOME"] {
            assert_eq!(expanded(words, &mut Vec::new()), Ok(format!("Bearer {home}")), "{words}");
        }
        assert_eq!(expanded("a $ {b}", &mut Vec::new()).as_deref(), Ok("a $ {b}"));
        let trouble = expanded("Bearer ${MCPKG_NO_SUCH_KEY}", &mut Vec::new()).expect_err("not set");
        assert_eq!(trouble.why, "the variable MCPKG_NO_SUCH_KEY is not set");
    }
}
