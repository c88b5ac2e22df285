//! Writes that a power loss tears where what lay there before differs from the new content in a
//! single bit: not decay. The log ends before them and goes on from there.

use super::*;

/// Flushes records of which only the sectors that `keep` chooses arrive before the power fails.
/// Returns what the power loss leaves, and the last record's LSN.
fn tear(
    disk: &SimDisk,
    log: &Log,
    records: &[&[u8]],
    keep: impl FnMut(usize) -> bool,
) -> (SimDisk, Lsn) {
    let mut last = Lsn::ZERO;
    for &record in records {
        last = log.append(&[record], 0).expect("append");
    }
    disk.crash_at(disk.io_count() + 1);
    assert!(log.flush_to(last).is_err(), "the power fails");
    (disk.crash_keeping(keep), last)
}

fn open(disk: &SimDisk, what: &str) -> (Arc<Log>, Lsn) {
    let (log, report) = Log::open(disk, Path::new(PATH), options())
        .unwrap_or_else(|error| panic!("{what}: {error}"));
    (log, report.last)
}

/// A log can be written from its end on, and what was written is there when it is opened again.
fn goes_on(disk: &SimDisk, log: Arc<Log>, what: &str) {
    let lsn = log.append(&[b"the next one"], 0).expect("append");
    log.flush_to(lsn).expect("flush");
    drop(log);
    assert_eq!(open(disk, what).1, lsn, "{what}");
}

/// Nothing was ever written there: of the second sector only the last byte of the slot table is in
/// use, and it has one bit.
#[test]
fn a_lost_tail_of_one_bit_is_no_decay() {
    let disk = SimDisk::new(1);
    let log = Log::create(&disk, Path::new(PATH), options()).expect("create");
    // The second record starts at 72 + 200 = 0x110; the slots end at 72 + 437 + 4 = 513.
    let (first, second) = ([1u8; 200], [2u8; 237]);
    let (left, _) = tear(&disk, &log, &[&first[..], &second[..]], |sector| sector == 0);
    assert_eq!(disk.unsynced_atoms(), 2, "a block of two sectors");
    let (log, last) = open(&left, "zeros");
    assert_eq!(last, Lsn::ZERO);
    goes_on(&left, log, "zeros");
}

/// A transaction whose commit was torn is tried again, and its commit is torn at the same place.
/// What is left of both makes one block but for one bit, with the header of the one or the other.
#[test]
fn a_write_torn_over_a_torn_write_is_no_decay() {
    let record = [5u8; 700];
    let mut again = record;
    again[600] ^= 1;
    for (kept, kept_again) in [(1, 0), (0, 1)] {
        let what = format!("sector {kept}, then {kept_again}");
        let disk = SimDisk::new(1);
        let log = Log::create(&disk, Path::new(PATH), options()).expect("create");
        let (torn, _) = tear(&disk, &log, &[&record[..]], |sector| sector == kept);
        assert_eq!(disk.unsynced_atoms(), 2, "a block of two sectors");
        let (log, last) = open(&torn, &what);
        assert_eq!(last, Lsn::ZERO, "{what}");
        let (left, _) = tear(&torn, &log, &[&again[..]], |sector| sector == kept_again);
        let (log, last) = open(&left, &what);
        assert_eq!(last, Lsn::ZERO, "{what}");
        goes_on(&left, log, &what);
    }
}

/// A log of equal records that went round its VLFs: the next record differs from what the earlier
/// use of the VLF left there in one bit. Each sector of its block is lost in turn, at many
/// positions in the VLFs.
#[test]
fn a_sector_left_from_the_earlier_use_of_a_vlf_is_no_decay() {
    let record = [5u8; 1500];
    for more in 0..24u32 {
        for lost in 0..4 {
            let what = format!("{more} records, sector {lost}");
            let disk = SimDisk::new(1);
            let log = Log::create(&disk, Path::new(PATH), options()).expect("create");
            let (mut acked, mut written, mut left) = (Lsn::ZERO, 0u32, more);
            // Four VLFs, or a few more if the log grows: at least once around.
            while log.space().current_vlf < 56 || left > 0 {
                left -= u32::from(log.space().current_vlf >= 56);
                acked = log.append(&[&record], 0).expect("append");
                log.flush_to(acked).expect("flush");
                written += 1;
                if written.is_multiple_of(5) {
                    acked = log.append_reserved(&[b"checkpoint"], 0).expect("append");
                    let info = CheckpointInfo {
                        checkpoint_lsn: acked,
                        redo_lsn: acked,
                        payload: Vec::new(),
                    };
                    log.set_checkpoint(info).expect("checkpoint");
                    log.truncate_to(acked);
                }
            }
            let mut next = record;
            next[if more.is_multiple_of(2) { 500 } else { 1000 }] ^= 1;
            let (torn, new) = tear(&disk, &log, &[&next[..]], |sector| sector != lost);
            let (log, last) = open(&torn, &what);
            // What was lost may have been equal to what lay there.
            assert!(last == acked || last == new, "{what}: {last} instead of {acked}");
            goes_on(&torn, log, &what);
        }
    }
}
