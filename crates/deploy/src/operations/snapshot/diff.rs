//! `mcpkg snapshot diff`: shows line by line what a deploy changed.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::GROUP;
use crate::completions::SNAPSHOTS;
use crate::rollback::goal;
use mcpkg_base::diff;
use mcpkg_base::error::{Error, Result};
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};
use mcpkg_store::deploys::Image;
use mcpkg_store::snapshots::{self, File};
use mcpkg_store::{Db, blobs};

/// Show what a stored deploy changed
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Diff {
    /// Id of the snapshot, or a unique prefix of the id
    #[arg(value_name = "ID")]
    #[arg(add = SNAPSHOTS)]
    id: String,
}

impl Operation for Diff {
    const TOOL: &'static str = "diff_snapshot";
    const CLI: &'static [&'static str] = &["snapshot", "diff"];
    const TITLE: &'static str = "Diff a stored deploy";
    const ABOUT: &'static str = "Show what a stored deploy changed, line by line";
    const EXAMPLES: &'static [&'static str] = &["mcpkg snapshot diff 0199c0de"];
    const EFFECT: Effect = Effect::Read;
    const SHAPE: Shape = Shape::Envelope;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let snapshot = goal::find(context, &self.id)?;
        let diffs = context.store.read(|db| {
            let changed = snapshots::files(db, snapshot.id)?.into_iter().filter(|file| file.before != file.after);
            changed.map(|file| Ok((file_diff(db, &file)?, file.path))).collect::<Result<Vec<_>>>()
        })?;
        let list: Vec<Value> = diffs.iter().map(|(diff, path)| json!({ "path": path, "unified": diff })).collect();
        let text = diffs.into_iter().map(|(diff, _)| diff).collect();
        Ok(Reply::new(Body::Diff(text), json!({ "id": snapshot.uuid.to_string(), "files": list })))
    }
}

fn file_diff(db: &Db<'_>, file: &File) -> Result<String> {
    let text = |image: &Image| match image {
        Image::Absent => Ok(Some(String::new())),
        Image::Link(text) => Ok(Some(format!("link to {text}\n"))),
        Image::File { blob, .. } => Ok::<_, Error>(String::from_utf8(blobs::get(db, *blob)?).ok()),
    };
    let (Some(before), Some(after)) = (text(&file.before)?, text(&file.after)?) else {
        return Ok(format!("Binary files differ: {}\n", file.path));
    };
    let name = |image: &Image, side: &str| match image {
        Image::Absent => "/dev/null".to_owned(),
        Image::File { .. } | Image::Link(_) => format!("{side}{}", file.path),
    };
    Ok(diff::unified(&before, &after, &name(&file.before, "a"), &name(&file.after, "b")))
}
