//! CREATE, ALTER and DROP of views, procedures, functions and triggers; ENABLE and DISABLE TRIGGER.

use std::sync::Arc;

use syntax::ast::{
    CreateFunction, CreateProcedure, CreateTrigger, CreateView, DropKind, DropObjects, ExecuteAs,
    FunctionBody, ModuleVerb, ObjectName, OptionItem, ReferentialAction, SwitchTrigger,
    TriggerTarget,
};
use types::{SqlError, msg};

use super::{StmtCtx, database_of, resolve_table};
use bind::Binder;
use bind::env::{CompileEnv, NO_TEMPS, VarScope};
use catalog::module::AS_OWNER;
use catalog::security::{Class, Kind, Permission, Securable};
use catalog::temporal::Temporal;
use catalog::{Catalog, Db, ModuleDef, ModuleKind, ModuleSettings, errors, fold_name};
use ddl::ddl_triggers;
use ddl::events::{self, KnownEvent};
use ddl::modules::{self, NewModule, Parent};
use ddl::table_def;
use ddl::temp_procedures;
use ddl::temps::tempdb;
use ddl::work::SchemaChange;
use instance::security::change::forget;
use programs::module::{checked_params, compile};
use session::state::SessionCore;

impl StmtCtx<'_> {
    pub(super) fn create_view(&mut self, stmt: &CreateView) -> Result<(), SqlError> {
        check_options("CREATE VIEW", &stmt.options, &["VIEW_METADATA", "SCHEMABINDING"])?;
        if stmt.name.name.value.starts_with('#') {
            return Err(SqlError::of(msg::TEMPORARY_VIEW, [&stmt.name.name.value]));
        }
        let db = self.own_database("VIEW", &stmt.name)?;
        let text = self.module_text(&stmt.text);
        let new = self.new_module(ModuleKind::View, stmt.verb, &stmt.name, &text);
        let mut work = SchemaChange::begin(self.core, &db)?;
        modules::put(&mut work, &new, check_view)
    }

    pub(super) fn create_procedure(&mut self, stmt: &CreateProcedure) -> Result<(), SqlError> {
        check_options("CREATE PROCEDURE", &stmt.options, &["RECOMPILE"])?;
        let run_as = self.run_as(stmt.execute_as.as_ref())?;
        if stmt.number.is_some_and(|n| n != 1) {
            return Err(errors::not_supported("CREATE PROCEDURE with a number"));
        }
        if stmt.for_replication {
            return Err(errors::not_supported("CREATE PROCEDURE FOR REPLICATION"));
        }
        let db = self.own_database("PROCEDURE", &stmt.name)?;
        let text = self.module_text(&stmt.text);
        let mut new = self.new_module(ModuleKind::Procedure, stmt.verb, &stmt.name, &text);
        new.run_as = run_as;
        let check = |work: &mut SchemaChange<'_>, module: &Arc<ModuleDef>| {
            compile(work.core, module, &work.db.catalog()).map(drop)
        };
        if stmt.name.name.value.starts_with('#') {
            // A user of one database is nobody in the others that it is called in.
            if run_as.is_some() {
                return Err(errors::not_supported("EXECUTE AS of a temporary procedure"));
            }
            return temp_procedures::put(self.core, &new, check);
        }
        modules::put(&mut SchemaChange::begin(self.core, &db)?, &new, check)
    }

    pub(super) fn create_trigger(&mut self, stmt: &CreateTrigger) -> Result<(), SqlError> {
        check_options("CREATE TRIGGER", &stmt.options, &[])?;
        let target = match &stmt.on {
            TriggerTarget::Table(target) => target,
            TriggerTarget::Database => {
                let run_as = self.run_as(stmt.execute_as.as_ref())?;
                return self.create_event_trigger(stmt, run_as, false);
            }
            TriggerTarget::Server => {
                self.check_login(stmt.execute_as.as_ref())?;
                return self.create_event_trigger(stmt, None, true);
            }
        };
        let run_as = self.run_as(stmt.execute_as.as_ref())?;
        let (db, parent) = self.trigger_parent(target)?;
        if matches!(parent, Parent::View(_)) && !stmt.instead_of {
            return Err(invalid_parent(target));
        }
        let text = self.module_text(&stmt.text);
        let mut new = self.new_module(ModuleKind::Trigger, stmt.verb, &stmt.name, &text);
        new.run_as = run_as;
        if new.schema.is_empty() {
            new.schema = parent.schema();
        } else if fold_name(new.schema) != fold_name(parent.schema()) {
            return Err(SqlError::of(msg::TRIGGER_SCHEMA_DIFFERS, [&"create", &stmt.name]));
        }
        new.parent = Some(parent.clone());
        let mut work = SchemaChange::begin(self.core, &db)?;
        let before = db
            .catalog()
            .find_module(new.schema, new.name)
            .filter(|m| m.kind == ModuleKind::Trigger)
            .cloned();
        if stmt.verb != ModuleVerb::Create
            && let Some(before) = before
            && before.parent != parent.id()
        {
            return Err(SqlError::of(msg::TRIGGER_OF_OTHER_OBJECT, [&stmt.name, &target]));
        }
        modules::put(&mut work, &new, |work, module| {
            check_versioning(&work.db, module, &parent)?;
            check_instead_of(&work.db.catalog(), module, &parent, target)?;
            compile(work.core, module, &work.db.catalog()).map(drop)
        })
    }

    /// 3705: DROP TABLE of something that is none.
    pub(super) fn check_is_table(&self, name: &ObjectName) -> Result<(), SqlError> {
        let db = database_of(self.core, name)?;
        let schema = name.schema.as_ref().map_or("", |schema| schema.value.as_str());
        match db.catalog().find_module(schema, &name.name.value) {
            None => Ok(()),
            Some(module) => Err(wrong_kind(DropKind::Table, name, module.kind.word())),
        }
    }

    pub(super) fn switch_trigger(&mut self, stmt: &SwitchTrigger) -> Result<(), SqlError> {
        let names: Vec<_> = stmt.names.iter().map(|name| name.name.value.clone()).collect();
        let target = match &stmt.on {
            TriggerTarget::Table(target) => target,
            TriggerTarget::Database | TriggerTarget::Server => {
                let (db, of_server) = self.home_of_triggers(&stmt.on)?;
                let work = &mut SchemaChange::begin(self.core, &db)?;
                return ddl_triggers::switch(work, of_server, &names, stmt.enable);
            }
        };
        let (db, parent) = self.trigger_parent(target)?;
        let mut work = SchemaChange::begin(self.core, &db)?;
        modules::switch_triggers(&mut work, &parent, &names, stmt.enable)
    }

    /// Which database keeps the triggers of a database or of the server, and whether they are the
    /// server's.
    fn home_of_triggers(&self, on: &TriggerTarget) -> Result<(Arc<Db>, bool), SqlError> {
        match on {
            TriggerTarget::Server => Ok((self.core.host().database("master")?, true)),
            _ => Ok((self.core.db().clone(), false)),
        }
    }

    /// As which login a trigger of the server is to run.
    ///
    /// Errors: 15151 there is no such login, 40510 SELF and OWNER.
    fn check_login(&self, execute_as: Option<&ExecuteAs>) -> Result<(), SqlError> {
        match execute_as {
            None | Some(ExecuteAs::Caller) => Ok(()),
            Some(ExecuteAs::Login(_)) => Err(errors::syntax_near("LOGIN")),
            Some(ExecuteAs::Owner | ExecuteAs::SelfUser) => {
                Err(errors::not_supported("EXECUTE AS SELF or OWNER of a trigger ON ALL SERVER"))
            }
            Some(ExecuteAs::User(name)) => {
                let master = self.core.host().database("master")?;
                let known = self
                    .core
                    .security(&master)
                    .server
                    .find(name)
                    .is_some_and(|p| p.kind == Kind::User);
                if known {
                    Ok(())
                } else {
                    Err(SqlError::of(msg::CANNOT_CHANGE_MISSING, [&"find", &"login", &name]))
                }
            }
        }
    }

    /// CREATE TRIGGER ... ON DATABASE and ON ALL SERVER.
    ///
    /// Errors: 1094 a schema before the name, 1084 no such event, 1098 one of another kind of
    /// trigger, 40510 one that is not raised.
    fn create_event_trigger(
        &mut self,
        stmt: &CreateTrigger,
        run_as: Option<i32>,
        of_server: bool,
    ) -> Result<(), SqlError> {
        if stmt.name.schema.is_some() {
            return Err(SqlError::of(msg::TRIGGER_SCHEMA_PREFIX, []));
        }
        if stmt.instead_of {
            return Err(errors::syntax_near("INSTEAD"));
        }
        for event in &stmt.events {
            match events::known(event, of_server) {
                KnownEvent::Raised => {}
                KnownEvent::Elsewhere => return Err(invalid_events()),
                KnownEvent::Missing => {
                    return Err(errors::not_supported(&format!("a trigger for {event}")));
                }
                KnownEvent::No => {
                    return Err(SqlError::of(msg::INVALID_EVENT_TYPE, [&event]));
                }
            }
        }
        if stmt.events.len() > 1 && stmt.events.iter().any(|event| event == events::LOGON) {
            return Err(invalid_events());
        }
        let (db, of_server) = self.home_of_triggers(&stmt.on)?;
        let text = self.module_text(&stmt.text);
        let mut new = self.new_module(ModuleKind::Trigger, stmt.verb, &stmt.name, &text);
        new.run_as = run_as;
        let mut work = SchemaChange::begin(self.core, &db)?;
        let check = |work: &SchemaChange<'_>, module: &Arc<ModuleDef>| {
            compile(work.core, module, &work.db.catalog()).map(drop)
        };
        ddl_triggers::put(&mut work, &new, of_server, check)
    }

    /// DROP TRIGGER ... ON DATABASE and ON ALL SERVER.
    fn drop_event_triggers(
        &mut self,
        stmt: &DropObjects,
        on: &TriggerTarget,
    ) -> Result<(), SqlError> {
        let (db, of_server) = self.home_of_triggers(on)?;
        for name in &stmt.names {
            let work = &mut SchemaChange::begin(self.core, &db)?;
            let gone = ddl_triggers::drop_trigger(work, of_server, &name.name.value)?;
            if !gone && !stmt.if_exists {
                return Err(errors::cannot_drop("trigger", &name.to_string()));
            }
        }
        Ok(())
    }

    /// CREATE FUNCTION. Of an inline function the query is bound, of the others the statements are
    /// looked through.
    pub(super) fn create_function(&mut self, stmt: &CreateFunction) -> Result<(), SqlError> {
        let known =
            ["SCHEMABINDING", "RETURNS NULL ON NULL INPUT", "CALLED ON NULL INPUT", "INLINE"];
        check_options("CREATE FUNCTION", &stmt.options, &known)?;
        let run_as = self.run_as(stmt.execute_as.as_ref())?;
        if run_as.is_some() && matches!(stmt.body, FunctionBody::Inline(_)) {
            return Err(errors::syntax_near("EXECUTE"));
        }
        if stmt.name.name.value.starts_with('#') {
            return Err(SqlError::of(msg::TEMPORARY_FUNCTION, []));
        }
        let db = self.own_database("FUNCTION", &stmt.name)?;
        let text = self.module_text(&stmt.text);
        let mut new =
            self.new_module(ModuleKind::of_function(&stmt.body), stmt.verb, &stmt.name, &text);
        new.run_as = run_as;
        let mut work = SchemaChange::begin(self.core, &db)?;
        modules::put(&mut work, &new, check_function)
    }

    /// DROP VIEW, PROCEDURE, FUNCTION, TRIGGER.
    pub(super) fn drop_modules(
        &mut self,
        stmt: &DropObjects,
        kind: ModuleKind,
    ) -> Result<(), SqlError> {
        if let Some(on @ (TriggerTarget::Database | TriggerTarget::Server)) = &stmt.on {
            return self.drop_event_triggers(stmt, on);
        }
        for name in &stmt.names {
            if kind == ModuleKind::Procedure
                && let Some(temporary) = temp_procedures::find(self.core, &name.name.value)?
            {
                let db = tempdb(self.core)?;
                modules::drop_module(&mut SchemaChange::begin(self.core, &db)?, &temporary)?;
                continue;
            }
            let db = database_of(self.core, name)?;
            db.check_usable()?;
            let schema = name.schema.as_ref().map_or("", |s| s.value.as_str());
            let looked = self.core.looked();
            let found = db.catalog().find_module(schema, &name.name.value).cloned();
            if found.is_none() && db.catalog().find(schema, &name.name.value).is_none() {
                self.settle_missing(name, looked)?;
            }
            match found {
                Some(module) if module.kind.word() == kind.word() => {
                    let mut work = SchemaChange::begin(self.core, &db)?;
                    modules::drop_module(&mut work, &module)?;
                    forget(work.core, &db, Class::Object, module.object_id)?;
                }
                Some(module) => return Err(wrong_kind(stmt.kind, name, module.kind.word())),
                None if db.catalog().find(schema, &name.name.value).is_some() => {
                    return Err(wrong_kind(stmt.kind, name, "table"));
                }
                None if stmt.if_exists => {}
                None => return Err(errors::cannot_drop(kind.word(), &name.to_string())),
            }
        }
        Ok(())
    }

    fn new_module<'a>(
        &self,
        kind: ModuleKind,
        verb: ModuleVerb,
        name: &'a ObjectName,
        text: &'a str,
    ) -> NewModule<'a> {
        let options = &self.core.options;
        NewModule {
            kind,
            verb,
            schema: name.schema.as_ref().map_or("", |s| s.value.as_str()),
            name: &name.name.value,
            text,
            settings: ModuleSettings {
                quoted_identifier: options.quoted_identifier,
                ansi_nulls: options.ansi_nulls,
            },
            parent: None,
            run_as: None,
        }
    }

    /// The user that a module is to run as; none for its caller.
    ///
    /// Errors: 15151 no such user, or none that the caller may act as.
    fn run_as(&mut self, execute_as: Option<&ExecuteAs>) -> Result<Option<i32>, SqlError> {
        match execute_as {
            None | Some(ExecuteAs::Caller) => Ok(None),
            Some(ExecuteAs::Owner) => Ok(Some(AS_OWNER)),
            Some(ExecuteAs::SelfUser) => Ok(Some(self.core.user_id())),
            Some(ExecuteAs::Login(_)) => Err(errors::syntax_near("LOGIN")),
            Some(ExecuteAs::User(name)) => {
                let db = self.core.db().clone();
                let found = self
                    .core
                    .security(&db)
                    .database
                    .find(name)
                    .filter(|p| p.kind == Kind::User)
                    .cloned();
                let own = self.core.user_id();
                let may = found.filter(|p| {
                    let on = Securable::new(Class::User, p.id);
                    p.id == own || self.core.has(&db, on, 0, Permission::Impersonate)
                });
                may.map(|p| Some(p.id)).ok_or_else(|| {
                    SqlError::of(msg::CANNOT_CHANGE_MISSING, [&"find", &"user", &name])
                })
            }
        }
    }

    /// What the catalog keeps: the whole batch, whose first statement it is; without what stands
    /// around it where the batch's text hides secrets.
    fn module_text(&self, statement: &str) -> String {
        if self.text.contains(statement) { self.text.to_string() } else { statement.to_string() }
    }

    /// The current database: a module is made in no other. Error: 166.
    fn own_database(&self, kind: &str, name: &ObjectName) -> Result<Arc<Db>, SqlError> {
        if name.database.is_some() {
            return Err(SqlError::of(
                msg::DATABASE_PREFIX_NOT_ALLOWED,
                [&format_args!("CREATE/ALTER {kind}")],
            ));
        }
        Ok(self.core.db().clone())
    }

    /// The table or view that a trigger watches. Error: 8197.
    fn trigger_parent(&self, name: &ObjectName) -> Result<(Arc<Db>, Parent), SqlError> {
        let found = resolve_table(self.core, name);
        let missing = match found {
            Ok((db, table)) => return Ok((db, Parent::Table(table))),
            Err(e) if e.number == 208 => invalid_parent(name),
            Err(e) => return Err(e),
        };
        let db = database_of(self.core, name)?;
        let schema = name.schema.as_ref().map_or("", |s| s.value.as_str());
        let view = db.catalog().find_module(schema, &name.name.value).cloned();
        match view.filter(|module| module.view().is_some()) {
            Some(view) => Ok((db, Parent::View(view))),
            None => Err(missing),
        }
    }
}

