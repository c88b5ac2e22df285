//! Mails to a server of the tests' own, which speaks as much SMTP as a mail takes.

use crate::LabError;
use crate::notify::Address;
use crate::results::Results;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;

fn stopped() -> Result<Results, LabError> {
    Err(LabError::Request("the disk is full".into()))
}

/// A mail server for one connection.
struct Server {
    port: u16,
    heard: JoinHandle<HeardMail>,
}

/// What it was told: commands line by line, and the mail.
#[derive(Default)]
struct HeardMail {
    commands: Vec<String>,
    mail: String,
}

impl Server {
    /// Offers `extensions`, and answers a command that begins with one of the `refused` as it says
    /// there.
    fn start(extensions: &'static [&str], refused: &'static [(&str, &str)]) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        Server {
            port,
            heard: std::thread::spawn(move || {
                serve(listener.accept().unwrap().0, extensions, refused)
            }),
        }
    }
}

fn serve(stream: TcpStream, extensions: &[&str], refused: &[(&str, &str)]) -> HeardMail {
    let mut reader = BufReader::new(stream);
    let mut heard = HeardMail::default();
    let mut answer = "220 test".to_owned();
    loop {
        reader.get_mut().write_all(format!("{answer}\r\n").as_bytes()).unwrap();
        if answer.starts_with("354") {
            while !heard.mail.ends_with("\r\n.\r\n") {
                assert!(reader.read_line(&mut heard.mail).unwrap() > 0);
            }
            answer = "250 taken".into();
            continue;
        }
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap() == 0 || answer.starts_with("221") {
            return heard;
        }
        heard.commands.push(line.trim_end().to_owned());
        answer = match (
            refused.iter().find(|r| line.starts_with(r.0)),
            line.get(..4).unwrap_or_default(),
        ) {
            (Some((_, refusal)), _) => (*refusal).to_owned(),
            (_, "EHLO") => {
                extensions.iter().map(|e| format!("250-{e}\r\n")).collect::<String>() + "250 HELP"
            }
            (_, "AUTH") => "235 welcome".into(),
            (_, "DATA") => "354 go on".into(),
            (_, "QUIT") => "221 bye".into(),
            _ => "250 ok".into(),
        };
    }
}

/// Sends the message of a run that stopped, to a URL in which `PORT` stands for the server's.
fn send(server: &Server, url: &str) -> Result<(), LabError> {
    Address::parse(&url.replace("PORT", &server.port.to_string())).unwrap().send(&stopped())
}

#[test]
fn a_mail_reaches_all_its_recipients() {
    let server = Server::start(&["8BITMIME"], &[]);
    send(
        &server,
        "smtp://127.0.0.1:PORT/?from=lab@example.org&to=me%2Blab@example.org,you+lab@example.net",
    )
    .unwrap();
    let HeardMail { commands, mail } = server.heard.join().unwrap();
    assert!(commands[0].starts_with("EHLO "), "{commands:?}");
    assert_eq!(
        commands[1..],
        [
            "MAIL FROM:<lab@example.org>",
            "RCPT TO:<me+lab@example.org>",
            "RCPT TO:<you+lab@example.net>",
            "DATA",
            "QUIT"
        ]
    );
    let (head, body) = mail.split_once("\r\n\r\n").unwrap();
    for line in [
        "From: lab@example.org",
        "To: me+lab@example.org, you+lab@example.net",
        "Subject: Ringwood lab: the run has stopped",
    ] {
        assert!(head.lines().any(|l| l == line), "{line} in {head}");
    }
    assert!(head.contains("Date: ") && head.contains("@example.org>"), "{head}");
    assert!(body.starts_with("the disk is full\r\nIt can go on with --resume.\r\n"), "{body}");
}

#[test]
fn a_password_goes_to_this_machine_and_elsewhere_only_through_tls() {
    let server = Server::start(&["AUTH PLAIN LOGIN"], &[]);
    send(&server, "smtp://me%40x:s%3Ac@127.0.0.1:PORT/?from=a@x.org&to=b@y.org").unwrap();
    // base64 of NUL me@x NUL s:c
    assert_eq!(server.heard.join().unwrap().commands[1], "AUTH PLAIN AG1lQHgAczpj");
    // The same address in a form that is not taken for this machine.
    let server = Server::start(&["AUTH PLAIN LOGIN"], &[]);
    let error = send(&server, "smtp://me:s3cret@127.1:PORT/?from=a@x.org&to=b@y.org")
        .unwrap_err()
        .to_string();
    assert!(error.contains("does not offer STARTTLS") && !error.contains("s3cret"), "{error}");
    let commands = server.heard.join().unwrap().commands;
    assert!(commands.len() == 2 && commands[1] == "QUIT", "{commands:?}");
}

