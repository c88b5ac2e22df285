//! A mail by SMTP: `smtp://` (STARTTLS where the server offers it) and `smtps://` (TLS from the
//! first byte). A password leaves this machine only through TLS with a certificate of a public
//! authority for the host that was named.

use lettre::Message;
use lettre::message::{Mailbox, header::ContentType};
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::{SmtpConnection, TlsParameters};
use lettre::transport::smtp::commands;
use lettre::transport::smtp::extension::ClientId;
use lettre::transport::smtp::{Error, client};
use std::net::IpAddr;
use std::time::Duration;
use url::Url;

/// For each answer of the server.
const TIMEOUT: Duration = Duration::from_secs(30);
const FORM: &str = "smtp://[user:password@]host[:port]/?from=a@x&to=b@y[,c@z]";

/// What protects the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tls {
    /// From the first byte.
    Implicit,
    /// By STARTTLS, without which nothing is sent.
    Required,
    /// By STARTTLS where it is offered.
    Offered,
}

/// A server, the sender and the receiver.
pub(super) struct Mail {
    host: String,
    port: u16,
    tls: Tls,
    login: Option<Credentials>,
    from: lettre::Address,
    to: Vec<lettre::Address>,
}

impl Mail {
    /// Of an `smtp` or `smtps` URL. Errors do not repeat the URL.
    pub fn new(url: &str) -> Result<Mail, String> {
        let url = Url::parse(url).map_err(|e| format!("this is not a URL: {e}"))?;
        let host = match url.host_str() {
            None | Some("") => return Err(format!("a mail server's host is missing: {FORM}")),
            // IPv6 addresses stand in brackets in URLs only.
            Some(host) => decode(host)?.trim_matches(['[', ']']).to_owned(),
        };
        if !matches!(url.path(), "" | "/") || url.fragment().is_some() {
            return Err(format!("a mail server's URL has no path and no #: {FORM}"));
        }
        let login = login(&url)?;
        let tls = match (url.scheme(), &login) {
            ("smtps", _) => Tls::Implicit,
            (_, Some(_)) if !is_local(&host) => Tls::Required,
            _ => Tls::Offered,
        };
        let port = url.port().unwrap_or(if tls == Tls::Implicit { 465 } else { 25 });
        let (from, to) = people(url.query().unwrap_or_default())?;
        Ok(Mail { host, port, tls, login, from, to })
    }

    /// Sends the mail. A recipient that the server refuses keeps it from no other recipient, but is
    /// an error.
    pub fn send(&self, subject: &str, text: String) -> Result<(), String> {
        let mail = self.message(subject, text)?;
        self.deliver(&mail).map_err(|why| format!("mail server {}:{}: {why}", self.host, self.port))
    }

    fn message(&self, subject: &str, text: String) -> Result<Vec<u8>, String> {
        let random = fastrand::u128(..);
        let mut builder = Message::builder()
            .from(Mailbox::new(None, self.from.clone()))
            .subject(subject)
            .message_id(Some(format!("<{random:032x}@{}>", self.from.domain())))
            .header(ContentType::TEXT_PLAIN);
        for to in &self.to {
            builder = builder.to(Mailbox::new(None, to.clone()));
        }
        Ok(builder.body(text).map_err(|e| format!("the mail cannot be made: {e}"))?.formatted())
    }

    fn deliver(&self, mail: &[u8]) -> Result<(), String> {
        let mut server = self.connect()?;
        let from = commands::Mail::new(Some(self.from.clone()), vec![]);
        server
            .command(from)
            .map_err(|e| format!("the sender {} is refused: {}", self.from, said(&e)))?;
        let mut refused = Vec::new();
        for to in &self.to {
            match server.command(commands::Rcpt::new(to.clone(), vec![])) {
                Ok(_) => {}
                Err(e) if e.status().is_some() => {
                    refused.push(format!("{to} is refused: {}", said(&e)))
                }
                Err(e) => return Err(said(&e)),
            }
        }
        if refused.len() < self.to.len() {
            server.command(commands::Data).map_err(|e| said(&e))?;
            server.message(mail).map_err(|e| format!("the mail is refused: {}", said(&e)))?;
        }
        // The mail is the server's now, whatever it says to this.
        let _ = server.quit();
        if refused.is_empty() { Ok(()) } else { Err(refused.join("; ")) }
    }

