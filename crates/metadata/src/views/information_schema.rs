//! INFORMATION_SCHEMA: tables, columns, schemata, constraints.

use std::sync::Arc;

use compact_str::CompactString;
use types::{Collation, DataType, Len, Value};

use super::{SYSNAME, View, ViewColumn, pick, text};
use catalog::{
    AliasDef, Catalog, ColumnDef, ConstraintAt, ConstraintKind, Db, ModuleKind, TableDef,
    constraints_of,
};

use catalog::security::is_fixed_role;

use DataType::{Int, NVarChar, SmallInt, TinyInt, VarChar};

const TABLE_COLUMNS: &[ViewColumn] = &[
    ("TABLE_CATALOG", SYSNAME, true),
    ("TABLE_SCHEMA", SYSNAME, true),
    ("TABLE_NAME", SYSNAME, false),
    ("TABLE_TYPE", VarChar(Len::N(10)), true),
];

/// INFORMATION_SCHEMA.TABLES.
pub static TABLES: View =
    View::information_seeking("TABLES", TABLE_COLUMNS, &[2], pick::per_table, |_, db, wanted| {
        let row = |schema: &str, name: &str, kind: &str| {
            wanted.part(vec![Value::Str(db.name()), text(schema), text(name), text(kind)])
        };
        let catalog = db.catalog();
        let tables = pick::tables(&catalog, wanted, usize::MAX, Some(2)).into_iter();
        let mut rows: Vec<_> = tables.map(|t| row(&t.schema, &t.name, "BASE TABLE")).collect();
        let views = pick::modules(&catalog, ModuleKind::View, wanted, usize::MAX, Some(2));
        rows.extend(views.iter().map(|v| row(&v.schema, &v.name, "VIEW")));
        Ok(rows)
    });

const COLUMN_COLUMNS: &[ViewColumn] = &[
    ("TABLE_CATALOG", SYSNAME, true),
    ("TABLE_SCHEMA", SYSNAME, true),
    ("TABLE_NAME", SYSNAME, false),
    ("COLUMN_NAME", SYSNAME, true),
    ("ORDINAL_POSITION", Int, true),
    ("COLUMN_DEFAULT", NVarChar(Len::N(4000)), true),
    ("IS_NULLABLE", VarChar(Len::N(3)), true),
    ("DATA_TYPE", SYSNAME, true),
    ("CHARACTER_MAXIMUM_LENGTH", Int, true),
    ("CHARACTER_OCTET_LENGTH", Int, true),
    ("NUMERIC_PRECISION", TinyInt, true),
    ("NUMERIC_PRECISION_RADIX", SmallInt, true),
    ("NUMERIC_SCALE", Int, true),
    ("DATETIME_PRECISION", SmallInt, true),
    ("CHARACTER_SET_CATALOG", SYSNAME, true),
    ("CHARACTER_SET_SCHEMA", SYSNAME, true),
    ("CHARACTER_SET_NAME", SYSNAME, true),
    ("COLLATION_CATALOG", SYSNAME, true),
    ("COLLATION_SCHEMA", SYSNAME, true),
    ("COLLATION_NAME", SYSNAME, true),
    ("DOMAIN_CATALOG", SYSNAME, true),
    ("DOMAIN_SCHEMA", SYSNAME, true),
    ("DOMAIN_NAME", SYSNAME, true),
];

/// A type as INFORMATION_SCHEMA takes it apart.
pub(super) struct TypeParts {
    ty: DataType,
    collation: Collation,
    /// The alias type that it was declared with, and its database.
    domain: Option<(Arc<AliasDef>, CompactString)>,
}

impl TypeParts {
    pub(super) fn of(ty: DataType, collation: Collation) -> TypeParts {
        TypeParts { ty, collation, domain: None }
    }

    /// Of a table's column.
    fn of_column(column: &ColumnDef, catalog: &Catalog, db: &Db) -> TypeParts {
        let alias = column.alias.and_then(|id| catalog.alias(id)).cloned();
        TypeParts {
            domain: alias.map(|alias| (alias, db.name())),
            ..TypeParts::of(column.ty, column.collation)
        }
    }

