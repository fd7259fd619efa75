//! Messages posted to a URL: as much of HTTP/1.1 as a look at a server takes.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::talk::{DEADLINE, Trouble, Wire};
use crate::client::entry::Address;

/// The most bytes of one answer.
const ANSWER: u64 = 64 << 20;

/// A URL that messages are posted to.
pub(super) struct Posted {
    address: Address,
    headers: Vec<(String, String)>,
    /// The variables that the headers are made of.
    variables: Vec<String>,
    /// The command that has the agent send a key.
    with_key: String,
    session: Option<String>,
    revision: Option<String>,
    answers: VecDeque<Value>,
}

impl Posted {
    /// Looks whether somebody listens there, and takes the keys from the environment.
    pub(super) fn new(address: Address, headers: &[(String, String)], with_key: String) -> Result<Self, Trouble> {
        let mut variables = Vec::new();
        let headers = headers.iter().map(|(name, value)| Ok((name.clone(), expanded(value, &mut variables)?)));
        let headers = headers.collect::<Result<Vec<_>, Trouble>>()?;
        let (session, revision, answers) = (None, None, VecDeque::new());
        let posted = Self { address, headers, variables, with_key, session, revision, answers };
        posted.connect(Instant::now() + DEADLINE)?;
        Ok(posted)
    }

    fn connect(&self, until: Instant) -> Result<TcpStream, Trouble> {
        let Address { host, port, .. } = &self.address;
        let advice = "start the server: `mcpkg serve --http`, and compare its address with the entry's";
        let refused = |why: String| Trouble::new(format!("{host}:{port} cannot be reached: {why}"), advice);
        let found = (host.as_str(), *port).to_socket_addrs().map_err(|error| refused(error.to_string()))?;
        let mut why = "it has no address".to_owned();
        for address in found {
            let left = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
            match TcpStream::connect_timeout(&address, left) {
                Ok(stream) => return Ok(stream),
                Err(error) => why = error.to_string(),
            }
        }
        Err(refused(why))
    }

    fn post(&mut self, message: &Value, until: Instant) -> Result<(), Trouble> {
        let stream = self.connect(until)?;
        let left = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        let timed = stream.set_read_timeout(Some(left)).and_then(|()| stream.set_write_timeout(Some(left)));
        let advice = "see the server's log";
        let broken = |error: std::io::Error| match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => Trouble::new("no answer in time", advice),
            _ => Trouble::new(format!("the connection broke: {error}"), advice),
        };
        timed.map_err(broken)?;
        (&stream).write_all(self.request(message).as_bytes()).map_err(broken)?;
        let mut reader = BufReader::new(stream.take(ANSWER));
        let (status, headers) = head(&mut reader).map_err(broken)?;
        if let Some((_, session)) = headers.iter().find(|(name, _)| name == "mcp-session-id") {
            self.session = Some(session.clone());
        }
        match status {
            200 | 202 | 204 => {}
            // An older server does not know what it is asked first.
            400 | 404 | 405 if message["method"] == "server/discover" => return Ok(()),
            _ => return Err(self.refused(status, &reason(reader, &headers))),
        }
        let has = |wanted: &str, text: &str| headers.iter().any(|(name, value)| name == wanted && value.contains(text));
        let length =
            headers.iter().find(|(name, _)| name == "content-length").and_then(|(_, value)| value.parse().ok());
        let mut body: Box<dyn BufRead> = match (has("transfer-encoding", "chunked"), length) {
            (true, _) => Box::new(BufReader::new(Chunks { inner: reader, left: 0, ended: false })),
            (false, Some(length)) => Box::new(reader.take(length)),
            (false, None) => Box::new(reader),
        };
        if message.get("id").is_none() {
            return Ok(());
        }
        if has("content-type", "text/event-stream") {
            return self.events(&mut body, &message["id"]).map_err(broken);
        }
        let mut text = String::new();
        body.read_to_string(&mut text).map_err(broken)?;
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

