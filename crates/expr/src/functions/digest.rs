//! Digests of values: CHECKSUM, BINARY_CHECKSUM, HASHBYTES; COMPRESS and DECOMPRESS; BASE64_ENCODE
//! and BASE64_DECODE. Guarantees: values that SQL calls equal have one CHECKSUM. SQL Server's own
//! checksums come out for integers, for NULL, for varchar texts of ASCII under the default
//! collation, and with BINARY_CHECKSUM for char, varchar and binary; of other types they are ours,
//! for SQL Server's are published nowhere.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};
use types::convert::{ConvertOptions, Mode, convert_by};
use types::look::{byte_pieces, pieces};
use types::{CancelCheck, Collation, DataType, Len, SqlError, Value, msg};

use super::{ArgRule as A, CallCx, Function, Stability, int, invalid_argument, text_arg};
use crate::Expr;
use crate::json::{base64, from_base64};
use crate::key::ValueKey;
use crate::large::{LONGEST, StepCounter, too_long};

const fn f(
    name: &'static str,
    count: (u8, u8),
    args: &'static [A],
    result: super::ResultRule,
    eval: super::Eval,
) -> Function {
    Function {
        name,
        min: count.0,
        max: count.1,
        args,
        result,
        strict: true,
        stability: Stability::Pure,
        nullable: true,
        eval,
    }
}

/// The functions of this theme.
pub const FUNCTIONS: &[Function] = &[
    Function {
        strict: false,
        nullable: false,
        ..f("checksum", (1, 255), &[A::Any], int, checksum)
    },
    Function {
        strict: false,
        nullable: false,
        ..f("binary_checksum", (1, 255), &[A::Any], int, binary_checksum)
    },
    f(
        "hashbytes",
        (2, 2),
        &[A::Str, A::Bytes],
        |_, _| Ok(DataType::VarBinary(Len::N(8000))),
        hashbytes,
    ),
    f("compress", (1, 1), &[A::Bytes], |_, _| Ok(DataType::VarBinary(Len::Max)), compress),
    f("base64_encode", (1, 2), &[A::Any, A::Int], base64_type, base64_encode),
    f("base64_decode", (1, 1), &[A::Str], base64_bytes_type, base64_decode),
    f("decompress", (1, 1), &[A::Bytes], |_, _| Ok(DataType::VarBinary(Len::Max)), decompress),
];

fn checksum(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let look = cx.look();
    let one = |(value, ty): (&Value, &DataType)| match value {
        Value::Str(text) if !ty.is_unicode() && cx.collation.is_dictionary() => {
            let fold = cx.collation.is_case_insensitive();
            of_text(text.trim_end_matches(' '), |c| dictionary_code(c, fold), &look)
        }
        other => of_value(other, *ty, cx.collation, &look),
    };
    combined(args.iter().zip(cx.types).map(one))
}

fn binary_checksum(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let look = cx.look();
    let one = |(value, ty): (&Value, &DataType)| match value {
        Value::Str(text) if !ty.is_unicode() => {
            let byte = |c| u32::from(types::codepage::encode_char(c).unwrap_or(b'?'));
            of_text(text.trim_end_matches(' '), byte, &look)
        }
        other => of_value(other, *ty, Collation::BIN2, &look),
    };
    combined(args.iter().zip(cx.types).map(one))
}

/// Each argument shifts what came before it by four bits around.
fn combined(sums: impl Iterator<Item = Result<u32, SqlError>>) -> Result<Value, SqlError> {
    let mut whole = 0;
    for sum in sums {
        whole = rotated(whole, [sum?].into_iter());
    }
    Ok(Value::Int(whole as i32))
}

fn rotated(start: u32, codes: impl Iterator<Item = u32>) -> u32 {
    codes.fold(start, |sum, code| sum.rotate_left(4) ^ code)
}

fn of_text(text: &str, code: impl Fn(char) -> u32, look: CancelCheck<'_>) -> Result<u32, SqlError> {
    let mut sum = 0;
    for piece in pieces(text, look) {
        sum = rotated(sum, piece?.chars().map(&code));
    }
    Ok(sum)
}

