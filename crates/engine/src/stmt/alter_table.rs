//! ALTER TABLE: columns and constraints added, constraints and columns dropped.

use std::sync::Arc;

use syntax::ast::{
    AlterTable, AlterTableAction, ColumnDef, Constraint, ConstraintKind, CreateIndex, DropElement, Ident,
    IndexColumn, InlineIndex, ObjectName, OptionValue, SwitchPartition, TableElement,
};
use types::{DataType, Len, SqlError};

use super::alter_index::clustered_disabled;
use super::index::{add_index, drop_from};
use super::statistics::check_no_statistics;
use super::{StmtCtx, computed_def, index_options, masks, option_rules, resolve_table, table_def};
use crate::ddl::modules::Parent;
use crate::ddl::rebuild::{copy_rows, run_dml};
use crate::ddl::tables::Work;
use crate::ddl::{constraints, modules, temporal};
use catalog::errors;
use catalog::fold_name;
use catalog::load::layout_of;
use catalog::names::quote;
use catalog::temporal::Generated;
use catalog::{ComputedDef, Db, DefaultDef, KeyConstraint, LockEscalation, TableDef};

impl StmtCtx<'_> {
    pub(super) fn alter_table(&mut self, stmt: &AlterTable) -> Result<(), SqlError> {
        let (db, table) = resolve_table(self.core, &stmt.name).map_err(|e| match e.number {
            208 => SqlError::new(
                4902,
                16,
                1,
                format!(
                    "Cannot find the object \"{}\" because it does not exist or you do not have permissions.",
                    stmt.name
                ),
            ),
            _ => e,
        })?;
        if table.storage.options.disabled && !matches!(stmt.action, AlterTableAction::Rebuild(_)) {
            return Err(clustered_disabled(&table));
        }
        let text = self.text;
        let mut work = Work::begin(self.core, &db)?;
        work.lock_current(&table)?;
        match &stmt.action {
            AlterTableAction::Add { elements, check } => {
                let added = Added { text, test: check.unwrap_or(true) };
                let (indexes, others): (Vec<_>, Vec<_>) =
                    elements.iter().partition(|element| matches!(element, TableElement::Index(_)));
                add_elements(&mut work, table, &others, elements, added)?;
                drop(work);
                // Behind the columns that they may be on.
                let of_columns = elements.iter().filter_map(|element| match element {
                    TableElement::Column(column) => Some((column.index.as_deref()?, Some(&column.name))),
                    _ => None,
                });
                let own = indexes.iter().filter_map(|element| match element {
                    TableElement::Index(index) => Some((index, None)),
                    _ => None,
                });
                let all: Vec<_> = of_columns.chain(own).collect();
                all.into_iter().try_for_each(|(index, column)| {
                    self.create_index(&as_statement(&stmt.name, index, column))
                })
            }
            AlterTableAction::Drop(elements) => {
                let mut table = table;
                for element in elements {
                    table = drop_element(&mut work, &table, element)?;
                }
                Ok(())
            }
            AlterTableAction::AlterColumn { column, options } => {
                option_rules::check("ALTER TABLE", options, option_rules::ALTER_COLUMN)?;
                if column.generated.is_some() {
                    let text = format!(
                        "Column '{}' in table '{}' cannot be specified as 'GENERATED ALWAYS' in ALTER COLUMN statement.",
                        column.name,
                        temporal::full_name(&db, &table)
                    );
                    return Err(SqlError::new(13589, 16, 1, text));
                }
                let history = temporal::history_of(&db, &table);
                if let Some(at) = table.column(&column.name.value) {
                    temporal::check_may_alter(&db, &table, &table.columns[at])?;
                }
                alter_column(&mut work, &table, column, text)?;
                match history {
                    None => Ok(()),
                    Some(history) => {
                        work.lock_current(&history)?;
                        alter_column(&mut work, &history, column, text)
                    }
                }
            }
            AlterTableAction::SwitchConstraints { enable, validate, names } => {
                let names: Vec<&str> = names.iter().map(|name| name.value.as_str()).collect();
                let test = validate.unwrap_or(false);
                constraints::switch(&mut work, &table, &names, *enable, test).map(drop)
            }
            AlterTableAction::SwitchTriggers { enable, names } => {
                let names: Vec<_> = names.iter().map(|name| name.value.clone()).collect();
                modules::switch_triggers(&mut work, &Parent::Table(table), &names, *enable)
            }
            AlterTableAction::Rebuild(options) => {
                if options.iter().any(|o| o.name == "PARTITION" && !is_all(&o.value)) {
                    return Err(errors::not_supported("ALTER TABLE REBUILD PARTITION"));
                }
                let others: Vec<_> = options.iter().filter(|o| o.name != "PARTITION").cloned().collect();
                option_rules::check("ALTER TABLE REBUILD", &others, option_rules::INDEX)?;
                let mut next = TableDef::clone(&table);
                if let Some(compression) = others.iter().find_map(index_options::compression) {
                    Arc::make_mut(&mut next.storage).options.set_compression(compression);
                }
                super::index::renew_changed(&mut work, &table, next, true, &|_| false).map(drop)
            }
            AlterTableAction::Set(options) => {
                option_rules::check("ALTER TABLE", options, option_rules::SET_TABLE)?;
                let word = options.iter().rev().find_map(|o| match &o.value {
                    OptionValue::Word(word) if o.name == "LOCK_ESCALATION" => LockEscalation::of(word),
                    _ => None,
                });
                let lock_escalation = word.unwrap_or(table.lock_escalation);
                let table = if lock_escalation == table.lock_escalation {
                    table
                } else {
                    work.replace(&table, TableDef { lock_escalation, ..TableDef::clone(&table) })?
                };
                match super::temporal::versioning_of(options)? {
                    None => Ok(()),
                    Some(None) => temporal::switch_off(&mut work, &table),
                    Some(Some(versioning)) => {
                        drop(work);
                        temporal::switch_on(self.core, &db, &table, &versioning)
                    }
                }
            }
            AlterTableAction::Mask { column, function } => {
                let at = table.column(&column.value).ok_or_else(|| unknown_column(&column.value, &table))?;
                if table.columns[at].computed.is_some() {
                    return Err(is_computed(&table.columns[at].name));
                }
                check_not_computed_from(&table, at)?;
                masks::put(&mut work, &table, at, function.as_deref())
            }
            AlterTableAction::ColumnProperty { column, add, property } => {
                column_property(&mut work, &table, &column.value, *add, property)
            }
            AlterTableAction::Switch(switch) => {
                drop(work);
                self.switch_table(&db, &table, switch)
            }
        }
    }
}