/// 1098.
fn invalid_events() -> SqlError {
    SqlError::of(msg::EVENT_NOT_VALID_ON_TARGET, [])
}

/// 8197.
fn invalid_parent(name: &ObjectName) -> SqlError {
    SqlError::of(msg::TRIGGER_TARGET_INVALID, [&name])
}

/// 13569: a history has no triggers, a versioned table none that stand in the place of a change.
fn check_versioning(db: &Db, module: &ModuleDef, parent: &Parent) -> Result<(), SqlError> {
    let Parent::Table(table) = parent else { return Ok(()) };
    let stands = module.trigger().is_some_and(|trigger| trigger.instead_of);
    let state = match table.temporal {
        Temporal::History { .. } => 1,
        Temporal::Current { .. } if stands => 2,
        _ => return Ok(()),
    };
    Err(SqlError::of(msg::TRIGGER_ON_VERSIONED, [&ddl::versioned::full_name(db, table)])
        .state(state))
}

/// One INSTEAD OF trigger for each action, and none beside a cascade that would take its place.
///
/// # Errors
/// 2111, 2113.
fn check_instead_of(
    catalog: &Catalog,
    module: &ModuleDef,
    parent: &Parent,
    target: &ObjectName,
) -> Result<(), SqlError> {
    let Some(trigger) = module.trigger().filter(|t| t.instead_of) else { return Ok(()) };
    let what = if matches!(parent, Parent::Table(_)) { "table" } else { "view" };
    for event in &trigger.events {
        let same = |m: &Arc<ModuleDef>| {
            m.kind == ModuleKind::Trigger
                && m.parent == parent.id()
                && m.object_id != module.object_id
                && m.stands_for(event)
        };
        if catalog.modules.values().any(same) {
            return Err(SqlError::of(
                msg::INSTEAD_OF_EXISTS,
                [&module.name, &what, &target, &event],
            ));
        }
    }
    let Parent::Table(table) = parent else { return Ok(()) };
    let cascades = |action: ReferentialAction| action != ReferentialAction::NoAction;
    let meets = |key: &catalog::ForeignKeyDef| {
        (cascades(key.on_delete) && module.stands_for("DELETE"))
            || (cascades(key.on_update) && module.stands_for("UPDATE"))
    };
    if table.foreign_keys.iter().any(meets) {
        return Err(SqlError::of(msg::INSTEAD_OF_WITH_CASCADE, [&module.name, &target]));
    }
    Ok(())
}

