//! Opens a database on a server, and creates or migrates its schema.

use std::path::Path;

use super::address::{Address, SCHEMA};
use super::connect::Connector;
use super::connection::Connection;
use super::pooler;
use super::schema::{self, NEWEST, SchemaState};
use mcpkg_base::error::{Code, Error, Result};

/// Opens the database at an address, and creates the schema if it is missing. An older schema is migrated only with `upgrade`,
/// because servers of an older version may be using it.
pub(super) fn open(path: &Path, upgrade: bool) -> Result<Connector> {
    let connector = Connector::new(Address::read(path)?);
    let connection = Connection::open(&connector)?;
    pooler::refuse_at_start(&connector, &connection)?;
    match schema::state(&connection)? {
        SchemaState::Nothing => schema::migrate(&connector)?,
        SchemaState::Version(version) if version < NEWEST && upgrade => {
            connection.stay_patient();
            schema::renew(&connection, version)?;
            schema::migrate(&connector)?
        }
        found => check(&connector, found)?,
    }
    Ok(connector)
}

/// Opens the database at an address without changing it.
pub(super) fn open_as_it_is(path: &Path) -> Result<Connector> {
    let connector = Connector::new(Address::read(path)?);
    let connection = Connection::open(&connector)?;
    pooler::refuse_at_start(&connector, &connection)?;
    check(&connector, schema::state(&connection)?)?;
    Ok(connector)
}

fn check(connector: &Connector, found: SchemaState) -> Result<()> {
    let shown = connector.address.shown.display();
    match found {
        SchemaState::Version(version) if version == NEWEST => Ok(()),
        SchemaState::Version(version) if version < NEWEST => Err(Error::new(
            Code::Unavailable,
            format!("The database `{shown}` has the older schema {version}; this mcpkg needs {NEWEST}"),
        )
        .hint("upgrade it by running `mcpkg init` with this address; after that, servers of the older version may \
            stop working")),
        SchemaState::Version(version) => Err(Error::new(
            Code::NewerDatabase,
            format!("The database `{shown}` has schema {version}; this mcpkg knows schemas up to {NEWEST}"),
        )
        .hint("use a newer version of mcpkg")),
        SchemaState::Foreign(None) => Err(Error::new(
            Code::ForeignDatabase,
            format!("The database `{shown}` has a schema `{SCHEMA}` that does not belong to mcpkg"),
        )
        .hint("nothing was read or changed; name another database")),
        SchemaState::Foreign(Some(strangers)) => Err(Error::new(
            Code::ForeignDatabase,
            format!("The schema `{SCHEMA}` of the database `{shown}` contains objects that mcpkg did not create: {strangers}"),
        )
        .hint("nothing was read or changed; remove these objects, which could run code whenever mcpkg writes, or name another database")),
        SchemaState::Nothing => {
            Err(Error::new(Code::Unavailable, format!("The database `{shown}` does not contain an mcpkg schema yet"))
                .hint("`mcpkg init` with this address creates the schema"))
        }
    }
}
