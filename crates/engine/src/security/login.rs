//! Logging in. The client gets 18456 with state 1 whatever was wrong; the error log gets SQL Server's state and the reason.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use catalog::MASTER;
use catalog::security::{Kind, Permission, Principal, SA, SYSADMIN};
use compact_str::CompactString;
use types::{LANGUAGES, SqlError};

use super::change::Change;
use super::logins::LoginAudit;
use super::logon;
use super::passwords::{self, PASSWORD_MAX};
use crate::Session;
use crate::instance::{Instance, OfInstance};
use catalog::security::Scope;
use exec::operators::memory::QueryMemory;
use exec::state::SessionCore;
use exec::state::caller::Caller;

/// What a client says of itself when it logs in, and where it comes from.
#[derive(Clone, Debug)]
pub struct ClientInfo {
    /// Network address without the port; what failures are counted by.
    pub address: CompactString,
    /// Name of its machine.
    pub host: CompactString,
    /// Name of the program.
    pub app: CompactString,
}

impl Default for ClientInfo {
    fn default() -> Self {
        ClientInfo {
            address: CompactString::const_new("<local machine>"),
            host: CompactString::const_new("localhost"),
            app: CompactString::const_new("ringwood"),
        }
    }
}

/// A login whose password was right: what [`Instance::session_for`] makes sessions of.
#[derive(Clone, Debug)]
pub struct LoginToken {
    pub(crate) id: i32,
    pub(crate) name: CompactString,
    pub(crate) sid: Arc<[u8]>,
    default_database: Option<CompactString>,
    language: u8,
    client: ClientInfo,
    /// For the dedicated administrator connection.
    dedicated: bool,
}

/// Memory for queries of the dedicated administrator connection, whatever others hold.
const DEDICATED_MEMORY: usize = 32 << 20;
/// What one operator of them holds before it goes to disk.
const DEDICATED_OPERATOR: usize = 8 << 20;

impl LoginToken {
    /// The login's name as it was made.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The login's number, its principal_id.
    pub fn id(&self) -> i32 {
        self.id
    }

    /// 18456 as the client gets it after an error of [`Instance::session_for`].
    pub fn refused(&self) -> SqlError {
        login_failed(&self.name)
    }
}

/// 18456 as clients see it.
fn login_failed(login: &str) -> SqlError {
    SqlError::new(18_456, 14, 1, format!("Login failed for user '{login}'."))
}

/// The error and the reason for which a login is refused although its password is right, if it is.
/// `changes`: the client changes the password as it logs in, so that its age does not matter.
fn barred(login: &Principal, changes: bool) -> Option<(i32, &'static str)> {
    let age = login.password_age;
    if login.disabled {
        Some((18_470, "The account is disabled."))
    } else if !changes && age.must_change {
        Some((18_488, "The password of the account must be changed."))
    } else if !changes && age.has_expired(catalog::clock::now_parts().0) {
        Some((18_487, "The password of the account has expired."))
    } else {
        None
    }
}

/// Why an attempt failed, for the error log.
struct Reason {
    /// State of 18456 that the error log shows.
    state: u8,
    text: &'static str,
}

const UNKNOWN: Reason = Reason { state: 5, text: "Could not find a login matching the name provided." };
const WRONG: Reason = Reason { state: 8, text: "Password did not match that for the login provided." };
const DISABLED_AND_WRONG: Reason = Reason {
    state: 7,
    text: "An error occurred while evaluating the password: the account is disabled, and the password did not match.",
};
const NO_PASSWORD: Reason = Reason { state: 8, text: "The login has no password yet." };
const REPEATED: Reason =
    Reason { state: 12, text: "Too many attempts have failed: the next ones are refused for a while." };
const BUSY: Reason = Reason { state: 10, text: "Too many passwords are being checked at this moment." };

