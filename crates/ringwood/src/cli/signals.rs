//! SIGINT and SIGTERM: a clean stop. Running batches end, transactions roll back, all that was committed is hardened,
//! the databases are closed; then the process ends with 128 plus the signal's number.

use engine::Instance;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

static STOPPING: AtomicBool = AtomicBool::new(false);

/// From now on these signals stop `instance` cleanly and end the process.
pub fn stop_cleanly(instance: &Arc<Instance>) -> std::io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let instance = Arc::clone(instance);
    let wait = move || {
        let Some(signal) = signals.forever().next() else { return };
        STOPPING.store(true, Ordering::Release);
        instance.end_sessions();
        if let Err(error) = instance.close() {
            super::output::print_error(&error, 1);
        }
        std::process::exit(128 + signal);
    };
    std::thread::Builder::new().name("signals".into()).spawn(wait).map(drop)
}

/// Waits for the end of the process if a signal has come: whoever was told to stop must not end it before the databases
/// are closed.
pub fn wait_if_stopping() {
    while STOPPING.load(Ordering::Acquire) {
        std::thread::park();
    }
}
