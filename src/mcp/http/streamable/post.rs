//! Answers a POST to an MCP URL: one message or a batch.

use std::sync::Arc;

use futures_util::FutureExt;
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use rmcp::ErrorData;

use super::batch::batch;
use super::message::{self, Called};
use crate::mcp::call_log::Record;
use crate::mcp::front::{self, Line};
use crate::mcp::http::admission::Admission;
use crate::mcp::http::answer::{self, Body, Refusal};
use crate::mcp::http::app::App;
use crate::mcp::http::body;
use crate::mcp::http::connection::{Arriving, Peer};

/// Answers the posted message or batch.
pub(in crate::mcp) async fn post(
    app: &Arc<App>,
    peer: &Peer,
    admission: Admission,
    request: Request<Arriving>,
) -> Result<Response<Body>, Refusal> {
    let (parts, body) = request.into_parts();
    let body = body::read(app, peer, &parts.headers, body).await?;
    let line = front::parse_line(&body);
    let admission = match line {
        Line::One(_) => admission,
        _ => Admission::certain(admission.config(app, &parts.headers)?),
    };
    match line {
        Line::Blank => Err(Refusal::message(ErrorData::parse_error("Parse error: the body is empty", None))),
        Line::Unreadable(why) => Err(Refusal::message(ErrorData::parse_error(why, None))),
        Line::Batch(items) => batch(app, peer, Arc::clone(admission.presumed()), parts, &body, &items).await,
        Line::One(envelope) => {
            let (id, called) = (envelope.id(), Called::of(app, &parts.headers, &envelope));
            let record = parts.extensions.get::<Arc<Record>>().cloned();
            let answered = message::answer(app, peer, admission, parts, &body, envelope).await;
            let failed = |refusal| message::failed(id, called, refusal, record.as_ref());
            answered.or_else(|refusal| failed(refusal).map(|line| answer::json(StatusCode::OK, line)))
        }
    }
}

/// Returns the answer to a posted message that was refused before its body was read. The answer contains the id of the
/// message if the body arrived together with the head.
pub(in crate::mcp) fn failed(app: &App, request: Request<Arriving>, why: Refusal) -> Result<Response<Body>, Refusal> {
    let (parts, mut body) = request.into_parts();
    let frame = body.frame().now_or_never().flatten();
    let body = frame.and_then(Result::ok).and_then(|frame| frame.into_data().ok()).unwrap_or_default();
    match front::parse_line(&body) {
        Line::One(envelope) => {
            let called = Called::of(app, &parts.headers, &envelope);
            message::describe(app, &parts, &envelope);
            let record = parts.extensions.get::<Arc<Record>>();
            message::failed(envelope.id(), called, why, record).map(|line| answer::json(StatusCode::OK, line))
        }
        Line::Batch(_) | Line::Blank | Line::Unreadable(_) => Err(why),
    }
}
