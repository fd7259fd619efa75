//! Writes and reads in-toto statements about archives.

use serde::Deserialize;
use serde_json::{Value, json};

use super::identity::Identity;
use super::subject::Subject;
use super::unique_keys;
use super::verdict::Part;
use mcpkg_base::clock::{Millis, rfc3339};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::hex;

const STATEMENT: &str = "https://in-toto.io/Statement/v1";

/// The predicate type of a publisher's statement.
pub const TOOL: &str = "https://enact.tools/attestation/tool/v1";

/// The predicate type of an audit.
pub const AUDIT: &str = "https://enact.tools/attestation/audit/v1";

/// The predicate type of SLSA provenance: how the tool was built.
pub const PROVENANCE: &str = "https://slsa.dev/provenance/v1";

const MAX_SUBJECTS: usize = 16;

/// The maximum length in bytes of a name or version in a statement. It is limited because parsed statements are
/// cached in memory.
const LONGEST: usize = 1_024;

/// The result of an audit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    /// Passed, with findings that users should know about.
    PassedWithWarnings,
    /// The tool must not be used.
    Failed,
}

impl Outcome {
    pub const ALL: [Self; 3] = [Self::Passed, Self::PassedWithWarnings, Self::Failed];

    pub const fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::PassedWithWarnings => "passed-with-warnings",
            Self::Failed => "failed",
        }
    }

    pub fn of_word(word: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.word() == word).ok_or_else(|| {
            Error::new(Code::InvalidArgument, format!("'{}' is not an audit result", word.escape_debug()))
                .hint("a result is passed, passed-with-warnings or failed")
        })
    }
}

/// The contents of a new audit.
#[derive(Clone, Debug)]
pub struct Audit {
    pub outcome: Outcome,
    /// Free text about the findings.
    pub notes: Option<String>,
    pub severity: Option<String>,
    pub category: Option<String>,
}

/// The claim of a new statement about an archive.
#[derive(Clone, Debug)]
pub enum Says {
    /// The signer published the archive.
    Made,
    /// The signer audited the archive.
    Audited(Audit),
}

impl Says {
    /// Returns the role of the signer.
    pub const fn part(&self) -> Part {
        match self {
            Self::Made => Part::Publisher,
            Self::Audited(_) => Part::Auditor,
        }
    }
}

/// Writes a statement about an archive. `manifest` is the manifest's path in the package and its SHA-256; `by` is
/// the signer.
pub fn write(
    subject: &Subject,
    manifest: Option<(&str, [u8; 32])>,
    says: &Says,
    by: Option<&Identity>,
    now: Millis,
) -> String {
    let mut subjects = vec![json!({ "name": subject.reference(), "digest": { "sha256": subject.digest() } })];
    if let Some((path, sha256)) = manifest {
        subjects.push(json!({ "name": path, "digest": { "sha256": hex::encode(&sha256) } }));
    }
    let at = rfc3339(now);
    let mut tool = json!({ "name": subject.name, "version": subject.version });
    let by = by.map(Identity::as_str);
    let (kind, predicate) = match says {
        Says::Made => {
            if let Some(by) = by {
                tool["publisher"] = json!(by);
            }
            (TOOL, json!({ "type": TOOL, "tool": tool, "build": { "timestamp": at } }))
        }
        Says::Audited(audit) => {
            let mut found = json!({ "timestamp": at, "result": audit.outcome.word() });
            let further = [
                ("auditor", by),
                ("notes", audit.notes.as_deref()),
                ("severity", audit.severity.as_deref()),
                ("category", audit.category.as_deref()),
            ];
            for (key, value) in further {
                if let Some(value) = value {
                    found[key] = json!(value);
                }
            }
            (AUDIT, json!({ "type": AUDIT, "tool": tool, "audit": found }))
        }
    };
    json!({ "_type": STATEMENT, "subject": subjects, "predicateType": kind, "predicate": predicate }).to_string()
}

