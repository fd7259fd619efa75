//! Passkeys: how people sign in to the console of a server, and approve what it asks (WebAuthn, ES256 alone).
//!
//! A passkey is registered with a link that was made at a terminal of the server. It is stored outside the database,
//! among what this user has approved on this machine. So neither a row nor an access key can add one.

mod challenge;
mod operations;
mod passkeys;
mod record;
mod site;
mod webauthn;

pub use challenge::{About, Challenge};
pub use passkeys::{Answer, Decider, Passkeys};
pub use record::{Invitation, Passkey};

use crate::op::{Domain, Entry, Undo};

pub static DOMAIN: Domain = Domain {
    name: "passkey",
    operations: &[OPS],
    commands: &[("passkey", "Manage the passkeys that sign people in to the console of a server, and approve there")],
    undo: Undo {
        lasting: &[
            ("passkey.add", "remove the passkey with `mcpkg passkey remove`"),
            ("passkey.remove", "register the passkey again with `mcpkg passkey add`"),
            ("passkey.login", "a person signed in"),
            ("passkey.use", "undo the change that the passkey approved"),
        ],
        ..Undo::NOTHING
    },
    ..Domain::EMPTY
};

const OPS: &[Entry] =
    &[Entry::of::<operations::Add>(), Entry::of::<operations::List>(), Entry::of::<operations::Remove>()];
