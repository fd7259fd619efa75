//! Sends the messages that an agent sends when it starts, and judges the server's answers.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::step_error::StepError;
use super::transport::Transport;
use crate::agents::agent::{Agent, Greeting};

/// The maximum time to wait for one answer.
pub(super) const DEADLINE: Duration = Duration::from_secs(10);

/// The time that an agent waits for an answer to server/discover before it sends initialize.
const DISCOVER: Duration = Duration::from_secs(3);

/// The protocol revision that has no handshake.
const MODERN: &str = "2026-07-28";

/// A session with a server.
pub(super) struct Session<'w> {
    transport: &'w mut dyn Transport,
    title: &'static str,
    next: u32,
    modern: bool,
    capabilities: Value,
}

impl<'w> Session<'w> {
    pub(super) fn new(transport: &'w mut dyn Transport, agent: &Agent) -> Self {
        Self { transport, title: agent.title, next: 1, modern: false, capabilities: Value::Null }
    }

    /// Greets the server as the agent does. Returns the server's name and version and the protocol revision, as a text.
    pub(super) fn greet(&mut self, first: Greeting) -> Result<String, StepError> {
        let revision = match first {
            Greeting::Initialize(revision) => revision,
            Greeting::Discover => {
                self.modern = true;
                let answer = self.ask_until("server/discover", json!({}), Instant::now() + DISCOVER)?;
                if let Some(result) = answer.as_ref().and_then(|answer| answer.get("result")) {
                    let versions = result["supportedVersions"].as_array().cloned().unwrap_or_default();
                    if versions.iter().any(|version| version == MODERN) {
                        self.capabilities = result["capabilities"].clone();
                        self.transport.agreed(MODERN);
                        let info = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
                        return Ok(format!("{}, {MODERN}", server(info)));
                    }
                }
                self.modern = false;
                "2025-11-25"
            }
        };
        let hello = json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": self.info() });
        let result = self.ask("initialize", hello)?;
        let agreed = result["protocolVersion"].as_str().unwrap_or(revision).to_owned();
        self.capabilities = result["capabilities"].clone();
        self.transport.agreed(&agreed);
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        self.transport.send(&initialized, Instant::now() + DEADLINE)?;
        self.transport.begun()?;
        Ok(format!("{}, {agreed}", server(&result["serverInfo"])))
    }

    /// Counts the items of a kind, such as tools; `None` if the server does not offer that kind. Requests no further
    /// pages after ten seconds.
    pub(super) fn count(&mut self, kind: &str) -> Result<Option<usize>, StepError> {
        if self.capabilities.get(kind).is_none() {
            return Ok(None);
        }
        let until = Instant::now() + DEADLINE;
        let mut count = 0;
        let mut params = json!({});
        loop {
            let result = self.ask(&format!("{kind}/list"), params)?;
            let items = result[kind].as_array().ok_or_else(|| {
                StepError::new(
                    format!("the server's response to {kind}/list contains no list"),
                    "is this an MCP server, and is it up to date?",
                )
            })?;
            count += items.len();
            match result["nextCursor"].as_str() {
                Some(cursor) if Instant::now() < until => params = json!({ "cursor": cursor }),
                _ => return Ok(Some(count)),
            }
        }
    }

    fn info(&self) -> Value {
        // This name distinguishes the check from the agent in the server's log.
        json!({ "name": "mcpkg-check", "title": format!("mcpkg client check, as {}", self.title), "version": env!("CARGO_PKG_VERSION") })
    }

    fn ask(&mut self, method: &str, params: Value) -> Result<Value, StepError> {
        let mut answer = self.ask_until(method, params, Instant::now() + DEADLINE)?.ok_or_else(|| {
            let why = format!("no response to {method} within {} seconds", DEADLINE.as_secs());
            StepError::new(why, "run the command by hand to see what it is waiting for")
        })?;
        match answer.get_mut("result") {
            Some(result) => Ok(result.take()),
            None => {
                let message = answer["error"]["message"].as_str().unwrap_or("no reason");
                let message = mcpkg_base::redact::redact(message);
                // This is how an mcpkg server words the error for a missing project.
                let advice = if message.contains("Project '") && message.contains("does not exist") {
                    "list the projects with `mcpkg project list`; choose another project with `mcpkg client add NAME --project PROJECT`"
                } else {
                    "see the server's log"
                };
                Err(StepError::new(format!("{method} was refused: {message}"), advice))
            }
        }
    }

    fn ask_until(&mut self, method: &str, mut params: Value, until: Instant) -> Result<Option<Value>, StepError> {
        let id = json!(format!("check-{}", self.next));
        self.next += 1;
        if self.modern {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": self.info(),
            });
        }
        self.transport.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }), until)?;
        while let Some(message) = self.transport.receive(until)? {
            // Skip notifications and requests from the server that arrive before the answer.
            if message["id"] == id && message.get("method").is_none() {
                return Ok(Some(message));
            }
        }
        Ok(None)
    }
}

fn server(info: &Value) -> String {
    let text = |key: &str| info[key].as_str().unwrap_or_default();
    match (text("name"), text("version")) {
        ("", _) => "a server without a name".to_owned(),
        (name, "") => name.to_owned(),
        (name, version) => format!("{name} {version}"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::agents;

    struct Script(VecDeque<Value>);

    impl Transport for Script {
        fn send(&mut self, _: &Value, _: Instant) -> Result<(), StepError> {
            Ok(())
        }
        fn receive(&mut self, _: Instant) -> Result<Option<Value>, StepError> {
            Ok(self.0.pop_front())
        }
    }

    #[test]
    fn a_server_that_does_not_know_discover_gets_a_handshake() {
        let refused = json!({ "id": "check-1", "error": { "code": -32601, "message": "unknown" } });
        let notice = json!({ "method": "notifications/message" });
        let hello = json!({ "id": "check-2", "result": {
            "protocolVersion": "2025-06-18", "capabilities": { "tools": {} }, "serverInfo": { "name": "s", "version": "1" },
        } });
        let page = json!({ "id": "check-3", "result": { "tools": [{}, {}], "nextCursor": "x" } });
        let last = json!({ "id": "check-4", "result": { "tools": [{}] } });
        let mut transport = Script([refused, notice, hello, page, last].into());
        let mut session = Session::new(&mut transport, agents::named("claude-code").expect("an agent"));
        assert_eq!(session.greet(Greeting::Discover).as_deref(), Ok("s 1, 2025-06-18"));
        assert_eq!(session.count("tools"), Ok(Some(3)));
        assert_eq!(session.count("prompts"), Ok(None));
    }

    #[test]
    fn a_refusal_and_silence_are_told_apart() {
        let codex = agents::named("codex").expect("an agent");
        let refused = json!({ "id": "check-1", "error": { "code": -32600, "message": "go away" } });
        let mut transport = Script([refused].into());
        let error = Session::new(&mut transport, codex).greet(codex.client.greeting).expect_err("refused");
        assert_eq!(error.why, "initialize was refused: go away");
        let mut transport = Script(VecDeque::new());
        let error = Session::new(&mut transport, codex).greet(codex.client.greeting).expect_err("silent");
        assert_eq!(error.why, "no response to initialize within 10 seconds");
    }
}