    /// A connection that is as safe as it must be, logged in.
    fn connect(&self) -> Result<SmtpConnection, String> {
        let me = ClientId::default();
        let tls = self.tls_parameters().map_err(|e| said(&e))?;
        let at_once = (self.tls == Tls::Implicit).then_some(&tls);
        let place = (self.host.as_str(), self.port);
        let mut server = SmtpConnection::connect(place, Some(TIMEOUT), &me, at_once, None)
            .map_err(|e| format!("no connection: {}", said(&e)))?;
        if server.can_starttls() {
            server.starttls(&tls, &me).map_err(|e| format!("STARTTLS: {}", said(&e)))?;
        } else if self.tls == Tls::Required {
            let _ = server.quit();
            return Err("it does not offer STARTTLS, and a password is not sent without TLS".into());
        }
        if let Some(login) = &self.login {
            log_in(&mut server, login)?;
        }
        Ok(server)
    }

    /// A server on this machine has mostly a certificate of its own making, and what goes to it
    /// passes no network.
    fn tls_parameters(&self) -> Result<TlsParameters, Error> {
        let own = self.tls == Tls::Offered && is_local(&self.host);
        TlsParameters::builder(self.host.clone())
            .certificate_store(client::CertificateStore::WebpkiRoots)
            .dangerous_accept_invalid_certs(own)
            .dangerous_accept_invalid_hostnames(own)
            .build()
    }
}

/// Logs in. The errors have nothing of what the server says: it could repeat what it got.
fn log_in(server: &mut SmtpConnection, login: &Credentials) -> Result<(), String> {
    let done = server.auth(&[Mechanism::Plain, Mechanism::Login], login);
    done.map(drop).map_err(|e| match e.status() {
        Some(code) => format!("the user or the password is refused ({code})"),
        None if e.is_client() => "it offers no login by PLAIN or LOGIN".into(),
        None => "the connection broke in the login".into(),
    })
}

/// What the server answered, or what went wrong on the way.
fn said(error: &Error) -> String {
    use std::error::Error as _;
    use std::io::ErrorKind::{TimedOut, WouldBlock};
    let Some(cause) = error.source() else { return error.to_string() };
    let io = cause.downcast_ref::<std::io::Error>();
    match error.status() {
        Some(code) => format!("{code} {cause}"),
        None if io.is_some_and(|e| matches!(e.kind(), TimedOut | WouldBlock)) => {
            format!("no answer within {} s", TIMEOUT.as_secs())
        }
        None if error.is_tls() => format!("TLS: {cause}"),
        None => cause.to_string(),
    }
}

/// Whether a host is this machine by its name alone.
fn is_local(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Percent-decoding.
fn decode(text: &str) -> Result<String, String> {
    let bytes = percent_encoding::percent_decode_str(text);
    bytes.decode_utf8().map(Into::into).map_err(|_| "a part of the URL is not UTF-8".into())
}

fn login(url: &Url) -> Result<Option<Credentials>, String> {
    match (url.username(), url.password()) {
        ("", None) => Ok(None),
        ("", Some(_)) => Err(format!("a password needs a user: {FORM}")),
        (_, None) => Err(format!("a user needs a password: {FORM}")),
        (user, Some(password)) => Ok(Some(Credentials::new(decode(user)?, decode(password)?))),
    }
}

/// Sender and recipients. `+` means itself, as in mail addresses, and not a blank.
fn people(query: &str) -> Result<(lettre::Address, Vec<lettre::Address>), String> {
    let (mut from, mut to) = (Vec::new(), Vec::new());
    for (name, value) in
        query.split('&').filter(|p| !p.is_empty()).map(|p| p.split_once('=').unwrap_or((p, "")))
    {
        let list = match name {
            "from" => &mut from,
            "to" => &mut to,
            _ => return Err(format!("a mail server's URL has only from and to: {FORM}")),
        };
        for one in decode(value)?.split(',') {
            list.push(address(name, one.trim())?);
        }
    }
    if to.is_empty() {
        return Err(format!("to=, who gets the mail, is missing: {FORM}"));
    }
    match from.as_slice() {
        [one] => Ok((one.clone(), to)),
        [] => Err(format!("from=, who sends the mail, is missing: {FORM}")),
        _ => Err(format!("a mail has one sender: {FORM}")),
    }
}

fn address(name: &str, text: &str) -> Result<lettre::Address, String> {
    if !text.is_ascii() {
        return Err(format!("{name}={text}: mail addresses are ASCII here"));
    }
    text.parse().map_err(|_| format!("{name}={text}: this is not a mail address"))
}

#[cfg(test)]
mod tests;
