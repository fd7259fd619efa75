//! Routes requests by their URL.

use std::sync::Arc;
use std::time::Instant;

use http::{Method, Request, Response, StatusCode};
use hyper::body::Body as _;

use super::admission::Admission;
use super::answer::{self, Body, Refusal};
use super::app::App;
use super::connection::{Arriving, Peer};
use super::headers::{check_single, spell_out_accept};
use super::sign_in::SignIn;
use super::{compression, console, metrics, origin, served, sse, streamable};
use crate::mcp::Identity;
use crate::mcp::call_log::{Record, note_requester};
use crate::web::{Beside, By};

/// The answer to clients that look for an authorization server when the server has no issuer.
const NO_OAUTH: &str = "This server does not support OAuth. Send an access key in the header `Authorization: Bearer KEY`: \
                        create one with `mcpkg access create NAME`, and let an agent send it with `mcpkg client add NAME \
                        --http URL --key-env MCPKG_KEY`";

const METRICS: &str = "/metrics";

/// The endpoint of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Endpoint {
    Mcp,
    Sse,
    Messages,
}

impl Endpoint {
    /// Returns the path by which tokens name the endpoint. `/messages` counts as part of `/sse`.
    fn address(self, project: Option<&str>) -> String {
        let path = if self == Endpoint::Mcp { "/mcp" } else { "/sse" };
        project.map_or_else(|| path.to_owned(), |project| format!("/projects/{project}{path}"))
    }
}

