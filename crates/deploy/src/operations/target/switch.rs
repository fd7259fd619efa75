//! `mcpkg target enable` and `disable`: set which agents the target `all` includes, for one project or for every
//! project without targets of its own.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::named;
use crate::GROUP;
use crate::completions::TARGETS;
use crate::source::chosen;
use crate::targets::Target;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::Db;
use mcpkg_store::targets::{self, Of};

/// Switch targets on
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Enable {
    /// Targets to include, such as gemini
    #[arg(value_name = "TARGET", required = true, add = TARGETS)]
    targets: Vec<String>,
    /// Apply the change to every project that has not set its own targets
    #[arg(long)]
    #[serde(default)]
    all_projects: bool,
}

impl Operation for Enable {
    const TOOL: &'static str = "enable_targets";
    const CLI: &'static [&'static str] = &["target", "enable"];
    const TITLE: &'static str = "Switch targets on";
    const ABOUT: &'static str = "Include these agents in target `all` for the current project";
    const HELP: &'static str = "This command deploys nothing: to see what a deploy would write, run `mcpkg plan`.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg target enable gemini opencode", "mcpkg target enable copilot --all-projects"];
    const EFFECT: Effect = Effect::Write;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.targets.join(" ")
    }

    fn run(self, context: &Context) -> Result<Reply> {
        switch(context, &self.targets, self.all_projects, true)
    }
}

/// Switch targets off
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Disable {
    /// Targets to exclude, such as vscode
    #[arg(value_name = "TARGET", required = true, add = TARGETS)]
    targets: Vec<String>,
    /// Apply the change to every project that has not set its own targets
    #[arg(long)]
    #[serde(default)]
    all_projects: bool,
}

impl Operation for Disable {
    const TOOL: &'static str = "disable_targets";
    const CLI: &'static [&'static str] = &["target", "disable"];
    const TITLE: &'static str = "Switch targets off";
    const ABOUT: &'static str = "Exclude these agents from target `all` for the current project";
    const HELP: &'static str = "Files already deployed for these agents stay. To remove the files, run `mcpkg rollback --to pristine \
        --target NAME`.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg target disable vscode", "mcpkg target disable cursor --all-projects"];
    const EFFECT: Effect = Effect::Write;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.targets.join(" ")
    }

    fn run(self, context: &Context) -> Result<Reply> {
        switch(context, &self.targets, self.all_projects, false)
    }
}

fn switch(context: &Context, words: &[String], all_projects: bool, on: bool) -> Result<Reply> {
    let wanted = words.iter().map(|word| named(word)).collect::<Result<Vec<Target>>>()?;
    let (kind, subject) = (if on { "target.enable" } else { "target.disable" }, words.join(" "));
    let change = |db: &Db<'_>, of: Of, now: Vec<Target>| {
        let is_on = |target: &Target| if wanted.contains(target) { on } else { now.contains(target) };
        let names: Vec<&str> =
            Target::all().iter().filter(|target| is_on(target)).map(|target| target.name()).collect();
        if names.is_empty() {
            return Err(Error::new(Code::InvalidArgument, "At least one target must stay enabled"));
        }
        targets::choose(db, of, &names)?;
        Ok(names.join(", "))
    };
    let (names, whose) = if all_projects {
        let names = context.store.write(|db| {
            let names = change(db, Of::All, chosen::of_all(db)?)?;
            context.event(db, context.author(), None, kind, &subject)?;
            Ok(names)
        })?;
        (names, "every project without targets of its own".to_owned())
    } else {
        context.write(kind, &subject, |db, project, _| {
            let names = change(db, Of::Project(project.uuid), chosen::of(db, project)?)?;
            Ok((names, format!("project '{}'", project.name)))
        })?
    };
    let sentence = format!("`all` now includes {names} in {whose}");
    Ok(Reply::sentence(sentence, json!({ "targets": names.split(", ").collect::<Vec<_>>() })))
}
