//! How full leaves become by the order in which entries arrive.

use super::*;

/// The share of the leaves' room that these keys take when they arrive in this order.
fn filled(keys: impl Iterator<Item = Vec<u8>>) -> f64 {
    let db = Db::sim(4, 32 << 20);
    let tree = BTree::create(db.store.clone(), db.unit(5)).unwrap();
    let (mut txn, mut bytes, mut count) = (db.begin(), 0usize, 0);
    let value = [7u8; 40];
    for key in keys {
        bytes += 18 + 2 + key.len() + value.len() + 4;
        count += 1;
        assert_eq!(tree.insert(&mut txn, &key, &value).unwrap(), Outcome::Done(()));
    }
    txn.commit().unwrap();
    let report = tree.check().unwrap();
    assert!(report.is_clean(), "{:#?}", report.findings);
    assert_eq!(report.rows, count);
    // Nodes above leaves are one or two of a hundred.
    bytes as f64 / (report.pages as f64 * 8128.0)
}

fn key_of(parts: [u32; 2]) -> Vec<u8> {
    parts.iter().flat_map(|part| part.to_be_bytes()).collect()
}

const COUNT: u32 = 20_000;

#[test]
fn runs_within_a_tree_fill_their_pages() {
    // Each twentieth goes on behind those of its own.
    let groups = filled((0..COUNT).map(|n| key_of([n % 20, n])));
    assert!(groups > 0.85, "{groups}");
    // And in whatever order the groups come.
    let mut rng = fastrand::Rng::with_seed(3);
    let mixed = filled((0..COUNT).map(|n| key_of([rng.u32(0..20), n])));
    assert!(mixed > 0.75, "{mixed}");
}

#[test]
fn keys_that_nearly_ascend_leave_no_half_pages() {
    let mut rng = fastrand::Rng::with_seed(5);
    let near = filled((0..COUNT).map(|n| key_of([n + rng.u32(0..40), n])));
    assert!(near > 0.6, "{near}");
}

/// What ascends nowhere is cut in the middle as ever, also where a few neighbours come together.
#[test]
fn scattered_keys_balance() {
    let mut rng = fastrand::Rng::with_seed(7);
    let random = filled((0..COUNT).map(|n| key_of([rng.u32(..), n])));
    assert!((0.62..0.78).contains(&random), "{random}");
    let mut place = 0;
    let fives = filled((0..COUNT).map(|n| {
        if n % 5 == 0 {
            place = rng.u32(..);
        }
        key_of([place, n])
    }));
    assert!(fives > 0.58, "{fives}");
}
