//! sp_addumpdevice, sp_dropdevice: backup devices. Guarantees: they run outside of transactions
//! only (15002); a file that is removed is a backup (3242).

use ::types::{DataType, Len, SqlError, msg};
use catalog::security::Permission;
use txn::backup::{BackupDevice as Device, MediaSet};

use super::call::{AllowedCallers, Body, ProcedureCall};
use super::params::{NAME, Param};
use instance::OfInstance;
use instance::file_errors::cannot_open_device;
use instance::permit::{FileUse, PermitReach, PermittedPath};
use instance::persisted::{KeptError, position};
use metadata::views::kept_objects::backup_device::BackupDevice;

/// The procedures, and who may run each.
pub(super) const PROCEDURES: &[(&str, Body, AllowedCallers)] = &[
    ("sp_addumpdevice", add, AllowedCallers::ServerOnly(Permission::AlterResources)),
    ("sp_dropdevice", remove, AllowedCallers::ServerOnly(Permission::AlterResources)),
];

const ADD: &[Param] = &[
    ("@devtype", DataType::VarChar(Len::N(20))),
    ("@logicalname", NAME),
    ("@physicalname", DataType::NVarChar(Len::N(260))),
    ("@cntrltype", DataType::SmallInt),
    ("@devstatus", DataType::VarChar(Len::N(40))),
];
const REMOVE: &[Param] = &[("@logicalname", NAME), ("@delfile", DataType::VarChar(Len::N(7)))];

/// sp_addumpdevice. Errors: 15002, 15026 the name is taken, 15044 a kind of device that is not
/// there.
fn add(call: &mut ProcedureCall<'_>) -> Result<i32, SqlError> {
    let given = call.given("sp_addumpdevice", 3, ADD)?;
    call.check_alone("sp_addumpdevice")?;
    call.core.instance().check_writable()?;
    let (Some(kind), Some(name), Some(physical_name)) =
        (given.text(0), given.name(1), given.name(2))
    else {
        return Err(SqlError::of(msg::NULL_NAME_INVALID, []));
    };
    // Tapes and pipes are SQL Server's; BACKUP refuses tapes here.
    if !kind.eq_ignore_ascii_case("disk") {
        return Err(SqlError::of(msg::DEVICE_TYPE_UNKNOWN, [&kind]));
    }
    let device = BackupDevice { name: name.into(), physical_name: physical_name.into() };
    call.core.instance().kept::<BackupDevice>()?.change(|list| -> Result<(), SqlError> {
        if position(list, name).is_some() {
            return Err(SqlError::of(msg::DEVICE_EXISTS, [&name]));
        }
        list.push(device);
        Ok(())
    })?;
    Ok(0)
}

/// Removes a device's file, if there is one. Errors: 3242 it is no backup (a device may name any
/// file), 823.
fn remove_backup(file: &PermittedPath, shown: &str) -> Result<(), SqlError> {
    if !file.exists().map_err(KeptError::Disk)? {
        return Ok(());
    }
    let device: Box<dyn Device> = Box::new(file.device(shown));
    if MediaSet::open(&[device], true).is_err() {
        return Err(SqlError::of(msg::BACKUP_FILE_NOT_REMOVED, [&shown]));
    }
    file.remove().map_err(|e| KeptError::Disk(e).into())
}

/// sp_dropdevice; with `delfile` its file goes, too. Errors: 15002, 15012 no such device, 15600
/// another option; those of [`remove_backup`].
fn remove(call: &mut ProcedureCall<'_>) -> Result<i32, SqlError> {
    let given = call.given("sp_dropdevice", 1, REMOVE)?;
    call.check_alone("sp_dropdevice")?;
    call.core.instance().check_writable()?;
    let name = given.name(0).unwrap_or_default();
    let deletes = match given.text(1) {
        None => false,
        Some(word) if word.eq_ignore_ascii_case("delfile") => true,
        Some(_) => {
            return Err(SqlError::of(msg::INVALID_PARAMETER_OF_PROCEDURE, [&"sys.sp_dropdevice"]));
        }
    };
    let instance = call.core.instance().clone();
    let missing = || SqlError::of(msg::DEVICE_NOT_FOUND, [&name]);
    let devices = instance.kept::<BackupDevice>()?;
    if deletes {
        let device = devices.find(name).ok_or_else(missing)?;
        let shown = &device.physical_name;
        let file = instance.permit(PermitReach::of(call.core), shown, FileUse::Backup);
        let file = file.map_err(|e| e.or(|cause| cannot_open_device(shown, cause)))?;
        remove_backup(&file, shown)?;
    }
    devices.change(|list| -> Result<(), SqlError> {
        list.remove(position(list, name).ok_or_else(missing)?);
        Ok(())
    })?;
    call.sink.message(&SqlError::of(msg::DEVICE_DROPPED, []))?;
    Ok(0)
}
