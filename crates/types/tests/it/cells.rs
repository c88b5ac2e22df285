//! Cells beside constants: what the bytes tell is what comparing the decoded value tells, in every
//! kind of collation, for texts in every form, and for bytes that are no rows.

use fastrand::Rng;
use ringwood_types::{
    CellConstant, CellOrder, Collation, ColumnType, DataType, Len, RowLayout, Value, ops,
};

use crate::common;

/// With bars between them.
const TEXTS: &str = "| |   |a|A|a |ab|aB  |a b|a  b|b|B|ß|ss|SS|i|I|ı|İ|é|É|e\u{301}|æ|ae|AE|co-op|coop|co'op\
    |-|\t|a\t|a\u{1}|\u{1}|0|10|9|_|€|a€|z|Z|Ł|д|Д|漢|a漢|🙂|a🙂|\u{10F83D}|ａ|ch|straße";

/// One of each order and code page, and some of all there are.
fn collations() -> Vec<Collation> {
    let names = [
        "SQL_Latin1_General_CP1_CI_AS",
        "SQL_Latin1_General_CP1_CS_AS",
        "Latin1_General_BIN",
        "Latin1_General_BIN2",
        "Latin1_General_CI_AS",
        "Latin1_General_CS_AS",
        "Latin1_General_CI_AI",
        "Latin1_General_100_CI_AS_SC_UTF8",
        "Latin1_General_100_BIN2_UTF8",
        "Turkish_CI_AS",
        "Czech_CI_AS",
        "Cyrillic_General_CI_AS",
        "Cyrillic_General_BIN2",
        "Japanese_BIN2",
        "Danish_Norwegian_CS_AS",
    ];
    let named = names.map(|name| Collation::from_name(name).expect(name));
    let all: Vec<Collation> = Collation::all().collect();
    let step = all.len() / 12 + 1;
    named.into_iter().chain(all.into_iter().step_by(step)).collect()
}

fn layout(types: &[DataType], collation: Collation) -> RowLayout {
    let column = |ty: &DataType| ColumnType { ty: *ty, nullable: true, collation };
    RowLayout::new(&types.iter().map(column).collect::<Vec<_>>())
}

/// Whether the bytes tell; what they tell is checked.
#[track_caller]
fn tells(
    layout: &RowLayout,
    row: &[u8],
    column: usize,
    constant: &Value,
    collation: Collation,
    ordered: bool,
) -> bool {
    let Some(made) = CellConstant::of(layout, column, constant, collation, ordered) else {
        return false;
    };
    let Ok(parts) = layout.parts(row) else { return false };
    let told = layout.compare_cell(&parts, &made);
    let Ok(value) = layout.decode_column(row, column) else {
        assert_eq!(told, CellOrder::Unknown, "no value beside {constant:?}");
        return false;
    };
    let order = ops::compare(&value, constant, collation);
    let what =
        || format!("{value:?} beside {constant:?} in {}, ordered: {ordered}", collation.name());
    match told {
        CellOrder::Null => assert!(value.is_null(), "{}", what()),
        CellOrder::Is(told) => assert_eq!(Some(told), order, "{}", what()),
        CellOrder::Differs => {
            assert!(!ordered && order.is_some_and(|order| order.is_ne()), "{}", what());
        }
        CellOrder::Unknown => return false,
    }
    true
}

#[test]
fn texts_are_what_their_values_are() {
    let types = [
        DataType::VarChar(Len::N(80)),
        DataType::NVarChar(Len::N(80)),
        DataType::Char(40),
        DataType::NChar(40),
    ];
    for collation in collations() {
        let layout = layout(&types, collation);
        let default = collation == Collation::DEFAULT;
        for text in TEXTS.split('|') {
            let mut row = Vec::new();
            layout.encode(&[(); 4].map(|()| Value::str(text)), &mut row).unwrap();
            for constant in TEXTS.split('|') {
                for (column, ordered) in (0..4).flat_map(|column| [(column, false), (column, true)])
                {
                    let told =
                        tells(&layout, &row, column, &Value::str(constant), collation, ordered);
                    // In the usual collation nothing is left but what has two units of UTF-16.
                    let wide = |text: &str| text.chars().any(|c| u32::from(c) > 0xFFFF);
                    let two = column % 2 == 1 && (wide(text) || wide(constant));
                    assert!(told || !default || two, "{text:?} beside {constant:?}");
                }
            }
        }
    }
}

