//! A deadlock with what is known of its sessions: what each ran, how it waits, what it has written;
//! and its graph in the shape of SQL Server's: victims, processes, resources with their owners and
//! waiters.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use session::state::core::SessionShared;
use txn::locks::{Block, Deadlock, DeadlockParty};
use txn::{LockMode, LockTarget, Resource};

use super::tree::Element;
use instance::InstanceCore;
use metadata::views::waiting::wait_resource;

/// Processes of a report: a longer cycle is cut after so many.
const MOST_PROCESSES: usize = 100;
/// Characters of a batch's text.
const MOST_TEXT: usize = 4000;

/// One session of a deadlock.
pub(super) struct Process {
    pub id: String,
    pub session: u32,
    pub party: DeadlockParty,
    /// The batch that runs, and the statement in it that waits.
    pub input: String,
    pub statement: String,
    pub line: usize,
    attributes: Vec<(&'static str, String)>,
}

/// How a process stands to a resource.
pub(super) struct ProcessRole {
    pub process: String,
    pub mode: LockMode,
    /// It waits for it: `wait` or `convert`.
    pub request: Option<&'static str>,
}

/// A resource of a deadlock.
pub(super) struct ContestedResource {
    pub resource: Resource,
    name: &'static str,
    attributes: Vec<(&'static str, String)>,
    pub owners: Vec<ProcessRole>,
    pub waiters: Vec<ProcessRole>,
}

/// A deadlock with its sessions; the victim is the first process.
pub(super) struct Report {
    pub processes: Vec<Process>,
    pub resources: Vec<ContestedResource>,
}

fn cut(text: &str) -> String {
    text.chars().take(MOST_TEXT).collect()
}

fn time(at: Option<SystemTime>) -> String {
    let since = at.unwrap_or(UNIX_EPOCH).duration_since(UNIX_EPOCH).unwrap_or_default();
    catalog::clock::text(since).replacen(' ', "T", 1)
}

/// The name of a party's process.
fn id(party: &DeadlockParty) -> String {
    format!("process{:x}", party.who.id.0)
}

fn request(party: &DeadlockParty) -> &'static str {
    if party.conversion { "convert" } else { "wait" }
}

const ISOLATION: [&str; 6] = [
    "unspecified (0)",
    "read uncommitted (1)",
    "read committed (2)",
    "repeatable read (3)",
    "serializable (4)",
    "snapshot (5)",
];

impl Report {
    pub fn new(instance: &InstanceCore, deadlock: &Deadlock) -> Report {
        // The victim first, then who it waits for, and so on.
        let victim = deadlock.victim.min(deadlock.parties.len().saturating_sub(1));
        let (before, from) = deadlock.parties.split_at(victim);
        let parties: Vec<&DeadlockParty> = from.iter().chain(before).take(MOST_PROCESSES).collect();
        let processes = parties.iter().map(|party| Process::new(instance, party)).collect();
        let mut resources: Vec<ContestedResource> = Vec::new();
        for (at, party) in parties.iter().enumerate() {
            let place =
                resources.iter().position(|r| r.resource == party.resource).unwrap_or_else(|| {
                    resources.push(ContestedResource::new(instance, party.resource));
                    resources.len() - 1
                });
            let blocker = parties[(at + 1) % parties.len()];
            let (mode, request_of) = match party.blocked_by.block {
                Block::Holds(mode) => (mode, None),
                Block::Ahead(mode) => (mode, Some(request(blocker))),
            };
            let owner = ProcessRole { process: id(blocker), mode, request: request_of };
            resources[place].owners.push(owner);
            let waiter =
                ProcessRole { process: id(party), mode: party.mode, request: Some(request(party)) };
            resources[place].waiters.push(waiter);
        }
        Report { processes, resources }
    }

    /// The graph.
    pub fn graph(&self) -> Element {
        let victims =
            self.processes.iter().take(1).map(|p| Element::new("victimProcess").with("id", &p.id));
        let part = |name: &'static str, part: &ProcessRole| {
            let element =
                Element::new(name).with("id", &part.process).with("mode", part.mode.name());
            match part.request {
                Some(request) => element.with("requestType", request),
                None => element,
            }
        };
        let resources = self.resources.iter().map(|r| {
            let owners = r.owners.iter().map(|p| part("owner", p));
            let waiters = r.waiters.iter().map(|p| part("waiter", p));
            let lists = [
                Element::new("owner-list").holding(owners),
                Element::new("waiter-list").holding(waiters),
            ];
            Element { attributes: r.attributes.clone(), ..Element::new(r.name).holding(lists) }
        });
        Element::new("deadlock").holding([
            Element::new("victim-list").holding(victims),
            Element::new("process-list").holding(self.processes.iter().map(Process::element)),
            Element::new("resource-list").holding(resources),
        ])
    }
}

impl Process {
    fn new(instance: &InstanceCore, party: &DeadlockParty) -> Process {
        let session = instance.session_of(party.who.session);
        let mut process = Process {
            id: id(party),
            session: party.who.session,
            party: party.clone(),
            input: String::new(),
            statement: String::new(),
            line: 1,
            attributes: vec![
                ("taskpriority", "0".into()),
                ("logused", party.log_bytes.to_string()),
                ("waitresource", wait_resource(&party.resource).trim_end().into()),
                ("waittime", party.waited.as_millis().to_string()),
                ("ownerId", party.who.id.0.to_string()),
                ("lockMode", party.mode.name().into()),
                ("status", "suspended".into()),
                ("spid", party.who.session.to_string()),
                ("sbid", "0".into()),
                ("ecid", "0".into()),
                ("priority", party.priority.to_string()),
            ],
        };
        if let Some(session) = session {
            process.add_session(instance, &session);
        }
        process
    }

