//! Tests tools that try to escape from the sandbox, and fail.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::time::Duration;

use mcpkg_base::process::starter::{self, Ceilings, Meeting, Output, Request, Within};
use mcpkg_base::process::{self, Program};
use mcpkg_registry::run::{Call, Variable, run};

use super::sandbox::Sandbox;
use crate::support::skipped;

#[test]
fn x34_a_tool_has_no_capabilities_no_new_privileges_and_makes_no_user_namespace() {
    for sandbox in Sandbox::each() {
        let status = sandbox.printed("cat /proc/self/status");
        for line in ["CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1"] {
            assert!(status.contains(line), "{status}");
        }
        let nested = sandbox.printed("unshare --user --map-root-user id 2>&1; echo status $?");
        assert!(nested.contains("status 1") && !nested.contains("uid=0"), "{nested}");
        let mounted = sandbox.printed("mount -t tmpfs none /tmp 2>&1; echo status $?");
        assert!(!mounted.contains("status 0"), "{mounted}");
    }
}

#[test]
fn a_tool_cannot_read_the_users_files_keys_or_database() {
    for sandbox in Sandbox::each() {
        let secret = sandbox.path().join("home/.ssh");
        std::fs::create_dir_all(&secret).expect("a folder");
        std::fs::write(secret.join("id_ed25519"), "PRIVATE").expect("a key");
        for path in [secret.join("id_ed25519"), sandbox.path().join("a.db")] {
            let path = path.display();
            let tried = sandbox.printed(&format!("cat '{path}' 2>&1; ls -la '{path}' 2>&1; true"));
            assert!(
                !tried.contains("PRIVATE") && !tried.contains("SQLite") && tried.contains("No such file"),
                "{tried}"
            );
        }
        let root =
            sandbox.printed("ls /; ls /home /root /etc/shadow /etc/ssl/private /var /run/user 2>/dev/null; ls -A /etc");
        let allowed = [
            "alternatives",
            "bin",
            "dev",
            "etc",
            "group",
            "ld.so.cache",
            "ld.so.conf",
            "lib",
            "lib32",
            "lib64",
            "libx32",
            "localtime",
            "output",
            "passwd",
            "proc",
            "run",
            "sbin",
            "tmp",
            "usr",
            "workspace",
            // An image or its engine provides these too.
            "hostname",
            "hosts",
            "mtab",
            "resolv.conf",
            "sys",
        ];
        for entry in root.lines() {
            assert!(allowed.contains(&entry), "a sandbox has {entry}");
        }
        if sandbox.is_bubblewrap() {
            assert_eq!(sandbox.printed("cat /etc/passwd"), "tool:x:1000:1000::/tmp:/bin/sh\n");
        }
    }
}

#[test]
fn a_tool_sees_neither_the_servers_environment_nor_another_process() {
    for sandbox in Sandbox::each() {
        // cargo sets this variable for tests. The test's process takes the role of a server.
        assert!(std::env::var("CARGO_MANIFEST_DIR").is_ok());
        let names = sandbox.printed("env | sed 's/=.*//' | sort | tr '\\n' ' '");
        // The shell adds `_` and a few others itself.
        let expected = ["HOME", "LANG", "PATH", "PWD", "TMPDIR", "USER"];
        let own = ["_", "OLDPWD", "SHLVL"];
        for name in names.split_whitespace() {
            assert!(expected.contains(&name) || own.contains(&name), "{names}");
        }
        let found = sandbox.printed("cat /proc/*/environ | tr '\\0' '\\n'; cat /proc/*/cmdline | tr '\\0' '\\n'");
        assert!(!found.contains("CARGO_"), "{found}");
        assert_eq!(
            sandbox.printed("cat /proc/1/environ 2>/dev/null; cat /proc/1/cmdline | grep -c bwrap; true"),
            "0\n"
        );
        let ids = sandbox.printed("ls /proc | grep -c '^[0-9]'");
        assert!(ids.trim().parse::<u32>().expect("a number") <= 8, "{ids}");
        let killed = sandbox.printed(&format!("kill -0 {} 2>&1; echo status $?", std::process::id()));
        assert!(!killed.contains("status 0"), "{killed}");
    }
}

/// A script that tries to open the first 64 descriptors of every other process (`pidfd_open`, `pidfd_getfd`).
const THIEF: &str = r#"my ($looked, @took) = (0);
    for my $id (grep { /^\d+$/ && $_ != $$ } map { s{/proc/}{}r } glob("/proc/*")) {
        my $process = syscall(434, $id + 0, 0);
        $looked++ if $process >= 0;
        for my $fd (0 .. 63) { push @took, "$id:$fd" if syscall(438, $process, $fd, 0) >= 0; }
    }
    print "$looked: @took";"#;

