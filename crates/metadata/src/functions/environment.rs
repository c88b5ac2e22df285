//! What is around a statement: triggers that run, the server's time zone, defaults of the session;
//! and what a value of sql_variant is.

use expr::Expr;
use expr::functions::{
    ArgRule as A, CallCx, Function, Stability, int, int_arg, smallint, text_arg,
};
use types::{DataType, Len, SqlError, Value, variant};

use super::{of_statement as f, session};
use instance::security::passwords;

fn name_type(_: &[DataType], _: &[Expr]) -> Result<DataType, SqlError> {
    Ok(DataType::VarChar(Len::N(128)))
}

/// The functions of this theme.
pub const FUNCTIONS: &[Function] = &[
    f("trigger_nestlevel", (0, 3), &[A::Int, A::Str], int, trigger_nestlevel),
    f("current_timezone", (0, 0), &[], name_type, |_, _| {
        Ok(Value::str("(UTC) Coordinated Universal Time"))
    }),
    f("current_timezone_id", (0, 0), &[], name_type, |_, _| Ok(Value::str("UTC"))),
    f("current_request_id", (0, 0), &[], smallint, |_, _| Ok(Value::SmallInt(0))),
    // Of a text whose collation has no third weights: there are no others.
    f(
        "tertiary_weights",
        (1, 1),
        &[A::Str],
        |_, _| Ok(DataType::VarBinary(Len::N(8000))),
        |_, _| Ok(Value::Null),
    ),
    // Whether a column without NULL or NOT NULL takes NULL.
    f("getansinull", (0, 1), &[A::Name], int, |_, cx| {
        Ok(Value::Int(i32::from(session(cx)?.options.ansi_null_dflt_on)))
    }),
    Function {
        stability: Stability::Row,
        ..f(
            "crypt_gen_random",
            (1, 2),
            &[A::Int, A::Bytes],
            |_, _| Ok(DataType::VarBinary(Len::N(8000))),
            crypt_gen_random,
        )
    },
    Function {
        stability: Stability::Pure,
        ..f(
            "sql_variant_property",
            (2, 2),
            &[A::Any, A::Str],
            |_, _| Ok(DataType::SqlVariant),
            variant_property,
        )
    },
];

/// How many triggers run, or runs of one trigger. AFTER triggers of DML are all that there are.
fn trigger_nestlevel(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let core = session(cx)?;
    let running = &core.run.triggers.running;
    let wanted = int_arg(args, 0);
    let kind = |at: usize, own: &str| {
        args.get(at).is_none() || text_arg(args, at).eq_ignore_ascii_case(own)
    };
    let count = match (wanted, kind(1, "AFTER") && kind(2, "DML")) {
        (_, false) => 0,
        (0, true) => running.len(),
        (id, true) => running.iter().filter(|(running, _)| i64::from(*running) == id).count(),
    };
    Ok(Value::Int(i32::try_from(count).unwrap_or(i32::MAX)))
}

/// Bytes of the system's generator; a seed adds nothing to them.
fn crypt_gen_random(args: &[Value], _: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let Some(length) = usize::try_from(int_arg(args, 0)).ok().filter(|n| (1..=8000).contains(n))
    else {
        return Ok(Value::Null);
    };
    let mut bytes = vec![0u8; length];
    passwords::fill(&mut bytes);
    Ok(Value::bytes(bytes))
}

fn variant_property(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let value = variant::of(args[0].clone(), cx.types[0], cx.collation);
    let (_, ty, collation) = variant::parts(&value);
    let name = text_arg(args, 1).trim_end().to_ascii_lowercase();
    Ok(match name.as_str() {
        "basetype" => Value::str(ty.base_name()),
        "precision" => Value::Int(i32::from(ty.precision())),
        "scale" => Value::Int(i32::from(ty.scale())),
        "maxlength" => Value::Int(i32::from(ty.max_length())),
        "totalbytes" => Value::Int(variant::total_bytes(&value) as i32),
        "collation" if ty.is_string() => Value::str(collation.name()),
        _ => Value::Null,
    })
}
