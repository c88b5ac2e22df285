//! Conditions on the bytes of rows: what is told is what the same condition says of the values.

use ringwood_expr as expr;

use expr::{
    CompareExpr, ConditionResult, Constant, ConvertExpr, ErrorRules, Expr, InListExpr, InPlace,
    Pred,
};
use syntax::ast::CompareOp;
use types::{Collation, ColumnType, DataType, Len, Mode, RowLayout, Value};

const OPERATORS: [CompareOp; 6] = [
    CompareOp::Equal,
    CompareOp::NotEqual,
    CompareOp::Less,
    CompareOp::LessEqual,
    CompareOp::Greater,
    CompareOp::GreaterEqual,
];

const TEXTS: [&str; 14] =
    ["", " ", "a", "A ", "ab", "b", "ß", "SS", "i", "İ", "é", "co-op", "coop", "漢 a"];

/// Slots 0 to 3 hold the columns 1, 2, 0 and 3 of the table.
const COLUMNS: [u16; 4] = [1, 2, 0, 3];

fn table(collation: Collation) -> RowLayout {
    let types = [
        DataType::Int,
        DataType::VarChar(Len::N(40)),
        DataType::NVarChar(Len::N(40)),
        DataType::VarBinary(Len::N(8)),
    ];
    RowLayout::new(&types.map(|ty| ColumnType { ty, nullable: true, collation }))
}

fn compare(slot: u32, op: CompareOp, constant: &Value, collation: Collation) -> Pred {
    let (left, right) = (Expr::Col(slot), Expr::Const(constant.clone()));
    Pred::Compare(Box::new(CompareExpr { op, left, right, collation }))
}

/// With its sides exchanged.
fn mirror(op: CompareOp, constant: &Value, slot: u32, collation: Collation) -> Pred {
    let (left, right) = (Expr::Const(constant.clone()), Expr::Col(slot));
    Pred::Compare(Box::new(CompareExpr { op, left, right, collation }))
}

fn list(slot: u32, constants: &[Value], negated: bool, collation: Collation) -> Pred {
    let constants = constants.iter().cloned().map(Expr::Const).collect();
    Pred::InList(Box::new(InListExpr::new(Expr::Col(slot), constants, negated, collation)))
}

fn is_null(slot: u32, negated: bool) -> Pred {
    Pred::IsNull(Box::new(Expr::Col(slot)), negated)
}

/// Whether the bytes tell of a row; what they tell is checked.
#[track_caller]
fn tells(layout: &RowLayout, row: &[u8], pred: &Pred) -> bool {
    let mut values = [const { Value::Null }; 4];
    layout.decode_some(row, &COLUMNS, &mut values).unwrap();
    let truth = pred.is_true(&values, &mut Constant::default()).unwrap();
    let Some(test) = InPlace::of(pred, layout, &COLUMNS, &mut Constant::default()) else {
        return false;
    };
    match test.tell(layout, row) {
        ConditionResult::True => assert!(truth, "{pred:?} of {values:?}"),
        ConditionResult::NotTrue => assert!(!truth, "{pred:?} of {values:?}"),
        ConditionResult::Nothing => return false,
    }
    true
}

fn rows(layout: &RowLayout) -> Vec<Vec<u8>> {
    let mut rows = Vec::new();
    let mut add = |number: Value, text: Value, bytes: Value| {
        let mut row = Vec::new();
        layout.encode(&[number, text.clone(), text, bytes], &mut row).unwrap();
        rows.push(row);
    };
    for (number, text) in TEXTS.iter().enumerate() {
        add(
            Value::Int(number as i32 - 5),
            Value::str(text),
            Value::bytes(vec![number as u8 / 2, 0]),
        );
    }
    add(Value::Null, Value::Null, Value::Null);
    add(Value::Null, Value::str("ab"), Value::bytes(vec![0u8; 0]));
    add(Value::Int(3), Value::Null, Value::bytes(vec![0u8, 0, 1]));
    rows
}

fn constants(slot: u32) -> Vec<Value> {
    let mut all: Vec<Value> = match slot {
        0 | 1 => TEXTS.map(Value::str).into(),
        2 => [-5, 0, 3, 100].map(Value::Int).into(),
        _ => [vec![0u8], vec![0, 0], vec![1], vec![3, 0, 0, 0]].map(Value::bytes).into(),
    };
    all.push(Value::Null);
    all
}

