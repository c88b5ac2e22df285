//! The functions that answer by the name of a property: SERVERPROPERTY, DATABASEPROPERTYEX, OBJECTPROPERTY, COLUMNPROPERTY,
//! INDEXPROPERTY, TYPEPROPERTY and their kin. A name that is not documented, and a property that this server does not have, is
//! NULL.

use std::sync::Arc;

use super::{of_statement, session};
use crate::instance::OfInstance;
use crate::stmt::computed_def;
use crate::views::{self, SystemView};
use catalog::{
    Catalog, ConstraintAt, ConstraintKind, Db, ModuleDef, ModuleKind, TableDef, TriggerOrder, fold_name,
};
use exec::state::SessionCore;
use expr::functions::{ArgRule as A, Function, int, int_arg, text_arg};
use plan::view::ViewDef;
use syntax::ast::ReferentialAction;
use types::{Collation, DataType, SqlError, Value};

/// What clients take the server for. Their minor versions gate nothing.
pub const PRODUCT_VERSION: &str = "16.0.1000.6";
/// The name of the server.
pub const SERVER_NAME: &str = "RINGWOOD";
/// The name of a default instance.
pub const SERVICE_NAME: &str = "MSSQLSERVER";

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
        let db = session(cx)?.host().find_db(text_arg(a, 0).trim_end());
        Ok(db.map_or(Value::Null, |db| db.property(&property(a, 1))))
    }),
    f("databaseproperty", 2, &[A::Name], int, |a, cx| {
        let db = session(cx)?.host().find_db(text_arg(a, 0).trim_end());
        let value = db.map_or(Value::Null, |db| db.property(&property(a, 1)));
        Ok(if matches!(value, Value::Int(_)) { value } else { Value::Null })
    }),
    f("connectionproperty", 1, &[A::Name], variant, |a, cx| connection(&property(a, 0), session(cx)?)),
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
        let catalog = session(cx)?.db().catalog();
        Ok(index(&catalog, int_arg(a, 0), text_arg(a, 1), &property(a, 2)))
    }),
    f("indexkey_property", 4, &[A::Int, A::Int, A::Int, A::Name], int, |a, cx| {
        let catalog = session(cx)?.db().catalog();
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
        let catalog = session(cx)?.db().catalog();
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
            _ => Value::Null,
        })
    }),
    f("fulltextserviceproperty", 1, &[A::Name], int, |a, _| {
        // There is no full-text search.
        Ok(if property(a, 0) == "isfulltextinstalled" { flag(false) } else { Value::Null })
    }),
];

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

fn table_of(catalog: &Catalog, id: i64) -> Option<&Arc<TableDef>> {
    i32::try_from(id).ok().and_then(|id| catalog.by_id.get(&id))
}

fn server(property: &str, session: &SessionCore) -> Result<Value, SqlError> {
    let folder = || Value::str(session.instance().paths.root().display().to_string());
    Ok(match property {
        "buildclrversion"
        | "instancename"
        | "numlicenses"
        | "processid"
        | "productbuildtype"
        | "productupdatelevel"
        | "productupdatereference"
        | "filestreamsharename"
        | "hadrmanagerstatus" => Value::Null,
        "collation" => Value::str(Collation::DEFAULT.name()),
        "collationid" => collation_value(Collation::DEFAULT, "collationid"),
        "comparisonstyle" => collation_value(Collation::DEFAULT, "comparisonstyle"),
        "lcid" => collation_value(Collation::DEFAULT, "lcid"),
        "computernamephysicalnetbios" | "machinename" | "servername" => Value::str(SERVER_NAME),
        "edition" => Value::str("Ringwood (64-bit)"),
        // Developer: what the number of the edition says of limits.
        "editionid" => Value::BigInt(-2_117_995_310),
        "engineedition" => Value::Int(3),
        "filestreamconfiguredlevel" | "filestreameffectivelevel" => flag(false),
        "instancedefaultbackuppath" | "instancedefaultdatapath" | "instancedefaultlogpath" => folder(),
        "isadvancedanalyticsinstalled"
        | "isbigdatacluster"
        | "isclustered"
        | "isexternalauthenticationonly"
        | "isexternalgovernanceenabled"
        | "isfulltextinstalled"
        | "ishadrenabled"
        | "isintegratedsecurityonly"
        | "islocaldb"
        | "ispolybaseinstalled"
        | "isserversuspendedforsnapshotbackup"
        | "issingleuser"
        | "istempdbmetadatamemoryoptimized"
        | "isxtpsupported" => flag(false),
        "licensetype" => Value::str("DISABLED"),
        "pathseparator" => Value::str(std::path::MAIN_SEPARATOR_STR),
        "productbuild" => Value::str("1000"),
        "productlevel" => Value::str("RTM"),
        "productmajorversion" => Value::str("16"),
        "productminorversion" => Value::str("0"),
        "productversion" => Value::str(PRODUCT_VERSION),
        "resourcelastupdatedatetime" => session.instance().started().clone(),
        "resourceversion" => Value::str("16.00.1000"),
        "sqlcharset" => Value::TinyInt(1),
        "sqlcharsetname" => Value::str("iso_1"),
        "sqlsortorder" => Value::TinyInt(52),
        "sqlsortordername" => Value::str("nocase_iso"),
        "suspendeddatabasecount" => flag(false),
        _ => Value::Null,
    })
}

