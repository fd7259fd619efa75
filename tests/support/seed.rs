//! Defines the seed of all random tests, including the unit tests of the program and its crates. By default the seed is
//! constant, so that every run has the same result.

use proptest::test_runner::{Config, RngSeed};

/// The seed if `MCPKG_TEST_SEED` is not set.
const USUAL: u64 = 37;

/// Returns the seed: a constant, or the number in `MCPKG_TEST_SEED`. If `MCPKG_TEST_SEED` is `new`, draws a seed once
/// per process. Prints the seed and how to repeat the run, so that a failing test shows both.
pub fn seed() -> u64 {
    static DRAWN: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
    let given = std::env::var("MCPKG_TEST_SEED").unwrap_or_default();
    let seed = match given.as_str() {
        "" => USUAL,
        "new" => {
            *DRAWN.get_or_init(|| std::time::UNIX_EPOCH.elapsed().map_or(1, |elapsed| elapsed.as_nanos() as u64 >> 10))
        }
        number => number.parse().expect("MCPKG_TEST_SEED is a number, or `new`"),
    };
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    eprintln!("random, from the seed {seed}; the same again: MCPKG_TEST_SEED={seed} cargo test --workspace {test}");
    seed
}

/// Returns whether `MCPKG_TEST_ALL=1` is set, as in `.ci/full`. If so, the tests run all their random cases and every
/// step of their sweeps. Otherwise they run a part of them.
pub fn runs_all() -> bool {
    std::env::var_os("MCPKG_TEST_ALL").is_some_and(|all| all == "1")
}

/// Returns the number of random cases of a property: `PROPTEST_CASES` if it is set, and `all` if [`runs_all`] is true.
/// Otherwise a quarter of `all`, but at least eight, or `all` if that is less than eight.
pub fn cases(all: u32) -> u32 {
    let set = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    set.unwrap_or(if runs_all() { all } else { all.min(8).max(all / 4) })
}

/// Configures a property with [`cases`] of `all` and with the seed. proptest stores no counterexamples next to the
/// sources. A counterexample should become a test with a name.
pub fn config(all: u32) -> Config {
    let rng_seed = RngSeed::Fixed(seed());
    Config { cases: cases(all), rng_seed, failure_persistence: None, ..Config::default() }
}
