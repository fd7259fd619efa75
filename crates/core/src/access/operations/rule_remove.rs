//! `mcpkg access rule remove`: removes an access rule.

use schemars::JsonSchema;
use serde::Deserialize;
use uuid::Uuid;

use super::rule::{CLAIMS, claim, data, line};
use super::standing::project_name;
use crate::access::GROUP;
use crate::op::{Changes, Context, Effect, Faces, MissingDatabase, NoOutput, Operation, Reply};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::redact::redact;
use mcpkg_store::access_rules::{self, Rule};
use mcpkg_store::{Db, projects};

/// Remove an access rule
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct RemoveRule {
    /// Claim of the rule, as `mcpkg access rule list` shows it
    #[arg(long, value_name = "NAME=VALUE", add = CLAIMS)]
    claim: String,
}

impl RemoveRule {
    /// Returns the rule to remove. If a project is named, this is the claim's rule for that project. Otherwise it is
    /// the claim's rule for all projects or, if there is none, a rule of the claim whose project was deleted.
    fn wanted(&self, db: &Db<'_>, context: &Context) -> Result<Rule> {
        let claim = claim(&self.claim)?;
        let rules: Vec<Rule> = access_rules::list(db)?.into_iter().filter(|rule| rule.claim == claim).collect();
        let project: Option<Uuid> = match &context.selection.named {
            Some(name) => Some(projects::get(db, name)?.uuid),
            None => None,
        };
        if let Some(rule) = rules.iter().find(|rule| rule.project == project) {
            return Ok(rule.clone());
        }
        let mut gone = Vec::new();
        let mut named = Vec::new();
        for rule in rules {
            match project_name(db, rule.project)? {
                Some(name) => named.push(name),
                None => gone.push(rule),
            }
        }
        if let (None, Some(rule)) = (project, gone.pop()) {
            return Ok(rule);
        }
        let error = Error::new(Code::NotFound, format!("There is no such access rule for '{claim}'"));
        Err(match named.first() {
            Some(name) => error.hint(format!("there is one for a project: add --project {name}")),
            None => error.hint("`mcpkg access rule list` shows the existing rules"),
        })
    }
}

impl Operation for RemoveRule {
    const TOOL: &'static str = "remove_access_rule";
    const CLI: &'static [&'static str] = &["access", "rule", "remove"];
    const TITLE: &'static str = "Remove access rule";
    const ABOUT: &'static str = "Remove an access rule; running servers apply this from the next request on, and end \
        streams that only this rule allowed";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg access rule remove --claim groups=support --project auth-module --yes"];
    const ALIASES: &'static [&'static str] = &["rm"];
    const EFFECT: Effect = Effect::Destroy;
    const CHANGES: Changes = Changes::NO_LIST;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        redact(&self.claim)
    }

    fn question(&self) -> String {
        format!("Remove the access rule for '{}'?", redact(&self.claim))
    }

    fn missing_database(&self) -> MissingDatabase {
        MissingDatabase::StandInUnlessNamed
    }

    fn look(&self, context: &Context) -> Result<()> {
        context.store.read(|db| self.wanted(db, context)).map(drop)
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let author = context.author();
        let (rule, project) = context.store.write(|db| {
            let rule = self.wanted(db, context)?;
            access_rules::remove(db, &rule, author.now)?;
            let project = project_name(db, rule.project)?;
            context.event(db, author, project.as_deref(), "access.rule.remove", &rule.claim)?;
            Ok((rule, project))
        })?;
        let sentence = format!("Removed the rule: {}", line(&rule, project.as_deref()));
        Ok(Reply::sentence(sentence, data(&rule, project.as_deref())))
    }
}
