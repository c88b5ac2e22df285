//! The row format: round trips, old rows under new layouts, pointers, limits, and bytes that are no
//! rows.

use crate::common;
use fastrand::Rng;
use ringwood_types::row::has_overflow;
use ringwood_types::{
    CodePage, Collation, ColumnType, Corrupt, DataType, EncodeValue, Field, Len, MAX_ROW,
    RowLayout, Value,
};

fn columns(types: &[DataType]) -> Vec<ColumnType> {
    let column =
        |ty: &DataType| ColumnType { ty: *ty, nullable: true, collation: Collation::DEFAULT };
    types.iter().map(column).collect()
}

fn layout(types: &[DataType]) -> RowLayout {
    RowLayout::new(&columns(types))
}

fn bare(types: &[DataType]) -> RowLayout {
    RowLayout::bare(&columns(types))
}

fn random_row(rng: &mut Rng) -> (Vec<DataType>, Vec<Value>) {
    let types: Vec<DataType> = (0..rng.usize(1..40)).map(|_| common::any_type(rng)).collect();
    let value = |rng: &mut Rng, ty: DataType| match rng.u8(0..5) {
        0 => Value::Null,
        _ => common::value_of(rng, ty),
    };
    let values = types.iter().map(|ty| value(rng, *ty)).collect();
    (types, values)
}

#[test]
fn rows_come_back_as_they_went() {
    for seed in 0..3000 {
        let mut rng = Rng::with_seed(seed);
        let (types, values) = random_row(&mut rng);
        let layout = layout(&types);
        let mut out = vec![0xEE; 18];
        layout.encode(&values, &mut out).unwrap();
        let row = &out[18..];
        assert!(
            row.len() <= layout.max_row_size() && row.len() >= layout.min_row_size(),
            "seed {seed}"
        );
        let mut back = vec![Value::Int(-1); values.len()];
        layout.decode_all(row, &mut back).unwrap();
        assert_eq!(back, values, "seed {seed}");
        // A second decode into places that hold values already.
        layout.decode_all(row, &mut back).unwrap();
        assert_eq!(back, values, "seed {seed}");
        let wanted: Vec<u16> =
            (0..rng.usize(0..10)).map(|_| rng.u16(0..values.len() as u16)).collect();
        let mut some = vec![Value::Null; wanted.len()];
        layout.decode_some(row, &wanted, &mut some).unwrap();
        for (i, value) in wanted.iter().zip(&some) {
            assert_eq!(*value, values[usize::from(*i)], "seed {seed}");
            assert_eq!(layout.decode_column(row, usize::from(*i)).unwrap(), *value);
        }
    }
}

#[test]
fn bare_rows_come_back_as_they_went() {
    for seed in 0..3000 {
        let mut rng = Rng::with_seed(seed);
        let (types, values) = random_row(&mut rng);
        let (layout, whole) = (bare(&types), layout(&types));
        let mut out = vec![0xEE; 7];
        layout.encode(&values, &mut out).unwrap();
        let row = &out[7..];
        assert!(
            row.len() <= layout.max_row_size() && row.len() >= layout.min_row_size(),
            "seed {seed}"
        );
        assert_eq!(layout.min_row_size() + 6, whole.min_row_size());
        let parts = layout.parts(row).unwrap();
        for (i, value) in values.iter().enumerate() {
            let mut back = [Value::Int(-1)];
            layout.decode_parts(&parts, &[i as u16], &mut back).unwrap();
            assert_eq!(back[0], *value, "seed {seed}");
            assert_eq!(layout.decode_column(row, i).unwrap(), *value, "seed {seed}");
        }
        let mut scratch = Vec::new();
        let mut bytes = |i: usize| match layout.is_variable(i) {
            true => layout.stored_len(i, &values[i], &mut scratch).unwrap(),
            false => 0,
        };
        let lengths: Vec<usize> = (0..types.len()).map(&mut bytes).collect();
        assert_eq!(layout.row_size(|i| lengths[i]), row.len(), "seed {seed}");
    }
}

