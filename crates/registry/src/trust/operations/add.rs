//! `mcpkg tool trust add`: trusts an identity as publisher or auditor.

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::ask_at_terminal;
use crate::GROUP;
use crate::trust::identity::Identity;
use crate::trust::records::Record;
use crate::trust::sigstore::forms;
use crate::trust::{keys, pattern};
use mcpkg_base::clock::rfc3339;
use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Changes, Context, Effect, Faces, Names, NoOutput, Operation, Reach, Reply};
use mcpkg_store::tools::trust::{self, TrustedPart, TrustedRow};

/// The roles in which an identity can be trusted, for shell completion.
pub(super) const PARTS: Names = Names::Known(|_| {
    [TrustedPart::Publisher, TrustedPart::Auditor, TrustedPart::Both].map(|part| part.word().to_owned()).into()
});

fn every_tool() -> String {
    "*".to_owned()
}

fn either() -> String {
    TrustedPart::Both.word().to_owned()
}

/// Trust somebody
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Add {
    /// Identity to trust, or a file with a public key
    identity: String,
    /// Display name for the identity
    #[arg(id = "as", long = "as", value_name = "NAME")]
    #[serde(rename = "as")]
    label: Option<String>,
    /// Tools to trust the identity for: a name, or a pattern such as alice/*
    #[arg(id = "for", long = "for", value_name = "PATTERN", default_value_t = every_tool())]
    #[serde(rename = "for", default = "every_tool")]
    pattern: String,
    /// Role to trust the identity in: publisher, auditor or both
    #[arg(long, add = PARTS, default_value_t = either())]
    #[serde(default = "either")]
    kind: String,
}

impl Operation for Add {
    const TOOL: &'static str = "trust_add";
    const CLI: &'static [&'static str] = &["tool", "trust", "add"];
    const TITLE: &'static str = "Trust somebody";
    const ABOUT: &'static str = "Trust somebody's signatures from now on";
    const HELP: &'static str = concat!(
        forms!(),
        " mcpkg shows the identity and asks you to confirm at a terminal; --yes cannot skip the confirmation. Before you confirm a key, \
            compare the key's fingerprint with the fingerprint that the key's owner has published. The trust applies only on this machine, \
            not to copies of your database on other machines."
    );
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg tool trust add alice.pub --as alice --for 'alice/*' --kind publisher",
        "mcpkg tool trust add ed25519:SHA256:z/fSv0Z0RZS+Lccbc6ZoOWwt/fbj1VFJGSBKQbo4icE --kind auditor",
    ];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes { reach: Reach::Everybody, ..Changes::TOOLS };
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.identity.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let identity = identity(&self.identity)?;
        pattern::check_published(&self.pattern)?;
        let part = part(&self.kind)?;
        let label = self.label.filter(|label| !label.is_empty());
        if label.as_ref().is_some_and(|label| label.chars().count() > 64 || label.chars().any(char::is_control)) {
            return Err(Error::new(
                Code::InvalidArgument,
                "The name is longer than 64 characters or contains control characters",
            ));
        }
        let author = context.author();
        let row = TrustedRow {
            identity: identity.as_str().to_owned(),
            label,
            pattern: self.pattern,
            part,
            added_at: author.now,
        };
        let shown = [
            format!("identity  {}", row.identity),
            format!("name      {}", row.label.as_deref().unwrap_or("-")),
            format!("for       {}", row.pattern),
            format!("as        {}", row.part.word()),
        ];
        let what = format!("Trust signatures by {} on tools that match {}?", row.identity, row.pattern);
        ask_at_terminal(context, &shown, &what)?;
        // The record on this machine and the database row grant trust only together, so their order does not matter.
        Record::Identity(&row).keep(context)?;
        context.store.write(|db| {
            trust::add(db, &row)?;
            context.event(db, author, None, "tool.trust.add", &row.identity)
        })?;
        let sentence = format!("Trusted {} as {} of {}", named(&row), words(row.part), row.pattern);
        Ok(Reply::sentence(sentence, data(&row, true))
            .hint(format!("to undo this: `mcpkg tool trust remove {}`", row.identity)))
    }
}

/// Parses an identity, or reads the public key in a file and returns its identity.
pub(super) fn identity(text: &str) -> Result<Identity> {
    let error = match text.parse() {
        Ok(identity) => return Ok(identity),
        Err(error) => error,
    };
    let path = Path::new(text);
    match disk::metadata(path) {
        Ok(Some(_)) => keys::public(path).map(|key| Identity::of(&key)),
        _ => Err(error),
    }
}

pub(super) fn part(word: &str) -> Result<TrustedPart> {
    TrustedPart::of_word(word).ok_or_else(|| {
        Error::new(Code::InvalidArgument, format!("'{}' is not a trust role", word.escape_debug()))
            .hint("the roles are publisher, auditor and both")
    })
}

/// Returns the identity of a row with its label, if it has one.
pub(super) fn named(row: &TrustedRow) -> String {
    row.label.as_ref().map_or_else(|| row.identity.clone(), |label| format!("{label} ({})", row.identity))
}

/// Describes a role as part of a sentence.
pub(super) const fn words(part: TrustedPart) -> &'static str {
    match part {
        TrustedPart::Publisher => "publisher",
        TrustedPart::Auditor => "auditor",
        TrustedPart::Both => "publisher and auditor",
    }
}

/// Returns a trusted identity as JSON; `counts` says whether this user approved it on this machine.
pub(super) fn data(row: &TrustedRow, counts: bool) -> Value {
    json!({
        "identity": row.identity,
        "name": row.label,
        "for": row.pattern,
        "kind": row.part.word(),
        "counts": counts,
        "added_at": rfc3339(row.added_at),
    })
}
