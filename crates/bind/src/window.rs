//! Window functions: ROW_NUMBER and other ranking functions, LAG and LEAD, aggregates OVER.
//! Binding; the operator is in the executor.

use crate::scope::Clause;
use crate::{Binder, null_constant, unsupported};
use expr::aggregate::{AggKind, Aggregate};
use expr::bind_ops;
use expr::{Expr, Typed};
use logical::order::SortKey;
use logical::window::{FrameEnd, WindowCall, WindowKind};
use syntax::ast;
use types::{DataType, SqlError, Value, msg};

/// Functions that exist only with OVER.
pub fn is_window_only(name: &str) -> bool {
    matches!(
        name,
        "row_number"
            | "rank"
            | "dense_rank"
            | "percent_rank"
            | "cume_dist"
            | "ntile"
            | "lag"
            | "lead"
            | "first_value"
            | "last_value"
    )
}

impl Binder<'_> {
    /// Binds a call with OVER; its value is a column that the window operator adds.
    pub fn window_call(
        &mut self,
        name: &str,
        call: &ast::FunctionCall,
        over: &ast::Over,
    ) -> Result<Typed, SqlError> {
        self.count_node()?;
        if self.clause() == Clause::Aggregate {
            return Err(SqlError::of(msg::WINDOW_FUNCTION_NESTED, []));
        }
        if !self.scope()?.allow_windows {
            return Err(SqlError::of(msg::WINDOW_FUNCTION_MISPLACED, []));
        }
        let over = self.named_window(over)?;
        let scope = self.scope()?;
        (scope.allow_windows, scope.windowed) = (false, true);
        let bound = self.window_parts(name, call, &over);
        let scope = self.scope()?;
        (scope.allow_windows, scope.windowed) = (true, false);
        let (call, typed) = bound?;
        self.scope()?.windows.push(call);
        Ok(typed)
    }

    fn named_window(&mut self, over: &ast::Over) -> Result<ast::Over, SqlError> {
        let Some(name) = &over.window else { return Ok(over.clone()) };
        let named = self
            .scope()?
            .named_windows
            .iter()
            .find(|w| w.name.value.eq_ignore_ascii_case(&name.value));
        let Some(named) = named else {
            return Err(SqlError::of(msg::WINDOW_UNDEFINED, [&name]));
        };
        let mut merged = named.over.clone();
        if !over.partition_by.is_empty() {
            merged.partition_by = over.partition_by.clone();
        }
        if !over.order_by.is_empty() {
            merged.order_by = over.order_by.clone();
        }
        if over.frame.is_some() {
            merged.frame = over.frame.clone();
        }
        Ok(merged)
    }

    fn window_parts(
        &mut self,
        name: &str,
        call: &ast::FunctionCall,
        over: &ast::Over,
    ) -> Result<(WindowCall, Typed), SqlError> {
        let mut partition = Vec::new();
        for e in &over.partition_by {
            let key = self.expr(e)?;
            key.ty.check_comparable()?;
            partition.push((key.expr, key.collation));
        }
        let mut order = Vec::new();
        for item in &over.order_by {
            if let ast::ExprKind::Literal(literal) = &item.expr.kind {
                return Err(constant_key(literal));
            }
            let key = self.expr(&item.expr)?;
            key.ty.check_comparable()?;
            let expr = self.without_subquery(key.expr);
            order.push(SortKey { expr, descending: item.descending, collation: key.collation });
        }
        if order.is_empty() && is_window_only(name) {
            return Err(SqlError::of(msg::OVER_WITHOUT_ORDER_BY, [&name]));
        }
        if matches!(name, "percentile_cont" | "percentile_disc")
            && (!order.is_empty() || over.frame.is_some())
        {
            return Err(SqlError::of(msg::ORDER_BY_IN_OVER_NOT_ALLOWED, [&name]));
        }
        if over.frame.is_some() && order.is_empty() {
            return Err(SqlError::of(msg::FRAME_WITHOUT_ORDER_BY, []));
        }
        if over.frame.is_some() {
            check_framed(name)?;
        }
        let (start, end) = frame(over, !order.is_empty())?;
        if let (FrameEnd::Rows(from), FrameEnd::Rows(to)) = (&start, &end)
            && *from > 0
            && *to <= 0
        {
            return Err(SqlError::of(msg::INVALID_WINDOW_FRAME, []));
        }
        let (kind, mut typed) = self.window_kind(name, call)?;
        let skips = matches!(
            kind,
            WindowKind::Lag { .. } | WindowKind::FirstValue(_) | WindowKind::LastValue(_)
        );
        if call.ignore_nulls && !skips {
            return Err(SqlError::of(msg::SYNTAX_NEAR, [&"IGNORE"]));
        }
        let ignore_nulls = call.ignore_nulls;
        let output = self.new_col();
        typed.expr = Expr::Col(output);
        Ok((WindowCall { kind, partition, order, start, end, ignore_nulls, output }, typed))
    }

    fn window_kind(
        &mut self,
        name: &str,
        call: &ast::FunctionCall,
    ) -> Result<(WindowKind, Typed), SqlError> {
        let plain = |kind, ty| Ok((kind, Typed::new(Expr::Const(Value::Null), ty, false)));
        let args =
            |b: &mut Self| call.args.iter().map(|e| b.expr(e)).collect::<Result<Vec<_>, _>>();
        match name {
            "row_number" => plain(WindowKind::RowNumber, DataType::BigInt),
            "rank" => plain(WindowKind::Rank, DataType::BigInt),
            "dense_rank" => plain(WindowKind::DenseRank, DataType::BigInt),
            "percent_rank" => plain(WindowKind::PercentRank, DataType::Float),
            "cume_dist" => plain(WindowKind::CumeDist, DataType::Float),
            "ntile" => {
                let Some(e) = call.args.first() else { return Err(too_few(name, 1)) };
                let groups = self.expr_as(e, DataType::BigInt)?;
                plain(WindowKind::Ntile(groups), DataType::BigInt)
            }
            "lag" | "lead" => {
                let mut list = args(self)?.into_iter();
                let Some(arg) = list.next() else { return Err(too_few(name, 1)) };
                let offset = match list.next() {
                    Some(offset) => bind_ops::implicit(offset, DataType::BigInt)?,
                    None => Expr::Const(Value::BigInt(1)),
                };
                let default = match list.next() {
                    Some(default) => bind_ops::implicit(default, arg.ty)?,
                    None => Expr::Const(Value::Null),
                };
                let typed = Typed { nullable: true, ..arg.clone() };
                Ok((
                    WindowKind::Lag { arg: arg.expr, offset, default, ahead: name == "lead" },
                    typed,
                ))
            }
            "first_value" | "last_value" => {
                let Some(arg) = args(self)?.into_iter().next() else {
                    return Err(too_few(name, 1));
                };
                let typed = Typed { nullable: true, ..arg.clone() };
                let first = name == "first_value";
                Ok((
                    if first {
                        WindowKind::FirstValue(arg.expr)
                    } else {
                        WindowKind::LastValue(arg.expr)
                    },
                    typed,
                ))
            }
            _ => {
                let Some(kind) = AggKind::from_name(name) else {
                    return Err(SqlError::of(msg::NOT_A_WINDOW_FUNCTION, [&name]));
                };
                if kind.is_percentile() && name.starts_with("approx_") {
                    return Err(SqlError::of(msg::NOT_A_WINDOW_FUNCTION, [&name]));
                }
                if call.distinct {
                    return Err(SqlError::of(msg::DISTINCT_WITH_OVER, []));
                }
                let aggregate = self.over_aggregate(kind, name, call)?;
                let typed = Typed::new(Expr::Const(Value::Null), aggregate.ty, true);
                let typed = typed.of_collation(aggregate.collation);
                Ok((WindowKind::Aggregate(aggregate), typed))
            }
        }
    }

    /// An aggregate whose argument may itself hold aggregates of the grouped block.
    fn over_aggregate(
        &mut self,
        kind: AggKind,
        name: &str,
        call: &ast::FunctionCall,
    ) -> Result<Aggregate, SqlError> {
        let grouped = self.scope()?.grouping.is_some();
        if !grouped {
            return self.aggregate_args(kind, name, call);
        }
        if call.star {
            return self.aggregate_args(kind, name, call);
        }
        if kind.is_percentile() {
            let mut aggregate = Aggregate {
                kind,
                ty: DataType::Float,
                collation: types::Collation::DEFAULT,
                arg: None,
                distinct: false,
                separator: None,
                order: Vec::new(),
                output: self.new_col(),
            };
            self.percentile_operands(&mut aggregate, name, call)?;
            return Ok(aggregate);
        }
        let [arg] = call.args.as_slice() else { return Err(unsupported("STRING_AGG with OVER")) };
        debug_assert!(self.clause() != Clause::Aggregate);
        null_constant::check_aggregated(kind, name, arg)?;
        let arg = self.expr(arg)?;
        Ok(Aggregate {
            kind,
            ty: kind.result_type(arg.ty, name)?,
            collation: arg.collation,
            arg: Some(arg.expr),
            distinct: false,
            separator: None,
            order: Vec::new(),
            output: self.new_col(),
        })
    }
}

