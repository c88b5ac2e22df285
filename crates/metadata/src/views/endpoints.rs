//! sys.endpoints: where clients connect. Both are there whether a server listens at them or not, as
//! the instance knows of none.

use types::{DataType, Value};

use super::{NVARCHAR60, SYSNAME, View, ViewColumn, bit, text};
use catalog::security::SA;
use session::state::core::{DEDICATED_ENDPOINT, TCP_ENDPOINT};

use DataType::{Bit, Int, TinyInt};

const COLUMNS: &[ViewColumn] = &[
    ("name", SYSNAME, false),
    ("endpoint_id", Int, false),
    ("principal_id", Int, true),
    ("protocol", TinyInt, false),
    ("protocol_desc", NVARCHAR60, true),
    ("type", TinyInt, false),
    ("type_desc", NVARCHAR60, true),
    ("state", TinyInt, true),
    ("state_desc", NVARCHAR60, true),
    ("is_admin_endpoint", Bit, false),
];

/// sys.endpoints.
pub(crate) static ENDPOINTS: View = View::sys("endpoints", COLUMNS, |_, _, _| {
    let row = |name: &str, id: i32, admin: bool| {
        vec![
            text(name),
            Value::Int(id),
            Value::Int(SA),
            Value::TinyInt(2),
            text("TCP"),
            Value::TinyInt(2),
            text("TSQL"),
            Value::TinyInt(0),
            text("STARTED"),
            bit(admin),
        ]
    };
    Ok(vec![
        row("Dedicated Admin Connection", DEDICATED_ENDPOINT, true),
        row("TSQL Default TCP", TCP_ENDPOINT, false),
    ])
});
