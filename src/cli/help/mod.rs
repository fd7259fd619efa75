//! Provides the parts of help texts: the headings of the overview, the sections of each command's help, and the topics.

mod headings;
mod options;
mod page;
mod parts;
pub(super) mod topics;

pub use headings::HEADINGS;
pub use options::options;
pub(super) use options::{GLOBALS, flag};
pub(super) use page::{WIDEST, header, literal};
pub(super) use parts::{BEGIN, ENVIRONMENT, EXAMPLES, command, finished, of_branch, of_root};
