//! Reads the `registry.json` of oatty, another program that calls APIs. Settings without a counterpart in mcpkg are
//! ignored.

use serde::Deserialize;
use serde_json::Value;

use super::naming::kebab;

/// A catalog in oatty's registry.
#[derive(Debug, PartialEq, Eq)]
pub struct Entry {
    /// The title, which is also the catalog's name in oatty.
    pub title: String,
    pub prefix: Option<String>,
    /// Path or URL that the document was imported from.
    pub source: Option<String>,
    pub base_url: Option<String>,
    /// Alternative base URLs.
    pub other_urls: Vec<String>,
    /// Headers of each request, and where their values are kept.
    pub headers: Vec<(String, HeaderValue)>,
    pub enabled: bool,
}

/// The place where oatty keeps the value of a header, without the value itself.
#[derive(Debug, PartialEq, Eq)]
pub enum HeaderValue {
    Variable(String),
    /// In a variable. The header is `Bearer` and the variable's value.
    Bearer(String),
    /// A mix of text and variables.
    Mixed,
    /// In the system's keychain, under this name.
    Keychain(String),
    /// In plain text in the registry.
    Raw,
}

#[derive(Deserialize)]
struct Written {
    title: String,
    #[serde(default)]
    vendor: Option<String>,
    #[serde(default)]
    import_source: Option<String>,
    #[serde(default)]
    headers: Vec<WrittenHeader>,
    #[serde(default)]
    base_urls: Vec<String>,
    #[serde(default)]
    base_url_index: usize,
    #[serde(default = "switched_on")]
    is_enabled: bool,
}

#[derive(Deserialize)]
struct WrittenHeader {
    key: String,
    value: String,
}

const fn switched_on() -> bool {
    true
}

/// Parses a registry. Returns its catalogs, and a note for each invalid entry.
///
/// Error messages never repeat a value of the file.
pub fn entries(text: &str) -> Result<(Vec<Entry>, Vec<String>), String> {
    let mut file: Value = serde_json::from_str(text)
        .map_err(|error| format!("it is not valid JSON at line {}, column {}", error.line(), error.column()))?;
    let Value::Array(written) = file["catalogs"].take() else { return Err("it has no `catalogs` list".to_owned()) };
    let (mut entries, mut notes) = (Vec::new(), Vec::new());
    for (index, value) in written.into_iter().enumerate() {
        // The message from serde may contain a secret.
        match serde_json::from_value::<Written>(value) {
            Ok(written) => entries.push(Entry::of(written)),
            Err(_) => notes.push(format!("skipped catalog {}: it is not in oatty's format", index + 1)),
        }
    }
    Ok((entries, notes))
}

impl Entry {
    fn of(written: Written) -> Self {
        let Written { title, vendor, import_source, headers, mut base_urls, base_url_index, is_enabled } = written;
        let base_url = (base_url_index < base_urls.len()).then(|| base_urls.remove(base_url_index));
        let is_said = |text: &String| !text.trim().is_empty();
        Self {
            title,
            prefix: vendor.map(|vendor| kebab(&vendor)).filter(is_said),
            source: import_source.filter(is_said),
            base_url: base_url.filter(is_said),
            other_urls: base_urls,
            headers: headers.into_iter().map(|header| (header.key, HeaderValue::of(&header.value))).collect(),
            enabled: is_enabled,
        }
    }
}

impl HeaderValue {
    fn of(value: &str) -> Self {
        let value = value.trim();
        let named = |text: &str, kind: &str| {
            let name = text.strip_prefix(kind)?.strip_suffix('}')?;
            let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
            (!name.is_empty() && name.chars().all(is_plain)).then(|| name.to_owned())
        };
        let bearer = value.split_once(' ').filter(|(word, _)| word.eq_ignore_ascii_case("bearer"));
        if let Some(variable) = named(value, "${env:") {
            return Self::Variable(variable);
        }
        if let Some(variable) = bearer.and_then(|(_, rest)| named(rest.trim(), "${env:")) {
            return Self::Bearer(variable);
        }
        match value.split_once("${secret:").and_then(|(_, rest)| rest.split_once('}')) {
            Some((secret, _)) => Self::Keychain(secret.to_owned()),
            None if value.contains("${env:") => Self::Mixed,
            None => Self::Raw,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_value_is_classified_by_where_its_secret_is() {
        for (value, kept) in [
            ("${env:TOKEN}", HeaderValue::Variable("TOKEN".to_owned())),
            ("Bearer ${env:TOKEN}", HeaderValue::Bearer("TOKEN".to_owned())),
            ("key ${env:A} ${env:B}", HeaderValue::Mixed),
            ("${env:A}${env:B}", HeaderValue::Mixed),
            ("Bearer ${secret:hosting-Authorization}", HeaderValue::Keychain("hosting-Authorization".to_owned())),
            ("hunter22", HeaderValue::Raw),
            ("${other:x}", HeaderValue::Raw),
        ] {
            assert_eq!(HeaderValue::of(value), kept, "{value}");
        }
    }

    #[test]
    fn errors_in_a_registry_do_not_repeat_its_secrets() {
        for (text, why) in [
            ("hunter22", "not valid JSON"),
            ("{}", "no `catalogs` list"),
            ("{\"catalogs\": null}", "no `catalogs` list"),
        ] {
            let told = entries(text).expect_err(text);
            assert!(told.contains(why) && !told.contains("hunter22"), "{told}");
        }
        let (entries, notes) =
            entries("{\"catalogs\": [7, {\"title\": \"A\", \"headers\": \"hunter22\"}, {\"title\": \"B\"}]}")
                .expect("a list");
        assert_eq!((entries.len(), notes.len()), (1, 2));
        assert!(entries[0].enabled && entries[0].base_url.is_none());
        assert!(!notes.join("").contains("hunter22"));
    }
}
