//! Keyless bundles of Sigstore's: a DSSE envelope, signed by a key that lived for minutes, a certificate that says whose it was,
//! and a log that says when.
//!
//! Only this folder knows the cargo feature `sigstore`. Without it such a bundle is recognised and never counts.

mod held;
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
pub use self::{authorities::described, check::read, name::name};
pub use held::Held;
pub use root::{Authority, Described, Replaced, Root};
#[cfg(not(feature = "sigstore"))]
pub use without::{described, name, read};

/// Whether this mcpkg checks bundles of Sigstore's.
pub const fn is_checked() -> bool {
    cfg!(feature = "sigstore")
}
