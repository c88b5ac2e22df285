//! A first password for the administrator, where nobody has given one.

use crate::options::ServerError;

/// A password that nobody guesses: 24 letters and digits in three groups, 139 bits.
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
    // The hyphens satisfy a policy of passwords.
    password.insert(16, '-');
    password.insert(8, '-');
    Ok(password)
}

#[cfg(test)]
mod tests {
    #[test]
    fn passwords_differ_and_have_three_groups() {
        let (one, two) = (super::random_password().unwrap(), super::random_password().unwrap());
        assert_ne!(one, two);
        assert_eq!(one.split('-').map(str::len).collect::<Vec<_>>(), [8, 8, 8]);
    }
}
