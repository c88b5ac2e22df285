//! Types of undeclared parameters, by SQL Server's rules ("Parameter Selection Algorithm" of
//! sp_describe_undeclared_parameters): a parameter that is itself compared for equality, assigned,
//! inserted or passed takes the type of the other side; within a larger expression that of some
//! candidates is taken which needs the fewest implicit conversions. What is bound for a trial is
//! thrown away.

use super::Binder;
use super::undeclared::{DeducedParameter, Undeclared};
use expr::functions::ArgRule;
use expr::{CallExpr, Expr, Pred, Typed};
use std::sync::Arc;
use syntax::ast::{self, CompareOp, ExprKind};
use types::datatype::{Conversion, conversion};
use types::{DataType, Len, SqlError, msg};

/// What the value of an expression is for.
#[derive(Clone, Copy, Debug)]
pub enum ValueUse {
    /// It becomes a value of this type.
    Becomes(DataType),
    /// It is compared with a value of this type, by an operator that says which of the two is
    /// greater.
    Ordered(DataType),
    /// Nothing is known.
    Nothing,
}

/// The types that are tried. A uniqueidentifier is not among SQL Server's, which then takes
/// sql_variant for it.
const CANDIDATES: [DataType; 24] = [
    DataType::Bit,
    DataType::TinyInt,
    DataType::SmallInt,
    DataType::Int,
    DataType::BigInt,
    DataType::SmallMoney,
    DataType::Money,
    DataType::Float,
    DataType::Real,
    DataType::numeric(38, 19),
    DataType::VarChar(Len::N(8000)),
    DataType::VarChar(Len::Max),
    DataType::NVarChar(Len::N(4000)),
    DataType::NVarChar(Len::Max),
    DataType::VarBinary(Len::N(8000)),
    DataType::VarBinary(Len::Max),
    DataType::Date,
    DataType::Time(7),
    DataType::SmallDateTime,
    DataType::DateTime,
    DataType::DateTime2(7),
    DataType::DateTimeOffset(7),
    DataType::UniqueIdentifier,
    DataType::SqlVariant,
];

