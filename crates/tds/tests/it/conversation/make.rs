//! Random scripts that follow the protocol: types, values, requests, answers.

use fastrand::Rng;
use ringwood_tds::client::ClientCodec;
use ringwood_tds::login::{Feature, Login7};
use ringwood_tds::packet::MessageBuffer;
use ringwood_tds::prelogin::{Encryption, Prelogin};
use ringwood_tds::request::{
    Begin, Procedure, RpcParam, RpcRequest, RpcValue, TableColumn, TableValue, TransactionRequest,
};
use ringwood_tds::tokens::{DoneKind, DoneStatus, EnvChange, ReturnValue};
use ringwood_tds::{
    Column, ColumnFlags, FixedType, Size, TdsVersion, TokenWriter, TypeInfo, WireCollation,
};
use types::datetime::{DAY_TICKS, DAY_TICKS_300, MAX_DAY};
use types::{Decimal, SqlError, Value};

const VERSIONS: [TdsVersion; 6] = [
    TdsVersion::V7_1,
    TdsVersion::V7_2,
    TdsVersion::V7_3A,
    TdsVersion::V7_3B,
    TdsVersion::V7_4,
    TdsVersion::V8_0,
];

/// What one side sends, and what the other reads if nothing is damaged.
pub struct Script {
    pub version: TdsVersion,
    pub bytes: Vec<u8>,
    pub expected: Vec<String>,
}

pub fn version(rng: &mut Rng) -> TdsVersion {
    VERSIONS[rng.usize(..VERSIONS.len())]
}

fn text(rng: &mut Rng, most: usize) -> String {
    const CHARS: [char; 10] =
        ['a', 'Z', '0', ' ', '\'', '\u{e9}', '\u{20ac}', '\u{434}', '\u{4e2d}', '\u{1F600}'];
    let wide = rng.bool();
    (0..rng.usize(..=most))
        .map(|_| CHARS[rng.usize(..if wide { CHARS.len() } else { 5 })])
        .collect()
}

/// Text that code page 1252 has.
fn narrow_text(rng: &mut Rng, most: usize) -> String {
    (0..rng.usize(..=most))
        .map(|_| ['a', 'B', '7', '\u{e9}', '\u{20ac}', ' '][rng.usize(..6)])
        .collect()
}

pub fn bytes(rng: &mut Rng, most: usize) -> Vec<u8> {
    (0..rng.usize(..=most)).map(|_| rng.u8(..)).collect()
}

/// A type that a version has; `plain` leaves out what table-valued parameters cannot have.
pub fn random_type(rng: &mut Rng, version: TdsVersion, plain: bool) -> TypeInfo {
    let collation = WireCollation([[9, 4, 0xD0, 0, 0x34], [0; 5]][rng.usize(..2)]);
    loop {
        let scale = rng.u8(..=7);
        let ty = match rng.u8(..26) {
            0 if !plain => TypeInfo::Fixed(FixedType::Int),
            1 if !plain => TypeInfo::Fixed(FixedType::Money),
            2 if !plain => TypeInfo::Fixed(FixedType::Bit),
            3 if !plain => TypeInfo::Text(collation),
            4 if !plain => TypeInfo::NText(collation),
            5 if !plain => TypeInfo::Image,
            6 => TypeInfo::Bit,
            7 => TypeInfo::Int([1, 2, 4, 8][rng.usize(..4)]),
            8 => TypeInfo::Float([4, 8][rng.usize(..2)]),
            9 => TypeInfo::Money([4, 8][rng.usize(..2)]),
            10 => TypeInfo::DateTime([4, 8][rng.usize(..2)]),
            11 => TypeInfo::Guid,
            12 => {
                let precision = rng.u8(1..=38);
                TypeInfo::Decimal { precision, scale: rng.u8(..=precision), numeric: rng.bool() }
            }
            13 => TypeInfo::Char(rng.u16(1..200), collation),
            14 => TypeInfo::VarChar(Size::Bytes(rng.u16(1..=8000)), collation),
            15 => TypeInfo::NChar(2 * rng.u16(1..100), collation),
            16 => TypeInfo::NVarChar(Size::Bytes(2 * rng.u16(1..=4000)), collation),
            17 => TypeInfo::Binary(rng.u16(1..200)),
            18 => TypeInfo::VarBinary(Size::Bytes(rng.u16(1..=8000))),
            19 => TypeInfo::Variant,
            20 if version >= TdsVersion::V7_2 => TypeInfo::VarChar(Size::Max, collation),
            21 if version >= TdsVersion::V7_2 => TypeInfo::NVarChar(Size::Max, collation),
            22 if version >= TdsVersion::V7_2 => TypeInfo::VarBinary(Size::Max),
            23 if version >= TdsVersion::V7_2 => TypeInfo::Xml,
            25 if version >= TdsVersion::V7_2 && !plain => TypeInfo::Hierarchy,
            24 if version >= TdsVersion::V7_3A => [
                TypeInfo::Date,
                TypeInfo::Time(scale),
                TypeInfo::DateTime2(scale),
                TypeInfo::DateTimeOffset(scale),
            ][rng.usize(..4)],
            _ => continue,
        };
        return ty;
    }
}

