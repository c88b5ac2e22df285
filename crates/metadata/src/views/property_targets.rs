//! From the levels by which extended properties are addressed ('SCHEMA', dbo, 'TABLE', t, 'COLUMN',
//! c) to what has them.

use std::sync::Arc;

use catalog::properties::{PropertyClass, PropertyHolder};
use catalog::security::{Class, Permission, Securable};
use catalog::{ConstraintAt, Db, ModuleDef, ModuleKind, TableDef, constraints_of, fold_name};
use compact_str::CompactString;
use types::{SqlError, msg};

use super::modules::columns_of_view;
use super::rights::sees;
use session::state::SessionCore;

/// A level as it is given: what kind of thing, and its name; `None` stands for NULL.
#[derive(Clone, Copy, Debug, Default)]
pub struct Level<'a> {
    pub kind: Option<&'a str>,
    pub name: Option<&'a str>,
}

impl Level<'_> {
    fn is(&self, kind: &str) -> bool {
        self.kind.is_some_and(|given| given.eq_ignore_ascii_case(kind))
    }

    /// Whether a thing with this name is meant: all of them without a name.
    fn means(&self, name: &str) -> bool {
        self.name.is_none_or(|given| fold_name(given) == fold_name(name))
    }
}

/// Something that can have properties.
#[derive(Clone, Debug)]
pub struct PropertyTarget {
    pub holder: PropertyHolder,
    /// Kind and name as fn_listextendedproperty shows them; a database has neither.
    pub shown: Option<(&'static str, CompactString)>,
    /// What must be altered to change its properties, and the schema that it is in.
    pub on: Securable,
    schema: i32,
}

impl PropertyTarget {
    /// Whether the caller may change its properties.
    pub fn may_change(&self, core: &mut SessionCore, db: &Arc<Db>) -> bool {
        match self.holder.class {
            PropertyClass::Principal => {
                core.has(db, Securable::DATABASE, 0, Permission::AlterAnyUser)
            }
            _ => core.has(db, self.on, self.schema, Permission::Alter),
        }
    }

