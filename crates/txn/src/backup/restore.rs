//! Restoring: laying pages and log, and rolling forward. Guarantees: a database that is being
//! restored has no valid header pages or no log until its pages are complete; each step is applied
//! as a whole or not at all; what is laid after a step that crashed is the log of that step, or
//! nothing.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use disk::{Disk, DiskError};
use pages::{
    DataFiles, FileEvent, FileGrowth, FileRestore, FileSpec, InstanceHome, LogHandle, PAGE_SIZE,
    RecordKind, RecordView, Store, TxnId, check_images,
};
use wal::{CheckpointInfo, Log, LogBlocks, LogError, LogOptions, LogRestore, Lsn};

use super::error::BackupError;
use super::files::{PlaceFiles, make_files};
use super::media::{MediaSet, SetEntry, VerifiedPiece};
use super::set::{LogStart, SetEnd, SetFile, SetHeader, SetKind};
use super::take::BackupProgress;
use crate::backup_state::{BackupBase, BackupState, RestoreState};
use crate::checkpoint::{decode_header, encode_header};
use crate::codec::Dec;
use crate::database::{Database, Env};
use crate::error::TxnError;
use crate::open::{OTHER_LOG, open_log};
use crate::options::DbState;
use crate::recovery::Analysis;
use crate::recovery_report::RecoveryReport;
use crate::sink::StoreLog;
use crate::txn::now_us;

/// Where the files of a restored database go.
#[derive(Clone, Debug)]
pub struct RestoreTarget {
    /// Path of each data file by its number.
    pub files: Vec<(u16, PathBuf)>,
    pub log_path: PathBuf,
    /// Alignment and the like; size and VLFs are the backup's.
    pub log: LogOptions,
}

impl RestoreTarget {
    fn primary(&self) -> Result<&Path, BackupError> {
        let found = self.files.iter().find(|(id, _)| *id == 1);
        Ok(&found.ok_or(TxnError::Invalid("the backup has no primary file"))?.1)
    }
}

/// What comes after a step of a restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestoreNext {
    /// Another one: the log is rolled forward, so that it need not grow with each step
    /// (NORECOVERY).
    More,
    /// [`Database::open`], which rolls forward and undoes what is open (RECOVERY).
    Last,
}

/// How far a log backup is restored, and where the data files go that it adds.
pub struct RollTo<'a> {
    /// Not to the first commit that is later, nor to a file that came or went later (microseconds
    /// since 1970).
    pub stop_us: Option<u64>,
    pub place: PlaceFiles<'a>,
}

/// What a step has restored.
#[derive(Clone, Debug)]
pub struct RestoredStep {
    pub header: SetHeader,
    pub end: SetEnd,
    /// The data files that the database has now; empty when the log was not rolled forward.
    pub files: Vec<FileSpec>,
    /// The stop time lies in this set: the database ends there.
    pub stopped: bool,
    pub took: Duration,
}

/// A log file that is not there, or was not finished: the restore never came to its end.
fn no_log(e: LogError) -> BackupError {
    match e {
        LogError::NotALog { .. } | LogError::Disk(DiskError::NotFound { .. }) => BackupError::NoLog,
        e => e.into(),
    }
}

/// What the log of a database that is not open says of backups and restores.
pub fn restore_state(
    disk: &dyn Disk,
    home: &InstanceHome,
    log_path: &Path,
) -> Result<BackupState, BackupError> {
    Ok(state_of(&take_up(disk, home, log_path)?)?.1)
}

/// The log of a database that is not open, if it is this instance's.
fn take_up(
    disk: &dyn Disk,
    home: &InstanceHome,
    log_path: &Path,
) -> Result<LogRestore, BackupError> {
    let (file, _) = open_log(disk, log_path, home).map_err(|e| match e {
        TxnError::Log(e) => no_log(e),
        TxnError::Disk(e) => no_log(e.into()),
        e => e.into(),
    })?;
    LogRestore::open_file(file).map_err(no_log)
}

/// Next transaction and backup state; the end of the restore is where the log ends.
fn state_of(log: &LogRestore) -> Result<(TxnId, BackupState), BackupError> {
    let header = decode_header(&log.checkpoint().payload);
    let (next, _, mut state) = header.ok_or(BackupError::NoLog)?;
    if state.family == [0; 16] {
        // Never restored: the family is the database's own.
        state.family = log.log_id();
    }
    if let Some(r) = state.restoring.as_mut().filter(|r| r.end != log.end()) {
        // A crash came between the header and the blocks that it announced.
        *r = RestoreState { end: log.end(), ..RestoreState::default() };
    }
    Ok((next, state))
}

