//! CREATE, UPDATE and DROP STATISTICS. Guarantees: the statistics that a user makes are defined in
//! his transaction; what is measured for them is kept whether it commits or not; plans that were
//! made before are made again.

use std::sync::Arc;

use syntax::ast::{
    CreateStatistics, DropObjects, ExprKind, Literal, ObjectName, OptionItem, OptionValue,
    UpdateStatistics,
};
use types::{SqlError, msg};

use super::{StmtCtx, resolve_table};
use bind::filter::Filtered;
use catalog::change::DdlChange;
use catalog::statistics::{self, Statistics, StatisticsOrigin, store};
use catalog::{Db, NewFilter, RowFilter, StatisticsFilter, TableDef, errors, fold_name};
use ddl::names::duplicate_index;
use ddl::option_rules;
use ddl::system_functions::SystemFunctions;
use ddl::table_def::{self, computed};
use ddl::work::SchemaChange;
use logical::hints::TableLock;
use plan::statistics::can_be_measured;
use session::state::SessionCore;
use storage::sample::{self, Amount};
use txn::locks::LockMode;

/// What the WITH clause of CREATE and UPDATE STATISTICS says.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Options {
    amount: Amount,
    /// RESAMPLE: as much as the last time.
    again: bool,
    no_recompute: bool,
    /// Which kinds UPDATE STATISTICS without names means.
    columns: bool,
    indexes: bool,
}

fn options(statement: &str, list: &[OptionItem]) -> Result<Options, SqlError> {
    option_rules::check(statement, list, option_rules::STATISTICS)?;
    let has = |name: &str| list.iter().any(|option| option.name == name);
    let (mut amount, mut samples) = (Amount::Default, 0);
    for option in list {
        match option.name.as_str() {
            "FULLSCAN" => (amount, samples) = (Amount::All, samples + 1),
            "RESAMPLE" => samples += 1,
            "SAMPLE" => (amount, samples) = (sample_of(option)?, samples + 1),
            _ => {}
        }
    }
    if samples > 1 {
        return Err(errors::syntax_near("WITH"));
    }
    Ok(Options {
        amount,
        again: has("RESAMPLE"),
        no_recompute: has("NORECOMPUTE"),
        columns: !has("INDEX"),
        indexes: !has("COLUMNS"),
    })
}

/// `SAMPLE n PERCENT` or `SAMPLE n ROWS`.
fn sample_of(option: &OptionItem) -> Result<Amount, SqlError> {
    let near = || errors::syntax_near("SAMPLE");
    let OptionValue::Expr(expr) = &option.value else { return Err(near()) };
    let number = match &expr.kind {
        ExprKind::Literal(Literal::Integer(n)) => n.to_string().parse::<f64>().ok(),
        ExprKind::Literal(Literal::Decimal(n)) => n.to_string().parse::<f64>().ok(),
        _ => None,
    };
    let number = number.ok_or_else(near)?;
    match option.unit.as_deref() {
        Some("PERCENT") if (0.0..=100.0).contains(&number) => Ok(Amount::Share(number / 100.0)),
        Some("ROWS") => Ok(Amount::Rows(number)),
        _ => Err(near()),
    }
}

/// The table of a statement, which stays as it is until the statement ends.
fn table_of(
    core: &mut SessionCore,
    name: &ObjectName,
) -> Result<(Arc<Db>, Arc<TableDef>), SqlError> {
    let (db, table) = resolve_table(core, name).map_err(|e| match e.number {
        208 => SqlError::of(msg::OBJECT_NOT_FOUND, [&name]),
        _ => e,
    })?;
    core.lock_table(&db, &table, TableLock::of(LockMode::SchS))?;
    Ok((db, table))
}

/// Gives statistics another name.
///
/// # Errors
/// What the storage says.
pub fn rename(
    work: &mut SchemaChange<'_>,
    table: &Arc<TableDef>,
    known: &Statistics,
    name: &str,
) -> Result<(), SqlError> {
    let (db, open) = (work.db.clone(), work.open.clone());
    let after = Statistics { name: name.into(), ..known.clone() };
    let txn = work.core.txn(&db)?;
    let fail = |e| errors::store_error(&db, e);
    store::delete(&open.trees, txn, table.object_id, Some(known.stats_id)).map_err(fail)?;
    store::write(&open.trees, txn, table, &after).map_err(fail)?;
    work.core.remember_ddl(DdlChange::statistics(&db, table, Arc::new(known.clone()), false));
    work.core.remember_ddl(DdlChange::statistics(&db, table, Arc::new(after), true));
    Ok(())
}