    /// Whether the caller may know of it.
    pub(crate) fn is_seen(&self, core: &mut SessionCore, db: &Arc<Db>) -> bool {
        // A trigger of the database belongs to no object.
        let object = if self.on == Securable::DATABASE { self.holder.major } else { self.on.major };
        !self.holder.class.is_of_object() || sees(core, db, object)
    }
}

fn target(
    class: PropertyClass,
    major: i32,
    minor: i32,
    kind: &'static str,
    name: &str,
) -> PropertyTarget {
    let shown = Some((kind, CompactString::from(name)));
    let (on, schema) = (Securable::new(Class::Object, major), 0);
    PropertyTarget { holder: PropertyHolder { class, major, minor }, shown, on, schema }
}

/// What the levels mean: one thing when all have names, else all of the last kind. Empty: there is
/// no such thing, or it can have no properties.
///
/// # Errors
/// 15600 levels that make no sense.
pub fn find(
    core: &mut SessionCore,
    db: &Arc<Db>,
    procedure: &str,
    levels: [Level<'_>; 3],
) -> Result<Vec<PropertyTarget>, SqlError> {
    let unnamed = |level: &Level<'_>| level.kind.is_none() && level.name.is_some();
    let gap = levels.windows(2).any(|pair| pair[0].kind.is_none() && pair[1].kind.is_some());
    if gap || levels.iter().any(unnamed) {
        return Err(SqlError::of(msg::INVALID_PARAMETER_OF_PROCEDURE, [&procedure]));
    }
    let [top, object, part] = levels;
    if top.kind.is_none() {
        let holder = PropertyHolder { class: PropertyClass::Database, major: 0, minor: 0 };
        return Ok(vec![PropertyTarget {
            holder,
            shown: None,
            on: Securable::DATABASE,
            schema: 0,
        }]);
    }
    if top.is("USER") && object.kind.is_none() {
        let security = core.security(db);
        let users = security.database.iter().filter(|principal| top.means(&principal.name));
        let found =
            users.map(|user| target(PropertyClass::Principal, user.id, 0, "USER", &user.name));
        return Ok(found.collect());
    }
    if top.is("TRIGGER") && object.kind.is_none() {
        let catalog = db.catalog();
        let triggers = catalog.ddl_triggers().filter(|trigger| top.means(&trigger.name));
        let found = triggers.map(|trigger| {
            let of_trigger =
                target(PropertyClass::Object, trigger.object_id, 0, "TRIGGER", &trigger.name);
            PropertyTarget { on: Securable::DATABASE, ..of_trigger }
        });
        return Ok(found.collect());
    }
    if top.is("FILEGROUP") && part.kind.is_none() {
        return Ok(in_filegroups(db, top, object));
    }
    // USER with something below it is how scripts of SQL Server 2000 name a schema.
    if !top.is("SCHEMA") && !top.is("USER") {
        return Ok(Vec::new());
    }
    let catalog = db.catalog();
    let mut schemas: Vec<(i32, CompactString)> =
        catalog.schema_names.iter().map(|(id, name)| (*id, name.clone())).collect();
    schemas.retain(|(_, name)| top.means(name));
    schemas.sort();
    let mut found = Vec::new();
    for (id, name) in schemas {
        if object.kind.is_none() {
            let on = Securable::new(Class::Schema, id);
            found.push(PropertyTarget {
                on,
                ..target(PropertyClass::Schema, id, 0, "SCHEMA", &name)
            });
            continue;
        }
        let before = found.len();
        in_schema(core, db, &name, object, part, &mut found);
        found[before..].iter_mut().for_each(|target| target.schema = id);
    }
    Ok(found)
}

/// Filegroups, or the data files in them; the log is in none. Whoever may alter the database may
/// change their properties.
fn in_filegroups(db: &Db, group: Level<'_>, file: Level<'_>) -> Vec<PropertyTarget> {
    let entry = db.entry();
    let mut found = Vec::new();
    for (at, name) in entry.filegroups.iter().enumerate().filter(|(_, name)| group.means(name)) {
        let id = at as i32 + 1;
        if file.kind.is_none() {
            found.push(target(PropertyClass::Dataspace, id, 0, "FILEGROUP", name));
        } else if file.is("LOGICAL FILE NAME") {
            let files = entry
                .files
                .iter()
                .filter(|f| i32::from(f.filegroup) == id && !f.log && file.means(&f.name));
            let class = PropertyClass::DatabaseFile;
            found.extend(
                files.map(|f| target(class, f.file_id.into(), 0, "LOGICAL FILE NAME", &f.name)),
            );
        }
    }
    found.iter_mut().for_each(|target| target.on = Securable::DATABASE);
    found
}

/// The objects and types of a schema, or what the last level means within them.
fn in_schema(
    core: &SessionCore,
    db: &Arc<Db>,
    schema: &str,
    object: Level<'_>,
    part: Level<'_>,
    found: &mut Vec<PropertyTarget>,
) {
    let catalog = db.catalog();
    let here = |other: &str| fold_name(other) == fold_name(schema);
    let class = PropertyClass::Object;
    if object.is("TABLE") {
        for table in
            catalog.sorted().into_iter().filter(|t| here(&t.schema) && object.means(&t.name))
        {
            match part.kind {
                None => found.push(target(class, table.object_id, 0, "TABLE", &table.name)),
                Some(_) => in_table(db, table, part, found),
            }
        }
    }
    if object.is("TYPE") && part.kind.is_none() {
        for alias in catalog.types.values().filter(|t| here(&t.schema) && object.means(&t.name)) {
            let id = catalog.schemas.get(&fold_name(schema)).copied().unwrap_or(0);
            let on = Securable::new(Class::Schema, id);
            found.push(PropertyTarget {
                on,
                ..target(PropertyClass::Type, alias.type_id, 0, "TYPE", &alias.name)
            });
        }
    }
    let Some(word) = ["VIEW", "PROCEDURE", "FUNCTION"].into_iter().find(|word| object.is(word))
    else {
        return;
    };
    let of_kind = |m: &&Arc<ModuleDef>| m.kind.word().eq_ignore_ascii_case(word) && here(&m.schema);
    let mut modules: Vec<_> = catalog.modules.values().filter(of_kind).collect();
    modules.retain(|module| object.means(&module.name));
    modules.sort_by(|a, b| a.name.cmp(&b.name));
    for module in modules {
        let id = module.object_id;
        match (part.kind, module.kind) {
            (None, _) => found.push(target(class, id, 0, word, &module.name)),
            (Some(_), kind)
                if part.is("COLUMN") && (kind == ModuleKind::View || kind.is_table_function()) =>
            {
                let columns = columns_of_view(core, db, module).unwrap_or_default();
                for (at, column) in columns.iter().enumerate().filter(|(_, c)| part.means(&c.name))
                {
                    found.push(target(class, id, at as i32 + 1, "COLUMN", &column.name));
                }
            }
            (Some(_), kind) if part.is("PARAMETER") && kind != ModuleKind::View => {
                let params = programs::module::params_of(module, &catalog).unwrap_or_default();
                for (at, param) in params.iter().enumerate().filter(|(_, p)| part.means(&p.name)) {
                    found.push(target(
                        PropertyClass::Parameter,
                        id,
                        at as i32 + 1,
                        "PARAMETER",
                        &param.name,
                    ));
                }
            }
            _ => {}
        }
    }
}

/// Columns, indexes, constraints and triggers of a table.
fn in_table(db: &Arc<Db>, table: &Arc<TableDef>, part: Level<'_>, found: &mut Vec<PropertyTarget>) {
    let (class, id) = (PropertyClass::Object, table.object_id);
    // Whoever may alter the table may change the properties of its parts.
    let on = Securable::new(Class::Object, id);
    if part.is("COLUMN") {
        let columns = table.columns.iter().filter(|column| part.means(&column.name));
        found.extend(
            columns.map(|column| target(class, id, column.column_id, "COLUMN", &column.name)),
        );
    }
    if part.is("INDEX") {
        let indexes = table.all_indexes().filter(|i| i.index_id > 0 && part.means(&i.name));
        found.extend(
            indexes.map(|index| {
                target(PropertyClass::Index, id, index.index_id, "INDEX", &index.name)
            }),
        );
    }
    if part.is("CONSTRAINT") {
        for (constraint, kind) in constraints_of(table) {
            let at = ConstraintAt { table: table.clone(), kind };
            if part.means(at.name()) {
                found.push(PropertyTarget {
                    on,
                    ..target(class, constraint, 0, "CONSTRAINT", at.name())
                });
            }
        }
    }
    if part.is("TRIGGER") {
        let triggers = db.catalog().triggers_of(id);
        for trigger in triggers.iter().filter(|trigger| part.means(&trigger.name)) {
            found.push(PropertyTarget {
                on,
                ..target(class, trigger.object_id, 0, "TRIGGER", &trigger.name)
            });
        }
    }
}
