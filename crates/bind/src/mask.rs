//! Dynamic data masking: which columns of a statement are made of masked ones, and what stands in
//! their place where values leave the statement: in its result, in variables, in rows that it
//! writes. Conditions, orders and groups are about the real values. Guarantees: a value that is
//! made of a masked column in any way leaves through its mask, or that of its type; the plan is the
//! same for everyone, who sees the value is asked when it runs; a statement without masked columns
//! pays one look at an empty map.

use super::Binder;
use catalog::temporal::Temporal;
use catalog::{ComputedDef, Db, TEMPDB, TableDef, fold_name};
use compact_str::CompactString;
use expr::aggregate::Aggregate;
use expr::{CallExpr, ColId, Expr};
use logical::tree::input::Input;
use logical::tree::{BoundQuery, Logical, OutColumn, WorkScan, WorkSource};
use logical::window::WindowKind;
use std::collections::HashMap;
use std::sync::Arc;
use syntax::ast;
use syntax::mentions::{Listener, of_expr};
use types::{Collation, DataType, Len, SqlError, Value};

/// The function that shows a value or its mask. No text can name it.
pub const MASKED: &str = "masked value";
/// The mask of what is computed.
const DEFAULT: &str = "default()";

/// A masked column, as plans name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MaskedColumn {
    pub db: i32,
    pub schema: i32,
    pub table: i32,
    pub column: i32,
}

impl MaskedColumn {
    /// The columns of a text that [`text_of`] made; what is no column is one that nobody has.
    pub fn of_text(text: &str) -> impl Iterator<Item = MaskedColumn> {
        text.split(';').map(|part| {
            let mut numbers = part.split(',').map(|n| n.parse().unwrap_or(-1));
            let mut next = || numbers.next().unwrap_or(-1);
            MaskedColumn { db: next(), schema: next(), table: next(), column: next() }
        })
    }
}

fn text_of(columns: &[MaskedColumn]) -> CompactString {
    let parts = columns.iter().map(|c| format!("{},{},{},{}", c.db, c.schema, c.table, c.column));
    parts.collect::<Vec<_>>().join(";").into()
}

/// What callers see in place of the values of an expression. A caller who may see each of the
/// columns unmasked sees the values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MaskOf {
    function: CompactString,
    /// In order, each once.
    columns: Vec<MaskedColumn>,
}

impl MaskOf {
    fn computed(self) -> MaskOf {
        MaskOf { function: DEFAULT.into(), ..self }
    }

    fn add(&mut self, other: &MaskOf) {
        self.columns.extend(&other.columns);
        self.columns.sort_unstable();
        self.columns.dedup();
    }
}

/// The masks of a statement's columns, of its parameters and of the rows that it keeps, as far as
/// they are known.
#[derive(Debug, Default)]
pub(super) struct Masks {
    columns: HashMap<ColId, MaskOf>,
    params: HashMap<usize, MaskOf>,
    work: HashMap<usize, Vec<Option<MaskOf>>>,
    /// Of the tables that were met.
    met: Vec<MaskedColumn>,
}

/// The names of columns in a definition.
struct MaskedNames(Vec<CompactString>);

impl Listener for MaskedNames {
    fn column(&mut self, column: &ast::ColumnRef, _: bool) {
        self.0.push(fold_name(&column.name.value));
    }
}

/// Of arms that give one value: what they agree on, or the mask of a computed value.
fn of_arms(arms: impl IntoIterator<Item = Option<MaskOf>>) -> Option<MaskOf> {
    arms.into_iter().flatten().reduce(|mut one, other| {
        one.add(&other);
        if one.function == other.function { one } else { one.computed() }
    })
}

/// Of a value that is computed from others.
fn of_parts(parts: impl IntoIterator<Item = Option<MaskOf>>) -> Option<MaskOf> {
    of_arms(parts).map(MaskOf::computed)
}

