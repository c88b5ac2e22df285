//! Remote procedure calls: one message may carry several. Guarantees: calls are decoded one at a
//! time, so memory is bounded by the limit for one call; an error in a parameter names it.

use types::Value;

use crate::byte;
use crate::column::push_b_varchar;
use crate::decode::{ValuePlace, decode_value};
use crate::encode::encode_at;
use crate::error::TdsError;
use crate::limits::{Budget, Grant, Limits, MAX_PARAMETERS};
use crate::reader::Reader;
use crate::request::Headers;
use crate::request::tvp::TableValue;
use crate::text::push_utf16;
use crate::typeinfo::TypeInfo;
use crate::version::TdsVersion;

/// Separates calls from 7.2 on, and in 7.1.
const NEXT_CALL: u8 = 0xFF;
const NEXT_CALL_7_1: u8 = 0x80;
/// Separates calls; the one before it is not carried out.
const NO_EXECUTE: u8 = 0xFE;
/// The length of a procedure's name that announces a number instead.
const BY_ID: u16 = 0xFFFF;
/// Longest name of a procedure in UTF-16 units: four parts of 128 and what separates and quotes
/// them, 1046 bytes.
const MAX_NAME: u16 = 523;
const BY_REFERENCE: u8 = 0x01;
const DEFAULT: u8 = 0x02;
const ENCRYPTED: u8 = 0x08;

/// Numbers of the procedures that can be called by number.
pub mod procedure_id {
    pub const CURSOR: u16 = 1;
    pub const CURSOR_OPEN: u16 = 2;
    pub const CURSOR_PREPARE: u16 = 3;
    pub const CURSOR_EXECUTE: u16 = 4;
    pub const CURSOR_PREP_EXEC: u16 = 5;
    pub const CURSOR_UNPREPARE: u16 = 6;
    pub const CURSOR_FETCH: u16 = 7;
    pub const CURSOR_OPTION: u16 = 8;
    pub const CURSOR_CLOSE: u16 = 9;
    pub const EXECUTE_SQL: u16 = 10;
    pub const PREPARE: u16 = 11;
    pub const EXECUTE: u16 = 12;
    pub const PREP_EXEC: u16 = 13;
    pub const PREP_EXEC_RPC: u16 = 14;
    pub const UNPREPARE: u16 = 15;
}

/// What is called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Procedure {
    /// As written, with whatever qualifies it.
    Name(String),
    Id(u16),
}

impl Procedure {
    /// The name of a procedure that was called by number: `sp_executesql` for 10. `None` for an
    /// unknown number.
    pub fn name(&self) -> Option<&str> {
        const NAMES: [&str; 15] = [
            "sp_cursor",
            "sp_cursoropen",
            "sp_cursorprepare",
            "sp_cursorexecute",
            "sp_cursorprepexec",
            "sp_cursorunprepare",
            "sp_cursorfetch",
            "sp_cursoroption",
            "sp_cursorclose",
            "sp_executesql",
            "sp_prepare",
            "sp_execute",
            "sp_prepexec",
            "sp_prepexecrpc",
            "sp_unprepare",
        ];
        match self {
            Procedure::Name(name) => Some(name),
            Procedure::Id(id) => NAMES.get(usize::from(id.checked_sub(1)?)).copied(),
        }
    }
}

/// A parameter's type and value.
#[derive(Clone, Debug)]
pub enum RpcValue {
    Scalar { ty: TypeInfo, value: Value },
    Table(TableValue),
}

/// One parameter.
#[derive(Clone, Debug)]
pub struct RpcParam {
    /// With its `@`; empty if it is passed by position.
    pub name: String,
    /// An OUTPUT parameter: its value goes back in RETURNVALUE.
    pub by_ref: bool,
    /// The procedure's default is to be used; the value is a NULL.
    pub default: bool,
    pub value: RpcValue,
}

impl RpcParam {
    /// A parameter of a type.
    pub fn new(name: impl Into<String>, ty: TypeInfo, value: Value) -> RpcParam {
        RpcParam {
            name: name.into(),
            by_ref: false,
            default: false,
            value: RpcValue::Scalar { ty, value },
        }
    }

