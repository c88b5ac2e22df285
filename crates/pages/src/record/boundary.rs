//! The records that begin and end a transaction: nothing but a header and a time. Each transaction
//! writes two, so they are made without a builder and its memory; their bytes are those of
//! [`RecordBuilder`](super::RecordBuilder).

use super::{AT_PREV, AT_TXN, FIXED, OP_PAYLOAD, RecordKind};
use crate::id::TxnId;
use crate::row_header::lsn_to_bytes;
use wal::Lsn;

const TIME: usize = size_of::<u64>();
const AT_PAYLOAD: usize = FIXED + 2;

/// A record of `kind` whose only content is `time` in microseconds.
#[must_use]
pub fn boundary_record(
    kind: RecordKind,
    txn: TxnId,
    prev: Lsn,
    time: u64,
) -> [u8; AT_PAYLOAD + TIME] {
    let mut bytes = [0; AT_PAYLOAD + TIME];
    bytes[0] = kind.to_u8();
    bytes[AT_TXN..AT_PREV].copy_from_slice(&txn.to_bytes());
    bytes[AT_PREV..FIXED].copy_from_slice(&lsn_to_bytes(prev));
    bytes[FIXED] = OP_PAYLOAD;
    bytes[FIXED + 1] = TIME as u8;
    bytes[AT_PAYLOAD..].copy_from_slice(&time.to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::RecordBuilder;

    #[test]
    fn a_boundary_record_is_what_the_builder_makes() {
        for (kind, prev) in [
            (RecordKind::Begin, Lsn::ZERO),
            (RecordKind::Commit, Lsn { vlf: 7, block: 19, slot: 3 }),
        ] {
            let (txn, time) = (TxnId(0x1234_5678_9ABC), 1_700_000_000_123_456u64);
            let mut rec = RecordBuilder::new();
            rec.begin(kind).payload(&time.to_le_bytes()).unwrap();
            rec.stamp(txn, prev);
            assert_eq!(rec.bytes(), boundary_record(kind, txn, prev, time));
        }
    }
}
