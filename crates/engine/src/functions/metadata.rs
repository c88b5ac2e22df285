//! Functions over the catalog: DB_ID, OBJECT_ID, COL_NAME, TYPE_NAME and the like. They see the committed catalog of
//! the moment, as SQL Server's do.

use super::session;
use crate::state::changes::Action;
use catalog::Db;
use catalog::ModuleKind;
use catalog::TableDef;
use catalog::fold_name;
use compact_str::CompactString;
use expr::functions::{ArgRule as A, CallCx, Function, Stability, int, int_arg, smallint, sysname, text_arg};
use std::sync::Arc;
use types::{DataType, SqlError, Value};

const fn f(
    name: &'static str,
    count: (u8, u8),
    args: &'static [A],
    result: expr::functions::ResultRule,
    eval: expr::functions::Eval,
) -> Function {
    Function {
        name,
        min: count.0,
        max: count.1,
        args,
        result,
        strict: true,
        stability: Stability::Statement,
        nullable: true,
        eval,
    }
}

/// The functions of this theme.
pub const FUNCTIONS: &[Function] = &[
    f("db_id", (0, 1), &[A::Name], smallint, db_id),
    f("db_name", (0, 1), &[A::Int], sysname, db_name),
    f("original_db_name", (0, 0), &[], sysname, db_name),
    f("object_id", (1, 2), &[A::Name], int, object_id),
    f("object_name", (1, 2), &[A::Int], sysname, |a, cx| {
        let db = other_db(a, 1, cx)?;
        Ok(object_named(&db, int_arg(a, 0)).map_or(Value::Null, |(_, name)| Value::Str(name)))
    }),
    f("object_schema_name", (1, 2), &[A::Int], sysname, |a, cx| {
        let db = other_db(a, 1, cx)?;
        Ok(object_named(&db, int_arg(a, 0)).map_or(Value::Null, |(schema, _)| Value::Str(schema)))
    }),
    f("object_definition", (1, 1), &[A::Int], nvarchar_max, object_definition),
    f("column_updated", (1, 1), &[A::Int], int, column_updated),
    f("columns_updated", (0, 0), &[], column_mask, columns_updated),
    f("stats_date", (2, 2), &[A::Int], date_time, stats_date),
    f("schema_name", (0, 1), &[A::Int], sysname, schema_name),
    f("schema_id", (0, 1), &[A::Name], int, schema_id),
    f("col_name", (2, 2), &[A::Int], sysname, |a, cx| {
        let db = Some(session(cx)?.db().clone());
        let id = int_arg(a, 1);
        Ok(with_table(&db, int_arg(a, 0), |t| {
            let column = t.columns.iter().find(|c| i64::from(c.column_id) == id);
            column.map_or(Value::Null, |c| Value::Str(c.name.clone()))
        }))
    }),
    f("col_length", (2, 2), &[A::Name], smallint, |a, cx| {
        let Some(table) = named_table(text_arg(a, 0), cx)? else { return Ok(Value::Null) };
        let name = fold_name(text_arg(a, 1));
        let column = table.columns.iter().find(|c| fold_name(&c.name) == name);
        Ok(column.map_or(Value::Null, |c| Value::SmallInt(c.ty.max_length())))
    }),
    f("columnproperty", (3, 3), &[A::Int, A::Name], int, columnproperty),
    f("objectproperty", (2, 2), &[A::Int, A::Name], int, objectproperty),
    f("objectpropertyex", (2, 2), &[A::Int, A::Name], int, objectproperty),
    f("indexproperty", (3, 3), &[A::Int, A::Name], int, indexproperty),
    f("index_col", (3, 3), &[A::Name, A::Int], sysname, index_col),
    f("type_name", (1, 1), &[A::Int], sysname, |a, _| {
        let ty = ALL_TYPES.iter().find(|ty| i64::from(ty.user_type_id()) == int_arg(a, 0));
        Ok(match (ty, int_arg(a, 0)) {
            (Some(ty), _) => Value::str(ty.base_name()),
            (None, 256) => Value::str("sysname"),
            _ => Value::Null,
        })
    }),
    f("type_id", (1, 1), &[A::Name], int, |a, _| {
        Ok(match DataType::from_name(text_arg(a, 0), &[]) {
            Ok(_) if text_arg(a, 0).eq_ignore_ascii_case("sysname") => Value::Int(256),
            Ok(ty) => Value::Int(ty.user_type_id()),
            Err(_) => Value::Null,
        })
    }),
    f("ident_current", (1, 1), &[A::Name], numeric_38, |a, cx| {
        let Some(table) = named_table(text_arg(a, 0), cx)? else { return Ok(Value::Null) };
        let Some((seed, _)) = table.columns.iter().find_map(|c| c.identity) else { return Ok(Value::Null) };
        let last = table.state.identity.lock().last;
        Ok(super::system::identity_value(Some(last.unwrap_or(seed))))
    }),
    f("ident_seed", (1, 1), &[A::Name], numeric_38, |a, cx| identity_part(a, cx, |(seed, _)| seed)),
    f("ident_incr", (1, 1), &[A::Name], numeric_38, |a, cx| identity_part(a, cx, |(_, step)| step)),
    f("has_dbaccess", (1, 1), &[A::Name], int, |a, cx| {
        let found = session(cx)?.instance().find_db(text_arg(a, 0)).is_some();
        Ok(if found { Value::Int(1) } else { Value::Null })
    }),
    f("databasepropertyex", (2, 2), &[A::Name], sysname, databasepropertyex),
    f("parsename", (2, 2), &[A::Name, A::Int], sysname, parsename),
];

