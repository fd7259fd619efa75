//! Hides secrets in output that arrives in pieces, even if a secret starts in one piece and ends in another.

use super::{escapes, redacted, resolved, shapes};

/// The start of a private key's last line. When this line arrives, the waiting text is scanned at once, because the key
/// is now complete.
const END: &str = "-----END ";

/// Up to this many waiting bytes are scanned again with each new piece. A longer text is scanned again when it has
/// doubled.
const FEW: usize = 4 << 10;

/// Hides the secrets in an output piece by piece. The joined results equal [`redact`](super::redact) of the whole
/// output.
#[derive(Debug, Default)]
pub struct Pieces {
    /// Lines that cannot be redacted before more text has arrived.
    waiting: String,
    /// The number of waiting bytes that triggers the next scan.
    again: usize,
}

impl Pieces {
    /// Adds complete lines. Returns the redacted lines that no later text can change.
    pub fn push(&mut self, lines: &str) -> String {
        self.waiting.push_str(lines);
        if self.waiting.len() < self.again && !lines.contains(END) {
            return String::new();
        }
        let waits = self.waiting.split_off(settled(&self.waiting));
        let done = std::mem::replace(&mut self.waiting, waits);
        self.again = if self.waiting.len() < FEW { 0 } else { 2 * self.waiting.len() };
        redacted(&done).into_owned()
    }

    /// Returns the remaining lines at the end of the output, redacted.
    pub fn end(&mut self) -> String {
        self.again = 0;
        redacted(&std::mem::take(&mut self.waiting)).into_owned()
    }
}

/// Returns the position from which the redaction depends on more text. The position is the start of a line.
fn settled(text: &str) -> usize {
    let plain = escapes::plain(text);
    let open = [resolved::open_in(&plain), shapes::open_in(&plain)].into_iter().flatten().min();
    let Some(open) = open else { return text.len() };
    // Escape sequences contain no line ends, so line numbers are the same with and without them.
    match plain[..open].matches('\n').count() {
        0 => 0,
        count => text.match_indices('\n').nth(count - 1).map_or(text.len(), |(end, _)| end + 1),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::redact::examples::{KEY_LINE, PLAIN, key, shapes};
    use crate::redact::redact;

    fn kept(pieces: &[&str]) -> String {
        let mut safe = Pieces::default();
        let mut kept: String = pieces.iter().map(|piece| safe.push(piece)).collect();
        kept.push_str(&safe.end());
        kept
    }

    #[test]
    fn a_private_key_is_hidden_however_it_is_cut() {
        let text = format!("before\n{}\nafter\n", key("RSA "));
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        for size in 1..=lines.len() {
            let pieces: Vec<String> = lines.chunks(size).map(|lines| lines.concat()).collect();
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            assert_eq!(kept(&pieces), "before\n***\nafter\n", "{size}");
        }
        let cut = format!("-----BEGIN PRIVATE KEY-----\n{KEY_LINE}\n");
        let line = format!("{KEY_LINE}\n");
        assert_eq!(kept(&[&cut, &line, "error: cut off\n", "more\n"]), "***\nerror: cut off\nmore\n");
    }

    #[test]
    fn only_text_that_may_still_change_is_held_back() {
        let mut pieces = Pieces::default();
        assert_eq!(pieces.push("one\npassword: hunter2\n"), "one\npassword: ***\n");
        assert_eq!(pieces.push("two\npassword:\n"), "two\n");
        assert_eq!(pieces.push("  hunter2\nthree\n"), "password:\n  ***\nthree\n");
        assert_eq!(pieces.push("-----BEGIN PRIVATE KEY-----\n"), "");
        // A key without an end does not wait forever, and its cost per line stays constant.
        let line = "error: this is not a key\n";
        let given: String = (0..20_000).map(|_| pieces.push(line)).collect();
        assert!(given.starts_with("***\nerror: ") && given.len() > 10_000 * line.len(), "{}", given.len());
    }

    #[test]
    fn a_key_without_an_end_is_hidden_in_every_piece() {
        let line = format!("{KEY_LINE}\n");
        let text = format!("-----BEGIN PRIVATE KEY-----\n{}all done\n", line.repeat(3_000));
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        assert_eq!((kept(&lines), redact(&text)), ("***\nall done\n".to_owned(), "***\nall done\n".to_owned()));
    }

    proptest! {
        #![proptest_config(crate::seed::config(400))]

        #[test]
        fn the_redacted_pieces_equal_the_redacted_whole(
            parts in proptest::collection::vec(any::<prop::sample::Index>(), 1..6),
            cuts in proptest::collection::vec(any::<bool>(), 200),
            is_crlf in any::<bool>(),
        ) {
            let shapes = shapes();
            let all: Vec<&str> = shapes.iter().map(|(_, text, _)| text.as_str()).chain(PLAIN.iter().copied()).collect();
            let mut text: String = parts.iter().map(|part| format!("{}\n", part.get(&all))).collect();
            if is_crlf {
                text = text.replace('\n', "\r\n");
            }
            let mut pieces = vec![String::new()];
            for (line, cut) in text.split_inclusive('\n').zip(cuts.iter().cycle()) {
                if *cut {
                    pieces.push(String::new());
                }
                if let Some(last) = pieces.last_mut() {
                    last.push_str(line);
                }
            }
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            prop_assert_eq!(kept(&pieces), redact(&text));
        }
    }
}