    /// Makes it an OUTPUT parameter.
    #[must_use]
    pub fn output(mut self) -> RpcParam {
        self.by_ref = true;
        self
    }

    /// The value, NULL for a table.
    pub fn scalar(&self) -> &Value {
        match &self.value {
            RpcValue::Scalar { value, .. } => value,
            RpcValue::Table(_) => &Value::Null,
        }
    }
}

/// One call.
#[derive(Clone, Debug)]
pub struct RpcRequest {
    pub procedure: Procedure,
    /// WITH RECOMPILE.
    pub recompile: bool,
    /// The client knows the result's columns already: COLMETADATA may be left out.
    pub no_metadata: bool,
    /// The client reuses the result's columns of its last call.
    pub reuse_metadata: bool,
    /// Not to be carried out (separator 0xFE): the answer is an error and DONEPROC, then the next
    /// call follows.
    pub no_execute: bool,
    pub params: Vec<RpcParam>,
}

impl RpcRequest {
    /// A call with parameters.
    pub fn new(procedure: Procedure, params: Vec<RpcParam>) -> RpcRequest {
        RpcRequest {
            procedure,
            recompile: false,
            no_metadata: false,
            reuse_metadata: false,
            no_execute: false,
            params,
        }
    }
}

/// Decodes the calls of a message one after the other.
#[derive(Debug)]
pub struct RpcReader<'a> {
    reader: Reader<'a>,
    version: TdsVersion,
    headers: Headers,
    budget: Budget<'a>,
    started: bool,
    failed: bool,
}

impl<'a> RpcReader<'a> {
    /// Reads the headers. The limits hold for each call on its own.
    pub fn new(
        payload: &'a [u8],
        version: TdsVersion,
        limits: Limits,
    ) -> Result<RpcReader<'a>, TdsError> {
        let mut reader = Reader::new(payload, "RPC request");
        let headers = Headers::read(&mut reader, version)?;
        let budget = Budget::new(limits);
        Ok(RpcReader { reader, version, headers, budget, started: false, failed: false })
    }

    /// What is decoded of a call is taken from somebody until the next call is read.
    pub fn set_grant(&mut self, grant: &'a mut dyn Grant) {
        self.budget.set_grant(grant);
    }

    /// What stood in front.
    pub fn headers(&self) -> Headers {
        self.headers
    }

    /// Whether another call follows the one that was read last.
    pub fn has_more(&self) -> bool {
        !self.failed && (!self.started || !self.reader.is_empty())
    }

    /// The next call; `None` after the last. After an error there is no next one: its beginning is
    /// not known.
    pub fn next_call(&mut self) -> Result<Option<RpcRequest>, TdsError> {
        if !self.has_more() {
            return Ok(None);
        }
        self.started = true;
        self.budget.reset();
        let call = self.call();
        self.failed = call.is_err();
        call.map(Some)
    }

    fn call(&mut self) -> Result<RpcRequest, TdsError> {
        let procedure = match self.reader.u16()? {
            BY_ID => Procedure::Id(self.reader.u16()?),
            units if units == 0 || units > MAX_NAME => return Err(TdsError::ProcedureName),
            units => Procedure::Name(self.reader.utf16(usize::from(units))?),
        };
        let flags = self.reader.u16()?;
        let mut request = RpcRequest {
            procedure,
            recompile: flags & 1 != 0,
            no_metadata: flags & 2 != 0,
            reuse_metadata: flags & 4 != 0,
            no_execute: false,
            params: Vec::new(),
        };
        loop {
            match self.reader.peek() {
                None => return Ok(request),
                Some(NEXT_CALL) if self.version >= TdsVersion::V7_2 => break,
                Some(NEXT_CALL_7_1) if self.version < TdsVersion::V7_2 => break,
                Some(NO_EXECUTE) if self.version >= TdsVersion::V7_2 => {
                    request.no_execute = true;
                    break;
                }
                Some(_) => {}
            }
            if request.params.len() == MAX_PARAMETERS {
                return Err(TdsError::TooManyParameters(MAX_PARAMETERS));
            }
            let param = self.param(request.params.len() + 1)?;
            request.params.push(param);
        }
        self.reader.u8()?;
        Ok(request)
    }

    fn param(&mut self, ordinal: usize) -> Result<RpcParam, TdsError> {
        let name = self.reader.b_varchar()?;
        match self.typed(&name) {
            Ok((by_ref, default, value)) => Ok(RpcParam { name, by_ref, default, value }),
            Err(error) => Err(TdsError::Parameter { ordinal, name, error: Box::new(error) }),
        }
    }

    fn typed(&mut self, name: &str) -> Result<(bool, bool, RpcValue), TdsError> {
        let flags = self.reader.u8()?;
        if flags & ENCRYPTED != 0 {
            return Err(TdsError::Unsupported("an encrypted parameter"));
        }
        let by_ref = flags & BY_REFERENCE != 0;
        self.budget.charge(size_of::<RpcParam>() + name.len())?;
        let value = if self.reader.peek() == Some(byte::TABLE) && self.version >= TdsVersion::V7_3A
        {
            self.reader.u8()?;
            if by_ref {
                return Err(TdsError::ParameterFlags);
            }
            RpcValue::Table(TableValue::read(&mut self.reader, self.version, &mut self.budget)?)
        } else {
            let ty = TypeInfo::read_parameter(&mut self.reader, self.version)?;
            if by_ref && ty == TypeInfo::Null {
                return Err(TdsError::UntypedOutput);
            }
            if by_ref && ty.is_old_large_object() {
                return Err(TdsError::DeprecatedOutput(ty.byte()));
            }
            let value = decode_value(&mut self.reader, &ty, ValuePlace::Parameter)?;
            self.budget.charge(value.heap_bytes())?;
            RpcValue::Scalar { ty, value }
        };
        Ok((by_ref, flags & DEFAULT != 0, value))
    }
}

