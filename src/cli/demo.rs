//! `mcpkg demo`.