#[derive(Debug)]
pub struct Statement {
    subjects: Vec<(String, Option<String>)>,
    said: Assertion,
    tool: Option<Tool>,
}

/// The claim of a statement, according to its predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assertion {
    /// The signer published the tool, or states how it was built.
    Made,
    /// The signer audited the tool, with this result.
    Audited(Outcome),
}

impl Assertion {
    /// Returns the role of the signer.
    pub const fn part(self) -> Part {
        match self {
            Self::Made => Part::Publisher,
            Self::Audited(_) => Part::Auditor,
        }
    }
}

/// The relation of a statement to an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// The statement is about exactly this archive.
    This,
    /// The statement names the same tool and version, but not the SHA-256 of this archive.
    OtherArchive,
    /// The statement names the same tool and version, but hashes the text of the digest instead of the archive, so
    /// it does not protect the archive.
    Text,
    /// The statement is about another tool or version.
    OtherTool,
}

#[derive(Deserialize)]
struct Written {
    #[serde(rename = "_type")]
    kind: String,
    subject: Vec<WrittenSubject>,
    #[serde(rename = "predicateType")]
    predicate_type: String,
    predicate: Value,
}

#[derive(Deserialize)]
struct WrittenSubject {
    #[serde(default)]
    name: String,
    digest: WrittenDigest,
}

#[derive(Deserialize)]
struct WrittenDigest {
    sha256: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Tool {
    name: String,
    version: String,
}

#[derive(Deserialize)]
struct OfTool {
    tool: Tool,
}

#[derive(Deserialize)]
struct OfAudit {
    tool: Tool,
    audit: WrittenAudit,
}

#[derive(Deserialize)]
struct WrittenAudit {
    result: String,
}

/// Parses a statement. The error text says why the statement can never count, and can be shown to people.
pub fn read(bytes: &[u8]) -> Result<Statement, String> {
    let odd = |error: serde_json::Error| format!("the statement is malformed: {error}");
    let written: Written = serde_json::from_slice(bytes).map_err(odd)?;
    unique_keys::check(bytes).map_err(|why| format!("the statement is malformed: {why}"))?;
    if written.kind != STATEMENT {
        return Err(format!("the statement has the unsupported type '{}'", written.kind.escape_debug()));
    }
    if written.subject.len() > MAX_SUBJECTS {
        return Err(format!("the statement has more than {MAX_SUBJECTS} subjects"));
    }
    let (said, tool) = match written.predicate_type.as_str() {
        TOOL => (Assertion::Made, Some(OfTool::deserialize(written.predicate).map_err(odd)?.tool)),
        AUDIT => {
            let of_audit = OfAudit::deserialize(written.predicate).map_err(odd)?;
            let outcome = Outcome::of_word(&of_audit.audit.result)
                .map_err(|_| format!("the audit has the unknown result '{}'", of_audit.audit.result.escape_debug()))?;
            (Assertion::Audited(outcome), Some(of_audit.tool))
        }
        PROVENANCE => (Assertion::Made, None),
        other => return Err(format!("the predicate has the unsupported type '{}'", other.escape_debug())),
    };
    let is_long = |text: &String| text.len() > LONGEST;
    if written.subject.iter().any(|subject| is_long(&subject.name))
        || tool.as_ref().is_some_and(|tool| is_long(&tool.name) || is_long(&tool.version))
    {
        return Err("the statement contains a name longer than 1 KiB".to_owned());
    }
    // A digest that is not a hex SHA-256 matches no archive.
    let digest = |digest: WrittenDigest| digest.sha256.filter(|sha256| sha256.len() == 64);
    let subjects = written.subject.into_iter().map(|subject| (subject.name, digest(subject.digest))).collect();
    Ok(Statement { subjects, said, tool })
}

impl Statement {
    pub fn assertion(&self) -> Assertion {
        self.said
    }