    fn add_session(&mut self, instance: &InstanceCore, session: &Arc<SessionShared>) {
        let published = session.activity.look();
        let names = session.names.lock().clone();
        let trancount = session.open_transactions.load(Relaxed);
        let began = UNIX_EPOCH + Duration::from_micros(session.tran_began.load(Relaxed));
        let db = session.db.load(Relaxed);
        let database =
            instance.db_by_id(db as i32).map_or_else(String::new, |db| db.name().to_string());
        let isolation = usize::from(session.isolation.load(Relaxed));
        let pid = names.connection.as_ref().map_or_else(std::process::id, |c| c.process);
        let name = if trancount > 0 { "user_transaction" } else { "statement" };
        self.attributes.extend([
            ("trancount", trancount.to_string()),
            ("transactionname", name.into()),
            ("lasttranstarted", time((trancount > 0).then_some(began))),
            ("lastbatchstarted", time(published.started)),
            ("lastbatchcompleted", time(published.ended)),
            ("clientapp", names.app.to_string()),
            ("hostname", names.host.to_string()),
            ("hostpid", pid.to_string()),
            ("loginname", names.login.to_string()),
            ("isolationlevel", ISOLATION.get(isolation).copied().unwrap_or(ISOLATION[0]).into()),
            ("currentdb", db.to_string()),
            ("currentdbname", database),
        ]);
        let statement = published.batch.as_ref().and_then(|batch| {
            let (from, to) = session.activity.statement(&**batch)?;
            let line = batch.text().get(..from)?.matches('\n').count() + 1;
            Some((cut(batch.text().get(from..to)?), line))
        });
        (self.statement, self.line) = statement.unwrap_or((String::new(), 1));
        self.input = published.input().map_or_else(String::new, |text| cut(&text));
    }

    fn element(&self) -> Element {
        let frame =
            Element::new("frame").with("procname", "adhoc").with("line", self.line.to_string());
        let stack = Element::new("executionStack").holding([frame.saying(&self.statement)]);
        let mut element = Element::new("process").with("id", &self.id);
        element.attributes.extend(self.attributes.iter().cloned());
        element.holding([stack, Element::new("inputbuf").saying(&self.input)])
    }
}

impl ContestedResource {
    fn new(instance: &InstanceCore, resource: Resource) -> ContestedResource {
        let db = instance.db_by_id(i32::from(resource.db));
        let of_unit = |unit: u32| {
            let catalog = db.as_ref()?.catalog();
            catalog.stored().into_iter().find_map(|table| {
                let index = table.stored_indexes().find(|index| index.unit.0 == unit)?;
                Some((table.object_id, index.name.to_string()))
            })
        };
        let object_name = |id: i32| {
            let name = db.as_ref().and_then(|db| {
                let catalog = db.catalog();
                let table = catalog.by_id.get(&id).map(|table| (&table.schema, &table.name));
                let (schema, name) = table.or_else(|| {
                    catalog.modules.get(&id).map(|module| (&module.schema, &module.name))
                })?;
                Some(format!("{}.{schema}.{name}", db.name()))
            });
            name.unwrap_or_default()
        };
        let id = format!("lock{:x}", lock_number(&resource));
        let (name, own) = match resource.what {
            LockTarget::Database => ("databaselock", vec![]),
            LockTarget::Schema(id) => {
                ("metadatalock", vec![("classid", format!("schema_id = {id}"))])
            }
            LockTarget::Object(object) | LockTarget::Table(object) => {
                let name = object_name(object as i32);
                let attributes = vec![("objid", object.to_string()), ("objectname", name)];
                ("objectlock", attributes)
            }
            LockTarget::Key { unit, .. } => {
                let (object, index) = of_unit(unit).unwrap_or_default();
                let names = vec![("objectname", object_name(object)), ("indexname", index)];
                ("keylock", [vec![("hobtid", unit.to_string())], names].concat())
            }
            LockTarget::Rid { unit, file, page, .. } => {
                let (object, _) = of_unit(unit).unwrap_or_default();
                let place = vec![("fileid", file.to_string()), ("pageid", page.to_string())];
                ("ridlock", [place, vec![("objectname", object_name(object))]].concat())
            }
            LockTarget::Application(hash) => {
                ("applicationlock", vec![("hash", format!("{hash:x}"))])
            }
            LockTarget::Txn(id) => ("xactlock", vec![("xdesIdLow", id.0.to_string())]),
        };
        let ends = vec![("dbid", resource.db.to_string()), ("id", id)];
        let attributes = [own, ends].concat();
        ContestedResource { resource, name, attributes, owners: Vec::new(), waiters: Vec::new() }
    }
}

/// A number by which a resource is told from others of a report.
fn lock_number(resource: &Resource) -> u64 {
    use std::hash::BuildHasher;
    txn::locks::FastBuild::default().hash_one(resource)
}
