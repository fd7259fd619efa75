//! Calls WASI functions with random numbers. No call may panic, reach outside of the module's memory, or exceed a
//! limit.

use proptest::prelude::*;
use wasmi::{Linker, Store, Val, ValType};

use super::super::{drive, host::Host, wasi};
use super::*;

/// Returns the names of all calls, which the prelude imports.
fn names() -> Vec<&'static str> {
    let lines = PRELUDE.lines().filter(|line| line.starts_with("(import"));
    lines.filter_map(|line| line.split('"').nth(3)).collect()
}

/// Generates arguments: likely descriptors, flags, addresses and lengths, or any other number.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => 0_u64..10,
        2 => (0_u64..40).prop_map(|number| number * 8),
        2 => 0_u64..140_000,
        1 => any::<u64>(),
        1 => Just(u64::from(u32::MAX)),
        1 => Just(0xffff_0000),
    ]
}

proptest! {
    #![proptest_config(crate::seed::config(64))]

    #[test]
    fn calls_with_random_numbers_never_panic(
        calls in prop::collection::vec((any::<prop::sample::Index>(), prop::collection::vec(number(), 9)), 1..60),
        seed in prop::collection::vec(any::<u8>(), 64),
        path in "(\\.\\./|a/|b|/){1,4}",
    ) {
        let names = names();
        let exports: String = names.iter().map(|name| format!("(export \"{name}\" (func ${name}))")).collect();
        let mut trial = Trial::of(&format!("{exports} (func (export \"_start\"))"));
        // With a timeout of zero, no call waits.
        trial.limits = Limits { time: Duration::ZERO, scratch: 1 << 20, file_size: 1 << 19, files: 12, ..Limits::default() };
        let program = trial.program().expect("a program");
        let setup = Setup {
            package: &program.files,
            arguments: &trial.arguments,
            variables: &trial.variables,
            inputs: &trial.inputs,
            limits: trial.limits,
            clock: Clock::fixed(0),
            cancelled: trial.cancelled.clone(),
        };
        let mut store = Store::new(program.module.engine(), Host::new(&setup));
        let mut linker = Linker::new(program.module.engine());
        wasi::define(&mut linker).expect("defined");
        let instance = linker.instantiate_and_start(&mut store, &program.module).expect("an instance");
        let memory = instance.get_memory(&store, "memory").expect("a memory");
        for (place, byte) in memory.data_mut(&mut store).iter_mut().zip(seed.iter().cycle()).take(4096) {
            *place = *byte;
        }
        memory.write(&mut store, 64, path.as_bytes()).expect("in memory");
        store.data_mut().memory = Some(memory);
        for (which, numbers) in calls {
            let name = which.get(&names);
            let function = instance.get_func(&store, name).expect("a call");
            let kinds = function.ty(&store);
            let arguments: Vec<Val> = kinds.params().iter().zip(&numbers).map(|(kind, number)| match kind {
                ValType::I64 => Val::I64(number.cast_signed()),
                _ => Val::I32((*number as u32).cast_signed()),
            }).collect();
            let mut results: Vec<Val> = kinds.results().iter().map(|kind| Val::default_for_ty(*kind)).collect();
            store.set_fuel(1_000_000).expect("fuel is counted");
            match function.call(&mut store, &arguments, &mut results) {
                Ok(()) => prop_assert!(matches!(results[..], [Val::I32(0..=76)]), "{name}: {results:?}"),
                Err(error) => prop_assert!(error.i32_exit_status().is_some(), "{name}: {error}"),
            }
        }
        let left = store.data().files.collect();
        prop_assert!(left.files.iter().all(|(path, _)| !path.contains("..")));
    }

    #[test]
    fn mutated_modules_end_without_a_panic(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut module = wat::parse_str(format!(
            "(module {PRELUDE} (start $s) (func $s (drop (memory.grow (i32.const 1)))) (func (export \"_start\")
                (loop $l (call $print (i32.const 100) (i32.const 9)) (br_if $l (i32.load (i32.const 5))))))"
        )).expect("a module");
        for (place, byte) in edits {
            let place = place.index(module.len());
            module[place] = byte;
        }
        let files = FileMap::from([("main.wasm".to_owned(), Arc::from(module))]);
        let compiled = contained::contained(|| Program::compile("main.wasm", Arc::new(files)));
        if let Ok(program) = compiled.expect("no panic") {
            let limits = Limits { time: Duration::from_millis(20), memory: 16 << 20, ..Limits::default() };
            let setup = Setup {
                package: &program.files,
                arguments: &[],
                variables: &BTreeMap::new(),
                inputs: &FileMap::new(),
                limits,
                clock: Clock::fixed(0),
                cancelled: CancellationToken::new(),
            };
            contained::contained(|| drive::run(&program, &setup, None)).expect("no panic");
        }
    }
}

#[test]
fn every_wasi_call_is_defined() {
    assert_eq!(names().len(), 46);
    assert_eq!(Trial::of("(func (export \"_start\"))").run().end, End::Exited(0));
}
