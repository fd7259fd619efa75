//! A client that any thread may use, and that never waits for a server without a deadline.
//!
//! The crate `postgres` wraps the same client, but waits for an answer without a limit. If the server hangs, or the network
//! silently dropped the connection, that wait never ends. Here each wait has a deadline, after which the connection is
//! dropped. The caller gets the same error as for any lost connection.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::Stream;
use futures_util::future::try_join_all;
use postgres::types::{ToSql, Type};
use postgres::{Error, Row, SimpleQueryMessage, Statement};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;
use tokio::task::block_in_place;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
use tokio_postgres::{AsyncMessage, CancelToken, Config, NoTls, RowStream, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

/// How long closing a connection may take. The server is notified, but its answer is not needed.
const CLOSING: Duration = Duration::from_millis(200);

/// The time limit for a statement that reads much of the database.
pub(super) const LONG: Duration = Duration::from_secs(3600);

/// Polls a connection, and returns messages that no statement asked for.
type Messages = Box<dyn FnMut(&mut Context<'_>) -> Poll<Option<Result<AsyncMessage, Error>>> + Send>;

/// The reason why a connection could not be opened.
#[derive(Debug)]
pub(super) enum Failed {
    /// The server or the system refused it.
    Refused(Error),
    /// There was no answer in time.
    Silent,
}

/// A client. Its calls block the current thread, and so does dropping it. On a thread of an async runtime, the
/// runtime moves its other tasks to another thread in the meantime.
pub(super) struct Client {
    client: tokio_postgres::Client,
    line: Line,
}

/// The connection, and its time limit.
struct Line {
    runtime: Option<Runtime>,
    /// `None` once the connection was lost or dropped.
    messages: Option<Messages>,
    /// Whether the server has announced a commit since the last wait.
    is_told: bool,
    limit: Duration,
    /// Whether the connection was dropped because no answer came.
    is_silent: bool,
    given_up: Arc<Notify>,
}

impl Client {
    /// Connects within `time`, and waits for each answer for at most `limit`.
    pub(super) fn connect(
        config: &Config,
        tls: Option<MakeRustlsConnect>,
        time: Duration,
        limit: Duration,
    ) -> Result<Self, Failed> {
        block_in_place(|| {
            // Without an event queue, the process could not work at all.
            let runtime = Builder::new_current_thread().enable_all().build().expect("the system gives an event queue");
            let connected = runtime.block_on(async {
                match tls {
                    Some(tls) => tokio::time::timeout(time, connect(config, tls)).await,
                    None => tokio::time::timeout(time, connect(config, NoTls)).await,
                }
            });
            let (client, messages) =
                match connected.map_err(|_| Failed::Silent).and_then(|c| c.map_err(Failed::Refused)) {
                    Ok(connected) => connected,
                    Err(failed) => {
                        // Dropping the runtime would wait for a name lookup that is still running.
                        runtime.shutdown_background();
                        return Err(failed);
                    }
                };
            let line = Line {
                runtime: Some(runtime),
                messages: Some(messages),
                is_told: false,
                limit,
                is_silent: false,
                given_up: Arc::default(),
            };
            Ok(Self { client, line })
        })
    }

    pub(super) fn is_closed(&self) -> bool {
        self.line.messages.is_none() || self.client.is_closed()
    }

    /// Whether the connection was dropped because no answer came in time.
    pub(super) fn is_silent(&self) -> bool {
        self.line.is_silent
    }

    /// Returns the time limit for an answer.
    pub(super) fn limit(&self) -> Duration {
        self.line.limit
    }

    /// Sets the time limit for answers. Returns the previous one.
    pub(super) fn set_limit(&mut self, limit: Duration) -> Duration {
        std::mem::replace(&mut self.line.limit, limit)
    }

    /// Returns the signal by which another thread makes this client give up waiting and drop its connection.
    pub(super) fn given_up(&self) -> Arc<Notify> {
        Arc::clone(&self.line.given_up)
    }

    pub(super) fn cancel_token(&self) -> CancelToken {
        self.client.cancel_token()
    }

    pub(super) fn prepare(&mut self, text: &str) -> Result<Statement, Error> {
        self.line.block_on(self.client.prepare(text))
    }

    pub(super) fn query(&mut self, statement: &Statement, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, Error> {
        self.line.block_on(self.client.query(statement, params))
    }

    pub(super) fn query_typed(
        &mut self,
        text: &str,
        params: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<Vec<Row>, Error> {
        self.line.block_on(self.client.query_typed(text, params))
    }

    pub(super) fn execute(&mut self, statement: &Statement, params: &[&(dyn ToSql + Sync)]) -> Result<u64, Error> {
        self.line.block_on(self.client.execute(statement, params))
    }

    pub(super) fn execute_typed(&mut self, text: &str, params: &[(&(dyn ToSql + Sync), Type)]) -> Result<u64, Error> {
        self.line.block_on(self.client.execute_typed(text, params))
    }

    /// Executes a statement once for each row of parameters. All rows are sent before the first answer is awaited. Returns
    /// the first error.
    pub(super) fn execute_for_each(
        &mut self,
        statement: &Statement,
        rows: &[Vec<&(dyn ToSql + Sync)>],
    ) -> Result<Vec<u64>, Error> {
        self.line.block_on(try_join_all(rows.iter().map(|row| self.client.execute(statement, row))))
    }

    /// Runs statements without parameters, and returns their answers.
    pub(super) fn simple_query(&mut self, text: &str) -> Result<Vec<SimpleQueryMessage>, Error> {
        self.line.block_on(self.client.simple_query(text))
    }

    pub(super) fn batch_execute(&mut self, text: &str) -> Result<(), Error> {
        self.line.block_on(self.client.batch_execute(text))
    }

    /// Returns the rows of a statement one by one as they arrive.
    pub(super) fn rows(&mut self, statement: &Statement, params: &[&(dyn ToSql + Sync)]) -> Result<Rows<'_>, Error> {
        let params = params.iter().copied();
        let rows = self.line.block_on(self.client.query_raw(statement, params))?;
        Ok(Rows { line: &mut self.line, rows: Box::pin(rows) })
    }

    /// Like [`Client::rows`], for a statement that was not prepared.
    pub(super) fn rows_typed(&mut self, text: &str, params: &[(&(dyn ToSql + Sync), Type)]) -> Result<Rows<'_>, Error> {
        let params = params.iter().map(|(value, ty)| (*value, ty.clone()));
        let rows = self.line.block_on(self.client.query_typed_raw(text, params))?;
        Ok(Rows { line: &mut self.line, rows: Box::pin(rows) })
    }

    /// Begins to write the rows of a `COPY ... FROM STDIN BINARY`.
    pub(super) fn copy_in(&mut self, text: &str, types: &[Type]) -> Result<Copy<'_>, Error> {
        let sink = self.line.block_on(self.client.copy_in(text))?;
        Ok(Copy { line: &mut self.line, writer: Box::pin(BinaryCopyInWriter::new(sink, types)) })
    }

    /// Waits until the server notifies of a commit, for at most `limit`. Returns whether the server did so, or the
    /// connection was lost.
    pub(super) fn wait(&mut self, limit: Duration) -> Result<bool, Error> {
        let line = &mut self.line;
        let runtime = line.runtime.as_ref().expect("it is there until this is dropped");
        let (messages, is_told) = (&mut line.messages, &mut line.is_told);
        block_in_place(|| {
            runtime.block_on(async {
                let mut time = pin!(tokio::time::sleep(limit));
                poll_fn(|cx| {
                    let read = read(messages, is_told, cx);
                    match read {
                        Err(error) => Poll::Ready(Err(error)),
                        Ok(()) if *is_told || messages.is_none() => Poll::Ready(Ok(())),
                        Ok(()) => time.as_mut().poll(cx).map(Ok),
                    }
                })
                .await
            })
        })?;
        Ok(std::mem::take(is_told) || messages.is_none())
    }
}

/// The rows of a statement, one by one as they arrive.
pub(super) struct Rows<'c> {
    line: &'c mut Line,
    rows: Pin<Box<RowStream>>,
}

