//! ENCRYPTBYPASSPHRASE and DECRYPTBYPASSPHRASE, PWDENCRYPT and PWDCOMPARE, in SQL Server's own
//! forms: what one server has made the other reads. Guarantees: what is no such value, or was made
//! with another passphrase, is NULL or 0, never an error.
//!
//! A cipher text is its version in four bytes, an initialization vector, and a message in CBC mode
//! with PKCS #7 padding: a magic number, the lengths of integrity bytes and text, the integrity
//! bytes, the text. Version 2 is AES-256 under the SHA-256 of the passphrase, version 1 (to SQL
//! Server 2016) Triple DES with two keys under its SHA-1. A password's hash is its version in two
//! bytes, a salt of four, and the SHA-512 (version 2) or SHA-1 (version 1) of password and salt.
//! Passphrases and passwords are UTF-16.

use aes::Aes256;
use cbc::cipher::block_padding::Pkcs7;
use cbc::cipher::{BlockModeDecrypt, BlockModeEncrypt, KeyIvInit};
use des::TdesEde2;
use expr::functions::{ArgRule as A, CallCx, Function, Stability, int, int_arg};
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};
use types::convert::{Mode, convert};
use types::{DataType, Len, SqlError, Value, msg};

use instance::security::passwords;

/// Begins each message.
const MAGIC: [u8; 4] = [0x0D, 0xF0, 0xAD, 0xBA];
/// Bytes of a result at most.
const MAX: usize = 8000;
const SALT: usize = 4;

/// These functions.
pub const FUNCTIONS: &[Function] = &[
    Function {
        name: "encryptbypassphrase",
        min: 2,
        max: 4,
        args: &[A::Bytes, A::Bytes, A::Int, A::Bytes],
        result: |_, _| Ok(DataType::VarBinary(Len::N(8000))),
        strict: false,
        stability: Stability::Row,
        nullable: true,
        eval: encrypt,
    },
    Function {
        name: "decryptbypassphrase",
        min: 2,
        max: 4,
        args: &[A::Bytes, A::Bytes, A::Int, A::Bytes],
        result: |_, _| Ok(DataType::VarBinary(Len::N(8000))),
        strict: false,
        stability: Stability::Pure,
        nullable: true,
        eval: decrypt,
    },
    Function {
        name: "pwdencrypt",
        min: 1,
        max: 1,
        args: &[A::Name],
        result: |_, _| Ok(DataType::VarBinary(Len::N(128))),
        strict: true,
        stability: Stability::Row,
        nullable: true,
        eval: |args, _| {
            let mut salt = [0; SALT];
            passwords::fill(&mut salt);
            let mut hash = vec![2, 0];
            hash.extend_from_slice(&salt);
            hash.extend(Sha512::digest(salted(&args[0], &salt)));
            Ok(Value::bytes(hash))
        },
    },
    Function {
        name: "pwdcompare",
        min: 2,
        max: 3,
        args: &[A::Name, A::Bytes, A::Int],
        result: int,
        strict: true,
        stability: Stability::Pure,
        nullable: true,
        eval: |args, _| {
            Ok(Value::Int(i32::from(matches(&args[0], args[1].as_bytes().unwrap_or_default()))))
        },
    },
];

/// The UTF-16 of a text, the bytes of anything else.
fn wide(value: &Value) -> Vec<u8> {
    match value {
        Value::Str(text) => types::units::units(text).flat_map(u16::to_le_bytes).collect(),
        Value::Bytes(bytes) => bytes.to_vec(),
        _ => Vec::new(),
    }
}

fn salted(password: &Value, salt: &[u8]) -> Vec<u8> {
    [&wide(password), salt].concat()
}

/// Whether a hash is one of a password.
fn matches(password: &Value, hash: &[u8]) -> bool {
    let Some((head, rest)) = hash.split_at_checked(2) else { return false };
    let Some((salt, digest)) = rest.split_at_checked(SALT) else { return false };
    let input = salted(password, salt);
    match head {
        [2, 0] => Sha512::digest(input)[..] == *digest,
        // SQL Server 2000 put a second hash behind, of the password in upper case.
        [1, 0] => digest.len() >= 20 && Sha1::digest(input)[..] == digest[..20],
        _ => false,
    }
}

