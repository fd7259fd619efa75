//! Mounts a disk whose power a test can cut.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Mount, Scratch, finds, is_root, set_mode, skipped};

/// The size of the disk in bytes. XFS needs more than 300 MiB. The image is a sparse file.
const SIZE: u64 = 320 << 20;

/// A mounted file system in an image file. The image file is stored outside of that file system.
pub struct Disk {
    system: &'static str,
    at: PathBuf,
    outside: Scratch,
    /// The number of times that the power was cut.
    cuts: usize,
    mount: Option<Mount>,
}

impl Disk {
    /// Makes the file system (`ext4` or `xfs`) and mounts it. If this machine cannot do that, prints the reason and
    /// returns `None`.
    pub fn new(system: &'static str, at: &Path) -> Option<Self> {
        if !is_root() || finds("xfs_io").is_none() {
            skipped("power loss needs root and xfs_io (xfsprogs)");
            return None;
        }
        let Some(make) = finds(&format!("mkfs.{system}")) else {
            skipped(&format!("there is no mkfs.{system}"));
            return None;
        };
        let mut disk = Self { system, at: at.to_owned(), outside: Scratch::new(), cuts: 0, mount: None };
        File::create(disk.image()).and_then(|file| file.set_len(SIZE)).expect("a sparse file");
        let made = Command::new(make).arg("-q").arg(disk.image()).stdout(Stdio::null()).status().expect("mkfs starts");
        assert!(made.success(), "mkfs.{system}");
        disk.mount = disk.mounted();
        if disk.mount.is_none() {
            skipped("this machine mounts no loop devices");
            return None;
        }
        set_mode(&disk.at, 0o755);
        Some(disk)
    }

    fn image(&self) -> PathBuf {
        self.outside.path().join(format!("disk-{}", self.cuts))
    }

    fn mounted(&self) -> Option<Mount> {
        // XFS refuses to mount two file systems with the same id, and a copy has the id of its original.
        let options = if self.system == "xfs" { "loop,nouuid" } else { "loop" };
        Mount::new(&["-o", options, &self.image().to_string_lossy()], &self.at)
    }

    /// Cuts the power: data that was not synced is lost, and nothing more is written.
    pub fn power_off(&self) {
        let cut = Command::new("xfs_io").args(["-x", "-c", "shutdown"]).arg(&self.at).status();
        assert!(cut.expect("xfs_io starts").success(), "the file system could not be shut down");
    }

    /// Turns the power on again.
    pub fn power_on(&mut self) {
        self.mount = None;
        // A process that is just ending, or a sandbox that is just starting, may still use the old file system, which
        // then stays shut down. So mount a copy of the image.
        let old = self.image();
        self.cuts += 1;
        let copied = Command::new("cp").arg("--sparse=always").args([&old, &self.image()]).status();
        assert!(copied.expect("cp starts").success(), "the image could not be copied");
        std::fs::remove_file(old).expect("the old image");
        self.mount = Some(self.mounted().expect("the file system mounts again"));
    }

    /// Cuts the power, and turns it on again.
    pub fn cut(&mut self) {
        self.power_off();
        self.power_on();
    }

    /// Writes everything to the disk, for a test that is only about later writes.
    pub fn flush(&self) {
        let flushed = Command::new("sync").arg("-f").arg(&self.at).status();
        assert!(flushed.expect("sync starts").success());
    }
}