impl Rows<'_> {
    pub(super) fn next(&mut self) -> Result<Option<Row>, Error> {
        let rows = &mut self.rows;
        self.line.block_on(poll_fn(|cx| rows.as_mut().poll_next(cx).map(Option::transpose)))
    }
}

/// Writes rows. They are only stored once the copy is finished.
pub(super) struct Copy<'c> {
    line: &'c mut Line,
    writer: Pin<Box<BinaryCopyInWriter>>,
}

impl Copy<'_> {
    pub(super) fn write(&mut self, values: &[&(dyn ToSql + Sync)]) -> Result<(), Error> {
        self.line.block_on(self.writer.as_mut().write(values))
    }

    pub(super) fn finish(mut self) -> Result<u64, Error> {
        self.line.block_on(self.writer.as_mut().finish())
    }
}

impl Line {
    /// Waits for an answer. Drops the connection after the limit, or when the thread that watches deadlines gives up.
    fn block_on<T>(&mut self, answer: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let Self { runtime, messages, is_told, limit, is_silent, given_up } = self;
        let runtime = runtime.as_ref().expect("it is there until this is dropped");
        let mut answer = pin!(answer);
        block_in_place(|| {
            runtime.block_on(async {
                let mut time = pin!(tokio::time::sleep(*limit));
                let mut given_up = pin!(given_up.notified());
                poll_fn(|cx| {
                    if let Err(error) = read(messages, is_told, cx) {
                        return Poll::Ready(Err(error));
                    }
                    let done = answer.as_mut().poll(cx);
                    if done.is_ready() || messages.is_none() {
                        return done;
                    }
                    if time.as_mut().poll(cx).is_ready() || given_up.as_mut().poll(cx).is_ready() {
                        // The pending call then fails because its connection is closed.
                        (*messages, *is_silent) = (None, true);
                        return answer.as_mut().poll(cx);
                    }
                    Poll::Pending
                })
                .await
            })
        })
    }
}

