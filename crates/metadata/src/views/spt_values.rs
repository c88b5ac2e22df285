//! master..spt_values: numbers and names that scripts look up; above all the numbers 0 to 2047 of
//! type P, which they take for a table of numbers.
//! Guarantee: master alone has it.

use types::{DataType, Len, Value};

use super::{View, ViewColumn};

use DataType::{Int, NChar, NVarChar};

/// Its columns.
pub(super) const COLUMNS: &[ViewColumn] = &[
    ("name", NVarChar(Len::N(35)), true),
    ("number", Int, false),
    ("type", NChar(3), false),
    ("low", Int, true),
    ("high", Int, true),
    ("status", Int, true),
];

/// Numbers of type P.
const NUMBERS: i32 = 2048;

/// Yes and no, as procedures say it.
const ANSWERS: &[&str] = &["no", "yes", "none"];
/// Modes of locks, from 1 on, as sys.syslockinfo numbers them and one more.
const LOCKS: &[&str] = &[
    "NULL", "Sch-S", "Sch-M", "S", "U", "X", "IS", "IU", "IX", "SIU", "SIX", "UIX", "BU",
    "RangeS-S", "RangeS-U", "RangeI-N", "RangeI-S", "RangeI-U", "RangeI-X", "RangeX-S", "RangeX-U",
    "RangeX-X",
];
/// What is locked, from 1 on.
const RESOURCES: &[&str] =
    &["NUL", "DB", "FIL", "IDX", "TAB", "PAG", "KEY", "EXT", "RID", "APP", "MD", "HBT", "AU"];
/// How a request for a lock stands, from 1 on.
const STATES: &[&str] = &["GRANT", "CNVT", "WAIT"];

fn row(name: Option<&str>, number: i32, kind: &str, bits: Option<(i32, i32)>) -> Vec<Value> {
    let (low, high) =
        bits.map_or((Value::Null, Value::Null), |(low, high)| (Value::Int(low), Value::Int(high)));
    let name = name.map_or(Value::Null, Value::str);
    vec![name, Value::Int(number), Value::str(format!("{kind:<3}")), low, high, Value::Int(0)]
}

/// master..spt_values. `low` and `high` of a number: the byte and the bit that a mask has for it.
pub static VALUES: View = View::of_master("spt_values", COLUMNS, |_, _, _| {
    let named = |kind: &'static str, first: i32, names: &'static [&'static str]| {
        (first..).zip(names).map(move |(number, name)| row(Some(*name), number, kind, None))
    };
    let numbers = (0..NUMBERS).map(|n| row(None, n, "P", Some((n / 8 + 1, 1 << (n % 8)))));
    let lists = named("B", 0, ANSWERS)
        .chain(named("L", 1, LOCKS))
        .chain(named("LR", 1, RESOURCES))
        .chain(named("LS", 1, STATES));
    Ok(lists.chain(numbers).collect())
});
