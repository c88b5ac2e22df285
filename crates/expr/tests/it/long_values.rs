//! Functions over long values ask whether the statement is to go on.
//!
//! Each function that takes a text, bytes or anything stands in one of two lists: in `CALLS` with
//! arguments of some megabytes, for which the questions are counted, or in `SHORT` with the reason
//! why none of its arguments is long. A new one stands in none.

use std::any::Any;
use std::cell::Cell;
use std::collections::HashSet;

use ringwood_expr as expr;

use expr::functions::{ArgRule, CallCx, Function, all, required, result_type};
use expr::large::HeldMemory;
use expr::random::Random;
use expr::{Env, QuantifiedExpr, Routine, SubRef};
use types::{Collation, DataType, Dialect, Len, SqlError, Value};

/// Bytes of a long argument.
const LONG: usize = 2 << 20;
/// There is one question at least for so many bytes of the arguments.
const BETWEEN: usize = 256 << 10;

/// A run that counts the questions, and says stop at one of them.
struct WatchedRun {
    looks: Cell<usize>,
    stop_at: usize,
}

fn stop() -> SqlError {
    SqlError::new(3617, 16, 1, "Operation cancelled by user.")
}

fn nothing<T>() -> Result<T, SqlError> {
    Err(SqlError::internal("a function asked for what no statement has here"))
}

impl Env for WatchedRun {
    fn var(&self, _: usize) -> Value {
        Value::Null
    }
    fn var_ref(&self, _: usize) -> Option<&Value> {
        None
    }
    fn param(&self, _: usize) -> Value {
        Value::Null
    }
    fn clock(&mut self) -> i128 {
        0
    }
    fn once(&mut self, _: usize) -> Result<f64, SqlError> {
        nothing()
    }
    fn random(&mut self) -> Result<&mut Random, SqlError> {
        nothing()
    }
    fn datefirst(&mut self) -> Result<u8, SqlError> {
        Ok(7)
    }
    fn dialect(&mut self) -> Result<Dialect, SqlError> {
        Ok(Dialect::DEFAULT)
    }
    fn warn(&mut self, _: SqlError) -> Result<(), SqlError> {
        Ok(())
    }
    fn check_cancel(&self) -> Result<(), SqlError> {
        self.looks.set(self.looks.get() + 1);
        if self.looks.get() < self.stop_at { Ok(()) } else { Err(stop()) }
    }
    fn reserve(&mut self, _: usize) -> Result<(), SqlError> {
        Ok(())
    }
    fn hold(&mut self, _: usize) -> Result<(), SqlError> {
        Ok(())
    }
    fn release(&mut self, _: usize) {}
    fn host(&mut self) -> Option<&mut dyn Any> {
        None
    }
    fn call(&mut self, _: &dyn Routine, _: Vec<Value>) -> Result<Value, SqlError> {
        nothing()
    }
    fn scalar(&mut self, _: &SubRef, _: &[Value]) -> Result<Value, SqlError> {
        nothing()
    }
    fn exists(&mut self, _: &SubRef, _: &[Value]) -> Result<bool, SqlError> {
        nothing()
    }
    fn quantified(&mut self, _: &QuantifiedExpr, _: &[Value]) -> Result<Option<bool>, SqlError> {
        nothing()
    }
}

