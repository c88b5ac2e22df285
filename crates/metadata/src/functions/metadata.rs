//! Functions over the catalog: DB_ID, OBJECT_ID, COL_NAME, TYPE_NAME and similar ones. They see the
//! committed catalog of the moment, as SQL Server's do. Guarantee: what the caller may not know of
//! is NULL: each asks [`sees`] or its like, and no function reaches into a database that the caller
//! may not use (`engine/tests/it/visibility` goes over all of them).

use super::{of_statement as f, session};
use crate::names::name_parts;
use crate::views::rights::sees;
use crate::views::visible::{sees_database, sees_type};
use catalog::ConstraintKind;
use catalog::Db;
use catalog::ModuleKind;
use catalog::TableDef;
use catalog::fold_name;
use compact_str::CompactString;
use expr::functions::{ArgRule as A, CallCx, Function, int, int_arg, smallint, sysname, text_arg};
use session::state::SessionCore;
use session::state::changes::Action;
use std::sync::Arc;
use types::{DataType, SqlError, Value};

/// The functions of this theme.
pub const FUNCTIONS: &[Function] = &[
    f("db_id", (0, 1), &[A::Name], smallint, db_id),
    f("db_name", (0, 1), &[A::Int], sysname, db_name),
    f("original_db_name", (0, 0), &[], sysname, db_name),
    f("object_id", (1, 2), &[A::Name], int, object_id),
    f("object_name", (1, 2), &[A::Int], sysname, |a, cx| {
        let db = other_db(a, 1, cx)?;
        Ok(object_named(&db, int_arg(a, 0), cx)?.map_or(Value::Null, |(_, name)| Value::Str(name)))
    }),
    f("object_schema_name", (1, 2), &[A::Int], sysname, |a, cx| {
        let db = other_db(a, 1, cx)?;
        Ok(object_named(&db, int_arg(a, 0), cx)?
            .map_or(Value::Null, |(schema, _)| Value::Str(schema)))
    }),
    f("object_definition", (1, 1), &[A::Int], nvarchar_max, object_definition),
    f("column_updated", (1, 1), &[A::Int], int, column_updated),
    f("columns_updated", (0, 0), &[], column_mask, columns_updated),
    f("stats_date", (2, 2), &[A::Int], date_time, stats_date),
    f("schema_name", (0, 1), &[A::Int], sysname, schema_name),
    f("schema_id", (0, 1), &[A::Name], int, schema_id),
    f("col_name", (2, 2), &[A::Int], sysname, |a, cx| {
        let session = session(cx)?;
        let (db, id) = (session.db().clone(), int_arg(a, 1));
        if !i32::try_from(int_arg(a, 0)).is_ok_and(|object| sees(session, &db, object)) {
            return Ok(Value::Null);
        }
        let view =
            i32::try_from(int_arg(a, 0)).ok().and_then(|id| db.catalog().modules.get(&id).cloned());
        if let Some(view) =
            view.filter(|m| m.kind == ModuleKind::View || m.kind.is_table_function())
        {
            let columns = crate::views::columns_of_view(session, &db, &view).unwrap_or_default();
            let at = usize::try_from(id - 1).ok();
            return Ok(at
                .and_then(|at| columns.get(at))
                .map_or(Value::Null, |c| Value::Str(c.name.clone())));
        }
        Ok(with_table(&Some(db), int_arg(a, 0), |t| {
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
    f("index_col", (3, 3), &[A::Name, A::Int], sysname, index_col),
    f("type_name", (1, 1), &[A::Int], sysname, |a, cx| {
        let id = int_arg(a, 0);
        let ty = ALL_TYPES.iter().find(|ty| i64::from(ty.user_type_id()) == id);
        Ok(match (ty, id) {
            (Some(ty), _) => Value::str(ty.base_name()),
            (None, 256) => Value::str("sysname"),
            (None, _) => {
                let session = session(cx)?;
                let (db, catalog) = (session.db().clone(), session.db().catalog());
                if !i32::try_from(id).is_ok_and(|id| sees_type(session, &db, id)) {
                    return Ok(Value::Null);
                }
                let alias = i32::try_from(id).ok().and_then(|id| catalog.alias(id));
                let table = catalog.table_types.values().find(|def| i64::from(def.type_id) == id);
                let name = alias.map(|alias| &alias.name).or(table.map(|def| &def.name));
                name.map_or(Value::Null, |name| Value::Str(name.clone()))
            }
        })
    }),
    f("type_id", (1, 1), &[A::Name], int, |a, cx| {
        let Some(parts) = name_parts(text_arg(a, 0)) else { return Ok(Value::Null) };
        let session = session(cx)?;
        let db = session.db().clone();
        if let Some(id) = type_named(&db, &parts) {
            return Ok(if sees_type(session, &db, id) { Value::Int(id) } else { Value::Null });
        }
        Ok(match DataType::from_name(&parts[0], &[]) {
            Ok(_) if parts[0].eq_ignore_ascii_case("sysname") => Value::Int(256),
            Ok(ty) => Value::Int(ty.user_type_id()),
            Err(_) => Value::Null,
        })
    }),
    f("file_name", (1, 1), &[A::Int], sysname, |a, cx| {
        let entry = session(cx)?.db().entry();
        let file = entry.files.iter().find(|file| i64::from(file.file_id) == int_arg(a, 0));
        Ok(file.map_or(Value::Null, |file| Value::Str(file.name.clone())))
    }),
    f("file_id", (1, 1), &[A::Name], smallint, |a, cx| {
        Ok(file_id(a, cx)?.map_or(Value::Null, |id| Value::SmallInt(id as i16)))
    }),
    f("file_idex", (1, 1), &[A::Name], int, |a, cx| {
        Ok(file_id(a, cx)?.map_or(Value::Null, |id| Value::Int(id.into())))
    }),
    f("filegroup_name", (1, 1), &[A::Int], sysname, |a, cx| {
        let groups = crate::views::files::groups(session(cx)?.db());
        let group = groups.into_iter().find(|group| i64::from(group.id) == int_arg(a, 0));
        Ok(group.map_or(Value::Null, |group| Value::Str(group.name)))
    }),
    f("filegroup_id", (1, 1), &[A::Name], int, |a, cx| {
        let name = fold_name(text_arg(a, 0));
        let groups = crate::views::files::groups(session(cx)?.db());
        let group = groups.into_iter().find(|group| fold_name(&group.name) == name);
        Ok(group.map_or(Value::Null, |group| Value::Int(group.id)))
    }),
    f("ident_current", (1, 1), &[A::Name], numeric_38, |a, cx| {
        let Some(table) = named_table(text_arg(a, 0), cx)? else { return Ok(Value::Null) };
        let Some((seed, _)) = table.columns.iter().find_map(|c| c.identity) else {
            return Ok(Value::Null);
        };
        let last = table.state.identity.lock().last;
        Ok(super::system::identity_value(Some(last.unwrap_or(seed))))
    }),
    f("ident_seed", (1, 1), &[A::Name], numeric_38, |a, cx| identity_part(a, cx, |(seed, _)| seed)),
    f("ident_incr", (1, 1), &[A::Name], numeric_38, |a, cx| identity_part(a, cx, |(_, step)| step)),
    f("has_dbaccess", (1, 1), &[A::Name], int, |a, cx| {
        let session = session(cx)?;
        let found = session.host().find_db(text_arg(a, 0));
        Ok(match found {
            Some(db) if session.check_access(&db).is_ok() => flag(true),
            Some(db) if sees_database(session, &db) => flag(false),
            _ => Value::Null,
        })
    }),
    f("parsename", (2, 2), &[A::Name, A::Int], sysname, parsename),
];

/// One of each type, for TYPE_NAME.
const ALL_TYPES: &[DataType] = &[
    DataType::Bit,
    DataType::TinyInt,
    DataType::SmallInt,
    DataType::Int,
    DataType::BigInt,
    DataType::decimal(18, 0),
    DataType::numeric(18, 0),
    DataType::Float,
    DataType::Real,
    DataType::SmallMoney,
    DataType::Money,
    DataType::Char(1),
    DataType::VarChar(types::Len::N(1)),
    DataType::NChar(1),
    DataType::NVarChar(types::Len::N(1)),
    DataType::Binary(1),
    DataType::RowVersion,
    DataType::Xml,
    DataType::HierarchyId,
    DataType::VarChar(types::Len::Old),
    DataType::NVarChar(types::Len::Old),
    DataType::VarBinary(types::Len::Old),
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

/// The id of a type that users made, by the parts of its name.
pub(super) fn type_named(db: &Db, parts: &[String]) -> Option<i32> {
    let (schema, name) = (parts.get(1).map_or("", String::as_str), parts.first()?);
    let catalog = db.catalog();
    let alias = catalog.find_type(schema, name).map(|alias| alias.type_id);
    alias.or_else(|| catalog.find_table_type(schema, name).map(|def| def.type_id))
}

fn numeric_38(_: &[DataType], _: &[expr::Expr]) -> Result<DataType, SqlError> {
    Ok(DataType::numeric(38, 0))
}

fn db_id(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let session = session(cx)?;
    let id = match args.first() {
        None => Some(session.db().id()),
        Some(_) => {
            let db = session.host().find_db(text_arg(args, 0));
            db.filter(|db| sees_database(session, db)).map(|db| db.id())
        }
    };
    Ok(id.map_or(Value::Null, |id| Value::SmallInt(id as i16)))
}

fn db_name(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let session = session(cx)?;
    if args.is_empty() {
        return Ok(Value::Str(session.db().name()));
    }
    let db = i32::try_from(int_arg(args, 0)).ok().and_then(|id| session.host().db_by_id(id));
    let db = db.filter(|db| sees_database(session, db));
    Ok(db.map_or(Value::Null, |db| Value::Str(db.name())))
}

/// The database of an argument, if the caller may use it; else the current one.
fn other_db(args: &[Value], at: usize, cx: &mut CallCx<'_>) -> Result<Option<Arc<Db>>, SqlError> {
    let session = session(cx)?;
    if args.len() > at {
        let db = session.host().db_by_id(int_arg(args, at) as i32);
        return Ok(db.filter(|db| session.check_access(db).is_ok()));
    }
    Ok(Some(session.db().clone()))
}

fn with_table(db: &Option<Arc<Db>>, id: i64, f: impl Fn(&TableDef) -> Value) -> Value {
    let Some(db) = db else { return Value::Null };
    let catalog = db.catalog();
    i32::try_from(id).ok().and_then(|id| catalog.by_id.get(&id)).map_or(Value::Null, |t| f(t))
}

/// The table of a name as text, in the current database unless the name says another, if the caller
/// may know of it.
fn named_table(text: &str, cx: &mut CallCx<'_>) -> Result<Option<Arc<TableDef>>, SqlError> {
    let session = session(cx)?;
    let Some(parts) = name_parts(text) else { return Ok(None) };
    let Some(db) = named_db(&parts, session) else { return Ok(None) };
    if parts[0].starts_with('#') && db.id() == catalog::TEMPDB {
        let own = session.objects.temps.find(&parts[0], &db);
        let global =
            || db.catalog().find("", &parts[0]).filter(|_| parts[0].starts_with("##")).cloned();
        return Ok(own.or_else(global));
    }
    let catalog = db.catalog();
    let schema = parts.get(1).filter(|p| !p.is_empty()).map_or("dbo", String::as_str);
    let found = catalog.tables.get(&(fold_name(schema), fold_name(&parts[0]))).cloned();
    Ok(found.filter(|table| sees(session, &db, table.object_id)))
}

/// OBJECT_ID(name [, type]): a table, module, constraint or system view of the name's database and
/// schema.
fn object_id(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let kind = if args.len() > 1 {
        text_arg(args, 1).trim_end().to_ascii_uppercase()
    } else {
        String::new()
    };
    let is = |code: &str| kind.is_empty() || kind == code.trim_end();
    if is("U")
        && let Some(table) = named_table(text_arg(args, 0), cx)?
    {
        return Ok(Value::Int(table.object_id));
    }
    let Some(parts) = name_parts(text_arg(args, 0)) else { return Ok(Value::Null) };
    let session = session(cx)?;
    let Some(db) = named_db(&parts, session) else { return Ok(Value::Null) };
    let (catalog, schema, name) =
        (db.catalog(), parts.get(1).map_or("", String::as_str), &parts[0]);
    if name.starts_with('#')
        && db.id() == catalog::TEMPDB
        && let Some(module) =
            session.objects.temps.find_procedure(name, &db).filter(|m| is(m.kind.code()))
    {
        return Ok(Value::Int(module.object_id));
    }
    let mut shown = |id: i32| if sees(session, &db, id) { Value::Int(id) } else { Value::Null };
    if let Some(module) = catalog.find_module(schema, name).filter(|m| is(m.kind.code())) {
        return Ok(shown(module.object_id));
    }
    if let Some(other) = catalog.find_other(schema, name).filter(|other| is(other.code())) {
        return Ok(shown(other.object_id()));
    }
    let named =
        catalog.constraint_id(schema, name).and_then(|id| catalog.constraint(id).map(|c| (id, c)));
    if let Some((id, _)) = named.filter(|(_, constraint)| is(constraint.code())) {
        return Ok(shown(id));
    }
    if let Some(table) =
        crate::views::system_tables::find(schema, name).filter(|table| is(table.code()))
    {
        return Ok(shown(table.id));
    }
    let view = crate::views::find(if schema.is_empty() { "dbo" } else { schema }, name);
    let view = view.filter(|view| db.id() == catalog::MASTER || !crate::views::is_of_master(*view));
    let view = view.filter(|view| is(if view.arguments().is_some() { "IF" } else { "V" }));
    Ok(view.map_or(Value::Null, |view| Value::Int(view.object_id())))
}

/// The database of a name as parts: the current one unless the name says another, which the caller
/// may use.
fn named_db(parts: &[String], session: &mut SessionCore) -> Option<Arc<Db>> {
    match parts.get(2).filter(|p| !p.is_empty()) {
        Some(name) => session.host().find_db(name).filter(|db| session.check_access(db).is_ok()),
        None => Some(session.db().clone()),
    }
}

/// Schema and name of a table, module or constraint that the caller may know of.
fn object_named(
    db: &Option<Arc<Db>>,
    id: i64,
    cx: &mut CallCx<'_>,
) -> Result<Option<(CompactString, CompactString)>, SqlError> {
    let (Some(db), Ok(id)) = (db, i32::try_from(id)) else { return Ok(None) };
    if !sees(session(cx)?, db, id) {
        return Ok(None);
    }
    Ok(name_of(db, id))
}

fn name_of(db: &Arc<Db>, id: i32) -> Option<(CompactString, CompactString)> {
    let catalog = db.catalog();
    if let Some(table) = catalog.by_id.get(&id) {
        return Some((table.schema.clone(), table.name.clone()));
    }
    if let Some(module) = catalog.modules.get(&id) {
        return Some((module.schema.clone(), module.name.clone()));
    }
    if let Some(other) = catalog.others.get(&id) {
        return Some((other.schema().clone(), other.name().clone()));
    }
    if let Some(constraint) = catalog.constraint(id) {
        return Some((constraint.table.schema.clone(), constraint.name().clone()));
    }
    if let Some(table) = crate::views::system_tables::by_id(id) {
        return Some((table.schema().into(), table.name.into()));
    }
    let view = crate::views::by_id(id)?;
    Some((view.schema().into(), view.name().into()))
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
    let Some(constraint) = catalog.constraint(id) else { return Ok(Value::Null) };
    let table = &constraint.table;
    Ok(match constraint.kind {
        ConstraintKind::Check(at) => Value::str(&table.checks[at].text),
        ConstraintKind::Default(at) => {
            table.columns[at].default.as_ref().map_or(Value::Null, |d| Value::str(&d.text))
        }
        _ => Value::Null,
    })
}

/// UPDATE(column) of a trigger: whether the statement that fired it has given the column at this
/// position a value.
fn column_updated(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let changes = session(cx)?.run.triggers.changes.clone();
    let given = changes.is_some_and(|rows| {
        let at = usize::try_from(int_arg(args, 0)).ok();
        rows.action != Action::Delete && at.is_some_and(|at| rows.columns.contains(&at))
    });
    Ok(flag(given))
}

fn column_mask(_: &[DataType], _: &[expr::Expr]) -> Result<DataType, SqlError> {
    Ok(DataType::VarBinary(types::Len::N(128)))
}

/// COLUMNS_UPDATED(): a bit for each column by its column_id, the first in the lowest bit of the
/// first byte.
fn columns_updated(_: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let Some(rows) = session(cx)?.run.triggers.changes.clone() else { return Ok(Value::Null) };
    let ids: Vec<usize> =
        rows.columns.iter().map(|at| rows.table.columns[*at].column_id as usize - 1).collect();
    let last = rows.table.columns.iter().map(|c| c.column_id as usize).max().unwrap_or(1);
    let mut mask = vec![0u8; last.div_ceil(8)];
    if rows.action != Action::Delete {
        ids.iter().for_each(|id| mask[id / 8] |= 1 << (id % 8));
    }
    Ok(Value::bytes(mask))
}

fn schema_name(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    if args.is_empty() {
        return Ok(Value::str("dbo"));
    }
    let catalog = session(cx)?.db().catalog();
    let name = i32::try_from(int_arg(args, 0)).ok().and_then(|id| catalog.schema_names.get(&id));
    Ok(match (name, int_arg(args, 0)) {
        (Some(name), _) => Value::Str(name.clone()),
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

/// The file_id of a file of the current database.
fn file_id(args: &[Value], cx: &mut CallCx<'_>) -> Result<Option<u16>, SqlError> {
    let (entry, name) = (session(cx)?.db().entry(), fold_name(text_arg(args, 0)));
    Ok(entry.files.iter().find(|file| fold_name(&file.name) == name).map(|file| file.file_id))
}

fn flag(yes: bool) -> Value {
    Value::Int(i32::from(yes))
}

fn index_col(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let Some(table) = named_table(text_arg(args, 0), cx)? else { return Ok(Value::Null) };
    let (index, key) = (int_arg(args, 1), int_arg(args, 2));
    let mut all = table.indexes.iter().chain([&table.storage]);
    let index = all.find(|i| i64::from(i.index_id) == index);
    let column = usize::try_from(key - 1).ok().and_then(|k| index.and_then(|i| i.key.get(k)));
    Ok(column
        .and_then(|(c, _)| table.columns.get(*c))
        .map_or(Value::Null, |c| Value::Str(c.name.clone())))
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
    let (session, id) = (session(cx)?, int_arg(args, 1));
    let db = Some(session.db().clone()).filter(|db| {
        let table = i32::try_from(int_arg(args, 0));
        table.is_ok_and(|table| sees(session, db, table))
    });
    Ok(with_table(&db, int_arg(args, 0), |table| {
        let all = catalog::statistics::all(table);
        let found =
            all.iter().find(|s| i64::from(s.stats_id) == id).and_then(|s| s.measured.as_ref());
        found.map_or(Value::Null, |measured| measured.updated.clone())
    }))
}
