//! All rows of a table in another layout: new storage for them and for each index.

use std::sync::Arc;

use types::{SqlError, msg};

use catalog::TableDef;
use catalog::load::layout_of;
use catalog::names::quote;
use ddl::rebuild::copy_rows;
use ddl::shape::check_change;
use ddl::system_functions::SystemFunctions;
use ddl::table_def;
use ddl::work::Work;

/// New storage for all rows in the layout of `next`; `computed` is the column that is not the one
/// of its name, with its value.
pub(crate) fn rewrite(
    work: &mut Work<'_>,
    table: &Arc<TableDef>,
    mut next: TableDef,
    computed: Option<(usize, String)>,
) -> Result<Arc<TableDef>, SqlError> {
    next.layout = layout_of(&next.columns);
    // Before rows of it are made.
    check_change(table, &next)?;
    next.storage = Arc::new(work.renewed(&next.storage)?);
    let mut indexes = Vec::with_capacity(next.indexes.len());
    for index in &next.indexes {
        indexes.push(Arc::new(work.renewed(index)?));
    }
    next.indexes = indexes;
    work.renew_outside(&mut next)?;
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

pub(super) fn unknown_column(name: &str, table: &TableDef) -> SqlError {
    SqlError::of(msg::ALTERED_COLUMN_NOT_FOUND, [&"ALTER TABLE", &name, &table.name])
}

/// What the database and the session give a column that does not say.
pub(super) fn column_defaults(work: &Work<'_>) -> table_def::ColumnDefaults {
    let nullable = work.core.options.ansi_null_dflt_on;
    let quoted_identifier = work.core.options.quoted_identifier;
    table_def::ColumnDefaults {
        functions: SystemFunctions::of(work.core),
        db: work.db.clone(),
        collation: work.db.default_collation(),
        nullable,
        catalog: work.db.catalog(),
        quoted_identifier,
    }
}