impl StmtCtx<'_> {
    fn switch_table(
        &mut self,
        db: &Arc<Db>,
        table: &Arc<TableDef>,
        switch: &SwitchPartition,
    ) -> Result<(), SqlError> {
        if switch.partition.is_some() || switch.target_partition.is_some() {
            return Err(errors::not_supported("ALTER TABLE SWITCH PARTITION"));
        }
        let (other, target) = resolve_table(self.core, &switch.target)?;
        if other.id() != db.id() {
            let text = format!(
                "ALTER TABLE SWITCH statement failed. The source table '{}' is in database '{}' while the target table '{}' is \
                 in database '{}'.",
                table.name,
                db.name(),
                target.name,
                other.name()
            );
            return Err(SqlError::new(4948, 16, 1, text));
        }
        let mut work = Work::begin(self.core, db)?;
        work.lock_current(table)?;
        work.lock_current(&target)?;
        crate::ddl::switch::switch(&mut work, table, &target)
    }
}

/// ALTER COLUMN ... ADD | DROP PERSISTED: whether the rows have the values of a computed column.
///
/// # Errors
/// 4924, 4936, 4934; 40510 another property.
fn column_property(
    work: &mut Work<'_>,
    table: &Arc<TableDef>,
    column: &str,
    add: bool,
    property: &str,
) -> Result<(), SqlError> {
    let at = table.column(column).ok_or_else(|| unknown_column(column, table))?;
    if property == "HIDDEN"
        && let Some(generated) = table.columns[at].generated
    {
        let mut next = TableDef::clone(table);
        next.columns[at].generated = Some(Generated { hidden: add, ..generated });
        return work.replace(table, next).map(drop);
    }
    let computed = table.columns[at].computed.clone().filter(|_| property == "PERSISTED");
    let Some(computed) = computed else {
        return Err(errors::not_supported(&format!("ALTER COLUMN with {property}")));
    };
    if add == computed.persisted {
        return Ok(());
    }
    if add {
        computed_def::check_can_persist(&work.db, table, at)?;
    }
    let indexed = table.all_indexes().any(|index| index.names(at));
    let stored = add || indexed;
    let mut next = TableDef::clone(table);
    next.columns[at].computed =
        Some(Arc::new(ComputedDef { persisted: add, stored, ..ComputedDef::clone(&computed) }));
    if stored == computed.stored {
        return work.replace(table, next).map(drop);
    }
    let value = stored.then(|| (at, computed.text.to_string()));
    rewrite(work, table, next, value).map(drop)
}

