//! Surveys content while it arrives in pieces: its size, hashes and kind.

use std::sync::LazyLock;

use memchr::memchr;
use memchr::memmem::Finder;
use xxhash_rust::xxh3::Xxh3;

use mcpkg_base::sha256;

/// The size of a piece in bytes. A row of `blob` has the first piece, and each row of `chunk` has one more.
pub(crate) const PIECE: usize = 1 << 20;

/// Computes the size, hashes and kind of content while it is read.
#[derive(Default)]
pub(super) struct Survey {
    hash: sha256::Hasher,
    pub(super) checksum: Xxh3,
    pub(super) size: u64,
    pub(super) text: Text,
    pub(super) words: ServerWords,
}

impl Survey {
    pub(super) fn add(&mut self, piece: &[u8]) {
        self.hash.update(piece);
        self.checksum.update(piece);
        self.size += piece.len() as u64;
        self.text.add(piece);
        self.words.add(piece);
    }

    pub(super) fn sha256(&self) -> [u8; 32] {
        self.hash.clone().finish()
    }
}

/// Finds words of a configuration of MCP servers, in UTF-8 or UTF-16, in content that arrives in pieces.
#[derive(Default)]
pub(super) struct ServerWords {
    pub(super) seen: bool,
    /// The last bytes so far, because a word may begin in them and continue in the next piece.
    end: Vec<u8>,
}

/// Words in configurations of MCP servers: `ervers` (as in `mcpServers`) and the keys `mcp` and `command`. First in UTF-8,
/// then in UTF-16. For a small file, preparing a search takes longer than the search.
static WORDS: LazyLock<[Finder<'static>; 6]> = LazyLock::new(|| {
    let words: [&[u8]; 6] = [
        b"ervers",
        b"\"mcp\"",
        b"\"command\"",
        b"e\0r\0v\0e\0r\0s",
        b"\"\0m\0c\0p\0\"",
        b"\"\0c\0o\0m\0m\0a\0n\0d\0\"",
    ];
    words.map(Finder::new)
});

impl ServerWords {
    const LONGEST: usize = 18;

    /// Whether a whole content has one of the words.
    pub(super) fn are_in(content: &[u8]) -> bool {
        let words = if memchr(0, content).is_some() { &WORDS[..] } else { &WORDS[..3] };
        words.iter().any(|word| word.find(content).is_some())
    }

    pub(super) fn add(&mut self, piece: &[u8]) {
        if self.seen {
            return;
        }
        let across = [&self.end, &piece[..piece.len().min(Self::LONGEST)]].concat();
        self.seen = (!self.end.is_empty() && Self::are_in(&across)) || Self::are_in(piece);
        self.end = match piece.len() < Self::LONGEST {
            true => across[across.len().saturating_sub(Self::LONGEST)..].to_vec(),
            false => piece[piece.len() - Self::LONGEST..].to_vec(),
        };
    }
}

/// Checks whether content that arrives in pieces is UTF-8 without U+0000.
#[derive(Default)]
pub(super) struct Text {
    broken: bool,
    /// The first bytes of a character that continues in the next piece.
    cut: Vec<u8>,
}

impl Text {
    /// Checks the next bytes.
    pub(super) fn add(&mut self, piece: &[u8]) {
        let mut rest = piece;
        while !self.cut.is_empty()
            && let [byte, after @ ..] = rest
        {
            self.cut.push(*byte);
            rest = after;
            match std::str::from_utf8(&self.cut) {
                Ok(_) => self.cut.clear(),
                Err(error) if error.error_len().is_some() => return self.broken = true,
                Err(_) => {}
            }
        }
        match std::str::from_utf8(rest) {
            Ok(_) => {}
            Err(error) if error.error_len().is_none() => self.cut.extend_from_slice(&rest[error.valid_up_to()..]),
            Err(_) => self.broken = true,
        }
        self.broken |= memchr(0, piece).is_some();
    }

    /// Whether everything so far is valid and the last character is complete.
    pub(super) fn so_far(&self) -> bool {
        !self.broken && self.cut.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(crate::seed::config(256))]

        #[test]
        fn text_in_pieces_is_text(bytes in prop_oneof!["[aé€😀]{0,9}".prop_map(String::into_bytes),
                                                       prop::collection::vec(any::<u8>(), 0..9)],
                                  cuts in prop::collection::vec(0..9_usize, 0..4)) {
            let mut text = Text::default();
            let mut cuts: Vec<_> = cuts.into_iter().map(|at| at.min(bytes.len())).collect();
            cuts.sort_unstable();
            let mut rest = 0;
            for at in cuts.into_iter().chain([bytes.len()]) {
                text.add(&bytes[rest..at]);
                rest = at;
            }
            let is_text = std::str::from_utf8(&bytes).is_ok_and(|text| !text.contains('\0'));
            prop_assert_eq!(text.so_far(), is_text);
        }
    }
}
