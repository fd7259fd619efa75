//! The contents of a Sigstore bundle.

#[derive(Debug)]
pub struct Held {
    /// The bytes of the statement, or why there is none.
    pub payload: Result<Vec<u8>, String>,
    /// The identity of the signer, or why there is no valid signature.
    pub signer: Result<String, String>,
}

impl Held {
    /// Returns the contents of a bundle that cannot be read, with the reason.
    pub fn unreadable(why: String) -> Self {
        Self { payload: Err(why.clone()), signer: Err(why) }
    }
}
