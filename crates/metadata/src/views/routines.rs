//! INFORMATION_SCHEMA of views, procedures and constraints: VIEWS, ROUTINES, PARAMETERS,
//! REFERENTIAL_CONSTRAINTS, CHECK_CONSTRAINTS, CONSTRAINT_TABLE_USAGE, CONSTRAINT_COLUMN_USAGE,
//! DOMAINS.

use std::sync::Arc;

use bind::module::checks_changes;
use compact_str::CompactString;
use types::{Collation, DataType, Len, Value};

use super::information_schema::{TypeParts, constraints};
use super::parameters::WITH_PARAMETERS;
use super::{SYSNAME, View, ViewColumn, pick, text};
use catalog::{ConstraintAt, ConstraintKind, ModuleDef, ModuleKind, TableDef, fold_name};
use ddl::function_nature::FunctionNature;
use ddl::system_functions::SystemFunctions;
use programs::module::{ParamCode, params_of, result_of};
use syntax::ast::ReferentialAction;

use DataType::{BigInt, DateTime, Int, NVarChar, SmallInt, TinyInt, VarChar};

const N10: DataType = NVarChar(Len::N(10));
const N20: DataType = NVarChar(Len::N(20));
const N30: DataType = NVarChar(Len::N(30));
const N4000: DataType = NVarChar(Len::N(4000));

/// A definition as these views show it: NULL when it is longer than 4,000 characters.
fn definition(module: &ModuleDef) -> Value {
    if module.text.chars().count() > 4000 { Value::Null } else { text(&module.text) }
}

const VIEW_COLUMNS: &[ViewColumn] = &[
    ("TABLE_CATALOG", SYSNAME, true),
    ("TABLE_SCHEMA", SYSNAME, true),
    ("TABLE_NAME", SYSNAME, false),
    ("VIEW_DEFINITION", N4000, true),
    ("CHECK_OPTION", VarChar(Len::N(7)), true),
    ("IS_UPDATABLE", VarChar(Len::N(2)), false),
];

/// INFORMATION_SCHEMA.VIEWS.
pub static VIEWS: View =
    View::information_seeking("VIEWS", VIEW_COLUMNS, &[2], pick::per_module, |_, db, wanted| {
        let row = |m: &Arc<ModuleDef>| {
            wanted.part(vec![
                Value::Str(db.name()),
                text(&m.schema),
                text(&m.name),
                definition(m),
                text(if checks_changes(m) { "CASCADE" } else { "NONE" }),
                text("NO"),
            ])
        };
        let views = pick::modules(&db.catalog(), ModuleKind::View, wanted, usize::MAX, Some(2));
        Ok(views.iter().map(row).collect())
    });

const ROUTINE_COLUMNS: &[ViewColumn] = &[
    ("SPECIFIC_CATALOG", SYSNAME, true),
    ("SPECIFIC_SCHEMA", SYSNAME, true),
    ("SPECIFIC_NAME", SYSNAME, false),
    ("ROUTINE_CATALOG", SYSNAME, true),
    ("ROUTINE_SCHEMA", SYSNAME, true),
    ("ROUTINE_NAME", SYSNAME, false),
    ("ROUTINE_TYPE", N20, true),
    ("MODULE_CATALOG", SYSNAME, true),
    ("MODULE_SCHEMA", SYSNAME, true),
    ("MODULE_NAME", SYSNAME, true),
    ("UDT_CATALOG", SYSNAME, true),
    ("UDT_SCHEMA", SYSNAME, true),
    ("UDT_NAME", SYSNAME, true),
    ("DATA_TYPE", SYSNAME, true),
    ("CHARACTER_MAXIMUM_LENGTH", Int, true),
    ("CHARACTER_OCTET_LENGTH", Int, true),
    ("COLLATION_CATALOG", SYSNAME, true),
    ("COLLATION_SCHEMA", SYSNAME, true),
    ("COLLATION_NAME", SYSNAME, true),
    ("CHARACTER_SET_CATALOG", SYSNAME, true),
    ("CHARACTER_SET_SCHEMA", SYSNAME, true),
    ("CHARACTER_SET_NAME", SYSNAME, true),
    ("NUMERIC_PRECISION", TinyInt, true),
    ("NUMERIC_PRECISION_RADIX", SmallInt, true),
    ("NUMERIC_SCALE", Int, true),
    ("DATETIME_PRECISION", SmallInt, true),
    ("INTERVAL_TYPE", N30, true),
    ("INTERVAL_PRECISION", SmallInt, true),
    ("TYPE_UDT_CATALOG", SYSNAME, true),
    ("TYPE_UDT_SCHEMA", SYSNAME, true),
    ("TYPE_UDT_NAME", SYSNAME, true),
    ("SCOPE_CATALOG", SYSNAME, true),
    ("SCOPE_SCHEMA", SYSNAME, true),
    ("SCOPE_NAME", SYSNAME, true),
    ("MAXIMUM_CARDINALITY", BigInt, true),
    ("DTD_IDENTIFIER", SYSNAME, true),
    ("ROUTINE_BODY", N30, true),
    ("ROUTINE_DEFINITION", N4000, true),
    ("EXTERNAL_NAME", SYSNAME, true),
    ("EXTERNAL_LANGUAGE", N30, true),
    ("PARAMETER_STYLE", N30, true),
    ("IS_DETERMINISTIC", N10, true),
    ("SQL_DATA_ACCESS", N30, true),
    ("IS_NULL_CALL", N10, true),
    ("SQL_PATH", SYSNAME, true),
    ("SCHEMA_LEVEL_ROUTINE", N10, true),
    ("MAX_DYNAMIC_RESULT_SETS", SmallInt, true),
    ("IS_USER_DEFINED_CAST", N10, true),
    ("IS_IMPLICITLY_INVOCABLE", N10, true),
    ("CREATED", DateTime, false),
    ("LAST_ALTERED", DateTime, false),
];

