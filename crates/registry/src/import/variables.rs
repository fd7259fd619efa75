//! Reads `.env` files, which set the variables of tools.

use super::home::Text;
use mcpkg_base::error::Result;
use mcpkg_base::secret;

/// Words that mark a variable as a secret by its name; the value of such a variable is not stored.
const SECRET: [&str; 8] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "AUTH"];

/// A line of a `.env` file.
#[derive(Debug, PartialEq, Eq)]
pub struct Line {
    pub name: String,
    pub value: String,
}

impl Line {
    /// Returns whether the name suggests a secret: `API_TOKEN`.
    pub fn looks_secret(&self) -> bool {
        self.name.to_ascii_uppercase().split('_').any(|part| SECRET.contains(&part))
    }
}

/// Reads a `.env` file with one `NAME=VALUE` per line. Quotes around a value are removed.
///
/// # Errors
/// `E_INVALID_ARGUMENT` with the number of the malformed line.
pub fn read(text: &Text) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text.text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        // The error does not repeat the line, which may contain a secret.
        let wrong = |why: &str| text.malformed(format!("line {number} {why}"));
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) = line.split_once('=').ok_or_else(|| wrong("does not have the form NAME=VALUE"))?;
        let name = name.trim();
        if !secret::is_variable(name) {
            return Err(wrong("does not start with a valid variable name"));
        }
        let value = unquoted(value.trim()).ok_or_else(|| wrong("has an unclosed quote"))?;
        lines.push(Line { name: name.to_owned(), value });
    }
    Ok(lines)
}

/// Removes the quotes around a value. An unquoted value ends before a comment.
fn unquoted(value: &str) -> Option<String> {
    for quote in ['"', '\''] {
        if let Some(rest) = value.strip_prefix(quote) {
            let (inside, after) = rest.split_once(quote)?;
            let is_over = after.trim_start().is_empty() || after.trim_start().starts_with('#');
            return is_over.then(|| inside.to_owned());
        }
    }
    Some(value.split_once(" #").map_or(value, |(value, _)| value).trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Vec<(String, String)>> {
        let text = Text { name: ".env".to_owned(), path: "/home/me/.enact/.env".into(), text: text.to_owned() };
        Ok(read(&text)?.into_iter().map(|line| (line.name, line.value)).collect())
    }

    #[test]
    fn lines_are_names_and_values() {
        let text = "# note\n\nREGION=eu # here\nexport CITY='Bern # no'\n URL = \"https://x/?a=b\" # there\nEMPTY=\n";
        let expected = [("REGION", "eu"), ("CITY", "Bern # no"), ("URL", "https://x/?a=b"), ("EMPTY", "")];
        let expected: Vec<_> = expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        assert_eq!(of(text).expect("variables"), expected);
    }

    #[test]
    fn a_malformed_line_is_reported_by_its_number_without_its_text() {
        for bad in ["A=1\nhunter2", "A=1\n1A=hunter2", "A=1\nB='hunter2", "A=1\nB=\"hunter2\"x"] {
            let error = of(bad).expect_err(bad);
            assert!(error.message().contains("line 2") && !error.message().contains("hunter2"), "{}", error.message());
        }
    }

    #[test]
    fn names_of_secrets_are_known() {
        let line = |name: &str| Line { name: name.to_owned(), value: String::new() };
        assert!(["API_KEY", "token", "DB_PASSWORD", "X_AUTH_Y"].iter().all(|name| line(name).looks_secret()));
        assert!(["KEYBOARD", "REGION", "AUTHOR", "MONKEY"].iter().all(|name| !line(name).looks_secret()));
    }
}
