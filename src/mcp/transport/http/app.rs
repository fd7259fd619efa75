//! What a server over HTTP consists of, and which address leads where.

use std::sync::Arc;
use std::time::Instant;

use http::{HeaderMap, Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use rmcp::ErrorData;
use rmcp::model::ErrorCode;
use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::Network;
use super::access_control::{AccessControl, owner};
use super::answer::{self, Body, Refusal};
use super::compression;
use super::connection::Caller;
use super::metrics::{self, Metrics};
use super::origin::{self, Origins};
use super::post::{SESSION, post};
use super::rate::Rate;
use super::replay_buffer::{Manager, is_common};
use super::revocation::StreamRevocation;
use super::sessions::Sessions;
use super::sse::{self, ALIVE, Clients};
use super::stream::{Ends, is_stream, stream};
use crate::error::Result;
use crate::mcp::Config;
use crate::mcp::front::ReadCache;
use crate::mcp::server::Server;

/// Event streams that may be open at once.
const MAX_STREAMS: usize = 4096;

const NO_OAUTH: &str = "This server knows no OAuth. It takes an access key, as the header `Authorization: Bearer KEY`: \
                        `mcpkg access create NAME` makes one, `mcpkg client add NAME --http URL --key-env MCPKG_KEY` has \
                        an agent send it";

/// A server over HTTP.
pub(super) struct App {
    pub(super) server: Server,
    pub(super) config: Arc<Config>,
    pub(super) network: Network,
    pub(super) read_cache: Arc<ReadCache>,
    origins: Origins,
    access_control: Arc<AccessControl>,
    pub(super) mcp: StreamableHttpService<Server, Manager>,
    pub(super) manager: Arc<Manager>,
    pub(super) sessions: Arc<Sessions>,
    revocation: Arc<StreamRevocation>,
    /// The clients of the older transport.
    pub(super) sse: Clients,
    /// Cancelled when the streams shall end.
    pub(super) closing: CancellationToken,
    /// Cancelled when rmcp shall end, with what it still works on.
    pub(super) ended: CancellationToken,
    metrics: Metrics,
    rate: Rate,
    streams: Arc<Semaphore>,
}

/// Where an address leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Mcp,
    Sse,
    Messages,
}

impl App {
    pub(super) fn new(server: Server, network: Network) -> Result<Arc<Self>> {
        let config = Arc::clone(&server.config);
        // Out in the network a key is asked for whatever becomes of the keys: a backup that holds none may be restored.
        let key_required = network.key_required || !network.host.is_loopback();
        let manager = Arc::new(Manager::new());
        let ended = CancellationToken::new();
        let settings = StreamableHttpServerConfig::default()
            .with_sse_keep_alive(Some(ALIVE))
            // The answer to initialize would begin with an event without data, whatever the revision.
            .with_sse_retry(None)
            .disable_allowed_hosts()
            .with_json_response(true)
            .with_max_request_body_bytes(usize::MAX)
            .with_cancellation_token(ended.clone());
        let rate = Rate::new(network.rate);
        let of_server = server.clone();
        let read_cache = Arc::new(ReadCache::new(&server.store, &config)?);
        let access_control = Arc::new(AccessControl::new(Arc::clone(&config), key_required));
        let revocation = StreamRevocation::new(Box::new({
            let (read_cache, access_control) = (Arc::clone(&read_cache), Arc::clone(&access_control));
            move |grant, seen| access_control.holds(&read_cache, grant, seen)
        }));
        let mcp = StreamableHttpService::new(move || Ok(of_server.for_session()), Arc::clone(&manager), settings);
        Ok(Arc::new(Self {
            read_cache,
            origins: Origins::new(network.tls.is_some(), network.host, &network.hosts, network.origins.clone()),
            access_control,
            server,
            config,
            network,
            mcp,
            manager,
            sessions: Arc::default(),
            revocation,
            sse: Clients::default(),
            closing: CancellationToken::new(),
            ended,
            metrics: Metrics::new(),
            rate,
            streams: Arc::new(Semaphore::new(MAX_STREAMS)),
        }))
    }

