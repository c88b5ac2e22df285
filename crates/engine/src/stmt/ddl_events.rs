//! What statements that change definitions tell the triggers of their database and of the server: which event, of what object.
//! Guarantee: a trigger runs in the statement's transaction, when everything else of the statement is done, those of the server before those of
//! the database; temporary tables raise nothing. Statements about databases have no transaction: CREATE and ALTER run first, DROP last.

use std::fmt::Write as _;
use std::sync::Arc;

use compact_str::CompactString;
use syntax::ast::{DropKind, ModuleVerb, ObjectName, PrincipalKind, Span, Stmt, StmtKind, TriggerTarget};
use types::{DataType, SqlError};

use super::{StmtCtx, database_of};
use crate::ddl::events::covers;
use crate::functions::properties::SERVER_NAME;
use catalog::{Db, MASTER, ModuleDef, clock};
use exec::conceal::conceal;
use exec::state::SessionCore;
use exec::state::changes::{Cause, FiredTriggers};

/// An event of a database, or of the server.
pub(super) struct Raised {
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
    pub(super) fn events(&mut self, kind: &StmtKind) -> Vec<Raised> {
        let mut raised = Vec::new();
        self.collect(kind, &mut raised);
        raised.retain(|one| !self.triggers_of(one).is_empty());
        raised
    }

    /// The triggers that watch an event, and the database that keeps them, in the order in which they run.
    fn triggers_of(&self, raised: &Raised) -> Vec<(Arc<Db>, Vec<Arc<ModuleDef>>)> {
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

    fn collect(&mut self, kind: &StmtKind, out: &mut Vec<Raised>) {
        let verb = |verb: ModuleVerb, exists: bool| match (verb, exists) {
            (ModuleVerb::Create, _) | (ModuleVerb::CreateOrAlter, false) => "CREATE",
            _ => "ALTER",
        };
        let mut add = |verb: &str, kind: &'static str, name: &ObjectName, target: Option<&ObjectName>| {
            let of = target.unwrap_or(name);
            let Ok(db) = database_of(self.core, of) else { return };
            if of.name.value.starts_with('#') {
                return;
            }
            let schema = of.schema.as_ref().map_or("dbo", |s| s.value.as_str()).into();
            let target = target.map(|target| (target.name.value.clone(), "TABLE"));
            let event = format!("{verb}_{}", kind.replace(' ', "_"));
            let (db, name) = (Some(db), name.name.value.clone());
            out.push(Raised { db, event, schema, name, kind, target });
        };
        if let Some(of_server) = of_server(kind) {
            let named = of_server.names.into_iter().map(|name| Raised {
                db: None,
                event: format!("{}_{}", of_server.verb, of_server.kind.replace(' ', "_")),
                schema: CompactString::default(),
                name,
                kind: of_server.kind,
                target: None,
            });
            out.extend(named);
            return;
        }
        let bare = |name: &syntax::ast::Ident| ObjectName {
            server: None,
            database: None,
            schema: None,
            name: name.clone(),
        };
        match kind {
            StmtKind::CreateTable(s) => add("CREATE", "TABLE", &s.name, None),
            StmtKind::AlterTable(s) => add("ALTER", "TABLE", &s.name, None),
            StmtKind::CreateIndex(s) => add("CREATE", "INDEX", &bare(&s.name), Some(&s.table)),
            StmtKind::AlterIndex(s) => {
                let name = s.name.as_ref().unwrap_or(&s.table.name);
                add("ALTER", "INDEX", &bare(name), Some(&s.table));
            }
            StmtKind::DropIndex(s) => {
                s.items.iter().for_each(|i| add("DROP", "INDEX", &bare(&i.index), Some(&i.table)));
            }
            StmtKind::CreateStatistics(s) => add("CREATE", "STATISTICS", &bare(&s.name), Some(&s.table)),
            StmtKind::UpdateStatistics(s) => {
                let name = s.names.first().unwrap_or(&s.table.name);
                add("UPDATE", "STATISTICS", &bare(name), Some(&s.table));
            }
            StmtKind::CreateView(s) => {
                let is_there = exists(self.core.db(), &s.name);
                add(verb(s.verb, is_there), "VIEW", &s.name, None);
            }
            StmtKind::CreateProcedure(s) => {
                let is_there = exists(self.core.db(), &s.name);
                add(verb(s.verb, is_there), "PROCEDURE", &s.name, None);
            }
            StmtKind::CreateFunction(s) => {
                let is_there = exists(self.core.db(), &s.name);
                add(verb(s.verb, is_there), "FUNCTION", &s.name, None);
            }
            StmtKind::CreateTrigger(s) => {
                let catalog = self.core.db().catalog();
                let own = catalog.ddl_trigger(&s.name.name.value).is_some();
                let (target, is_there) = match &s.on {
                    TriggerTarget::Table(table) => (Some(table), exists(self.core.db(), &s.name)),
                    _ => (None, own),
                };
                add(verb(s.verb, is_there), "TRIGGER", &s.name, target);
            }
            StmtKind::CreateSequence(s) => add("CREATE", "SEQUENCE", &s.name, None),
            StmtKind::AlterSequence(s) => add("ALTER", "SEQUENCE", &s.name, None),
            StmtKind::CreateSynonym { name, .. } => add("CREATE", "SYNONYM", name, None),
            StmtKind::CreateType(s) => add("CREATE", "TYPE", &s.name, None),
            StmtKind::CreateSchema(s) => add("CREATE", "SCHEMA", &bare(&s.name), None),
            StmtKind::CreatePrincipal(s) | StmtKind::AlterPrincipal(s) => {
                let word = if matches!(kind, StmtKind::CreatePrincipal(_)) { "CREATE" } else { "ALTER" };
                match s.kind {
                    PrincipalKind::User => add(word, "USER", &bare(&s.name), None),
                    PrincipalKind::Role => add(word, "ROLE", &bare(&s.name), None),
                    PrincipalKind::ApplicationRole => add(word, "APPLICATION ROLE", &bare(&s.name), None),
                    PrincipalKind::Login | PrincipalKind::ServerRole => {}
                }
            }
            StmtKind::Drop(s) => {
                let kind = match s.kind {
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
                    DropKind::Statistics => {
                        for name in &s.names {
                            let Some(table) = &name.schema else { continue };
                            let of = ObjectName {
                                server: None,
                                database: name.server.clone(),
                                schema: name.database.clone(),
                                name: table.clone(),
                            };
                            add("DROP", "STATISTICS", &bare(&name.name), Some(&of));
                        }
                        return;
                    }
                    _ => return,
                };
                // What is not there is not dropped.
                let gone: Vec<&ObjectName> = match s.if_exists {
                    false => s.names.iter().collect(),
                    true => s.names.iter().filter(|name| is_named(self.core.db(), kind, name)).collect(),
                };
                gone.into_iter().for_each(|name| add("DROP", kind, name, None));
            }
            _ => {}
        }
    }

