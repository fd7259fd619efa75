//! Puts a program into its own control group, if possible, so that limits apply to all of its processes together.
//!
//! Both versions of Linux control groups are supported: one version 2 folder with the needed controllers, or else one
//! version 1 folder per controller. If mcpkg may not write to either, there is no group.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::file::read_kernel;

/// Limits for all processes of a control group together.
#[derive(Clone, Copy, Debug)]
pub struct Together {
    /// The memory limit in bytes, including files held in memory.
    pub memory: u64,
    pub processes: u64,
}

/// A control group, removed when dropped.
#[derive(Debug)]
pub struct Cgroup {
    folders: Vec<PathBuf>,
    /// The file that counts processes killed for lack of memory.
    events: PathBuf,
}

const CONTROLLERS: [&str; 2] = ["memory", "pids"];

/// How many times to try to remove a group: its last processes may still be exiting.
const TRIES: u32 = 50;

/// The prefix of a group's name. The id of the process that created it follows.
const PREFIX: &str = "mcpkg-";

/// Numbers the groups of one process.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// Whether this process has already removed groups that other processes left behind.
static SWEPT: Once = Once::new();

impl Cgroup {
    /// Creates a control group; `None` if the system has no usable control groups, or does not permit this process to
    /// create one.
    pub fn new(together: Together) -> Option<Self> {
        let own = read_kernel(Path::new("/proc/self/cgroup")).ok()?;
        let mounts = read_kernel(Path::new("/proc/self/mountinfo")).ok()?;
        SWEPT.call_once(|| abandoned_below(&parents(&own, &mounts)).iter().for_each(|left| drop(fs::remove_dir(left))));
        let name = format!("{PREFIX}{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        two(&own, &mounts)
            .and_then(|parent| Self::version_two(&parent.join(&name), together).ok())
            .or_else(|| Self::version_one(&one(&own, &mounts)?, &name, together).ok())
    }

    fn version_two(folder: &Path, together: Together) -> io::Result<Self> {
        let group = Self { folders: vec![folder.to_owned()], events: folder.join("memory.events") };
        fs::create_dir(folder)?;
        set(folder, "memory.max", together.memory)?;
        set(folder, "pids.max", together.processes)?;
        // Not every kernel has these files, so ignore errors.
        let _ = set(folder, "memory.swap.max", 0);
        let _ = set(folder, "memory.oom.group", 1);
        Ok(group)
    }

    fn version_one(parents: &[PathBuf; 2], name: &str, together: Together) -> io::Result<Self> {
        let [memory, pids] = parents.clone().map(|parent| parent.join(name));
        let group = Self { folders: vec![memory.clone(), pids.clone()], events: memory.join("memory.oom_control") };
        fs::create_dir(&memory)?;
        fs::create_dir(&pids)?;
        set(&memory, "memory.limit_in_bytes", together.memory)?;
        let _ = set(&memory, "memory.memsw.limit_in_bytes", together.memory);
        set(&pids, "pids.max", together.processes)?;
        Ok(group)
    }

    /// Returns the folders of the group, which a process enters.
    pub(super) fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// Whether a process of the group was killed because memory ran out.
    pub fn ran_out_of_memory(&self) -> bool {
        let counted = read_kernel(&self.events).unwrap_or_default();
        counted.lines().filter_map(|line| line.strip_prefix("oom_kill ")).any(|count| count.trim() != "0")
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        for folder in &self.folders {
            for _ in 0..TRIES {
                match fs::remove_dir(folder) {
                    Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                        thread::sleep(Duration::from_millis(2));
                    }
                    _ => break,
                }
            }
        }
    }
}

/// Returns the folders of groups left by killed processes: their creator has ended, and they contain no processes. Each
/// process of mcpkg removes such groups before it creates its first one.
pub fn abandoned() -> Vec<PathBuf> {
    let read = |path: &str| read_kernel(Path::new(path)).unwrap_or_default();
    abandoned_below(&parents(&read("/proc/self/cgroup"), &read("/proc/self/mountinfo")))
}

