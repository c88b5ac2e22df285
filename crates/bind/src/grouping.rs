//! GROUP BY with its grouping sets: ROLLUP, CUBE, GROUPING SETS and their products become one list
//! of sets; GROUPING and GROUPING_ID ask which set a row is of.
//!
//! With several sets each input row meets each set (a join with the list of their numbers and of
//! what keys they have); a key that is not of a set is NULL in its rows, and the number is one more
//! key. So one aggregation over one read of the input serves all sets, and equal sets stay apart.
//! The sets without keys have a row also where there is no input ([`Logical::Aggregate`]'s totals).

use super::Binder;
use super::combine::{case_of, conjunction};
use crate::scope::{Clause, GroupKey, Grouping, GroupingSets};
use catalog::errors;
use expr::aggregate::Aggregate;
use expr::bind_ops;
use expr::{CaseExpr, Expr, Pred, Typed};
use logical::tree::input::Input;
use logical::tree::{GroupCol, JoinKind, Logical};
use std::collections::BTreeMap;
use syntax::ast::{self, CompareOp, GroupItem};
use types::{Collation, DataType, SqlError, Value, msg};

/// Most grouping sets of a query.
const MAX_SETS: usize = 4096;
/// Most keys where there is more than one set.
const MAX_KEYS: usize = 32;

/// Most keys of a GROUP BY or ORDER BY: a row that is kept for it has at least a byte for each, and
/// no more than that in all.
pub(super) const MOST_KEYS: usize = 8060;

impl Binder<'_> {
    /// Binds GROUP BY's keys and sets.
    pub fn grouping(&mut self, select: &ast::Select) -> Result<Grouping, SqlError> {
        let mut grouping = Grouping::default();
        let Some(group) = &select.group_by else { return Ok(grouping) };
        if group.all && (group.with_rollup || group.with_cube) {
            return Err(SqlError::of(msg::CUBE_WITH_GROUP_BY_ALL, []));
        }
        // Before one of the sets is made: a short text may mean any number of them.
        let several = count_sets(group)? > 1;
        let masks = Sets { binder: self, grouping: &mut grouping, several }.of(group)?;
        if several {
            let number = self.new_col();
            let flags = self.new_cols(grouping.keys.len());
            grouping.sets = Some(GroupingSets { masks, number, flags, output: self.new_col() });
        }
        Ok(grouping)
    }

    /// The number of a key, which is bound when it is met first.
    fn key_of(&mut self, grouping: &mut Grouping, e: &ast::Expr) -> Result<usize, SqlError> {
        self.check_cancel()?;
        if let Some(known) = grouping.key_written(e) {
            return Ok(known);
        }
        if grouping.keys.len() >= MOST_KEYS {
            return Err(errors::wide_worktable());
        }
        let source = self.expr(e)?;
        source.ty.check_comparable()?;
        if source.expr.is_row_free() && !matches!(source.expr, Expr::Param(_)) {
            return Err(SqlError::of(msg::GROUP_BY_WITHOUT_COLUMN, []));
        }
        // `a` and `t.a` are one key.
        if let Expr::Col(id) = source.expr {
            let same = grouping
                .keys
                .iter()
                .position(|key| matches!(key.source.expr, Expr::Col(k) if k == id));
            if let Some(same) = same {
                return Ok(same);
            }
        }
        grouping.add_key(GroupKey { ast: e.clone(), source, output: self.new_col() });
        Ok(grouping.keys.len() - 1)
    }

    /// `GROUPING(key)`, `GROUPING_ID(key, ...)`: a bit for each key, the last one lowest, 1 where
    /// the row's set is without it.
    pub fn grouping_call(
        &mut self,
        name: &str,
        call: &ast::FunctionCall,
    ) -> Result<Typed, SqlError> {
        let shown = name.to_ascii_uppercase();
        let most = if name == "grouping" { 1 } else { MAX_KEYS };
        if call.args.is_empty() || call.args.len() > most {
            return Err(match most {
                1 => SqlError::of(msg::FUNCTION_ARGUMENT_COUNT, [&shown, &1]),
                _ => SqlError::of(msg::FUNCTION_ARGUMENTS_UP_TO, [&shown, &1, &most]),
            });
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
        let bits = |mask: u64| {
            keys.iter().fold(0i32, |bits, key| (bits << 1) | i32::from(mask >> key & 1 == 0))
        };
        let mut answers: BTreeMap<i32, Vec<usize>> = BTreeMap::new();
        for (number, mask) in sets.masks.iter().enumerate() {
            answers.entry(bits(*mask)).or_default().push(number);
        }
        let output = sets.output;
        let Some((last, _)) = answers.pop_last() else { return Ok(constant(0)) };
        let branches = answers
            .into_iter()
            .map(|(bits, numbers)| Ok((is_one_of(output, numbers)?, constant(bits))))
            .collect::<Result<Vec<_>, SqlError>>()?;
        let answer =
            if branches.is_empty() { constant(last) } else { case_of(branches, constant(last))? };
        // It has a part for each set.
        self.count_copy(&answer)?;
        Ok(answer)
    }

    /// The key of the block's GROUP BY that an expression is.
    fn grouped_key(&mut self, e: &ast::Expr) -> Result<Option<usize>, SqlError> {
        let clause = self.scope()?.clause;
        if !matches!(clause, Clause::Select | Clause::Having | Clause::OrderBy) {
            return Ok(None);
        }
        let Some(grouping) = self.scope()?.grouping.as_ref() else { return Ok(None) };
        let written = grouping.key_written(e);
        if written.is_some() || !matches!(e.kind, ast::ExprKind::Column(_)) {
            return Ok(written);
        }
        let Ok(Typed { expr: Expr::Col(id), .. }) = self.expr(e) else { return Ok(None) };
        let Some(grouping) = self.scope()?.grouping.as_ref() else { return Ok(None) };
        Ok(grouping.keys.iter().position(|key| key.output == id))
    }
}