impl Instance {
    /// Which logins the error log tells of; the failed ones unless this was called.
    pub fn set_login_audit(&self, audit: LoginAudit) {
        self.authentication.audit.store(audit as u8, Ordering::Relaxed);
    }

    /// Whether a login's password is right. Takes some 20 ms of a processor when the password is wrong or comes for the first
    /// time since the start, and waits while many others are being checked.
    ///
    /// # Errors
    /// 18456 unknown login, wrong password, or too many failures before; 18470 the login is
    /// disabled; 18487 the password has expired; 18488 it must be changed.
    pub fn authenticate(
        &self,
        login: &str,
        password: &str,
        client: &ClientInfo,
    ) -> Result<LoginToken, SqlError> {
        self.authenticate_with(login, password, client, false)
    }

    /// As [`Instance::authenticate`], for a client that changes the password as it logs in: the old
    /// one may have expired. The caller must not let it run anything before it has changed the
    /// password in the token's session.
    ///
    /// # Errors
    /// As for [`Instance::authenticate`], without 18487 and 18488.
    pub fn authenticate_to_change(
        &self,
        login: &str,
        password: &str,
        client: &ClientInfo,
    ) -> Result<LoginToken, SqlError> {
        self.authenticate_with(login, password, client, true)
    }

    fn authenticate_with(
        &self,
        login: &str,
        password: &str,
        client: &ClientInfo,
        changes: bool,
    ) -> Result<LoginToken, SqlError> {
        let refuse = |reason: &Reason| {
            let now = Instant::now();
            if reason.state != REPEATED.state && reason.state != BUSY.state {
                self.authentication.throttle.failed(login, &client.address, now);
            }
            self.audit_failure(login, 18_456, reason.state, reason.text, client);
            Err(login_failed(login))
        };
        let repeated = || self.authentication.throttle.refuses(login, &client.address, Instant::now());
        if repeated() {
            return refuse(&REPEATED);
        }
        let master = self.db_by_id(MASTER).map(|db| db.security()).unwrap_or_default();
        let found = master.server.find(login).filter(|p| p.kind == Kind::User);
        let stored = found.and_then(|p| p.hash.as_deref());
        let passwords = &self.authentication.passwords;
        if !stored.is_some_and(|stored| passwords.is_known(password, stored)) {
            let Some(turn) = passwords.turn() else { return refuse(&BUSY) };
            // Others may have failed while this one waited.
            if repeated() {
                return refuse(&REPEATED);
            }
            let given = if password.chars().count() <= PASSWORD_MAX { password } else { "" };
            if !passwords.verify(&turn, given, stored) {
                return refuse(match found {
                    None => &UNKNOWN,
                    Some(p) if p.disabled => &DISABLED_AND_WRONG,
                    Some(p) if p.hash.is_none() => &NO_PASSWORD,
                    Some(_) => &WRONG,
                });
            }
        }
        let Some(found) = found else { return refuse(&UNKNOWN) };
        if let Some((number, reason)) = barred(found, changes) {
            self.audit_failure(login, number, 1, reason, client);
            let text = format!("Login failed for user '{login}'. Reason: {reason}");
            return Err(SqlError::new(number, 14, 1, text));
        }
        self.authentication.throttle.succeeded(login, &client.address);
        if self.authentication.audit.load(Ordering::Relaxed) & LoginAudit::Successful as u8 != 0 {
            let text = format!(
                "Login succeeded for user '{}'. Connection made using SQL Server authentication. [CLIENT: {}]",
                found.name,
                printable(&client.address)
            );
            self.error_log().write("Logon", &text);
        }
        Ok(LoginToken {
            id: found.id,
            name: found.name.clone(),
            sid: found.sid.clone(),
            default_database: found.default_name.clone(),
            language: found.language,
            client: client.clone(),
            dedicated: false,
        })
    }