/// An argument.
#[derive(Clone, Copy)]
enum Arg {
    /// nvarchar(max): this text as often as makes it long.
    Long(&'static str),
    /// nvarchar(max): the same between two others.
    Around(&'static str, &'static str, &'static str),
    /// varchar(max).
    Narrow(&'static str),
    /// varbinary(max).
    Bytes,
    /// nvarchar(max), short.
    Max(&'static str),
    Text(&'static str),
    Int(i64),
    Null(DataType),
}

fn value(arg: Arg) -> (Value, DataType) {
    let long = |text: &str| text.repeat(LONG / text.len());
    match arg {
        Arg::Long(text) => (Value::str(long(text)), DataType::NVarChar(Len::Max)),
        Arg::Around(before, text, after) => {
            (Value::str(format!("{before}{}{after}", long(text))), DataType::NVarChar(Len::Max))
        }
        Arg::Narrow(text) => (Value::str(long(text)), DataType::VarChar(Len::Max)),
        Arg::Bytes => {
            let bytes = (0..LONG as u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8);
            (Value::bytes(bytes.collect::<Vec<u8>>()), DataType::VarBinary(Len::Max))
        }
        Arg::Max(text) => (Value::str(text), DataType::NVarChar(Len::Max)),
        Arg::Text(text) => (Value::str(text), DataType::NVarChar(Len::N(4000))),
        Arg::Int(n) => (Value::BigInt(n), DataType::BigInt),
        Arg::Null(ty) => (Value::Null, ty),
    }
}

use Arg::{Around, Bytes, Int, Long, Max, Narrow, Null, Text};

const DOCUMENT: Arg = Around("<a>", "<b c='1'>x</b>", "</a>");
const ARRAY: Arg = Around("[", "{\"a\":\"x\\n\"}, ", "1]");
const STRING: Arg = Around("{\"b\":\"", "x\\n/", "\",\"a\":[1]}");

/// Functions with long arguments.
const CALLS: &[(&str, &[Arg])] = &[
    ("len", &[Long("é")]),
    ("datalength", &[Long("é")]),
    ("datalength", &[Narrow("é")]),
    ("lower", &[Long("É")]),
    ("upper", &[Long("a")]),
    ("ltrim", &[Long("ab"), Text("xyba")]),
    ("rtrim", &[Long("ab"), Long("ba")]),
    ("trim", &[Long("a"), Long("ba")]),
    ("left", &[Long("é"), Int(2_000_000)]),
    ("right", &[Long("é"), Int(10)]),
    ("substring", &[Long("é"), Int(900_000), Int(10)]),
    ("charindex", &[Text("xxxx"), Long("aé")]),
    ("charindex", &[Text("x"), Long("a"), Int(1)]),
    ("patindex", &[Text("%a%b"), Long("xx")]),
    ("patindex", &[Text("%[b-d]x%"), Long("aé")]),
    ("patindex", &[Text("%a%b%"), Long("aa")]),
    ("replace", &[Long("a"), Text("a"), Text("b")]),
    ("replace", &[Long("a"), Text("a"), Text("")]),
    ("replace", &[Long("a"), Text("b"), Text("")]),
    ("replace", &[Around("", "a", "b"), Around("", "a", "c"), Text("")]),
    ("replicate", &[Long("a"), Int(4)]),
    ("replicate", &[Max("ab"), Int(1 << 20)]),
    ("stuff", &[Long("é"), Int(1000), Int(10), Long("a")]),
    ("stuff", &[Bytes, Int(1000), Int(10), Bytes]),
    ("reverse", &[Long("é")]),
    ("unistr", &[Long("é")]),
    ("unistr", &[Long("\\00e9")]),
    // Characters of two units are taken apart.
    ("ltrim", &[Long("🙂"), Long("ab🙂")]),
    ("right", &[Long("🙂"), Int(11)]),
    ("charindex", &[Text("x"), Long("🙂")]),
    ("patindex", &[Text("%x%"), Long("🙂")]),
    ("replace", &[Long("🙂"), Text("x"), Text("y")]),
    ("reverse", &[Long("🙂")]),
    ("translate", &[Long("🙂"), Text("xyz"), Text("abc")]),
    ("concat", &[Long("a"), Long("b")]),
    ("concat_ws", &[Text(","), Long("a"), Long("b")]),
    ("translate", &[Long("a"), Text("xyz"), Text("abc")]),
    ("translate", &[Long("a"), Long("xy"), Long("ab")]),
    ("soundex", &[Long("a")]),
    ("difference", &[Long("a"), Text("b")]),
    ("xml value()", &[DOCUMENT, Text("string(/a[1])")]),
    ("xml value() as bytes", &[DOCUMENT, Text("string(/a[1])")]),
    ("xml query()", &[DOCUMENT, Text("//b")]),
    ("xml exist()", &[DOCUMENT, Text("//b[. = 'y']")]),
    ("xml modify()", &[DOCUMENT, Text("delete //@c")]),
    (
        "xml modify() with documents",
        &[DOCUMENT, Text("insert sql:variable(\"@x\") into (/a)[1]"), DOCUMENT],
    ),
    ("convert_styled", &[Bytes, Int(1), Null(DataType::VarChar(Len::Max)), Int(1)]),
    ("convert_styled", &[Long("1a"), Int(2), Null(DataType::VarBinary(Len::Max)), Int(1)]),
    ("convert_styled", &[Long("é€"), Int(0), Null(DataType::VarChar(Len::Max)), Int(1)]),
    ("convert_styled", &[Long("é€"), Int(0), Null(DataType::VarBinary(Len::Max)), Int(1)]),
    ("convert_styled", &[Bytes, Int(0), Null(DataType::NVarChar(Len::Max)), Int(1)]),
    ("convert_styled", &[Bytes, Int(0), Null(DataType::VarChar(Len::Max)), Int(1)]),
    ("convert_styled", &[DOCUMENT, Int(1), Null(DataType::Xml), Int(1)]),
    ("checksum", &[Long("a")]),
    ("checksum", &[Narrow("a")]),
    ("checksum", &[Bytes]),
    ("binary_checksum", &[Narrow("a")]),
    ("hashbytes", &[Text("sha2_256"), Bytes]),
    ("hashbytes", &[Text("md5"), Long("é")]),
    ("compress", &[Bytes]),
    ("base64_encode", &[Bytes, Int(1)]),
    ("base64_decode", &[Long("abcd")]),
    ("isjson", &[ARRAY]),
    ("isjson", &[STRING, Text("OBJECT")]),
    ("json_value", &[ARRAY, Text("$[1000000]")]),
    ("json_query", &[STRING, Text("$.a")]),
    ("json_path_exists", &[STRING, Text("$.c")]),
    ("json_modify", &[Text("0"), STRING, Text("$.a"), Text("y")]),
    ("json_modify", &[Text("0"), ARRAY, Text("append $"), Long("\u{1}")]),
    ("json_object", &[Text("+0"), Text("a"), Long("/")]),
    ("json_array", &[Text("+00"), Long("\u{1}"), Bytes]),
    ("openjson_column", &[ARRAY, Text("$.a"), Int(0)]),
    ("openjson_column", &[STRING, Text("$.a"), Int(1)]),
    ("openjson_binary", &[Long("abcd")]),
    ("greatest", &[Long("a"), Long("a")]),
    ("least", &[Narrow("é"), Narrow("É")]),
];

/// Functions whose arguments are never long, though they take texts, bytes or anything; and why.
const SHORT: &[(&str, &str)] = &[
    ("ascii", "the first character"),
    ("unicode", "the first character"),
    ("isnumeric", "no number is long"),
    ("isdate", "no date is long"),
    ("parse_as", "neither numbers nor dates are long"),
    ("format", "numbers and dates"),
    ("left_shift", "no (max) type"),
    ("right_shift", "no (max) type"),
    ("bit_count", "no (max) type"),
    ("get_bit", "no (max) type"),
    ("set_bit", "no (max) type"),
    ("dateadd", "the part is a word"),
    ("datediff", "the part is a word"),
    ("datediff_big", "the part is a word"),
    ("datepart", "the part is a word"),
    ("datename", "the part is a word"),
    ("datetrunc", "the part is a word"),
    ("date_bucket", "the part is a word"),
    ("switchoffset", "an offset"),
    ("todatetimeoffset", "an offset"),
    ("at_time_zone", "a moment and a name"),
    ("decompress", "its own test: the result is long, not the argument"),
];

fn takes_long(function: &Function) -> bool {
    let takes = |rule: &ArgRule| {
        matches!(rule, ArgRule::Any | ArgRule::Str | ArgRule::Bytes | ArgRule::StrOrBytes)
    };
    function.args.iter().any(takes)
}

/// What a call gives, and how often it asked.
fn run(
    name: &str,
    args: &[Value],
    types: &[DataType],
    stop_at: usize,
) -> (Result<Value, SqlError>, usize) {
    let function = required(name).expect(name);
    let exprs: Vec<_> = args.iter().cloned().map(expr::Expr::Const).collect();
    let ty = result_type(function, types, &exprs, Collation::DEFAULT).expect(name);
    let mut watched = WatchedRun { looks: Cell::new(0), stop_at };
    let mut cx = CallCx {
        rt: &mut watched,
        ty,
        types,
        collation: Collation::DEFAULT,
        made: HeldMemory::default(),
    };
    let result = (function.eval)(args, &mut cx);
    (result, watched.looks.get())
}

#[test]
fn every_function_is_in_one_of_the_lists() {
    let called: HashSet<&str> = CALLS.iter().map(|call| call.0).collect();
    let short: HashSet<&str> = SHORT.iter().map(|entry| entry.0).collect();
    assert!(called.is_disjoint(&short));
    let takers = all().filter(|function| takes_long(function)).map(|function| function.name);
    let missing: Vec<&str> =
        takers.filter(|name| !called.contains(name) && !short.contains(name)).collect();
    let unknown: Vec<&str> =
        called.union(&short).copied().filter(|name| required(name).is_err()).collect();
    assert!(
        missing.is_empty() && unknown.is_empty(),
        "not listed: {missing:?}, no functions: {unknown:?}"
    );
}

#[test]
fn long_arguments_ask_again_and_again() {
    let mut wrong = Vec::new();
    for (at, (name, args)) in CALLS.iter().enumerate() {
        let (values, types): (Vec<Value>, Vec<DataType>) = args.iter().copied().map(value).unzip();
        // Of several arguments the first long one may decide.
        let bytes =
            values.iter().map(Value::heap_bytes).filter(|bytes| *bytes > 0).min().unwrap_or(LONG);
        // Some take the square of their arguments' length: it is enough that they ask.
        let (result, looks) = run(name, &values, &types, 1000);
        if let Err(error) = result
            && error.number != stop().number
        {
            wrong.push(format!("{at} {name}: {error}"));
        }
        if looks < bytes.max(LONG) / BETWEEN {
            wrong.push(format!("{at} {name}: {looks} looks"));
        }
        // Told to stop it does nothing more, and says so.
        let (result, looks) = run(name, &values, &types, 3);
        if (result.map_err(|error| error.number).err(), looks) != (Some(3617), 3) {
            wrong.push(format!("{at} {name}: went on after it was told to stop, {looks} looks"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_bomb_is_unpacked_piece_by_piece() {
    let (zeros, ty) = (Value::bytes(vec![0; 8 << 20]), DataType::VarBinary(Len::Max));
    let packed = run("compress", &[zeros], &[ty], usize::MAX).0.expect("it packs");
    assert!(packed.heap_bytes() < 64 << 10);
    let packed = [packed];
    let (result, looks) = run("decompress", &packed, &[ty], usize::MAX);
    assert_eq!(result.expect("it unpacks").as_bytes().map(<[u8]>::len), Some(8 << 20));
    assert!(looks >= 32, "{looks}");
    let (result, looks) = run("decompress", &packed, &[ty], 3);
    assert_eq!((result.map_err(|error| error.number).err(), looks), (Some(3617), 3));
}
