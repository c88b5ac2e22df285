//! Logging in. The client gets 18456 with state 1 whatever was wrong; the error log gets SQL
//! Server's state and the reason.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use catalog::MASTER;
use catalog::security::{Kind, Principal, SA, SYSADMIN};
use compact_str::CompactString;
use types::{SqlError, msg};

use super::logins::LoginAudit;
use super::passwords::PASSWORD_MAX;
use crate::InstanceCore;

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

/// A login whose password was right: what `Instance::session_for` makes sessions of.
#[derive(Clone, Debug)]
pub struct LoginToken {
    pub id: i32,
    pub name: CompactString,
    pub sid: Arc<[u8]>,
    pub default_database: Option<CompactString>,
    pub language: u8,
    pub client: ClientInfo,
    /// For the dedicated administrator connection.
    pub dedicated: bool,
}

impl LoginToken {
    /// The login's name as it was made.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The login's number, its principal_id.
    pub fn id(&self) -> i32 {
        self.id
    }

    /// 18456 as the client gets it after an error of `Instance::session_for`.
    pub fn refused(&self) -> SqlError {
        login_failed(&self.name)
    }
}

/// 18456 as clients see it.
pub fn login_failed(login: &str) -> SqlError {
    SqlError::of(msg::LOGIN_FAILED, [&login])
}

/// The error with which a login is refused although its password is right, if it is.
/// `changes`: the client changes the password as it logs in, so that its age does not matter.
fn barred(login: &Principal, changes: bool) -> Option<msg::Message<1>> {
    let age = login.password_age;
    if login.disabled {
        Some(msg::LOGIN_DISABLED)
    } else if !changes && age.must_change {
        Some(msg::LOGIN_PASSWORD_MUST_CHANGE)
    } else if !changes && age.has_expired(catalog::clock::now_parts().0) {
        Some(msg::LOGIN_PASSWORD_EXPIRED)
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

const UNKNOWN: Reason =
    Reason { state: 5, text: "Could not find a login matching the name provided." };
const WRONG: Reason =
    Reason { state: 8, text: "Password did not match that for the login provided." };
const DISABLED_AND_WRONG: Reason = Reason {
    state: 7,
    text: "An error occurred while evaluating the password: the account is disabled, and the password did not match.",
};
const NO_PASSWORD: Reason = Reason { state: 8, text: "The login has no password yet." };
const REPEATED: Reason = Reason {
    state: 12,
    text: "Too many attempts have failed: the next ones are refused for a while.",
};
const BUSY: Reason =
    Reason { state: 10, text: "Too many passwords are being checked at this moment." };

impl InstanceCore {
    /// Which logins the error log tells of; the failed ones unless this was called.
    pub fn set_login_audit(&self, audit: LoginAudit) {
        self.authentication.audit.store(audit as u8, Ordering::Relaxed);
    }

    /// Whether a login's password is right. Takes some 20 ms of a processor when the password is
    /// wrong or comes for the first time since the start, and waits while many others are being
    /// checked.
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

    /// As [`InstanceCore::authenticate`], for a client that changes the password as it logs in: the
    /// old one may have expired. The caller must not let it run anything before it has changed the
    /// password in the token's session.
    ///
    /// # Errors
    /// As for [`InstanceCore::authenticate`], without 18487 and 18488.
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
        let repeated =
            || self.authentication.throttle.refuses(login, &client.address, Instant::now());
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
        if let Some(message) = barred(found, changes) {
            let error = SqlError::of(message, [&login]);
            let reason = error.message.rsplit_once("Reason: ").map_or("", |(_, reason)| reason);
            self.audit_failure(login, error.number, 1, reason, client);
            return Err(error);
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

    /// Tells the error log of a login that is refused.
    pub fn audit_failure(
        &self,
        login: &str,
        error: i32,
        state: u8,
        reason: &str,
        client: &ClientInfo,
    ) {
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
}

/// What a client sent, as one line of the log may show it.
fn printable(text: &str) -> String {
    text.chars().take(128).map(|c| if c.is_control() { '?' } else { c }).collect()
}
