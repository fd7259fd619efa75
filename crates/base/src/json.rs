//! Writes JSON directly into a buffer, and reads JSON without losing digits of large integers.

use base64::Engine;
use wide::u8x16;

/// The base64 encoder for this processor.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
static STANDARD: std::sync::LazyLock<base64::engine::Simd> =
    std::sync::LazyLock::new(|| base64::engine::Simd::standard(base64::engine::general_purpose::PAD));
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
use base64::engine::general_purpose::STANDARD;

/// How many bytes are checked at once, so that one bit per byte fits into a `u64`.
const BLOCK: usize = 64;

/// The most bytes that a block takes as JSON, plus room to copy a whole block after it.
const ESCAPED: usize = BLOCK * 6 + BLOCK;

/// The escape sequence of each byte in a JSON string, and its length; 0 for bytes that need no escape.
static ESCAPES: [([u8; 8], usize); 256] = {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut escapes = [([0; 8], 0); 256];
    let mut control = 0;
    while control < 0x20 {
        escapes[control] = ([b'\\', b'u', b'0', b'0', HEX[control >> 4], HEX[control & 15], 0, 0], 6);
        control += 1;
    }
    let short = [(b'"', b'"'), (b'\\', b'\\'), (b'\n', b'n'), (b'\r', b'r'), (b'\t', b't')];
    let mut n = 0;
    while n < short.len() {
        escapes[short[n].0 as usize] = ([b'\\', short[n].1, 0, 0, 0, 0, 0, 0], 2);
        n += 1;
    }
    escapes
};

/// Parses JSON. A number that serde_json cannot represent becomes a string of its digits: an integer of more than 64
/// bits would be rounded, and a number too large for an `f64` would make the whole document unreadable. Fractions are
/// rounded to `f64` as usual.
///
/// # Errors
/// The error of serde_json if the text is not valid JSON.
pub fn exact(text: &[u8]) -> serde_json::Result<serde_json::Value> {
    let mut quoted: Vec<u8> = Vec::new();
    let mut from = 0;
    for (start, end) in numbers(text) {
        if !fits(&text[start..end]) {
            quoted.extend_from_slice(&text[from..start]);
            quoted.push(b'"');
            quoted.extend_from_slice(&text[start..end]);
            quoted.push(b'"');
            from = end;
        }
    }
    match from {
        0 => serde_json::from_slice(text),
        from => {
            quoted.extend_from_slice(&text[from..]);
            serde_json::from_slice(&quoted)
        }
    }
}

/// A number without an exponent always fits into 64 bits or an `f64` if it has fewer characters than this.
const MANY: usize = 19;

/// Returns the ranges of numbers that may not fit into 64 bits or an `f64`: those with at least [`MANY`] characters, and
/// those with an exponent.
fn numbers(text: &[u8]) -> Vec<(usize, usize)> {
    let (mut found, mut at) = (Vec::new(), 0);
    while at < text.len() {
        match text[at] {
            b'"' => {
                at += 1;
                while at < text.len() && text[at] != b'"' {
                    at += if text[at] == b'\\' { 2 } else { 1 };
                }
                at += 1;
            }
            b'-' | b'0'..=b'9' => {
                let length = text[at..].iter().take_while(|byte| is_of_number(**byte)).count();
                let number = &text[at..at + length];
                if number.len() >= MANY || number.contains(&b'e') || number.contains(&b'E') {
                    found.push((at, at + length));
                }
                at += length;
            }
            _ => at += 1,
        }
    }
    found
}

const fn is_of_number(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E')
}

/// Whether a number fits into 64 bits or a finite `f64`. Invalid numbers count as fitting, so that the JSON parser
/// reports them.
fn fits(number: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(number) else { return true };
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.starts_with('0') && digits.len() > 1 && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return true;
    }
    match digits.bytes().all(|byte| byte.is_ascii_digit()) {
        true => text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok(),
        false => !text.parse::<f64>().is_ok_and(f64::is_infinite),
    }
}

/// Appends `text` as the inside of a JSON string. `text` must be UTF-8, or a piece of UTF-8: it may end inside a
/// character, because bytes above 0x7f are copied unchanged.
pub fn push_escaped(out: &mut Vec<u8>, text: &[u8]) {
    let rest = push_blocks(out, text);
    for block in rest.chunks(BLOCK) {
        let (mut specials, mut from) = (specials(block), 0);
        while specials != 0 {
            let at = specials.trailing_zeros() as usize;
            let (escape, length) = &ESCAPES[usize::from(block[at])];
            out.extend_from_slice(&block[from..at]);
            out.extend_from_slice(&escape[..*length]);
            from = at + 1;
            specials &= specials - 1;
        }
        out.extend_from_slice(&block[from..]);
    }
}

/// Appends the whole blocks of the text that are followed by another block; returns the rest. Each piece between two
/// escapes is copied as a full block, and the next piece overwrites the excess. Copies of a fixed length take a quarter
/// of the time of copies of the exact length.
fn push_blocks<'t>(out: &mut Vec<u8>, text: &'t [u8]) -> &'t [u8] {
    const ZEROED_AT_ONCE: usize = 8 << 10;
    let (mut rest, mut end) = (text, out.len());
    while let Some(blocks) = rest.first_chunk::<{ 2 * BLOCK }>() {
        if out.len() < end + ESCAPED {
            out.resize(end + ESCAPED + ZEROED_AT_ONCE.min(2 * rest.len()), 0);
        }
        let Some(to) = out[end..].first_chunk_mut::<ESCAPED>() else { break };
        let (mut specials, mut from, mut at) = (specials(&blocks[..BLOCK]), 0, 0);
        while specials != 0 {
            // The index is always below BLOCK. The modulo lets the compiler skip the bounds check.
            let next = specials.trailing_zeros() as usize % BLOCK;
            let (escape, length) = &ESCAPES[usize::from(blocks[next])];
            to[at..at + BLOCK].copy_from_slice(&blocks[from..from + BLOCK]);
            at += next - from;
            to[at..at + escape.len()].copy_from_slice(escape);
            (at, from) = (at + length, next + 1);
            specials &= specials - 1;
        }
        to[at..at + BLOCK].copy_from_slice(&blocks[from..from + BLOCK]);
        end += at + BLOCK - from;
        rest = &rest[BLOCK..];
    }
    out.truncate(end);
    rest
}