/// The connection as sys.dm_exec_connections shows it.
fn connection(property: &str, session: &mut SessionCore) -> Result<Value, SqlError> {
    let column = match property {
        "net_transport" | "physical_net_transport" => "net_transport",
        "protocol_type" => "protocol_type",
        "auth_scheme" => "auth_scheme",
        "local_net_address" => "local_net_address",
        "local_tcp_port" => "local_tcp_port",
        "client_net_address" => "client_net_address",
        _ => return Ok(Value::Null),
    };
    let (db, spid) = (session.db().clone(), session.spid());
    let view = &views::sessions::CONNECTIONS;
    let at = view.columns().iter().position(|(name, _, _)| *name == column);
    let mut rows = view.rows(session, &db, &[])?.into_iter();
    let own = rows.find(|row| row.first() == Some(&Value::Int(spid)));
    Ok(at.and_then(|at| own?.into_iter().nth(at)).unwrap_or(Value::Null))
}

fn collation_value(collation: Collation, property: &str) -> Value {
    match property {
        "codepage" => Value::Int(collation.code_page().number().into()),
        "lcid" => Value::Int(collation.lcid() as i32),
        "comparisonstyle" => Value::Int(collation.comparison_style()),
        "version" => Value::Int(collation.version().into()),
        "sortid" => Value::Int(collation.sort_id().unwrap_or(0).into()),
        "tdscollation" => Value::bytes(collation.wire_bytes().as_slice()),
        "collationid" => {
            let [a, b, c, d, _] = collation.wire_bytes();
            Value::Int(i32::from_le_bytes([a, b, c, d]))
        }
        _ => Value::Null,
    }
}

fn type_value(catalog: &Catalog, name: &str, property: &str) -> Value {
    let parts = super::metadata::name_parts(name).unwrap_or_default();
    let schema = parts.get(1).map_or("", String::as_str);
    let alias = parts.first().and_then(|name| catalog.find_type(schema, name));
    let built_in = || DataType::from_name(parts.first().map_or("", String::as_str), &[]).ok();
    let (ty, nullable) = match alias {
        Some(alias) => (Some(alias.base), alias.nullable),
        None => (built_in(), true),
    };
    let Some(ty) = ty else { return Value::Null };
    let sized = ty.is_string() || ty.is_binary();
    // A built-in type without a length has the greatest.
    let greatest = if ty.is_unicode() { 4000 } else { 8000 };
    match property {
        "allowsnull" => flag(nullable),
        "ownerid" => Value::Int(1),
        "precision" if sized && alias.is_none() && !ty.is_old_lob() => Value::Int(greatest),
        "precision" if sized => Value::Int(ty.shown_length()),
        "precision" if matches!(ty, DataType::Decimal { .. }) && alias.is_none() => Value::Int(38),
        "precision" => Value::Int(ty.precision().into()),
        "scale" if sized => Value::Null,
        "scale" if matches!(ty, DataType::Decimal { .. }) && alias.is_none() => Value::Int(38),
        "scale" => Value::Int(ty.scale().into()),
        "usesansitrim" => {
            if sized {
                flag(true)
            } else {
                Value::Null
            }
        }
        _ => Value::Null,
    }
}