    /// Whether a login is a member of sysadmin now.
    pub fn is_sysadmin(&self, token: &LoginToken) -> bool {
        let master = self.db_by_id(MASTER).map(|db| db.security());
        master.is_some_and(|master| {
            let there = master.server.get(token.id).is_some_and(|p| *p.sid == *token.sid);
            there && master.server.is_member(SYSADMIN, token.id)
        })
    }

    /// The same login for the dedicated administrator connection: its session has memory of its own
    /// and fires no logon trigger, so that an administrator gets in whatever they do.
    ///
    /// # Errors
    /// 18456: it is no sysadmin.
    pub fn for_dedicated_connection(&self, token: LoginToken) -> Result<LoginToken, SqlError> {
        if self.is_sysadmin(&token) {
            return Ok(LoginToken { dedicated: true, ..token });
        }
        let reason = "Only members of sysadmin can use the dedicated administrator connection.";
        self.audit_failure(&token.name, 18_456, 1, reason, &token.client);
        Err(login_failed(&token.name))
    }

    fn audit_failure(&self, login: &str, error: i32, state: u8, reason: &str, client: &ClientInfo) {
        if self.authentication.audit.load(Ordering::Relaxed) & LoginAudit::Failed as u8 == 0 {
            return;
        }
        let log = self.error_log();
        log.write("Logon", &format!("Error: {error}, Severity: 14, State: {state}."));
        let text = format!(
            "Login failed for user '{}'. Reason: {reason} [CLIENT: {}]",
            printable(login),
            printable(&client.address)
        );
        log.write("Logon", &text);
    }

    /// Whether `sa` has a password: without one nobody can log in as `sa`.
    pub fn sa_has_password(&self) -> bool {
        let master = self.db_by_id(MASTER).map(|db| db.security());
        master.is_some_and(|master| master.server.get(SA).is_some_and(|sa| sa.hash.is_some()))
    }

    /// Gives `sa` a password, unless it has this one already: what MSSQL_SA_PASSWORD says.
    ///
    /// # Errors
    /// 33062, 33064 a password that the policy does not allow; 3906 the folder is only read; what the storage says.
    pub fn set_sa_password(self: &Arc<Self>, password: &str) -> Result<(), SqlError> {
        self.check_writable()?;
        let master = self.database("master")?;
        let before = master.security().server.get(SA).cloned();
        let Some(before) = before else { return Err(SqlError::internal("there is no sa")) };
        if let Some(stored) = &before.hash {
            let turn = self.authentication.passwords.turn();
            if turn.is_some_and(|turn| self.authentication.passwords.verify(&turn, password, Some(stored))) {
                return Ok(());
            }
        }
        passwords::check_policy(&before.name, password)?;
        let hash = self.authentication.passwords.hash(password)?;
        self.authentication.passwords.remember(password, &hash);
        let mut session = self.session()?;
        session.with_core(|core| {
            core.begin_statement(true)?;
            let change = Change::begin(core, &master).and_then(|mut change| {
                let sa = change.security().server.get(SA).cloned();
                let sa = sa.ok_or_else(|| SqlError::internal("there is no sa"))?;
                let modified = catalog::clock::now();
                let password_age = sa.password_age.set(catalog::clock::now_parts().0, false);
                change.put_principal(
                    Scope::Server,
                    &Principal { hash: Some(hash), modified, password_age, ..Principal::clone(&sa) },
                )?;
                change.finish()
            });
            core.end_statement(change)
        })
    }

    /// A session of a login, in a database that it names or in the login's own. After an error the client also gets
    /// [`LoginToken::refused`], unless it is 17892.
    ///
    /// # Errors
    /// 4060 the named database is not there or the login may not use it, 4064 the same of its default database; 17892 a logon trigger has refused it; 6005.
    pub fn session_for(
        self: &Arc<Self>,
        token: &LoginToken,
        database: Option<&str>,
    ) -> Result<Session, SqlError> {
        self.session_in(token, database, false).map(|(session, _)| session)
    }

