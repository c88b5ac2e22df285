//! What statements that change definitions tell the triggers of their database and of the server:
//! which event, of what object. Guarantee: a trigger runs in the statement's transaction, when
//! everything else of the statement is done, those of the server before those of the database;
//! temporary tables raise nothing. Statements about databases have no transaction: CREATE and ALTER
//! run first, DROP last.

use std::fmt::Write as _;
use std::sync::Arc;

use compact_str::CompactString;
use syntax::ast::{
    DropKind, DropObjects, Ident, ModuleVerb, ObjectName, PrincipalKind, Span, Stmt, StmtKind,
    TriggerTarget,
};
use types::{DataType, SqlError};

use super::{StmtCtx, database_of};
use catalog::{Db, MASTER, ModuleDef, clock};
use ddl::events::covers;
use metadata::product::SERVER_NAME;
use session::conceal::conceal;
use session::state::SessionCore;
use session::state::changes::{Cause, FiredTriggers};
use session::state::identity::Identity;

/// An event of a database, or of the server.
pub(super) struct RaisedEvent {
    /// None for an event of the server.
    db: Option<Arc<Db>>,
    event: String,
    schema: CompactString,
    name: CompactString,
    /// `DATABASE` for a database as a whole.
    kind: &'static str,
    /// The table of an index, statistics or a trigger.
    target: Option<(CompactString, &'static str)>,
}

impl StmtCtx<'_> {
    /// The events of a statement that is about to run, as far as a trigger watches them.
    pub(super) fn events(&mut self, kind: &StmtKind) -> Vec<RaisedEvent> {
        let mut raised = match of_server(kind) {
            Some(of_server) => of_server.events(),
            None => CollectedEvents::of(self.core, kind),
        };
        raised.retain(|one| !self.triggers_of(one).is_empty());
        raised
    }

    /// The triggers that watch an event, and the database that keeps them, in the order in which
    /// they run.
    fn triggers_of(&self, raised: &RaisedEvent) -> Vec<(Arc<Db>, Vec<Arc<ModuleDef>>)> {
        let master = self.core.host().db_by_id(MASTER).map(|master| (master, true));
        let homes = master.into_iter().chain(raised.db.clone().map(|db| (db, false)));
        let found = homes.map(|(db, of_server)| {
            let catalog = db.catalog();
            let of_event =
                catalog.event_triggers(of_server).filter(|trigger| watches(trigger, &raised.event));
            let mut triggers: Vec<_> = of_event.cloned().collect();
            triggers.sort_by_key(|trigger| trigger.object_id);
            (db, triggers)
        });
        found.filter(|(_, triggers)| !triggers.is_empty()).collect()
    }

    /// Runs the triggers that watch a statement about databases, in a transaction of their own.
    ///
    /// # Errors
    /// Those of the triggers; 3609.
    pub(super) fn raise_alone(&mut self, stmt: &Stmt) -> Result<(), SqlError> {
        let raised = self.events(&stmt.kind);
        if raised.is_empty() {
            return Ok(());
        }
        self.core.begin_statement(true)?;
        let result = self.raise(&raised, stmt.span);
        self.core.end_statement(result)
    }

    /// Runs the triggers that watch what a statement has done.
    ///
    /// # Errors
    /// Those of the triggers; 3609.
    pub(super) fn raise(&mut self, raised: &[RaisedEvent], span: Span) -> Result<(), SqlError> {
        for one in raised {
            let data: Arc<str> = self.event_data(one, span).into();
            for (db, triggers) in self.triggers_of(one) {
                let cause = Cause::Event(data.clone());
                self.core.run.triggers.fired.push(FiredTriggers {
                    db,
                    triggers: triggers.into(),
                    cause,
                });
            }
        }
        self.core.fire_triggers(self.sink, self.catching)
    }

