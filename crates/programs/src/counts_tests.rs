//! What is counted of executions that are measured and of those that are not, of sessions that come
//! and go.

use super::*;

#[test]
fn a_short_statement_is_measured_now_and_then_and_counted_always() {
    let counts = CountsOfBatch::new(1);
    let own = counts.counts();
    let mut measured = 0;
    for n in 0..1000 {
        let begun = own.statements[0].begin();
        measured += u64::from(begun.exact.is_some());
        own.statements[0].end(begun, n % 3);
    }
    let total = counts.total(Some(0));
    assert_eq!((total.executions, total.rows.total), (1000, 999));
    assert_eq!((total.rows.least, total.rows.greatest, total.rows.last), (0, 2, 0));
    // A machine that stops for a while may make some of them long.
    assert!((4..100).contains(&measured), "{measured}");
    assert_eq!(counts.total(None).executions, 0);
}

/// Executions of which some wait: those that are measured after a row of short ones, or others.
/// Microseconds that were counted, that all waited together, and that have passed.
fn with_waits(of_measured: bool) -> (u64, u64, u64) {
    const WAIT: Duration = Duration::from_millis(12);
    let counts = CountsOfBatch::new(1);
    let own = counts.counts();
    let began = Instant::now();
    let (mut waited, mut row) = (0, 0);
    for _ in 0..2_000 {
        let begun = own.statements[0].begin();
        let measured = begun.exact.is_some();
        let before = row;
        row = if measured { 0 } else { row + 1 };
        let waits = match of_measured {
            true => measured && before > 0,
            false => row % 100 == 50,
        };
        if waits {
            std::thread::sleep(WAIT);
            waited += 12_000;
        }
        own.statements[0].end(begun, 1);
    }
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    (counts.total(Some(0)).elapsed.total, waited, micros(began.elapsed()))
}

/// The coarse clock may be ahead by one step, and a short one may be taken for longer than it was.
const MORE: u64 = 500_000;

#[test]
fn an_execution_that_waited_says_nothing_of_those_before_it() {
    let (counted, waited, passed) = with_waits(true);
    assert!(waited > 0 && counted >= waited, "{counted} us of {waited}");
    assert!(counted <= passed + MORE, "{counted} us of {passed}");
}

#[test]
fn executions_that_wait_unmeasured_are_counted() {
    let (counted, waited, passed) = with_waits(false);
    assert!(waited >= 100_000 && counted >= waited / 2, "{counted} us of {waited}");
    assert!(counted <= passed + MORE, "{counted} us of {passed}");
}

#[test]
fn a_session_that_goes_leaves_its_counts_to_the_next() {
    let counts = CountsOfBatch::new(1);
    let (one, other) = (counts.counts(), counts.counts());
    assert!(!Arc::ptr_eq(&one, &other));
    let unmeasured = || BegunExecution { coarse: coarse_time(), exact: None };
    one.statements[0].end(unmeasured(), 5);
    other.statements[0].end(unmeasured(), 7);
    let address = Arc::as_ptr(&one);
    drop(one);
    let next = counts.counts();
    assert_eq!(Arc::as_ptr(&next), address);
    next.statements[0].end(unmeasured(), 1);
    let total = counts.total(Some(0));
    assert_eq!(
        (total.executions, total.rows.total, total.rows.least, total.rows.greatest),
        (3, 13, 1, 7)
    );
}
