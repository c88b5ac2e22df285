//! The one place that knows the asynchronous runtime: a thread that runs futures, and tasks that
//! others wait for. Guarantees: a task that nobody waits for any more is stopped; waiting never
//! hangs on a worker that is gone.

use std::future::Future;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

/// Requests that may be on their way at once; the calls block a thread each.
const THREADS: usize = 512;

/// A thread with a runtime of its own.
#[derive(Debug)]
pub struct Worker {
    handle: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    pub fn start() -> std::io::Result<Worker> {
        let runtime =
            Builder::new_current_thread().enable_time().max_blocking_threads(THREADS).build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new().name("s3".into()).spawn(move || {
            // Ends with the worker, which drops the sender.
            let _ = runtime.block_on(stopped);
            // Requests on their way end by their own time limits; nobody waits for them.
            runtime.shutdown_background();
        })?;
        Ok(Worker { handle, stop: Some(stop), thread: Some(thread) })
    }

    /// Starts a future.
    pub fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> RunningTask<T> {
        let (sender, done) = channel();
        let task = self.handle.spawn(async move {
            // A caller that dropped the task does not want its result.
            let _ = sender.send(future.await);
        });
        RunningTask { done, task: task.abort_handle() }
    }

    /// Runs a future to its end; `None` if it panicked.
    pub fn run<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        self.spawn(future).wait()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic was reported where it happened.
            let _ = thread.join();
        }
    }
}

/// A future that runs.
#[derive(Debug)]
pub struct RunningTask<T> {
    done: Receiver<T>,
    task: AbortHandle,
}

impl<T> RunningTask<T> {
    /// Its result; `None` if it panicked or the worker is gone.
    pub fn wait(self) -> Option<T> {
        self.done.recv().ok()
    }
}

impl<T> Drop for RunningTask<T> {
    fn drop(&mut self) {
        self.task.abort();
    }
}
