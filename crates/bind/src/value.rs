//! Values: a written expression becomes a typed one, with the conversions that its operators and
//! functions ask for. What has a topic of its own (columns, calls, subqueries, documents) is bound
//! in the file of that. Guarantees: the errors of types and constants are SQL Server's; what the
//! session's options change of a value (dates, NULL beside a string) is settled here.

use super::Binder;
use super::combine::case_of;
use super::deduce::ValueUse;
use super::{call, cast_type, null_constant, type_names};
use expr::{Expr, Label, Typed};
use syntax::ast::{self, CompareOp, ExprKind};
use types::convert::Mode;
use types::{Collation, DataType, SqlError, Value, msg};

impl Binder<'_> {
    /// Binds a value, which is computed with in the session's manner.
    pub fn expr(&mut self, e: &ast::Expr) -> Result<Typed, SqlError> {
        let mut typed = self.deeper_value(|b| b.value(e))?;
        if typed.label == Label::Default {
            typed.collation = self.collation();
        }
        Ok(Typed { manner: self.env.options.manner(), ..typed })
    }

    /// The collation of constants and variables: the database's.
    pub fn collation(&self) -> Collation {
        self.db.default_collation()
    }

    pub(super) fn value(&mut self, e: &ast::Expr) -> Result<Typed, SqlError> {
        self.deduce(e, ValueUse::Nothing)?;
        if let Some(key) = self.group_key(e)? {
            return Ok(key);
        }
        match &e.kind {
            ExprKind::Literal(literal) if self.trial => self.tried_literal(literal),
            ExprKind::Literal(literal) => {
                Ok(self.of_session(expr::bind_ops::literal(literal, self.collation())?))
            }
            ExprKind::OdbcLiteral { kind, text } => expr::bind_ops::odbc_literal(*kind, text),
            ExprKind::Default => Err(SqlError::of(msg::SYNTAX_NEAR_KEYWORD, [&"DEFAULT"])),
            ExprKind::Column(column) => self.column(column),
            ExprKind::Variable(name) => self.variable(name),
            ExprKind::GlobalVariable(name) => self.global(name),
            ExprKind::Unary { op, operand } => {
                let operand = self.expr(operand)?;
                expr::bind_ops::unary(*op, operand)
            }
            ExprKind::Binary { op, left, right } => {
                let (a, b) = (self.expr(left)?, self.expr(right)?);
                let (a_type, b_type) = (a.ty, b.ty);
                let a = beside_decimal(*op, a, left, b_type)?;
                let b = beside_decimal(*op, b, right, a_type)?;
                self.binary(*op, a, b)
            }
            ExprKind::Case { operand, branches, otherwise } => {
                self.case(operand.as_deref(), branches, otherwise.as_deref())
            }
            ExprKind::Cast { operand, target, or_null } => {
                let ty = cast_type(target)?;
                self.deduce(operand, ValueUse::Becomes(ty))?;
                let operand = self.expr(operand)?;
                expr::bind_ops::explicit(operand, ty, 0, *or_null)
            }
            ExprKind::Convert { target, operand, style, or_null } => {
                self.convert(target, operand, style.as_deref(), *or_null)
            }
            ExprKind::Parse { operand, target, culture, or_null } => {
                self.parse(operand, target, culture.as_deref(), *or_null)
            }
            ExprKind::Function(call) => self.call(call),
            ExprKind::Collate { operand, collation } => self.collate(operand, collation),
            ExprKind::Subquery(query) => self.scalar_subquery(query),
            ExprKind::NextValueFor { sequence, over } => self.next_value(sequence, over.as_deref()),
            ExprKind::Identity { .. } => Err(identity_outside()),
            ExprKind::AtTimeZone { operand, zone } => {
                let args = vec![self.expr(operand)?, self.expr(zone)?];
                call::apply(expr::functions::required("at_time_zone")?, args)
            }
            ExprKind::Method { target, method, args, prolog } => {
                self.method(target, method, args, prolog)
            }
            ExprKind::StaticMember { of_type, member, args } => {
                self.static_member(of_type, member, args.as_deref())
            }
            _ => Err(SqlError::internal("a condition stands where a value belongs")),
        }
    }

    /// A constant that is read as the session reads dates.
    pub fn of_session(&self, typed: Typed) -> Typed {
        let dialect = (!self.defining).then_some(self.env.options.dialect);
        Typed { dialect, ..typed }
    }

    /// Binds a value and converts it implicitly to a type.
    pub fn expr_as(&mut self, e: &ast::Expr, ty: DataType) -> Result<Expr, SqlError> {
        self.deduce(e, ValueUse::Becomes(ty))?;
        let typed = self.expr(e)?;
        expr::bind_ops::implicit(typed, ty)
    }

    /// `a op b` under the session's CONCAT_NULL_YIELDS_NULL: OFF, NULL added to a string is an
    /// empty one.
    pub fn binary(&self, op: ast::BinaryOp, left: Typed, right: Typed) -> Result<Typed, SqlError> {
        let strings = left.ty.is_string() || right.ty.is_string();
        let text = |e: &Typed| e.ty.is_string() || e.is_null_literal();
        if op != ast::BinaryOp::Add
            || self.env.options.concat_null_yields_null
            || !strings
            || !text(&left)
            || !text(&right)
        {
            return expr::bind_ops::binary(op, left, right);
        }
        let or_empty = |e: Typed| {
            let ty = if e.is_null_literal() { DataType::VarChar(types::Len::N(1)) } else { e.ty };
            let list = vec![e.expr, Expr::Const(Value::str(""))];
            Typed { expr: Expr::Coalesce(list), ty, nullable: false, ..e }
        };
        expr::bind_ops::binary(op, or_empty(left), or_empty(right))
    }

    pub(super) fn case(
        &mut self,
        operand: Option<&ast::Expr>,
        branches: &[ast::CaseBranch],
        otherwise: Option<&ast::Expr>,
    ) -> Result<Typed, SqlError> {
        null_constant::check_results(branches.iter().map(|branch| &branch.then).chain(otherwise))?;
        if let Some(operand) = operand {
            branches
                .iter()
                .try_for_each(|b| self.deduce_compared(CompareOp::Equal, operand, &b.when))?;
        }
        let operand = operand.map(|e| self.expr(e)).transpose()?;
        let mut bound = Vec::with_capacity(branches.len());
        for branch in branches {
            let when = match &operand {
                Some(operand) => {
                    let when = self.expr(&branch.when)?;
                    let operand = self.copied(operand)?;
                    self.compare(CompareOp::Equal, operand, when)?
                }
                None => self.pred(&branch.when)?,
            };
            bound.push((when, self.expr(&branch.then)?));
        }
        let otherwise = match otherwise {
            Some(e) => self.expr(e)?,
            None => Typed::new(Expr::Const(Value::Null), DataType::Int, true),
        };
        case_of(bound, otherwise)
    }

    pub(super) fn convert(
        &mut self,
        target: &ast::TypeName,
        operand: &ast::Expr,
        style: Option<&ast::Expr>,
        or_null: bool,
    ) -> Result<Typed, SqlError> {
        let ty = cast_type(target)?;
        self.deduce(operand, ValueUse::Becomes(ty))?;
        let operand = self.expr(operand)?;
        let style = match style {
            None => 0,
            Some(e) => {
                let e = self.expr_as(e, DataType::Int)?;
                match e {
                    Expr::Const(Value::Int(style)) => style,
                    Expr::Const(Value::Null) => return Ok(Typed { fixed: true, ..type_of(ty) }),
                    style => {
                        types::convert::check_conversion(operand.ty, ty, Mode::Explicit)?;
                        let style = Typed::new(style, DataType::Int, true);
                        let args = vec![operand, style, type_of(ty), flag(or_null)];
                        return call::apply(expr::functions::required("convert_styled")?, args);
                    }
                }
            }
        };
        expr::bind_ops::explicit(operand, ty, style, or_null)
    }

    pub(super) fn parse(
        &mut self,
        operand: &ast::Expr,
        target: &ast::TypeName,
        culture: Option<&ast::Expr>,
        or_null: bool,
    ) -> Result<Typed, SqlError> {
        let ty = cast_type(target)?;
        let operand = self.expr(operand)?;
        if !operand.ty.is_string() && !operand.is_null_literal() {
            return Err(expr::functions::invalid_argument(operand.ty, 1, "parse"));
        }
        let culture = match culture {
            Some(culture) => self.expr(culture)?,
            // The session's.
            None => {
                Typed::new(Expr::Const(Value::Null), DataType::NVarChar(types::Len::N(128)), true)
            }
        };
        let args = vec![operand, culture, type_of(ty), flag(or_null)];
        call::apply(expr::functions::required("parse_as")?, args)
    }

    fn collate(&mut self, operand: &ast::Expr, collation: &ast::Ident) -> Result<Typed, SqlError> {
        let typed = self.expr(operand)?;
        if !typed.ty.is_string() {
            return Err(SqlError::of(msg::COLLATE_INVALID_TYPE, [&typed.ty.message_name()]));
        }
        let known = type_names::collation(collation, self.collation(), 1)?;
        Ok(expr::bind_ops::collated(typed, known))
    }
}

