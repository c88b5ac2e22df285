//! Transactions over several databases: their identity, and what the logs say of them.
//!
//! Each database that such a transaction has changed, but one, writes a Prepare record: from then
//! on the database can neither roll its part back nor commit it by its own decision. The one is the
//! coordinator: its Commit record names the transaction and the other databases, and is the
//! decision for all of them. What a coordinator has not decided is not committed. A checkpoint
//! lists the decisions that some database may still have to ask for.

use std::fmt;

use pages::{PageError, RecordBuilder, RecordKind};
use wal::Lsn;

/// Identity of a database, as in its files.
pub type DatabaseGuid = [u8; 16];

/// Most databases of one transaction.
pub(crate) const MAX_DATABASES: usize = 1000;

/// Payload of the records that list decisions: the checkpoint they belong to, then the decisions.
pub(crate) const DECISIONS: RecordKind = RecordKind::Misc(2);
/// Bytes of decisions in one such record.
const LIST_BYTES: usize = 32 << 10;
/// The time that each record of a boundary begins with.
const TIME: usize = 8;

/// Identity of a transaction over several databases; shown as a unit of work (UOW).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GlobalId(pub [u8; 16]);

impl fmt::Display for GlobalId {
    /// As a uniqueidentifier is shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show_guid(&self.0, f)
    }
}

impl fmt::Debug for GlobalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn show_guid(bytes: &[u8; 16], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let order = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    for (i, at) in order.into_iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            f.write_str("-")?;
        }
        write!(f, "{:02X}", bytes[at])?;
    }
    Ok(())
}

impl GlobalId {
    /// Reads what [`Display`](fmt::Display) writes, in braces or not.
    pub fn parse(text: &str) -> Option<GlobalId> {
        let text = text.trim();
        let text = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(text);
        let parts: Vec<&str> = text.split('-').collect();
        if parts.iter().map(|part| part.len()).ne([8, 4, 4, 4, 12]) {
            return None;
        }
        let digits: Vec<u32> =
            parts.concat().chars().map(|c| c.to_digit(16)).collect::<Option<_>>()?;
        let mut bytes = [0; 16];
        let order = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
        for (pair, at) in digits.as_chunks::<2>().0.iter().zip(order) {
            bytes[at] = (pair[0] << 4 | pair[1]) as u8;
        }
        Some(GlobalId(bytes))
    }
}

/// What a Prepare record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrepareRecord {
    /// The transaction.
    pub id: GlobalId,
    /// The database that decides.
    pub coordinator: DatabaseGuid,
    /// What it was called then: for a person who has to find it.
    pub name: String,
}

impl PrepareRecord {
    pub(crate) fn put(&self, rec: &mut RecordBuilder, time_us: u64) -> Result<(), PageError> {
        let parts =
            [&time_us.to_le_bytes()[..], &self.id.0, &self.coordinator, self.name.as_bytes()];
        let bytes = parts.concat();
        rec.begin(RecordKind::Prepare).payload(&bytes)
    }

    pub(crate) fn read(payload: &[u8]) -> Option<PrepareRecord> {
        let (id, rest) = payload.get(TIME..)?.split_first_chunk::<16>()?;
        let (coordinator, name) = rest.split_first_chunk::<16>()?;
        let name = String::from_utf8_lossy(name).into_owned();
        Some(PrepareRecord { id: GlobalId(*id), coordinator: *coordinator, name })
    }
}

/// That a transaction is committed, and the databases besides the coordinator that take part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    pub id: GlobalId,
    pub databases: Vec<DatabaseGuid>,
}

impl Decision {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.id.0);
        out.extend_from_slice(&(self.databases.len() as u16).to_le_bytes());
        out.extend_from_slice(self.databases.as_flattened());
    }

    fn decode(bytes: &[u8]) -> Option<(Decision, &[u8])> {
        let (id, rest) = bytes.split_first_chunk::<16>()?;
        let (count, rest) = rest.split_first_chunk::<2>()?;
        let (guids, rest) = rest.split_at_checked(16 * usize::from(u16::from_le_bytes(*count)))?;
        Some((Decision { id: GlobalId(*id), databases: guids.as_chunks().0.to_vec() }, rest))
    }

    /// The coordinator's Commit record.
    pub fn put(&self, rec: &mut RecordBuilder, time_us: u64) -> Result<(), PageError> {
        let mut bytes = time_us.to_le_bytes().to_vec();
        self.encode(&mut bytes);
        rec.begin(RecordKind::Commit).payload(&bytes)
    }

    /// The decision in a Commit record; `None` in that of a transaction in one database, and in a
    /// participant's.
    pub fn read(payload: &[u8]) -> Option<Decision> {
        Decision::decode(payload.get(TIME..)?).map(|(decision, _)| decision)
    }

    /// Payloads of the records that list decisions for a checkpoint.
    pub fn encode_list(checkpoint: Lsn, list: &[Decision]) -> Vec<Vec<u8>> {
        let mut records: Vec<Vec<u8>> = Vec::new();
        for decision in list {
            match records.last_mut() {
                Some(record) if record.len() < LIST_BYTES => decision.encode(record),
                _ => {
                    let mut record = checkpoint.to_bytes().to_vec();
                    decision.encode(&mut record);
                    records.push(record);
                }
            }
        }
        records
    }

    /// The checkpoint and its decisions; `None` for bytes of another form.
    pub fn decode_list(bytes: &[u8]) -> Option<(Lsn, Vec<Decision>)> {
        let (checkpoint, mut rest) = bytes.split_first_chunk::<10>()?;
        let mut list = Vec::new();
        while !rest.is_empty() {
            let (decision, more) = Decision::decode(rest)?;
            list.push(decision);
            rest = more;
        }
        Some((Lsn::from_bytes(*checkpoint), list))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_survive_their_encoding() {
        let decision =
            |n: u8| Decision { id: GlobalId([n; 16]), databases: vec![[n; 16]; n as usize] };
        let all: Vec<_> = (0..200).map(decision).collect();
        let at = Lsn { vlf: 3, block: 16, slot: 9 };
        let records = Decision::encode_list(at, &all);
        assert!(records.len() > 5 && records.iter().all(|record| record.len() < 48 << 10));
        let back: Vec<_> =
            records.iter().flat_map(|record| Decision::decode_list(record).unwrap().1).collect();
        assert_eq!(back, all);
        assert_eq!(Decision::decode_list(&records[0][..records[0].len() - 1]), None);
        assert!(Decision::encode_list(at, &[]).is_empty());
    }

    #[test]
    fn a_unit_of_work_is_read_as_it_is_shown() {
        let id = GlobalId([0x3B, 0x75, 0x9A, 0xF2, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
        assert_eq!(id.to_string(), "F29A753B-0605-0807-090A-0B0C0D0E0F10");
        assert_eq!(GlobalId::parse(&id.to_string()), Some(id));
        assert_eq!(GlobalId::parse(&format!("{{{}}}", id.to_string().to_lowercase())), Some(id));
        assert_eq!(GlobalId::parse("54"), None);
        assert_eq!(GlobalId::parse("F29A753B-0605-0807-090A-0B0C0D0E0F1é"), None);
    }
}
