//! Tests of the old commits that flows keep until they are pruned.

use super::shop::Shop;

#[test]
fn the_old_tips_of_a_finish_are_kept() {
    let shop = Shop::new();
    shop.ok(&["flow", "feature", "start", "login"]);
    shop.work("login.txt");
    let (tip, old) = (shop.id("lib", "feature/login"), shop.id("lib", "develop"));
    let data = shop.data(&["flow", "feature", "finish", "login"]);
    let run = data["run"].as_str().expect("a run");
    assert_eq!(shop.id("lib", &format!("refs/mcpkg/kept/{run}/heads/feature/login")), tip);
    assert_eq!(shop.id("lib", &format!("refs/mcpkg/kept/{run}/heads/develop")), old);
}
