//! Reads server-sent events in the same way as an agent.

use std::io::{BufRead, Read};

use serde_json::Value;

use super::step_error::{StepError, broken};
use crate::agents::agent::Agent;
use mcpkg_base::http::read_failure;

/// Reads a stream of events in the same way as an agent.
#[derive(Clone, Copy)]
pub(super) struct Events {
    reader: &'static Agent,
}

impl Events {
    pub(super) const fn of(reader: &'static Agent) -> Self {
        Self { reader }
    }

    /// Returns whether the agent parses every event as a message, so that it disconnects at an event without data (November
    /// 2026). Newer libraries ignore such events.
    pub(super) const fn strict(self) -> bool {
        self.reader.client.rejects_empty_events
    }

    /// Passes each message of a stream to `take`, until `take` returns true.
    pub(super) fn read(self, mut body: impl BufRead, mut take: impl FnMut(Value) -> bool) -> Result<(), StepError> {
        let (mut data, mut kind): (Option<String>, String) = (None, String::new());
        let mut line = String::new();
        while body.read_line(&mut line).map_err(|error| broken(&read_failure(&error)))? > 0 {
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

    /// Returns the message in an event; `None` if the agent ignores the event.
    fn message(self, data: &str) -> Result<Option<Value>, StepError> {
        if data.is_empty() && !self.strict() {
            return Ok(None);
        }
        serde_json::from_str(data).map(Some).map_err(|_| {
            let shown: String = data.chars().take(80).collect();
            let what =
                if data.is_empty() { "an event without data".to_owned() } else { format!("the event `{shown}`") };
            let why = format!(
                "the server's stream contains {what}, which {} rejects as an invalid message",
                self.reader.title
            );
            StepError::new(why, "update the server: only revision 2025-11-25 allows events without data")
        })
    }
}

/// A stream that ends at the first read error, such as a timeout.
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
    use crate::agents;

    fn read(reader: &'static Agent, stream: &str) -> (usize, Result<(), String>) {
        let mut messages = 0;
        let outcome = Events::of(reader).read(stream.as_bytes(), |_| {
            messages += 1;
            false
        });
        (messages, outcome.map_err(|error| error.why))
    }

    #[test]
    fn each_agent_rejects_the_events_that_it_cannot_parse() {
        let message = "event: message\r\ndata: {\"id\":\r\ndata: 1}\r\n\r\n";
        let others = ": alive\n\nid: 1\nretry: 3000\n\nevent: endpoint\ndata: /messages\n\n";
        for agent in agents::ALL {
            let name = agent.name;
            assert_eq!(read(agent, &format!("{others}{message}")), (1, Ok(())), "{name}");
            assert!(read(agent, "data: {\n\n").1.is_err(), "{name}");
            let primed = read(agent, &format!("id: 1\ndata:\n\n{message}"));
            assert_eq!(primed.1.is_err(), agent.client.rejects_empty_events, "{name}: {primed:?}");
        }
        let (_, broken) = read(agents::named("gemini").expect("an agent"), "data:\n\n");
        assert_eq!(
            broken,
            Err("the server's stream contains an event without data, which Gemini CLI rejects as an invalid message"
                .to_owned())
        );
    }
}
