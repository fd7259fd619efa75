//! Answers batches, which exist only in 2025-03-26: one stream with the answers to all messages, in order.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{Response, StatusCode};
use http_body_util::{BodyExt, Empty, Full, StreamBody};
use rmcp::ErrorData;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use super::message::{self, Called};
use crate::mcp::Config;
use crate::mcp::call_log::Record;
use crate::mcp::front::{self, Envelope};
use crate::mcp::http::access_control::owner;
use crate::mcp::http::admission::Admission;
use crate::mcp::http::answer::{self, Body, Refusal};
use crate::mcp::http::app::App;
use crate::mcp::http::connection::Peer;
use crate::mcp::http::headers::{SESSION, only};
use crate::mcp::http::stream::{event_stream, is_stream};

/// Answers the messages of a batch one after another.
pub(super) async fn batch(
    app: &Arc<App>,
    peer: &Peer,
    config: Arc<Config>,
    parts: Parts,
    body: &Bytes,
    items: &[&str],
) -> Result<Response<Body>, Refusal> {
    let session = only(&parts.headers, &SESSION);
    let exist = session.is_some_and(|id| app.sessions.enter(id, &owner(&config)) && app.sessions.takes_batches(id));
    front::check_batch(items.len(), exist).map_err(Refusal::message)?;
    let asks = items.iter().any(|item| front::parse_item(item).wants_answer());
    let items: Vec<Bytes> = items.iter().map(|item| body.slice_ref(item.as_bytes())).collect();
    let answering = peer.exchange.stream();
    let (answers, mut taken) = mpsc::channel(1);
    let record = parts.extensions.get::<Arc<Record>>().cloned();
    if let Some(record) = &record {
        record.skip();
    }
    let (of_batch, of_client, peer) = (Arc::clone(app), Arc::clone(&config), peer.clone());
    tokio::spawn(async move {
        for item in items {
            let mut parts = parts.clone();
            if let Some(record) = &record {
                parts.extensions.insert(record.another(item.len() as u64));
            }
            let mut answer = answered(&of_batch, &peer, Arc::clone(&of_client), parts, item).await;
            // The next message begins when this one has ended, so a read sees the writes before it.
            while let Some(frame) = answer.frame().await {
                // The whole batch is processed, even if the client has disconnected by now.
                let _ = answers.send(frame).await;
            }
        }
    });
    if !asks {
        while taken.recv().await.is_some() {}
        return Ok(answer::text(StatusCode::ACCEPTED, "Accepted"));
    }
    let events = event_stream(StreamBody::new(ReceiverStream::new(taken)));
    app.streamed(events, &config, None, answering)
}

/// Answers one message. Returns the answer as events.
async fn answered(app: &Arc<App>, peer: &Peer, config: Arc<Config>, parts: Parts, text: Bytes) -> Body {
    let envelope = front::parse_item(std::str::from_utf8(&text).unwrap_or_default());
    let id = match envelope {
        Envelope::Request { id, .. } => Some(id.to_owned()),
        _ => None,
    };
    let called = Called::of(app, &parts.headers, &envelope);
    let record = parts.extensions.get::<Arc<Record>>().cloned();
    let respond = |status| {
        if let Some(record) = &record {
            record.responded(status, None);
        }
    };
    let mut line = Vec::new();
    // A cached answer is valid only if the messages before this one changed nothing.
    let answered = match app.read_cache.refresh() {
        Ok(_) => message::answer(app, peer, Admission::certain(config), parts, &text, envelope).await,
        Err(error) => {
            message::describe(app, &parts, &envelope);
            Err(error.into())
        }
    };
    match answered {
        Ok(response) if is_stream(&response) => return response.into_body(),
        Ok(response) if response.status() == StatusCode::ACCEPTED => return nothing(),
        Ok(response) => {
            respond(response.status());
            let json = answer::is_json(&response);
            let body = match response.into_body().collect().await {
                Ok(body) => body.to_bytes(),
                Err(never) => match never {},
            };
            match json {
                true => line.extend_from_slice(body.trim_ascii()),
                false => {
                    let why = String::from_utf8_lossy(&body).into_owned();
                    front::push_error(&mut line, id.as_deref(), &ErrorData::invalid_request(why, None));
                }
            }
        }
        Err(refusal) => match message::failed(id.as_deref(), called, refusal, record.as_ref()) {
            Ok(failed) => line = failed,
            Err(refusal) => {
                respond(refusal.status());
                front::push_error(&mut line, id.as_deref(), refusal.error());
            }
        },
    }
    Full::new(Bytes::from([b"data: ", line.trim_ascii(), b"\n\n"].concat())).boxed()
}

fn nothing() -> Body {
    Empty::<Bytes>::new().map_err(|never: Infallible| match never {}).boxed()
}
