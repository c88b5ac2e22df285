//! System procedures that are T-SQL: their texts stand beside this file, several in one, and are
//! compiled like any procedure when they are first called. Guarantees: they run with the caller's
//! rights, in the database in whose name they are called; what they raise by number has its text in
//! [`instance::messages`].

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use catalog::{ModuleDef, ModuleHead, ModuleKind, ModuleSettings, TriggerOrder, fold_name};
use compact_str::CompactString;
use types::{SqlError, Value};

const FILES: &[&str] = &[
    include_str!("cursors.sql"),
    include_str!("help.sql"),
    include_str!("constraints.sql"),
    include_str!("files.sql"),
    include_str!("sessions.sql"),
    include_str!("options.sql"),
    include_str!("statistics.sql"),
    include_str!("privileges.sql"),
    include_str!("logins.sql"),
    include_str!("principals.sql"),
    include_str!("server.sql"),
];

struct Script {
    name: &'static str,
    text: &'static str,
    module: OnceLock<Arc<ModuleDef>>,
}

impl Script {
    /// A text that begins with CREATE PROCEDURE and a name.
    fn of(text: &'static str) -> Option<Script> {
        let name = text.split_whitespace().nth(2)?;
        Some(Script { name, text: text.trim(), module: OnceLock::new() })
    }
}

fn table() -> &'static HashMap<CompactString, Script> {
    static TABLE: OnceLock<HashMap<CompactString, Script>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let texts = FILES.iter().flat_map(|file| syntax::split_batches(file));
        let scripts = texts.filter_map(|batch| Script::of(batch.text));
        scripts.map(|script| (fold_name(script.name), script)).collect()
    })
}

/// The procedure of a name. `None`: there is none that is T-SQL.
///
/// # Errors
/// Internal: its text is no procedure.
pub fn find(name: &str) -> Result<Option<Arc<ModuleDef>>, SqlError> {
    let prefix = name.get(..3).unwrap_or_default();
    if !["sp_", "xp_"].iter().any(|known| prefix.eq_ignore_ascii_case(known)) {
        return Ok(None);
    }
    let Some(script) = table().get(&fold_name(name)) else { return Ok(None) };
    if let Some(module) = script.module.get() {
        return Ok(Some(module.clone()));
    }
    let module = Arc::new(module_of(script)?);
    Ok(Some(script.module.get_or_init(|| module).clone()))
}

fn module_of(script: &Script) -> Result<ModuleDef, SqlError> {
    let head = ModuleHead {
        object_id: logical::view::system_object_id("sys", script.name),
        schema: "sys".into(),
        name: script.name.into(),
        kind: ModuleKind::Procedure,
        parent: 0,
        settings: ModuleSettings { quoted_identifier: true, ansi_nulls: true },
        disabled: false,
        startup: false,
        marked_system: false,
        run_as: None,
        order: TriggerOrder::default(),
        columns: None,
        create_date: Value::Null,
        modify_date: Value::Null,
    };
    ModuleDef::new(head, script.text)
}

/// All of them, by name.
///
/// # Errors
/// As [`find`].
pub fn all() -> Result<Vec<Arc<ModuleDef>>, SqlError> {
    let mut names: Vec<&str> = table().values().map(|script| script.name).collect();
    names.sort_unstable();
    names.into_iter().filter_map(|name| find(name).transpose()).collect()
}

/// The names of all of them.
pub fn names() -> impl Iterator<Item = &'static str> {
    table().values().map(|script| script.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_text_is_a_procedure_with_an_id_of_its_own() {
        let mut ids = HashSet::new();
        for name in names() {
            let module = find(name).expect(name).expect(name);
            assert!(ids.insert(module.object_id), "{name} has another's id");
        }
    }
}
