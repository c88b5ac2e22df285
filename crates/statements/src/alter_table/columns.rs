//! The columns that ALTER TABLE names: what they are when it does not say, and 4924.

use types::{SqlError, msg};

use catalog::TableDef;
use ddl::system_functions::SystemFunctions;
use ddl::table_def;
use ddl::work::Work;

/// 4924: the table has no such column.
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
