//! Taking backups. Guarantees: a backup that was reported is complete and durable, and only then
//! moves the log chain or the differential base; one that failed changes nothing in the database,
//! which goes on meanwhile.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use disk::Disk;
use pages::{EXTENT_PAGES, PAGE_SIZE, PageError, RecordKind, RecordView};
use wal::{LogArchive, Lsn};

use super::device::BackupDevice;
use super::error::BackupError;
use super::log_pieces::write_log;
use super::media::MediaLabel;
use super::piece::PieceKind;
use super::set::{SetEnd, SetFile, SetHeader, SetKind};
use super::write::{Devices, ExistingSets, SetWriter, write_set};
use crate::backup_state::{BackupBase, BackupState};
use crate::checkpoint::decode_header;
use crate::database::Database;
use crate::error::TxnError;
use crate::options::{LogReuseWait, RecoveryModel};
use crate::txn::now_us;

/// What a BACKUP statement says.
#[derive(Clone, Debug)]
pub struct BackupSpec {
    pub kind: SetKind,
    pub copy_only: bool,
    /// WITH CHECKSUM, for the headers.
    pub checksum: bool,
    pub compress: bool,
    pub existing: ExistingSets,
    /// Damaged pages are copied as they are.
    pub continue_after_error: bool,
    pub name: String,
    pub description: String,
    pub media_name: String,
    pub media_description: String,
    pub database: String,
    pub server: String,
    pub user: String,
    /// The database's files; sizes are filled in.
    pub files: Vec<SetFile>,
    /// Bytes of the engine, given back at restore.
    pub engine: Vec<u8>,
    /// The database goes to RESTORING after it.
    pub tail: bool,
}

impl Default for BackupSpec {
    fn default() -> Self {
        BackupSpec {
            kind: SetKind::Full,
            copy_only: false,
            checksum: false,
            compress: false,
            existing: ExistingSets::Append,
            continue_after_error: false,
            name: String::new(),
            description: String::new(),
            media_name: String::new(),
            media_description: String::new(),
            database: String::new(),
            server: String::new(),
            user: String::new(),
            files: Vec::new(),
            engine: Vec::new(),
            tail: false,
        }
    }
}

/// A backup that is there.
#[derive(Clone, Debug)]
pub struct BackupDone {
    pub header: SetHeader,
    pub end: SetEnd,
    pub media_id: [u8; 16],
    pub took: Duration,
}

/// Hears percent done; false gives up.
pub type BackupProgress<'a> = &'a mut dyn FnMut(u8) -> bool;

fn new_guid() -> [u8; 16] {
    let mut guid = [0; 16];
    fastrand::fill(&mut guid);
    guid
}

impl BackupSpec {
    fn label(&self) -> MediaLabel {
        MediaLabel {
            media_id: new_guid(),
            name: self.media_name.clone(),
            description: self.media_description.clone(),
            created_us: now_us(),
            ..MediaLabel::default()
        }
    }

    /// The header without what the database knows.
    fn header(&self, guid: [u8; 16], state: &BackupState) -> SetHeader {
        let family = if state.family == [0; 16] { guid } else { state.family };
        SetHeader {
            set_id: new_guid(),
            kind: self.kind,
            position: 0,
            copy_only: self.copy_only,
            checksum: self.checksum,
            compressed: self.compress,
            tail: self.tail,
            begins_chain: false,
            name: self.name.clone(),
            description: self.description.clone(),
            database: self.database.clone(),
            server: self.server.clone(),
            user: self.user.clone(),
            database_guid: guid,
            family,
            first_fork: state.fork,
            last_fork: state.fork,
            fork_lsn: state.fork_lsn,
            start_us: now_us(),
            recovery_model: state.recovery_model.unwrap_or(RecoveryModel::Full),
            next_txn: 0,
            checkpoint_lsn: Lsn::ZERO,
            redo_lsn: Lsn::ZERO,
            first_lsn: Lsn::ZERO,
            database_backup_lsn: state.base.map_or(Lsn::ZERO, |b| b.checkpoint_lsn),
            base: None,
            files: self.files.clone(),
            engine: self.engine.clone(),
        }
    }
}

