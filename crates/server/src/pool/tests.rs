//! Work on lanes that are busy, blocked or stopped.

use super::*;
use crate::readiness::{Readiness, room};
use std::sync::{OnceLock, Weak, mpsc};

type Task = Box<dyn FnOnce() + Send>;

/// Nothing arrives but wakes.
struct Wakes(Readiness);

impl Arrivals<Task> for Wakes {
    fn wait(&self, _lane: usize, timeout: Option<Duration>) -> ArrivedWork<Task> {
        match self.0.wait(&mut room::<1>(), timeout).unwrap() {
            [] => ArrivedWork::Late,
            _ => ArrivedWork::Nothing,
        }
    }

    fn wake(&self, _lane: usize) {
        self.0.ring();
    }

    fn deserted(&self, _lane: usize) {}
}

/// So many requests may run.
struct AllowedRequests(Arc<AtomicUsize>);

impl HeldLoad for AllowedRequests {
    fn held(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    fn waiting(&self) -> usize {
        0
    }
}

/// Threads that it begins with.
const BASE: usize = 4;

/// A pool with room for so many requests.
fn pool(limit: usize) -> Pool<Task> {
    pool_with(Arc::new(AtomicUsize::new(limit.saturating_sub(BASE))))
}

fn pool_with(allowed: Arc<AtomicUsize>) -> Pool<Task> {
    let arrivals = Wakes(Readiness::new().unwrap());
    Pool::new(BASE, 1, arrivals, AllowedRequests(allowed), |task: Task| task()).unwrap()
}

#[test]
fn blocked_workers_make_room_for_those_that_free_them() {
    let pool = pool(100);
    let (free, wait) = mpsc::channel::<()>();
    let wait = Arc::new(Mutex::new(wait));
    let done = Arc::new(AtomicUsize::new(0));
    for _ in 0..50 {
        let (wait, done) = (wait.clone(), done.clone());
        pool.submit(
            Box::new(move || {
                wait.lock().recv().unwrap();
                done.fetch_add(1, Ordering::Relaxed);
            }),
            false,
        );
    }
    pool.submit(Box::new(move || (0..50).for_each(|_| free.send(()).unwrap())), false);
    let end = Instant::now() + Duration::from_secs(30);
    while done.load(Ordering::Relaxed) < 50 && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(done.load(Ordering::Relaxed), 50);
    assert!(pool.stop(end));
}

#[test]
fn the_pool_grows_when_it_may() {
    let allowed = Arc::new(AtomicUsize::new(0));
    let pool = pool_with(allowed.clone());
    let (free, wait) = mpsc::channel::<()>();
    let wait = Arc::new(Mutex::new(wait));
    let (told, heard) = mpsc::channel();
    for _ in 0..BASE + 5 {
        let wait = wait.clone();
        // Ends when the sender is gone.
        pool.submit(Box::new(move || assert!(wait.lock().recv().is_err())), false);
    }
    pool.submit(Box::new(move || told.send(()).unwrap()), true);
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(pool.threads().0, BASE);
    // One more: the urgent request goes first.
    allowed.store(1, Ordering::SeqCst);
    pool.may_grow();
    heard.recv_timeout(Duration::from_secs(30)).unwrap();
    drop(free);
    assert!(pool.stop(Instant::now() + Duration::from_secs(30)));
}

#[test]
fn requests_for_which_there_may_be_no_thread_are_not_looked_at() {
    let pool = pool(BASE);
    let (free, wait) = mpsc::channel::<()>();
    let wait = Arc::new(Mutex::new(wait));
    for _ in 0..200 {
        let wait = wait.clone();
        pool.submit(Box::new(move || assert!(wait.lock().recv().is_err())), false);
    }
    std::thread::sleep(Duration::from_millis(100));
    let looks = pool.shared.looks.load(Ordering::Relaxed);
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(pool.shared.looks.load(Ordering::Relaxed), looks);
    drop(free);
    assert!(pool.stop(Instant::now() + Duration::from_secs(30)));
}

#[test]
fn work_from_many_threads_is_never_forgotten() {
    let pool = Arc::new(pool(4));
    let done = Arc::new(AtomicUsize::new(0));
    let submitters: Vec<_> = (0..4)
        .map(|_| {
            let (pool, done) = (pool.clone(), done.clone());
            std::thread::spawn(move || {
                for n in 0..2_000 {
                    let done = done.clone();
                    let task = move || {
                        done.fetch_add(1, Ordering::Relaxed);
                    };
                    pool.submit(Box::new(task), n % 3 == 0);
                }
            })
        })
        .collect();
    submitters.into_iter().for_each(|thread| thread.join().unwrap());
    let end = Instant::now() + Duration::from_secs(30);
    while done.load(Ordering::Relaxed) < 8_000 && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(done.load(Ordering::Relaxed), 8_000);
    assert!(pool.stop(end));
}

#[test]
fn a_panic_costs_no_thread() {
    let pool = pool(2);
    let (told, heard) = mpsc::channel();
    for n in 0..10 {
        let told = told.clone();
        pool.submit(
            Box::new(move || {
                told.send(n).unwrap();
                std::panic::resume_unwind(Box::new(()));
            }),
            false,
        );
    }
    for _ in 0..10 {
        heard.recv_timeout(Duration::from_secs(30)).unwrap();
    }
    assert!(pool.stop(Instant::now() + Duration::from_secs(30)));
}

/// Counts the threads that leave while the pool's lock is free.
struct Leaves {
    wakes: Wakes,
    pool: Arc<OnceLock<Weak<PoolShared<Task>>>>,
    free: Arc<AtomicUsize>,
}

impl Arrivals<Task> for Leaves {
    fn wait(&self, lane: usize, timeout: Option<Duration>) -> ArrivedWork<Task> {
        self.wakes.wait(lane, timeout)
    }

