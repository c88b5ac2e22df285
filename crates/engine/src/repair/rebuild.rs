//! A system database that is rebuilt: the damaged one is put aside, never deleted.
//!
//! The new database is made whole in a folder of its own, with what was salvaged, and closed; then
//! a list of renames is written, and the renames are made. A power loss before the list leaves the
//! damaged database where it was; one after it leaves renames that the next `ringwood repair` ends.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use catalog::registry::{DbEntry, escape, unescape};
use catalog::systables::SysTable;
use catalog::{MASTER, errors};
use disk::{Disk, DiskError};
use txn::Durability;
use types::{SqlError, Value};

use super::RepairError;
use super::salvage::SalvagedRows;
use crate::{Instance, InstanceOptions};
use instance::own_files;

/// The list of renames, in the folder of what is put aside. It is there while they are to be made.
const RENAMES: &str = "renames";
/// The folder in it in which the new database is made.
const NEW: &str = "new";
/// Memory for pages while it is made.
const MEMORY: u64 = 16 << 20;

/// The folder of a rebuild whose renames have not all been made.
pub(super) fn interrupted(disk: &dyn Disk, root: &Path) -> Result<Option<PathBuf>, DiskError> {
    let folders = match disk.list(&root.join(own_files::REPAIR)) {
        Ok(folders) => folders,
        Err(_) => return Ok(None),
    };
    for folder in folders {
        if disk.exists(&folder.join(RENAMES))? {
            return Ok(Some(folder));
        }
    }
    Ok(None)
}

/// Makes the renames of a list that were not made yet.
pub(super) fn finish(disk: &dyn Disk, root: &Path, folder: &Path) -> Result<(), RepairError> {
    let bytes = disk.read_small(&folder.join(RENAMES))?;
    let text = String::from_utf8(bytes).map_err(|_| RepairError::Renames(folder.to_path_buf()))?;
    for line in text.lines() {
        let (from, to) =
            line.split_once('\t').ok_or_else(|| RepairError::Renames(folder.to_path_buf()))?;
        let place = |text: &str| root.join(unescape(text).as_str());
        let (from, to) = (place(from), place(to));
        if disk.exists(&from)? && !disk.exists(&to)? {
            disk.rename(&from, &to)?;
        }
    }
    disk.remove(&folder.join(RENAMES))?;
    clear(disk, &folder.join(NEW));
    Ok(())
}

/// Removes what the making of a database has left in its folder; what stays does no harm.
fn clear(disk: &dyn Disk, folder: &Path) {
    for path in disk.list(folder).unwrap_or_default() {
        match disk.list(&path) {
            Ok(_) => clear(disk, &path),
            Err(_) => drop(disk.remove(&path)),
        }
    }
}

/// A folder for what is put aside that is not there yet.
fn free_folder(disk: &dyn Disk, root: &Path) -> PathBuf {
    let mut names =
        (1u32..).map(|number| root.join(own_files::REPAIR).join(format!("rebuild-{number}")));
    let free = |path: &PathBuf| !disk.exists(path).unwrap_or(true);
    names.find(free).unwrap_or_else(|| root.join(own_files::REPAIR))
}

/// Rebuilds system databases and puts them in the place of the damaged ones. Returns where those
/// are.
pub(super) fn rebuild(
    options: &InstanceOptions,
    entries: &[&DbEntry],
    salvaged: &SalvagedRows,
) -> Result<PathBuf, RepairError> {
    let (disk, root) = (&*options.disk, &options.data_dir);
    let folder = free_folder(disk, root);
    let new = folder.join(NEW);
    disk.create_dir_all(&new)?;
    let making = InstanceOptions {
        memory_bytes: Some(MEMORY),
        disk: options.disk.clone(),
        chore_period: Duration::from_secs(24 * 3600),
        ..InstanceOptions::new(&new)
    };
    let instance = Instance::open(making)?;
    if entries.iter().any(|entry| entry.id == MASTER) {
        import(&instance, salvaged)?;
    }
    let mut renames = Vec::new();
    for entry in entries {
        renames.extend(renames_of(&instance, entry, &folder)?);
    }
    instance.close()?;
    drop(instance);
    // What is to be put aside must be there now: later the place has the new file.
    let mut list = String::new();
    for (from, to) in renames {
        if disk.exists(&from)? {
            let below =
                |path: &Path| escape(&path.strip_prefix(root).unwrap_or(path).to_string_lossy());
            list.push_str(&format!("{}\t{}\n", below(&from), below(&to)));
        }
    }
    disk.write_small_atomic(&folder.join(RENAMES), list.as_bytes())?;
    finish(disk, root, &folder)?;
    Ok(folder)
}

/// Which files go where: first the damaged ones out of the way, then the new ones.
fn renames_of(
    instance: &Arc<Instance>,
    entry: &DbEntry,
    folder: &Path,
) -> Result<Vec<(PathBuf, PathBuf)>, SqlError> {
    let made = instance.db_by_id(entry.id).map(|db| db.entry());
    let made = made.ok_or_else(|| SqlError::internal(format!("{} was not made", entry.name)))?;
    let (mut out_of_the_way, mut into_place) = (Vec::new(), Vec::new());
    for file in &made.files {
        let Some(place) = entry.files.iter().find(|old| old.file_id == file.file_id) else {
            continue;
        };
        let name = place.path.file_name().unwrap_or_default();
        out_of_the_way.push((place.path.clone(), folder.join(name)));
        into_place.push((file.path.clone(), place.path.clone()));
    }
    out_of_the_way.append(&mut into_place);
    Ok(out_of_the_way)
}

/// Puts the rows that were salvaged into the new master.
fn import(instance: &Arc<Instance>, salvaged: &SalvagedRows) -> Result<(), SqlError> {
    let db = instance.db_by_id(MASTER).ok_or_else(|| SqlError::internal("master was not made"))?;
    let open = db.open()?;
    let mut txn = open.storage.begin(0).map_err(|e| errors::db_error(&db, &e))?;
    let put = |txn: &mut txn::Txn, table: SysTable, row: &[Value]| {
        open.trees.put(txn, table, row).map_err(|e| errors::store_error(&db, e))
    };
    for (table, row) in &salvaged.rows {
        put(&mut txn, *table, row)?;
    }
    txn.commit(Durability::Full).map_err(|e| errors::db_error(&db, &e))?;
    Ok(())
}
