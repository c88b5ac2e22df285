//! Operators: result types, results and errors.

use ringwood_types::ops::{bit_not, evaluate, negate, negate_type, operand_types, result_type};
use ringwood_types::{
    BinaryOp as Op, CodePage, DataType as T, Decimal, Len, Mode, SqlError, Value, convert,
    format_value,
};

fn dec(precision: u8, scale: u8) -> T {
    T::decimal(precision, scale)
}

/// Converts and evaluates, as the engine does.
fn run(op: Op, left: (Value, T), right: (Value, T)) -> Result<(Value, T), SqlError> {
    let types = operand_types(op, left.1, right.1)?;
    let a = convert(&left.0, left.1, types.left, 0, Mode::Implicit)?;
    let b = convert(&right.0, right.1, types.right, 0, Mode::Implicit)?;
    evaluate(op, &a, &b, types.result, CodePage::Latin).map(|value| (value, types.result))
}

fn shown(op: Op, left: (Value, T), right: (Value, T)) -> String {
    let (value, ty) = run(op, left, right).unwrap();
    format!("{} {ty}", format_value(&value, ty))
}

fn int(n: i32) -> (Value, T) {
    (Value::Int(n), T::Int)
}

fn number(text: &str) -> (Value, T) {
    let d = Decimal::parse(text).unwrap();
    (Value::Decimal(d), d.data_type())
}

fn s(text: &str) -> (Value, T) {
    (Value::str(text), T::VarChar(Len::N(text.len() as u16)))
}

#[test]
fn results() {
    assert_eq!(shown(Op::Div, int(-7), int(2)), "-3 int");
    assert_eq!(shown(Op::Mod, int(-7), int(2)), "-1 int");
    assert_eq!(shown(Op::Mod, int(i32::MIN), int(-1)), "0 int");
    assert_eq!(shown(Op::Add, int(1), s("41")), "42 int");
    assert_eq!(shown(Op::Add, s("ab"), s("cd")), "abcd varchar(4)");
    assert_eq!(shown(Op::Div, number("2.0"), number("3")), ".666666 decimal(7,6)");
    assert_eq!(shown(Op::Mul, number("1.50"), int(2)), "3.00 decimal(14,2)");
    assert_eq!(shown(Op::BitXor, int(6), int(3)), "5 int");
    assert_eq!(
        shown(Op::Add, (Value::TinyInt(1), T::TinyInt), (Value::SmallInt(2), T::SmallInt)),
        "3 smallint"
    );
    let money = |m| (Value::Money(m), T::Money);
    assert_eq!(shown(Op::Div, money(20_000), money(30_000)), "0.6666 money");
    assert_eq!(shown(Op::Mul, money(15_000), money(15_000)), "2.2500 money");
    assert_eq!(shown(Op::Add, money(10_000), int(1)), "2.0000 money");
    let date =
        convert(&Value::str("2020-01-31"), T::VarChar(Len::N(10)), T::DateTime, 0, Mode::Implicit);
    let date = (date.unwrap(), T::DateTime);
    assert_eq!(shown(Op::Add, date.clone(), number("1.5")), "2020-02-01 12:00:00.000 datetime");
    assert_eq!(shown(Op::Sub, date.clone(), date), "1900-01-01 00:00:00.000 datetime");
    assert_eq!(run(Op::Add, int(1), (Value::Null, T::Int)).unwrap().0, Value::Null);
    assert_eq!(run(Op::Div, int(1), (Value::Null, T::Int)).unwrap().0, Value::Null);
    let n = (Value::str("é"), T::NVarChar(Len::N(1)));
    assert_eq!(run(Op::Add, s("a"), n).unwrap().1, T::NVarChar(Len::N(2)));
}

#[test]
fn types() {
    let v = |n| T::VarChar(Len::N(n));
    assert_eq!(result_type(Op::Add, v(8000), v(1)).unwrap(), v(8000));
    assert_eq!(result_type(Op::Add, T::VarChar(Len::Max), v(1)).unwrap(), T::VarChar(Len::Max));
    assert_eq!(result_type(Op::Add, T::Char(2), T::Char(3)).unwrap(), T::Char(5));
    assert_eq!(result_type(Op::Mul, T::Int, T::Float).unwrap(), T::Float);
    assert_eq!(result_type(Op::Div, dec(12, 2), T::Int).unwrap(), dec(23, 13));
    assert_eq!(result_type(Op::Add, T::Money, dec(5, 2)).unwrap(), dec(20, 4));
    let error = |op, l, r| result_type(op, l, r).unwrap_err();
    assert_eq!(
        error(Op::Sub, v(1), v(1)).message,
        "Operand data type varchar is invalid for subtract operator."
    );
    assert_eq!(error(Op::Add, T::Date, T::Int).number, 206);
    assert_eq!(error(Op::Add, T::Bit, T::Bit).number, 8117);
    assert_eq!(error(Op::Mod, T::Float, T::Int).number, 402);
    assert_eq!(error(Op::BitAnd, T::Int, T::Float).number, 8117);
    assert_eq!(error(Op::Add, T::UniqueIdentifier, T::Int).number, 8117);
    assert_eq!(error(Op::Add, T::Date, T::DateTime).number, 402);
    assert_eq!(error(Op::Add, v(1), T::Binary(1)).number, 402);
}

#[test]
fn errors() {
    let code = |op, l, r| run(op, l, r).unwrap_err().number;
    assert_eq!(code(Op::Div, int(1), int(0)), 8134);
    assert_eq!(code(Op::Mod, number("1.5"), number("0.0")), 8134);
    assert_eq!(code(Op::Div, (Value::Float(1.0), T::Float), (Value::Float(0.0), T::Float)), 8134);
    let overflow = run(Op::Add, int(i32::MAX), int(1)).unwrap_err();
    assert_eq!(overflow.number, 8115);
    assert_eq!(
        overflow.message,
        "Arithmetic overflow error converting expression to data type int."
    );
    assert_eq!(code(Op::Div, int(i32::MIN), int(-1)), 8115);
    let tiny = |n| (Value::TinyInt(n), T::TinyInt);
    assert_eq!(code(Op::Sub, tiny(1), tiny(2)), 8115);
    assert_eq!(
        code(Op::Mul, (Value::Float(1e300), T::Float), (Value::Float(1e300), T::Float)),
        8115
    );
    assert_eq!(code(Op::Add, int(1), s("x")), 245);
    assert_eq!(
        evaluate(Op::Add, &Value::Int(1), &Value::BigInt(1), T::BigInt, CodePage::Latin)
            .unwrap_err()
            .number,
        3624
    );
}

#[test]
fn unary() {
    assert_eq!(
        negate(&Value::TinyInt(5), negate_type(T::TinyInt).unwrap()).unwrap(),
        Value::SmallInt(-5)
    );
    assert_eq!(negate(&Value::Int(i32::MIN), T::Int).unwrap_err().number, 8115);
    assert_eq!(negate_type(T::VarChar(Len::N(1))).unwrap_err().number, 8117);
    assert_eq!(bit_not(&Value::Int(5), T::Int).unwrap(), Value::Int(-6));
    assert_eq!(bit_not(&Value::Float(1.0), T::Float).unwrap_err().number, 8117);
}
