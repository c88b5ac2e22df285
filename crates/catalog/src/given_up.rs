//! Names that open transactions have given up: of what they drop, rename or put into another
//! schema. Guarantee: as long as such a transaction may take a name back, whoever wants the name
//! finds what to wait for.

use compact_str::CompactString;

use crate::lookups::constraint_names;
use crate::other::OtherObject;
use crate::{ModuleDef, TableDef, fold_name};

/// A name in its schema, both folded. Types have names apart from those of objects and constraints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    of_type: bool,
    schema: CompactString,
    name: CompactString,
}

impl Name {
    /// Of an object or a constraint.
    pub fn object(schema: &str, name: &str) -> Name {
        Name { of_type: false, schema: fold_name(schema), name: fold_name(name) }
    }

    /// Of an alias type or a table type.
    pub fn of_type(schema: &str, name: &str) -> Name {
        Name { of_type: true, ..Name::object(schema, name) }
    }

    /// Whether an object that an error quotes by a folded name, perhaps with its schema and
    /// database, may be this one.
    fn may_be(&self, called: &str) -> bool {
        let Some(before) = called.strip_suffix(self.name.as_str()).filter(|_| !self.of_type) else {
            return false;
        };
        match before.strip_suffix('.') {
            None => before.is_empty(),
            // The schema may be left out.
            Some(before) => before.ends_with('.') || before.ends_with(self.schema.as_str()),
        }
    }
}

/// A name that a session's open transaction has given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenUp {
    pub name: Name,
    /// The transaction holds SCH-M on this until it ends.
    pub object_id: i32,
    pub spid: i32,
}

impl GivenUp {
    /// Whether a session other than `spid` has given up what an error calls by this folded name.
    pub(crate) fn is_called(&self, called: &str, spid: i32) -> bool {
        self.spid != spid && self.name.may_be(called)
    }
}

fn is_own(name: &str) -> bool {
    name.starts_with('#') && !name.starts_with("##")
}

/// What a table and its constraints are no longer called.
pub(crate) fn of_table(before: Option<&TableDef>, after: Option<&TableDef>) -> Vec<(Name, i32)> {
    // A session's temporary tables have names of their own, and what keeps a view's rows has none.
    let named = |table: &&TableDef| table.of_view.is_none() && !is_own(table.name.as_str());
    let Some(before) = before.filter(named) else { return Vec::new() };
    let names = |table: &TableDef| -> Vec<Name> {
        let all = std::iter::once(table.name.as_str()).chain(constraint_names(table));
        all.map(|name| Name::object(&table.schema, name)).collect()
    };
    let kept = after.map(names).unwrap_or_default();
    let gone = names(before).into_iter().filter(|name| !kept.contains(name));
    gone.map(|name| (name, before.object_id)).collect()
}

/// What a module is no longer called.
pub(crate) fn of_module(before: Option<&ModuleDef>, after: Option<&ModuleDef>) -> Vec<(Name, i32)> {
    let named = |module: &&ModuleDef| !module.is_ddl_trigger() && !module.name.starts_with('#');
    let name = |module: &ModuleDef| Name::object(&module.schema, &module.name);
    let Some(before) = before.filter(named) else { return Vec::new() };
    gone(name(before), after.map(name), before.object_id)
}

/// What a sequence, synonym or policy is no longer called.
pub(crate) fn of_other(before: Option<&OtherObject>, after: Option<&OtherObject>) -> Vec<(Name, i32)> {
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