    /// Runs the triggers that watch what a statement has done.
    ///
    /// # Errors
    /// Those of the triggers; 3609.
    pub(super) fn raise(&mut self, raised: &[Raised], span: Span) -> Result<(), SqlError> {
        for one in raised {
            let data: Arc<str> = self.event_data(one, span).into();
            for (db, triggers) in self.triggers_of(one) {
                let cause = Cause::Event(data.clone());
                self.core.fired.push(FiredTriggers { db, triggers: triggers.into(), cause });
            }
        }
        self.core.fire_triggers(self.sink, self.catching)
    }

    /// What EVENTDATA() says of an event.
    fn event_data(&mut self, raised: &Raised, span: Span) -> String {
        let mut out = head_of_event(self.core, &raised.event);
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
                add("UserName", &security.database.get(user).map(|u| u.name.clone()).unwrap_or_default());
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

/// What EVENTDATA() begins with.
pub(crate) fn head_of_event(core: &SessionCore, event: &str) -> String {
    let now = types::display::format_value(&clock::now(), DataType::DateTime).replace(' ', "T");
    format!(
        "<EVENT_INSTANCE><EventType>{event}</EventType><PostTime>{now}</PostTime><SPID>{}</SPID>\
         <ServerName>{SERVER_NAME}</ServerName><LoginName>{}</LoginName>",
        core.spid(),
        escaped(&core.login_name())
    )
}

/// What a statement does to something of the server.
struct OfServer {
    verb: &'static str,
    kind: &'static str,
    names: Vec<CompactString>,
}

fn of_server(kind: &StmtKind) -> Option<OfServer> {
    let one = |verb, kind, name: &CompactString| Some(OfServer { verb, kind, names: vec![name.clone()] });
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
    !trigger.disabled && trigger.trigger().is_some_and(|t| t.events.iter().any(|word| covers(word, event)))
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
        "TYPE" => catalog.find_type(schema, own).is_some() || catalog.find_table_type(schema, own).is_some(),
        "SCHEMA" => catalog.schemas.contains_key(&catalog::fold_name(own)),
        "TRIGGER" if catalog.ddl_trigger(own).is_some() => true,
        "USER" | "ROLE" | "APPLICATION ROLE" => catalog.security.database.find(own).is_some(),
        _ => catalog.find_module(schema, own).is_some(),
    }
}

pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
