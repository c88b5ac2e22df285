//! Which server is measured, and where its files go:
//! `mssql://user[:password]@host[:port]/?data=DIR&data2=DIR&log=DIR&backup=DIR`, with
//! `&encrypt=off|login|on` and `&trust=yes|no`. The password is never shown: [`Address::shown`] has
//! the rest.

use crate::LabError;
use client::{Encryption, Options, ServerName, Trust, parse_server};
use percent_encoding::percent_decode_str;

/// How the address begins.
const SCHEME: &str = "mssql://";
/// The environment variable with the password where the address has none: sqlcmd's.
const PASSWORD: &str = "SQLCMDPASSWORD";

/// A server's address.
#[derive(Clone, Debug)]
pub struct Address {
    host: String,
    port: u16,
    user: String,
    password: String,
    encrypt: Encryption,
    trust: Trust,
    /// Folders for files, as the server names them: data, data2, log, backup; its own unless given.
    pub folders: [Option<String>; 4],
}

fn wrong(what: impl std::fmt::Display) -> LabError {
    LabError::Request(format!(
        "the address of a server: {what} (mssql://user@host:port/?data=DIR&log=DIR, password in {PASSWORD})"
    ))
}

/// Whether only this machine can listen to what is sent there.
fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

impl Address {
    /// Reads it. Errors never have the password.
    pub fn parse(text: &str) -> Result<Address, LabError> {
        let decode = |text: &str| match percent_decode_str(text).decode_utf8() {
            Ok(text) => Ok(text.into_owned()),
            Err(_) => Err(wrong("a % that stands for no UTF-8")),
        };
        let rest = text.strip_prefix(SCHEME).ok_or_else(|| wrong(format_args!("no {SCHEME}")))?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (server, path) = rest.split_once('/').unwrap_or((rest, ""));
        // A password may have an @ in it.
        let (login, server) = server.rsplit_once('@').unwrap_or(("", server));
        let (user, password) = match login.split_once(':') {
            Some((user, password)) => (user, Some(password)),
            None => (login, None),
        };
        let ServerName { host, port, .. } = parse_server(server).map_err(wrong)?;
        let user = decode(user)?;
        if user.is_empty() {
            return Err(wrong("no user"));
        }
        let password = match password {
            Some(password) => decode(password)?,
            None => std::env::var(PASSWORD).unwrap_or_default(),
        };
        if !path.is_empty() {
            return Err(wrong(format_args!(
                "/{path} after the port: studies make databases of their own"
            )));
        }
        let local = is_loopback(&host);
        let mut address = Address {
            host,
            port,
            user,
            password,
            encrypt: if local { Encryption::None } else { Encryption::Mandatory },
            trust: Trust::System,
            folders: [const { None }; 4],
        };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = decode(value)?;
            let folder = ["data", "data2", "log", "backup"].iter().position(|n| *n == name);
            match (name, &*value) {
                (_, dir) if folder.is_some() && !dir.is_empty() => {
                    address.folders[folder.unwrap_or_default()] = Some(dir.to_owned());
                }
                ("encrypt", "off") => address.encrypt = Encryption::None,
                ("encrypt", "login") => address.encrypt = Encryption::Optional,
                ("encrypt", "on") => address.encrypt = Encryption::Mandatory,
                ("trust", "yes") => address.trust = Trust::Any,
                ("trust", "no") => address.trust = Trust::System,
                _ => return Err(wrong(format_args!("{name}={value}"))),
            }
        }
        Ok(address)
    }

    /// Without its password.
    pub fn shown(&self) -> String {
        let host =
            if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        format!("{}@{host}:{}", self.user, self.port)
    }

    /// Whether the server is reached without a network, so that its files are most likely this
    /// machine's.
    pub fn is_local(&self) -> bool {
        is_loopback(&self.host)
    }

    /// How to connect to a database of the server.
    pub fn options(&self, database: &str) -> Options {
        Options {
            database: database.into(),
            encryption: self.encrypt,
            trust: self.trust.clone(),
            app: "ringwood lab".into(),
            ..Options::new(&self.host, self.port, &self.user, &self.password)
        }
    }
}

/// The address without its password, for journals and command lines; other names as they are.
pub(crate) fn without_password(text: &str) -> String {
    let hidden = || -> Option<String> {
        let rest = text.strip_prefix(SCHEME)?;
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (user, host) = rest[..end].rsplit_once('@')?;
        let user = user.split_once(':')?.0;
        Some(format!("{SCHEME}{user}@{host}{}", &rest[end..]))
    };
    hidden().unwrap_or_else(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read() {
        let a = Address::parse("mssql://sa:p%40ss@127.0.0.1:14330/?data=/d&log=%2Fl&backup=C:%5Cb")
            .unwrap();
        assert_eq!((a.host.as_str(), a.port, a.password.as_str()), ("127.0.0.1", 14330, "p@ss"));
        assert_eq!(a.folders, [Some("/d".into()), None, Some("/l".into()), Some(r"C:\b".into())]);
        assert_eq!((a.shown().as_str(), a.is_local()), ("sa@127.0.0.1:14330", true));
        let a = Address::parse("mssql://me@[::1]").unwrap();
        assert_eq!((a.shown().as_str(), a.port, a.is_local()), ("me@[::1]:1433", 1433, true));
    }

    #[test]
    fn what_makes_no_sense_is_refused_and_no_password_is_shown() {
        for wrong in [
            "mssql://sa:secret@localhost/master",
            "mssql://sa:secret@localhost/?colour=red",
            "mssql://sa:secret@localhost/?encrypt=maybe",
            "mssql://sa:secret@/",
            "mssql://:secret@localhost/",
            "mssql://sa:secret@localhost:99999/",
        ] {
            let error = Address::parse(wrong).unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn what_leaves_the_machine_is_encrypted_unless_somebody_says_otherwise() {
        let of = |text: &str| {
            let options = Address::parse(text).unwrap().options("d");
            (options.encryption, options.trust)
        };
        assert_eq!(of("mssql://sa@db.example.org/"), (Encryption::Mandatory, Trust::System));
        assert_eq!(of("mssql://sa@db.example.org/?trust=yes"), (Encryption::Mandatory, Trust::Any));
        assert_eq!(of("mssql://sa@db.example.org/?encrypt=login").0, Encryption::Optional);
        assert_eq!(of("mssql://sa@db.example.org/?encrypt=off").0, Encryption::None);
        assert_eq!(of("mssql://sa@localhost/").0, Encryption::None);
        assert_eq!(of("mssql://sa@localhost/?encrypt=on").0, Encryption::Mandatory);
    }

    #[test]
    fn a_password_is_taken_out_of_an_address() {
        assert_eq!(without_password("mssql://sa:p@ss@h:1/?data=/d"), "mssql://sa@h:1/?data=/d");
        assert_eq!(without_password("mssql://sa:p@h"), "mssql://sa@h");
        assert_eq!(without_password("mssql://sa@h/?data=/a:b@c"), "mssql://sa@h/?data=/a:b@c");
        assert_eq!(without_password("postgres"), "postgres");
    }
}
