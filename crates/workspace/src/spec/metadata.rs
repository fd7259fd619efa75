//! Reads and edits the metadata of a spec, `.openspec.yaml`. Edits keep everything else unchanged; each error has its
//! line number.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::Value;
use serde_saphyr::{Location, Spanned};

use mcpkg_base::yaml;

/// The metadata file in a spec's folder.
pub(super) const FILE: &str = ".openspec.yaml";

/// The schema of new specs: OpenSpec's own.
const SCHEMA: &str = "spec-driven";

/// The maximum number of values that aliases in one file may expand to. This prevents a small file from expanding into
/// a huge one.
const MAX_ALIASED: usize = 1_000;

#[derive(Debug, Default)]
pub(super) struct Metadata {
    /// The day the spec was created.
    pub(super) created: Option<String>,
    /// The status that the spec's author set.
    pub(super) status: Option<String>,
    /// The branch for work on the spec.
    pub(super) branch: Option<String>,
    /// Problems in the file.
    pub(super) faults: Vec<Fault>,
    /// Keys that OpenSpec expects and the file lacks.
    pub(super) missing: Vec<&'static str>,
}

/// A problem in the metadata.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// The line, counted from 1.
    pub(super) line: usize,
    /// A description of the problem, for people.
    pub(super) message: String,
}

type Keys = BTreeMap<String, Spanned<Value>>;

impl Metadata {
    /// Parses metadata. Reports invalid parts in `faults`.
    pub(super) fn read(text: &str) -> Self {
        let keys = match keys(text) {
            Ok(keys) => keys,
            Err(fault) => return Self { faults: vec![fault], ..Self::default() },
        };
        let mut read = Self::default();
        let schema = read.text(&keys, "schema");
        read.created = read.text(&keys, "created");
        read.status = read.text(&keys, "status");
        read.branch = read.text(&keys, "branch");
        let asked = [("schema", &schema), ("created", &read.created)];
        read.missing = asked.into_iter().filter(|(key, _)| !keys.contains_key(*key)).map(|(key, _)| key).collect();
        if let (Some(created), Some(at)) = (&read.created, keys.get("created"))
            && created.parse::<jiff::civil::Date>().is_err()
        {
            let message = format!("`created` is '{created}', which is not a date such as 2026-02-11");
            read.faults.push(Fault { line: line(&at.referenced), message });
            read.created = None;
        }
        read
    }

    /// Returns empty metadata with `why` as its fault.
    pub(super) fn unreadable(why: &str) -> Self {
        Self { faults: vec![Fault { line: 1, message: why.to_owned() }], ..Self::default() }
    }

    /// Returns the text of a key, or `None` if it is missing or null. Another type of value is recorded as a fault.
    fn text(&mut self, keys: &Keys, key: &str) -> Option<String> {
        let value = keys.get(key)?;
        match &value.value {
            Value::String(text) => Some(text.clone()),
            Value::Null => None,
            _ => {
                self.faults.push(Fault { line: line(&value.referenced), message: format!("`{key}` is not a string") });
                None
            }
        }
    }
}

pub(super) fn new(created: &str, branch: &str) -> String {
    // JSON quoting keeps a branch name such as `yes` a string in YAML.
    let branch = Value::String(branch.to_owned());
    format!("schema: {SCHEMA}\ncreated: {created}\nstatus: draft\nbranch: {branch}\n")
}

/// Marks the metadata as archived on `day`, and keeps the rest byte for byte. Returns `None` if the file's style, such
/// as a flow mapping, does not allow that.
pub(super) fn archived(text: &str, day: &str) -> Option<String> {
    let before = keys(text).ok()?;
    let edited = set(text, "archived", day).and_then(|text| set(&text, "status", "archived"))?;
    let mut after = keys(&edited).ok()?;
    let says = |keys: &mut Keys, key: &str, value: &str| keys.remove(key).is_some_and(|said| said.value == value);
    if !says(&mut after, "archived", day) || !says(&mut after, "status", "archived") {
        return None;
    }
    let others = before.iter().filter(|(key, _)| !matches!(key.as_str(), "archived" | "status"));
    others
        .map(|(key, value)| (key, &value.value))
        .eq(after.iter().map(|(key, value)| (key, &value.value)))
        .then_some(edited)
}

