//! Writing a backup set: pieces are packed by the threads that make them and spread over the
//! devices, each of which is written by a thread of its own (or by the caller, where a database has
//! no background threads: then all is in one order). Guarantees: a set is complete on all devices,
//! durable, with its end, or the devices hold what they held before.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use disk::DiskError;
use parking_lot::Mutex;

use super::device::{BackupDevice, BackupWriter};
use super::error::BackupError;
use super::media::{FamilyReader, MAX_FAMILIES, MediaLabel};
use super::piece::{PackedPiece, PieceIdentity, PieceKind};
use super::set::{SetEnd, SetHeader};

/// Pieces that may wait for a device.
const QUEUE: usize = 4;

/// What becomes of the sets that a device holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExistingSets {
    /// The new set goes after them (NOINIT).
    Append,
    /// They go; what is no backup stays untouched (INIT).
    Overwrite,
    /// Whatever is there goes (FORMAT).
    Format,
}

/// The devices of a backup, ready to be written.
pub(crate) struct Devices {
    writers: Vec<(String, Box<dyn BackupWriter>)>,
    media: [u8; 16],
    pub position: u16,
}

impl Devices {
    /// The media set.
    pub fn media(&self) -> [u8; 16] {
        self.media
    }

    /// Opens the devices; a new media set gets its headers.
    pub fn open(
        devices: &[Box<dyn BackupDevice>],
        existing: ExistingSets,
        label: &MediaLabel,
    ) -> Result<Devices, BackupError> {
        if devices.is_empty() || devices.len() > MAX_FAMILIES {
            return Err(BackupError::Families {
                need: MAX_FAMILIES as u16,
                given: devices.len() as u16,
            });
        }
        let mut found = Vec::new();
        for device in devices {
            let name = device.name().to_string();
            let len =
                device.size().map_err(|cause| BackupError::Open { device: name.clone(), cause })?;
            if len.is_some() && existing != ExistingSets::Format && !device.appends() {
                return Err(BackupError::Exists { device: name });
            }
            found.push(match len {
                Some(len) if len > 0 && existing != ExistingSets::Format => {
                    Some(FamilyReader::open(&**device)?)
                }
                _ => None,
            });
        }
        if existing == ExistingSets::Append && found.iter().any(Option::is_some) {
            Self::append(devices, found)
        } else {
            // What was there is read no more: it can be written only when nobody reads it.
            drop(found);
            Self::format(devices, label)
        }
    }

    fn append(
        devices: &[Box<dyn BackupDevice>],
        found: Vec<Option<FamilyReader>>,
    ) -> Result<Devices, BackupError> {
        let mut media = None;
        let (mut places, mut last) = (Vec::new(), 0);
        for (device, family) in devices.iter().zip(found) {
            let name = device.name().to_string();
            let mut family =
                family.ok_or_else(|| BackupError::OtherMedia { device: name.clone() })?;
            let label = family.label.clone();
            let (id, need) = *media.get_or_insert((label.media_id, label.families));
            if usize::from(need) != devices.len() {
                return Err(BackupError::Families { need, given: devices.len() as u16 });
            }
            let (sets, end) = family.sets()?;
            if id != label.media_id || places.iter().any(|(number, _)| *number == label.family) {
                return Err(BackupError::OtherMedia { device: name });
            }
            places.push((label.family, end));
            last = last.max(
                sets.iter()
                    .filter(|s| s.end.is_some())
                    .map(|s| s.header.position)
                    .max()
                    .unwrap_or(0),
            );
        }
        let position = last.checked_add(1).ok_or(BackupError::Malformed {
            device: devices[0].name().into(),
            what: "it holds as many backup sets as there can be",
        })?;
        let mut writers = Vec::new();
        for (device, (_, end)) in devices.iter().zip(places) {
            writers.push(open_writer(&**device, end)?);
        }
        Ok(Devices { writers, media: media.map_or([0; 16], |m| m.0), position })
    }