/// CREATE INDEX for an index that stands in ALTER TABLE ... ADD, perhaps behind its only column.
fn as_statement(table: &ObjectName, index: &InlineIndex, column: Option<&Ident>) -> CreateIndex {
    let columns = match column {
        Some(name) if index.columns.is_empty() => {
            vec![IndexColumn { name: name.clone(), descending: false }]
        }
        _ => index.columns.clone(),
    };
    CreateIndex {
        name: index.name.clone(),
        table: table.clone(),
        unique: index.unique,
        clustered: index.clustered == Some(true),
        columnstore: false,
        columns,
        include: index.include.clone(),
        filter: index.filter.clone(),
        options: index.options.clone(),
        on: index.on.clone(),
    }
}

/// What ALTER TABLE ... ADD says of all that it adds.
#[derive(Clone, Copy)]
struct Added<'a> {
    /// The batch's text.
    text: &'a str,
    /// The rows that are there must satisfy a new constraint.
    test: bool,
}

/// PARTITION = ALL.
fn is_all(value: &OptionValue) -> bool {
    matches!(value, OptionValue::Word(word) if word.eq_ignore_ascii_case("all"))
}

/// Adds columns and constraints, those columns to the history too; a period when its columns are there.
fn add_elements(
    work: &mut Work<'_>,
    mut table: Arc<TableDef>,
    others: &[&TableElement],
    all: &[TableElement],
    added: Added<'_>,
) -> Result<(), SqlError> {
    let period = super::temporal::period_of(all)?;
    let mut hidden = (false, false);
    for element in others {
        match element {
            TableElement::Period { .. } => {}
            TableElement::Column(column) => {
                if let Some(generated) = column.generated {
                    if period.is_none() {
                        let text =
                            "Cannot create generated always column when SYSTEM_TIME period is not defined.";
                        return Err(SqlError::new(13509, 16, 1, text));
                    }
                    let side = if generated.end { &mut hidden.1 } else { &mut hidden.0 };
                    *side = generated.hidden;
                }
                temporal::check_may_add(&work.db, &table)?;
                let history = temporal::history_of(&work.db, &table);
                if let Some(history) = &history {
                    check_may_add_past(&work.db, column, history)?;
                }
                table = add_column(work, &table, column, added)?;
                if let Some(history) = history {
                    add_past_column(work, &table, &history)?;
                }
            }
            element => table = add_element(work, &table, element, added)?,
        }
    }
    match period {
        None => Ok(()),
        Some((start, end)) => {
            temporal::add_period(work, &table, (&start.value, &end.value), hidden).map(drop)
        }
    }
}

/// 13704, 13724: a column that a history cannot have.
fn check_may_add_past(db: &Db, column: &ColumnDef, history: &TableDef) -> Result<(), SqlError> {
    let (number, text) = if column.computed.is_some() {
        let text = "System-versioned table schema modification failed because adding computed column while system-versioning is \
                    ON is not supported.";
        (13724, text.to_string())
    } else if column.identity.is_some() {
        let name = temporal::full_name(db, history);
        let text = format!(
            "System-versioned table schema modification failed because history table '{name}' has IDENTITY column \
             specification. Consider dropping all IDENTITY column specifications and trying again."
        );
        (13704, text)
    } else {
        return Ok(());
    };
    Err(SqlError::new(number, 16, 1, text))
}

/// Gives a history the column that its table has got last: NULL in older rows, or the value that the table's rows have got.
fn add_past_column(work: &mut Work<'_>, table: &TableDef, history: &Arc<TableDef>) -> Result<(), SqlError> {
    work.lock_current(history)?;
    let Some(column) = table.columns.last() else { return Ok(()) };
    let id = history.columns.iter().map(|c| c.column_id).max().unwrap_or(0) + 1;
    let ty = if column.ty == DataType::RowVersion { DataType::Binary(8) } else { column.ty };
    let mut next = TableDef::clone(history);
    next.columns.push(catalog::ColumnDef {
        column_id: id,
        ty,
        default: None,
        identity: None,
        computed: None,
        generated: None,
        mask: None,
        ..column.clone()
    });
    let at = next.columns.len() - 1;
    let value = match &column.default {
        Some(default) if !column.nullable => default.text.to_string(),
        _ if column.nullable => "NULL".to_string(),
        _ => "0x".to_string(),
    };
    rewrite(work, history, next, Some((at, value))).map(drop)
}

fn add_element(
    work: &mut Work<'_>,
    table: &Arc<TableDef>,
    element: &TableElement,
    added: Added<'_>,
) -> Result<Arc<TableDef>, SqlError> {
    match element {
        TableElement::Column(column) => add_column(work, table, column, added),
        TableElement::Constraint(constraint) => add_constraint(work, table, constraint, None, added),
        TableElement::Index(_) | TableElement::Period { .. } => {
            Err(SqlError::internal("an index or a period is no element of a table's definition"))
        }
    }
}

