//! What a statement may open: each statement that takes a path, with each file of an instance and
//! with special places, as each fixed role. `tests/data/paths.txt` is the table of what happens;
//! the files that no statement may touch are compared byte for byte afterwards, and the instance
//! opens again with all its databases. Roles, files and the places of the code that accept a path
//! are compared with what the engine has, so the table cannot fall behind.
//!
//! `UPDATE_EXPECTED=1` rewrites the table; `SHOW_TABLE=1` prints it.

mod places;
mod races;
mod refused;
mod statements;
mod table;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::statements::STATEMENTS;
use crate::support::text::{self, Text};
use engine::{ClientInfo, Instance, LoginToken};
use places::Folders;
use refused::REFUSED;
use table::Table;

const PASSWORD: &str = "Long-And-5trange";
/// Fixed roles of the server and of the database `app`, and a login without one, which may insert
/// into a table.
const ROLES: [&str; 18] = [
    "sysadmin",
    "securityadmin",
    "serveradmin",
    "setupadmin",
    "processadmin",
    "diskadmin",
    "dbcreator",
    "bulkadmin",
    "db_owner",
    "db_accessadmin",
    "db_securityadmin",
    "db_ddladmin",
    "db_backupoperator",
    "db_datareader",
    "db_datawriter",
    "db_denydatareader",
    "db_denydatawriter",
    "public",
];

/// Refusals that look at no path: for want of a right, and of what this server does not have.
const BEFORE_THE_PATH: [&str; 9] =
    ["208", "262", "2812", "3110", "4834", "5011", "15247", "40510", "40517"];

/// Runs a batch of the administrator's.
#[track_caller]
fn run(instance: &Arc<Instance>, sql: &str) {
    text::run(instance, sql);
}

/// The role's login, which may come into `app`.
fn make_login(instance: &Arc<Instance>, role: &str) -> LoginToken {
    let login = format!("as_{role}");
    run(instance, &format!("CREATE LOGIN {login} WITH PASSWORD = '{PASSWORD}'"));
    run(instance, &format!("USE app; CREATE USER {login}; GRANT INSERT ON t TO {login}"));
    match role {
        "public" => {}
        role if role.starts_with("db_") => {
            run(instance, &format!("USE app; ALTER ROLE {role} ADD MEMBER {login}"));
        }
        role => run(instance, &format!("ALTER SERVER ROLE {role} ADD MEMBER {login}")),
    }
    let client = ClientInfo { address: "127.0.0.1".into(), ..ClientInfo::default() };
    instance.authenticate(&login, PASSWORD, &client).expect("its password is right")
}

/// What a batch comes to: `ok`, or the numbers of its errors, the first one with what the operating
/// system is said to have said.
fn outcome(instance: &Arc<Instance>, token: &LoginToken, sql: &str) -> String {
    let mut out = Text::default();
    instance.session_for(token, Some("master")).expect("it may come in").execute(sql, &mut out);
    let mut said = String::new();
    // A message may have the path of a statement in it, and that several lines.
    for error in format!("\n{}", out.out).split("\nMsg ").skip(1) {
        let number = error.split(':').next().unwrap_or_default();
        let system = match () {
            () if error.contains("5(Access is denied.)") => "(5)",
            () if error.contains("error 2(") || error.contains("error 2:") => "(2)",
            () if error.contains("error 32") => "(32)",
            () => "",
        };
        let what = format!("{number}{system}");
        // Rows with errors say the same again and again.
        if said.rsplit('+').next() != Some(&what) {
            let _ = write!(said, "{}{what}", if said.is_empty() { "" } else { "+" });
        }
    }
    if said.is_empty() { "ok".into() } else { said }
}

/// The table has every fixed role, and everybody.
#[test]
fn each_fixed_role_is_in_the_table() {
    let instance = Folders::new().open();
    let roles = "SELECT name FROM sys.server_principals WHERE type = 'R' AND principal_id > 2
        UNION SELECT name FROM sys.database_principals WHERE type = 'R'";
    let said = text::say(&instance, roles);
    let mut known: Vec<&str> = said.lines().collect();
    let mut ours = ROLES.to_vec();
    known.sort_unstable();
    ours.sort_unstable();
    assert_eq!(known, ours);
}

