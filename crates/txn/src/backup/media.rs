//! Backup files: media families made of [pieces](super::piece). A family begins with a media
//! header; each backup set is a set header, data pieces, and a set end that counts the pieces. A
//! set without its end is not there.
//!
//! # Guarantees
//! Reading takes any bytes: what is damaged or cut is an error that names the device, never a panic
//! and never wrong data.

use std::sync::mpsc::{Receiver, sync_channel};

use disk::{AlignedBuf, DiskError};

use super::device::{BackupDevice, BackupReader, UNIT};
use super::error::BackupError;
use super::piece::{PieceHeader, PieceKind};
use super::set::{SET_VERSION, SetEnd, SetHeader};
use crate::codec::{Dec, Enc};

/// Longest set end, in units, that is looked for from a device's end.
const END_UNITS: u64 = 16;
/// Pieces that are read ahead of their use, per family.
const AHEAD: usize = 2;
/// Most media families of a set.
pub(crate) const MAX_FAMILIES: usize = 64;

/// What the media header says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MediaLabel {
    pub media_id: [u8; 16],
    /// Families of the set, from 1 to 64.
    pub families: u16,
    /// This family's number, from 1.
    pub family: u16,
    pub name: String,
    pub description: String,
    /// Microseconds since 1970.
    pub created_us: u64,
}

impl MediaLabel {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut e = Enc::default();
        e.guid(&self.media_id)
            .u16(self.families)
            .u16(self.family)
            .text(&self.name)
            .text(&self.description);
        e.u64(self.created_us);
        e.0
    }

    fn decode(bytes: &[u8]) -> Option<MediaLabel> {
        let d = &mut Dec(bytes);
        let label = MediaLabel {
            media_id: d.guid()?,
            families: d.u16()?,
            family: d.u16()?,
            name: d.text()?,
            description: d.text()?,
            created_us: d.u64()?,
        };
        let numbers = usize::from(label.families) <= MAX_FAMILIES
            && (1..=label.families).contains(&label.family);
        numbers.then_some(label)
    }
}

/// One backup set on one family.
#[derive(Clone, Debug)]
pub struct SetEntry {
    pub header: SetHeader,
    /// `None`: the device ends before the set does, or is damaged.
    pub end: Option<SetEnd>,
    /// Offset after the set header.
    data_at: u64,
}

/// Reads one family.
pub(crate) struct FamilyReader {
    name: String,
    reader: Box<dyn BackupReader>,
    pub label: MediaLabel,
    buf: AlignedBuf,
    /// Offset after the media header.
    first: u64,
}

impl FamilyReader {
    /// Opens a device and reads its media header.
    pub fn open(device: &dyn BackupDevice) -> Result<FamilyReader, BackupError> {
        let name = device.name().to_string();
        let reader =
            device.reader().map_err(|cause| BackupError::Open { device: name.clone(), cause })?;
        let mut family = FamilyReader {
            name,
            reader,
            label: MediaLabel::default(),
            buf: AlignedBuf::new(UNIT),
            first: 0,
        };
        let header = match family.header(0)? {
            Some(header) if header.kind == PieceKind::Media => header,
            Some(_) => return Err(family.malformed("it does not begin with a media header")),
            None => return Err(BackupError::NotBackup { device: family.name }),
        };
        let content = family.content(0, &header)?;
        let label = MediaLabel::decode(&content).filter(|label| label.media_id == header.media);
        family.label = label.ok_or_else(|| family.malformed("its media header is damaged"))?;
        family.first = header.total();
        Ok(family)
    }

    fn malformed(&self, what: &'static str) -> BackupError {
        BackupError::Malformed { device: self.name.clone(), what }
    }

    /// What is wrong with a set header that cannot be decoded.
    fn no_set_header(&self, content: &[u8]) -> BackupError {
        let (device, known) = (self.name.clone(), SET_VERSION);
        match SetHeader::other_version(content) {
            Some(found) => BackupError::Version { device, found, known },
            None => self.malformed("a set header is damaged"),
        }
    }

