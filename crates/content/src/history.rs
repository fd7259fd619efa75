//! `mcpkg prompt|resource delete`, `history`, `diff` and `restore`: one implementation for prompts and resources.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::completions::{PROMPTS, RESOURCES};
use super::{GROUP, answer, prompts as prompt_ops, resources as resource_ops};
use mcpkg_base::clock::rfc3339;
use mcpkg_base::diff;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Body, Changes, Context, Effect, Faces, NoOutput, Operation, Reply, Table};
use mcpkg_store::revisions::{self, Kind, Revision};
use mcpkg_store::{blobs, prompts, resources};

/// The largest content, in bytes, that `diff` compares line by line.
const MAX_COMPARED: i64 = 16 << 20;

macro_rules! item_operations {
    ($kind:ident, $word:literal, $example:literal, $(#[$name:meta])+ $names:ident, $changes:ident,
     $delete:ident, $history:ident, $diff:ident, $restore:ident) => {
        #[doc = concat!("Delete a ", $word)]
        #[derive(clap::Args, Deserialize, JsonSchema)]
        pub struct $delete {
            $(#[$name])+
            #[arg(add = $names)]
            name: String,
        }

        impl Operation for $delete {
            const TOOL: &'static str = concat!("delete_", $word);
            const CLI: &'static [&'static str] = &[$word, "delete"];
            const TITLE: &'static str = concat!("Delete ", $word);
            const ABOUT: &'static str = concat!("Delete a ", $word, " from the selected project");
            const HELP: &'static str = concat!(
                "mcpkg keeps the ",
                $word,
                "'s history: to restore the ",
                $word,
                ", use `mcpkg ",
                $word,
                " restore NAME REVISION`."
            );
            const EXAMPLES: &'static [&'static str] = &[concat!("mcpkg ", $word, " delete ", $example)];
            const ALIASES: &'static [&'static str] = &["rm"];
            const EFFECT: Effect = Effect::Write;
            const CHANGES: Changes = Changes::$changes;
            const GROUP: &'static str = GROUP;
            const FACES: Faces = Faces::Both;
            type Output = NoOutput;

            fn subject(&self) -> String {
                self.name.clone()
            }

            fn run(self, context: &Context) -> Result<Reply> {
                delete(context, Kind::$kind, &self.name)
            }
        }

        #[doc = concat!("Show the revisions of a ", $word)]
        #[derive(clap::Args, Deserialize, JsonSchema)]
        pub struct $history {
            /// Name of the item, even if the item was deleted
            #[arg(add = $names)]
            name: String,
        }

        impl Operation for $history {
            const TOOL: &'static str = concat!($word, "_history");
            const CLI: &'static [&'static str] = &[$word, "history"];
            const TITLE: &'static str = concat!("History of a ", $word);
            const ABOUT: &'static str =
                concat!("Show the revisions of a ", $word, ", newest first, even if the ", $word, " was deleted");
            const EXAMPLES: &'static [&'static str] = &[concat!("mcpkg ", $word, " history ", $example)];
            const ALIASES: &'static [&'static str] = &["log"];
            const EFFECT: Effect = Effect::Read;
            const GROUP: &'static str = GROUP;
            const FACES: Faces = Faces::Command;
            const LISTS: Option<&'static str> = Some("revisions");
            type Output = NoOutput;

            fn run(self, context: &Context) -> Result<Reply> {
                history(context, Kind::$kind, &self.name)
            }
        }

        #[doc = concat!("Compare two revisions of a ", $word)]
        #[derive(clap::Args, Deserialize, JsonSchema)]
        pub struct $diff {
            /// Name of the item, even if the item was deleted
            #[arg(add = $names)]
            name: String,
            /// Revision to compare from [default: the second newest]
            from: Option<i64>,
            /// Revision to compare to [default: the newest]
            to: Option<i64>,
        }

        impl Operation for $diff {
            const TOOL: &'static str = concat!($word, "_diff");
            const CLI: &'static [&'static str] = &[$word, "diff"];
            const TITLE: &'static str = concat!("Compare revisions of a ", $word);
            const ABOUT: &'static str = concat!(
                "Show the last change of a ",
                $word,
                ", or the difference between two revisions, as a unified diff"
            );
            const EXAMPLES: &'static [&'static str] =
                &[concat!("mcpkg ", $word, " diff ", $example), concat!("mcpkg ", $word, " diff ", $example, " 1 3")];
            const EFFECT: Effect = Effect::Read;
            const GROUP: &'static str = GROUP;
            const FACES: Faces = Faces::Command;
            type Output = NoOutput;

            fn run(self, context: &Context) -> Result<Reply> {
                compared(context, Kind::$kind, &self.name, self.from, self.to)
            }
        }

        #[doc = concat!("Restore a revision of a ", $word)]
        #[derive(clap::Args, Deserialize, JsonSchema)]
        pub struct $restore {
            /// Name of the item, even if the item was deleted
            #[arg(add = $names)]
            name: String,
            /// Revision to restore; if you omit it, mcpkg lists the newest revisions
            revision: Option<i64>,
        }

        impl Operation for $restore {
            const TOOL: &'static str = concat!("restore_", $word);
            const CLI: &'static [&'static str] = &[$word, "restore"];
            const TITLE: &'static str = concat!("Restore a ", $word);
            const ABOUT: &'static str = concat!(
                "Restore a revision of a ",
                $word,
                " as the newest revision, even if the ",
                $word,
                " was deleted"
            );
            const EXAMPLES: &'static [&'static str] = &[
                concat!("mcpkg ", $word, " restore ", $example),
                concat!("mcpkg ", $word, " restore ", $example, " 2"),
            ];
            const EFFECT: Effect = Effect::Write;
            const GROUP: &'static str = GROUP;
            const FACES: Faces = Faces::Command;
            type Output = NoOutput;

            fn subject(&self) -> String {
                self.name.clone()
            }

            fn run(self, context: &Context) -> Result<Reply> {
                restore(context, Kind::$kind, &self.name, self.revision)
            }
        }
    };
}

