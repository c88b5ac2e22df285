//! Calls: scalar functions of the table, forms with rules of their own (COALESCE, ISNULL, DATEADD,
//! ...), aggregates and window functions.

use super::Binder;
use super::combine::case_of;
use super::null_constant;
use super::scope::Clause;
use catalog::fold_name;
use expr::aggregate::{AggKind, Aggregate};
use expr::bind_ops::{self, folded};
use expr::functions::{self, ArgRule, Function};
use expr::{CallExpr, Expr, Label, Pred, Typed};
use syntax::ast::{self, CompareOp, ExprKind};
use types::datetime::DatePart;
use types::{Collation, DataType, Len, SqlError, Value, msg};

impl Binder<'_> {
    /// Binds a call.
    pub fn call(&mut self, call: &ast::FunctionCall) -> Result<Typed, SqlError> {
        let name = fold_name(&call.name.name.value);
        if call.name.schema.as_ref().is_some_and(|schema| !schema.is("sys")) {
            if let Some(typed) = self.column_method(call)? {
                return Ok(typed);
            }
            return self.user_function(call);
        }
        if let Some(over) = &call.over {
            return self.window_call(&name, call, over);
        }
        if let ("percentile_cont" | "percentile_disc", None) = (name.as_str(), &call.over) {
            return Err(SqlError::of(msg::OVER_MISSING, [&name]));
        }
        if let Some(kind) = AggKind::from_name(&name) {
            return match self.outer_aggregate(kind, &name, call)? {
                Some(outer) => Ok(outer),
                None => self.own_aggregate(kind, &name, call),
            };
        }
        if crate::window::is_window_only(&name) {
            return Err(SqlError::of(msg::OVER_MISSING, [&name]));
        }
        if let Some(typed) = self.special_form(&name, call)? {
            return Ok(typed);
        }
        let Some(function) = self.env.names.function(&name) else {
            return Err(SqlError::of(
                msg::NOT_RECOGNIZED,
                [&call.name.name.value, &"built-in function name"],
            )
            .state(10));
        };
        check_count(function, call.args.len())?;
        null_constant::check_arguments(function.name, &call.args)?;
        self.note_scope(&name);
        let args = call.args.iter().map(|e| self.expr(e)).collect::<Result<Vec<_>, _>>()?;
        apply(function, args)
    }

    /// `@@NAME`.
    pub fn global(&mut self, name: &str) -> Result<Typed, SqlError> {
        let folded = fold_name(name);
        match self.env.names.function(&folded) {
            Some(function) => {
                self.note_scope(&folded);
                apply(function, Vec::new())
            }
            None => Err(SqlError::of(msg::UNDECLARED_VARIABLE, [&name])),
        }
    }

    fn args(
        &mut self,
        call: &ast::FunctionCall,
        counts: std::ops::RangeInclusive<usize>,
    ) -> Result<Vec<Typed>, SqlError> {
        if !counts.contains(&call.args.len()) {
            return Err(wrong_count(&call.name.name.value, *counts.start()));
        }
        call.args.iter().map(|e| self.expr(e)).collect()
    }

    fn special_form(
        &mut self,
        name: &str,
        call: &ast::FunctionCall,
    ) -> Result<Option<Typed>, SqlError> {
        Ok(Some(match name {
            "coalesce" => {
                let args = self.args(call, 2..=1024)?;
                if args.iter().all(Typed::is_null_literal) {
                    return Err(SqlError::of(msg::COALESCE_OF_NULLS, []));
                }
                let all: Vec<_> = args.iter().collect();
                let (ty, label, collation) = bind_ops::unified(&all, "COALESCE")?;
                let nullable = args.iter().all(|a| a.nullable);
                let list = args
                    .into_iter()
                    .map(|a| bind_ops::implicit_in(a, ty, collation))
                    .collect::<Result<_, _>>()?;
                Typed { collation, label, ..Typed::new(Expr::Coalesce(list), ty, nullable) }
            }
            "isnull" => {
                let mut args = self.args(call, 2..=2)?;
                let (second, first) = (args.pop(), args.pop());
                let (Some(first), Some(second)) = (first, second) else { return Ok(None) };
                let bare = call.args.first().is_some_and(null_constant::is_null);
                if bare { second } else { isnull(first, second)? }
            }
            "nullif" => {
                let mut args = self.args(call, 2..=2)?;
                null_constant::check_nullif(call.args.first())?;
                let (second, first) = (args.pop(), args.pop());
                let (Some(first), Some(second)) = (first, second) else { return Ok(None) };
                let again = self.copied(&first)?;
                let same = self.compare(CompareOp::Equal, again, second)?;
                let null = Typed::new(Expr::Const(Value::Null), first.ty, true);
                case_of(vec![(same, null)], first)?
            }
            "iif" => {
                let [condition, then, otherwise] = call.args.as_slice() else {
                    return Err(wrong_count(&call.name.name.value, 3));
                };
                null_constant::check_results([then, otherwise].into_iter())?;
                let condition = self.pred(condition)?;
                let then = self.expr(then)?;
                let otherwise = self.expr(otherwise)?;
                case_of(vec![(condition, then)], otherwise)?
            }
            "choose" => self.choose(call)?,
            "dateadd" | "datediff" | "datediff_big" | "datepart" | "datename" | "datetrunc"
            | "date_bucket" => self.date_call(name, call)?,
            "rand" if call.args.is_empty() => {
                let number = Expr::Const(Value::Int(self.new_once()));
                apply(functions::required("rand")?, vec![Typed::new(number, DataType::Int, false)])?
            }
            "rand" => {
                let args = self.args(call, 1..=1)?;
                apply(functions::required("rand_seeded")?, args)?
            }
            "grouping" | "grouping_id" => self.grouping_call(name, call)?,
            "checksum" | "binary_checksum" if call.star => {
                let columns = self.all_columns()?;
                apply(functions::required(name)?, columns)?
            }
            "isjson" | "json_modify" | "json_object" | "json_array" => {
                self.json_call(name, call)?
            }
            _ => return Ok(None),
        }))
    }

    fn choose(&mut self, call: &ast::FunctionCall) -> Result<Typed, SqlError> {
        let args = self.args(call, 2..=255)?;
        let mut args = args.into_iter();
        let Some(index) = args.next() else { return Err(wrong_count("CHOOSE", 2)) };
        let index = bind_ops::implicit(index, DataType::Int)?;
        let index = Typed::new(index, DataType::Int, true);
        let mut branches = Vec::new();
        for (i, arg) in args.enumerate() {
            let number = Typed::new(Expr::Const(Value::Int(i as i32 + 1)), DataType::Int, false);
            let index = self.copied(&index)?;
            branches.push((bind_ops::compare(CompareOp::Equal, index, number)?, arg));
        }
        case_of(branches, Typed::new(Expr::Const(Value::Null), DataType::Int, true))
    }

    /// Functions whose first argument is the bare name of a date part.
    fn date_call(&mut self, name: &str, call: &ast::FunctionCall) -> Result<Typed, SqlError> {
        let function = functions::required(name)?;
        let expected = usize::from(function.min);
        if !(expected..=usize::from(function.max)).contains(&call.args.len()) {
            return Err(wrong_count(&call.name.name.value, expected));
        }
        let word = match &call.args[0].kind {
            ExprKind::Column(column) if column.qualifier.is_none() => column.name.value.clone(),
            ExprKind::Function(inner) if inner.args.is_empty() => inner.name.name.value.clone(),
            _ => {
                return Err(SqlError::of(msg::INVALID_FUNCTION_PARAMETER, [&1, &name]));
            }
        };
        functions::date::check_part(&word, name)?;
        let asks_offset = matches!(name, "datepart" | "datename")
            && DatePart::from_name(&word) == Some(DatePart::TzOffset);
        let mut args =
            vec![Typed::new(Expr::Const(Value::str(word)), DataType::VarChar(Len::N(30)), false)];
        for e in &call.args[1..] {
            let arg = self.expr(e)?;
            // A text loses its offset where it becomes a datetime2.
            args.push(if asks_offset && arg.ty.is_string() {
                let (ty, nullable) = (DataType::DateTimeOffset(7), arg.nullable);
                Typed::new(bind_ops::implicit(arg, ty)?, ty, nullable)
            } else {
                arg
            });
        }
        apply(function, args)
    }

    /// An aggregate of the innermost block.
    pub(super) fn own_aggregate(
        &mut self,
        kind: AggKind,
        name: &str,
        call: &ast::FunctionCall,
    ) -> Result<Typed, SqlError> {
        let aggregate = self.aggregate_args(kind, name, call)?;
        let clause = self.clause();
        match clause {
            Clause::Where if self.assigning => {
                return Err(SqlError::of(msg::AGGREGATE_IN_SET, []));
            }
            Clause::Definition => {
                return Err(SqlError::of(msg::AGGREGATE_IN_COMPUTED_OR_CHECK, []));
            }
            Clause::Where | Clause::On => {
                return Err(SqlError::of(msg::AGGREGATE_IN_WHERE, []));
            }
            Clause::Output => {
                return Err(SqlError::of(msg::AGGREGATE_IN_OUTPUT, []));
            }
            Clause::GroupBy => {
                return Err(SqlError::of(msg::AGGREGATE_IN_GROUP_BY, []));
            }
            Clause::Aggregate => return Err(nested_aggregate()),
            _ => {}
        }
        self.aggregated(aggregate)
    }

    /// The aggregate itself, its arguments bound over the block's sources.
    pub(crate) fn aggregate_args(
        &mut self,
        kind: AggKind,
        name: &str,
        call: &ast::FunctionCall,
    ) -> Result<Aggregate, SqlError> {
        let output = self.new_col();
        let distinct = call.distinct || name == "approx_count_distinct";
        let mut aggregate = Aggregate {
            kind,
            arg: None,
            distinct,
            ty: DataType::Int,
            collation: Collation::DEFAULT,
            separator: None,
            order: Vec::new(),
            output,
        };
        if call.star {
            if !matches!(kind, AggKind::Count | AggKind::CountBig) {
                return Err(SqlError::of(msg::SYNTAX_NEAR, [&"*"]));
            }
            aggregate.ty = kind.result_type(DataType::Int, name)?;
            return Ok(aggregate);
        }
        let expected = if kind == AggKind::StringAgg { 2 } else { 1 };
        if call.args.len() != expected {
            return Err(wrong_count(&call.name.name.value, expected));
        }
        let outer = self.clause();
        if outer == Clause::Aggregate {
            return Err(nested_aggregate());
        }
        self.scope()?.clause = if matches!(outer, Clause::Where | Clause::Definition) {
            outer
        } else {
            Clause::Aggregate
        };
        let bound = self.aggregate_operands(&mut aggregate, name, call);
        self.scope()?.clause = outer;
        bound.map(|()| aggregate)
    }

    fn aggregate_operands(
        &mut self,
        aggregate: &mut Aggregate,
        name: &str,
        call: &ast::FunctionCall,
    ) -> Result<(), SqlError> {
        if aggregate.kind.is_percentile() {
            return self.percentile_operands(aggregate, name, call);
        }
        null_constant::check_aggregated(aggregate.kind, name, &call.args[0])?;
        let arg = self.expr(&call.args[0])?;
        aggregate.ty = aggregate.kind.result_type(arg.ty, name)?;
        aggregate.collation = arg.collation;
        if aggregate.kind == AggKind::StringAgg {
            let separator = self.expr(&call.args[1])?;
            aggregate.separator = Some(bind_ops::as_string(separator)?);
            aggregate.arg = Some(if arg.ty.is_string() {
                arg.expr
            } else {
                bind_ops::explicit(arg, DataType::NVarChar(Len::N(4000)), 0, false)?.expr
            });
            for item in &call.within_group {
                let key = self.expr(&item.expr)?;
                aggregate.order.push((key.expr, item.descending));
            }
        } else {
            aggregate.arg = Some(arg.expr);
        }
        Ok(())
    }
}

