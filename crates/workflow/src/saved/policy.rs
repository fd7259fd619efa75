//! `mcpkg workflow policy`: allows or forbids running workflows of a project.

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::GROUP;
use crate::answer::VERSION;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Body, Changes, Confirmation, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};
use mcpkg_store::{Db, blobs, workflows};

/// Whether workflows and commands of a project can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// No workflow or command can run
    Deny,
    /// A person must confirm each plan before it runs
    Confirm,
}

impl Rule {
    /// Returns the word used in the database and in output.
    pub const fn word(self) -> &'static str {
        match self {
            Rule::Deny => "deny",
            Rule::Confirm => "confirm",
        }
    }
}

/// Returns the policy of a project; `confirm` by default.
pub fn of(db: &Db<'_>, project: i64) -> Result<Rule> {
    let Some(word) = workflows::policy(db, project)? else { return Ok(Rule::Confirm) };
    let known = [Rule::Deny, Rule::Confirm].into_iter().find(|rule| rule.word() == word);
    known.ok_or_else(|| blobs::damaged_value("a project has an unknown policy"))
}

/// Show or set the policy
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Policy {
    /// New policy [default: show the current policy]
    #[schemars(with = "Option<String>")]
    rule: Option<Rule>,
}

impl Operation for Policy {
    const TOOL: &'static str = "workflow_policy";
    const CLI: &'static [&'static str] = &["workflow", "policy"];
    const TITLE: &'static str = "Show or set the workflow policy";
    const ABOUT: &'static str = "Show or set whether workflows and commands can run in the project";
    const HELP: &'static str = "With `deny`, no workflow or command can run. With `confirm`, which is the default, a person must \
        confirm each plan before it runs. Only a person at a terminal can change `deny` to `confirm`; --yes cannot skip the question.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg workflow policy", "mcpkg workflow policy deny"];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes::NO_LIST;
    const SHAPE: Shape = Shape::Json(Some(VERSION));
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.rule.map(|rule| rule.word().to_owned()).unwrap_or_default()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let (now, id, project) =
            context.read(|db, project| Ok((of(db, project.id)?, project.uuid, project.name.clone())))?;
        let data = |rule: Rule| json!({ "project": project, "policy": rule.word() });
        let Some(rule) = self.rule else {
            return Ok(Reply::new(Body::Text(format!("{}\n", now.word())), data(now)));
        };
        if (now, rule) == (Rule::Deny, Rule::Confirm) {
            if context.confirmation != Confirmation::Ask {
                let why =
                    "Only a person at a terminal can allow workflows to run again; --yes cannot skip this confirmation";
                return Err(
                    Error::new(Code::TerminalRequired, why).hint("run the command at a terminal, without --yes")
                );
            }
            let text = format!("Workflows of project '{project}' are currently not allowed to run.");
            (context.ask)(
                Body::lines([text]),
                &format!("Allow workflows of project '{project}' to run after a person has confirmed the plan?"),
            )?;
        }
        context.write("workflow.policy", rule.word(), |db, project, author| {
            if of(db, project.id)? != now || project.uuid != id {
                let what = "Somebody else changed the policy, or selected another project, in the meantime; nothing was changed";
                return Err(Error::new(Code::Busy, what).hint("try again"));
            }
            if now == rule { Ok(false) } else { workflows::set_policy(db, project.id, rule.word(), author.now) }
        })?;
        let sentence = match rule {
            Rule::Deny => format!("Workflows and commands of project '{project}' cannot run"),
            Rule::Confirm => {
                format!("Workflows and commands of project '{project}' can run after a person confirms the plan")
            }
        };
        Ok(Reply::sentence(sentence, data(rule)))
    }
}
