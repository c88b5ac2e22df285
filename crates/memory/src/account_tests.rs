//! What the account promises.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::*;

const MB: usize = 1 << 20;

#[test]
fn a_charge_that_does_not_fit_changes_nothing() {
    let account = MemoryAccount::new(256 * MB);
    assert_eq!(
        account.limit(),
        (256 - 32 - 16) * MB,
        "the program's part and the pool's least are set aside"
    );
    account.charge(Clerk::QueryReservations, 200 * MB).expect("it fits");
    assert_eq!(account.charge(Clerk::Sessions, 9 * MB), Err(OutOfMemory));
    assert_eq!(
        (account.total(), account.held(Clerk::Sessions), account.refused()),
        (200 * MB, 0, 1)
    );
    account.charge(Clerk::Sessions, 8 * MB).expect("what is left");
    account.force(Clerk::Sessions, 50 * MB);
    assert_eq!(account.total(), 258 * MB, "what is there already is counted whatever it is");
    account.release(Clerk::Sessions, 58 * MB);
    account.release(Clerk::QueryReservations, 200 * MB);
    assert_eq!(account.total(), 0);
    assert_eq!(account.charge(Clerk::Sessions, usize::MAX), Err(OutOfMemory));
}

#[test]
fn what_tells_itself_how_much_it_holds_leaves_less_for_others() {
    let account = Arc::new(MemoryAccount::new(256 * MB));
    let log = Arc::new(AtomicUsize::new(100 * MB));
    let there = Arc::downgrade(&log);
    account.add_source(Clerk::Log, move || there.upgrade().map(|log| log.load(Relaxed)));
    assert_eq!(account.charge(Clerk::QueryExecution, 110 * MB), Err(OutOfMemory));
    assert_eq!(account.held(Clerk::Log), 100 * MB);
    account.balance();
    assert_eq!(account.left_for_pages(), (256 - 32 - 100) * MB);
    account.charge(Clerk::QueryExecution, 100 * MB).expect("what is left");
    account.balance();
    assert_eq!(account.left_for_pages(), (256 - 32 - 200) * MB);
    drop(log);
    account.balance();
    assert_eq!(account.left_for_pages(), (256 - 32 - 100) * MB, "what is gone holds nothing");
    assert!(account.sources.read().is_empty());
}

struct Plans {
    account: std::sync::Weak<MemoryAccount>,
    bytes: AtomicUsize,
}

impl Cache for Plans {
    fn give_back(&self, bytes: usize) -> usize {
        let less = bytes.min(self.bytes.load(Relaxed));
        self.bytes.fetch_sub(less, Relaxed);
        if let Some(account) = self.account.upgrade() {
            account.release(Clerk::Plans, less);
        }
        less
    }
}

#[test]
fn caches_give_way_before_somebody_is_refused() {
    let account = Arc::new(MemoryAccount::new(256 * MB));
    let plans =
        Arc::new(Plans { account: Arc::downgrade(&account), bytes: AtomicUsize::new(150 * MB) });
    account.charge(Clerk::Plans, 150 * MB).expect("there is room");
    account.add_cache(Arc::downgrade(&plans));
    account.charge(Clerk::QueryExecution, 100 * MB).expect("plans give way");
    assert!(account.held(Clerk::Plans) < 150 * MB);
    account.charge(Clerk::QueryExecution, 100 * MB).expect("all of them");
    assert_eq!(account.charge(Clerk::QueryExecution, 100 * MB), Err(OutOfMemory));
    drop(plans);
    assert_eq!(
        account.charge(Clerk::QueryExecution, 100 * MB),
        Err(OutOfMemory),
        "a cache that is gone"
    );
}