    /// The value of a column with this name; NULL for columns that do not speak of the type.
    pub(super) fn value(&self, column: &str) -> Value {
        let ty = self.ty;
        let length = |bytes: bool| match ty.length() {
            _ if ty == DataType::Xml => Value::Int(-1),
            _ if ty == DataType::HierarchyId => Value::Int(ty.max_length().into()),
            _ if !(ty.is_string() || ty.is_binary()) || ty == DataType::RowVersion => Value::Null,
            None if !ty.is_old_lob() => Value::Int(-1),
            _ => Value::Int(ty.shown_length() * if bytes && ty.is_unicode() { 2 } else { 1 }),
        };
        let exact = ty.as_decimal().is_some() && ty != DataType::Bit;
        let approximate = matches!(ty, DataType::Float | DataType::Real);
        match column {
            "DATA_TYPE" => text(ty.base_name()),
            "CHARACTER_MAXIMUM_LENGTH" => length(false),
            "CHARACTER_OCTET_LENGTH" => length(true),
            "NUMERIC_PRECISION" if exact || approximate => Value::TinyInt(ty.precision()),
            "NUMERIC_PRECISION_RADIX" if exact => Value::SmallInt(10),
            "NUMERIC_PRECISION_RADIX" if approximate => Value::SmallInt(2),
            "NUMERIC_SCALE" if exact => Value::Int(ty.scale().into()),
            "DATETIME_PRECISION" if ty.is_temporal() => Value::SmallInt(ty.scale().into()),
            "CHARACTER_SET_NAME" if ty.is_unicode() => text("UNICODE"),
            "CHARACTER_SET_NAME" if ty.is_string() => text("iso_1"),
            "COLLATION_NAME" if ty.is_string() => text(self.collation.name()),
            _ => self.domain.as_ref().map_or(Value::Null, |(alias, db)| match column {
                "DOMAIN_CATALOG" => text(db),
                "DOMAIN_SCHEMA" => text(&alias.schema),
                "DOMAIN_NAME" => text(&alias.name),
                _ => Value::Null,
            }),
        }
    }
}

/// INFORMATION_SCHEMA.COLUMNS: of tables and views.
pub static COLUMNS: View = View::information_seeking(
    "COLUMNS",
    COLUMN_COLUMNS,
    &[2],
    pick::per_column,
    |session, db, wanted| {
        let mut rows = Vec::new();
        let mut add = |(schema, table): (&str, &str),
                       (at, name, nullable): (usize, &str, bool),
                       default: Option<&str>,
                       parts: TypeParts| {
            rows.push(wanted.row(|column| match column {
                0 => Value::Str(db.name()),
                1 => text(schema),
                2 => text(table),
                3 => text(name),
                4 => Value::Int(at as i32 + 1),
                5 => default.map_or(Value::Null, text),
                6 => text(if nullable { "YES" } else { "NO" }),
                _ => parts.value(COLUMN_COLUMNS[column].0),
            }));
        };
        let catalog = db.catalog();
        for t in pick::tables(&catalog, wanted, usize::MAX, Some(2)) {
            for (i, c) in t.columns.iter().enumerate() {
                let default = c.default.as_ref().map(|d| d.text.as_str());
                let parts = TypeParts::of_column(c, &catalog, db);
                add((&t.schema, &t.name), (i, &c.name, c.nullable), default, parts);
            }
        }
        for v in pick::modules(&catalog, ModuleKind::View, wanted, usize::MAX, Some(2)) {
            let columns = super::columns_of_view(session, db, &v).unwrap_or_default();
            for (i, c) in columns.iter().enumerate() {
                let parts = TypeParts::of(c.ty, Collation::DEFAULT);
                add((&v.schema, &v.name), (i, &c.name, c.nullable), None, parts);
            }
        }
        Ok(rows)
    },
);

const SCHEMA_COLUMNS: &[ViewColumn] = &[
    ("CATALOG_NAME", SYSNAME, true),
    ("SCHEMA_NAME", SYSNAME, false),
    ("SCHEMA_OWNER", SYSNAME, true),
    ("DEFAULT_CHARACTER_SET_NAME", SYSNAME, true),
];

/// INFORMATION_SCHEMA.SCHEMATA.
pub(crate) static SCHEMATA: View = View::information("SCHEMATA", SCHEMA_COLUMNS, |_, db, _| {
    let catalog = db.catalog();
    let mut schemas: Vec<_> = catalog.schema_names.iter().collect();
    schemas.sort();
    let row = |(id, name): (&i32, &compact_str::CompactString)| {
        let owner = if is_fixed_role(*id) { name.as_str() } else { "dbo" };
        vec![Value::Str(db.name()), text(name), text(owner), text("iso_1")]
    };
    Ok(schemas.into_iter().map(row).collect())
});

