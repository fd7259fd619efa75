//! Tests a build without the feature `wasm`.

use crate::support::Scratch;

#[test]
fn a_module_is_refused_with_the_reason() {
    let scratch = Scratch::new();
    scratch.ok(&["tool", "init", "alice/greet", "--kind", "wasm"]);
    let refused = scratch.run(&["--json", "tool", "run", "./greet"]);
    assert!(refused.stdout.contains("E_RUNNER_UNAVAILABLE"), "{refused}");
    assert!(refused.stdout.contains("built without the feature `wasm`"), "{refused}");
}
