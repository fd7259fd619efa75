//! Implements `mcpkg undo` for prompts, resources and skills, for the selection of a project, and for folder bindings.

use uuid::Uuid;

use mcpkg_base::error::{Error, Result};
use mcpkg_core::op::{Context, Undo, Undoable};
use mcpkg_store::projects::{self, Project};
use mcpkg_store::resources::Key;
use mcpkg_store::revisions::{self, Author, Kind, Revision};
use mcpkg_store::{Db, blobs, prompts, resources};

pub const UNDO: Undo = Undo {
    items: &[&Item(Kind::Prompt), &Item(Kind::Resource), &Selected, &Bound],
    lasting: &[
        ("project.create", "delete the project with `mcpkg project delete`, which cannot be undone"),
        ("project.delete", "only a backup has the project: `mcpkg restore FILE`"),
        ("project.rename", "rename it back with `mcpkg project rename`"),
        ("mcp", "mcpkg keeps no history of MCP servers"),
        ("finding", "see `mcpkg finding list`; `mcpkg finding unignore` takes a mark back"),
        ("agent-file", "mcpkg keeps no history of agent files"),
        ("source", "it changed which sources the project has: see `mcpkg source list`"),
    ],
    ..Undo::NOTHING
};

/// Undoes changes of prompts or resources. A state is the number of a revision, or empty before the item was created.
struct Item(Kind);

/// Returns the revision with the number `state`, and the key of its project. `None` if there is no such revision.
fn revision(db: &Db<'_>, item: &str, state: &str) -> Result<Option<(i64, Revision)>> {
    let (Ok(item), Ok(number)) = (Uuid::parse_str(item), state.parse()) else { return Ok(None) };
    revisions::of_item(db, item, number)
}

/// Returns whether the item does not exist in this state.
fn is_gone(revision: Option<&(i64, Revision)>) -> bool {
    revision.is_none_or(|(_, revision)| revision.action == "delete")
}

fn project(db: &Db<'_>, key: i64) -> Result<Project> {
    projects::by_key(db, key)?.ok_or_else(|| Error::internal("a revision has no project"))
}

impl Item {
    /// Renames an existing item, and appends `more` to the URI of a resource.
    fn rename(
        &self,
        db: &Db<'_>,
        author: Author<'_>,
        project: &Project,
        live: &Revision,
        name: &str,
        more: &str,
    ) -> Result<()> {
        match self.0 {
            Kind::Prompt => {
                let Some(mut prompt) = prompts::by_uuid(db, project.id, live.item)? else { return Ok(()) };
                name.clone_into(&mut prompt.name);
                let content = crate::answer::text(blobs::get(db, prompt.blob)?)?;
                prompts::update(db, author, project, prompt, "rename", &content).map(drop)
            }
            Kind::Resource => {
                let Some(mut resource) = resources::by_uuid(db, project.id, live.item)? else { return Ok(()) };
                name.clone_into(&mut resource.name);
                resource.attributes.uri.push_str(more);
                resources::update(db, author, project, resource, "rename", None).map(drop)
            }
        }
    }
}

impl Undoable for Item {
    fn kind(&self) -> &'static str {
        self.0.word()
    }

    fn now(&self, _: &Context, db: &Db<'_>, item: &str) -> Result<String> {
        let newest = Uuid::parse_str(item).map_or(Ok(0), |item| revisions::newest(db, item))?;
        Ok(if newest == 0 { String::new() } else { newest.to_string() })
    }

    fn content(&self, db: &Db<'_>, item: &str, state: &str) -> Result<Option<String>> {
        if state.is_empty() {
            return Ok(Some(String::new()));
        }
        Ok(revision(db, item, state)?.map(|(_, revision)| match revision.action.as_str() {
            "delete" => String::new(),
            _ => format!("{}\n{}\n{}", revision.name, revision.blob, revision.attributes),
        }))
    }

    fn name(&self, db: &Db<'_>, item: &str, state: &str) -> Result<Option<String>> {
        let Some((_, revision)) = revision(db, item, state)? else { return Ok(None) };
        if self.0 == Kind::Resource {
            let uri = resources::attributes(&revision.attributes)?.uri;
            if let Some(file) = uri.strip_prefix("skill://") {
                return Ok(Some(format!("skill {file}")));
            }
        }
        Ok(Some(format!("{} {}", self.0.word(), revision.name)))
    }

    fn going(&self, db: &Db<'_>, item: &str, from: &str, to: &str) -> Result<Result<String, String>> {
        let (before, after) = (revision(db, item, from)?, revision(db, item, to)?);
        if is_gone(after.as_ref()) {
            return Ok(Ok("delete it; its history stays".to_owned()));
        }
        if is_gone(before.as_ref()) {
            return Ok(Ok(format!("bring back revision {to}")));
        }
        let renamed = before.zip(after).filter(|(before, after)| before.1.name != after.1.name);
        Ok(Ok(match renamed {
            Some((_, (_, after))) => format!("back to revision {to}, named '{}'", after.name),
            None => format!("back to revision {to}"),
        }))
    }

    fn obstacle(&self, db: &Db<'_>, item: &str, to: &str, moves: &dyn Fn(&str) -> bool) -> Result<Option<String>> {
        let Some((key, revision)) = revision(db, item, to)?.filter(|found| !is_gone(Some(found))) else {
            return Ok(None);
        };
        let name = &revision.name;
        let holders = match self.0 {
            Kind::Prompt => vec![prompts::find(db, key, name)?.map(|prompt| (prompt.uuid, prompt.name))],
            Kind::Resource => {
                let uri = resources::attributes(&revision.attributes)?.uri;
                let found = [Key::Name(name), Key::Uri(&uri)].map(|key_of| resources::find(db, key, key_of));
                let holder = |found: Option<resources::Resource>| found.map(|found| (found.uuid, found.name));
                found.into_iter().map(|found| found.map(holder)).collect::<Result<_>>()?
            }
        };
        let is_other = |uuid: &Uuid| *uuid != revision.item && !moves(&uuid.to_string());
        let holder = holders.into_iter().flatten().find(|(uuid, _)| is_other(uuid));
        Ok(holder.map(|(_, name)| format!("another {}, '{name}', has taken its name or URI", self.0.word())))
    }

    fn put(&self, _: &Context, db: &Db<'_>, author: Author<'_>, item: &str, to: &str) -> Result<()> {
        let now = revisions::newest(db, Uuid::parse_str(item).unwrap_or_default())?.to_string();
        let (from, to) = (revision(db, item, &now)?, revision(db, item, to)?);
        let Some((key, live)) = from else { return Err(Error::internal("an item without revisions")) };
        let project = project(db, key)?;
        let Some((_, to)) = to.filter(|found| !is_gone(Some(found))) else {
            return match self.0 {
                Kind::Prompt => prompts::delete(db, author, &project, &live.name).map(drop),
                Kind::Resource => resources::delete(db, author, &project, &live.name).map(drop),
            };
        };
        // A restore does not change the name of an existing item, so rename the item first.
        if live.action != "delete" && live.name != to.name {
            self.rename(db, author, &project, &live, &to.name, "")?;
        }
        match self.0 {
            Kind::Prompt => prompts::restore(db, author, &project, &to.name, &to).map(drop),
            Kind::Resource => resources::restore(db, author, &project, &to.name, &to).map(drop),
        }
    }

    fn aside(&self, db: &Db<'_>, author: Author<'_>, item: &str) -> Result<()> {
        let newest = revisions::newest(db, Uuid::parse_str(item).unwrap_or_default())?.to_string();
        let Some((key, live)) = revision(db, item, &newest)?.filter(|found| !is_gone(Some(found))) else {
            return Ok(());
        };
        self.rename(db, author, &project(db, key)?, &live, &format!("{}~{item}", live.name), item)
    }
}

