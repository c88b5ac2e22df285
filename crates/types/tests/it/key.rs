//! Keys: their memcmp order is SQL's order, for every type, collation and direction.

use crate::common;
use std::cmp::Ordering;

use fastrand::Rng;
use ringwood_types::{
    Collation, DataType, Decimal, KeyPart, Value, compare, decode_key_part, encode_key,
    encode_key_part, encode_sort_part, format_value, has_key_end, keeps_values, key_part_length,
    key_width, read_key_part, skip_key_part,
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
    let collations: Vec<Collation> = Collation::all().step_by(7).collect();
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
            let value =
                |ty| if rng.u8(0..8) == 0 { Value::Null } else { common::value_of(rng, ty) };
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
        let order = pairs
            .map(|((x, y), p)| expected(x, y, p))
            .find(|o| o.is_ne())
            .unwrap_or(Ordering::Equal);
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
    // Numbers and names are kept in databases: each is one collation's.
    for c in Collation::all() {
        assert_eq!(Collation::from_id(c.id()), Some(c));
        assert_eq!(Collation::from_name(&c.name().to_uppercase()), Some(c), "{}", c.name());
    }
    assert_eq!(Collation::from_id(200), None);
    assert_eq!(Collation::from_id(1).map(Collation::name).as_deref(), Some("Latin1_General_BIN2"));
    assert_eq!(
        Collation::from_id(5).map(Collation::name).as_deref(),
        Some("Latin1_General_100_CI_AS")
    );
}

