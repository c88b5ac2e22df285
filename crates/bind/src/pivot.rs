//! PIVOT and UNPIVOT, as the operators that they stand for: PIVOT is a GROUP BY whose aggregates
//! each look at the rows of one value, UNPIVOT a join with the list of its columns.

use super::Binder;
use super::nested_change::{Place, check_none};
use super::scope::Clause;
use super::select_list::{MOST_COLUMNS, too_many_columns};
use super::source::ScopeColumn;
use catalog::fold_name;
use compact_str::CompactString;
use expr::aggregate::AggKind;
use expr::{CaseExpr, ColId, Expr, Pred, Typed, bind_ops};
use logical::columns::ColumnSet;
use logical::tree::input::Input;
use logical::tree::{GroupCol, JoinKind, Logical, OutColumn};
use std::collections::HashSet;
use syntax::ast::{self, CompareOp, ExprKind};
use types::convert::{Mode, convert_in};
use types::{Collation, DataType, Dialect, Len, SqlError, Value, msg};

fn bare(name: &ast::Ident) -> ast::ColumnRef {
    ast::ColumnRef { qualifier: None, name: name.clone() }
}

impl Binder<'_> {
    /// `input PIVOT (aggregate FOR column IN (values)) AS alias`: the columns that it does not name
    /// are the groups.
    pub(super) fn pivot(
        &mut self,
        input: &ast::TableRef,
        aggregate: &ast::Expr,
        column: &ast::Ident,
        values: &[ast::Ident],
        alias: &ast::Ident,
    ) -> Result<Logical, SqlError> {
        check_none(&[input], Place::Pivot)?;
        let (logical, columns) = self.nested(|b| b.pivoted(input, aggregate, column, values))?.0;
        self.add_derived(&alias.value, &[], &columns)?;
        Ok(logical)
    }

    fn pivoted(
        &mut self,
        input: &ast::TableRef,
        aggregate: &ast::Expr,
        column: &ast::Ident,
        values: &[ast::Ident],
    ) -> Result<(Logical, Vec<OutColumn>), SqlError> {
        let near = |word: &str| SqlError::of(msg::SYNTAX_NEAR, [&word]);
        let logical = self.table_ref(input)?;
        self.scope()?.visible = true;
        let ExprKind::Function(call) = &aggregate.kind else { return Err(near("FOR")) };
        let name = fold_name(&call.name.name.value);
        let kind =
            AggKind::from_name(&name).filter(|_| call.over.is_none()).ok_or_else(|| near(&name))?;
        if call.star {
            return Err(near("*"));
        }
        self.scope()?.clause = Clause::Select;
        let by = self.column(&bare(column))?;
        let whole = self.aggregate_args(kind, &name, call)?;
        let mut used = Vec::new();
        by.expr.columns(&mut used);
        whole.arg.iter().for_each(|arg| arg.columns(&mut used));
        let argument = call.args.first().map(|arg| match &arg.kind {
            ExprKind::Column(argument) => Some(fold_name(&argument.name.value)),
            _ => None,
        });
        // The columns of an expression are known by what they are alone.
        let named: Option<HashSet<CompactString>> = match argument {
            Some(None) => None,
            argument => {
                Some(argument.flatten().into_iter().chain([fold_name(&column.value)]).collect())
            }
        };
        let groups = self.other_columns(&used, named.as_ref())?;
        if groups.len() + values.len() > MOST_COLUMNS {
            return Err(too_many_columns());
        }
        let mut columns = Vec::with_capacity(groups.len() + values.len());
        let mut keys = Vec::with_capacity(groups.len());
        for group in groups {
            let output = self.new_col();
            keys.push(GroupCol { output, expr: Expr::Col(group.id), collation: group.collation });
            columns.push(OutColumn::new(
                &group.name,
                output,
                group.ty,
                group.nullable,
                group.collation,
            ));
        }
        let mut aggregates = Vec::with_capacity(values.len());
        for value in values {
            self.check_cancel()?;
            let pred = bind_ops::compare(
                CompareOp::Equal,
                by.clone(),
                pivot_value(&value.value, by.ty, self.env.options.dialect)?,
            )?;
            let mut own = whole.clone();
            own.output = self.new_col();
            let arg = own.arg.take().ok_or_else(|| near("*"))?;
            let case = CaseExpr::new(vec![(pred, arg)], Expr::Const(Value::Null));
            own.arg = Some(Expr::Case(Box::new(case)));
            let nullable = !matches!(kind, AggKind::Count | AggKind::CountBig);
            columns.push(OutColumn::new(&value.value, own.output, own.ty, nullable, own.collation));
            aggregates.push(own);
        }
        let scalar = keys.is_empty();
        let input = Input::new(logical);
        Ok((Logical::Aggregate { input, keys, aggregates, scalar, totals: Vec::new() }, columns))
    }

    /// The visible columns of the block that are not among these, by what they are and by their
    /// names: two columns of a query may be one column of a table.
    fn other_columns(
        &mut self,
        used: &[ColId],
        named: Option<&HashSet<CompactString>>,
    ) -> Result<Vec<ScopeColumn>, SqlError> {
        let used = ColumnSet::of_ids(used);
        let is_used = |column: &ScopeColumn| {
            used.contains(column.id)
                && named.is_none_or(|named| named.contains(&fold_name(&column.name)))
        };
        let sources = &self.scope()?.sources;
        let columns = sources.iter().flat_map(|s| &s.columns).filter(|c| !c.hidden && !is_used(c));
        let columns: Vec<ScopeColumn> = columns.cloned().collect();
        columns.iter().for_each(|c| self.rights.mentions(c.id));
        Ok(columns)
    }

    /// `input UNPIVOT (value FOR name IN (columns)) AS alias`: a row for each of the columns that
    /// is not NULL.
    pub(super) fn unpivot(
        &mut self,
        input: &ast::TableRef,
        (value, name): (&ast::Ident, &ast::Ident),
        columns: &[ast::Ident],
        alias: &ast::Ident,
    ) -> Result<Logical, SqlError> {
        check_none(&[input], Place::Pivot)?;
        let (logical, columns) = self.nested(|b| b.unpivoted(input, value, name, columns))?.0;
        self.add_derived(&alias.value, &[], &columns)?;
        Ok(logical)
    }

    fn unpivoted(
        &mut self,
        input: &ast::TableRef,
        value: &ast::Ident,
        name: &ast::Ident,
        columns: &[ast::Ident],
    ) -> Result<(Logical, Vec<OutColumn>), SqlError> {
        let logical = self.table_ref(input)?;
        self.scope()?.visible = true;
        let mut parts: Vec<Typed> = Vec::with_capacity(columns.len());
        let mut known = HashSet::with_capacity(columns.len());
        for column in columns {
            self.check_cancel()?;
            if !known.insert(fold_name(&column.value)) {
                return Err(SqlError::of(msg::UNPIVOT_COLUMN_TWICE, [&column.value]));
            }
            let part = self.column(&bare(column))?;
            if parts.first().is_some_and(|first| first.ty != part.ty) {
                return Err(SqlError::of(msg::UNPIVOT_TYPES, [&column.value]));
            }
            parts.push(part);
        }
        let Some(first) = parts.first().cloned() else {
            return Err(SqlError::internal("UNPIVOT of nothing"));
        };
        let mut used = Vec::new();
        parts.iter().for_each(|part| part.expr.columns(&mut used));
        let rest = self.other_columns(&used, Some(&known))?;
        let (number, title, made) = (self.new_col(), self.new_col(), self.new_col());
        let int = |n: usize| Expr::Const(Value::Int(n as i32));
        let rows = columns
            .iter()
            .enumerate()
            .map(|(i, c)| vec![int(i), Expr::Const(Value::str(&c.value))]);
        let list = Logical::Values { rows: rows.collect(), cols: vec![number, title] };
        let joined = Logical::Join {
            kind: JoinKind::Inner,
            left: Input::new(logical),
            right: Input::new(list),
            on: Vec::new(),
            hint: None,
        };
        let typed = |expr| Typed::new(expr, DataType::Int, false);
        let mut branches = Vec::with_capacity(parts.len());
        for (i, part) in parts.into_iter().enumerate() {
            let pred =
                bind_ops::compare(CompareOp::Equal, typed(Expr::Col(number)), typed(int(i)))?;
            branches.push((pred, part.expr));
        }
        let case = Expr::Case(Box::new(CaseExpr::new(branches, Expr::Const(Value::Null))));
        let projected = Logical::Project { input: Input::new(joined), exprs: vec![(made, case)] };
        let some = Pred::IsNull(Box::new(Expr::Col(made)), true);
        let mut offered: Vec<OutColumn> = rest
            .iter()
            .map(|c| OutColumn::new(&c.name, c.id, c.ty, c.nullable, c.collation))
            .collect();
        offered.push(OutColumn::new(&value.value, made, first.ty, false, first.collation));
        offered.push(OutColumn::new(
            &name.value,
            title,
            DataType::NVarChar(Len::N(128)),
            false,
            Collation::DEFAULT,
        ));
        Ok((Logical::Filter { input: Input::new(projected), preds: vec![some] }, offered))
    }
}

/// A value of PIVOT's list in the type of the column. Error: 473.
fn pivot_value(text: &str, ty: DataType, dialect: Dialect) -> Result<Typed, SqlError> {
    let from = DataType::NVarChar(Len::N(128));
    match convert_in(&Value::str(text), from, ty, 0, Mode::Explicit, dialect) {
        Ok(value) => Ok(Typed::new(Expr::Const(value), ty, false)),
        Err(_) => Err(SqlError::of(msg::PIVOT_INCORRECT_VALUE, [&text])),
    }
}
