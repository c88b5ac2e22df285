//! `ringwood sql`: scripts, texts, standard input or a prompt on an embedded instance or on a
//! server.

mod complete;
mod input;
mod meta;
mod options;
mod pager;
mod plan;
mod printer;
mod prompt;
mod remote;
mod runner;
mod script;
mod server_args;
mod target;
mod variables;

pub use self::options::SqlArgs;
pub use self::server_args::ServerArgs;

use self::remote::Lookup;
use self::runner::{Flow, Runner};
use self::script::{Rules, Script};
use self::target::{Remote, SqlTarget};
use self::variables::Variables;
use super::say::{say, say_error};
use super::signals;
use engine::Instance;
use std::io::{self, IsTerminal};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The variables that options and the environment give.
fn variables(args: &SqlArgs) -> Variables {
    let environment: Vec<(String, String)> = if args.safe.is_some() {
        Vec::new()
    } else {
        let text = |text: std::ffi::OsString| text.into_string().ok();
        std::env::vars_os().filter_map(|(name, value)| Some((text(name)?, text(value)?))).collect()
    };
    let mut variables = Variables::new(environment);
    let output = &args.output;
    let number = |n: Option<u32>| n.map(|n| n.to_string());
    let given = [
        ("SQLCMDDBNAME", args.database.clone()),
        ("SQLCMDWORKSTATION", args.host.clone()),
        ("SQLCMDSTATTIMEOUT", number(args.timeout)),
        ("SQLCMDHEADERS", output.headers.map(|n| n.to_string())),
        ("SQLCMDCOLSEP", output.separator.clone()),
        ("SQLCMDCOLWIDTH", number(output.line_width)),
        ("SQLCMDMAXVARTYPEWIDTH", number(output.max_type_width)),
        ("SQLCMDMAXFIXEDTYPEWIDTH", number(output.type_width)),
        ("SQLCMDERRORLEVEL", output.error_level.map(|n| n.to_string())),
    ];
    for (name, value) in given {
        if let Some(value) = value {
            variables.put(name, &value);
        }
    }
    for (name, value) in &args.variables {
        variables.put(name, value);
    }
    variables
}

/// The files of `-i`: a name with commas is a list, unless there is such a file.
fn files(args: &SqlArgs) -> Vec<PathBuf> {
    let split = |name: &PathBuf| match name.to_str() {
        Some(text) if text.contains(',') && !name.exists() => {
            text.split(',').map(PathBuf::from).collect()
        }
        _ => vec![name.clone()],
    };
    args.files.iter().flat_map(split).collect()
}

/// Runs the command. Whatever ends it, an instance that it opened is stopped cleanly.
pub fn run(args: &SqlArgs) -> ExitCode {
    if let Some(server) = &args.server {
        let server = if args.dedicated { server.to_dedicated() } else { server.clone() };
        return ExitCode::from(run_at_server(args, &server));
    }
    if let Err(error) = args.login.without_server() {
        say(error);
        return ExitCode::from(2);
    }
    let instance = match args.instance.open_within(Duration::from_secs(args.open_timeout.into())) {
        Ok(instance) => instance,
        Err(error) => {
            say_error(&error);
            return ExitCode::FAILURE;
        }
    };
    ExitCode::from(guarded(&instance, || run_on(args, &instance)))
}

/// Whether somebody types.
fn is_interactive(args: &SqlArgs) -> bool {
    args.files.is_empty() && args.query.is_empty() && io::stdin().is_terminal()
}

/// Connects and runs the inputs; the exit code.
fn run_at_server(args: &SqlArgs, server: &client::ServerName) -> u8 {
    let connected = args.login.options(server, args.open_timeout).and_then(|mut options| {
        options.app = "ringwood sql".into();
        // A login whose own database cannot be opened gets in, and one that may not have this one
        // does not.
        options.database = args.database.clone().unwrap_or_default();
        if let Some(host) = &args.host {
            options.workstation = host.clone();
        }
        let connection = client::Connection::connect(&options);
        connection
            .map(|c| (c, options))
            .map_err(|e| format!("{}:{}: {e}", server.host, server.port))
    });
    let (connection, options) = match connected {
        Ok(connected) => connected,
        Err(text) => {
            say(text);
            return 1;
        }
    };
    let interactive = is_interactive(args);
    let target = SqlTarget::Server(Box::new(Remote::new(
        connection,
        Lookup::new(options, server.dedicated),
    )));
    let interrupted = Arc::default();
    let cancel = target.cancel();
    let interrupt = interactive.then(|| signals::Interrupt {
        cancel: Box::new(move || cancel()),
        pending: Arc::clone(&interrupted),
    });
    if let Err(error) = signals::end_at_once(interrupt) {
        say(format_args!("signals: {error}"));
    }
    run_inputs(args, target, interactive, interrupted)
}

/// Runs the inputs; the exit code.
fn run_inputs(
    args: &SqlArgs,
    target: SqlTarget,
    interactive: bool,
    interrupted: Arc<AtomicBool>,
) -> u8 {
    let rules =
        Rules { terminator: args.terminator.clone(), expand: !args.no_variables, interactive };
    let script = Script::new(variables(args), rules);
    match Runner::new(target, args, script, interrupted) {
        Ok(mut runner) => {
            inputs(args, &mut runner);
            runner.code()
        }
        Err(text) => {
            say(text);
            1
        }
    }
}