/// What is tested of a slot: each operator, each form.
fn conditions(slot: u32, collation: Collation) -> Vec<Pred> {
    let constants = constants(slot);
    let mut all = vec![is_null(slot, false), is_null(slot, true)];
    for (at, constant) in constants.iter().enumerate() {
        for op in OPERATORS {
            all.push(compare(slot, op, constant, collation));
            all.push(mirror(op, constant, slot, collation));
        }
        for negated in [false, true] {
            let (left, right) = (Expr::Col(slot), Expr::Const(constant.clone()));
            let pair = CompareExpr { op: CompareOp::Equal, left, right, collation };
            all.push(Pred::Distinct(Box::new(pair), negated));
            all.push(list(slot, &constants[at..constants.len().min(at + 3)], negated, collation));
        }
        let other = &constants[(at * 3 + 1) % constants.len()];
        let (from, to) = (CompareOp::GreaterEqual, CompareOp::LessEqual);
        let ends =
            || vec![compare(slot, from, constant, collation), compare(slot, to, other, collation)];
        all.extend([Pred::And(ends()), Pred::Or(ends())]);
        all.push(Pred::Or(vec![Pred::And(ends()), is_null(slot, false)]));
        all.push(Pred::And(vec![
            Pred::Or(ends()),
            compare(2, CompareOp::Greater, &Value::Int(-2), collation),
        ]));
    }
    all
}

#[test]
fn what_the_bytes_tell_is_what_the_values_say() {
    let names = [
        "SQL_Latin1_General_CP1_CI_AS",
        "SQL_Latin1_General_CP1_CS_AS",
        "Latin1_General_BIN2",
        "Latin1_General_CI_AI",
        "Latin1_General_CS_AS",
        "Turkish_CI_AS",
        "Cyrillic_General_CI_AS",
        "Latin1_General_100_CI_AS_SC_UTF8",
    ];
    let collations = names.map(|name| Collation::from_name(name).expect(name));
    for of_table in collations {
        let layout = table(of_table);
        let rows = rows(&layout);
        // Also in another collation than the column's, of the same code page.
        for collation in collations.into_iter().filter(|c| c.code_page() == of_table.code_page()) {
            let (mut told, mut all) = (0, 0);
            for slot in 0..4 {
                for pred in conditions(slot, collation) {
                    told += rows.iter().filter(|row| tells(&layout, row, &pred)).count();
                    all += rows.len();
                }
            }
            let usual = collation == Collation::DEFAULT;
            assert!(
                told == all || !usual && told * 3 > all,
                "{told} of {all} in {}",
                collation.name()
            );
        }
    }
}

/// Whole numbers that become wider ones for the comparison are compared as they are.
#[test]
fn whole_numbers_are_compared_whatever_their_size() {
    let types =
        [DataType::Bit, DataType::TinyInt, DataType::SmallInt, DataType::Int, DataType::BigInt];
    let collation = Collation::DEFAULT;
    let column = |ty| ColumnType { ty, nullable: true, collation };
    let layout = RowLayout::new(&types.map(column));
    let whole = |number: i64, ty: DataType| {
        let value = types::convert(&Value::BigInt(number), DataType::BigInt, ty, 0, Mode::Explicit);
        value.ok()
    };
    let numbers =
        [0, 1, 2, -1, 255, 256, 32_767, 40_000, i64::from(i32::MIN), 1 << 40, i64::MIN, i64::MAX];
    let mut told = 0;
    for number in numbers {
        let values = types.map(|ty| whole(number, ty).unwrap_or_default());
        let mut row = Vec::new();
        layout.encode(&values, &mut row).unwrap();
        for (slot, from) in types.iter().enumerate() {
            for to in &types[slot..] {
                let operand = Expr::Col(slot as u32);
                let (from, to, manner) = (*from, *to, ErrorRules::default());
                let (style, mode, or_null) = (0, Mode::Implicit, false);
                let wider =
                    ConvertExpr { operand, from, to, style, mode, or_null, manner, collation };
                let left = if from == to {
                    Expr::Col(slot as u32)
                } else {
                    Expr::Convert(Box::new(wider))
                };
                for constant in numbers.into_iter().filter_map(|number| whole(number, to)) {
                    let others = vec![Expr::Const(Value::Null), Expr::Const(constant.clone())];
                    let list = InListExpr::new(left.clone(), others, false, collation);
                    let mut preds = vec![Pred::InList(Box::new(list))];
                    for op in OPERATORS {
                        let (left, right) = (left.clone(), Expr::Const(constant.clone()));
                        preds.push(Pred::Compare(Box::new(CompareExpr {
                            op,
                            left,
                            right,
                            collation,
                        })));
                    }
                    for pred in preds {
                        let columns = [0, 1, 2, 3, 4];
                        let env = &mut Constant::default();
                        let test = InPlace::of(&pred, &layout, &columns, env)
                            .expect("a column and a constant");
                        let truth = pred.is_true(&values, env).unwrap();
                        let want =
                            if truth { ConditionResult::True } else { ConditionResult::NotTrue };
                        assert_eq!(test.tell(&layout, &row), want, "{pred:?} of {values:?}");
                        told += 1;
                    }
                }
            }
        }
    }
    assert!(told > 5_000, "{told}");
    // A narrower one may fail.
    let (operand, from, to, manner) =
        (Expr::Col(3), DataType::Int, DataType::Bit, ErrorRules::default());
    let (style, mode, or_null) = (0, Mode::Implicit, false);
    let narrower = ConvertExpr { operand, from, to, style, mode, or_null, manner, collation };
    let (left, right, op) =
        (Expr::Convert(Box::new(narrower)), Expr::Const(Value::Bit(true)), CompareOp::Equal);
    assert!(!InPlace::is_possible(&Pred::Compare(Box::new(CompareExpr {
        op,
        left,
        right,
        collation
    }))));
}

