//! Computes the desired state: the files to deploy, and the modules that each file is made of.
//!
//! [`layout::desired`] converts modules to files; [`unmap`] maps a file that a user changed back to its modules.

pub mod builder;
pub mod layout;
pub mod left_out;
pub mod output;
pub mod remark;
pub mod slots;
pub mod unmap;

pub use left_out::LeftOut;
pub use output::{Desired, Form, Output, Part, Root};
