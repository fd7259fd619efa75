//! Reads and sets a file's attributes other than its content and mode: times, owner and extended attributes.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::platform;

/// The attributes of a file other than its content and mode.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Attributes {
    /// The time when the content was last changed, in nanoseconds since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    modified: Option<i128>,
    /// The user id and group id.
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<(u32, u32)>,
    /// The extended attributes by name, with their values in base64. They include access control lists.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    extended: BTreeMap<String, String>,
}

impl Attributes {
    /// Parses the value of a database column. An invalid value counts as missing.
    pub fn from_column(column: Option<&str>) -> Option<Self> {
        serde_json::from_str(column?).ok()
    }

    /// Returns the value for a database column.
    pub fn to_column(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }

    /// Drops the modification time. A file that replaces another one gets the attributes of the old file, except for
    /// this time.
    #[must_use]
    pub fn without_time(self) -> Self {
        Self { modified: None, ..self }
    }

    /// Reads the attributes of an open file, as far as the system supports them.
    pub fn of(file: &File) -> Self {
        let metadata = file.metadata().ok();
        let extended = platform::extended(file).into_iter().map(|(name, value)| (name, STANDARD.encode(value)));
        Self {
            modified: metadata.as_ref().and_then(platform::modified),
            owner: metadata.as_ref().and_then(platform::owner),
            extended: extended.collect(),
        }
    }

    /// Sets these attributes on an open file, as far as the user has permission.
    pub fn give(&self, file: &File) {
        let told = |what: &str, done: io::Result<()>| {
            if let Err(error) = done {
                tracing::debug!(%error, what, "cannot set an attribute of a file");
            }
        };
        let metadata = file.metadata();
        if let Some((user, group)) = self.owner
            && !metadata.as_ref().is_ok_and(|metadata| platform::owner(metadata) == self.owner)
        {
            told("owner", platform::set_owner(file, user, group));
            // Changing the owner clears some bits of the mode, so set the mode again.
            let _ = metadata.and_then(|metadata| file.set_permissions(metadata.permissions()));
        }
        for (name, value) in &self.extended {
            if let Ok(value) = STANDARD.decode(value) {
                told(name, platform::set_extended(file, name, &value));
            }
        }
        if let Some(modified) = self.modified {
            told("time", platform::set_modified(file, modified));
        }
    }
}
