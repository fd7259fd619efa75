//! `mcpkg workflow expose` and `unexpose`: make a saved workflow available as an MCP tool.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::offered::{check, secrets, tool_name};
use crate::answer::VERSION;
use crate::check::Sound;
use crate::completions::WORKFLOWS;
use crate::saved::model::{self, Model};
use crate::spec::{CommandEffect, SourceKind};
use crate::{GROUP, word};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::plural;
use mcpkg_core::op::{Body, Changes, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};
use mcpkg_store::workflows::exposed::{self, Exposure};
use mcpkg_store::workflows::{self, Workflow};

/// Offer a workflow to agents as a tool
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Expose {
    /// Workflow name
    #[arg(add = WORKFLOWS)]
    name: String,
}

impl Operation for Expose {
    const TOOL: &'static str = "expose_workflow";
    const CLI: &'static [&'static str] = &["workflow", "expose"];
    const TITLE: &'static str = "Offer a workflow as a tool";
    const ABOUT: &'static str = "Offer a workflow to agents as a tool named workflow__NAME, after you confirm";
    const HELP: &'static str = "The tool takes the workflow's inputs, except secrets. Each call of the tool passes the same checks as \
        `execute`: the policy, the plan, and a person's consent to the plan. The tool's annotations state the effects that mcpkg \
        shows before you confirm. If the workflow changes, the annotations state that the tool can do anything, until you expose the \
        workflow again.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg workflow expose app_with_db"];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes::TOOLS;
    const SHAPE: Shape = Shape::Json(Some(VERSION));
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let (workflow, text) = context.read(|db, project| {
            let workflow = workflows::get(db, project, &self.name)?;
            let text = model::stored(db, workflow.blob)?;
            Ok((workflow, text))
        })?;
        let (model, checked) = Model::checked(context, &text)?;
        let what = || format!("Workflow '{}'", self.name);
        let sound = checked.sound.as_ref().ok_or_else(|| model::faulty(&what(), &checked.findings))?;
        check(&model.definition)?;
        let exposure = exposure(context, &workflow, sound);
        let tool = tool_name(&self.name);
        (context.ask)(shown(sound), &format!("Offer workflow '{}' to agents as the tool {tool}?", self.name))?;
        let project = context.write("workflow.expose", &self.name, |db, project, _| {
            let current = workflows::get(db, project, &self.name)?;
            if (current.uuid, current.revision) != (workflow.uuid, workflow.revision) {
                let what = format!("Somebody else changed workflow '{}' meanwhile; nothing was changed", self.name);
                return Err(Error::new(Code::PlanChanged, what).hint("review the workflow, then try again"));
            }
            exposed::set(db, project.id, current.uuid, &exposure)?;
            Ok(project.name.clone())
        })?;
        let sentence = format!("Workflow '{}' of project '{project}' is now offered as the tool {tool}", self.name);
        let data = json!({ "name": self.name, "project": project, "tool": tool, "effect": exposure.effect });
        let reply = Reply::sentence(sentence, data);
        Ok(match secrets(&model.definition).as_slice() {
            [] => reply,
            needed => reply
                .warn([format!("agents cannot provide the secrets that the workflow needs: {}", needed.join(", "))]),
        })
    }
}

/// Returns the facts to record: the hash of the workflow that the person was shown, and what its commands may do.
fn exposure(context: &Context, workflow: &Workflow, sound: &Sound) -> Exposure {
    let gravest = sound.specs.iter().map(|spec| spec.effect).max().unwrap_or(CommandEffect::Read);
    Exposure {
        model_hash: workflow.summary.model_hash,
        effect: word(gravest),
        open_world: sound.specs.iter().any(|spec| spec.source != SourceKind::Operations),
        exposed_at: context.clock.now(),
    }
}

/// Lists the steps with their effects, so that the person can decide.
fn shown(sound: &Sound) -> Body {
    let mut lines = vec![format!("{}:", plural::count(sound.order.len(), "step"))];
    for index in &sound.order {
        let (step, spec) = (&sound.definition.steps[*index], &sound.specs[*index]);
        let does = word(spec.effect);
        lines.push(match (&spec.method, &spec.path, &spec.base_url) {
            (Some(method), Some(path), Some(base)) => {
                format!("  {}: {method} {base}{path} ({}, {does})", step.id, spec.id)
            }
            _ => format!("  {}: {} ({does})", step.id, spec.id),
        });
    }
    Body::lines(lines)
}

/// Stop offering a workflow to agents
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Unexpose {
    /// Workflow name
    #[arg(add = WORKFLOWS)]
    name: String,
}

impl Operation for Unexpose {
    const TOOL: &'static str = "unexpose_workflow";
    const CLI: &'static [&'static str] = &["workflow", "unexpose"];
    const TITLE: &'static str = "Stop offering a workflow";
    const ABOUT: &'static str = "Stop offering a workflow to agents as a tool";
    const EXAMPLES: &'static [&'static str] = &["mcpkg workflow unexpose app_with_db"];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes::TOOLS;
    const SHAPE: Shape = Shape::Json(Some(VERSION));
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let (was, project) = context.write("workflow.unexpose", &self.name, |db, project, _| {
            let workflow = workflows::get(db, project, &self.name)?;
            Ok((exposed::remove(db, project.id, workflow.uuid)?, project.name.clone()))
        })?;
        let name = &self.name;
        let sentence = match was {
            true => format!("Workflow '{name}' of project '{project}' is no longer offered as a tool"),
            false => format!("Workflow '{name}' of project '{project}' was not offered as a tool"),
        };
        Ok(Reply::sentence(
            sentence,
            json!({ "name": name, "project": project, "tool": tool_name(name), "was_exposed": was }),
        ))
    }
}
