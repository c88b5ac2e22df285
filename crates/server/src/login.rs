//! From the first byte to a session: PRELOGIN, LOGIN7, the answer to it. Guarantees: a login tells
//! the client no more than that it failed; why is in the error log; a password is never logged.

use std::sync::Arc;
use std::time::Duration;

use engine::session::{DEDICATED_ENDPOINT, NetworkConnection, TCP_ENDPOINT};
use engine::{ClientInfo, LoginToken, Session, Sink, SqlError};
use tds::login::{Login7, feature};
use tds::prelogin::{AfterPrelogin, Prelogin, ServerEncryption};
use tds::tokens::{DoneKind, DoneStatus, EnvChange};
use tds::{Message, MessageBuffer, PacketType, TokenWriter, WireCollation, packet};
use types::msg;

use crate::client::{
    ActiveClient, AfterMessage, AnswerRoom, AuthenticatedClient, Client, ClientStage,
    SessionMemory, out_of_memory,
};
use crate::connection::Connection;
use crate::counters::ServerCount;
use crate::hub::Hub;
use crate::options::Encryption;
use crate::output::server_name;
use crate::wire::WireError;

/// The product's version, as SERVERPROPERTY('ProductVersion') has it: clients turn features on by
/// it.
const PRODUCT: (u8, u8, u16) = (16, 0, 1000);
/// The name that clients look for.
const PRODUCT_NAME: &str = "Microsoft SQL Server";

/// A message before the login is done.
///
/// # Errors
/// The connection is of no more use.
pub fn message(
    hub: &Hub,
    connection: &Connection,
    client: &mut Client,
    message: Message,
) -> Result<AfterMessage, WireError> {
    let ClientStage::New(agreed) = client.stage else { return Ok(AfterMessage::Close) };
    match (message.kind, agreed) {
        (PacketType::Prelogin, None) => prelogin(hub, connection, client, &message),
        (PacketType::Login7, agreed) if agreed != Some(AfterPrelogin::Impossible) => {
            login(hub, connection, client, &message, agreed)
        }
        _ => Ok(AfterMessage::Close),
    }
}

/// What the server offers to a client; `None` where it must speak TDS 8.0 and does not.
fn offer(hub: &Hub, strict: bool) -> Option<ServerEncryption> {
    match hub.options.encryption {
        _ if strict => Some(ServerEncryption::Forced),
        Encryption::Strict => None,
        Encryption::Required => Some(ServerEncryption::Forced),
        Encryption::Off => Some(ServerEncryption::Unavailable),
        Encryption::Optional => Some(ServerEncryption::Optional),
    }
}

fn prelogin(
    hub: &Hub,
    connection: &Connection,
    client: &mut Client,
    message: &Message,
) -> Result<AfterMessage, WireError> {
    let asked = Prelogin::parse(&message.payload)?;
    let strict = connection.wire().is_encrypted();
    let Some(offered) = offer(hub, strict) else {
        audit(hub, connection, "A client that does not speak TDS 8.0 was refused.");
        return Ok(AfterMessage::Close);
    };
    let (mut reply, mut after) = asked.reply(offered, PRODUCT);
    if strict {
        after = AfterPrelogin::Everything;
    } else if after == AfterPrelogin::Plain && !may_be_plain(hub, connection) {
        (reply, after) = asked.reply(ServerEncryption::Forced, PRODUCT);
    }
    if after == AfterPrelogin::Impossible {
        audit(
            hub,
            connection,
            "A client that cannot encrypt, or wants encryption where it is off, was refused.",
        );
    }
    let mut buffer = MessageBuffer::new(packet::DEFAULT_PACKET_SIZE, 0);
    reply.write(buffer.payload());
    let mut bytes = Vec::new();
    buffer.finish(&mut bytes);
    connection.send(&bytes, Some(hub.options.login_timeout), &|wait| wait())?;
    if !strict && matches!(after, AfterPrelogin::LoginOnly | AfterPrelogin::Everything) {
        connection.wire().start_handshake()?;
    }
    client.stage = ClientStage::New(Some(after));
    Ok(AfterMessage::Continue)
}

