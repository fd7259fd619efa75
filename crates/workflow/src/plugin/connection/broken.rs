//! The reasons why a request to a plugin fails.

use std::error::Error as StdError;
use std::fmt;

use rmcp::ErrorData;
use rmcp::service::ClientInitializeError;
use rmcp::transport::streamable_http_client::StreamableHttpError;

use crate::plugin::runtime::{Cut, Limits};
use mcpkg_base::http::{self, Failure, Url};

/// The reason why a plugin gave no answer.
#[derive(Debug)]
pub enum Broken {
    /// The plugin could not be started or reached, so nothing was sent.
    Unreached(String),
    /// The handshake failed. A different protocol version may work.
    Ungreeted(String),
    /// The plugin returned an error of the protocol.
    Said(ErrorData),
    /// The answer is malformed, or the plugin asked for something unsupported.
    Odd(String),
    /// The connection ended before the answer arrived.
    Ended(String),
    /// The request timed out or was cancelled.
    Cut(Cut),
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreached(why) | Self::Ungreeted(why) | Self::Odd(why) | Self::Ended(why) => f.write_str(why),
            Self::Said(error) => write!(f, "{} ({})", error.message, error.code.0),
            Self::Cut(Cut::TimedOut) => f.write_str("it did not answer in time"),
            Self::Cut(Cut::Cancelled) => f.write_str("it was canceled"),
        }
    }
}

/// Waits until the rate limit of a host allows another request.
pub fn wait_for_turn(url: &Url, limits: &Limits) -> Result<(), Broken> {
    let limits = http::Limits { until: limits.until, cancelled: limits.cancelled.clone(), size: 0 };
    http::wait_for_turn(url, &limits).map_err(|failure| match failure {
        Failure::TimedOut => Broken::Cut(Cut::TimedOut),
        Failure::Cancelled => Broken::Cut(Cut::Cancelled),
        other => Broken::Unreached(other.to_string()),
    })
}

/// Converts the error of a failed handshake.
pub fn ungreeted(error: &ClientInitializeError) -> Broken {
    match error {
        ClientInitializeError::TransportError { error, .. } => match unsent(error) {
            Broken::Ended(why) => Broken::Ungreeted(why),
            broken => broken,
        },
        ClientInitializeError::JsonRpcError(error) => Broken::Ungreeted(error.message.to_string()),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => ungreeted(fallback),
        ClientInitializeError::ExpectedInitResponse(_) | ClientInitializeError::ExpectedInitResult(_) => {
            Broken::Ungreeted("its response to `initialize` is invalid".to_owned())
        }
        error => Broken::Ungreeted(error.to_string()),
    }
}

/// Converts the error of a message that could not be sent completely.
pub fn unsent(error: &(dyn StdError + 'static)) -> Broken {
    match http::failure_of(request_of(error)) {
        Some(Failure::TimedOut) => Broken::Cut(Cut::TimedOut),
        Some(failure) if failure.is_unsent() => Broken::Unreached(failure.to_string()),
        Some(failure) => Broken::Ended(failure.to_string()),
        None => {
            let cause = error.source().map_or_else(|| error.to_string(), ToString::to_string);
            Broken::Ended(cause)
        }
    }
}

/// Finds the request error inside an error of rmcp. This is needed because rmcp does not return the request error as the source
/// of its own error. If there is no request error, returns the error itself.
fn request_of<'e>(error: &'e (dyn StdError + 'static)) -> &'e (dyn StdError + 'static) {
    let mut causes = std::iter::successors(Some(error), |&error| StdError::source(error));
    let request = causes.find_map(|error| match error.downcast_ref::<StreamableHttpError<http::RequestError>>() {
        Some(StreamableHttpError::Client(request)) => Some(request),
        _ => None,
    });
    request.map_or(error, |request| request)
}