impl Binder<'_> {
    /// The types of parameters are being deduced.
    #[inline]
    pub fn undeclared(&self) -> Option<&Arc<Undeclared>> {
        self.env.vars.undeclared()
    }

    /// Deduces the type of the parameter within an expression, if there is one. An expression that
    /// is the parameter takes the type that is wanted, unless it is compared by order.
    ///
    /// # Errors
    /// 11503 two parameters, 11506 more than one type would do, 11507 none.
    pub fn deduce(&mut self, e: &ast::Expr, wanted: ValueUse) -> Result<(), SqlError> {
        let Some(undeclared) = self.undeclared().cloned() else { return Ok(()) };
        let mut open = Vec::new();
        self.open_in(e, &mut open);
        let slot = match open.as_slice() {
            [] => return Ok(()),
            [slot] => *slot,
            [first, second, ..] => return Err(two_untyped(&undeclared, *first, *second)),
        };
        if let (ExprKind::Variable(_), ValueUse::Becomes(ty)) = (&e.kind, wanted) {
            undeclared.found(slot, ty);
            return Ok(());
        }
        let ty = self.candidate(e, slot, wanted, &undeclared)?;
        undeclared.found(slot, ty);
        Ok(())
    }

    /// Deduces the type of a parameter on one side of a comparison from the other side.
    ///
    /// # Errors
    /// As [`Binder::deduce`]; those of binding the other side.
    pub(crate) fn deduce_compared(
        &mut self,
        op: CompareOp,
        left: &ast::Expr,
        right: &ast::Expr,
    ) -> Result<(), SqlError> {
        let Some(undeclared) = self.undeclared().cloned() else { return Ok(()) };
        let (mut in_left, mut in_right) = (Vec::new(), Vec::new());
        self.open_in(left, &mut in_left);
        self.open_in(right, &mut in_right);
        let (open, other) = match (in_left.first(), in_right.first()) {
            (None, None) => return Ok(()),
            (Some(first), Some(second)) => return Err(two_untyped(&undeclared, *first, *second)),
            (Some(_), None) => (left, right),
            (None, Some(_)) => (right, left),
        };
        let other = self.expr(other)?.ty;
        self.deduce(open, compared(op, other))
    }

    /// `x IN (a, b, ...)`.
    ///
    /// # Errors
    /// As [`Binder::deduce_compared`].
    pub(crate) fn deduce_in(
        &mut self,
        operand: &ast::Expr,
        list: &[ast::Expr],
    ) -> Result<(), SqlError> {
        if self.undeclared().is_none() {
            return Ok(());
        }
        let is_typed = |b: &Self, e: &ast::Expr| {
            let mut open = Vec::new();
            b.open_in(e, &mut open);
            open.is_empty()
        };
        // One that has a type gives it to the operand, the operand gives it to the others.
        if let Some(typed) = list.iter().find(|e| is_typed(self, e)) {
            self.deduce_compared(CompareOp::Equal, operand, typed)?;
        }
        list.iter().try_for_each(|e| self.deduce_compared(CompareOp::Equal, operand, e))
    }

    /// The pattern of LIKE is a text of the other side's kind, and the other way round.
    ///
    /// # Errors
    /// As [`Binder::deduce_compared`].
    pub(crate) fn deduce_like(
        &mut self,
        operand: &ast::Expr,
        pattern: &ast::Expr,
    ) -> Result<(), SqlError> {
        let Some(undeclared) = self.undeclared().cloned() else { return Ok(()) };
        let (mut in_operand, mut in_pattern) = (Vec::new(), Vec::new());
        self.open_in(operand, &mut in_operand);
        self.open_in(pattern, &mut in_pattern);
        let (open, other) = match (in_operand.first(), in_pattern.first()) {
            (None, None) => return Ok(()),
            (Some(first), Some(second)) => return Err(two_untyped(&undeclared, *first, *second)),
            (Some(_), None) => (operand, pattern),
            (None, Some(_)) => (pattern, operand),
        };
        let text = if self.expr(other)?.ty.is_unicode() {
            DataType::NVarChar(Len::N(4000))
        } else {
            DataType::VarChar(Len::N(8000))
        };
        self.deduce(open, ValueUse::Becomes(text))
    }

    /// `x IN (SELECT ...)`, `x op ANY (SELECT ...)`: the operand takes the type of the column.
    ///
    /// # Errors
    /// As [`Binder::deduce_compared`].
    pub(crate) fn deduce_quantified(
        &mut self,
        op: CompareOp,
        operand: &ast::Expr,
        query: &ast::Query,
    ) -> Result<(), SqlError> {
        let mut open = Vec::new();
        if self.undeclared().is_some() {
            self.open_in(operand, &mut open);
        }
        if open.is_empty() {
            return Ok(());
        }
        match self.subquery(query, false)?.1.as_slice() {
            [column] => self.deduce(operand, compared(op, column.ty)),
            _ => Ok(()),
        }
    }

    /// `@v = x`: a parameter on the left takes the type of the value.
    ///
    /// # Errors
    /// As [`Binder::deduce`]; those of binding the value.
    pub(crate) fn deduce_assigned(
        &mut self,
        variable: &str,
        op: ast::AssignOp,
        value: &ast::Expr,
    ) -> Result<(), SqlError> {
        let Some(undeclared) = self.undeclared().cloned() else { return Ok(()) };
        match self.env.vars.open(variable) {
            Some(slot) => {
                let ty = self.expr(value)?.ty;
                let input = op != ast::AssignOp::Set;
                undeclared.set(
                    slot,
                    DeducedParameter { ty, input, output: true, formal: None, table: None },
                );
                Ok(())
            }
            None => {
                let (_, ty) = self.env.vars.find(variable)?;
                self.deduce(value, ValueUse::Becomes(ty))
            }
        }
    }

    /// `INSERT ... SELECT @p`: a parameter that is in the select list by itself takes the type of
    /// its column.
    pub fn deduce_inserted(&self, query: &ast::Query, columns: &[DataType]) {
        let Some(undeclared) = self.undeclared() else { return };
        let mut bodies = vec![&query.body];
        while let Some(body) = bodies.pop() {
            let select = match body {
                ast::QueryBody::Select(select) => select,
                ast::QueryBody::Set { left, right, .. } => {
                    bodies.extend([&**left, &**right]);
                    continue;
                }
                ast::QueryBody::Ordered(query) => {
                    bodies.push(&query.body);
                    continue;
                }
            };
            for (item, ty) in select.items.iter().zip(columns) {
                match item {
                    // How many columns it is, is not known yet.
                    ast::SelectItem::Wildcard { .. } => break,
                    ast::SelectItem::Expr { expr, .. } => {
                        if let ExprKind::Variable(name) = &expr.kind
                            && let Some(slot) = self.env.vars.open(name)
                        {
                            undeclared.found(slot, *ty);
                        }
                    }
                    ast::SelectItem::Assign { .. } => {}
                }
            }
        }
    }

    /// A literal while types are tried: as a variable, so that its conversions are not done at once
    /// and are seen.
    pub(super) fn tried_literal(&self, literal: &ast::Literal) -> Result<Typed, SqlError> {
        let typed = expr::bind_ops::literal(literal, self.collation())?;
        Ok(Typed { expr: Expr::Var(usize::MAX), ..typed })
    }

    /// The parameters of unknown type that the type of an expression depends on. What stands in a
    /// comparison, a subquery or a CAST is deduced there.
    fn open_in(&self, e: &ast::Expr, out: &mut Vec<usize>) {
        match &e.kind {
            ExprKind::Variable(name) => out.extend(self.env.vars.open(name)),
            ExprKind::Unary { operand, .. } | ExprKind::Collate { operand, .. } => {
                self.open_in(operand, out)
            }
            ExprKind::Binary { left, right, .. } => {
                self.open_in(left, out);
                self.open_in(right, out);
            }
            ExprKind::Case { branches, otherwise, .. } => {
                branches.iter().for_each(|branch| self.open_in(&branch.then, out));
                if let Some(otherwise) = otherwise {
                    self.open_in(otherwise, out);
                }
            }
            ExprKind::Function(call) => call.args.iter().for_each(|arg| self.open_in(arg, out)),
            _ => {}
        }
    }

    /// The best of the candidates.
    fn candidate(
        &mut self,
        e: &ast::Expr,
        slot: usize,
        wanted: ValueUse,
        undeclared: &Undeclared,
    ) -> Result<DataType, SqlError> {
        let outer = std::mem::replace(&mut self.trial, true);
        let mut best: Vec<DataType> = Vec::new();
        let mut lowest = u32::MAX;
        let mut errors: Vec<SqlError> = Vec::new();
        for ty in CANDIDATES {
            undeclared.try_type(slot, Some(ty));
            match self.expr(e).and_then(|typed| conversions(&typed, wanted)) {
                Ok(cost) if cost < lowest => (best, lowest) = (vec![ty], cost),
                Ok(cost) if cost == lowest => best.push(ty),
                Ok(_) => {}
                Err(error) => errors.push(error),
            }
        }
        undeclared.try_type(slot, None);
        self.trial = outer;
        if best.is_empty() {
            // What is wrong whatever the type is no matter of the type.
            let same = |error: &SqlError| {
                errors.first().is_some_and(|first| first.message == error.message)
            };
            if errors.iter().all(same) {
                return Err(errors.swap_remove(0));
            }
            let name = undeclared.name(slot);
            return Err(SqlError::of(msg::PARAMETER_WITHOUT_TYPE, [&name]));
        }
        choose(undeclared.name(slot), &best)
    }
}

