//! Parses front matter like Cursor: lines of `key: value` that are not YAML. `globs: *.py` is a valid pattern, and a list
//! counts only if it is indented.

/// The front matter of a Cursor rule.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Front {
    /// Each key with its value, and its line in the file, counted from 1.
    keys: Vec<(String, String, usize)>,
}

const MARK: &str = "---";

impl Front {
    /// Reads the front matter of a rule. Blank lines may precede it, and the next `---` ends it, even within a line. `None`
    /// if there is no front matter.
    pub fn read(text: &str) -> Option<Self> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let trimmed = text.trim_start();
        let skipped = text[..text.len() - trimmed.len()].matches('\n').count();
        let (first, rest) = trimmed.split_once('\n')?;
        if first.trim_end() != MARK {
            return None;
        }
        let yaml = &rest[..rest.find(MARK)?];
        let mut front = Self::default();
        for (at, line) in yaml.lines().enumerate() {
            let line_number = skipped + at + 2;
            let item = line.strip_prefix([' ', '\t']).and_then(|line| line.trim_start().strip_prefix("- "));
            match (item, line.split_once(':')) {
                (Some(item), _) => front.add_item(item),
                (None, Some((key, value))) if !line.starts_with([' ', '\t', '#']) => {
                    front.keys.push((key.trim().to_owned(), value.trim().to_owned(), line_number));
                }
                _ => {}
            }
        }
        Some(front)
    }

    /// Adds an item of an indented list to the last key.
    fn add_item(&mut self, item: &str) {
        if let Some((_, value, _)) = self.keys.last_mut() {
            let comma = if value.is_empty() { "" } else { "," };
            *value += &format!("{comma}{}", unquoted(item.trim()));
        }
    }

    /// Returns a key's value and line; `None` if it is absent or empty.
    pub fn get(&self, key: &str) -> Option<(&str, usize)> {
        let (_, value, line) = self.keys.iter().find(|(known, ..)| known == key)?;
        (!value.is_empty()).then_some((value.as_str(), *line))
    }

    /// Returns the line of a key, with or without a value.
    pub fn line_of(&self, key: &str) -> Option<usize> {
        self.keys.iter().find(|(known, ..)| known == key).map(|(.., line)| *line)
    }
}

/// Removes quotes that enclose the whole value.
pub fn unquoted(value: &str) -> &str {
    let inside = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote).filter(|inside| !inside.contains(quote));
    inside('"').or_else(|| inside('\'')).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_keys_and_values() {
        let front = Front::read("\u{feff}\n---\r\nglobs: **/*.py, *.ts\r\ndescription: a --- b\r\nx: y\r\n---\r\nText")
            .unwrap();
        assert_eq!(front.get("globs"), Some(("**/*.py, *.ts", 3)));
        assert_eq!(front.get("description"), Some(("a", 4)), "the front matter ends at the next mark");
        assert_eq!(front.get("x"), None);
        let front = Front::read("---\nglobs:\n  - \"a\"\n  - b\ndescription:\n- c\n---\n").unwrap();
        assert_eq!(front.get("globs"), Some(("a,b", 2)));
        assert_eq!((front.get("description"), front.line_of("description")), (None, Some(5)));
        for none in ["", "Text", "---", "---\nglobs: a\n", "x\n---\na: b\n---\n"] {
            assert_eq!(Front::read(none), None, "{none:?}");
        }
    }
}
