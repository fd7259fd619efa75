//! `mcpkg access revoke`: revokes an access key.

use schemars::JsonSchema;
use serde::Deserialize;

use super::standing::{KEYS, data, project_name, wanted};
use crate::access::GROUP;
use crate::op::{Changes, Context, Effect, Faces, MissingDatabase, NoOutput, Operation, Reply};
use mcpkg_base::clock::rfc3339;
use mcpkg_base::error::Result;
use mcpkg_base::redact::redact;
use mcpkg_store::access::{self, Key};

/// Revoke an access key
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Revoke {
    /// Name of the key, or the key itself
    #[arg(add = KEYS)]
    name: String,
}

impl Operation for Revoke {
    const TOOL: &'static str = "revoke_access_key";
    const CLI: &'static [&'static str] = &["access", "revoke"];
    const TITLE: &'static str = "Revoke access key";
    const ABOUT: &'static str = "Revoke an access key permanently; running servers refuse the key, starting with \
        the next request";
    const HELP: &'static str = "You cannot use the name of a revoked key again. Even after you revoke the last key, \
        servers still require a key.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg access revoke laptop --yes"];
    const EFFECT: Effect = Effect::Destroy;
    const CHANGES: Changes = Changes::NO_LIST;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        redact(&self.name)
    }

    fn question(&self) -> String {
        format!("Revoke access key '{}'?", redact(&self.name))
    }

    fn missing_database(&self) -> MissingDatabase {
        MissingDatabase::StandInUnlessNamed
    }

    fn look(&self, context: &Context) -> Result<()> {
        context.store.read(|db| wanted(db, &self.name)).map(drop)
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let author = context.author();
        let (was, project) = context.store.write(|db| {
            let key = wanted(db, &self.name)?;
            access::revoke(db, &key.key_id, author.now)?;
            let project = project_name(db, key.project)?;
            context.event(db, author, project.as_deref(), "access.revoke", &key.name)?;
            Ok((key, project))
        })?;
        let sentence = match was.revoked_at {
            Some(at) => format!("Access key '{}' was already revoked at {}", was.name, rfc3339(at)),
            None => format!("Revoked access key '{}'", was.name),
        };
        let revoked_at = was.revoked_at.or(Some(author.now));
        Ok(Reply::sentence(sentence, data(&Key { revoked_at, ..was }, project.as_deref(), author.now)))
    }
}
