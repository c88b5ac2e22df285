//! One open file of a modelled device.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use disk::{
    AlignedBuf, BlockFile, CountedRequest, Data, DiskError, FileStats, Launch, Op, Sectors, Timer,
    check_aligned,
};

use crate::clock::{self, UrgentScope};
use crate::params::{Device, Medium};
use crate::shared::{PlacedFile, RequestTimes, SharedDevice};
use crate::timeline::Request;

/// Zeros are written in pieces of this size, two in flight.
const ZERO_CHUNK: u64 = 1 << 20;
/// Requests of a batch in flight for each spindle: with so many to choose from, a disk needs about
/// half the time for each.
const SPINDLE_DEPTH: usize = 32;

#[derive(Debug)]
pub(crate) struct ModelFile {
    host: Arc<dyn BlockFile>,
    shared: Arc<SharedDevice>,
    placed: Arc<PlacedFile>,
    stats: FileStats,
}

impl ModelFile {
    pub fn new(
        host: Arc<dyn BlockFile>,
        shared: Arc<SharedDevice>,
        placed: Arc<PlacedFile>,
    ) -> Self {
        ModelFile { host, shared, placed, stats: FileStats::default() }
    }

    /// A model can make sectors larger than the real ones, not smaller.
    pub fn check_host(host: &dyn BlockFile, device: &Device) -> Result<(), DiskError> {
        if host.sectors().logical <= device.logical {
            return Ok(());
        }
        Err(DiskError::Io {
            op: Op::Open,
            path: host.path().to_path_buf(),
            offset: 0,
            code: 22,
            text: format!(
                "the real disk's sectors of {} bytes are larger than the modelled device's of {}",
                host.sectors().logical,
                device.logical
            ),
        })
    }

    /// Submits a transfer to the model, part by part as the file lies on its array.
    fn submit(&self, offset: u64, len: u64, request: impl Fn(u64, u64) -> Request) -> RequestTimes {
        let array = self.placed.array;
        let parts = {
            let mut extents = self.placed.extents.lock();
            let mut space = self.shared.arrays[array].space.lock();
            extents.locate(&mut space, offset, len)
        };
        self.shared.submit(array, parts.into_iter().map(|(pos, len)| request(pos, len)))
    }

    fn check_all(&self, offset: u64, bufs: &[&[u8]]) -> Result<u64, DiskError> {
        let mut at = offset;
        for buf in bufs {
            check_aligned(self.host.path(), self.sectors(), at, buf)?;
            at += buf.len() as u64;
        }
        Ok(at - offset)
    }

    fn check_data(&self, offset: u64, data: &Data<'_>) -> Result<(), DiskError> {
        let mut at = offset;
        let mut one = |buf: &[u8]| {
            check_aligned(self.host.path(), self.sectors(), at, buf)?;
            at += buf.len() as u64;
            Ok(())
        };
        match data {
            Data::Read(bufs) => bufs.iter().try_for_each(|buf| one(buf)),
            Data::Write(bufs) => bufs.iter().try_for_each(|buf| one(buf)),
        }
    }

    fn write(&self, offset: u64, bufs: &[&[u8]], durable: bool) -> Result<(), DiskError> {
        let len = self.check_all(offset, bufs)?;
        let start = Instant::now();
        let _urgent = UrgentScope::begin();
        let done = self.submit(offset, len, |pos, len| Request::Write { pos, len, durable });
        if durable && self.shared.host_durable {
            self.host.write_durable(offset, bufs)?;
        } else {
            self.host.write_gather(offset, bufs)?;
        }
        self.shared.wait(done);
        self.count_write(offset, len, durable, start.elapsed());
        Ok(())
    }

    fn count_write(&self, offset: u64, len: u64, durable: bool, time: Duration) {
        if durable {
            self.stats.count_durable_write(len, time);
        } else {
            self.stats.count_write(len, time);
        }
        if self.shared.device.true_sectors().partial(offset, len) > 0 {
            self.stats.count_rmw();
        }
    }

    /// Does a change of the length on the host while the journal write that it costs is in flight.
    fn change_length(
        &self,
        change: impl FnOnce() -> Result<(), DiskError>,
    ) -> Result<(), DiskError> {
        let _urgent = UrgentScope::begin();
        let done = self.shared.journal(self.placed.array);
        change()?;
        self.shared.wait(done);
        Ok(())
    }
}

impl BlockFile for ModelFile {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<(), DiskError> {
        check_aligned(self.host.path(), self.sectors(), offset, buf)?;
        let start = Instant::now();
        let len = buf.len() as u64;
        let _urgent = UrgentScope::begin();
        let done = self.submit(offset, len, |pos, len| Request::Read { pos, len });
        self.host.read_at(offset, buf)?;
        self.shared.wait(done);
        self.stats.count_read(len, start.elapsed());
        Ok(())
    }