    fn read(&mut self, at: u64, len: usize) -> Result<(), BackupError> {
        let device = || self.name.clone();
        match self.reader.read_at(at, &mut self.buf, len) {
            Ok(()) => Ok(()),
            Err(DiskError::ShortRead { .. }) => Err(BackupError::CutOff { device: device() }),
            Err(cause) => Err(BackupError::Read { device: device(), cause }),
        }
    }

    /// The header of the piece at `at`; `None` at the end of the device, or if there is no piece.
    fn header(&mut self, at: u64) -> Result<Option<PieceHeader>, BackupError> {
        if at.saturating_add(UNIT as u64) > self.reader.len() {
            return Ok(None);
        }
        self.read(at, UNIT)?;
        Ok(PieceHeader::decode(&self.buf))
    }

    /// The verified content of a piece.
    fn content(&mut self, at: u64, header: &PieceHeader) -> Result<Vec<u8>, BackupError> {
        let total = header.total() as usize;
        if at.saturating_add(total as u64) > self.reader.len() {
            return Err(BackupError::CutOff { device: self.name.clone() });
        }
        if self.buf.len() < total {
            self.buf = AlignedBuf::new(total);
        }
        self.read(at, total)?;
        header.content(&self.buf).ok_or_else(|| BackupError::Damaged { device: self.name.clone() })
    }

    /// The sets on this family, in order, and the offset after the last complete one: where the
    /// next one goes.
    pub fn sets(&mut self) -> Result<(Vec<SetEntry>, u64), BackupError> {
        if let Some(only) = self.only_set()? {
            return Ok((vec![only], self.reader.len()));
        }
        let (mut sets, mut at, mut end) = (Vec::new(), self.first, self.first);
        while let Some(header) = self.header(at)? {
            if header.media != self.label.media_id {
                return Err(self.malformed("a piece belongs to another media set"));
            }
            let behind = at + header.total();
            match header.kind {
                PieceKind::SetHeader => {
                    let content = self.content(at, &header)?;
                    let set =
                        SetHeader::decode(&content).ok_or_else(|| self.no_set_header(&content))?;
                    sets.push(SetEntry { header: set, end: None, data_at: behind });
                }
                PieceKind::SetEnd => {
                    let done = SetEnd::decode(&self.content(at, &header)?);
                    let done = done.ok_or_else(|| self.malformed("a set end is damaged"))?;
                    let open = sets.last_mut().filter(|set: &&mut SetEntry| set.end.is_none());
                    match open {
                        Some(set) if set.header.position == header.position => set.end = Some(done),
                        _ => return Err(self.malformed("a set end without its set")),
                    }
                    end = behind;
                }
                PieceKind::Media => return Err(self.malformed("a second media header")),
                _ => {}
            }
            at = behind;
        }
        Ok((sets, end))
    }

    /// The set of a device that holds one and nothing else: its end is the device's end, so the
    /// pieces between need not be looked at.
    fn only_set(&mut self) -> Result<Option<SetEntry>, BackupError> {
        let media = self.label.media_id;
        let Some(first) =
            self.header(self.first)?.filter(|h| h.kind == PieceKind::SetHeader && h.media == media)
        else {
            return Ok(None);
        };
        let data_at = self.first + first.total();
        let len = self.reader.len();
        let units = (len.saturating_sub(data_at) / UNIT as u64).min(END_UNITS);
        if !len.is_multiple_of(UNIT as u64) || units == 0 {
            return Ok(None);
        }
        let tail = units as usize * UNIT;
        if self.buf.len() < tail {
            self.buf = AlignedBuf::new(tail);
        }
        self.read(len - tail as u64, tail)?;
        let last = (1..=units).find_map(|back| {
            let header = PieceHeader::decode(&self.buf[tail - back as usize * UNIT..tail])?;
            let fits = header.kind == PieceKind::SetEnd
                && header.media == media
                && header.position == first.position
                && header.total() == back * UNIT as u64;
            fits.then_some((len - back * UNIT as u64, header))
        });
        let Some((end_at, last)) = last else { return Ok(None) };
        let header = SetHeader::decode(&self.content(self.first, &first)?);
        let end = SetEnd::decode(&self.content(end_at, &last)?);
        Ok(header.zip(end).map(|(header, end)| SetEntry { header, end: Some(end), data_at }))
    }

