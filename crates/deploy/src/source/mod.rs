//! Finds the selected source and its modules, and where it is deployed.

pub mod chosen;

mod choice;
mod deploy_root;
mod named;
mod site;
mod which;

pub use choice::{Choice, Scope};
pub use deploy_root::{has_root, is_an_agents_own, known_root};
pub use named::{Adopt, Adopted, Only, adopt};
pub use site::{Composed, Site};
pub use which::Source;
