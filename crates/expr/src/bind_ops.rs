//! Types of operators, comparisons and literals; every conversion that an expression needs is
//! inserted here. Guarantees: both sides of a comparison have one comparable kind; operands of
//! arithmetic have the kind that the operation takes; a conversion of a constant that succeeds is
//! done at compile time.

use crate::order::compare_values;
use crate::{BinaryExpr, CompareExpr, Constant, ConvertExpr, Expr, Label, Pred, Typed};
use syntax::ast::{BinaryOp, CompareOp, Literal, OdbcKind, UnaryOp};
use types::convert::Mode;
use types::datatype::{Conversion, conversion};
use types::ops::{self, BinaryOp as ArithOp};
use types::{CodePage, Collation, DataType, Decimal, Dialect, Len, SqlError, Value, msg};

/// A constant as written, in a database of a collation.
pub fn literal(literal: &Literal, collation: Collation) -> Result<Typed, SqlError> {
    let constant = |value: Value, ty: DataType| Typed::new(Expr::Const(value), ty, false);
    Ok(match literal {
        Literal::Null => Typed::new(Expr::Const(Value::Null), DataType::Int, true),
        Literal::Integer(n) => match i32::try_from(*n) {
            Ok(n) => constant(Value::Int(n), DataType::Int),
            Err(_) => decimal_literal(&n.to_string())?,
        },
        Literal::Decimal(text) => decimal_literal(text)?,
        Literal::Float(text) => match text.parse::<f64>() {
            Ok(f) if f.is_finite() => constant(Value::Float(f), DataType::Float),
            _ => {
                return Err(SqlError::of(msg::FLOAT_LITERAL_RANGE, [&text]));
            }
        },
        Literal::Money(text) => money_literal(text)?,
        Literal::String { value, national } => {
            let page = collation.code_page();
            let units =
                if *national { types::codepage::utf16_len(value) } else { page.encoded_len(value) };
            let ty = match (national, u16::try_from(units)) {
                (true, Ok(n)) if n <= 4000 => DataType::NVarChar(Len::N(n.max(1))),
                (true, _) => DataType::NVarChar(Len::Max),
                (false, Ok(n)) if n <= 8000 => DataType::VarChar(Len::N(n.max(1))),
                (false, _) => DataType::VarChar(Len::Max),
            };
            // Without N the text passes through the code page: what it does not have becomes '?'.
            let value = if *national || value.is_ascii() {
                Value::Str(value.clone())
            } else {
                Value::Str(page.replaced(value).map_or_else(|| value.clone(), Into::into))
            };
            constant(value, ty)
        }
        Literal::Binary(bytes) => {
            let ty = match u16::try_from(bytes.len()) {
                Ok(n) if n <= 8000 => DataType::VarBinary(Len::N(n.max(1))),
                _ => DataType::VarBinary(Len::Max),
            };
            constant(Value::bytes(bytes.to_vec()), ty)
        }
    })
}

fn decimal_literal(text: &str) -> Result<Typed, SqlError> {
    let too_long = || SqlError::of(msg::NUMBER_TOO_LARGE, [&text]);
    let value = Decimal::parse(text).map_err(|_| too_long())?;
    let ty = DataType::numeric(value.precision(), value.scale());
    Ok(Typed::new(Expr::Const(Value::Decimal(value)), ty, false))
}

fn money_literal(text: &str) -> Result<Typed, SqlError> {
    let text = if text.is_empty() || text == "." { "0" } else { text };
    let out_of_range = || SqlError::of(msg::ARITHMETIC_OVERFLOW, [&"numeric", &"money"]).state(4);
    let value = Decimal::parse(text).map_err(|_| SqlError::money_syntax(DataType::Money))?;
    let value = value.rescale(19, 4).ok_or_else(out_of_range)?;
    let units = i64::try_from(value.mantissa()).map_err(|_| out_of_range())?;
    Ok(Typed::new(Expr::Const(Value::Money(units)), DataType::Money, false))
}