    fn wake(&self, lane: usize) {
        self.wakes.wake(lane);
    }

    fn deserted(&self, _lane: usize) {}

    fn leave(&self) {
        let Some(shared) = self.pool.get().and_then(Weak::upgrade) else { return };
        // Other threads take it for moments.
        let end = Instant::now() + Duration::from_secs(5);
        while Instant::now() < end {
            if shared.state.try_lock().is_some() {
                self.free.fetch_add(1, Ordering::SeqCst);
                return;
            }
            std::thread::yield_now();
        }
    }
}

/// What a thread has kept may be the last of the server, whose end takes long or asks the pool.
#[test]
fn threads_leave_without_the_lock() {
    let (place, free) = (Arc::new(OnceLock::new()), Arc::new(AtomicUsize::new(0)));
    let wakes = Wakes(Readiness::new().unwrap());
    let arrivals = Leaves { wakes, pool: place.clone(), free: free.clone() };
    let none = AllowedRequests(Arc::default());
    let pool = Pool::new(BASE, 1, arrivals, none, |task: Task| task()).unwrap();
    assert!(place.set(Arc::downgrade(&pool.shared)).is_ok());
    pool.submit(Box::new(|| ()), false);
    assert!(pool.stop(Instant::now() + Duration::from_secs(30)));
    assert!(free.load(Ordering::SeqCst) > 0);
}

/// Tells for how long threads wait.
struct ToldWaits {
    wakes: Wakes,
    waits: mpsc::Sender<Option<Duration>>,
}

impl Arrivals<Task> for ToldWaits {
    fn wait(&self, lane: usize, timeout: Option<Duration>) -> ArrivedWork<Task> {
        // Nobody hears it any more at the end.
        let _ = self.waits.send(timeout);
        self.wakes.wait(lane, timeout)
    }

    fn wake(&self, lane: usize) {
        self.wakes.wake(lane);
    }

    fn deserted(&self, _lane: usize) {}
}

#[test]
fn only_threads_that_may_end_wait_with_a_limit() {
    let (waits, heard) = mpsc::channel();
    let arrivals = ToldWaits { wakes: Wakes(Readiness::new().unwrap()), waits };
    let allowed = Arc::new(AtomicUsize::new(0));
    let pool = Pool::new(BASE, 1, arrivals, AllowedRequests(allowed.clone()), |task: Task| task())
        .unwrap();
    let long = Duration::from_secs(30);
    let (told, done) = mpsc::channel();
    for _ in 0..100 {
        let told = told.clone();
        pool.submit(Box::new(move || told.send(()).unwrap()), false);
        done.recv_timeout(long).unwrap();
    }
    assert_eq!(heard.recv_timeout(long).unwrap(), None);
    assert!(heard.try_iter().all(|limit| limit.is_none()), "no more threads than it begins with");
    // Three more at work: each thread has a limit when it waits again.
    allowed.store(3, Ordering::SeqCst);
    let (free, wait) = mpsc::channel::<()>();
    let wait = Arc::new(Mutex::new(wait));
    let begun = Arc::new(AtomicUsize::new(0));
    for _ in 0..BASE + 3 {
        let (wait, begun) = (wait.clone(), begun.clone());
        let task = move || {
            begun.fetch_add(1, Ordering::SeqCst);
            assert!(wait.lock().recv().is_err());
        };
        pool.submit(Box::new(task), false);
    }
    let end = Instant::now() + long;
    while begun.load(Ordering::SeqCst) < BASE + 3 && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(begun.load(Ordering::SeqCst), BASE + 3);
    heard.try_iter().for_each(drop);
    drop(free);
    for _ in 0..BASE + 3 {
        assert_eq!(heard.recv_timeout(long).unwrap(), Some(LINGER));
    }
    assert!(pool.stop(Instant::now() + long));
}

/// A bell that is heard once, however often it was rung before. Who is woken looks at it when
/// `open` is free.
#[derive(Default)]
struct OneRing {
    rung: Mutex<bool>,
    changed: Condvar,
    open: Arc<Mutex<()>>,
}

impl Arrivals<Task> for OneRing {
    fn wait(&self, _lane: usize, _timeout: Option<Duration>) -> ArrivedWork<Task> {
        loop {
            let mut rung = self.rung.lock();
            while !*rung {
                self.changed.wait(&mut rung);
            }
            drop(rung);
            let _open = self.open.lock();
            if std::mem::take(&mut *self.rung.lock()) {
                return ArrivedWork::Nothing;
            }
        }
    }

