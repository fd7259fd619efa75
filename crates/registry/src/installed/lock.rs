//! `mcpkg tool lock`: writes a lock file with the installed tools and the digests of their archives.

use std::path::PathBuf;

use schemars::JsonSchema;
use semver::Version;
use serde::Deserialize;
use serde_json::{Value, json};

use super::checked;
use super::lockfile::{FILE, Locked, Lockfile};
use crate::GROUP;
use crate::package::Name;
use crate::trust::{self, Identity, Rules, Status};
use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::hex;
use mcpkg_base::plural;
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::Db;
use mcpkg_store::tools::installs::{self, Install};

/// The name of a file that stands for standard output.
const STDOUT: &str = "-";

/// Lock the installed tools
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Lock {
    /// File to write; `-` for standard output [default: mcpkg-tools.lock]
    #[serde(default)]
    file: Option<PathBuf>,
    /// Lock the tools installed for the selected project
    #[arg(long)]
    #[serde(default)]
    for_project: bool,
}

impl Operation for Lock {
    const TOOL: &'static str = "lock_tools";
    const CLI: &'static [&'static str] = &["tool", "lock"];
    const TITLE: &'static str = "Lock the installed tools";
    const ABOUT: &'static str = "Write a lock file of the installed tools: their versions, SHA-256 digests and signers";
    const HELP: &'static str = "To install exactly the locked tools in another database, run `mcpkg tool install --locked \
        mcpkg-tools.lock`. Lock files for the same tools are identical, byte for byte.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg tool lock", "mcpkg tool lock team-tools.lock", "mcpkg tool lock - --for-project"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn writes_files(&self) -> bool {
        self.file.as_ref().is_none_or(|file| file.as_os_str() != STDOUT)
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let scope = super::scope(context, self.for_project)?;
        let locked = context.store.read(|db| {
            let rules = trust::rules(db, context)?;
            let all = installs::of_scope(db, &scope)?;
            all.into_iter().map(|install| locked(db, context, &rules, install)).collect::<Result<Vec<_>>>()
        })?;
        let lock = Lockfile::new(locked);
        let text = lock.text()?;
        let path = self.file.unwrap_or_else(|| PathBuf::from(FILE));
        if path.as_os_str() == STDOUT {
            let data: Value = serde_json::to_value(&lock)
                .map_err(|error| Error::internal("the lock file cannot be written as JSON").with_source(error))?;
            return Ok(Reply::new(Body::Text(text), data));
        }
        disk::replace(&path, text.as_bytes())?;
        let (number, shown) = (lock.tools.len(), path.display().to_string());
        let sentence = format!("Locked {} in {shown}", plural::count(number, "tool"));
        Ok(Reply::sentence(sentence, json!({ "file": shown, "tools": lock.tools })))
    }
}

fn locked(db: &Db<'_>, context: &Context, rules: &Rules, install: Install) -> Result<Locked> {
    let subject = checked::subject(&install);
    let verdict = trust::judge_by(rules, db, context, &subject)?;
    if verdict.status == Status::Refused {
        let why = format!("Cannot lock {}: somebody you trust vetoed it", subject.reference());
        return Err(Error::new(Code::TrustFailed, why)
            .hint(format!("`mcpkg tool verify {}` shows the signer that vetoed it", subject.reference())));
    }
    let odd = |_| Error::internal("an installed tool has no version");
    Ok(Locked {
        name: Name::parse(&install.name)?,
        version: install.version.parse::<Version>().map_err(odd)?,
        sha256: hex::encode(&install.sha256),
        registry: install.registry,
        identities: verdict.identities.iter().map(Identity::to_string).collect(),
        active: install.active,
    })
}