/// `{ts '...'}` and the like.
pub fn odbc_literal(kind: OdbcKind, text: &str) -> Result<Typed, SqlError> {
    let ty = match kind {
        OdbcKind::Date | OdbcKind::Timestamp => DataType::DateTime,
        OdbcKind::Time => DataType::DateTime,
        OdbcKind::Guid => DataType::UniqueIdentifier,
    };
    // A date is year, month, day whatever the session says, and has no names.
    let text = Typed {
        dialect: Some(Dialect::DEFAULT),
        ..Typed::new(Expr::Const(Value::str(text)), DataType::VarChar(Len::N(8000)), false)
    };
    explicit(text, ty, 120, false)
}

/// `-x`, `+x`, `~x`.
pub fn unary(op: UnaryOp, operand: Typed) -> Result<Typed, SqlError> {
    match op {
        UnaryOp::Plus => Ok(operand),
        UnaryOp::Minus => {
            let ty = ops::negate_type(operand.ty)?;
            if operand.manner.lenient && !operand.is_null_literal() {
                // The smallest number of a type has no opposite.
                let zero = Typed::new(Expr::Const(Value::Int(0)), DataType::Int, false);
                let zero = Typed {
                    expr: implicit(zero, ty)?,
                    ty,
                    ..Typed::new(Expr::Const(Value::Null), ty, false)
                };
                return binary(BinaryOp::Subtract, zero, operand);
            }
            let (nullable, inner) = (operand.nullable, implicit(operand, ty)?);
            Ok(folded(Typed::new(Expr::Negate(Box::new(inner), ty), ty, nullable)))
        }
        UnaryOp::BitNot => {
            if !operand.ty.is_integer() && operand.ty != DataType::Bit {
                return Err(SqlError::operand_invalid(operand.ty, "'~'"));
            }
            let (ty, nullable) = (operand.ty, operand.nullable);
            Ok(folded(Typed::new(Expr::BitNot(Box::new(operand.expr), ty), ty, nullable)))
        }
    }
}

fn arith_op(op: BinaryOp) -> ArithOp {
    match op {
        BinaryOp::Add | BinaryOp::Concat => ArithOp::Add,
        BinaryOp::Subtract => ArithOp::Sub,
        BinaryOp::Multiply => ArithOp::Mul,
        BinaryOp::Divide => ArithOp::Div,
        BinaryOp::Modulo => ArithOp::Mod,
        BinaryOp::BitAnd => ArithOp::BitAnd,
        BinaryOp::BitOr => ArithOp::BitOr,
        BinaryOp::BitXor => ArithOp::BitXor,
    }
}

/// An operator with two operands.
pub fn binary(op: BinaryOp, mut left: Typed, mut right: Typed) -> Result<Typed, SqlError> {
    // A bare NULL takes the other side's type.
    if left.is_null_literal() && !right.is_null_literal() {
        left.ty = right.ty;
    } else if right.is_null_literal() && !left.is_null_literal() {
        right.ty = left.ty;
    }
    if left.ty.is_opaque() || right.ty.is_opaque() {
        let name = arith_op(op).name();
        return Err(if left.ty == right.ty {
            SqlError::operand_invalid(left.ty, name)
        } else {
            SqlError::incompatible(left.ty, right.ty, name)
        });
    }
    let op = arith_op(op);
    let typing = ops::operand_types(op, left.ty, right.ty)?;
    let strings = typing.result.is_string();
    let (label, collation) =
        if strings { met(&left, &right, "add") } else { (left.label, left.collation) };
    let nullable = left.nullable || right.nullable || left.manner.lenient;
    let dialect = left.dialect.or(right.dialect);
    let manner = left.manner.with(right.manner);
    let left = implicit_in(left, typing.left, collation)?;
    let right = implicit_in(right, typing.right, collation)?;
    let (ty, page) = (typing.result, collation.code_page());
    let expr =
        Expr::Binary(Box::new(BinaryExpr { op, ty, left, right, lenient: manner.lenient, page }));
    let mut typed = Typed::new(expr, ty, nullable);
    (typed.label, typed.collation) = (label, collation);
    (typed.dialect, typed.manner) = (dialect, manner);
    Ok(folded(typed))
}