item_operations!(
    Prompt,
    "prompt",
    "code-review",
    /// Prompt name
    PROMPTS,
    PROMPTS,
    PromptDelete,
    PromptHistory,
    PromptDiff,
    PromptRestore
);
item_operations!(
    Resource,
    "resource",
    "api-docs",
    /// Resource name
    RESOURCES,
    RESOURCES,
    ResourceDelete,
    ResourceHistory,
    ResourceDiff,
    ResourceRestore
);

fn delete(context: &Context, kind: Kind, name: &str) -> Result<Reply> {
    let event = format!("{}.delete", kind.word());
    let (data, revision, project) = context.write(&event, name, |db, project, author| {
        let (data, revision) = match kind {
            Kind::Prompt => {
                let prompt = prompts::delete(db, author, project, name)?;
                (prompt_ops::data(&project.name, &prompt), prompt.revision)
            }
            Kind::Resource => {
                let resource = resources::delete(db, author, project, name)?;
                (resource_ops::data(&project.name, &resource), resource.revision)
            }
        };
        Ok((data, revision, project.name.clone()))
    })?;
    let (word, before) = (kind.word(), revision.saturating_sub(1));
    // The history stays, so the item can be restored.
    Ok(Reply::sentence(format!("Deleted {word} '{name}' from project '{project}'"), data)
        .hint(format!("`mcpkg {word} restore {name} {before}` restores the {word}")))
}

fn history(context: &Context, kind: Kind, name: &str) -> Result<Reply> {
    let revisions = context.read(|db, project| {
        let revisions = revisions::history(db, project.id, kind, name)?;
        if revisions.is_empty() { Err(kind.missing(db, project, name)) } else { Ok(revisions) }
    })?;
    let action = |revision: &Revision| match revision.restored {
        Some(from) => format!("{} of {from}", revision.action),
        None => revision.action.clone(),
    };
    let rows = revisions
        .iter()
        .map(|revision| {
            vec![
                revision.number.to_string(),
                action(revision),
                revision.name.clone(),
                revision.size.to_string(),
                rfc3339(revision.at),
                revision.actor.clone(),
            ]
        })
        .collect();
    let data: Vec<Value> = revisions
        .iter()
        .map(|revision| {
            let mut data = answer::serialize(revision)?;
            data["attributes"] = blobs::shown_json(&revision.attributes);
            Ok(data)
        })
        .collect::<Result<_>>()?;
    let table = Table { columns: &["REVISION", "ACTION", "NAME", "BYTES", "AT", "BY"], rows, empty: String::new() };
    Ok(Reply::new(Body::Table(table), json!({ "revisions": data })))
}