/// A text's stored bytes; binary as it is.
fn bytes_of(args: &[Value], at: usize, cx: &CallCx<'_>) -> Result<Option<Vec<u8>>, SqlError> {
    let (Some(value), Some(ty)) = (args.get(at), cx.types.get(at)) else { return Ok(None) };
    let bytes = convert(value, *ty, DataType::VarBinary(Len::Max), 0, Mode::Explicit)?;
    Ok(bytes.as_bytes().map(<[u8]>::to_vec))
}

/// What binds a message to its authenticator, if it has one.
fn integrity(args: &[Value], cx: &CallCx<'_>, text: &[u8]) -> Result<Vec<u8>, SqlError> {
    if int_arg(args, 2) == 0 {
        return Ok(Vec::new());
    }
    let authenticator = bytes_of(args, 3, cx)?.unwrap_or_default();
    Ok(Sha1::digest([text, &authenticator].concat()).to_vec())
}

fn encrypt(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let Some(text) = bytes_of(args, 1, cx)? else { return Ok(Value::Null) };
    let integrity = integrity(args, cx, &text)?;
    let (Ok(before), Ok(length)) = (u16::try_from(integrity.len()), u16::try_from(text.len()))
    else {
        return Err(too_long());
    };
    let message =
        [&MAGIC[..], &before.to_le_bytes(), &length.to_le_bytes(), &integrity, &text].concat();
    let mut vector = [0; 16];
    passwords::fill(&mut vector);
    let key = Sha256::digest(wide(&args[0]));
    let cipher = cbc::Encryptor::<Aes256>::new(&key, &vector.into());
    let sealed = cipher.encrypt_padded_vec::<Pkcs7>(&message);
    let whole = [&[2, 0, 0, 0], &vector[..], &sealed].concat();
    if whole.len() > MAX { Err(too_long()) } else { Ok(Value::bytes(whole)) }
}

fn too_long() -> SqlError {
    SqlError::of(msg::TRUNCATED_ANYWHERE, [])
}

fn decrypt(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let Some(sealed) = bytes_of(args, 1, cx)?.filter(|_| !args[0].is_null()) else {
        return Ok(Value::Null);
    };
    let Some((given, text)) = opened(&wide(&args[0]), &sealed) else { return Ok(Value::Null) };
    let wanted = integrity(args, cx, &text)?;
    Ok(if given == wanted { Value::bytes(text) } else { Value::Null })
}

/// The integrity bytes and the text of a message.
fn opened(passphrase: &[u8], sealed: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let message = match sealed.split_at_checked(4)? {
        ([2, 0, 0, 0], rest) => {
            let (vector, rest) = rest.split_first_chunk::<16>()?;
            let key = Sha256::digest(passphrase);
            cbc::Decryptor::<Aes256>::new(&key, vector.into())
                .decrypt_padded_vec::<Pkcs7>(rest)
                .ok()?
        }
        ([1, 0, 0, 0], rest) => {
            let (vector, rest) = rest.split_first_chunk::<8>()?;
            let digest = Sha1::digest(passphrase);
            let (key, _) = digest.split_first_chunk::<16>()?;
            cbc::Decryptor::<TdesEde2>::new(key.into(), vector.into())
                .decrypt_padded_vec::<Pkcs7>(rest)
                .ok()?
        }
        _ => return None,
    };
    let rest = message.strip_prefix(&MAGIC)?;
    let (before, rest) = rest.split_first_chunk::<2>()?;
    let (length, rest) = rest.split_first_chunk::<2>()?;
    let (integrity, rest) = rest.split_at_checked(u16::from_le_bytes(*before).into())?;
    let text = rest.get(..u16::from_le_bytes(*length).into())?;
    Some((integrity.to_vec(), text.to_vec()))
}
