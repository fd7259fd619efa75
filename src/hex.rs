//! Bytes in hex.

use std::fmt::Write as _;

/// Returns bytes as lower-case hex digits, two for each.
pub fn encode(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_two_digits() {
        assert_eq!(encode(&[0, 0x0a, 0xff]), "000aff");
        assert_eq!(encode(&[]), "");
    }
}
