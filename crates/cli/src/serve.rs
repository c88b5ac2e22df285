//! `ringwood serve`: the TDS server on an instance.

use super::hidden_password::{self, PASSWORD};
use super::say::{say, say_error};
use super::{InstanceArgs, log, parse_size, signals, sql};
use clap::{Args, ValueEnum};
use disk::Disk;
use disk::mirrored::{self, FoundCopies};
use engine::{Instance, LoginAudit};
use sd_notify::NotifyState;
use server::{Encryption, Server, ServerOptions};
use std::fs;
use std::io::{self, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The environment's variables that SQL Server's containers have: the administrator's password, a
/// file with it, the port, the memory. ACCEPT_EULA and others that mean nothing here may be there
/// too.
const PASSWORD_FILE: &str = "MSSQL_SA_PASSWORD_FILE";
const PORT: &str = "MSSQL_TCP_PORT";
const MEMORY: &str = "MSSQL_MEMORY_LIMIT_MB";
/// The port that servers have, and that of the dedicated administrator connection of such a one.
const PORT_OF_SERVERS: u16 = 1433;
const ADMIN_PORT: u16 = 1434;
/// The list of the start scripts that have run, in the data folder.
const SCRIPTS_RUN: &str = "init-scripts.txt";

const EXAMPLES: &str = "Examples:
  MSSQL_SA_PASSWORD=... ringwood serve --data ./db
  ringwood serve --data ./db --listen 0.0.0.0:1433 --encrypt required --tls-cert cert.pem --tls-key key.pem
  ringwood serve --data ./db --init ./scripts

The administrator is sa. Without MSSQL_SA_PASSWORD (or MSSQL_SA_PASSWORD_FILE, a file with it) a password is made at the first start and
shown once. MSSQL_TCP_PORT and MSSQL_MEMORY_LIMIT_MB are heeded where --listen and --memory are not given.";

/// Serve an instance to clients of SQL Server.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct ServeArgs {
    #[command(flatten)]
    instance: InstanceArgs,
    /// Address and port to listen at; may be repeated; 127.0.0.1:1433 unless given
    #[arg(long, value_name = "HOST:PORT", value_parser = parse_address)]
    listen: Vec<SocketAddr>,
    /// Address and port for the dedicated administrator connection, or none; unless given 127.0.0.1
    /// with port 1434 for a server at port 1433, with a free one for others, and none where no port
    /// is given
    #[arg(long, value_name = "HOST:PORT", value_parser = parse_admin_address)]
    admin_listen: Option<AdminAddress>,
    /// Encryption: as clients want it, of everything, TDS 8.0 alone, or none (loopback addresses
    /// only)
    #[arg(long, value_enum, default_value = "optional")]
    encrypt: Encrypt,
    /// Certificate chain in PEM; made at the first start unless given
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Private key of the certificate in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Let clients at other addresses than loopback log in without TLS: their password can be read
    /// on the way
    #[arg(long)]
    allow_plain_login: bool,
    /// Most connections at a time
    #[arg(long, value_name = "N", default_value_t = 32_767, value_parser = clap::value_parser!(u32).range(1..))]
    max_connections: u32,
    /// Threads for requests that run, and as many more for requests that wait
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = clap::value_parser!(u32).range(2..=8192))]
    max_workers: u32,
    /// What one login may hold of these threads while no other login holds any
    #[arg(long, value_name = "PERCENT", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100))]
    login_share: u32,
    /// Largest request
    #[arg(long, value_name = "SIZE", default_value = "128MB", value_parser = parse_message)]
    max_message: usize,
    /// Seconds for a login
    #[arg(long, value_name = "SECONDS", default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..))]
    login_timeout: u32,
    /// Seconds after which an idle connection is closed; 0 for never
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    idle_timeout: u32,
    /// Seconds after which a client that reads nothing of its answer is closed; 0 for never
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    send_timeout: u32,
    /// Seconds that running requests have to end at a stop, before they are cancelled
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    stop_timeout: u32,
    /// Address and port for Prometheus' metrics, such as 127.0.0.1:9433; whoever reaches it can
    /// read them
    #[arg(long, value_name = "HOST:PORT", value_parser = parse_address)]
    metrics: Option<SocketAddr>,
    /// How lines of the error log are shown on standard error
    #[arg(long, value_enum, default_value = "text")]
    log_format: LogFormat,
    /// Logins that the error log tells of
    #[arg(long, value_enum, default_value = "failed")]
    audit_logins: Audit,
    /// Folder in which logins other than sysadmins may name files (backups, bulk loads, files of
    /// databases), besides the data folder and the volumes; may be repeated
    #[arg(long = "allow-path", value_name = "DIR")]
    allow_paths: Vec<PathBuf>,
    /// Folder of *.sql scripts to run at the first start, in the order of their names
    #[arg(long, value_name = "DIR")]
    init: Option<PathBuf>,
}