/// The place of a character in the default collation's order, as CHECKSUM counts it: symbols,
/// digits, letters without case.
fn dictionary_code(c: char, fold: bool) -> u32 {
    let c = if fold { c.to_ascii_lowercase() } else { c };
    match c {
        ' ' => 0,
        '0'..='9' => u32::from(c) - u32::from('0') + 132,
        'a'..='z' => u32::from(c) - u32::from('a') + 142,
        'A'..='Z' => u32::from(c) - u32::from('A') + 142,
        ':'..='@' => u32::from(c) - u32::from(':') + 48,
        '['..='`' => u32::from(c) - u32::from('[') + 55,
        '{'..='\u{7f}' => u32::from(c) - u32::from('{') + 61,
        c if c.is_ascii() => u32::from(c),
        c if fold => {
            let mut lower = c.to_lowercase();
            let one = lower.next().filter(|_| lower.next().is_none()).unwrap_or(c);
            // Only where both forms have a byte of their own are they one letter to the collation.
            let known = types::codepage::encode_char(one).or(types::codepage::encode_char(c));
            known.map_or(u32::from(one), u32::from)
        }
        c => types::codepage::encode_char(c).map_or(u32::from(c), u32::from),
    }
}

fn of_value(
    value: &Value,
    ty: DataType,
    collation: Collation,
    look: CancelCheck<'_>,
) -> Result<u32, SqlError> {
    Ok(match value {
        Value::Null => i32::MAX as u32,
        Value::BigInt(n) => {
            (*n as u32) ^ if *n < 0 { !((*n >> 32) as u32) } else { (*n >> 32) as u32 }
        }
        Value::Bytes(bytes) if ty.is_binary() => {
            let end = bytes.iter().rposition(|b| *b != 0).map_or(0, |at| at + 1);
            let mut sum = 0;
            for piece in byte_pieces(&bytes[..end], look) {
                sum = rotated(sum, piece?.iter().map(|b| u32::from(*b)));
            }
            sum
        }
        other => match other.as_i64() {
            Some(n) => n as u32,
            None => {
                let key = ValueKey::new(other, collation);
                let step = |h: u32, b: &u8| (h ^ u32::from(*b)).wrapping_mul(0x0100_0193);
                let mut sum = 0x811c_9dc5;
                for piece in byte_pieces(key.bytes(), look) {
                    sum = piece?.iter().fold(sum, step);
                }
                sum
            }
        },
    })
}

/// A string's stored bytes; binary as it is.
fn bytes_of(value: &Value, ty: DataType, cx: &CallCx<'_>) -> Result<Value, SqlError> {
    let how = ConvertOptions {
        page: cx.collation.code_page(),
        look: &cx.look(),
        ..ConvertOptions::new(0, Mode::Explicit)
    };
    convert_by(value, ty, DataType::VarBinary(Len::Max), &how)
}

/// NULL for an algorithm that does not exist.
fn hashbytes(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let input = bytes_of(&args[1], cx.types[1], cx)?;
    let input = input.as_bytes().unwrap_or_default();
    Ok(match text_arg(args, 0).trim_end().to_ascii_uppercase().as_str() {
        "MD5" => digest::<md5::Md5>(input, cx)?,
        "SHA" | "SHA1" => digest::<Sha1>(input, cx)?,
        "SHA2_256" => digest::<Sha256>(input, cx)?,
        "SHA2_512" => digest::<Sha512>(input, cx)?,
        name @ ("MD2" | "MD4") => {
            return Err(SqlError::of(msg::NOT_SUPPORTED, [&format_args!("HASHBYTES with {name}")]));
        }
        _ => Value::Null,
    })
}

fn digest<D: Digest>(input: &[u8], cx: &CallCx<'_>) -> Result<Value, SqlError> {
    let mut digest = D::new();
    for piece in byte_pieces(input, &cx.look()) {
        digest.update(piece?);
    }
    Ok(Value::bytes(digest.finalize().to_vec()))
}

/// GZIP.
fn compress(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let input = bytes_of(&args[0], cx.types[0], cx)?;
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let failed = |error| SqlError::internal(format!("COMPRESS: {error}"));
    for piece in byte_pieces(input.as_bytes().unwrap_or_default(), &cx.look()) {
        encoder.write_all(piece?).map_err(failed)?;
    }
    encoder.finish().map(Value::bytes).map_err(failed)
}

