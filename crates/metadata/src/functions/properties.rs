//! The functions that answer by the name of a property: SERVERPROPERTY, DATABASEPROPERTYEX,
//! OBJECTPROPERTY, COLUMNPROPERTY, INDEXPROPERTY, TYPEPROPERTY and similar ones. A name that is not
//! documented, and a property that this server does not have, is NULL.

mod object;
mod server;
mod typed;

use std::sync::Arc;

use super::{metadata, of_statement, session};
use crate::views;
use catalog::{Catalog, Db, TableDef, fold_name};
use expr::functions::{ArgRule as A, Function, int, int_arg, text_arg};
use object::object;
use server::{connection, server};
use session::state::SessionCore;
use typed::{collation_value, column, index, type_value};
use types::{Collation, DataType, SqlError, Value};

const fn f(
    name: &'static str,
    count: u8,
    args: &'static [A],
    result: expr::functions::ResultRule,
    eval: expr::functions::Eval,
) -> Function {
    of_statement(name, (count, count), args, result, eval)
}

/// The functions of this theme.
pub const FUNCTIONS: &[Function] = &[
    f("serverproperty", 1, &[A::Name], variant, |a, cx| server(&property(a, 0), session(cx)?)),
    f("databasepropertyex", 2, &[A::Name], variant, |a, cx| {
        let db = database_seen(text_arg(a, 0), session(cx)?);
        Ok(db.map_or(Value::Null, |db| db.property(&property(a, 1))))
    }),
    f("databaseproperty", 2, &[A::Name], int, |a, cx| {
        let db = database_seen(text_arg(a, 0), session(cx)?);
        let value = db.map_or(Value::Null, |db| db.property(&property(a, 1)));
        Ok(if matches!(value, Value::Int(_)) { value } else { Value::Null })
    }),
    f("connectionproperty", 1, &[A::Name], variant, |a, cx| {
        connection(&property(a, 0), session(cx)?)
    }),
    f("sessionproperty", 1, &[A::Name], variant, |a, cx| {
        let options = &session(cx)?.options;
        Ok(match property(a, 0).as_str() {
            "ansi_nulls" => flag(options.ansi_nulls),
            "ansi_padding" => flag(options.ansi_padding),
            "ansi_warnings" => flag(options.ansi_warnings),
            "arithabort" => flag(options.arithabort),
            "concat_null_yields_null" => flag(options.concat_null_yields_null),
            "numeric_roundabort" => flag(options.numeric_roundabort),
            "quoted_identifier" => flag(options.quoted_identifier),
            _ => Value::Null,
        })
    }),
    f("collationproperty", 2, &[A::Name], variant, |a, _| {
        let collation = Collation::from_name(text_arg(a, 0).trim_end());
        Ok(collation.map_or(Value::Null, |c| collation_value(c, &property(a, 1))))
    }),
    f("objectproperty", 2, &[A::Int, A::Name], int, |a, cx| {
        let value = object(int_arg(a, 0), &property(a, 1), session(cx)?);
        Ok(if matches!(value, Value::Int(_)) { value } else { Value::Null })
    }),
    f("objectpropertyex", 2, &[A::Int, A::Name], variant, |a, cx| {
        Ok(object(int_arg(a, 0), &property(a, 1), session(cx)?))
    }),
    f("columnproperty", 3, &[A::Int, A::Name], int, |a, cx| {
        Ok(column(int_arg(a, 0), text_arg(a, 1), &property(a, 2), session(cx)?))
    }),
    f("indexproperty", 3, &[A::Int, A::Name], int, |a, cx| {
        let Some(catalog) = catalog_seen(int_arg(a, 0), session(cx)?) else {
            return Ok(Value::Null);
        };
        Ok(index(&catalog, int_arg(a, 0), text_arg(a, 1), &property(a, 2)))
    }),
    f("indexkey_property", 4, &[A::Int, A::Int, A::Int, A::Name], int, |a, cx| {
        let Some(catalog) = catalog_seen(int_arg(a, 0), session(cx)?) else {
            return Ok(Value::Null);
        };
        let Some(table) = table_of(&catalog, int_arg(a, 0)) else { return Ok(Value::Null) };
        let index = table.all_indexes().find(|index| i64::from(index.index_id) == int_arg(a, 1));
        let key = usize::try_from(int_arg(a, 2) - 1).ok().and_then(|at| index?.key.get(at));
        Ok(match (key, property(a, 3).as_str()) {
            (Some((at, _)), "columnid") => Value::Int(table.columns[*at].column_id),
            (Some((_, descending)), "isdescending") => flag(*descending),
            _ => Value::Null,
        })
    }),
    f("typeproperty", 2, &[A::Name], int, |a, cx| {
        let session = session(cx)?;
        let (db, catalog) = (session.db().clone(), session.db().catalog());
        let made = crate::names::name_parts(text_arg(a, 0))
            .and_then(|parts| metadata::type_named(&db, &parts));
        if made.is_some_and(|id| !views::visible::sees_type(session, &db, id)) {
            return Ok(Value::Null);
        }
        Ok(type_value(&catalog, text_arg(a, 0), &property(a, 1)))
    }),
    f("filegroupproperty", 2, &[A::Name], int, |a, cx| {
        let name = fold_name(text_arg(a, 0));
        let groups = views::files::groups(session(cx)?.db());
        let group = groups.into_iter().find(|group| fold_name(&group.name) == name);
        Ok(group.map_or(Value::Null, |group| match property(a, 1).as_str() {
            "isreadonly" => flag(false),
            "isuserdefinedfg" => flag(group.id > 1),
            "isdefault" => flag(group.is_default),
            _ => Value::Null,
        }))
    }),
    // What it tells is of files in a cloud's storage.
    f("filepropertyex", 2, &[A::Name], variant, |_, _| Ok(Value::Null)),
    f("fileproperty", 2, &[A::Name], int, |a, cx| {
        let db = session(cx)?.db().clone();
        let (name, entry) = (fold_name(text_arg(a, 0)), db.entry());
        let Some(file) = entry.files.iter().find(|file| fold_name(&file.name) == name) else {
            return Ok(Value::Null);
        };
        Ok(match property(a, 1).as_str() {
            "isreadonly" => flag(db.settings().read_only),
            "isprimaryfile" => flag(file.file_id == 1),
            "islogfile" => flag(file.log),
            "spaceused" => used_pages(&db, file.file_id, file.log)?,
            _ => Value::Null,
        })
    }),
    f("fulltextserviceproperty", 1, &[A::Name], int, |a, _| {
        // There is no full-text search.
        Ok(if property(a, 0) == "isfulltextinstalled" { flag(false) } else { Value::Null })
    }),
];