    fn format(
        devices: &[Box<dyn BackupDevice>],
        label: &MediaLabel,
    ) -> Result<Devices, BackupError> {
        let mut writers = Vec::new();
        for (i, device) in devices.iter().enumerate() {
            let (name, mut writer) = open_writer(&**device, 0)?;
            let (families, family) = (devices.len() as u16, i as u16 + 1);
            let label = MediaLabel { families, family, ..label.clone() };
            let about = PieceIdentity {
                kind: PieceKind::Media,
                media: &label.media_id,
                position: 0,
                number: 0,
            };
            let piece = PackedPiece::new(about, &label.encode(), false, None);
            writer
                .append(&piece)
                .map_err(|cause| BackupError::Write { device: name.clone(), cause })?;
            writers.push((name, writer));
        }
        Ok(Devices { writers, media: label.media_id, position: 1 })
    }
}

fn open_writer(
    device: &dyn BackupDevice,
    at: u64,
) -> Result<(String, Box<dyn BackupWriter>), BackupError> {
    let name = device.name().to_string();
    let writer =
        device.writer(at).map_err(|cause| BackupError::Open { device: name.clone(), cause })?;
    Ok((name, writer))
}

enum WriteLane {
    /// Written by the caller.
    Here(Mutex<(String, Box<dyn BackupWriter>)>),
    /// Written by a thread.
    Thread(SyncSender<PackedPiece>),
}

/// Takes the pieces of one set.
pub(crate) struct SetWriter {
    lanes: Vec<WriteLane>,
    media: [u8; 16],
    position: u16,
    compress: bool,
    next: AtomicU64,
    raw: AtomicU64,
    stored: AtomicU64,
    failed: AtomicBool,
    error: Mutex<Option<BackupError>>,
    /// Buffers of pieces that have been written.
    spare: Arc<Mutex<Vec<PackedPiece>>>,
}

impl SetWriter {
    /// Adds a piece.
    pub fn put(&self, kind: PieceKind, content: &[u8]) -> Result<(), BackupError> {
        self.check()?;
        let number = self.next.fetch_add(1, Relaxed);
        let spare = self.spare.lock().pop();
        let piece = PackedPiece::new(self.about(kind, number + 1), content, self.compress, spare);
        self.raw.fetch_add((content.len() + 64) as u64, Relaxed);
        self.stored.fetch_add(piece.len() as u64, Relaxed);
        self.send((number % self.lanes.len() as u64) as usize, piece)
    }

    /// Whether threads may be used.
    pub fn has_threads(&self) -> bool {
        self.lanes.iter().all(|lane| matches!(lane, WriteLane::Thread(_)))
    }

    fn about(&self, kind: PieceKind, number: u64) -> PieceIdentity<'_> {
        PieceIdentity { kind, media: &self.media, position: self.position, number }
    }

    fn check(&self) -> Result<(), BackupError> {
        if self.failed.load(Relaxed) { Err(self.first_error()) } else { Ok(()) }
    }

    fn first_error(&self) -> BackupError {
        self.error.lock().clone().unwrap_or(BackupError::Cancelled)
    }

    /// Notes an error; the first one counts.
    pub fn fail(&self, e: BackupError) {
        self.error.lock().get_or_insert(e);
        self.failed.store(true, Relaxed);
    }

    fn send(&self, lane: usize, piece: PackedPiece) -> Result<(), BackupError> {
        match &self.lanes[lane] {
            WriteLane::Here(writer) => {
                let (name, writer) = &mut *writer.lock();
                writer.append(&piece).map_err(|cause| {
                    let e = BackupError::Write { device: name.clone(), cause };
                    self.fail(e.clone());
                    e
                })?;
                self.spare.lock().push(piece);
                Ok(())
            }
            // The thread has gone: it has said why.
            WriteLane::Thread(sender) => sender.send(piece).map_err(|_| self.first_error()),
        }
    }

    fn to_all(&self, kind: PieceKind, content: &[u8]) -> Result<(), BackupError> {
        for lane in 0..self.lanes.len() {
            self.send(lane, PackedPiece::new(self.about(kind, 0), content, false, None))?;
        }
        Ok(())
    }
}