fn abandoned_below(parents: &[PathBuf]) -> Vec<PathBuf> {
    let is_left = |folder: &Path| {
        let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let process = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-'));
        let process = process.and_then(|(process, number)| number.parse::<u64>().ok().and(process.parse::<u32>().ok()));
        process.is_some_and(|process| !Path::new("/proc").join(process.to_string()).exists())
            && read_kernel(&folder.join("cgroup.procs")).is_ok_and(|inside| inside.trim().is_empty())
    };
    let folders = parents.iter().flat_map(|parent| fs::read_dir(parent).into_iter().flatten().flatten());
    folders.map(|entry| entry.path()).filter(|folder| is_left(folder)).collect()
}

/// Returns the folders in which this process creates groups.
fn parents(own: &str, mounts: &str) -> Vec<PathBuf> {
    let of_two = two(own, mounts).into_iter();
    of_two.chain(one(own, mounts).into_iter().flatten()).collect()
}

/// Moves this thread (version 1) or this process (version 2) into the groups, together with everything that it starts
/// and the program that it becomes.
///
/// Writing to `cgroup.procs` moves the whole process and waits for all CPUs, which takes about 10 ms. Moving only this
/// thread is faster, but only version 1 has the `tasks` file for it.
pub(super) fn enter(folders: &[PathBuf]) -> io::Result<()> {
    folders.iter().try_for_each(|folder| match set(folder, "tasks", 0) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => set(folder, "cgroup.procs", 0),
        result => result,
    })
}

fn set(folder: &Path, file: &str, value: u64) -> io::Result<()> {
    use std::io::Write;
    fs::OpenOptions::new().write(true).open(folder.join(file))?.write_all(value.to_string().as_bytes())
}

/// Returns the version 2 folder in which new groups get the controllers. This is the folder of this process's group or
/// its parent, because a group with processes does not pass controllers on.
fn two(own: &str, mounts: &str) -> Option<PathBuf> {
    let (root, at) = mounted(mounts, |kind, _| kind == "cgroup2")?;
    let path = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    let own = below(&at, &root, path)?;
    let passes_on = |folder: &Path| {
        let passed = read_kernel(&folder.join("cgroup.subtree_control")).unwrap_or_default();
        let passed: Vec<&str> = passed.split_whitespace().collect();
        CONTROLLERS.iter().all(|controller| passed.contains(controller))
    };
    let above = own.parent().filter(|above| above.starts_with(&at)).map(Path::to_owned);
    [Some(own), above].into_iter().flatten().find(|folder| passes_on(folder))
}

/// Returns the version 1 folders of this process's group, one per controller.
fn one(own: &str, mounts: &str) -> Option<[PathBuf; 2]> {
    let folder = |controller: &str| {
        let (root, at) =
            mounted(mounts, |kind, options| kind == "cgroup" && options.split(',').any(|option| option == controller))?;
        let path = own.lines().find_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            controllers.split(',').any(|known| known == controller).then_some(path)
        })?;
        below(&at, &root, path)
    };
    let [memory, pids] = CONTROLLERS.map(folder);
    Some([memory?, pids?])
}

/// Returns the root and mount point of the first mount that `is_wanted` accepts by its type and file system options.
fn mounted(mounts: &str, is_wanted: impl Fn(&str, &str) -> bool) -> Option<(String, PathBuf)> {
    mounts.lines().find_map(|line| {
        // Fields: ID PARENT MAJOR:MINOR ROOT MOUNTPOINT OPTIONS ... - TYPE SOURCE OPTIONS
        let (before, after) = line.split_once(" - ")?;
        let mut after = after.split(' ');
        let (kind, options) = (after.next()?, after.nth(1)?);
        let mut before = before.split(' ').skip(3);
        let (root, at) = (before.next()?, before.next()?);
        is_wanted(kind, options).then(|| (root.to_owned(), PathBuf::from(at)))
    })
}

