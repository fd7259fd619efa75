//! Parses the path and the query of a request.

use percent_encoding::percent_decode_str;

use super::failure::Failure;

/// Percent-decodes a part of a URL; fails (400) if the result is not valid UTF-8, or contains NUL.
pub fn decoded(part: &str) -> Result<String, Failure> {
    let text = percent_decode_str(part).decode_utf8().ok().filter(|text| !text.contains('\0'));
    text.map(String::from).ok_or_else(|| Failure::bad_request("The address is not valid UTF-8"))
}

/// The query parameters in order.
#[derive(Debug)]
pub struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Parses a query; fails (400) if a part of it cannot be decoded.
    pub fn of(query: &str) -> Result<Self, Failure> {
        let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decoded(&name.replace('+', " "))?, decoded(&value.replace('+', " "))?))
        });
        pairs.collect::<Result<_, Failure>>().map(Self)
    }

    /// Returns the first parameter with this name; empty if there is none.
    pub fn text(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value.as_str())
    }

    /// Returns a parameter as a number, or `otherwise` if it is missing; fails (400) if it is not a number up to
    /// `most`.
    pub fn number(&self, name: &str, otherwise: u32, most: u32) -> Result<u32, Failure> {
        let text = self.text(name);
        if text.is_empty() {
            return Ok(otherwise);
        }
        text.parse().ok().filter(|number| *number <= most).ok_or_else(|| {
            Failure::bad_request(format!(
                "'{}' is not a valid {name}: it must be a number up to {most}",
                text.escape_debug()
            ))
        })
    }

    pub fn is_true(&self, name: &str) -> bool {
        self.text(name) == "true"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_as_forms_write_them() {
        let read = Parameters::of("q=a+b%26c&limit=7&flag&q=second&").unwrap();
        assert_eq!((read.text("q"), read.text("flag"), read.text("none")), ("a b&c", "", ""));
        assert_eq!(read.number("limit", 20, 100).ok(), Some(7));
        assert_eq!(read.number("offset", 3, 100).ok(), Some(3));
        for bad in ["limit=-1", "limit=x", "limit=101", "limit=1e3"] {
            assert!(Parameters::of(bad).unwrap().number("limit", 20, 100).is_err(), "{bad}");
        }
        for bad in ["q=%ff", "%00=1", "q=%00"] {
            assert!(Parameters::of(bad).is_err(), "{bad}");
        }
    }
}
