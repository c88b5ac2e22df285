//! `ringwood repair`: what is damaged of an instance's own files and system databases, and what is
//! done about it.
//!
//! What loses nothing is done by every start, too: copies that are rewritten, a list of
//! databases that is made from their files, pages of which one bit has changed, a log that was not
//! needed. What may lose something is done here alone: a system database that cannot be opened is
//! rebuilt with what can still be read of the old one.
//!
//! Guarantees: nothing is changed while another process has the folder, nor by [`examine`]; no
//! damaged file is deleted; a healthy instance is not changed, nor one of another version; after a
//! power loss it can be done again. Databases of users are opened, and not changed otherwise.

mod rebuild;
mod salvage;

use std::path::{Path, PathBuf};

use catalog::registry::DbEntry;
use catalog::{MASTER, MODEL};
use disk::mirrored::{self, FoundCopies};
use disk::{Disk, DiskError, OpenMode};
use pages::{InstanceHome, PageId, UnitId};
use txn::TxnError;
use types::SqlError;

use crate::{Instance, InstanceOptions};
use catalog::TEMPDB;
use catalog::systables::{ALL, DISCARDED_UNIT};
use instance::mend::{mended_bit_text, mended_text};
use instance::permit::Paths;
use instance::{InstanceError, SYSTEM, lost_list, own_files, start};
use salvage::SalvagedRows;

/// Trace flag: no procedure runs at the start.
const NOTHING_AT_START: i32 = 4022;

/// Why a repair ended.
#[derive(Debug, thiserror::Error)]
pub enum RepairError {
    #[error(transparent)]
    Instance(#[from] InstanceError),
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error(transparent)]
    Database(#[from] TxnError),
    #[error("{}", .0.message)]
    Sql(SqlError),
    /// A rebuild was interrupted and its list of renames is damaged.
    #[error("the list of renames in {} is damaged: move the files by hand", .0.display())]
    Renames(PathBuf),
}

impl From<SqlError> for RepairError {
    fn from(e: SqlError) -> RepairError {
        RepairError::Sql(e)
    }
}

/// Something that is done, or would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepairAct {
    /// A copy of a small file is rewritten from the other one.
    WriteCopy,
    /// The list of databases, or the identity, is made again from the databases' files.
    MakeAgain,
    /// Pages of which one bit has changed are put right.
    MendPages,
    /// Log blocks of which one bit has changed are put right.
    MendLog,
    /// A database that was closed cleanly gets a new log.
    NewLog,
    /// A system database is rebuilt.
    Rebuild,
    /// The renames of a rebuild that was interrupted are made.
    FinishRebuild,
}

impl RepairAct {
    /// Its name in the output for programs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            RepairAct::WriteCopy => "write-copy",
            RepairAct::MakeAgain => "make-again",
            RepairAct::MendPages => "mend-pages",
            RepairAct::MendLog => "mend-log",
            RepairAct::NewLog => "new-log",
            RepairAct::Rebuild => "rebuild",
            RepairAct::FinishRebuild => "finish-rebuild",
        }
    }
}

/// One step of a repair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepairStep {
    pub act: RepairAct,
    pub file: PathBuf,
    pub text: String,
    /// What is lost by it.
    pub lost: Vec<String>,
}