#[test]
fn a_tool_takes_no_descriptor_of_what_started_it() {
    for sandbox in Sandbox::each() {
        match sandbox.run(&["perl", "-e", THIEF]) {
            Err(error) if error.message().contains("cannot be started") => skipped("there is no perl"),
            // The only other process is the one that started the tool.
            outcome => assert_eq!(outcome.expect("a run").stdout, "1: "),
        }
    }
}

#[test]
fn output_of_a_sandbox_is_limited_in_number_and_bytes() {
    // Each flood: frames that are sent once, the kind of frame that is repeated, and its content.
    let floods = [
        ("", "R", ""),
        ("R", "M", ""),
        ("R", "L", "a/link"),
        ("R", "F", "a/file"),
        ("R", "P", "a/program"),
        ("R", "K", "a\0b"),
        ("RF", "B", ""),
        ("RF", "B", "bytes"),
        ("", "L", &*"x".repeat(1 << 20)),
        ("", "F", &*"x".repeat(1 << 20)),
        ("", "E", &*"x".repeat(1 << 20)),
        ("", "Q", &*"x".repeat(1 << 20)),
    ];
    let frame = |tag: char, text: &str| {
        let length = u32::try_from(text.len()).expect("short").to_le_bytes();
        [&[tag as u8], &length[..], text.as_bytes()].concat()
    };
    for (first, again, text) in floods {
        let told: Vec<u8> = first.chars().flat_map(|tag| frame(tag, if tag == 'F' { "a" } else { "" })).collect();
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("first"), told).expect("a file");
        let frame = again.chars().flat_map(|tag| frame(tag, text)).collect::<Vec<u8>>();
        std::fs::write(at("again"), frame.repeat(if text.len() < 100 { 10_000 } else { 1 })).expect("a file");
        let flood = "{ cat first; while cat again; do :; done; } >&0";
        let sandbox = Program::new("sh").args(["-c", flood]).folder(folder.path());
        let request = Request {
            argv: Vec::new(),
            variables: BTreeMap::new(),
            folder: "/".to_owned(),
            ceilings: Ceilings { cpu: 1, data: 1, addressed: 1, processes: 1, files: 1, file_size: 1 },
            output: Some(Output { folder: "/output".to_owned(), files: 4, bytes: 1 << 20, links: true }),
            copied: None,
            within: Within::Sandbox,
        };
        let token = tokio_util::sync::CancellationToken::new();
        let limits = process::Limits::new(Duration::from_secs(60), &token);
        let finished = starter::run(sandbox, request, &Meeting::Stdin, None, &limits);
        let finished = finished.unwrap_or_else(|failure| panic!("{first}, {again}: it is not stopped: {failure:?}"));
        assert!(finished.ended.is_none() && finished.files.len() <= 4 && finished.left_out.len() <= 64, "{finished:?}");
    }
}

#[test]
fn x40_a_secret_is_in_no_argument_and_in_no_environment_of_the_sandbox_itself() {
    for sandbox in Sandbox::each() {
        let secret = "tell-nobody-4711";
        let file = sandbox.path().join("secret");
        std::fs::write(&file, secret).expect("a secret");
        set_mode(&file, 0o600);
        set(&sandbox, "TOKEN", &format!("file:{}", file.display()));
        let variables =
            vec![Variable { name: "TOKEN".to_owned(), secret: true, required: true, ..Variable::default() }];
        let mark = format!("{}.125", 7_000_000 + std::process::id());
        let call = Call { variables: variables.clone(), ..sandbox.call(&["sleep", &mark]) };
        let token = sandbox.context.cancelled.clone();
        std::thread::scope(|scope| {
            let running = scope.spawn(|| run(&sandbox.context, &call));
            // Compare the beginning, because a runner may leave bytes after the last argument.
            let is_tool =
                |arguments: &str| arguments.trim_start_matches('\0').starts_with("sleep") && arguments.contains(&mark);
            let runs = || processes().iter().any(|(_, arguments, _)| is_tool(arguments));
            crate::support::eventually("the tool runs", || runs().then_some(()));
            // Only the tool itself has the secret in its environment.
            let (tools, others): (Vec<_>, Vec<_>) =
                processes().into_iter().partition(|(_, arguments, _)| is_tool(arguments));
            assert!(tools.iter().any(|(_, _, environment)| environment.contains(secret)));
            for (id, arguments, environment) in others {
                let is_sandbox = arguments.starts_with("bwrap\0") || arguments.starts_with("/run/mcpkg\0");
                let is_empty = environment.is_empty() || environment == "PWD=/workspace\0";
                assert!(!sandbox.is_bubblewrap() || !is_sandbox || is_empty, "{arguments} has {environment}");
                assert!(!arguments.contains(secret), "process {id} has a secret in its arguments");
                assert!(!environment.contains(secret), "process {id} has a secret: {arguments}");
            }
            token.cancel();
            running.join().expect("no panic").expect_err("cancelled");
        });
        // The secret is hidden in the tool's output.
        let mut context = sandbox.context.clone();
        context.cancelled = tokio_util::sync::CancellationToken::new();
        let call = Call { variables, ..sandbox.call(&["sh", "-c", "echo $TOKEN; echo $TOKEN >&2"]) };
        let outcome = run(&context, &call).expect("a run");
        assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("***\n", "***\n"));
    }
}

