//! What can be wrong with bytes from the other side, and with values to be written. Guarantees:
//! every error says what SQL Server answers in its place: number, severity, text, and whether the
//! connection ends.

use types::msg::Message;
use types::{SqlError, msg};

use crate::byte::VARIANT;

/// A message that does not follow the protocol, or a value that does not fit its declared type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TdsError {
    /// A packet header that cannot be right: SQL Server closes the connection (log entry 17836).
    #[error("wrong packet header: {0}")]
    Packet(&'static str),
    /// The bytes end before the structure does: error 4002.
    #[error("{what} ends unexpectedly at byte {at}")]
    Truncated { what: &'static str, at: usize },
    /// A length, count, offset or flag contradicts another or is out of range: error 4002 (in
    /// requests), 17832 (in login packets).
    #[error("{what} is malformed at byte {at}")]
    Malformed { what: &'static str, at: usize },
    /// A message, row or value needs more memory than the server gives one: error 701 or 17803.
    #[error("{what} is larger than the limit of {limit} bytes")]
    TooLarge { what: &'static str, limit: usize },
    /// The memory for a request's values was not granted: error 701.
    #[error("there is insufficient system memory in resource pool 'default' to run this query")]
    OutOfMemory,
    /// A login packet that cannot be used: error 17832 in the log, the connection closes.
    #[error("the login packet is structurally invalid: {0}")]
    Login(&'static str),
    /// Windows authentication, which needs a domain: error 18452.
    #[error("Windows authentication is not supported")]
    IntegratedLogin,
    /// Something the protocol has and this server does not do.
    #[error("{0} is not supported")]
    Unsupported(&'static str),
    /// A type byte that does not exist: error 8009.
    #[error("data type 0x{0:02X} is unknown")]
    UnknownType(u8),
    /// A length in a type's description, or a value's length, that the type does not allow: error
    /// 8016.
    #[error("data type 0x{0:02X} has an invalid data length or metadata length")]
    TypeLength(u8),
    /// A wrong precision, scale or other type-specific description: error 8017 (8001 for
    /// sql_variant).
    #[error("data type 0x{0:02X} has an invalid precision or scale")]
    TypeMetadata(u8),
    /// Bytes that are no value of the type, such as a day after 9999-12-31: error 8023.
    #[error("the supplied value is not a valid instance of data type {0}")]
    InvalidValue(&'static str),
    /// A value's length that its type cannot have, such as an odd number of bytes of nchar: error
    /// 8028.
    #[error("the supplied length is not valid for data type {0}")]
    ValueLength(&'static str),
    /// Chunks of a large value that contradict their total: error 8007.
    #[error("the chunking format is incorrect for a large object of type 0x{0:02X}")]
    Chunks(u8),
    /// More parameters than a request may have: error 8003.
    #[error("too many parameters; the maximum is {0}")]
    TooManyParameters(usize),
    /// No name where a procedure's name belongs: error 8004.
    #[error("the RPC name is invalid")]
    ProcedureName,
    /// A status flag that the parameter cannot have, such as OUTPUT for a table: error 8006.
    #[error("the parameter status flags are invalid")]
    ParameterFlags,
    /// A NULL without a type as an OUTPUT parameter: error 8015.
    #[error("an untyped NULL is marked as an output parameter")]
    UntypedOutput,
    /// text, ntext or image as an OUTPUT parameter: error 8018.
    #[error("data type 0x{0:02X} is deprecated and marked as output parameter")]
    DeprecatedOutput(u8),
    /// A table type that the parameter's description cannot have: too many columns (8050), a
    /// database name (8047), a column order (8055), a token that does not belong there (8029).
    #[error("table-valued parameter:{}", fault_of_table(.message))]
    Table { message: Message<1> },
    /// An error in a parameter, with its number (from 1) and name.
    #[error("parameter {ordinal} ({name:?}): {error}")]
    Parameter { ordinal: usize, name: String, error: Box<TdsError> },
    /// A value handed to the writer does not belong into its column: a fault of the caller.
    #[error("a {value} cannot be written as {ty}")]
    Mismatch { value: &'static str, ty: &'static str },
    /// A value handed to the writer is longer than its column's declared length: a fault of the
    /// caller.
    #[error("{len} bytes do not fit a column of {limit} bytes")]
    ValueTooLong { len: usize, limit: usize },
}

/// What happens to the connection after an error was answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AfterError {
    /// The next request is read as usual.
    Continue,
    /// Nothing that follows can be understood: send the error if a login was complete, then close.
    Close,
}

/// The number of errors without a message of their own.
const OF_USER: i32 = 50_000;

const RPC: &str = "The incoming tabular data stream (TDS) remote procedure call (RPC) protocol stream is incorrect.";

impl TdsError {
    /// Whether the connection can go on.
    pub fn after(&self) -> AfterError {
        match self {
            TdsError::Packet(_)
            | TdsError::Truncated { .. }
            | TdsError::Malformed { .. }
            | TdsError::TooLarge { .. }
            | TdsError::Login(_) => AfterError::Close,
            TdsError::Parameter { error, .. } => error.after(),
            _ => AfterError::Continue,
        }
    }

    /// The error as SQL Server would say it.
    pub fn to_sql_error(&self) -> SqlError {
        match self {
            TdsError::Parameter { ordinal, name, error } => error.of_parameter(*ordinal, name),
            other => other.raised(""),
        }
    }

    /// The error of a parameter: what belongs to one names it.
    fn of_parameter(&self, ordinal: usize, name: &str) -> SqlError {
        match self {
            TdsError::ParameterFlags => self.raised(&format!("{RPC} Parameter {ordinal}: ")),
            TdsError::DeprecatedOutput(ty) => {
                SqlError::of(msg::DEPRECATED_OUTPUT, [&ordinal, &name, &format_args!("{ty:02X}")])
            }
            TdsError::Table { message } => {
                let table = format!(
                    "{RPC} Table-valued parameter {ordinal} (\"{name}\"): Data type 0xF3 (user-defined table type)"
                );
                SqlError::of(*message, [&table])
            }
            error if error.belongs_to_parameter() => {
                error.raised(&format!("{RPC} Parameter {ordinal} (\"{name}\"): "))
            }
            other => other.to_sql_error(),
        }
    }

    fn belongs_to_parameter(&self) -> bool {
        matches!(
            self,
            TdsError::UnknownType(_)
                | TdsError::TypeLength(_)
                | TdsError::TypeMetadata(_)
                | TdsError::InvalidValue(_)
                | TdsError::ValueLength(_)
                | TdsError::UntypedOutput
                | TdsError::Chunks(_)
        )
    }

    /// The error itself, behind the words for its place in the stream.
    fn raised(&self, place: &str) -> SqlError {
        match self {
            TdsError::Packet(what) => SqlError::of(msg::PACKET_HEADER_WRONG, [what]),
            TdsError::Truncated { .. } => SqlError::of(msg::STREAM_ENDED, []),
            TdsError::Malformed { what, .. } => SqlError::of(msg::STREAM_INCORRECT, [what]),
            TdsError::TooLarge { what, limit } => {
                SqlError::of(msg::REQUEST_TOO_LARGE, [&capitalised(what), limit])
            }
            TdsError::OutOfMemory => SqlError::of(msg::OUT_OF_MEMORY, [&"default"]).state(1),
            TdsError::Login(what) => SqlError::of(msg::LOGIN_PACKET_INVALID, [what]),
            TdsError::IntegratedLogin => SqlError::of(msg::UNTRUSTED_DOMAIN, []),
            TdsError::Unsupported(what) => {
                SqlError::of(msg::REQUEST_NOT_SUPPORTED, [&capitalised(what)])
            }
            TdsError::UnknownType(ty) => {
                SqlError::of(msg::PARAMETER_TYPE_UNKNOWN, [&place, &format_args!("{ty:02X}")])
            }
            TdsError::TypeLength(VARIANT) => SqlError::of(msg::VARIANT_LENGTH, [&place]),
            TdsError::TypeLength(ty) => {
                SqlError::of(msg::PARAMETER_TYPE_LENGTH, [&place, &format_args!("{ty:02X}")])
            }
            TdsError::TypeMetadata(VARIANT) => SqlError::of(msg::VARIANT_METADATA, [&place]),
            TdsError::TypeMetadata(ty) => {
                SqlError::of(msg::PARAMETER_TYPE_PRECISION, [&place, &format_args!("{ty:02X}")])
            }
            TdsError::InvalidValue(ty) => SqlError::of(msg::RPC_VALUE_INVALID, [&place, ty]),
            TdsError::ValueLength(ty) => SqlError::of(msg::RPC_LENGTH_INVALID, [&place, ty]),
            TdsError::Chunks(ty) => {
                SqlError::of(msg::PARAMETER_CHUNKS, [&place, &format_args!("{ty:02X}")])
            }
            TdsError::TooManyParameters(limit) => {
                SqlError::of(msg::TOO_MANY_RPC_PARAMETERS, [limit])
            }
            TdsError::ProcedureName => SqlError::of(msg::RPC_NAME_INVALID, []),
            TdsError::ParameterFlags => SqlError::of(msg::PARAMETER_FLAGS, [&place]),
            TdsError::UntypedOutput => SqlError::of(msg::UNTYPED_OUTPUT, [&place]),
            TdsError::DeprecatedOutput(ty) => {
                SqlError::of(msg::DEPRECATED_OUTPUT_UNNAMED, [&format_args!("{ty:02X}")])
            }
            TdsError::Table { message } => SqlError::of(*message, [&"Table-valued parameter:"]),
            TdsError::Parameter { error, .. } => error.to_sql_error(),
            // Faults of the program that calls the writer: SQL Server has no message for them.
            TdsError::Mismatch { .. } | TdsError::ValueTooLong { .. } => {
                SqlError::new(OF_USER, 16, 1, capitalised(&self.to_string()) + ".")
            }
        }
    }
}

/// The text as a sentence begins.
fn capitalised(text: &str) -> String {
    let mut text = text.to_owned();
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text
}

/// What is wrong with a table, behind the words for the table.
fn fault_of_table(message: &Message<1>) -> String {
    message.text([&""]).trim_end_matches('.').to_owned()
}