/// Whether a password may come in the clear from this client.
fn may_be_plain(hub: &Hub, connection: &Connection) -> bool {
    let local = connection.peer.ip().to_canonical().is_loopback();
    match hub.options.encryption {
        Encryption::Off => true,
        Encryption::Optional => local || hub.options.allow_plain_login,
        Encryption::Required | Encryption::Strict => false,
    }
}

fn login(
    hub: &Hub,
    connection: &Connection,
    client: &mut Client,
    message: &Message,
    agreed: Option<AfterPrelogin>,
) -> Result<AfterMessage, WireError> {
    let encrypted = connection.wire().is_encrypted();
    if !encrypted && !may_be_plain(hub, connection) {
        audit(hub, connection, "A login without encryption was refused.");
        return Ok(AfterMessage::Close);
    }
    if agreed == Some(AfterPrelogin::LoginOnly) {
        connection.wire().end_tls();
    }
    let login = Login7::parse(&message.payload)?;
    match authenticate(hub, connection, &login) {
        Ok(token) => {
            let administrator = hub.instance.is_sysadmin(&token);
            connection.set_share(hub.admission.share_of(token.id(), administrator));
            client.stage =
                ClientStage::Authenticated(Box::new(AuthenticatedClient { login, token }));
            Ok(AfterMessage::Continue)
        }
        Err(refusal) => fail(hub, connection, client, &login, &refusal),
    }
}

/// Opens the session of a client whose password was right, and answers its login.
///
/// # Errors
/// The client is gone.
pub fn open(
    hub: &Hub,
    connection: &Connection,
    client: &mut Client,
) -> Result<AfterMessage, WireError> {
    let stage = std::mem::replace(&mut client.stage, ClientStage::Ended);
    let ClientStage::Authenticated(known) = stage else { return Ok(AfterMessage::Close) };
    let AuthenticatedClient { login, token } = *known;
    let opened = session_memory(hub, connection)
        .and_then(|memory| Ok((open_session(hub, connection, &login, &token)?, memory)));
    match opened {
        Ok(((session, told), memory)) => {
            hub.throttle.succeeded(connection.peer.ip());
            hub.counters.add(ServerCount::LoginsSucceeded, 1);
            accept(hub, connection, client, &login, (session, memory), &told)
        }
        Err(refusal) => fail(hub, connection, client, &login, &refusal),
    }
}

/// Charges a session that is about to be opened. Administrators get in without.
fn session_memory(hub: &Hub, connection: &Connection) -> Result<SessionMemory, Refusal> {
    let share = connection.share().unwrap_or(hub.admission.strangers());
    let must_enter = connection.dedicated || share.is_administrator();
    let taken = SessionMemory::take(hub.instance.memory(), share.share(), must_enter);
    taken.map_err(|_| Refusal::from(out_of_memory()))
}

/// Answers a login that has failed, now or a little later.
fn fail(
    hub: &Hub,
    connection: &Connection,
    client: &mut Client,
    login: &Login7,
    refusal: &Refusal,
) -> Result<AfterMessage, WireError> {
    hub.counters.add(ServerCount::LoginsFailed, 1);
    client.stage = ClientStage::Refused(refused(login, &refusal.errors));
    if refusal.delay.is_zero() {
        refuse(hub, connection, client)
    } else {
        Ok(AfterMessage::Later(refusal.delay))
    }
}

/// Sends the answer to a failed login.
///
/// # Errors
/// The client is gone.
pub fn refuse(
    hub: &Hub,
    connection: &Connection,
    client: &Client,
) -> Result<AfterMessage, WireError> {
    if let ClientStage::Refused(answer) = &client.stage {
        connection.send(answer, Some(hub.options.login_timeout), &|wait| wait())?;
    }
    Ok(AfterMessage::Close)
}

/// A login that has failed.
struct Refusal {
    errors: Vec<SqlError>,
    delay: Duration,
}

impl From<SqlError> for Refusal {
    fn from(error: SqlError) -> Refusal {
        Refusal { errors: vec![error], delay: Duration::ZERO }
    }
}