/// GROUP BY ALL: all rows make groups, those that WHERE lets through alone count in the aggregates.
/// Gives the input with a column that tells them, of which the aggregates are made.
pub fn count_only(
    binder: &mut Binder<'_>,
    input: Logical,
    filter: Vec<Pred>,
    aggregates: &mut [Aggregate],
) -> Result<Logical, SqlError> {
    let int = |n: i32| Typed::new(Expr::Const(Value::Int(n)), DataType::Int, false);
    let counts = case_of(vec![(conjunction(filter), int(1))], int(0))?.expr;
    let flag = binder.new_col();
    let passes = || {
        bind_ops::compare(
            CompareOp::Equal,
            Typed::new(Expr::Col(flag), DataType::Int, false),
            int(1),
        )
    };
    for aggregate in aggregates {
        let value = aggregate.arg.take().unwrap_or(Expr::Const(Value::Int(1)));
        let branches = vec![(passes()?, value)];
        let case = CaseExpr::new(branches, Expr::Const(Value::Null));
        aggregate.arg = Some(Expr::Case(Box::new(case)));
    }
    Ok(Logical::Project { input: Input::new(input), exprs: vec![(flag, counts)] })
}

/// The aggregation of a block over its sources.
pub fn aggregated(input: Logical, grouping: Grouping) -> Result<Logical, SqlError> {
    let Grouping { keys, aggregates, sets, .. } = grouping;
    let Some(sets) = sets else {
        let scalar = keys.is_empty();
        let keys = keys.into_iter().map(|key| GroupCol {
            output: key.output,
            collation: key.source.collation,
            expr: key.source.expr,
        });
        let (input, keys) = (Input::new(input), keys.collect());
        return Ok(Logical::Aggregate { input, keys, aggregates, scalar, totals: Vec::new() });
    };
    let int = |n: usize| Expr::Const(Value::Int(n as i32));
    let row = |(number, mask): (usize, &u64)| {
        let flags = (0..keys.len()).map(|key| int((mask >> key & 1) as usize));
        std::iter::once(int(number)).chain(flags).collect()
    };
    let list = Logical::Values {
        rows: sets.masks.iter().enumerate().map(row).collect(),
        cols: std::iter::once(sets.number)
            .chain((0..).map(|i| sets.flags + i).take(keys.len()))
            .collect(),
    };
    let input = Logical::Join {
        kind: JoinKind::Inner,
        left: Input::new(input),
        right: Input::new(list),
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
    let totals = sets
        .masks
        .iter()
        .enumerate()
        .filter(|(_, mask)| **mask == 0)
        .map(|(n, _)| n as i32)
        .collect();
    Ok(Logical::Aggregate {
        input: Input::new(input),
        keys: columns,
        aggregates,
        scalar: false,
        totals,
    })
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

/// The number of sets of a GROUP BY; at least one.
fn count_sets(group: &ast::GroupBy) -> Result<usize, SqlError> {
    if group.with_rollup || group.with_cube {
        if !group.items.iter().all(|item| matches!(item, GroupItem::Expr(_))) {
            return Err(SqlError::of(msg::CUBE_WITH_GROUPING_SETS, []));
        }
        return check_count(if group.with_rollup {
            group.items.len() + 1
        } else {
            subsets(&group.items)
        });
    }
    group
        .items
        .iter()
        .try_fold(1, |all: usize, item| check_count(all.saturating_mul(count_of_item(item)?)))
}

fn count_of_item(item: &GroupItem) -> Result<usize, SqlError> {
    match item {
        GroupItem::Expr(_) | GroupItem::Composite(_) => Ok(1),
        GroupItem::Rollup(items) => check_count(items.len() + 1),
        GroupItem::Cube(items) => check_count(subsets(items)),
        GroupItem::Sets(items) => {
            items.iter().try_fold(0, |all: usize, item| check_count(all + count_of_item(item)?))
        }
    }
}

fn subsets(items: &[GroupItem]) -> usize {
    u32::try_from(items.len()).ok().and_then(|n| 1usize.checked_shl(n)).unwrap_or(usize::MAX)
}

/// Makes the sets of a GROUP BY: of each the keys that it has, as bits. The keys are bound when
/// they are met.
struct Sets<'b, 'a, 'g> {
    binder: &'b mut Binder<'a>,
    grouping: &'g mut Grouping,
    /// There is more than one: only then the bits are of use, and there may be no more keys than
    /// they have room for.
    several: bool,
}

impl Sets<'_, '_, '_> {
    fn of(&mut self, group: &ast::GroupBy) -> Result<Vec<u64>, SqlError> {
        if group.with_rollup {
            return Ok(rollup(&self.parts(&group.items)?));
        }
        if group.with_cube {
            return Ok(cube(&self.parts(&group.items)?));
        }
        let mut all = vec![0];
        for item in &group.items {
            let own = self.of_item(item)?;
            all = all.iter().flat_map(|left| own.iter().map(move |right| left | right)).collect();
        }
        Ok(all)
    }

    fn of_item(&mut self, item: &GroupItem) -> Result<Vec<u64>, SqlError> {
        Ok(match item {
            GroupItem::Expr(e) => vec![self.key(e)?],
            GroupItem::Composite(list) => vec![self.keys(list)?],
            GroupItem::Rollup(items) => rollup(&self.parts(items)?),
            GroupItem::Cube(items) => cube(&self.parts(items)?),
            GroupItem::Sets(items) => {
                let mut all = Vec::with_capacity(items.len());
                for item in items {
                    all.extend(self.of_item(item)?);
                }
                all
            }
        })
    }

    /// What ROLLUP and CUBE take: keys, each of one or several columns.
    fn parts(&mut self, items: &[GroupItem]) -> Result<Vec<u64>, SqlError> {
        let part = |item: &GroupItem| match item {
            GroupItem::Expr(e) => self.key(e),
            GroupItem::Composite(list) if !list.is_empty() => self.keys(list),
            _ => Err(SqlError::of(msg::SYNTAX_NEAR, [&"("])),
        };
        items.iter().map(part).collect()
    }

    fn keys(&mut self, list: &[ast::Expr]) -> Result<u64, SqlError> {
        list.iter().try_fold(0, |all, e| Ok(all | self.key(e)?))
    }

    fn key(&mut self, e: &ast::Expr) -> Result<u64, SqlError> {
        let key = self.binder.key_of(self.grouping, e)?;
        if self.several && key >= MAX_KEYS {
            return Err(SqlError::of(msg::TOO_MANY_GROUPING_KEYS, [&MAX_KEYS]));
        }
        Ok(if self.several { 1 << key } else { 0 })
    }
}

/// All keys, then one less from the end each time, down to none.
fn rollup(parts: &[u64]) -> Vec<u64> {
    let mut all = vec![0];
    for part in parts {
        all.push(all[all.len() - 1] | part);
    }
    all.reverse();
    all
}

/// All subsets of the keys.
fn cube(parts: &[u64]) -> Vec<u64> {
    let chosen = |bits: usize| {
        let part = |(i, part): (usize, &u64)| if bits >> i & 1 == 1 { *part } else { 0 };
        parts.iter().enumerate().map(part).fold(0, |all, part| all | part)
    };
    (0..1usize << parts.len()).rev().map(chosen).collect()
}

/// The number again, if there may be so many.
fn check_count(sets: usize) -> Result<usize, SqlError> {
    if sets <= MAX_SETS {
        return Ok(sets);
    }
    Err(SqlError::of(msg::TOO_MANY_GROUPING_SETS, [&MAX_SETS]))
}

fn no_key(position: usize, function: &str) -> SqlError {
    SqlError::of(msg::GROUPING_ARGUMENT, [&position, &function])
}