/// INFORMATION_SCHEMA.ROUTINES.
pub static ROUTINES: View = View::information_seeking(
    "ROUTINES",
    ROUTINE_COLUMNS,
    &[2, 5],
    pick::per_module,
    |session, db, wanted| {
        let (catalog, functions) = (db.catalog(), SystemFunctions::of(session));
        let row = |m: &Arc<ModuleDef>| {
            wanted.row(|at| match ROUTINE_COLUMNS[at].0 {
                "SPECIFIC_CATALOG" | "ROUTINE_CATALOG" => Value::Str(db.name()),
                "SPECIFIC_SCHEMA" | "ROUTINE_SCHEMA" => text(&m.schema),
                "SPECIFIC_NAME" | "ROUTINE_NAME" => text(&m.name),
                "ROUTINE_TYPE" => text(if m.kind.is_function() { "FUNCTION" } else { "PROCEDURE" }),
                "ROUTINE_BODY" => text("SQL"),
                "ROUTINE_DEFINITION" => definition(m),
                "SQL_DATA_ACCESS" if m.kind.is_function() => text("READS"),
                "MAX_DYNAMIC_RESULT_SETS" if m.kind.is_function() => Value::SmallInt(0),
                "DATA_TYPE" if m.kind.is_table_function() => text("TABLE"),
                "IS_NULL_CALL" if m.kind.is_function() => {
                    text(if m.is_strict() { "NO" } else { "YES" })
                }
                "IS_DETERMINISTIC" if m.kind.is_function() => {
                    text(if FunctionNature::of(functions, db, m).deterministic {
                        "YES"
                    } else {
                        "NO"
                    })
                }
                "IS_DETERMINISTIC" | "IS_USER_DEFINED_CAST" | "IS_IMPLICITLY_INVOCABLE" => {
                    text("NO")
                }
                "SQL_DATA_ACCESS" => text("MODIFIES"),
                "SCHEMA_LEVEL_ROUTINE" => text("YES"),
                "MAX_DYNAMIC_RESULT_SETS" => Value::SmallInt(-1),
                "CREATED" => m.create_date.clone(),
                "LAST_ALTERED" => m.modify_date.clone(),
                name => match result_of(m, &catalog) {
                    Ok(Some(ty)) => TypeParts::of(ty, Collation::DEFAULT).value(name),
                    _ => Value::Null,
                },
            })
        };
        let list = pick::modules_of(&catalog, &WITH_PARAMETERS, wanted, usize::MAX, Some(2));
        Ok(list.iter().filter(|m| wanted.may_be(5, &m.name)).map(row).collect())
    },
);

