//! Makes HTTP requests to other hosts. Apart from `store`, which connects to PostgreSQL servers, and programs such as
//! git, nothing else opens a connection to another host.
//!
//! Calls block their thread. A call ends at its deadline or when it is cancelled, whatever the other host does: the
//! request runs on this module's own async runtime, and dropping the request ends it. Only [`exchange`] follows
//! redirects. Proxies in the environment are ignored, and connections are not kept open between requests. The runtime
//! starts with the first request.

mod exchange;
mod reach;
mod upload;
mod url;

use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use ::http::{HeaderMap, Request, StatusCode};
use bytes::Bytes;
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::runtime::{Builder, Runtime};
use tokio_rustls::rustls::{self, ClientConfig};
use tokio_util::sync::CancellationToken;

pub use exchange::{Answer, Outgoing, Rules, exchange, wait_for_turn};
pub use reach::Reach;
pub use upload::Upload;
pub use url::Url;

/// The time limit for opening a connection.
const CONNECT: Duration = Duration::from_secs(10);

/// Limits that end a call before its answer is complete.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The deadline.
    pub until: Instant,
    /// Cancelled when the caller gives up.
    pub cancelled: CancellationToken,
    /// The largest answer, in bytes.
    pub size: u64,
}

/// The reason why an answer is missing or incomplete.
#[derive(Debug)]
pub enum Failure {
    /// This machine cannot make requests at all.
    Unavailable(String),
    /// The host name has no address.
    NoAddress(String),
    /// Nothing accepts connections at the address.
    NotConnected(String),
    /// The TLS handshake failed: the server is not trusted, or does not support TLS.
    Tls(rustls::Error),
    /// The other side does not speak HTTP.
    NotHttp,
    /// The answer is larger than this limit.
    TooLarge(u64),
    TimedOut,
    Cancelled,
    Broken(String),
    /// The request would have gone to a forbidden address; the text names the host.
    Refused(String),
    /// The request was sent, but a redirect in the answer is not followed; the text says why and names the host.
    Redirected(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Unavailable(why) => write!(f, "cannot make requests: {why}"),
            Failure::NoAddress(why) => write!(f, "the host name cannot be resolved: {why}"),
            Failure::NotConnected(why) => write!(f, "the server cannot be reached: {why}"),
            Failure::Tls(why) => write!(f, "cannot set up TLS: {why}"),
            Failure::NotHttp => f.write_str("the server does not speak HTTP"),
            Failure::TooLarge(size) => write!(f, "the response is larger than {size} bytes"),
            Failure::TimedOut => f.write_str("the server did not respond in time"),
            Failure::Cancelled => f.write_str("cancelled"),
            Failure::Broken(why) => write!(f, "the connection was lost: {why}"),
            Failure::Refused(why) | Failure::Redirected(why) => f.write_str(why),
        }
    }
}

impl StdError for Failure {}

impl Failure {
    /// Whether it is certain that no part of the request was sent.
    pub const fn is_unsent(&self) -> bool {
        matches!(
            self,
            Failure::Unavailable(_)
                | Failure::NoAddress(_)
                | Failure::NotConnected(_)
                | Failure::Tls(_)
                | Failure::Refused(_)
        )
    }
}

/// An answer with a body that is still to be read.
#[derive(Debug)]
pub struct Response {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Body,
}

/// Sends a request and waits for the status and headers.
pub fn send(request: Request<impl Into<reqwest::Body>>, limits: Limits) -> Result<Response, Failure> {
    client()?.send(request, limits, Reach::Anywhere)
}

/// Returns an HTTP client for libraries that make their own requests to `url`. It follows the rules of this module: no
/// redirects, no proxies, no forbidden addresses. Dropping a call ends it.
///
/// # Errors
/// [`Failure::Refused`] if the URL is forbidden; [`Failure::Unavailable`].
pub fn for_library(url: &Url, reach: Reach) -> Result<reqwest::Client, Failure> {
    let reach = url.reach(reach).map_err(Failure::Refused)?;
    Ok(client()?.of(reach).clone())
}

/// The error type of requests by a client from [`for_library`].
pub type RequestError = reqwest::Error;

/// Finds the failed request, if there is one, among the causes of a library's error.
pub fn failure_of(error: &(dyn StdError + 'static)) -> Option<Failure> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(request) = error.downcast_ref::<reqwest::Error>() {
            return Some(failure(request));
        }
        cause = error.source();
    }
    None
}

/// Checks whether something listens at an address.
///
/// # Errors
/// [`Failure::NotConnected`], [`Failure::TimedOut`], [`Failure::Cancelled`], [`Failure::Unavailable`].
pub fn connect(host: &str, port: u16, limits: &Limits) -> Result<(), Failure> {
    let client = client()?;
    let refused = |error: io::Error| Failure::NotConnected(error.to_string());
    let addresses = client.within(limits, tokio::net::lookup_host((host, port)))?.map_err(refused)?;
    let addresses: Vec<SocketAddr> = addresses.collect();
    client.within(limits, tokio::net::TcpStream::connect(addresses.as_slice()))?.map(drop).map_err(refused)
}

