//! A session's transaction as its client counts and numbers it. It consists of one transaction for
//! each database that the session has used.
//! Guarantees: what others see of @@TRANCOUNT ([`SessionShared::open_transactions`]) is what the
//! session has; each beginning and end is told to the client once, in order.

use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

use smallvec::SmallVec;
use types::SqlError;

use super::shared::SessionShared;
use crate::output::{SessionChange, Sink};

/// What has become of a transaction, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionEvent {
    Began(u64),
    Committed(u64),
    RolledBack(u64),
}

/// The transaction that BEGIN, COMMIT and ROLLBACK TRANSACTION count, and that the client is told
/// of.
#[derive(Default)]
pub struct ClientTransaction {
    trancount: u32,
    number: u64,
    /// Only ROLLBACK is left: XACT_STATE() = -1.
    pub doomed: bool,
    /// Beginnings and ends that the client has not been told yet.
    untold: SmallVec<[TransactionEvent; 2]>,
    /// The time of the transaction that a statement was last by itself, behind the transaction's
    /// number.
    own_time: (u64, u64),
}

impl ClientTransaction {
    /// @@TRANCOUNT.
    #[inline]
    pub fn trancount(&self) -> u32 {
        self.trancount
    }

    /// Number of the transaction, for clients; 0 without one.
    #[inline]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Sets @@TRANCOUNT, for others to see too.
    #[inline]
    pub fn set_trancount(&mut self, n: u32, shared: &SessionShared) {
        if self.trancount == 0 && n > 0 {
            shared.tran_began.store(microseconds_now(), Ordering::Relaxed);
        }
        self.trancount = n;
        shared.open_transactions.store(n.into(), Ordering::Relaxed);
    }

    /// XACT_STATE(): 1 a transaction can go on, -1 it can only roll back, 0 none.
    pub fn xact_state(&self) -> i16 {
        match (self.trancount, self.doomed) {
            (0, _) => 0,
            (_, true) => -1,
            (_, false) => 1,
        }
    }

    /// When it began, in microseconds since 1970, UTC: BEGIN TRANSACTION, else the moment at which
    /// the statement that is its own transaction, the one of this number, asked for it first.
    pub fn time(&mut self, own: u64, shared: &SessionShared) -> u64 {
        if self.trancount > 0 {
            return shared.tran_began.load(Ordering::Relaxed);
        }
        match self.own_time {
            (of, time) if of == own && own != 0 => time,
            _ => {
                self.own_time = (own, microseconds_now());
                self.own_time.1
            }
        }
    }

    /// It begins, under a number that no other has.
    #[inline]
    pub fn begin(&mut self, number: u64) {
        self.number = number;
        self.untold.push(TransactionEvent::Began(number));
    }

    /// It has ended, if there is one.
    pub fn end(&mut self, committed: bool) {
        match std::mem::take(&mut self.number) {
            0 => {}
            number if committed => self.untold.push(TransactionEvent::Committed(number)),
            number => self.untold.push(TransactionEvent::RolledBack(number)),
        }
    }

    /// Tells the client what has become of its transactions.
    #[inline]
    pub fn tell(&mut self, sink: &mut dyn Sink) -> Result<(), SqlError> {
        if self.untold.is_empty() { Ok(()) } else { self.tell_untold(sink) }
    }

    #[cold]
    fn tell_untold(&mut self, sink: &mut dyn Sink) -> Result<(), SqlError> {
        for event in std::mem::take(&mut self.untold) {
            sink.changed(&match event {
                TransactionEvent::Began(number) => SessionChange::TransactionBegan(number),
                TransactionEvent::Committed(number) => SessionChange::TransactionCommitted(number),
                TransactionEvent::RolledBack(number) => {
                    SessionChange::TransactionRolledBack(number)
                }
            })?;
        }
        Ok(())
    }
}

fn microseconds_now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.as_micros() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Notes the changes of transactions.
    #[derive(Default)]
    struct Told(Vec<String>);

    impl Sink for Told {
        fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
            Err(error.clone())
        }

        fn changed(&mut self, change: &SessionChange<'_>) -> Result<(), SqlError> {
            self.0.push(match change {
                SessionChange::TransactionBegan(number) => format!("began {number}"),
                SessionChange::TransactionCommitted(number) => format!("committed {number}"),
                SessionChange::TransactionRolledBack(number) => format!("rolled back {number}"),
                _ => "another change".to_owned(),
            });
            Ok(())
        }
    }

    #[test]
    fn each_beginning_and_end_is_told_once_in_order() {
        let mut transaction = ClientTransaction::default();
        transaction.end(true);
        transaction.begin(7);
        transaction.end(true);
        transaction.begin(8);
        let mut told = Told::default();
        transaction.tell(&mut told).expect("the sink takes all");
        transaction.end(false);
        transaction.tell(&mut told).expect("the sink takes all");
        transaction.tell(&mut told).expect("the sink takes all");
        assert_eq!(told.0, ["began 7", "committed 7", "began 8", "rolled back 8"]);
        assert_eq!(transaction.number(), 0);
    }

    #[test]
    fn the_count_of_transactions_is_published() {
        let (mut transaction, shared) = (ClientTransaction::default(), SessionShared::default());
        transaction.set_trancount(1, &shared);
        let began = shared.tran_began.load(Ordering::Relaxed);
        assert!(began > 0, "the time of the outermost BEGIN TRANSACTION");
        transaction.set_trancount(2, &shared);
        assert_eq!(shared.open_transactions.load(Ordering::Relaxed), 2);
        assert_eq!((transaction.trancount(), transaction.xact_state()), (2, 1));
        assert_eq!(transaction.time(5, &shared), began, "an inner one is no new transaction");
        transaction.doomed = true;
        assert_eq!(transaction.xact_state(), -1);
        transaction.set_trancount(0, &shared);
        assert_eq!((transaction.xact_state(), transaction.time(5, &shared) > 0), (0, true));
        assert_eq!(transaction.time(5, &shared), transaction.time(5, &shared));
    }
}
