//! Keys: their memcmp order is SQL's order, for every type, collation and direction.

mod common;

use std::cmp::Ordering;

use fastrand::Rng;
use ringwood_types::{
    Collation, DataType, Decimal, KeyPart, Value, compare, decode_key_part, encode_key, encode_key_part,
    encode_sort_part, keeps_values,
};

fn expected(a: &Value, b: &Value, part: &KeyPart) -> Ordering {
    let order = match (a.is_null(), b.is_null()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        _ => compare(a, b, part.collation).expect("two values of one type"),
    };
    if part.descending { order.reverse() } else { order }
}

#[test]
fn order_of_keys_is_order_of_values() {
    let collations: Vec<Collation> = Collation::names().filter_map(Collation::from_name).collect();
    for seed in 0..40_000 {
        let mut rng = Rng::with_seed(seed);
        let parts: Vec<KeyPart> = (0..rng.usize(1..4))
            .map(|_| KeyPart {
                ty: common::any_type(&mut rng),
                descending: rng.bool(),
                collation: collations[rng.usize(0..collations.len())],
            })
            .collect();
        let row = |rng: &mut Rng| -> Vec<Value> {
            let value = |ty| if rng.u8(0..8) == 0 { Value::Null } else { common::value_of(rng, ty) };
            parts.iter().map(|p| p.ty).map(value).collect()
        };
        let (mut a, mut b) = (row(&mut rng), row(&mut rng));
        if rng.bool() {
            // The first column equal, so that the next decides.
            b[0] = a[0].clone();
        }
        if let Value::Str(s) = &a[0]
            && rng.bool()
        {
            a[0] = Value::str(s.trim_end());
        }
        let key = |row: &[Value]| {
            let columns: Vec<(&Value, KeyPart)> = row.iter().zip(parts.iter().copied()).collect();
            let mut out = Vec::new();
            encode_key(&columns, &mut out);
            out
        };
        let pairs = a.iter().zip(&b).zip(&parts);
        let order = pairs.map(|((x, y), p)| expected(x, y, p)).find(|o| o.is_ne()).unwrap_or(Ordering::Equal);
        assert_eq!(key(&a).cmp(&key(&b)), order, "seed {seed}: {a:?} {b:?} {parts:?}");
    }
}

#[test]
fn equal_strings_have_equal_keys_and_hashes() {
    let collation = Collation::DEFAULT;
    for (a, b) in [("Hello", "hELLO  "), ("É", "é"), ("", "   "), ("ЖУК", "жук")] {
        assert!(collation.equal(a, b), "{a} {b}");
        assert_eq!(collation.hash(a), collation.hash(b));
        let key = |s: &str| {
            let mut out = Vec::new();
            collation.sort_key(s, &mut out);
            out
        };
        assert_eq!(key(a), key(b));
        assert!(!Collation::BIN2.equal(a, b) || a.is_empty());
    }
    assert!(!collation.equal("e", "é"));
    assert!(collation.compare("e", "é").is_lt() && collation.compare("é", "f").is_lt());
    assert!(collation.compare("a-b", "aab").is_lt() && collation.compare("9", "a").is_lt());
    assert!(collation.compare("a", "a b").is_lt());
    let cs = Collation::from_name("sql_latin1_general_cp1_cs_as").unwrap();
    assert!(cs.compare("a", "A").is_lt() && cs.compare("A", "b").is_lt());
    assert!(Collation::BIN2.compare("B", "a").is_lt());
    assert_eq!(Collation::from_name("no_such"), None);
    assert_eq!(Collation::from_id(collation.id()), Some(collation));
    assert_eq!(Collation::from_id(200), None);
}

#[test]
fn uniqueidentifiers_order_by_their_last_group() {
    let part = KeyPart { ty: DataType::UniqueIdentifier, descending: false, collation: Collation::DEFAULT };
    let guid = |at: usize| {
        let mut g = [0u8; 16];
        g[at] = 1;
        Value::Guid(g)
    };
    let key = |value: &Value| {
        let mut out = Vec::new();
        encode_key(&[(value, part)], &mut out);
        out
    };
    // Byte 15 counts less than byte 10, and byte 0 less than any other but its own group's.
    assert!(key(&guid(10)) > key(&guid(15)));
    assert!(key(&guid(15)) > key(&guid(8)));
    assert!(key(&guid(8)) > key(&guid(0)));
    assert!(key(&guid(0)) > key(&guid(3)));
}

#[test]
fn sort_keys_order_values_of_any_precision() {
    for seed in 0..40_000 {
        let mut rng = Rng::with_seed(seed);
        let ty = common::any_type(&mut rng);
        let descending = rng.bool();
        let value = |rng: &mut Rng| match (rng.u8(0..8), ty) {
            (0, _) => Value::Null,
            (1, DataType::Decimal { .. }) => Value::Decimal(Decimal::new(0, 5, 2).expect("zero")),
            (_, DataType::Decimal { .. }) => {
                // Each value with a precision and scale of its own, often the same number written otherwise.
                let (digits, zeros) = (rng.i128(-20..20), rng.u8(0..20));
                let scale = zeros + rng.u8(0..2);
                Value::Decimal(Decimal::new(digits * 10i128.pow(zeros.into()), 38, scale).expect("it fits"))
            }
            _ => common::value_of(rng, ty),
        };
        let (a, b) = (value(&mut rng), value(&mut rng));
        let key = |v: &Value| {
            let mut out = Vec::new();
            encode_sort_part(v, descending, Collation::DEFAULT, &mut out);
            out
        };
        let part = KeyPart { ty, descending, collation: Collation::DEFAULT };
        assert_eq!(key(&a).cmp(&key(&b)), expected(&a, &b, &part), "seed {seed}: {a:?} {b:?}");
        let (x, y) = (key(&a), key(&b));
        assert!(x == y || !y.starts_with(&x), "seed {seed}: {a:?} begins {b:?}");
    }
}

#[test]
fn keys_give_values_back() {
    let mut kept = 0;
    for seed in 0..20_000 {
        let mut rng = Rng::with_seed(seed);
        let parts: Vec<KeyPart> = (0..rng.usize(1..4))
            .map(|_| KeyPart {
                ty: common::any_type(&mut rng),
                descending: rng.bool(),
                collation: Collation::DEFAULT,
            })
            .take_while(|part| keeps_values(part.ty))
            .collect();
        let value =
            |rng: &mut Rng, ty| if rng.u8(0..8) == 0 { Value::Null } else { common::value_of(rng, ty) };
        let values: Vec<Value> = parts.iter().map(|part| value(&mut rng, part.ty)).collect();
        let mut key = Vec::new();
        values.iter().zip(&parts).for_each(|(value, part)| encode_key_part(value, part, &mut key));
        let mut rest = &key[..];
        for (value, part) in values.iter().zip(&parts) {
            assert_eq!(decode_key_part(part, &mut rest).as_ref(), Some(value), "seed {seed}: {part:?}");
            kept += 1;
        }
        assert!(rest.is_empty());
        if let Some(part) = parts.last()
            && !key.is_empty()
        {
            // What is cut off is no key.
            let mut short = &key[..key.len() - 1];
            let all: Vec<_> = parts.iter().map(|part| decode_key_part(part, &mut short)).collect();
            assert_eq!(all.last(), Some(&None), "{part:?}");
        }
    }
    assert!(kept > 5_000, "{kept} values");
}
