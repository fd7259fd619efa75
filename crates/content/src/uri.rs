//! Percent-encoding and decoding of paths in URIs.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Characters to encode in the path of a URI: everything except RFC 3986's `pchar` and the slash.
const NOT_IN_A_PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=')
    .remove(b':')
    .remove(b'@')
    .remove(b'/');

/// Percent-encodes the characters that are not allowed in the path of a URI.
pub fn encode(path: &str) -> String {
    utf8_percent_encode(path, NOT_IN_A_PATH).to_string()
}

/// Decodes a percent-encoded path. A `%` without two hex digits after it stays unchanged. `None` if the result is not UTF-8.
pub fn decode(encoded: &str) -> Option<String> {
    percent_decode_str(encoded).decode_utf8().ok().map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_characters_that_paths_allow_stay_unencoded() {
        for byte in 0..0x80_u8 {
            let text = char::from(byte).to_string();
            let stays = byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/".contains(&byte);
            let wanted = if stays { text.clone() } else { format!("%{byte:02X}") };
            assert_eq!(encode(&text), wanted);
            assert_eq!(decode(&wanted), Some(text));
        }
        assert_eq!(encode("é"), "%C3%A9");
    }

    #[test]
    fn escapes_are_decoded_if_the_result_is_utf_8() {
        for byte in 0..=u8::MAX {
            let wanted = (byte < 0x80).then(|| char::from(byte).to_string());
            assert_eq!(decode(&format!("%{byte:02X}")), wanted);
            assert_eq!(decode(&format!("%{byte:02x}")), wanted);
        }
        assert_eq!(decode("%C3%A9%c3%a9"), Some("éé".to_owned()));
    }

    #[test]
    fn decoding_reverses_encoding() {
        for path in ["a b/é.md", "100%", "%41", "a\nb", "x/.y~!"] {
            assert!(encode(path).bytes().all(|byte| byte.is_ascii_graphic()));
            assert_eq!(decode(&encode(path)).as_deref(), Some(path));
        }
    }

    #[test]
    fn a_percent_sign_without_two_digits_stands_for_itself() {
        for text in ["%", "%4", "%g1", "%4g", "%+1%4", "%%"] {
            assert_eq!(decode(text).as_deref(), Some(text));
        }
        assert_eq!(decode("%%41").as_deref(), Some("%A"));
    }
}
