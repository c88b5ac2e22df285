//! From a class and a name to the securable that they mean, as fn_my_permissions and
//! HAS_PERMS_BY_NAME take them.

use std::sync::Arc;

use super::visible::of_server;
use crate::names::name_parts;
use catalog::security::{Class, Kind, Scope, Securable, Security};
use catalog::{Db, fold_name};
use session::state::SessionCore;

/// What a name of a class means in a database: the database, the securable, its schema. A name that
/// is left out is the server or the database itself.
pub(crate) fn securable(
    core: &SessionCore,
    class: Option<&str>,
    name: Option<&str>,
) -> Option<(Arc<Db>, Securable, i32)> {
    let current = core.db().clone();
    let catalog = current.catalog();
    let whole = |class, id| Some((current.clone(), Securable::new(class, id), 0));
    let principal = |security: &Security, scope, kind, class, name: &str| {
        let found = security.of(scope).find(name).filter(|p| p.kind == kind)?;
        whole(class, found.id)
    };
    match (class, name) {
        (None | Some("SERVER"), None) => Some((current, Securable::SERVER, 0)),
        (Some("DATABASE"), None) => Some((current, Securable::DATABASE, 0)),
        (Some("DATABASE"), Some(name)) => {
            Some((core.host().find_db(name)?, Securable::DATABASE, 0))
        }
        (Some("SCHEMA"), Some(name)) => {
            whole(Class::Schema, catalog.schemas.get(&fold_name(name)).copied()?)
        }
        (Some("USER"), Some(name)) => {
            principal(&core.security(&current), Scope::Database, Kind::User, Class::User, name)
        }
        (Some("ROLE"), Some(name)) => {
            principal(&core.security(&current), Scope::Database, Kind::Role, Class::User, name)
        }
        (Some("APPLICATION ROLE"), Some(name)) => principal(
            &core.security(&current),
            Scope::Database,
            Kind::ApplicationRole,
            Class::User,
            name,
        ),
        (Some("LOGIN"), Some(name)) => {
            principal(&of_server(core), Scope::Server, Kind::User, Class::Login, name)
        }
        (Some(class @ ("OBJECT" | "TYPE")), Some(name)) => {
            let parts = name_parts(name)?;
            let part = |at: usize| parts.get(at).map_or("", String::as_str);
            let (on, schema) = if class == "TYPE" {
                match (
                    catalog.find_type(part(1), part(0)),
                    catalog.find_table_type(part(1), part(0)),
                ) {
                    (Some(alias), _) => {
                        (Securable::new(Class::Type, alias.type_id), alias.schema.clone())
                    }
                    (_, Some(table)) => {
                        (Securable::new(Class::Type, table.type_id), table.schema.clone())
                    }
                    _ => return None,
                }
            } else if let Some(table) = catalog.find(part(1), part(0)) {
                (Securable::new(Class::Object, table.object_id), table.schema.clone())
            } else {
                let module = catalog.find_module(part(1), part(0))?;
                (Securable::new(Class::Object, module.object_id), module.schema.clone())
            };
            let schema = catalog.schemas.get(&fold_name(&schema)).copied().unwrap_or(0);
            Some((current.clone(), on, schema))
        }
        _ => None,
    }
}