    /// What EVENTDATA() says of an event.
    fn event_data(&mut self, raised: &RaisedEvent, span: Span) -> String {
        let mut out = head_of_event(&self.core.identity, &raised.event);
        let mut add = |tag: &str, value: &str| {
            let _ = write!(out, "<{tag}>{}</{tag}>", escaped(value));
        };
        match &raised.db {
            None if raised.kind == "DATABASE" => add("DatabaseName", &raised.name),
            None => {
                add("ObjectName", &raised.name);
                add("ObjectType", raised.kind);
            }
            Some(db) => {
                let user = self.core.user_id();
                let security = self.core.security(db);
                add(
                    "UserName",
                    &security.database.get(user).map(|u| u.name.clone()).unwrap_or_default(),
                );
                add("DatabaseName", &db.name());
                add("SchemaName", &raised.schema);
                add("ObjectName", &raised.name);
                add("ObjectType", raised.kind);
            }
        }
        if let Some((name, kind)) = &raised.target {
            let name = escaped(name);
            let _ = write!(
                out,
                "<TargetObjectName>{name}</TargetObjectName><TargetObjectType>{kind}</TargetObjectType>"
            );
        }
        let switch = |on: bool| if on { "ON" } else { "OFF" };
        let options = &self.core.options;
        let _ = write!(
            out,
            "<TSQLCommand><SetOptions ANSI_NULLS=\"{}\" ANSI_NULL_DEFAULT=\"{}\" ANSI_PADDING=\"{}\" \
             QUOTED_IDENTIFIER=\"{}\" ENCRYPTED=\"FALSE\"/><CommandText>{}</CommandText></TSQLCommand></EVENT_INSTANCE>",
            switch(options.ansi_nulls),
            switch(options.ansi_null_dflt_on),
            switch(options.ansi_padding),
            switch(options.quoted_identifier),
            escaped(&conceal(span.text(self.text).trim()))
        );
        out
    }
}

/// Events of a database while they are collected.
struct CollectedEvents<'c> {
    core: &'c mut SessionCore,
    events: Vec<RaisedEvent>,
}

/// A name of one part.
fn bare(name: &Ident) -> ObjectName {
    ObjectName { server: None, database: None, schema: None, name: name.clone() }
}

impl<'c> CollectedEvents<'c> {
    /// Those of a statement.
    fn of(core: &'c mut SessionCore, kind: &StmtKind) -> Vec<RaisedEvent> {
        let mut all = CollectedEvents { core, events: Vec::new() };
        match kind {
            StmtKind::CreateTable(s) => all.add("CREATE", "TABLE", &s.name),
            StmtKind::AlterTable(s) => all.add("ALTER", "TABLE", &s.name),
            StmtKind::CreateIndex(s) => all.add_to("CREATE", "INDEX", &bare(&s.name), &s.table),
            StmtKind::AlterIndex(s) => {
                let name = s.name.as_ref().unwrap_or(&s.table.name);
                all.add_to("ALTER", "INDEX", &bare(name), &s.table);
            }
            StmtKind::DropIndex(s) => {
                s.items.iter().for_each(|i| all.add_to("DROP", "INDEX", &bare(&i.index), &i.table));
            }
            StmtKind::CreateStatistics(s) => {
                all.add_to("CREATE", "STATISTICS", &bare(&s.name), &s.table)
            }
            StmtKind::UpdateStatistics(s) => {
                let name = s.names.first().unwrap_or(&s.table.name);
                all.add_to("UPDATE", "STATISTICS", &bare(name), &s.table);
            }
            StmtKind::CreateView(s) => all.module(s.verb, "VIEW", &s.name),
            StmtKind::CreateProcedure(s) => all.module(s.verb, "PROCEDURE", &s.name),
            StmtKind::CreateFunction(s) => all.module(s.verb, "FUNCTION", &s.name),
            StmtKind::CreateTrigger(s) => match &s.on {
                TriggerTarget::Table(table) => {
                    let is_there = exists(all.core.db(), &s.name);
                    all.add_to(verb(s.verb, is_there), "TRIGGER", &s.name, table);
                }
                TriggerTarget::Database | TriggerTarget::Server => {
                    let is_there =
                        all.core.db().catalog().ddl_trigger(&s.name.name.value).is_some();
                    all.add(verb(s.verb, is_there), "TRIGGER", &s.name);
                }
            },
            StmtKind::CreateSequence(s) => all.add("CREATE", "SEQUENCE", &s.name),
            StmtKind::AlterSequence(s) => all.add("ALTER", "SEQUENCE", &s.name),
            StmtKind::CreateSynonym { name, .. } => all.add("CREATE", "SYNONYM", name),
            StmtKind::CreateType(s) => all.add("CREATE", "TYPE", &s.name),
            StmtKind::CreateSchema(s) => all.add("CREATE", "SCHEMA", &bare(&s.name)),
            StmtKind::CreatePrincipal(s) => all.principal("CREATE", s.kind, &s.name),
            StmtKind::AlterPrincipal(s) => all.principal("ALTER", s.kind, &s.name),
            StmtKind::Drop(s) => all.dropped(s),
            _ => {}
        }
        all.events
    }