/// Finds out again what a module's text means, as if it had been altered to the same text.
///
/// # Errors
/// What is wrong with it by now.
pub fn refresh(
    core: &mut SessionCore,
    db: &Arc<Db>,
    module: &Arc<ModuleDef>,
) -> Result<(), SqlError> {
    let mut work = SchemaChange::begin(core, db)?;
    modules::refresh(&mut work, module, |work, after| match after.kind {
        ModuleKind::View => check_view(work, after),
        kind if kind.is_function() => check_function(work, after),
        _ => compile(work.core, after, &work.db.catalog()).map(drop),
    })
}

/// Binds a view's query, for its errors.
fn check_view(work: &mut SchemaChange<'_>, view: &Arc<ModuleDef>) -> Result<(), SqlError> {
    let db = work.db.clone();
    bind_module(work, |binder| binder.view_query(&db, view).map(drop)).map_err(|e| {
        if e.number == 208 && e.message.starts_with("Invalid object name '#") {
            return SqlError::of(msg::VIEW_ON_TEMPORARY_TABLE, []);
        }
        e
    })
}

/// What is wrong with a function.
fn check_function(work: &mut SchemaChange<'_>, function: &Arc<ModuleDef>) -> Result<(), SqlError> {
    let db = work.db.clone();
    let params = checked_params(work.core, function, &db.catalog())?;
    if let Some(param) = params.iter().find(|param| param.output || param.cursor) {
        return Err(errors::syntax_near(&param.name));
    }
    match function.function().map(|f| &f.body) {
        Some(FunctionBody::Inline(_)) => {
            bind_module(work, |binder| binder.inline_columns(&db, function).map(drop))
        }
        Some(FunctionBody::Table { variable, elements, .. }) => {
            let new = table_def::of_variable(work.core, variable, elements, &function.text, &db)?;
            if !new.foreign_keys.is_empty() {
                return Err(errors::syntax_near("REFERENCES"));
            }
            compile(work.core, function, &db.catalog()).map(drop)
        }
        _ => compile(work.core, function, &db.catalog()).map(drop),
    }
}