/// Sets a key of a block mapping.
fn set(text: &str, key: &str, value: &str) -> Option<String> {
    let Some(at) = keys(text).ok()?.remove(key) else {
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        return Some(format!("{text}{end}{key}: {value}\n"));
    };
    let range = bytes(&at.referenced)?;
    Some(format!("{}{value}{}", text.get(..range.start)?, text.get(range.end..)?))
}

fn bytes(at: &Location) -> Option<Range<usize>> {
    let (start, length) = (at.span().byte_offset()?, at.span().byte_len()?);
    let start = usize::try_from(start).ok()?;
    Some(start..start.checked_add(usize::try_from(length).ok()?)?)
}

fn keys(text: &str) -> Result<Keys, Fault> {
    let read: Result<Option<Keys>, _> = yaml::read(text, yaml::options(MAX_ALIASED));
    read.map(Option::unwrap_or_default).map_err(|malformed| Fault {
        line: malformed.line(),
        message: format!("is not valid metadata: {}", malformed.why),
    })
}

fn line(at: &Location) -> usize {
    usize::try_from(at.line()).unwrap_or(1).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(text: &str) -> Vec<(usize, String)> {
        Metadata::read(text).faults.into_iter().map(|fault| (fault.line, fault.message)).collect()
    }

    #[test]
    fn new_metadata_is_read_back() {
        let read = Metadata::read(&new("2026-02-11", "feature/#a: b"));
        assert_eq!((read.created.as_deref(), read.branch.as_deref()), (Some("2026-02-11"), Some("feature/#a: b")));
        assert_eq!(read.status.as_deref(), Some("draft"));
        assert!(read.faults.is_empty() && read.missing.is_empty(), "{read:?}");
    }

    #[test]
    fn faults_have_a_line() {
        assert_eq!(faults("schema: a\ncreated: soon\n")[0].0, 2);
        assert_eq!(faults("schema: [a]\n"), [(1, "`schema` is not a string".to_owned())]);
        let broken = faults("schema: a\nstatus: b\n  created: [\n");
        assert_eq!(broken.len(), 1);
        assert!(broken[0].0 >= 2 && broken[0].1.starts_with("is not valid metadata: "), "{broken:?}");
        assert!(faults("- a\n")[0].1.starts_with("is not valid metadata: "));
        assert_eq!(faults("schema: a\nparent: b\ndescription: \"c\"\ntags: [d]\n"), []);
        assert_eq!(Metadata::read("").missing, ["schema", "created"]);
    }

    #[test]
    fn an_archived_spec_says_so_and_all_else_stays() {
        let text = "# ours\nschema: spec-driven # theirs\nstatus: 'draft' # now\nparent:   a\r\ncreated: 2026-02-11";
        let expected = "# ours\nschema: spec-driven # theirs\nstatus: archived # now\nparent:   a\r\ncreated: 2026-02-11\narchived: 2026-03-01\n";
        assert_eq!(archived(text, "2026-03-01").as_deref(), Some(expected));
        // Archive the spec again on another day.
        let again = archived(expected, "2026-03-02").unwrap();
        assert_eq!(again, expected.replace("2026-03-01", "2026-03-02"));
        assert_eq!(archived("", "2026-03-01").as_deref(), Some("archived: 2026-03-01\nstatus: archived\n"));
        assert_eq!(archived("{schema: a, status: b}\n", "2026-03-01"), None);
        assert_eq!(archived("a: [", "2026-03-01"), None);
    }
}
