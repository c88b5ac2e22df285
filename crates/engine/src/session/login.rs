//! Sessions of logins: in the database that a client names or in the login's own, once its logon
//! triggers have run. Guarantees: a login that was disabled or dropped since its password was
//! checked gets no session; what keeps a session from being opened is in the error log.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use catalog::security::{Permission, Principal, SA, Scope};
use types::{LANGUAGES, SqlError, msg};

use super::{Session, logon};
use instance::security::LoginToken;
use instance::security::change::Change;
use instance::security::login::login_failed;
use instance::security::passwords;
use instance::{InstanceCore, OfInstance};
use session::query_memory::QueryMemory;
use session::state::SessionCore;
use session::state::caller::Caller;

/// Memory for queries of the dedicated administrator connection, whatever others hold.
const DEDICATED_MEMORY: usize = 32 << 20;
/// What one operator of them holds before it goes to disk.
const DEDICATED_OPERATOR: usize = 8 << 20;

/// Gives `sa` a password, unless it has this one already: what MSSQL_SA_PASSWORD says.
///
/// # Errors
/// 33062, 33064 a password that the policy does not allow; 3906 the folder is only read; what the
/// storage says.
pub(crate) fn set_sa_password(
    instance: &Arc<InstanceCore>,
    password: &str,
) -> Result<(), SqlError> {
    instance.check_writable()?;
    let master = instance.database("master")?;
    let before = master.security().server.get(SA).cloned();
    let Some(before) = before else { return Err(SqlError::internal("there is no sa")) };
    if let Some(stored) = &before.hash {
        let turn = instance.authentication.passwords.turn();
        if turn.is_some_and(|turn| {
            instance.authentication.passwords.verify(&turn, password, Some(stored))
        }) {
            return Ok(());
        }
    }
    passwords::check_policy(&before.name, password)?;
    let hash = instance.authentication.passwords.hash(password)?;
    instance.authentication.passwords.remember(password, &hash);
    let mut session = Session::of(instance)?;
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

/// A session of a login. With `or_default` it is in the login's default database when the one that
/// is named cannot be opened, and what its client is to be told is beside it (4063).
///
/// # Errors
/// Those of `Instance::session_for`.
pub(crate) fn session_in(
    instance: &Arc<InstanceCore>,
    token: &LoginToken,
    database: Option<&str>,
    or_default: bool,
) -> Result<(Session, Option<SqlError>), SqlError> {
    let mut session = Session::of(instance)?;
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
        told = Some(SqlError::of(msg::LOGIN_DEFAULT_DATABASE_USED, [&wanted, &default]));
        (named, wanted) = (None, default);
        opened = session.use_database(default);
    }
    if let Err(e) = opened {
        let (state, text) = match named {
            Some(_) => (
                38,
                format!(
                    "Failed to open the explicitly specified database '{wanted}': {}",
                    e.message
                ),
            ),
            None => (40, format!("Failed to open the default database '{wanted}': {}", e.message)),
        };
        instance.audit_failure(&token.name, 18_456, state, &text, &token.client);
        return Err(match named {
            Some(_) => SqlError::of(msg::LOGIN_DATABASE_NOT_OPENED, [&wanted]),
            None => SqlError::of(msg::DEFAULT_DATABASE_NOT_OPENED, []),
        });
    }
    if token.dedicated {
        let memory = QueryMemory::new(DEDICATED_MEMORY, DEDICATED_OPERATOR);
        session.with_core(|core| core.memory.own_queries = Some(Arc::new(memory)));
    } else {
        session.with_core(|core| logon::run(core, &token.client))?;
    }
    Ok((session, told))
}

/// The session belongs to a login from now on.
fn log_in(core: &mut SessionCore, token: &LoginToken) {
    core.identity.caller = Caller::login(token.id, &token.name, &token.sid);
    core.shared.login_id.store(token.id, Ordering::Relaxed);
}

/// Whether the login of the session may run anything.
///
/// # Errors
/// 18456.
fn check_login(core: &mut SessionCore) -> Result<(), SqlError> {
    let master = core.host().database("master")?.security();
    let there = master.server.get(core.identity.caller.login_id());
    let there = there.is_some_and(|p| !p.disabled && *p.sid == *core.identity.caller.sid());
    match there && core.has_server(Permission::ConnectSql) {
        true => Ok(()),
        false => Err(login_failed(core.identity.caller.name())),
    }
}

impl Session {
    /// What its login is told when it has logged in: administrators learn of damage that the start
    /// has found.
    pub fn notices(&mut self) -> Vec<SqlError> {
        let notices = self.with_core(|core| core.instance().notices());
        if notices.is_empty() || !self.with_core(|core| core.is_sysadmin()) {
            return Vec::new();
        }
        notices.into_iter().map(|text| SqlError::new(0, 10, 1, text)).collect()
    }
}