/// Appends the payload of a message with calls.
pub fn write_calls(
    headers: &Headers,
    calls: &[RpcRequest],
    version: TdsVersion,
    out: &mut Vec<u8>,
) -> Result<(), TdsError> {
    headers.write(version, out);
    for (i, call) in calls.iter().enumerate() {
        write_call(call, version, out)?;
        if i + 1 < calls.len() {
            out.push(match (call.no_execute, version >= TdsVersion::V7_2) {
                (true, _) => NO_EXECUTE,
                (false, true) => NEXT_CALL,
                (false, false) => NEXT_CALL_7_1,
            });
        }
    }
    Ok(())
}

fn write_call(call: &RpcRequest, version: TdsVersion, out: &mut Vec<u8>) -> Result<(), TdsError> {
    match &call.procedure {
        Procedure::Name(name) => {
            out.extend_from_slice(&(types::units::utf16_len(name) as u16).to_le_bytes());
            push_utf16(name, out);
        }
        Procedure::Id(id) => {
            out.extend_from_slice(&BY_ID.to_le_bytes());
            out.extend_from_slice(&id.to_le_bytes());
        }
    }
    let bits = [(call.recompile, 1u16), (call.no_metadata, 2), (call.reuse_metadata, 4)];
    let flags = bits.iter().filter(|(on, _)| *on).fold(0, |all, (_, bit)| all | bit);
    out.extend_from_slice(&flags.to_le_bytes());
    for param in &call.params {
        push_b_varchar(&param.name, out);
        out.push(
            if param.by_ref { BY_REFERENCE } else { 0 } | if param.default { DEFAULT } else { 0 },
        );
        match &param.value {
            RpcValue::Scalar { ty, value } => {
                ty.write_parameter(out);
                encode_at(value, ty, ValuePlace::Parameter, out)?;
            }
            RpcValue::Table(table) => {
                out.push(byte::TABLE);
                table.write(version, out)?;
            }
        }
    }
    Ok(())
}
