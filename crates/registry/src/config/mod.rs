//! The settings of `mcpkg tool config`, and their default values.
//!
//! A setting that lets tools do more ([`Key::loosens`]) also needs a record of this user's approval on this
//! machine: the database row alone may come from a database that somebody else made.

mod key;
mod operation;

use std::time::Duration;

use serde_json::{Value, json};

use crate::package::unit;
use mcpkg_base::approved::{Approved, Kind};
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;
use mcpkg_core::op::Entry;
use mcpkg_store::Db;
use mcpkg_store::blobs::damaged_value;
use mcpkg_store::tools::settings;

pub use key::Key;
use mcpkg_base::sha256;

/// The operations, in documentation order.
pub const OPS: &[Entry] = &[Entry::of::<operation::Config>()];

/// Returns the value of a setting: the stored value if it takes effect on this machine ([`counts`]), otherwise the
/// default.
///
/// # Errors
/// `E_DAMAGED` if the stored text is not a valid value.
pub fn get(db: &Db<'_>, approved: &Approved, key: Key) -> Result<String> {
    let Some(text) = stored(db, key)? else { return Ok(key.usual().to_owned()) };
    match counts(approved, key, &text)? {
        true => Ok(text),
        false => Ok(key.usual().to_owned()),
    }
}

/// Returns the stored value of a setting, even if it has no effect on this machine.
///
/// # Errors
/// `E_DAMAGED` if the stored text is not a valid value.
pub fn stored(db: &Db<'_>, key: Key) -> Result<Option<String>> {
    let Some(text) = settings::get(db, key.name())? else { return Ok(None) };
    let damaged = |error| damaged_value(&format!("the setting {} is malformed", key.name())).with_source(error);
    key.check(&text).map(Some).map_err(damaged)
}

/// Stores the value of a setting. If the value lets tools do more than the default, call [`approve`] first.
pub fn set(db: &Db<'_>, key: Key, text: &str) -> Result<()> {
    settings::set(db, key.name(), &key.check(text)?)
}

/// Records on this machine that the user approved a value. Without the record, a value that lets tools do more has no
/// effect.
pub fn approve(approved: &Approved, key: Key, text: &str) -> Result<()> {
    let (name, note) = record(key, text);
    approved.put(Kind::ToolSetting, &name, &note)
}

/// Deletes the record that the user approved a value.
pub fn withdraw(approved: &Approved, key: Key, text: &str) -> Result<()> {
    approved.withdraw(Kind::ToolSetting, &record(key, text).0)
}

/// Returns whether a stored value takes effect on this machine.
pub fn counts(approved: &Approved, key: Key, text: &str) -> Result<bool> {
    if !key.loosens(text) {
        return Ok(true);
    }
    Ok(approved.get(Kind::ToolSetting, &record(key, text).0)?.is_some())
}

/// Returns whether tools may run without a sandbox; each tool also needs a person's permission.
pub fn allows_unsandboxed(db: &Db<'_>, approved: &Approved) -> Result<bool> {
    Ok(get(db, approved, Key::AllowUnsandboxed)? == key::TRUE)
}

/// Returns the container images that tools may do without: they then run with this machine's own programs.
pub fn stand_in(db: &Db<'_>) -> Result<Vec<String>> {
    Ok(text(db, Key::StandIn)?.split(',').filter(|image| !image.is_empty()).map(str::to_owned).collect())
}

/// Returns the stored timeout for runs whose caller and manifest set none; `None` if no timeout is stored.
pub fn timeout(db: &Db<'_>) -> Result<Option<Duration>> {
    let read = |time: String| {
        unit::time(&time).map_err(|why| damaged_value(&format!("the setting {}: {why}", Key::Timeout.name())))
    };
    stored(db, Key::Timeout)?.map(read).transpose()
}

/// Returns how many bytes all unpacked copies of archives may use together.
pub fn cache_size(db: &Db<'_>) -> Result<u64> {
    let size = text(db, Key::CacheSize)?;
    unit::size(&size).map_err(|why| damaged_value(&format!("the setting {}: {why}", Key::CacheSize.name())))
}

/// Returns how long a cached registry response stays valid.
pub fn answers_hold(db: &Db<'_>) -> Result<Millis> {
    let time = text(db, Key::CacheTtl)?;
    let time =
        unit::time(&time).map_err(|why| damaged_value(&format!("the setting {}: {why}", Key::CacheTtl.name())))?;
    Ok(Millis::try_from(time.as_millis()).unwrap_or(Millis::MAX))
}

/// Returns the value of a setting that needs no approval, because none of its values lets tools do more.
fn text(db: &Db<'_>, key: Key) -> Result<String> {
    Ok(stored(db, key)?.unwrap_or_else(|| key.usual().to_owned()))
}

fn record(key: Key, text: &str) -> (String, Value) {
    let note = json!({ "setting": key.name(), "value": text });
    (sha256::hex(note.to_string().as_bytes()), note)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpkg_base::error::Code;
    use mcpkg_store::Store;

    #[test]
    fn a_value_that_loosens_the_rules_needs_its_record() {
        let scratch = tempfile::tempdir().expect("a folder");
        let store = Store::open(&scratch.path().join("a.db")).expect("a database");
        let approved = Approved::below(scratch.path().join("approved"));
        let allows = || store.read(|db| allows_unsandboxed(db, &approved)).expect("a setting");
        assert!(!allows());
        store.write(|db| set(db, Key::AllowUnsandboxed, "true")).expect("set");
        assert!(!allows(), "a row alone counts");
        approve(&approved, Key::AllowUnsandboxed, "true").expect("a record");
        assert!(allows());
        withdraw(&approved, Key::AllowUnsandboxed, "true").expect("gone");
        assert!(!allows());
    }

    #[test]
    fn a_setting_has_its_usual_value_until_it_is_set_and_a_malformed_one_is_damage() {
        let scratch = tempfile::tempdir().expect("a folder");
        let store = Store::open(&scratch.path().join("a.db")).expect("a database");
        let read = || {
            store.read(|db| Ok((stand_in(db)?, timeout(db)?, cache_size(db)?, answers_hold(db)?))).expect("settings")
        };
        assert_eq!(read(), (Vec::new(), None, 1 << 30, 3_600_000));
        let set = |key, text| store.write(|db| set(db, key, text));
        for (key, text) in [
            (Key::StandIn, " node:20-alpine, python:3.12 "),
            (Key::Timeout, "90s"),
            (Key::CacheSize, "2GiB"),
            (Key::CacheTtl, "10m"),
        ] {
            set(key, text).expect("set");
        }
        let images = vec!["node:20-alpine".to_owned(), "python:3.12".to_owned()];
        assert_eq!(read(), (images, Some(Duration::from_secs(90)), 2 << 30, 600_000));
        assert_eq!(set(Key::Timeout, "soon").expect_err("no time").code(), Code::InvalidArgument);
        store.write(|db| settings::set(db, Key::Timeout.name(), "soon")).expect("written");
        assert_eq!(store.read(timeout).expect_err("malformed").code(), Code::Damaged);
    }
}