    fn request(&self, message: &Value) -> String {
        let Address { host, port, path, .. } = &self.address;
        let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        let body = message.to_string();
        let mut request = format!(
            "POST {path} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nConnection: close\r\nContent-Length: {}\r\n",
            body.len()
        );
        let asked = message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str();
        if let Some(revision) = asked.or(self.revision.as_deref()) {
            request.push_str(&format!("MCP-Protocol-Version: {revision}\r\n"));
        }
        if let (Some(_), Some(method)) = (asked, message["method"].as_str()) {
            request.push_str(&format!("Mcp-Method: {method}\r\n"));
        }
        if let Some(session) = &self.session {
            request.push_str(&format!("Mcp-Session-Id: {session}\r\n"));
        }
        for (name, value) in &self.headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str("\r\n");
        request.push_str(&body);
        request
    }

    /// Takes messages from a stream of events until the one that answers is there.
    fn events(&mut self, body: &mut dyn BufRead, id: &Value) -> std::io::Result<()> {
        let mut data = String::new();
        let mut line = String::new();
        while body.read_line(&mut line)? > 0 {
            let text = line.trim_end_matches(['\r', '\n']);
            if let Some(more) = text.strip_prefix("data:") {
                data.push_str(more.trim_start());
            } else if text.is_empty() && !data.is_empty() {
                if let Ok(message) = serde_json::from_str::<Value>(&data) {
                    let is_answer = message["id"] == *id && message.get("method").is_none();
                    self.answers.push_back(message);
                    if is_answer {
                        return Ok(());
                    }
                }
                data.clear();
            }
            line.clear();
        }
        Ok(())
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
fn reason(mut reader: impl BufRead, headers: &[(String, String)]) -> String {
    let length = headers.iter().find(|(name, _)| name == "content-length").and_then(|(_, value)| value.parse().ok());
    let mut body = Vec::new();
    // The connection may stay open after it; what came by then is looked at.
    let _ = reader.by_ref().take(length.unwrap_or(16 << 10).min(16 << 10)).read_to_end(&mut body);
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let message = body["error"]["message"].as_str().or(body["message"].as_str()).unwrap_or_default();
    let line: String = message.chars().map(|c| if c.is_control() { ' ' } else { c }).take(300).collect();
    crate::redact::redact(line.trim())
}

/// Reads the status and the headers of an answer, their names in lower case.
fn head(reader: &mut impl BufRead) -> std::io::Result<(u16, Vec<(String, String)>)> {
    let odd = || std::io::Error::new(ErrorKind::InvalidData, "it does not speak HTTP");
    let mut line = String::new();
    reader.by_ref().take(8192).read_line(&mut line)?;
    let status =
        line.strip_prefix("HTTP/1.").and_then(|rest| rest.split(' ').nth(1)).and_then(|code| code.parse().ok());
    let status = status.ok_or_else(odd)?;
    let mut headers = Vec::new();
    for _ in 0..200 {
        let mut line = String::new();
        reader.by_ref().take(65_536).read_line(&mut line)?;
        let line = line.trim_end();
        if line.is_empty() {
            return Ok((status, headers));
        }
        if let Some((name, value)) = line.split_once(':') {
            headers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    Err(odd())
}

/// A body that comes in chunks.
struct Chunks<R> {
    inner: R,
    left: u64,
    ended: bool,
}

impl<R: BufRead> Read for Chunks<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.left == 0 && !self.ended {
            let mut line = String::new();
            self.inner.by_ref().take(100).read_line(&mut line)?;
            if line.trim().is_empty() {
                line.clear();
                self.inner.by_ref().take(100).read_line(&mut line)?;
            }
            let size = line.trim().split(';').next().unwrap_or_default();
            let odd = |_| std::io::Error::new(ErrorKind::InvalidData, "a chunk has no size");
            self.left = u64::from_str_radix(size, 16).map_err(odd)?;
            self.ended = self.left == 0;
        }
        let read = self.inner.by_ref().take(self.left).read(buffer)?;
        self.left -= read as u64;
        Ok(read)
    }
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

    #[test]
    fn chunks_are_put_together() {
        let bytes: &[u8] = b"4\r\nWiki\r\n5;x=1\r\npedia\r\n0\r\n\r\n";
        let mut text = String::new();
        Chunks { inner: bytes, left: 0, ended: false }.read_to_string(&mut text).expect("text");
        assert_eq!(text, "Wikipedia");
    }
}