    /// Answers a request.
    pub(super) async fn answer(self: &Arc<Self>, caller: &Caller, request: Request<Incoming>) -> Response<Body> {
        let begun = Instant::now();
        let _in_flight = self.metrics.begin();
        let place = metrics::place(request.uri().path());
        let compresses = compression::wanted(request.headers(), caller.from);
        let page = self.origins.allowed(request.headers());
        let mut response = match self.route(caller, request).await {
            Ok(response) if compresses => compression::compressed(response).await,
            Ok(response) => response,
            Err(refusal) => refusal.into_response(),
        };
        if let Some(page) = page {
            origin::allow(&mut response, page);
        }
        self.metrics.count(place, response.status(), begun.elapsed());
        response
    }

    async fn route(self: &Arc<Self>, caller: &Caller, request: Request<Incoming>) -> Result<Response<Body>, Refusal> {
        check_single(request.headers())?;
        if request.uri().path() == "/healthz" {
            return Ok(answer::text(StatusCode::OK, "ok\n"));
        }
        self.origins.check(request.uri(), request.headers(), caller.local)?;
        if origin::is_preflight(&request) {
            return Ok(origin::preflight());
        }
        if request.uri().path() == "/readyz" {
            self.rate.check(&self.config, caller.from)?;
            return Ok(self.ready());
        }
        if request.uri().path() == "/metrics" {
            let config = self.access_control.admit(&self.read_cache, request.headers(), caller.from, None)?;
            if config.grant.as_ref().is_some_and(|grant| grant.project.is_some()) {
                return Err(Refusal::out_of_scope(
                    "What is counted is of all projects, and this access key is for one",
                ));
            }
            return Ok(answer::text(StatusCode::OK, self.tell_metrics()));
        }
        let (project, place) = self.find(request.uri().path())?;
        let config = self.access_control.admit(&self.read_cache, request.headers(), caller.from, project.as_deref())?;
        self.rate.check(&config, caller.from)?;
        match (place, request.method()) {
            (Place::Mcp, &Method::POST) => post(self, caller, config, request).await,
            (Place::Mcp, &Method::GET | &Method::DELETE) => self.session(config, request).await,
            (Place::Mcp, _) => Err(Refusal::method("GET, POST, DELETE")),
            (Place::Sse, &Method::GET) => sse::open(self, &config, project.as_deref()),
            (Place::Sse, _) => Err(Refusal::method("GET")),
            (Place::Messages, &Method::POST) => sse::message(self, caller, &config, request).await,
            (Place::Messages, _) => Err(Refusal::method("POST")),
        }
    }

    /// Returns the project that an address names, and what it leads to.
    fn find(&self, path: &str) -> Result<(Option<String>, Place), Refusal> {
        let unknown = || {
            // What clients look for where they were asked for a key; some show their user what they hear.
            let oauth = path.starts_with("/.well-known/") || matches!(path, "/register" | "/authorize" | "/token");
            Refusal::new(StatusCode::NOT_FOUND, if oauth { NO_OAUTH } else { "There is nothing at this address" })
        };
        let (project, place) = match path.strip_prefix("/projects/") {
            Some(rest) => {
                let (name, place) = rest.split_once('/').ok_or_else(unknown)?;
                crate::content::names::check("project", name).map_err(|_| unknown())?;
                (Some(name.to_owned()), place)
            }
            None => (None, path.strip_prefix('/').unwrap_or(path)),
        };
        let place = match place {
            "mcp" if self.network.http => Place::Mcp,
            "sse" if self.network.sse => Place::Sse,
            "messages" if self.network.sse => Place::Messages,
            _ => return Err(unknown()),
        };
        Ok((project, place))
    }

    fn tell_metrics(&self) -> String {
        let streams = MAX_STREAMS - self.streams.available_permits();
        self.metrics.tell(streams, self.sessions.count() + self.sse.count(), self.server.store.size())
    }

