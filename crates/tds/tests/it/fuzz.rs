//! Random conversations, whole and damaged. Longer runs: `cargo run -p ringwood-tds --example fuzz -- SECONDS [SEED]`.

use crate::conversation;

#[test]
fn conversations_are_understood_and_damage_is_survived() {
    for seed in 0..400 {
        conversation::round(seed);
    }
}
