//! `mcpkg draft plan`: what a run of a draft would do.
