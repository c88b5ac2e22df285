//! How an instance's memory is divided: its target, the most that pages get, the most that queries
//! get.
//! Guarantees: what is not said follows from the machine's memory; with a target for the whole
//! process no part is larger than it leaves room for.

use std::sync::Arc;

use catalog::Db;
use memory::{Clerk, MemoryAccount};
use pages::BufferPool;
use session::state::host::Host;
use txn::LockManager;
use txn::locks::LockMemory;

use super::options::{InstanceOptions, machine_memory};

/// Least memory for queries where nobody says how much all may have.
const QUERY_MIN: u64 = 1 << 30;
/// Least and most bytes that one operator holds before it goes to disk.
const OPERATOR_MIN: u64 = 16 << 20;
const OPERATOR_MAX: u64 = 1 << 30;
/// From here on a process may keep for a while what it has freed.
const ROOMY: u64 = 512 << 20;

/// The memory of an instance, in bytes.
pub(super) struct Budget {
    /// For everything that is charged, and pages.
    pub target: u64,
    /// Most for pages, which give way to the rest.
    pub pool: u64,
    /// Most for all queries.
    pub query: usize,
    /// Most for one operator of a query.
    pub operator: usize,
}

/// Least bytes of the account: with less no statement could run. Pages get no more for it.
const LEAST_TARGET: u64 = 48 << 20;

impl Budget {
    /// What the options say; `pool`: memory for pages that was had before.
    pub fn new(options: &InstanceOptions, pool: Option<u64>) -> Budget {
        let machine = machine_memory();
        let own_query = options.query_bytes.map(|bytes| bytes as u64);
        let query_of_machine = (machine / 4).max(QUERY_MIN);
        let operator_of_machine = (machine / 8).clamp(OPERATOR_MIN, OPERATOR_MAX);
        let wanted_pool = pool.or(options.memory_bytes);
        let target = match (options.process_bytes, wanted_pool) {
            (Some(target), _) => target.max(LEAST_TARGET),
            // What others need comes on top of the pages.
            (None, Some(pool)) => pool + own_query.unwrap_or(query_of_machine) + machine / 4,
            (None, None) => (machine / 2).max(2 * QUERY_MIN),
        };
        let (query, operator) = match options.process_bytes {
            Some(target) => {
                (query_of_machine.min(target / 4 * 3), operator_of_machine.min(target / 4))
            }
            None => (query_of_machine, operator_of_machine),
        };
        let bytes = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        Budget {
            target,
            pool: wanted_pool.unwrap_or(options.process_bytes.unwrap_or(target) / 8 * 7),
            query: options.query_bytes.unwrap_or(bytes(query)),
            operator: options.operator_bytes.unwrap_or(bytes(operator)),
        }
    }

    /// The account of it.
    pub fn account(&self, own_process: bool) -> Arc<MemoryAccount> {
        let account =
            Arc::new(MemoryAccount::new(usize::try_from(self.target).unwrap_or(usize::MAX)));
        memory::meter::count_with(disk::thread_holds);
        if own_process {
            if self.target < ROOMY {
                disk::limit_heap();
            }
            account.measure(|| Some(resident()), disk::trim_heap);
        }
        account
    }
}

/// Pages are counted in the account, and get what it leaves.
pub(super) fn connect(account: &Arc<MemoryAccount>, pool: &BufferPool) {
    account.add_source(Clerk::BufferPool, pool.held());
    account.on_change(pool.look_at_budget());
    let account = Arc::downgrade(account);
    pool.set_budget(move || match account.upgrade() {
        Some(account) => {
            account.balance();
            account.left_for_pages() as u64
        }
        None => u64::MAX,
    });
}

/// Bytes of written log blocks that a database keeps for rollback and row versions: at most, and at
/// least.
const LOG_MOST: usize = 16 << 20;
const LOG_LEAST: usize = 256 << 10;

/// The logs' buffers are counted in the account. All databases together keep a sixteenth of it at
/// most for reading again.
pub(super) fn count_logs(host: &Arc<Host>) {
    let weak = Arc::downgrade(host);
    host.memory().add_source(Clerk::Log, move || {
        let host = weak.upgrade()?;
        let databases = host.databases();
        let each = host.memory().target() / 16 / databases.len().max(1);
        let of = |db: Arc<Db>| {
            let storage = db.storage_if_open()?;
            storage.log().set_cache_bytes(each.clamp(LOG_LEAST, LOG_MOST));
            Some(storage.log().memory())
        };
        Some(databases.into_iter().filter_map(of).sum())
    });
}

/// Locks take memory of the account.
struct LocksOf(Arc<MemoryAccount>);

impl LockMemory for LocksOf {
    fn take(&self, bytes: usize, own: usize) -> bool {
        self.0.charge_fairly(Clerk::Locks, bytes, own).is_ok()
    }

    fn give(&self, bytes: usize) {
        self.0.release(Clerk::Locks, bytes);
    }
}

/// Owners of many locks take memory of the account.
pub(super) fn charge_locks(account: &Arc<MemoryAccount>, locks: &LockManager) {
    locks.set_memory(Box::new(LocksOf(account.clone())));
}

/// What databases hold that grows with their objects is counted in the account.
pub(super) fn count_databases(host: &Arc<Host>) {
    let count = |clerk, of: fn(&Db) -> usize| {
        let weak = Arc::downgrade(host);
        host.memory().add_source(clerk, move || {
            let databases = weak.upgrade()?.databases();
            Some(databases.iter().map(|db| of(db)).sum())
        });
    };
    count(Clerk::Definitions, Db::definition_memory);
    count(Clerk::QueryStore, |db| db.query_store().memory());
    count(Clerk::Storage, |db| {
        db.storage_if_open().map_or(0, |storage| storage.bookkeeping_memory())
    });
}

/// What the process has of the machine's memory, in bytes.
pub fn resident() -> usize {
    // The second figure, in pages.
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split_whitespace().nth(1).and_then(|pages| pages.parse::<usize>().ok());
    pages.unwrap_or(0) * rustix::param::page_size()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_bounds_the_parts() {
        let options =
            InstanceOptions { process_bytes: Some(256 << 20), ..InstanceOptions::new("/data") };
        let budget = Budget::new(&options, None);
        assert_eq!((budget.target >> 20, budget.pool >> 20, budget.query >> 20), (256, 224, 192));
        assert!(budget.operator <= 64 << 20);
        let options = InstanceOptions {
            query_bytes: Some(8 << 20),
            operator_bytes: Some(1 << 20),
            ..options
        };
        let budget = Budget::new(&options, None);
        assert_eq!((budget.query >> 20, budget.operator >> 20), (8, 1), "what is said holds");
    }

    #[test]
    fn a_pool_alone_leaves_the_rest_as_it_was() {
        let options =
            InstanceOptions { memory_bytes: Some(64 << 20), ..InstanceOptions::new("/data") };
        let budget = Budget::new(&options, None);
        assert_eq!(budget.pool, 64 << 20);
        assert!(budget.query >= 1 << 30 && budget.target > budget.pool + budget.query as u64);
        let all = Budget::new(&InstanceOptions::new("/data"), None);
        assert!(all.target >= machine_memory() / 2 && all.pool < all.target);
    }
}
