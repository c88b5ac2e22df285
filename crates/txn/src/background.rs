//! Threads that serve a database: how they are woken, stopped and joined.
//! Guarantees: a poke is never lost; after `stop` every thread ends within one round of its work.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

#[derive(Debug, Default)]
struct Flags {
    stop: bool,
    poked: bool,
}

/// Wakes one background thread.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    flags: Mutex<Flags>,
    rung: Condvar,
}

impl Bell {
    /// Wakes the thread, now or when it next waits.
    pub fn poke(&self) {
        self.flags.lock().poked = true;
        self.rung.notify_one();
    }

    /// Tells the thread to end.
    pub fn stop(&self) {
        self.flags.lock().stop = true;
        self.rung.notify_all();
    }

    /// Waits for a poke or `timeout` (None: for a poke only). False when the thread has to end.
    pub fn wait(&self, timeout: Option<Duration>) -> bool {
        let deadline = timeout.map(|t| Instant::now() + t);
        let mut f = self.flags.lock();
        while !f.stop && !f.poked {
            match deadline {
                None => self.rung.wait(&mut f),
                Some(d) => {
                    if self.rung.wait_until(&mut f, d).timed_out() {
                        break;
                    }
                }
            }
        }
        f.poked = false;
        !f.stop
    }
}

/// The threads of one database.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    running: Mutex<Vec<(Arc<Bell>, JoinHandle<()>)>>,
}

impl Threads {
    /// Starts a thread that ends when `bell` says so.
    pub fn start(
        &self,
        name: &str,
        bell: Arc<Bell>,
        body: impl FnOnce() + Send + 'static,
    ) -> std::io::Result<()> {
        let thread = std::thread::Builder::new().name(name.into()).spawn(body)?;
        self.running.lock().push((bell, thread));
        Ok(())
    }

    /// Stops and joins all. Called from one of the threads themselves it does not wait for that
    /// one.
    pub fn stop(&self) {
        let list = std::mem::take(&mut *self.running.lock());
        for (bell, _) in &list {
            bell.stop();
        }
        for (_, thread) in list {
            if thread.thread().id() != std::thread::current().id() {
                // A panic in a background thread has been reported by the panic hook already.
                drop(thread.join());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poke_before_the_wait_counts() {
        let bell = Bell::default();
        bell.poke();
        assert!(bell.wait(None));
        assert!(bell.wait(Some(Duration::from_millis(1))));
        bell.stop();
        assert!(!bell.wait(None));
    }
}