/// Writes one set: `header` first, then what `body` puts, then the end that it returns with counts
/// filled in.
pub(crate) fn write_set(
    devices: Devices,
    header: &SetHeader,
    threads: bool,
    body: impl FnOnce(&SetWriter) -> Result<SetEnd, BackupError>,
) -> Result<SetEnd, BackupError> {
    let Devices { writers, media, position } = devices;
    let mut set = SetWriter {
        lanes: Vec::new(),
        media,
        position,
        compress: header.compressed,
        next: AtomicU64::new(0),
        raw: AtomicU64::new(0),
        stored: AtomicU64::new(0),
        failed: AtomicBool::new(false),
        error: Mutex::new(None),
        spare: Arc::default(),
    };
    let fill = |set: &SetWriter| -> Result<SetEnd, BackupError> {
        set.to_all(PieceKind::SetHeader, &header.encode())?;
        let mut end = body(set)?;
        end.pieces = set.next.load(Relaxed);
        (end.raw_bytes, end.stored_bytes) = (set.raw.load(Relaxed), set.stored.load(Relaxed));
        end.finish_us = crate::txn::now_us();
        set.to_all(PieceKind::SetEnd, &end.encode())?;
        Ok(end)
    };
    if !threads {
        set.lanes = writers.into_iter().map(|w| WriteLane::Here(Mutex::new(w))).collect();
        let end = fill(&set)?;
        for step in STEPS {
            for lane in &set.lanes {
                if let WriteLane::Here(writer) = lane {
                    let (name, writer) = &mut *writer.lock();
                    step(writer)
                        .map_err(|cause| BackupError::Write { device: name.clone(), cause })?;
                }
            }
        }
        return Ok(end);
    }
    std::thread::scope(|scope| {
        let mut workers = Vec::new();
        let mut receivers = Vec::new();
        for writer in writers {
            let (sender, receiver) = sync_channel(QUEUE);
            set.lanes.push(WriteLane::Thread(sender));
            receivers.push((writer, receiver));
        }
        for (writer, receiver) in receivers {
            let spare = Arc::clone(&set.spare);
            workers.push(scope.spawn(move || write_lane(writer, &receiver, &spare)));
        }
        let filled = fill(&set);
        // The lanes end when their senders do.
        set.lanes.clear();
        let mut done = Vec::new();
        let mut broken = None;
        for worker in workers {
            match worker.join().unwrap_or(Err(BackupError::Cancelled)) {
                Ok(writer) => done.push(writer),
                Err(e) => broken = broken.or(Some(e)),
            }
        }
        // A device's own error comes before what the others say of it.
        if let Some(e) = broken {
            return Err(e);
        }
        let end = filled?;
        let settled = all_at_once(scope, done, STEPS[0])?;
        all_at_once(scope, settled, STEPS[1])?;
        Ok(end)
    })
}

type WriterStep = fn(&mut Box<dyn BackupWriter>) -> Result<(), DiskError>;

/// How a set ends: every device settles before the first is finished.
const STEPS: [WriterStep; 2] = [|writer| writer.settle(), |writer| writer.finish()];

/// A step of all devices at once: each waits for its own transfers.
fn all_at_once<'s>(
    scope: &'s std::thread::Scope<'s, '_>,
    writers: Vec<NamedWriter>,
    step: WriterStep,
) -> Result<Vec<NamedWriter>, BackupError> {
    let run = move |(name, mut writer): NamedWriter| match step(&mut writer) {
        Ok(()) => Ok((name, writer)),
        Err(cause) => Err(BackupError::Write { device: name, cause }),
    };
    let workers: Vec<_> =
        writers.into_iter().map(|writer| scope.spawn(move || run(writer))).collect();
    // All are waited for, whatever the first says.
    let results: Vec<_> = workers
        .into_iter()
        .map(|worker| worker.join().unwrap_or(Err(BackupError::Cancelled)))
        .collect();
    results.into_iter().collect()
}

type NamedWriter = (String, Box<dyn BackupWriter>);

/// Writes what comes; gives the writer back unless it failed.
fn write_lane(
    (name, mut writer): NamedWriter,
    pieces: &Receiver<PackedPiece>,
    spare: &Mutex<Vec<PackedPiece>>,
) -> Result<NamedWriter, BackupError> {
    for piece in pieces {
        if let Err(cause) = writer.append(&piece) {
            return Err(BackupError::Write { device: name, cause });
        }
        spare.lock().push(piece);
    }
    Ok((name, writer))
}