    /// Returns how the statement relates to an archive, according to its subjects.
    pub fn about(&self, subject: &Subject) -> About {
        let (reference, digest) = (subject.reference(), subject.digest());
        // Provenance names files by their path in the build, so only the digest identifies them.
        let is_provenance = self.tool.is_none();
        if is_provenance && self.subjects.iter().any(|(_, sha256)| sha256.as_deref() == Some(&digest)) {
            return About::This;
        }
        let mut about = About::OtherTool;
        for (_, sha256) in self.subjects.iter().filter(|(name, _)| *name == reference) {
            match sha256.as_deref() {
                Some(sha256) if sha256 == digest => return About::This,
                Some(sha256) if subject.is_digest_of_text(sha256) => about = About::Text,
                _ => about = About::OtherArchive,
            }
        }
        about
    }

    /// Returns whether the predicate names the same tool and version, if it names any.
    pub fn predicate_names(&self, subject: &Subject) -> bool {
        self.tool.as_ref().is_none_or(|tool| tool.name == subject.name && tool.version == subject.version)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn subject() -> Subject {
        Subject { name: "alice/weather".to_owned(), version: "1.2.0".to_owned(), sha256: [0xab; 32] }
    }

    fn made() -> Value {
        serde_json::from_str(&write(&subject(), None, &Says::Made, None, 0)).expect("a statement")
    }

    fn about(statement: &Value) -> About {
        read(statement.to_string().as_bytes()).expect("a statement").about(&subject())
    }

    #[test]
    fn a_statement_has_the_format_of_enact() {
        let identity = "ed25519:SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU".parse().expect("an identity");
        let says = Says::Audited(Audit {
            outcome: Outcome::PassedWithWarnings,
            notes: Some("reads the clock".to_owned()),
            severity: None,
            category: None,
        });
        let text = write(&subject(), Some(("SKILL.md", [1; 32])), &says, Some(&identity), 0);
        let digest = "ab".repeat(32);
        let expected = json!({
            "_type": "https://in-toto.io/Statement/v1",
            "subject": [
                { "name": "alice/weather@1.2.0", "digest": { "sha256": digest } },
                { "name": "SKILL.md", "digest": { "sha256": "01".repeat(32) } },
            ],
            "predicateType": AUDIT,
            "predicate": {
                "type": AUDIT,
                "tool": { "name": "alice/weather", "version": "1.2.0" },
                "audit": {
                    "timestamp": "1970-01-01T00:00:00Z",
                    "result": "passed-with-warnings",
                    "auditor": identity.as_str(),
                    "notes": "reads the clock",
                },
            },
        });
        assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), expected);
        let read = read(text.as_bytes()).expect("a statement");
        assert_eq!(read.assertion(), Assertion::Audited(Outcome::PassedWithWarnings));
        assert!(read.about(&subject()) == About::This && read.predicate_names(&subject()));
    }

    #[test]
    fn x1_statements_about_other_archives_and_tools_are_recognized() {
        assert_eq!(about(&made()), About::This);
        let mut other = made();
        other["subject"][0]["digest"]["sha256"] = json!("cd".repeat(32));
        assert_eq!(about(&other), About::OtherArchive);
        other["subject"][0]["name"] = json!("alice/weather@1.2.1");
        assert_eq!(about(&other), About::OtherTool);
        // The digest of this archive, but under another tool's name.
        let mut named = made();
        named["subject"][0]["name"] = json!("bob/weather@1.2.0");
        assert_eq!(about(&named), About::OtherTool);
        let mut no_digest = made();
        no_digest["subject"][0]["digest"] = json!({ "sha512": "ab" });
        assert_eq!(about(&no_digest), About::OtherArchive);
        let mut none = made();
        none["subject"] = json!([]);
        assert_eq!(about(&none), About::OtherTool);
        let mut upper = made();
        upper["subject"][0]["digest"]["sha256"] = json!("AB".repeat(32));
        assert_eq!(about(&upper), About::OtherArchive);
    }