impl Binder<'_> {
    /// `PERCENTILE_CONT(share) WITHIN GROUP (ORDER BY key)`. Errors: 10754 without the group, 10751
    /// with several keys.
    pub(super) fn percentile_operands(
        &mut self,
        aggregate: &mut Aggregate,
        name: &str,
        call: &ast::FunctionCall,
    ) -> Result<(), SqlError> {
        let shown = call.name.name.value.as_str();
        let [item] = call.within_group.as_slice() else {
            let message = match call.within_group.is_empty() {
                true => msg::WITHIN_GROUP_MISSING,
                false => msg::WITHIN_GROUP_ONE_EXPRESSION,
            };
            return Err(SqlError::of(message, [&shown]));
        };
        let [share] = call.args.as_slice() else { return Err(wrong_count(shown, 1)) };
        let key = self.expr(&item.expr)?;
        aggregate.ty = aggregate.kind.result_type(key.ty, name)?;
        aggregate.collation = key.collation;
        aggregate.separator = Some(self.expr_as(share, DataType::Float)?);
        aggregate.arg = Some(key.expr);
        aggregate.order = vec![(Expr::Const(Value::Null), item.descending)];
        Ok(())
    }
}

fn isnull(first: Typed, second: Typed) -> Result<Typed, SqlError> {
    // The result has the first argument's type: the second is cut to it.
    let ty = first.ty;
    let nullable = first.nullable && second.nullable;
    let (label, collation) = bind_ops::collation_of(&first, &second, "isnull")?;
    let second = bind_ops::implicit_in(second, ty, collation)?;
    let first_value = bind_ops::implicit_in(first.clone(), ty, collation)?;
    let expr = match first_value {
        Expr::Const(Value::Null) => second,
        Expr::Const(value) => Expr::Const(value),
        e => Expr::Coalesce(vec![e, second]),
    };
    Ok(Typed { expr, nullable, label, collation, ..first })
}

