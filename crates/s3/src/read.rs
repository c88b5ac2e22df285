//! Reading an object by ranges: little after a jump, more and ahead of the reader while it goes
//! straight on. Guarantees: no more than `ahead` ranges are on their way, each of at most
//! [`LONGEST`] bytes.

use std::collections::VecDeque;
use std::ops::Range;

use bytes::Bytes;
use disk::{AlignedBuf, DiskError, Op};
use object_store::ObjectStoreExt;
use txn::backup::BackupReader;

use crate::errors;
use crate::target::S3Object;
use crate::worker::RunningTask;

/// Bytes that are asked for after a jump, and at most.
const SHORTEST: u64 = 64 << 10;
const LONGEST: u64 = 4 << 20;

type AskedRange = (Range<u64>, RunningTask<object_store::Result<Bytes>>);

pub struct S3Reader {
    target: S3Object,
    len: u64,
    ahead: usize,
    /// The range that was read last, and its bytes.
    here: (Range<u64>, Bytes),
    /// The ranges after it, in order.
    asked: VecDeque<AskedRange>,
    /// Length of the next range.
    next: u64,
}

impl S3Reader {
    pub fn new(target: S3Object, len: u64, ahead: usize) -> S3Reader {
        S3Reader {
            target,
            len,
            ahead,
            here: (0..0, Bytes::new()),
            asked: VecDeque::new(),
            next: SHORTEST,
        }
    }

    /// Makes `at` part of the range that is here.
    fn come_to(&mut self, at: u64) -> Result<(), DiskError> {
        if self.here.0.contains(&at) {
            return Ok(());
        }
        if at != self.here.0.end {
            self.asked.clear();
            self.next = SHORTEST;
        }
        if self.asked.is_empty() {
            self.ask(at);
        }
        let name = &self.target.name;
        let Some((range, task)) = self.asked.pop_front() else {
            return Err(errors::gone(Op::Read, name));
        };
        let bytes = match task.wait() {
            Some(Ok(bytes)) => bytes,
            Some(Err(e)) => return Err(errors::of(Op::Read, name, &e)),
            None => return Err(errors::gone(Op::Read, name)),
        };
        if bytes.len() as u64 != range.end - range.start {
            let (wanted, got) = (range.end - range.start, bytes.len() as u64);
            return Err(DiskError::ShortRead {
                path: name.into(),
                offset: range.start,
                wanted,
                got,
            });
        }
        self.here = (range, bytes);
        // A reader that goes on after a longest range goes on after the next ones too.
        while self.next == LONGEST && self.asked.len() < self.ahead {
            let end = self.asked.back().map_or(self.here.0.end, |(range, _)| range.end);
            if end >= self.len {
                break;
            }
            self.ask(end);
        }
        Ok(())
    }

    fn ask(&mut self, at: u64) {
        let range = at..self.len.min(at + self.next);
        self.next = LONGEST.min(self.next * 4);
        let (store, key, wanted) =
            (self.target.store.clone(), self.target.key.clone(), range.clone());
        let task = self.target.worker.spawn(async move { store.get_range(&key, wanted).await });
        self.asked.push_back((range, task));
    }
}

impl BackupReader for S3Reader {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&mut self, offset: u64, buf: &mut AlignedBuf, len: usize) -> Result<(), DiskError> {
        let end = offset.saturating_add(len as u64);
        if end > self.len {
            let got = self.len.saturating_sub(offset);
            let path = (&self.target.name).into();
            return Err(DiskError::ShortRead { path, offset, wanted: len as u64, got });
        }
        let mut at = offset;
        while at < end {
            self.come_to(at)?;
            let (range, bytes) = &self.here;
            let from = (at - range.start) as usize;
            let to = (end.min(range.end) - range.start) as usize;
            let done = (at - offset) as usize;
            buf[done..done + to - from].copy_from_slice(&bytes[from..to]);
            at += (to - from) as u64;
        }
        Ok(())
    }
}
