//! Runs the HTTP server: listens, accepts connections, and stops on a signal.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::app::App;
use super::connection::{Entered, Full, Room, converse};
use super::network::Network;
use super::tls;
use crate::mcp::server::Server;
use crate::mcp::transport::on_signal;
use crate::mcp::transport::spawn;
use crate::mcp::transport::{GIVE_UP, GRACE, announce};
use crate::mcp::{Config, Surface};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::access;
use mcpkg_store::{Store, access_rules};

/// The maximum number of open connections, if the process may open that many files.
const MAX_CONNECTIONS: usize = 8192;

/// The number of file descriptors reserved for everything else, such as the database. If there are few descriptors,
/// half of them are reserved.
const RESERVED: u64 = 256;

/// How long to wait before trying again to accept a connection.
const AGAIN: Duration = Duration::from_millis(20);

/// How often to look for sessions that were idle too long.
const SWEEP: Duration = Duration::from_secs(60);

/// How often to look for unused sessions, to free their memory.
const REST: Duration = Duration::from_secs(1);

/// How often to check whether the issuer's keys have to be read again.
const SIGN_IN: Duration = Duration::from_millis(500);

/// How often to check the keys of open streams.
const CHECK: Duration = Duration::from_millis(500);

/// Serves `store` over HTTP until a signal arrives. Calls `listening` with the server's address. After the signal, the
/// server still answers the requests that it has accepted, but cancels calls that take too long.
///
/// # Errors
/// For example, `E_KEY_REQUIRED` if other machines could connect without a key; `E_ADDRESS` if the server cannot listen
/// on the address; `E_INVALID_ARGUMENT` if the TLS files cannot be used, if `--public-url` is missing, or if HTTP
/// cannot express the system's date.
pub fn serve_http(
    store: Store,
    config: Config,
    network: Network,
    listening: impl FnOnce(SocketAddr) -> Result<()>,
) -> Result<()> {
    if let Some(sign_in) = &network.sign_in
        && !network.host.is_loopback()
        && !sign_in.has_url()
    {
        let why = "--oauth-issuer needs --public-url if other machines can reach the server";
        return Err(Error::new(Code::InvalidArgument, why)
            .hint("give the URL under which clients reach the server, without /mcp, such as https://mcp.example.com"));
    }
    if !network.host.is_loopback() && network.sign_in.is_none() && !store.read(access::required)? {
        let why =
            format!("There is no access key yet, so anybody who can reach {} could use this server", network.host);
        return Err(Error::new(Code::KeyRequired, why)
            .hint("create a key with `mcpkg access create NAME`, or serve on 127.0.0.1 only"));
    }
    let groups = crate::DOMAINS.iter().flat_map(|domain| domain.groups);
    let withheld = groups.filter(|group| group.named_over_network).map(|group| group.name).collect();
    let surface = Arc::new(Surface { withheld, ..Surface::clone(&config.surface) });
    let config = Config { surface, ..config };
    if !mcpkg_base::clock::has_http_date() {
        // hyper keeps track of the date even if it is not sent, and panics on a date that HTTP cannot express.
        return Err(Error::new(
            Code::InvalidArgument,
            "The system's clock is before 1970 or after 9999, which HTTP dates cannot express",
        )
        .hint("set the clock, or serve over stdio"));
    }
    let tls = network.tls.as_ref().map(|(certificate, key)| tls::acceptor(certificate, key)).transpose()?;
    let _serving = announce(&store)?;
    if let Some(sign_in) = &network.sign_in
        && store.read(access_rules::issuer)?.as_deref() != Some(sign_in.issuer())
    {
        store.write(|db| access_rules::set_issuer(db, sign_in.issuer()))?;
    }
    let position = store.position()?;
    let room = Room::new(connections(mcpkg_base::platform::raise_open_files()));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::internal("cannot start the runtime").with_source(error))?;
    let server = Server::new(store.clone(), config)?;
    let calls = server.calls.clone();
    let app = App::new(server, network)?;
    if let Some(calls) = &calls {
        let app = Arc::downgrade(&app);
        calls.send_also(move || Some(app.upgrade()?.metrics_text()));
    }
    spawn("watch", {
        let hub = Arc::clone(&app.server.hub);
        move || hub.watch(position)
    })?;
    let stop = CancellationToken::new();
    on_signal({
        let stop = stop.clone();
        move || stop.cancel()
    })?;
    let served = runtime.block_on(serve(&app, &room, tls, &stop, listening));
    runtime.shutdown_timeout(Duration::from_secs(1));
    if let Some(calls) = calls {
        calls.finish();
    }
    store.checkpoint();
    served
}