    fn wake(&self, _lane: usize) {
        *self.rung.lock() = true;
        self.changed.notify_one();
    }

    fn deserted(&self, _lane: usize) {}
}

#[test]
fn two_requests_at_once_wake_two_threads() {
    let bell = OneRing::default();
    let open = bell.open.clone();
    let pool =
        Pool::new(BASE, 1, bell, AllowedRequests(Arc::default()), |task: Task| task()).unwrap();
    let end = Instant::now() + Duration::from_secs(30);
    for _ in 0..BASE {
        pool.submit(Box::new(|| ()), false);
    }
    while pool.shared.idle() < 2 && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(pool.shared.idle() >= 2);
    // The first one waits for the second one.
    let (free, wait) = mpsc::channel::<()>();
    let (told, heard) = mpsc::channel();
    let both_rang = open.lock();
    pool.submit(Box::new(move || told.send(wait.recv()).unwrap()), false);
    pool.submit(Box::new(move || free.send(()).unwrap()), false);
    drop(both_rang);
    assert_eq!(heard.recv_timeout(Duration::from_secs(30)), Ok(Ok(())));
    assert!(pool.stop(Instant::now() + Duration::from_secs(30)));
}

/// Gives a request to the first thread that waits, and counts how often the lane was left.
struct HandedRequest {
    requests: Mutex<mpsc::Receiver<Task>>,
    given: AtomicBool,
    wakes: Wakes,
    left: Arc<AtomicUsize>,
}

impl Arrivals<Task> for HandedRequest {
    fn wait(&self, lane: usize, timeout: Option<Duration>) -> ArrivedWork<Task> {
        if self.given.swap(true, Ordering::SeqCst) {
            return self.wakes.wait(lane, timeout);
        }
        ArrivedWork::Request(self.requests.lock().recv().unwrap())
    }

    fn wake(&self, lane: usize) {
        self.wakes.wake(lane);
    }

    fn deserted(&self, _lane: usize) {
        self.left.fetch_add(1, Ordering::SeqCst);
    }
}

/// The thread that is started in the place of the last free one may find a request in the queue
/// before it has ever waited: then nobody waits for the sockets, and the poller must know.
#[test]
fn a_lane_whose_new_thread_has_work_at_once_is_deserted() {
    let (give, requests) = mpsc::channel::<Task>();
    let left = Arc::new(AtomicUsize::new(0));
    let wakes = Wakes(Readiness::new().unwrap());
    let arrivals = HandedRequest {
        requests: Mutex::new(requests),
        given: AtomicBool::new(false),
        wakes,
        left: left.clone(),
    };
    let pool =
        Pool::new(2, 1, arrivals, AllowedRequests(Arc::default()), |task: Task| task()).unwrap();
    let end = Instant::now() + Duration::from_secs(30);
    pool.submit(Box::new(|| ()), false);
    while pool.shared.idle() == 0 && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(1));
    }
    let (free, wait) = mpsc::channel::<()>();
    let wait = Arc::new(Mutex::new(wait));
    let blocks = |wait: Arc<Mutex<mpsc::Receiver<()>>>| -> Task {
        Box::new(move || assert!(wait.lock().recv().is_err()))
    };
    let before = left.load(Ordering::SeqCst);
    pool.submit(blocks(wait.clone()), false);
    give.send(blocks(wait)).unwrap();
    let seen = Instant::now() + Duration::from_secs(5);
    while left.load(Ordering::SeqCst) == before && Instant::now() < seen {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(left.load(Ordering::SeqCst) > before, "both threads are at work and nobody knows");
    drop(free);
    assert!(pool.stop(end));
}

#[test]
fn a_thread_that_waits_is_not_runnable() {
    assert!(is_runnable(gettid()));
    let (tell, told) = mpsc::channel();
    let (end, ended) = mpsc::channel::<()>();
    let body = move || {
        tell.send(gettid()).unwrap();
        let _ = ended.recv();
    };
    // The name is shown before the state.
    let waits = std::thread::Builder::new().name("a) R (b".into()).spawn(body).unwrap();
    let (thread, late) = (told.recv().unwrap(), Instant::now() + Duration::from_secs(20));
    while is_runnable(thread) {
        assert!(Instant::now() < late, "it waits, and is told to run");
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(end);
    waits.join().unwrap();
}