/// NULL of a type, by which a function is told the type of its result.
pub(super) fn type_of(ty: DataType) -> Typed {
    Typed::new(Expr::Const(Value::Null), ty, true)
}

/// A truth as an argument.
pub(super) fn flag(on: bool) -> Typed {
    Typed::new(Expr::Const(Value::Int(i32::from(on))), DataType::Int, false)
}

/// 177.
pub(super) fn identity_outside() -> SqlError {
    SqlError::of(msg::IDENTITY_FUNCTION_WITHOUT_INTO, [])
}

/// In arithmetic an integer constant next to a decimal is a decimal of its own digits: `1.0 / 3` is
/// a decimal(2, 1) over a decimal(1, 0), not over the ten digits of an int.
fn beside_decimal(
    op: ast::BinaryOp,
    operand: Typed,
    written: &ast::Expr,
    other: DataType,
) -> Result<Typed, SqlError> {
    use ast::BinaryOp::{Add, Divide, Modulo, Multiply, Subtract};
    let constant = match &written.kind {
        ExprKind::Unary { op: ast::UnaryOp::Minus | ast::UnaryOp::Plus, operand } => &operand.kind,
        kind => kind,
    };
    let (DataType::Decimal { .. }, ExprKind::Literal(ast::Literal::Integer(n))) = (other, constant)
    else {
        return Ok(operand);
    };
    if operand.ty != DataType::Int || !matches!(op, Add | Subtract | Multiply | Divide | Modulo) {
        return Ok(operand);
    }
    let precision = n.checked_ilog10().unwrap_or(0) as u8 + 1;
    let ty = DataType::decimal(precision, 0);
    Ok(Typed::new(expr::bind_ops::implicit(operand, ty)?, ty, false))
}
