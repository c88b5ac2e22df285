//! The meter with a count that the tests set themselves.

use super::*;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
}

fn account(megabytes: usize) -> Arc<MemoryAccount> {
    count_with(|| HELD.get());
    Arc::new(MemoryAccount::new(megabytes << 20))
}

fn allocate(bytes: isize) {
    HELD.set(HELD.get() + bytes);
}

const MB: isize = 1 << 20;

fn metered(account: &MemoryAccount) -> isize {
    account.held(Clerk::QueryExecution) as isize
}

#[test]
fn what_nobody_charges_is_found_and_goes_back_with_the_request() {
    let account = account(64);
    allocate(500 * MB);
    let scope = Metered::begin(&account);
    check().expect("what was there before does not count");
    assert_eq!(metered(&account), 0);
    allocate(STEP - 1);
    check().expect("less than a step");
    assert_eq!(metered(&account), 0, "short requests touch nothing shared");
    allocate(4 * MB);
    check().expect("it fits");
    assert_eq!(metered(&account), 4 * MB + STEP - 1);
    allocate(-3 * MB);
    check().expect("less");
    assert_eq!(metered(&account), MB + STEP - 1);
    drop(scope);
    assert_eq!((metered(&account), account.total()), (0, 0));
    allocate(500 * MB);
    check().expect("nothing is metered outside of requests");
    assert_eq!(account.total(), 0);
}

#[test]
fn it_is_refused_for_the_one_that_holds_it() {
    let account = account(64);
    let _scope = Metered::begin(&account);
    allocate(account.limit() as isize / 2 + MB);
    assert_eq!(check(), Err(OutOfMemory));
    assert_eq!(check(), Err(OutOfMemory), "as long as it holds it");
    let others = account.clone();
    let other = std::thread::spawn(move || {
        let _scope = Metered::begin(&others);
        allocate(4 * MB);
        check()
    });
    assert_eq!(other.join().unwrap(), Ok(()));
    allocate(-16 * MB);
    check().expect("it has given some back");
}

#[test]
fn what_is_charged_otherwise_is_not_charged_twice() {
    let account = account(64);
    let _scope = Metered::begin(&account);
    account.charge(Clerk::Sessions, 8 << 20).expect("it fits");
    allocate(10 * MB);
    check().expect("it fits");
    assert_eq!((account.held(Clerk::Sessions) as isize, metered(&account)), (8 * MB, 2 * MB));
    account.release(Clerk::Sessions, 8 << 20);
    allocate(-8 * MB);
    allocate(STEP + 1);
    check().expect("it fits");
    assert_eq!(metered(&account), 2 * MB + STEP + 1);
    account.force(Clerk::Sessions, 1 << 20);
    allocate(MB + STEP + 1);
    check().expect("it fits");
    assert_eq!(metered(&account), 2 * MB + 2 * (STEP + 1));
    // Charged before it is allocated.
    account.charge(Clerk::Sessions, 12 << 20).expect("it fits");
    allocate(STEP + 1);
    check().expect("it fits");
    assert_eq!(metered(&account), 0);
    account.release(Clerk::Sessions, 13 << 20);
}

#[test]
fn a_request_inside_of_another_leaves_its_state_as_it_was() {
    let (outer, inner) = (account(64), account(64));
    let around = Metered::begin(&outer);
    allocate(2 * MB);
    check().expect("it fits");
    let within = Metered::begin(&inner);
    allocate(3 * MB);
    check().expect("it fits");
    assert_eq!((metered(&outer), metered(&inner)), (2 * MB, 3 * MB));
    drop(within);
    assert_eq!((metered(&outer), metered(&inner)), (2 * MB, 0));
    allocate(MB);
    check().expect("it fits");
    assert_eq!(metered(&outer), 6 * MB, "what the inner one has left counts for the outer one");
    drop(around);
    assert_eq!(metered(&outer), 0);
}
