//! The JSON functions. Texts, paths and their errors are those of [`crate::json`]; here is what
//! each function makes of them. Which arguments are JSON already (results of JSON functions, of FOR
//! JSON) only the binder can see: it hands a mask in as one more argument, a digit 1 for each of
//! them.

use types::convert::{Mode, convert};
use types::{CancelCheck, DataType, Len, SqlError, Value, msg};

use super::{ArgRule as A, CallCx, Function, Stability, int, int_arg, invalid_argument, text_arg};
use crate::Expr;
use crate::json::{self, Kind, NewValue, Node, Path};

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

/// Most characters of JSON_VALUE's result.
const SCALAR_LENGTH: usize = 4000;

/// The functions of this theme.
pub const FUNCTIONS: &[Function] = &[
    f(
        "isjson",
        (1, 2),
        &[A::Any, A::Str],
        |t, e| text_first(t, e, "isjson").and_then(|()| int(t, e)),
        isjson,
    ),
    f(
        "json_value",
        (2, 2),
        &[A::Any, A::Str],
        |t, e| {
            text_first(t, e, "json_value")
                .map(|()| DataType::NVarChar(Len::N(SCALAR_LENGTH as u16)))
        },
        |a, cx| {
            let look = cx.look();
            scalar_of(
                json::parse(text_arg(a, 0), &look)?,
                text_arg(a, 1),
                Some(SCALAR_LENGTH),
                &look,
            )
        },
    ),
    f(
        "json_query",
        (1, 2),
        &[A::Any, A::Str],
        |t, e| text_first(t, e, "json_query").map(|()| TEXT),
        |a, cx| {
            let (look, path) = (cx.look(), if a.len() > 1 { text_arg(a, 1) } else { "$" });
            fragment_of(json::parse(text_arg(a, 0), &look)?, path, &look)
        },
    ),
    f(
        "json_path_exists",
        (2, 2),
        &[A::Any, A::Str],
        |t, e| text_first(t, e, "json_path_exists").and_then(|()| int(t, e)),
        |a, cx| {
            let (path, look) = (Path::parse(text_arg(a, 1), false)?, cx.look());
            let found = match sound(json::parse(text_arg(a, 0), &look))? {
                Some(root) => root.at(&path.steps, &look)?.is_some(),
                None => false,
            };
            Ok(Value::Int(i32::from(found)))
        },
    ),
    Function {
        strict: false,
        ..f(
            "json_modify",
            (4, 4),
            &[A::Str, A::Any, A::Str, A::Any],
            |t, e| match (t.get(1), e.get(1)) {
                (Some(ty), Some(expr)) if !ty.is_string() && !is_null(expr) => {
                    Err(invalid_argument(*ty, 1, "json_modify"))
                }
                _ => Ok(TEXT),
            },
            modify,
        )
    },
    Function {
        strict: false,
        nullable: false,
        ..f("json_object", (1, 255), &[A::Any], |_, _| Ok(TEXT), object)
    },
    Function {
        strict: false,
        nullable: false,
        ..f("json_array", (1, 255), &[A::Any], |_, _| Ok(TEXT), array)
    },
    // What a column of OPENJSON's WITH takes of a row: text, path, AS JSON.
    f(
        "openjson_column",
        (3, 3),
        &[A::Any, A::Str, A::Int],
        |_, _| Ok(TEXT),
        |a, cx| {
            let (path, look) = (text_arg(a, 1), cx.look());
            let root = json::parse_any(text_arg(a, 0), &look)?;
            if int_arg(a, 2) != 0 {
                fragment_of(root, path, &look)
            } else {
                scalar_of(root, path, None, &look)
            }
        },
    ),
    // A binary column of OPENJSON's WITH.
    f(
        "openjson_binary",
        (1, 1),
        &[A::Str],
        |_, _| Ok(DataType::VarBinary(Len::Max)),
        |a, cx| {
            json::from_base64(text_arg(a, 0), &cx.look())?
                .map(Value::bytes)
                .ok_or_else(|| SqlError::of(msg::JSON_NOT_BASE64, []))
        },
    ),
];

const TEXT: DataType = DataType::NVarChar(Len::Max);

fn is_null(expr: &Expr) -> bool {
    matches!(expr, Expr::Const(Value::Null))
}

/// Error 8116 for a first argument that is no string.
fn text_first(types: &[DataType], exprs: &[Expr], name: &str) -> Result<(), SqlError> {
    match (types.first(), exprs.first()) {
        (Some(ty), Some(expr)) if !ty.is_string() && !is_null(expr) => {
            Err(invalid_argument(*ty, 1, name))
        }
        _ => Ok(()),
    }
}

/// ISJSON: objects and arrays, unless a type is asked for.
fn isjson(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let node = sound(json::parse_any(text_arg(args, 0), &cx.look()))?;
    let wanted = if args.len() > 1 { text_arg(args, 1) } else { "" }.to_ascii_uppercase();
    let sound = node.is_some_and(|node| match wanted.as_str() {
        "VALUE" => true,
        "ARRAY" => node.kind == Kind::Array,
        "OBJECT" => node.kind == Kind::Object,
        "SCALAR" => matches!(node.kind, Kind::String | Kind::Number),
        _ => node.is_container(),
    });
    Ok(Value::Int(i32::from(sound)))
}

