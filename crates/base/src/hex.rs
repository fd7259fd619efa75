//! Converts bytes to hex and back.

use uuid::Uuid;

/// Encodes bytes as lowercase hex.
pub fn encode(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value)]);
    let mut text = String::with_capacity(2 * bytes.len());
    text.extend(bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]));
    text
}

/// Returns the last 12 digits of an id, by which people refer to it.
pub fn tail(id: Uuid) -> String {
    let id = id.simple().to_string();
    id[id.len() - 12..].to_owned()
}

/// Decodes lowercase hex; `None` for any other text.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let pairs = text.as_bytes().chunks(2).map(|pair| match pair {
        [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_two_digits() {
        assert_eq!(encode(&[0, 0x0a, 0xff]), "000aff");
        assert_eq!(encode(&[]), "");
        assert_eq!(decode("000aff"), Some(vec![0, 0x0a, 0xff]));
        assert_eq!((decode("0"), decode("0g"), decode("AA")), (None, None, None));
    }
}
