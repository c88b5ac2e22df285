//! What can still be read of a damaged master: rows of its system tables, page by page, without its
//! trees and maps.
//!
//! Guarantees: a row counts only if its bytes are a row of its table and its key is the one that
//! its values have; of two versions of a row the one on the page that changed last counts.
//! Permissions and members of roles come from whole pages alone; a login that was on a damaged page
//! comes disabled, so that no damage lets anybody in.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use catalog::module::ModuleKind;
use catalog::systables::{ALL, SysTable};
use disk::{Disk, OpenMode};
use pages::{Lsn, Page, PageId, PageState, PageType};
use txn::TxnError;
use types::Value;

/// Tables whose rows are taken over.
const WANTED: [SysTable; 9] = [
    SysTable::Objects,
    SysTable::Schemas,
    SysTable::Counters,
    SysTable::Texts,
    SysTable::Principals,
    SysTable::Members,
    SysTable::Permissions,
    SysTable::Owners,
    SysTable::Messages,
];

const MODULES: [ModuleKind; 6] = [
    ModuleKind::View,
    ModuleKind::Procedure,
    ModuleKind::Trigger,
    ModuleKind::ScalarFunction,
    ModuleKind::InlineFunction,
    ModuleKind::TableFunction,
];

/// Class of permissions and owners that are about an object, and the scope of the server.
const OBJECT: i64 = 1;
const SERVER: i64 = 0;
/// The bit of a login's flags that says that it is disabled.
const DISABLED: i32 = 1;

/// What was read.
#[derive(Debug, Default)]
pub(super) struct Salvaged {
    pub rows: Vec<(SysTable, Vec<Value>)>,
    /// What could be read and is taken over, and what is lost.
    pub kept: Vec<String>,
    pub lost: Vec<String>,
}

/// A row, or that it was deleted, with the last change of its page.
struct Version {
    lsn: Lsn,
    row: Option<Vec<Value>>,
    /// It was on a damaged page.
    doubtful: bool,
}

type Found = BTreeMap<(usize, Vec<u8>), Version>;

/// Reads what can be read of master's primary file.
///
/// # Errors
/// The file cannot be opened.
pub(super) fn read(disk: &dyn Disk, path: &Path) -> Result<Salvaged, TxnError> {
    let file = disk.open(path, OpenMode::Read)?;
    let (mut found, mut damaged) = (Found::new(), Vec::new());
    let walked = pages::walk(&*file, &mut |id, state, image| {
        let page = Page::from_bytes(image);
        if let Some(table) = table_of(&page) {
            let doubtful = state == PageState::Damaged;
            if doubtful {
                damaged.push((id, table));
            }
            take_rows(&page, table, doubtful, &mut found);
        }
        Ok(())
    });
    file.release();
    walked?;
    Ok(choose(found, &damaged))
}

/// The table of which a page has rows, or may have had.
fn table_of(page: &Page) -> Option<SysTable> {
    if page.page_type() == Some(PageType::Iam) {
        return None;
    }
    let number = page.unit().0.checked_sub(1)?;
    ALL.get(number as usize).copied().filter(|table| WANTED.contains(table))
}

fn take_rows(page: &Page, table: SysTable, doubtful: bool, found: &mut Found) {
    for (header, key, value) in access::btree::leaf_rows(page) {
        let row = table.decode(value).ok().filter(|row| table.key(row) == key);
        let row = if header.is_ghost() { None } else { row };
        if row.is_none() && (doubtful || !header.is_ghost()) {
            continue;
        }
        let version = Version { lsn: page.lsn(), row, doubtful };
        let place = found.entry((table.number(), key.to_vec()));
        // A version of a whole page counts more than one that may be wrong.
        let newer = |old: &Version| (!old.doubtful, old.lsn) < (!version.doubtful, version.lsn);
        match place {
            std::collections::btree_map::Entry::Vacant(place) => _ = place.insert(version),
            std::collections::btree_map::Entry::Occupied(mut place) if newer(place.get()) => {
                place.insert(version);
            }
            std::collections::btree_map::Entry::Occupied(_) => {}
        }
    }
}

