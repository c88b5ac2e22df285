//! Columns that go on as they are stored: each stands for the value that decoding gives, of sound
//! rows and of damaged ones.

use crate::common;
use fastrand::Rng;
use ringwood_types::{
    Collation, ColumnType, Corrupt, DataType, EncodeValue, Field, Len, RowLayout, StoredCell, Value,
};

fn layout(types: &[DataType], collation: Collation) -> RowLayout {
    let column = |ty: &DataType| ColumnType { ty: *ty, nullable: true, collation };
    RowLayout::new(&types.iter().map(column).collect::<Vec<_>>())
}

/// Each column by itself: the value or the error that decoding gives.
#[track_caller]
fn check(layout: &RowLayout, row: &[u8]) {
    let mut cells = Vec::new();
    for i in 0..layout.len() {
        cells.clear();
        let stored =
            layout.stored_cells(row, &[i as u16], &mut cells).map(|()| cells[0].to_value());
        assert_eq!(stored, layout.decode_column(row, i), "column {i}");
        let pointer = layout.parts(row).ok().and_then(|parts| layout.pointer(&parts, i));
        match layout.decode_field(row, i) {
            Ok(Field::Lob(bytes)) => assert_eq!(pointer, Some(bytes)),
            _ => assert_eq!(pointer, None),
        }
        if stored.is_ok() {
            assert_eq!(cells[0].is_null(), stored == Ok(Value::Null));
        }
    }
}

#[test]
fn cells_stand_for_the_values_of_a_row() {
    for seed in 0..2000 {
        let mut rng = Rng::with_seed(seed);
        let types: Vec<DataType> =
            (0..rng.usize(1..40)).map(|_| common::any_type(&mut rng)).collect();
        let value = |rng: &mut Rng, ty| match rng.u8(0..5) {
            0 => Value::Null,
            _ => common::value_of(rng, ty),
        };
        let values: Vec<Value> = types.iter().map(|ty| value(&mut rng, *ty)).collect();
        let layout = layout(&types, Collation::DEFAULT);
        let mut row = Vec::new();
        layout.encode(&values, &mut row).unwrap();
        check(&layout, &row);
        assert_eq!(layout.has_pointer(&row), Ok(false));
        let wanted: Vec<u16> =
            (0..rng.usize(0..10)).map(|_| rng.u16(0..values.len() as u16)).collect();
        let mut cells = vec![StoredCell::Value(Value::Null)];
        layout.stored_cells(&row, &wanted, &mut cells).unwrap();
        // They come behind those of another row.
        assert!(cells[0].is_null());
        let back: Vec<Value> = cells[1..].iter().map(StoredCell::to_value).collect();
        let expected: Vec<Value> = wanted.iter().map(|i| values[usize::from(*i)].clone()).collect();
        assert_eq!(back, expected, "seed {seed}");
        // Whatever is wrong with it: no panic, and never a cell where there is no value.
        for _ in 0..20 {
            let mut damaged = row.clone();
            match rng.u8(0..3) {
                0 => damaged.truncate(rng.usize(0..row.len())),
                _ => {
                    (0..rng.usize(1..4)).for_each(|_| damaged[rng.usize(0..row.len())] = rng.u8(..))
                }
            }
            check(&layout, &damaged);
            let _ = layout.has_pointer(&damaged);
        }
    }
}

/// A row that is older than some columns of its table, bits and variable ones among them.
#[test]
fn columns_that_came_after_a_row_are_null() {
    for seed in 0..1000 {
        let mut rng = Rng::with_seed(seed);
        let types: Vec<DataType> =
            (0..rng.usize(2..40)).map(|_| common::any_type(&mut rng)).collect();
        let old = rng.usize(1..types.len());
        let values: Vec<Value> =
            types[..old].iter().map(|ty| common::value_of(&mut rng, *ty)).collect();
        let mut row = Vec::new();
        layout(&types[..old], Collation::DEFAULT).encode(&values, &mut row).unwrap();
        let now = layout(&types, Collation::DEFAULT);
        check(&now, &row);
        assert_eq!(now.has_pointer(&row), Ok(false), "seed {seed}");
        let (wanted, mut cells) = ((0..types.len() as u16).collect::<Vec<u16>>(), Vec::new());
        now.stored_cells(&row, &wanted, &mut cells).unwrap();
        assert!(cells[old..].iter().all(StoredCell::is_null), "seed {seed}");
        let back: Vec<Value> = cells[..old].iter().map(StoredCell::to_value).collect();
        assert_eq!(back, values, "seed {seed}");
    }
}

