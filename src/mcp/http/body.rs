//! Reads the body of a request.

use bytes::{Bytes, BytesMut};
use futures_util::FutureExt;
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Frame;

use super::answer::Refusal;
use super::app::App;
use super::connection::{Arriving, Peer};

/// Reads a whole body, within limits on its size and on the time it takes.
pub(super) async fn read(app: &App, peer: &Peer, headers: &HeaderMap, mut body: Arriving) -> Result<Bytes, Refusal> {
    let most = usize::try_from(app.config.max_line).unwrap_or(usize::MAX);
    let too_long =
        || Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, format!("The body of this request is longer than {most} bytes"));
    let told = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if told.is_some_and(|told| told > most) {
        return Err(too_long());
    }
    let data = |frame: std::result::Result<Frame<Bytes>, hyper::Error>| {
        let cut_off = |_| Refusal::new(StatusCode::BAD_REQUEST, "The body of this request is incomplete");
        frame.map(|frame| frame.into_data().unwrap_or_default()).map_err(cut_off)
    };
    // Usually the whole body arrives together with the head, so there is nothing to wait for.
    let first = match body.frame().now_or_never() {
        Some(Some(frame)) => data(frame)?,
        Some(None) => return Ok(Bytes::new()),
        None => Bytes::new(),
    };
    if first.len() > most {
        return Err(too_long());
    }
    if told == Some(first.len()) {
        return Ok(first);
    }
    let reading = async {
        let mut whole = BytesMut::from(first);
        while let Some(frame) = body.frame().await {
            let data = data(frame)?;
            if data.len() > most - whole.len() {
                return Err(too_long());
            }
            whole.extend_from_slice(&data);
        }
        Ok(whole.freeze())
    };
    let late = |_| Refusal::new(StatusCode::REQUEST_TIMEOUT, "The body of this request took too long to arrive");
    peer.exchange.need_more();
    let whole = tokio::time::timeout(app.network.timeout, reading).await.map_err(late)?;
    peer.exchange.wait();
    whole
}