    /// As [`Instance::session_for`]; when `database` cannot be opened the session is in the login's default one, and what its client is
    /// to be told is beside it (4063).
    ///
    /// # Errors
    /// As [`Instance::session_for`].
    pub fn session_in_or_default(
        self: &Arc<Self>,
        token: &LoginToken,
        database: Option<&str>,
    ) -> Result<(Session, Option<SqlError>), SqlError> {
        self.session_in(token, database, true)
    }

    fn session_in(
        self: &Arc<Self>,
        token: &LoginToken,
        database: Option<&str>,
        or_default: bool,
    ) -> Result<(Session, Option<SqlError>), SqlError> {
        let mut session = self.session()?;
        session.set_names(&token.client.app, &token.client.host, &token.name);
        let named = database.filter(|name| !name.is_empty());
        let default = token.default_database.as_deref().unwrap_or("master");
        let (mut named, mut wanted, mut told) = (named, named.unwrap_or(default), None);
        let mut opened = session
            .with_core(|core| {
                log_in(core, token);
                if let Some(language) = LANGUAGES.get(usize::from(token.language)) {
                    core.options.set_language(language);
                }
                check_login(core)
            })
            .and_then(|()| session.use_database(wanted));
        if opened.is_err() && or_default && named.is_some() {
            let text = format!(
                "Cannot open database \"{wanted}\" that was requested by the login. Using the user default database \
                 \"{default}\" instead."
            );
            told = Some(SqlError::new(4063, 11, 1, text));
            (named, wanted) = (None, default);
            opened = session.use_database(default);
        }
        if let Err(e) = opened {
            let (state, text) = match named {
                Some(_) => (
                    38,
                    format!("Failed to open the explicitly specified database '{wanted}': {}", e.message),
                ),
                None => (40, format!("Failed to open the default database '{wanted}': {}", e.message)),
            };
            self.audit_failure(&token.name, 18_456, state, &text, &token.client);
            return Err(match named {
                Some(_) => {
                    let text = format!(
                        "Cannot open database \"{wanted}\" requested by the login. The login failed."
                    );
                    SqlError::new(4060, 11, 1, text)
                }
                None => SqlError::new(4064, 11, 1, "Cannot open user default database. Login failed."),
            });
        }
        if token.dedicated {
            let memory = QueryMemory::new(DEDICATED_MEMORY, DEDICATED_OPERATOR);
            session.with_core(|core| core.own_memory = Some(Arc::new(memory)));
        } else {
            session.with_core(|core| logon::run(core, &token.client))?;
        }
        Ok((session, told))
    }
}

/// What a client sent, as one line of the log may show it.
fn printable(text: &str) -> String {
    text.chars().take(128).map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// The session belongs to a login from now on.
fn log_in(core: &mut SessionCore, token: &LoginToken) {
    core.caller = Caller::login(token.id, &token.name, &token.sid);
    core.shared.login_id.store(token.id, Ordering::Relaxed);
}

/// Whether the login of the session may run anything.
///
/// # Errors
/// 18456.
fn check_login(core: &mut SessionCore) -> Result<(), SqlError> {
    let master = core.host().database("master")?.security();
    let there = master.server.get(core.caller.login_id());
    let there = there.is_some_and(|p| !p.disabled && *p.sid == *core.caller.sid());
    match there && core.has_server(Permission::ConnectSql) {
        true => Ok(()),
        false => Err(login_failed(core.caller.name())),
    }
}

impl Session {
    /// What its login is told when it has logged in: administrators learn of damage that the start has found.
    pub fn notices(&mut self) -> Vec<SqlError> {
        let notices = self.with_core(|core| core.instance().notices());
        if notices.is_empty() || !self.with_core(|core| core.is_sysadmin()) {
            return Vec::new();
        }
        notices.into_iter().map(|text| SqlError::new(0, 10, 1, text)).collect()
    }
}
