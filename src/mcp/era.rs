//! The two eras of the protocol, and what the newer one adds to every result.

/// Which shape a result has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Era {
    /// The revisions with a handshake, 2024-11-05 to 2025-11-25.
    Legacy,
    /// 2026-07-28: every result says its type, lists and reads say how long they may be kept.
    Modern,
}

/// How long a client may keep what it read: not at all, since the shell can change it at any moment and asking again
/// costs microseconds. Its content is the user's own.
const CACHE: &[u8] = b",\"ttlMs\":0,\"cacheScope\":\"private\"";

/// How long clients may keep what does not change while a server runs, in milliseconds: tools, templates, discover.
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

    /// Ends a result object that may not be kept.
    pub(super) fn close_uncached(self, out: &mut Vec<u8>) {
        if self == Era::Modern {
            out.extend_from_slice(CACHE);
        }
        out.push(b'}');
    }
}