async fn serve(
    app: &Arc<App>,
    room: &Arc<Room>,
    tls: Option<TlsAcceptor>,
    stop: &CancellationToken,
    listening: impl FnOnce(SocketAddr) -> Result<()>,
) -> Result<()> {
    let wanted = SocketAddr::new(app.network.host, app.network.port);
    let unavailable = |error: std::io::Error| {
        Error::new(Code::Address, format!("Cannot listen on {wanted}: {error}")).hint(
            "another server may be using this address; choose another port with --port, or any free port with --port 0",
        )
    };
    let listener = TcpListener::bind(wanted).await.map_err(unavailable)?;
    let local = listener.local_addr().map_err(unavailable)?;
    let scheme = if app.network.tls.is_some() { "https" } else { "http" };
    if let Some(sign_in) = &app.network.sign_in {
        sign_in.listens_at(format!("{scheme}://{local}"));
    }
    if app.console.is_some() {
        // Browsers do not support passkeys at IP addresses, so use `localhost` for this machine. For other addresses, the name
        // is unknown.
        let here = local.ip().is_loopback().then(|| format!("{scheme}://localhost:{}", local.port()));
        // The console's pages are at the root of the host, so it has no address below a path.
        let is_root = |url: &String| url.matches('/').count() == 2;
        if let Some(url) = app.network.public_url.clone().or(here).filter(is_root) {
            let _ = app.server.console.set(url);
        }
    }
    listening(local)?;
    let stop = &drained(app, stop);
    let graceful = GracefulShutdown::new();
    let upkeep = tokio::spawn(keep_up(Arc::clone(app)));
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, from)) => {
                let entered = tokio::select! {
                    () = stop.cancelled() => break,
                    entered = enter(room, from) => entered,
                };
                match entered {
                    Some(entered) => connect(app, &graceful, tls.clone(), stream, from, entered),
                    None => tracing::debug!(%from, "an address has too many connections"),
                }
            }
            Err(error) => {
                // The usual cause is too many open files. Accepting works again once some files are closed.
                tracing::warn!(%error, "cannot accept a connection");
                room.make();
                tokio::time::sleep(AGAIN).await;
            }
        }
    }
    drop(listener);
    tracing::info!("stopping: finishing the requests that were accepted");
    app.server.hub.close();
    app.closing.cancel();
    let now = Instant::now();
    let tasks = Arc::clone(&app.server.tasks);
    let tasks = tokio::task::spawn_blocking(move || tasks.end(now + GIVE_UP, now + GRACE));
    let ending = app.server.ending.clone();
    tokio::spawn(async move {
        // Calls that are still running are cancelled, so that their answers come in time.
        tokio::time::sleep(GIVE_UP).await;
        ending.cancel();
    });
    if tokio::time::timeout(GRACE, graceful.shutdown()).await.is_err() {
        tracing::warn!("some clients did not read their responses in time");
    }
    // Do not wait for a database that does not respond.
    let _ = tokio::time::timeout(GRACE, tasks).await;
    app.ended.cancel();
    app.server.store.end_reads();
    upkeep.abort();
    Ok(())
}

/// Returns the token that ends the server. Without a drain time, this is `stop` itself. With a drain time, the token is
/// cancelled that long after `stop`, so that proxies can choose another server first.
fn drained(app: &Arc<App>, stop: &CancellationToken) -> CancellationToken {
    if app.network.drain.is_zero() {
        return stop.clone();
    }
    let (app, stop, drained) = (Arc::clone(app), stop.clone(), CancellationToken::new());
    tokio::spawn({
        let drained = drained.clone();
        async move {
            stop.cancelled().await;
            tracing::info!("stopping: waiting until proxies have chosen another server");
            app.draining.cancel();
            tokio::time::sleep(app.network.drain).await;
            drained.cancel();
        }
    });
    drained
}

/// Repeats the server's upkeep: ends idle sessions, frees memory of unused ones, ends streams of invalid keys, and
/// reads the issuer's keys again when necessary.
async fn keep_up(app: Arc<App>) {
    if let Some(sign_in) = app.network.sign_in.clone() {
        let closing = app.closing.clone();
        tokio::spawn(async move {
            let mut due = tokio::time::interval(SIGN_IN);
            while !closing.is_cancelled() {
                due.tick().await;
                sign_in.keep_up(&closing).await;
            }
        });
    }
    let (mut sweep, mut check) = (tokio::time::interval(SWEEP), tokio::time::interval(CHECK));
    let mut rest = tokio::time::interval(REST);
    loop {
        tokio::select! {
            _ = sweep.tick() => app.sweep().await,
            _ = rest.tick() => app.rest().await,
            _ = check.tick() => app.check_keys(),
        }
    }
}

/// Waits until there is room for a connection. Returns `None` if its address has too many connections.
async fn enter(room: &Arc<Room>, from: SocketAddr) -> Option<Entered> {
    loop {
        match room.enter(from.ip()) {
            Ok(entered) => return Some(entered),
            Err(Full::Address) => return None,
            Err(Full::Room) => tokio::time::sleep(AGAIN).await,
        }
    }
}

/// Serves one connection on its own task.
fn connect(
    app: &Arc<App>,
    graceful: &GracefulShutdown,
    tls: Option<TlsAcceptor>,
    stream: TcpStream,
    from: SocketAddr,
    entered: Entered,
) {
    // Nagle's algorithm would delay each event of a stream by 40 ms.
    let _ = stream.set_nodelay(true);
    let Ok(local) = stream.local_addr() else { return };
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(app.network.timeout));
    let stream = Box::pin(stream);
    let (app, watcher, place) = (Arc::clone(app), graceful.watcher(), Arc::clone(&entered.place));
    let conversation = async move {
        match tls {
            None => converse(app, watcher, stream, local, from, place).await,
            Some(tls) => match tokio::time::timeout(app.network.timeout, tls.accept(stream)).await {
                Ok(Ok(stream)) => converse(app, watcher, stream, local, from, place).await,
                _ => tracing::debug!(%from, "the TLS handshake failed"),
            },
        }
    };
    tokio::spawn(async move {
        tokio::select! {
            () = conversation => {}
            () = entered.place.closed.cancelled() => tracing::debug!(%from, "closed an idle connection to make room"),
        }
    });
}

/// Returns the maximum number of connections for this limit on open files. Each connection takes one file descriptor.
fn connections(files: Option<u64>) -> usize {
    let files = files.unwrap_or(u64::MAX);
    let left = files - (files / 2).min(RESERVED);
    usize::try_from(left).unwrap_or(usize::MAX).min(MAX_CONNECTIONS)
}
