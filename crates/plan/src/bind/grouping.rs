//! GROUP BY with its grouping sets: ROLLUP, CUBE, GROUPING SETS and their products become one list of sets; GROUPING and
//! GROUPING_ID ask which set a row is of.
//!
//! With several sets each input row meets each set (a join with the list of their numbers and of what keys they have); a key that is not of a set is NULL
//! in its rows, and the number is one more key. So one aggregation over one read of the input serves all sets, and equal sets stay
//! apart. The sets without keys have a row also where there is no input ([`Logical::Aggregate`]'s totals).

use super::Binder;
use super::combine::{case_of, conjunction};
use crate::bind::scope::{Clause, GroupKey, Grouping, GroupingSets};
use crate::logical::{GroupCol, JoinKind, Logical};
use expr::aggregate::Aggregate;
use expr::bind_ops;
use expr::{CaseExpr, Expr, Pred, Typed};
use stack::Nested;
use syntax::ast::{self, CompareOp, GroupItem};
use types::{Collation, DataType, SqlError, Value};

/// Most grouping sets of a query.
const MAX_SETS: usize = 4096;
/// Most keys where there is more than one set.
const MAX_KEYS: usize = 32;

/// Keys of one set, as they are written.
type Set<'a> = Vec<&'a ast::Expr>;

impl Binder<'_> {
    /// Binds GROUP BY's keys and sets.
    pub fn grouping(&mut self, select: &ast::Select) -> Result<Grouping, SqlError> {
        let mut grouping = Grouping::default();
        let Some(group) = &select.group_by else { return Ok(grouping) };
        if group.all && (group.with_rollup || group.with_cube) {
            let text = "The CUBE and ROLLUP options are not allowed in a GROUP BY ALL clause.";
            return Err(SqlError::new(1028, 15, 1, text));
        }
        let sets = sets_of(group)?;
        let mut masks = Vec::with_capacity(sets.len());
        for set in &sets {
            let mut mask = 0u64;
            for e in set {
                let key = self.key_of(&mut grouping, e)?;
                if sets.len() > 1 && key >= MAX_KEYS {
                    let text = format!(
                        "Too many expressions are specified in the GROUP BY clause. The maximum number is {MAX_KEYS} when \
                         grouping sets are supplied."
                    );
                    return Err(SqlError::new(10706, 15, 1, text));
                }
                mask |= 1u64.checked_shl(key as u32).unwrap_or(0);
            }
            masks.push(mask);
        }
        if masks.len() > 1 {
            let number = self.new_col();
            let flags = self.new_cols(grouping.keys.len());
            grouping.sets = Some(GroupingSets { masks, number, flags, output: self.new_col() });
        }
        Ok(grouping)
    }

    /// The number of a key, which is bound when it is met first.
    fn key_of(&mut self, grouping: &mut Grouping, e: &ast::Expr) -> Result<usize, SqlError> {
        self.check_cancel()?;
        let known = grouping.keys.iter().position(|key| bind_ops::same_syntax(&key.ast, e));
        if let Some(known) = known {
            return Ok(known);
        }
        let source = self.expr(e)?;
        source.ty.check_comparable()?;
        if source.expr.is_row_free() && !matches!(source.expr, Expr::Param(_)) {
            let text = "Each GROUP BY expression must contain at least one column that is not an outer \
                        reference.";
            return Err(SqlError::new(164, 15, 1, text));
        }
        // `a` and `t.a` are one key.
        if let Expr::Col(id) = source.expr {
            let same =
                grouping.keys.iter().position(|key| matches!(key.source.expr, Expr::Col(k) if k == id));
            if let Some(same) = same {
                return Ok(same);
            }
        }
        grouping.keys.push(GroupKey { ast: e.clone(), source, output: self.new_col() });
        Ok(grouping.keys.len() - 1)
    }

    /// `GROUPING(key)`, `GROUPING_ID(key, ...)`: a bit for each key, the last one lowest, 1 where the row's set is without it.
    pub fn grouping_call(&mut self, name: &str, call: &ast::FunctionCall) -> Result<Typed, SqlError> {
        let shown = name.to_ascii_uppercase();
        let most = if name == "grouping" { 1 } else { MAX_KEYS };
        if call.args.is_empty() || call.args.len() > most {
            let text = format!(
                "The {shown} function requires {}.",
                match most {
                    1 => "1 argument(s)".to_string(),
                    _ => format!("1 to {most} arguments"),
                }
            );
            return Err(SqlError::new(174, 15, 1, text));
        }
        let ty = if name == "grouping" { DataType::TinyInt } else { DataType::Int };
        let constant = |n: i32| {
            let value = if name == "grouping" { Value::TinyInt(n as u8) } else { Value::Int(n) };
            Typed::new(Expr::Const(value), ty, false)
        };
        let mut keys = Vec::with_capacity(call.args.len());
        for (i, arg) in call.args.iter().enumerate() {
            keys.push(self.grouped_key(arg)?.ok_or_else(|| no_key(i + 1, &shown))?);
        }
        let scope = self.scope()?;
        let Some(sets) = scope.grouping.as_ref().and_then(|grouping| grouping.sets.as_ref()) else {
            return Ok(constant(0));
        };
        let bits =
            |mask: u64| keys.iter().fold(0i32, |bits, key| (bits << 1) | i32::from(mask >> key & 1 == 0));
        let mut answers: Vec<(i32, Vec<usize>)> = Vec::new();
        for (number, mask) in sets.masks.iter().enumerate() {
            let bits = bits(*mask);
            match answers.iter_mut().find(|(known, _)| *known == bits) {
                Some((_, numbers)) => numbers.push(number),
                None => answers.push((bits, vec![number])),
            }
        }
        let output = sets.output;
        let Some((last, _)) = answers.pop() else { return Ok(constant(0)) };
        let branches = answers
            .into_iter()
            .map(|(bits, numbers)| Ok((is_one_of(output, numbers)?, constant(bits))))
            .collect::<Result<Vec<_>, SqlError>>()?;
        if branches.is_empty() { Ok(constant(last)) } else { case_of(branches, constant(last)) }
    }

    /// The key of the block's GROUP BY that an expression is.
    fn grouped_key(&mut self, e: &ast::Expr) -> Result<Option<usize>, SqlError> {
        let clause = self.scope()?.clause;
        if !matches!(clause, Clause::Select | Clause::Having | Clause::OrderBy) {
            return Ok(None);
        }
        let Some(grouping) = self.scope()?.grouping.as_ref() else { return Ok(None) };
        let written = grouping.keys.iter().position(|key| bind_ops::same_syntax(&key.ast, e));
        if written.is_some() || !matches!(e.kind, ast::ExprKind::Column(_)) {
            return Ok(written);
        }
        let Ok(Typed { expr: Expr::Col(id), .. }) = self.expr(e) else { return Ok(None) };
        let Some(grouping) = self.scope()?.grouping.as_ref() else { return Ok(None) };
        Ok(grouping.keys.iter().position(|key| key.output == id))
    }
}