    /// The piece of a set at `at`, and the offset after it.
    pub fn piece(
        &mut self,
        at: u64,
        position: u16,
    ) -> Result<(PieceHeader, Vec<u8>, u64), BackupError> {
        if at >= self.reader.len() {
            return Err(BackupError::CutOff { device: self.name.clone() });
        }
        let Some(header) = self.header(at)? else {
            let cut = at.saturating_add(UNIT as u64) > self.reader.len();
            let device = self.name.clone();
            return Err(if cut {
                BackupError::CutOff { device }
            } else {
                BackupError::Damaged { device }
            });
        };
        if header.media != self.label.media_id || header.position != position {
            return Err(BackupError::Damaged { device: self.name.clone() });
        }
        let content = self.content(at, &header)?;
        Ok((header, content, at + header.total()))
    }
}

/// All families of a media set.
pub struct MediaSet {
    families: Vec<FamilyReader>,
}

/// A verified piece of a set, in an order in which it can be used.
#[derive(Debug)]
pub(crate) enum VerifiedPiece {
    /// Pages of a data file.
    Pages(Vec<u8>),
    /// Before the first blocks of the log.
    LogStart(Vec<u8>),
    /// Blocks of the log, in log order.
    LogBlocks(Vec<u8>),
}

impl MediaSet {
    /// Opens all devices of a media set.
    ///
    /// # Errors
    /// A device cannot be read, is no backup, belongs to another media set, or (unless `some` is
    /// enough) one is missing.
    pub fn open(devices: &[Box<dyn BackupDevice>], some: bool) -> Result<MediaSet, BackupError> {
        let mut families = Vec::new();
        for device in devices {
            families.push(FamilyReader::open(&**device)?);
        }
        families.sort_by_key(|f| f.label.family);
        let Some(first) = families.first() else {
            return Err(BackupError::Families { need: 1, given: 0 });
        };
        let (id, need) = (first.label.media_id, first.label.families);
        for pair in families.windows(2) {
            if pair[1].label.media_id != id || pair[1].label.family == pair[0].label.family {
                return Err(BackupError::OtherMedia { device: pair[1].name.clone() });
            }
        }
        if !some && families.len() != usize::from(need) {
            return Err(BackupError::Families { need, given: families.len() as u16 });
        }
        Ok(MediaSet { families })
    }

    /// The label of the first device.
    pub fn label(&self) -> &MediaLabel {
        &self.families[0].label
    }

    /// The sets, as the first device has them.
    pub fn sets(&mut self) -> Result<Vec<SetEntry>, BackupError> {
        Ok(self.families[0].sets()?.0)
    }

    /// The set at a position.
    pub fn set(&mut self, position: u16) -> Result<SetEntry, BackupError> {
        let device = self.families[0].name.clone();
        let found = self.sets()?.into_iter().find(|set| set.header.position == position);
        found.ok_or(BackupError::NoSet { device, position })
    }

    /// Hands out all pieces of a set: pages in any order, then the log in its own. Everything has
    /// been verified, and that nothing is missing once this returns. Several families are read at
    /// once, each by a thread of its own.
    pub(crate) fn read_set(
        &mut self,
        position: u16,
        use_piece: &mut dyn FnMut(VerifiedPiece) -> Result<(), BackupError>,
    ) -> Result<SetEnd, BackupError> {
        let mut places = Vec::new();
        let mut set_id = None;
        for family in &mut self.families {
            let found = family.sets()?.0.into_iter().find(|set| set.header.position == position);
            let device = family.name.clone();
            let entry =
                found.ok_or_else(|| BackupError::NoSet { device: device.clone(), position })?;
            if *set_id.get_or_insert(entry.header.set_id) != entry.header.set_id {
                return Err(BackupError::OtherMedia { device });
            }
            places.push(entry.data_at);
        }
        let names: Vec<String> = self.families.iter().map(|f| f.name.clone()).collect();
        if let [family] = self.families.as_mut_slice() {
            let mut lane = ReadLane::Here { family, at: places[0], position };
            return drain(&names, std::slice::from_mut(&mut lane), use_piece);
        }
        std::thread::scope(|scope| {
            // The lanes go before the scope waits for the threads, which end when nobody hears
            // them.
            let mut lanes = Vec::new();
            for (family, mut at) in self.families.iter_mut().zip(places) {
                let (sender, receiver) = sync_channel(AHEAD);
                lanes.push(ReadLane::Thread(receiver));
                scope.spawn(move || {
                    loop {
                        let piece = family.piece(at, position).map(|(header, content, behind)| {
                            at = behind;
                            (header, content)
                        });
                        let last = !piece.as_ref().is_ok_and(|(h, _)| h.kind != PieceKind::SetEnd);
                        if sender.send(piece).is_err() || last {
                            return;
                        }
                    }
                });
            }
            drain(&names, &mut lanes, use_piece)
        })
    }
}