/// Runs the inputs on an instance; the exit code.
fn run_on(args: &SqlArgs, instance: &Arc<Instance>) -> u8 {
    let mut session = match instance.session() {
        Ok(session) => session,
        Err(error) => {
            say_error(&error);
            return 1;
        }
    };
    let interactive = is_interactive(args);
    let interrupted = Arc::default();
    let handle = session.cancel_handle();
    let interrupt = interactive.then(|| signals::Interrupt {
        cancel: Box::new(move || handle.cancel()),
        pending: Arc::clone(&interrupted),
    });
    if let Err(error) = signals::stop_cleanly(instance, interrupt) {
        say(format_args!("signals: {error}"));
    }
    if let Some(host) = &args.host {
        session.set_names("ringwood", host, "sa");
    }
    run_inputs(
        args,
        SqlTarget::Embedded { session: Box::new(session), instance: Arc::clone(instance) },
        interactive,
        interrupted,
    )
}

/// Runs all inputs one after the other.
fn inputs(args: &SqlArgs, runner: &mut Runner<'_>) -> Flow {
    let files = files(args);
    if runner.check_files(&files) == Flow::End {
        return Flow::End;
    }
    let database = args
        .database
        .clone()
        .or_else(|| runner.script.variables.get("SQLCMDDBNAME").map(str::to_owned));
    if let Some(name) = database.filter(|name| !name.is_empty())
        && runner.use_database(&name) == Flow::End
    {
        return Flow::End;
    }
    let start =
        runner.script.variables.get("SQLCMDINI").filter(|_| args.safe.is_none()).map(PathBuf::from);
    let scripts = start.iter().chain(&files);
    for name in scripts {
        if runner.file(name) == Flow::End {
            return Flow::End;
        }
    }
    for text in args.query.iter().chain(&args.first) {
        if runner.text(text) == Flow::End {
            return Flow::End;
        }
    }
    if !files.is_empty() || !args.query.is_empty() {
        return Flow::On;
    }
    if io::stdin().is_terminal() { prompt::run(runner) } else { runner.file(Path::new("-")) }
}

/// Runs a script as `ringwood sql -b -i` does. Whether it went through.
pub fn run_script(instance: &Arc<Instance>, script: &Path) -> bool {
    let args = SqlArgs::for_script(script);
    let session = match instance.session() {
        Ok(session) => session,
        Err(error) => {
            say_error(&error);
            return false;
        }
    };
    let rules = Rules { terminator: args.terminator.clone(), expand: true, interactive: false };
    let script = Script::new(variables(&args), rules);
    let target = SqlTarget::Embedded { session: Box::new(session), instance: Arc::clone(instance) };
    match Runner::new(target, &args, script, Arc::default()) {
        Ok(mut runner) => {
            inputs(&args, &mut runner);
            runner.code() == 0
        }
        Err(text) => {
            say(text);
            false
        }
    }
}

/// How long a clean stop may take after a panic, which may have left a latch locked.
const STOP_AFTER_PANIC: Duration = Duration::from_secs(60);

/// The exit code of a Rust program that panicked.
const PANICKED: u8 = 101;

/// Runs `work` and stops the instance cleanly, after a panic in `work` too.
fn guarded(instance: &Instance, work: impl FnOnce() -> u8) -> u8 {
    let code = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        std::thread::spawn(|| {
            std::thread::sleep(STOP_AFTER_PANIC);
            say(
                "The instance could not be stopped cleanly: what was durable is recovered at the next start.",
            );
            std::process::exit(i32::from(PANICKED));
        });
        PANICKED
    });
    signals::wait_if_stopping();
    match instance.close() {
        Err(error) => {
            say_error(&error);
            code.max(1)
        }
        Ok(()) => code,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::{InstanceOptions, ResultRows, Sink, SqlError, Value};

    /// Keeps the last value.
    struct LastValue(Option<Value>);

    impl Sink for LastValue {
        fn rows(&mut self, rows: &ResultRows<'_>) -> Result<(), SqlError> {
            rows.each(|row| {
                self.0 = row.first().cloned();
                Ok(())
            })
        }
        fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
            panic!("{error:?}")
        }
    }

    #[test]
    fn a_panic_still_stops_the_instance_cleanly() {
        let folder = tempfile::tempdir().unwrap();
        let open = || {
            let options = InstanceOptions {
                memory_bytes: Some(32 << 20),
                ..InstanceOptions::new(folder.path())
            };
            Instance::open(options).unwrap()
        };
        let instance = open();
        let batches = [
            "create database d",
            "alter database d set delayed_durability = forced (window_ms = 60000, window_kb = 65536)",
            "use d create table t (i int)",
            "declare @i int = 0 while @i < 1000 begin insert t values (@i) set @i += 1 end",
        ];
        let code = guarded(&instance, || {
            let mut session = instance.session().unwrap();
            for batch in batches {
                session.execute(batch, &mut LastValue(None));
            }
            panic!("a defect of the command line")
        });
        assert_eq!(code, PANICKED);
        drop(instance);
        let instance = open();
        let mut last = LastValue(None);
        instance.session().unwrap().execute("select count(*) from d.dbo.t", &mut last);
        assert_eq!(last.0, Some(Value::Int(1000)));
    }
}
