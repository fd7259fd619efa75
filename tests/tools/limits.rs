//! Tests tools that exceed their limits.

use std::time::{Duration, Instant};

use mcpkg_base::error::Code;
use mcpkg_registry::run::{Call, Wished, run};
use serde_json::json;

use super::sandbox::Sandbox;
use crate::support::{eventually, running, runs_all};

#[track_caller]
fn assert_gone(text: &str) {
    eventually("no process is left", || (running(text) == 0).then_some(()));
}

#[test]
fn a_fork_bomb_is_stopped_and_leaves_no_process() {
    for sandbox in Sandbox::each() {
        let together = mcpkg_base::process::cgroup::Together { memory: 1 << 30, processes: 10 };
        if crate::support::is_root() && mcpkg_base::process::cgroup::Cgroup::new(together).is_none() {
            crate::support::skipped(
                "no control group can be made here, and no other limit of processes holds for root",
            );
            continue;
        }
        let mark = format!("{}.5", 4_000_000 + std::process::id());
        // The shell ends when it cannot fork. The file contains the number of processes.
        let script = format!(
            "i=0; while [ $i -lt 400 ]; do sleep {mark} & i=$((i+1)); ls /proc | grep -c '^[0-9]' > /output/count || exit 1; done"
        );
        let error = sandbox.run(&["sh", "-c", &script]).expect_err("it cannot fork for ever");
        assert!(matches!(error.code(), Code::ToolFailed | Code::ToolLimit), "{error:?}");
        // This program continues when a process cannot be started.
        let script = format!(
            "import subprocess, os\n\
         started = 0\n\
         for _ in range(400):\n    \
             try:\n        \
                 subprocess.Popen(['sleep', '{mark}']); started += 1\n    \
             except OSError:\n        \
                 pass\n\
         print(started)"
        );
        match sandbox.run(&["python3", "-c", &script]) {
            Err(error) if error.message().contains("cannot be started") => {
                crate::support::skipped("there is no python3")
            }
            outcome => {
                let started: u32 = outcome.expect("a run").stdout.trim().parse().expect("a number");
                assert!((16..=132).contains(&started), "{started} processes were started");
            }
        }
        assert_gone(&mark);
    }
}

#[test]
fn memory_that_a_tool_takes_is_bounded() {
    for sandbox in Sandbox::each() {
        let limits = Wished { memory: Some(128 << 20), time: Some(Duration::from_secs(30)), ..Wished::default() };
        let program =
            "x = bytearray(512 * 1024 * 1024)\nfor i in range(0, len(x), 4096): x[i] = 1\nprint('took it all')";
        let call = Call { limits, ..sandbox.call(&["python3", "-c", program]) };
        let error = run(&sandbox.context, &call).expect_err("too much");
        if error.message().contains("cannot be started") {
            crate::support::skipped("there is no python3");
            continue;
        }
        assert!(matches!(error.code(), Code::ToolFailed | Code::ToolLimit), "{error:?}");
        let call = Call { limits, ..sandbox.call(&["python3", "-c", "x = bytearray(1024 * 1024); print('fine')"]) };
        assert_eq!(run(&sandbox.context, &call).expect("enough").stdout, "fine\n");
    }
}

#[test]
fn shared_memory_is_bounded_where_a_control_group_can_be_made() {
    for sandbox in Sandbox::each() {
        let together = mcpkg_base::process::cgroup::Together { memory: 1 << 30, processes: 10 };
        if mcpkg_base::process::cgroup::Cgroup::new(together).is_none() {
            crate::support::skipped("no control group can be made here");
            continue;
        }
        let limits = Wished {
            memory: Some(64 << 20),
            disk: Some(1 << 20),
            time: Some(Duration::from_secs(30)),
            ..Wished::default()
        };
        let program = "import mmap\nx = mmap.mmap(-1, 512 * 1024 * 1024)\n\
        for i in range(0, len(x), 4096): x[i] = 1\nprint('took it all')";
        let call = Call { limits, ..sandbox.call(&["python3", "-c", program]) };
        let error = run(&sandbox.context, &call).expect_err("too much");
        if error.message().contains("cannot be started") {
            crate::support::skipped("there is no python3");
            continue;
        }
        assert_eq!((error.code(), &error.details().expect("details")["limit"]), (Code::ToolLimit, &json!("memory")));
    }
}

#[test]
fn x28_what_is_written_to_tmp_shm_and_output_is_bounded() {
    for sandbox in Sandbox::each() {
        let limits = Wished { disk: Some(4 << 20), time: Some(Duration::from_secs(30)), ..Wished::default() };
        for place in ["/tmp", "/dev/shm"] {
            let script = format!("dd if=/dev/zero of={place}/full bs=1M count=64 2>/dev/null; stat -c %s {place}/full");
            let call = Call { limits, ..sandbox.call(&["sh", "-c", &script]) };
            let size: u64 = run(&sandbox.context, &call).expect("a run").stdout.trim().parse().expect("a size");
            assert!(size <= 4 << 20, "{size} bytes in {place}");
        }
        let script = "dd if=/dev/zero of=/output/full bs=1M count=64 2>/dev/null; stat -c %s /output/full; rm /output/full; \
        i=0; while [ $i -lt 80 ]; do echo $i > /output/$i; i=$((i+1)); done";
        let outcome = sandbox.run(&["sh", "-c", script]).expect("a run");
        assert!(outcome.stdout.trim().parse::<u64>().expect("a size") <= 17 << 20);
        assert_eq!((outcome.files.len(), outcome.left_out.len()), (64, 16));
        // The script writes a file that exceeds the limit for file sizes.
        let script = "head -c 300000000 /dev/zero > /tmp/large";
        let error = sandbox.run(&["sh", "-c", script]).expect_err("too large");
        assert!(matches!(error.code(), Code::ToolFailed | Code::ToolLimit), "{error:?}");
    }
}

