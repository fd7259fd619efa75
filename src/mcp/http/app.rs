//! Builds and holds the parts of an HTTP server.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, Response, StatusCode};
use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::access_control::AccessControl;
use super::answer::{self, Body, Refusal};
use super::console;
use super::headers::{SESSION, VERSION, only};
use super::metrics::{Measured, Metrics};
use super::network::Network;
use super::origin::Origins;
use super::permits::Permits;
use super::rate::Rate;
use super::revocation::StreamRevocation;
use super::sessions::{Manager, Sessions};
use super::sign_in::host_of;
use super::sse_clients::Clients;
use super::stream::{Ends, KEEP_ALIVE, is_stream, stream};
use crate::mcp::Config;
use crate::mcp::call_log::{CallLog, Calls};
use crate::mcp::front::{self, ReadCache};
use crate::mcp::server::Server;
use crate::web::Beside;
use mcpkg_base::error::{Code, Error, Result};

/// The maximum number of open event streams.
const MAX_STREAMS: usize = 4096;

/// How long /readyz waits for the database.
const READY: Duration = Duration::from_secs(2);

pub(super) struct App {
    pub(super) server: Server,
    pub(super) config: Arc<Config>,
    pub(super) network: Network,
    pub(super) read_cache: Arc<ReadCache>,
    pub(super) origins: Origins,
    pub(super) access_control: Arc<AccessControl>,
    pub(super) mcp: StreamableHttpService<Server, Manager>,
    pub(super) manager: Arc<Manager>,
    pub(super) sessions: Arc<Sessions>,
    revocation: Arc<StreamRevocation>,
    /// The clients of the older transport (`/sse`).
    pub(super) sse: Clients,
    /// Cancelled when the server is about to stop, but still serves.
    pub(super) draining: CancellationToken,
    /// Cancelled when the streams have to end.
    pub(super) closing: CancellationToken,
    /// Cancelled when rmcp has to stop, including work in progress.
    pub(super) ended: CancellationToken,
    pub(super) metrics: Arc<Metrics>,
    pub(super) rate: Rate,
    streams: Arc<Semaphore>,
    /// Limits concurrent requests outside MCP.
    pub(super) permits: Permits,
    pub(super) console: Option<Beside>,
}

impl App {
    pub(super) fn new(server: Server, network: Network) -> Result<Arc<Self>> {
        let config = Arc::clone(&server.config);
        // On a network address, a key is required even if the database has none, because somebody may restore a backup
        // that has no keys.
        let key_required = network.key_required || network.sign_in.is_some() || !network.host.is_loopback();
        let manager = Arc::new(Manager::new());
        let ended = CancellationToken::new();
        let mut settings = StreamableHttpServerConfig::default()
            .with_sse_keep_alive(Some(KEEP_ALIVE))
            // With a retry interval, the answer to initialize would begin with an event without data, which older
            // clients cannot parse.
            .with_sse_retry(None)
            .disable_allowed_hosts()
            .with_json_response(true)
            .with_max_request_body_bytes(usize::MAX)
            .with_cancellation_token(ended.clone());
        settings.session_store = Some(manager.store());
        let rate = Rate::new(network.rate);
        let of_server = server.clone();
        let read_cache = Arc::new(ReadCache::new(&server.store, &config)?);
        let access_control = Arc::new(AccessControl::new(Arc::clone(&config), key_required, network.sign_in.clone()));
        let mut hosts = network.hosts.clone();
        hosts.extend(network.public_url.as_deref().and_then(host_of));
        let revocation = StreamRevocation::new(Box::new({
            let (read_cache, access_control) = (Arc::clone(&read_cache), Arc::clone(&access_control));
            move |grant, seen| access_control.holds(&read_cache, grant, seen)
        }));
        let mcp = StreamableHttpService::new(move || Ok(of_server.for_session()), Arc::clone(&manager), settings);
        let closing = CancellationToken::new();
        let metrics = Arc::new(Metrics::new());
        let console = network.console.then(|| {
            let names = (&network, hosts.as_slice());
            console::new((&server.store, &config), names, &server.console, &closing, &metrics)
        });
        let console = console.transpose()?;
        Ok(Arc::new(Self {
            read_cache,
            origins: Origins::new(network.tls.is_some(), network.host, &hosts, network.origins.clone()),
            access_control,
            server,
            config,
            network,
            mcp,
            manager,
            sessions: Arc::default(),
            revocation,
            sse: Clients::default(),
            draining: CancellationToken::new(),
            closing,
            ended,
            metrics,
            rate,
            streams: Arc::new(Semaphore::new(MAX_STREAMS)),
            permits: Permits::default(),
            console,
        }))
    }