/// A closed database takes part in restores from now on: after a tail-log backup.
pub fn mark_restoring(
    disk: &dyn Disk,
    home: &InstanceHome,
    log_path: &Path,
) -> Result<(), BackupError> {
    let log = take_up(disk, home, log_path)?;
    let (next, mut state) = state_of(&log)?;
    state.restoring = Some(RestoreState { end: log.end(), time_us: now_us(), cut: false });
    let payload = encode_header(next, false, &state);
    let info = CheckpointInfo { payload, ..log.checkpoint().clone() };
    Ok(log.finish(info, Lsn::ZERO)?)
}

/// The data files and how long they are.
fn specs(header: &SetHeader, target: &RestoreTarget) -> Result<Vec<(FileSpec, u64)>, BackupError> {
    let spec = |f: &SetFile| {
        let path = target.files.iter().find(|(id, _)| *id == f.id).map(|(_, path)| path.clone());
        let spec = FileSpec {
            id: f.id,
            name: f.name.clone(),
            path: path.ok_or(TxnError::Invalid("a file of the backup has no place to go"))?,
            filegroup: f.filegroup,
            size: f.minimum,
            growth: match f.growth {
                0 => FileGrowth::None,
                n if n > 0 => FileGrowth::Bytes(n as u64),
                n => FileGrowth::Percent(u32::try_from(n.unsigned_abs()).unwrap_or(u32::MAX)),
            },
            max_size: (f.max_size > 0).then_some(f.max_size),
        };
        Ok((spec, f.size))
    };
    header.files.iter().filter(|f| !f.log).map(spec).collect()
}

/// Restores a full or differential backup. A full one makes the files, whose names must be free; a
/// differential one needs the database as its base has left it.
pub fn restore_data(
    env: &Env,
    media: &mut MediaSet,
    position: u16,
    target: &RestoreTarget,
    step: RestoreNext,
    progress: BackupProgress<'_>,
) -> Result<RestoredStep, BackupError> {
    let begin = Instant::now();
    let SetEntry { header, end, .. } = media.set(position)?;
    let disk = &env.disk;
    let specs = specs(&header, target)?;
    let (guid, base, files) = match header.kind {
        SetKind::Log => return Err(BackupError::OtherKind),
        SetKind::Full => {
            let mut guid = [0; 16];
            fastrand::fill(&mut guid);
            let base = BackupBase {
                set_id: header.set_id,
                checkpoint_lsn: header.checkpoint_lsn,
                changed_from: header.checkpoint_lsn.min(header.redo_lsn),
                time_us: header.start_us,
            };
            (
                guid,
                (!header.copy_only).then_some(base),
                FileRestore::create(disk.clone(), guid, &specs, &env.home)?,
            )
        }
        SetKind::Differential => {
            let (guid, base) =
                check_base(&**disk, &env.home, &header, end.as_ref(), &target.log_path)?;
            // Without its log the database cannot be taken for restored if this does not come to an
            // end.
            disk.remove(&target.log_path).map_err(TxnError::from)?;
            (guid, Some(base), FileRestore::open(disk.clone(), guid, &specs, &env.home)?)
        }
    };
    let state = BackupState {
        family: header.family,
        fork: header.last_fork,
        fork_lsn: header.fork_lsn,
        base,
        owner: env.home.instance,
        ..BackupState::default()
    };
    let end = lay_data(&**disk, media, &header, end, guid, files, state, target, progress)?;
    let files = if step == RestoreNext::More { roll_forward(env, target)? } else { Vec::new() };
    Ok(RestoredStep { header, end, files, stopped: false, took: begin.elapsed() })
}

/// Whether the database whose log this is is what a differential backup builds on. Changes nothing
/// of it; opening the log may cut the file to the map that it has and syncs it.
pub fn check_differential(
    disk: &dyn Disk,
    home: &InstanceHome,
    set: &SetEntry,
    log_path: &Path,
) -> Result<(), BackupError> {
    check_base(disk, home, &set.header, set.end.as_ref(), log_path).map(drop)
}

