//! Names that open transactions have given up: of what they drop, rename or put into another
//! schema; and names that a change takes. Guarantees: as long as such a transaction may take a name
//! back, whoever wants the name finds what to wait for, and nobody gets it.

use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};

use compact_str::CompactString;

use crate::lookups::constraint_names;
use crate::other::OtherObject;
use crate::{Catalog, ModuleDef, TableDef, fold_name};

/// What names are apart from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum NameKind {
    /// Objects and constraints.
    Object,
    /// Alias types and table types.
    Type,
    /// Triggers of the database or of the server, which are in no schema.
    EventTrigger { of_server: bool },
}

/// A name in its schema, both folded.
#[derive(Clone, Debug)]
pub struct Name {
    of: NameKind,
    schema: CompactString,
    name: CompactString,
    /// For messages: two names are the same however they are written.
    written: CompactString,
}

impl PartialEq for Name {
    fn eq(&self, other: &Name) -> bool {
        (self.of, &self.schema, &self.name) == (other.of, &other.schema, &other.name)
    }
}

impl Eq for Name {}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.of, &self.schema, &self.name).hash(state);
    }
}

impl Name {
    /// Of an object or a constraint.
    pub fn object(schema: &str, name: &str) -> Name {
        Name {
            of: NameKind::Object,
            schema: fold_name(schema),
            name: fold_name(name),
            written: name.into(),
        }
    }

    /// Of an alias type or a table type.
    pub fn of_type(schema: &str, name: &str) -> Name {
        Name { of: NameKind::Type, ..Name::object(schema, name) }
    }

    /// Of a trigger of the database or of the server.
    pub fn event_trigger(of_server: bool, name: &str) -> Name {
        Name { of: NameKind::EventTrigger { of_server }, ..Name::object("", name) }
    }

    /// As it was written, without its schema.
    pub(crate) fn written(&self) -> &str {
        &self.written
    }

    /// Whether nothing in a catalog is called so.
    pub(crate) fn is_free(&self, catalog: &Catalog) -> bool {
        let (schema, name) = (self.schema.as_str(), self.name.as_str());
        match self.of {
            NameKind::Object => {
                catalog.is_free(schema, name) && catalog.constraint_id(schema, name).is_none()
            }
            NameKind::Type => {
                catalog.find_type(schema, name).is_none()
                    && catalog.find_table_type(schema, name).is_none()
            }
            NameKind::EventTrigger { of_server } => {
                catalog.event_trigger(of_server, name).is_none()
            }
        }
    }

    /// Whether an object that an error quotes by a folded name, perhaps with its schema and
    /// database, may be this one.
    fn may_be(&self, called: &str) -> bool {
        let Some(before) =
            called.strip_suffix(self.name.as_str()).filter(|_| self.of == NameKind::Object)
        else {
            return false;
        };
        match before.strip_suffix('.') {
            None => before.is_empty(),
            // The schema may be left out.
            Some(before) => before.ends_with('.') || before.ends_with(self.schema.as_str()),
        }
    }
}

/// Why a name is not to be had.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NameRefusal<'n> {
    /// It is another's.
    Taken(&'n Name),
    /// Another session's transaction may take it back.
    GivenUp,
}

/// The transaction of a session that has given a name up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NameGiver {
    /// The transaction holds SCH-M on this until it ends.
    object_id: i32,
    spid: i32,
}

/// The names that open transactions of a database have given up. A name may have several givers: it
/// was another object's meanwhile.
#[derive(Debug, Default)]
pub(crate) struct GivenUpNames(HashMap<Name, Vec<NameGiver>>);

impl GivenUpNames {
    /// A session's transaction gives names up, each with the object that it holds SCH-M on.
    pub fn add(&mut self, spid: i32, names: &[(Name, i32)]) {
        for (name, object_id) in names {
            self.0.entry(name.clone()).or_default().push(NameGiver { object_id: *object_id, spid });
        }
    }

    /// The transaction has taken these names back, or ended.
    pub fn settle(&mut self, spid: i32, names: &[(Name, i32)]) {
        for (name, object_id) in names {
            let Some(givers) = self.0.get_mut(name) else { continue };
            let giver = NameGiver { object_id: *object_id, spid };
            if let Some(at) = givers.iter().position(|given| *given == giver) {
                givers.swap_remove(at);
            }
            if givers.is_empty() {
                self.0.remove(name);
            }
        }
        // One transaction may have given up very many.
        if self.0.is_empty() && self.0.capacity() > 64 {
            self.0.shrink_to_fit();
        }
    }

    /// What another session's transaction has locked that has given a name up.
    pub fn of_others(&self, name: &Name, spid: i32) -> Option<i32> {
        let givers = self.0.get(name)?;
        givers.iter().find(|giver| giver.spid != spid).map(|giver| giver.object_id)
    }

    /// The same for an object that an error calls by this folded name, perhaps with its schema and
    /// database.
    pub fn of_others_called(&self, called: &str, spid: i32) -> Option<i32> {
        let mut names = self.0.iter().filter(|(name, _)| name.may_be(called));
        names.find_map(|(name, _)| self.of_others(name, spid))
    }
}

/// Whether it is the name of a session's own temporary table or procedure, which nobody else has.
fn is_local(name: &str) -> bool {
    name.starts_with('#') && !name.starts_with("##")
}

/// What a table and its constraints are called `before` and no longer `after`; so the names that a
/// change takes are those of its inverse.
pub(crate) fn of_table(before: Option<&TableDef>, after: Option<&TableDef>) -> Vec<(Name, i32)> {
    // What keeps a view's rows has no name.
    let Some(before) = before.filter(|table| table.of_view.is_none()) else { return Vec::new() };
    let names = |table: &TableDef| -> Vec<Name> {
        let own = Some(table.name.as_str()).filter(|name| !is_local(name));
        let all = own.into_iter().chain(constraint_names(table));
        all.map(|name| Name::object(&table.schema, name)).collect()
    };
    let kept: HashSet<Name> = after.map(names).unwrap_or_default().into_iter().collect();
    let gone = names(before).into_iter().filter(|name| !kept.contains(name));
    gone.map(|name| (name, before.object_id)).collect()
}

/// The same of a module.
pub(crate) fn of_module(before: Option<&ModuleDef>, after: Option<&ModuleDef>) -> Vec<(Name, i32)> {
    let name = |module: &ModuleDef| match module.is_ddl_trigger() {
        true => Name::event_trigger(module.is_server_trigger(), &module.name),
        false => Name::object(&module.schema, &module.name),
    };
    let Some(before) = before.filter(|module| !is_local(&module.name)) else { return Vec::new() };
    gone(name(before), after.map(name), before.object_id)
}

/// The same of a sequence, synonym or policy.
pub(crate) fn of_other(
    before: Option<&OtherObject>,
    after: Option<&OtherObject>,
) -> Vec<(Name, i32)> {
    let name = |other: &OtherObject| Name::object(other.schema(), other.name());
    let Some(before) = before else { return Vec::new() };
    gone(name(before), after.map(name), before.object_id())
}

fn gone(before: Name, after: Option<Name>, object_id: i32) -> Vec<(Name, i32)> {
    match after {
        Some(after) if after == before => Vec::new(),
        _ => vec![(before, object_id)],
    }
}
