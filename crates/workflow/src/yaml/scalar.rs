//! Interprets plain YAML scalars by the core schema of YAML 1.2. Infinity, NaN, numbers with leading zeros and numbers
//! that do not fit into 64 bits stay text.

use serde_json::{Number, Value};

/// Returns the value of a plain scalar, and whether other YAML parsers or people might read it as something else.
pub(super) fn plain(text: &str) -> (Value, bool) {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return (Value::Null, false),
        "true" | "True" | "TRUE" => return (Value::Bool(true), false),
        "false" | "False" | "FALSE" => return (Value::Bool(false), false),
        _ => {}
    }
    if let Some(number) = number(text) {
        return (Value::Number(number), false);
    }
    (Value::String(text.to_owned()), is_ambiguous(text))
}

/// Parses a number: a 64-bit integer without leading zeros, such as `-7`, `0x1f` or `0o17`, or a finite fraction.
fn number(text: &str) -> Option<Number> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let in_radix = |digits: &str, radix| match digits.starts_with(['+', '-']) {
        true => None,
        false => u64::from_str_radix(digits, radix).ok().map(Number::from),
    };
    if digits.len() == text.len() {
        if let Some(hex) = digits.strip_prefix("0x") {
            return in_radix(hex, 16);
        }
        if let Some(octal) = digits.strip_prefix("0o") {
            return in_radix(octal, 8);
        }
    }
    let whole = digits.bytes().take_while(u8::is_ascii_digit).count();
    if whole == digits.len() {
        if whole == 0 || (whole > 1 && digits.starts_with('0')) {
            return None;
        }
        return match negative {
            true => text.parse::<i64>().ok().map(Number::from),
            false => digits.parse::<u64>().ok().map(Number::from),
        };
    }
    if whole > 1 && digits.starts_with('0') || !is_fraction(digits) {
        return None;
    }
    text.parse::<f64>().ok().and_then(Number::from_f64)
}

/// Returns whether unsigned text is a decimal number. The decimal point and the exponent are optional.
fn is_fraction(text: &str) -> bool {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, rest) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let good_exponent = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !digits.is_empty() && all_digits(digits)
    });
    all_digits(whole) && all_digits(rest) && !(whole.is_empty() && rest.is_empty()) && good_exponent
}

/// Returns whether other YAML parsers might read text as a boolean, date or number.
fn is_ambiguous(text: &str) -> bool {
    const WORDS: [&str; 6] = ["yes", "no", "on", "off", "y", "n"];
    if WORDS.iter().any(|word| text.eq_ignore_ascii_case(word)) {
        return true;
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(unsigned.to_ascii_lowercase().as_str(), ".inf" | ".nan") {
        return true;
    }
    if !unsigned.starts_with(|c: char| c.is_ascii_digit()) {
        return false;
    }
    let is_number =
        is_fraction(&unsigned.replace('_', "")) || unsigned.bytes().all(|b| b.is_ascii_digit() || b == b'_');
    let is_radix = unsigned.starts_with("0x") || unsigned.starts_with("0o") || unsigned.starts_with("0b");
    is_number || is_radix || is_date(text)
}

/// Returns whether text is a date such as `2024-01-31`, with or without a time.
fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    let date = bytes.len() >= 10
        && bytes[..10].iter().enumerate().all(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    date && matches!(bytes.get(10), None | Some(b'T' | b't' | b' '))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_typed_by_the_core_schema() {
        for (text, expected) in [
            ("", json!(null)),
            ("~", json!(null)),
            ("NULL", json!(null)),
            ("True", json!(true)),
            ("false", json!(false)),
            ("0", json!(0)),
            ("-17", json!(-17)),
            ("+5", json!(5)),
            ("0x1F", json!(31)),
            ("0o17", json!(15)),
            ("18446744073709551615", json!(u64::MAX)),
            ("1.5", json!(1.5)),
            (".5", json!(0.5)),
            ("1e3", json!(1000.0)),
            ("-2.5E-1", json!(-0.25)),
            ("apps:list", json!("apps:list")),
            ("1.2.3", json!("1.2.3")),
            ("-", json!("-")),
            ("nullable", json!("nullable")),
            ("+", json!("+")),
            (".", json!(".")),
            ("e5", json!("e5")),
        ] {
            assert_eq!(plain(text), (expected, false), "{text:?}");
        }
    }

    #[test]
    fn text_that_other_parsers_convert_stays_text_and_is_reported() {
        for text in [
            "yes",
            "No",
            "ON",
            "off",
            "y",
            "N",
            "010",
            "-010",
            "1_000",
            "2024-01-31",
            "2024-01-31T10:00:00Z",
            ".inf",
            "-.INF",
            ".nan",
            "18446744073709551616",
            "1e999",
            "0b101",
            "0x",
            "00.5",
        ] {
            assert_eq!(plain(text), (json!(text), true), "{text}");
        }
    }
}