/// Returns the project with the UUID in `state`, if it exists.
fn named(db: &Db<'_>, state: &str) -> Result<Option<Project>> {
    Uuid::parse_str(state).map_or(Ok(None), |uuid| projects::by_uuid(db, uuid))
}

fn id(project: Option<Project>) -> String {
    project.map(|project| project.uuid.to_string()).unwrap_or_default()
}

/// Describes the step to another project, such as `back to project 'a'`. The inner error says that the project no longer exists.
fn to_project(db: &Db<'_>, to: &str, none: &str) -> Result<Result<String, String>> {
    Ok(match named(db, to)? {
        Some(project) => Ok(format!("back to project '{}'", project.name)),
        None if to.is_empty() => Ok(none.to_owned()),
        None => Err("the project that was selected before no longer exists".to_owned()),
    })
}

/// Undoes the selection of another project. A state is the UUID of the selected project, or empty if no project is
/// selected.
struct Selected;

impl Undoable for Selected {
    fn kind(&self) -> &'static str {
        "selection"
    }

    fn now(&self, _: &Context, db: &Db<'_>, _: &str) -> Result<String> {
        Ok(id(projects::selected(db)?))
    }

    fn content(&self, _: &Db<'_>, _: &str, state: &str) -> Result<Option<String>> {
        Ok(Some(state.to_owned()))
    }

    fn name(&self, _: &Db<'_>, _: &str, _: &str) -> Result<Option<String>> {
        Ok(Some("selected project".to_owned()))
    }

    fn going(&self, db: &Db<'_>, _: &str, _: &str, to: &str) -> Result<Result<String, String>> {
        to_project(db, to, "select no project")
    }

    fn put(&self, _: &Context, db: &Db<'_>, _: Author<'_>, _: &str, to: &str) -> Result<()> {
        match named(db, to)? {
            Some(project) => projects::select(db, &project.name).map(drop),
            None => projects::deselect(db),
        }
    }
}

/// Undoes changes of folder bindings. A state is the UUID of the folder's project, or empty if the folder is not bound.
struct Bound;

impl Undoable for Bound {
    fn kind(&self) -> &'static str {
        "binding"
    }

    fn now(&self, _: &Context, db: &Db<'_>, folder: &str) -> Result<String> {
        Ok(id(projects::bound_to(db, folder)?))
    }

    fn content(&self, _: &Db<'_>, _: &str, state: &str) -> Result<Option<String>> {
        Ok(Some(state.to_owned()))
    }

    fn name(&self, _: &Db<'_>, folder: &str, _: &str) -> Result<Option<String>> {
        Ok(Some(format!("folder {folder}")))
    }

    fn going(&self, db: &Db<'_>, _: &str, _: &str, to: &str) -> Result<Result<String, String>> {
        to_project(db, to, "unbind it")
    }

    fn put(&self, _: &Context, db: &Db<'_>, _: Author<'_>, folder: &str, to: &str) -> Result<()> {
        match named(db, to)? {
            Some(project) => projects::bind(db, &project.name, folder).map(drop),
            None => projects::unbind(db, folder).map(drop),
        }
    }
}