/// One of each type, for TYPE_NAME.
const ALL_TYPES: &[DataType] = &[
    DataType::Bit,
    DataType::TinyInt,
    DataType::SmallInt,
    DataType::Int,
    DataType::BigInt,
    DataType::Decimal { precision: 18, scale: 0 },
    DataType::Float,
    DataType::Real,
    DataType::SmallMoney,
    DataType::Money,
    DataType::Char(1),
    DataType::VarChar(types::Len::N(1)),
    DataType::NChar(1),
    DataType::NVarChar(types::Len::N(1)),
    DataType::Binary(1),
    DataType::VarBinary(types::Len::N(1)),
    DataType::Date,
    DataType::Time(7),
    DataType::DateTime,
    DataType::SmallDateTime,
    DataType::DateTime2(7),
    DataType::DateTimeOffset(7),
    DataType::UniqueIdentifier,
    DataType::SqlVariant,
];

fn numeric_38(_: &[DataType], _: &[expr::Expr]) -> Result<DataType, SqlError> {
    Ok(DataType::Decimal { precision: 38, scale: 0 })
}

fn db_id(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let session = session(cx)?;
    let id = match args.first() {
        None => Some(session.db().id()),
        Some(_) => session.instance().find_db(text_arg(args, 0)).map(|db| db.id()),
    };
    Ok(id.map_or(Value::Null, |id| Value::SmallInt(id as i16)))
}

fn db_name(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let session = session(cx)?;
    if args.is_empty() {
        return Ok(Value::Str(session.db().name()));
    }
    let db = session.instance().db_by_id(int_arg(args, 0) as i32);
    Ok(db.map_or(Value::Null, |db| Value::Str(db.name())))
}

fn other_db(args: &[Value], at: usize, cx: &mut CallCx<'_>) -> Result<Option<Arc<Db>>, SqlError> {
    let session = session(cx)?;
    if args.len() > at {
        return Ok(session.instance().db_by_id(int_arg(args, at) as i32));
    }
    Ok(Some(session.db().clone()))
}

fn with_table(db: &Option<Arc<Db>>, id: i64, f: impl Fn(&TableDef) -> Value) -> Value {
    let Some(db) = db else { return Value::Null };
    let catalog = db.catalog();
    i32::try_from(id).ok().and_then(|id| catalog.by_id.get(&id)).map_or(Value::Null, |t| f(t))
}

/// The parts of `[a].b.c`, the last first. `None` when it is no name.
pub(crate) fn name_parts(text: &str) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    let mut chars = text.trim().chars().peekable();
    loop {
        let mut part = String::new();
        match chars.peek() {
            Some('[') | Some('"') => {
                let close = if chars.next() == Some('[') { ']' } else { '"' };
                loop {
                    match chars.next()? {
                        c if c == close && chars.peek() == Some(&close) => {
                            chars.next();
                            part.push(c);
                        }
                        c if c == close => break,
                        c => part.push(c),
                    }
                }
            }
            _ => {
                while let Some(c) = chars.next_if(|c| *c != '.') {
                    part.push(c);
                }
            }
        }
        parts.push(part);
        match chars.next() {
            None => break,
            Some('.') => {}
            Some(_) => return None,
        }
    }
    parts.reverse();
    (parts.len() <= 4).then_some(parts)
}

