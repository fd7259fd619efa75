//! What an agent says to a server when it starts, and what it makes of the answers.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::agent::Agent;

/// How long one answer is waited for.
pub(super) const DEADLINE: Duration = Duration::from_secs(10);

/// How long an agent that begins with server/discover waits before it falls back to initialize.
const DISCOVER: Duration = Duration::from_secs(3);

/// The revision without a handshake.
const MODERN: &str = "2026-07-28";

/// Why a step failed, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trouble {
    /// Why.
    pub(super) why: String,
    /// What to do.
    pub(super) advice: String,
}

impl Trouble {
    pub(super) fn new(why: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { why: why.into(), advice: advice.into() }
    }

    /// Returns why nothing came of a step that the user gave up.
    pub(super) fn cancelled() -> Self {
        Self::new("cancelled", "run the command again")
    }
}

/// The way to a server.
pub(super) trait Wire {
    /// Sends a message.
    fn send(&mut self, message: &Value, until: Instant) -> Result<(), Trouble>;
    /// Takes the next message; `None` where none came in time.
    fn receive(&mut self, until: Instant) -> Result<Option<Value>, Trouble>;
    /// Is told the revision that both agreed on.
    fn agreed(&mut self, _revision: &str) {}
    /// Does what the agent does once the session has begun.
    fn begun(&mut self) -> Result<(), Trouble> {
        Ok(())
    }
}

/// How an agent begins (November 2026).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum First {
    /// With server/discover, and a handshake where that is not known.
    Discover,
    /// With a handshake of a revision.
    Initialize(&'static str),
}

impl First {
    pub(super) const fn of(agent: Agent) -> Self {
        match agent {
            Agent::ClaudeCode | Agent::Copilot => First::Discover,
            Agent::Codex | Agent::Gemini => First::Initialize("2025-06-18"),
            _ => First::Initialize("2025-11-25"),
        }
    }
}

/// A conversation.
pub(super) struct Talk<'w> {
    wire: &'w mut dyn Wire,
    title: &'static str,
    next: u32,
    modern: bool,
    capabilities: Value,
}

impl<'w> Talk<'w> {
    pub(super) fn new(wire: &'w mut dyn Wire, agent: Agent) -> Self {
        Self { wire, title: agent.title(), next: 1, modern: false, capabilities: Value::Null }
    }

    /// Says hello as an agent does; returns what answered.
    pub(super) fn greet(&mut self, first: First) -> Result<String, Trouble> {
        let revision = match first {
            First::Initialize(revision) => revision,
            First::Discover => {
                self.modern = true;
                let answer = self.ask_until("server/discover", json!({}), Instant::now() + DISCOVER)?;
                if let Some(result) = answer.as_ref().and_then(|answer| answer.get("result")) {
                    let versions = result["supportedVersions"].as_array().cloned().unwrap_or_default();
                    if versions.iter().any(|version| version == MODERN) {
                        self.capabilities = result["capabilities"].clone();
                        self.wire.agreed(MODERN);
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
        self.wire.agreed(&agreed);
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        self.wire.send(&initialized, Instant::now() + DEADLINE)?;
        self.wire.begun()?;
        Ok(format!("{}, {agreed}", server(&result["serverInfo"])))
    }

    /// Lists what a server has of a kind; returns how many. `None` where it offers none.
    pub(super) fn count(&mut self, kind: &str) -> Result<Option<usize>, Trouble> {
        if self.capabilities.get(kind).is_none() {
            return Ok(None);
        }
        let until = Instant::now() + DEADLINE;
        let mut count = 0;
        let mut params = json!({});
        loop {
            let result = self.ask(&format!("{kind}/list"), params)?;
            let items = result[kind].as_array().ok_or_else(|| {
                Trouble::new(format!("its answer to {kind}/list holds no list"), "is it an MCP server, and up to date?")
            })?;
            count += items.len();
            match result["nextCursor"].as_str() {
                Some(cursor) if Instant::now() < until => params = json!({ "cursor": cursor }),
                _ => return Ok(Some(count)),
            }
        }
    }

    fn info(&self) -> Value {
        // The server's log tells the check from the agent itself.
        json!({ "name": "mcpkg-check", "title": format!("mcpkg client check, as {}", self.title), "version": env!("CARGO_PKG_VERSION") })
    }

    fn ask(&mut self, method: &str, params: Value) -> Result<Value, Trouble> {
        let mut answer = self.ask_until(method, params, Instant::now() + DEADLINE)?.ok_or_else(|| {
            let why = format!("no answer to {method} within {} seconds", DEADLINE.as_secs());
            Trouble::new(why, "run the command by hand to see what it waits for")
        })?;
        match answer.get_mut("result") {
            Some(result) => Ok(result.take()),
            None => {
                let message = answer["error"]["message"].as_str().unwrap_or("no reason");
                let message = crate::redact::redact(message);
                // The server's own sentence for a project that is not there.
                let advice = if message.contains("Project '") && message.contains("does not exist") {
                    "`mcpkg project list` shows the projects; `mcpkg client add NAME --project PROJECT` pins another one"
                } else {
                    "see the server's log"
                };
                Err(Trouble::new(format!("{method} was refused: {message}"), advice))
            }
        }
    }

    fn ask_until(&mut self, method: &str, mut params: Value, until: Instant) -> Result<Option<Value>, Trouble> {
        let id = json!(format!("check-{}", self.next));
        self.next += 1;
        if self.modern {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": self.info(),
            });
        }
        self.wire.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }), until)?;
        while let Some(message) = self.wire.receive(until)? {
            // Notifications and requests of the server's come in between.
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

    struct Script(VecDeque<Value>);

    impl Wire for Script {
        fn send(&mut self, _: &Value, _: Instant) -> Result<(), Trouble> {
            Ok(())
        }
        fn receive(&mut self, _: Instant) -> Result<Option<Value>, Trouble> {
            Ok(self.0.pop_front())
        }
    }

    #[test]
    fn a_server_that_does_not_know_discover_is_greeted_as_before() {
        let refused = json!({ "id": "check-1", "error": { "code": -32601, "message": "unknown" } });
        let notice = json!({ "method": "notifications/message" });
        let hello = json!({ "id": "check-2", "result": {
            "protocolVersion": "2025-06-18", "capabilities": { "tools": {} }, "serverInfo": { "name": "s", "version": "1" },
        } });
        let page = json!({ "id": "check-3", "result": { "tools": [{}, {}], "nextCursor": "x" } });
        let last = json!({ "id": "check-4", "result": { "tools": [{}] } });
        let mut wire = Script([refused, notice, hello, page, last].into());
        let mut talk = Talk::new(&mut wire, Agent::ClaudeCode);
        assert_eq!(talk.greet(First::Discover).as_deref(), Ok("s 1, 2025-06-18"));
        assert_eq!(talk.count("tools"), Ok(Some(3)));
        assert_eq!(talk.count("prompts"), Ok(None));
    }

    #[test]
    fn a_refusal_and_silence_are_told_apart() {
        let refused = json!({ "id": "check-1", "error": { "code": -32600, "message": "go away" } });
        let mut wire = Script([refused].into());
        let trouble = Talk::new(&mut wire, Agent::Codex).greet(First::of(Agent::Codex)).expect_err("refused");
        assert_eq!(trouble.why, "initialize was refused: go away");
        let mut wire = Script(VecDeque::new());
        let trouble = Talk::new(&mut wire, Agent::Codex).greet(First::of(Agent::Codex)).expect_err("silent");
        assert_eq!(trouble.why, "no answer to initialize within 10 seconds");
    }
}