/// A nullable column is added to the definition only: older rows read as NULL. A NOT NULL one is given its default
/// in every row.
fn add_column(
    work: &mut Work<'_>,
    table: &Arc<TableDef>,
    column: &ColumnDef,
    added: Added<'_>,
) -> Result<Arc<TableDef>, SqlError> {
    let defaults = column_defaults(work);
    let mut new = match &column.computed {
        None => table_def::new_column(column, &table.name, added.text, &defaults)?,
        Some(_) => computed_def::new_computed(
            column,
            &table.name,
            &table_def::new_columns(table),
            added.text,
            &defaults,
        )?,
    };
    if table.column(&new.name).is_some() {
        let text = format!(
            "Column names in each table must be unique. Column name '{}' in table '{}' is specified more than once.",
            new.name,
            table.full_name()
        );
        return Err(SqlError::new(2705, 16, 4, text));
    }
    // Its rows get their times before the table makes them.
    new.generated = None;
    // Its rows get their numbers before the column numbers itself.
    let identity = new.identity.take();
    if identity.is_some() && table.columns.iter().any(|c| c.identity.is_some()) {
        let text = format!(
            "Multiple identity columns specified for table '{}'. Only one identity column per table is allowed.",
            table.name
        );
        return Err(SqlError::new(2744, 16, 2, text));
    }
    if new.ty == DataType::RowVersion && table.row_version().is_some() {
        return Err(table_def::second_row_version(&table.name, &new.name));
    }
    // Its rows get their values before the column is what it is: until then it is plain bytes.
    let row_version = new.ty == DataType::RowVersion;
    if row_version {
        new.ty = DataType::Binary(8);
    }
    let with_values = column
        .constraints
        .iter()
        .any(|c| matches!(c.kind, ConstraintKind::Default { with_values: true, .. }));
    let id = table.columns.iter().map(|c| c.column_id).max().unwrap_or(0) + 1;
    let mut next = TableDef::clone(table);
    next.columns.push(work.column(&table.name, id, &new)?);
    if let Some(computed) = new.computed.clone().filter(|computed| computed.stored) {
        let at = next.columns.len() - 1;
        let mut after = rewrite(work, table, next, Some((at, computed.text.to_string())))?;
        for constraint in &column.constraints {
            after = add_constraint(work, &after, constraint, Some(&new.name), added)?;
        }
        return Ok(after);
    }
    next.layout = layout_of(&next.columns);
    if new.ty.is_lob() && new.computed.is_none() && next.lob.is_none() {
        let unit = work.unit(table.storage.filegroup)?;
        next.lob = Some((unit.unit, unit.first_iam));
    }
    if let Some(name) = new.default.as_ref().and_then(|d| d.name.as_ref()) {
        work.check_free_name(&table.schema, name)?;
    }
    let must_fill = (!new.nullable && new.computed.is_none()) || (with_values && new.default.is_some());
    if must_fill && new.default.is_none() && identity.is_none() && !row_version {
        require_empty(work, table, &new.name)?;
    }
    let mut after = work.replace(table, next)?;
    if must_fill && let Some(default) = &new.default {
        let (name, column) = (table_name(&after), quote(&new.name));
        run_dml(work, &format!("UPDATE {name} SET {column} = {}", default.text))?;
    }
    if let Some(identity) = identity {
        after = number_rows(work, &after, identity)?;
    }
    if row_version {
        after = version_rows(work, &after)?;
    }
    for constraint in &column.constraints {
        if !matches!(constraint.kind, ConstraintKind::Default { .. }) {
            after = add_constraint(work, &after, constraint, Some(&new.name), added)?;
        }
    }
    Ok(after)
}

/// Numbers the rows in the order of the clustered index by the table's last column, which is its identity column from then on.
fn number_rows(
    work: &mut Work<'_>,
    table: &Arc<TableDef>,
    (seed, step): (i64, i64),
) -> Result<Arc<TableDef>, SqlError> {
    let rows = set_last(work, table, &format!("{seed} + ([$number] - 1) * {step}"))?;
    let mut next = TableDef::clone(table);
    if let Some(column) = next.columns.last_mut() {
        column.identity = Some((seed, step));
    }
    let after = work.replace(table, next)?;
    let last = i64::try_from(rows).ok().filter(|rows| *rows > 0);
    let last = last.map(|rows| seed.saturating_add((rows - 1).saturating_mul(step)));
    catalog::identity::set(&work.db, &after, last)?;
    Ok(after)
}

