//! Writing JSON straight into an output buffer.

use base64::Engine;

/// The encoder for this processor.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
static STANDARD: std::sync::LazyLock<base64::engine::Simd> =
    std::sync::LazyLock::new(|| base64::engine::Simd::standard(base64::engine::general_purpose::PAD));
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
use base64::engine::general_purpose::STANDARD;

/// Appends `text` as the inside of a JSON string. The bytes are UTF-8 that was checked when it was stored; a piece may
/// end inside a character, since bytes above 0x7f are copied as they are.
pub(super) fn push_escaped(out: &mut Vec<u8>, text: &[u8]) {
    let mut rest = text;
    while let Some(at) = special(rest) {
        out.extend_from_slice(&rest[..at]);
        match rest[at] {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            control => {
                const HEX: &[u8; 16] = b"0123456789abcdef";
                out.extend_from_slice(b"\\u00");
                out.push(HEX[usize::from(control >> 4)]);
                out.push(HEX[usize::from(control & 15)]);
            }
        }
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

/// Returns where the first byte stands that a JSON string must escape. Eight bytes at a time: a megabyte of text is
/// scanned at memory speed, where a byte at a time took as long as its SHA-256.
fn special(text: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
    // In each byte: its high bit where the byte is zero. A borrow can only add false alarms above a true one.
    let zero = |word: u64| word.wrapping_sub(ONES) & !word & HIGH;
    let words = text.chunks_exact(8);
    let tail = words.remainder();
    for (index, word) in words.enumerate() {
        let word = u64::from_le_bytes([word[0], word[1], word[2], word[3], word[4], word[5], word[6], word[7]]);
        let control = word.wrapping_sub(ONES * 0x20) & !word & HIGH;
        let found = control | zero(word ^ (ONES * u64::from(b'"'))) | zero(word ^ (ONES * u64::from(b'\\')));
        if found != 0 {
            // The lowest alarm is a true one.
            return Some(index * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    let start = text.len() - tail.len();
    tail.iter().position(|byte| *byte < 0x20 || matches!(byte, b'"' | b'\\')).map(|at| start + at)
}

/// Appends `text` as a JSON string.
pub(super) fn push_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    push_escaped(out, text.as_bytes());
    out.push(b'"');
}

/// Appends `,"key":"text"` where there is a text.
pub(super) fn push_optional(out: &mut Vec<u8>, key: &str, text: Option<&str>) {
    if let Some(text) = text {
        out.extend_from_slice(b",\"");
        out.extend_from_slice(key.as_bytes());
        out.extend_from_slice(b"\":");
        push_string(out, text);
    }
}

/// Appends base64 of bytes that come in pieces.
#[derive(Default)]
pub(super) struct Base64 {
    /// The bytes left over from the last piece: fewer than three.
    carry: Vec<u8>,
}

impl Base64 {
    /// Appends a piece.
    pub(super) fn push(&mut self, out: &mut Vec<u8>, mut piece: &[u8]) {
        if !self.carry.is_empty() {
            let wanted = (3 - self.carry.len()).min(piece.len());
            self.carry.extend_from_slice(&piece[..wanted]);
            piece = &piece[wanted..];
            if self.carry.len() < 3 {
                return;
            }
            encode(out, &self.carry);
            self.carry.clear();
        }
        let whole = piece.len() - piece.len() % 3;
        encode(out, &piece[..whole]);
        self.carry.extend_from_slice(&piece[whole..]);
    }

    /// Appends what is left, padded.
    pub(super) fn finish(self, out: &mut Vec<u8>) {
        encode(out, &self.carry);
    }
}

/// Bytes that are encoded at once: few enough that what is zeroed for them is still in the cache when it is written.
const ENCODED_AT_ONCE: usize = 24 << 10;

fn encode(out: &mut Vec<u8>, bytes: &[u8]) {
    for bytes in bytes.chunks(ENCODED_AT_ONCE) {
        let start = out.len();
        out.resize(start + bytes.len().div_ceil(3) * 4, 0);
        let written = STANDARD.encode_slice(bytes, &mut out[start..]).unwrap_or(0);
        out.truncate(start + written);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn escapes_as_serde_json_does(text in "(?s).{0,200}", cut in 0_usize..200) {
            let bytes = text.as_bytes();
            let cut = cut.min(bytes.len());
            let mut out = vec![b'"'];
            push_escaped(&mut out, &bytes[..cut]);
            push_escaped(&mut out, &bytes[cut..]);
            out.push(b'"');
            prop_assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text);
        }

        #[test]
        fn every_byte_that_needs_it_is_found(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let expected = bytes.iter().position(|byte| *byte < 0x20 || matches!(byte, b'"' | b'\\'));
            prop_assert_eq!(special(&bytes), expected);
        }

        #[test]
        fn base64_of_pieces_is_base64_of_the_whole(pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..20), 0..8)) {
            let mut out = Vec::new();
            let mut encoder = Base64::default();
            for piece in &pieces {
                encoder.push(&mut out, piece);
            }
            encoder.finish(&mut out);
            prop_assert_eq!(String::from_utf8(out).unwrap(), STANDARD.encode(pieces.concat()));
        }
    }
}
