//! Stage 6 of an import: stores the content and the search index, and then all rows in one transaction.

use super::bulk::Bulk;
use super::{Action, Update, apply, plan, refuse_conflicts, servers};
use crate::import::place::servers::ServerInFile;
use crate::import::recognise::cancelled;
use crate::item::Item;
use crate::same::record::{self, Duplicates};
use mcpkg_base::error::Result;
use mcpkg_core::op::Context;
use mcpkg_store::projects::Project;
use mcpkg_store::{Db, events, links};

/// Everything that an import found.
#[derive(Clone, Copy)]
pub struct Content<'c> {
    pub items: &'c [Item],
    pub servers: &'c [ServerInFile],
    pub duplicates: Duplicates<'c>,
    pub update: Update,
}

/// The changes that an import makes in the project.
pub struct Plan {
    pub actions: Vec<Action>,
    pub of_servers: Vec<servers::Action>,
    pub project: Project,
    changes_duplicates: bool,
    /// The newest event at the time of planning. If there is no newer event, the plan is still up to date.
    newest: i64,
}

impl Content<'_> {
    /// Compares everything that the import found with the project. If nothing has changed in the database since an
    /// `earlier` plan for the same content, returns that plan.
    pub fn plan(self, context: &Context, earlier: Option<Plan>) -> Result<Plan> {
        context.read(|db, project| self.current(db, project, earlier))
    }

    fn current(self, db: &Db<'_>, project: &Project, earlier: Option<Plan>) -> Result<Plan> {
        match earlier {
            Some(plan) if plan.project == *project && plan.newest == events::newest(db)? => Ok(plan),
            _ => self.plan_in(db, project),
        }
    }

    fn plan_in(self, db: &Db<'_>, project: &Project) -> Result<Plan> {
        let known = links::all(db, project.id)?;
        Ok(Plan {
            actions: plan(db, project, self.items, self.duplicates.same, self.update)?,
            of_servers: servers::plan(db, project, self.servers, self.update != Update::Never)?,
            project: project.clone(),
            changes_duplicates: record::changes(&known, self.duplicates, self.items),
            newest: events::newest(db)?,
        })
    }

    /// Writes either everything or nothing. The plan is made and the content is stored before the transaction, without
    /// locking the database, so others can write during these steps.
    pub fn write(self, context: &Context, subject: &str, earlier: Option<Plan>) -> Result<Plan> {
        let plan = self.plan(context, earlier)?;
        self.refuse_conflicts(&plan)?;
        if plan.is_empty() {
            return Ok(plan);
        }
        let planned = self.items.iter().zip(&plan.actions);
        let bulk = Bulk::store(context, planned, self.duplicates.contents.values(), cancelled)?;
        let plan = context.write("import", subject, |db, project, author| {
            let plan = self.current(db, project, Some(plan))?;
            self.refuse_conflicts(&plan)?;
            let items: Vec<&Item> = self.items.iter().collect();
            let total = items.len() as u64;
            let planned = (&items[..], &plan.actions[..]);
            let indexed = bulk.keys(db, project)?;
            apply::apply(db, author, project, &context.clock, planned, &indexed, |written| {
                if context.is_cancelled() {
                    return Err(cancelled());
                }
                (context.progress)("Writing", written as u64, total);
                Ok(())
            })?;
            record::keep(db, project, self.duplicates, self.items)?;
            servers::apply(db, project, &context.clock, author.now, self.servers, &plan.of_servers)?;
            Ok(plan)
        })?;
        bulk.keep();
        Ok(plan)
    }

    fn refuse_conflicts(self, plan: &Plan) -> Result<()> {
        refuse_conflicts(self.items, &plan.actions)?;
        servers::refuse_conflicts(self.servers, &plan.of_servers)
    }
}

impl Plan {
    /// Returns whether the project already contains everything.
    pub fn is_empty(&self) -> bool {
        !self.changes_duplicates
            && self.actions.iter().all(|action| matches!(action, Action::Unchanged))
            && self.of_servers.iter().all(|action| matches!(action, servers::Action::Unchanged))
    }
}