    /// Whether the database can be read. Whoever asks needs no key, and so hears no more than that; the log says why not.
    fn ready(&self) -> Response<Body> {
        match self.read_cache.read_now() {
            Ok(()) => answer::text(StatusCode::OK, "ready\n"),
            Err(error) => {
                tracing::warn!(%error, "the database cannot be read");
                answer::text(StatusCode::SERVICE_UNAVAILABLE, "not ready\n")
            }
        }
    }

    /// GET and DELETE of a session: its stream, its end.
    async fn session(&self, config: Arc<Config>, request: Request<Incoming>) -> Result<Response<Body>, Refusal> {
        let id = request.headers().get(&SESSION).map(|id| id.to_str().unwrap_or_default().to_owned());
        if let Some(id) = &id
            && !self.sessions.enter(id, &owner(&config))
        {
            return Err(Refusal::new(StatusCode::NOT_FOUND, "There is no such session; begin one with initialize"));
        }
        let ends = request.method() == Method::DELETE;
        let last = request.headers().get("last-event-id").and_then(|last| last.to_str().ok()).map(str::to_owned);
        let (mut parts, _) = request.into_parts();
        parts.extensions.insert(Arc::clone(&config));
        let empty = http_body_util::Empty::<bytes::Bytes>::new();
        let mut response = self.mcp.handle(Request::from_parts(parts, empty)).await;
        let mut listens = None;
        match &id {
            Some(id) if ends && response.status().is_success() => {
                self.sessions.end(id);
                // Done, and not only accepted: clients ask.
                *response.status_mut() = StatusCode::NO_CONTENT;
            }
            Some(id) if !ends && is_stream(&response) => {
                // A request's own stream is taken up again beside the other.
                listens = last.as_deref().is_none_or(is_common).then(|| self.sessions.listen(id));
                response = self.manager.follow(id, last.as_deref());
            }
            _ => {}
        }
        let open = id.as_deref().map(|id| self.sessions.open(id));
        self.streamed(response, &config, listens, open)
    }

    /// Returns a response of rmcp; an event stream is counted, holds `held`, and ends with its key. One that only
    /// listens ends with the server too, and with `listens`.
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
            let why = "This server has as many open streams as it takes";
            return Err(Refusal::later(StatusCode::SERVICE_UNAVAILABLE, why, 30));
        };
        let key = self.revocation.open(config.grant.as_ref());
        let closing = if listens.is_some() { &self.closing } else { &self.ended };
        let (closing, taken_over) = (closing.clone(), listens.unwrap_or_default());
        let ends = Ends { closing, key, taken_over };
        Ok(response.map(|body| stream(body, ends, (permit, held))))
    }

    /// Ends the streams of keys that are no longer good.
    pub(super) fn check_keys(&self) {
        self.revocation.check();
    }

    /// Ends the sessions that nobody uses any more.
    pub(super) async fn sweep(&self) {
        self.rate.sweep();
        self.manager.sweep();
        for id in self.sessions.sweep() {
            let _ = self.manager.close_session(&id.as_str().into()).await;
        }
    }
}

/// Headers of which a second one would leave it to chance which is read.
const SINGLE: [&str; 9] = [
    "host",
    "origin",
    "authorization",
    "content-type",
    "mcp-session-id",
    "mcp-protocol-version",
    "last-event-id",
    "mcp-method",
    "mcp-name",
];

/// Refuses a request that says twice what there is one of.
fn check_single(headers: &HeaderMap) -> Result<(), Refusal> {
    // Mostly no header is there twice.
    if headers.len() == headers.keys_len() {
        return Ok(());
    }
    let doubled = |name: &str| format!("The header {name} is there more than once");
    match SINGLE.into_iter().find(|name| headers.get_all(*name).iter().nth(1).is_some()) {
        // 2026-07-28 has a code for headers that do not say what the body says.
        Some(name @ ("mcp-method" | "mcp-name")) => {
            Err(Refusal::message(ErrorData::new(ErrorCode::HEADER_MISMATCH, doubled(name), None)))
        }
        Some(name) => Err(Refusal::new(StatusCode::BAD_REQUEST, doubled(name))),
        None => Ok(()),
    }
}