impl Binder<'_> {
    /// Whether no masked column has been met.
    fn unmasked(&self) -> bool {
        self.masks.columns.is_empty()
    }

    /// A table's columns have ids from `first` on.
    pub fn note_masks(&mut self, db: &Arc<Db>, table: &TableDef, first: ColId) {
        if !self.policies
            || db.is_autonomous()
            || (db.id() == TEMPDB && table.name.starts_with('#'))
        {
            return;
        }
        let catalog = if db.id() == self.db.id() { self.catalog.clone() } else { db.catalog() };
        // The values of a history are those of its table.
        let current = match table.temporal {
            Temporal::History { of } => catalog.by_id.get(&of).cloned(),
            Temporal::None | Temporal::Current { .. } => None,
        };
        let of = current.as_deref().unwrap_or(table);
        if of.columns.iter().all(|c| c.mask.is_none()) {
            return;
        }
        let schema = catalog.schemas.get(&fold_name(&of.schema)).copied().unwrap_or(0);
        let mut by_name: HashMap<CompactString, MaskOf> = HashMap::new();
        for column in &of.columns {
            let Some(function) = &column.mask else { continue };
            let (db, table) = (db.id(), of.object_id);
            let columns = vec![MaskedColumn { db, schema, table, column: column.column_id }];
            if !self.masks.met.contains(&columns[0]) {
                self.masks.met.push(columns[0]);
            }
            by_name.insert(fold_name(&column.name), MaskOf { function: function.clone(), columns });
        }
        // Others are computed where they are named.
        let kept = |computed: &ComputedDef| computed.stored || current.is_some();
        for column in &of.columns {
            let Some(computed) = column.computed.as_ref().filter(|computed| kept(computed)) else {
                continue;
            };
            let mut names = MaskedNames(Vec::new());
            of_expr(&computed.expr, &mut names);
            if let Some(mask) = of_parts(names.0.iter().map(|name| by_name.get(name).cloned())) {
                by_name.insert(fold_name(&column.name), mask);
            }
        }
        for (id, column) in (first..).zip(&table.columns) {
            self.note(id, by_name.get(&fold_name(&column.name)).cloned());
        }
    }

    /// The masked columns that were met.
    pub fn masked_columns(&mut self) -> Vec<MaskedColumn> {
        std::mem::take(&mut self.masks.met)
    }

    /// A column is another one's image.
    pub fn copy_mask(&mut self, from: ColId, to: ColId) {
        if let Some(mask) = self.masks.columns.get(&from).cloned() {
            self.masks.columns.insert(to, mask);
        }
    }

    /// A value as it leaves the statement, of this type and collation.
    pub fn masked(&mut self, e: Expr, ty: DataType, collation: Collation) -> Expr {
        if self.unmasked() {
            return e;
        }
        match self.mask_of(&e) {
            None => e,
            Some(mask) => self.shown(e, &mask, ty, collation),
        }
    }

    fn shown(&self, e: Expr, mask: &MaskOf, ty: DataType, collation: Collation) -> Expr {
        let Some(function) = self.env.names.function(MASKED) else {
            return Expr::Const(Value::Null);
        };
        let text = |text: &str| Expr::Const(Value::str(text));
        let args = vec![e, text(&mask.function), text(&text_of(&mask.columns))];
        let types = vec![ty, DataType::VarChar(Len::Max), DataType::VarChar(Len::Max)];
        Expr::Call(Box::new(CallExpr { function, args, types, ty, collation, lenient: false }))
    }

    /// The result of a query, as it leaves the statement.
    pub fn mask_result(&mut self, bound: &mut BoundQuery) {
        if self.unmasked() {
            return;
        }
        self.learn(&bound.logical);
        let mut assignments = std::mem::take(&mut bound.assignments);
        for (slot, e) in &mut assignments {
            let ty = self.env.vars.get(*slot).map_or(DataType::SqlVariant, |(_, ty)| ty);
            let collation = self.collation();
            *e = self.masked(std::mem::replace(e, Expr::Const(Value::Null)), ty, collation);
        }
        if assignments.is_empty() {
            self.mask_columns(&mut bound.logical, &mut bound.columns);
        }
        bound.assignments = assignments;
    }

    /// The rows of a query with masks in the place of columns.
    pub(super) fn mask_columns(&mut self, logical: &mut Logical, columns: &mut [OutColumn]) {
        if self.unmasked() {
            return;
        }
        self.learn(logical);
        let mut exprs = Vec::new();
        for column in columns {
            let Some(mask) = self.masks.columns.get(&column.id).cloned() else { continue };
            let id = self.new_col();
            exprs.push((id, self.shown(Expr::Col(column.id), &mask, column.ty, column.collation)));
            (column.id, column.base) = (id, false);
        }
        if !exprs.is_empty() {
            let input = Input::new(std::mem::replace(logical, Logical::One));
            *logical = Logical::Project { input, exprs };
        }
    }

    /// What the columns that a node gives are made of.
    pub fn learn(&mut self, logical: &Logical) {
        stack::with_room(|| {
            if self.unmasked() {
                return;
            }
            match logical {
                Logical::One | Logical::Get(_) => {}
                Logical::View(view) => {
                    self.made_of(&view.args, view.first, view.view.columns().len())
                }
                Logical::Routine(scan) => self.made_of(&scan.args, scan.first, scan.width),
                Logical::Work(work) => self.learn_round(work),
                Logical::Recursive { anchor, steps, cols, work, .. } => {
                    self.learn_recursion(anchor, steps, cols, *work)
                }
                Logical::Values { rows, cols } => {
                    for (at, id) in cols.iter().enumerate() {
                        let arms: Vec<_> = rows
                            .iter()
                            .map(|row| row.get(at).and_then(|e| self.mask_of(e)))
                            .collect();
                        self.note(*id, of_arms(arms));
                    }
                }
                Logical::Filter { input, .. }
                | Logical::Distinct { input, .. }
                | Logical::Sort { input, .. }
                | Logical::Top { input, .. } => self.learn(input),
                Logical::Join { left, right, .. } => {
                    self.learn(left);
                    self.learn(right);
                }
                Logical::Apply { left, right, args, .. } => {
                    self.learn(left);
                    self.given(args);
                    self.learn(right);
                }
                Logical::Project { input, exprs } => {
                    self.learn(input);
                    for (id, e) in exprs {
                        let mask = self.mask_of(e);
                        self.note(*id, mask);
                    }
                }
                Logical::Aggregate { input, keys, aggregates, .. } => {
                    self.learn(input);
                    for key in keys {
                        let mask = self.mask_of(&key.expr);
                        self.note(key.output, mask);
                    }
                    for aggregate in aggregates {
                        let mask = self.of_aggregate(aggregate);
                        self.note(aggregate.output, mask);
                    }
                }
                Logical::Window { input, calls } => {
                    self.learn(input);
                    for call in calls {
                        let mask = self.of_window(&call.kind);
                        self.note(call.output, mask);
                    }
                }
                Logical::Document { input, cols, output, .. } => {
                    self.learn(input);
                    let mask = of_parts(cols.iter().map(|id| self.masks.columns.get(id).cloned()));
                    self.note(*output, mask);
                }
                Logical::Concat { inputs, cols } => {
                    inputs.iter().for_each(|(input, _)| self.learn(input));
                    let sides: Vec<&[ColId]> = inputs.iter().map(|(_, ids)| &ids[..]).collect();
                    self.united(&sides, cols.iter().copied());
                }
                Logical::SetOp { left, right, cols, .. } => {
                    self.learn(&left.0);
                    self.learn(&right.0);
                    self.united(&[&left.1, &right.1], cols.iter().map(|(id, _)| *id));
                }
            }
        })
    }

    /// The rows of a recursion's last round.
    fn learn_round(&mut self, work: &WorkScan) {
        if let WorkSource::Recursion(number) = work.source {
            let known = self.masks.work.get(&number).cloned().unwrap_or_default();
            for (id, mask) in (work.first..).zip(known) {
                self.note(id, mask);
            }
        }
    }

    /// What a recursion gives: rounds until nothing is added.
    fn learn_recursion(
        &mut self,
        anchor: &(Logical, Vec<ColId>),
        steps: &[(Logical, Vec<ColId>)],
        cols: &[ColId],
        work: usize,
    ) {
        self.learn(&anchor.0);
        let sides: Vec<&[ColId]> =
            std::iter::once(&anchor.1[..]).chain(steps.iter().map(|step| &step.1[..])).collect();
        loop {
            let known = |id: &ColId| self.masks.columns.get(id).cloned();
            let before: Vec<_> = cols.iter().map(known).collect();
            self.united(&sides, cols.iter().copied());
            let after: Vec<_> = cols.iter().map(|id| self.masks.columns.get(id).cloned()).collect();
            if before == after && self.masks.work.get(&work) == Some(&after) {
                return;
            }
            self.masks.work.insert(work, after);
            steps.iter().for_each(|(step, _)| self.learn(step));
        }
    }

    /// Column `i` of the result is column `i` of each side.
    fn united(&mut self, sides: &[&[ColId]], cols: impl Iterator<Item = ColId>) {
        for (at, id) in cols.enumerate() {
            let arms = sides
                .iter()
                .map(|side| side.get(at).and_then(|id| self.masks.columns.get(id)).cloned());
            let mask = of_arms(arms);
            self.note(id, mask);
        }
    }

    fn note(&mut self, id: ColId, mask: Option<MaskOf>) {
        if let Some(mask) = mask {
            self.masks.columns.insert(id, mask);
        }
    }

    /// The parameters that a subquery or the right side of an APPLY is given.
    fn given(&mut self, args: &[(usize, Expr)]) {
        for (slot, e) in args {
            if let Some(mask) = self.mask_of(e) {
                self.masks.params.insert(*slot, mask);
            }
        }
    }

    /// All columns of a function's rows are made of its arguments.
    fn made_of(&mut self, args: &[Expr], first: ColId, width: usize) {
        let parts: Vec<_> = args.iter().map(|e| self.mask_of(e)).collect();
        if let Some(mask) = of_parts(parts) {
            (first..).take(width).for_each(|id| self.note(id, Some(mask.clone())));
        }
    }

    fn of_window(&mut self, kind: &WindowKind) -> Option<MaskOf> {
        match kind {
            WindowKind::Lag { arg, default, .. } => {
                of_parts([self.mask_of(arg), self.mask_of(default)])
            }
            WindowKind::FirstValue(e) | WindowKind::LastValue(e) => of_parts([self.mask_of(e)]),
            WindowKind::Aggregate(aggregate) => self.of_aggregate(aggregate),
            WindowKind::RowNumber
            | WindowKind::Rank
            | WindowKind::DenseRank
            | WindowKind::PercentRank
            | WindowKind::CumeDist
            | WindowKind::Ntile(_) => None,
        }
    }

    fn of_aggregate(&mut self, aggregate: &Aggregate) -> Option<MaskOf> {
        let arg = aggregate.arg.as_ref().and_then(|e| self.mask_of(e));
        let separator = aggregate.separator.as_ref().and_then(|e| self.mask_of(e));
        of_parts([arg, separator])
    }

    /// The mask of a value: that of the column which it is; of what is computed from masked columns
    /// that of its type. What only decides between values is none of them.
    fn mask_of(&mut self, e: &Expr) -> Option<MaskOf> {
        match e {
            Expr::Const(_) | Expr::Var(_) => None,
            Expr::Param(slot) => self.masks.params.get(slot).cloned(),
            Expr::Col(id) => self.masks.columns.get(id).cloned(),
            Expr::Convert(c) if c.from == c.to => self.mask_of(&c.operand),
            Expr::Convert(c) => of_parts([self.mask_of(&c.operand)]),
            Expr::Binary(b) => of_parts([self.mask_of(&b.left), self.mask_of(&b.right)]),
            Expr::Negate(e, _) | Expr::BitNot(e, _) => of_parts([self.mask_of(e)]),
            Expr::Deep(e) => stack::with_room(|| self.mask_of(e)),
            Expr::Case(c) => {
                let arms: Vec<_> =
                    c.branches.iter().map(|(_, then)| then).chain([&c.otherwise]).collect();
                let arms: Vec<_> = arms.into_iter().map(|arm| self.mask_of(arm)).collect();
                of_arms(arms)
            }
            // What has been masked is.
            Expr::Call(c) if c.function.name == MASKED => None,
            Expr::Coalesce(list) => self.of_list(list),
            Expr::Call(c) => self.of_list(&c.args),
            Expr::Routine(c) => self.of_list(&c.args),
            Expr::Subquery(sub) => {
                self.given(&sub.args);
                let query = self.subqueries.get(sub.id)?;
                let (logical, id) = (query.logical.clone(), query.wanted.first().copied()?);
                self.learn(&logical);
                let mask = self.masks.columns.get(&id).cloned();
                if sub.convert.is_some() { of_parts([mask]) } else { mask }
            }
        }
    }

    fn of_list(&mut self, list: &[Expr]) -> Option<MaskOf> {
        let parts: Vec<_> = list.iter().map(|e| self.mask_of(e)).collect();
        of_parts(parts)
    }

    /// The kept rows of a view are made as its query makes them.
    ///
    /// # Errors
    /// Those of the query.
    pub(super) fn learn_view(
        &mut self,
        db: &Arc<Db>,
        view: &Arc<catalog::ModuleDef>,
        kept: &[(CompactString, ColId)],
    ) -> Result<(), SqlError> {
        let (tables, subqueries, rights) =
            (self.tables.len(), self.subqueries.len(), self.rights.clone());
        let bound = self.view_query(db, view);
        if let Ok((logical, columns)) = &bound {
            self.learn(logical);
            for column in columns {
                let folded = fold_name(&column.name);
                for (_, id) in kept.iter().filter(|(name, _)| *name == folded) {
                    self.copy_mask(column.id, *id);
                }
            }
        }
        self.tables.truncate(tables);
        self.subqueries.truncate(subqueries);
        self.rights = rights;
        bound.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_survive_as_text() {
        let columns = [(5, 1, 77, 2), (6, 1, -4, 1)];
        let columns =
            columns.map(|(db, schema, table, column)| MaskedColumn { db, schema, table, column });
        assert_eq!(MaskedColumn::of_text(&text_of(&columns)).collect::<Vec<_>>(), columns);
        // Nobody has such a column.
        assert_eq!(
            MaskedColumn::of_text("5,1").next().map(|c| (c.table, c.column)),
            Some((-1, -1))
        );
    }
}