#[test]
fn bare_rows_have_no_head_and_no_counts() {
    let types = [DataType::Int, DataType::VarChar(Len::N(9)), DataType::VarBinary(Len::N(9))];
    let layout = bare(&types);
    let row = |values: &[Value]| {
        let mut row = Vec::new();
        layout.encode(values, &mut row).unwrap();
        row
    };
    assert_eq!(row(&[Value::Int(7), Value::str(""), Value::Null]), [7, 0, 0, 0, 0b100]);
    assert_eq!(
        row(&[Value::Int(7), Value::str("ab"), Value::Null]),
        [7, 0, 0, 0, 0b100, 11, 0, 11, 0, b'a', b'b']
    );
    // Also where the value of a column that is not a MAX one is elsewhere.
    let (int, text) = (Value::Int(7), Value::str("ab"));
    let fields =
        [EncodeValue::Value(&int), EncodeValue::Value(&text), EncodeValue::LobPointer(&[1])];
    let mut outside = Vec::new();
    layout.encode_fields(&fields, &mut outside).unwrap();
    assert_eq!(outside, [7, 0, 0, 0, 0, 11, 0, 12, 0x80, b'a', b'b', 1]);
    assert_eq!(layout.decode_column(&outside, 2), Err(Corrupt::OffRow { column: 2 }));
    assert_eq!(layout.decode_column(&outside, 1), Ok(text));
    // Without columns: nothing.
    let mut none = Vec::new();
    bare(&[]).encode(&[], &mut none).unwrap();
    assert!(none.is_empty());
    assert!(bare(&[]).parts(&none).is_ok());
    for cut in 0..9 {
        let cut = &outside[..cut];
        assert_eq!(layout.parts(cut).is_ok(), cut.len() == 5, "the row without variable columns");
    }
    assert!(!layout.same_bytes_as(&RowLayout::new(&columns(&types))));
}

#[test]
fn columns_added_later_read_as_null() {
    for seed in 0..500 {
        let mut rng = Rng::with_seed(seed);
        let (mut types, values) = random_row(&mut rng);
        let mut row = Vec::new();
        layout(&types).encode(&values, &mut row).unwrap();
        let added = rng.usize(1..12);
        types.extend((0..added).map(|_| common::any_type(&mut rng)));
        let newer = layout(&types);
        let mut back = vec![Value::Int(-1); types.len()];
        newer.decode_all(&row, &mut back).unwrap();
        assert_eq!(back[..values.len()], values[..], "seed {seed}");
        assert!(back[values.len()..].iter().all(Value::is_null), "seed {seed}");
    }
}

#[test]
fn pointers_stand_for_values() {
    let layout =
        layout(&[DataType::Int, DataType::VarChar(Len::Max), DataType::NVarChar(Len::N(20))]);
    let (int, text) = (Value::Int(7), Value::str("short"));
    let fields =
        [EncodeValue::Value(&int), EncodeValue::LobPointer(b"pointer"), EncodeValue::Value(&text)];
    let mut row = Vec::new();
    layout.encode_fields(&fields, &mut row).unwrap();
    assert_eq!(layout.decode_field(&row, 1).unwrap(), Field::Lob(b"pointer"));
    assert_eq!(layout.decode_field(&row, 2).unwrap(), Field::Value(text.clone()));
    assert_eq!(layout.decode_column(&row, 1), Err(Corrupt::OffRow { column: 1 }));
    assert_eq!(layout.raw_column(&row, 1), None);
    assert_eq!(layout.raw_column(&row, 0), Some(&7i32.to_le_bytes()[..]));
    let mut values = vec![Value::Null; 3];
    let fetch = |i: usize, pointer: &[u8]| -> Result<Value, Corrupt> {
        assert_eq!((i, pointer), (1, &b"pointer"[..]));
        let mut bytes = Vec::new();
        layout.value_to_bytes(1, &Value::str("long €"), &mut bytes).unwrap();
        layout.value_from_bytes(1, &bytes)
    };
    layout.decode_all_with(&row, &mut values, fetch).unwrap();
    assert_eq!(values, [int.clone(), Value::str("long €"), text]);
    let misplaced =
        [EncodeValue::LobPointer(b"x"), EncodeValue::Value(&int), EncodeValue::Value(&int)];
    let before = row.clone();
    assert_eq!(layout.encode_fields(&misplaced, &mut row).unwrap_err().number, 3624);
    assert_eq!(row, before);
}

#[test]
fn limits() {
    let wide = layout(&[DataType::Int, DataType::Char(8000), DataType::Int]);
    let mut row = Vec::new();
    let text = Value::str("a").check_and_pad(DataType::Char(8000), CodePage::Latin).unwrap();
    wide.encode(&[Value::Int(1), text, Value::Int(2)], &mut row).unwrap();
    assert_eq!(row.len(), 4 + 8008 + 2 + 1);
    let two = layout(&[DataType::VarChar(Len::N(8000)), DataType::VarChar(Len::N(8000))]);
    let long = Value::str("x".repeat(5000));
    let mut out = vec![1, 2, 3];
    let error = two.encode(&[long.clone(), long], &mut out).unwrap_err();
    assert_eq!(error.number, 511);
    assert!(error.message.contains(&MAX_ROW.to_string()));
    assert_eq!(out, [1, 2, 3]);
    let many = layout(&[DataType::Char(8000); 20]);
    assert_eq!(many.encode(&vec![Value::Null; 20], &mut out).unwrap_err().number, 511);
    let max = layout(&[DataType::VarBinary(Len::Max)]);
    let huge = Value::bytes(vec![1u8; 100_000]);
    assert_eq!(max.encode(&[huge], &mut out).unwrap_err().number, 511);
    let short = layout(&[DataType::VarChar(Len::N(3))]);
    assert_eq!(short.encode(&[Value::str("abcd")], &mut out).unwrap_err().number, 2628);
    assert_eq!(short.encode(&[Value::Int(1)], &mut out).unwrap_err().number, 3624);
    assert_eq!(short.encode(&[], &mut out).unwrap_err().number, 3624);
    assert_eq!(out, [1, 2, 3]);
}

