//! Who may log in. The server asks an [`Authenticator`]; one that knows the administrator alone is here.

use std::net::IpAddr;
use std::sync::Arc;

use engine::{Instance, Session, SqlError};

use crate::options::ServerError;

/// The name of the administrator.
pub const ADMINISTRATOR: &str = "sa";

/// Makes sessions for those who prove who they are.
pub trait Authenticator: Send + Sync {
    /// A session of the login.
    ///
    /// # Errors
    /// 18456 with the state that says why (5: no such login, 7: disabled, 8: wrong password), for the error log only: the client
    /// gets state 1. Other errors reach the client as they are.
    fn log_in(
        &self,
        instance: &Arc<Instance>,
        login: &str,
        password: &str,
        client: IpAddr,
    ) -> Result<Session, SqlError>;
}

/// Error 18456 with its true state.
pub fn login_failed(login: &str, state: u8) -> SqlError {
    SqlError::new(18456, 14, state, format!("Login failed for user '{login}'."))
}

/// Why, as the error log says it.
pub fn reason(state: u8) -> &'static str {
    match state {
        5 => "Could not find a login matching the name provided.",
        7 => "The account is disabled.",
        8 => "Password did not match that for the login provided.",
        38 | 40 => "Failed to open the explicitly specified database.",
        _ => "The login cannot be used.",
    }
}

/// Knows one login: the administrator.
pub struct Administrator {
    password: String,
}

impl Administrator {
    /// The administrator with a password.
    pub fn new(password: impl Into<String>) -> Administrator {
        Administrator { password: password.into() }
    }
}

impl Authenticator for Administrator {
    fn log_in(
        &self,
        instance: &Arc<Instance>,
        login: &str,
        password: &str,
        _client: IpAddr,
    ) -> Result<Session, SqlError> {
        if !login.eq_ignore_ascii_case(ADMINISTRATOR) {
            return Err(login_failed(login, 5));
        }
        if !same(password.as_bytes(), self.password.as_bytes()) {
            return Err(login_failed(login, 8));
        }
        instance.session()
    }
}

/// A password that nobody guesses: 24 letters and digits, 140 bits.
///
/// # Errors
/// The system gives no randomness.
pub fn random_password() -> Result<String, ServerError> {
    const SIGNS: &[u8; 57] = b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789";
    let mut password = String::new();
    let mut bytes = [0; 64];
    while password.len() < 24 {
        let random = rustls::crypto::ring::default_provider().secure_random.fill(&mut bytes);
        random.map_err(|_| ServerError::System(std::io::Error::other("there is no randomness")))?;
        // Those above would make some signs likelier than others.
        let fair = bytes.iter().filter(|byte| usize::from(**byte) < SIGNS.len() * 4);
        password.extend(fair.map(|byte| char::from(SIGNS[usize::from(*byte) % SIGNS.len()])));
    }
    password.truncate(24);
    Ok(password)
}

/// Whether two passwords are the same, in a time that does not tell where they differ.
fn same(given: &[u8], right: &[u8]) -> bool {
    let mut differ = given.len() ^ right.len();
    for (at, byte) in given.iter().enumerate() {
        differ |= usize::from(byte ^ right.get(at % right.len().max(1)).copied().unwrap_or(0));
    }
    differ == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_compared_whole() {
        assert!(same(b"secret", b"secret"));
        for wrong in ["", "secre", "secrets", "Secret", "secretsecret"] {
            assert!(!same(wrong.as_bytes(), b"secret"), "{wrong}");
        }
        assert!(!same(b"x", b"") && same(b"", b""));
    }
}
