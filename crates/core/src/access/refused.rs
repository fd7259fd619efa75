//! The reasons to refuse a request because of its key or token.

use std::fmt;

use super::token;

/// Why a request is refused. The answer reveals nothing about a key to callers who do not know the key's secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// There is no key.
    Missing,
    /// The text does not have the form of a key.
    Malformed,
    /// No key has this id, or the secret does not match.
    Unknown,
    Expired,
    Revoked,
    /// The key is for one project, which was deleted.
    ProjectGone,
    /// The text is a token, but the server accepts only keys.
    NoTokens,
    Token(token::Refused),
    /// No access rule fits the token and the project.
    NoRule,
    /// The rules that fit the token are for several projects, but the request names none.
    SeveralProjects,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refused::Missing => "An access key is required; create one with `mcpkg access create NAME`",
            Refused::Malformed => "This is not an access key",
            Refused::Unknown => "This server does not know the access key",
            Refused::Expired => "The access key has expired",
            Refused::Revoked => "The access key was revoked",
            Refused::ProjectGone => "The project of the access key was deleted",
            Refused::NoTokens => "This server accepts access keys, but no tokens",
            Refused::Token(why) => return why.fmt(f),
            Refused::NoRule => {
                "You are signed in, but no access rule of this server gives you access here; ask its administrator for one"
            }
            Refused::SeveralProjects => {
                "You have access to several projects of this server; connect to one of them, at /projects/NAME/mcp"
            }
        })
    }
}