/// Ticks of a day that a scale can say.
fn ticks(rng: &mut Rng, scale: u8) -> u64 {
    let unit = 10u64.pow(7 - u32::from(scale));
    rng.u64(..DAY_TICKS / unit) * unit
}

/// A value of a type, NULL among them where the type has it.
pub fn random_value(rng: &mut Rng, ty: &TypeInfo) -> Value {
    if rng.u8(..4) == 0 && !matches!(ty, TypeInfo::Fixed(_)) {
        return Value::Null;
    }
    match *ty {
        TypeInfo::Null => Value::Null,
        TypeInfo::Fixed(fixed) => random_value(rng, &fixed.nullable().clone()).or(rng, fixed),
        TypeInfo::Bit => Value::Bit(rng.bool()),
        TypeInfo::Int(1) => Value::TinyInt(rng.u8(..)),
        TypeInfo::Int(2) => Value::SmallInt(rng.i16(..)),
        TypeInfo::Int(4) => Value::Int(rng.i32(..)),
        TypeInfo::Int(_) => Value::BigInt(rng.i64(..)),
        TypeInfo::Float(4) => Value::Real(rng.f32() * 1e9 - 5e8),
        TypeInfo::Float(_) => Value::Float(rng.f64() * 1e200 - 5e199),
        TypeInfo::Money(4) => Value::SmallMoney(rng.i32(..)),
        TypeInfo::Money(_) => Value::Money(rng.i64(..)),
        TypeInfo::DateTime(4) => {
            Value::SmallDateTime { days: rng.u16(..), minutes: rng.u16(..1440) }
        }
        TypeInfo::DateTime(_) => {
            Value::DateTime { days: rng.i32(-53_690..=2_958_463), ticks: rng.u32(..DAY_TICKS_300) }
        }
        TypeInfo::Guid => Value::Guid(rng.u128(..).to_le_bytes()),
        TypeInfo::Decimal { precision, scale, .. } => {
            let limit = 10i128.pow(u32::from(precision)) - 1;
            Value::Decimal(
                Decimal::new(rng.i128(-limit..=limit), precision, scale).expect("it fits"),
            )
        }
        TypeInfo::Date => Value::Date(rng.i32(..=MAX_DAY).rem_euclid(MAX_DAY + 1)),
        TypeInfo::Time(scale) => Value::Time(ticks(rng, scale)),
        TypeInfo::DateTime2(scale) => {
            Value::DateTime2 { days: rng.i32(0..=MAX_DAY), ticks: ticks(rng, scale) }
        }
        TypeInfo::DateTimeOffset(scale) => Value::DateTimeOffset {
            days: rng.i32(0..=MAX_DAY),
            ticks: ticks(rng, scale),
            offset: rng.i16(-840..=840),
        },
        TypeInfo::Char(n, _) | TypeInfo::VarChar(Size::Bytes(n), _) => {
            Value::str(narrow_text(rng, usize::from(n).min(60)))
        }
        TypeInfo::VarChar(Size::Max, _) | TypeInfo::Text(_) => Value::str(narrow_text(rng, 3000)),
        TypeInfo::NChar(n, _) | TypeInfo::NVarChar(Size::Bytes(n), _) => {
            Value::str(text(rng, usize::from(n / 4).min(60)))
        }
        TypeInfo::NVarChar(Size::Max, _) | TypeInfo::NText(_) | TypeInfo::Xml => {
            Value::str(text(rng, 2000))
        }
        TypeInfo::Binary(n) | TypeInfo::VarBinary(Size::Bytes(n)) => {
            Value::bytes(bytes(rng, usize::from(n).min(60)))
        }
        TypeInfo::Hierarchy => Value::bytes(bytes(rng, 892)),
        TypeInfo::VarBinary(Size::Max) | TypeInfo::Image => Value::bytes(bytes(rng, 3000)),
        _ => {
            // sql_variant: a value of any type.
            let base = [
                TypeInfo::Int(4),
                TypeInfo::Float(8),
                TypeInfo::Guid,
                TypeInfo::Money(8),
                TypeInfo::Date,
            ];
            let base = base[rng.usize(..base.len())];
            types::variant::of(
                random_value(rng, &base),
                types::DataType::SqlVariant,
                types::Collation::DEFAULT,
            )
        }
    }
}

