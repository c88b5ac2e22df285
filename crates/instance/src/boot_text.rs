//! The engine's part of a database's boot page: settings, and where the system tables' trees are.
//! Guarantee: a system table that an older database does not have is made when it is opened, once.

use std::fmt::Write as _;
use std::sync::Arc;

use access::BTree;
use catalog::GrowthSetting;
use catalog::db::Db;
use catalog::settings::DbSettings;
use catalog::store::SysTrees;
use pages::{PageId, UnitId};
use txn::{Database, DbState, TxnError};
use types::SqlError;

use super::open_error::OpenError;

/// First line of the engine's part of the boot page.
pub(super) const META: &str = "ringwood 1";
/// Begin of the line that says where the list of discarded large values is.
pub(super) const DISCARDED: &str = "tree_discarded=";
/// System tables that every database has had from the beginning; the others are added when an older
/// one is opened.
const FIRST_TABLES: usize = 8;

/// Writes a database's settings to its boot page; durable on return.
pub fn save_settings(db: &Arc<Db>, settings: &DbSettings) -> Result<(), SqlError> {
    let storage = db.storage()?;
    let text = settings_text(settings);
    let changed = storage.change_settings(|state| replace_settings(state, text));
    changed.map_err(|e| catalog::errors::db_error(db, &e))?;
    apply_log_settings(&storage, settings);
    db.set_settings(settings.clone());
    Ok(())
}

/// The log has been given `size` bytes: what DBCC SHRINKFILE stops at. A crash may forget it, so it
/// costs no write of its own.
pub fn note_log_size(db: &Arc<Db>, size: u64) -> Result<(), SqlError> {
    let mut settings = db.settings();
    if size <= settings.log_min_size {
        return Ok(());
    }
    settings.log_min_size = size;
    let text = settings_text(&settings);
    let changed = db.storage()?.note_settings(|state| replace_settings(state, text));
    changed.map_err(|e| catalog::errors::db_error(db, &e))?;
    db.set_settings(settings);
    Ok(())
}

pub(super) fn settings_text(settings: &DbSettings) -> String {
    let mut text = format!("{META}\n");
    settings.write(&mut text);
    text
}

/// Puts other settings in front of the lines that name the system tables.
pub(super) fn replace_settings(state: &mut DbState, mut text: String) {
    let old = String::from_utf8_lossy(&state.meta);
    for line in old.lines().filter(|line| line.starts_with("tree")) {
        text.push_str(line);
        text.push('\n');
    }
    state.meta = text.into_bytes();
}

pub(super) fn apply_log_settings(storage: &Arc<Database>, settings: &DbSettings) {
    storage.log().set_growth(
        settings.vlf_rule(),
        log_growth(settings.log_growth),
        settings.log_max_size,
    );
}

/// The system tables' trees.
pub(super) fn open_trees(
    storage: &Arc<Database>,
    meta: &mut String,
) -> Result<SysTrees, OpenError> {
    let damaged = || OpenError::Other("its boot page does not name the system tables".into());
    if !meta.starts_with(META) {
        return Err(damaged());
    }
    let mut trees = Vec::new();
    for i in 0..catalog::systables::ALL.len() {
        let key = format!("tree{i}=");
        trees.push(match i {
            _ if i < FIRST_TABLES => open_tree(storage, meta, &key)?.ok_or_else(damaged)?,
            _ => added_tree(storage, UnitId(i as u32 + 1), &key, meta)?,
        });
    }
    Ok(SysTrees::new(trees))
}

/// The tree whose IAM and root page the line of the boot page's text says that begins with `key`.
fn open_tree(
    storage: &Arc<Database>,
    meta: &str,
    key: &str,
) -> Result<Option<(BTree, PageId)>, OpenError> {
    let Some(line) = meta.lines().find_map(|line| line.strip_prefix(key)) else { return Ok(None) };
    let pages = line.split_once(' ').and_then(|(iam, root)| Some((page_id(iam)?, page_id(root)?)));
    let Some((iam, root)) = pages else { return Ok(None) };
    let unit = storage.open_unit(iam)?;
    Ok(Some((BTree::open(storage.store().clone(), unit, root), iam)))
}

/// Makes an empty tree in a unit of its own and adds its line to the boot page's text.
pub(super) fn make_tree(
    storage: &Arc<Database>,
    unit: UnitId,
    key: &str,
    meta: &mut String,
) -> Result<(BTree, PageId), OpenError> {
    let unit = storage.create_unit(unit, 1)?;
    let iam = unit.first_iam();
    let tree = BTree::create(storage.store().clone(), unit).map_err(TxnError::from)?;
    let root = tree.root();
    let _ = writeln!(meta, "{key}{}:{} {}:{}", iam.file, iam.page, root.file, root.page);
    Ok((tree, iam))
}

/// A tree that the first databases did not have: one that was made before there was one gets it
/// now.
pub(super) fn added_tree(
    storage: &Arc<Database>,
    unit: UnitId,
    key: &str,
    meta: &mut String,
) -> Result<(BTree, PageId), OpenError> {
    if let Some(found) = open_tree(storage, meta, key)? {
        return Ok(found);
    }
    // A crash may have come between the tree and its line.
    if let Some(left) = storage.store().find_unit(unit).map_err(TxnError::from)? {
        storage.store().free_unit(unit, left.first_iam()).map_err(TxnError::from)?;
    }
    let made = make_tree(storage, unit, key, meta)?;
    storage.change_settings(|state| state.meta = meta.clone().into_bytes())?;
    Ok(made)
}

fn page_id(text: &str) -> Option<PageId> {
    let (file, page) = text.split_once(':')?;
    Some(PageId { file: file.parse().ok()?, page: page.parse().ok()? })
}

pub(super) fn log_growth(growth: GrowthSetting) -> wal::Growth {
    match growth {
        GrowthSetting::Bytes(0) | GrowthSetting::Percent(0) => wal::Growth::None,
        GrowthSetting::Bytes(n) => wal::Growth::Bytes(n),
        GrowthSetting::Percent(p) => wal::Growth::Percent(p),
    }
}
