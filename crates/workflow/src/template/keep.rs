//! `mcpkg template add` and `remove`: store and delete templates of a project.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::form::Template;
use super::library::{TEMPLATES, require};
use crate::GROUP;
use crate::answer::VERSION;
use crate::limits::MAX_BYTES;
use crate::saved::model::stored;
use crate::text::argument::{Text, text};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::redact;
use mcpkg_core::op::{Changes, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};
use mcpkg_store::workflows::templates;

/// Add a template
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Add {
    /// File with the template, YAML or JSON; - is standard input
    #[arg(value_parser = text)]
    file: Text,
    /// Replace the project's existing template with the same name
    #[arg(long)]
    #[serde(default)]
    update: bool,
}

impl Operation for Add {
    const TOOL: &'static str = "add_template";
    const CLI: &'static [&'static str] = &["template", "add"];
    const TITLE: &'static str = "Add a template";
    const ABOUT: &'static str = "Add a template to the project";
    const HELP: &'static str = "The `template` field of the file gives the template's name. In the template's workflow, `$(NAME)` \
        stands for the value of the parameter NAME. The project's template overrides a built-in template with the same name.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg template add our_release.yaml"];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes::NO_LIST;
    const SHAPE: Shape = Shape::Json(Some(VERSION));
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.file.name().into_owned()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let text = self.file.read()?;
        if text.len() > MAX_BYTES {
            return Err(Error::new(Code::InvalidArgument, "The template is larger than 1 MiB"));
        }
        let template = Template::of(&text)?;
        if redact::holds_secret(&text) {
            return Err(Error::new(Code::InvalidArgument, "The template contains a secret; nothing was stored"));
        }
        let name = template.name.as_str();
        let project = context.write("template.add", name, |db, project, author| {
            let there = templates::find(db, &context.selection, name)?;
            if let Some(there) = there
                && !self.update
                && stored(db, there.blob)? != text
            {
                let what = format!("Template '{name}' already exists in project '{}'", project.name);
                return Err(Error::new(Code::AlreadyExists, what).hint("--update replaces it"));
            }
            let new = templates::New {
                name,
                title: template.title.as_deref(),
                description: template.description.as_deref(),
                text: &text,
                now: author.now,
            };
            templates::set(db, project.id, new)?;
            Ok(project.name.clone())
        })?;
        let data = json!({ "name": name, "project": project });
        Ok(Reply::sentence(format!("Added template '{name}' to project '{project}'"), data))
    }
}

/// Remove a template
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Remove {
    /// Template name
    #[arg(add = TEMPLATES)]
    name: String,
}

impl Operation for Remove {
    const TOOL: &'static str = "remove_template";
    const CLI: &'static [&'static str] = &["template", "remove"];
    const TITLE: &'static str = "Remove a template";
    const ABOUT: &'static str = "Remove a template from the project";
    const EXAMPLES: &'static [&'static str] = &["mcpkg template remove our_release"];
    const ALIASES: &'static [&'static str] = &["rm"];
    const EFFECT: Effect = Effect::Destroy;
    const CHANGES: Changes = Changes::NO_LIST;
    const SHAPE: Shape = Shape::Json(Some(VERSION));
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn question(&self) -> String {
        format!("Remove template '{}'?", self.name)
    }

    fn look(&self, context: &Context) -> Result<()> {
        match require(context, &self.name)?.is_own {
            true => Ok(()),
            false => Err(Error::new(
                Code::InvalidArgument,
                format!("Template '{}' is built in and cannot be removed", self.name),
            )
            .hint("override it with a template of the same name: `mcpkg template add FILE`")),
        }
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let name = &self.name;
        self.look(context)?;
        let project = context.write("template.remove", name, |db, project, _| {
            templates::remove(db, project.id, name)?;
            Ok(project.name.clone())
        })?;
        let sentence = format!("Removed template '{name}' from project '{project}'");
        Ok(Reply::sentence(sentence, json!({ "name": name, "project": project })))
    }
}