trait OrValue {
    fn or(self, rng: &mut Rng, fixed: FixedType) -> Value;
}

impl OrValue for Value {
    fn or(self, rng: &mut Rng, fixed: FixedType) -> Value {
        if self.is_null() { random_value(rng, &TypeInfo::Fixed(fixed)) } else { self }
    }
}

fn table(rng: &mut Rng, version: TdsVersion) -> TableValue {
    let columns: Vec<TableColumn> = (0..rng.usize(..4))
        .map(|_| TableColumn {
            user_type: 0,
            flags: ColumnFlags::NULLABLE,
            ty: random_type(rng, version, true),
            default: rng.u8(..6) == 0,
        })
        .collect();
    let mut order: Vec<u16> = (1..=columns.len() as u16).collect();
    rng.shuffle(&mut order);
    let rows = if columns.is_empty() { 0 } else { rng.usize(..5) };
    let mut values = Vec::new();
    for _ in 0..rows {
        for column in &columns {
            values.push(if column.default { Value::Null } else { random_value(rng, &column.ty) });
        }
    }
    let column_order = if rng.bool() { order } else { Vec::new() };
    TableValue { schema: text(rng, 5), type_name: text(rng, 9), columns, column_order, values }
}

fn param(rng: &mut Rng, version: TdsVersion) -> RpcParam {
    let name = if rng.bool() { format!("@{}", text(rng, 6)) } else { String::new() };
    let value = match rng.u8(..8) {
        0 if version >= TdsVersion::V7_3A => RpcValue::Table(table(rng, version)),
        1 => RpcValue::Scalar { ty: TypeInfo::Null, value: Value::Null },
        _ => {
            let ty = random_type(rng, version, false);
            RpcValue::Scalar { ty, value: random_value(rng, &ty) }
        }
    };
    let may_return = match &value {
        RpcValue::Scalar { ty, .. } => *ty != TypeInfo::Null && !ty.is_old_large_object(),
        RpcValue::Table(_) => false,
    };
    RpcParam { name, by_ref: may_return && rng.u8(..4) == 0, default: rng.u8(..9) == 0, value }
}

fn call(rng: &mut Rng, version: TdsVersion) -> RpcRequest {
    let procedure = match rng.bool() {
        true => Procedure::Id(rng.u16(1..=15)),
        false => Procedure::Name(format!("p{}", text(rng, 20))),
    };
    let params = (0..rng.usize(..5)).map(|_| param(rng, version)).collect();
    let mut call = RpcRequest::new(procedure, params);
    call.recompile = rng.bool();
    call
}

fn begin(rng: &mut Rng) -> Begin {
    Begin { isolation: rng.u8(..=5), name: text(rng, 16) }
}

fn columns(rng: &mut Rng, version: TdsVersion, least: usize) -> Vec<Column> {
    let column = |rng: &mut Rng| {
        let ty = random_type(rng, version, false);
        let mut column = Column::new(text(rng, 8), ty, ColumnFlags(rng.u16(..) & 0xE03F));
        if ty.is_old_large_object() {
            column.table = vec![text(rng, 5)];
        }
        column
    };
    (0..rng.usize(least..6)).map(|_| column(rng)).collect()
}

fn rows(rng: &mut Rng, columns: &[Column]) -> Vec<Vec<Value>> {
    (0..rng.usize(..6))
        .map(|_| columns.iter().map(|c| random_value(rng, &c.ty)).collect())
        .collect()
}