#[test]
fn x32_large_output_is_truncated_and_marked() {
    for sandbox in Sandbox::each() {
        // Only `MCPKG_TEST_ALL=1` prints a gibibyte, and only in bubblewrap: a container engine passes output through
        // another process, which is slower.
        let bytes = if sandbox.is_bubblewrap() && runs_all() { 1 << 30 } else { 64 << 20 };
        let script = format!("echo begin; head -c {bytes} /dev/zero | tr '\\0' x; echo; echo end");
        let outcome = sandbox.run(&["sh", "-c", &script]);
        let outcome = outcome.expect("a run");
        assert!(outcome.truncated && outcome.stdout.len() < (1 << 20) + 100, "{}", outcome.stdout.len());
        assert!(outcome.stdout.starts_with("begin\nxxx") && outcome.stdout.ends_with("xxx\nend\n"));
        assert!(outcome.stdout.contains(" bytes left out "));
        // With an output schema, truncated output is an error.
        let script = "printf '\"'; head -c 3000000 /dev/zero | tr '\\0' x; printf '\"'";
        let call = Call { output_schema: Some(json!({ "type": "string" })), ..sandbox.call(&["sh", "-c", script]) };
        assert_eq!(run(&sandbox.context, &call).expect_err("cut").code(), Code::ToolOutput);
    }
}

#[test]
fn x33_a_tool_that_ignores_term_is_killed_and_a_daemon_does_not_outlive_its_run() {
    // A container would not even start within this time limit. runners.rs tests containers.
    if let Some(sandbox) = Sandbox::new() {
        let mark = format!("{}.25", 5_000_000 + std::process::id());
        let limits = Wished { time: Some(Duration::from_millis(500)), ..Wished::default() };
        let deaf = format!("trap '' TERM; (trap '' TERM; sleep {mark}) & while true; do sleep {mark}; done");
        let begun = Instant::now();
        let call = Call { limits, ..sandbox.call(&["sh", "-c", &deaf]) };
        let error = run(&sandbox.context, &call).expect_err("too long");
        assert_eq!(error.code(), Code::ToolTimeout);
        assert!(begun.elapsed() >= Duration::from_millis(2500), "it was not asked first");
        assert_gone(&mark);
        // A tool that handles the signal ends by itself and can clean up.
        let given = sandbox.path().join("tool");
        let tidy = format!("trap 'exit 0' TERM; sleep {mark} & wait");
        let call = Call { limits, ..sandbox.call(&["sh", "-c", &tidy]) };
        // A busy machine can take as long as the wait before a kill. A kill would take longer each time.
        let is_asked = (0..5).any(|_| {
            let begun = Instant::now();
            assert_eq!(run(&sandbox.context, &call).expect_err("too long").code(), Code::ToolTimeout);
            begun.elapsed() < Duration::from_millis(2300)
        });
        assert!(is_asked, "it was killed though it listened");
        assert!(given.is_dir());
        let daemon =
            format!("(setsid sh -c 'sleep {mark}' > /dev/null 2>&1 &) ; (sh -c 'sleep {mark} &' &); echo done");
        assert_eq!(sandbox.printed(&daemon), "done\n");
        assert_gone(&mark);
    }
}

#[test]
fn a_cancelled_run_ends_at_once_and_leaves_no_process() {
    for sandbox in Sandbox::each() {
        let mark = format!("{}.75", 6_000_000 + std::process::id());
        let call = sandbox.call(&["sleep", &mark]);
        let error = std::thread::scope(|scope| {
            let running_call = scope.spawn(|| run(&sandbox.context, &call));
            eventually("the tool runs", || (running(&format!("sleep {mark}")) > 0).then_some(()));
            sandbox.context.cancelled.cancel();
            running_call.join().expect("no panic").expect_err("cancelled")
        });
        assert_eq!(error.code(), Code::Cancelled);
        assert_gone(&mark);
    }
}

#[test]
fn all_runs_are_recorded_without_contents() {
    use mcpkg_store::page::Page;
    use mcpkg_store::tools::runs;
    for sandbox in Sandbox::each() {
        sandbox.run(&["sh", "-c", "printf abc; printf secret-word >&2; exit 7"]).expect_err("failed");
        sandbox.run(&["no-such-program"]).expect_err("not there");
        let found = sandbox.context.store.read(|db| runs::list(db, None, &Page::all())).expect("rows").rows;
        let outcomes: Vec<String> =
            found.iter().map(|run| run.ended.as_ref().expect("ended").outcome.clone()).collect();
        assert_eq!(outcomes, ["E_TOOL_FAILED", "E_TOOL_FAILED", "ok"]);
        let failed = found[1].ended.as_ref().expect("ended");
        assert_eq!((failed.exit_code, failed.stdout_size, failed.stderr_size), (Some(7), 3, 11));
        assert_eq!(failed.runner.as_deref(), Some(if sandbox.is_bubblewrap() { "bubblewrap" } else { "podman" }));
        let bytes = std::fs::read(sandbox.path().join("a.db")).expect("a file");
        assert!(!bytes.windows(11).any(|window| window == b"secret-word"));
        // If no record can be written, nothing runs.
        let mut context = sandbox.context.clone();
        context.store = context.store.reading();
        let begun = Instant::now();
        let refused = run(&context, &sandbox.call(&["sleep", "20"])).expect_err("no row");
        assert_eq!(refused.code(), Code::MayOnlyRead);
        assert!(begun.elapsed() < Duration::from_secs(15), "it ran");
    }
}
