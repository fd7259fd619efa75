//! Reads and sets a file's attributes other than its content and mode: times, owner and extended attributes.

use std::collections::BTreeMap;
use std::fs::File;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

/// The most bytes of extended attributes that are kept per file. Linux allows 64 KiB for a single attribute.
#[cfg(unix)]
const MAX_EXTENDED: usize = 256 << 10;

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

    /// Drops the modification time, for a file that replaces another one: it gets all other attributes of the old file.
    #[must_use]
    pub fn without_time(self) -> Self {
        Self { modified: None, ..self }
    }

    /// Reads the attributes of an open file, as far as the system supports them.
    #[cfg(unix)]
    pub fn of(file: &File) -> Self {
        use std::os::unix::fs::MetadataExt;
        let mut attributes = Self::default();
        if let Ok(metadata) = file.metadata() {
            attributes.modified =
                Some(i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec()));
            attributes.owner = Some((metadata.uid(), metadata.gid()));
        }
        let mut room = MAX_EXTENDED;
        for name in extended_names(file) {
            let mut value = Vec::with_capacity(room);
            if rustix::fs::fgetxattr(file, &*name, rustix::buffer::spare_capacity(&mut value)).is_ok() {
                room -= value.len();
                attributes.extended.insert(name, STANDARD.encode(value));
            }
        }
        attributes
    }

    /// Sets these attributes on an open file, as far as the user has permission.
    #[cfg(unix)]
    pub fn give(&self, file: &File) {
        use rustix::fs::{Gid, Timespec, Timestamps, Uid, XattrFlags};
        let told = |what: &str, done: rustix::io::Result<()>| {
            if let Err(error) = done {
                tracing::debug!(%error, what, "cannot set an attribute of a file");
            }
        };
        if let Some((user, group)) = self.owner
            && !is_of(file, user, group)
        {
            let mode = file.metadata().map(|metadata| metadata.permissions());
            told("owner", rustix::fs::fchown(file, Some(Uid::from_raw(user)), Some(Gid::from_raw(group))));
            // Changing the owner clears some bits of the mode, so set the mode again.
            let _ = mode.and_then(|mode| file.set_permissions(mode));
        }
        for (name, value) in &self.extended {
            if let Ok(value) = STANDARD.decode(value) {
                told(name, rustix::fs::fsetxattr(file, name.as_str(), &value, XattrFlags::empty()));
            }
        }
        if let Some(modified) = self.modified {
            let seconds = i64::try_from(modified.div_euclid(1_000_000_000)).unwrap_or(0);
            #[allow(clippy::cast_possible_truncation, reason = "below 1e9; the field's type differs between systems")]
            let time = Timespec { tv_sec: seconds, tv_nsec: modified.rem_euclid(1_000_000_000) as _ };
            told("time", rustix::fs::futimens(file, &Timestamps { last_access: time, last_modification: time }));
        }
    }

    /// Returns empty attributes: mcpkg does not support attributes on this system.
    #[cfg(not(unix))]
    pub fn of(_: &File) -> Self {
        Self::default()
    }

    /// Does nothing: mcpkg does not support attributes on this system.
    #[cfg(not(unix))]
    pub fn give(&self, _: &File) {}
}

#[cfg(unix)]
fn is_of(file: &File, user: u32, group: u32) -> bool {
    use std::os::unix::fs::MetadataExt;
    file.metadata().is_ok_and(|metadata| metadata.uid() == user && metadata.gid() == group)
}

/// Returns the names of a file's extended attributes that mcpkg keeps: `user.*`, and access control lists
/// (`system.posix_acl*`).
#[cfg(unix)]
fn extended_names(file: &File) -> Vec<String> {
    let mut names = Vec::with_capacity(MAX_EXTENDED);
    if rustix::fs::flistxattr(file, rustix::buffer::spare_capacity(&mut names)).is_err() {
        return Vec::new();
    }
    let names = names.split(|byte| *byte == 0).filter_map(|name| std::str::from_utf8(name).ok());
    names.filter(|name| name.starts_with("user.") || name.starts_with("system.posix_acl")).map(str::to_owned).collect()
}