/// Gives each row a row version in the table's last column, which is its rowversion column from then on.
fn version_rows(work: &mut Work<'_>, table: &Arc<TableDef>) -> Result<Arc<TableDef>, SqlError> {
    let rows = set_last(work, table, "0x")?;
    if rows > 0 {
        let txn = work.core.txn(&work.db)?;
        let first = catalog::row_version::next(&work.db, txn, rows)?;
        set_last(work, table, &format!("CONVERT(binary(8), CONVERT(bigint, {first}) + [$number] - 1)"))?;
    }
    let mut next = TableDef::clone(table);
    if let Some(column) = next.columns.last_mut() {
        column.ty = DataType::RowVersion;
    }
    next.layout = layout_of(&next.columns);
    work.replace(table, next)
}

/// Sets a table's last column in all rows; in the value `[$number]` is a row's number in the order of the clustered index. Gives
/// the number of rows.
fn set_last(work: &mut Work<'_>, table: &TableDef, value: &str) -> Result<u64, SqlError> {
    let Some(column) = table.columns.last().map(|c| quote(&c.name)) else {
        return Err(SqlError::internal("a table without columns"));
    };
    let key = table.storage.key.iter().map(|(at, descending)| {
        format!("{}{}", quote(&table.columns[*at].name), if *descending { " DESC" } else { "" })
    });
    let key = key.collect::<Vec<_>>().join(", ");
    let order = if key.is_empty() { "(SELECT NULL)" } else { &key };
    let text = format!(
        "WITH numbered AS (SELECT {column}, ROW_NUMBER() OVER (ORDER BY {order}) AS [$number] FROM {}) \
         UPDATE numbered SET {column} = {value}",
        table_name(table)
    );
    run_dml(work, &text)
}

fn table_name(table: &TableDef) -> String {
    format!("{}.{}", quote(&table.schema), quote(&table.name))
}

/// 4901: NOT NULL without a default only on an empty table.
fn require_empty(work: &mut Work<'_>, table: &Arc<TableDef>, column: &str) -> Result<(), SqlError> {
    let name = table_name(table);
    // An UPDATE that changes nothing, of at most one row, finds out whether there is one.
    let first = quote(&table.columns[0].name);
    if run_dml(work, &format!("UPDATE TOP (1) {name} SET {first} = {first}"))? == 0 {
        return Ok(());
    }
    let text = format!(
        "ALTER TABLE only allows columns to be added that can contain nulls, or have a DEFAULT definition specified, \
         or the column being added is an identity or timestamp column, or alternatively if none of the previous \
         conditions are satisfied the table must be empty to allow addition of this column. Column '{column}' cannot \
         be added to non-empty table '{}' because it does not satisfy these conditions.",
        table.name
    );
    Err(SqlError::new(4901, 16, 1, text))
}

fn add_constraint(
    work: &mut Work<'_>,
    table: &Arc<TableDef>,
    constraint: &Constraint,
    column: Option<&str>,
    added: Added<'_>,
) -> Result<Arc<TableDef>, SqlError> {
    if table.temporal.is_history() {
        check_past_constraint(&work.db, table, constraint)?;
    }
    match &constraint.kind {
        ConstraintKind::Key { primary, clustered, .. } => {
            let mut index =
                table_def::key_constraint(&table_def::new_columns(table), &table.name, constraint, column)?;
            if *primary && table.all_indexes().any(|i| i.primary_key.is_some()) {
                let text = format!("Table '{}' already has a primary key defined on it.", table.name);
                return Err(SqlError::new(1779, 16, 0, text));
            }
            if *primary && index.key.iter().any(|(at, _)| table.columns[*at].nullable) {
                return Err(table_def::nullable_key(&table.name));
            }
            // Without a word on it, a primary key is clustered only where nothing is yet.
            if clustered.is_none() && table.storage.index_id == 1 {
                index.clustered = false;
            }
            debug_assert_eq!(index.constraint == Some(KeyConstraint::Primary), *primary);
            let table = super::index::with_stored(work, table.clone(), &index)?;
            add_index(work, &table, &index)
        }
        ConstraintKind::Default { expr, column: Some(name), .. } => {
            let at = table.column(&name.value).ok_or_else(|| {
                let text = format!(
                    "Column '{name}' in table '{}' is invalid for creating a default constraint.",
                    table.name
                );
                SqlError::new(1752, 16, 0, text)
            })?;
            if table.columns[at].identity.is_some() {
                return Err(table_def::default_of_identity(&table.name, &table.columns[at].name));
            }
            if table.columns[at].default.is_some() {
                return Err(SqlError::new(1781, 16, 1, "Column already has a DEFAULT bound to it."));
            }
            let mut new = table_def::new_columns(table)[at].clone();
            table_def::check_default_type(&new, &table.name)?;
            new.default = Some(table_def::new_default(constraint, expr, added.text));
            let mut next = TableDef::clone(table);
            let made: Option<DefaultDef> =
                work.column(&table.name, table.columns[at].column_id, &new)?.default;
            if let Some(default) = &made {
                work.check_free_name(&table.schema, &default.name)?;
            }
            next.columns[at].default = made;
            work.replace(table, next)
        }
        ConstraintKind::Default { .. } => Err(errors::syntax_near("DEFAULT")),
        ConstraintKind::Check { condition } => {
            let defaults = column_defaults(work);
            let new = table_def::new_check(constraint, condition, column, added.text, &defaults)?;
            constraints::add_check(work, table, &new, added.test)
        }
        ConstraintKind::ForeignKey { .. } => {
            let new = table_def::new_foreign_key(constraint, column)?;
            constraints::add_foreign_key(work, table, &new, added.test)
        }
    }
}