/// Returns a group's folder below the mount point `at`, where `root` is mounted.
fn below(at: &Path, root: &str, path: &str) -> Option<PathBuf> {
    let path = Path::new(path).strip_prefix(root).ok()?;
    let goes_up = path.components().any(|part| !matches!(part, std::path::Component::Normal(_)));
    (!goes_up).then(|| at.join(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
        35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
        39 31 0:36 / /sys/fs/cgroup/pids rw,relatime shared:9 - cgroup cgroup rw,pids\n\
        32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n";

    #[test]
    fn version_one_has_a_folder_for_each_controller() {
        let own = "9:name=systemd:/\n8:pids:/\n4:memory:/a/b\n0::/\n";
        let expected = ["/sys/fs/cgroup/memory/a/b", "/sys/fs/cgroup/pids"].map(PathBuf::from);
        assert_eq!(one(own, MOUNTS), Some(expected));
        assert_eq!(one("4:memory:/\n", MOUNTS), None);
        assert_eq!(one("8:pids:/\n4:memory:/../up\n", MOUNTS), None);
    }

    #[test]
    fn version_two_is_used_where_it_passes_the_controllers_on() {
        let scratch = tempfile::tempdir().expect("a folder");
        let at = scratch.path();
        let mounts = format!("41 31 0:38 / {} rw,relatime - cgroup2 cgroup2 rw\n", at.display());
        fs::create_dir_all(at.join("user/app")).expect("folders");
        let passes = |folder: &str, controllers: &str| {
            fs::write(at.join(folder).join("cgroup.subtree_control"), controllers).expect("written");
        };
        passes("user/app", "");
        passes("user", "cpu memory");
        assert_eq!(two("0::/user/app\n", &mounts), None);
        passes("user", "cpu memory pids\n");
        assert_eq!(two("0::/user/app\n", &mounts), Some(at.join("user")));
        passes("user/app", "memory pids\n");
        assert_eq!(two("0::/user/app\n", &mounts), Some(at.join("user/app")));
        // A container sees only a part of the tree.
        let part = format!("41 31 0:38 /user {} rw - cgroup2 cgroup2 rw\n", at.join("user").display());
        assert_eq!(two("0::/user/app\n", &part), Some(at.join("user/app")));
        assert_eq!(two("0::/elsewhere\n", &part), None);
    }

    #[test]
    fn abandoned_groups_are_found_and_used_ones_are_not() {
        let scratch = tempfile::tempdir().expect("a folder");
        let group = |name: &str, inside: &str| {
            let folder = scratch.path().join(name);
            fs::create_dir(&folder).expect("a folder");
            fs::write(folder.join("cgroup.procs"), inside).expect("written");
            folder
        };
        // These process ids are higher than any that the system assigns.
        let left = group("mcpkg-4194999-0", "");
        group("mcpkg-4194999-1", "17\n");
        group(&format!("mcpkg-{}-0", std::process::id()), "");
        for other in ["mcpkg-x-0", "mcpkg-4194999", "user.slice", "mcpkg-4194999-x"] {
            group(other, "");
        }
        assert_eq!(abandoned_below(&[scratch.path().to_owned()]), [left]);
        assert!(abandoned_below(&[scratch.path().join("gone")]).is_empty());
    }

    #[test]
    fn running_out_of_memory_is_detected() {
        let scratch = tempfile::tempdir().expect("a folder");
        let events = scratch.path().join("memory.events");
        let group = Cgroup { folders: Vec::new(), events: events.clone() };
        assert!(!group.ran_out_of_memory());
        fs::write(&events, "low 0\nhigh 3\noom 1\noom_kill 0\n").expect("written");
        assert!(!group.ran_out_of_memory());
        fs::write(&events, "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n").expect("written");
        assert!(group.ran_out_of_memory());
    }
}