/// GROUP BY ALL: all rows make groups, those that WHERE lets through alone count in the aggregates. Gives the input with a column
/// that tells them, of which the aggregates are made.
pub fn count_only(
    binder: &mut Binder<'_>,
    input: Logical,
    filter: Vec<Pred>,
    aggregates: &mut [Aggregate],
) -> Result<Logical, SqlError> {
    let int = |n: i32| Typed::new(Expr::Const(Value::Int(n)), DataType::Int, false);
    let counts = case_of(vec![(conjunction(filter), int(1))], int(0))?.expr;
    let flag = binder.new_col();
    let passes =
        || bind_ops::compare(CompareOp::Equal, Typed::new(Expr::Col(flag), DataType::Int, false), int(1));
    for aggregate in aggregates {
        let value = aggregate.arg.take().unwrap_or(Expr::Const(Value::Int(1)));
        let branches = vec![(passes()?, value)];
        aggregate.arg =
            Some(Expr::Case(Box::new(CaseExpr { branches, otherwise: Expr::Const(Value::Null) })));
    }
    Ok(Logical::Project { input: Nested::new(input), exprs: vec![(flag, counts)] })
}

/// The aggregation of a block over its sources.
pub fn aggregated(input: Logical, grouping: Grouping) -> Result<Logical, SqlError> {
    let Grouping { keys, aggregates, sets } = grouping;
    let Some(sets) = sets else {
        let scalar = keys.is_empty();
        let keys = keys.into_iter().map(|key| GroupCol {
            output: key.output,
            collation: key.source.collation,
            expr: key.source.expr,
        });
        let (input, keys) = (Nested::new(input), keys.collect());
        return Ok(Logical::Aggregate { input, keys, aggregates, scalar, totals: Vec::new() });
    };
    let int = |n: usize| Expr::Const(Value::Int(n as i32));
    let row = |(number, mask): (usize, &u64)| {
        let flags = (0..keys.len()).map(|key| int((mask >> key & 1) as usize));
        std::iter::once(int(number)).chain(flags).collect()
    };
    let list = Logical::Values {
        rows: sets.masks.iter().enumerate().map(row).collect(),
        cols: std::iter::once(sets.number).chain((0..).map(|i| sets.flags + i).take(keys.len())).collect(),
    };
    let input = Logical::Join {
        kind: JoinKind::Inner,
        left: Nested::new(input),
        right: Nested::new(list),
        on: Vec::new(),
        hint: None,
    };
    let mut columns = Vec::with_capacity(keys.len() + 1);
    for (i, key) in keys.into_iter().enumerate() {
        let (output, collation) = (key.output, key.source.collation);
        let expr = if sets.masks.iter().all(|mask| mask >> i & 1 == 1) {
            key.source.expr
        } else {
            let null = Typed::new(Expr::Const(Value::Null), key.source.ty, true);
            case_of(vec![(is_one_of(sets.flags + i as u32, vec![1])?, key.source)], null)?.expr
        };
        columns.push(GroupCol { output, expr, collation });
    }
    columns.push(GroupCol {
        output: sets.output,
        expr: Expr::Col(sets.number),
        collation: Collation::DEFAULT,
    });
    let totals =
        sets.masks.iter().enumerate().filter(|(_, mask)| **mask == 0).map(|(n, _)| n as i32).collect();
    Ok(Logical::Aggregate { input: Nested::new(input), keys: columns, aggregates, scalar: false, totals })
}