/// What is wrong with an instance, and what was or would be done.
#[derive(Clone, Debug, Default)]
pub struct Repair {
    pub steps: Vec<RepairStep>,
    /// What is wrong and stays so.
    pub notes: Vec<String>,
    /// Name and state of each database; empty if none was opened.
    pub databases: Vec<(String, &'static str)>,
}

impl Repair {
    /// Whether something was or would be lost.
    #[must_use]
    pub fn loses(&self) -> bool {
        self.steps.iter().any(|step| !step.lost.is_empty())
    }
}

/// Looks at an instance that nobody has open, and changes nothing.
///
/// # Errors
/// The folder is in use, or has no instance; another version has made it; the disk.
pub fn examine(options: &InstanceOptions) -> Result<Repair, RepairError> {
    let _lock = start::lock_folder(&*options.disk, &options.data_dir, false, true)?;
    Ok(Examination::of(options)?.repair)
}

/// Does what [`examine`] says, then opens the instance and closes it. `tell` hears each step as it
/// is begun.
///
/// # Errors
/// As for [`examine`]; what makes the instance fail to open after that.
pub fn repair(
    options: &InstanceOptions,
    tell: &mut dyn FnMut(&str),
) -> Result<Repair, RepairError> {
    let mut done = {
        let _lock = start::lock_folder(&*options.disk, &options.data_dir, false, true)?;
        let mut found = Examination::of(options)?;
        if let Some(folder) = found.interrupted.take() {
            found.tell(RepairAct::FinishRebuild, tell);
            rebuild::finish(&*options.disk, &options.data_dir, &folder)?;
            let steps = found.repair.steps;
            found = Examination::of(options)?;
            found
                .repair
                .steps
                .splice(0..0, steps.into_iter().filter(|s| s.act == RepairAct::FinishRebuild));
        }
        found.carry_out(options, tell)?;
        found
    };
    tell("Opening the instance");
    let opened = match open(options) {
        Err(RepairError::Instance(InstanceError::Master(why))) if !done.has_rebuilt(MASTER) => {
            let _lock = start::lock_folder(&*options.disk, &options.data_dir, false, true)?;
            done.plan_rebuild(options, MASTER, &why)?;
            done.rebuild(options, tell)?;
            drop(_lock);
            tell("Opening the instance");
            open(options)
        }
        opened => opened,
    };
    done.repair.databases = opened?;
    Ok(done.repair)
}

/// Opens the instance, which mends what a start mends, and closes it. Gives name and state of each
/// database.
fn open(options: &InstanceOptions) -> Result<Vec<(String, &'static str)>, RepairError> {
    let mut options = options.clone();
    options.trace_flags.push(NOTHING_AT_START);
    let instance = Instance::open(options)?;
    let states =
        instance.databases().iter().map(|db| (db.name().to_string(), db.status().name())).collect();
    instance.close()?;
    Ok(states)
}

/// What was found, with what it takes to do something about it.
struct Examination {
    repair: Repair,
    interrupted: Option<PathBuf>,
    /// System databases.
    entries: Vec<DbEntry>,
    /// Numbers of those that are to be rebuilt, and of those that were.
    to_rebuild: Vec<i32>,
    rebuilt: Vec<i32>,
    salvaged: SalvagedRows,
}

impl Examination {
    fn of(options: &InstanceOptions) -> Result<Examination, RepairError> {
        let (disk, root) = (&*options.disk, options.data_dir.as_path());
        let paths = Paths::new(root.to_path_buf(), options.volumes.clone());
        let mut repair = Repair::default();
        let interrupted = rebuild::interrupted(disk, root)?;
        if let Some(folder) = &interrupted {
            let text = "The renames of an interrupted rebuild are made".to_string();
            repair.steps.push(RepairStep {
                act: RepairAct::FinishRebuild,
                file: folder.clone(),
                text,
                lost: Vec::new(),
            });
        }
        examine_small_files(disk, root, &mut repair)?;
        let known = start::read_known(disk, &paths, false)?;
        if !known.news.is_empty() {
            let text = known.news.join(" ");
            let file = root.join(catalog::registry::FILE_NAME);
            repair.steps.push(RepairStep {
                act: RepairAct::MakeAgain,
                file,
                text,
                lost: Vec::new(),
            });
        }
        let system = SYSTEM.into_iter().filter(|(_, id)| *id != TEMPDB);
        let entries: Vec<DbEntry> = system
            .filter_map(|(name, id)| {
                if let Some(listed) = known.registry.entries.iter().find(|entry| entry.id == id) {
                    return Some(listed.clone());
                }
                let entry = lost_list::system_entry(&paths, name, id);
                // A folder of an earlier version has no model: the start that follows makes it.
                let is_there = |(primary, _): (&Path, &Path)| disk.exists(primary).unwrap_or(true);
                let expected = id != MODEL || files_of(&entry).is_some_and(is_there);
                expected.then_some(entry)
            })
            .collect();
        let mut found = Examination {
            repair,
            interrupted,
            entries,
            to_rebuild: Vec::new(),
            rebuilt: Vec::new(),
            salvaged: SalvagedRows::default(),
        };
        if found.interrupted.is_none() {
            for entry in found.entries.clone() {
                found.examine_database(options, &entry, known.identity.id)?;
            }
        }
        Ok(found)
    }