    /// An event of an object.
    fn add(&mut self, verb: &str, kind: &'static str, name: &ObjectName) {
        self.push(verb, kind, name, None);
    }

    /// An event of something that belongs to a table.
    fn add_to(&mut self, verb: &str, kind: &'static str, name: &ObjectName, table: &ObjectName) {
        self.push(verb, kind, name, Some(table));
    }

    fn push(
        &mut self,
        verb: &str,
        kind: &'static str,
        name: &ObjectName,
        target: Option<&ObjectName>,
    ) {
        let of = target.unwrap_or(name);
        let Ok(db) = database_of(self.core, of) else { return };
        if of.name.value.starts_with('#') {
            return;
        }
        self.events.push(RaisedEvent {
            db: Some(db),
            event: event_of(verb, kind),
            schema: of.schema.as_ref().map_or("dbo", |s| s.value.as_str()).into(),
            name: name.name.value.clone(),
            kind,
            target: target.map(|target| (target.name.value.clone(), "TABLE")),
        });
    }

    fn module(&mut self, written: ModuleVerb, kind: &'static str, name: &ObjectName) {
        let is_there = exists(self.core.db(), name);
        self.add(verb(written, is_there), kind, name);
    }

    fn principal(&mut self, verb: &str, kind: PrincipalKind, name: &Ident) {
        match kind {
            PrincipalKind::User => self.add(verb, "USER", &bare(name)),
            PrincipalKind::Role => self.add(verb, "ROLE", &bare(name)),
            PrincipalKind::ApplicationRole => self.add(verb, "APPLICATION ROLE", &bare(name)),
            PrincipalKind::Login | PrincipalKind::ServerRole => {}
        }
    }

    fn dropped(&mut self, drop: &DropObjects) {
        let kind = match drop.kind {
            DropKind::Table => "TABLE",
            DropKind::View => "VIEW",
            DropKind::Procedure => "PROCEDURE",
            DropKind::Function => "FUNCTION",
            DropKind::Trigger => "TRIGGER",
            DropKind::Schema => "SCHEMA",
            DropKind::Type => "TYPE",
            DropKind::Sequence => "SEQUENCE",
            DropKind::Synonym => "SYNONYM",
            DropKind::User => "USER",
            DropKind::Role => "ROLE",
            DropKind::ApplicationRole => "APPLICATION ROLE",
            DropKind::Statistics => return self.dropped_statistics(&drop.names),
            _ => return,
        };
        for name in &drop.names {
            // What is not there is not dropped.
            if !drop.if_exists || is_named(self.core.db(), kind, name) {
                self.add("DROP", kind, name);
            }
        }
    }

    /// Their names have the table's before them.
    fn dropped_statistics(&mut self, names: &[ObjectName]) {
        for name in names {
            let Some(table) = name.schema.clone() else { continue };
            let (database, schema) = (name.server.clone(), name.database.clone());
            let of = ObjectName { server: None, database, schema, name: table };
            self.add_to("DROP", "STATISTICS", &bare(&name.name), &of);
        }
    }
}

/// What CREATE, ALTER or CREATE OR ALTER does to a module.
fn verb(written: ModuleVerb, is_there: bool) -> &'static str {
    match (written, is_there) {
        (ModuleVerb::Create, _) | (ModuleVerb::CreateOrAlter, false) => "CREATE",
        _ => "ALTER",
    }
}

/// The name of an event.
fn event_of(verb: &str, kind: &str) -> String {
    format!("{verb}_{}", kind.replace(' ', "_"))
}

