//! The contents of a bundle.

/// The contents of a Sigstore bundle.
#[derive(Debug)]
pub struct Held {
    /// The bytes of its statement, or why it has none.
    pub payload: Result<Vec<u8>, String>,
    /// The identity of the signer, or why there is no valid signature.
    pub signer: Result<String, String>,
}

impl Held {
    /// A bundle that cannot be read, with the reason.
    pub fn unreadable(why: String) -> Self {
        Self { payload: Err(why.clone()), signer: Err(why) }
    }
}