    fn examine_database(
        &mut self,
        options: &InstanceOptions,
        entry: &DbEntry,
        instance: pages::InstanceId,
    ) -> Result<(), RepairError> {
        let disk = &*options.disk;
        let Some((primary, log)) = files_of(entry) else { return Ok(()) };
        if !disk.exists(primary)? {
            // A new instance has none yet; one that is lost cannot be read.
            return self.plan_rebuild(options, entry.id, "its primary file is not there");
        }
        let mut fatal = None;
        for file in
            entry.files.iter().filter(|file| !file.log && disk.exists(&file.path).unwrap_or(false))
        {
            // With one of another version nothing is wrong: to rebuild it would lose what it has.
            pages::check_format(disk, &file.path).map_err(TxnError::from)?;
            let state = pages::mend_file(disk, &file.path, false).map_err(TxnError::from)?;
            if !state.mended.is_empty() {
                let texts: Vec<String> =
                    state.mended.iter().map(|page| mended_text(&file.path, page)).collect();
                let (text, file) = (texts.join(" "), file.path.clone());
                self.repair.steps.push(RepairStep {
                    act: RepairAct::MendPages,
                    file,
                    text,
                    lost: Vec::new(),
                });
            }
            for (page, unit) in &state.damaged {
                let text = format!(
                    "page {}:{} of '{}' is damaged",
                    page.file,
                    page.page,
                    file.path.display()
                );
                match is_of_system(*page, *unit) {
                    true => fatal = fatal.or(Some(text)),
                    false => {
                        self.repair.notes.push(format!("{text}: DBCC CHECKDB tells what is on it"))
                    }
                }
            }
        }
        if let Some(why) = fatal {
            return self.plan_rebuild(options, entry.id, &why);
        }
        self.examine_log(options, entry, (primary, log), instance)
    }

    fn examine_log(
        &mut self,
        options: &InstanceOptions,
        entry: &DbEntry,
        (primary, log): (&Path, &Path),
        instance: pages::InstanceId,
    ) -> Result<(), RepairError> {
        let disk = &*options.disk;
        let why = match disk.open(log, OpenMode::Read) {
            Ok(file) => {
                let checked = wal::check(&file);
                let mended = wal::mend(&file, false).unwrap_or_default();
                file.release();
                match checked {
                    Ok(()) => return Ok(()),
                    Err(_) if !mended.is_empty() => {
                        let texts: Vec<String> =
                            mended.iter().map(|bit| mended_bit_text(log, bit)).collect();
                        let (text, file) = (texts.join(" "), log.to_path_buf());
                        self.repair.steps.push(RepairStep {
                            act: RepairAct::MendLog,
                            file,
                            text,
                            lost: Vec::new(),
                        });
                        return Ok(());
                    }
                    Err(wal::LogError::Disk(e)) => return Err(e.into()),
                    Err(e) => e.to_string(),
                }
            }
            Err(DiskError::NotFound { .. }) => "it is not there".into(),
            Err(e) => return Err(e.into()),
        };
        let home =
            InstanceHome { instance, folder: options.data_dir.clone(), ..InstanceHome::default() };
        let closed = txn::identify(disk, primary, &home)?.is_some_and(|found| found.closed);
        if !closed {
            return self.plan_rebuild(
                options,
                entry.id,
                &format!("its log would be needed, and {why}"),
            );
        }
        let text = format!("'{}' was closed cleanly and gets a new log: {why}", entry.name);
        let file = log.to_path_buf();
        self.repair.steps.push(RepairStep { act: RepairAct::NewLog, file, text, lost: Vec::new() });
        Ok(())
    }

    fn plan_rebuild(
        &mut self,
        options: &InstanceOptions,
        id: i32,
        why: &str,
    ) -> Result<(), RepairError> {
        let Some(entry) = self.entries.iter().find(|entry| entry.id == id) else { return Ok(()) };
        let Some((primary, _)) = files_of(entry) else { return Ok(()) };
        let mut lost = Vec::new();
        let mut kept = String::new();
        if id == MASTER {
            if options.disk.exists(primary)? {
                self.salvaged = salvage::read(&*options.disk, primary)?;
            }
            lost.append(&mut self.salvaged.lost.clone());
            kept = format!(", with what can be read of it ({})", self.salvaged.kept.join(", "));
            if self.salvaged.kept.is_empty() {
                lost.push("all logins, roles and permissions of the server".into());
            }
        } else if id == MODEL {
            lost.push("the options of new databases that were set in model".into());
        } else {
            lost.push("the history of backups, and what else was in msdb".into());
        }
        let text = format!("'{}' cannot be opened, {why}: it is rebuilt{kept}", entry.name);
        let file = primary.to_path_buf();
        self.repair.steps.push(RepairStep { act: RepairAct::Rebuild, file, text, lost });
        self.to_rebuild.push(id);
        Ok(())
    }