#[test]
fn stored_bytes_are_as_documented() {
    let layout = layout(&[
        DataType::Bit,
        DataType::Char(3),
        DataType::Bit,
        DataType::NVarChar(Len::N(5)),
        DataType::decimal(5, 2),
    ]);
    let decimal = ringwood_types::Decimal::new(-150, 5, 2).unwrap();
    let values = [
        Value::Bit(true),
        Value::str("é  "),
        Value::Bit(true),
        Value::str("ab"),
        Value::Decimal(decimal),
    ];
    let mut row = Vec::new();
    layout.encode(&values, &mut row).unwrap();
    // status, end of fixed part 13, bits, char in code page 1252, sign and digits, 5 columns, no
    // NULLs, one variable column that ends at byte 24, UTF-16.
    let expected =
        [0x30, 0, 13, 0, 3, 0xE9, 32, 32, 0, 150, 0, 0, 0, 5, 0, 0, 1, 0, 24, 0, b'a', 0, b'b', 0];
    assert_eq!(row, expected);
    assert!(layout.same_bytes_as(&layout.clone()));
}

#[test]
fn no_bytes_make_decoding_panic() {
    for seed in 0..20_000u64 {
        let mut rng = Rng::with_seed(seed);
        let (types, values) = random_row(&mut rng);
        let layout = if seed % 3 == 0 { bare(&types) } else { layout(&types) };
        let mut row = Vec::new();
        if rng.bool() {
            row = (0..rng.usize(0..300)).map(|_| rng.u8(..)).collect();
        } else {
            layout.encode(&values, &mut row).unwrap();
            for _ in 0..rng.usize(1..6) {
                let at = rng.usize(0..row.len());
                row[at] = rng.u8(..);
            }
            row.truncate(rng.usize(0..=row.len()));
        }
        let mut back = vec![Value::Null; types.len()];
        let _ = layout.decode_all(&row, &mut back);
        for (i, ty) in types.iter().enumerate() {
            let _ = layout.raw_column(&row, i);
            // Whatever was read is a value of its type: it can be shown and compared.
            if let Ok(Field::Value(value)) = layout.decode_field(&row, i) {
                assert!(value.is_kind_of(*ty), "seed {seed}");
                assert!(!ringwood_types::format_value(&value, *ty).is_empty() || ty.is_string());
            }
        }
        assert!(layout.decode_field(&row, types.len()).is_err());
    }
}

#[test]
fn a_row_says_that_it_overflows() {
    let types = [DataType::Int, DataType::VarChar(Len::N(100)), DataType::NVarChar(Len::Max)];
    let layout = layout(&types);
    let (int, text) = (Value::Int(7), Value::str("short"));
    let row = |fields: [EncodeValue<'_>; 3]| {
        let mut row = Vec::new();
        layout.encode_fields(&fields, &mut row).unwrap();
        row
    };
    let (int, text, pointer) =
        (EncodeValue::Value(&int), EncodeValue::Value(&text), EncodeValue::LobPointer(b"pointer"));
    let plain = row([int, text, text]);
    assert!(!has_overflow(&plain) && !has_overflow(&[]));
    // A MAX column has always had pointers.
    assert!(!has_overflow(&row([int, text, pointer])));
    let outside = row([int, pointer, text]);
    assert!(has_overflow(&outside));
    assert_eq!(layout.decode_field(&outside, 1).unwrap(), Field::Lob(b"pointer"));
    assert_eq!(layout.decode_column(&outside, 2).unwrap(), Value::str("short"));
    assert_eq!(plain[0] & !outside[0], 0);
}

#[test]
fn sizes_are_known_before_a_row_is_made() {
    for seed in 0..3000 {
        let mut rng = Rng::with_seed(seed);
        let (types, values) = random_row(&mut rng);
        let layout = layout(&types);
        let (mut row, mut scratch) = (Vec::new(), Vec::new());
        layout.encode(&values, &mut row).unwrap();
        let lengths: Vec<usize> = (0..types.len())
            .map(|i| match layout.is_variable(i) {
                true => layout.stored_len(i, &values[i], &mut scratch).unwrap(),
                false => 0,
            })
            .collect();
        assert_eq!(layout.row_size(|i| lengths[i]), row.len(), "seed {seed}");
    }
}
