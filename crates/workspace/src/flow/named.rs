//! Finds flow runs by the beginning of their ids.

use uuid::Uuid;

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_store::Db;
use mcpkg_store::flow_runs::{self, FlowRun};

/// The number of characters of an id shown in tables. They hold the creation time, which is enough to tell runs apart.
const SHOWN: usize = 13;

/// The minimum number of digits that can name a run. With fewer, ordinary words could match.
const LEAST: usize = 8;

/// Returns the short form of a run's id that tables show.
pub fn shown(run: Uuid) -> String {
    let mut id = run.to_string();
    id.truncate(SHOWN);
    id
}

/// Finds a run of a workspace by the first digits of its id, at least [`LEAST`].
///
/// # Errors
/// `E_INVALID_ARGUMENT` if several ids start with `id`.
pub fn find(db: &Db<'_>, workspace: i64, id: &str) -> Result<Option<FlowRun>> {
    let Some((first, last)) = range(id) else { return Ok(None) };
    let mut found = flow_runs::between(db, workspace, first, last)?;
    if found.len() > 1 {
        return Err(Error::new(Code::InvalidArgument, format!("Several runs have an id that starts with `{id}`"))
            .hint("list full ids: `mcpkg flow log --json`"));
    }
    Ok(found.pop())
}

/// Returns the lowest and the highest id that start with `id`; `None` if `id` is too short or not the start of an id.
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