/// Binds something of a module in the name of the engine.
fn bind_module(
    work: &mut SchemaChange<'_>,
    bind: impl FnOnce(&mut Binder<'_>) -> Result<(), SqlError>,
) -> Result<(), SqlError> {
    let (host, db) = (work.core.host().clone(), work.db.clone());
    let shared = work.core.shared.clone();
    let vars = VarScope::new();
    let env = CompileEnv {
        predicate_of: None,
        schema: None,
        chain: logical::rights::OwnershipChain::Trusted,
        names: &*host,
        db: &db,
        catalog: db.catalog(),
        vars: &vars,
        values: &[],
        options: &work.core.options,
        temps: &NO_TEMPS,
        changes: None,
        cancel: &shared.cancel,
        counters: host.optimizer(),
        unresolved: None,
    };
    bind(&mut Binder::new(&env))
}

fn check_options(statement: &str, options: &[OptionItem], known: &[&str]) -> Result<(), SqlError> {
    match options.iter().find(|option| !known.contains(&option.name.as_str())) {
        None => Ok(()),
        Some(option) => Err(errors::not_supported(&format!("{statement} WITH {}", option.name))),
    }
}

/// 3705.
fn wrong_kind(kind: DropKind, name: &ObjectName, is: &str) -> SqlError {
    let word = |kind| match kind {
        DropKind::View => "VIEW",
        DropKind::Procedure => "PROCEDURE",
        DropKind::Function => "FUNCTION",
        DropKind::Trigger => "TRIGGER",
        _ => "TABLE",
    };
    SqlError::of(msg::DROP_OF_OTHER_KIND, [&word(kind), &name, &name, &is, &is.to_uppercase()])
}
