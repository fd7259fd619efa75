//! Distinguishes the two eras of the MCP protocol, and adds to each result the fields that the newer era requires.

/// The era of the protocol, which decides the shape of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Era {
    /// The revisions with a handshake, 2024-11-05 to 2025-11-25.
    Legacy,
    /// Revision 2026-07-28: every result states its type, and lists and reads state how long a client may cache them.
    Modern,
}

/// Tells clients not to cache a read: a command can change the data at any moment, and asking again costs microseconds.
/// The content is private to the user.
const CACHE: &[u8] = b",\"ttlMs\":0,\"cacheScope\":\"private\"";

/// How many milliseconds clients may cache a result that does not change while a server runs, such as the result of
/// server/discover.
pub(super) const LASTING: u64 = 3_600_000;

impl Era {
    /// Begins a result object.
    pub(super) fn open(self, out: &mut Vec<u8>) {
        out.push(b'{');
        if self == Era::Modern {
            out.extend_from_slice(b"\"resultType\":\"complete\",");
        }
    }

    /// Ends a result object that cannot change while the server runs.
    pub(super) fn close_lasting(self, out: &mut Vec<u8>) {
        if self == Era::Modern {
            out.extend_from_slice(format!(",\"ttlMs\":{LASTING},\"cacheScope\":\"private\"").as_bytes());
        }
        out.push(b'}');
    }

    /// Ends a result object that clients must not cache.
    pub(super) fn close_uncached(self, out: &mut Vec<u8>) {
        if self == Era::Modern {
            out.extend_from_slice(CACHE);
        }
        out.push(b'}');
    }
}
