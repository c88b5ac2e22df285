//! Entries of every kind: their bytes, that they come back, and that no bytes make a read panic.

use super::*;
use access::{MAX_ENTRY_LEN, MAX_KEY_LEN};
use fastrand::Rng;
use pages::{MAX_SLOT_LEN, SLOT_SIZE};
use types::{Collation, DataType, Decimal, EncodeValue, Len, encode_key_part};

/// A table's columns, all of one type each, and an index over some of them.
struct Index {
    format: EntryFormat,
    types: Vec<DataType>,
    key: Vec<(usize, KeyPart)>,
    clustered: Option<Vec<(usize, KeyPart)>>,
    unique: bool,
    columns: Vec<usize>,
}

fn part(ty: DataType, descending: bool) -> KeyPart {
    KeyPart { ty, descending, collation: Collation::DEFAULT }
}

impl Index {
    /// Positions of the key's, the included and the clustered key's columns; no clustered key: a
    /// heap.
    fn new(
        types: &[DataType],
        key: &[usize],
        included: &[usize],
        clustered: &[usize],
        unique: bool,
    ) -> Index {
        let parts = |columns: &[usize]| -> Vec<(usize, KeyPart)> {
            columns.iter().map(|at| (*at, part(types[*at], at % 3 == 2))).collect()
        };
        let (key, clustered) = (parts(key), (!clustered.is_empty()).then(|| parts(clustered)));
        let columns: Vec<usize> =
            key.iter().map(|(at, _)| *at).chain(included.iter().copied()).collect();
        let ty = |at: &usize| ColumnType {
            ty: types[*at],
            nullable: true,
            collation: Collation::DEFAULT,
        };
        let column_types: Vec<(usize, ColumnType)> =
            columns.iter().map(|at| (*at, ty(at))).collect();
        let key_parts: Vec<KeyPart> = key.iter().map(|(_, part)| *part).collect();
        let format = EntryFormat::new(EntryColumns {
            columns: &column_types,
            key: &key_parts,
            clustered: clustered.as_deref(),
            unique,
        });
        Index { format, types: types.to_vec(), key, clustered, unique, columns }
    }

    fn locator(&self, row: &[Value]) -> Vec<u8> {
        let mut out = Vec::new();
        match &self.clustered {
            None => out.extend_from_slice(&[9, 8, 7, 6, 5, 4, 3, 2]),
            Some(key) => {
                key.iter().for_each(|(at, part)| encode_key_part(&row[*at], part, &mut out));
                // A uniquifier.
                out.extend_from_slice(&[0, 0, 1, 7]);
            }
        }
        out
    }

    fn encode(&self, row: &[Value]) -> (Vec<u8>, Vec<u8>) {
        let (locator, mut key, mut value) = (self.locator(row), Vec::new(), Vec::new());
        self.key.iter().for_each(|(at, part)| encode_key_part(&row[*at], part, &mut key));
        if !self.unique {
            key.extend_from_slice(&locator);
        }
        let (own, included) = self.format.row_columns();
        let fields: Vec<EncodeValue<'_>> =
            own.iter().chain(included).map(|at| EncodeValue::Value(&row[*at])).collect();
        self.format.row().encode_fields(&fields, &mut value).unwrap();
        let before = value.len();
        self.format.end_value(&locator, &mut value);
        assert_eq!(value.len() - before, self.format.behind_row(&locator));
        (key, value)
    }

    /// Bytes of an entry on its page, without its slot.
    fn size(&self, row: &[Value]) -> usize {
        let (key, value) = self.encode(row);
        MAX_SLOT_LEN - MAX_ENTRY_LEN + key.len() + value.len()
    }

    /// What the columns are read as, and those of the locator behind them.
    fn check(&self, row: &[Value], rng: &mut Rng, what: &str) {
        let (key, value) = self.encode(row);
        let entry = IndexEntry { key: &key, value: &value };
        assert_eq!(self.format.locator(entry), Some(&self.locator(row)[..]), "{what}");
        let mut wanted: Vec<(u16, usize)> = (0..).zip(self.columns.iter().copied()).collect();
        let located =
            (0..self.types.len()).filter_map(|at| Some((self.format.located(at)? as u16, at)));
        wanted.extend(located);
        rng.shuffle(&mut wanted);
        let positions: Vec<u16> = wanted.iter().map(|(position, _)| *position).collect();
        let mut out = vec![Value::Int(-1); positions.len()];
        self.format.decode(entry, &positions, &mut out).unwrap();
        for ((position, column), value) in wanted.iter().zip(&out) {
            assert_eq!(*value, row[*column], "{what}: column {column} at {position}");
        }
    }
}

