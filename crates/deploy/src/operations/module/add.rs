//! `mcpkg module add`: turns a resource into a module, so that it is deployed.

use schemars::JsonSchema;
use serde::Deserialize;

use super::edit::{keep, set_kind, unfit, written};
use super::summary::data;
use crate::GROUP;
use crate::module::Kind;
use crate::project::catalog;
use crate::project::stored_module::{INSTRUCTIONS, Item, SKILL, SUBAGENT, StoredModule};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_content::completions::RESOURCES;
use mcpkg_core::op::{Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::modules::{self, Row};
use mcpkg_store::projects::Project;
use mcpkg_store::resources::{self, Key, Resource};
use mcpkg_store::{Db, revisions};

/// Add a module
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Add {
    /// Name or URI of a resource, or the name of a prompt
    #[arg(value_name = "NAME|URI")]
    #[arg(add = RESOURCES)]
    name: String,
    /// Type of the module: instructions or prompt [default: instructions]
    #[arg(long = "type", value_name = "TYPE")]
    #[schemars(with = "Option<String>")]
    kind: Option<Kind>,
}

impl Operation for Add {
    const TOOL: &'static str = "add_module";
    const CLI: &'static [&'static str] = &["module", "add"];
    const TITLE: &'static str = "Add a module";
    const ABOUT: &'static str =
        "Turn a text resource into a module; also restores a module that you removed with `module remove`";
    const HELP: &'static str = "Prompts, skills and resources below instructions:// and subagent:// are already \
     modules. This command turns any other text resource, such as file:///docs/style.md, into instructions or a prompt \
     file.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg module add file:///docs/style.md", "mcpkg module add checklist --type prompt"];
    const EFFECT: Effect = Effect::Write;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let (after, project) = context
            .write("module.add", &self.name, |db, project, _| Ok((self.add(db, project)?, project.name.clone())))?;
        let sentence = format!("Added module '{}' to project '{project}'", after.id);
        Ok(Reply::sentence(sentence, data(&after)))
    }
}

impl Add {
    fn add(&self, db: &Db<'_>, project: &Project) -> Result<StoredModule> {
        let (known, _) = catalog::list(db, project)?;
        if let Some(before) = known.into_iter().find(|module| self.means(module)) {
            if before.row.enabled {
                return Err(Error::new(
                    Code::AlreadyExists,
                    format!("'{}' is a module already: {}", self.name, before.id),
                )
                .hint(format!("change the module with `mcpkg module set {}`", before.id)));
            }
            let mut row = Row { enabled: true, ..before.row.clone() };
            if let Some(kind) = self.kind {
                set_kind(&before, &mut row, kind)?;
            }
            return keep(db, project, &row);
        }
        let resource = self.resource(db, project)?;
        let kind = self.kind.unwrap_or(Kind::Instructions);
        if !matches!(kind, Kind::Instructions | Kind::Prompt) {
            return Err(unfit(&format!("Resource '{}'", resource.name), kind, "instructions or prompt"));
        }
        let item = format!("resource:{}", resource.uuid);
        let row = Row { item, kind: Some(kind.word().to_owned()), enabled: true, ..Row::default() };
        modules::put(db, project.id, &row)?;
        written(db, project, &row)
    }

    /// Whether the user's `name` refers to this module.
    fn means(&self, module: &StoredModule) -> bool {
        module.id == self.name
            || module.parts.iter().any(|part| match &part.source {
                Item::Prompt(prompt) => prompt.name == self.name,
                Item::Resource(resource) => resource.name == self.name || resource.attributes.uri == self.name,
                Item::Server(server) => server.name == self.name,
                Item::AgentFile(file) => file.path == self.name,
            })
    }

    fn resource(&self, db: &Db<'_>, project: &Project) -> Result<Resource> {
        let key = if self.name.contains(':') { Key::Uri(&self.name) } else { Key::Name(&self.name) };
        let resource = resources::find(db, project.id, key)?
            .ok_or_else(|| revisions::Kind::Resource.missing(db, project, &self.name))?;
        let uri = &resource.attributes.uri;
        let refuse = |why: String| Err(Error::new(Code::InvalidArgument, why));
        if [SKILL, INSTRUCTIONS, SUBAGENT].iter().any(|below| uri.starts_with(below)) {
            return refuse(format!("{} cannot be a module; `mcpkg module list` says why", uri.escape_debug()));
        }
        if !resource.attributes.text {
            return refuse(format!("Resource '{}' is not text, so it cannot be a module", resource.name));
        }
        Ok(resource)
    }
}
