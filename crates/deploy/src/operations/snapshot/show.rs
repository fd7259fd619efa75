//! `mcpkg snapshot show`: shows the files of a snapshot.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::summary::summary;
use crate::GROUP;
use crate::completions::SNAPSHOTS;
use crate::rollback::goal;
use mcpkg_base::error::Result;
use mcpkg_base::hex;
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Shape, Table};
use mcpkg_store::deploys::{self, Image};
use mcpkg_store::snapshots::{self, File};

/// Show a stored deploy
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Show {
    /// Id of the snapshot, or a unique prefix of the id
    #[arg(value_name = "ID")]
    #[arg(add = SNAPSHOTS)]
    id: String,
}

impl Operation for Show {
    const TOOL: &'static str = "show_snapshot";
    const CLI: &'static [&'static str] = &["snapshot", "show"];
    const TITLE: &'static str = "Show a stored deploy";
    const ABOUT: &'static str =
        "Show the files of a stored deploy: the SHA-256 of each file before and after the deploy";
    const EXAMPLES: &'static [&'static str] = &["mcpkg snapshot show 0199c0de"];
    const EFFECT: Effect = Effect::Read;
    const SHAPE: Shape = Shape::Envelope;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let snapshot = goal::find(context, &self.id)?;
        let (files, root) = context
            .store
            .read(|db| Ok((snapshots::files(db, snapshot.id)?, deploys::place_key(db, snapshot.place)?.root)))?;
        let short = |image: &Image| match image {
            Image::Absent => "-".to_owned(),
            Image::Link(text) => format!("-> {text}"),
            Image::File { sha256, mode, .. } => format!("{} {mode:o}", &hex::encode(sha256)[..12]),
        };
        let rows = files
            .iter()
            .map(|file| vec![file.op.clone(), file.path.clone(), short(&file.before), short(&file.after)])
            .collect();
        let table = Table { columns: &["op", "path", "before", "after"], rows, empty: "No files".to_owned() };
        let mut data = summary(&snapshot, &root);
        data["files"] = files.iter().map(file_json).collect();
        Ok(Reply::new(Body::Below(root, Box::new(Body::Table(table))), data))
    }
}

fn file_json(file: &File) -> Value {
    let image = |image: &Image| match image {
        Image::Absent => Value::Null,
        Image::Link(text) => json!({ "link": text }),
        Image::File { sha256, mode, .. } => json!({ "sha256": hex::encode(sha256), "mode": format!("{mode:04o}") }),
    };
    json!({
        "path": file.path,
        "op": file.op,
        "targets": file.targets,
        "module_ids": file.module_ids,
        "before": image(&file.before),
        "after": image(&file.after),
    })
}
