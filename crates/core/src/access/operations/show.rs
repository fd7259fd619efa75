//! `mcpkg access show`: shows what a key allows and whether it is still valid.

use schemars::JsonSchema;
use serde::Deserialize;

use super::standing::{KEYS, data, may, project_is_gone, project_name, state, wanted};
use crate::access::GROUP;
use crate::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_base::clock::rfc3339;
use mcpkg_base::error::Result;
use mcpkg_base::redact::redact;

/// Show an access key
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Show {
    /// Name of the key
    #[arg(add = KEYS)]
    name: String,
}

impl Operation for Show {
    const TOOL: &'static str = "show_access_key";
    const CLI: &'static [&'static str] = &["access", "show"];
    const TITLE: &'static str = "Show access key";
    const ABOUT: &'static str = "Show an access key: what it can access and do, when it expires, and whether it is \
        still valid";
    const EXAMPLES: &'static [&'static str] = &["mcpkg access show laptop"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        redact(&self.name)
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let now = context.clock.now();
        let (key, project) = context.store.read(|db| {
            let key = wanted(db, &self.name)?;
            let project = project_name(db, key.project)?;
            Ok((key, project))
        })?;
        let reaches = match (&key.project, &project) {
            (None, _) => "every project".to_owned(),
            (Some(_), Some(name)) => format!("project '{name}'"),
            (Some(_), None) => "a project that was deleted".to_owned(),
        };
        let mut lines = vec![
            format!("name: {}", key.name),
            format!("reaches: {reaches}"),
            format!("may: {}", may(&key)),
            format!("created: {}", rfc3339(key.created_at)),
            format!("expires: {}", key.expires_at.map_or_else(|| "never".to_owned(), rfc3339)),
            format!("state: {}", state(&key, project_is_gone(&key, project.as_deref()), now)),
        ];
        lines.extend(key.revoked_at.map(|at| format!("revoked: {}", rfc3339(at))));
        Ok(Reply::new(Body::Text(lines.join("\n") + "\n"), data(&key, project.as_deref(), now)))
    }
}
