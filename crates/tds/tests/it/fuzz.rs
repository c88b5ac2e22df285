//! Random conversations, whole and damaged. Longer runs: `./fuzz wire -- SECONDS [SEED]`.

use crate::conversation;

#[test]
fn conversations_are_understood_and_damage_is_survived() {
    for seed in 0..400 {
        conversation::round(seed);
    }
}
