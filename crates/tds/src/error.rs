//! What can be wrong with bytes from the other side, and with values to be written. Guarantees: every error says what
//! SQL Server answers in its place: number, severity, text, and whether the connection ends.

use types::SqlError;

use crate::typewire::byte::VARIANT;

/// A message that does not follow the protocol, or a value that does not fit its declared type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TdsError {
    /// A packet header that cannot be right: SQL Server closes the connection (log entry 17836).
    #[error("wrong packet header: {0}")]
    Packet(&'static str),
    /// The bytes end before the structure does: error 4002.
    #[error("{what} ends unexpectedly at byte {at}")]
    Truncated { what: &'static str, at: usize },
    /// A length, count, offset or flag contradicts another or is out of range: error 4002 (in requests), 17832 (in
    /// login packets).
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
    /// A length in a type's description, or a value's length, that the type does not allow: error 8016.
    #[error("data type 0x{0:02X} has an invalid data length or metadata length")]
    TypeLength(u8),
    /// A wrong precision, scale or other type-specific description: error 8017 (8001 for sql_variant).
    #[error("data type 0x{0:02X} has an invalid precision or scale")]
    TypeMetadata(u8),
    /// Bytes that are no value of the type, such as a day after 9999-12-31: error 8023.
    #[error("the supplied value is not a valid instance of data type {0}")]
    InvalidValue(&'static str),
    /// A value's length that its type cannot have, such as an odd number of bytes of nchar: error 8028.
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
    /// A table type that the parameter's description cannot have: too many columns (8050), a database name (8047),
    /// a column order (8055), a token that does not belong there (8029).
    #[error("table-valued parameter: {what}")]
    Table { number: i32, what: &'static str },
    /// An error in a parameter, with its number (from 1) and name.
    #[error("parameter {ordinal} ({name:?}): {error}")]
    Parameter { ordinal: usize, name: String, error: Box<TdsError> },
    /// A value handed to the writer does not belong into its column: a fault of the caller.
    #[error("a {value} cannot be written as {ty}")]
    Mismatch { value: &'static str, ty: &'static str },
    /// A value handed to the writer is longer than its column's declared length: a fault of the caller.
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

const RPC: &str =
    "The incoming tabular data stream (TDS) remote procedure call (RPC) protocol stream is incorrect.";

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
        let (number, severity) = self.number();
        let message = match self {
            TdsError::Parameter { ordinal, name, error } if error.belongs_to_parameter() => {
                format!("{RPC} Parameter {ordinal} (\"{name}\"): {}", error.sentence())
            }
            TdsError::Parameter { ordinal, name, error } => match &**error {
                TdsError::ParameterFlags => {
                    format!("{RPC} Parameter {ordinal}: The parameter status flags are invalid.")
                }
                TdsError::DeprecatedOutput(ty) => format!(
                    "Invalid parameter {ordinal} ('{name}'): Data type 0x{ty:02X} is a deprecated large object, or LOB, \
                     but is marked as output parameter. Deprecated types are not supported as output parameters. Use \
                     current large object types instead."
                ),
                TdsError::Table { what, .. } => {
                    format!(
                        "{RPC} Table-valued parameter {ordinal} (\"{name}\"): Data type 0xF3 (user-defined table type) {what}."
                    )
                }
                other => return other.to_sql_error(),
            },
            other => other.sentence(),
        };
        SqlError::new(number, severity, 1, message)
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

    fn number(&self) -> (i32, u8) {
        match self {
            TdsError::Packet(_) => (17836, 20),
            TdsError::Truncated { .. } | TdsError::Malformed { .. } => (4002, 16),
            TdsError::TooLarge { .. } | TdsError::OutOfMemory => (701, 17),
            TdsError::Login(_) => (17832, 20),
            TdsError::IntegratedLogin => (18452, 14),
            TdsError::Unsupported(_) => (40510, 16),
            TdsError::UnknownType(_) => (8009, 16),
            TdsError::TypeLength(VARIANT) => (8013, 16),
            TdsError::TypeLength(_) => (8016, 16),
            TdsError::TypeMetadata(VARIANT) => (8001, 16),
            TdsError::TypeMetadata(_) => (8017, 16),
            TdsError::InvalidValue(_) => (8023, 16),
            TdsError::ValueLength(_) => (8028, 16),
            TdsError::Chunks(_) => (8007, 16),
            TdsError::TooManyParameters(_) => (8003, 16),
            TdsError::ProcedureName => (8004, 16),
            TdsError::ParameterFlags => (8006, 16),
            TdsError::UntypedOutput => (8015, 16),
            TdsError::DeprecatedOutput(_) => (8018, 16),
            TdsError::Table { number, .. } => (*number, 16),
            TdsError::Parameter { error, .. } => error.number(),
            TdsError::Mismatch { .. } | TdsError::ValueTooLong { .. } => (50000, 16),
        }
    }

    /// The text after the introduction that names the stream and the parameter.
    fn sentence(&self) -> String {
        match self {
            TdsError::Truncated { .. } => {
                "The incoming tabular data stream (TDS) protocol stream is incorrect. \
                 The stream ended unexpectedly."
                    .to_owned()
            }
            TdsError::Malformed { what, .. } => {
                format!("The incoming tabular data stream (TDS) protocol stream is incorrect ({what}).")
            }
            TdsError::IntegratedLogin => {
                "Login failed. The login is from an untrusted domain and cannot be used with \
                 Integrated authentication."
                    .to_owned()
            }
            TdsError::UnknownType(ty) => format!("Data type 0x{ty:02X} is unknown."),
            TdsError::TypeLength(VARIANT) => {
                "Data type 0x62 (sql_variant) has an invalid instance length.".to_owned()
            }
            TdsError::TypeLength(ty) => {
                format!("Data type 0x{ty:02X} has an invalid data length or metadata length.")
            }
            TdsError::UntypedOutput => {
                "Data type 0x1F is an untyped NULL but is marked as an output parameter.".to_owned()
            }
            TdsError::TypeMetadata(VARIANT) => {
                "Meta-information is invalid for the Sql Variant parameter.".to_owned()
            }
            TdsError::TypeMetadata(ty) => {
                format!("Data type 0x{ty:02X} has an invalid precision or scale.")
            }
            TdsError::InvalidValue(ty) => format!(
                "The supplied value is not a valid instance of data type {ty}. Check the source data for invalid \
                 values. An example of an invalid value is data of numeric type with scale greater than precision."
            ),
            TdsError::ValueLength(ty) => format!(
                "The supplied length is not valid for data type {ty}. Check the source data for invalid lengths. An \
                 example of an invalid length is data of nchar type with an odd length in bytes."
            ),
            TdsError::Chunks(ty) => {
                format!("The chunking format is incorrect for a large object parameter of type 0x{ty:02X}.")
            }
            TdsError::TooManyParameters(limit) => {
                format!(
                    "{RPC} Too many parameters were provided in this RPC request. The maximum is {limit}."
                )
            }
            TdsError::ProcedureName => format!("{RPC} The RPC name is invalid."),
            TdsError::OutOfMemory => {
                "There is insufficient system memory in resource pool 'default' to run this query.".to_owned()
            }
            other => {
                let mut text = other.to_string();
                if let Some(first) = text.get(..1) {
                    text.replace_range(..1, &first.to_uppercase());
                }
                text + "."
            }
        }
    }
}