/// The table of a name as text, in the current database unless the name says another.
fn named_table(text: &str, cx: &mut CallCx<'_>) -> Result<Option<Arc<TableDef>>, SqlError> {
    let session = session(cx)?;
    let Some(parts) = name_parts(text) else { return Ok(None) };
    let db = match parts.get(2).filter(|p| !p.is_empty()) {
        Some(name) => session.instance().find_db(name),
        None => Some(session.db().clone()),
    };
    let Some(db) = db else { return Ok(None) };
    if parts[0].starts_with('#') && db.id() == catalog::TEMPDB {
        return Ok(session.temps.find(&parts[0], &db));
    }
    let catalog = db.catalog();
    let schema = parts.get(1).filter(|p| !p.is_empty()).map_or("dbo", String::as_str);
    Ok(catalog.tables.get(&(fold_name(schema), fold_name(&parts[0]))).cloned())
}

fn object_id(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    if args.len() > 1
        && !matches!(
            text_arg(args, 1).trim_end().to_ascii_uppercase().as_str(),
            "U" | "S" | "V" | "PK" | "UQ" | "D" | "P" | "TR" | "C" | "F"
        )
    {
        return Ok(Value::Null);
    }
    let kind = if args.len() > 1 { text_arg(args, 1).trim_end().to_ascii_uppercase() } else { String::new() };
    if matches!(kind.as_str(), "" | "U")
        && let Some(table) = named_table(text_arg(args, 0), cx)?
    {
        return Ok(Value::Int(table.object_id));
    }
    let Some(parts) = name_parts(text_arg(args, 0)) else { return Ok(Value::Null) };
    if let Some(id) = module_id(&parts, &kind, cx)? {
        return Ok(Value::Int(id));
    }
    if matches!(kind.as_str(), "" | "V" | "S") {
        let schema = parts.get(1).filter(|p| !p.is_empty()).map_or("dbo", String::as_str);
        if let Some(view) = crate::views::find(schema, &parts[0]) {
            return Ok(Value::Int(view.object_id()));
        }
    }
    constraint_id(&parts[0], cx)
}

/// A view, procedure or trigger of a name as parts, if it is of the wanted kind.
fn module_id(parts: &[String], kind: &str, cx: &mut CallCx<'_>) -> Result<Option<i32>, SqlError> {
    let session = session(cx)?;
    let db = match parts.get(2).filter(|p| !p.is_empty()) {
        Some(name) => session.instance().find_db(name),
        None => Some(session.db().clone()),
    };
    let Some(db) = db else { return Ok(None) };
    let schema = parts.get(1).map_or("", String::as_str);
    let catalog = db.catalog();
    let module = catalog.find_module(schema, &parts[0]);
    let wanted = |m: &&Arc<catalog::ModuleDef>| kind.is_empty() || m.kind.code().trim_end() == kind;
    Ok(module.filter(wanted).map(|m| m.object_id))
}

/// Schema and name of a table, module or constraint.
fn object_named(db: &Option<Arc<Db>>, id: i64) -> Option<(CompactString, CompactString)> {
    let (catalog, id) = (db.as_ref()?.catalog(), i32::try_from(id).ok()?);
    if let Some(table) = catalog.by_id.get(&id) {
        return Some((table.schema.clone(), table.name.clone()));
    }
    if let Some(module) = catalog.modules.get(&id) {
        return Some((module.schema.clone(), module.name.clone()));
    }
    catalog.by_id.values().find_map(|table| {
        let keys =
            table.all_indexes().filter_map(|i| Some((i.primary_key.or(i.unique_constraint)?, &i.name)));
        let defaults =
            table.columns.iter().filter_map(|c| c.default.as_ref()).map(|d| (d.object_id, &d.name));
        let checks = table.checks.iter().map(|c| (c.object_id, &c.name));
        let foreign = table.foreign_keys.iter().map(|k| (k.object_id, &k.name));
        let mut all = keys.chain(defaults).chain(checks).chain(foreign);
        all.find(|(own, _)| *own == id).map(|(_, name)| (table.schema.clone(), name.clone()))
    })
}

fn nvarchar_max(_: &[DataType], _: &[expr::Expr]) -> Result<DataType, SqlError> {
    Ok(DataType::NVarChar(types::Len::Max))
}

fn object_definition(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let catalog = session(cx)?.db().catalog();
    let Ok(id) = i32::try_from(int_arg(args, 0)) else { return Ok(Value::Null) };
    let core = session(cx)?;
    let db = core.db().clone();
    if !crate::views::rights::sees_definition(core, &db, id) {
        return Ok(Value::Null);
    }
    if let Some(module) = catalog.modules.get(&id) {
        return Ok(Value::str(&module.text));
    }
    for table in catalog.by_id.values() {
        if let Some(check) = table.checks.iter().find(|check| check.object_id == id) {
            return Ok(Value::str(&check.text));
        }
        let mut defaults = table.columns.iter().filter_map(|c| c.default.as_ref());
        if let Some(default) = defaults.find(|default| default.object_id == id) {
            return Ok(Value::str(&default.text));
        }
    }
    Ok(Value::Null)
}

