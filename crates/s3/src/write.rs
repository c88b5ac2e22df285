//! Writing an object: a multipart upload with parts of one size (some servers want that), several
//! on their way at once. Guarantees: nothing is there before `finish` says so; dropped without it,
//! the upload is aborted.

use std::collections::VecDeque;

use bytes::Bytes;
use disk::{DiskError, Op};
use object_store::{MultipartUpload, ObjectStoreExt};
use txn::backup::BackupWriter;

use crate::errors;
use crate::target::S3Object;
use crate::worker::RunningTask;

/// Most parts of an object.
const MAX_PARTS: usize = 10_000;

type SentPart = RunningTask<object_store::Result<()>>;

pub struct S3Writer {
    target: S3Object,
    /// `None` once it was completed.
    upload: Option<Box<dyn MultipartUpload>>,
    part: usize,
    ahead: usize,
    filling: Vec<u8>,
    sent: VecDeque<SentPart>,
    parts: usize,
}

impl S3Writer {
    pub fn open(target: S3Object, part: usize, ahead: usize) -> Result<S3Writer, DiskError> {
        let (store, key) = (target.store.clone(), target.key.clone());
        let upload = match target.worker.run(async move { store.put_multipart(&key).await }) {
            Some(Ok(upload)) => upload,
            Some(Err(e)) => return Err(errors::of(Op::Create, &target.name, &e)),
            None => return Err(errors::gone(Op::Create, &target.name)),
        };
        let (filling, sent) = (Vec::with_capacity(part), VecDeque::new());
        Ok(S3Writer { target, upload: Some(upload), part, ahead, filling, sent, parts: 0 })
    }

    fn send(&mut self) -> Result<(), DiskError> {
        while self.sent.len() >= self.ahead {
            self.wait_first()?;
        }
        let upload = self.upload.as_mut().filter(|_| self.parts < MAX_PARTS);
        let upload = upload.ok_or_else(|| errors::invalid(Op::Write, &self.target.name))?;
        let part = std::mem::replace(&mut self.filling, Vec::with_capacity(self.part));
        self.parts += 1;
        self.sent.push_back(self.target.worker.spawn(upload.put_part(Bytes::from(part).into())));
        Ok(())
    }

    fn wait_first(&mut self) -> Result<(), DiskError> {
        let name = &self.target.name;
        match self.sent.pop_front().map(RunningTask::wait) {
            None | Some(Some(Ok(()))) => Ok(()),
            Some(Some(Err(e))) => Err(errors::of(Op::Write, name, &e)),
            Some(None) => Err(errors::gone(Op::Write, name)),
        }
    }
}

impl BackupWriter for S3Writer {
    fn append(&mut self, mut bytes: &[u8]) -> Result<(), DiskError> {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(self.part - self.filling.len()));
            self.filling.extend_from_slice(now);
            if self.filling.len() == self.part {
                self.send()?;
            }
            bytes = later;
        }
        Ok(())
    }

    fn settle(&mut self) -> Result<(), DiskError> {
        if !self.filling.is_empty() {
            self.send()?;
        }
        while !self.sent.is_empty() {
            self.wait_first()?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), DiskError> {
        let gone = || errors::gone(Op::Write, &self.target.name);
        let mut upload = self.upload.take().ok_or_else(gone)?;
        let done = self.target.worker.run(async move {
            let done = upload.complete().await;
            (upload, done)
        });
        match done {
            Some((_, Ok(_))) => Ok(()),
            Some((upload, Err(e))) => {
                self.upload = Some(upload);
                Err(errors::of(Op::Write, &self.target.name, &e))
            }
            None => Err(gone()),
        }
    }
}

impl Drop for S3Writer {
    fn drop(&mut self) {
        let Some(mut upload) = self.upload.take() else { return };
        self.sent.clear();
        // The error that matters has been reported; a server that is gone forgets the parts by its
        // own rules.
        let _ = self.target.worker.run(async move { upload.abort().await });
    }
}