/// varchar(8000), or (max) where the text may be longer: of 6,001 bytes it is. Error: 8116.
fn base64_type(types: &[DataType], args: &[Expr]) -> Result<DataType, SqlError> {
    let null = args.first().and_then(Expr::as_const).is_some_and(Value::is_null);
    match types[0] {
        DataType::VarBinary(Len::Max) => Ok(DataType::VarChar(Len::Max)),
        DataType::VarBinary(Len::N(n)) | DataType::Binary(n) if n > 6000 => {
            Ok(DataType::VarChar(Len::Max))
        }
        ty if ty.is_binary() || null => Ok(DataType::VarChar(Len::N(8000))),
        ty => Err(invalid_argument(ty, 1, "base64_encode")),
    }
}

fn base64_bytes_type(types: &[DataType], _: &[Expr]) -> Result<DataType, SqlError> {
    let max = matches!(types[0], DataType::VarChar(Len::Max) | DataType::NVarChar(Len::Max));
    Ok(DataType::VarBinary(if max { Len::Max } else { Len::N(8000) }))
}

/// With 1 behind it in the alphabet for URLs, without padding.
fn base64_encode(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let bytes = args[0].as_bytes().unwrap_or_default();
    cx.makes(bytes.len().div_ceil(3) * 4 * 2)?;
    let of_url = args.get(1).and_then(Value::as_i64).is_some_and(|flag| flag != 0);
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    // Whole groups of three bytes.
    for piece in bytes.chunks(48 << 10) {
        if !text.is_empty() {
            cx.rt.check_cancel()?;
        }
        let piece = base64(piece);
        match of_url {
            true => text.push_str(&piece.trim_end_matches('=').replace('+', "-").replace('/', "_")),
            false => text.push_str(&piece),
        }
    }
    Ok(Value::Str(text.into()))
}

/// Takes both alphabets, padded or not. Error: 9803, with state 20 for another character, 21 for a
/// length that no bytes have, 23 for padding that is too long or not at the end.
fn base64_decode(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let fails =
        |state| Err(SqlError::of(msg::INVALID_DATA_FOR_TYPE, [&"Base64Decode"]).state(state));
    let text = text_arg(args, 0);
    cx.makes(text.len())?;
    let mut digits = String::with_capacity(text.len() + 3);
    let mut padding = 0;
    let look = cx.look();
    let mut steps = StepCounter::new(&look);
    for c in text.chars() {
        steps.step(1)?;
        match c {
            '\n' | '\r' | '\t' | ' ' => {}
            '=' => padding += 1,
            _ if padding > 0 => return fails(23),
            '-' => digits.push('+'),
            '_' => digits.push('/'),
            '+' | '/' | '0'..='9' | 'a'..='z' | 'A'..='Z' => digits.push(c),
            _ => return fails(20),
        }
    }
    if padding > 2 {
        return fails(23);
    }
    while !digits.len().is_multiple_of(4) {
        digits.push('=');
    }
    match from_base64(&digits, &look)? {
        Some(bytes) => Ok(Value::bytes(bytes)),
        // One digit alone is no byte.
        None => fails(21),
    }
}

/// Reads as it goes, so that a small input cannot take memory that the statement does not have.
fn decompress(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let input = bytes_of(&args[0], cx.types[0], cx)?;
    let mut decoder = MultiGzDecoder::new(input.as_bytes().unwrap_or_default());
    let (mut out, mut piece) = (Vec::new(), [0u8; 16 * 1024]);
    loop {
        cx.rt.check_cancel()?;
        match decoder.read(&mut piece) {
            Ok(0) => return Ok(Value::bytes(out)),
            Ok(n) => {
                if out.len() + n > LONGEST {
                    return Err(too_long());
                }
                cx.makes(out.len() + n)?;
                out.extend_from_slice(&piece[..n]);
            }
            Err(_) => {
                return Err(SqlError::of(msg::NOT_GZIP, []));
            }
        }
    }
}