/// `a op b` as a condition.
pub fn compare(op: CompareOp, left: Typed, right: Typed) -> Result<Pred, SqlError> {
    let (left, right, collation) = comparable(left, right, operator_name(op))?;
    if let (Some(a), Some(b)) = (left.as_const(), right.as_const()) {
        return Ok(Pred::Const(compare_values(a, b, collation).map(|order| op.holds(order))));
    }
    Ok(Pred::Compare(Box::new(CompareExpr { op, left, right, collation })))
}

fn operator_name(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Equal => "equal to",
        CompareOp::NotEqual => "not equal to",
        CompareOp::Less => "less than",
        CompareOp::LessEqual => "less than or equal to",
        CompareOp::Greater => "greater than",
        CompareOp::GreaterEqual => "greater than or equal to",
    }
}

/// Both sides in one comparable kind, and the collation that compares them.
pub fn comparable(
    left: Typed,
    right: Typed,
    operator: &str,
) -> Result<(Expr, Expr, Collation), SqlError> {
    let (_, collation) = collation_of(&left, &right, operator)?;
    let ty = match (left.is_null_literal(), right.is_null_literal()) {
        (true, false) => right.ty,
        (false, true) => left.ty,
        _ => comparison_type(left.ty, right.ty, operator)?,
    };
    Ok((to_comparison(left, ty)?, to_comparison(right, ty)?, collation))
}

/// The type in which two types are compared.
pub fn comparison_type(
    left: DataType,
    right: DataType,
    operator: &str,
) -> Result<DataType, SqlError> {
    if left == right && left == DataType::Xml {
        left.check_comparable()?;
    }
    if left.is_opaque() || right.is_opaque() {
        return Err(SqlError::incompatible(left, right, operator));
    }
    let ty = types::common_type(left, right)?;
    if ty.is_lob() && ty.is_binary() && left != right && (left.is_number() || right.is_number()) {
        return Err(SqlError::incompatible(left, right, operator));
    }
    Ok(ty)
}

/// Converts for a comparison: strings and binaries are compared as they are, whatever their
/// lengths.
pub fn to_comparison(operand: Typed, ty: DataType) -> Result<Expr, SqlError> {
    match conversion_for_comparison(operand.ty, ty)? {
        None => Ok(operand.expr),
        Some((_, to)) if operand.is_null_literal() => implicit(operand, to),
        Some((_, to)) => implicit(operand, to),
    }
}

/// What a value of one type needs to be compared in another; `None` when nothing.
pub fn conversion_for_comparison(
    from: DataType,
    to: DataType,
) -> Result<Option<(DataType, DataType)>, SqlError> {
    let same_kind = from == to
        || (from.is_string() && to.is_string())
        || (from.is_binary() && to.is_binary())
        || from.is_kind_of(to);
    if same_kind {
        return Ok(None);
    }
    if conversion(from, to) != Conversion::Implicit {
        return Err(SqlError::type_clash(from, to));
    }
    Ok(Some((from, to)))
}

/// The collation that two operands meet in. What is no string has no say.
pub fn met(left: &Typed, right: &Typed, operator: &'static str) -> (Label, Collation) {
    match (
        left.ty.is_string() && !left.is_null_literal(),
        right.ty.is_string() && !right.is_null_literal(),
    ) {
        (_, false) => return (left.label, left.collation),
        (false, true) => return (right.label, right.collation),
        (true, true) => {}
    }
    match (left.label, right.label) {
        (Label::Explicit, Label::Explicit) if left.collation != right.collation => {
            (Label::Conflict(left.collation, right.collation, operator), left.collation)
        }
        (Label::Explicit, _) => (Label::Explicit, left.collation),
        (_, Label::Explicit) => (Label::Explicit, right.collation),
        (Label::Conflict(..), _) | (_, Label::Default) => (left.label, left.collation),
        (_, Label::Conflict(..)) | (Label::Default, _) => (right.label, right.collation),
        (Label::Implicit, Label::Implicit) if left.collation != right.collation => {
            (Label::Conflict(left.collation, right.collation, operator), left.collation)
        }
        (Label::Implicit, Label::Implicit) => (Label::Implicit, left.collation),
    }
}

/// The collation of an operation on two strings, and how strong it is. Error: 468 on a conflict.
pub fn collation_of(
    left: &Typed,
    right: &Typed,
    operator: &str,
) -> Result<(Label, Collation), SqlError> {
    match met(left, right, "") {
        (Label::Conflict(a, b, ""), _) => Err(conflict(a, b, operator)),
        (Label::Conflict(a, b, within), _) => Err(conflict(a, b, within)),
        met => Ok(met),
    }
}