/// Answers a request, and counts it in the metrics.
pub(super) async fn answer(app: &Arc<App>, peer: &Peer, mut request: Request<Arriving>) -> Response<Body> {
    let begun = Instant::now();
    let _in_flight = app.metrics.begin();
    if let Some(console) = app.console.as_ref().filter(|_| !is_own(app, request.uri().path())) {
        let response = match app.rate.check(&app.config, peer.from) {
            Ok(()) => ask_console(app, console, peer, request).await,
            Err(refusal) => refusal.into_response(),
        };
        app.metrics.count("console", response.status(), begun.elapsed());
        return response;
    }
    let served = served::find(app, request.uri().path());
    let place = served.map_or_else(|| metrics::place(request.uri().path()), |served| served.flag);
    let protected =
        app.network.sign_in.as_ref().and_then(|sign_in| Some((sign_in, protected(app, request.uri().path())?)));
    let compresses = compression::wanted(request.headers(), peer.from);
    let page = app.origins.allowed(request.headers());
    let record = record(app, peer, &request);
    if let Some(record) = &record {
        request.extensions_mut().insert(Arc::clone(record));
    }
    let mut response = match route(app, peer, request).await {
        Ok(response) if compresses => compression::compressed(response).await,
        Ok(response) => response,
        Err(refusal) => match served {
            Some(served) => served::refused(served, refusal),
            None => refusal.into_response(),
        },
    };
    if let Some((sign_in, path)) = protected
        && matches!(response.status(), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
    {
        sign_in.challenge(&path, &mut response);
    }
    if let Some(page) = page {
        origin::allow(&mut response, page);
    }
    app.metrics.count(place, response.status(), begun.elapsed());
    if let Some(record) = record {
        record.responded(response.status(), response.size_hint().exact());
    }
    response
}

/// Answers a request to the console. If a person who signed in with the issuer sent it, the audit log gets a line. While a
/// required log cannot be written, such a server's console is closed.
async fn ask_console(app: &App, console: &Beside, peer: &Peer, request: Request<Arriving>) -> Response<Body> {
    let has_people = app.network.sign_in.as_ref().is_some_and(SignIn::has_client);
    let Some(calls) = app.server.calls.as_ref().filter(|_| has_people) else {
        return console::answer(console, request).await;
    };
    if let Err(error) = calls.admit_aside().await {
        return Refusal::later(StatusCode::SERVICE_UNAVAILABLE, error.message(), 30).into_response();
    }
    let record = Record::begin(calls, Some(peer.from), request.body().size_hint().lower());
    record.http(request.method().as_str(), request.uri().path());
    let response = console::answer(console, request).await;
    match response.extensions().get::<By>() {
        Some(By(person)) => record.person(person),
        None => record.skip(),
    }
    record.responded(response.status(), response.body().size_hint().exact());
    response
}

/// Answers a request, or returns its refusal.
async fn route(app: &Arc<App>, peer: &Peer, mut request: Request<Arriving>) -> Result<Response<Body>, Refusal> {
    check_single(request.headers())?;
    if is_health(request.uri().path(), app.config.identity) {
        return Ok(answer::text(StatusCode::OK, "ok\n"));
    }
    let sign_in = app.network.sign_in.as_ref();
    if let Some(sign_in) = sign_in
        && let Some(path) = sign_in.endpoint(request.uri().path())
    {
        let path = match path {
            // Clients that find no metadata at an endpoint's own path look here.
            "" | "/" => Some(if app.network.http { "/mcp" } else { "/sse" }.to_owned()),
            path => protected(app, path),
        };
        return Ok(match path {
            Some(path) => sign_in.metadata(&path, request.method()),
            None => answer::no_oauth("There is no endpoint at this path"),
        });
    }
    app.origins.check(request.uri(), request.headers(), peer.local)?;
    if origin::is_preflight(&request) {
        return Ok(origin::preflight());
    }
    if let Some(sign_in) = sign_in {
        sign_in.prepare(request.headers(), app.access_control.now(), &app.closing).await;
    }
    if request.uri().path() == "/readyz" {
        app.rate.check(&app.config, peer.from)?;
        return Ok(app.ready().await);
    }
    if let Some(calls) = app.server.calls.as_ref().filter(|_| protected(app, request.uri().path()).is_some()) {
        calls
            .admit_aside()
            .await
            .map_err(|error| Refusal::later(StatusCode::SERVICE_UNAVAILABLE, error.message(), 30))?;
    }
    if request.uri().path() == METRICS {
        let admission = Admission::begin(app, request.headers(), peer.from, METRICS, None)?;
        let config = admission.config(app, request.headers())?;
        note_requester(request.extensions(), &config);
        if config.grant.as_ref().is_some_and(|grant| grant.project.is_some()) {
            return Err(Refusal::out_of_scope(format!(
                "The metrics cover all projects, but this {} is for one project only",
                config.shown()
            )));
        }
        return Ok(answer::text(StatusCode::OK, app.metrics_text()));
    }
    if is_oauth(request.uri().path()) {
        return Ok(match sign_in {
            Some(sign_in) => {
                answer::no_oauth(&format!("This server issues no tokens; its issuer is {}", sign_in.issuer()))
            }
            None => answer::no_oauth(NO_OAUTH),
        });
    }
    if let Some(served) = served::find(app, request.uri().path()) {
        return served::answer(app, peer, served, request).await;
    }
    let (project, endpoint) = endpoint(app, request.uri().path())?;
    spell_out_accept(request.headers_mut());
    let is_message = (endpoint, request.method()) == (Endpoint::Mcp, &Method::POST);
    // Apply changes in the files that the server follows before the request is admitted: the admission reads the
    // database's data version, and a cached answer is valid only for that version.
    app.server.keep_up_aside().await;
    let address = endpoint.address(project.as_deref());
    let admission = match Admission::begin(app, request.headers(), peer.from, &address, project.clone()) {
        Ok(admission) => admission,
        Err(why) if is_message && why.is_answer() => return streamable::failed(app, request, why),
        Err(why) => return Err(why),
    };
    app.rate.check(admission.presumed(), peer.from)?;
    if is_message {
        return streamable::post(app, peer, admission, request).await;
    }
    let config = admission.config(app, request.headers())?;
    note_requester(request.extensions(), &config);
    match (endpoint, request.method()) {
        (Endpoint::Mcp, &Method::GET | &Method::DELETE) => streamable::follow_or_end(app, config, request).await,
        (Endpoint::Mcp, _) => Err(Refusal::method("GET, POST, DELETE")),
        (Endpoint::Sse, &Method::GET) => sse::open(app, peer, &config, project.as_deref()),
        (Endpoint::Sse, _) => Err(Refusal::method("GET")),
        (Endpoint::Messages, &Method::POST) => sse::message(app, peer, &config, request).await,
        (Endpoint::Messages, _) => Err(Refusal::method("POST")),
    }
}

/// Begins the record of a request to one of the endpoints, if calls are recorded.
fn record(app: &App, peer: &Peer, request: &Request<Arriving>) -> Option<Arc<Record>> {
    let calls = app.server.calls.as_ref()?;
    let path = request.uri().path();
    protected(app, path)?;
    let record = Record::begin(calls, Some(peer.from), request.size_hint().lower());
    record.http(request.method().as_str(), path);
    Some(record)
}

/// Returns whether the server answers at a path itself. The console has the other paths.
fn is_own(app: &App, path: &str) -> bool {
    is_health(path, app.config.identity)
        || matches!(path, METRICS | "/readyz")
        || path.starts_with("/.well-known/")
        || path.starts_with("/projects/")
        || is_oauth(path)
        || served::find(app, path).is_some()
        || endpoint(app, path).is_ok()
}

/// Returns whether clients look for an authorization server at a path. They do that after a 401, and some show the
/// answer to their user.
fn is_oauth(path: &str) -> bool {
    path.starts_with("/.well-known/oauth-")
        || path.starts_with("/.well-known/openid-configuration")
        || matches!(path, "/register" | "/authorize" | "/token")
}

/// Returns the path that identifies an endpoint in tokens and their metadata, or `None` if there is no endpoint at
/// `path`. `/projects/a/messages` -> `/projects/a/sse`.
fn protected(app: &App, path: &str) -> Option<String> {
    if path == METRICS {
        return Some(METRICS.to_owned());
    }
    if let Some(served) = served::find(app, path) {
        return Some(served.prefixes[0].to_owned());
    }
    let (project, endpoint) = endpoint(app, path).ok()?;
    Some(endpoint.address(project.as_deref()))
}

/// Returns whether a path is a health check. A server that presents itself as enact (contract 002) also answers at
/// enact's path.
fn is_health(path: &str, identity: Identity) -> bool {
    path == "/healthz" || (path == "/health" && identity == Identity::Enact)
}

/// Returns the project and the endpoint of a path.
fn endpoint(app: &App, path: &str) -> Result<(Option<String>, Endpoint), Refusal> {
    let unknown = || Refusal::new(StatusCode::NOT_FOUND, "There is nothing at this address");
    let (project, path) = match path.strip_prefix("/projects/") {
        Some(rest) => {
            let (name, path) = rest.split_once('/').ok_or_else(unknown)?;
            mcpkg_core::names::check("project", name).map_err(|_| unknown())?;
            (Some(name.to_owned()), path)
        }
        None => (None, path.strip_prefix('/').unwrap_or(path)),
    };
    let endpoint = match path {
        "mcp" if app.network.http => Endpoint::Mcp,
        "sse" if app.network.sse => Endpoint::Sse,
        "messages" if app.network.sse => Endpoint::Messages,
        _ => return Err(unknown()),
    };
    Ok((project, endpoint))
}
