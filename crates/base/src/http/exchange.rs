//! Calls an API once: sends the request, retries it if allowed, follows safe redirects, and reads the whole answer.

use std::io::Read;
use std::num::NonZeroU32;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use ::http::header::{
    ACCEPT_ENCODING, CONTENT_LENGTH, DATE, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER,
};
use ::http::{Method, Request, StatusCode};

use super::{Client, Failure, Limits, Reach, Url, read_failure};
use crate::rate::Buckets;

/// The most redirects that are followed.
const REDIRECTS: u32 = 5;

/// How many times to wait for a host that asks for a pause.
const WAITS: u32 = 3;
/// The longest pause to wait for.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// How many calls to one host may start per second. Calls to this machine are not limited.
const PER_SECOND: NonZeroU32 = NonZeroU32::new(10).expect("ten");
/// How many calls to one host may start at once after a pause.
const AT_ONCE: NonZeroU32 = NonZeroU32::new(20).expect("twenty");

/// The rate limiter of this process, keyed by host.
static RATE: LazyLock<Buckets<String>> = LazyLock::new(|| Buckets::new(PER_SECOND, AT_ONCE));

#[derive(Clone, Debug)]
pub struct Outgoing {
    pub method: Method,
    pub url: Url,
    /// The headers, without those that HTTP itself needs.
    pub headers: HeaderMap,
    /// The body; empty if there is none.
    pub body: Vec<u8>,
}

/// The rules for a call.
#[derive(Clone, Debug)]
pub struct Rules {
    pub limits: Limits,
    /// The addresses that the call may connect to.
    pub reach: Reach,
    /// Whether the request may be repeated, because sending it again has no further effect.
    pub repeats: bool,
}

/// A complete answer with any status.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
    /// How many times the request was sent, not counting redirects.
    pub attempts: u32,
}

/// Sends a request and returns the whole answer.
///
/// Redirects are only followed for GET and HEAD, at most five times, and only within the same origin. A busy host (429,
/// 503) may ask for a pause. A request that may be repeated is then sent again after the pause, at most three times.
/// mcpkg does not wait if the pause is longer than 60 seconds or ends after the deadline. At most ten calls to a host
/// start per second, or twenty after a pause; further calls wait. Calls to this machine are not limited.
///
/// # Errors
/// See [`Failure`]. [`Failure::Refused`] if the request would go to a forbidden address; [`Failure::Redirected`] if a
/// redirect is not followed.
pub fn exchange(outgoing: &Outgoing, rules: &Rules) -> Result<Answer, Failure> {
    let client = super::client()?;
    let mut attempts = 0;
    loop {
        let answer = follow(client, outgoing, rules)?;
        attempts += 1;
        let wait = match answer.status {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => retry_after(&answer.headers),
            _ => None,
        };
        // Do not wait if the pause is too long or ends after the deadline.
        let is_worth = |wait: &Duration| *wait <= LONGEST_WAIT && Instant::now() + *wait < rules.limits.until;
        match wait.filter(is_worth) {
            Some(wait) if rules.repeats && attempts <= WAITS => {
                client.within(&rules.limits, async { tokio::time::sleep(wait).await })?;
            }
            _ => return Ok(Answer { attempts, ..answer }),
        }
    }
}

/// Sends a request and follows its redirects.
fn follow(client: &'static Client, outgoing: &Outgoing, rules: &Rules) -> Result<Answer, Failure> {
    let mut url = outgoing.url.clone();
    for _ in 0..=REDIRECTS {
        let answer = once(client, outgoing, &url, rules)?;
        let location = match answer.status.as_u16() {
            301 | 302 | 303 | 307 | 308 => answer.headers.get(LOCATION).and_then(|location| location.to_str().ok()),
            _ => None,
        };
        let Some(location) = location else { return Ok(answer) };
        let Some(next) = url.join(location) else {
            return Err(Failure::Redirected(format!("{} redirects to an invalid address", url.host())));
        };
        if !matches!(outgoing.method, Method::GET | Method::HEAD) {
            let why = format!(
                "{} redirects a {} to {}; such redirects are not followed",
                url.host(),
                outgoing.method,
                next.host()
            );
            return Err(Failure::Redirected(why));
        }
        if !next.has_origin_of(&outgoing.url) {
            let why = format!("{} redirects to {}, which is a different host, port or scheme", url.host(), next.host());
            return Err(Failure::Redirected(why));
        }
        url = next;
    }
    Err(Failure::Redirected(format!("{} redirects more than {REDIRECTS} times", url.host())))
}

