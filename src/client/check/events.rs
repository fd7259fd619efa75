//! Server-sent events, read as an agent reads them.

use std::io::{BufRead, Read};

use serde_json::Value;

use super::http::broken;
use super::talk::Trouble;
use crate::client::agent::Agent;

/// How an agent reads a stream of events.
#[derive(Clone, Copy)]
pub(super) struct Events {
    reader: Agent,
}

impl Events {
    pub(super) const fn of(reader: Agent) -> Self {
        Self { reader }
    }

    /// Whether the agent takes each event for a message (November 2026). Gemini gives the server up at one without data;
    /// the newer libraries of the others pass over it.
    pub(super) const fn strict(self) -> bool {
        matches!(self.reader, Agent::Gemini)
    }

    /// Hands the messages of a stream to `take` until that says that it has enough.
    pub(super) fn read(self, mut body: impl BufRead, mut take: impl FnMut(Value) -> bool) -> Result<(), Trouble> {
        let (mut data, mut kind): (Option<String>, String) = (None, String::new());
        let mut line = String::new();
        while body.read_line(&mut line).map_err(|error| broken(error.into()))? > 0 {
            let text = line.trim_end_matches(['\r', '\n']);
            let value = |field: &str| text.strip_prefix(field).map(|value| value.strip_prefix(' ').unwrap_or(value));
            if let Some(more) = value("data:") {
                match &mut data {
                    Some(data) => data.extend(["\n", more]),
                    None => data = Some(more.to_owned()),
                }
            } else if let Some(named) = value("event:") {
                named.clone_into(&mut kind);
            } else if text.is_empty() {
                let told = data.take().filter(|_| matches!(std::mem::take(&mut kind).as_str(), "" | "message"));
                if let Some(told) = told
                    && let Some(message) = self.message(&told)?
                    && take(message)
                {
                    return Ok(());
                }
            }
            line.clear();
        }
        Ok(())
    }

    /// Returns the message of an event, where the agent looks for one in it.
    fn message(self, data: &str) -> Result<Option<Value>, Trouble> {
        if data.is_empty() && !self.strict() {
            return Ok(None);
        }
        serde_json::from_str(data).map(Some).map_err(|_| {
            let shown: String = data.chars().take(80).collect();
            let what =
                if data.is_empty() { "an event without data".to_owned() } else { format!("the event `{shown}`") };
            let why = format!("its stream has {what}, which {} takes for a broken message", self.reader.title());
            Trouble::new(why, "update the server: only revision 2025-11-25 has events without data")
        })
    }
}

/// A stream that ends where it says nothing more in time.
pub(super) struct UntilQuiet<R>(R);

impl<R> UntilQuiet<R> {
    pub(super) const fn new(stream: R) -> Self {
        Self(stream)
    }
}

impl<R: Read> Read for UntilQuiet<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        Ok(self.0.read(buffer).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(reader: Agent, stream: &str) -> (usize, Result<(), String>) {
        let mut messages = 0;
        let outcome = Events::of(reader).read(stream.as_bytes(), |_| {
            messages += 1;
            false
        });
        (messages, outcome.map_err(|trouble| trouble.why))
    }

    #[test]
    fn an_event_is_what_the_agent_takes_it_for() {
        let message = "event: message\r\ndata: {\"id\":\r\ndata: 1}\r\n\r\n";
        let others = ": alive\n\nid: 1\nretry: 3000\n\nevent: endpoint\ndata: /messages\n\n";
        for agent in Agent::ALL {
            assert_eq!(read(agent, &format!("{others}{message}")), (1, Ok(())), "{agent:?}");
            assert!(read(agent, "data: {\n\n").1.is_err(), "{agent:?}");
            let primed = read(agent, &format!("id: 1\ndata:\n\n{message}"));
            assert_eq!(primed.1.is_err(), agent == Agent::Gemini, "{agent:?}: {primed:?}");
        }
        let (_, broken) = read(Agent::Gemini, "data:\n\n");
        assert_eq!(
            broken,
            Err("its stream has an event without data, which Gemini CLI takes for a broken message".to_owned())
        );
    }
}
