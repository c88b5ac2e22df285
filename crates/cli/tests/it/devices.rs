//! `ringwood sql --device` and `--device-path`: databases live on modelled devices and are whole
//! without them afterwards; log blocks follow the sector that the device reports.

use std::path::Path;
use std::process::{Command, Output};

fn ringwood(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ringwood"))
        .args(["sql", "--memory", "32MB", "--data"])
        .arg(folder)
        .args(arguments)
        .output()
        .expect("ringwood runs")
}

fn text(output: &Output) -> (String, String) {
    (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

const FILL: &str = "create database t;
GO
use t; create table x (id int primary key, c char(300));
GO
set nocount on; declare @i int = 0; while @i < 50 begin insert x values (@i, 'a'); set @i += 1 end
GO
select count(*) as n from x";

fn fill_and_look(arguments: &[&str], says: &[&str]) {
    let folder = tempfile::tempdir().expect("folder");
    let output =
        ringwood(folder.path(), &[arguments, &["-b", "--format", "csv", "-Q", FILL]].concat());
    let (out, err) = text(&output);
    assert!(output.status.success(), "{err}");
    assert!(out.contains("50"), "{out}");
    for expected in says {
        assert!(err.contains(expected), "{err}");
    }
    let check = Command::new(env!("CARGO_BIN_EXE_ringwood"))
        .args(["check", "--data"])
        .arg(folder.path())
        .arg("t")
        .output()
        .expect("ringwood runs");
    assert!(check.status.success(), "{}", text(&check).1);
}

#[test]
fn an_instance_lives_on_a_modelled_device() {
    fill_and_look(&["--device", "ssd-4kn"], &["modelled device ssd-4kn"]);
}

#[test]
fn a_device_file_describes_one() {
    let devices = tempfile::tempdir().expect("folder");
    let file = devices.path().join("fast-array.txt");
    std::fs::write(&file, "base = 2x-hdd-raid10-4x15000\ntime_scale = 50\nspindles = 6\n")
        .expect("device file");
    let says = ["modelled device fast-array (from a file, based on 2x-hdd", "its clock 50 times"];
    fill_and_look(&["--device", &file.display().to_string()], &says);
}

#[test]
fn folders_go_to_devices_and_mounts() {
    let (folder, mount) =
        (tempfile::tempdir().expect("folder"), tempfile::tempdir().expect("mount"));
    let to_mount = format!("F:={}", mount.path().display());
    let create =
        "create database u on (name = u, filename = 'E:\\u.mdf') log on (name = l, filename = 'F:\\u.ldf');
GO
use u; create table x (id int); insert x values (1)";
    let arguments =
        ["--device-path", "E:=ssd-512e", "--device-path", &to_mount, "-b", "-Q", create];
    let output = ringwood(folder.path(), &arguments);
    let (_, err) = text(&output);
    assert!(output.status.success(), "{err}");
    assert!(folder.path().join("E/u.mdf").exists() && mount.path().join("u.ldf").exists());
    assert!(err.contains("E: modelled device ssd-512e"), "{err}");
}

#[test]
fn unknown_devices_are_named_with_the_known_ones() {
    let folder = tempfile::tempdir().expect("folder");
    let output = ringwood(folder.path(), &["--device", "floppy", "-Q", "select 1"]);
    let (_, err) = text(&output);
    assert!(
        !output.status.success() && err.contains("floppy") && err.contains("hdd-raid10-8x7200"),
        "{err}"
    );
}
