//! What a bundle holds.

/// What a bundle of Sigstore's holds.
#[derive(Debug)]
pub struct Held {
    /// The bytes of its statement, or why it has none.
    pub payload: Result<Vec<u8>, String>,
    /// The name of who signed, as identities are written, or why nobody did.
    pub signer: Result<String, String>,
}

impl Held {
    /// A bundle that cannot be read, with the reason.
    pub fn unreadable(why: String) -> Self {
        Self { payload: Err(why.clone()), signer: Err(why) }
    }
}