#[test]
fn the_process_counts_where_it_is_the_instances() {
    let account = MemoryAccount::new(256 * MB);
    let resident = Arc::new(AtomicUsize::new(60 * MB));
    let told = resident.clone();
    account.measure(move || Some(told.load(Relaxed)), || {});
    account.charge(Clerk::QueryExecution, 20 * MB).expect("it fits");
    account.balance();
    assert_eq!(account.left_for_pages(), (256 - 40 - 20) * MB, "40 MB are nobody's: the program");
    resident.store(500 * MB, Relaxed);
    account.balance();
    assert_eq!(account.left_for_pages(), 16 * MB, "the pool has its least whatever happens");
    assert_eq!(
        account.charge(Clerk::QueryExecution, MB),
        Err(OutOfMemory),
        "far beyond the target"
    );
    account.charge(Clerk::Plans, MB / 2).expect("little can be had all the same");
    let step = |own| account.charge_fairly(Clerk::QueryExecution, MB / 4, own);
    assert_eq!(step(8 * MB), Err(OutOfMemory), "not by one that grows in small steps");
    step(7 * MB).expect("by one that holds little");
    resident.store(60 * MB, Relaxed);
    account.look();
    account.charge(Clerk::QueryExecution, MB).expect("it was given back");
}

#[test]
fn the_pool_is_told_of_changes_that_matter() {
    let account = MemoryAccount::new(256 * MB);
    let told = Arc::new(AtomicBool::new(false));
    let tell = told.clone();
    account.on_change(move || tell.store(true, Relaxed));
    account.force(Clerk::Sessions, MB);
    assert!(!told.load(Relaxed));
    account.force(Clerk::Sessions, 4 * MB);
    assert!(told.swap(false, Relaxed));
    account.release(Clerk::Sessions, 5 * MB);
    assert!(told.load(Relaxed));
}

#[test]
fn many_threads_leave_the_sum_exact() {
    let account = Arc::new(MemoryAccount::new(64 * MB));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..10_000 {
                    if account.charge(Clerk::Sessions, 12 * MB).is_ok() {
                        account.release(Clerk::Sessions, 12 * MB);
                    }
                }
            });
        }
    });
    assert_eq!((account.total(), account.held(Clerk::Sessions)), (0, 0));
}

#[test]
fn the_allocator_gives_back_before_somebody_is_refused() {
    let account = MemoryAccount::new(256 * MB);
    let resident = Arc::new(AtomicUsize::new(500 * MB));
    let (told, trimmed) = (resident.clone(), resident.clone());
    account.measure(move || Some(told.load(Relaxed)), move || trimmed.store(60 * MB, Relaxed));
    account
        .charge(Clerk::QueryExecution, 20 * MB)
        .expect("what the allocator has kept can be had again");
    assert_eq!(resident.load(Relaxed), 60 * MB);
    // In vain: it is not asked each time.
    let times = Arc::new(AtomicUsize::new(0));
    let counted = times.clone();
    let account = MemoryAccount::new(256 * MB);
    account.measure(
        || Some(500 * MB),
        move || {
            counted.fetch_add(1, Relaxed);
        },
    );
    for _ in 0..100 {
        assert_eq!(account.charge(Clerk::QueryExecution, MB), Err(OutOfMemory));
    }
    assert_eq!(times.load(Relaxed), 1);
}

#[test]
fn the_allocator_is_asked_again_once_much_is_given_back() {
    let account = MemoryAccount::new(256 * MB);
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    account.measure(
        || Some(200 * MB),
        move || {
            count.fetch_add(1, Relaxed);
        },
    );
    account.balance();
    assert_eq!(asked.load(Relaxed), 1, "in vain: not again for a while");
    account.charge(Clerk::QueryExecution, 100 * MB).expect("it fits");
    account.balance();
    account.release(Clerk::QueryExecution, 100 * MB);
    std::thread::sleep(std::time::Duration::from_millis(2 * TRIM_MILLIS));
    account.balance();
    assert_eq!(
        asked.load(Relaxed),
        2,
        "100 MB more than then were charged meanwhile, and given back"
    );
}