const CONSTRAINT_COLUMNS: &[ViewColumn] = &[
    ("CONSTRAINT_CATALOG", SYSNAME, true),
    ("CONSTRAINT_SCHEMA", SYSNAME, true),
    ("CONSTRAINT_NAME", SYSNAME, false),
    ("TABLE_CATALOG", SYSNAME, true),
    ("TABLE_SCHEMA", SYSNAME, true),
    ("TABLE_NAME", SYSNAME, true),
    ("CONSTRAINT_TYPE", VarChar(Len::N(11)), true),
    ("IS_DEFERRABLE", VarChar(Len::N(2)), false),
    ("INITIALLY_DEFERRED", VarChar(Len::N(2)), false),
];

/// The constraints of a table, those of defaults excepted.
pub(super) fn constraints(table: &Arc<TableDef>) -> Vec<ConstraintAt> {
    let all = constraints_of(table).into_iter();
    let shown = all.filter(|(_, kind)| !matches!(kind, ConstraintKind::Default(_)));
    shown.map(|(_, kind)| ConstraintAt { table: table.clone(), kind }).collect()
}

/// INFORMATION_SCHEMA.TABLE_CONSTRAINTS.
pub static TABLE_CONSTRAINTS: View = View::information_seeking(
    "TABLE_CONSTRAINTS",
    CONSTRAINT_COLUMNS,
    &[5],
    pick::some_per_table,
    |_, db, wanted| {
        let (catalog, mut rows) = (db.catalog(), Vec::new());
        for table in pick::tables(&catalog, wanted, usize::MAX, Some(5)) {
            for constraint in constraints(table) {
                rows.push(wanted.part(vec![
                    Value::Str(db.name()),
                    text(&table.schema),
                    Value::Str(constraint.name().clone()),
                    Value::Str(db.name()),
                    text(&table.schema),
                    text(&table.name),
                    text(match constraint.kind {
                        ConstraintKind::PrimaryKey(_) => "PRIMARY KEY",
                        ConstraintKind::Unique(_) => "UNIQUE",
                        ConstraintKind::ForeignKey(_) => "FOREIGN KEY",
                        ConstraintKind::Check(_) | ConstraintKind::Default(_) => "CHECK",
                    }),
                    text("NO"),
                    text("NO"),
                ]));
            }
        }
        Ok(rows)
    },
);

const USAGE_COLUMNS: &[ViewColumn] = &[
    ("CONSTRAINT_CATALOG", SYSNAME, true),
    ("CONSTRAINT_SCHEMA", SYSNAME, true),
    ("CONSTRAINT_NAME", SYSNAME, false),
    ("TABLE_CATALOG", SYSNAME, true),
    ("TABLE_SCHEMA", SYSNAME, true),
    ("TABLE_NAME", SYSNAME, false),
    ("COLUMN_NAME", SYSNAME, true),
    ("ORDINAL_POSITION", Int, false),
];

/// INFORMATION_SCHEMA.KEY_COLUMN_USAGE: of primary, unique and foreign keys.
pub static KEY_COLUMN_USAGE: View = View::information_seeking(
    "KEY_COLUMN_USAGE",
    USAGE_COLUMNS,
    &[5],
    pick::some_per_table,
    |_, db, wanted| {
        let (catalog, mut rows) = (db.catalog(), Vec::new());
        for table in pick::tables(&catalog, wanted, usize::MAX, Some(5)) {
            for constraint in constraints(table) {
                for (i, at) in key_of(&constraint).into_iter().enumerate() {
                    rows.push(wanted.part(vec![
                        Value::Str(db.name()),
                        text(&table.schema),
                        Value::Str(constraint.name().clone()),
                        Value::Str(db.name()),
                        text(&table.schema),
                        text(&table.name),
                        text(&table.columns[at].name),
                        Value::Int(i as i32 + 1),
                    ]));
                }
            }
        }
        Ok(rows)
    },
);

/// Positions of the columns of a key.
fn key_of(constraint: &ConstraintAt) -> Vec<usize> {
    let table = &constraint.table;
    match constraint.kind {
        ConstraintKind::PrimaryKey(id) | ConstraintKind::Unique(id) => {
            let index = table.all_indexes().find(|index| index.index_id == id);
            index.map_or(Vec::new(), |index| index.key.iter().map(|(at, _)| *at).collect())
        }
        ConstraintKind::ForeignKey(at) => table.foreign_keys[at]
            .columns
            .iter()
            .filter_map(|(own, _)| table.position(*own))
            .collect(),
        ConstraintKind::Check(_) | ConstraintKind::Default(_) => Vec::new(),
    }
}
