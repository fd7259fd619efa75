//! Reads what the agent prints: lines of JSON. mcpkg does not trust them, because the agent decides what it prints.

use std::io::{BufRead, BufReader, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use serde_json::Value;

use mcpkg_agents::agents::headless::{Headless, Said};

/// Maximum length of a line, in bytes. A longer line is dropped.
const LINE: u64 = 4 << 20;

/// Maximum length of a text that arrives in parts, in bytes. A part that would exceed this length is dropped.
const JOINED: usize = 64 << 10;

/// Reads the agent's output on a separate thread, and sends each line of JSON. The channel closes when the output ends.
pub fn follow(output: impl Read + Send + 'static) -> Receiver<Value> {
    let (sender, lines) = sync_channel(64);
    thread::spawn(move || read(&mut BufReader::new(output), &sender));
    lines
}

fn read(output: &mut impl BufRead, sender: &SyncSender<Value>) {
    loop {
        let mut line = Vec::new();
        match output.take(LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        // Skip what is not JSON: some agents print warnings. A line that is too long is read in pieces, which are not JSON
        // either.
        if let Ok(value) = serde_json::from_slice(&line)
            && sender.send(value).is_err()
        {
            return;
        }
    }
}

/// Joins texts that an agent prints in parts.
#[derive(Default)]
pub struct Speech {
    begun: String,
}

impl Speech {
    /// Returns what a line says. The parts of a text are returned as one text when a line without a part follows.
    pub fn of(&mut self, headless: &Headless, line: &Value) -> Vec<Said> {
        let mut heard = Vec::new();
        for said in (headless.read)(line) {
            match said {
                Said::Part(part) if self.begun.len() + part.len() <= JOINED => self.begun.push_str(&part),
                Said::Part(_) => {}
                said => {
                    heard.extend(self.end());
                    heard.push(said);
                }
            }
        }
        // A line without a part ends the text that arrived in parts.
        if heard.is_empty() && !matches!((headless.read)(line).as_slice(), [Said::Part(_)]) {
            heard.extend(self.end());
        }
        heard
    }

    /// Returns the parts that were joined so far, as a text.
    pub fn end(&mut self) -> Option<Said> {
        let text = std::mem::take(&mut self.begun);
        (!text.trim().is_empty()).then_some(Said::Text(text))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parts_of_a_text_are_joined_and_lines_that_are_no_json_are_left_out() {
        let gemini = mcpkg_agents::agents::named("gemini").expect("an agent").headless.as_ref().expect("headless");
        let part = |text: &str| json!({ "type": "message", "role": "assistant", "content": text, "delta": true });
        let printed =
            format!("Warning: no colours\n{}\n{}\n{}\n", part("I made "), part("it."), json!({ "type": "tool_use" }));
        let lines: Vec<Value> = follow(std::io::Cursor::new(printed.into_bytes())).iter().collect();
        assert_eq!(lines.len(), 3);
        let mut speech = Speech::default();
        let heard: Vec<Said> = lines.iter().flat_map(|line| speech.of(gemini, line)).collect();
        assert_eq!(heard, [Said::Text("I made it.".to_owned())]);
        assert_eq!(speech.of(gemini, &part("And more")), []);
        assert_eq!(speech.end(), Some(Said::Text("And more".to_owned())));
        assert_eq!(speech.end(), None);
    }
}