/// The pages of a file that are allocated; of a log, those that hold what is still needed.
fn used_pages(db: &Arc<Db>, file_id: u16, is_log: bool) -> Result<Value, SqlError> {
    let storage = db.storage()?;
    let pages = match is_log {
        true => storage.log().space().used.div_ceil(8192),
        false => {
            let extents = storage.store().allocated_extents(file_id);
            extents.map_err(|e| catalog::errors::db_error(db, &txn::TxnError::from(e)))?.len()
                as u64
                * 8
        }
    };
    Ok(i32::try_from(pages).map_or(Value::Null, Value::Int))
}

fn variant(_: &[DataType], _: &[expr::Expr]) -> Result<DataType, SqlError> {
    Ok(DataType::SqlVariant)
}

fn flag(yes: bool) -> Value {
    Value::Int(i32::from(yes))
}

/// The name of a property as it is compared.
fn property(args: &[Value], at: usize) -> String {
    text_arg(args, at).trim_end().to_ascii_lowercase()
}

/// The catalog of the current database, if the caller may know of an object in it.
fn catalog_seen(id: i64, session: &mut SessionCore) -> Option<Arc<Catalog>> {
    let db = session.db().clone();
    let id = i32::try_from(id).ok()?;
    views::rights::sees(session, &db, id).then(|| db.catalog())
}

/// The database of a name, if the caller may know of it.
fn database_seen(name: &str, session: &mut SessionCore) -> Option<Arc<Db>> {
    let db = session.host().find_db(name.trim_end());
    db.filter(|db| views::visible::sees_database(session, db))
}

fn table_of(catalog: &Catalog, id: i64) -> Option<&Arc<TableDef>> {
    i32::try_from(id).ok().and_then(|id| catalog.by_id.get(&id))
}