/// Reads the messages that have arrived on a connection.
fn read(messages: &mut Option<Messages>, is_told: &mut bool, cx: &mut Context<'_>) -> Result<(), Error> {
    while let Some(next) = messages {
        match next(cx) {
            Poll::Pending => break,
            Poll::Ready(Some(Ok(AsyncMessage::Notification(_)))) => *is_told = true,
            Poll::Ready(Some(Ok(AsyncMessage::Notice(notice)))) => {
                tracing::debug!(notice = notice.message(), "a notice")
            }
            Poll::Ready(Some(Ok(_))) => {}
            Poll::Ready(Some(Err(error))) => {
                *messages = None;
                return Err(error);
            }
            Poll::Ready(None) => *messages = None,
        }
    }
    Ok(())
}

impl Drop for Line {
    fn drop(&mut self) {
        block_in_place(|| {
            let Some(runtime) = self.runtime.take() else { return };
            // The client is already dropped, so the connection sends its last message and ends.
            if self.messages.is_some() {
                let end = poll_fn(|cx| match read(&mut self.messages, &mut self.is_told, cx) {
                    Ok(()) if self.messages.is_some() => Poll::Pending,
                    _ => Poll::Ready(()),
                });
                let _ = runtime.block_on(async { tokio::time::timeout(CLOSING, end).await });
            }
            self.messages = None;
            runtime.shutdown_background();
        });
    }
}

async fn connect<T>(config: &Config, tls: T) -> Result<(tokio_postgres::Client, Messages), Error>
where
    T: MakeTlsConnect<Socket>,
    T::Stream: Send + 'static,
    T::TlsConnect: TlsConnect<Socket>,
{
    let (client, mut connection) = config.connect(tls).await?;
    let messages: Messages = Box::new(move |cx| connection.poll_message(cx));
    Ok((client, messages))
}