#[test]
fn uniqueidentifiers_order_by_their_last_group() {
    let part = KeyPart {
        ty: DataType::UniqueIdentifier,
        descending: false,
        collation: Collation::DEFAULT,
    };
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
                // Each value with a precision and scale of its own, often the same number written
                // otherwise.
                let (digits, zeros) = (rng.i128(-20..20), rng.u8(0..20));
                let scale = zeros + rng.u8(0..2);
                Value::Decimal(
                    Decimal::new(digits * 10i128.pow(zeros.into()), 38, scale).expect("it fits"),
                )
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
        let value = |rng: &mut Rng, ty| {
            if rng.u8(0..8) == 0 { Value::Null } else { common::value_of(rng, ty) }
        };
        let values: Vec<Value> = parts.iter().map(|part| value(&mut rng, part.ty)).collect();
        let mut key = Vec::new();
        values.iter().zip(&parts).for_each(|(value, part)| encode_key_part(value, part, &mut key));
        let (mut rest, mut skipped, mut read) = (&key[..], &key[..], &key[..]);
        for (value, part) in values.iter().zip(&parts) {
            assert_eq!(
                decode_key_part(part, &mut rest).as_ref(),
                Some(value),
                "seed {seed}: {part:?}"
            );
            skip_key_part(part, &mut skipped).unwrap();
            let mut place = Value::Int(-1);
            read_key_part(part, &mut read, &mut place).unwrap();
            assert_eq!(place, *value, "seed {seed}: {part:?}");
            assert!(skipped == rest && read == rest, "seed {seed}: {part:?}");
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

#[test]
fn widths_are_those_of_keys() {
    let mut known = 0;
    for seed in 0..20_000 {
        let mut rng = Rng::with_seed(seed);
        let part = KeyPart {
            ty: common::any_type(&mut rng),
            descending: rng.bool(),
            collation: Collation::DEFAULT,
        };
        let mut key = Vec::new();
        encode_key_part(&common::value_of(&mut rng, part.ty), &part, &mut key);
        let len = key.len();
        encode_key_part(&Value::Null, &part, &mut key);
        let mut rest = &key[..];
        if let Some(width) = key_width(part.ty) {
            assert_eq!(len, 1 + width, "{part:?}");
            assert_eq!(skip_key_part(&part, &mut rest), Some(()));
            assert_eq!(rest.len(), 1, "{part:?}");
            known += 1;
        } else {
            assert_eq!(skip_key_part(&part, &mut rest), None);
            rest = &key[len..];
        }
        assert_eq!(skip_key_part(&part, &mut rest), Some(()));
        assert!(rest.is_empty());
        assert!(key_width(part.ty).is_some() || !keeps_values(part.ty), "{part:?}");
    }
    assert!(known > 10_000, "{known} widths");
}

/// A damaged page may have anything in its keys.
#[test]
fn no_bytes_make_values_that_a_type_does_not_have() {
    let mut values = 0;
    for seed in 0..40_000 {
        let mut rng = Rng::with_seed(seed);
        let part = KeyPart {
            ty: common::any_type(&mut rng),
            descending: rng.bool(),
            collation: Collation::DEFAULT,
        };
        let first = if part.descending { 0xFE } else { 1 };
        // Small numbers too: at random nearly all dates are out of range.
        let zeros = rng.usize(0..9);
        let zero = if part.descending { 0xFF } else { 0 };
        let mut key = vec![first];
        key.extend((0..20).map(|at| if at < zeros { zero } else { rng.u8(..) }));
        if let Some(value) = decode_key_part(&part, &mut &key[..]) {
            assert!(value.is_kind_of(part.ty), "seed {seed}");
            assert!(!format_value(&value, part.ty).is_empty(), "seed {seed}: {value:?}");
            values += 1;
        }
    }
    assert!(values > 5_000, "{values} values");
    let day = KeyPart { ty: DataType::Date, descending: false, collation: Collation::DEFAULT };
    for (days, known) in
        [(0, true), (3_652_058, true), (3_652_059, false), (-1, false), (i32::MIN, false)]
    {
        let mut key = Vec::new();
        encode_key_part(&Value::Date(days), &day, &mut key);
        assert_eq!(decode_key_part(&day, &mut &key[..]).is_some(), known, "day {days}");
    }
}

fn named(name: &str) -> Collation {
    Collation::from_name(name).unwrap_or_else(|| panic!("no collation {name}"))
}

/// Words in the order in which a collation must have them; `=` joins what it must call equal.
fn in_order(name: &str, words: &str) {
    let collation = named(name);
    let groups: Vec<Vec<&str>> = words.split(' ').map(|group| group.split('=').collect()).collect();
    for (i, group) in groups.iter().enumerate() {
        for word in group {
            let key = |text: &str| {
                let mut out = Vec::new();
                collation.sort_key(text, &mut out);
                out
            };
            for same in group {
                assert!(collation.equal(word, same), "{name}: {word} = {same}");
                assert_eq!(key(word), key(same), "{name}: {word} = {same}");
                assert_eq!(collation.hash(word), collation.hash(same), "{name}: {word} = {same}");
            }
            for after in groups[i + 1..].iter().flatten() {
                assert!(collation.compare(word, after).is_lt(), "{name}: {word} < {after}");
                assert!(key(word) < key(after), "{name}: {word} < {after}");
                assert!(!key(after).starts_with(&key(word)), "{name}: {word} begins {after}");
            }
        }
    }
}

#[test]
fn languages_have_their_orders() {
    in_order(
        "Latin1_General_CI_AS",
        "a=A á=Á=a\u{301} ab=AB áb æb=aeb=AEB b c coop=COOP co-op e é z",
    );
    in_order("Latin1_General_100_CS_AS", "a A á Á aa b straße=strasse z α Α я Я");
    in_order("Latin1_General_CI_AI", "a=á=Á=ä b o=ø=ö z");
    in_order("Latin1_General_100_CI_AS_KS_WS", "ab ａb b か カ が");
    in_order("Latin1_General_100_CI_AS", "_ 1 9 a=ａ か=カ が");
    in_order("French_CI_AS", "cote côte coté côté");
    in_order("Latin1_General_CI_AS", "cote coté côte côté");
    in_order("Modern_Spanish_CI_AS", "cz ll lm n nz ñ o");
    in_order("Traditional_Spanish_CI_AS", "cz ch d lz ll=LL m n ñ o");
    in_order("Polish_CI_AS", "a az ą=Ą b c cz ć l ł m z ź ż=z\u{307}");
    in_order("Czech_CI_AS", "c č d h hz ch=CH i r ř s š z ž");
    in_order("Hungarian_CI_AS", "cz cs d dz dzs e o ó ö ő p");
    in_order("Danish_Norwegian_CI_AS", "a z æ=Æ ä ø ö å aa=AA");
    in_order("Finnish_Swedish_100_CI_AS", "z å ä æ ö ø");
    in_order("Icelandic_CI_AS", "a az á b d ð e z þ æ ö");
    in_order("Estonian_CI_AS", "s š z ž t u v w õ ä ö ü x y");
    in_order("Turkish_CI_AS", "h ı=I i=İ j");
    in_order("Croatian_CI_AS", "c č ć d dž đ e l lj m n nj o");
    in_order("Vietnamese_CI_AS", "a á ă ắ â ấ b d đ e");
    in_order("Cyrillic_General_CI_AS", "а=А б г д е ё ж и й=И\u{306} к я");
    in_order("Ukrainian_CI_AS", "г ґ д е є ж и і ї й");
    in_order("Greek_CI_AS", "α ά β σ=Σ τ");
    in_order("German_PhoneBook_CI_AS", "ad ä=ae=Ä af");
    in_order("Polish_BIN2", "A Z a z ł Ż");
    in_order("Latvian_CI_AS", "h i y j k ķ l");
}

#[test]
fn pages_lengths_and_wires() {
    for (name, page, wire) in [
        ("SQL_Latin1_General_CP1_CI_AS", 1252, [0x09, 0x04, 0xD0, 0x00, 0x34]),
        ("SQL_Latin1_General_CP1_CS_AS", 1252, [0x09, 0x04, 0xC0, 0x00, 0x33]),
        ("Latin1_General_BIN2", 1252, [0x09, 0x04, 0x00, 0x02, 0x00]),
        ("Latin1_General_BIN", 1252, [0x09, 0x04, 0x00, 0x01, 0x00]),
        ("Latin1_General_100_CI_AS", 1252, [0x09, 0x04, 0xD0, 0x20, 0x00]),
        ("Latin1_General_100_CI_AS_SC_UTF8", 65001, [0x09, 0x04, 0xD0, 0x24, 0x00]),
        ("Latin1_General_100_CI_AI_KS_WS", 1252, [0x09, 0x04, 0x30, 0x20, 0x00]),
        ("Polish_CI_AS", 1250, [0x15, 0x04, 0xD0, 0x00, 0x00]),
        ("Japanese_XJIS_140_BIN2", 932, [0x11, 0x04, 0x00, 0x32, 0x00]),
        ("Chinese_PRC_Stroke_BIN", 936, [0x04, 0x08, 0x02, 0x01, 0x00]),
    ] {
        let c = named(name);
        assert_eq!((c.code_page().number(), c.wire_bytes()), (page, wire), "{name}");
    }
    for (name, text, length, back) in [
        ("Polish_CI_AS", "żółw", 4, "żółw"),
        ("Polish_CI_AS", "я", 1, "?"),
        ("Latin1_General_100_CI_AS_SC_UTF8", "żя😀", 8, "żя😀"),
        ("Japanese_BIN2", "日本a", 5, "日本a"),
        ("SQL_Latin1_General_CP1_CI_AS", "é", 1, "é"),
    ] {
        let page = named(name).code_page();
        let mut bytes = Vec::new();
        page.encode(text, &mut bytes);
        assert_eq!((bytes.len(), page.encoded_len(text)), (length, length), "{name} {text}");
        assert_eq!(page.decode(&bytes), back, "{name} {text}");
        assert_eq!(page.replaced(text).unwrap_or_else(|| text.to_owned()), back, "{name} {text}");
    }
    for none in [
        "",
        "Klingon_CI_AS",
        "Polish",
        "Polish_CI",
        "Polish_AS_CI",
        "Polish_CI_AS_SC",
        "Thai_CI_AS",
        "Polish_140_BIN",
        "Polish_BIN_CI_AS",
    ] {
        assert_eq!(Collation::from_name(none), None, "{none}");
    }
}

#[test]
fn parts_of_keys_end_where_their_values_do() {
    let mut collations: Vec<Collation> = Collation::all().step_by(7).collect();
    collations.extend(
        ["SQL_Latin1_General_CP1_CI_AS", "SQL_Latin1_General_CP1_CS_AS", "Latin1_General_BIN2"]
            .map(|name| Collation::from_name(name).unwrap()),
    );
    for seed in 0..40_000 {
        let mut rng = Rng::with_seed(seed);
        let collation = match rng.bool() {
            true => Collation::DEFAULT,
            false => collations[rng.usize(0..collations.len())],
        };
        let part = KeyPart { ty: common::any_type(&mut rng), descending: rng.bool(), collation };
        let mut key = Vec::new();
        let first =
            if rng.u8(0..8) == 0 { Value::Null } else { common::value_of(&mut rng, part.ty) };
        encode_key_part(&first, &part, &mut key);
        let length = key.len();
        // Whatever comes behind it.
        let next = KeyPart { ty: common::any_type(&mut rng), descending: rng.bool(), collation };
        encode_key_part(&common::value_of(&mut rng, next.ty), &next, &mut key);
        assert!(has_key_end(part.ty), "seed {seed}: {part:?}");
        assert_eq!(
            key_part_length(&part, &key),
            Some(length),
            "seed {seed}: {first:?} of {part:?}"
        );
        assert_eq!(
            key_part_length(&part, &key[..length - 1]),
            None,
            "seed {seed}: {first:?} of {part:?}"
        );
    }
    assert!(!has_key_end(DataType::SqlVariant));
}