/// Everything that a client may send, in an order that makes sense.
pub fn client_script(rng: &mut Rng) -> Script {
    let version = version(rng);
    let mut codec = ClientCodec::new(version);
    let (mut bytes, mut expected) = (Vec::new(), Vec::new());
    let prelogin = Prelogin {
        version: [1, 2, 3, 4, 5, 6],
        encryption: Encryption::from_byte(rng.u8(..4)),
        instance: Some(b"MSSQLServer\0".to_vec()),
        thread: Some(rng.u32(..)),
        mars: Some(false),
        trace: rng.bool().then_some([7; 36]),
        ..Prelogin::default()
    };
    bytes.extend(codec.prelogin(&prelogin));
    expected.push(format!("{prelogin:?}"));
    let mut login = Login7::new(version, &text(rng, 20), &text(rng, 20));
    login.database = text(rng, 30);
    login.app = text(rng, 30);
    if version >= TdsVersion::V7_4 {
        login.features = vec![Feature { id: rng.u8(1..20), data: self::bytes(rng, 20) }];
    }
    bytes.extend(codec.login(&login));
    expected.push(format!("{login:?}"));
    codec.packet_size = rng.usize(512..=32767);
    for _ in 0..rng.usize(1..6) {
        codec.transaction = rng.u64(..);
        match rng.u8(..6) {
            0 => {
                let text = text(rng, 3000);
                bytes.extend(codec.batch(&text));
                expected.push(format!("batch {text:?}"));
            }
            1 | 2 => {
                let calls: Vec<RpcRequest> =
                    (0..rng.usize(1..4)).map(|_| call(rng, version)).collect();
                bytes.extend(codec.rpc(&calls).expect("calls that can be written"));
                expected.extend(calls.iter().map(|call| format!("{call:?}")));
            }
            3 => {
                let request = match rng.u8(..4) {
                    0 => TransactionRequest::Begin(begin(rng)),
                    1 => TransactionRequest::Commit {
                        name: text(rng, 9),
                        then: rng.bool().then(|| begin(rng)),
                    },
                    2 => TransactionRequest::Rollback {
                        name: text(rng, 9),
                        then: rng.bool().then(|| begin(rng)),
                    },
                    _ => TransactionRequest::Save { name: text(rng, 9) },
                };
                bytes.extend(codec.transaction(&request));
                expected.push(format!("{request:?}"));
            }
            4 => {
                bytes.extend(codec.attention());
                expected.push("attention".into());
            }
            _ => {
                let columns = columns(rng, version, 1);
                let rows = rows(rng, &columns);
                bytes.extend(
                    codec.bulk(&columns, &rows, rng.bool()).expect("rows that can be written"),
                );
                expected.push(format!("{columns:?}"));
                expected.extend(rows.iter().map(|row| format!("{row:?}")));
                expected.push("end of bulk load".into());
            }
        }
    }
    Script { version, bytes, expected }
}

/// A server's answer: results, messages, output parameters.
pub fn server_script(rng: &mut Rng) -> Script {
    let version = version(rng);
    let mut buffer = MessageBuffer::new(rng.usize(512..=32767), rng.u16(..));
    let mut bytes = Vec::new();
    let mut expected = Vec::new();
    for _ in 0..rng.usize(1..4) {
        let columns = columns(rng, version, 1);
        let types: Vec<TypeInfo> = columns.iter().map(|c| c.ty).collect();
        let rows = rows(rng, &columns);
        TokenWriter::new(buffer.payload(), version).columns(&columns);
        for row in &rows {
            TokenWriter::new(buffer.payload(), version)
                .row(&types, row)
                .expect("a row that can be written");
            buffer.take_full(&mut bytes);
            expected.push(format!("Row({row:?})"));
        }
        let mut writer = TokenWriter::new(buffer.payload(), version);
        let error = SqlError::new(rng.i32(..), 16, 1, text(rng, 50)).at_line(rng.u32(..60_000));
        writer.error(&error, "server", &text(rng, 9));
        writer.env_change(EnvChange::Database { new: &text(rng, 9), old: "master" });
        writer.env_change(EnvChange::BeginTransaction(rng.u64(..)));
        writer.return_status(rng.i32(..));
        let ty = loop {
            match random_type(rng, version, true) {
                TypeInfo::Variant => {}
                ty => break ty,
            }
        };
        let value = random_value(rng, &ty);
        writer
            .return_value(&ReturnValue {
                ordinal: 1,
                name: "@p",
                is_function_result: false,
                user_type: 0,
                flags: ColumnFlags::NULLABLE,
                ty,
                value: &value,
            })
            .expect("a value that can be written");
        writer.order(&[1]);
        writer.done(DoneKind::Proc, DoneStatus::MORE, 0xC1, Some(rows.len() as u64));
    }
    buffer.finish(&mut bytes);
    Script { version, bytes, expected }
}