/// Lengths around those at which texts are held otherwise, and what is not ASCII.
#[test]
fn texts_of_every_code_page_are_borrowed_where_they_are_ascii() {
    let types = [
        DataType::Char(30),
        DataType::VarChar(Len::N(8000)),
        DataType::VarChar(Len::Max),
        DataType::VarChar(Len::Old),
        DataType::NChar(30),
        DataType::NVarChar(Len::N(4000)),
        DataType::VarBinary(Len::N(8000)),
    ];
    let bytes_are_borrowed = |cell: &StoredCell<'_>| !matches!(cell, StoredCell::Value(_));
    for name in ["Latin1_General_CI_AS", "Cyrillic_General_CI_AS", "Chinese_PRC_BIN"] {
        let Some(collation) = Collation::from_name(name) else { panic!("{name}") };
        let layout = layout(&types, collation);
        for (text, ascii) in [("", true), ("x", true), ("caf\u{e9}", false), ("\u{414}a", false)] {
            for count in [1, 24, 25, 200] {
                let long = text.repeat(count);
                let (short, padded) = (text.repeat(count.min(6)), 30);
                let fixed = |text: &str| {
                    let blanks = padded - text.chars().count();
                    Value::str(format!("{text}{}", " ".repeat(blanks)))
                };
                let values = [
                    fixed(if ascii { &short } else { "" }),
                    Value::str(if ascii { long.as_str() } else { "" }),
                    Value::str(&long),
                    Value::Null,
                    fixed(&short),
                    Value::str(&long),
                    Value::bytes(long.as_bytes().to_vec()),
                ];
                let mut row = Vec::new();
                layout.encode(&values, &mut row).unwrap();
                check(&layout, &row);
                let mut cells = Vec::new();
                layout.stored_cells(&row, &[0, 1, 4, 5, 6], &mut cells).unwrap();
                assert!(cells.iter().all(bytes_are_borrowed), "{name}: {text} {count}");
                cells.clear();
                layout.stored_cells(&row, &[2, 3], &mut cells).unwrap();
                // What a page lacks has become a letter or a question mark.
                let stored = layout.decode_column(&row, 2).unwrap();
                let plain = stored.as_str().is_some_and(str::is_ascii);
                assert!(plain || !ascii);
                assert_eq!(bytes_are_borrowed(&cells[0]), plain, "{name}: {text} {count}");
                assert!(cells[1].is_null());
            }
        }
    }
}

#[test]
fn a_pointer_is_no_cell() {
    let layout =
        layout(&[DataType::Int, DataType::VarChar(Len::Max), DataType::Int], Collation::DEFAULT);
    let (one, two) = (Value::Int(1), Value::Int(2));
    let fields =
        [EncodeValue::Value(&one), EncodeValue::LobPointer(&[7; 16]), EncodeValue::Value(&two)];
    let mut row = Vec::new();
    layout.encode_fields(&fields, &mut row).unwrap();
    assert_eq!(layout.has_pointer(&row), Ok(true));
    check(&layout, &row);
    let mut cells = Vec::new();
    assert_eq!(layout.stored_cells(&row, &[0, 1], &mut cells), Err(Corrupt::OffRow { column: 1 }));
    cells.clear();
    layout.stored_cells(&row, &[2, 0], &mut cells).unwrap();
    assert_eq!(cells, [StoredCell::Value(two), StoredCell::Value(one)]);
}