/// What comes behind a part that is tested on values is not asked first: it may hide an error.
#[test]
fn parts_are_tested_in_their_order() {
    let layout = table(Collation::DEFAULT);
    let mut row = Vec::new();
    let values = [Value::Int(1), Value::str("ab"), Value::Null, Value::Null];
    layout.encode(&values, &mut row).unwrap();
    let other = |op| {
        Pred::Compare(Box::new(CompareExpr {
            op,
            left: Expr::Col(0),
            right: Expr::Col(1),
            collation: Collation::DEFAULT,
        }))
    };
    let of = |list: Vec<Pred>| {
        let pred = Pred::And(list);
        let test = InPlace::of(&pred, &layout, &COLUMNS, &mut Constant::default());
        assert_eq!(InPlace::is_possible(&pred), test.is_some());
        test.map(|test| test.tell(&layout, &row))
    };
    let number = |n: i32| compare(2, CompareOp::Equal, &Value::Int(n), Collation::DEFAULT);
    let unknown = || compare(1, CompareOp::Equal, &Value::str("a"), Collation::DEFAULT);
    assert_eq!(of(vec![number(1), number(1)]), Some(ConditionResult::True));
    assert_eq!(of(vec![number(2), other(CompareOp::Equal)]), Some(ConditionResult::NotTrue));
    assert_eq!(of(vec![number(1), other(CompareOp::Equal)]), Some(ConditionResult::Nothing));
    assert_eq!(of(vec![other(CompareOp::Equal), number(2)]), None);
    // What follows is asked where this one is unknown, as AND does.
    assert_eq!(of(vec![unknown(), other(CompareOp::Equal)]), Some(ConditionResult::Nothing));
    assert_eq!(of(vec![unknown(), number(1)]), Some(ConditionResult::NotTrue));
    assert_eq!(
        of(vec![Pred::And(vec![number(1), other(CompareOp::Less)]), number(2)]),
        Some(ConditionResult::Nothing)
    );
}

/// Long lists, many parts, and long constants are not kept.
#[test]
fn what_is_kept_is_bounded() {
    let layout = table(Collation::DEFAULT);
    let made =
        |pred: &Pred| InPlace::of(pred, &layout, &COLUMNS, &mut Constant::default()).is_some();
    let numbers: Vec<Value> = (0..9).map(Value::Int).collect();
    assert!(made(&list(2, &numbers[..8], false, Collation::DEFAULT)));
    assert!(!made(&list(2, &numbers, false, Collation::DEFAULT)));
    let text = |bytes: usize| Value::str("x".repeat(bytes));
    assert!(made(&compare(0, CompareOp::Equal, &text(60_000), Collation::DEFAULT)));
    assert!(!made(&compare(0, CompareOp::Equal, &text(70_000), Collation::DEFAULT)));
    let any = |count| Pred::Or((0..count).map(|_| is_null(0, false)).collect());
    assert!(made(&any(32)) && !made(&any(33)));
}