/// 13558, 13564, 13565, 13583: what a history does not have.
fn check_past_constraint(db: &Db, table: &TableDef, constraint: &Constraint) -> Result<(), SqlError> {
    let name = temporal::full_name(db, table);
    let (number, text) = match &constraint.kind {
        ConstraintKind::Key { primary: true, .. } => {
            (13558, format!("Cannot add PRIMARY KEY constraint to a temporal history table '{name}'."))
        }
        ConstraintKind::Key { .. } => {
            (13583, format!("Cannot add UNIQUE KEY constraint to a temporal history table '{name}'."))
        }
        ConstraintKind::Check { .. } => {
            (13564, format!("Adding CHECK constraint to a temporal history table '{name}' is not allowed."))
        }
        ConstraintKind::ForeignKey { .. } => {
            let key = constraint.name.as_ref().map_or("", |name| name.value.as_str());
            let text = format!(
                "Foreign key '{key}' is not valid. A temporal history table cannot be used in a foreign key definition."
            );
            (13565, text)
        }
        ConstraintKind::Default { .. } => return Ok(()),
    };
    Err(SqlError::new(number, 16, 1, text))
}

fn drop_element(
    work: &mut Work<'_>,
    table: &Arc<TableDef>,
    element: &DropElement,
) -> Result<Arc<TableDef>, SqlError> {
    match element {
        DropElement::Constraint { name, if_exists, options } => {
            option_rules::check("ALTER TABLE", options, option_rules::DROP_INDEX)?;
            let folded = fold_name(&name.value);
            let key = table
                .all_indexes()
                .find(|i| fold_name(&i.name) == folded && (i.primary_key.or(i.unique_constraint)).is_some())
                .cloned();
            if let Some(index) = key {
                if index.primary_key.is_some() && table.temporal.is_versioned() {
                    let text = format!(
                        "Cannot drop PRIMARY KEY constraint from a system-versioned temporal table '{}'.",
                        temporal::full_name(&work.db, table)
                    );
                    return Err(SqlError::new(13557, 16, 1, text));
                }
                constraints::check_not_referenced(&work.db.catalog(), table, &index)?;
                return drop_from(work, table, &index);
            }
            if let Some(next) = constraints::drop_constraint(work, table, &name.value)? {
                return Ok(next);
            }
            let at = table
                .columns
                .iter()
                .position(|c| c.default.as_ref().is_some_and(|d| fold_name(&d.name) == folded));
            match at {
                Some(at) => {
                    let mut next = TableDef::clone(table);
                    next.columns[at].default = None;
                    work.replace(table, next)
                }
                None if *if_exists => Ok(table.clone()),
                None => Err(SqlError::new(3728, 16, 1, format!("'{name}' is not a constraint."))),
            }
        }
        DropElement::Period => temporal::drop_period(work, table),
        DropElement::Column { name, if_exists } => match table.column(&name.value) {
            Some(at) => {
                temporal::check_may_drop(&work.db, table, at)?;
                let history = temporal::history_of(&work.db, table);
                let next = drop_column(work, table, at)?;
                if let Some(history) = history {
                    work.lock_current(&history)?;
                    drop_column(work, &history, at)?;
                }
                Ok(next)
            }
            None if *if_exists => Ok(table.clone()),
            None => Err(SqlError::new(
                4924,
                16,
                1,
                format!(
                    "ALTER TABLE DROP COLUMN failed because column '{name}' does not exist in table '{}'.",
                    table.name
                ),
            )),
        },
    }
}

