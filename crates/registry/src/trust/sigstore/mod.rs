//! Checks keyless Sigstore bundles. A bundle contains a DSSE envelope signed with a short-lived key, a certificate
//! that names the key's owner, and a log entry with the time of signing.
//!
//! The cargo feature `sigstore` turns the checks on. Without it, bundles are recognised but never count.

mod root;

#[cfg(feature = "sigstore")]
mod authorities;
#[cfg(feature = "sigstore")]
mod check;
#[cfg(feature = "sigstore")]
mod crypto;
#[cfg(feature = "sigstore")]
mod name;
#[cfg(not(feature = "sigstore"))]
mod without;

#[cfg(feature = "sigstore")]
pub use self::{
    authorities::described,
    check::read,
    name::{covers, name},
};
pub use root::{Authority, Described, Replaced, Root};
#[cfg(not(feature = "sigstore"))]
pub use without::{covers, described, name, read};

#[derive(Debug)]
pub struct BundleContents {
    /// The bytes of the statement, or why there is none.
    pub payload: Result<Vec<u8>, String>,
    /// The identity of the signer, or why there is no valid signature.
    pub signer: Result<String, String>,
}

impl BundleContents {
    /// Returns the contents of a bundle that cannot be read, with the reason.
    pub fn unreadable(why: String) -> Self {
        Self { payload: Err(why.clone()), signer: Err(why) }
    }
}

/// The forms of identities that this build can check, for help and hints.
#[cfg(feature = "sigstore")]
macro_rules! forms {
    () => {
        "An identity is `ed25519:SHA256:FINGERPRINT` (a key), `github:USER`, `github:MAIL`, `google:MAIL`, `microsoft:MAIL` or \
         `github-workflow:OWNER/REPO/.github/workflows/FILE.yml@REFERENCE`, where REFERENCE is refs/heads/BRANCH, refs/tags/TAG or a \
         pattern such as refs/tags/*."
    };
}
#[cfg(not(feature = "sigstore"))]
macro_rules! forms {
    () => {
        "An identity is `ed25519:SHA256:FINGERPRINT` (a key)."
    };
}
pub(crate) use forms;

/// Returns whether this mcpkg can check Sigstore bundles.
pub const fn is_checked() -> bool {
    cfg!(feature = "sigstore")
}