    /// Does what is not done by the start that follows.
    fn carry_out(
        &mut self,
        options: &InstanceOptions,
        tell: &mut dyn FnMut(&str),
    ) -> Result<(), RepairError> {
        for act in [
            RepairAct::WriteCopy,
            RepairAct::MakeAgain,
            RepairAct::MendPages,
            RepairAct::MendLog,
            RepairAct::NewLog,
        ] {
            self.tell(act, tell);
        }
        for step in self.repair.steps.iter().filter(|step| step.act == RepairAct::MendPages) {
            pages::mend_file(&*options.disk, &step.file, true).map_err(TxnError::from)?;
        }
        self.rebuild(options, tell)
    }

    fn tell(&self, act: RepairAct, tell: &mut dyn FnMut(&str)) {
        self.repair.steps.iter().filter(|step| step.act == act).for_each(|step| tell(&step.text));
    }

    fn has_rebuilt(&self, id: i32) -> bool {
        self.rebuilt.contains(&id)
    }

    fn rebuild(
        &mut self,
        options: &InstanceOptions,
        tell: &mut dyn FnMut(&str),
    ) -> Result<(), RepairError> {
        let ids = std::mem::take(&mut self.to_rebuild);
        if ids.is_empty() {
            return Ok(());
        }
        self.tell(RepairAct::Rebuild, tell);
        let entries: Vec<&DbEntry> =
            self.entries.iter().filter(|entry| ids.contains(&entry.id)).collect();
        let aside = rebuild::rebuild(options, &entries, &self.salvaged)?;
        self.repair.notes.push(format!("The damaged files are in '{}'.", aside.display()));
        self.rebuilt.extend(ids);
        Ok(())
    }
}

/// Paths of the primary file and of the log.
fn files_of(entry: &DbEntry) -> Option<(&Path, &Path)> {
    let primary = entry.files.iter().find(|file| file.file_id == 1)?;
    let log = entry.files.iter().find(|file| file.log)?;
    Some((&primary.path, &log.path))
}

/// Whether a database does not open without a page: one at a fixed place, or of a system table.
fn is_of_system(page: PageId, unit: UnitId) -> bool {
    let fixed = page.file == 1 && page.page <= pages::BOOT_PAGE.page;
    fixed || (1..=ALL.len() as u32).contains(&unit.0) || unit.0 == DISCARDED_UNIT
}

fn examine_small_files(
    disk: &dyn Disk,
    root: &Path,
    repair: &mut Repair,
) -> Result<(), RepairError> {
    for name in own_files::MIRRORED {
        let path = root.join(name);
        match mirrored::read(disk, &path, &|bytes| {
            bytes.starts_with(b"ringwood ") && !bytes.starts_with(b"ringwood copy")
        })? {
            FoundCopies::Nothing => {}
            FoundCopies::Whole(content) if content.generation == 0 => {}
            FoundCopies::Whole(content) => {
                for (file, reason) in content.stale {
                    let text =
                        format!("'{}' is rewritten from its other copy: {reason}", file.display());
                    repair.steps.push(RepairStep {
                        act: RepairAct::WriteCopy,
                        file,
                        text,
                        lost: Vec::new(),
                    });
                }
            }
            FoundCopies::Damaged(damaged) if name == catalog::registry::FILE_NAME => {
                repair.notes.push(format!("No copy of the list of databases is whole ({damaged})"));
            }
            FoundCopies::Damaged(damaged) => {
                let text = format!("No copy of '{name}' is whole ({damaged}): it begins empty");
                let lost = vec![format!("what was in '{name}'")];
                repair.steps.push(RepairStep { act: RepairAct::MakeAgain, file: path, text, lost });
            }
        }
    }
    Ok(())
}