/// Returns all other processes of this machine: id, arguments, environment.
fn processes() -> Vec<(u32, String, String)> {
    let entries = std::fs::read_dir("/proc").expect("processes").flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str().and_then(|name| name.parse().ok()));
    let read = |id: u32, what: &str| {
        let bytes = std::fs::read(format!("/proc/{id}/{what}")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    ids.filter(|id| *id != std::process::id()).map(|id| (id, read(id, "cmdline"), read(id, "environ"))).collect()
}

fn set(sandbox: &Sandbox, name: &str, reference: &str) {
    use mcpkg_registry::run::grants;
    use mcpkg_store::tools::env::{self, Setting};
    let variable = env::Variable {
        name: name.to_owned(),
        pattern: "*".to_owned(),
        setting: Setting::Reference(reference.to_owned()),
        set_at: 0,
    };
    grants::approve_secret(&sandbox.context.approved, &variable).expect("a record");
    sandbox.context.store.write(|db| env::set(db, &variable)).expect("a row");
}

fn set_mode(path: &std::path::Path, mode: u32) {
    crate::support::set_mode(path, mode);
}

#[test]
fn x35_a_tool_writes_neither_to_its_package_nor_to_the_system() {
    for sandbox in Sandbox::each() {
        std::fs::write(sandbox.path().join("tool/run.sh"), "echo fine\n").expect("a script");
        let tried = sandbox.printed(
        "for place in /workspace/new /workspace/run.sh /usr/new /usr/bin/sh /etc/passwd /new /dev/new /proc/new /run/new; do \
            (echo evil > $place) 2>/dev/null && echo wrote $place; done; chmod 777 /workspace/run.sh 2>&1; rm -f /workspace/run.sh 2>&1; \
            sh /workspace/run.sh",
    );
        // A container has its own /dev, in memory and with a limited size.
        let tried = if sandbox.is_bubblewrap() { tried } else { tried.replace("wrote /dev/new\n", "") };
        assert!(!tried.contains("wrote") && tried.ends_with("fine\n"), "{tried}");
        assert_eq!(std::fs::read_to_string(sandbox.path().join("tool/run.sh")).expect("a script"), "echo fine\n");
    }
}

#[test]
fn a_tool_reaches_no_listening_server_and_no_abstract_socket() {
    for sandbox in Sandbox::each() {
        let tcp = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let name = format!("mcpkg-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).expect("an address");
        let _abstract = UnixListener::bind_addr(&address).expect("a socket");
        let path = sandbox.path().join("socket");
        let _named = UnixListener::bind(&path).expect("a socket");
        let port = tcp.local_addr().expect("an address").port();
        let script = format!(
            "import socket\n\
         def tried(family, address):\n    \
             try:\n        \
                 socket.socket(family).connect(address); print('reached', address)\n    \
             except OSError as error:\n        \
                 print('kept out', error.errno)\n\
         tried(socket.AF_INET, ('127.0.0.1', {port}))\n\
         tried(socket.AF_UNIX, '\\0{name}')\n\
         tried(socket.AF_UNIX, '{}')\n",
            path.display()
        );
        let outcome = match sandbox.run(&["python3", "-c", &script]) {
            Err(error) if error.message().contains("cannot be started") => {
                crate::support::skipped("there is no python3");
                continue;
            }
            outcome => outcome.expect("a run"),
        };
        assert!(!outcome.stdout.contains("reached"), "{}", outcome.stdout);
        assert_eq!(outcome.stdout.matches("kept out").count(), 3, "{}", outcome.stdout);
        let interfaces = sandbox.printed("cat /proc/net/dev | tail -n +3 | cut -d: -f1 | tr -d ' \\n'");
        assert_eq!(interfaces, "lo");
        tcp.set_nonblocking(true).expect("set");
        assert!(tcp.accept().is_err(), "somebody came");
    }
}

#[test]
fn a_tool_has_no_terminal_to_push_input_into() {
    for sandbox in Sandbox::each() {
        let tried =
            sandbox.printed("(echo evil > /dev/tty) 2>&1; test -t 0 && echo terminal; readlink /proc/self/fd/0; true");
        assert!(
            tried.contains("/dev/tty") && !tried.contains("terminal\n") && tried.ends_with("/dev/null\n"),
            "{tried}"
        );
    }
}

#[test]
fn links_pipes_and_devices_in_the_output_are_neither_followed_nor_waited_for() {
    for sandbox in Sandbox::each() {
        let outcome = sandbox
        .run(&[
            "sh",
            "-c",
            "cd /output; echo one > a.txt; mkdir -p deep/er; echo two > deep/er/b.txt; ln -s /etc/passwd link; ln -s / root; \
             mkfifo pipe; ln a.txt hard; mknod device c 1 3 2>/dev/null; ln -s .. deep/up; chmod 000 deep/er/b.txt; \
             echo three > \"with space\"; mkdir shut; echo four > shut/in; chmod 000 shut",
        ])
        .expect("a run");
        let mut names: Vec<&str> = outcome.files.iter().map(|file| file.path.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["a.txt", "hard", "with space"]);
        assert!(outcome.files.iter().all(|file| !file.bytes.is_empty() && !file.bytes.starts_with(b"tool:")));
        let mut left: Vec<&str> = outcome.left_out.iter().map(String::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["deep/er/b.txt", "deep/up", "link", "pipe", "root", "shut"]);
    }
}

#[test]
fn a_tool_sees_an_allowed_folder_and_nothing_next_to_it() {
    use mcpkg_registry::run::grants;
    use mcpkg_store::tools::grants::{self as stored, Allowed, Grant};
    for sandbox in Sandbox::each() {
        for name in ["given", "beside"] {
            std::fs::create_dir(sandbox.path().join(name)).expect("a folder");
            let mut file = std::fs::File::create(sandbox.path().join(name).join("file")).expect("a file");
            file.write_all(name.as_bytes()).expect("written");
        }
        let (given, beside) = (sandbox.path().join("given"), sandbox.path().join("beside"));
        let grant = Grant {
            tool: "test/tool".to_owned(),
            publisher: String::new(),
            allowed: Allowed::Files(given.to_str().expect("UTF-8").to_owned()),
            granted_at: 0,
        };
        sandbox.context.store.write(|db| stored::insert(db, &grant)).expect("a row");
        let script =
            format!("cat '{0}/file' '{1}/file' 2>&1; echo new > '{0}/new'; true", given.display(), beside.display());
        // A database row alone grants nothing, because it may come from somebody else's database.
        let tried = sandbox.printed(&script);
        assert!(!tried.contains("givenc") && !given.join("new").exists(), "{tried}");
        grants::approve(&sandbox.context.approved, &grant).expect("a record");
        let tried = sandbox.printed(&script);
        assert!(tried.starts_with("given") && !tried.contains("beside\n"), "{tried}");
        assert_eq!(std::fs::read_to_string(given.join("new")).expect("written"), "new\n");
    }
}

#[test]
fn these_tests_also_pass_for_an_unprivileged_user() {
    if !crate::support::is_root() {
        // The other tests of this file already ran as a normal user.
        return;
    }
    const NOBODY: u32 = 65_534;
    let folder = tempfile::tempdir().expect("a folder");
    std::os::unix::fs::chown(folder.path(), Some(NOBODY), Some(NOBODY)).expect("a folder of theirs");
    let tests = std::env::current_exe().expect("a program");
    let as_nobody = |arguments: &[&str]| {
        let mut command = std::process::Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--"]).arg(&tests).args(arguments);
        command.env("HOME", folder.path()).env("TMPDIR", folder.path()).env("XDG_RUNTIME_DIR", folder.path());
        command.current_dir(folder.path()).output()
    };
    match as_nobody(&["--list"]) {
        Ok(listed) if listed.status.success() => {}
        Ok(failed) => return crate::support::skipped(&format!("nobody cannot start it: {}", failed.status)),
        Err(_) => return crate::support::skipped("there is no setpriv"),
    }
    let ran = as_nobody(&["tools::escapes::", "tools::limits::", "--test-threads", "2"]).expect("the tests run");
    let (stdout, stderr) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    // Report each reason only once.
    let reason = |line: &str| Some(line.strip_prefix("skipped: ")?.split_once(": ")?.1.to_owned());
    for why in stderr.lines().filter_map(reason).collect::<std::collections::BTreeSet<_>>() {
        crate::support::skipped(&format!("as nobody: {why}"));
    }
    assert!(ran.status.success() && stdout.contains("test result: ok"), "{stdout}\n{stderr}");
}
