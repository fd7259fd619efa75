//! An output that comes in pieces, without secrets: also those that begin in one piece and end in another.

use super::{HIDDEN, addressed, resolved, shapes, then};

/// Takes the secrets out of an output, a piece at a time. Each piece ends with a line, where there is one.
#[derive(Debug, Default)]
pub struct Pieces {
    /// Whether the pieces so far end inside of a private key.
    in_key: bool,
    /// Whether they end within a line.
    in_line: bool,
}

impl Pieces {
    /// Returns what may be kept of the next piece; of one that `goes_on` within its last line, that line's last word goes.
    pub fn next(&mut self, piece: &str, goes_on: bool) -> String {
        let mut piece = piece;
        if self.in_key {
            let (key, goes_on) = shapes::rest_of_private_key(piece);
            self.in_key = goes_on;
            if goes_on {
                return String::new();
            }
            if key > 0 {
                piece = piece[key..].strip_prefix('\n').unwrap_or(&piece[key..]);
            }
        }
        if piece.is_empty() {
            return String::new();
        }
        let begin = match std::mem::replace(&mut self.in_line, goes_on && !piece.ends_with('\n')) {
            true => shapes::first_word(piece),
            false => 0..0,
        };
        let end = match self.in_line {
            true => shapes::last_word(piece).max(begin.end),
            false => piece.len(),
        };
        let text = then(resolved::hidden_in(&piece[begin.end..end]), addressed);
        let (hidden, is_open) = shapes::hidden_in_piece(&text);
        self.in_key = is_open;
        let mark = |is_cut| if is_cut { HIDDEN } else { "" };
        [&piece[..begin.start], mark(!begin.is_empty()), &hidden, mark(end < piece.len())].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDabcdefghijklm\n";

    fn kept(pieces: &[&str]) -> String {
        let mut safe = Pieces::default();
        let last = pieces.len() - 1;
        pieces.iter().enumerate().map(|(at, piece)| safe.next(piece, at < last)).collect()
    }

    #[test]
    fn a_private_key_is_hidden_however_it_is_cut() {
        let key = format!("-----BEGIN PRIVATE KEY-----\n{LINE}{LINE}AbCd\n-----END PRIVATE KEY-----\n");
        let text = format!("before\n{key}after\n");
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        for size in 1..=lines.len() {
            let pieces: Vec<String> = lines.chunks(size).map(|lines| lines.concat()).collect();
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            assert_eq!(kept(&pieces), "before\n***\nafter\n", "{size}");
        }
        let cut = format!("-----BEGIN PRIVATE KEY-----\n{LINE}");
        assert_eq!(kept(&[&cut, LINE, "error: cut off\n", "more\n"]), "***\nerror: cut off\nmore\n");
    }

    #[test]
    fn a_line_that_is_cut_leaves_no_half_of_a_secret() {
        assert_eq!(kept(&["a password: ", "hunter2 x ", "y z\n"]), "a password: *** x *** z\n");
        assert_eq!(kept(&["{\"a\":1,\"b\":\"s3cr", "et\",\"c\":2}"]), "{\"a\":1,\"b\":\"******\",\"c\":2}");
        assert_eq!(kept(&["one\n", "two\n"]), "one\ntwo\n");
    }
}
