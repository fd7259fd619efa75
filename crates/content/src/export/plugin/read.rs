//! Reads the content of a project that a plugin may contain.

use std::collections::HashMap;

use super::making::{CLAUDE, CODEX, COPILOT, Content, GEMINI};
use super::name::named;
use super::remark::{self, Kind};
use crate::item::server::Server;
use crate::stored;
use mcpkg_base::error::Result;
use mcpkg_store::modules::{self, Row};
use mcpkg_store::projects::Project;
use mcpkg_store::{Db, blobs, servers};

impl Content {
    /// Reads a project. Adds a remark for each module that is disabled or is not for any agent that installs plugins.
    pub fn read(db: &Db<'_>, project: &Project) -> Result<Self> {
        let rows: HashMap<String, Row> =
            modules::all(db, project.id)?.into_iter().map(|row| (row.item.clone(), row)).collect();
        let mut content = Self {
            project: project.name.clone(),
            servers: servers::all(db, project.id)?.into_iter().map(Server::from).collect(),
            ..Self::default()
        };
        for stored in stored::all(db, project)? {
            let Some(blob) = stored.own_blob() else { continue };
            let row = stored.module().and_then(|module| rows.get(&module));
            if let Some(why) = row.and_then(reason) {
                let (word, name) = named(&stored.entry);
                remark::add(&mut content.remarks, Kind::LeftOut, &[], word, &name, why);
                continue;
            }
            content.items.push((stored.entry, blobs::content(db, blob)?));
        }
        Ok(content)
    }
}

/// Returns the reason to leave a module out.
fn reason(row: &Row) -> Option<&'static str> {
    let is_ours = |target: &String| [CLAUDE, CODEX, COPILOT, GEMINI].contains(&target.replace('-', "_").as_str());
    match row {
        Row { enabled: false, .. } => Some("it is disabled"),
        Row { targets, .. } if !targets.is_empty() && !targets.iter().any(is_ours) => Some("it is for other agents"),
        _ => None,
    }
}