const PARAMETER_COLUMNS: &[ViewColumn] = &[
    ("SPECIFIC_CATALOG", SYSNAME, true),
    ("SPECIFIC_SCHEMA", SYSNAME, true),
    ("SPECIFIC_NAME", SYSNAME, false),
    ("ORDINAL_POSITION", Int, false),
    ("PARAMETER_MODE", N10, true),
    ("IS_RESULT", N10, true),
    ("AS_LOCATOR", N10, true),
    ("PARAMETER_NAME", SYSNAME, true),
    ("DATA_TYPE", SYSNAME, true),
    ("CHARACTER_MAXIMUM_LENGTH", Int, true),
    ("CHARACTER_OCTET_LENGTH", Int, true),
    ("COLLATION_CATALOG", SYSNAME, true),
    ("COLLATION_SCHEMA", SYSNAME, true),
    ("COLLATION_NAME", SYSNAME, true),
    ("CHARACTER_SET_CATALOG", SYSNAME, true),
    ("CHARACTER_SET_SCHEMA", SYSNAME, true),
    ("CHARACTER_SET_NAME", SYSNAME, true),
    ("NUMERIC_PRECISION", TinyInt, true),
    ("NUMERIC_PRECISION_RADIX", SmallInt, true),
    ("NUMERIC_SCALE", Int, true),
    ("DATETIME_PRECISION", SmallInt, true),
    ("INTERVAL_TYPE", N30, true),
    ("INTERVAL_PRECISION", SmallInt, true),
    ("USER_DEFINED_TYPE_CATALOG", SYSNAME, true),
    ("USER_DEFINED_TYPE_SCHEMA", SYSNAME, true),
    ("USER_DEFINED_TYPE_NAME", SYSNAME, true),
    ("SCOPE_CATALOG", SYSNAME, true),
    ("SCOPE_SCHEMA", SYSNAME, true),
    ("SCOPE_NAME", SYSNAME, true),
];

/// What the columns that speak of its type say of a parameter that is a table.
fn table_parameter(column: &str, param: &ParamCode, db: &str) -> Value {
    match (column, &param.table) {
        ("DATA_TYPE", _) => text("table type"),
        ("USER_DEFINED_TYPE_CATALOG", _) => text(db),
        ("USER_DEFINED_TYPE_SCHEMA", Some(def)) => text(&def.schema),
        ("USER_DEFINED_TYPE_NAME", Some(def)) => text(&def.name),
        _ => Value::Null,
    }
}

/// INFORMATION_SCHEMA.PARAMETERS.
pub static PARAMETERS: View = View::information_seeking(
    "PARAMETERS",
    PARAMETER_COLUMNS,
    &[2],
    pick::per_module,
    |_, db, wanted| {
        let (catalog, mut rows) = (db.catalog(), Vec::new());
        for module in pick::modules_of(&catalog, &WITH_PARAMETERS, wanted, usize::MAX, Some(2)) {
            if let Some(ty) = result_of(&module, &catalog)? {
                let parts = TypeParts::of(ty, Collation::DEFAULT);
                rows.push(wanted.row(|at| match PARAMETER_COLUMNS[at].0 {
                    "SPECIFIC_CATALOG" => Value::Str(db.name()),
                    "SPECIFIC_SCHEMA" => text(&module.schema),
                    "SPECIFIC_NAME" => text(&module.name),
                    "ORDINAL_POSITION" => Value::Int(0),
                    "PARAMETER_MODE" => text("OUT"),
                    "IS_RESULT" => text("YES"),
                    "AS_LOCATOR" => text("NO"),
                    "PARAMETER_NAME" => text(""),
                    name => parts.value(name),
                }));
            }
            for (i, p) in params_of(&module, &catalog)?.into_iter().enumerate() {
                let parts = TypeParts::of(p.ty, Collation::DEFAULT);
                rows.push(wanted.row(|at| match PARAMETER_COLUMNS[at].0 {
                    "SPECIFIC_CATALOG" => Value::Str(db.name()),
                    "SPECIFIC_SCHEMA" => text(&module.schema),
                    "SPECIFIC_NAME" => text(&module.name),
                    "ORDINAL_POSITION" => Value::Int(i as i32 + 1),
                    "PARAMETER_MODE" => text(if p.output { "INOUT" } else { "IN" }),
                    "IS_RESULT" | "AS_LOCATOR" => text("NO"),
                    "PARAMETER_NAME" => Value::Str(p.name.clone()),
                    name if p.table.is_some() => table_parameter(name, &p, &db.name()),
                    name => parts.value(name),
                }));
            }
        }
        Ok(rows)
    },
);