/// What EVENTDATA() begins with.
pub fn head_of_event(identity: &Identity, event: &str) -> String {
    let now = types::display::format_value(&clock::now(), DataType::DateTime).replace(' ', "T");
    format!(
        "<EVENT_INSTANCE><EventType>{event}</EventType><PostTime>{now}</PostTime><SPID>{}</SPID>\
         <ServerName>{SERVER_NAME}</ServerName><LoginName>{}</LoginName>",
        identity.spid(),
        escaped(&identity.login_name())
    )
}

/// What a statement does to something of the server.
struct OfServer {
    verb: &'static str,
    kind: &'static str,
    names: Vec<CompactString>,
}

impl OfServer {
    fn events(self) -> Vec<RaisedEvent> {
        let event = event_of(self.verb, self.kind);
        let raised = |name| RaisedEvent {
            db: None,
            event: event.clone(),
            schema: CompactString::default(),
            name,
            kind: self.kind,
            target: None,
        };
        self.names.into_iter().map(raised).collect()
    }
}

fn of_server(kind: &StmtKind) -> Option<OfServer> {
    let one =
        |verb, kind, name: &CompactString| Some(OfServer { verb, kind, names: vec![name.clone()] });
    match kind {
        StmtKind::CreateDatabase(create) => one("CREATE", "DATABASE", &create.name.value),
        StmtKind::AlterDatabase(alter) => one("ALTER", "DATABASE", &alter.name.as_ref()?.value),
        StmtKind::DropDatabase { names, .. } => {
            let names = names.iter().map(|name| name.value.clone()).collect();
            Some(OfServer { verb: "DROP", kind: "DATABASE", names })
        }
        StmtKind::CreatePrincipal(s) => one("CREATE", kind_of_server(s.kind)?, &s.name.value),
        StmtKind::AlterPrincipal(s) => one("ALTER", kind_of_server(s.kind)?, &s.name.value),
        StmtKind::CreateTrigger(s) if s.on == TriggerTarget::Server => {
            let verb = if s.verb == ModuleVerb::Alter { "ALTER" } else { "CREATE" };
            one(verb, "TRIGGER", &s.name.name.value)
        }
        StmtKind::Drop(s) => {
            let kind = match s.kind {
                DropKind::Login => "LOGIN",
                DropKind::ServerRole => "SERVER ROLE",
                DropKind::Trigger if s.on == Some(TriggerTarget::Server) => "TRIGGER",
                _ => return None,
            };
            let names = s.names.iter().map(|name| name.name.value.clone()).collect();
            Some(OfServer { verb: "DROP", kind, names })
        }
        _ => None,
    }
}

fn kind_of_server(kind: PrincipalKind) -> Option<&'static str> {
    match kind {
        PrincipalKind::Login => Some("LOGIN"),
        PrincipalKind::ServerRole => Some("SERVER ROLE"),
        PrincipalKind::User | PrincipalKind::Role | PrincipalKind::ApplicationRole => None,
    }
}

fn watches(trigger: &ModuleDef, event: &str) -> bool {
    !trigger.disabled
        && trigger.trigger().is_some_and(|t| t.events.iter().any(|word| covers(word, event)))
}

/// Whether the current database has a module of the name.
fn exists(db: &Arc<Db>, name: &ObjectName) -> bool {
    let schema = name.schema.as_ref().map_or("", |s| s.value.as_str());
    db.catalog().find_module(schema, &name.name.value).is_some()
}

/// Whether something that DROP IF EXISTS names is there.
fn is_named(db: &Arc<Db>, kind: &str, name: &ObjectName) -> bool {
    let catalog = db.catalog();
    let (schema, own) = (name.schema.as_ref().map_or("", |s| s.value.as_str()), &name.name.value);
    match kind {
        "TABLE" => catalog.find(schema, own).is_some(),
        "SEQUENCE" | "SYNONYM" => catalog.find_other(schema, own).is_some(),
        "TYPE" => {
            catalog.find_type(schema, own).is_some()
                || catalog.find_table_type(schema, own).is_some()
        }
        "SCHEMA" => catalog.schemas.contains_key(&catalog::fold_name(own)),
        "TRIGGER" if catalog.ddl_trigger(own).is_some() => true,
        "USER" | "ROLE" | "APPLICATION ROLE" => catalog.security.database.find(own).is_some(),
        _ => catalog.find_module(schema, own).is_some(),
    }
}

pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
