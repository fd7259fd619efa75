//! Tests of power loss: a file system on a loop device is shut down in the middle of writes.

use std::collections::BTreeSet;

use serde_json::json;

use super::{assert_sound, content_of, prompts};
use crate::support::{Disk, Raw, Scratch, call};

/// The numbers of acknowledgements to read before the power loss. The pipe may contain more.
const BEFORE: [i64; 2] = [40, 150];

#[test]
fn f03_power_loss_loses_nothing_acknowledged() {
    for system in ["ext4", "xfs"] {
        for before in BEFORE {
            cut(system, before);
        }
    }
}

/// Cuts the power after this many acknowledgements.
fn cut(system: &'static str, before: i64) {
    // The database's folder is the mount point, before the cut and after it.
    let scratch = Scratch::new();
    let Some(mut disk) = Disk::new(system, scratch.path()) else { return };
    scratch.ok(&["project", "create", "p"]);
    let mut server = Raw::start(&scratch, &[]);
    for n in 1..=before {
        let name = format!("n{n}");
        server.write(call(n, "create_prompt", &json!({ "name": name, "content": content_of(&name, 900) })));
    }
    let mut acknowledged = BTreeSet::new();
    while acknowledged.len() < before as usize {
        let line = server.answer();
        assert_eq!(line["result"]["isError"], false, "{line}");
        acknowledged.insert(format!("n{}", line["id"]));
    }
    disk.power_off();
    server.kill();
    drop(server);
    disk.power_on();
    let found = prompts(&scratch);
    let lost: Vec<_> = acknowledged.difference(&found).collect();
    assert!(lost.is_empty(), "lost {lost:?}");
    assert_sound(&scratch);
}
