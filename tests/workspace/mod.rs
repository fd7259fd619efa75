//! Contract 003: workspaces of several git repositories.

mod spec;