/// Returns a bit mask of the bytes that JSON must escape, for at most one block. The lowest bit stands for the first
/// byte.
fn specials(block: &[u8]) -> u64 {
    const LANES: usize = 16;
    let lanes = |bytes: &[u8; LANES]| {
        let bytes = u8x16::new(*bytes);
        let controls = bytes.min(u8x16::splat(0x1f)).simd_eq(bytes);
        let found = controls | bytes.simd_eq(u8x16::splat(b'"')) | bytes.simd_eq(u8x16::splat(b'\\'));
        u64::from(found.to_bitmask())
    };
    let (whole, tail) = block.as_chunks::<LANES>();
    let mut found = 0;
    for (n, bytes) in whole.iter().enumerate() {
        found |= lanes(bytes) << (n * LANES);
    }
    if tail.is_empty() {
        return found;
    }
    match block.last_chunk::<LANES>() {
        // The last lanes may overlap earlier ones, which sets the same bits again.
        Some(last) => found | lanes(last) << (block.len() - LANES),
        None => match (block.first_chunk(), block.last_chunk()) {
            (Some(first), Some(last)) => {
                let halves = [first, last].map(|half| u128::from(u64::from_le_bytes(*half)));
                let found = lanes(&(halves[0] | halves[1] << 64).to_le_bytes());
                found & 0xff | found >> 8 << (block.len() - 8)
            }
            _ => tail.iter().rev().fold(0, |bits, byte| bits << 1 | u64::from(ESCAPES[usize::from(*byte)].1 > 0)),
        },
    }
}

/// Appends a text, or its bytes, as a JSON string.
pub fn push_string(out: &mut Vec<u8>, text: impl AsRef<[u8]>) {
    let text = text.as_ref();
    out.reserve(text.len() + 2);
    out.push(b'"');
    // Most names, URIs and descriptions are short and need no escapes.
    if text.len() <= BLOCK && specials(text) == 0 {
        out.extend_from_slice(text);
    } else {
        push_escaped(out, text);
    }
    out.push(b'"');
}

/// Appends a member of an object if there is a text. `head` is the part before the text: `,"key":`.
pub fn push_member(out: &mut Vec<u8>, head: &str, text: Option<impl AsRef<[u8]>>) {
    if let Some(text) = text {
        out.extend_from_slice(head.as_bytes());
        push_string(out, text);
    }
}

/// Encodes bytes that arrive in pieces as base64.
#[derive(Default)]
pub struct Base64 {
    /// The bytes left over from the last piece, at most two.
    carry: Vec<u8>,
}

impl Base64 {
    pub fn push(&mut self, out: &mut Vec<u8>, mut piece: &[u8]) {
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

    /// Appends the remaining bytes, padded.
    pub fn finish(self, out: &mut Vec<u8>) {
        encode(out, &self.carry);
    }
}

/// How many bytes are encoded at once. The buffer is zeroed before it is filled, and this size keeps it in the
/// processor's cache in between.
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

    #[test]
    fn a_number_that_does_not_fit_keeps_its_digits() {
        for (text, expected) in [
            ("[18446744073709551615, -9223372036854775808]", "[18446744073709551615,-9223372036854775808]"),
            ("[18446744073709551616]", "[\"18446744073709551616\"]"),
            ("{\"a\":-12345678901234567890123,\"b\":1}", "{\"a\":\"-12345678901234567890123\",\"b\":1}"),
            ("[1e999, 1e5, -1E+400]", "[\"1e999\",100000.0,\"-1E+400\"]"),
            (
                "\"99999999999999999999 \\\" 99999999999999999999\"",
                "\"99999999999999999999 \\\" 99999999999999999999\"",
            ),
            ("99999999999999999999", "\"99999999999999999999\""),
        ] {
            assert_eq!(exact(text.as_bytes()).expect(text).to_string(), expected);
        }
        for text in ["", "[1e999", "00000000000000000000", "1e", "[99999999999999999999x]"] {
            assert!(exact(text.as_bytes()).is_err(), "{text}");
        }
    }

    proptest! {
        #![proptest_config(crate::seed::config(256))]

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
        fn every_byte_that_needs_it_is_found(bytes in proptest::collection::vec(any::<u8>(), 0..=BLOCK)) {
            let expected = bytes.iter().rev().fold(0, |bits, byte| {
                bits << 1 | u64::from(*byte < 0x20 || matches!(byte, b'"' | b'\\'))
            });
            prop_assert_eq!(specials(&bytes), expected);
        }

        #[test]
        fn blocks_full_of_escapes_are_escaped_as_serde_json_does(text in "[\"\\\\\n\u{1}a\u{1f}é]{0,600}") {
            let mut out = Vec::new();
            push_string(&mut out, &text);
            prop_assert_eq!(String::from_utf8(out).unwrap(), serde_json::to_string(&text).unwrap());
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