const REFERENTIAL_COLUMNS: &[ViewColumn] = &[
    ("CONSTRAINT_CATALOG", SYSNAME, true),
    ("CONSTRAINT_SCHEMA", SYSNAME, true),
    ("CONSTRAINT_NAME", SYSNAME, false),
    ("UNIQUE_CONSTRAINT_CATALOG", SYSNAME, true),
    ("UNIQUE_CONSTRAINT_SCHEMA", SYSNAME, true),
    ("UNIQUE_CONSTRAINT_NAME", SYSNAME, true),
    ("MATCH_OPTION", VarChar(Len::N(7)), true),
    ("UPDATE_RULE", VarChar(Len::N(11)), true),
    ("DELETE_RULE", VarChar(Len::N(11)), true),
];

/// INFORMATION_SCHEMA.REFERENTIAL_CONSTRAINTS.
pub(crate) static REFERENTIAL_CONSTRAINTS: View =
    View::information("REFERENTIAL_CONSTRAINTS", REFERENTIAL_COLUMNS, |_, db, _| {
        let rule = |action: ReferentialAction| {
            text(match action {
                ReferentialAction::NoAction => "NO ACTION",
                ReferentialAction::Cascade => "CASCADE",
                ReferentialAction::SetNull => "SET NULL",
                ReferentialAction::SetDefault => "SET DEFAULT",
            })
        };
        let (catalog, mut rows) = (db.catalog(), Vec::new());
        for table in catalog.sorted() {
            for key in &table.foreign_keys {
                let parent = catalog.by_id.get(&key.parent);
                let index =
                    parent.and_then(|parent| parent.all_indexes().find(|i| i.index_id == key.key));
                rows.push(vec![
                    Value::Str(db.name()),
                    text(&table.schema),
                    text(&key.name),
                    Value::Str(db.name()),
                    parent.map_or(Value::Null, |parent| text(&parent.schema)),
                    index.map_or(Value::Null, |index| text(&index.name)),
                    text("SIMPLE"),
                    rule(key.on_update),
                    rule(key.on_delete),
                ]);
            }
        }
        Ok(rows)
    });

const CHECK_COLUMNS: &[ViewColumn] = &[
    ("CONSTRAINT_CATALOG", SYSNAME, true),
    ("CONSTRAINT_SCHEMA", SYSNAME, true),
    ("CONSTRAINT_NAME", SYSNAME, false),
    ("CHECK_CLAUSE", N4000, true),
];

/// INFORMATION_SCHEMA.CHECK_CONSTRAINTS.
pub static CHECK_CONSTRAINTS: View =
    View::information("CHECK_CONSTRAINTS", CHECK_COLUMNS, |_, db, _| {
        let mut rows = Vec::new();
        for table in db.catalog().sorted() {
            for check in &table.checks {
                rows.push(vec![
                    Value::Str(db.name()),
                    text(&table.schema),
                    text(&check.name),
                    text(&check.text),
                ]);
            }
        }
        Ok(rows)
    });

const TABLE_USAGE_COLUMNS: &[ViewColumn] = &[
    ("TABLE_CATALOG", SYSNAME, true),
    ("TABLE_SCHEMA", SYSNAME, true),
    ("TABLE_NAME", SYSNAME, false),
    ("CONSTRAINT_CATALOG", SYSNAME, true),
    ("CONSTRAINT_SCHEMA", SYSNAME, true),
    ("CONSTRAINT_NAME", SYSNAME, false),
];

/// INFORMATION_SCHEMA.CONSTRAINT_TABLE_USAGE.
pub(crate) static CONSTRAINT_TABLE_USAGE: View = View::information_seeking(
    "CONSTRAINT_TABLE_USAGE",
    TABLE_USAGE_COLUMNS,
    &[2],
    pick::some_per_table,
    |_, db, wanted| {
        let (catalog, mut rows) = (db.catalog(), Vec::new());
        for table in pick::tables(&catalog, wanted, usize::MAX, Some(2)) {
            for constraint in constraints(table) {
                rows.push(wanted.part(vec![
                    Value::Str(db.name()),
                    text(&table.schema),
                    text(&table.name),
                    Value::Str(db.name()),
                    text(&table.schema),
                    Value::Str(constraint.name().clone()),
                ]));
            }
        }
        Ok(rows)
    },
);

const COLUMN_USAGE_COLUMNS: &[ViewColumn] = &[
    ("TABLE_CATALOG", SYSNAME, true),
    ("TABLE_SCHEMA", SYSNAME, true),
    ("TABLE_NAME", SYSNAME, false),
    ("COLUMN_NAME", SYSNAME, true),
    ("CONSTRAINT_CATALOG", SYSNAME, true),
    ("CONSTRAINT_SCHEMA", SYSNAME, true),
    ("CONSTRAINT_NAME", SYSNAME, false),
];

