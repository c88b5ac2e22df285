//! FOR SYSTEM_TIME: the rows that a system-versioned table had, as the union of the table and its
//! history, each with what the clause says of the period. Behind a view it is said of every
//! versioned table that the view reads. Guarantees: rows whose period has no duration are never
//! shown; nor is what is older than the history is kept.

use stack::Nested;
use std::sync::Arc;

use super::Binder;
use super::scope::Scope;
use super::source::Source;
use catalog::load::parse_expression;
use catalog::temporal::{Retention, Temporal};
use catalog::{Db, TableDef};
use expr::{ColId, Expr, Pred, Typed, bind_ops};
use logical::tree::Logical;
use logical::tree::input::Input;
use syntax::ast::{self, CompareOp};
use types::{DataType, SqlError, msg};

/// The times of the clause.
#[derive(Clone, Debug)]
pub enum Moments {
    All,
    AsOf(Typed),
    FromTo(Typed, Typed),
    Between(Typed, Typed),
    ContainedIn(Typed, Typed),
}

/// FOR SYSTEM_TIME of a view, while the view is bound.
#[derive(Clone, Debug)]
pub struct OfView {
    moments: Moments,
    /// Some table of the view is versioned.
    used: bool,
}

/// How a mention of a table is written.
pub(super) struct Mention<'m> {
    pub name: &'m ast::ObjectName,
    pub alias: Option<&'m ast::Ident>,
    pub hints: &'m [ast::OptionItem],
}

/// 13544.
pub(super) fn not_versioned(name: &str) -> SqlError {
    SqlError::of(msg::SYSTEM_TIME_NOT_VERSIONED, [&name])
}

