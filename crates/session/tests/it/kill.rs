//! KILL and a request that begins in the same moment: the request is told, or it is seen to run;
//! and it is cancelled in either case.

use std::sync::atomic::{AtomicUsize, Ordering};

use session::state::core::SessionShared;

const ROUNDS: usize = 20_000;

/// Waits until both threads have come to this round.
fn meet(arrived: &AtomicUsize, round: usize) {
    arrived.fetch_add(1, Ordering::SeqCst);
    let mut looks = 0_u32;
    while arrived.load(Ordering::SeqCst) < 2 * (round + 1) {
        looks += 1;
        if looks.is_multiple_of(1000) {
            std::thread::yield_now();
        }
        std::hint::spin_loop();
    }
}

#[test]
fn a_request_that_begins_while_kill_comes_is_told_or_seen() {
    let sessions: Vec<SessionShared> = (0..ROUNDS).map(|_| SessionShared::default()).collect();
    let arrived = AtomicUsize::new(0);
    let (told, seen) = std::thread::scope(|scope| {
        let begins = scope.spawn(|| {
            let begin = |(round, session): (usize, &SessionShared)| {
                meet(&arrived, round);
                session.begins();
                session.killed.load(Ordering::Acquire)
            };
            sessions.iter().enumerate().map(begin).collect::<Vec<bool>>()
        });
        let kill = |(round, session): (usize, &SessionShared)| {
            meet(&arrived, round);
            session.kill();
            session.runs_after_kill()
        };
        let seen: Vec<bool> = sessions.iter().enumerate().map(kill).collect();
        (begins.join().unwrap(), seen)
    });
    for (round, session) in sessions.iter().enumerate() {
        assert!(told[round] || seen[round], "round {round}: neither knows of the other");
        assert!(session.cancel.load(Ordering::SeqCst), "round {round}: the cancel is lost");
    }
}