fn check_base(
    disk: &dyn Disk,
    home: &InstanceHome,
    header: &SetHeader,
    end: Option<&SetEnd>,
    log_path: &Path,
) -> Result<([u8; 16], BackupBase), BackupError> {
    let log = take_up(disk, home, log_path)?;
    let (_, state) = state_of(&log)?;
    let restoring = state.restoring.ok_or(BackupError::NotReady)?;
    if state.family != header.family {
        return Err(BackupError::OtherDatabase);
    }
    match (state.base, header.base) {
        (Some(have), Some(need)) if have.set_id == need.set_id => {}
        _ => return Err(BackupError::OtherBase),
    }
    if let Some(end) = end.filter(|end| end.last_lsn < restoring.end) {
        return Err(BackupError::TooEarly { last: end.last_lsn, need: restoring.end });
    }
    Ok((log.log_id(), state.base.unwrap_or_default()))
}

#[allow(clippy::too_many_arguments)] // the parts of one step, named by their caller's locals
fn lay_data(
    disk: &dyn Disk,
    media: &mut MediaSet,
    header: &SetHeader,
    end: Option<SetEnd>,
    guid: [u8; 16],
    files: FileRestore,
    mut state: BackupState,
    target: &RestoreTarget,
    progress: BackupProgress<'_>,
) -> Result<SetEnd, BackupError> {
    let mut log = None;
    let total: u64 = end.iter().flat_map(|e| &e.pages).map(|(_, n)| *n).sum();
    let mut done = 0;
    let laid = media.read_set(header.position, &mut |piece| {
        match piece {
            VerifiedPiece::Pages(content) => {
                done +=
                    each_run(
                        &content,
                        |file, first, images| Ok(files.write(file, first, images)?),
                    )?;
            }
            VerifiedPiece::LogStart(content) => {
                let start = LogStart::decode(&content)
                    .ok_or(TxnError::Invalid("the log's layout is damaged"))?;
                let alignment = target.log.alignment;
                let (path, layout, vlfs) = (&target.log_path, &start.layout, &start.vlfs);
                log = Some(LogRestore::create(
                    disk, path, guid, layout, vlfs, start.from, alignment,
                )?);
            }
            VerifiedPiece::LogBlocks(content) => {
                let log = log.as_mut().ok_or(TxnError::Invalid("the log's layout is missing"))?;
                for block in LogBlocks::new(&content) {
                    log.lay(&block?, u16::MAX)?;
                }
            }
        }
        let percent = (done * 98).checked_div(total).unwrap_or(98).min(98) as u8;
        if progress(percent) { Ok(()) } else { Err(BackupError::Cancelled) }
    });
    // A half made log has no header; its name is free for the next attempt.
    let end = laid.inspect_err(|_| remove_made(disk, target, log.is_some()))?;
    let log = log.ok_or(TxnError::Invalid("the backup set holds no log"))?;
    files.finish()?;
    state.restoring = Some(RestoreState { end: log.end(), time_us: end.end_us, cut: false });
    let info = CheckpointInfo {
        checkpoint_lsn: header.checkpoint_lsn,
        redo_lsn: header.redo_lsn,
        payload: encode_header(TxnId(header.next_txn), false, &state),
    };
    log.finish(info, header.first_lsn)?;
    progress(100);
    Ok(end)
}

fn remove_made(disk: &dyn Disk, target: &RestoreTarget, made: bool) {
    if made {
        // The error that matters has been reported.
        let _ = disk.remove(&target.log_path);
    }
}

/// Calls `write(file, first page, images)` for each run of a piece; returns the number of pages.
fn each_run(
    content: &[u8],
    mut write: impl FnMut(u16, u32, &[u8]) -> Result<(), BackupError>,
) -> Result<u64, BackupError> {
    let damaged = || TxnError::Invalid("a piece of pages is damaged");
    let d = &mut Dec(content);
    let file = d.u16().ok_or_else(damaged)?;
    let count = d.u16().ok_or_else(damaged)?;
    let mut runs = Vec::new();
    for _ in 0..count {
        runs.push((d.u32().ok_or_else(damaged)?, d.u32().ok_or_else(damaged)?));
    }
    let mut pages = 0;
    for (first, count) in runs {
        let bytes =
            (count as usize).checked_mul(PAGE_SIZE).and_then(|n| d.take(n)).ok_or_else(damaged)?;
        write(file, first, bytes)?;
        pages += u64::from(count);
    }
    Ok(pages)
}

