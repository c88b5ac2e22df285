//! SHUTDOWN: a statement asks for it, the program that runs the instance hears of it and closes it.

use std::sync::atomic::Ordering;

use super::InstanceCore;

impl InstanceCore {
    /// SHUTDOWN was asked for: the program that runs the instance closes it.
    pub fn shutdown_requested(&self) -> bool {
        self.shutdown.load(Ordering::Acquire)
    }

    /// What is to be called when SHUTDOWN is asked for; once.
    pub fn on_shutdown(&self, tell: Box<dyn Fn() + Send + Sync>) {
        // An instance is served by one server.
        let _ = self.shutdown_heard.set(tell);
    }

    pub fn request_shutdown(&self) {
        self.shutdown.store(true, Ordering::Release);
        if let Some(tell) = self.shutdown_heard.get() {
            tell();
        }
    }
}