impl Binder<'_> {
    /// Binds the times.
    ///
    /// # Errors
    /// Those of their conversion.
    pub(super) fn moments(&mut self, time: &ast::SystemTime) -> Result<Moments, SqlError> {
        let ty = DataType::DateTime2(7);
        let mut moment =
            |e: &ast::Expr| Ok::<_, SqlError>(Typed::new(self.expr_as(e, ty)?, ty, true));
        Ok(match time {
            ast::SystemTime::All => Moments::All,
            ast::SystemTime::AsOf(at) => Moments::AsOf(moment(at)?),
            ast::SystemTime::FromTo(a, b) => Moments::FromTo(moment(a)?, moment(b)?),
            ast::SystemTime::Between(a, b) => Moments::Between(moment(a)?, moment(b)?),
            ast::SystemTime::ContainedIn(a, b) => Moments::ContainedIn(moment(a)?, moment(b)?),
        })
    }

    /// Binds a view with the clause behind its name.
    ///
    /// # Errors
    /// 13544 it reads no versioned table; those of the view.
    pub(super) fn view_at(
        &mut self,
        (db, view): (Arc<Db>, &Arc<catalog::ModuleDef>),
        mention: &Mention<'_>,
        moments: Moments,
    ) -> Result<Logical, SqlError> {
        let outer = self.system_time.replace(OfView { moments, used: false });
        let bound = self.user_view(db, view, mention.name, mention.alias);
        let used =
            std::mem::replace(&mut self.system_time, outer).is_some_and(|of_view| of_view.used);
        match (bound?, used) {
            (bound, true) => Ok(bound),
            (_, false) => Err(not_versioned(&mention.name.to_string())),
        }
    }

    /// What the view around says of a table; 13590 when the table's own clause says something too.
    pub(super) fn moments_of_view(
        &mut self,
        table: &TableDef,
        own: bool,
    ) -> Result<Option<Moments>, SqlError> {
        match &mut self.system_time {
            Some(of_view) if table.temporal.is_versioned() => {
                if own {
                    return Err(SqlError::of(msg::SYSTEM_TIME_TWICE, [&table.name]));
                }
                of_view.used = true;
                Ok(Some(of_view.moments.clone()))
            }
            _ => Ok(None),
        }
    }

    /// Binds a table with its history as a source of the current block.
    ///
    /// # Errors
    /// 13544.
    pub(super) fn versions(
        &mut self,
        (db, table): (Arc<Db>, Arc<TableDef>),
        mention: &Mention<'_>,
        moments: &Moments,
    ) -> Result<Logical, SqlError> {
        let full_name = format!("{}.{}", db.name(), table.full_name());
        let Temporal::Current { history, retention } = table.temporal else {
            return Err(not_versioned(&full_name));
        };
        let catalog = if db.id() == self.db.id() { self.catalog.clone() } else { db.catalog() };
        let history = catalog.by_id.get(&history).cloned();
        let history = history.ok_or_else(|| SqlError::internal("a table has lost its history"))?;
        let (start, end) = table.period().ok_or_else(|| not_versioned(&full_name))?;
        let own = self.side((&db, &table), mention, (start, end), moments, None)?;
        let past = self.side((&db, &history), mention, (start, end), moments, Some(retention))?;
        let first = self.new_cols(own.1.len());
        let mut source = own.2;
        for (i, column) in source.columns.iter_mut().enumerate() {
            (column.id, column.value) = (first + i as ColId, None);
        }
        let cols: Vec<ColId> = source.columns.iter().map(|c| c.id).collect();
        self.scope()?.sources.push(source);
        Ok(Logical::Concat { inputs: Nested::new(vec![(own.0, own.1), (past.0, past.1)]), cols })
    }

    /// One of the two tables: its rows, its columns, and the source that it would be. `past`: it is
    /// the history, which is kept for so long.
    fn side(
        &mut self,
        (db, table): (&Arc<Db>, &Arc<TableDef>),
        mention: &Mention<'_>,
        (start, end): (usize, usize),
        moments: &Moments,
        past: Option<Option<Retention>>,
    ) -> Result<(Logical, Vec<ColId>, Source), SqlError> {
        self.scopes.push(Scope::default());
        let bound =
            self.base_table(db.clone(), table.clone(), mention.name, mention.alias, mention.hints);
        let source = self.scopes.pop().and_then(|mut scope| scope.sources.pop());
        let (rows, mut source) = bound.and_then(|rows| {
            Ok((rows, source.ok_or_else(|| SqlError::internal("a table is no source"))?))
        })?;
        let at = |column: usize| source.columns[column].typed();
        let mut preds = period_holds(moments, &at(start), &at(end))?;
        if let Some(retention) = past {
            preds.push(bind_ops::compare(CompareOp::Less, at(start), at(end))?);
            if let Some(Retention { count, unit }) = retention {
                let text = format!("(DATEADD({}, -{count}, SYSUTCDATETIME()))", unit.word());
                let oldest = self.expr(&parse_expression(&text)?)?;
                preds.push(bind_ops::compare(CompareOp::GreaterEqual, at(end), oldest)?);
            }
        }
        let mut logical = match preds.is_empty() {
            true => rows,
            false => Logical::Filter { input: Input::new(rows), preds },
        };
        // What no row has becomes a column.
        let made: Vec<(ColId, Expr)> = source
            .columns
            .iter()
            .filter_map(|c| Some((c.id, c.value.as_deref()?.clone())))
            .collect();
        let mut cols: Vec<ColId> = source.columns.iter().map(|c| c.id).collect();
        if !made.is_empty() {
            let first = self.new_cols(made.len());
            let exprs: Vec<(ColId, Expr)> = made
                .iter()
                .enumerate()
                .map(|(i, (_, e))| (first + i as ColId, e.clone()))
                .collect();
            for (i, (old, _)) in made.iter().enumerate() {
                cols.iter_mut().filter(|id| *id == old).for_each(|id| *id = first + i as ColId);
            }
            logical = Logical::Project { input: Input::new(logical), exprs };
        }
        // Nobody changes a table through its versions.
        (source.object_id, source.db_id) = (0, 0);
        Ok((logical, cols, source))
    }
}

/// What the clause says of a row's period.
fn period_holds(moments: &Moments, start: &Typed, end: &Typed) -> Result<Vec<Pred>, SqlError> {
    use CompareOp::{Greater, GreaterEqual, Less, LessEqual};
    let tests: Vec<(CompareOp, &Typed, &Typed)> = match moments {
        Moments::All => Vec::new(),
        Moments::AsOf(at) => vec![(LessEqual, start, at), (Greater, end, at)],
        Moments::FromTo(a, b) => vec![(Less, start, b), (Greater, end, a)],
        Moments::Between(a, b) => vec![(LessEqual, start, b), (Greater, end, a)],
        Moments::ContainedIn(a, b) => vec![(GreaterEqual, start, a), (LessEqual, end, b)],
    };
    tests
        .into_iter()
        .map(|(op, left, right)| bind_ops::compare(op, left.clone(), right.clone()))
        .collect()
}
