//! Backup devices: files with a name, which BACKUP and RESTORE take instead of a path. What is kept
//! of one, and `sys.backup_devices`. Guarantee: a device that a statement names is the file that it
//! was made for, whatever the folder that the instance runs in.

use logical::rights::ViewRight;
use types::{DataType, Len, SqlError, Value, msg};

use super::Kind;
use crate::views::shown::VisibleRows;
use crate::views::{NVARCHAR60, SYSNAME, View, text};
use instance::OfInstance;
use instance::persisted::Persisted;
use session::state::SessionCore;

/// What a backup device adds to the system.
pub(super) static KIND: Kind = Kind { views: &[(&VIEW, ViewRight::Public, VisibleRows::All)] };

/// One.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupDevice {
    pub name: String,
    /// As it was given: paths are looked for as those of BACKUP are.
    pub physical_name: String,
}

impl Persisted for BackupDevice {
    const PLURAL: &'static str = "backup devices";
    const ONE: &'static str = "device";

    fn name(&self) -> &str {
        &self.name
    }

    fn fields(&self) -> Vec<String> {
        vec![self.name.clone(), self.physical_name.clone()]
    }

    fn of_fields(fields: &[String]) -> Option<BackupDevice> {
        let [name, physical_name] = fields else { return None };
        Some(BackupDevice { name: name.clone(), physical_name: physical_name.clone() })
    }
}

/// The device of a name.
///
/// # Errors
/// 3206 where there is none.
pub fn find(session: &SessionCore, name: &str) -> Result<BackupDevice, SqlError> {
    session
        .instance()
        .kept::<BackupDevice>()?
        .find(name)
        .ok_or_else(|| SqlError::of(msg::UNKNOWN_BACKUP_DEVICE, [&name]))
}

/// sys.backup_devices.
static VIEW: View = View::sys(
    "backup_devices",
    &[
        ("name", SYSNAME, false),
        ("type", DataType::TinyInt, true),
        ("type_desc", NVARCHAR60, true),
        ("physical_name", DataType::NVarChar(Len::N(260)), true),
    ],
    |session, _, _| {
        let devices = session.instance().kept::<BackupDevice>()?.list();
        let row = |device: BackupDevice| {
            vec![text(&device.name), Value::TinyInt(2), text("DISK"), text(&device.physical_name)]
        };
        Ok(devices.into_iter().map(row).collect())
    },
);
