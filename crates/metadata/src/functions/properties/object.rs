//! OBJECTPROPERTY and OBJECTPROPERTYEX: what an id stands for, and the properties of each kind of
//! object.

use std::sync::Arc;

use super::{catalog_seen, flag};
use crate::views;
use crate::views::partitions::knows_rows;
use catalog::{
    Catalog, ConstraintAt, ConstraintKind, Db, ModuleDef, ModuleKind, TableDef, TriggerOrder,
    fold_name,
};
use ddl::function_nature::FunctionNature;
use ddl::system_functions::SystemFunctions;
use session::state::SessionCore;
use syntax::ast::ReferentialAction;
use types::Value;

/// What an id stands for.
enum Thing {
    Table(Arc<TableDef>),
    Module(Arc<ModuleDef>),
    Constraint(ConstraintAt),
    /// A system view, or a system table function.
    System(bool),
    /// What every database has of itself, by its type.
    SystemTable(&'static str),
}

fn thing(catalog: &Catalog, id: i64) -> Option<Thing> {
    let id = i32::try_from(id).ok()?;
    if let Some(table) = catalog.by_id.get(&id) {
        return Some(Thing::Table(table.clone()));
    }
    if let Some(module) = catalog.modules.get(&id) {
        return Some(Thing::Module(module.clone()));
    }
    if let Some(constraint) = catalog.constraint(id) {
        return Some(Thing::Constraint(constraint.clone()));
    }
    if let Some(table) = views::system_tables::by_id(id) {
        return Some(Thing::SystemTable(table.code()));
    }
    let view = views::by_id(id)?;
    Some(Thing::System(view.arguments().is_some()))
}

/// OBJECTPROPERTYEX.
pub(super) fn object(id: i64, property: &str, session: &mut SessionCore) -> Value {
    let db = session.db().clone();
    let Some(catalog) = catalog_seen(id, session) else { return Value::Null };
    let Some(thing) = thing(&catalog, id) else { return Value::Null };
    if let Some(value) = kind_of(&thing, property) {
        return value;
    }
    let schema_of =
        |name: &str| Value::Int(catalog.schemas.get(&fold_name(name)).copied().unwrap_or(1));
    match (&thing, property) {
        (_, "ownerid") => Value::Int(1),
        (Thing::Table(table), "schemaid") => schema_of(&table.schema),
        (Thing::Module(module), "schemaid") => schema_of(&module.schema),
        (Thing::Constraint(constraint), "schemaid") => schema_of(&constraint.table.schema),
        (Thing::SystemTable("SQ"), "schemaid") => Value::Int(1),
        (Thing::System(_) | Thing::SystemTable(_), "schemaid") => Value::Int(4),
        (Thing::Table(table), "cardinality") if !knows_rows(session, &db, table) => Value::Null,
        (Thing::Table(table), _) => table_value(&db, table, property),
        (Thing::Module(module), _) => {
            let functions = SystemFunctions::of(session);
            nature_value(functions, &db, module, property)
                .unwrap_or_else(|| module_value(module, property))
        }
        (Thing::Constraint(constraint), _) => constraint_value(constraint, property),
        (Thing::System(_) | Thing::SystemTable(_), _) => Value::Null,
    }
}

/// The properties that ask for the kind of an object.
fn kind_of(thing: &Thing, property: &str) -> Option<Value> {
    let code = match thing {
        Thing::Table(_) => "U ",
        Thing::Module(module) => module.kind.code(),
        Thing::Constraint(constraint) => constraint.code(),
        Thing::System(false) => "V ",
        Thing::System(true) => "IF",
        Thing::SystemTable(code) => code,
    };
    let is = |wanted: &str| Some(flag(code == wanted));
    match property {
        "basetype" => Some(Value::str(code)),
        "istable" => Some(flag(["U ", "S "].contains(&code))),
        "isusertable" => is("U "),
        "issystemtable" => is("S "),
        "isqueue" => is("SQ"),
        "isview" => is("V "),
        "isprocedure" => is("P "),
        "istrigger" => is("TR"),
        "isprimarykey" => is("PK"),
        "isuniquecnst" => is("UQ"),
        "isforeignkey" => is("F "),
        "ischeckcnst" => is("C "),
        "isdefaultcnst" => is("D "),
        "isconstraint" => Some(flag(matches!(thing, Thing::Constraint(_)))),
        "isinlinefunction" => is("IF"),
        "istablefunction" => Some(flag(["IF", "TF"].contains(&code))),
        "isscalarfunction" => is("FN"),
        "isexecuted" => Some(flag(matches!(thing, Thing::Module(_)))),
        "ismsshipped" => Some(flag(match thing {
            Thing::Module(module) => module.marked_system,
            _ => matches!(thing, Thing::System(_) | Thing::SystemTable(_)),
        })),
        "isdefault" | "isrule" | "isextendedproc" | "isreplproc" | "isencrypted" => {
            Some(flag(false))
        }
        "isschemabound" if !matches!(thing, Thing::Module(_)) => Some(flag(false)),
        _ => None,
    }
}

/// Whether a trigger is an INSTEAD OF trigger.
fn stands_instead(catalog: &catalog::Catalog, trigger: i32) -> bool {
    catalog.modules.get(&trigger).and_then(|m| m.trigger()).is_some_and(|t| t.instead_of)
}

fn table_value(db: &Db, table: &TableDef, property: &str) -> Value {
    let catalog = db.catalog();
    let triggers = |event: Option<&str>| {
        let own =
            |m: &&Arc<ModuleDef>| m.kind == ModuleKind::Trigger && m.parent == table.object_id;
        let fired = |m: &&Arc<ModuleDef>| {
            event.is_none_or(|e| m.trigger().is_some_and(|t| t.events.iter().any(|own| own == e)))
        };
        let mut ids: Vec<i32> =
            catalog.modules.values().filter(own).filter(fired).map(|m| m.object_id).collect();
        ids.sort_unstable();
        ids
    };
    let has = |event: &str| flag(!triggers(Some(event)).is_empty());
    let first = |event: &str| Value::Int(triggers(Some(event)).first().copied().unwrap_or(0));
    let count = |event: &str| Value::Int(triggers(Some(event)).len() as i32);
    match property {
        "tablehascheckcnst" => flag(!table.checks.is_empty()),
        "tablehasforeignkey" => flag(!table.foreign_keys.is_empty()),
        "tablehasforeignref" => {
            flag(catalog.referenced_by.get(&table.object_id).is_some_and(|l| !l.is_empty()))
        }
        "tablehasprimarykey" => flag(table.all_indexes().any(|i| i.primary_key.is_some())),
        "tablehasuniquecnst" => flag(table.all_indexes().any(|i| i.unique_constraint.is_some())),
        "tablehasdefaultcnst" => flag(table.columns.iter().any(|c| c.default.is_some())),
        "tablehasidentity" => flag(table.columns.iter().any(|c| c.identity.is_some())),
        "tablehasclustindex" => flag(table.storage.index_id == 1),
        "tablehasnonclustindex" => flag(!table.indexes.is_empty()),
        "tablehasindex" | "isindexed" => {
            flag(table.storage.index_id == 1 || !table.indexes.is_empty())
        }
        "tabletemporaltype" => Value::Int(table.temporal.shown().0.into()),
        "tablehastextimage" => flag(table.columns.iter().any(|c| c.ty.is_lob())),
        "hasaftertrigger" => flag(triggers(None).iter().any(|id| !stands_instead(&catalog, *id))),
        "hasinsteadoftrigger" => {
            flag(triggers(None).iter().any(|id| stands_instead(&catalog, *id)))
        }
        "hasinserttrigger" | "tablehasinserttrigger" => has("INSERT"),
        "hasupdatetrigger" | "tablehasupdatetrigger" => has("UPDATE"),
        "hasdeletetrigger" | "tablehasdeletetrigger" => has("DELETE"),
        "tableinserttrigger" => first("INSERT"),
        "tableupdatetrigger" => first("UPDATE"),
        "tabledeletetrigger" => first("DELETE"),
        "tableinserttriggercount" => count("INSERT"),
        "tableupdatetriggercount" => count("UPDATE"),
        "tabledeletetriggercount" => count("DELETE"),
        "tablehasrowguidcol" => flag(table.columns.iter().any(|c| c.traits.rowguid)),
        "isansinullson" | "isquotedidenton" | "isindexable" => flag(true),
        "tablefulltextpopulatestatus"
        | "tablehasactivefulltextindex"
        | "tablehascolumnset"
        | "tablehastimestamp"
        | "tablehasvardecimalstorageformat"
        | "tableisfake"
        | "tableislockedonbulkload"
        | "tableismemoryoptimized"
        | "tableispinned"
        | "tabletextinrowlimit" => flag(false),
        // As far as it is known without counting.
        "cardinality" => match table.state.rows() {
            rows if rows >= 0 => Value::BigInt(rows),
            _ => Value::Null,
        },
        _ => Value::Null,
    }
}

/// What the value of a function, or of a view, depends on.
fn nature_value(
    functions: SystemFunctions,
    db: &Arc<Db>,
    module: &Arc<ModuleDef>,
    property: &str,
) -> Option<Value> {
    let asks =
        ["isdeterministic", "isprecise", "issystemverified", "systemdataaccess", "userdataaccess"];
    if !asks.contains(&property) {
        return None;
    }
    if !module.kind.is_function() && module.kind != ModuleKind::View {
        return Some(Value::Null);
    }
    let nature = FunctionNature::of(functions, db, module);
    Some(flag(match property {
        "isdeterministic" => nature.deterministic,
        "isprecise" => nature.precise,
        "issystemverified" => nature.verified,
        "systemdataaccess" => !module.has_option("SCHEMABINDING"),
        _ => nature.reads,
    }))
}

fn module_value(module: &ModuleDef, property: &str) -> Value {
    let event =
        |name: &str| flag(module.trigger().is_some_and(|t| t.events.iter().any(|e| e == name)));
    match property {
        "execisquotedidenton" | "isquotedidenton" => flag(module.settings.quoted_identifier),
        "execisansinullson" | "isansinullson" => flag(module.settings.ansi_nulls),
        "execistriggerdisabled" => flag(module.disabled),
        "execisinserttrigger" => event("INSERT"),
        "execisupdatetrigger" => event("UPDATE"),
        "execisdeletetrigger" => event("DELETE"),
        "execisfirstinserttrigger" => flag(module.order.first & TriggerOrder::bit("INSERT") != 0),
        "execisfirstupdatetrigger" => flag(module.order.first & TriggerOrder::bit("UPDATE") != 0),
        "execisfirstdeletetrigger" => flag(module.order.first & TriggerOrder::bit("DELETE") != 0),
        "execislastinserttrigger" => flag(module.order.last & TriggerOrder::bit("INSERT") != 0),
        "execislastupdatetrigger" => flag(module.order.last & TriggerOrder::bit("UPDATE") != 0),
        "execislastdeletetrigger" => flag(module.order.last & TriggerOrder::bit("DELETE") != 0),
        "execisaftertrigger" => flag(module.trigger().is_some_and(|t| !t.instead_of)),
        "execisinsteadoftrigger" => flag(module.trigger().is_some_and(|t| t.instead_of)),
        "isschemabound" => flag(module.has_option("SCHEMABINDING")),
        "execisstartup" => flag(module.startup),
        "execistriggernotforrepl" | "execiswithnativecompilation" => flag(false),
        "isindexable" | "isindexed" if module.kind == ModuleKind::View => flag(false),
        _ => Value::Null,
    }
}

fn constraint_value(constraint: &ConstraintAt, property: &str) -> Value {
    let table = &constraint.table;
    let (clustered, column, disabled, untrusted) = match constraint.kind {
        ConstraintKind::PrimaryKey(id) | ConstraintKind::Unique(id) => {
            (Some(id == 1), false, false, false)
        }
        ConstraintKind::Default(_) => (None, true, false, false),
        ConstraintKind::Check(at) => {
            let check = &table.checks[at];
            (None, check.column.is_some(), check.disabled, check.untrusted)
        }
        ConstraintKind::ForeignKey(at) => {
            let key = &table.foreign_keys[at];
            (None, key.columns.len() == 1, key.disabled, key.untrusted)
        }
    };
    let cascades = |of: fn(&catalog::ForeignKeyDef) -> ReferentialAction| match constraint.kind {
        ConstraintKind::ForeignKey(at) => {
            flag(of(&table.foreign_keys[at]) == ReferentialAction::Cascade)
        }
        _ => flag(false),
    };
    match property {
        "cnstisclustkey" => flag(clustered == Some(true)),
        "cnstisnonclustkey" => flag(clustered == Some(false)),
        "cnstiscolumn" => flag(column),
        "cnstisdisabled" => flag(disabled),
        "cnstisnottrusted" => flag(untrusted),
        "cnstisnotrepl" => flag(false),
        "cnstisdeletecascade" => cascades(|key| key.on_delete),
        "cnstisupdatecascade" => cascades(|key| key.on_update),
        _ => Value::Null,
    }
}
