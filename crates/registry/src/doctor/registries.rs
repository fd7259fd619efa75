//! Checks that this user approved each registry on this machine, and that it responds.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::Depth;
use crate::backend::Known;
use crate::backend::approval::Use;
use crate::package::Name;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::shell;
use mcpkg_core::consent::approvable::Approvable;
use mcpkg_core::op::{Confirmation, Context, Finding, Health};

pub(super) const AREA: &str = "tool registries";

/// How long a registry on another host may take to answer.
const DEADLINE: Duration = Duration::from_secs(10);

/// The tool that each registry is asked for. Answering "not found" also proves that the registry works.
const ASKED_FOR: &str = "mcpkg/doctor";

pub(super) fn check(context: &Context, depth: Depth) -> Result<Vec<Finding>> {
    let known = Known::all(context)?;
    let asked = known.iter().filter(|known| depth == Depth::Whole || !known.is_remote());
    (context.step_aside)();
    thread::scope(|scope| {
        let looks: Vec<_> = asked.map(|known| scope.spawn(move || one(context, known))).collect();
        let odd = |_| Err(Error::internal("the check of a registry stopped unexpectedly"));
        looks.into_iter().map(|look| look.join().unwrap_or_else(odd)).collect()
    })
}

fn one(context: &Context, known: &Known) -> Result<Finding> {
    let name = &known.name;
    let Some(place) = &known.place else {
        return Ok(Finding::new(AREA, Health::Ok, format!("the registry '{name}' is stored in this database")));
    };
    if !Use(place).is_approved(context)? {
        let what = format!("you have not approved '{name}' ({}) on this machine", place.location);
        let asks = format!("mcpkg tool search --registry {} WORDS", shell::quote(name));
        return Ok(Finding::new(AREA, Health::Note, what).action(format!("`{asks}` asks you to approve the registry")));
    }
    let answered = match known.is_remote() {
        true => within(context, |context| ask(context, known)),
        false => ask(context, known),
    };
    Ok(match answered {
        Ok(()) => Finding::new(AREA, Health::Ok, format!("'{name}' responds")),
        Err(error) if context.is_cancelled() => return Err(error),
        Err(error) if error.code() == Code::Cancelled => {
            let what = format!("'{name}' did not respond within {} seconds", DEADLINE.as_secs());
            Finding::new(AREA, Health::Problem, what).action("installed tools still run without this registry")
        }
        Err(error) => {
            let finding = Finding::new(AREA, Health::Problem, error.message());
            match error.hints() {
                [hint, ..] => finding.action(hint),
                [] => finding.action(format!("`mcpkg registry show {name}` shows its address")),
            }
        }
    })
}

/// Asks a registry for a tool that it does not have, to see whether it responds.
fn ask(context: &Context, known: &Known) -> Result<()> {
    // A check must not prompt the user.
    let context = Context { confirmation: Confirmation::Nobody, ..context.clone() };
    match known.open(&context)?.info(&Name::parse(ASKED_FOR)?) {
        Err(error) if error.code() != Code::ToolNotFound => Err(error),
        _ => Ok(()),
    }
}

/// Runs `f` in a context that is cancelled after [`DEADLINE`], or when the user cancels.
fn within<T>(context: &Context, f: impl FnOnce(&Context) -> T) -> T {
    let token = context.cancelled.child_token();
    let context = Context { cancelled: token.clone(), ..context.clone() };
    let (ended, over) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            if over.recv_timeout(DEADLINE) == Err(mpsc::RecvTimeoutError::Timeout) {
                token.cancel();
            }
        });
        let value = f(&context);
        drop(ended);
        value
    })
}