type ReadPiece = (PieceHeader, Vec<u8>);

/// Where the pieces of one family come from.
enum ReadLane<'a> {
    Here { family: &'a mut FamilyReader, at: u64, position: u16 },
    Thread(Receiver<Result<ReadPiece, BackupError>>),
}

impl ReadLane<'_> {
    fn next(&mut self) -> Result<ReadPiece, BackupError> {
        match self {
            ReadLane::Here { family, at, position } => {
                let (header, content, behind) = family.piece(*at, *position)?;
                *at = behind;
                Ok((header, content))
            }
            // A thread that is gone without a word has panicked.
            ReadLane::Thread(receiver) => receiver.recv().unwrap_or(Err(BackupError::Cancelled)),
        }
    }
}

/// Takes the pieces of all families: pages as they come, the log by number, the ends last.
fn drain(
    names: &[String],
    lanes: &mut [ReadLane<'_>],
    use_piece: &mut dyn FnMut(VerifiedPiece) -> Result<(), BackupError>,
) -> Result<SetEnd, BackupError> {
    let mut waiting: Vec<Option<ReadPiece>> = lanes.iter().map(|_| None).collect();
    let mut pieces = 0;
    // Pages as they come, in turns, up to the first piece of each family that is something else.
    while waiting.iter().any(Option::is_none) {
        for (lane, wait) in lanes.iter_mut().zip(&mut waiting).filter(|(_, wait)| wait.is_none()) {
            let (header, content) = lane.next()?;
            if header.kind == PieceKind::Pages {
                pieces += 1;
                use_piece(VerifiedPiece::Pages(content))?;
            } else {
                *wait = Some((header, content));
            }
        }
    }
    let malformed = |i: usize, what| BackupError::Malformed { device: names[i].clone(), what };
    // Then the log, by number, up to the end of each family.
    loop {
        let open = |w: &Option<ReadPiece>| {
            w.as_ref().filter(|(h, _)| h.kind != PieceKind::SetEnd).map(|(h, _)| h.number)
        };
        let next = waiting.iter().enumerate().filter_map(|(i, w)| Some((open(w)?, i))).min();
        let Some((_, i)) = next else { break };
        let Some((header, content)) = waiting[i].take() else { break };
        pieces += 1;
        use_piece(match header.kind {
            PieceKind::LogStart => VerifiedPiece::LogStart(content),
            PieceKind::LogBlocks => VerifiedPiece::LogBlocks(content),
            _ => return Err(malformed(i, "the pieces of a set are out of order")),
        })?;
        waiting[i] = Some(lanes[i].next()?);
    }
    let mut end = None;
    for (i, last) in waiting.into_iter().enumerate() {
        let decoded = last.and_then(|(_, content)| SetEnd::decode(&content));
        let decoded = decoded.ok_or_else(|| malformed(i, "a set end is damaged"))?;
        if decoded.pieces != pieces || end.as_ref().is_some_and(|e| *e != decoded) {
            return Err(BackupError::Damaged { device: names[i].clone() });
        }
        end = Some(decoded);
    }
    end.ok_or(BackupError::Families { need: 1, given: 0 })
}