fn index(catalog: &Catalog, table: i64, name: &str, property: &str) -> Value {
    let Some(table) = table_of(catalog, table) else { return Value::Null };
    let name = fold_name(name);
    let Some(index) = table.all_indexes().find(|i| i.index_id > 0 && fold_name(&i.name) == name) else {
        let statistics = catalog::statistics::all(table);
        let found = statistics.iter().find(|s| fold_name(&s.name) == name);
        return match (found, property) {
            (Some(_), "isstatistics") => flag(true),
            (Some(s), "indexid") => Value::Int(s.stats_id),
            (Some(_), "isclustered" | "isunique" | "isdisabled" | "ishypothetical") => flag(false),
            _ => Value::Null,
        };
    };
    match property {
        "isunique" => flag(index.unique),
        "isclustered" => flag(index.index_id == 1),
        "indexid" => Value::Int(index.index_id),
        "indexfillfactor" => Value::Int(index.fill_factor.into()),
        "isdisabled" => flag(index.options.disabled),
        "isoptimizedforsequentialkey" => flag(index.options.sequential_key),
        "ispadindex" => flag(index.options.padded),
        "ispagelockdisallowed" => flag(index.options.no_page_locks),
        "isrowlockdisallowed" => flag(index.options.no_row_locks),
        "isautostatistics" | "iscolumnstore" | "isfulltextkey" | "ishypothetical" | "isstatistics" => {
            flag(false)
        }
        _ => Value::Null,
    }
}

/// COLUMNPROPERTY: of a column of a table or view, or of a parameter.
fn column(id: i64, name: &str, property: &str, session: &mut SessionCore) -> Value {
    let db = session.db().clone();
    let catalog = db.catalog();
    let Ok(id) = i32::try_from(id) else { return Value::Null };
    let name = fold_name(name);
    if let Some(table) = catalog.by_id.get(&id) {
        let Some(at) = table.column(&name) else { return Value::Null };
        let c = &table.columns[at];
        return match property {
            "isidentity" => flag(c.identity.is_some()),
            "columnid" => Value::Int(c.column_id),
            "ordinal" => Value::Int(at as i32 + 1),
            "isindexable" => {
                flag(!c.ty.is_lob() && (!c.is_virtual() || computed_def::is_deterministic(&db, table, at)))
            }
            "iscomputed" => flag(c.computed.is_some()),
            "ismasked" => flag(c.mask.is_some()),
            "isdeterministic" if c.computed.is_some() => flag(computed_def::is_deterministic(&db, table, at)),
            "generatedalwaystype" => {
                Value::Int(c.generated.map_or(0, |generated| 1 + i32::from(generated.end)))
            }
            "ishidden" => flag(c.is_hidden()),
            _ => typed(c.ty, c.nullable, property),
        };
    }
    match catalog.modules.get(&id) {
        Some(module) if module.kind == ModuleKind::View => {
            let columns = views::columns_of_view(session, &db, module).unwrap_or_default();
            let Some(at) = columns.iter().position(|c| fold_name(&c.name) == name) else {
                return Value::Null;
            };
            match property {
                "columnid" | "ordinal" => Value::Int(at as i32 + 1),
                "isidentity" => flag(false),
                _ => typed(columns[at].ty, columns[at].nullable, property),
            }
        }
        Some(module) => {
            let params = crate::batch::module::params_of(module, &catalog).unwrap_or_default();
            let Some(at) = params.iter().position(|p| fold_name(&p.name) == name) else { return Value::Null };
            match property {
                "columnid" | "ordinal" => Value::Int(at as i32 + 1),
                "isoutparam" => flag(params[at].output),
                _ => typed(params[at].ty, true, property),
            }
        }
        None => Value::Null,
    }
}

/// What COLUMNPROPERTY says of a type alone.
fn typed(ty: DataType, nullable: bool, property: &str) -> Value {
    let sized = ty.is_string() || ty.is_binary();
    match property {
        "allowsnull" => flag(nullable),
        "precision" | "charmaxlen" if sized => Value::Int(ty.shown_length()),
        "precision" => Value::Int(ty.precision().into()),
        "scale" if sized => Value::Null,
        "scale" => Value::Int(ty.scale().into()),
        "usesansitrim" if sized => flag(true),
        "iscomputed" | "isrowguidcol" | "iscursortype" | "isfulltextindexed" | "ishidden"
        | "isidnotforrepl" | "isoutparam" | "issparse" | "iscolumnset" | "isxmlindexable" => flag(false),
        _ => Value::Null,
    }
}

