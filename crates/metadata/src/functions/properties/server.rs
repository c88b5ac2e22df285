//! What SERVERPROPERTY and CONNECTIONPROPERTY know: of the instance, and of the session's
//! connection.

use super::{collation_value, flag};
use crate::product::{PRODUCT_VERSION, SERVER_NAME};
use crate::views::{self, SystemView};
use instance::OfInstance;
use logical::view::ViewDef;
use session::state::SessionCore;
use types::{Collation, SqlError, Value};

pub(super) fn server(property: &str, session: &SessionCore) -> Result<Value, SqlError> {
    let folder = || Value::str(session.instance().paths.root().display().to_string());
    Ok(match property {
        "buildclrversion"
        | "instancename"
        | "numlicenses"
        | "processid"
        | "productbuildtype"
        | "productupdatelevel"
        | "productupdatereference"
        | "filestreamsharename"
        | "hadrmanagerstatus" => Value::Null,
        "collation" => Value::str(Collation::DEFAULT.name()),
        "collationid" => collation_value(Collation::DEFAULT, "collationid"),
        "comparisonstyle" => collation_value(Collation::DEFAULT, "comparisonstyle"),
        "lcid" => collation_value(Collation::DEFAULT, "lcid"),
        "computernamephysicalnetbios" | "machinename" | "servername" => Value::str(SERVER_NAME),
        "edition" => Value::str("Ringwood (64-bit)"),
        // Developer: what the number of the edition says of limits.
        "editionid" => Value::BigInt(-2_117_995_310),
        "engineedition" => Value::Int(3),
        "filestreamconfiguredlevel" | "filestreameffectivelevel" => flag(false),
        "instancedefaultbackuppath" | "instancedefaultdatapath" | "instancedefaultlogpath" => {
            folder()
        }
        "isadvancedanalyticsinstalled"
        | "isbigdatacluster"
        | "isclustered"
        | "isexternalauthenticationonly"
        | "isexternalgovernanceenabled"
        | "isfulltextinstalled"
        | "ishadrenabled"
        | "isintegratedsecurityonly"
        | "islocaldb"
        | "ispolybaseinstalled"
        | "isserversuspendedforsnapshotbackup"
        | "issingleuser"
        | "istempdbmetadatamemoryoptimized"
        | "isxtpsupported" => flag(false),
        "licensetype" => Value::str("DISABLED"),
        "pathseparator" => Value::str(std::path::MAIN_SEPARATOR_STR),
        "productbuild" => Value::str("1000"),
        "productlevel" => Value::str("RTM"),
        "productmajorversion" => Value::str("16"),
        "productminorversion" => Value::str("0"),
        "productversion" => Value::str(PRODUCT_VERSION),
        "resourcelastupdatedatetime" => session.instance().started().clone(),
        "resourceversion" => Value::str("16.00.1000"),
        "sqlcharset" => Value::TinyInt(1),
        "sqlcharsetname" => Value::str("iso_1"),
        "sqlsortorder" => Value::TinyInt(52),
        "sqlsortordername" => Value::str("nocase_iso"),
        "suspendeddatabasecount" => flag(false),
        _ => Value::Null,
    })
}

/// The connection as sys.dm_exec_connections shows it.
pub(super) fn connection(property: &str, session: &mut SessionCore) -> Result<Value, SqlError> {
    let column = match property {
        "net_transport" | "physical_net_transport" => "net_transport",
        "protocol_type" => "protocol_type",
        "auth_scheme" => "auth_scheme",
        "local_net_address" => "local_net_address",
        "local_tcp_port" => "local_tcp_port",
        "client_net_address" => "client_net_address",
        _ => return Ok(Value::Null),
    };
    let (db, spid) = (session.db().clone(), session.spid());
    let view = &views::sessions::CONNECTIONS;
    let at = view.columns().iter().position(|(name, _, _)| *name == column);
    let mut rows = view.rows(session, &db, &[])?.into_iter();
    let own = rows.find(|row| row.first() == Some(&Value::Int(spid)));
    Ok(at.and_then(|at| own?.into_iter().nth(at)).unwrap_or(Value::Null))
}
