//! The desired state: the files to deploy, and the modules that each is made of.
//!
//! [`layout::desired`] is the way from modules to files; [`unmap`] is the way back from a file that a user changed.

pub mod builder;
pub mod layout;
pub mod left_out;
pub mod output;
pub mod remark;
pub mod slots;
pub mod unmap;

pub use left_out::LeftOut;
pub use output::{Desired, Form, Output, Part, Root};