/// 130.
pub(super) fn nested_aggregate() -> SqlError {
    SqlError::of(msg::AGGREGATE_OF_AGGREGATE, [])
}

pub(super) fn wrong_count(name: &str, expected: usize) -> SqlError {
    SqlError::of(msg::FUNCTION_ARGUMENT_COUNT, [&name.to_lowercase(), &expected])
}

fn check_count(function: &Function, count: usize) -> Result<(), SqlError> {
    let (min, max) = (usize::from(function.min), usize::from(function.max));
    if (min..=max).contains(&count) {
        return Ok(());
    }
    if min == max {
        return Err(wrong_count(function.name, min));
    }
    Err(SqlError::of(msg::FUNCTION_ARGUMENT_RANGE, [&function.name, &min, &max]))
}

/// A call with bound arguments: converts each to what the function takes.
pub fn apply(function: &'static Function, args: Vec<Typed>) -> Result<Typed, SqlError> {
    let mut exprs = Vec::with_capacity(args.len());
    let mut types = Vec::with_capacity(args.len());
    let nothing = Typed::new(Expr::Const(Value::Null), DataType::Int, true);
    let first = args.first().map_or(Collation::DEFAULT, |arg| arg.collation);
    let (label, collation) =
        args.iter().try_fold((Label::Default, first), |(label, collation), arg| {
            if !arg.ty.is_string() {
                return Ok((label, collation));
            }
            let so_far =
                Typed { label, collation, ty: DataType::VarChar(Len::Max), ..nothing.clone() };
            bind_ops::collation_of(&Typed { expr: Expr::Col(0), ..so_far }, arg, function.name)
        })?;
    let mut nullable = function.nullable;
    let dialect = args.iter().find_map(|arg| arg.dialect);
    let manner = args.first().map(|arg| arg.manner).unwrap_or_default();
    for (i, mut arg) in args.into_iter().enumerate() {
        let rule = function.args.get(i).or(function.args.last()).copied().unwrap_or(ArgRule::Any);
        nullable |= arg.nullable && function.strict;
        let ty = rule.target(arg.ty, arg.is_null_literal(), function.name, i + 1)?;
        let expr = match ty {
            Some(ty) if arg.ty != ty => {
                let implicit = types::datatype::conversion(arg.ty, ty)
                    == types::datatype::Conversion::Implicit;
                arg = if implicit || arg.is_null_literal() {
                    let nullable = arg.nullable;
                    Typed::new(bind_ops::implicit(arg, ty)?, ty, nullable)
                } else if rule.is_explicit() {
                    bind_ops::explicit(arg, ty, 0, false)?
                } else {
                    return Err(functions::invalid_argument(arg.ty, i + 1, function.name));
                };
                arg.expr
            }
            _ => arg.expr,
        };
        types.push(ty.unwrap_or(arg.ty));
        exprs.push(expr);
    }
    let ty = functions::result_type(function, &types, &exprs, collation)?;
    let call = CallExpr { function, args: exprs, types, ty, collation, lenient: manner.lenient };
    let mut typed = Typed::new(Expr::Call(Box::new(call)), ty, nullable);
    (typed.label, typed.collation) = (label, collation);
    (typed.dialect, typed.manner) = (dialect, manner);
    Ok(folded(typed))
}

/// A bit expression as a condition, for callers that need one.
pub fn is_true(typed: Typed) -> Result<Pred, SqlError> {
    let one = Typed::new(Expr::Const(Value::Bit(true)), DataType::Bit, false);
    bind_ops::compare(CompareOp::Equal, typed, one)
}