/// Frees what a running data backup holds.
struct BackupGuard<'a>(&'a Database);

impl Drop for BackupGuard<'_> {
    fn drop(&mut self) {
        self.0.hold_for_running_backup(None);
        self.0.truncate_log();
    }
}

impl Database {
    /// Backs the database up while it works. `progress` hears percent.
    pub fn backup(
        self: &Arc<Self>,
        devices: &[Box<dyn BackupDevice>],
        spec: &BackupSpec,
        progress: BackupProgress<'_>,
    ) -> Result<BackupDone, BackupError> {
        self.check_online().map_err(TxnError::from)?;
        match spec.kind {
            SetKind::Log => self.backup_log(devices, spec, progress),
            SetKind::Full | SetKind::Differential => self.backup_data(devices, spec, progress),
        }
    }

    /// Whether a transaction has committed since the record: there is work that no log backup has.
    pub fn has_commits_since(&self, from: Lsn) -> bool {
        let mut scan = self.log().scan(from);
        // A log that cannot be read may hold anything.
        loop {
            match scan
                .next_record()
                .map(|found| found.map(|(_, bytes)| RecordView::decode(bytes).map(|v| v.kind())))
            {
                Ok(None) => return false,
                Ok(Some(Ok(kind))) if kind != RecordKind::Commit => {}
                _ => return true,
            }
        }
    }

    fn backup_data(
        self: &Arc<Self>,
        devices: &[Box<dyn BackupDevice>],
        spec: &BackupSpec,
        progress: BackupProgress<'_>,
    ) -> Result<BackupDone, BackupError> {
        let begin = Instant::now();
        let _one = self.checkpointer().data_backup.try_lock().ok_or(BackupError::Busy)?;
        let state = self.backup_state();
        let base = match spec.kind {
            SetKind::Differential => Some(state.base.ok_or(BackupError::NoBase)?),
            _ => None,
        };
        let target = Devices::open(devices, spec.existing, &spec.label())?;
        let mut header = spec.header(self.store().database(), &state);
        header.position = target.position;
        header.base = base;
        self.fill_sizes(&mut header.files);
        // Everything that is kept now stays, until it is known how much of it the backup needs.
        self.hold_for_running_backup(Some(self.log().oldest()));
        let held = BackupGuard(self);
        self.checkpoint()?;
        self.note_start(&mut header)?;
        header.begins_chain = self.begins_chain(spec, &state);
        let threads = self.pace().background;
        let media_id = target.media();
        let end = write_set(target, &header, threads, |set| {
            self.write_data(set, &header, spec, progress)
        })?;
        if spec.kind == SetKind::Full && !spec.copy_only {
            self.note_full(&header)?;
        }
        drop(held);
        Ok(BackupDone { header, end, media_id, took: begin.elapsed() })
    }

    fn begins_chain(&self, spec: &BackupSpec, state: &BackupState) -> bool {
        spec.kind == SetKind::Full
            && !spec.copy_only
            && state.log_from.is_zero()
            && state.recovery_model != Some(RecoveryModel::Simple)
    }

    /// Where the log of a data backup begins: at the newest checkpoint, or at the first record of a
    /// transaction that is still running.
    fn note_start(&self, header: &mut SetHeader) -> Result<(), BackupError> {
        let info = self.log().checkpoint();
        let (next, ..) =
            decode_header(&info.payload).ok_or(TxnError::Invalid("the log has no checkpoint"))?;
        let hold = self.txns().log_hold().map_or(Lsn::MAX, |(lsn, _)| lsn);
        let first = info.checkpoint_lsn.min(info.redo_lsn).min(hold);
        (header.checkpoint_lsn, header.redo_lsn) = (info.checkpoint_lsn, info.redo_lsn);
        header.first_lsn = Lsn { slot: 1, ..first };
        header.next_txn = next.0;
        self.hold_for_running_backup(Some(first));
        Ok(())
    }