fn conflict(left: Collation, right: Collation, operator: &str) -> SqlError {
    let (left, right) = (left.name(), right.name());
    SqlError::of(msg::COLLATION_CONFLICT, [&left, &right, &operator])
}

/// The type and collation that the branches of an operator meet in; bare NULLs do not count.
pub fn unified(
    list: &[&Typed],
    operator: &'static str,
) -> Result<(DataType, Label, Collation), SqlError> {
    let mut meet: Option<Typed> = None;
    for typed in list.iter().filter(|t| !t.is_null_literal()) {
        meet = Some(match meet {
            None => Typed { expr: Expr::Col(0), ..Typed::clone(typed) },
            Some(so_far) => {
                let (label, collation) = met(&so_far, typed, operator);
                let ty = types::common_type(so_far.ty, typed.ty)?;
                Typed { ty, label, collation, ..so_far }
            }
        });
    }
    let first = list.first().map_or(Collation::DEFAULT, |typed| typed.collation);
    Ok(meet.map_or((DataType::Int, Label::Default, first), |t| (t.ty, t.label, t.collation)))
}

/// As [`unified`], where there must be one collation. Error: 468.
pub fn unified_in_one(
    list: &[&Typed],
    operator: &'static str,
) -> Result<(DataType, Label, Collation), SqlError> {
    match unified(list, operator)? {
        (_, Label::Conflict(a, b, within), _) => Err(conflict(a, b, within)),
        met => Ok(met),
    }
}

/// 451: a column of a result whose collation is not known.
pub fn check_result_column(typed: &Typed, column: usize) -> Result<(), SqlError> {
    let Label::Conflict(left, right, operator) = typed.label else { return Ok(()) };
    let (left, right) = (left.name(), right.name());
    Err(SqlError::of(
        msg::COLLATION_CONFLICT_IN_COLUMN,
        [&left, &right, &operator, &"SELECT", &column],
    ))
}

/// An implicit conversion to a type and, of char and varchar, to the code page of a collation.
pub fn implicit_in(operand: Typed, to: DataType, collation: Collation) -> Result<Expr, SqlError> {
    let other = operand.is_narrow() && !operand.is_null_literal();
    if !other
        || to.is_unicode()
        || !to.is_string()
        || operand.collation.code_page() == collation.code_page()
    {
        return implicit(operand, to);
    }
    Ok(converted(Typed { collation, ..operand }, to, 0, Mode::Implicit, false).expr)
}

/// The operand in another collation: its char and varchar in that one's code page, as long as they
/// may become there.
pub fn collated(operand: Typed, collation: Collation) -> Typed {
    let mut typed =
        match operand.is_narrow() && operand.collation.code_page() != collation.code_page() {
            true => {
                let longer = |n: u16| n.saturating_mul(3).min(8000);
                let ty = match (operand.ty, collation.code_page() == CodePage::Utf8) {
                    (DataType::Char(n), true) => DataType::VarChar(Len::N(longer(n))),
                    (DataType::VarChar(Len::N(n)), true) => DataType::VarChar(Len::N(longer(n))),
                    (ty, _) => ty,
                };
                converted(Typed { collation, ..operand }, ty, 0, Mode::Explicit, false)
            }
            false => operand,
        };
    (typed.collation, typed.label) = (collation, Label::Explicit);
    typed
}

/// An implicit conversion. Errors: 206, 257 when SQL Server has none.
pub fn implicit(operand: Typed, to: DataType) -> Result<Expr, SqlError> {
    if operand.is_null_literal() || operand.ty == to {
        return Ok(operand.expr);
    }
    match conversion(operand.ty, to) {
        Conversion::Implicit => Ok(converted(operand, to, 0, Mode::Implicit, false).expr),
        Conversion::ExplicitOnly => Err(SqlError::implicit_not_allowed(operand.ty, to)),
        Conversion::None => Err(SqlError::type_clash(operand.ty, to)),
    }
}

