//! Hashes of passwords: Argon2id, with its parameters in the hash's own text (a PHC string).
//! Guarantees: at most [`Passwords::limit`] hashes are computed at once, whoever asks, so that
//! attempts to log in cannot take more than that many times 19 MB; a wrong password costs a full
//! hash, and so does a login that does not exist.

use std::collections::HashMap;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use argon2::password_hash::phc::{Output, ParamsString, PasswordHash, Salt};
use argon2::{Algorithm, Argon2, Block, Params, Version};
use compact_str::CompactString;
use parking_lot::{Condvar, Mutex};
use types::{SqlError, msg};

/// Longest password in characters.
pub const PASSWORD_MAX: usize = 128;
/// Least length that CHECK_POLICY wants.
const POLICY_MIN: usize = 8;
/// Hashes in KB of memory that are still verified: a hash of a restored master may name any.
const MEMORY_MAX_KB: u32 = 256 << 10;
/// Passwords that were found right and are kept as short keyed hashes.
const REMEMBERED: usize = 1024;
/// How long a login waits for its turn to be hashed.
const TURN: Duration = Duration::from_secs(15);
/// Bytes of salt and of a hash.
const SALT: usize = 16;
const HASH: usize = 32;
/// Room for the memory of a hash, in blocks of 1 KB, of which as many are used as the hash wants.
/// glibc takes what is larger than 32 MB from the system and gives it back when it is freed; 19 MB
/// it would keep for a thread that may never hash again.
const ROOM: usize = 33 << 10;

/// Computes and verifies hashes for an instance.
pub struct Passwords {
    running: Mutex<usize>,
    freed: Condvar,
    limit: usize,
    /// Key of the short hashes, of this process alone.
    key: [u8; 32],
    /// By the text of the full hash: a short hash of the password that was found right for it.
    right: Mutex<HashMap<CompactString, [u8; 32]>>,
    /// What a password is compared with when there is no login.
    nobody: OnceLock<CompactString>,
}

/// A turn to compute a hash.
pub struct HashTurn<'a>(&'a Passwords);

impl Drop for HashTurn<'_> {
    fn drop(&mut self) {
        *self.0.running.lock() -= 1;
        self.0.freed.notify_one();
    }
}

impl Passwords {
    /// For a machine of this many processors: a quarter of them hash at most, two at least and
    /// eight at most.
    pub fn new(processors: usize) -> Passwords {
        let mut key = [0; 32];
        fill(&mut key);
        Passwords {
            running: Mutex::new(0),
            freed: Condvar::new(),
            limit: (processors / 4).clamp(2, 8),
            key,
            right: Mutex::default(),
            nobody: OnceLock::new(),
        }
    }

    /// How many hashes are computed at once.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Waits for a turn; `None` when there was none for 15 seconds.
    pub fn turn(&self) -> Option<HashTurn<'_>> {
        let until = Instant::now() + TURN;
        let mut running = self.running.lock();
        while *running >= self.limit {
            if self.freed.wait_until(&mut running, until).timed_out() {
                return None;
            }
        }
        *running += 1;
        Some(HashTurn(self))
    }

    /// The hash of a new password.
    ///
    /// # Errors
    /// 701 when it cannot be computed.
    pub fn hash(&self, password: &str) -> Result<CompactString, SqlError> {
        let _turn = self.turn().ok_or_else(|| failed("too many passwords are being hashed"))?;
        hash(password)
    }

    /// Whether a password was found right for this hash before; costs microseconds.
    pub fn is_known(&self, password: &str, hash: &str) -> bool {
        let right = self.right.lock().get(hash).copied();
        right.is_some_and(|right| self.short(password, hash) == Some(right))
    }

    /// Whether a password is right; without a hash it is not, after the same time.
    pub fn verify(&self, _turn: &HashTurn<'_>, password: &str, stored: Option<&str>) -> bool {
        let nobody = || {
            // A hash that cannot be computed is one that no password fits.
            self.nobody
                .get_or_init(|| hash("nobody has this password").unwrap_or_default())
                .as_str()
        };
        let fits = fits(password, stored.unwrap_or_else(nobody)).unwrap_or(false);
        match stored {
            Some(stored) if fits => {
                self.remember(password, stored);
                true
            }
            _ => false,
        }
    }

    /// Notes that the password is right for this hash: the next login with it is not hashed in
    /// full.
    pub fn remember(&self, password: &str, hash: &str) {
        if let Some(short) = self.short(password, hash) {
            let mut right = self.right.lock();
            if right.len() >= REMEMBERED {
                right.clear();
            }
            right.insert(hash.into(), short);
        }
    }

    /// A quick hash under the process's key, salted with the full one.
    fn short(&self, password: &str, hash: &str) -> Option<[u8; 32]> {
        let params = Params::new(Params::MIN_M_COST, 1, 1, None).ok()?;
        let quick =
            Argon2::new_with_secret(&self.key, Algorithm::Argon2id, Version::V0x13, params).ok()?;
        let mut out = [0; 32];
        let salt = &hash.as_bytes()[hash.len().saturating_sub(32)..];
        quick.hash_password_into(password.as_bytes(), salt, &mut out).ok()?;
        Some(out)
    }
}

