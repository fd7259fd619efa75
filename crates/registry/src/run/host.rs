//! Lists the parts of the host that a sandbox can read: programs and their libraries.

use std::fs;
use std::path::{Path, PathBuf};

use super::mount::Mount;

/// Folders next to `/usr`. They are links into `/usr`, except on systems that have not merged them.
const BESIDE_USR: [&str; 6] = ["bin", "lib", "lib32", "lib64", "libx32", "sbin"];

/// The parts of `/etc` that programs in `/usr` need.
const OF_ETC: [&str; 4] = ["alternatives", "ld.so.cache", "ld.so.conf", "localtime"];

/// The parts of `/etc` that programs need for name lookups and to verify other hosts. They contain no private keys.
const OF_ETC_FOR_NETWORK: [&str; 10] = [
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "hosts",
    "nsswitch.conf",
    "pki/ca-trust",
    "pki/tls/certs",
    "resolv.conf",
    "ssl/certs",
    "ssl/openssl.cnf",
];

/// Returns the mounts of the host's files; `root` is `/`, except in tests.
pub fn mounts(root: &Path, network: bool) -> Vec<Mount> {
    let mut mounts = vec![Mount::read(root.join("usr"), "/usr")];
    for name in BESIDE_USR {
        let (from, at) = (root.join(name), PathBuf::from("/").join(name));
        match fs::read_link(&from) {
            Ok(to) => mounts.push(Mount::Link { to, at }),
            Err(_) if from.is_dir() => mounts.push(Mount::read(from, at)),
            Err(_) => {}
        }
    }
    let network = if network { &OF_ETC_FOR_NETWORK[..] } else { &[] };
    for name in OF_ETC.iter().chain(network) {
        let from = root.join("etc").join(name);
        // Links are followed, since their target may be missing inside the sandbox.
        if from.exists() {
            mounts.push(Mount::read(from, Path::new("/etc").join(name)));
        }
    }
    mounts
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_into_usr_stay_links_and_of_etc_only_what_programs_need_is_there() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path();
        for folder in ["usr/bin", "lib32", "etc/ssl/certs", "etc/ssl/private"] {
            fs::create_dir_all(root.join(folder)).expect("a folder");
        }
        symlink("usr/bin", root.join("bin")).expect("a link");
        for file in ["shadow", "passwd", "ld.so.cache", "hosts", "ssl/private/key.pem"] {
            fs::write(root.join("etc").join(file), "").expect("a file");
        }
        symlink("/gone", root.join("etc/localtime")).expect("a link");
        let read = |path: &str| Mount::read(root.join(path), Path::new("/").join(path));
        let link = Mount::Link { to: "usr/bin".into(), at: "/bin".into() };
        let without = [read("usr"), link, read("lib32"), read("etc/ld.so.cache")];
        assert_eq!(mounts(root, false), without);
        let with: Vec<Mount> = without.into_iter().chain([read("etc/hosts"), read("etc/ssl/certs")]).collect();
        assert_eq!(mounts(root, true), with);
    }
}
