//! Tests WASI calls made by modules.

use super::*;

#[test]
fn arguments_and_variables_are_those_of_the_call() {
    let text = "(func (export \"_start\")
        (call $check (call $args_sizes_get (i32.const 0) (i32.const 4)))
        (call $check (call $args_get (i32.const 1000) (i32.const 2000)))
        (call $print (i32.const 2000) (i32.load (i32.const 4)))
        (call $check (call $environ_sizes_get (i32.const 0) (i32.const 4)))
        (call $check (call $environ_get (i32.const 1000) (i32.const 2000)))
        (call $print (i32.load (i32.const 1000)) (i32.load (i32.const 4))))";
    let mut trial = Trial::of(text);
    trial.arguments.extend(["$(id) a".to_owned(), String::new()]);
    trial.variables = BTreeMap::from([("A".to_owned(), "1 é".to_owned()), ("TOKEN".to_owned(), "s".to_owned())]);
    let printed = trial.printed();
    assert!(printed.ends_with("A=1 é\0TOKEN=s\0"), "{printed:?}");
    assert!(printed.starts_with("main.wasm\0$(id) a\0\0"), "{printed:?}");
}

#[test]
fn a_module_reads_its_package_and_nothing_above_it() {
    let trial = |folder: u32, path: &str| {
        let text = format!(
            "(data (i32.const 3000) \"{path}\")
             (func (export \"_start\") (call $cat (i32.const {folder}) (i32.const 3000) (i32.const {})))",
            path.len()
        );
        Trial::of(&text).with("data/a.txt", "of the package").with("etc/passwd", "its own")
    };
    for path in ["data/a.txt", "./data//a.txt", "data/../data/a.txt"] {
        assert_eq!(trial(3, path).printed(), "of the package", "{path}");
    }
    // A relative path also starts at the package.
    assert_eq!(trial(7, "data/a.txt").printed(), "of the package");
    let status = |path: &str| trial(3, path).run().end;
    let outside = End::Exited(76);
    for path in ["../../etc/passwd", "/etc/passwd", "..", "data/../../workspace/data/a.txt", "/workspace/data/a.txt"] {
        assert_eq!(status(path), outside, "{path}");
    }
    for (path, errno) in
        [("data/b.txt", 44), ("data/a.txt/x", 54), ("data/a.txt/..", 54), ("data/a.txt/", 54), ("", 44)]
    {
        assert_eq!(status(path), End::Exited(errno), "{path}");
    }
    let mut given = trial(6, "city/list.txt");
    given.inputs.insert("city/list.txt".to_owned(), Arc::from(&b"Bern"[..]));
    assert_eq!(given.printed(), "Bern");
}

#[test]
fn x35_a_module_writes_to_output_and_never_to_its_package() {
    let writes = |folder: u32, flags: u32| {
        let text = format!(
            "(data (i32.const 3000) \"a.txt\") (data (i32.const 3010) \"written\")
             (func (export \"_start\") (local $fd i32)
                (local.set $fd (call $open (i32.const {folder}) (i32.const 3000) (i32.const 5) (i32.const {flags}) (i64.const 66)))
                (i32.store (i32.const 0) (i32.const 3010))
                (i32.store (i32.const 4) (i32.const 7))
                (call $check (call $fd_write (local.get $fd) (i32.const 0) (i32.const 1) (i32.const 8)))
                (call $check (call $fd_close (local.get $fd)))
                (call $cat (i32.const {folder}) (i32.const 3000) (i32.const 5)))"
        );
        Trial::of(&text).with("a.txt", "of the package").run()
    };
    for flags in [0, 1, 8, 9] {
        assert_eq!(writes(3, flags).end, End::Exited(69), "flags {flags}");
        assert_eq!(writes(7, flags).end, End::Exited(69), "flags {flags}");
    }
    let ran = writes(5, 9);
    assert_eq!((ran.end, ran.stdout.text()), (End::Exited(0), "written".to_owned()));
    assert_eq!(ran.left.files, [("a.txt".to_owned(), b"written".to_vec())]);
    let scratch = writes(4, 1);
    assert_eq!((scratch.end, scratch.left.files), (End::Exited(0), Vec::new()));
}

#[test]
fn unsupported_wasi_calls_fail() {
    for call in [
        "(call $sock_shutdown (i32.const 3) (i32.const 0))",
        "(call $sock_accept (i32.const 3) (i32.const 0) (i32.const 8))",
        "(call $path_symlink (i32.const 0) (i32.const 1) (i32.const 4) (i32.const 0) (i32.const 1))",
        "(call $path_link (i32.const 3) (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 4) (i32.const 0) (i32.const 1))",
        "(call $proc_raise (i32.const 9))",
        "(call $fd_allocate (i32.const 4) (i64.const 0) (i64.const 1))",
    ] {
        let end = Trial::of(&format!("(func (export \"_start\") (call $check {call}))")).run().end;
        assert_eq!(end, End::Exited(52), "{call}");
    }
}

#[test]
fn two_runs_of_a_program_share_no_files() {
    let text = "(data (i32.const 3000) \"a\") (global $n (mut i32) (i32.const 0)) (func (export \"_start\")
        (drop (call $open (i32.const 4) (i32.const 3000) (i32.const 1) (i32.const 5) (i64.const 66)))
        (global.set $n (i32.add (global.get $n) (i32.const 1)))
        (i32.store8 (i32.const 3000) (i32.add (i32.load8_u (i32.const 3000)) (global.get $n)))
        (call $print (i32.const 3000) (i32.const 1)))";
    let trial = Trial::of(text);
    let program = trial.program().expect("a program");
    for _ in 0..2 {
        let setup = Setup {
            package: &program.files,
            arguments: &trial.arguments,
            variables: &trial.variables,
            inputs: &trial.inputs,
            limits: trial.limits,
            clock: Clock::system(),
            cancelled: trial.cancelled.clone(),
        };
        let ran = run(&program, &setup, None).expect("a run");
        assert_eq!((ran.end, ran.stdout.text()), (End::Exited(0), "b".to_owned()));
    }
}