    fn fill_sizes(&self, files: &mut Vec<SetFile>) {
        for info in self.store().files() {
            let (id, size) = (info.spec.id, u64::from(info.pages) * PAGE_SIZE as u64);
            let at = files.iter().position(|f| f.id == id && !f.log).unwrap_or_else(|| {
                files.push(SetFile {
                    id,
                    name: info.spec.name.clone(),
                    shown: info.spec.path.display().to_string(),
                    ..SetFile::default()
                });
                files.len() - 1
            });
            let file = &mut files[at];
            (file.size, file.minimum, file.filegroup) = (size, info.spec.size, info.spec.filegroup);
            file.growth = match info.spec.growth {
                pages::FileGrowth::None => 0,
                pages::FileGrowth::Bytes(n) => i64::try_from(n).unwrap_or(i64::MAX),
                pages::FileGrowth::Percent(p) => -i64::from(p),
            };
            file.max_size = info.spec.max_size.unwrap_or(0);
        }
        for file in files.iter_mut().filter(|f| f.log) {
            file.size = self.log().space().size;
        }
    }

    /// The pages of all files, then the log.
    fn write_data(
        &self,
        set: &SetWriter,
        header: &SetHeader,
        spec: &BackupSpec,
        progress: BackupProgress<'_>,
    ) -> Result<SetEnd, BackupError> {
        let mut lists = Vec::new();
        for info in self.store().files() {
            let extents = self.store().backup_extents(info.spec.id)?;
            lists.push(FileCopy {
                file: info.spec.id,
                extents,
                name: info.spec.name,
                pages: AtomicU64::new(0),
            });
        }
        let total: u64 = lists.iter().map(|l| l.extents.len() as u64).sum();
        let copy = PageCopier {
            set,
            since: header.base.map(|b| b.changed_from),
            spec,
            done: AtomicU64::new(0),
            stop: AtomicBool::new(false),
        };
        // The log's share of the work is not known before the copy is done; most often it is small.
        let percent = |done: u64| (done * 98).checked_div(total).unwrap_or(98).min(98) as u8;
        if self.pace().background {
            self.copy_in_threads(&copy, &lists, &mut |done| progress(percent(done)))?;
        } else {
            for list in &lists {
                self.copy_file(&copy, list)?;
                if !progress(percent(copy.done.load(Relaxed))) {
                    return Err(BackupError::Cancelled);
                }
            }
        }
        let end_us = now_us();
        self.log().flush_all()?;
        let mut archive = self.log().archive(header.first_lsn)?;
        let log_bytes = write_log(set, &mut archive, &mut |_| true)?;
        progress(100);
        let pages = lists.iter().map(|l| (l.file, l.pages.load(Relaxed))).collect();
        Ok(SetEnd { last_lsn: archive.to(), end_us, pages, log_bytes, ..SetEnd::default() })
    }

    /// A thread for each file; the caller's reports.
    fn copy_in_threads(
        &self,
        copy: &PageCopier<'_>,
        lists: &[FileCopy],
        report: &mut dyn FnMut(u64) -> bool,
    ) -> Result<(), BackupError> {
        std::thread::scope(|scope| {
            let me = std::thread::current();
            let workers: Vec<_> = lists
                .iter()
                .map(|list| {
                    let me = me.clone();
                    scope.spawn(move || {
                        let done = self.copy_file(copy, list);
                        me.unpark();
                        done
                    })
                })
                .collect();
            while workers.iter().any(|w| !w.is_finished()) {
                std::thread::park_timeout(Duration::from_millis(50));
                if !report(copy.done.load(Relaxed)) {
                    copy.stop.store(true, Relaxed);
                }
            }
            let mut first = Ok(());
            for worker in workers {
                let done = worker.join().unwrap_or(Err(BackupError::Cancelled));
                first = first.and(done);
            }
            if copy.stop.load(Relaxed) { Err(BackupError::Cancelled) } else { first }
        })
    }

