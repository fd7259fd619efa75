//! Rows of MCP servers, with a checksum that detects damage.

use std::ops::Range;

use serde::de::DeserializeOwned;

use super::server::{Definition, Origin, Server, Transport};
use crate::engine::{Row, Value, params};
use crate::items::json;
use crate::names::legible;
use crate::sums::{checksum, intact};
use mcpkg_base::error::{Code, Error, Result};

/// The SELECT without its conditions; [`from_row`] reads its rows.
macro_rules! server_columns {
    () => {
        "SELECT project_id, uuid, name, transport, command, args, env, cwd, url, headers, inputs, extra, description,
                agent, path, entry, enabled, revision, created_at, updated_at, row_sum, id
           FROM mcp_server"
    };
}
pub(crate) use server_columns;

/// The columns that the checksum covers.
const SUMMED: Range<usize> = 0..20;

/// Reads a row of the query `server_columns!`.
pub(crate) fn from_row(row: &Row<'_>) -> Result<Server> {
    let damaged = || {
        Error::new(Code::Damaged, format!("MCP server '{}' is damaged in the database", legible(row, 2)))
            .hint("`mcpkg check --deep` shows details; `mcpkg restore FILE` restores a backup")
    };
    if !intact(row, SUMMED)? {
        return Err(damaged());
    }
    let word: &str = row.get(3)?;
    let transport = Transport::ALL.into_iter().find(|transport| transport.word() == word).ok_or_else(damaged)?;
    let optional = |column: usize| row.get::<Option<&str>>(column)?.map(parsed).transpose();
    Ok(Server {
        id: row.get(21)?,
        uuid: row.get(1)?,
        name: row.get(2)?,
        definition: Definition {
            transport,
            command: optional(4)?,
            args: parsed(row.get(5)?)?,
            env: parsed(row.get(6)?)?,
            cwd: optional(7)?,
            url: optional(8)?,
            headers: parsed(row.get(9)?)?,
            inputs: parsed(row.get(10)?)?,
            extra: parsed(row.get(11)?)?,
            description: row.get(12)?,
        },
        origin: Origin { agent: row.get(13)?, path: row.get(14)?, entry: row.get(15)? },
        enabled: row.get(16)?,
        revision: row.get(17)?,
        created_at: row.get(18)?,
        updated_at: row.get(19)?,
    })
}

fn parsed<T: DeserializeOwned>(json: &str) -> Result<T> {
    serde_json::from_str(json)
        .map_err(|error| crate::blobs::damaged_value("an MCP server's row is malformed").with_source(error))
}

/// The columns of a definition that hold JSON.
pub(super) struct Columns {
    pub(super) command: Option<String>,
    pub(super) args: String,
    pub(super) env: String,
    pub(super) cwd: Option<String>,
    pub(super) url: Option<String>,
    pub(super) headers: String,
    pub(super) inputs: String,
    pub(super) extra: String,
}

impl Columns {
    /// Converts a definition into the columns.
    pub(super) fn of(definition: &Definition) -> Result<Self> {
        Ok(Self {
            command: definition.command.as_ref().map(json).transpose()?,
            args: json(&definition.args)?,
            env: json(&definition.env)?,
            cwd: definition.cwd.as_ref().map(json).transpose()?,
            url: definition.url.as_ref().map(json).transpose()?,
            headers: json(&definition.headers)?,
            inputs: json(&definition.inputs)?,
            extra: json(&definition.extra)?,
        })
    }

    /// Calls `f` with all values of a row except its checksum and key, and with the checksum of those values.
    pub(super) fn with<T>(&self, project: i64, server: &Server, f: impl FnOnce(&[Value<'_>], i64) -> T) -> T {
        let Server { uuid, name, definition, origin, enabled, revision, created_at, updated_at, id: _ } = server;
        let transport = definition.transport.word();
        let values: &[Value<'_>] = params![
            project,
            uuid,
            name,
            transport,
            self.command,
            self.args,
            self.env,
            self.cwd,
            self.url,
            self.headers,
            self.inputs,
            self.extra,
            definition.description,
            origin.agent,
            origin.path,
            origin.entry,
            enabled,
            revision,
            created_at,
            updated_at,
        ];
        f(values, checksum(values))
    }
}
