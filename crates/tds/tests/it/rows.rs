//! Rows of a result set, from values and from stored rows: byte for byte what `TokenWriter::row`
//! makes of the values, or the same error.

use fastrand::Rng;
use ringwood_tds::{RowColumns, Size, TdsError, TdsVersion, TokenWriter, TypeInfo, WireCollation};
use types::units::of_lone;
use types::{
    Collation, ColumnType, DataType, Decimal, Len, ResultRows, RowLayout, StoredCell, Value,
};

const VERSIONS: [TdsVersion; 5] =
    [TdsVersion::V7_1, TdsVersion::V7_2, TdsVersion::V7_3A, TdsVersion::V7_3B, TdsVersion::V7_4];

const TYPES: [DataType; 28] = [
    DataType::Int,
    DataType::Bit,
    DataType::TinyInt,
    DataType::SmallInt,
    DataType::BigInt,
    DataType::Float,
    DataType::Real,
    DataType::Money,
    DataType::SmallMoney,
    DataType::DateTime,
    DataType::Date,
    DataType::DateTime2(3),
    DataType::Char(7),
    DataType::Char(40),
    DataType::VarChar(Len::N(8000)),
    DataType::VarChar(Len::Max),
    DataType::VarChar(Len::Old),
    DataType::NChar(9),
    DataType::NVarChar(Len::N(4000)),
    DataType::NVarChar(Len::Max),
    DataType::NVarChar(Len::Old),
    DataType::Binary(5),
    DataType::VarBinary(Len::N(8000)),
    DataType::VarBinary(Len::Max),
    DataType::VarBinary(Len::Old),
    DataType::RowVersion,
    DataType::UniqueIdentifier,
    DataType::Xml,
];

/// Of the lengths at which texts are held and checked otherwise, ASCII and not.
fn text(rng: &mut Rng, most: usize) -> String {
    let length = [0, 1, 7, 8, 9, 23, 24, 25, 100, 8000][rng.usize(..10)].min(most);
    let mut text: String = (0..length).map(|_| rng.alphanumeric()).collect();
    if length > 0 && rng.u8(..3) == 0 {
        let lone = of_lone(0xD83D).unwrap_or('x');
        text.pop();
        text.push([' ', '\u{e9}', '\u{414}', '\u{6f22}', lone, '\u{7f}'][rng.usize(..6)]);
    }
    text
}

fn value(rng: &mut Rng, ty: DataType) -> Value {
    match ty {
        _ if rng.u8(..4) == 0 => Value::Null,
        DataType::Int => Value::Int(rng.i32(..)),
        DataType::Bit => Value::Bit(rng.bool()),
        DataType::BigInt => Value::BigInt(rng.i64(..)),
        DataType::TinyInt => Value::TinyInt(rng.u8(..)),
        DataType::SmallInt => Value::SmallInt(rng.i16(..)),
        DataType::Float => Value::Float(rng.f64()),
        DataType::Real => Value::Real(rng.f32()),
        DataType::Money => Value::Money(rng.i64(..)),
        DataType::SmallMoney => Value::SmallMoney(rng.i32(..)),
        DataType::DateTime => {
            Value::DateTime { days: rng.i32(-53_690..=2_958_463), ticks: rng.u32(0..25_920_000) }
        }
        DataType::Date => Value::Date(rng.i32(0..3_652_059)),
        DataType::DateTime2(_) => {
            Value::DateTime2 { days: rng.i32(0..3_652_059), ticks: rng.u64(0..86_400_000) * 10_000 }
        }
        DataType::Char(n) | DataType::NChar(n) => Value::str(text(rng, usize::from(n))),
        DataType::VarChar(_) | DataType::NVarChar(_) => Value::str(text(rng, 4000)),
        DataType::Xml => Value::str("<a>caf\u{e9}</a>"),
        DataType::Binary(n) => Value::bytes((0..n).map(|_| rng.u8(..)).collect::<Vec<_>>()),
        DataType::RowVersion => Value::bytes(rng.u64(..).to_be_bytes().to_vec()),
        DataType::UniqueIdentifier => Value::Guid(rng.u128(..).to_le_bytes()),
        _ => Value::bytes(text(rng, 8000).into_bytes()),
    }
}