fn number(row: &[Value], at: usize) -> i64 {
    row.get(at).and_then(Value::as_i64).unwrap_or(-1)
}

fn text(row: &[Value], at: usize) -> &str {
    row.get(at).and_then(Value::as_str).unwrap_or_default()
}

/// The rows of which a new master is made.
fn choose(found: Found, damaged: &[(PageId, SysTable)]) -> Salvaged {
    let mut out = Salvaged::default();
    for (id, table) in damaged {
        let (file, page) = (id.file, id.page);
        out.lost.push(format!(
            "rows on page {file}:{page}, of the system table of {}",
            described(*table)
        ));
    }
    let hurt = |tables: &[SysTable]| damaged.iter().any(|(_, table)| tables.contains(table));
    // A definition of which a part is missing may still be one.
    let modules = !hurt(&[SysTable::Objects, SysTable::Texts, SysTable::Schemas]);
    let imported = objects(&found, modules, &mut out);
    for ((table, _), version) in found {
        let (Some(table), Some(mut row)) = (ALL.get(table).copied(), version.row) else { continue };
        let keep = match table {
            SysTable::Principals => keep_principal(&mut row, version.doubtful, &mut out),
            // Columns that a view keeps stand under its negative object_id.
            SysTable::Objects | SysTable::Texts => imported.contains(&number(&row, 0).abs()),
            SysTable::Permissions => {
                let on_object = number(&row, 0) != SERVER && number(&row, 1) == OBJECT;
                !version.doubtful && (!on_object || imported.contains(&number(&row, 2)))
            }
            SysTable::Owners => {
                !version.doubtful
                    && (number(&row, 0) != OBJECT || imported.contains(&number(&row, 1)))
            }
            _ => !version.doubtful,
        };
        if keep {
            out.rows.push((table, row));
        }
    }
    out
}

/// The modules that are taken over. All else that was in master is lost, as its pages are.
fn objects(found: &Found, modules: bool, out: &mut Salvaged) -> BTreeSet<i64> {
    let rows = found.iter().filter(|((table, _), _)| *table == SysTable::Objects.number());
    let rows: Vec<&Vec<Value>> = rows.filter_map(|(_, version)| version.row.as_ref()).collect();
    let is_module = |row: &[Value]| MODULES.iter().any(|kind| kind.code() == text(row, 3));
    let mut imported: BTreeSet<i64> =
        rows.iter().filter(|row| modules && is_module(row)).map(|row| number(row, 0)).collect();
    // A trigger of a table goes with its table.
    let parents = imported.clone();
    for row in rows.iter().filter(|row| !matches!(number(row, 4), 0 | -1)) {
        if !parents.contains(&number(row, 4)) {
            imported.remove(&number(row, 0));
        }
    }
    for row in rows {
        let (name, taken) = (text(row, 1), imported.contains(&number(row, 0)));
        let own = is_module(row) || text(row, 3) == catalog::load::TABLE;
        match taken {
            true => out.kept.push(format!("module {name}")),
            false if own => out.lost.push(format!("{} in master, and what is in it", name)),
            false => {}
        }
    }
    imported
}

fn keep_principal(row: &mut [Value], doubtful: bool, out: &mut Salvaged) -> bool {
    let server = number(row, 0) == SERVER;
    let login = server && text(row, 3) == "S";
    let name = text(row, 2).to_string();
    if doubtful && !login {
        return false;
    }
    if doubtful && let Some(flags) = row.get_mut(4) {
        *flags = Value::Int(flags.as_i64().unwrap_or(0) as i32 | DISABLED);
        out.lost.push(format!(
            "login {name} was on a damaged page: it is disabled until somebody has looked at it"
        ));
    }
    if login {
        out.kept.push(format!("login {name}"));
    }
    true
}

fn described(table: SysTable) -> &'static str {
    match table {
        SysTable::Principals => "logins, users and roles",
        SysTable::Members => "members of roles",
        SysTable::Permissions => "permissions",
        SysTable::Owners => "owners",
        SysTable::Messages => "messages",
        SysTable::Texts => "definitions",
        SysTable::Schemas => "schemas",
        SysTable::Counters => "counters",
        _ => "objects",
    }
}
