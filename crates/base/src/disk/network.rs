//! Detects network file systems, on which SQLite's locks and shared memory do not work.

use std::path::Path;

use crate::file;
use crate::platform;

/// The types of network file systems in the system's list of mounts. A type that begins with `fuse.` is implemented by
/// an ordinary program.
const NETWORK: &[&str] = &[
    "9p",
    "afs",
    "ceph",
    "cifs",
    "coda",
    "davfs",
    "fuse.ceph-fuse",
    "fuse.davfs2",
    "fuse.gcsfuse",
    "fuse.glusterfs",
    "fuse.juicefs",
    "fuse.rclone",
    "fuse.s3fs",
    "fuse.sshfs",
    "glusterfs",
    "lustre",
    "ncpfs",
    "nfs",
    "nfs4",
    "smb3",
    "smbfs",
];

/// Returns the type of the network file system that contains a file; `None` if the file is on a local disk, or if the
/// system does not report it.
pub fn network_of(path: &Path) -> Option<String> {
    let (major, minor) = platform::device(&std::fs::metadata(path).ok()?)?;
    let mounts = file::read_directly(Path::new("/proc/self/mountinfo"), file::TEXT).ok()?;
    network_in(&String::from_utf8_lossy(&mounts), major, minor).map(str::to_owned)
}

/// Returns the type of a device's network file system, according to the system's list of mounts.
fn network_in(mounts: &str, major: u32, minor: u32) -> Option<&str> {
    let device = format!("{major}:{minor}");
    mounts.lines().find_map(|line| {
        let (place, what) = line.split_once(" - ")?;
        let kind = what.split(' ').next()?;
        (place.split(' ').nth(2) == Some(&device) && NETWORK.contains(&kind)).then_some(kind)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_of_another_machine_is_named() {
        let mounts = "\
            22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n\
            40 22 0:45 / /mnt/team rw shared:9 - nfs4 server:/export rw,vers=4.2\n\
            41 22 0:46 / /mnt/home rw - fuse.sshfs me@host: rw\n\
            42 22 0:47 / /mnt/merged rw - fuse.mergerfs a:b rw\n\
            43 22 0:48 / /mnt/share rw - cifs //server/share rw\n";
        let found = [(8, 1), (0, 45), (0, 46), (0, 47), (0, 48), (0, 99)]
            .map(|(major, minor)| network_in(mounts, major, minor));
        assert_eq!(found, [None, Some("nfs4"), Some("fuse.sshfs"), None, Some("cifs"), None]);
        assert_eq!(network_of(Path::new("/proc/self")), None);
    }
}