    /// Returns the text of /metrics.
    pub(super) fn metrics_text(&self) -> String {
        let streams = MAX_STREAMS - self.streams.available_permits();
        let calls = self.server.calls.as_deref();
        let log = calls.and_then(Calls::log);
        self.metrics.text(&Measured {
            streams,
            sessions: self.sessions.count() + self.sse.count(),
            database: self.server.store.size(),
            audit_failing: log.is_some_and(CallLog::is_failing),
            audit_lost: log.map_or(0, CallLog::lost),
            spans_dropped: calls.map_or(0, Calls::dropped_spans),
        })
    }

    /// Returns the configuration for a request, including the tools installed in the session that its headers name.
    pub(super) fn in_session(&self, config: Arc<Config>, headers: &HeaderMap) -> Arc<Config> {
        if !config.installs_for_sessions() || only(headers, &VERSION) == Some(front::MODERN) {
            return config;
        }
        only(headers, &SESSION).and_then(|id| self.sessions.reach(id, &config)).unwrap_or(config)
    }

    /// Answers /readyz: whether the server can answer calls now. The endpoint needs no key, so an error of the database
    /// is only logged.
    pub(super) async fn ready(&self) -> Response<Body> {
        if self.draining.is_cancelled() {
            return answer::text(StatusCode::SERVICE_UNAVAILABLE, "not ready\nthe server is stopping\n");
        }
        let log = self.server.calls.as_deref().and_then(Calls::log);
        let audit = log.and_then(|log| Some(format!("the audit log cannot be written: {}\n", log.problem()?)));
        if log.is_some_and(CallLog::refuses) {
            let why = format!("not ready\n{}", audit.unwrap_or_default());
            return answer::text(StatusCode::SERVICE_UNAVAILABLE, why);
        }
        let read_cache = Arc::clone(&self.read_cache);
        let read = tokio::task::spawn_blocking(move || read_cache.read_now());
        let read = match tokio::time::timeout(READY, read).await {
            Ok(read) => read.unwrap_or_else(|_| Err(Error::internal("the read crashed"))),
            Err(_) => Err(Error::new(Code::Timeout, "The database does not respond")),
        };
        match read {
            Ok(()) => {
                // Other clients are served even if nobody can sign in.
                let sign_in =
                    self.network.sign_in.as_ref().and_then(|sign_in| sign_in.problem(self.access_control.now()));
                let problems = [sign_in, audit].into_iter().flatten().collect::<String>();
                answer::text(StatusCode::OK, format!("ready\n{problems}"))
            }
            Err(error) => {
                tracing::warn!(%error, "cannot read the database");
                answer::text(StatusCode::SERVICE_UNAVAILABLE, "not ready\n")
            }
        }
    }

    /// Prepares a response. If it is an event stream, it counts towards [`MAX_STREAMS`], keeps `held` until it closes,
    /// and ends when its key becomes invalid. A stream that only listens also ends when the server begins to stop, or
    /// when `listens` is cancelled.
    pub(super) fn streamed<G: Send + Sync + Unpin + 'static>(
        &self,
        response: Response<Body>,
        config: &Config,
        listens: Option<CancellationToken>,
        held: G,
    ) -> Result<Response<Body>, Refusal> {
        if !is_stream(&response) {
            return Ok(response);
        }
        let Ok(permit) = Arc::clone(&self.streams).try_acquire_owned() else {
            let why = "This server has too many open streams";
            return Err(Refusal::later(StatusCode::SERVICE_UNAVAILABLE, why, 30));
        };
        let key = self.revocation.open(config.grant.as_ref());
        let closing = if listens.is_some() { &self.closing } else { &self.ended };
        let (closing, taken_over) = (closing.clone(), listens.unwrap_or_default());
        let ends = Ends { closing, key, taken_over };
        Ok(response.map(|body| stream(body, ends, (permit, held))))
    }

    /// Ends the streams of keys that are no longer valid.
    pub(super) fn check_keys(&self) {
        self.revocation.check();
    }

    /// Frees memory of sessions that are unused and have no work in progress.
    pub(super) async fn rest(&self) {
        for id in self.sessions.tired() {
            let rest = async {
                if !self.manager.is_working(&id) {
                    self.manager.rest(&id.as_str().into()).await;
                }
            };
            self.sessions.rest(&id, rest).await;
        }
    }

    /// Ends the sessions that were idle for too long, and forgets old events and rate limits.
    pub(super) async fn sweep(&self) {
        self.rate.sweep();
        self.manager.sweep();
        for id in self.sessions.sweep(|id| self.manager.is_working(id)) {
            let _ = self.manager.close_session(&id.as_str().into()).await;
        }
    }
}
