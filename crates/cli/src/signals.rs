//! SIGINT, SIGTERM and SIGHUP: a clean stop. Running batches end, transactions roll back, all that
//! was committed is made durable, the databases are closed; then the process ends with 128 plus the
//! signal's number. At the prompt SIGINT cancels the running batch instead. Signals that were
//! ignored when the process began (nohup, `&` in a script) stay ignored; SIGINT at the prompt does
//! not.

use engine::Instance;
use parking_lot::Mutex;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use server::StopHandle;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

static STOPPING: AtomicBool = AtomicBool::new(false);

/// What SIGINT cancels at the prompt.
pub struct Interrupt {
    /// Cancels the session's running batch.
    pub cancel: Box<dyn Fn() + Send>,
    /// Set for callers that run one batch after the other.
    pub pending: Arc<AtomicBool>,
}

/// From now on these signals stop `instance` cleanly and end the process, but for SIGINT where
/// there is an `interrupt`.
pub fn stop_cleanly(instance: &Arc<Instance>, interrupt: Option<Interrupt>) -> std::io::Result<()> {
    let ignored = ignored_at_start();
    let at_the_prompt = interrupt.is_some();
    let heeds =
        |signal: &i32| ignored >> (signal - 1) & 1 == 0 || at_the_prompt && *signal == SIGINT;
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP].into_iter().filter(heeds))?;
    let instance = Arc::clone(instance);
    let wait = move || {
        for signal in signals.forever() {
            match &interrupt {
                Some(interrupt) if signal == SIGINT => {
                    interrupt.pending.store(true, Ordering::Release);
                    (interrupt.cancel)();
                }
                _ => stop(&instance, signal),
            }
        }
    };
    std::thread::Builder::new().name("signals".into()).spawn(wait).map(drop)
}

/// From now on these signals end the process, but for SIGINT where there is an `interrupt`; the end
/// of its connections rolls back what runs on servers.
pub fn end_at_once(interrupt: Option<Interrupt>) -> std::io::Result<()> {
    let ignored = ignored_at_start();
    let at_the_prompt = interrupt.is_some();
    let heeds =
        |signal: &i32| ignored >> (signal - 1) & 1 == 0 || at_the_prompt && *signal == SIGINT;
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP].into_iter().filter(heeds))?;
    let wait = move || {
        for signal in signals.forever() {
            match &interrupt {
                Some(interrupt) if signal == SIGINT => {
                    interrupt.pending.store(true, Ordering::Release);
                    (interrupt.cancel)();
                }
                _ => {
                    restore_terminal();
                    std::process::exit(128 + signal);
                }
            }
        }
    };
    std::thread::Builder::new().name("signals".into()).spawn(wait).map(drop)
}

/// From now on these signals stop the server that `server` will hold, and before there is one the
/// instance as in [`stop_cleanly`].
pub fn stop_server(
    instance: &Arc<Instance>,
    server: Arc<OnceLock<StopHandle>>,
) -> std::io::Result<()> {
    let ignored = ignored_at_start();
    let heeds = |signal: &i32| ignored >> (signal - 1) & 1 == 0;
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP].into_iter().filter(heeds))?;
    let instance = Arc::downgrade(instance);
    let wait = move || {
        for signal in signals.forever() {
            match (server.get(), instance.upgrade()) {
                (Some(server), _) => server.stop(),
                (None, Some(instance)) => stop(&instance, signal),
                (None, None) => {}
            }
        }
    };
    std::thread::Builder::new().name("signals".into()).spawn(wait).map(drop)
}

/// The terminal as it was before the prompt changed it.
static TERMINAL: Mutex<Option<Termios>> = Mutex::new(None);

/// Keeps the terminal's settings, which a signal at the prompt puts back.
pub fn remember_terminal() {
    *TERMINAL.lock() = tcgetattr(std::io::stdin()).ok();
}

fn stop(instance: &Instance, signal: i32) {
    STOPPING.store(true, Ordering::Release);
    instance.end_sessions();
    if let Err(error) = instance.close() {
        super::say::say_error(&error);
    }
    restore_terminal();
    std::process::exit(128 + signal);
}

fn restore_terminal() {
    if let Some(settings) = &*TERMINAL.lock() {
        // The terminal may be gone: SIGHUP.
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Drain, settings);
    }
}

/// The mask of ignored signals, bit 0 for signal 1; nothing where the system does not tell.
fn ignored_at_start() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0)
}

/// Waits for the end of the process if a signal has come: a thread that was told to stop must not
/// end it before the databases are closed.
pub fn wait_if_stopping() {
    while STOPPING.load(Ordering::Acquire) {
        std::thread::park();
    }
}