/// What an id stands for.
enum Thing {
    Table(Arc<TableDef>),
    Module(Arc<ModuleDef>),
    Constraint(ConstraintAt),
    /// A system view, or a system table function.
    System(bool),
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
    let view = views::by_id(id)?;
    Some(Thing::System(view.arguments().is_some()))
}

/// OBJECTPROPERTYEX.
fn object(id: i64, property: &str, session: &mut SessionCore) -> Value {
    let db = session.db().clone();
    let catalog = db.catalog();
    let Some(thing) = thing(&catalog, id) else { return Value::Null };
    if let Some(value) = kind_of(&thing, property) {
        return value;
    }
    let schema_of = |name: &str| Value::Int(catalog.schemas.get(&fold_name(name)).copied().unwrap_or(1));
    match (&thing, property) {
        (_, "ownerid") => Value::Int(1),
        (Thing::Table(table), "schemaid") => schema_of(&table.schema),
        (Thing::Module(module), "schemaid") => schema_of(&module.schema),
        (Thing::Constraint(constraint), "schemaid") => schema_of(&constraint.table.schema),
        (Thing::System(_), "schemaid") => Value::Int(4),
        (Thing::Table(table), _) => table_value(&db, table, property),
        (Thing::Module(module), _) => module_value(module, property),
        (Thing::Constraint(constraint), _) => constraint_value(constraint, property),
        (Thing::System(_), _) => Value::Null,
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
    };
    let is = |wanted: &str| Some(flag(code == wanted));
    match property {
        "basetype" => Some(Value::str(code)),
        "istable" | "isusertable" => is("U "),
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
        "ismsshipped" => Some(flag(matches!(thing, Thing::System(_)))),
        "issystemtable" | "isdefault" | "isrule" | "isextendedproc" | "isreplproc" | "isqueue"
        | "isencrypted" => Some(flag(false)),
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
        let own = |m: &&Arc<ModuleDef>| m.kind == ModuleKind::Trigger && m.parent == table.object_id;
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
        "tablehasindex" | "isindexed" => flag(table.storage.index_id == 1 || !table.indexes.is_empty()),
        "tabletemporaltype" => Value::Int(table.temporal.shown().0.into()),
        "tablehastextimage" => flag(table.columns.iter().any(|c| c.ty.is_lob())),
        "hasaftertrigger" => flag(triggers(None).iter().any(|id| !stands_instead(&catalog, *id))),
        "hasinsteadoftrigger" => flag(triggers(None).iter().any(|id| stands_instead(&catalog, *id))),
        "hasinserttrigger" | "tablehasinserttrigger" => has("INSERT"),
        "hasupdatetrigger" | "tablehasupdatetrigger" => has("UPDATE"),
        "hasdeletetrigger" | "tablehasdeletetrigger" => has("DELETE"),
        "tableinserttrigger" => first("INSERT"),
        "tableupdatetrigger" => first("UPDATE"),
        "tabledeletetrigger" => first("DELETE"),
        "tableinserttriggercount" => count("INSERT"),
        "tableupdatetriggercount" => count("UPDATE"),
        "tabledeletetriggercount" => count("DELETE"),
        "isansinullson" | "isquotedidenton" | "isindexable" => flag(true),
        "tablefulltextpopulatestatus"
        | "tablehasactivefulltextindex"
        | "tablehascolumnset"
        | "tablehasrowguidcol"
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

fn module_value(module: &ModuleDef, property: &str) -> Value {
    let event = |name: &str| flag(module.trigger().is_some_and(|t| t.events.iter().any(|e| e == name)));
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
        "execistriggernotforrepl" | "execiswithnativecompilation" | "isdeterministic" => flag(false),
        "isindexable" | "isindexed" if module.kind == ModuleKind::View => flag(false),
        _ => Value::Null,
    }
}

fn constraint_value(constraint: &ConstraintAt, property: &str) -> Value {
    let table = &constraint.table;
    let (clustered, column, disabled, untrusted) = match constraint.kind {
        ConstraintKind::PrimaryKey(id) | ConstraintKind::Unique(id) => (Some(id == 1), false, false, false),
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
        ConstraintKind::ForeignKey(at) => flag(of(&table.foreign_keys[at]) == ReferentialAction::Cascade),
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
