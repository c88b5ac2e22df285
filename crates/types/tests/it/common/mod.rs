//! Random types and values of those types, for the property tests. Guarantees: `value_of` gives
//! values exactly as conversions leave them (padded, rounded to the scale), so that a round trip
//! can be compared for equality.
#![allow(dead_code)]

use fastrand::Rng;
use ringwood_types::{CodePage, DataType, Decimal, Len, Value, units};

pub fn any_type(rng: &mut Rng) -> DataType {
    let precision = rng.u8(1..=38);
    let len = |rng: &mut Rng| if rng.u8(0..5) == 0 { Len::Max } else { Len::N(rng.u16(1..=60)) };
    match rng.u8(0..23) {
        0 => DataType::Bit,
        1 => DataType::TinyInt,
        2 => DataType::SmallInt,
        3 => DataType::Int,
        4 => DataType::BigInt,
        5 | 6 => DataType::decimal(precision, rng.u8(0..=precision)),
        7 => DataType::Float,
        8 => DataType::Real,
        9 => DataType::SmallMoney,
        10 => DataType::Money,
        11 => DataType::Char(rng.u16(1..=60)),
        12 => DataType::VarChar(len(rng)),
        13 => DataType::NChar(rng.u16(1..=60)),
        14 => DataType::NVarChar(len(rng)),
        15 => DataType::Binary(rng.u16(1..=60)),
        16 => DataType::VarBinary(len(rng)),
        17 => DataType::Date,
        18 => DataType::Time(rng.u8(0..=7)),
        19 => DataType::DateTime,
        20 => DataType::SmallDateTime,
        21 => DataType::DateTime2(rng.u8(0..=7)),
        _ => {
            if rng.bool() {
                DataType::DateTimeOffset(rng.u8(0..=7))
            } else if rng.bool() {
                DataType::RowVersion
            } else if rng.bool() {
                DataType::HierarchyId
            } else {
                DataType::UniqueIdentifier
            }
        }
    }
}

fn text(rng: &mut Rng, limit: usize, unicode: bool) -> String {
    let latin = ['a', 'B', 'b', 'A', ' ', 'é', 'É', 'z', '5', '€', '-', '\t', 'ß', 'ÿ'];
    // With two halves of characters.
    let wide = ['a', 'Ж', 'ж', ' ', '漢', 'é', 'B', '😀', '\u{10F83D}', '\u{10FE42}'];
    let mut out = String::new();
    let mut length = 0;
    let wanted = rng.usize(0..=limit);
    let ascii = rng.bool();
    while length < wanted {
        let c = match (unicode, ascii) {
            (_, true) => ['a', 'A', 'b', ' ', 'c'][rng.usize(0..5)],
            (true, _) => wide[rng.usize(0..wide.len())],
            (false, _) => latin[rng.usize(0..latin.len())],
        };
        let size = if unicode { units::unit_len(c) } else { 1 };
        if length + size > limit {
            break;
        }
        units::push_char(&mut out, c);
        length += size;
    }
    out
}

fn ticks(rng: &mut Rng, scale: u8) -> u64 {
    let unit = 10u64.pow(7 - u32::from(scale));
    rng.u64(0..864_000_000_000) / unit * unit
}

/// A value of the type; never NULL.
pub fn value_of(rng: &mut Rng, ty: DataType) -> Value {
    match ty {
        DataType::Bit => Value::Bit(rng.bool()),
        DataType::TinyInt => Value::TinyInt(rng.u8(..)),
        DataType::SmallInt => Value::SmallInt(rng.i16(..)),
        DataType::Int => Value::Int(if rng.bool() { rng.i32(..) } else { rng.i32(-3..3) }),
        DataType::BigInt => Value::BigInt(rng.i64(..)),
        DataType::Decimal { precision, scale, .. } => {
            let limit = 10i128.pow(u32::from(precision));
            let digits = if rng.bool() { rng.i128(..) % limit } else { rng.i128(-9..10) };
            Value::Decimal(Decimal::new(digits, precision, scale).unwrap())
        }
        DataType::Float => Value::Float((rng.f64() - 0.5) * 10f64.powi(rng.i32(-20..20))),
        DataType::Real => Value::Real((rng.f32() - 0.5) * 10f32.powi(rng.i32(-10..10))),
        DataType::SmallMoney => Value::SmallMoney(rng.i32(..)),
        DataType::Money => Value::Money(rng.i64(..)),
        DataType::Char(n) | DataType::NChar(n) => {
            let s = text(rng, usize::from(n), ty.is_unicode());
            Value::str(s).check_and_pad(ty, CodePage::Latin).unwrap()
        }
        DataType::VarChar(_) | DataType::NVarChar(_) => {
            Value::str(text(rng, ty.length().unwrap_or(90), ty.is_unicode()))
        }
        DataType::Binary(_) | DataType::VarBinary(_) | DataType::RowVersion => {
            let n = rng.usize(0..=ty.length().unwrap_or(90).min(8));
            let bytes: Vec<u8> =
                (0..n).map(|_| rng.u8(..) % if rng.bool() { 3 } else { 255 }).collect();
            Value::bytes(bytes).check_and_pad(ty, CodePage::Latin).unwrap()
        }
        DataType::Date => Value::Date(rng.i32(0..=3_652_058)),
        DataType::Time(scale) => Value::Time(ticks(rng, scale)),
        DataType::DateTime => {
            Value::DateTime { days: rng.i32(-53_690..=2_958_463), ticks: rng.u32(0..25_920_000) }
        }
        DataType::SmallDateTime => {
            Value::SmallDateTime { days: rng.u16(..), minutes: rng.u16(0..1440) }
        }
        DataType::DateTime2(scale) => {
            Value::DateTime2 { days: rng.i32(0..=3_652_058), ticks: ticks(rng, scale) }
        }
        DataType::DateTimeOffset(scale) => Value::DateTimeOffset {
            days: rng.i32(1..3_652_058),
            ticks: ticks(rng, scale),
            offset: rng.i16(-840..=840),
        },
        DataType::UniqueIdentifier => Value::Guid(std::array::from_fn(|_| rng.u8(0..4))),
        DataType::Xml => Value::str("<a/>"),
        DataType::HierarchyId => {
            let nodes = (0..rng.usize(..4)).map(|_| format!("{}/", rng.i32(-80..2_000)));
            let path =
                ringwood_types::hierarchy::Path::parse(&format!("/{}", nodes.collect::<String>()));
            Value::bytes(path.and_then(|path| path.to_bytes()).unwrap())
        }
        DataType::SqlVariant => Value::Null,
    }
}