    fn write_gather(&self, offset: u64, bufs: &[&[u8]]) -> Result<(), DiskError> {
        self.write(offset, bufs, false)
    }

    fn write_durable(&self, offset: u64, bufs: &[&[u8]]) -> Result<(), DiskError> {
        self.write(offset, bufs, true)
    }

    fn sync(&self) -> Result<(), DiskError> {
        let start = Instant::now();
        let _urgent = UrgentScope::begin();
        let done = self.shared.submit(self.placed.array, [Request::Flush]);
        if self.shared.host_durable {
            self.host.sync()?;
        }
        self.shared.wait(done);
        self.stats.count_sync(start.elapsed());
        Ok(())
    }

    fn len(&self) -> Result<u64, DiskError> {
        self.host.len()
    }

    fn set_len(&self, len: u64) -> Result<(), DiskError> {
        self.change_length(|| self.host.set_len(len))?;
        let mut extents = self.placed.extents.lock();
        let mut space = self.shared.arrays[self.placed.array].space.lock();
        extents.cut(&mut space, len);
        Ok(())
    }

    fn allocate(&self, offset: u64, len: u64) -> Result<(), DiskError> {
        if len == 0 {
            return Ok(());
        }
        self.change_length(|| self.host.allocate(offset, len))
    }

    fn write_zeros(&self, offset: u64, len: u64) -> Result<(), DiskError> {
        let zeros = AlignedBuf::new(ZERO_CHUNK.min(len) as usize);
        let end = offset.saturating_add(len);
        self.allocate(offset, len)?;
        let (mut at, mut before) = (offset, None);
        while at < end {
            let piece = (end - at).min(ZERO_CHUNK);
            let bufs: [&[u8]; 1] = [&zeros[..piece as usize]];
            self.check_all(at, &bufs)?;
            let start = Instant::now();
            // Each piece is submitted before the previous one is done, so that the modelled disk
            // need not wait a revolution for it.
            let done =
                self.submit(at, piece, |pos, len| Request::Write { pos, len, durable: false });
            self.host.write_gather(at, &bufs)?;
            if let Some(before) = before.replace(done) {
                self.shared.wait(before);
            }
            self.count_write(at, piece, false, start.elapsed());
            at += piece;
        }
        if let Some(last) = before {
            self.shared.wait(last);
        }
        self.sync()
    }

    fn sectors(&self) -> Sectors {
        self.shared.device.sectors()
    }

    fn device(&self) -> u64 {
        self.placed.array as u64
    }

    fn is_direct(&self) -> bool {
        true
    }

    fn stats(&self) -> &FileStats {
        &self.stats
    }

    fn path(&self) -> &Path {
        self.host.path()
    }

    fn release(&self) {
        self.host.release();
    }

    /// As many requests as keep every spindle or channel of an array busy.
    fn depth(&self) -> usize {
        match &self.shared.device.medium {
            Medium::Disks(disks) => SPINDLE_DEPTH * disks.spindles.max(1) as usize,
            Medium::Flash(flash) => flash.queue_depth.clamp(1, 256) as usize,
        }
    }

    fn launch<'s>(&'s self, offset: u64, data: &mut Data<'_>) -> Launch<'s> {
        if let Err(error) = self.check_data(offset, data) {
            return Launch::Done(Err(error));
        }
        let write = data.is_write();
        let due = self.submit(offset, data.len(), |pos, len| match write {
            true => Request::Write { pos, len, durable: false },
            false => Request::Read { pos, len },
        });
        Launch::Timed { inner: Box::new(self.host.launch(offset, data)), timer: self, due: due.at }
    }

    fn next_to_land(&self, count: usize) -> usize {
        self.host.next_to_land(count)
    }

    fn land(&self, ticket: u64, offset: u64, data: &mut Data<'_>) -> Result<(), DiskError> {
        self.host.land(ticket, offset, data)
    }
}

impl Timer for ModelFile {
    fn left(&self, due: u64) -> Duration {
        self.shared.clock.until(due).unwrap_or(Duration::ZERO)
    }

    fn wait(&self, due: u64) {
        self.shared.clock.wait_until(due);
    }

    fn begin_wait(&self) {
        clock::begin_urgent();
    }

    fn end_wait(&self) {
        clock::end_urgent();
    }

    /// A request is not late because nobody has looked yet: the host is, from the moment on at
    /// which it is waited for.
    fn count(&self, due: u64, request: CountedRequest, took: Duration, waited: Duration) {
        let after = self.shared.clock.until(due).err().unwrap_or_default();
        self.shared.note_late(took.saturating_sub(after), after.min(waited));
        if request.write {
            self.count_write(request.offset, request.bytes, false, took);
        } else {
            self.stats.count_read(request.bytes, took);
        }
    }
}
