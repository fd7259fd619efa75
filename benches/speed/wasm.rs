//! Measures a tool that is a WebAssembly module: a loop of arithmetic in the interpreter. The reference is the same
//! loop in native code.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcpkg_base::clock::Clock;
use mcpkg_registry::run::limits::Limits;
use mcpkg_registry::run::wasm::{self, End, FileMap, Program, Setup};
use tokio_util::sync::CancellationToken;

use crate::Effort;
use crate::process::in_turn;
use crate::table::{Bar, Row, Table, Value};

const LOOP: &str = "a loop of arithmetic in a module, against native code";

/// The number of iterations of the loop.
const STEPS: u64 = 5_000_000;

/// The loop as a module. Its exit status is the lowest 7 bits of the result.
const TEXT: &str = "(module
    (import \"wasi_snapshot_preview1\" \"proc_exit\" (func $proc_exit (param i32)))
    (func (export \"_start\") (local $i i64) (local $x i64)
        (loop $l
            (local.set $x (i64.add (i64.mul (local.get $x) (i64.const 6364136223846793005)) (i64.const 1442695040888963407)))
            (local.set $x (i64.xor (local.get $x) (i64.shr_u (local.get $x) (i64.const 29))))
            (local.set $i (i64.add (local.get $i) (i64.const 1)))
            (br_if $l (i64.lt_u (local.get $i) (i64.const STEPS))))
        (call $proc_exit (i32.and (i32.wrap_i64 (local.get $x)) (i32.const 127)))))";

/// Runs this file's measurement, and adds a row to the table.
pub fn measure(effort: &Effort, table: &mut Table) {
    if !table.wants(LOOP) {
        return;
    }
    let module = wat::parse_str(TEXT.replace("STEPS", &STEPS.to_string())).expect("a module");
    let files = FileMap::from([("main.wasm".to_owned(), Arc::from(module))]);
    let program = Program::compile("main.wasm", Arc::new(files)).expect("a program");
    let [ours, reference] = in_turn(effort.samples(10) * effort.rounds, || {
        let begun = Instant::now();
        let status = native();
        let native = begun.elapsed();
        let begun = Instant::now();
        let end = interpreted(&program);
        let interpreted = begun.elapsed();
        assert_eq!(end, End::Exited(status));
        [interpreted, native]
    });
    table.push(Row {
        what: LOOP.to_owned(),
        ours: Value::Time(ours),
        off: None,
        reference: Some(Value::Time(reference)),
        bar: Bar::None,
    });
}

fn native() -> i32 {
    let mut x = 0_u64;
    for _ in 0..black_box(STEPS) {
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        x ^= x >> 29;
    }
    i32::try_from(black_box(x) & 127).expect("seven bits")
}

fn interpreted(program: &Program) -> End {
    let setup = Setup {
        package: &program.files,
        arguments: &["main.wasm".to_owned()],
        variables: &BTreeMap::new(),
        inputs: &FileMap::new(),
        limits: Limits { time: Duration::from_secs(60), ..Limits::default() },
        clock: Clock::system(),
        cancelled: CancellationToken::new(),
    };
    wasm::run(program, &setup, None).expect("the interpreter is fine").end
}