    #[test]
    fn x2_a_statement_about_the_hash_of_a_text_is_recognized() {
        for text in [subject().digest(), format!("sha256:{}", subject().digest())] {
            let mut statement = made();
            statement["subject"][0]["digest"]["sha256"] = json!(mcpkg_base::sha256::hex(text.as_bytes()));
            assert_eq!(about(&statement), About::Text);
        }
    }

    #[test]
    fn the_predicate_names_the_same_tool() {
        for (path, value) in [("name", "bob/weather"), ("version", "1.2.1")] {
            let mut statement = made();
            statement["predicate"]["tool"][path] = json!(value);
            let statement = read(statement.to_string().as_bytes()).expect("a statement");
            assert!(!statement.predicate_names(&subject()));
        }
        let mut provenance = made();
        provenance["predicateType"] = json!(PROVENANCE);
        provenance["predicate"] = json!({ "buildDefinition": {} });
        let provenance = read(provenance.to_string().as_bytes()).expect("a statement");
        assert!(provenance.predicate_names(&subject()) && provenance.assertion() == Assertion::Made);
    }

    #[test]
    fn provenance_names_files_and_is_about_the_archive_of_its_digest() {
        let provenance = |name: &str, sha256: String| {
            let mut provenance = made();
            provenance["predicateType"] = json!(PROVENANCE);
            provenance["predicate"] = json!({ "buildDefinition": {} });
            provenance["subject"] = json!([
                { "name": "checksums.txt", "digest": { "sha256": "01".repeat(32) } },
                { "name": name, "digest": { "sha256": sha256 } },
            ]);
            about(&provenance)
        };
        let (this, other) = (subject().digest(), "cd".repeat(32));
        assert_eq!(provenance("weather-1.2.0.tar.gz", this.clone()), About::This);
        assert_eq!(provenance("dist/weather.tar.gz", this), About::This);
        assert_eq!(provenance("weather-1.2.0.tar.gz", other.clone()), About::OtherTool);
        assert_eq!(provenance("alice/weather@1.2.0", other), About::OtherArchive);
    }

    #[test]
    fn an_invalid_statement_is_refused_with_the_reason() {
        let without = |key: &str| {
            let mut statement = made();
            statement.as_object_mut().expect("an object").remove(key);
            statement
        };
        let with = |key: &str, value: Value| {
            let mut statement = made();
            statement[key] = value;
            statement
        };
        for statement in [
            without("_type"),
            without("subject"),
            without("predicateType"),
            without("predicate"),
            with("_type", json!("https://in-toto.io/Statement/v0.1")),
            with("predicateType", json!("https://example.com/other")),
            with("predicateType", json!(AUDIT)),
            with("predicate", json!({})),
            with("subject", json!(vec![json!({ "name": "a", "digest": {} }); MAX_SUBJECTS + 1])),
            with("subject", json!([{ "name": "a".repeat(LONGEST + 1), "digest": {} }])),
            json!([]),
            json!("text"),
        ] {
            assert!(read(statement.to_string().as_bytes()).is_err(), "{statement}");
        }
        // With a duplicate key, readers could disagree about which value counts.
        let twice = made().to_string().replacen("\"predicateType\"", "\"_type\":\"x\",\"predicateType\"", 1);
        assert!(read(twice.as_bytes()).is_err());
        let twice = made().to_string().replacen("\"sha256\"", "\"sha256\":\"x\",\"sha256\"", 1);
        assert!(read(twice.as_bytes()).is_err());
        let twice = made().to_string().replacen("\"version\"", "\"more\":1,\"more\":1,\"version\"", 1);
        assert!(read(twice.as_bytes()).is_err());
    }

    proptest! {
        #![proptest_config(crate::seed::config(256))]

        #[test]
        fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(read(&bytes).is_err());
        }
    }
}