/// UPDATE(column) of a trigger: whether the statement that fired it has given the column at this position a value.
fn column_updated(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let changes = session(cx)?.changes.clone();
    let given = changes.is_some_and(|rows| {
        let at = usize::try_from(int_arg(args, 0)).ok();
        rows.action != Action::Delete && at.is_some_and(|at| rows.columns.contains(&at))
    });
    Ok(flag(given))
}

fn column_mask(_: &[DataType], _: &[expr::Expr]) -> Result<DataType, SqlError> {
    Ok(DataType::VarBinary(types::Len::N(128)))
}

/// COLUMNS_UPDATED(): a bit for each column by its column_id, the first in the lowest bit of the first byte.
fn columns_updated(_: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let Some(rows) = session(cx)?.changes.clone() else { return Ok(Value::Null) };
    let ids: Vec<usize> =
        rows.columns.iter().map(|at| rows.table.columns[*at].column_id as usize - 1).collect();
    let last = rows.table.columns.iter().map(|c| c.column_id as usize).max().unwrap_or(1);
    let mut mask = vec![0u8; last.div_ceil(8)];
    if rows.action != Action::Delete {
        ids.iter().for_each(|id| mask[id / 8] |= 1 << (id % 8));
    }
    Ok(Value::bytes(mask))
}

/// Constraints are objects too.
fn constraint_id(name: &str, cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let catalog = session(cx)?.db().catalog();
    let name = fold_name(name);
    for table in catalog.by_id.values() {
        let indexes = table.indexes.iter().chain([&table.storage]);
        for index in indexes {
            if let Some(id) = index.primary_key.or(index.unique_constraint)
                && fold_name(&index.name) == name
            {
                return Ok(Value::Int(id));
            }
        }
        let checks = table.checks.iter().map(|c| (&c.name, c.object_id));
        let keys = table.foreign_keys.iter().map(|k| (&k.name, k.object_id));
        if let Some((_, id)) = checks.chain(keys).find(|(own, _)| fold_name(own) == name) {
            return Ok(Value::Int(id));
        }
        let defaults = table.columns.iter().filter_map(|c| c.default.as_ref());
        if let Some(d) = defaults.into_iter().find(|d| fold_name(&d.name) == name) {
            return Ok(Value::Int(d.object_id));
        }
    }
    Ok(Value::Null)
}

fn schema_name(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    if args.is_empty() {
        return Ok(Value::str("dbo"));
    }
    let catalog = session(cx)?.db().catalog();
    let found = catalog.schemas.iter().find(|(_, id)| i64::from(**id) == int_arg(args, 0));
    Ok(match (found, int_arg(args, 0)) {
        (Some((name, _)), _) => Value::Str(name.clone()),
        (None, 4) => Value::str("sys"),
        (None, 3) => Value::str("INFORMATION_SCHEMA"),
        _ => Value::Null,
    })
}

fn schema_id(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let name = if args.is_empty() { "dbo".into() } else { fold_name(text_arg(args, 0)) };
    let catalog = session(cx)?.db().catalog();
    Ok(match (catalog.schemas.get(&name), name.as_str()) {
        (Some(id), _) => Value::Int(*id),
        (None, "sys") => Value::Int(4),
        (None, "information_schema") => Value::Int(3),
        _ => Value::Null,
    })
}

fn flag(yes: bool) -> Value {
    Value::Int(i32::from(yes))
}

fn columnproperty(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let db = Some(session(cx)?.db().clone());
    let (name, property) = (fold_name(text_arg(args, 1)), fold_name(text_arg(args, 2)));
    Ok(with_table(&db, int_arg(args, 0), |t| {
        let Some(c) = t.columns.iter().find(|c| fold_name(&c.name) == name) else { return Value::Null };
        match property.as_str() {
            "isidentity" => flag(c.identity.is_some()),
            "allowsnull" => flag(c.nullable),
            "columnid" | "ordinal" => Value::Int(c.column_id),
            "precision" => Value::Int(i32::from(c.ty.precision())),
            "scale" => Value::Int(i32::from(c.ty.scale())),
            "iscomputed" | "isrowguidcol" => flag(false),
            _ => Value::Null,
        }
    }))
}

