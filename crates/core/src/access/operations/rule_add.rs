//! `mcpkg access rule add`: gives access to people and programs, based on a claim in their tokens.

use schemars::JsonSchema;
use serde::Deserialize;

use super::rule::{claim, data, line};
use crate::access::GROUP;
use crate::op::{Changes, Context, Effect, Faces, Namespace, NoOutput, Operation, Reply};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::redact::redact;
use mcpkg_base::shell::quote;
use mcpkg_store::access_rules::{self, Rule};
use mcpkg_store::projects;

/// Add an access rule
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct AddRule {
    /// Claim that the token must have, such as groups=platform or scope=mcp:write
    #[arg(long, value_name = "NAME=VALUE")]
    claim: String,
    /// Allow reading only
    #[arg(long)]
    #[serde(default)]
    read_only: bool,
    /// Allow publishing tools in these namespaces, such as alice or alice/utils; needs a server started with --registry
    #[arg(long, value_name = "NAMESPACE,...", value_delimiter = ',')]
    #[serde(default)]
    publish: Vec<String>,
    /// Allow posting attestations of tools; needs a server started with --registry
    #[arg(long)]
    #[serde(default)]
    attest: bool,
    /// Allow running commands and workflows; you must still consent to each plan
    #[arg(long, conflicts_with = "read_only")]
    #[serde(default)]
    execute: bool,
}

impl Operation for AddRule {
    const TOOL: &'static str = "add_access_rule";
    const CLI: &'static [&'static str] = &["access", "rule", "add"];
    const TITLE: &'static str = "Add access rule";
    const ABOUT: &'static str = "Add a rule that gives access to people and programs who sign in, by a claim of their \
        tokens";
    const HELP: &'static str = "Rules apply to tokens of the issuer that `mcpkg serve --http --oauth-issuer` names. A \
        claim that is a list has to contain the value; `realm_access.roles=admin` looks into a claim that is an \
        object. With --project, the rule gives access only to that project; without, to all projects. If several \
        rules fit a token, it has the rights of all of them.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg access rule add --claim groups=platform",
        "mcpkg access rule add --claim groups=support --project auth-module --read-only",
        "mcpkg access rule add --claim scope=tools:publish --read-only --publish alice",
    ];
    const EFFECT: Effect = Effect::Create;
    const CHANGES: Changes = Changes::NO_LIST;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        redact(&self.claim)
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let claim = claim(&self.claim)?;
        let publish = self.publish.iter().map(|text| text.trim().parse()).collect::<Result<Vec<Namespace>>>()?;
        if context.selection.named.is_some() && (!publish.is_empty() || self.attest) {
            let why = "--publish and --attest need a rule for all projects";
            return Err(Error::new(Code::InvalidArgument, why)
                .hint("leave out --project, or add a second rule for the registry"));
        }
        let author = context.author();
        let (rule, project) = context
            .store
            .write(|db| {
                let project = match &context.selection.named {
                    Some(name) => Some(projects::get(db, name)?),
                    None => None,
                };
                let rule = Rule {
                    claim: claim.to_owned(),
                    project: project.as_ref().map(|project| project.uuid),
                    read_only: self.read_only,
                    publish: publish.iter().map(ToString::to_string).collect(),
                    attest: self.attest,
                    execute: self.execute,
                    created_at: author.now,
                };
                access_rules::insert(db, &rule)?;
                let project = project.map(|project| project.name);
                context.event(db, author, project.as_deref(), "access.rule.add", claim)?;
                Ok((rule, project))
            })
            .map_err(|error| match error.code() {
                Code::AlreadyExists => {
                    let project =
                        context.selection.named.as_ref().map_or_else(String::new, |name| format!(" --project {name}"));
                    let claim = quote(claim);
                    error.hint(format!(
                        "to change the rule, remove it first: mcpkg access rule remove --claim {claim}{project}"
                    ))
                }
                _ => error,
            })?;
        Ok(Reply::sentence(
            format!("Added the rule: {}", line(&rule, project.as_deref())),
            data(&rule, project.as_deref()),
        ))
    }
}