/// Restores a log backup. One that adds or removes data files is rolled forward whatever comes
/// next.
pub fn restore_log(
    env: &Env,
    media: &mut MediaSet,
    position: u16,
    target: &RestoreTarget,
    to: RollTo<'_>,
    step: RestoreNext,
    progress: BackupProgress<'_>,
) -> Result<RestoredStep, BackupError> {
    let begin = Instant::now();
    let SetEntry { header, end, .. } = media.set(position)?;
    if header.kind != SetKind::Log {
        return Err(BackupError::OtherKind);
    }
    let mut log = take_up(&*env.disk, &env.home, &target.log_path)?;
    let (next, mut state) = state_of(&log)?;
    let restoring = state.restoring.ok_or(BackupError::NotReady)?;
    check_log(&header, end.as_ref(), &state, restoring)?;
    let stop_us = to.stop_us;
    if stop_us.is_some_and(|stop| stop < restoring.time_us) {
        return Err(BackupError::PassedStop);
    }
    let announced = restoring.end;
    let stop = stop_us.unwrap_or(u64::MAX);
    let mut laying = LogApplier { log: &mut log, stop, cut: false, bytes: 0, events: Vec::new() };
    let end = media.read_set(position, &mut |piece| {
        laying.piece(piece)?;
        let total = end.as_ref().map_or(0, |e| e.log_bytes);
        let percent = (laying.bytes * 98).checked_div(total).unwrap_or(98).min(98) as u8;
        if progress(percent) { Ok(()) } else { Err(BackupError::Cancelled) }
    })?;
    let (cut, events) = (laying.cut, laying.events);
    let files_change = !events.is_empty();
    if files_change {
        make_files(env, target.primary()?, announced, events, to.place)?;
    }
    let stopped = stop_us.is_some_and(|stop| cut || stop <= end.end_us);
    let time_us = if stopped { stop_us.unwrap_or(end.end_us) } else { end.end_us };
    // A stop point without a cut is a place like any other.
    state.restoring =
        Some(RestoreState { end: log.end(), time_us: time_us.max(restoring.time_us), cut });
    if header.last_fork != state.fork {
        (state.parent_fork, state.fork, state.fork_lsn) =
            (state.fork, header.last_fork, header.fork_lsn);
    }
    let info =
        CheckpointInfo { payload: encode_header(next, false, &state), ..log.checkpoint().clone() };
    log.finish(info, Lsn::ZERO)?;
    let files = if step == RestoreNext::More || files_change {
        roll_forward(env, target)?
    } else {
        Vec::new()
    };
    progress(100);
    Ok(RestoredStep { header, end, files, stopped, took: begin.elapsed() })
}

/// Whether the set is the one that comes next.
fn check_log(
    header: &SetHeader,
    end: Option<&SetEnd>,
    state: &BackupState,
    at: RestoreState,
) -> Result<(), BackupError> {
    if state.family != header.family {
        return Err(BackupError::OtherDatabase);
    }
    let leaves = header.first_fork != header.last_fork;
    let here = header.first_fork == state.fork || header.last_fork == state.fork;
    let began_elsewhere = leaves && header.last_fork != state.fork && header.fork_lsn < at.end;
    if !here || began_elsewhere || (at.cut && !(leaves && header.fork_lsn == at.end)) {
        return Err(BackupError::OtherFork);
    }
    if header.first_lsn > at.end {
        return Err(BackupError::TooRecent { first: header.first_lsn, need: at.end });
    }
    match end {
        Some(end) if end.last_lsn < at.end => {
            Err(BackupError::TooEarly { last: end.last_lsn, need: at.end })
        }
        _ => Ok(()),
    }
}

/// Lays the pieces of a log backup.
struct LogApplier<'a> {
    log: &'a mut LogRestore,
    stop: u64,
    /// The stop point was reached.
    cut: bool,
    bytes: u64,
    /// Data files that come and go in what is laid.
    events: Vec<FileEvent>,
}

impl LogApplier<'_> {
    fn piece(&mut self, piece: VerifiedPiece) -> Result<(), BackupError> {
        match piece {
            VerifiedPiece::Pages(_) => Err(BackupError::OtherKind),
            VerifiedPiece::LogStart(content) => {
                let start = LogStart::decode(&content)
                    .ok_or(TxnError::Invalid("the log's layout is damaged"))?;
                Ok(self.log.begin_set(&start.layout, &start.vlfs)?)
            }
            VerifiedPiece::LogBlocks(content) => {
                self.bytes += content.len() as u64;
                for block in LogBlocks::new(&content) {
                    let block = block?;
                    if self.cut || block.lsn() < self.log.end() {
                        continue;
                    }
                    let keep = self.keep(&block)?;
                    if let Some(keep) = keep {
                        self.cut = true;
                        if keep == 0 {
                            continue;
                        }
                    }
                    self.log.lay(&block, keep.unwrap_or(u16::MAX))?;
                }
                Ok(())
            }
        }
    }

    /// How many records of the block come before the first commit or change of the list of files
    /// that is too late; `None`: all. Notes the files.
    fn keep(&mut self, block: &wal::LogBlock<'_>) -> Result<Option<u16>, BackupError> {
        for (i, (_, record)) in block.records().enumerate() {
            let view = RecordView::decode(record)?;
            let event = FileEvent::of(&view)?;
            let time = match &event {
                Some(event) => event.time_us,
                None if view.kind() == RecordKind::Commit => {
                    view.payload()?.first_chunk().map_or(0, |t| u64::from_le_bytes(*t))
                }
                None => 0,
            };
            if time > self.stop {
                return Ok(Some(i as u16));
            }
            self.events.extend(event);
        }
        Ok(None)
    }
}