/// The body of an answer. Reading it respects the call's limits of size and time.
#[derive(Debug)]
pub struct Body {
    client: &'static Client,
    answer: reqwest::Response,
    piece: Bytes,
    left: u64,
    limits: Limits,
}

impl io::Read for Body {
    /// Reads what has arrived, or waits for more. An error wraps a [`Failure`], which [`read_failure`] returns.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            let piece = self.client.within(&self.limits, self.answer.chunk()).map_err(io::Error::other)?;
            match piece.map_err(|error| io::Error::other(failure(&error)))? {
                Some(piece) => self.piece = piece,
                None => return Ok(0),
            }
            let size = self.piece.len() as u64;
            self.left =
                self.left.checked_sub(size).ok_or_else(|| io::Error::other(Failure::TooLarge(self.limits.size)))?;
        }
        let piece = self.piece.split_to(self.piece.len().min(buffer.len()));
        buffer[..piece.len()].copy_from_slice(&piece);
        Ok(piece.len())
    }
}

/// Returns the reason why reading a [`Body`] failed.
pub fn read_failure(error: &io::Error) -> Failure {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Failure>()) {
        Some(Failure::TooLarge(size)) => Failure::TooLarge(*size),
        Some(Failure::TimedOut) => Failure::TimedOut,
        Some(Failure::Cancelled) => Failure::Cancelled,
        Some(failure) => Failure::Broken(failure.to_string()),
        None => Failure::Broken(error.to_string()),
    }
}

#[derive(Debug)]
struct Client {
    runtime: Runtime,
    /// Connects to any address.
    anywhere: reqwest::Client,
    /// Connects only to public addresses.
    public: reqwest::Client,
}

impl Client {
    fn new() -> Result<Self, String> {
        let text = |error: &dyn fmt::Display| error.to_string();
        let runtime = Builder::new_multi_thread().worker_threads(1).thread_name("http").enable_all().build();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(BuilderVerifierExt::with_platform_verifier)
            .map_err(|error| text(&error))?
            .with_no_client_auth();
        let builder = || {
            reqwest::Client::builder()
                .tls_backend_preconfigured(tls.clone())
                .user_agent(concat!("mcpkg/", env!("CARGO_PKG_VERSION")))
                .connect_timeout(CONNECT)
                .redirect(reqwest::redirect::Policy::none())
                .pool_max_idle_per_host(0)
                .no_proxy()
        };
        Ok(Self {
            runtime: runtime.map_err(|error| text(&error))?,
            anywhere: builder().build().map_err(|error| text(&error))?,
            public: builder().dns_resolver(Arc::new(reach::PublicNames)).build().map_err(|error| text(&error))?,
        })
    }

    /// Sends a request and waits for the status and headers.
    fn send(
        &'static self,
        request: Request<impl Into<reqwest::Body>>,
        limits: Limits,
        reach: Reach,
    ) -> Result<Response, Failure> {
        let http = self.of(reach);
        let request = reqwest::Request::try_from(request).map_err(|error| Failure::Broken(error.to_string()))?;
        let mut answer = self.within(&limits, http.execute(request))?.map_err(|error| failure(&error))?;
        let (status, headers) = (answer.status(), std::mem::take(answer.headers_mut()));
        let body = Body { client: self, answer, piece: Bytes::new(), left: limits.size, limits };
        Ok(Response { status, headers, body })
    }

    fn of(&self, reach: Reach) -> &reqwest::Client {
        match reach {
            Reach::Anywhere => &self.anywhere,
            Reach::Public => &self.public,
        }
    }

    /// Waits for `work`. Drops it when a limit is reached, which ends it.
    fn within<T>(&self, limits: &Limits, work: impl Future<Output = T>) -> Result<T, Failure> {
        self.runtime.block_on(async {
            tokio::select! {
                biased;
                () = limits.cancelled.cancelled() => Err(Failure::Cancelled),
                done = tokio::time::timeout_at(limits.until.into(), work) => done.map_err(|_| Failure::TimedOut),
            }
        })
    }
}

/// Returns the client, which is created by the first request.
fn client() -> Result<&'static Client, Failure> {
    static CLIENT: OnceLock<Result<Client, String>> = OnceLock::new();
    CLIENT.get_or_init(Client::new).as_ref().map_err(|why| Failure::Unavailable(why.clone()))
}