fn value_of(ty: DataType, rng: &mut Rng) -> Value {
    if rng.u8(0..6) == 0 {
        return Value::Null;
    }
    match ty {
        DataType::Int => Value::Int(rng.i32(..)),
        DataType::BigInt => Value::BigInt(rng.i64(..)),
        DataType::Bit => Value::Bit(rng.bool()),
        DataType::Float => Value::Float(if rng.bool() { -0.0 } else { f64::from(rng.i32(..)) }),
        DataType::Decimal { precision, scale, .. } => {
            Value::Decimal(Decimal::new(i128::from(rng.i32(-999..999)), precision, scale).unwrap())
        }
        DataType::DateTime2(_) => {
            Value::DateTime2 { days: rng.i32(0..3_652_059), ticks: rng.u64(0..864_000_000_000) }
        }
        DataType::UniqueIdentifier => Value::Guid(std::array::from_fn(|_| rng.u8(..))),
        DataType::VarChar(_) => {
            Value::str(["", "a", "Ab", "ab  ", "text of a row"][rng.usize(0..5)])
        }
        DataType::Char(_) => Value::str(["aB ", "   ", "xyz"][rng.usize(0..3)]),
        _ => Value::bytes(&[[0u8, 1, 0], [0, 0, 0], [7, 1, 2]][rng.usize(0..3)][..rng.usize(0..4)]),
    }
}

const TYPES: [DataType; 10] = [
    DataType::Int,
    DataType::BigInt,
    DataType::Bit,
    DataType::Float,
    DataType::decimal(9, 2),
    DataType::DateTime2(7),
    DataType::UniqueIdentifier,
    DataType::VarChar(Len::N(40)),
    DataType::Char(3),
    DataType::VarBinary(Len::N(3)),
];

fn some(rng: &mut Rng, from: usize, most: usize) -> Vec<usize> {
    let mut all: Vec<usize> = (0..from).collect();
    rng.shuffle(&mut all);
    all.truncate(rng.usize(0..=most));
    all
}

fn random_index(rng: &mut Rng) -> Index {
    let types: Vec<DataType> = (0..8).map(|_| TYPES[rng.usize(0..TYPES.len())]).collect();
    let mut key = some(rng, 8, 5);
    if key.is_empty() {
        key.push(0);
    }
    let included: Vec<usize> = some(rng, 8, 4).into_iter().filter(|at| !key.contains(at)).collect();
    let clustered = some(rng, 8, 3);
    Index::new(&types, &key, &included, &clustered, rng.bool())
}

#[test]
fn entries_come_back_as_they_went() {
    for seed in 0..6_000 {
        let mut rng = Rng::with_seed(seed);
        let index = random_index(&mut rng);
        let row: Vec<Value> = index.types.iter().map(|ty| value_of(*ty, &mut rng)).collect();
        index.check(&row, &mut rng, &format!("seed {seed}"));
    }
}

#[test]
fn no_bytes_make_a_read_panic() {
    for seed in 0..20_000 {
        let mut rng = Rng::with_seed(seed);
        let index = random_index(&mut rng);
        let row: Vec<Value> = index.types.iter().map(|ty| value_of(*ty, &mut rng)).collect();
        let (mut key, mut value) = index.encode(&row);
        for bytes in [&mut key, &mut value] {
            if !bytes.is_empty() && rng.bool() {
                let at = rng.usize(0..bytes.len());
                bytes[at] = rng.u8(..);
            }
            if rng.u8(0..3) == 0 {
                bytes.truncate(rng.usize(0..=bytes.len()));
            }
        }
        let entry = IndexEntry { key: &key, value: &value };
        let _ = index.format.locator(entry);
        for at in 0..12 {
            let mut out = [Value::Null];
            let _ = index.format.decode(entry, &[at], &mut out);
        }
    }
}

const INT: DataType = DataType::Int;
const TEXT: DataType = DataType::VarChar(Len::N(40));

fn ints() -> Vec<Value> {
    vec![Value::Int(1), Value::Int(2), Value::Int(3), Value::Int(4)]
}

