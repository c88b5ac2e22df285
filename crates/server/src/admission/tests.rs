//! Requests of several logins that come, wait, are withdrawn and end.

use super::*;
use std::sync::atomic::AtomicBool;

/// A request that is in the queue or not.
#[derive(Debug, Default)]
struct Item {
    withdrawn: AtomicBool,
}

impl Queued for Item {
    fn leaves_queue(&self, _: Ticket) -> bool {
        !self.withdrawn.load(Ordering::SeqCst)
    }
}

fn admission(running: usize) -> Admission<Item> {
    Admission::new(running, 50, 2)
}

/// Lets requests of a class in until one has to wait.
fn fill(admission: &Admission<Item>, share: &Arc<Member>, class: Class) -> Vec<Slot> {
    (0..).map_while(|n| admission.enter(share, class, n, usize::MAX)).collect()
}

fn queued(admission: &Admission<Item>, share: &Arc<Member>, class: Class) -> (Arc<Item>, Ticket) {
    let item = Arc::new(Item::default());
    match admission.queue(share, class, 0, &item, |_| true) {
        (AdmissionOutcome::Queued(ticket), begun) if begun.is_empty() => (item, ticket),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_login_that_waits_leaves_room_for_others() {
    let admission = admission(512);
    let (one, two) = (admission.share_of(300, false), admission.share_of(301, false));
    assert!(Arc::ptr_eq(one.share(), admission.share_of(300, false).share()));
    let mut held = fill(&admission, &one, Class::Ordinary);
    assert_eq!(held.len(), 256);
    // Those that wait make room for others of the same login, up to the same number.
    held.iter_mut().for_each(|slot| assert!(admission.waits(slot).is_empty()));
    held.extend(fill(&admission, &one, Class::Ordinary));
    held.iter_mut().for_each(|slot| assert!(admission.waits(slot).is_empty()));
    assert_eq!(held.len(), 512);
    assert!(admission.enter(&one, Class::Ordinary, 0, usize::MAX).is_none());
    assert_eq!(fill(&admission, &two, Class::Ordinary).len(), 128);
}

#[test]
fn what_others_may_wait_for_gets_through() {
    let admission = admission(8);
    let one = admission.share_of(300, false);
    let mut held = fill(&admission, &one, Class::Ordinary);
    assert_eq!(held.len(), 4);
    held.extend(fill(&admission, &one, Class::Transaction));
    assert_eq!(held.len(), 6);
    // COMMITs of them all, one after the other, whatever waits.
    for _ in 0..1_000 {
        let slot = admission.enter(&one, Class::End, 0, usize::MAX).unwrap();
        assert!(admission.leave(slot).is_empty());
    }
    let ends = fill(&admission, &one, Class::End);
    assert_eq!(ends.len(), ENDING / 2);
    assert_eq!(held.iter().chain(&ends).filter(|slot| slot.is_ordinary()).count(), 4);
    // Its passwords are checked, and its sessions opened.
    assert!(admission.enter(admission.strangers(), Class::Authentication, 0, usize::MAX).is_some());
    assert!(admission.enter(&one, Class::Opening, 0, usize::MAX).is_some());
    // Administrators have threads of their own.
    let sa = admission.share_of(1, true);
    assert_eq!(fill(&admission, &sa, Class::Ordinary).len(), 2 + ADMINISTRATOR / 2);
    assert!(admission.held() <= admission.most());
}

#[test]
fn requests_begin_in_their_order_as_threads_come_back() {
    let admission = admission(4);
    let one = admission.share_of(300, false);
    let mut held = fill(&admission, &one, Class::Ordinary);
    let first = queued(&admission, &one, Class::Ordinary);
    let second = queued(&admission, &one, Class::Ordinary);
    let third = queued(&admission, &one, Class::Ordinary);
    assert_eq!(admission.queued(), 3);
    // One that comes now waits behind them.
    assert!(admission.enter(&one, Class::Ordinary, 0, usize::MAX).is_none());
    admission.withdraw(second.1);
    admission.withdraw(second.1);
    assert_eq!(admission.queued(), 2);
    let mut begun = admission.leave(held.pop().unwrap());
    assert_eq!(begun.len(), 1);
    let (item, slot) = begun.pop().unwrap();
    assert!(Arc::ptr_eq(&item, &first.0));
    // One that is being withdrawn is passed over.
    third.0.withdrawn.store(true, Ordering::SeqCst);
    assert!(admission.leave(slot).is_empty());
    assert_eq!((admission.queued(), admission.held()), (0, held.len()));
}

#[test]
fn a_login_with_fewer_threads_goes_first() {
    let admission = admission(6);
    let (one, two) = (admission.share_of(300, false), admission.share_of(301, false));
    let held = fill(&admission, &one, Class::Ordinary);
    let mut others = fill(&admission, &two, Class::Ordinary);
    assert_eq!((held.len(), others.len()), (3, 2));
    queued(&admission, &one, Class::Ordinary);
    let other = queued(&admission, &two, Class::Ordinary);
    let begun = admission.leave(others.remove(0));
    assert_eq!(begun.len(), 1);
    assert!(Arc::ptr_eq(&begun[0].0, &other.0));
}

#[test]
fn nothing_begins_when_all_is_ended() {
    let admission = admission(4);
    let one = admission.share_of(300, false);
    let held = fill(&admission, &one, Class::Ordinary);
    let (_, ticket) = queued(&admission, &one, Class::Ordinary);
    admission.close();
    held.into_iter().for_each(|slot| assert!(admission.leave(slot).is_empty()));
    admission.withdraw(ticket);
    assert_eq!((admission.queued(), admission.held()), (0, 0));
}

#[test]
fn a_request_that_has_heard_of_its_end_is_not_queued() {
    let admission = admission(4);
    let one = admission.share_of(300, false);
    let held = fill(&admission, &one, Class::Ordinary);
    let item = Arc::new(Item::default());
    let (entry, begun) = admission.queue(&one, Class::Ordinary, 0, &item, |_| false);
    assert!(matches!(entry, AdmissionOutcome::Refused) && begun.is_empty());
    assert_eq!((admission.queued(), admission.held()), (0, held.len()));
}

/// What one thread of the test below does.
fn enter_and_leave(admission: &Admission<Item>, seed: u64, ran: &AtomicUsize) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut mine: Vec<Slot> = Vec::new();
    for _ in 0..20_000 {
        let share = admission.share_of(300 + random.i32(0..3), false);
        let item = Arc::new(Item::default());
        if let Some(slot) = admission.enter(&share, Class::Ordinary, 0, usize::MAX) {
            mine.push(slot);
        } else {
            let (entry, begun) = admission.queue(&share, Class::Ordinary, 0, &item, |_| true);
            mine.extend(begun.into_iter().map(|(_, slot)| slot));
            match entry {
                AdmissionOutcome::Admitted(slot) => mine.push(slot),
                AdmissionOutcome::Queued(ticket) if random.bool() => {
                    item.withdrawn.store(true, Ordering::SeqCst);
                    admission.withdraw(ticket);
                }
                _ => {}
            }
        }
        assert!(admission.held() <= 20, "each thread counts one too many for a moment at most");
        if random.bool() || mine.len() > 3 {
            finish(admission, &mut mine, &mut random, ran);
        }
    }
    finish(admission, &mut mine, &mut random, ran);
}

/// Ends requests, and those that begin as they end.
fn finish(
    admission: &Admission<Item>,
    mine: &mut Vec<Slot>,
    random: &mut fastrand::Rng,
    ran: &AtomicUsize,
) {
    while let Some(mut slot) = mine.pop() {
        if random.bool() {
            mine.extend(admission.waits(&mut slot).into_iter().map(|(_, slot)| slot));
        }
        mine.extend(admission.leave(slot).into_iter().map(|(_, slot)| slot));
        ran.fetch_add(1, Ordering::Relaxed);
    }
}

/// Threads that enter, wait and leave at random: nothing stays in the queue when all have ended.
#[test]
fn nothing_is_forgotten_between_many_threads() {
    let (admission, ran) = (Arc::new(admission(8)), Arc::new(AtomicUsize::new(0)));
    let threads: Vec<_> = (0..4)
        .map(|seed| {
            let (admission, ran) = (admission.clone(), ran.clone());
            std::thread::spawn(move || enter_and_leave(&admission, seed, &ran))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!((admission.queued(), admission.held()), (0, 0));
    assert!(ran.load(Ordering::Relaxed) > 40_000);
}
