//! sys.fn_builtin_permissions and sys.fn_my_permissions: which permissions there are, and which of
//! them the caller has. Guarantee: they tell the permissions that statements are checked against,
//! and no others.

use types::{DataType, Len, Value};

use super::securable::securable;
use super::{NVARCHAR60, Rows, SYSNAME, View, ViewColumn, text};
use catalog::security::{Class, Permission};
use logical::rights::Right;
use session::state::SessionCore;

/// The classes, by the names that the functions take.
const CLASSES: &[(Class, &str)] = &[
    (Class::Database, "DATABASE"),
    (Class::Login, "LOGIN"),
    (Class::Object, "OBJECT"),
    (Class::Schema, "SCHEMA"),
    (Class::Server, "SERVER"),
    (Class::Type, "TYPE"),
    (Class::User, "USER"),
];

fn class_name(class: Class) -> &'static str {
    CLASSES.iter().find(|(known, _)| *known == class).map_or("", |(_, name)| name)
}

/// A permission of a class.
fn of_class(class: Class) -> impl Iterator<Item = Permission> {
    Permission::ALL.iter().copied().filter(move |p| p.classes().contains(&class))
}

const BUILTIN_COLUMNS: &[ViewColumn] = &[
    ("class_desc", NVARCHAR60, true),
    ("permission_name", NVARCHAR60, true),
    ("type", DataType::VarChar(Len::N(4)), true),
    ("covering_permission_name", NVARCHAR60, true),
    ("parent_class_desc", NVARCHAR60, true),
    ("parent_covering_permission_name", NVARCHAR60, true),
];

/// sys.fn_builtin_permissions(class): all of them for none.
pub(crate) static BUILTIN: View =
    View::function("fn_builtin_permissions", 1, BUILTIN_COLUMNS, |_, _, args| {
        let wanted = args.first().and_then(Value::as_str).map(str::trim).unwrap_or_default();
        let mut rows = Vec::new();
        for (class, name) in CLASSES {
            if !wanted.is_empty() && !wanted.eq_ignore_ascii_case(name) {
                continue;
            }
            for permission in of_class(*class) {
                let covering = permission.included_in(*class);
                let own = covering.iter().find(|(of, _)| of == class);
                let parent = covering.iter().find(|(of, _)| of != class);
                rows.push(vec![
                    text(name),
                    text(permission.name()),
                    text(permission.code()),
                    text(own.map_or("", |(_, p)| p.name())),
                    text(parent.map_or("", |(of, _)| class_name(*of))),
                    text(parent.map_or("", |(_, p)| p.name())),
                ]);
            }
        }
        Ok(rows)
    });

const MINE_COLUMNS: &[ViewColumn] = &[
    ("entity_name", SYSNAME, true),
    ("subentity_name", SYSNAME, true),
    ("permission_name", NVARCHAR60, true),
];

/// sys.fn_my_permissions(securable, class).
pub(crate) static MINE: View =
    View::function("fn_my_permissions", 2, MINE_COLUMNS, |session, _, args| mine(session, args));

fn mine(core: &mut SessionCore, args: &[Value]) -> Rows {
    let given = |at: usize| {
        args.get(at).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty())
    };
    let class = given(1).map(str::to_ascii_uppercase);
    let Some((db, on, schema)) = securable(core, class.as_deref(), given(0)) else {
        return Ok(Vec::new());
    };
    let entity = match on.class {
        Class::Server => "server".to_owned(),
        Class::Database => "database".to_owned(),
        _ => given(0).unwrap_or_default().to_owned(),
    };
    let catalog = db.catalog();
    let table =
        (on.class == Class::Object).then(|| catalog.by_id.get(&on.major).cloned()).flatten();
    let module =
        (on.class == Class::Object).then(|| catalog.modules.get(&on.major).cloned()).flatten();
    // What runs has no rows, and what has rows does not run.
    let runs = module
        .as_ref()
        .is_some_and(|m| m.procedure().is_some() || m.kind == catalog::ModuleKind::ScalarFunction);
    let fits = |p: &Permission| match on.class {
        Class::Object if p.is_of_rows_or_code() => (*p == Permission::Execute) == runs,
        _ => true,
    };
    let mut rows = Vec::new();
    for permission in of_class(on.class).filter(fits) {
        if core.has(&db, on, schema, permission) {
            rows.push(vec![text(&entity), text(""), text(permission.name())]);
        }
    }
    for column in table.iter().flat_map(|table| &table.columns) {
        for permission in of_class(on.class).filter(|p| p.has_columns()) {
            let (db, columns) = (db.clone(), vec![column.column_id]);
            if core.check_rights(&[Right { db, on, schema, permission, columns }]).is_ok() {
                rows.push(vec![text(&entity), text(&column.name), text(permission.name())]);
            }
        }
    }
    Ok(rows)
}