fn compared(context: &Context, kind: Kind, name: &str, from: Option<i64>, to: Option<i64>) -> Result<Reply> {
    let sides = context.read(|db, project| {
        let newest = revisions::last(db, project.id, kind, name, 2)?;
        let Some(last) = newest.first() else { return Err(kind.missing(db, project, name)) };
        let Some(from) = from.or(newest.get(1).map(|revision| revision.number)) else { return Ok(None) };
        let side = |number| {
            let revision = revisions::get(db, project, kind, name, number)?;
            let text = if revision.size <= MAX_COMPARED {
                String::from_utf8(blobs::get(db, revision.blob)?).ok()
            } else {
                None
            };
            Ok::<_, Error>((text, revision))
        };
        Ok(Some((side(from)?, side(to.unwrap_or(last.number))?)))
    })?;
    let Some((old, new)) = sides else {
        let sentence = format!("{} '{name}' has only one revision, so there is nothing to compare", kind.title());
        return Ok(Reply::sentence(sentence, json!({ "name": name, "same": true, "diff": "" })));
    };
    let (from, to) = (old.1.number, new.1.number);
    let mut text = String::new();
    // One key per line, so that the diff shows exactly the attributes that changed.
    let attributes = |revision: &Revision| {
        let mut value = blobs::shown_json(&revision.attributes);
        if let Value::Object(map) = &mut value {
            map.insert("name".to_owned(), Value::from(revision.name.clone()));
        }
        format!("{value:#}\n")
    };
    text.push_str(&diff::unified(
        &attributes(&old.1),
        &attributes(&new.1),
        &format!("{name} {from} (attributes)"),
        &format!("{name} {to} (attributes)"),
    ));
    let (before, after) = (old.1.size, new.1.size);
    match (&old.0, &new.0) {
        (Some(old), Some(new)) => {
            text.push_str(&diff::unified(old, new, &format!("{name} {from}"), &format!("{name} {to}")))
        }
        _ if old.1.blob == new.1.blob => {}
        _ => {
            let kind = if before.max(after) > MAX_COMPARED { "Large" } else { "Binary" };
            text.push_str(&format!("{kind} contents differ ({before} and {after} bytes)\n"));
        }
    }
    let data = json!({ "name": name, "from": from, "to": to, "same": text.is_empty(), "diff": text });
    Ok(Reply::new(Body::Diff(text), data))
}

/// Returns the error for a restore without a revision. The error lists the newest revisions.
fn which(context: &Context, kind: Kind, name: &str) -> Result<Error> {
    const SHOWN: usize = 5;
    let newest = context.read(|db, project| {
        let newest = revisions::last(db, project.id, kind, name, SHOWN)?;
        if newest.is_empty() { Err(kind.missing(db, project, name)) } else { Ok(newest) }
    })?;
    let word = kind.word();
    let error = Error::new(
        Code::InvalidArgument,
        format!("No revision given: choose the revision of {word} '{name}' to restore"),
    );
    let error = newest.iter().fold(error, |error, revision| {
        error.hint(format!("{}: {}, {}, by {}", revision.number, revision.action, rfc3339(revision.at), revision.actor))
    });
    Ok(match context.is_shell() {
        true => error.hint(format!(
            "list all with `mcpkg {word} history {name}`; restore one with `mcpkg {word} restore {name} REVISION`"
        )),
        false => error.hint(format!("pass `revision`; the command mcpkg:{word}:history lists all revisions")),
    })
}

fn restore(context: &Context, kind: Kind, name: &str, number: Option<i64>) -> Result<Reply> {
    let Some(number) = number else { return Err(which(context, kind, name)?) };
    let event = format!("{}.restore", kind.word());
    let (data, name, revision, project) = context.write(&event, name, |db, project, author| {
        let revision = revisions::get(db, project, kind, name, number)?;
        let (data, name, newest) = match kind {
            Kind::Prompt => {
                let prompt = prompts::restore(db, author, project, name, &revision)?;
                (prompt_ops::data(&project.name, &prompt), prompt.name, prompt.revision)
            }
            Kind::Resource => {
                let resource = resources::restore(db, author, project, name, &revision)?;
                (resource_ops::data(&project.name, &resource), resource.name, resource.revision)
            }
        };
        Ok((data, name, newest, project.name.clone()))
    })?;
    let sentence = format!(
        "Restored {} '{name}' in project '{project}' from revision {number} as revision {revision}",
        kind.word()
    );
    Ok(Reply::sentence(sentence, data))
}