fn once(client: &'static Client, outgoing: &Outgoing, url: &Url, rules: &Rules) -> Result<Answer, Failure> {
    wait_for_turn(url, &rules.limits)?;
    let broken = |error: ::http::Error| Failure::Broken(error.to_string());
    let mut request = Request::builder()
        .method(outgoing.method.clone())
        .uri(url.as_str())
        .body(outgoing.body.clone())
        .map_err(broken)?;
    *request.headers_mut() = outgoing.headers.clone();
    request.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    let mut response = client.send(request, rules.limits.clone(), url.reach(rules.reach).map_err(Failure::Refused)?)?;
    let length = |name: &HeaderName| response.headers.get(name)?.to_str().ok()?.parse::<u64>().ok();
    if length(&CONTENT_LENGTH).is_some_and(|length| length > rules.limits.size) && outgoing.method != Method::HEAD {
        return Err(Failure::TooLarge(rules.limits.size));
    }
    let mut body = Vec::new();
    response.body.read_to_end(&mut body).map_err(|error| read_failure(&error))?;
    Ok(Answer { status: response.status, headers: response.headers, body, attempts: 1 })
}

/// Waits until another call to the host may start.
///
/// # Errors
/// [`Failure::TimedOut`], [`Failure::Cancelled`], [`Failure::Unavailable`].
pub fn wait_for_turn(url: &Url, limits: &Limits) -> Result<(), Failure> {
    if url.is_loopback() {
        return Ok(());
    }
    let client = super::client()?;
    while let Err(wait) = RATE.take(url.host()) {
        client.within(limits, async { tokio::time::sleep(wait).await })?;
    }
    Ok(())
}

/// Returns the pause that a host asks for: a number of seconds, or the time until a date. That date is compared with
/// the date of the answer, not with this machine's clock.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &HeaderName| Some(headers.get(name)?.to_str().ok()?.trim().to_owned());
    let until = text(&RETRY_AFTER)?;
    if let Ok(seconds) = until.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let seconds = |date: &str| Some(jiff::fmt::rfc2822::parse(date).ok()?.timestamp().as_second());
    let left = seconds(&until)?.saturating_sub(seconds(&text(&DATE)?)?);
    Some(Duration::from_secs(left.try_into().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twenty_calls_of_a_host_begin_at_once_and_then_they_wait() {
        let begun = |host: &str| (0..30).filter(|_| RATE.take(host.to_owned()).is_ok()).count();
        // Another tenth of a second may pass during the loop, which allows more calls.
        assert!((20..25).contains(&begun("busy.invalid")));
        assert!((20..25).contains(&begun("other.invalid")));
    }

    #[test]
    fn retry_after_is_read_in_seconds_or_as_a_date() {
        let asked = |headers: &[(HeaderName, &'static str)]| {
            let headers = headers.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value)));
            retry_after(&headers.collect())
        };
        let date = (DATE, "Mon, 23 Nov 2026 10:00:00 GMT");
        assert_eq!(asked(&[(RETRY_AFTER, " 7 ")]), Some(Duration::from_secs(7)));
        assert_eq!(
            asked(&[(RETRY_AFTER, "Mon, 23 Nov 2026 10:00:05 GMT"), date.clone()]),
            Some(Duration::from_secs(5))
        );
        assert_eq!(asked(&[(RETRY_AFTER, "Mon, 23 Nov 2026 09:00:00 GMT"), date.clone()]), Some(Duration::ZERO));
        for odd in ["soon", "-1", ""] {
            assert_eq!(asked(&[(RETRY_AFTER, odd), date.clone()]), None, "{odd}");
        }
        assert_eq!(asked(&[(RETRY_AFTER, "Mon, 23 Nov 2026 10:00:05 GMT")]), None);
        assert_eq!(asked(&[]), None);
    }
}
