//! Tests how runs end: normally, by a failure, or by a limit.

use std::thread;
use std::time::{Duration, Instant};

use super::*;

/// The maximum time for each test.
const LONG: Duration = Duration::from_secs(30);

/// A function that sleeps for an hour.
const SLEEP: &str = "(func $sleep
    (i32.store (i32.const 1016) (i32.const 1))
    (i64.store (i32.const 1024) (i64.const 3600000000000))
    (call $check (call $poll_oneoff (i32.const 1000) (i32.const 2000) (i32.const 1) (i32.const 8))))";

#[test]
fn a_run_ends_by_itself_or_with_a_status() {
    assert_eq!(Trial::of("(func (export \"_start\"))").run().end, End::Exited(0));
    let exits = |status: i32| {
        Trial::of(&format!("(func (export \"_start\") (call $proc_exit (i32.const {status})) unreachable)")).run().end
    };
    assert_eq!([exits(0), exits(7), exits(-1)], [End::Exited(0), End::Exited(7), End::Exited(-1)]);
}

#[test]
fn traps_are_reported_by_name() {
    let ends = |text: &str| match Trial::of(&format!("(func (export \"_start\") {text})")).run().end {
        End::Trapped(why) => why,
        end => panic!("{end:?}"),
    };
    assert!(ends("unreachable").contains("unreachable"), "{}", ends("unreachable"));
    assert!(ends("(drop (i32.load (i32.const -1)))").contains("memory"));
    assert!(ends("(drop (i32.div_s (i32.const 1) (i32.const 0)))").contains("zero"));
    let deep = Trial::of(
        "(func $deep (param i64) (call $deep (local.get 0)) (call $deep (local.get 0)))
        (func (export \"_start\") (call $deep (i64.const 1)))",
    );
    match deep.run().end {
        End::Trapped(why) => assert!(why.contains("stack"), "{why}"),
        end => panic!("{end:?}"),
    }
}

#[test]
fn an_infinite_loop_ends_in_time_wherever_it_is() {
    let limits = Limits { time: Duration::from_millis(50), ..Limits::default() };
    for text in [
        "(func (export \"_start\") (loop $l (br $l)))",
        "(func $s (loop $l (br $l))) (start $s) (func (export \"_start\"))",
        // These modules spend their time in calls.
        "(func (export \"_start\") (loop $l (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 100) (i32.const 8))) (br $l)))",
        "(func (export \"_start\") (loop $l (drop (call $random_get (i32.const 0) (i32.const 100000))) (br $l)))",
        "(func (export \"_start\") (loop $l (drop (call $sched_yield)) (br $l)))",
        // This module spends its time in expensive instructions.
        "(func (export \"_start\") (drop (memory.grow (i32.const 1000)))
            (loop $l (memory.fill (i32.const 0) (i32.const 1) (i32.const 60000000)) (br $l)))",
    ] {
        let begun = Instant::now();
        assert_eq!(Trial { limits, ..Trial::of(text) }.run().end, End::TimedOut, "{text}");
        assert!(begun.elapsed() < LONG, "{text}");
    }
    let sleeps = format!("{SLEEP} (func (export \"_start\") (call $sleep))");
    assert_eq!(Trial { limits, ..Trial::of(&sleeps) }.run().end, End::TimedOut);
}

#[test]
fn a_run_that_is_cancelled_ends_at_once() {
    for text in ["(loop $l (br $l))", "(call $sleep)"] {
        let trial = Trial::of(&format!("{SLEEP} (func (export \"_start\") {text})"));
        let (begun, token) = (Instant::now(), trial.cancelled.clone());
        thread::scope(|scope| {
            let running = scope.spawn(|| trial.run().end);
            thread::sleep(Duration::from_millis(30));
            token.cancel();
            assert_eq!(running.join().expect("no panic"), End::Cancelled, "{text}");
        });
        assert!(begun.elapsed() < LONG, "{text}");
        assert_eq!(trial.run().end, End::Cancelled, "it is not even begun");
    }
}

#[test]
fn a_run_continues_after_a_wait() {
    let text = SLEEP.replace("3600000000000", "2000000");
    let printed = Trial::of(&format!(
        "{text} (data (i32.const 3000) \"awake\")
        (func (export \"_start\") (call $sleep) (call $print (i32.const 3000) (i32.const 5)))"
    ));
    assert_eq!(printed.printed(), "awake");
}

#[test]
fn memory_is_limited_and_a_module_can_continue_after_a_failed_growth() {
    let grows = |then: &str| {
        format!(
            "(func (export \"_start\") (loop $l (br_if $l (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) {then})"
        )
    };
    let limits = Limits { memory: 8 << 20, ..Limits::default() };
    let end = |then: &str| Trial { limits, ..Trial::of(&grows(then)) }.run().end;
    assert_eq!(end("unreachable"), End::OutOfMemory);
    assert_eq!(end("(call $proc_exit (i32.const 1))"), End::OutOfMemory);
    assert_eq!(end(""), End::Exited(0));
    let size = Trial { limits, ..Trial::of(&grows("(call $proc_exit (memory.size))")) }.run().end;
    assert_eq!(size, End::OutOfMemory, "a status other than 0");
    // The initial memory counts against the limit.
    let large = "(module (memory 1000) (func (export \"_start\")))";
    assert_eq!(Trial { limits, ..Trial::whole(large) }.run().end, End::OutOfMemory);
    // Tables count too.
    let large = "(module (table 10000000 funcref) (func (export \"_start\")))";
    assert_eq!(Trial { limits, ..Trial::whole(large) }.run().end, End::OutOfMemory);
}

#[test]
fn a_run_of_many_slices_has_the_right_result() {
    let sum = "(data (i32.const 3000) \"right\") (func (export \"_start\") (local $i i64) (local $sum i64)
        (loop $l
            (local.set $sum (i64.add (local.get $sum) (local.get $i)))
            (local.set $i (i64.add (local.get $i) (i64.const 1)))
            (br_if $l (i64.lt_u (local.get $i) (i64.const 1000000))))
        (if (i64.eq (local.get $sum) (i64.const 499999500000))
            (then (call $print (i32.const 3000) (i32.const 5)))))";
    assert_eq!(Trial::of(sum).printed(), "right");
    // A single instruction that costs more than a slice.
    let fill = "(func (export \"_start\") (drop (memory.grow (i32.const 1000)))
        (memory.fill (i32.const 1000) (i32.const 120) (i32.const 60000000)) (call $print (i32.const 60000000) (i32.const 3)))";
    assert_eq!(Trial::of(fill).printed(), "xxx");
}

#[test]
fn long_output_keeps_its_beginning_and_its_end() {
    let text =
        "(data (i32.const 3000) \"begin\") (data (i32.const 3010) \"end\") (func (export \"_start\") (local $i i32)
        (drop (memory.grow (i32.const 20)))
        (memory.fill (i32.const 100000) (i32.const 120) (i32.const 1000000))
        (call $print (i32.const 3000) (i32.const 5))
        (loop $l
            (call $print (i32.const 100000) (i32.const 1000000))
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (br_if $l (i32.lt_u (local.get $i) (i32.const 200))))
        (call $print (i32.const 3010) (i32.const 3)))";
    let ran = Trial::of(text).run();
    assert_eq!((ran.end, ran.stdout.size()), (End::Exited(0), 200_000_008));
    let printed = ran.stdout.text();
    assert!(ran.stdout.is_cut() && printed.len() < (1 << 20) + 100);
    assert!(printed.starts_with("beginxxx") && printed.ends_with("xxxend"));
}

#[test]
fn the_start_function_runs_first() {
    let text = "(data (i32.const 3000) \"one\") (data (i32.const 3010) \"two\") (start $one)
        (func $one (call $print (i32.const 3000) (i32.const 3)))
        (func (export \"_start\") (call $print (i32.const 3010) (i32.const 3)))";
    assert_eq!(Trial::of(text).printed(), "onetwo");
}

#[test]
fn a_module_that_cannot_start_reports_the_reason() {
    let why = |text: &str| match Trial::whole(text).run().end {
        End::NotStarted(why) => why,
        end => panic!("{text}: {end:?}"),
    };
    let missing = why("(module (import \"env\" \"system\" (func (param i32))) (func (export \"_start\")))");
    assert!(missing.contains("env::system") && missing.contains("WASI preview 1"), "{missing}");
    let other = why("(module (import \"wasi_snapshot_preview1\" \"fd_close\" (func)) (func (export \"_start\")))");
    assert!(other.contains("fd_close"), "{other}");
    assert!(why("(module (func (export \"_initialize\")))").contains("`_start`"));
    assert!(why("(module (func (export \"_start\") (param i32)))").contains("parameters"));
}
