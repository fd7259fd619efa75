//! Tokens with which people and programs sign in. An OAuth 2.1 authorization server issues them. mcpkg only checks
//! tokens. It does not issue any, and does not pass them on to other servers.
//!
//! An [`Issuer`] reads the public keys of the authorization server and checks JSON Web Tokens with them. [`Claims`]
//! are the claims of a checked token. [`code`] gets such a token for a person in a browser.

mod claims;
pub mod code;
mod endpoints;
mod issuer;
mod jws;
mod keys;
#[cfg(test)]
mod tests;

use std::fmt;

pub use claims::Claims;
pub use issuer::{Issuer, State};
pub use jws::is_token;

/// Why a token is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The text is not a valid JSON Web Token, or it has extensions.
    Malformed,
    /// The token is too long.
    TooLong,
    /// mcpkg does not accept the algorithm, or the key named by the token cannot be used with it.
    Algorithm,
    /// The token is not an access token, names no subject and no client, or is bound to a key of the client.
    Kind,
    /// The token is from another issuer.
    Issuer,
    /// The token is for another server or endpoint.
    Audience,
    /// The ID token was issued to another client of the issuer.
    Client,
    /// The ID token belongs to another sign-in.
    Nonce,
    /// The ID token stands for a program.
    Program,
    Expired,
    NotYetValid,
    /// The issuer does not publish the key that signed the token, or several keys may have signed it.
    UnknownKey,
    Signature,
    /// The issuer's keys were never read, or were read too long ago.
    NoKeys,
}

impl Refused {
    /// Whether the token may be an attempt to guess.
    pub const fn is_guess(self) -> bool {
        matches!(self, Refused::Signature)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refused::Malformed => "This is not a valid token",
            Refused::TooLong => "The token is too long",
            Refused::Algorithm => "The token is signed with an algorithm that this server does not accept",
            Refused::Kind => "This is not an access token",
            Refused::Issuer => "The token comes from another issuer than the one of this server",
            Refused::Audience => "The token was issued for another server or endpoint",
            Refused::Client => "The token was issued to another client of the issuer",
            Refused::Nonce => "The token belongs to another sign-in",
            Refused::Program => "The token stands for a program, not for a person",
            Refused::Expired => "The token has expired",
            Refused::NotYetValid => "The token is not valid yet",
            Refused::UnknownKey => "The token is signed with a key that the issuer does not publish",
            Refused::Signature => "The token's signature is wrong",
            Refused::NoKeys => "This server cannot check tokens: it could not read the keys of the issuer",
        })
    }
}
