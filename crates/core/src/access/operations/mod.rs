//! `mcpkg access ...`: manages access keys and rules. For the shell only; agents never manage access.

mod create;
mod list;
mod revoke;
mod rule;
mod rule_add;
mod rule_list;
mod rule_remove;
mod show;
mod standing;

pub use create::Create;
pub use list::List;
pub use revoke::Revoke;
pub use rule_add::AddRule;
pub use rule_list::ListRules;
pub use rule_remove::RemoveRule;
pub use show::Show;