/// Where the dedicated administrator connection is to be had.
#[derive(Clone, Copy, PartialEq)]
enum AdminAddress {
    Nowhere,
    At(SocketAddr),
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Encrypt {
    Off,
    Optional,
    Required,
    Strict,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum LogFormat {
    Text,
    /// A line of JSON each
    Json,
    /// Only in the log's file
    None,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Audit {
    None,
    Failed,
    Successful,
    All,
}

/// A variable of the environment that is set to something.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The administrator's password, if a file has it.
fn password_of_file() -> Result<Option<String>, String> {
    let Some(file) = variable(PASSWORD_FILE) else { return Ok(None) };
    let text = fs::read_to_string(&file)
        .map_err(|e| format!("{PASSWORD_FILE}: {}", failed(Path::new(&file), &e)))?;
    Ok(Some(text.trim_end_matches(['\n', '\r']).to_owned()).filter(|text| !text.is_empty()))
}

impl ServeArgs {
    /// Where to listen.
    fn addresses(&self) -> Result<Vec<SocketAddr>, String> {
        if !self.listen.is_empty() {
            return Ok(self.listen.clone());
        }
        let port = variable(PORT).map_or(Ok(PORT_OF_SERVERS), |port| {
            port.parse().map_err(|_| format!("{PORT}: {port} is no port"))
        });
        Ok(vec![SocketAddr::from(([127, 0, 0, 1], port?))])
    }

    /// Where the dedicated administrator connection is to be had.
    fn admin_address(&self, listen: &[SocketAddr]) -> Option<SocketAddr> {
        match self.admin_listen {
            Some(AdminAddress::At(address)) => Some(address),
            Some(AdminAddress::Nowhere) => None,
            None => {
                let port = listen.iter().map(SocketAddr::port).find(|port| *port != 0)?;
                let own = SocketAddr::from(([127, 0, 0, 1], ADMIN_PORT));
                // SQL Server takes any free port, too, where this one is another server's.
                let is_free = port == PORT_OF_SERVERS && std::net::TcpListener::bind(own).is_ok();
                Some(if is_free { own } else { SocketAddr::from(([127, 0, 0, 1], 0)) })
            }
        }
    }

    /// How the instance is opened: with what the environment says where no option does.
    fn instance(&self) -> Result<InstanceArgs, String> {
        let mut args = self.instance.clone();
        args.log_echo = log::echo(self.log_format == LogFormat::Json)
            .filter(|_| self.log_format != LogFormat::None);
        let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
        args.allowed_folders = self.allow_paths.iter().map(absolute).collect();
        let password = variable(PASSWORD_FILE).map(PathBuf::from);
        let secret = self.tls_key.iter().chain(&self.tls_cert).chain(&password);
        args.protected_files = secret.map(absolute).collect();
        if let (None, Some(megabytes)) = (args.memory, variable(MEMORY)) {
            args.memory =
                Some(super::parse_memory(&megabytes).map_err(|e| format!("{MEMORY}: {e}"))?);
        }
        Ok(args)
    }

    fn options(&self) -> Result<ServerOptions, String> {
        let seconds = |n: u32| (n > 0).then(|| Duration::from_secs(n.into()));
        let addresses = self.addresses()?;
        Ok(ServerOptions {
            encryption: match self.encrypt {
                Encrypt::Off => Encryption::Off,
                Encrypt::Optional => Encryption::Optional,
                Encrypt::Required => Encryption::Required,
                Encrypt::Strict => Encryption::Strict,
            },
            certificate: self.tls_cert.clone().zip(self.tls_key.clone()),
            allow_plain_login: self.allow_plain_login,
            max_connections: self.max_connections as usize,
            admin_listen: self.admin_address(&addresses),
            max_workers: self.max_workers as usize,
            login_share: self.login_share as usize,
            login_timeout: Duration::from_secs(self.login_timeout.into()),
            idle_timeout: seconds(self.idle_timeout),
            send_timeout: seconds(self.send_timeout),
            max_message: self.max_message,
            metrics: self.metrics,
            ..ServerOptions::listening(addresses, &self.instance.data)
        })
    }
}

/// Runs the server until SIGINT, SIGTERM or SHUTDOWN.
pub fn run(args: &ServeArgs) -> ExitCode {
    let password = match hidden_password::take() {
        Ok(password) => password,
        Err(text) => {
            say(text);
            return ExitCode::FAILURE;
        }
    };
    // Before anything is made.
    if let Err(text) = args.addresses() {
        say(text);
        return ExitCode::FAILURE;
    }
    let init = match args
        .init
        .as_ref()
        .map(|folder| StartScripts::new(folder, &args.instance.data))
        .transpose()
    {
        Ok(init) => init.flatten(),
        Err(text) => {
            say(text);
            return ExitCode::FAILURE;
        }
    };
    let opened = args.instance().map(|instance| instance.open());
    let instance = match opened {
        Ok(Ok(instance)) => instance,
        Ok(Err(error)) => {
            say_error(&error);
            return ExitCode::FAILURE;
        }
        Err(text) => {
            say(text);
            return ExitCode::FAILURE;
        }
    };
    let served = serve(args, &instance, init, password);
    if let Err(text) = &served {
        say(text);
    }
    // Nobody listens where no service manager has started this.
    let _ = sd_notify::notify(&[NotifyState::Stopping]);
    match instance.close() {
        Ok(()) if served.is_ok() => ExitCode::SUCCESS,
        Ok(()) => ExitCode::FAILURE,
        Err(error) => {
            say_error(&error);
            ExitCode::FAILURE
        }
    }
}

fn serve(
    args: &ServeArgs,
    instance: &Arc<Instance>,
    init: Option<StartScripts>,
    password: Option<String>,
) -> Result<(), String> {
    let running = Arc::new(OnceLock::new());
    signals::stop_server(instance, running.clone()).map_err(|e| format!("signals: {e}"))?;
    if let Some(scripts) = init {
        scripts.run(instance)?;
    }
    instance.set_login_audit(match args.audit_logins {
        Audit::None => LoginAudit::None,
        Audit::Failed => LoginAudit::Failed,
        Audit::Successful => LoginAudit::Successful,
        Audit::All => LoginAudit::Both,
    });
    match password.map_or_else(password_of_file, |password| Ok(Some(password)))? {
        Some(password) => {
            instance
                .set_sa_password(&password)
                .map_err(|e| format!("{PASSWORD}: {}", e.message))?;
        }
        _ if instance.sa_has_password() => {}
        _ => {
            let password = server::password::random_password().map_err(|e| e.to_string())?;
            instance.set_sa_password(&password).map_err(|e| e.into_message())?;
            say(format_args!("The password of sa is {password}"));
        }
    }
    let server = Server::start(instance.clone(), args.options()?).map_err(|e| e.to_string())?;
    // It is set once.
    let _ = running.set(server.stop_handle());
    ready(&server).map_err(|e| format!("standard output: {e}"))?;
    let _ = sd_notify::notify(&[NotifyState::Ready]);
    server.wait();
    let in_time = server.stop(Duration::from_secs(args.stop_timeout.into()));
    if in_time {
        Ok(())
    } else {
        Err("Some requests did not end in time and were given up.".into())
    }
}

/// The line that says that clients can connect.
fn ready(server: &Server) -> io::Result<()> {
    let addresses: Vec<_> = server.addresses().iter().map(SocketAddr::to_string).collect();
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "Ringwood {} is ready for connections at {}",
        env!("CARGO_PKG_VERSION"),
        addresses.join(", ")
    )?;
    if let Some(address) = server.admin_address() {
        writeln!(out, "The dedicated administrator connection is at {address}")?;
    }
    if let Some(address) = server.metrics_address() {
        writeln!(out, "Metrics are at http://{address}/metrics")?;
    }
    out.flush()
}

/// The scripts of the first start. Those that have run are noted in the data folder, so that a
/// start after one that failed goes on with it. The list has two copies: one that is damaged does
/// not let a script run again.
struct StartScripts {
    folder: PathBuf,
    disk: disk::OsDisk,
    /// The list of those that have run.
    list: PathBuf,
}

impl StartScripts {
    /// The scripts of `folder`, if the instance in `data` is to be made, or its scripts have not
    /// all run yet.
    fn new(folder: &Path, data: &Path) -> Result<Option<StartScripts>, String> {
        let data = std::path::absolute(data).map_err(|e| failed(data, &e))?;
        let scripts = StartScripts {
            folder: folder.to_path_buf(),
            disk: disk::OsDisk::new(&data),
            list: data.join(SCRIPTS_RUN),
        };
        let made = engine::instance::is_made(&scripts.disk, &data).map_err(|e| e.to_string())?;
        if scripts.have_run()?.is_some() {
            return Ok(Some(scripts));
        }
        if made {
            return Ok(None);
        }
        // Before the instance is made: from then on its scripts are due.
        scripts.disk.create_dir_all(&data).map_err(|e| e.to_string())?;
        scripts.note("")?;
        Ok(Some(scripts))
    }

    /// The names of those that have run, a line each; `None`: there is no list.
    fn have_run(&self) -> Result<Option<String>, String> {
        let is_old =
            |bytes: &[u8]| std::str::from_utf8(bytes).is_ok() && !bytes.starts_with(b"ringwood");
        match mirrored::read(&self.disk, &self.list, &is_old).map_err(|e| e.to_string())? {
            FoundCopies::Nothing => Ok(None),
            FoundCopies::Whole(content) => {
                Ok(Some(String::from_utf8_lossy(&content.bytes).into_owned()))
            }
            FoundCopies::Damaged(damaged) => Err(format!(
                "The list of the scripts that have run is damaged ({damaged}): remove it when all have run."
            )),
        }
    }

    fn note(&self, names: &str) -> Result<(), String> {
        mirrored::write(&self.disk, &self.list, names.as_bytes())
            .map(drop)
            .map_err(|e| e.to_string())
    }

    /// Runs those that have not run yet, in the order of their names.
    fn run(&self, instance: &Arc<Instance>) -> Result<(), String> {
        let mut have_run = self.have_run()?.unwrap_or_default();
        let entries = fs::read_dir(&self.folder).map_err(|e| failed(&self.folder, &e))?;
        let mut scripts = Vec::new();
        for entry in entries {
            scripts.push(entry.map_err(|e| failed(&self.folder, &e))?.path());
        }
        scripts.retain(|path| path.extension().is_some_and(|e| e.eq_ignore_ascii_case("sql")));
        scripts.sort();
        for script in scripts {
            let name = script.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if have_run.lines().any(|line| line == name) {
                continue;
            }
            if !sql::run_script(instance, &script) {
                return Err(format!(
                    "The script {} failed. The next start runs it again.",
                    script.display()
                ));
            }
            have_run.push_str(&name);
            have_run.push('\n');
            self.note(&have_run)?;
        }
        Ok(())
    }
}

fn failed(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}

pub fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let mut found = text.to_socket_addrs().map_err(|e| format!("{e}: expected HOST:PORT"))?;
    found.next().ok_or_else(|| format!("{text} has no address"))
}

fn parse_admin_address(text: &str) -> Result<AdminAddress, String> {
    if text.eq_ignore_ascii_case("none") {
        return Ok(AdminAddress::Nowhere);
    }
    parse_address(text).map(AdminAddress::At)
}

fn parse_message(text: &str) -> Result<usize, String> {
    let bytes = usize::try_from(parse_size(text)?).map_err(|_| "too large".to_string())?;
    if bytes < 64 << 10 { Err("at least 64KB".into()) } else { Ok(bytes) }
}
