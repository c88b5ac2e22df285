//! The names of targets on the command line, and the target of each.

#[cfg(feature = "peers")]
use crate::mariadb::MariaDb;
use crate::mssql::{self, Hook, Mssql};
#[cfg(feature = "peers")]
use crate::postgres::{Postgres, Variant};
use crate::ringwood::Ringwood;
use crate::served::OwnServers;
#[cfg(feature = "peers")]
use crate::sqlite::Sqlite;
use crate::{LabError, Target};

/// Names of the targets that are compared unless others are named, the default first.
pub const NAMES: [&str; 5] = ["ringwood", "served", "postgres", "mariadb", "sqlite"];
/// More of them: one of the above with other settings. Beside all of these there is a server's
/// address.
const VARIANTS: [&str; 2] = ["postgres-shipped", "postgres-torn"];

/// Whether it is the address of a server instead of a name.
pub fn is_address(name: &str) -> bool {
    name.starts_with("mssql:")
}

/// An address without its password; names as they are.
pub fn shown(name: &str) -> String {
    mssql::without_password(name)
}

/// What a build without other engines says.
pub fn without_peers() -> LabError {
    LabError::Request(
        "this build knows no other engine than ringwood: build it with --features peers \
         (cargo run --release --features peers -- lab ...)"
            .into(),
    )
}

/// The target of a name, case ignored, or of a server's address. `restart_with`: the command that
/// ends and starts such a server.
pub fn find(name: &str, restart_with: Option<&str>) -> Result<Box<dyn Target>, LabError> {
    if is_address(name) {
        return Ok(Box::new(Mssql::new(name, restart_with.map(|c| Hook(c.to_owned())))?));
    }
    Ok(match name.to_ascii_lowercase().as_str() {
        "ringwood" => Box::new(Ringwood::default()),
        "served" => Box::new(OwnServers::default()),
        #[cfg(feature = "peers")]
        "postgres" | "postgresql" => Box::new(Postgres::new(Variant::Tuned)),
        #[cfg(feature = "peers")]
        "postgres-shipped" => Box::new(Postgres::new(Variant::Shipped)),
        #[cfg(feature = "peers")]
        "postgres-torn" => Box::new(Postgres::new(Variant::Torn)),
        #[cfg(feature = "peers")]
        "mariadb" => Box::new(MariaDb::default()),
        #[cfg(feature = "peers")]
        "sqlite" => Box::new(Sqlite::default()),
        #[cfg(not(feature = "peers"))]
        "postgres" | "postgresql" | "postgres-shipped" | "postgres-torn" | "mariadb" | "sqlite" => {
            return Err(without_peers());
        }
        _ => {
            return Err(LabError::Request(format!(
                "there is no target {name:?}: choose from {}, {}, or mssql://user@host:port/",
                NAMES.join(", "),
                VARIANTS.join(", ")
            )));
        }
    })
}