#[test]
fn equality_of_ascii_is_told_in_every_plain_collation() {
    let types = [DataType::VarChar(Len::N(80)), DataType::NVarChar(Len::N(80))];
    for collation in collations().into_iter().filter(|c| c.is_plain_for_ascii()) {
        let layout = layout(&types, collation);
        // All characters, hyphens and controls among them, beside all.
        let text = |byte: u8| Value::str(format!("-x{}y ", char::from(byte)));
        for own in 0..=0x7F {
            let mut row = Vec::new();
            layout.encode(&[text(own), text(own)], &mut row).unwrap();
            for other in (0..=0x7F).map(text) {
                for column in 0..2 {
                    assert!(
                        tells(&layout, &row, column, &other, collation, false),
                        "{own}, {other:?}"
                    );
                }
            }
        }
    }
}

/// Values of all types, NULL among them, and rows of damaged bytes.
#[test]
fn cells_are_what_their_values_are() {
    let mut told = 0;
    for seed in 0..4000 {
        let mut rng = Rng::with_seed(seed);
        let types: Vec<DataType> =
            (0..rng.usize(1..8)).map(|_| common::any_type(&mut rng)).collect();
        let value = |rng: &mut Rng, ty: DataType| match rng.u8(0..5) {
            0 => Value::Null,
            _ => common::value_of(rng, ty),
        };
        let values: Vec<Value> = types.iter().map(|ty| value(&mut rng, *ty)).collect();
        let layout = layout(&types, Collation::DEFAULT);
        let mut row = Vec::new();
        layout.encode(&values, &mut row).unwrap();
        for damaged in [false, true] {
            if damaged {
                for _ in 0..rng.usize(1..4) {
                    let at = rng.usize(0..row.len());
                    row[at] = rng.u8(..);
                }
            }
            for (column, ty) in types.iter().enumerate() {
                for constant in [values[column].clone(), common::value_of(&mut rng, *ty)] {
                    let ordered = rng.bool();
                    let tells =
                        tells(&layout, &row, column, &constant, Collation::DEFAULT, ordered);
                    told += usize::from(tells && !damaged);
                }
            }
        }
    }
    assert!(told > 10_000, "{told}");
}

/// A column that a row is too old for is NULL, and a pointer tells nothing but that it is none.
#[test]
fn what_is_not_in_the_row_is_not_compared() {
    let types = [DataType::Int, DataType::VarChar(Len::N(80))];
    let (old, new) = (layout(&types[..1], Collation::DEFAULT), layout(&types, Collation::DEFAULT));
    let mut row = Vec::new();
    old.encode(&[Value::Int(1)], &mut row).unwrap();
    let constant = CellConstant::of(&new, 1, &Value::str("a"), Collation::DEFAULT, true).unwrap();
    let parts = new.parts(&row).unwrap();
    assert_eq!(new.compare_cell(&parts, &constant), CellOrder::Null);
    assert_eq!([0, 1, 2].map(|i| new.is_null_cell(&parts, i)), [Some(false), Some(true), None]);
    let mut row = Vec::new();
    let fields = [
        ringwood_types::EncodeValue::Value(&Value::Int(1)),
        ringwood_types::EncodeValue::LobPointer(b"somewhere else"),
    ];
    new.encode_fields(&fields, &mut row).unwrap();
    let parts = new.parts(&row).unwrap();
    assert_eq!(new.compare_cell(&parts, &constant), CellOrder::Unknown);
    assert_eq!(new.is_null_cell(&parts, 1), Some(false));
}