/// Translates an error of reqwest, based on the first of its causes that explains it.
fn failure(error: &reqwest::Error) -> Failure {
    let mut cause: Option<&(dyn StdError + 'static)> = Some(error);
    let (mut last, mut is_unknown) = (error.to_string(), false);
    while let Some(error) = cause {
        last = error.to_string();
        // hyper-util has no error type for an unknown host, so compare the text.
        is_unknown |= last == "dns error";
        // tokio-rustls has no error type for a connection that closes during the handshake.
        if last == "tls handshake eof" {
            return Failure::Tls(rustls::Error::General(last));
        }
        if let Some(private) = error.downcast_ref::<reach::PrivateName>() {
            return Failure::Refused(private.to_string());
        }
        if let Some(tls) = error.downcast_ref::<rustls::Error>() {
            return Failure::Tls(tls.clone());
        }
        if error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_parse) {
            return Failure::NotHttp;
        }
        // `source` of an I/O error skips the error inside it, so use `get_ref`.
        cause = match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    match error {
        error if error.is_timeout() => Failure::TimedOut,
        _ if is_unknown => Failure::NoAddress(last),
        error if error.is_connect() => Failure::NotConnected(last),
        _ => Failure::Broken(last),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpListener};

    use super::*;

    fn limits() -> Limits {
        Limits { until: Instant::now() + Duration::from_secs(20), cancelled: CancellationToken::new(), size: 1 << 20 }
    }

    /// Answers one request with these bytes. Keeps the connection open until the channel tells the thread to end.
    fn answering(bytes: &'static [u8]) -> (String, std::sync::mpsc::Sender<()>) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let url = format!("http://{}/", listener.local_addr().expect("an address"));
        let (end, ended) = std::sync::mpsc::channel::<()>();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            let mut request = [0; 1024];
            let _ = stream.read(&mut request);
            let _ = stream.write_all(bytes);
            let _ = ended.recv();
        });
        (url, end)
    }

    fn get(url: &str, limits: Limits) -> Result<Response, Failure> {
        send(Request::get(url).body(Vec::new()).expect("a request"), limits)
    }

    #[test]
    fn an_answer_is_read_up_to_its_limit() {
        const ANSWER: &[u8] = b"HTTP/1.1 203 Odd\r\nX: y\r\nContent-Length: 5\r\n\r\nhello";
        let (url, _end) = answering(ANSWER);
        let mut response = get(&url, limits()).expect("an answer");
        let mut text = String::new();
        response.body.read_to_string(&mut text).expect("a body");
        assert_eq!(
            (response.status.as_u16(), &response.headers["x"], text.as_str()),
            (203, &"y".parse().unwrap(), "hello")
        );
        let (url, _end) = answering(ANSWER);
        let mut response = get(&url, Limits { size: 4, ..limits() }).expect("an answer");
        let error = response.body.read_to_string(&mut text).expect_err("too long");
        assert!(matches!(read_failure(&error), Failure::TooLarge(4)), "{error}");
    }

    #[test]
    fn a_host_that_says_nothing_is_given_up_and_a_cancelled_call_ends_at_once() {
        let soon = || Instant::now() + Duration::from_millis(50);
        let (url, _end) = answering(b"");
        assert!(matches!(get(&url, Limits { until: soon(), ..limits() }), Err(Failure::TimedOut)));
        // Cancel in the middle of a body.
        let (url, _end) = answering(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe");
        let limits = limits();
        let mut response = get(&url, limits.clone()).expect("an answer");
        let reading = std::thread::spawn(move || response.body.read_to_end(&mut Vec::new()).expect_err("cancelled"));
        limits.cancelled.cancel();
        assert!(matches!(read_failure(&reading.join().expect("a thread")), Failure::Cancelled));
    }

    #[test]
    fn redirects_are_not_followed_and_other_protocols_are_reported() {
        let (url, _end) = answering(b"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n");
        assert_eq!(get(&url, limits()).expect("an answer").status, StatusCode::FOUND);
        let (url, _end) = answering(b"220 mail.example ESMTP\r\n");
        let failure = get(&url, limits()).expect_err("no HTTP");
        assert!(matches!(failure, Failure::NotHttp), "{failure:?}");
        let (url, _end) = answering(b"220 mail.example ESMTP\r\n");
        let failure = get(&url.replace("http:", "https:"), limits()).expect_err("no TLS");
        assert!(matches!(failure, Failure::Tls(_)), "{failure:?}");
    }

    #[test]
    fn a_host_where_nothing_listens_is_reported() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        assert!(connect("127.0.0.1", address.port(), &limits()).is_ok());
        // Use port 1, on which nothing listens. A port that was just released could already belong to another test.
        let failure = connect("127.0.0.1", 1, &limits()).expect_err("nobody");
        assert!(matches!(&failure, Failure::NotConnected(why) if why.contains("refused")), "{failure:?}");
        let failure = get("http://127.0.0.1:1/", limits()).expect_err("nobody");
        assert!(matches!(&failure, Failure::NotConnected(why) if why.contains("refused")), "{failure:?}");
        let failure = get("http://nobody.invalid/", limits()).expect_err("nobody");
        assert!(matches!(&failure, Failure::NoAddress(_)), "{failure:?}");
    }
}