/// What a text is; none for one that is no JSON.
fn sound(read: Result<Node<'_>, SqlError>) -> Result<Option<Node<'_>>, SqlError> {
    match read {
        Ok(node) => Ok(Some(node)),
        Err(error) if error.number == json::MALFORMED => Ok(None),
        Err(error) => Err(error),
    }
}

/// The scalar at a path. Strict: 13608, 13623 for an object or array, 13625 for one that is too
/// long; lax NULL.
fn scalar_of(
    root: Node<'_>,
    path: &str,
    limit: Option<usize>,
    look: CancelCheck<'_>,
) -> Result<Value, SqlError> {
    let path = Path::parse(path, false)?;
    let failed = |message| match path.strict {
        true => Err(SqlError::of(message, [])),
        false => Ok(Value::Null),
    };
    let Some(node) = root.at(&path.steps, look)? else {
        return if path.strict { Err(json::no_property()) } else { Ok(Value::Null) };
    };
    if node.is_container() {
        return failed(msg::JSON_SCALAR_NOT_FOUND);
    }
    let Some(text) = node.scalar(look)? else { return Ok(Value::Null) };
    if limit.is_some_and(|limit| types::codepage::utf16_len(&text) > limit) {
        return failed(msg::JSON_VALUE_TRUNCATED);
    }
    Ok(Value::str(text))
}

/// The object or array at a path as it is written. Strict: 13608, 13624 for a scalar; lax NULL.
fn fragment_of(root: Node<'_>, path: &str, look: CancelCheck<'_>) -> Result<Value, SqlError> {
    let path = Path::parse(path, false)?;
    match root.at(&path.steps, look)? {
        Some(node) if node.is_container() => Ok(Value::str(node.text)),
        None if path.strict => Err(json::no_property()),
        Some(node) if path.strict && node.kind != Kind::Null => {
            Err(SqlError::of(msg::JSON_OBJECT_NOT_FOUND, []))
        }
        _ => Ok(Value::Null),
    }
}

/// Mask, text, path, value.
fn modify(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let (Some(text), Some(path)) = (args[1].as_str(), args[2].as_str()) else {
        return Ok(Value::Null);
    };
    let root = json::parse(text, &cx.look())?;
    let path = Path::parse(path, true)?;
    let mut new = String::new();
    let value = match &args[3] {
        Value::Null => NewValue::Null,
        value => {
            // The text with the value in it, and the value apart.
            let long = json::most_bytes(value);
            cx.makes(text.len().saturating_add(long.saturating_mul(2)))?;
            json::value_text(value, cx.types[3], text_arg(args, 0) == "1", &mut new, &cx.look())?;
            NewValue::Json(&new)
        }
    };
    json::modify(text, root, &path, value, &cx.look()).map(|text| Value::Str(text.into()))
}

/// The mask's flags: `-` first leaves NULLs out, then a digit for each value.
fn masked(args: &[Value]) -> (bool, Vec<bool>) {
    let mask = text_arg(args, 0);
    (mask.starts_with('-'), mask.bytes().skip(1).map(|b| b == b'1').collect())
}

/// Mask, then names and values in turn.
fn object(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let (absent, json) = masked(args);
    let mut out = String::from("{");
    for (i, at) in (1..args.len().saturating_sub(1)).step_by(2).enumerate() {
        let value = &args[at + 1];
        if absent && value.is_null() {
            continue;
        }
        if out.len() > 1 {
            out.push(',');
        }
        let name = convert(&args[at], cx.types[at], TEXT, 0, Mode::Explicit)?;
        let Some(name) = name.as_str() else {
            return Err(SqlError::of(msg::NOT_SUPPORTED, [&"A name that is NULL in JSON_OBJECT"]));
        };
        cx.makes(out.len() + name.len() * 6 + json::most_bytes(value))?;
        json::write_string(name, &mut out, &cx.look())?;
        out.push(':');
        let json = json.get(i).copied().unwrap_or(false);
        json::value_text(value, cx.types[at + 1], json, &mut out, &cx.look())?;
    }
    out.push('}');
    Ok(Value::Str(out.into()))
}

/// Mask, then the elements.
fn array(args: &[Value], cx: &mut CallCx<'_>) -> Result<Value, SqlError> {
    let (absent, json) = masked(args);
    let mut out = String::from("[");
    for (i, value) in args.iter().enumerate().skip(1) {
        if absent && value.is_null() {
            continue;
        }
        if out.len() > 1 {
            out.push(',');
        }
        cx.makes(out.len() + json::most_bytes(value))?;
        let json = json.get(i - 1).copied().unwrap_or(false);
        json::value_text(value, cx.types[i], json, &mut out, &cx.look())?;
    }
    out.push(']');
    Ok(Value::Str(out.into()))
}
