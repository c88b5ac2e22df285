//! ALTER TABLE: finds the table, locks it, and has each action done by the file that it is in.
//! Guarantees: the definition that is changed is the current one; a history changes with its table.

use std::sync::Arc;

use syntax::ast::{
    AlterTable, AlterTableAction, Constraint, ConstraintKind, CreateIndex, Ident, IndexColumn,
    InlineIndex, ObjectName, OptionItem, OptionValue, SwitchPartition, TableElement,
};
use types::{SqlError, msg};

use super::alter_index::clustered_disabled;
use super::{StmtCtx, resolve_table};
use catalog::errors;
use catalog::{Db, LockEscalation, TableDef};
use ddl::modules::Parent;
use ddl::work::SchemaChange;
use ddl::{
    constraints, foreign_keys, index_options, masks, modules, option_rules, periods, table_def,
    temporal,
};

mod add;
mod add_column;
mod add_constraint;
mod alter_column;
mod columns;
mod drop;

use alter_column::is_computed;
use columns::unknown_column;
use drop::check_not_computed_from;

/// What ALTER TABLE ... ADD says of all that it adds.
#[derive(Clone, Copy)]
struct AddClause<'a> {
    /// The batch's text.
    text: &'a str,
    /// The rows that are there must satisfy a new constraint.
    test: bool,
}

fn is_foreign_key(constraint: &Constraint) -> bool {
    matches!(constraint.kind, ConstraintKind::ForeignKey { .. })
}

/// What is added to a temporary table, and what is said of the foreign keys among it, which it does
/// not get.
fn without_foreign_keys(
    work: &SchemaChange<'_>,
    table: &TableDef,
    elements: &[TableElement],
) -> Result<(Vec<TableElement>, Vec<SqlError>), SqlError> {
    let (mut kept, mut said) = (Vec::with_capacity(elements.len()), Vec::new());
    let mut skip = |constraint: &Constraint, column: Option<&str>| -> Result<(), SqlError> {
        let key = table_def::new_foreign_key(constraint, column)?;
        said.push(foreign_keys::skipped(work, &table.name, &key)?);
        Ok(())
    };
    for element in elements {
        match element {
            TableElement::Constraint(constraint) if is_foreign_key(constraint) => {
                skip(constraint, None)?
            }
            TableElement::Column(column) => {
                let mut column = column.clone();
                for constraint in
                    column.constraints.iter().filter(|constraint| is_foreign_key(constraint))
                {
                    skip(constraint, Some(&column.name.value))?;
                }
                column.constraints.retain(|constraint| !is_foreign_key(constraint));
                kept.push(TableElement::Column(column));
            }
            other => kept.push(other.clone()),
        }
    }
    Ok((kept, said))
}

