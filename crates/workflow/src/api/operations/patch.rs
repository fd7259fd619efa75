//! `mcpkg catalog patch`: corrects a command of a catalog.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{CHANGES, COMMANDS};
use crate::GROUP;
use crate::api::catalog::{self, Catalog};
use crate::api::patch::Patch;
use crate::groups;
use crate::spec::{CommandEffect, Idempotency};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::catalogs;

/// With `--list`, says that the response is not a list. With `--pagination`, removes the correction of the pagination.
const NONE: &str = "none";

/// The keys of `--pagination`, each with the key that it sets in [`Patch::pagination`].
const PAGINATION: [(&str, &str); 4] =
    [("style", "style"), ("param", "param"), ("items", "items_path"), ("next", "next_cursor_path")];

/// The supported values of the key `style`.
const STYLES: [&str; 4] = ["cursor", "page", "offset", "link"];

/// Correct a command
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct PatchCommand {
    /// Id of the command
    #[arg(add = COMMANDS)]
    command: String,
    /// New name of the command, within its group
    #[arg(long, value_name = "NAME")]
    #[serde(default)]
    name: Option<String>,
    /// Effect of the command on existing data
    #[arg(long, value_enum)]
    #[serde(skip)]
    effect: Option<CommandEffect>,
    /// Effect of repeating a call with the same arguments
    #[arg(long, value_enum)]
    #[serde(skip)]
    idempotency: Option<Idempotency>,
    /// Path of the list in the response, such as data.items; `.` is the whole response, `none` means that the response is not a list
    #[arg(long, value_name = "PATH")]
    #[serde(default)]
    list: Option<String>,
    /// How the command paginates: style=cursor|page|offset|link, param=NAME, items=PATH, next=PATH; or `none`
    #[arg(long, value_name = "KEY=VALUE,...", value_delimiter = ',')]
    #[serde(default)]
    pagination: Vec<String>,
    /// Tag a response field's values: FIELD=TAG[,TAG...]; FIELD= removes the tags of FIELD
    #[arg(long, value_name = "FIELD=TAGS")]
    #[serde(default)]
    tag: Vec<String>,
    /// First remove all earlier corrections
    #[arg(long)]
    #[serde(default)]
    clear: bool,
}

impl Operation for PatchCommand {
    const TOOL: &'static str = "patch_catalog_command";
    const CLI: &'static [&'static str] = &["catalog", "patch"];
    const TITLE: &'static str = "Correct a command";
    const ABOUT: &'static str = "Correct what an API's description says about a command";
    const HELP: &'static str =
        "Corrections survive `mcpkg catalog refresh`. After you rename a command, you can still use its old id.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg catalog patch hosting:apps:restart:create --name apps:restart --idempotency idempotent",
        "mcpkg catalog patch hosting:apps:list --list data.items --tag id=app_id --tag name=app_name,display",
        "mcpkg catalog patch hosting:search:create --effect read --pagination style=cursor,param=after,next=next",
        "mcpkg catalog patch hosting:apps:list --clear",
    ];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: mcpkg_core::op::Changes = CHANGES;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.command.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let author = context.author();
        let (spec, patch) = context.store.write(|db| {
            let Some((row, command)) = catalogs::find(db, &self.command)? else {
                let ids = catalogs::ids(db)?;
                let error =
                    Error::new(Code::NotFound, format!("There is no command '{}' in any catalog", self.command));
                let known = ids.iter().map(|(_, id)| id.as_str());
                return Err(error.suggest(
                    &self.command,
                    known,
                    "list the commands of a catalog with `mcpkg catalog show NAME`",
                ));
            };
            let stored = catalog::unpatched(&command)?;
            let before = if self.clear { Patch::default() } else { catalog::patch(&command)? };
            let patch = self.patched(before, &stored.spec.group)?;
            let catalog = Catalog::of(row)?;
            let changed = catalog::row(&stored, &patch);
            let spec = catalog.command(&changed)?;
            if let Some(unknown) =
                patch.tags.keys().find(|tag| !spec.output_contract.fields.iter().any(|field| field.name == **tag))
            {
                let fields: Vec<&str> = spec.output_contract.fields.iter().map(|field| field.name.as_str()).collect();
                let error = Error::new(
                    Code::InvalidArgument,
                    format!("The response of '{}' has no field '{unknown}'", spec.id),
                );
                return Err(error.suggest(unknown, fields.iter().copied(), format!("it has {}", fields.join(", "))));
            }
            if changed != command {
                catalogs::update_command(db, catalog.id, &changed)?;
                context.event(db, author, None, "catalog.patch", &self.command)?;
            }
            Ok((spec, patch))
        })?;
        let sentence = match patch.is_empty() {
            true => format!("The command '{}' has no corrections", spec.id),
            false => format!("Corrected the command '{}'", spec.id),
        };
        let data = json!({
            "id": spec.id,
            "effect": spec.effect,
            "idempotency": spec.idempotency,
            "output_contract": { "list": spec.output_contract.list, "fields": spec.output_contract.fields },
            "patch": patch,
        });
        Ok(Reply::sentence(sentence, data))
    }
}

impl PatchCommand {
    /// Merges the options of this call into earlier corrections.
    fn patched(&self, mut patch: Patch, group: &str) -> Result<Patch> {
        if let Some(name) = &self.name {
            let name = name.strip_prefix(&format!("{group}:")).unwrap_or(name);
            for part in name.split(':') {
                groups::check(part, "part of a command's name")?;
            }
            patch.id = Some(format!("{group}:{name}"));
        }
        patch.effect = self.effect.or(patch.effect);
        patch.idempotency = self.idempotency.or(patch.idempotency);
        if let Some(list) = &self.list {
            patch.list = Some(if list == NONE { String::new() } else { list.clone() });
        }
        match &self.pagination[..] {
            [] => {}
            [none] if none == NONE => patch.pagination = None,
            pairs => patch.pagination = Some(pagination(pairs)?),
        }
        for tag in &self.tag {
            let Some((field, tags)) = tag.split_once('=').filter(|(field, _)| !field.is_empty()) else {
                return Err(Error::new(Code::InvalidArgument, format!("`{tag}` is not of the form FIELD=TAG"))
                    .hint("for example --tag id=app_id"));
            };
            let tags = tags.split(',').map(str::trim).filter(|tag| !tag.is_empty()).map(str::to_owned);
            patch.tags.insert(field.to_owned(), tags.collect());
        }
        Ok(patch)
    }
}

fn pagination(pairs: &[String]) -> Result<Map<String, Value>> {
    let mut made = Map::new();
    for pair in pairs {
        let known = pair.split_once('=').and_then(|(key, value)| {
            let (_, name) = PAGINATION.into_iter().find(|(short, _)| *short == key)?;
            (name != "style" || STYLES.contains(&value)).then_some((name, value))
        });
        let Some((name, value)) = known else {
            return Err(Error::new(Code::InvalidArgument, format!("`{pair}` is not a valid pagination setting")).hint(
                "for example style=cursor,param=after,next=next_cursor; the styles are cursor, page, offset and link",
            ));
        };
        made.insert(name.to_owned(), json!(value));
    }
    match made.contains_key("style") {
        true => Ok(made),
        false => Err(Error::new(Code::InvalidArgument, "--pagination needs style=...")
            .hint("the styles are cursor, page, offset and link")),
    }
}
