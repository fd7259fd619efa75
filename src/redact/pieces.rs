//! An output that comes in pieces, without secrets: also those that begin in one piece and end in another.

use super::{escapes, redacted, resolved, shapes};

/// What ends a private key, for which the pieces after its beginning wait.
const END: &str = "-----END ";

/// Bytes that wait and are looked through again with every piece. More wait until there are twice as many.
const FEW: usize = 4 << 10;

/// Takes the secrets out of an output, some lines at a time. Together the answers are what [`redact`](super::redact) makes of the whole.
#[derive(Debug, Default)]
pub struct Pieces {
    /// Lines of which more text can tell that they hold a secret.
    waiting: String,
    /// How many bytes wait when they are looked through again.
    again: usize,
}

impl Pieces {
    /// Adds whole lines. Returns those that nothing after them can change, without their secrets.
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

    /// Returns what still waits: nothing comes after it.
    pub fn end(&mut self) -> String {
        self.again = 0;
        redacted(&std::mem::take(&mut self.waiting)).into_owned()
    }
}

/// Returns where the lines begin in a text that more of it can change.
fn settled(text: &str) -> usize {
    let plain = escapes::plain(text);
    let open = [resolved::open_in(&plain), shapes::open_in(&plain)].into_iter().flatten().min();
    let Some(open) = open else { return text.len() };
    // Escapes hold no line end, so a line has the same number with and without them.
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
    fn only_what_may_still_change_waits() {
        let mut pieces = Pieces::default();
        assert_eq!(pieces.push("one\npassword: hunter2\n"), "one\npassword: ***\n");
        assert_eq!(pieces.push("two\npassword:\n"), "two\n");
        assert_eq!(pieces.push("  hunter2\nthree\n"), "password:\n  ***\nthree\n");
        assert_eq!(pieces.push("-----BEGIN PRIVATE KEY-----\n"), "");
        // What has no end does not wait for ever, and costs no more with each line.
        let line = "error: this is no key\n";
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
        fn pieces_are_together_what_the_whole_is(
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
