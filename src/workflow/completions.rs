//! Names that complete an argument of the commands about commands.

use super::{operations, tools};
use crate::op::Names;

/// The groups that there are without any that somebody imported.
pub const GROUPS: Names = Names::Known(|| [operations::GROUP, tools::GROUP].map(str::to_owned).into());

/// The ids of mcpkg's own commands.
pub const IDS: Names = Names::Known(operations::ids);
