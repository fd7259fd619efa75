//! Lists the tools of a plugin, and stores the list for the index of commands.

use super::connection::{Broken, Connection};
use super::runtime::Limits;
use super::tool::{self, Listing, MOST};
use mcpkg_base::clock::Clock;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::redact::redact;
use mcpkg_store::Store;
use mcpkg_store::events::{self, NewEvent};
use mcpkg_store::plugins;

pub fn ask(connection: &Connection, limits: &Limits) -> Result<Listing, Broken> {
    let listed = connection.tools(MOST + 1, limits)?;
    let mut listing = tool::listed(listed.tools).map_err(|error| Broken::Odd(error.message().to_owned()))?;
    // The text comes from the server, which may repeat secrets.
    listing.left_out.extend(listed.left_out.iter().map(|line| redact(line)));
    Ok(listing)
}

/// The database, the plugin's row in it, and the other values that are needed to store a plugin's reports.
#[derive(Clone)]
pub struct Keeping {
    pub store: Store,
    pub clock: Clock,
    /// The actor who started the plugin, for the audit trail.
    pub actor: String,
    pub id: i64,
    pub name: String,
    pub project: String,
}

impl Keeping {
    /// Stores the list of tools if it has changed. If the caller may only read, nothing is stored.
    pub fn tools(&self, listing: &Listing) -> Result<()> {
        let known = self.store.read(|db| plugins::tools(db, self.id))?;
        let listed = known.iter().filter_map(|tool| Some((&tool.name, tool.listed.as_ref()?)));
        let mut now: Vec<(&String, &String)> = listing.tools.iter().map(|(name, said)| (name, said)).collect();
        now.sort();
        if !self.store.may_write() || listed.eq(now) {
            return Ok(());
        }
        let at = self.clock.now();
        self.store.write(|db| {
            if !plugins::set_listed(db, self.id, &listing.tools, at)? {
                return Ok(());
            }
            let (actor, project) = (self.actor.as_str(), Some(self.project.as_str()));
            // The tools of a running plugin are also listed again without any call, so the event belongs to no session.
            let (kind, subject, session) = ("plugin.check", self.name.as_str(), None);
            let event = NewEvent { at, actor, project, kind, subject, outcome: "ok", session };
            events::append(db, event)
        })
    }

    /// Records that the plugin failed. If that cannot be stored, it is only logged, so that the caller gets the plugin's error.
    pub fn failure(&self, reason: &str) {
        let kept = self.store.write(|db| {
            let Some(row) = plugins::failures(db, self.id)? else { return Ok(()) };
            let standing = super::standing::Standing::of(&row, None).failed(self.clock.now(), reason);
            plugins::set_failures(db, self.id, &standing.stored(), Some(reason))
        });
        match kept {
            Err(error) if error.code() != Code::MayOnlyRead => {
                tracing::warn!(plugin = self.name, %error, "the failure of a plugin was not stored");
            }
            _ => {}
        }
    }

    /// Stores which kind of handshake worked. If this cannot be stored, it is only logged.
    pub fn era(&self, era: super::connection::Era) {
        let kept: Result<()> = self.store.write(|db| plugins::set_era(db, self.id, era.word()));
        if let Err(error) = kept {
            tracing::debug!(plugin = self.name, %error, "the protocol era of a plugin was not stored");
        }
    }
}

pub fn gone(name: &str) -> Error {
    Error::new(Code::NotFound, format!("The plugin '{}' was removed", name.escape_debug()))
}
