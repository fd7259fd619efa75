//! `mcpkg tool verify`: checks the attestations of a tool and shows the verdict.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::GROUP;
use crate::trust::identity::Identity;
use crate::trust::judge::judge;
use crate::trust::subject::Subject;
use crate::trust::target::Target;
use crate::trust::verdict::{Counted, Part, Status, Verdict};
use mcpkg_base::error::Result;
use mcpkg_base::plural;
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Table};

/// Verify a tool
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Verify {
    #[command(flatten)]
    #[serde(flatten)]
    target: Target,
}

impl Operation for Verify {
    const TOOL: &'static str = "verify_tool";
    const CLI: &'static [&'static str] = &["tool", "verify"];
    const TITLE: &'static str = "Verify a tool";
    const ABOUT: &'static str =
        "Show whether a tool's archive is verified, and why each signature counts or does not count";
    const HELP: &'static str = "mcpkg asks each registry that has the archive for the latest signatures. The exit status is 1 if the \
        archive is not verified, even if you approved the archive.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg tool verify alice/weather", "mcpkg tool verify ./weather-1.2.0.tar.gz"];
    const EFFECT: Effect = Effect::Offer;
    const OPEN_WORLD: bool = true;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("attestations");
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let (subject, warnings) = self.target.ask(context)?;
        let verdict = context.store.read(|db| judge(db, context, &subject))?;
        let mut reply = Reply::new(shown(&subject, &verdict), data(&subject, &verdict)).warn(warnings);
        reply.failed = verdict.status != Status::Verified;
        if verdict.status == Status::Unverified && verdict.attestations.iter().any(|one| one.identity.is_some()) {
            reply = reply.hint("to trust a signer from now on: `mcpkg tool trust add IDENTITY`");
        }
        Ok(reply)
    }
}

fn shown(subject: &Subject, verdict: &Verdict) -> Body {
    let (signers, minimum) = (plural::count(verdict.identities.len(), "trusted signer"), verdict.minimum);
    let says = match verdict.status {
        Status::Verified => format!("is verified by {signers} ({minimum} required)"),
        Status::Approved => "is not verified, but you approved this archive".to_owned(),
        Status::Unverified => format!("is not verified: signed by {signers} ({minimum} required)"),
        Status::Refused => "is refused: somebody you trust vetoed it".to_owned(),
    };
    let row = |one: &Counted| {
        let counts = match (one.counted, one.refuses) {
            (true, _) => "yes",
            (_, true) => "against",
            _ => "no",
        };
        vec![
            counts.to_owned(),
            one.part.map_or("-", Part::word).to_owned(),
            one.form.word().to_owned(),
            one.identity.as_ref().map_or("-", Identity::as_str).to_owned(),
            one.why.clone(),
        ]
    };
    let table = Table {
        columns: &["COUNTS", "AS", "FORM", "IDENTITY", "WHY"],
        rows: verdict.attestations.iter().map(row).collect(),
        empty: "Nobody has signed this archive".to_owned(),
    };
    Body::Several(vec![
        Body::Sentence(format!("{} {says} (policy {})", subject.reference(), verdict.policy.word())),
        Body::Table(table),
    ])
}

fn data(subject: &Subject, verdict: &Verdict) -> Value {
    json!({
        "tool": subject.name,
        "version": subject.version,
        "sha256": subject.digest(),
        "status": verdict.status.word(),
        "policy": verdict.policy.word(),
        "minimum": verdict.minimum,
        "identities": verdict.identities.iter().map(Identity::as_str).collect::<Vec<_>>(),
        "attestations": verdict.attestations.iter().map(Counted::data).collect::<Vec<_>>(),
    })
}