    fn copy_file(&self, copy: &PageCopier<'_>, list: &FileCopy) -> Result<(), BackupError> {
        let mut failed = None;
        let mut content = Vec::new();
        let done = self.store().copy_extents(
            list.file,
            &list.extents,
            copy.since,
            copy.spec.continue_after_error,
            &mut |runs, images| {
                let stopped = || PageError::Invalid { what: "the backup was stopped" };
                if copy.stop.load(Relaxed) {
                    return Err(stopped());
                }
                if !runs.is_empty() {
                    encode_pages(&mut content, list.file, runs, images);
                    copy.set.put(PieceKind::Pages, &content).map_err(|e| {
                        failed = Some(e);
                        stopped()
                    })?;
                }
                list.pages.fetch_add((images.len() / PAGE_SIZE) as u64, Relaxed);
                copy.done.fetch_add(looked_at(runs, images), Relaxed);
                Ok(())
            },
        );
        match (failed, done) {
            (Some(e), _) => Err(e),
            (None, Err(e)) if e.is_damage() => {
                Err(BackupError::BadPage { page: e.to_string(), file: list.name.clone() })
            }
            (None, Err(_)) if copy.stop.load(Relaxed) => Err(BackupError::Cancelled),
            (None, other) => Ok(other?),
        }
    }

    /// The full backup is there: the log chain begins if none has, and differential backups build
    /// on it.
    fn note_full(&self, header: &SetHeader) -> Result<(), BackupError> {
        let base = BackupBase {
            set_id: header.set_id,
            checkpoint_lsn: header.checkpoint_lsn,
            changed_from: header.checkpoint_lsn.min(header.redo_lsn),
            time_us: header.start_us,
        };
        if !self.is_simple() && !self.settings().log_chain {
            self.change_settings(|s| s.log_chain = true)?;
        }
        self.change_backup_state(|state| {
            state.base = Some(base);
            if !self.is_simple() && state.log_from.is_zero() {
                state.log_from = header.first_lsn;
            }
        })?;
        Ok(())
    }

    fn backup_log(
        self: &Arc<Self>,
        devices: &[Box<dyn BackupDevice>],
        spec: &BackupSpec,
        progress: BackupProgress<'_>,
    ) -> Result<BackupDone, BackupError> {
        let begin = Instant::now();
        let _one = self.checkpointer().log_backup.try_lock().ok_or(BackupError::Busy)?;
        let state = self.backup_state();
        let from = check_chain(&state)?;
        let target = Devices::open(devices, spec.existing, &spec.label())?;
        let mut header = spec.header(self.store().database(), &state);
        header.position = target.position;
        let info = self.log().checkpoint();
        (header.checkpoint_lsn, header.redo_lsn) = (info.checkpoint_lsn, info.redo_lsn);
        self.fill_sizes(&mut header.files);
        fork_of(&mut header, &state, from);
        let end_us = now_us();
        // Everything appended so far is in the backup, delayed commits too.
        self.log().flush_all()?;
        let mut archive = self.log().archive(from)?;
        let media_id = target.media();
        let end =
            write_log_set(target, &header, self.pace().background, &mut archive, end_us, progress)?;
        if !spec.copy_only {
            self.change_backup_state(|state| {
                // A change to SIMPLE has ended the chain meanwhile, and perhaps another one has
                // begun.
                if state.log_from == from {
                    state.log_from = end.last_lsn;
                    state.log_backup_us = end.finish_us;
                }
            })?;
            self.truncate_log();
            if self.log_holder().1 == LogReuseWait::Checkpoint && self.log_percent() >= 70 {
                // The backup is there whatever becomes of the checkpoint, which reports its own
                // failures.
                drop(self.checkpoint());
            }
        }
        Ok(BackupDone { header, end, media_id, took: begin.elapsed() })
    }
}