/// A conversion to the type of a column or variable that takes the value: too long a string is an
/// error for a column and is cut for a variable, which is the difference between `Assignment` and
/// `Implicit`. Error: 457, a text of unknown collation for another code page.
pub fn assigned(
    operand: Typed,
    to: DataType,
    mode: Mode,
    collation: Collation,
) -> Result<Expr, SqlError> {
    let narrow = to.is_string() && !to.is_unicode();
    if let (Label::Conflict(left, right, operator), true, true) =
        (operand.label, narrow, operand.is_narrow())
    {
        let (from, to) = (operand.ty.base_name(), to.base_name());
        let (left, right) = (left.name(), right.name());
        return Err(SqlError::of(
            msg::COLLATION_UNRESOLVED,
            [&from, &to, &left, &right, &operator],
        ));
    }
    let same_page = !narrow || operand.collation.code_page() == collation.code_page();
    if operand.is_null_literal() || (operand.ty == to && same_page) {
        return Ok(operand.expr);
    }
    match conversion(operand.ty, to) {
        Conversion::Implicit => {
            let operand = if narrow { Typed { collation, ..operand } } else { operand };
            Ok(converted(operand, to, 0, mode, false).expr)
        }
        Conversion::ExplicitOnly => Err(SqlError::implicit_not_allowed(operand.ty, to)),
        Conversion::None => Err(SqlError::type_clash(operand.ty, to)),
    }
}

/// CAST, CONVERT, TRY_CAST, TRY_CONVERT. Error: 529 when SQL Server has no such conversion.
pub fn explicit(
    operand: Typed,
    to: DataType,
    style: i32,
    or_null: bool,
) -> Result<Typed, SqlError> {
    if operand.is_null_literal() {
        return Ok(Typed { ty: to, nullable: true, fixed: true, ..operand });
    }
    if conversion(operand.ty, to) == Conversion::None {
        return Err(SqlError::explicit_not_allowed(operand.ty, to));
    }
    Ok(converted(operand, to, style, Mode::Explicit, or_null))
}

fn converted(operand: Typed, to: DataType, style: i32, mode: Mode, or_null: bool) -> Typed {
    let nullable = operand.nullable || or_null;
    let (collation, label) = (operand.collation, operand.label);
    let (dialect, manner) = (operand.dialect, operand.manner);
    let mode = if manner.cuts && mode == Mode::Assignment { Mode::Implicit } else { mode };
    let convert = ConvertExpr {
        operand: operand.expr,
        from: operand.ty,
        to,
        style,
        mode,
        or_null,
        manner,
        collation,
    };
    let expr = Expr::Convert(Box::new(convert));
    let nullable = nullable || manner.lenient;
    folded(Typed { expr, ty: to, nullable, fixed: false, collation, label, dialect, manner })
}

/// Any type as a string, for LIKE and string functions.
pub fn as_string(operand: Typed) -> Result<Expr, SqlError> {
    if operand.ty.is_string() || operand.is_null_literal() {
        return Ok(operand.expr);
    }
    let to = DataType::VarChar(Len::N(8000));
    if operand.ty.is_opaque() {
        return Err(crate::functions::invalid_argument(operand.ty, 1, "like"));
    }
    if operand.ty.is_binary() {
        return Ok(explicit(operand, to, 0, false)?.expr);
    }
    implicit(operand, to)
}

/// Computes an expression whose operands are constants, when that succeeds; an error waits for its
/// row.
pub fn folded(mut typed: Typed) -> Typed {
    let foldable = match &typed.expr {
        Expr::Convert(c) => c.operand.as_const().is_some(),
        Expr::Binary(b) => b.left.as_const().is_some() && b.right.as_const().is_some(),
        Expr::Negate(e, _) | Expr::BitNot(e, _) => e.as_const().is_some(),
        Expr::Call(c) => {
            c.function.stability == crate::functions::Stability::Pure
                && c.args.iter().all(|a| a.as_const().is_some())
        }
        _ => false,
    };
    if foldable && let Ok(value) = typed.expr.eval(&[], &mut Constant { dialect: typed.dialect }) {
        typed.nullable = value.is_null();
        typed.fixed = value.is_null();
        typed.expr = Expr::Const(value);
    }
    typed
}
