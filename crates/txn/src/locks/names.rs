//! Names of what is locked and of those that lock it: names of resources, owners and nodes, and a
//! fast hash of them.

use pages::TxnId;

/// Identity of a holder or waiter: a transaction or a session. Unique within one lock manager,
/// never reused.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct OwnerId(pub u64);

/// Who asks for a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockRequester {
    /// Identity of the holder.
    pub id: OwnerId,
    /// The session that it belongs to; 0: none, it stands for itself.
    pub session: u32,
}

/// Who waits and is waited for: a session with all its owners, as it does one thing at a time, or
/// an owner without a session.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub(crate) struct Node(u64);

impl Node {
    pub(crate) fn of_session(session: u32) -> Node {
        Node(u64::from(session) << 1)
    }
}

impl LockRequester {
    /// Who waits when this owner does.
    pub(crate) fn node(&self) -> Node {
        match self.session {
            0 => Node(self.id.0 << 1 | 1),
            session => Node::of_session(session),
        }
    }
}

/// What is locked. `db` is the database id within the instance.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Resource {
    /// Database id.
    pub db: u16,
    /// What in it.
    pub what: LockTarget,
}

/// The lockable things of a database.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum LockTarget {
    /// The database itself (sessions that use it hold S).
    Database,
    /// A schema, by id.
    Schema(u32),
    /// An object's definition (SCH-S, SCH-M), by object id.
    Object(u32),
    /// A table's rows as a whole, by object id.
    Table(u32),
    /// A key or key range of an allocation unit, by hash.
    Key { unit: u32, hash: u64 },
    /// A row of a heap.
    Rid { unit: u32, file: u16, page: u32, slot: u16 },
    /// An application lock, by hash of its name.
    Application(u64),
    /// The rows that a transaction has written. Held implicitly by the running transaction; waited
    /// for through [`LockManager::wait_txn`](super::LockManager::wait_txn).
    Txn(TxnId),
}

impl LockTarget {
    /// The type name as in sys.dm_tran_locks.resource_type.
    pub fn type_name(&self) -> &'static str {
        match self {
            LockTarget::Database => "DATABASE",
            LockTarget::Schema(_) => "METADATA",
            LockTarget::Object(_) | LockTarget::Table(_) => "OBJECT",
            LockTarget::Key { .. } => "KEY",
            LockTarget::Rid { .. } => "RID",
            LockTarget::Application(_) => "APPLICATION",
            LockTarget::Txn(_) => "XACT",
        }
    }
}

/// A multiplicative hash for small keys made here (no outside data reaches it, so no keyed hash is
/// needed).
#[derive(Default, Clone, Copy, Debug)]
pub struct FastHash(u64);

impl std::hash::Hasher for FastHash {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0u8; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }
    fn write_u8(&mut self, v: u8) {
        self.write_u64(v.into());
    }
    fn write_u16(&mut self, v: u16) {
        self.write_u64(v.into());
    }
    fn write_u32(&mut self, v: u32) {
        self.write_u64(v.into());
    }
    fn write_u64(&mut self, v: u64) {
        self.0 = (self.0.rotate_left(5) ^ v).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
    fn write_usize(&mut self, v: usize) {
        self.write_u64(v as u64);
    }
    fn write_isize(&mut self, v: isize) {
        self.write_u64(v as u64);
    }
    fn finish(&self) -> u64 {
        // The table takes its bucket from the low bits and its tag from the high ones: mix both
        // ways.
        self.0 ^ (self.0 >> 32)
    }
}

/// A `BuildHasher` for [`FastHash`].
pub type FastBuild = std::hash::BuildHasherDefault<FastHash>;