fn objectproperty(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let db = Some(session(cx)?.db().clone());
    let property = fold_name(text_arg(args, 1));
    let id = i32::try_from(int_arg(args, 0)).unwrap_or_default();
    if let Some(module) = db.as_ref().and_then(|db| db.catalog().modules.get(&id).cloned()) {
        let is = |kind| flag(module.kind == kind);
        return Ok(match property.as_str() {
            "isview" => is(ModuleKind::View),
            "isprocedure" => is(ModuleKind::Procedure),
            "istrigger" => is(ModuleKind::Trigger),
            "istable" | "isusertable" | "ismsshipped" => flag(false),
            "execisquotedidenton" => flag(module.settings.quoted_identifier),
            "execisansinullson" => flag(module.settings.ansi_nulls),
            "execistriggerdisabled" => flag(module.disabled),
            _ => Value::Null,
        });
    }
    Ok(with_table(&db, int_arg(args, 0), |t| match property.as_str() {
        "istable" | "isusertable" => flag(true),
        "tablehascheckcnst" => flag(!t.checks.is_empty()),
        "tablehasforeignkey" => flag(!t.foreign_keys.is_empty()),
        "isview" | "isprocedure" | "istrigger" | "ismsshipped" => flag(false),
        "tablehasprimarykey" => flag(t.indexes.iter().chain([&t.storage]).any(|i| i.primary_key.is_some())),
        "tablehasidentity" => flag(t.columns.iter().any(|c| c.identity.is_some())),
        "tablehasclustindex" => flag(t.storage.index_id == 1),
        "tablehasindex" => flag(t.storage.index_id == 1 || !t.indexes.is_empty()),
        _ => Value::Null,
    }))
}

fn indexproperty(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let db = Some(session(cx)?.db().clone());
    let (name, property) = (fold_name(text_arg(args, 1)), fold_name(text_arg(args, 2)));
    Ok(with_table(&db, int_arg(args, 0), |t| {
        let mut all = t.indexes.iter().chain([&t.storage]);
        let Some(index) = all.find(|i| fold_name(&i.name) == name) else { return Value::Null };
        match property.as_str() {
            "isunique" => flag(index.unique),
            "isclustered" => flag(index.index_id == 1),
            "indexid" => Value::Int(index.index_id),
            "indexfillfactor" => Value::Int(i32::from(index.fill_factor)),
            "isdisabled" | "isstatistics" | "ishypothetical" => flag(false),
            _ => Value::Null,
        }
    }))
}

fn index_col(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let Some(table) = named_table(text_arg(args, 0), cx)? else { return Ok(Value::Null) };
    let (index, key) = (int_arg(args, 1), int_arg(args, 2));
    let mut all = table.indexes.iter().chain([&table.storage]);
    let index = all.find(|i| i64::from(i.index_id) == index);
    let column = usize::try_from(key - 1).ok().and_then(|k| index.and_then(|i| i.key.get(k)));
    Ok(column.and_then(|(c, _)| table.columns.get(*c)).map_or(Value::Null, |c| Value::Str(c.name.clone())))
}

fn identity_part(
    args: &[Value],
    cx: &mut CallCx<'_>,
    part: fn((i64, i64)) -> i64,
) -> Result<Value, SqlError> {
    let Some(table) = named_table(text_arg(args, 0), cx)? else { return Ok(Value::Null) };
    let identity = table.columns.iter().find_map(|c| c.identity);
    Ok(super::system::identity_value(identity.map(part)))
}

fn databasepropertyex(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let Some(db) = session(cx)?.instance().find_db(text_arg(args, 0)) else { return Ok(Value::Null) };
    let property = text_arg(args, 1).trim_end().to_ascii_lowercase();
    Ok(db.property(&property))
}

fn parsename(args: &[Value], _: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let parts = name_parts(text_arg(args, 0)).unwrap_or_default();
    let part = usize::try_from(int_arg(args, 1) - 1).ok().and_then(|i| parts.get(i));
    Ok(part.filter(|p| !p.is_empty()).map_or(Value::Null, Value::str))
}

fn date_time(_: &[DataType], _: &[expr::Expr]) -> Result<DataType, SqlError> {
    Ok(DataType::DateTime)
}

/// When statistics were measured; NULL when never.
fn stats_date(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let db = Some(session(cx)?.db().clone());
    let id = int_arg(args, 1);
    Ok(with_table(&db, int_arg(args, 0), |table| {
        let all = catalog::statistics::all(table);
        let found = all.iter().find(|s| i64::from(s.stats_id) == id).and_then(|s| s.measured.as_ref());
        found.map_or(Value::Null, |measured| measured.updated.clone())
    }))
}