fn compared(op: CompareOp, ty: DataType) -> ValueUse {
    match op {
        CompareOp::Equal | CompareOp::NotEqual => ValueUse::Becomes(ty),
        _ => ValueUse::Ordered(ty),
    }
}

/// One of the types that need the fewest conversions: the shorter of two alike, else that of the
/// highest precedence, to which the others must convert. Error: 11506.
fn choose(name: &str, best: &[DataType]) -> Result<DataType, SqlError> {
    let longer = |ty: &DataType| match ty {
        DataType::VarChar(Len::Max) => best.contains(&DataType::VarChar(Len::N(8000))),
        DataType::NVarChar(Len::Max) => best.contains(&DataType::NVarChar(Len::N(4000))),
        DataType::VarBinary(Len::Max) => best.contains(&DataType::VarBinary(Len::N(8000))),
        _ => false,
    };
    let best: Vec<DataType> = best.iter().copied().filter(|ty| !longer(ty)).collect();
    let ambiguous =
        |one: &str, other: &str| SqlError::of(msg::PARAMETER_AMBIGUOUS, [&name, &one, &other]);
    let Some(first) = best.iter().copied().max_by_key(|ty| ty.precedence()) else {
        return Err(SqlError::internal("no candidate"));
    };
    // Where any type would do an xml would, which nothing converts to implicitly.
    if first == DataType::SqlVariant && best.len() > 1 {
        return Err(ambiguous("sql_variant", "xml"));
    }
    match best.iter().find(|ty| **ty != first && conversion(**ty, first) != Conversion::Implicit) {
        Some(other) => Err(ambiguous(&first.to_string(), &other.to_string())),
        None => Ok(first),
    }
}