/// 17809: a connection above the limit.
fn too_many(hub: &Hub, connection: &Connection) -> SqlError {
    let most = hub.options.max_connections;
    let error = SqlError::of(msg::TOO_MANY_CONNECTIONS, [&most]);
    audit(hub, connection, &format!("Error: 17809, Severity: 20, State: 2. {}", error.message));
    error
}

/// Finds out who a client is.
fn authenticate(hub: &Hub, connection: &Connection, login: &Login7) -> Result<LoginToken, Refusal> {
    if connection.surplus {
        return Err(too_many(hub, connection).into());
    }
    login.check_supported().map_err(|e| {
        audit(hub, connection, &format!("Login of user '{}': {e}.", clean(&login.user)));
        Refusal::from(e.to_sql_error())
    })?;
    let client = ClientInfo {
        address: connection.peer.ip().to_canonical().to_string().into(),
        host: login.host.as_str().into(),
        app: login.app.as_str().into(),
    };
    // Both tell the error log why.
    let refused =
        |error| Refusal { errors: vec![error], delay: hub.throttle.failed(connection.peer.ip()) };
    let (user, password) = (&login.user, &login.password.0);
    let token = match login.new_password {
        None => hub.instance.authenticate(user, password, &client),
        Some(_) => hub.instance.authenticate_to_change(user, password, &client),
    };
    let token = token.map_err(refused)?;
    if connection.dedicated {
        return hub.instance.for_dedicated_connection(token).map_err(refused);
    }
    Ok(token)
}

/// Opens the session of a login, and what is told about it besides.
fn open_session(
    hub: &Hub,
    connection: &Connection,
    login: &Login7,
    token: &LoginToken,
) -> Result<(Session, Vec<SqlError>), Refusal> {
    if let (true, Some(dedicated)) = (connection.dedicated, &hub.dedicated) {
        dedicated.begin_session(connection.id).inspect_err(|error| {
            audit(
                hub,
                connection,
                &format!("Error: 17810, Severity: 20, State: 2. {}", error.message),
            );
        })?;
    }
    let refused = |errors: Vec<SqlError>| {
        let errors = errors.into_iter().chain([token.refused()]).collect();
        Refusal { errors, delay: Duration::ZERO }
    };
    let database = Some(login.database.as_str()).filter(|name| !name.is_empty());
    let opened = if login.options.database_fatal {
        hub.instance.session_for(token, database).map(|session| (session, None))
    } else {
        hub.instance.session_in_or_default(token, database)
    };
    let (mut session, warning) = opened.map_err(|error| match error.number {
        // Of a logon trigger: nothing is said besides.
        17_892 => Refusal::from(error),
        _ => refused(vec![error]),
    })?;
    let mut told = Vec::from_iter(warning);
    told.extend(session.notices());
    if !login.language.is_empty()
        && let Err(error) = session.set_language(&login.language)
    {
        if login.options.language_fatal {
            audit(
                hub,
                connection,
                &format!("Login of user '{}': {}", clean(&login.user), clean(&error.message)),
            );
            return Err(refused(vec![error]));
        }
        told.push(SqlError::new(error.number, 10, 1, error.into_message()));
    }
    if let Some(new) = &login.new_password {
        let errors = change_password(&mut session, &login.user, &login.password.0, &new.0);
        let done = if errors.is_empty() { "was changed by it" } else { "was not changed" };
        audit(hub, connection, &format!("The password of login '{}' {done}.", clean(&login.user)));
        if !errors.is_empty() {
            return Err(refused(errors));
        }
    }
    if !(login.options.odbc || login.options.oledb) {
        session.without_ansi_defaults();
    }
    session.set_connection(NetworkConnection {
        client: connection.peer,
        server: connection.local,
        endpoint: if connection.dedicated { DEDICATED_ENDPOINT } else { TCP_ENDPOINT },
        encrypted: connection.wire().is_encrypted(),
        protocol: login.version.number(),
        packet_size: login.negotiated_packet_size(packet::DEFAULT_PACKET_SIZE) as u32,
        library: login.library.as_str().into(),
        process: login.client_pid,
    });
    // What a reset goes back to.
    session.keep_as_login();
    Ok((session, told))
}

/// Takes the errors of a statement.
struct Errors(Vec<SqlError>);

impl Sink for Errors {
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        self.0.push(error.clone());
        Ok(())
    }
}

