//! What a session keeps from one statement to the next, as far as its users decide how much that
//! is: charged to the instance's account.
//! Guarantees: a session that asks for too much gets an error, and what it has stays; all of it
//! goes back with the session.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use memory::{Clerk, MemoryAccount, Reservation};
use types::SqlError;

use catalog::errors::out_of_memory;

/// Bytes that are charged at once: sessions are many, and most keep little.
const STEP: usize = 4 << 10;

/// What it is that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldingKind {
    /// SESSION_CONTEXT.
    Context,
    /// Documents of sp_xml_preparedocument.
    Documents,
    /// Statements of sp_prepare.
    Prepared,
    /// Application locks.
    ApplicationLocks,
    /// Savepoints, and what definitions were before the transaction changed them.
    Transaction,
    /// The tree of the document that a method of xml has read last.
    ParsedDocument,
}

/// How many kinds there are.
const KINDS: usize = 6;

/// What a session keeps.
#[derive(Debug)]
pub struct Holdings {
    charged: Reservation,
    by_kind: [usize; KINDS],
    /// Bytes of the definitions of its temporary tables, which are charged with these.
    pub temporary: Arc<AtomicUsize>,
}

impl Holdings {
    /// Nothing.
    pub fn new(account: &Arc<MemoryAccount>) -> Holdings {
        let charged = Reservation::in_steps(account, Clerk::Sessions, STEP);
        Holdings { charged, by_kind: [0; KINDS], temporary: Arc::default() }
    }

    /// Bytes of a kind.
    pub fn of(&self, kind: HoldingKind) -> usize {
        self.by_kind[kind as usize]
    }

    /// More of a kind is about to be kept.
    ///
    /// # Errors
    /// 701: nothing has changed.
    pub fn add(&mut self, kind: HoldingKind, bytes: usize) -> Result<(), SqlError> {
        self.charged.take(bytes).map_err(|_| out_of_memory())?;
        self.by_kind[kind as usize] += bytes;
        Ok(())
    }

    /// Less of it is kept.
    pub fn remove(&mut self, kind: HoldingKind, bytes: usize) {
        let held = &mut self.by_kind[kind as usize];
        debug_assert!(bytes <= *held, "more removed than added: {kind:?}");
        let bytes = bytes.min(*held);
        *held -= bytes;
        self.charged.give(bytes);
    }

    /// So much of it is kept now.
    ///
    /// # Errors
    /// 701: nothing has changed.
    pub fn set(&mut self, kind: HoldingKind, bytes: usize) -> Result<(), SqlError> {
        let held = self.of(kind);
        if bytes > held {
            self.add(kind, bytes - held)
        } else {
            self.remove(kind, held - bytes);
            Ok(())
        }
    }

    /// Nothing is kept any more.
    pub fn clear(&mut self) {
        self.charged.give(self.charged.used());
        self.by_kind = [0; KINDS];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_added_and_removed_by_itself() {
        let account = Arc::new(MemoryAccount::new(64 << 20));
        let mut holdings = Holdings::new(&account);
        holdings.add(HoldingKind::Prepared, 100).expect("little");
        assert_eq!(account.held(Clerk::Sessions), STEP);
        holdings.set(HoldingKind::Documents, 10 << 20).expect("it fits");
        let refused = holdings.add(HoldingKind::Context, 1 << 30).unwrap_err();
        assert_eq!((refused.number, holdings.of(HoldingKind::Context)), (701, 0));
        holdings.remove(HoldingKind::Documents, 4 << 20);
        assert_eq!(
            (holdings.of(HoldingKind::Documents), holdings.of(HoldingKind::Prepared)),
            (6 << 20, 100)
        );
        holdings.set(HoldingKind::Documents, 0).expect("less");
        assert!(account.held(Clerk::Sessions) <= 3 * STEP);
        holdings.clear();
        assert_eq!(account.held(Clerk::Sessions), 0);
    }
}
