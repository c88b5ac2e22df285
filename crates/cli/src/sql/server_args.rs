//! The options of commands that connect to a server: sqlcmd's letters. Where the password comes
//! from, and what is encrypted unless somebody says.

use clap::{Args, ValueEnum};
use client::{Options, ServerName, Trust};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

/// The environment's variables with user and password, as sqlcmd has them.
const USER: &str = "SQLCMDUSER";
const PASSWORD: &str = "SQLCMDPASSWORD";

/// The login, and the way to connect; the command itself has `server`.
#[derive(Args, Clone)]
pub struct ServerArgs {
    /// Login name; SQLCMDUSER, else sa unless given
    #[arg(short = 'U', value_name = "LOGIN", requires = "server")]
    user: Option<String>,
    /// Password, which others on this machine may see; better in SQLCMDPASSWORD. Asked for unless
    /// given
    #[arg(short = 'P', value_name = "PASSWORD", requires = "server", allow_hyphen_values = true)]
    password: Option<String>,
    /// Encryption: s strict (TDS 8.0), m mandatory, o optional (the login alone); m unless given, o
    /// for loopback addresses
    #[arg(short = 'N', value_name = "s|m|o", requires = "server", num_args = 0..=1, default_missing_value = "m", ignore_case = true)]
    encrypt: Option<Encrypt>,
    /// Trust any certificate of the server
    #[arg(short = 'C', requires = "server")]
    trust: bool,
    /// PEM file with the server's certificate or its authority's, such as server-cert.pem of the
    /// server's data folder
    #[arg(
        short = 'J',
        long = "server-cert",
        value_name = "FILE",
        requires = "server",
        conflicts_with = "trust"
    )]
    certificate: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Encrypt {
    #[value(name = "s", alias = "strict")]
    Strict,
    #[value(name = "m", aliases = ["mandatory", "true", "yes"])]
    Mandatory,
    #[value(name = "o", aliases = ["optional", "false", "no", "disable"])]
    Optional,
}

impl ServerArgs {
    /// What is wrong when no server is given: an option that says how to connect. `requires` alone
    /// does not see it beside an option of the folder, because such an option rules the server out.
    pub fn without_server(&self) -> Result<(), String> {
        let given = [
            ("-U", self.user.is_some()),
            ("-P", self.password.is_some()),
            ("-N", self.encrypt.is_some()),
            ("-C", self.trust),
            ("-J", self.certificate.is_some()),
        ];
        match given.iter().find(|(_, given)| *given) {
            Some((name, _)) => Err(format!("error: {name} is for a server, which -S names")),
            None => Ok(()),
        }
    }

    /// How to connect; asks for the password if nobody has given it. `timeout` in seconds, 0 for
    /// 15.
    ///
    /// # Errors
    /// There is no password and nobody to ask.
    pub fn options(&self, server: &ServerName, timeout: u32) -> Result<Options, String> {
        let user = self.user.clone().or_else(|| variable(USER)).unwrap_or_else(|| "sa".into());
        let password = match self.password.clone().or_else(|| variable(PASSWORD)) {
            Some(password) => password,
            None => ask(&user).map_err(|e| {
                format!("{PASSWORD} is not set, and no password can be asked for: {e}")
            })?,
        };
        let mut options = Options::new(&server.host, server.port, &user, &password);
        options.encryption = match self.encrypt {
            Some(Encrypt::Strict) => client::Encryption::Strict,
            Some(Encrypt::Mandatory) => client::Encryption::Mandatory,
            Some(Encrypt::Optional) => client::Encryption::Optional,
            // Somebody who says what is to be trusted wants it checked.
            None if self.certificate.is_none() && is_loopback(&server.host) => {
                client::Encryption::Optional
            }
            None => client::Encryption::Mandatory,
        };
        options.trust = match &self.certificate {
            Some(file) => Trust::File(file.clone()),
            None if self.trust => Trust::Any,
            None => Trust::System,
        };
        options.timeout = if timeout == 0 {
            Duration::from_secs(15)
        } else {
            Duration::from_secs(timeout.into())
        };
        options.workstation = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Ok(options)
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Asks the terminal for a password, without showing it.
fn ask(user: &str) -> io::Result<String> {
    let mut terminal = File::options().read(true).write(true).open("/dev/tty")?;
    let before = tcgetattr(&terminal)?;
    let mut silent = before.clone();
    silent.local_modes -= LocalModes::ECHO;
    write!(terminal, "Password of {user}: ")?;
    tcsetattr(&terminal, OptionalActions::Flush, &silent)?;
    let mut line = String::new();
    let read = BufReader::new(&terminal).read_line(&mut line);
    tcsetattr(&terminal, OptionalActions::Drain, &before)?;
    writeln!(terminal)?;
    match read? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(line.trim_end_matches(['\n', '\r']).to_owned()),
    }
}