/// Redoes the log of a database that is being restored, makes its pages durable, and gives back the
/// log that no undo may need. Appends nothing. The pages may be redone again: they know what they
/// have seen. Returns the data files.
fn roll_forward(env: &Env, target: &RestoreTarget) -> Result<Vec<FileSpec>, BackupError> {
    let (primary, log_path) = (target.primary()?, &target.log_path);
    let options = LogOptions { background_writer: false, ..target.log.clone() };
    let (file, identity) = open_log(&*env.disk, log_path, &env.home)?;
    let files = DataFiles::open(&*env.disk, primary, &env.home)?;
    if identity.log_id != files.database() {
        return Err(TxnError::NotADatabase { path: log_path.clone(), what: OTHER_LOG }.into());
    }
    let (log, _) = Log::open_file(file, options).map_err(no_log)?;
    let handle: Arc<dyn LogHandle> = StoreLog::new(log.clone(), false);
    let store = Store::open(env.disk.clone(), env.pool.clone(), handle, files)?;
    store.claim_files()?;
    let info = log.checkpoint();
    let (next, _, state) = decode_header(&info.payload).ok_or(BackupError::NoLog)?;
    let env = Env {
        pace: crate::BackgroundPace { background: false, ..env.pace.clone() },
        ..env.clone()
    };
    let db = Database::assemble(env, log, store, next, DbState::initial());
    let mut report = RecoveryReport::default();
    let mut analysis = Analysis::new(info.checkpoint_lsn);
    let from = info.checkpoint_lsn.min(info.redo_lsn);
    db.analyse_and_redo(from, &mut analysis, &mut report, &mut |_, _| {})?;
    db.store().finish_redo()?;
    db.store().settle_files(true)?;
    db.store().write_dirty(Lsn::MAX)?;
    // All that was redone is on disk: the next step begins at the newest checkpoint that the log
    // has whole.
    let checkpoint_lsn = analysis.newest_checkpoint();
    let next = next.max(TxnId(analysis.highest().0 + 1));
    let hold = analysis.losers().map(|(_, log)| log.begin).min().unwrap_or(Lsn::MAX);
    let payload = encode_header(next, false, &state);
    db.log().set_checkpoint(CheckpointInfo {
        checkpoint_lsn,
        redo_lsn: checkpoint_lsn,
        payload,
    })?;
    db.log().truncate_to(hold.min(checkpoint_lsn));
    db.log().close()?;
    let files = db.store().files().into_iter().map(|f| f.spec).collect();
    db.store().release_files();
    Ok(files)
}

/// Reads a whole set and checks it: checksums of the set, of its pages and of its log blocks.
pub fn verify(
    media: &mut MediaSet,
    position: u16,
    progress: BackupProgress<'_>,
) -> Result<SetEnd, BackupError> {
    let SetEntry { end, .. } = media.set(position)?;
    let total = end.map_or(0, |e| e.raw_bytes);
    let mut done = 0;
    media.read_set(position, &mut |piece| {
        match &piece {
            VerifiedPiece::Pages(content) => {
                each_run(content, |file, first, images| match check_images(file, first, images) {
                    None => Ok(()),
                    Some(page) => {
                        Err(BackupError::BadPage { page: page.to_string(), file: file.to_string() })
                    }
                })?;
                done += content.len() as u64;
            }
            VerifiedPiece::LogStart(content) => {
                LogStart::decode(content)
                    .ok_or(TxnError::Invalid("the log's layout is damaged"))?;
            }
            VerifiedPiece::LogBlocks(content) => {
                for block in LogBlocks::new(content) {
                    block?;
                }
                done += content.len() as u64;
            }
        }
        let percent = (done * 98).checked_div(total).unwrap_or(98).min(98) as u8;
        if progress(percent) { Ok(()) } else { Err(BackupError::Cancelled) }
    })
}
