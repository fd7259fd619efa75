//! Runs by the beginnings of their ids, as people name them.

use uuid::Uuid;

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_store::Db;
use mcpkg_store::flow_runs::{self, FlowRun};

/// The characters of an id that a table shows: the moment of its making, which tells one run of a workspace from the next.
const SHOWN: usize = 13;

/// The least digits that name a run, so that few words of people's do.
const LEAST: usize = 8;

/// Returns a run's id as a table shows it.
pub fn shown(run: Uuid) -> String {
    let mut id = run.to_string();
    id.truncate(SHOWN);
    id
}

/// Returns the run of a workspace whose id begins with `id`, if there is one.
///
/// # Errors
/// `E_INVALID_ARGUMENT` where several begin so.
pub fn find(db: &Db<'_>, workspace: i64, id: &str) -> Result<Option<FlowRun>> {
    let Some((first, last)) = range(id) else { return Ok(None) };
    let mut found = flow_runs::between(db, workspace, first, last)?;
    if found.len() > 1 {
        return Err(Error::new(Code::InvalidArgument, format!("Several runs have an id that starts with `{id}`"))
            .hint("list full ids: `mcpkg flow log --json`"));
    }
    Ok(found.pop())
}

/// Returns the first and the last id that begin with `id`; `None` where it is no beginning of any.
fn range(id: &str) -> Option<(Uuid, Uuid)> {
    let digits: String = id.chars().filter(|c| *c != '-').collect();
    let bound =
        |fill: &str| Uuid::try_parse(&format!("{digits}{}", fill.repeat(32_usize.checked_sub(digits.len())?))).ok();
    if digits.len() < LEAST { None } else { Some((bound("0")?, bound("f")?)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_an_id_is_a_range() {
        let id = "01a20be6-7be2-70e7-822f-44da3cb7087e";
        let uuid = Uuid::parse_str(id).unwrap();
        assert_eq!(range(id), Some((uuid, uuid)));
        for end in [8, 11, SHOWN, 35] {
            let (first, last) = range(&id[..end]).unwrap();
            assert!(first <= uuid && uuid <= last && first < last, "{end}");
        }
        assert!(range(&shown(uuid)).is_some());
        for none in
            ["", "01a20be", "feature/x", "01a20be6-7be2-70e7-822f-44da3cb7087e0", "\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}"]
        {
            assert_eq!(range(none), None, "{none}");
        }
    }
}
