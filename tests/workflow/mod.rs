//! Contract 004: commands and workflows.

mod index;