impl StmtCtx<'_> {
    pub(super) fn create_statistics(&mut self, stmt: &CreateStatistics) -> Result<(), SqlError> {
        let options = options("CREATE STATISTICS", &stmt.options)?;
        let (db, table) = table_of(self.core, &stmt.table)?;
        let mut columns = Vec::with_capacity(stmt.columns.len());
        for name in &stmt.columns {
            let at = table.column(&name.value).ok_or_else(|| no_column(&name.value))?;
            let column = &table.columns[at];
            if !can_be_measured(column.ty) {
                return Err(cannot_be_measured(&column.name, &table.name));
            }
            if columns.contains(&column.column_id) {
                return Err(twice(&column.name));
            }
            columns.push(column.column_id);
        }
        if statistics::find(&table, &stmt.name.value).is_some() {
            return Err(SqlError::of(msg::STATISTICS_EXIST, [&stmt.table, &stmt.name]));
        }
        let mut new = Statistics {
            stats_id: statistics::free_id(&table),
            name: stmt.name.value.clone(),
            columns,
            origin: StatisticsOrigin::User,
            no_recompute: options.no_recompute,
            filter: None,
            measured: None,
        };
        let filter = stmt
            .filter
            .as_ref()
            .map(|e| self.statistics_filter(&db, &table, stmt, e))
            .transpose()?;
        let work = SchemaChange::begin(self.core, &db)?;
        if let Some(NewFilter { text, terms }) = filter {
            let filter = RowFilter { object_id: work.object_id()?, text: text.into(), terms };
            new.filter = Some(StatisticsFilter::new(&filter, &table.columns));
        }
        new.measured = Some(Arc::new(sample::measure(&db, &table, &new, options.amount)?));
        let open = work.open.clone();
        store::write(&open.trees, work.core.txn(&db)?, &table, &new)
            .map_err(|e| errors::store_error(&db, e))?;
        let change = DdlChange::statistics(&db, &table, Arc::new(new), true);
        work.core.remember_ddl(change);
        db.forget_plans();
        Ok(())
    }

    /// The filter of new statistics.
    ///
    /// # Errors
    /// 1934; those of the filter.
    fn statistics_filter(
        &self,
        db: &Arc<Db>,
        table: &TableDef,
        stmt: &CreateStatistics,
        e: &syntax::ast::Expr,
    ) -> Result<NewFilter, SqlError> {
        self.core.options.check_for_filters("CREATE STATISTICS")?;
        let shown = stmt.table.to_string();
        let of = Filtered { what: "statistics", name: &stmt.name.value, table: &shown };
        computed::new_filter(
            SystemFunctions::of(self.core),
            db,
            of,
            &table_def::new_columns(table),
            e,
        )
    }

    pub(super) fn update_statistics(&mut self, stmt: &UpdateStatistics) -> Result<(), SqlError> {
        let options = options("UPDATE STATISTICS", &stmt.options)?;
        let (db, table) = table_of(self.core, &stmt.table)?;
        let all = statistics::all(&table);
        let mut wanted = Vec::new();
        for name in &stmt.names {
            let folded = fold_name(&name.value);
            let found = all.iter().find(|s| fold_name(&s.name) == folded);
            wanted.push(found.cloned().ok_or_else(|| not_found(&name.value))?);
        }
        if stmt.names.is_empty() {
            let kind = |s: &&Arc<Statistics>| match s.origin {
                StatisticsOrigin::Index => options.indexes,
                StatisticsOrigin::User | StatisticsOrigin::Auto => options.columns,
            };
            wanted = all.iter().filter(kind).cloned().collect();
        }
        for statistics in &wanted {
            renew(self.core, &db, &table, statistics, options)?;
        }
        db.forget_plans();
        Ok(())
    }

    pub(super) fn drop_statistics(&mut self, stmt: &DropObjects) -> Result<(), SqlError> {
        for name in &stmt.names {
            let shown = name.to_string();
            let gone = || errors::cannot_drop("statistics", &shown);
            let Some(table) = &name.schema else { return Err(gone()) };
            let of = ObjectName {
                server: None,
                database: name.server.clone(),
                schema: name.database.clone(),
                name: table.clone(),
            };
            let found = table_of(self.core, &of).and_then(|(db, table)| {
                let statistics = statistics::find(&table, &name.name.value).ok_or_else(gone)?;
                Ok((db, table, statistics))
            });
            let (db, table, statistics) = match found {
                Err(e) if stmt.if_exists && matches!(e.number, 1088 | 3701) => continue,
                Err(e) if e.number == 1088 => return Err(gone()),
                found => found?,
            };
            if statistics.origin == StatisticsOrigin::Index {
                return Err(SqlError::of(msg::DROP_INDEX_NOT_STATISTICS, [&shown]));
            }
            let work = SchemaChange::begin(self.core, &db)?;
            let open = work.open.clone();
            let txn = work.core.txn(&db)?;
            store::delete(&open.trees, txn, table.object_id, Some(statistics.stats_id))
                .map_err(|e| errors::store_error(&db, e))?;
            work.core.remember_ddl(DdlChange::statistics(&db, &table, statistics, false));
            db.forget_plans();
        }
        Ok(())
    }
}