/// A measure of the implicit conversions of an expression and of its value: it grows with their
/// number, those that SQL Server prefers count less. Error: that there is no such conversion.
fn conversions(typed: &Typed, wanted: ValueUse) -> Result<u32, SqlError> {
    let inside = of_expr(&typed.expr);
    let to = match wanted {
        ValueUse::Nothing => return Ok(inside),
        ValueUse::Becomes(to) | ValueUse::Ordered(to) => to,
    };
    if let ValueUse::Ordered(other) = wanted {
        expr::bind_ops::comparison_type(typed.ty, other, "less than")?;
    } else if typed.ty != to && conversion(typed.ty, to) != Conversion::Implicit {
        return Err(SqlError::type_clash(typed.ty, to));
    }
    Ok(inside.saturating_add(weight(typed.ty, to)))
}

/// Of one conversion: another length, a fixed length for a variable one, any other.
fn weight(from: DataType, to: DataType) -> u32 {
    let kind = |ty: DataType| match ty {
        DataType::Char(_) => "varchar",
        DataType::NChar(_) => "nvarchar",
        DataType::Binary(_) => "varbinary",
        other => other.base_name(),
    };
    if from == to {
        0
    } else if from.is_kind_of(to) {
        1
    } else if kind(from) == kind(to) {
        1 << 8
    } else {
        1 << 16
    }
}

fn of_expr(e: &Expr) -> u32 {
    let list = |list: &[Expr]| list.iter().map(of_expr).fold(0, u32::saturating_add);
    match e {
        Expr::Const(_) | Expr::Var(_) | Expr::Param(_) | Expr::Col(_) | Expr::Subquery(_) => 0,
        Expr::Convert(c) => weight(c.from, c.to).saturating_add(of_expr(&c.operand)),
        Expr::Binary(b) => of_expr(&b.left).saturating_add(of_expr(&b.right)),
        Expr::Negate(e, _) | Expr::BitNot(e, _) => of_expr(e),
        Expr::Deep(e) => stack::with_room(|| of_expr(e)),
        Expr::Case(c) => {
            let branches =
                c.branches.iter().map(|(when, then)| of_pred(when).saturating_add(of_expr(then)));
            branches.fold(of_expr(&c.otherwise), u32::saturating_add)
        }
        Expr::Coalesce(all) => list(all),
        Expr::Call(call) => of_call(call),
        Expr::Routine(call) => list(&call.args),
    }
}

fn of_pred(pred: &Pred) -> u32 {
    match pred {
        Pred::Compare(c) | Pred::Distinct(c, _) => {
            of_expr(&c.left).saturating_add(of_expr(&c.right))
        }
        Pred::And(all) | Pred::Or(all) => all.iter().map(of_pred).fold(0, u32::saturating_add),
        Pred::Not(inner) => of_pred(inner),
        Pred::IsNull(e, _) => of_expr(e),
        Pred::InList(list) => {
            list.list.iter().map(of_expr).fold(of_expr(&list.operand), u32::saturating_add)
        }
        Pred::Like(like) => of_expr(&like.operand).saturating_add(of_expr(&like.pattern)),
        Pred::Const(_) | Pred::Exists(_) | Pred::Quantified(_) => 0,
    }
}

/// Of the arguments of a function. A number that is computed with as bigint is an int for SQL
/// Server; texts of both kinds are one conversion.
fn of_call(call: &CallExpr) -> u32 {
    let argument = |(i, arg): (usize, &Expr)| {
        let rules = call.function.args;
        match (rules.get(i).or(rules.last()), arg) {
            (Some(ArgRule::BigInt), Expr::Convert(c)) => {
                weight(c.from, DataType::Int).saturating_add(of_expr(&c.operand))
            }
            (Some(ArgRule::BigInt), arg) => {
                weight(call.types[i], DataType::Int).saturating_add(of_expr(arg))
            }
            (_, arg) => of_expr(arg),
        }
    };
    let inside = call.args.iter().enumerate().map(argument).fold(0, u32::saturating_add);
    let texts = || call.types.iter().filter(|ty| ty.is_string());
    let mixed = texts().any(|ty| ty.is_unicode()) && texts().any(|ty| !ty.is_unicode());
    inside.saturating_add(if mixed { 1 << 16 } else { 0 })
}

fn two_untyped(undeclared: &Undeclared, first: usize, second: usize) -> SqlError {
    let (first, second) = (undeclared.name(first), undeclared.name(second));
    SqlError::of(msg::TWO_UNTYPED_PARAMETERS, [&first, &second])
}
