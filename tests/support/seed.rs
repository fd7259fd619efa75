//! The seed of all random tests, also of those beside the code in `src/`: always the same, so that a run says the same twice.

use proptest::test_runner::{Config, RngSeed};

/// The seed where `MCPKG_TEST_SEED` names none.
const USUAL: u64 = 37;

/// Returns the seed: `MCPKG_TEST_SEED`, where that is `new` one that is drawn once per process, else always the same. It is printed
/// with the way to repeat it, which a failing test shows.
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

/// Returns whether `MCPKG_TEST_ALL=1` is set, as `.ci/full` does: then tests run all their random cases and every step of their
/// sweeps. Otherwise they run a part that has each kind of case at least once.
pub fn runs_all() -> bool {
    std::env::var_os("MCPKG_TEST_ALL").is_some_and(|all| all == "1")
}

/// Returns how many random cases a property is tested with: `PROPTEST_CASES` if it is set, `all` if [`runs_all`], and otherwise a
/// quarter of them, but at least eight.
pub fn cases(all: u32) -> u32 {
    let set = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    set.unwrap_or(if runs_all() { all } else { all.min(8).max(all / 4) })
}

/// Configures a property with [`cases`] of `all` from the seed, and keeps nothing beside the sources. A counterexample becomes a test
/// with a name.
pub fn config(all: u32) -> Config {
    let rng_seed = RngSeed::Fixed(seed());
    Config { cases: cases(all), rng_seed, failure_persistence: None, ..Config::default() }
}