/// Measures statistics again.
fn renew(
    core: &mut SessionCore,
    db: &Arc<Db>,
    table: &Arc<TableDef>,
    statistics: &Statistics,
    options: Options,
) -> Result<(), SqlError> {
    core.check_cancel()?;
    let before = statistics.measured.as_ref().filter(|_| options.again);
    let amount = match before {
        Some(measured) if measured.sampled >= measured.rows => Amount::All,
        Some(measured) => Amount::Share(measured.sampled / measured.rows.max(1.0)),
        None => options.amount,
    };
    let columns = statistics.columns.iter().filter_map(|id| table.position(*id));
    // Of a column that a rollback has taken away.
    if statistics.dependent().any(|id| table.position(id).is_none()) {
        return Ok(());
    }
    if columns.clone().any(|at| !can_be_measured(table.columns[at].ty)) {
        return Ok(());
    }
    let measured = sample::measure(db, table, statistics, amount)?;
    ddl::temp_memory::grow(table, measured.memory())?;
    let measured = Some(Arc::new(measured));
    let renewed = Statistics { measured, no_recompute: options.no_recompute, ..statistics.clone() };
    table.state.statistics.put(renewed);
    Ok(())
}

/// sp_updatestats: everything of a table that has changed since it was measured. `again`: as much
/// of each as the last time. Gives how many were measured and how many not.
///
/// # Errors
/// As UPDATE STATISTICS.
pub fn update_changed(
    core: &mut SessionCore,
    db: &Arc<Db>,
    table: &Arc<TableDef>,
    again: bool,
) -> Result<(usize, usize), SqlError> {
    core.lock_table(db, table, TableLock::of(LockMode::SchS))?;
    let all = statistics::all(table);
    let mut renewed = 0;
    for statistics in &all {
        let changed =
            statistics.measured.as_ref().is_none_or(|m| m.modified != table.state.modified());
        if changed {
            let options = Options {
                amount: Amount::Default,
                again,
                no_recompute: statistics.no_recompute,
                columns: true,
                indexes: true,
            };
            renew(core, db, table, statistics, options)?;
            renewed += 1;
        }
    }
    Ok((renewed, all.len() - renewed))
}

/// 5074: statistics of a user need a column.
pub(crate) fn check_no_statistics(table: &TableDef, column_id: i32) -> Result<(), SqlError> {
    let list = table.state.statistics.list();
    let other = list.iter().find(|s| s.origin == StatisticsOrigin::User && s.depends_on(column_id));
    let Some(other) = other else { return Ok(()) };
    let column = table.position(column_id).map_or("", |at| table.columns[at].name.as_str());
    Err(SqlError::of(msg::DEPENDENT_ON_COLUMN, [&"statistics", &other.name, &column]))
}

/// 1913: statistics have the name of an index to be made.
pub(crate) fn check_free_index_name(table: &TableDef, name: &str) -> Result<(), SqlError> {
    let folded = fold_name(name);
    let list = table.state.statistics.list();
    match list.iter().any(|s| s.origin != StatisticsOrigin::Index && fold_name(&s.name) == folded) {
        true => Err(duplicate_index(name, &table.full_name())),
        false => Ok(()),
    }
}

fn no_column(name: &str) -> SqlError {
    SqlError::of(msg::COLUMN_NOT_IN_TARGET, [&name])
}

fn cannot_be_measured(column: &str, table: &str) -> SqlError {
    SqlError::of(msg::STATISTICS_COLUMN_TYPE, [&column, &table])
}

fn twice(column: &str) -> SqlError {
    SqlError::of(msg::DUPLICATE_INDEX_COLUMN, [&"index or statistics", &column])
}

fn not_found(name: &str) -> SqlError {
    SqlError::of(msg::STATISTICS_NOT_FOUND, [&name])
}