/// The first log backup of a recovery fork connects it with the one that it left.
fn fork_of(header: &mut SetHeader, state: &BackupState, from: Lsn) {
    header.first_lsn = from;
    if from == state.fork_lsn && !from.is_zero() {
        header.first_fork = state.parent_fork;
    }
}

/// Where the next log backup begins. Errors: 4208, 4214.
fn check_chain(state: &BackupState) -> Result<Lsn, BackupError> {
    match state.recovery_model {
        Some(RecoveryModel::Simple) => Err(BackupError::Simple),
        _ if state.log_from.is_zero() => Err(BackupError::NoFullBackup),
        _ => Ok(state.log_from),
    }
}

/// Backs up the log of a database that is closed, or whose data files are lost, from its log file
/// alone. The log chain does not move: the log holds what it held.
pub fn backup_closed_log(
    disk: &dyn Disk,
    log_path: &Path,
    devices: &[Box<dyn BackupDevice>],
    spec: &BackupSpec,
    progress: BackupProgress<'_>,
) -> Result<BackupDone, BackupError> {
    let begin = Instant::now();
    let mut found = None;
    let (mut archive, info) = LogArchive::open(disk, log_path, |info, oldest| {
        let state = decode_header(&info.payload).map(|(_, _, state)| state);
        let from = state.as_ref().map_or(oldest, |s| s.log_from.max(oldest));
        found = state;
        from
    })?;
    let state = found.ok_or(TxnError::NotADatabase {
        path: log_path.into(),
        what: "the log has no checkpoint",
    })?;
    let from = check_chain(&state)?;
    if from < archive.from() {
        return Err(BackupError::NoFullBackup);
    }
    let target = Devices::open(devices, spec.existing, &spec.label())?;
    let mut header = spec.header(archive.log_id(), &state);
    header.position = target.position;
    (header.checkpoint_lsn, header.redo_lsn) = (info.checkpoint_lsn, info.redo_lsn);
    fork_of(&mut header, &state, from);
    let media_id = target.media();
    let end = write_log_set(target, &header, true, &mut archive, now_us(), progress)?;
    Ok(BackupDone { header, end, media_id, took: begin.elapsed() })
}

fn write_log_set(
    target: Devices,
    header: &SetHeader,
    threads: bool,
    archive: &mut LogArchive,
    end_us: u64,
    progress: BackupProgress<'_>,
) -> Result<SetEnd, BackupError> {
    write_set(target, header, threads, |set| {
        let log_bytes = write_log(set, archive, progress)?;
        progress(100);
        Ok(SetEnd { last_lsn: archive.to(), end_us, log_bytes, ..SetEnd::default() })
    })
}

/// One file's part of the copy.
struct FileCopy {
    file: u16,
    extents: Vec<u32>,
    name: String,
    /// Pages in the backup.
    pages: AtomicU64,
}

struct PageCopier<'a> {
    set: &'a SetWriter,
    since: Option<Lsn>,
    spec: &'a BackupSpec,
    /// Extents looked at.
    done: AtomicU64,
    stop: AtomicBool,
}

/// Extents that a call of the copy's sink stands for; one that found nothing to keep counts as one.
fn looked_at(runs: &[(u32, u32)], images: &[u8]) -> u64 {
    if runs.is_empty() { 1 } else { (images.len() / PAGE_SIZE) as u64 / u64::from(EXTENT_PAGES) }
}

/// A piece of pages: file, number of runs, (first page, pages) of each, then the images.
fn encode_pages(out: &mut Vec<u8>, file: u16, runs: &[(u32, u32)], images: &[u8]) {
    out.clear();
    out.extend_from_slice(&file.to_le_bytes());
    out.extend_from_slice(&(runs.len() as u16).to_le_bytes());
    for (first, count) in runs {
        out.extend_from_slice(&first.to_le_bytes());
        out.extend_from_slice(&count.to_le_bytes());
    }
    out.extend_from_slice(images);
}
