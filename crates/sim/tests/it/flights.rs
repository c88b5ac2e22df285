//! Batches of requests on the simulated disk: done in any order, and each survives or not by itself
//! when the power or one fails.

use std::collections::BTreeSet;
use std::io::{IoSlice, IoSliceMut};
use std::path::Path;
use std::sync::Arc;

use disk::{AlignedBuf, BlockFile, Data, Disk, DiskError, OpenMode, Request, transfer};
use ringwood_sim::{Fault, OpKind, SimDisk};

const COUNT: usize = 32;
const PIECE: usize = 1024;

fn prepared(seed: u64) -> (SimDisk, Arc<dyn BlockFile>) {
    let disk = SimDisk::new(seed);
    let file = disk.open(Path::new("f"), OpenMode::Create).expect("create");
    file.write_at(0, &AlignedBuf::new(COUNT * PIECE)).expect("write");
    file.sync().expect("sync");
    (disk, file)
}

/// Writes 32 pieces of two sectors; returns the numbers of those that ended, in order, and of those
/// that failed.
fn write(file: &dyn BlockFile, byte: u8) -> (Vec<usize>, Vec<usize>) {
    let mut buf = AlignedBuf::new(COUNT * PIECE);
    buf.fill(byte);
    let slices: Vec<IoSlice<'_>> = buf.chunks(PIECE).map(IoSlice::new).collect();
    let each = slices.chunks(1).enumerate();
    let mut requests: Vec<Request<'_>> = each
        .map(|(i, one)| Request { file, offset: (i * PIECE) as u64, data: Data::Write(one) })
        .collect();
    let (mut well, mut badly) = (Vec::new(), Vec::new());
    transfer(&mut requests, &mut |i, _, result| match result {
        Ok(()) => well.push(i),
        Err(_) => badly.push(i),
    });
    (well, badly)
}

fn sectors(disk: &SimDisk) -> Vec<u8> {
    sectors_of(&*disk.open(Path::new("f"), OpenMode::Open).expect("open"))
}

fn sectors_of(file: &dyn BlockFile) -> Vec<u8> {
    let mut buf = AlignedBuf::new(COUNT * PIECE);
    file.read_at(0, &mut buf).expect("read");
    buf.chunks(512).map(|sector| sector[0]).collect()
}

#[test]
fn requests_of_a_batch_end_in_any_order() {
    let orders: BTreeSet<Vec<usize>> = (0..20).map(|seed| write(&*prepared(seed).1, 1).0).collect();
    assert!(orders.len() > 15, "{} orders", orders.len());
    for order in orders {
        assert_eq!(order.iter().collect::<BTreeSet<_>>().len(), COUNT);
    }
}

/// Power fails at the n-th write: those that ended, those in flight and the one itself may each be
/// there, torn or lost.
#[test]
fn every_write_in_flight_has_its_own_fate() {
    let (mut torn, mut lost, mut there) = (0, 0, 0);
    for n in 1..=COUNT as u64 {
        let (disk, file) = prepared(n);
        disk.crash_at(disk.io_count() + n);
        let (well, badly) = write(&*file, 1);
        assert_eq!((well.len() as u64, well.len() + badly.len()), (n - 1, COUNT));
        let left = disk.crash(n * 7);
        for (i, piece) in sectors(&left).chunks(2).enumerate() {
            match (piece[0], piece[1]) {
                (1, 1) => there += usize::from(badly.contains(&i)),
                (0, 0) => lost += usize::from(badly.contains(&i)),
                _ => torn += usize::from(badly.contains(&i)),
            }
        }
    }
    assert!(
        torn > 100 && lost > 50 && there > 50,
        "of those that had not ended: {torn} {lost} {there}"
    );
}

/// A power loss at a moment when requests of a batch are in flight interrupts them too.
#[test]
fn a_copy_of_the_disk_at_a_power_loss_has_parts_of_what_is_in_flight() {
    let (disk, file) = prepared(3);
    let mut buf = AlignedBuf::new(COUNT * PIECE);
    buf.fill(1);
    let slices: Vec<IoSlice<'_>> = buf.chunks(PIECE).map(IoSlice::new).collect();
    let each = slices.chunks(1).enumerate();
    let mut requests: Vec<Request<'_>> = each
        .map(|(i, one)| Request {
            file: &*file,
            offset: (i * PIECE) as u64,
            data: Data::Write(one),
        })
        .collect();
    let mut seen = Vec::new();
    transfer(&mut requests, &mut |_, _, result| {
        result.expect("a write");
        if seen.is_empty() {
            let changed =
                |seed| sectors(&disk.crash(seed)).iter().filter(|byte| **byte == 1).count();
            seen = (0..20).map(changed).collect();
        }
    });
    assert!(
        seen.iter().any(|changed| (5..60).contains(changed)),
        "of 64 sectors, one write ended: {seen:?}"
    );
}

#[test]
fn one_of_them_fails() {
    let (disk, file) = prepared(5);
    disk.fail_on(Path::new("f"), OpKind::Write, 17, Fault::Io);
    let (well, badly) = write(&*file, 1);
    assert_eq!((well.len(), badly.len()), (31, 1));
    let live = sectors_of(&*file);
    assert!(
        live[badly[0] * 2..][..2] == [0, 0] && live.iter().filter(|byte| **byte == 1).count() == 62
    );

    disk.fail_on(Path::new("f"), OpKind::Read, 5, Fault::Io);
    let mut bufs: Vec<AlignedBuf> = (0..COUNT).map(|_| AlignedBuf::new(PIECE)).collect();
    let mut slices: Vec<IoSliceMut<'_>> = bufs.iter_mut().map(|buf| IoSliceMut::new(buf)).collect();
    let each = slices.chunks_mut(1).enumerate();
    let mut requests: Vec<Request<'_>> = each
        .map(|(i, one)| Request { file: &*file, offset: (i * PIECE) as u64, data: Data::Read(one) })
        .collect();
    let (mut well, mut badly) = (0, 0);
    transfer(&mut requests, &mut |_, _, result| match result {
        Ok(()) => well += 1,
        Err(DiskError::Io { .. }) => badly += 1,
        Err(error) => panic!("{error}"),
    });
    assert_eq!((well, badly), (31, 1));
}