/// 10752: a frame for a function that looks at all rows of its partition.
fn check_framed(name: &str) -> Result<(), SqlError> {
    let state = match name {
        "row_number" | "rank" | "dense_rank" | "ntile" | "percent_rank" | "cume_dist" => 3,
        "lag" | "lead" | "percentile_cont" | "percentile_disc" => 1,
        _ => return Ok(()),
    };
    Err(SqlError::of(msg::FRAME_NOT_ALLOWED, [&name]).state(state))
}

/// 5308, 5309: ORDER BY a constant in OVER.
fn constant_key(literal: &ast::Literal) -> SqlError {
    let message = match literal {
        ast::Literal::Integer(1..) => msg::ORDER_BY_INTEGER_INDEX,
        _ => msg::ORDER_BY_CONSTANTS,
    };
    SqlError::of(message, [])
}

fn too_few(name: &str, count: usize) -> SqlError {
    SqlError::of(msg::FUNCTION_ARGUMENT_COUNT, [&name, &count])
}

fn frame(over: &ast::Over, ordered: bool) -> Result<(FrameEnd, FrameEnd), SqlError> {
    use ast::FrameBound as B;
    let Some(frame) = &over.frame else {
        return Ok((
            FrameEnd::Unbounded,
            if ordered { FrameEnd::Peers } else { FrameEnd::Unbounded },
        ));
    };
    let rows = |e: &ast::Expr| match &e.kind {
        ast::ExprKind::Literal(ast::Literal::Integer(n)) if !frame.range => Ok(*n),
        _ => Err(SqlError::of(msg::RANGE_FRAME, [])),
    };
    let bound = |b: &B| {
        Ok(match b {
            B::UnboundedPreceding | B::UnboundedFollowing => FrameEnd::Unbounded,
            B::CurrentRow if frame.range => FrameEnd::Peers,
            B::CurrentRow => FrameEnd::Rows(0),
            B::Preceding(e) => FrameEnd::Rows(-rows(e)?),
            B::Following(e) => FrameEnd::Rows(rows(e)?),
        })
    };
    let current = if frame.range { FrameEnd::Peers } else { FrameEnd::Rows(0) };
    Ok((bound(&frame.start)?, frame.end.as_ref().map_or(Ok(current), bound)?))
}