/// INFORMATION_SCHEMA.CONSTRAINT_COLUMN_USAGE.
pub(crate) static CONSTRAINT_COLUMN_USAGE: View = View::information_seeking(
    "CONSTRAINT_COLUMN_USAGE",
    COLUMN_USAGE_COLUMNS,
    &[2],
    pick::some_per_table,
    |_, db, wanted| {
        let (catalog, mut rows) = (db.catalog(), Vec::new());
        for table in pick::tables(&catalog, wanted, usize::MAX, Some(2)) {
            for constraint in constraints(table) {
                for column in columns_of(&constraint) {
                    rows.push(wanted.part(vec![
                        Value::Str(db.name()),
                        text(&table.schema),
                        text(&table.name),
                        Value::Str(column),
                        Value::Str(db.name()),
                        text(&table.schema),
                        Value::Str(constraint.name().clone()),
                    ]));
                }
            }
        }
        Ok(rows)
    },
);

/// The columns of its own table that a constraint names.
fn columns_of(constraint: &ConstraintAt) -> Vec<CompactString> {
    let table = &constraint.table;
    let name = |at: usize| table.columns[at].name.clone();
    match constraint.kind {
        ConstraintKind::PrimaryKey(id) | ConstraintKind::Unique(id) => {
            let index = table.all_indexes().find(|index| index.index_id == id);
            index.map_or(Vec::new(), |index| index.key.iter().map(|(at, _)| name(*at)).collect())
        }
        ConstraintKind::ForeignKey(at) => {
            let pairs = table.foreign_keys[at].columns.iter();
            pairs.filter_map(|(own, _)| table.position(*own)).map(name).collect()
        }
        ConstraintKind::Check(at) => named_in(table, &table.checks[at].text),
        ConstraintKind::Default(_) => Vec::new(),
    }
}

/// The columns that a text names.
fn named_in(table: &TableDef, condition: &str) -> Vec<CompactString> {
    let tokens = syntax::lexer::tokenize(condition).list;
    let words: Vec<_> = tokens
        .iter()
        .map(|token| fold_name(token.span.text(condition).trim_matches(['[', ']', '"'])))
        .collect();
    let named = |c: &&catalog::ColumnDef| words.contains(&fold_name(&c.name));
    table.columns.iter().filter(named).map(|c| c.name.clone()).collect()
}

const DOMAIN_COLUMNS: &[ViewColumn] = &[
    ("DOMAIN_CATALOG", SYSNAME, true),
    ("DOMAIN_SCHEMA", SYSNAME, true),
    ("DOMAIN_NAME", SYSNAME, false),
    ("DATA_TYPE", SYSNAME, true),
    ("CHARACTER_MAXIMUM_LENGTH", Int, true),
    ("CHARACTER_OCTET_LENGTH", Int, true),
    ("COLLATION_CATALOG", SYSNAME, true),
    ("COLLATION_SCHEMA", SYSNAME, true),
    ("COLLATION_NAME", SYSNAME, true),
    ("CHARACTER_SET_CATALOG", SYSNAME, true),
    ("CHARACTER_SET_SCHEMA", SYSNAME, true),
    ("CHARACTER_SET_NAME", SYSNAME, true),
    ("NUMERIC_PRECISION", TinyInt, true),
    ("NUMERIC_PRECISION_RADIX", SmallInt, true),
    ("NUMERIC_SCALE", Int, true),
    ("DATETIME_PRECISION", SmallInt, true),
    ("DOMAIN_DEFAULT", N4000, true),
];

/// INFORMATION_SCHEMA.DOMAINS: alias types.
pub(crate) static DOMAINS: View = View::information("DOMAINS", DOMAIN_COLUMNS, |_, db, _| {
    let catalog = db.catalog();
    let mut aliases: Vec<_> = catalog.types.values().collect();
    aliases.sort_by(|a, b| (&a.schema, &a.name).cmp(&(&b.schema, &b.name)));
    let row = |alias: &&Arc<catalog::AliasDef>| {
        let parts = TypeParts::of(alias.base, Collation::DEFAULT);
        let value = |(name, _, _): &ViewColumn| match *name {
            "DOMAIN_CATALOG" => Value::Str(db.name()),
            "DOMAIN_SCHEMA" => text(&alias.schema),
            "DOMAIN_NAME" => text(&alias.name),
            name => parts.value(name),
        };
        DOMAIN_COLUMNS.iter().map(value).collect()
    };
    Ok(aliases.iter().map(row).collect())
});
