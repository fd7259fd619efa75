//! `mcpkg access ...`: manages access keys. For the shell only; agents never manage keys.

mod create;
mod list;
mod revoke;
mod show;
mod standing;

pub use create::Create;
pub use list::List;
pub use revoke::Revoke;
pub use show::Show;