fn hash(password: &str) -> Result<CompactString, SqlError> {
    let (mut salt, mut out) = ([0; SALT], [0; HASH]);
    fill(&mut salt);
    let argon = Argon2::default();
    derive(&argon, password, &salt, &mut out).map_err(|e| failed(&e.to_string()))?;
    let bad = |e: &dyn std::fmt::Display| failed(&e.to_string());
    let hash = PasswordHash {
        algorithm: Algorithm::default().ident(),
        version: Some(Version::default().into()),
        params: ParamsString::try_from(argon.params()).map_err(|e| bad(&e))?,
        salt: Some(Salt::new(&salt).map_err(|e| bad(&e))?),
        hash: Some(Output::new(&out).map_err(|e| bad(&e))?),
    };
    Ok(hash.to_string().into())
}

/// Whether a password has this hash; `None` for a hash that cannot be verified.
fn fits(password: &str, stored: &str) -> Option<bool> {
    let parsed = PasswordHash::new(stored).ok()?;
    let params =
        Params::try_from(&parsed).ok().filter(|params| params.m_cost() <= MEMORY_MAX_KB)?;
    let algorithm = Algorithm::try_from(parsed.algorithm.as_str()).ok()?;
    let version = parsed.version.map_or(Ok(Version::default()), Version::try_from).ok()?;
    let (salt, expected) = (parsed.salt?, parsed.hash?);
    let mut out = vec![0; expected.as_ref().len()];
    derive(&Argon2::new(algorithm, version, params), password, salt.as_ref(), &mut out).ok()?;
    // It takes the same time wherever they differ.
    Some(Output::new(&out).ok()? == expected)
}

/// Computes a hash in memory of its own.
fn derive(
    argon: &Argon2<'_>,
    password: &str,
    salt: &[u8],
    out: &mut [u8],
) -> Result<(), argon2::Error> {
    let count = argon.params().block_count();
    let mut memory = Vec::with_capacity(count.max(ROOM));
    memory.resize(count, Block::default());
    argon.hash_password_into_with_memory(password.as_bytes(), salt, out, &mut memory)
}

fn failed(why: &str) -> SqlError {
    SqlError::of(msg::NO_MEMORY_FOR_PASSWORD, [&why])
}

/// Random bytes of the system.
pub fn fill(bytes: &mut [u8]) {
    let flags = rustix::rand::GetRandomFlags::empty();
    // Up to 256 bytes come whole once the system has begun; a kernel without the call has no better
    // source.
    if rustix::rand::getrandom(&mut *bytes, flags) != Ok(bytes.len()) {
        fastrand::fill(bytes);
    }
}

/// What takes back the rights of an application role or of EXECUTE AS: bytes that nobody guesses.
pub fn cookie() -> Vec<u8> {
    let mut cookie = vec![0; 50];
    fill(&mut cookie);
    cookie
}

/// What CHECK_POLICY = ON asks of a password: 8 characters of three kinds, without the login's
/// name.
///
/// # Errors
/// 33062 too short, 33064 not complex enough.
pub fn check_policy(login: &str, password: &str) -> Result<(), SqlError> {
    if password.chars().count() < POLICY_MIN {
        return Err(SqlError::of(msg::PASSWORD_TOO_SHORT, [&POLICY_MIN]));
    }
    let kinds: [fn(char) -> bool; 4] =
        [char::is_uppercase, char::is_lowercase, |c| c.is_ascii_digit(), |c| !c.is_alphanumeric()];
    let kinds = kinds.iter().filter(|kind| password.chars().any(**kind)).count();
    let named =
        login.chars().count() > 2 && password.to_lowercase().contains(&login.to_lowercase());
    if kinds < 3 || named {
        let detail =
            if named { " Detail: The password contains the name of the login." } else { "" };
        return Err(SqlError::of(msg::PASSWORD_NOT_COMPLEX, [&POLICY_MIN, &detail]));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_hashed_and_known_again() {
        let passwords = Passwords::new(2);
        let first = passwords.hash("Correct horse 1").unwrap();
        assert!(first.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{first}");
        assert_ne!(first, passwords.hash("Correct horse 1").unwrap());
        assert!(!passwords.is_known("Correct horse 1", &first));
        let turn = passwords.turn().unwrap();
        assert!(!passwords.verify(&turn, "correct horse 1", Some(&first)));
        assert!(passwords.verify(&turn, "Correct horse 1", Some(&first)));
        assert!(!passwords.verify(&turn, "nobody has this password", None));
        assert!(!passwords.verify(&turn, "x", Some("no hash")));
        let greedy = first.replace("m=19456", "m=4194304");
        assert!(!passwords.verify(&turn, "Correct horse 1", Some(&greedy)));
        assert!(passwords.is_known("Correct horse 1", &first));
        assert!(!passwords.is_known("correct horse 1", &first));
        let second = passwords.hash("Correct horse 2").unwrap();
        passwords.remember("Correct horse 2", &second);
        assert!(passwords.is_known("Correct horse 2", &second));
        assert!(!passwords.is_known("Correct horse 1", &second));
    }

    #[test]
    fn only_so_many_hash_at_once() {
        let passwords = Passwords::new(8);
        let turns: Vec<_> = (0..passwords.limit()).map(|_| passwords.turn().unwrap()).collect();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| passwords.turn().is_some());
            std::thread::sleep(Duration::from_millis(50));
            assert!(!waits.is_finished());
            drop(turns);
            assert!(waits.join().unwrap());
        });
    }

    #[test]
    fn policy() {
        assert_eq!(check_policy("sa", "Ab1").unwrap_err().number, 33_062);
        assert_eq!(check_policy("sa", "abcdefgh1").unwrap_err().number, 33_064);
        assert_eq!(check_policy("report", "My-Report-9").unwrap_err().number, 33_064);
        assert!(check_policy("sa", "yourStrong(!)Password").is_ok());
    }
}
