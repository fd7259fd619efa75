//! Implements rmcp's handler, which answers every request that mcpkg's fast path ([`front`](super::front)) does not
//! answer.
//!
//! There is one file for each family of methods.
//!
//! A tool call that writes holds a write ticket, which the client's later reads wait for ([`super::tickets`]). It runs
//! on the blocking pool, or on its own thread if it may take minutes ([`super::long_calls`]). Its commit is on the disk
//! before the answer is sent. Then the watch of every server process sees the commit, and each notifies its clients
//! ([`super::subscriptions`]).

mod call;
mod consent;
mod handler;
mod lifecycle;
mod live;
mod long;
mod prompts;
mod rates;
mod read;
mod resources;
mod schedule;
mod skills;
mod subscriptions;
mod tasks;
mod tools;

use std::sync::{Arc, LazyLock, OnceLock};

use rmcp::RoleServer;
use rmcp::model::{Extensions, ProtocolVersion};
use rmcp::service::RequestContext;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use self::rates::Rates;
use super::Config;
use super::asker::AskerLimit;
use super::call_log::Calls;
use super::era::Era;
use super::limits::reads_at_once;
use super::long_calls::LongCalls;
use super::original::Followed;
use super::session::Session;
use super::subscriptions::{Hub, Subscriber};
use super::tasks::Tasks;
use mcpkg_base::error::Result;
use mcpkg_store::Store;

/// A server of one database; cheap to clone.
#[derive(Clone)]
pub(super) struct Server {
    pub(super) store: Store,
    pub(super) config: Arc<Config>,
    pub(super) hub: Arc<Hub>,
    /// The audit log and the exporter of spans, if the server has one of them.
    pub(super) calls: Option<Arc<Calls>>,
    session: Arc<Session>,
    reading: Arc<LazyLock<Arc<Semaphore>>>,
    searching: Arc<AskerLimit>,
    rates: Arc<Rates>,
    long: Arc<LongCalls>,
    followed: Option<Arc<Followed>>,
    pub(super) tasks: Arc<Tasks>,
    /// Cancelled when the process is about to end, so that running calls stop.
    pub(super) ending: CancellationToken,
    /// The address of the server's own console as browsers see it, if it has one. Set when the server listens.
    pub(super) console: Arc<OnceLock<String>>,
}

impl Server {
    /// Creates a server. Opens its audit log, and starts its exporter of traces and metrics.
    pub(super) fn new(store: Store, config: Config) -> Result<Self> {
        let calls = Calls::open(&store, &config)?;
        let hub = Arc::new(Hub::new(store.clone()));
        let tasks = Arc::new(Tasks::new(store.clone()));
        let rates = Arc::new(Rates::new(config.tool_rate));
        let followed = Followed::by(&store, &config).map(Arc::new);
        let reading: LazyLock<_> = LazyLock::new(|| Arc::new(Semaphore::new(reads_at_once())));
        Ok(Self {
            store,
            config: Arc::new(config),
            hub,
            calls,
            session: Arc::default(),
            reading: Arc::new(reading),
            searching: Arc::new(AskerLimit::new(1)),
            rates,
            long: Arc::default(),
            followed,
            tasks,
            ending: CancellationToken::new(),
            console: Arc::default(),
        })
    }

    /// Applies the changes in the files that the server follows. Runs before each request is answered.
    pub(super) fn keep_up(&self) {
        if let Some(followed) = &self.followed {
            followed.keep_up();
        }
    }

    /// Like [`Server::keep_up`], for callers on threads that must not block.
    pub(super) async fn keep_up_aside(&self) {
        if let Some(followed) = &self.followed {
            let followed = Arc::clone(followed);
            let _ = tokio::task::spawn_blocking(move || followed.keep_up()).await;
        }
    }

    /// Returns the protocol revision that the client of this session agreed on.
    pub(super) fn revision(&self) -> Option<&'static str> {
        self.session.revision.get().copied()
    }

    /// Returns a server of the same database for one more session.
    pub(super) fn for_session(&self) -> Self {
        Self { session: Arc::default(), ..self.clone() }
    }

    /// Returns a server for one more session with this configuration.
    pub(super) fn for_config(&self, config: Arc<Config>) -> Self {
        Self { config, ..self.for_session() }
    }

    /// Returns the configuration for a request: the one from its transport, or else the one that the server was started
    /// with.
    fn config(&self, extensions: &Extensions) -> Arc<Config> {
        let of_transport = extensions.get::<http::request::Parts>().and_then(|parts| parts.extensions.get());
        of_transport.unwrap_or(&self.config).clone()
    }

    /// Returns the subscriber that receives changes for this session.
    fn subscriber(&self, extensions: &Extensions) -> &Arc<Subscriber> {
        let subscribe = || Arc::new(self.hub.subscribe(&self.config(extensions)));
        self.session.subscriber.get_or_init(subscribe)
    }
}

/// Returns the protocol era of a request.
fn era(request: &RequestContext<RoleServer>) -> Era {
    match request.protocol_version() {
        Some(version) if version >= ProtocolVersion::V_2026_07_28 => Era::Modern,
        _ => Era::Legacy,
    }
}

/// Sets how long clients may cache a result that does not change. Older protocol revisions have no field for that time.
macro_rules! lasting {
    ($request:expr, $result:expr) => {
        match $crate::mcp::server::era($request) {
            $crate::mcp::era::Era::Modern => {
                $result.with_ttl_ms($crate::mcp::era::LASTING).with_cache_scope(rmcp::model::CacheScope::Private)
            }
            $crate::mcp::era::Era::Legacy => $result,
        }
    };
}

use lasting;
