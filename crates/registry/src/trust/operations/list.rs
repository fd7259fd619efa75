//! `mcpkg tool trust list`: lists the trusted identities and approved archives.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::add::data;
use crate::GROUP;
use crate::trust::records::Record;
use crate::trust::subject::Subject;
use mcpkg_base::clock::rfc3339;
use mcpkg_base::error::Result;
use mcpkg_base::hex;
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Table};
use mcpkg_store::tools::trust::{self, Approval, TrustedRow};

/// List trusted identities
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct List {}

impl Operation for List {
    const TOOL: &'static str = "trust_list";
    const CLI: &'static [&'static str] = &["tool", "trust", "list"];
    const TITLE: &'static str = "List trusted identities";
    const ABOUT: &'static str = "List the identities you trust and the archives you approved";
    const EXAMPLES: &'static [&'static str] = &["mcpkg tool trust list"];
    const ALIASES: &'static [&'static str] = &["ls"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("trusted");
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let (trusted, approved) = context.store.read(|db| Ok((trust::list(db)?, trust::approvals(db)?)))?;
        let (mut rows, mut data_of_trusted): (Vec<Vec<String>>, Vec<Value>) = Default::default();
        let (mut undecided, mut ended) = (false, false);
        for row in &trusted {
            let counts = Record::Identity(row).is_kept(context)?;
            let has_ended = Record::Identity(row).has_ended(context)?;
            ended |= has_ended;
            undecided |= !counts && !has_ended;
            rows.push(cells(row, counts));
            data_of_trusted.push(data(row, counts));
        }
        let (mut archives, mut data_of_archives): (Vec<Vec<String>>, Vec<Value>) = Default::default();
        for Approval { name, version, sha256 } in approved {
            let subject = Subject { name, version, sha256 };
            let counts = Record::Archive(&subject).is_kept(context)?;
            undecided |= !counts;
            archives.push(vec![subject.reference(), subject.digest(), word(counts).to_owned()]);
            data_of_archives.push(json!({
                "tool": subject.name,
                "version": subject.version,
                "sha256": hex::encode(&subject.sha256),
                "counts": counts,
            }));
        }
        let people = Table {
            columns: &["IDENTITY", "NAME", "FOR", "AS", "COUNTS", "ADDED"],
            rows,
            empty: "There are no trusted identities".to_owned(),
        };
        let mut bodies = vec![Body::Table(people)];
        if !archives.is_empty() {
            let table = Table { columns: &["APPROVED", "SHA256", "COUNTS"], rows: archives, empty: String::new() };
            bodies.push(Body::Table(table));
        }
        let mut reply =
            Reply::new(Body::Several(bodies), json!({ "trusted": data_of_trusted, "approved": data_of_archives }));
        if undecided {
            reply = reply.hint(
                "rows that do not count are in the database, but nobody has confirmed them on this machine; to trust an identity, run \
                    `mcpkg tool trust add`",
            );
        }
        if ended {
            reply = reply.hint(
                "an identity that was removed from ~/.enact/config.yaml can still veto tools; to prevent that, run `mcpkg tool trust \
                    remove`",
            );
        }
        Ok(reply)
    }
}

fn cells(row: &TrustedRow, counts: bool) -> Vec<String> {
    vec![
        row.identity.clone(),
        row.label.clone().unwrap_or_else(|| "-".to_owned()),
        row.pattern.clone(),
        row.part.word().to_owned(),
        word(counts).to_owned(),
        rfc3339(row.added_at),
    ]
}

const fn word(counts: bool) -> &'static str {
    if counts { "yes" } else { "no" }
}
