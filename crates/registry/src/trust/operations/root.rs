//! `mcpkg tool trust root`: shows and replaces the root that Sigstore bundles are checked against.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::ask_at_terminal;
use crate::GROUP;
use crate::trust::sigstore::{self, Authority, Described, Replaced, Root};
use mcpkg_base::clock::rfc3339;
use mcpkg_base::disk;
use mcpkg_base::error::Result;
use mcpkg_base::file;
use mcpkg_base::hex;
use mcpkg_core::op::{Body, Changes, Context, Effect, Faces, NoOutput, Operation, Reach, Reply, Table};
use mcpkg_store::tools::trust;

/// The maximum size of a root in bytes.
const LARGEST: u64 = 1 << 20;

/// Show or replace Sigstore's root
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct ShowRoot {
    /// The trusted_root.json file to use instead of the embedded root
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Go back to the embedded root
    #[arg(long, conflicts_with = "file")]
    #[serde(default)]
    default: bool,
}

impl Operation for ShowRoot {
    const TOOL: &'static str = "trust_root";
    const CLI: &'static [&'static str] = &["tool", "trust", "root"];
    const TITLE: &'static str = "Show or replace Sigstore's root";
    const ABOUT: &'static str = "Show or replace the root of trust for Sigstore bundles";
    const HELP: &'static str = "The root decides which certificate authorities, logs and timestamps mcpkg accepts. You can change or \
        reset the root only at a terminal; --yes cannot skip the confirmation. The root applies to every database that you use on this \
        machine. This command works only if mcpkg was built with the feature `sigstore`.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg tool trust root", "mcpkg tool trust root trusted_root.json", "mcpkg tool trust root --default"];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes { reach: Reach::Everybody, ..Changes::TOOLS };
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.file.as_ref().map(|file| file.display().to_string()).unwrap_or_default()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        // Fail first if this build has no Sigstore support and therefore no root.
        sigstore::described(&Root::Embedded)?;
        let now = Root::of_user(&context.approved)?;
        let next = match &self.file {
            Some(path) => named(path, context)?,
            None if self.default => Root::Embedded,
            None => return Ok(reply(&now, &sigstore::described(&now)?, "is")),
        };
        let described = sigstore::described(&next)?;
        if next.id() != now.id() {
            change(context, &next, &described)?;
        }
        Ok(reply(&next, &described, "is now"))
    }
}

/// Reads a root from a file.
fn named(path: &Path, context: &Context) -> Result<Root> {
    let text = file::read_text(path, LARGEST).map_err(|error| disk::failed("read", path, error))?;
    Ok(Root::Replaced(Arc::new(Replaced { text, since: context.clock.now() })))
}

/// Asks a person whether to replace the root, and replaces it.
fn change(context: &Context, next: &Root, described: &Described) -> Result<()> {
    let mut shown = vec![format!("root  {}", which(next, described)), format!("      {}", sha256(described))];
    shown.extend(described.authorities.iter().map(|one| format!("      {}: {}", one.kind, one.place.escape_debug())));
    ask_at_terminal(context, &shown, &format!("Trust everything signed under the root {}?", sha256(described)))?;
    match next {
        Root::Replaced(root) => Root::replace(&context.approved, &root.text, root.since)?,
        Root::Embedded | Root::Unreadable => Root::restore(&context.approved)?,
    }
    context.store.write(|db| {
        trust::raise_epoch(db)?;
        context.event(db, context.author(), None, "tool.trust.root", &sha256(described))
    })
}

fn which(root: &Root, described: &Described) -> String {
    match (root, described.dated) {
        (Root::Replaced(root), _) => format!("the one you chose on {}", rfc3339(root.since)),
        (_, Some(dated)) => format!("the one embedded in this mcpkg, dated {dated}"),
        (_, None) => "the one embedded in this mcpkg".to_owned(),
    }
}

fn sha256(described: &Described) -> String {
    format!("SHA-256 {}", hex::encode(&described.sha256))
}

fn reply(root: &Root, described: &Described, says: &str) -> Reply {
    let cells = |one: &Authority| {
        let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        vec![one.kind.to_owned(), one.place.clone(), or_dash(&one.from), or_dash(&one.until)]
    };
    let table = Table {
        columns: &["WHAT", "WHERE", "FROM", "UNTIL"],
        rows: described.authorities.iter().map(cells).collect(),
        empty: String::new(),
    };
    let sentence = format!("Sigstore's root {says} {}, {}", which(root, described), sha256(described));
    Reply::new(Body::Several(vec![Body::Sentence(sentence), Body::Table(table)]), data(root, described))
}

fn data(root: &Root, described: &Described) -> Value {
    let authority =
        |one: &Authority| json!({ "kind": one.kind, "place": one.place, "from": one.from, "until": one.until });
    let since = match root {
        Root::Replaced(root) => Some(rfc3339(root.since)),
        Root::Embedded | Root::Unreadable => None,
    };
    json!({
        "root": if since.is_some() { "replaced" } else { "embedded" },
        "dated": described.dated,
        "since": since,
        "sha256": hex::encode(&described.sha256),
        "authorities": described.authorities.iter().map(authority).collect::<Vec<Value>>(),
    })
}
