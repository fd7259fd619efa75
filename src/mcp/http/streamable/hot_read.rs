//! Answers hot requests over HTTP: frequent reads and calls of hot tools are answered from the cache or the database,
//! without rmcp.

use std::sync::Arc;

use http::request::Parts;
use http::{HeaderMap, Response, StatusCode};
use rmcp::transport::streamable_http_server::session::SessionManager;
use serde_json::value::RawValue;

use crate::mcp::Config;
use crate::mcp::call_log::Record;
use crate::mcp::era::Era;
use crate::mcp::error::error_data;
use crate::mcp::front::{self, Hot, Meta};
use crate::mcp::http::access_control::owner;
use crate::mcp::http::admission::Admission;
use crate::mcp::http::answer::{self, Body, Refusal};
use crate::mcp::http::app::App;
use crate::mcp::http::connection::Peer;
use crate::mcp::http::headers::{LEGACY, METHOD, NAME, SESSION, VERSION, only, takes_both};
use crate::mcp::methods::serves;

/// Answers a hot request if all its headers are valid. Returns `None` if rmcp has to answer, or to report what is
/// wrong. The request's access may only be presumed; it is confirmed before an answer is returned.
pub(super) async fn hot_read(
    app: &App,
    peer: &Peer,
    parts: &Parts,
    id: &str,
    method: &str,
    parameters: Option<&RawValue>,
    admission: &mut Admission,
) -> Result<Option<Response<Body>>, Refusal> {
    let headers = &parts.headers;
    let record = parts.extensions.get::<Arc<Record>>();
    let config = &app.in_session(Arc::clone(admission.presumed()), headers);
    let ours = front::may_be_hot(method) && config.front && serves(config.identity, method) && takes_both(headers);
    let Some(era) = (if ours { era(app, headers, method, config).await } else { None }) else { return Ok(None) };
    let header = only(headers, &NAME).filter(|_| era == Era::Modern);
    let look_up = || app.read_cache.look_up(config, era, method, parameters, header);
    let (mut key, mut kept) = look_up()?;
    if kept.is_some() && admission.is_presumed() {
        if !admission.confirm(app, headers)? {
            return Ok(None);
        }
        (key, kept) = look_up()?;
    }
    let result = match kept {
        // The same request was checked when the answer was cached.
        Some(kept) => {
            app.read_cache.log_again(config, method, parameters);
            Ok((kept, Ok(())))
        }
        None if config.providers.takes(method, parameters) => return Ok(None),
        None if !fits(era, method, parameters, header, config) => return Ok(None),
        None => {
            peer.exchange.work();
            let result = app.read_cache.answer(&key, config, method, parameters, era).await;
            // If the presumed access was wrong, discard the answer and leave the request to rmcp.
            if !admission.confirm(app, headers)? {
                return Ok(None);
            }
            match result.transpose() {
                Some(result) => result,
                None => return Ok(None),
            }
        }
    };
    let mut line = Vec::with_capacity(result.as_ref().map_or(256, |(result, _)| result.len()) + id.len() + 64);
    let ended = match result {
        Ok((result, ended)) => {
            front::push_result(&mut line, id, &result);
            ended
        }
        Err(error) => {
            let data = error_data(&error);
            front::push_error(&mut line, Some(id), &data);
            if let Some(record) = record {
                record.failed(error.code());
                record.refused(&data);
            }
            Err(error.code())
        }
    };
    if let Some(record) = record {
        record.by(config);
        record.ended(ended);
        record.sent(line.len());
    }
    Ok(Some(answer::json(StatusCode::OK, line)))
}

/// Returns the protocol era that the headers of a request indicate, or `None` if they are not valid.
async fn era(app: &App, headers: &HeaderMap, method: &str, config: &Config) -> Option<Era> {
    let version = only(headers, &VERSION);
    if version == Some(front::MODERN) {
        return (only(headers, &METHOD) == Some(method)).then_some(Era::Modern);
    }
    let session = only(headers, &SESSION)?;
    if headers.contains_key(&VERSION) && !version.is_some_and(|version| LEGACY.contains(&version)) {
        return None;
    }
    let known =
        app.sessions.enter(session, &owner(config)) && app.manager.has_session(&session.into()).await.unwrap_or(false);
    known.then_some(Era::Legacy)
}

/// Returns whether the parameters of a hot request belong to this era and match the name in the header.
fn fits(era: Era, method: &str, parameters: Option<&RawValue>, header: Option<&str>, config: &Config) -> bool {
    match (era, front::meta(parameters)) {
        (Era::Legacy, Meta::Plain) => true,
        (Era::Modern, Meta::Modern) => {
            Hot::parse(method, parameters, config).is_ok_and(|hot| hot.is_some_and(|hot| hot.name() == header))
        }
        _ => false,
    }
}