#[test]
fn starttls_is_used_where_it_is_offered() {
    let server = Server::start(&["STARTTLS"], &[("STARTTLS", "454 4.7.0 no certificate today")]);
    let error =
        send(&server, "smtp://127.0.0.1:PORT/?from=a@x.org&to=b@y.org").unwrap_err().to_string();
    assert!(error.ends_with("STARTTLS: 454 4.7.0 no certificate today"), "{error}");
    assert_eq!(server.heard.join().unwrap().commands[1], "STARTTLS");
}

#[test]
fn smtps_begins_with_tls() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("smtps://{}/?from=a@x.org&to=b@y.org", listener.local_addr().unwrap());
    let first = std::thread::spawn(move || {
        let mut first = [0];
        listener.accept().unwrap().0.read_exact(&mut first).unwrap();
        first[0]
    });
    assert!(Address::parse(&url).unwrap().send(&stopped()).is_err());
    assert_eq!(first.join().unwrap(), 22, "the type of a TLS handshake record");
}

#[test]
fn refusals_say_who_refuses_what() {
    const NO_USER: (&str, &str) = ("RCPT TO:<b@y.org>", "550 5.1.1 no such user");
    let to = "?from=a@x.org&to=b@y.org";
    let server = Server::start(&[], &[NO_USER]);
    let error = send(&server, &format!("smtp://127.0.0.1:PORT/{to}")).unwrap_err().to_string();
    let port = server.port;
    assert_eq!(
        error,
        format!("mail server 127.0.0.1:{port}: b@y.org is refused: 550 5.1.1 no such user")
    );
    assert!(server.heard.join().unwrap().mail.is_empty());

    let server = Server::start(&[], &[NO_USER]);
    let error =
        send(&server, &format!("smtp://127.0.0.1:PORT/{to},c@z.org")).unwrap_err().to_string();
    assert!(error.ends_with("b@y.org is refused: 550 5.1.1 no such user"), "{error}");
    assert!(
        server.heard.join().unwrap().mail.contains("the disk is full"),
        "the other one gets it"
    );

    let server = Server::start(&[], &[("MAIL", "553 5.1.8 who is that")]);
    let error = send(&server, &format!("smtp://127.0.0.1:PORT/{to}")).unwrap_err().to_string();
    assert!(error.ends_with("the sender a@x.org is refused: 553 5.1.8 who is that"), "{error}");

    let server =
        Server::start(&["AUTH PLAIN"], &[("AUTH", "535 5.7.8 not AHVzZXIAczNjcmV0 = s3cret")]);
    let error =
        send(&server, &format!("smtp://user:s3cret@localhost:PORT/{to}")).unwrap_err().to_string();
    assert!(error.ends_with("the user or the password is refused (535)"), "{error}");

    let gone =
        Address::parse(&format!("smtp://user:s3cret@127.0.0.1:1/{to}")).unwrap().send(&stopped());
    let gone = gone.unwrap_err().to_string();
    assert!(
        gone.starts_with("mail server 127.0.0.1:1: no connection: ") && !gone.contains("s3cret"),
        "{gone}"
    );
}

#[test]
fn wrong_addresses_are_refused_and_not_repeated() {
    for (url, why) in [
        ("smtp://me:s3/cret@example.org/?from=a@x.org&to=b@y.org", "invalid port"),
        ("smtp://example.org:99999/?from=a@x.org&to=b@y.org", "invalid port"),
        ("smtp:///?from=a@x.org&to=b@y.org", "host is missing"),
        ("smtp://:s3cret@example.org/?from=a@x.org&to=b@y.org", "needs a user"),
        ("smtp://me@example.org/?from=a@x.org&to=b@y.org", "needs a password"),
        ("smtp://me:s3cret@example.org/?to=b@y.org", "from=, who sends the mail, is missing"),
        ("smtp://me:s3cret@example.org/?from=a@x.org,c@x.org&to=b@y.org", "one sender"),
        ("smtps://me:s3cret@example.org/?from=a@x.org", "to=, who gets the mail, is missing"),
        (
            "smtps://me:s3cret@example.org/?from=a@x.org&to=b@y.org,",
            "to=: this is not a mail address",
        ),
        (
            "smtps://me:s3cret@example.org/?from=nobody&to=b@y.org",
            "from=nobody: this is not a mail address",
        ),
        (
            "smtps://me:s3cret@example.org/?from=a@x.org&to=b%0D%0ARSET@y.org",
            "this is not a mail address",
        ),
        ("smtps://me:s3cret@example.org/?from=a@x.org&to=m%C3%BC@y.org", "are ASCII here"),
        ("smtps://me:s3cret@example.org/?from=a@x.org&to=b@y.org&cc=s3cret", "only from and to"),
        ("smtps://me:s3cret@example.org/s3cret?from=a@x.org&to=b@y.org", "no path"),
        ("smtps://me:%FF@example.org/?from=a@x.org&to=b@y.org", "not UTF-8"),
    ] {
        let error = Address::parse(url).map(drop).unwrap_err().to_string();
        assert!(error.starts_with("--notify: ") && error.contains(why), "{url}: {error}");
        assert!(!error.contains("s3cret"), "{url}: {error}");
    }
}
