//! Installed tools: for whom, which version, what agents see of them, and how they are called.

pub mod toolsets;
pub mod visible;

use crate::op::Names;
use crate::store::tools::installs;

/// The tools that are installed for anybody.
pub const TOOLS: Names = Names::Stored(|typed| Ok(typed.matching(installs::names(typed.db)?)));