/// Changes a login's own password, which it has just shown to know; gives the errors.
fn change_password(session: &mut Session, login: &str, old: &str, new: &str) -> Vec<SqlError> {
    let name = login.replace(']', "]]");
    let (old, new) = (old.replace('\'', "''"), new.replace('\'', "''"));
    let mut errors = Errors(Vec::new());
    let text = format!("ALTER LOGIN [{name}] WITH PASSWORD = N'{new}' OLD_PASSWORD = N'{old}'");
    session.execute(&text, &mut errors);
    errors.0
}

fn audit(hub: &Hub, connection: &Connection, text: &str) {
    let client = connection.peer.ip().to_canonical();
    hub.instance.error_log().write("Logon", &format!("{text} [CLIENT: {client}]"));
}

/// A name from outside, fit for a line of the error log.
fn clean(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// The message that answers a failed login.
fn refused(login: &Login7, errors: &[SqlError]) -> Vec<u8> {
    let mut buffer = MessageBuffer::new(packet::DEFAULT_PACKET_SIZE, 0);
    let mut tokens = TokenWriter::new(buffer.payload(), login.version);
    for error in errors {
        tokens.error(error, server_name(), "");
    }
    tokens.done(DoneKind::Done, DoneStatus::ERROR, 0, None);
    let mut bytes = Vec::new();
    buffer.finish(&mut bytes);
    bytes
}

fn accept(
    hub: &Hub,
    connection: &Connection,
    client: &mut Client,
    login: &Login7,
    (mut session, memory): (Session, SessionMemory),
    told: &[SqlError],
) -> Result<AfterMessage, WireError> {
    let size = login.negotiated_packet_size(packet::DEFAULT_PACKET_SIZE);
    // The new size is in force after this answer.
    let mut buffer = MessageBuffer::new(packet::DEFAULT_PACKET_SIZE, session.spid() as u16);
    let mut tokens = TokenWriter::new(buffer.payload(), login.version);
    let database = session.database();
    for error in told {
        if error.severity > 10 {
            tokens.error(error, server_name(), "");
        } else {
            tokens.info(error, server_name(), "");
        }
    }
    tokens.env_change(EnvChange::Database { new: &database, old: "master" });
    tokens.info(
        &SqlError::of(msg::DATABASE_CONTEXT_CHANGED, [&database]).state(2),
        server_name(),
        "",
    );
    let collation = WireCollation::from(types::Collation::DEFAULT);
    tokens.env_change(EnvChange::Collation { new: collation, old: None });
    let language = session.language();
    tokens.env_change(EnvChange::Language { new: language, old: "" });
    tokens.info(&SqlError::of(msg::LANGUAGE_CHANGED, [&language]), server_name(), "");
    tokens.login_ack(login.ack_number(), PRODUCT_NAME, PRODUCT);
    // Of the features that clients ask for UTF-8 alone is there: parameters in collations of UTF-8.
    // Session recovery and the others are refused by not being named.
    if login.feature(feature::UTF8_SUPPORT).is_some_and(|asked| asked.data.first() == Some(&1)) {
        tokens.feature_ext_ack(&[(feature::UTF8_SUPPORT, &[1])]);
    }
    tokens.env_change(EnvChange::PacketSize { new: size, old: packet::DEFAULT_PACKET_SIZE });
    tokens.done(DoneKind::Done, DoneStatus::FINAL, 0, None);
    let mut bytes = Vec::new();
    buffer.finish(&mut bytes);
    connection.wire().logged_in(hub.options.max_message, size);
    // Closed meanwhile: nobody waits for the answer.
    let Some(watcher) = hub.watcher_of(connection) else { return Ok(AfterMessage::Close) };
    session.set_watcher(Arc::downgrade(&watcher));
    session.hold_answers();
    connection.set_logged_in(session.cancel_handle(), watcher);
    client.stage = ClientStage::Ready(Box::new(ActiveClient {
        session,
        version: login.version,
        packet_size: size,
        room: AnswerRoom::default(),
        memory,
    }));
    connection.send(&bytes, hub.options.send_timeout, &|wait| wait())?;
    Ok(AfterMessage::Continue)
}
