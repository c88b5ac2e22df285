//! What a client can be told, and why it does not get on.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tds::TdsError;
use tds::client::ServerMessage;

/// Port of a server where none is given.
const PORT: u16 = 1433;
/// Port of a server's dedicated administrator connection where none is given.
const ADMIN_PORT: u16 = 1434;
/// What stands before the name of a server whose dedicated administrator connection is meant.
const ADMIN: &str = "admin:";

/// What is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// Nothing, whoever may listen: not even the login.
    None,
    /// The login alone, or everything if the server wants it. The certificate is not checked.
    Optional,
    /// Everything.
    Mandatory,
    /// TDS 8.0: TLS before anything else.
    Strict,
}

/// Which certificates are good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Those that the system's authorities have signed, for the name of the server.
    System,
    /// Those that are in this PEM file, or are signed by one of them, for the name of the server.
    File(PathBuf),
    /// All.
    Any,
}

/// The server to connect to, and the login.
#[derive(Clone, Debug)]
pub struct Options {
    /// Name or address of the server.
    pub host: String,
    pub port: u16,
    pub user: String,
    pub password: String,
    /// Empty: the login's default.
    pub database: String,
    pub encryption: Encryption,
    pub trust: Trust,
    /// What APP_NAME() says.
    pub app: String,
    /// What HOST_NAME() says.
    pub workstation: String,
    /// For the connection and its login together.
    pub timeout: Duration,
}

impl Options {
    /// Everything but the password's owner at its default; the whole connection is encrypted.
    pub fn new(host: &str, port: u16, user: &str, password: &str) -> Options {
        Options {
            host: host.into(),
            port,
            user: user.into(),
            password: password.into(),
            database: String::new(),
            encryption: Encryption::Mandatory,
            trust: Trust::System,
            app: "ringwood".into(),
            workstation: String::new(),
            timeout: Duration::from_secs(15),
        }
    }
}

/// Where a server is to be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerName {
    /// Name or address.
    pub host: String,
    pub port: u16,
    /// Its dedicated administrator connection is meant, of which there is one at a time.
    pub dedicated: bool,
}

impl ServerName {
    /// The dedicated administrator connection of the same server: at its own port, unless the one
    /// that was given is another than the usual one.
    pub fn to_dedicated(&self) -> ServerName {
        let port = if self.port == PORT { ADMIN_PORT } else { self.port };
        ServerName { host: self.host.clone(), port, dedicated: true }
    }
}

/// What `HOST`, `HOST:PORT`, `[ADDRESS]:PORT` or sqlcmd's `tcp:HOST,PORT` and `admin:HOST` mean.
///
/// # Errors
/// What is wrong with the text.
pub fn parse_server(text: &str) -> Result<ServerName, String> {
    let (dedicated, rest) = match text.get(..ADMIN.len()) {
        Some(start) if start.eq_ignore_ascii_case(ADMIN) => (true, &text[ADMIN.len()..]),
        _ => (false, text),
    };
    let rest = rest.strip_prefix("tcp:").unwrap_or(rest);
    if rest.contains('\\') {
        return Err(format!("{text}: named instances are not looked up; give HOST:PORT"));
    }
    let (host, port) = if let Some(inner) = rest.strip_prefix('[') {
        let (host, after) =
            inner.split_once(']').ok_or_else(|| format!("{text}: a ] is missing"))?;
        (host, after.strip_prefix([':', ',']).or(after.is_empty().then_some("")))
    } else if let Some((host, port)) = rest.split_once(',') {
        (host, Some(port))
    } else {
        match rest.split_once(':') {
            // An address of IPv6 without brackets has more colons than one.
            Some((host, port)) if !port.contains(':') => (host, Some(port)),
            _ => (rest, Some("")),
        }
    };
    let host = if matches!(host, "." | "(local)") { "localhost" } else { host };
    let port = match port.map(str::trim) {
        Some("") => Some(if dedicated { ADMIN_PORT } else { PORT }),
        Some(port) => port.parse().ok(),
        None => None,
    };
    match port {
        Some(port) if !host.is_empty() => Ok(ServerName { host: host.to_owned(), port, dedicated }),
        _ => Err(format!("{text}: expected HOST, HOST:PORT or HOST,PORT")),
    }
}

/// Why a connection cannot be made or goes on no longer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("what the server sends is not TDS: {0}")]
    Protocol(#[from] TdsError),
    #[error("TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// The server refuses the login.
    #[error("{}", texts(.0))]
    Login(Vec<ServerMessage>),
    /// One side wants encryption, the other does not have it.
    #[error("the server does not encrypt")]
    NoEncryption,
    #[error("the server takes encrypted connections only")]
    OnlyEncrypted,
    /// A request that has failed, where its answer is kept whole: its first error.
    #[error("{}", text(.0))]
    Server(ServerMessage),
    /// A request that was not sent.
    #[error("the request cannot be sent: {0}")]
    Request(TdsError),
    /// The file of trusted certificates.
    #[error("{}: {why}", .file.display())]
    Certificates { file: PathBuf, why: String },
    #[error("{0:?} is no name that a certificate can have")]
    Name(String),
}

fn text(e: &ServerMessage) -> String {
    format!(
        "Msg {}, Level {}, State {}, Line {}\n{}",
        e.number, e.severity, e.state, e.line, e.message
    )
}

fn texts(errors: &[ServerMessage]) -> String {
    let lines = errors.iter().map(|e| {
        format!("Msg {}, Level {}, State {}\n{}", e.number, e.severity, e.state, e.message)
    });
    let all: Vec<String> = lines.collect();
    if all.is_empty() {
        "the server refuses the login without a reason".into()
    } else {
        all.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::{ServerName, parse_server};

    #[test]
    fn servers() {
        let good = [
            ("db", "db", 1433),
            ("db:1500", "db", 1500),
            ("tcp:db,1500", "db", 1500),
            (".", "localhost", 1433),
            ("[::1]:14330", "::1", 14330),
            ("[::1]", "::1", 1433),
            ("::1", "::1", 1433),
            ("10.0.0.1, 99", "10.0.0.1", 99),
        ];
        for (text, host, port) in good {
            let name = ServerName { host: host.to_owned(), port, dedicated: false };
            assert_eq!(parse_server(text).as_ref(), Ok(&name), "{text}");
        }
        for (text, host, port) in [
            ("admin:db", "db", 1434),
            ("ADMIN:.", "localhost", 1434),
            ("Admin:db,1533", "db", 1533),
            ("admin:tcp:[::1]:99", "::1", 99),
        ] {
            let name = ServerName { host: host.to_owned(), port, dedicated: true };
            assert_eq!(parse_server(text).as_ref(), Ok(&name), "{text}");
            assert_eq!(name.to_dedicated(), name);
        }
        assert_eq!(parse_server("db").map(|name| name.to_dedicated()), parse_server("admin:db"));
        for text in ["admin:", "", ":1433", "db:x", "db,70000", "db\\SQLEXPRESS", "[::1", "[::1]x"]
        {
            assert!(parse_server(text).is_err(), "{text}");
        }
    }
}