/// 5074: a computed column is computed from the column.
fn check_not_computed_from(table: &TableDef, at: usize) -> Result<(), SqlError> {
    match computed_def::computed_from(table, at) {
        None => Ok(()),
        Some(computed) => {
            let name = &table.columns[at].name;
            let text = format!("The column '{}' is dependent on column '{name}'.", computed.name);
            Err(SqlError::new(5074, 16, 1, text))
        }
    }
}

/// 5074: a module with SCHEMABINDING names the column.
fn check_unbound(work: &Work<'_>, table: &TableDef, column: &str) -> Result<(), SqlError> {
    match crate::ddl::schemabinding::column_bound_to(&work.db.catalog(), table, column) {
        None => Ok(()),
        Some(by) => {
            let text = format!("The object '{by}' is dependent on column '{column}'.");
            Err(SqlError::new(5074, 16, 1, text))
        }
    }
}

fn drop_column(work: &mut Work<'_>, table: &Arc<TableDef>, at: usize) -> Result<Arc<TableDef>, SqlError> {
    let name = &table.columns[at].name;
    check_unbound(work, table, name)?;
    check_not_computed_from(table, at)?;
    let default = table.columns[at].default.as_ref().map(|d| ("object", d.name.clone()));
    let index = table.all_indexes().find(|i| i.names(at)).map(|i| ("index", i.name.clone()));
    let constraint =
        constraints::constraint_of_column(&work.db.catalog(), table, at).map(|name| ("object", name));
    if let Some((kind, other)) = default.or(index).or(constraint) {
        let text = format!("The {kind} '{other}' is dependent on column '{name}'.");
        return Err(SqlError::new(5074, 16, 1, text));
    }
    check_no_statistics(table, table.columns[at].column_id)?;
    if table.columns.len() == 1 {
        let text = format!(
            "ALTER TABLE DROP COLUMN failed because '{name}' is the only data column in table '{}'. A table must \
             have at least one data column.",
            table.name
        );
        return Err(SqlError::new(4923, 16, 1, text));
    }
    table.state.statistics.forget_column(table.columns[at].column_id);
    let mut next = TableDef::clone(table);
    next.columns.remove(at);
    let shift = |position: usize| if position > at { position - 1 } else { position };
    let moved = |index: &catalog::IndexDef| {
        let mut index = index.clone();
        index.key.iter_mut().for_each(|(position, _)| *position = shift(*position));
        index.included.iter_mut().for_each(|position| *position = shift(*position));
        index.filter = index.filter.map(|filter| Arc::new(filter.moved(shift)));
        Arc::new(index)
    };
    next.storage = moved(&table.storage);
    next.indexes = table.indexes.iter().map(|i| moved(i)).collect();
    rewrite(work, table, next, None)
}

/// Another type or nullability for a column: the rows are rewritten, converted by the usual rules.
fn alter_column(
    work: &mut Work<'_>,
    table: &Arc<TableDef>,
    column: &ColumnDef,
    text: &str,
) -> Result<(), SqlError> {
    let at = table.column(&column.name.value).ok_or_else(|| unknown_column(&column.name.value, table))?;
    check_unbound(work, table, &table.columns[at].name)?;
    if table.columns[at].computed.is_some() {
        return Err(is_computed(&table.columns[at].name));
    }
    if table.columns[at].ty == DataType::RowVersion {
        let text = format!("Cannot alter column '{}' because it is 'timestamp'.", table.columns[at].name);
        return Err(SqlError::new(4928, 16, 1, text));
    }
    check_not_computed_from(table, at)?;
    let new = table_def::new_column(column, &table.name, text, &column_defaults(work))?;
    work.hold_type(new.alias)?;
    if new.ty == DataType::RowVersion {
        let text = format!("Cannot alter column '{}' to be data type timestamp.", new.name);
        return Err(SqlError::new(4927, 16, 1, text));
    }
    if is_longer(&table.columns[at], &new) && !is_of_key(&work.db, table, at) {
        // The rows are as they were.
        check_no_statistics(table, table.columns[at].column_id)?;
        let mut next = TableDef::clone(table);
        (next.columns[at].ty, next.columns[at].alias, next.columns[at].mask) = (new.ty, new.alias, new.mask);
        next.layout = layout_of(&next.columns);
        return work.replace(table, next).map(drop);
    }
    let tested = |i: &catalog::IndexDef| i.filter.iter().any(|filter| filter.columns().any(|c| c == at));
    let in_key = |i: &catalog::IndexDef| i.key.iter().any(|(k, _)| *k == at) || tested(i);
    if let Some(index) = table.all_indexes().find(|i| in_key(i)) {
        let text = format!("The index '{}' is dependent on column '{}'.", index.name, column.name);
        return Err(SqlError::new(5074, 16, 1, text));
    }
    if next_type_matters(&table.columns[at], &new)
        && let Some(other) = constraints::constraint_of_column(&work.db.catalog(), table, at)
    {
        let text = format!("The object '{other}' is dependent on column '{}'.", column.name);
        return Err(SqlError::new(5074, 16, 1, text));
    }
    if next_type_matters(&table.columns[at], &new) {
        check_no_statistics(table, table.columns[at].column_id)?;
        table.state.statistics.forget_column(table.columns[at].column_id);
    }
    let mut next = TableDef::clone(table);
    (next.columns[at].ty, next.columns[at].alias, next.columns[at].mask) = (new.ty, new.alias, new.mask);
    next.columns[at].nullable = new.nullable;
    next.columns[at].collation = new.collation;
    // As an assignment: what does not fit is an error.
    let converted = quote(&next.columns[at].name);
    rewrite(work, table, next, Some((at, converted))).map(drop)
}