/// What comes of a row in each of the ways. After an error there is nothing of it.
#[track_caller]
fn same(infos: &[TypeInfo], values: &[Value], cells: &[StoredCell<'_>], version: TdsVersion) {
    let mut columns = RowColumns::default();
    columns.set([TypeInfo::Bit].into_iter());
    columns.set(infos.iter().copied());
    assert!(columns.types().eq(infos.iter().copied()));
    let written = |write: &dyn Fn(&mut TokenWriter<'_>) -> Result<(), TdsError>| {
        let mut out = b"before".to_vec();
        let result = write(&mut TokenWriter::new(&mut out, version));
        assert!(result.is_ok() || out == b"before");
        (out, result.map_err(|e| e.to_string()))
    };
    let expected = written(&|tokens| tokens.row(infos, values));
    let of_values = ResultRows::one(values);
    let of_cells = ResultRows::of_cells(1, cells.len(), cells);
    for rows in [of_values, of_cells] {
        let one =
            written(&|tokens| tokens.rows(&columns, &rows, 1).map(|count| assert_eq!(count, 1)));
        assert!(one == expected, "{infos:?} {rows:?}");
    }
}

#[test]
fn stored_rows_are_written_as_their_values() {
    let collations = ["Latin1_General_CI_AS", "Cyrillic_General_CI_AS", "Chinese_PRC_BIN"];
    let mut rows = 0;
    for seed in 0..3000 {
        let mut rng = Rng::with_seed(seed);
        let collation = match rng.usize(..=collations.len()) {
            at if at < collations.len() => {
                Collation::from_name(collations[at]).expect("it is known")
            }
            _ => Collation::DEFAULT,
        };
        let types: Vec<DataType> =
            (0..rng.usize(1..12)).map(|_| TYPES[rng.usize(..TYPES.len())]).collect();
        let column = |ty: &DataType| ColumnType { ty: *ty, nullable: true, collation };
        let layout = RowLayout::new(&types.iter().map(column).collect::<Vec<_>>());
        let values: Vec<Value> = types.iter().map(|ty| value(&mut rng, *ty)).collect();
        let mut row = Vec::new();
        if layout.encode(&values, &mut row).is_err() {
            // Too long, or in its code page.
            continue;
        }
        rows += 1;
        let wanted: Vec<u16> = (0..types.len() as u16).rev().collect();
        let (mut values, mut cells) = (vec![Value::Null; wanted.len()], Vec::new());
        layout.decode_some(&row, &wanted, &mut values).expect("the row is sound");
        layout.stored_cells(&row, &wanted, &mut cells).expect("the row is sound");
        for version in VERSIONS {
            let info = |at: &u16| TypeInfo::of(types[usize::from(*at)], true, collation, version);
            let infos: Vec<TypeInfo> = wanted.iter().map(info).collect();
            same(&infos, &values, &cells, version);
            // Columns that are never NULL have no marks.
            if values.iter().all(|value| !value.is_null()) {
                let info =
                    |at: &u16| TypeInfo::of(types[usize::from(*at)], false, collation, version);
                same(&wanted.iter().map(info).collect::<Vec<_>>(), &values, &cells, version);
            }
        }
    }
    assert!(rows > 1500, "{rows} rows");
}

/// Values that are too long for what is declared, of another kind, in a page that is not supported.
#[test]
fn what_does_not_fit_is_the_same_error() {
    let dos = WireCollation([0x09, 0x04, 0xD0, 0x00, 30]);
    let declared = [
        TypeInfo::VarChar(Size::Bytes(5), Collation::DEFAULT.into()),
        TypeInfo::NVarChar(Size::Bytes(6), Collation::DEFAULT.into()),
        TypeInfo::Char(2, Collation::DEFAULT.into()),
        TypeInfo::VarChar(Size::Bytes(100), dos),
        TypeInfo::VarChar(Size::Max, dos),
        TypeInfo::Text(dos),
        TypeInfo::VarBinary(Size::Bytes(3)),
        TypeInfo::Int(4),
        TypeInfo::Xml,
        TypeInfo::Image,
        TypeInfo::NText(Collation::DEFAULT.into()),
    ];
    let number = Value::Int(7);
    for ty in declared {
        for cell in [
            StoredCell::Value(number.clone()),
            StoredCell::Ascii(b"abcdef"),
            StoredCell::Ascii(b""),
            StoredCell::Wide(b"a\0b\0c\0d\0"),
            StoredCell::Bytes(b"abcdef"),
            StoredCell::Value(Value::str("caf\u{e9} au lait")),
            StoredCell::Value(Value::Null),
        ] {
            let cells = [StoredCell::Value(number.clone()), cell];
            let values: Vec<Value> = cells.iter().map(StoredCell::to_value).collect();
            same(&[TypeInfo::Int(4), ty], &values, &cells, TdsVersion::V7_4);
            same(&[TypeInfo::Int(4), ty], &values, &cells, TdsVersion::V7_1);
            // A row of another length.
            same(&[ty], &values, &cells, TdsVersion::V7_4);
        }
    }
    let precise = Value::Decimal(Decimal::new(12_345, 9, 2).expect("it fits"));
    let decimal = TypeInfo::Decimal { precision: 4, scale: 2, numeric: true };
    same(
        &[decimal],
        std::slice::from_ref(&precise),
        &[StoredCell::Value(precise.clone())],
        TdsVersion::V7_4,
    );
}

/// Rows are written until there are enough bytes; the rest comes with the next call.
#[test]
fn many_rows_are_written_piece_by_piece() {
    let types = [TypeInfo::Int(4), TypeInfo::VarChar(Size::Bytes(100), Collation::DEFAULT.into())];
    let mut columns = RowColumns::default();
    columns.set(types.into_iter());
    let value = |i: i32| match i % 3 {
        0 => Value::Null,
        _ => Value::str("x".repeat(i as usize)),
    };
    let values: Vec<Value> = (0..60).flat_map(|i| [Value::Int(i), value(i)]).collect();
    let cells: Vec<StoredCell<'_>> = values.iter().cloned().map(StoredCell::Value).collect();
    let mut expected = Vec::new();
    for row in values.chunks(2) {
        TokenWriter::new(&mut expected, TdsVersion::V7_4).row(&types, row).expect("the row fits");
    }
    for rows in [ResultRows::of_values(60, 2, &values), ResultRows::of_cells(60, 2, &cells)] {
        for most in [0, 1, 9, 100, 5000] {
            let (mut out, mut left, mut pieces) = (Vec::new(), rows, 0);
            while !left.is_empty() {
                let before = out.len();
                let mut tokens = TokenWriter::new(&mut out, TdsVersion::V7_4);
                let count = tokens.rows(&columns, &left, most).expect("the rows fit");
                assert!(count > 0);
                // No row begins behind what is enough.
                let last = left.first(count).skip(count - 1);
                let mut one = Vec::new();
                TokenWriter::new(&mut one, TdsVersion::V7_4)
                    .rows(&columns, &last, 0)
                    .expect("it fits");
                assert!(out.len() - before < most.max(1) + one.len());
                left = left.skip(count);
                pieces += 1;
            }
            assert!(out == expected, "{most}");
            let as_many = match most {
                0 | 1 => 60..61,
                5000 => 1..2,
                _ => 2..60,
            };
            assert!(as_many.contains(&pieces), "{pieces} of {most} bytes");
        }
    }
}

/// What is written before a row that does not fit stays.
#[test]
fn rows_before_one_that_does_not_fit_stay() {
    let types = [TypeInfo::VarChar(Size::Bytes(3), Collation::DEFAULT.into())];
    let mut columns = RowColumns::default();
    columns.set(types.into_iter());
    let values = ["a", "b", "long", "c"].map(Value::str);
    let (mut out, mut expected) = (Vec::new(), Vec::new());
    let rows = ResultRows::of_values(4, 1, &values);
    let written = TokenWriter::new(&mut out, TdsVersion::V7_4).rows(&columns, &rows, 1000);
    assert_eq!(written, Err(TdsError::ValueTooLong { len: 4, limit: 3 }));
    for row in values[..2].chunks(1) {
        TokenWriter::new(&mut expected, TdsVersion::V7_4).row(&types, row).expect("the row fits");
    }
    assert_eq!(out, expected);
    // Rows of another width, and rows of none.
    let mut tokens = TokenWriter::new(&mut out, TdsVersion::V7_4);
    assert!(tokens.rows(&columns, &ResultRows::of_values(2, 2, &values), 1000).is_err());
    assert!(tokens.rows(&columns, &ResultRows::of_values(2, 0, &[]), 1000).is_err());
    assert_eq!(tokens.rows(&columns, &rows.first(0), 1000), Ok(0));
    assert_eq!(out, expected);
}

/// Whether a row may be long is told by its columns.
#[test]
fn the_longest_row_is_that_of_its_columns() {
    let longest = |types: &[TypeInfo]| {
        let mut columns = RowColumns::default();
        columns.set(types.iter().copied());
        columns.longest_row()
    };
    let text = |size| TypeInfo::VarChar(size, Collation::DEFAULT.into());
    assert_eq!(longest(&[]), Some(0));
    assert_eq!(longest(&[text(Size::Bytes(8000)), text(Size::Bytes(30))]), Some(8030));
    for ty in [text(Size::Max), TypeInfo::Image, TypeInfo::Xml, TypeInfo::Variant] {
        assert_eq!(longest(&[TypeInfo::Int(4), ty]), None);
    }
}