impl StmtCtx<'_> {
    pub(super) fn alter_table(&mut self, stmt: &AlterTable) -> Result<(), SqlError> {
        let (db, table) = resolve_table(self.core, &stmt.name).map_err(|e| match e.number {
            208 => SqlError::of(msg::ALTER_OBJECT_NOT_FOUND, [&stmt.name]),
            _ => e,
        })?;
        if table.storage.options.disabled && !matches!(stmt.action, AlterTableAction::Rebuild(_)) {
            return Err(clustered_disabled(&table));
        }
        let text = self.text;
        let mut work = SchemaChange::begin(self.core, &db)?;
        work.lock_current(&table)?;
        match &stmt.action {
            AlterTableAction::Add { elements, check } => {
                let added = AddClause { text, test: check.unwrap_or(true) };
                if table.is_temporary() {
                    let (elements, said) = without_foreign_keys(&work, &table, elements)?;
                    add::add_elements(&mut work, table, &elements, added)?;
                    drop(work);
                    said.iter().try_for_each(|said| self.sink.message(said))?;
                    return self.add_indexes(&stmt.name, &elements);
                }
                add::add_elements(&mut work, table, elements, added)?;
                drop(work);
                self.add_indexes(&stmt.name, elements)
            }
            AlterTableAction::Drop(elements) => {
                let mut table = table;
                for element in elements {
                    table = drop::drop_element(&mut work, &table, element)?;
                }
                Ok(())
            }
            AlterTableAction::AlterColumn { column, options } => {
                option_rules::check("ALTER TABLE", options, option_rules::ALTER_COLUMN)?;
                alter_column::with_history(&mut work, &table, column, text)
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
            AlterTableAction::Rebuild(options) => rebuild(&mut work, &table, options),
            AlterTableAction::Set(options) => {
                option_rules::check("ALTER TABLE", options, option_rules::SET_TABLE)?;
                let table = set_lock_escalation(&mut work, table, options)?;
                match periods::versioning_of(options)? {
                    None => Ok(()),
                    Some(None) => temporal::switch_off(&mut work, &table),
                    Some(Some(versioning)) => {
                        drop(work);
                        temporal::switch_on(self.core, &db, &table, &versioning)
                    }
                }
            }
            AlterTableAction::Mask { column, function } => {
                let at = table
                    .column(&column.value)
                    .ok_or_else(|| unknown_column(&column.value, &table))?;
                if table.columns[at].computed.is_some() {
                    return Err(is_computed(&table.columns[at].name));
                }
                check_not_computed_from(&table, at)?;
                masks::put(&mut work, &table, at, function.as_deref())
            }
            AlterTableAction::ColumnProperty { column, add, property } => {
                alter_column::column_property(&mut work, &table, &column.value, *add, property)
            }
            AlterTableAction::Switch(switch) => {
                drop(work);
                self.switch_table(&db, &table, switch)
            }
        }
    }

    /// The indexes of ADD, when the columns that they may be on are there.
    fn add_indexes(
        &mut self,
        table: &ObjectName,
        elements: &[TableElement],
    ) -> Result<(), SqlError> {
        let of_columns = elements.iter().filter_map(|element| match element {
            TableElement::Column(column) => Some((column.index.as_deref()?, Some(&column.name))),
            _ => None,
        });
        let own = elements.iter().filter_map(|element| match element {
            TableElement::Index(index) => Some((index, None)),
            _ => None,
        });
        of_columns
            .chain(own)
            .try_for_each(|(index, column)| self.create_index(&as_statement(table, index, column)))
    }

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
            return Err(SqlError::of(
                msg::SWITCH_OTHER_DATABASE,
                [&table.name, &db.name(), &target.name, &other.name()],
            ));
        }
        let mut work = SchemaChange::begin(self.core, db)?;
        work.lock_current(table)?;
        work.lock_current(&target)?;
        ddl::switch::switch(&mut work, table, &target)
    }
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

/// PARTITION = ALL.
fn is_all(value: &OptionValue) -> bool {
    matches!(value, OptionValue::Word(word) if word.eq_ignore_ascii_case("all"))
}

/// REBUILD: builds the heap or clustered index again, with the options that are given.
fn rebuild(
    work: &mut SchemaChange<'_>,
    table: &Arc<TableDef>,
    options: &[OptionItem],
) -> Result<(), SqlError> {
    if options.iter().any(|o| o.name == "PARTITION" && !is_all(&o.value)) {
        return Err(errors::not_supported("ALTER TABLE REBUILD PARTITION"));
    }
    let others: Vec<_> = options.iter().filter(|o| o.name != "PARTITION").cloned().collect();
    option_rules::check("ALTER TABLE REBUILD", &others, option_rules::INDEX)?;
    let mut next = TableDef::clone(table);
    if let Some(compression) = others.iter().find_map(index_options::compression) {
        Arc::make_mut(&mut next.storage).options.set_compression(compression);
    }
    super::index::renew_changed(work, table, next, true, &|_| false).map(drop)
}

/// SET (LOCK_ESCALATION = ...), where it says so and that is new.
fn set_lock_escalation(
    work: &mut SchemaChange<'_>,
    table: Arc<TableDef>,
    options: &[OptionItem],
) -> Result<Arc<TableDef>, SqlError> {
    let word = options.iter().rev().find_map(|o| match &o.value {
        OptionValue::Word(word) if o.name == "LOCK_ESCALATION" => LockEscalation::of(word),
        _ => None,
    });
    match word {
        Some(lock_escalation) if lock_escalation != table.lock_escalation => {
            work.replace(&table, TableDef { lock_escalation, ..TableDef::clone(&table) })
        }
        _ => Ok(table),
    }
}
