//! Changes the list of MCP servers in a folder's manifest.

use std::collections::{BTreeMap, BTreeSet};

use crate::item::{server, server::Server};
use mcpkg_base::error::{Error, Result};
use mcpkg_base::sha256;
use mcpkg_store::blobs;
use mcpkg_store::syncs::Write;

/// A change to one server in the manifest's list.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Listing {
    name: String,
    before: Option<Server>,
    after: Option<Server>,
}

impl Listing {
    /// Returns the changes that turn the list `before` into `after`.
    pub(super) fn differences(before: &[Server], after: &[Server]) -> Vec<Self> {
        let by_name = |servers: &[Server]| -> BTreeMap<String, Server> {
            servers.iter().map(|server| (server.name.clone(), server.clone())).collect()
        };
        let (mut before, mut after) = (by_name(before), by_name(after));
        let names: BTreeSet<String> = before.keys().chain(after.keys()).cloned().collect();
        let listings =
            names.into_iter().map(|name| Self { before: before.remove(&name), after: after.remove(&name), name });
        listings.filter(|listing| listing.before != listing.after).collect()
    }

    /// Returns the journal row for this change.
    pub(super) fn row(&self) -> Result<Write> {
        Ok(Write {
            path: server::path(&self.name),
            before: self.before.as_ref().map(sha256).transpose()?,
            blob: None,
            executable: false,
            listed: self.after.as_ref().map(json).transpose()?,
        })
    }
}

/// The result of changing one server in the manifest's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listed {
    Already,
    /// The change was made.
    Done,
    /// Somebody else changed the server since it was read, so the server stays unchanged.
    Changed,
}

/// Applies a journal row to the manifest's list, which is sorted by name.
pub(super) fn write(listed: &mut Vec<Server>, write: &Write) -> Result<Listed> {
    let wanted = write.listed.as_deref().map(serde_json::from_str::<Server>).transpose();
    let wanted = wanted.map_err(|error| blobs::damaged_value("a sync's row is malformed").with_source(error))?;
    let name = server::name(&write.path).unwrap_or_default();
    let at = listed.iter().position(|server| server.name == name);
    let found = at.map(|at| &listed[at]);
    if found == wanted.as_ref() {
        return Ok(Listed::Already);
    }
    if found.map(sha256).transpose()? != write.before {
        return Ok(Listed::Changed);
    }
    match (at, wanted) {
        (Some(at), Some(wanted)) => listed[at] = wanted,
        (Some(at), None) => drop(listed.remove(at)),
        (None, Some(wanted)) => {
            let at = listed.iter().position(|server| server.name > wanted.name).unwrap_or(listed.len());
            listed.insert(at, wanted);
        }
        (None, None) => {}
    }
    Ok(Listed::Done)
}

fn json(server: &Server) -> Result<String> {
    serde_json::to_string(server)
        .map_err(|error| Error::internal("an MCP server cannot be written as JSON").with_source(error))
}

fn sha256(server: &Server) -> Result<[u8; 32]> {
    Ok(sha256::of(json(server)?.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpkg_store::servers::{Definition, Origin, Text};

    fn server(name: &str, command: &str) -> Server {
        let definition = Definition::stdio(Text::plain(command));
        Server { name: name.to_owned(), definition, origin: Origin::default(), enabled: true }
    }

    #[test]
    fn a_list_is_updated_and_changes_by_others_stay() {
        let before = [server("a", "a"), server("b", "b"), server("d", "d")];
        let after = [server("a", "a"), server("b", "new"), server("c", "c")];
        let rows: Vec<Write> =
            Listing::differences(&before, &after).iter().map(|listing| listing.row().unwrap()).collect();
        assert_eq!(rows.len(), 3, "what is the same is not written");
        let mut listed = before.to_vec();
        for expected in [Listed::Done, Listed::Already] {
            for row in &rows {
                assert_eq!(write(&mut listed, row).unwrap(), expected, "{}", row.path);
            }
            assert_eq!(listed, after);
        }
        let mut edited = vec![server("b", "theirs"), server("c", "theirs")];
        let kept = edited.clone();
        let outcomes: Vec<Listed> = rows.iter().map(|row| write(&mut edited, row).unwrap()).collect();
        assert_eq!(outcomes, [Listed::Changed, Listed::Changed, Listed::Already]);
        assert_eq!(edited, kept);
    }
}