/// Whether a set's number is among these.
fn is_one_of(column: expr::ColId, numbers: Vec<usize>) -> Result<Pred, SqlError> {
    let int = |expr| Typed::new(expr, DataType::Int, false);
    let mut any = numbers
        .into_iter()
        .map(|n| {
            bind_ops::compare(
                CompareOp::Equal,
                int(Expr::Col(column)),
                int(Expr::Const(Value::Int(n as i32))),
            )
        })
        .collect::<Result<Vec<_>, SqlError>>()?;
    Ok(if any.len() == 1 { any.remove(0) } else { Pred::Or(any) })
}

/// The sets of a GROUP BY; at least one.
fn sets_of(group: &ast::GroupBy) -> Result<Vec<Set<'_>>, SqlError> {
    let plain = |item: &GroupItem| matches!(item, GroupItem::Expr(_));
    if group.with_rollup || group.with_cube {
        if !group.items.iter().all(plain) {
            let text = "The CUBE and ROLLUP options are not allowed with ROLLUP, CUBE or GROUPING SETS in the GROUP BY \
                        clause.";
            return Err(SqlError::new(10702, 15, 1, text));
        }
        let parts = parts_of(&group.items)?;
        return if group.with_rollup { Ok(rollup(&parts)) } else { cube(&parts) };
    }
    let mut all: Vec<Set<'_>> = vec![Vec::new()];
    for item in &group.items {
        let own = sets_of_item(item)?;
        check_count(all.len().saturating_mul(own.len()))?;
        all = all.iter().flat_map(|left| own.iter().map(|right| [left.as_slice(), right].concat())).collect();
    }
    Ok(all)
}

fn sets_of_item(item: &GroupItem) -> Result<Vec<Set<'_>>, SqlError> {
    Ok(match item {
        GroupItem::Expr(e) => vec![vec![e]],
        GroupItem::Composite(list) => vec![list.iter().collect()],
        GroupItem::Rollup(items) => rollup(&parts_of(items)?),
        GroupItem::Cube(items) => cube(&parts_of(items)?)?,
        GroupItem::Sets(items) => {
            let mut all = Vec::new();
            for item in items {
                all.extend(sets_of_item(item)?);
                check_count(all.len())?;
            }
            all
        }
    })
}

/// What ROLLUP and CUBE take: keys, each of one or several columns.
fn parts_of(items: &[GroupItem]) -> Result<Vec<Set<'_>>, SqlError> {
    fn part(item: &GroupItem) -> Result<Set<'_>, SqlError> {
        match item {
            GroupItem::Expr(e) => Ok(vec![e]),
            GroupItem::Composite(list) if !list.is_empty() => Ok(list.iter().collect()),
            _ => Err(SqlError::new(102, 15, 1, "Incorrect syntax near '('.")),
        }
    }
    items.iter().map(part).collect()
}

/// All keys, then one less from the end each time, down to none.
fn rollup<'a>(parts: &[Set<'a>]) -> Vec<Set<'a>> {
    (0..=parts.len()).rev().map(|n| parts[..n].concat()).collect()
}

/// All subsets of the keys.
fn cube<'a>(parts: &[Set<'a>]) -> Result<Vec<Set<'a>>, SqlError> {
    check_count(1usize.checked_shl(parts.len() as u32).unwrap_or(usize::MAX))?;
    let chosen = |bits: usize| {
        let part = |(i, part): (usize, &Set<'a>)| (bits >> i & 1 == 1).then(|| part.clone());
        parts.iter().enumerate().filter_map(part).flatten().collect()
    };
    Ok((0..1usize << parts.len()).rev().map(chosen).collect())
}

fn check_count(sets: usize) -> Result<(), SqlError> {
    if sets <= MAX_SETS {
        return Ok(());
    }
    let text = format!("Too many grouping sets. The maximum number is {MAX_SETS}.");
    Err(SqlError::new(10703, 15, 1, text))
}

fn no_key(position: usize, function: &str) -> SqlError {
    let text = format!(
        "Argument {position} of the {function} function does not match any of the expressions in the GROUP BY clause."
    );
    SqlError::new(8161, 16, 1, text)
}
