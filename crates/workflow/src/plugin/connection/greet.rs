//! Opens a connection: starts or connects to a plugin, and performs the handshake.

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ProtocolVersion, SubscriptionFilter};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, Peer, RunningService, serve_client_with_lifecycle_and_ct,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use super::broken::{Broken, ungreeted, wait_for_turn};
use super::child::Child;
use super::era::Era;
use super::handler::Handler;
use super::heard::Heard;
use super::launch::Launch;
use super::link::Connection;
use crate::plugin::runtime::{Cut, Limits, within};
use mcpkg_base::http::{self, Url};
use mcpkg_base::process::Program;

type Served = RunningService<RoleClient, Handler>;

/// How long to wait for a program to end after its handshake failed.
const END: Duration = Duration::from_secs(5);

/// Opens a connection. `known` is the kind of handshake that worked last; `mark` identifies this database.
pub fn open(
    runtime: &'static Runtime,
    launch: Launch,
    known: Option<Era>,
    mark: &str,
    limits: &Limits,
) -> Result<Connection, Broken> {
    let heard = Arc::new(Heard::default());
    let handler = Handler { mark: mark.to_owned(), heard: Arc::clone(&heard) };
    let closing = CancellationToken::new();
    let greeting = Greeting { runtime, handler, known, closing: closing.clone(), limits };
    let (served, child, url) = match launch {
        Launch::Program(program) => {
            let (served, child) = greeting.program(program)?;
            (served, Some(child), None)
        }
        Launch::Address { url, reach, headers } => (greeting.address(&url, reach, headers)?, None, Some(url)),
    };
    let version = served.peer_info().map(|info| info.protocol_version.clone());
    let is_handshake = version.as_ref().is_none_or(ProtocolVersion::has_initialize);
    let era = if is_handshake { Era::Handshake } else { Era::Discover };
    let closed = CancellationToken::new();
    let peer = served.peer().clone();
    runtime.spawn(watch(served, closed.clone(), Arc::clone(&heard), era));
    Ok(Connection { runtime, peer, closing, closed, child, url, heard, era })
}

/// How long to read the output of a program that ended during the handshake.
const LAST_ANSWER: Duration = Duration::from_secs(1);

struct Greeting<'a> {
    runtime: &'static Runtime,
    handler: Handler,
    known: Option<Era>,
    closing: CancellationToken,
    limits: &'a Limits,
}

impl Greeting<'_> {
    fn program(self, program: Program) -> Result<(Served, Child), Broken> {
        use rmcp::transport::async_rw::AsyncRwTransport;

        use super::heard::Bounded;
        let (runtime, limits, heard) = (self.runtime, self.limits, Arc::clone(&self.handler.heard));
        let (child, pipes) = {
            let _entered = runtime.enter();
            Child::start(program).map_err(Broken::Unreached)?
        };
        let transport = AsyncRwTransport::new(Bounded::new(pipes.stdout, Arc::clone(&heard)), pipes.stdin);
        let mode = mode(self.known);
        let greeting = serve_client_with_lifecycle_and_ct(self.handler, transport, mode, self.closing);
        let greeted = within(runtime, limits, async {
            let mut greeting = std::pin::pin!(greeting);
            tokio::select! {
                biased;
                greeted = &mut greeting => return Some(greeted),
                () = child.ended().cancelled() => {}
            }
            // Its last answer may be in the pipe, which another program may hold open.
            tokio::time::timeout(LAST_ANSWER, greeting).await.ok()
        });
        let broken = match greeted {
            Ok(Some(Ok(served))) => return Ok((served, child)),
            Ok(Some(Err(
                ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. },
            )))
            | Ok(None) => None,
            Ok(Some(Err(error))) => Some(ungreeted(&error)),
            Err(cut) => Some(Broken::Cut(cut)),
        };
        child.end();
        // Wait until the program has ended. Its standard error explains the failure, and no process is left behind.
        let _ = runtime.block_on(async { tokio::time::timeout(END, child.ended().cancelled()).await });
        let words = heard.broke().or_else(|| child.last_words()).unwrap_or_default();
        Err(match broken {
            None => Broken::Ungreeted(words),
            Some(Broken::Cut(Cut::TimedOut)) => Broken::Unreached(format!("it did not answer in time; {words}")),
            Some(broken) => broken,
        })
    }

    fn address(self, url: &Url, reach: http::Reach, headers: ::http::HeaderMap) -> Result<Served, Broken> {
        let client = http::for_library(url, reach).map_err(|why| Broken::Unreached(why.to_string()))?;
        wait_for_turn(url, self.limits)?;
        let headers = headers.into_iter().filter_map(|(name, value)| Some((name?, value))).collect();
        let config = StreamableHttpClientTransportConfig::with_uri(url.as_str()).custom_headers(headers);
        let _entered = self.runtime.enter();
        let transport = StreamableHttpClientTransport::with_client(client, config);
        let mode = mode(self.known);
        let greeting = serve_client_with_lifecycle_and_ct(self.handler, transport, mode, self.closing);
        match within(self.runtime, self.limits, greeting) {
            Ok(Ok(served)) => Ok(served),
            Ok(Err(error)) => Err(ungreeted(&error)),
            Err(Cut::TimedOut) => Err(Broken::Unreached("it did not answer in time".to_owned())),
            Err(cut) => Err(Broken::Cut(cut)),
        }
    }
}

/// Returns which kind of handshake to try. If it is not known which kind works, the MCP library (rmcp) tries both.
fn mode(known: Option<Era>) -> ClientLifecycleMode {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    match known {
        Some(Era::Handshake) => ClientLifecycleMode::Initialize,
        Some(Era::Discover) => ClientLifecycleMode::Discover { preferred_versions },
        None => {
            let legacy_version = Some(ProtocolVersion::V_2025_11_25);
            ClientLifecycleMode::Auto { preferred_versions, legacy_version }
        }
    }
}

/// Waits until the connection has ended, and then cancels `closed`.
async fn watch(served: Served, closed: CancellationToken, heard: Arc<Heard>, era: Era) {
    let peer = served.peer().clone();
    tokio::select! {
        _ = served.waiting() => {}
        // The newer protocol has no sessions, so a client must subscribe to changes.
        () = listen(peer, heard), if era == Era::Discover => {}
    }
    closed.cancel();
}

/// Records when the plugin's tools change. This never returns, so the caller has to drop it when the connection ends.
async fn listen(peer: Peer<RoleClient>, heard: Arc<Heard>) {
    let tells = peer
        .peer_info()
        .is_some_and(|info| info.capabilities.tools.as_ref().is_some_and(|tools| tools.list_changed == Some(true)));
    if tells && let Ok(mut changes) = peer.listen(SubscriptionFilter::builder().tools_list_changed().build()).await {
        while let Ok(Some(_)) = changes.next().await {
            heard.set_tools_changed();
        }
    }
    // Returning would close the connection, which must stay open without a subscription too.
    std::future::pending().await
}
