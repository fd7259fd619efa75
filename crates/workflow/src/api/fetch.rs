//! Reads an API document from a file or a URL.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use http::Method;
use http::header::{ACCEPT, HeaderMap, HeaderValue};
use serde_json::json;

use super::call::{failed, next_step};
use super::parse::MOST_JSON;
use super::violation::{Rule, Violation, invalid};
use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::file;
use mcpkg_base::http::{Limits, Outgoing, Reach, Rules, Url, exchange};
use mcpkg_core::op::Context;

/// Timeout for fetching a document.
const TIME: Duration = Duration::from_secs(120);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    File(PathBuf),
    Url(Url),
}

impl Place {
    /// Parses a URL or the path of a file. The path is made absolute.
    pub fn of(text: &str) -> Result<Self> {
        if text.contains("://") {
            return Url::parse(text).filter(Url::is_private).map(Self::Url).ok_or_else(|| {
                Error::new(Code::InvalidArgument, format!("Cannot fetch `{text}`: unsupported address"))
                    .hint("use an https URL, or http on this machine, without a user name or password in the address")
            });
        }
        let path = Path::new(text);
        let real = mcpkg_base::platform::real(path).map_err(|error| Error::file("open", path, error))?;
        Ok(Self::File(real))
    }

    /// Returns the URL or path for storage and display.
    pub fn text(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Url(url) => url.as_str().to_owned(),
        }
    }

    /// Returns the URL of the document; relative server URLs are resolved against it.
    pub fn url(&self) -> Option<&Url> {
        match self {
            Self::File(_) => None,
            Self::Url(url) => Some(url),
        }
    }

    /// Reads the document without sending any secret. Redirects are followed only within the same origin.
    pub fn read(&self, context: &Context, reach: Reach) -> Result<Vec<u8>> {
        match self {
            Self::File(path) => file::read(path, MOST_JSON as u64).map_err(|error| match error.kind() {
                ErrorKind::FileTooLarge => {
                    let why = format!("it is larger than {MOST_JSON} bytes");
                    invalid(&self.text(), &[Violation::of_text(Rule::LimitExceeded, why, 0, 0)])
                }
                _ => disk::failed("read", path, error),
            }),
            Self::Url(url) => fetch(context, url, reach),
        }
    }
}

fn fetch(context: &Context, url: &Url, reach: Reach) -> Result<Vec<u8>> {
    (context.step_aside)();
    let accept = HeaderValue::from_static("application/json, application/yaml, text/yaml, */*;q=0.5");
    let headers = HeaderMap::from_iter([(ACCEPT, accept)]);
    let outgoing = Outgoing { method: Method::GET, url: url.clone(), headers, body: Vec::new() };
    let limits = Limits { until: Instant::now() + TIME, cancelled: context.cancelled.clone(), size: MOST_JSON as u64 };
    let answer = exchange(&outgoing, &Rules { limits, reach, repeats: true })
        .map_err(|failure| failed(url.as_str(), url, &failure))?;
    match answer.status.is_success() {
        true => Ok(answer.body),
        false => {
            let why = format!("Cannot fetch `{}`: {} answered {}", url.as_str(), url.host(), answer.status);
            let status = answer.status.as_u16();
            let mut details = json!({ "status": status });
            if let Some(step) = next_step(status) {
                details["next_step"] = json!(step);
            }
            Err(Error::new(Code::HttpFailed, why).with_details(details))
        }
    }
}
