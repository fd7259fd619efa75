//! The manifest `mcpkg.export.json`: contains what the paths and front matter of an exported folder cannot express.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::server::Server;
use super::{Entry, conflict};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::inside::stays_inside;
use mcpkg_base::shell;

/// The name of the manifest, which is at the root of an exported folder.
pub const FILE: &str = "mcpkg.export.json";

const VERSION: u32 = 1;

/// The content of a manifest.
#[derive(Serialize, Deserialize)]
pub struct Manifest {
    version: u32,
    /// The listed items by the paths of their files, with `/` separators.
    pub files: BTreeMap<String, Entry>,
    /// MCP servers whose settings the exported files cannot express completely.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<Server>,
}

impl Manifest {
    pub fn new(files: BTreeMap<String, Entry>, servers: Vec<Server>) -> Self {
        Self { version: VERSION, files, servers }
    }

    pub fn bytes(&self) -> Result<Vec<u8>> {
        let mut json = serde_json::to_vec_pretty(self)
            .map_err(|error| Error::internal("the manifest cannot be written as JSON").with_source(error))?;
        json.push(b'\n');
        Ok(json)
    }

    /// Reads the manifest of `folder`; `None` if there is none. Fails if the manifest is malformed, has a different
    /// version, or contains conflict markers or a path that leads out of the folder. `heal` is the hint of these
    /// errors, except for conflict markers.
    pub fn read(folder: &Path, heal: &str) -> Result<Option<Self>> {
        let path = folder.join(FILE);
        let bytes = match mcpkg_base::file::read(&path, mcpkg_base::file::TEXT) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::file("read", &path, error)),
        };
        let refuse = |why: String| Error::new(Code::InvalidArgument, format!("`{}` {why}", path.display())).hint(heal);
        if conflict::is_in(&bytes) {
            let file = shell::quote(&path.display().to_string());
            let take = format!(
                "keep one side completely with `git checkout --theirs -- {file}` (or `--ours`), and run the command \
                    again"
            );
            return Err(Error::new(Code::InvalidArgument, format!("`{}` {}", path.display(), conflict::WHY)).hint(take));
        }
        let manifest: Self = serde_json::from_slice(&bytes)
            .map_err(|error| refuse(format!("is not a valid export manifest: {error}")))?;
        if manifest.version != VERSION {
            return Err(refuse(format!("has version {}; this mcpkg supports version {VERSION}", manifest.version)));
        }
        match manifest.files.keys().find(|path| !stays_inside(path)) {
            Some(stray) => {
                Err(refuse(format!("lists `{}`, which is not a path inside the folder", stray.escape_debug())))
            }
            None => Ok(Some(manifest)),
        }
    }
}