/// 4928.
fn is_computed(column: &str) -> SqlError {
    SqlError::new(4928, 16, 1, format!("Cannot alter column '{column}' because it is 'COMPUTED'."))
}

/// Whether a column of variable length becomes longer, and nothing else.
fn is_longer(old: &catalog::ColumnDef, new: &catalog::NewColumn) -> bool {
    use types::DataType::{NVarChar, VarBinary, VarChar};
    let longer = match (old.ty, new.ty) {
        (VarChar(Len::N(a)), VarChar(Len::N(b)))
        | (NVarChar(Len::N(a)), NVarChar(Len::N(b)))
        | (VarBinary(Len::N(a)), VarBinary(Len::N(b))) => b >= a,
        _ => false,
    };
    longer && old.nullable == new.nullable && old.collation == new.collation
}

/// Whether a column is of the primary key, or on one side of a foreign key.
fn is_of_key(db: &Db, table: &TableDef, at: usize) -> bool {
    let id = table.columns[at].column_id;
    let primary = |i: &Arc<catalog::IndexDef>| i.primary_key.is_some() && i.key.iter().any(|(k, _)| *k == at);
    let own = |key: &catalog::ForeignKeyDef| key.columns.iter().any(|(own, _)| *own == id);
    let others = db.catalog().foreign_keys_to(table.object_id);
    table.all_indexes().any(primary)
        || table.foreign_keys.iter().any(own)
        || others.iter().any(|(_, key)| key.columns.iter().any(|(_, other)| *other == id))
}

/// Whether a constraint may mean something else over the changed column.
fn next_type_matters(old: &catalog::ColumnDef, new: &catalog::NewColumn) -> bool {
    old.ty != new.ty || old.collation != new.collation
}

/// New storage for all rows in the layout of `next`; `computed` is the column that is not the one of its name, with its value.
pub(super) fn rewrite(
    work: &mut Work<'_>,
    table: &Arc<TableDef>,
    mut next: TableDef,
    computed: Option<(usize, String)>,
) -> Result<Arc<TableDef>, SqlError> {
    next.layout = layout_of(&next.columns);
    next.storage = Arc::new(work.renewed(&next.storage)?);
    let mut indexes = Vec::with_capacity(next.indexes.len());
    for index in &next.indexes {
        indexes.push(Arc::new(work.renewed(index)?));
    }
    next.indexes = indexes;
    next.lob = None;
    if next.columns.iter().any(|c| c.ty.is_lob() && !c.is_virtual()) {
        let unit = work.unit(next.storage.filegroup)?;
        next.lob = Some((unit.unit, unit.first_iam));
    }
    let source = |(i, c): (usize, &catalog::ColumnDef)| match &computed {
        Some((at, value)) if *at == i => value.clone(),
        // No row has its value.
        _ if c.is_virtual() => "NULL".to_string(),
        _ => quote(&c.name),
    };
    let sources: Vec<String> = next.columns.iter().enumerate().map(source).collect();
    copy_rows(work, table, &next, &sources)?;
    work.replace(table, next)
}

fn unknown_column(name: &str, table: &TableDef) -> SqlError {
    SqlError::new(
        4924,
        16,
        1,
        format!("ALTER TABLE failed because column '{name}' does not exist in table '{}'.", table.name),
    )
}

/// What the database and the session give a column that does not say.
fn column_defaults(work: &Work<'_>) -> table_def::ColumnDefaults {
    let nullable = work.core.options.ansi_null_dflt_on;
    let quoted_identifier = work.core.options.quoted_identifier;
    table_def::ColumnDefaults {
        db: work.db.clone(),
        collation: work.db.default_collation(),
        nullable,
        catalog: work.db.catalog(),
        quoted_identifier,
    }
}
