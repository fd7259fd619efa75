//! Makes the console of `mcpkg console --web` known to this user's servers of the same database, so that an agent's
//! client can open the page of a request.

use std::path::Path;

use serde_json::json;
use uuid::Uuid;

use mcpkg_base::approved::{Approved, Held, Kind};
use mcpkg_base::error::Result;
use mcpkg_base::sha256;
use mcpkg_console::place::Place;
use mcpkg_core::op::Context;

use super::address;

/// Records the address of a console until the returned value is dropped. The record is outside the database, so a row
/// cannot send people to another site.
pub fn announce(context: &Context, url: &str) -> Result<Held> {
    let note = json!({ "address": url, "database": named(context.database()), "since": context.clock.now() });
    context.approved.hold(Kind::Console, &sha256::hex(url), &note)
}

/// Returns the address of the newest console that this user runs on this machine for a database.
pub fn find(approved: &Approved, database: &Path) -> Option<String> {
    let mut known = approved.held(Kind::Console).ok()?;
    known.retain(|note| note["database"] == named(database));
    let newest = known.into_iter().max_by_key(|note| note["since"].as_i64())?;
    newest["address"].as_str().map(str::to_owned)
}

fn named(database: &Path) -> String {
    database.display().to_string()
}

/// Returns the address of a consent request's page on the console at `url`. The address gives no rights: the person must be
/// signed in.
pub fn page(url: &str, request: Uuid) -> String {
    format!("{url}{}", address::of(&Place::Consent(request.to_string())).unwrap_or_default())
}
