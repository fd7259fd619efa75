//! People who signed in with the issuer of the server: what the access rules allow them in the console.

use std::sync::Arc;

use mcpkg_base::clock::{Millis, short_id};
use mcpkg_base::error::Result;
use mcpkg_core::access::token::Claims;
use mcpkg_core::access::{Grant, Refused, Rules};
use mcpkg_core::op::{Caller, Context};

/// A person who signed in with the issuer. No part of a token is kept, only its claims.
pub struct Person {
    claims: Arc<Claims>,
    pub since: Millis,
    /// The id under which the audit trail groups what the person does in this session.
    connection: Arc<str>,
}

impl Person {
    pub fn new(claims: Arc<Claims>, since: Millis) -> Self {
        Self { claims, since, connection: short_id().into() }
    }

    /// Returns the name of the person, as tokens of MCP clients name the same person: `person:ada@example.com#1f2e3d4c`.
    pub fn name(&self) -> &str {
        self.claims.name()
    }

    /// Returns what the access rules allow now, or a sentence that says why the person has no access. Reads the rules.
    ///
    /// The console shows all projects, so rules for single projects do not give access to it.
    pub fn allowed(&self, context: &Context) -> Result<std::result::Result<Grant, String>> {
        let rules = context.store.read(Rules::load)?;
        let only = |which: &str| {
            format!(
                "Your access rules are for {which} only. The console shows all projects, so you need a rule for all of them."
            )
        };
        Ok(match rules.grant(&self.claims, None) {
            // The session has a limit of its own. The ID token only had to be valid when the person signed in.
            Ok(grant) => match &grant.project_name {
                None => Ok(Grant { expires_at: None, ..grant }),
                Some(name) => Err(only(&format!("the project '{name}'"))),
            },
            Err(Refused::SeveralProjects) => Err(only("some projects")),
            Err(_) => Err("The issuer signed you in, but no access rule of this server fits your ID token.".to_owned()),
        })
    }

    /// Returns the context of what the person does.
    pub fn context(&self, context: &Context, grant: &Grant) -> Context {
        let mut context = Context {
            caller: Caller::person(grant.clone()),
            connection: Arc::clone(&self.connection),
            ..context.clone()
        };
        let rights = context.caller.rights();
        if !rights.write {
            context.store = context.store.reading();
            context.is_read_only = true;
        }
        if !rights.execute {
            Arc::make_mut(&mut context.surface).no_execute = true;
        }
        context
    }
}
