//! Streams a request body that is too large for memory: it is read in pieces while it is sent.

use std::io::{self, Read};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

/// The size of a piece in bytes.
const PIECE: u64 = 256 << 10;

/// A body that is read while it is sent.
pub struct Upload {
    from: Box<dyn Read + Send + Sync>,
    left: u64,
}

impl Upload {
    /// Sends the first `size` bytes of `from`. If there are fewer, the request fails.
    pub fn new(from: impl Read + Send + Sync + 'static, size: u64) -> Self {
        Self { from: Box::new(from), left: size }
    }
}

impl From<Upload> for reqwest::Body {
    fn from(upload: Upload) -> Self {
        Self::wrap(upload)
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = io::Error;

    // Blocking is fine: reading a piece of a file takes less than a millisecond, and this thread only serves this
    // process's requests.
    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        let (mut piece, most) = (Vec::new(), self.left.min(PIECE));
        if let Err(error) = self.from.by_ref().take(most).read_to_end(&mut piece) {
            return Poll::Ready(Some(Err(error)));
        }
        if piece.is_empty() {
            return Poll::Ready(Some(Err(io::ErrorKind::UnexpectedEof.into())));
        }
        self.left -= piece.len() as u64;
        Poll::Ready(Some(Ok(Frame::data(piece.into()))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
