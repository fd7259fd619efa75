//! Follows the files of the program that the server presents itself as ([`Original`]). While the server runs, changes
//! in these files take effect in the database.

use std::sync::{Mutex, PoisonError};

use super::Config;
use mcpkg_base::disk::Stat;
use mcpkg_core::op::{Context, Original};
use mcpkg_store::Store;

/// The files that a server follows. It checks them before each request, which costs only one stat per file.
pub(super) struct Followed {
    original: &'static Original,
    context: Context,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The files as they were last applied.
    taken: Option<Vec<Option<Stat>>>,
    /// The messages that were logged last.
    told: Vec<String>,
}

impl Followed {
    /// Returns the files that a server with `config` follows, after applying them for the first time.
    pub(super) fn by(store: &Store, config: &Config) -> Option<Self> {
        let originals = crate::DOMAINS.iter().filter_map(|domain| domain.original);
        let original = originals.into_iter().find(|original| original.identity == config.identity)?;
        let context = Context::shell(crate::DOMAINS, store.clone(), config.selection.clone());
        let followed = Self { original, context, state: Mutex::default() };
        followed.keep_up();
        Some(followed)
    }

    /// Applies the changes since the last time. Other requests wait meanwhile, so that none is answered from the old
    /// state.
    pub(super) fn keep_up(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // Look at the files before they are read, so that the next check finds a change that is made during the read.
        let now = (self.original.look)();
        if now.is_some() && now == state.taken {
            return;
        }
        let (taken, told) = match (self.original.take)(&self.context) {
            Ok(told) => (now, told),
            // The next request tries again.
            Err(error) => (None, vec![error.message().to_owned()]),
        };
        state.taken = taken;
        if told != state.told {
            told.iter().for_each(|what| tracing::warn!("{what}"));
            state.told = told;
        }
    }
}