/// The figures of docs/internals/access.md.
#[test]
fn entries_have_so_many_bytes() {
    // Row header 18, length of the key 2; a part of the key is 5 for an int, a RID 8. A clustered
    // key here is an int and a uniquifier.
    let sizes = |key: &[usize], included: &[usize], unique: bool| {
        let clustered: [&[usize]; 2] = [&[], &[3]];
        clustered
            .map(|clustered| Index::new(&[INT; 4], key, included, clustered, unique).size(&ints()))
    };
    assert_eq!(sizes(&[0], &[], false), [20 + 5 + 8, 20 + 5 + 9]);
    assert_eq!(sizes(&[0, 1, 2], &[], false), [43, 20 + 15 + 9]);
    assert_eq!(sizes(&[0], &[], true), [20 + 5 + 8, 20 + 5 + 9]);
    // An included int: itself and a byte of NULL bits; a clustered key has its length behind it
    // then where the index is unique.
    assert_eq!(sizes(&[0], &[1], false), [33 + 5, 34 + 5]);
    assert_eq!(sizes(&[0], &[1], true), [33 + 5, 34 + 5 + 2]);
    // The clustered key has it.
    assert_eq!(sizes(&[0], &[3], false), [33 + 5, 34]);
    // A text of ten letters: in the key as its order (11 and the byte for NULL), in the value as it
    // is, with a byte of NULL bits and its end.
    let texts = |clustered: &[usize], unique: bool| {
        let row = [Value::str("ten letter"), Value::Int(2), Value::Int(3), Value::Int(4)];
        Index::new(&[TEXT, INT, INT, INT], &[0], &[], clustered, unique).size(&row)
    };
    assert_eq!(texts(&[], false), 20 + 12 + 8 + 13);
    assert_eq!(texts(&[], true), 20 + 12 + 13 + 8);
    // How long a clustered key is cannot be told behind a text, nor behind a row.
    assert_eq!(texts(&[3], false), 20 + 12 + 9 + 13 + 2);
    assert_eq!(texts(&[3], true), 20 + 12 + 13 + 9 + 2);
    // NULL has no bytes but its own, and no end if it is the last.
    let nulls = [Value::Null, Value::Null, Value::Null, Value::Int(4)];
    assert_eq!(
        Index::new(&[TEXT, INT, INT, INT], &[1, 0], &[], &[], false).size(&nulls),
        20 + 2 + 8 + 1
    );
}

#[test]
fn a_page_has_room_for_so_many_entries() {
    let size = Index::new(&[INT; 4], &[0, 1, 2], &[], &[], false).size(&ints()) + SLOT_SIZE;
    assert_eq!(size, 47);
    assert!(MAX_SLOT_LEN / size >= 171, "{}", MAX_SLOT_LEN / size);
    // With a longest key and a longest clustered key there is still room in an entry.
    const { assert!(2 * MAX_KEY_LEN + LENGTH < MAX_ENTRY_LEN) };
}

/// A value that is left to the base row is told from others.
#[test]
fn values_that_did_not_fit_are_told() {
    let index = Index::new(&[INT, TEXT, TEXT, INT], &[0], &[1, 2], &[3], true);
    let (own, included) = index.format.row_columns();
    assert_eq!((own, included), (&[][..], &[1, 2][..]));
    assert!(
        !index.format.is_variable(0) && index.format.is_variable(1) && index.format.is_variable(2)
    );
    let row = [Value::Int(1), Value::str("left"), Value::str("kept"), Value::Int(4)];
    let locator = index.locator(&row);
    let (key, _) = index.encode(&row);
    let mut value = Vec::new();
    let fields = [EncodeValue::LobPointer(&[0]), EncodeValue::Value(&row[2])];
    index.format.row().encode_fields(&fields, &mut value).unwrap();
    index.format.end_value(&locator, &mut value);
    let entry = IndexEntry { key: &key, value: &value };
    let mut out = [Value::Null, Value::Null];
    assert!(matches!(index.format.decode(entry, &[0, 1], &mut out), Err(Corrupt::OffRow { .. })));
    index.format.decode(entry, &[2, 0], &mut out).unwrap();
    assert_eq!(out, [Value::str("kept"), Value::Int(1)]);
    assert_eq!(index.format.locator(entry), Some(&locator[..]));
}