/// Where the code of all crates asks whether a path may be opened: a statement that is added asks,
/// too, and gets rows in the table.
#[test]
fn each_place_of_the_code_that_takes_a_path_is_known() {
    const ASKING: [(&str, usize); 9] = [
        ("instance/src/attach.rs", 2),
        ("instance/src/data_files.rs", 1),
        ("instance/src/files/create.rs", 1),
        ("instance/src/permit.rs", 1),
        ("instance/src/restore.rs", 2),
        ("procedures/src/backup_devices.rs", 1),
        ("statements/src/backup_media.rs", 1),
        ("instance/src/bulk_file.rs", 1),
        ("statements/src/database_files.rs", 1),
    ];
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let crates = std::fs::read_dir(&root).expect("the crates");
    let sources = crates.map(|entry| entry.expect("a crate").path().join("src"));
    let mut folders: Vec<PathBuf> = sources.filter(|folder| folder.is_dir()).collect();
    let mut found = BTreeMap::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let source = std::fs::read_to_string(&path).expect("a source");
            let asks = [".permit(", ".permit_database_file(", ".permit_database_place("];
            let count: usize = asks.iter().map(|ask| source.matches(ask).count()).sum();
            if count > 0 {
                found.insert(path.strip_prefix(&root).expect("below").display().to_string(), count);
            }
        }
    }
    let known: BTreeMap<String, usize> =
        ASKING.iter().map(|(file, n)| (file.to_string(), *n)).collect();
    assert_eq!(found, known, "new ones need a statement in `statements.rs`");
}

/// Whatever an instance makes in its folder is on its list, and in the table.
#[test]
fn nothing_in_the_folder_of_an_instance_is_read() {
    let folders = Folders::new();
    let instance = folders.open();
    folders.fill(&instance);
    let files = folders.files_of_the_instance();
    assert!(files.len() > 20, "{files:?}");
    let places = folders.places();
    for file in &files {
        let known = places.iter().any(|(_, path)| file.ends_with(&format!("/data/{path}")));
        assert!(known, "{file} is not in the table");
    }
    for file in files {
        let sql = format!("SELECT LEN(BulkColumn) FROM OPENROWSET(BULK '{file}', SINGLE_BLOB) x");
        text::fails(&instance, &sql, &[4861]);
    }
}

#[test]
fn each_statement_with_each_place_as_each_role() {
    let folders = Folders::new();
    let instance = folders.open();
    folders.fill(&instance);
    let tokens: Vec<LoginToken> = ROLES.iter().map(|role| make_login(&instance, role)).collect();
    let _special = folders.make_special();
    let before = folders.untouchable();
    let mut names = folders.names();
    let places = folders.places();
    let (mut table, mut wrong) = (Table::new(&places), Vec::new());
    for statement in STATEMENTS.iter().chain(REFUSED) {
        // What a sysadmin and a stranger may not is refused to everybody.
        let refused = REFUSED.iter().any(|one| one.name == statement.name);
        let asked = |role: &str| !refused || ["sysadmin", "public"].contains(&role);
        for (role, token) in ROLES.iter().zip(&tokens).filter(|(role, _)| asked(role)) {
            for (place, (_, path)) in places.iter().enumerate() {
                folders.prepare(path);
                statement.before(&instance, path);
                let said = outcome(&instance, token, &statement.with(path));
                statement.after(&instance);
                if !BEFORE_THE_PATH.contains(&said.as_str()) {
                    folders.restore();
                }
                table.add(statement.name, role, place, said);
            }
        }
        // Nothing of the instance has changed, whoever asked.
        let mut changed = folders.changed(&before);
        let left = folders.names();
        changed.extend(left.symmetric_difference(&names).cloned());
        names = left;
        if !changed.is_empty() {
            wrong.push(format!("{} has changed, made or removed {changed:?}", statement.name));
        }
    }
    let table = table.text();
    if std::env::var_os("SHOW_TABLE").is_some() {
        println!("{table}");
    }
    let expected = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/paths.txt");
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        std::fs::write(&expected, &table).expect("the table is written");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let expected = std::fs::read_to_string(expected).expect("the table is there");
    let differs = table.lines().zip(expected.lines()).position(|(one, other)| one != other);
    assert!(table == expected, "the table differs at line {differs:?}:\n{table}");
    folders.check_databases(&instance);
    let instance = restart_with_new_places(&folders, instance);
    folders.check_databases(&instance);
}

/// Where databases take new places at the next start, the files that are there stay what they are.
fn restart_with_new_places(folders: &Folders, instance: Arc<Instance>) -> Arc<Instance> {
    let taken = [("tempdb", "gone.mdf"), ("other", "a.bak")];
    let content = |file: &str| std::fs::read(folders.at("data").join(file)).expect("a file");
    let kept = taken.map(|(_, file)| content(file));
    for (name, file) in taken {
        run(
            &instance,
            &format!("ALTER DATABASE {name} MODIFY FILE (NAME = {name}, FILENAME = '{file}')"),
        );
    }
    instance.close().expect("it is closed");
    drop(instance);
    let instance = folders.open();
    assert!(taken.map(|(_, file)| content(file)) == kept, "a start has changed {taken:?}");
    text::fails(&instance, "SELECT * FROM other.dbo.t", &[926]);
    run(&instance, "ALTER DATABASE other MODIFY FILE (NAME = other, FILENAME = 'other.mdf')");
    instance.close().expect("it is closed");
    drop(instance);
    folders.open()
}
