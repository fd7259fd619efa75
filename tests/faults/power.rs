//! Power loss: a file system of its own on a loop device, shut down in the middle of writes.

use std::collections::BTreeSet;
use std::fs::File;
use std::process::{Command, Stdio};

use serde_json::json;

use super::{assert_sound, content_of, prompts};
use crate::support::{Mount, Raw, Scratch, call, finds, is_root, skipped};

/// Acknowledgements read before the power goes; more may come from what the pipe still holds.
const BEFORE: [i64; 2] = [40, 150];

#[test]
fn f03_power_loss_loses_nothing_acknowledged() {
    if !is_root() {
        return skipped("power loss needs root");
    }
    if finds("xfs_io").is_none() {
        return skipped("power loss needs xfs_io (xfsprogs)");
    }
    for (system, size) in [("ext4", 64 << 20), ("xfs", 320 << 20)] {
        let Some(make) = finds(&format!("mkfs.{system}")) else {
            skipped(&format!("there is no mkfs.{system}"));
            continue;
        };
        for before in BEFORE {
            let outside = Scratch::new();
            let image = outside.path().join("disk");
            File::create(&image).and_then(|file| file.set_len(size)).expect("a sparse file");
            let made = Command::new(&make).arg("-q").arg(&image).stdout(Stdio::null()).status().expect("mkfs starts");
            assert!(made.success(), "mkfs.{system}");
            if !cut(&image.to_string_lossy(), before) {
                return skipped("this machine mounts no loop devices");
            }
        }
    }
}

/// Cuts the power after so many acknowledgements; false where the image cannot be mounted.
fn cut(image: &str, before: i64) -> bool {
    // The folder of the database is the file system itself, before the cut and after it.
    let scratch = Scratch::new();
    let Some(mount) = Mount::new(&["-o", "loop", image], scratch.path()) else {
        return false;
    };
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
    let cut = Command::new("xfs_io").args(["-x", "-c", "shutdown"]).arg(scratch.path()).status();
    assert!(cut.expect("xfs_io starts").success(), "the file system could not be shut down");
    server.kill();
    drop(server);
    drop(mount);
    let _mount = Mount::new(&["-o", "loop", image], scratch.path()).expect("the file system mounts again");
    let found = prompts(&scratch);
    let lost: Vec<_> = acknowledged.difference(&found).collect();
    assert!(lost.is_empty(), "lost {lost:?}");
    assert_sound(&scratch);
    true
}
