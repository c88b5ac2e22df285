//! What a statement may open: each statement that takes a path, with each file of an instance and
//! with special places, as each fixed role. `tests/data/paths.txt` is the table of what happens;
//! the files that no statement may touch are compared byte for byte afterwards, and the instance
//! opens again with all its databases. Roles, files and the places of the code that accept a path
//! are compared with what the engine has, so the table cannot fall behind.
//!
//! `UPDATE_EXPECTED=1` rewrites the table; `SHOW_TABLE=1` prints it.

extern crate ringwood_engine as engine;

#[path = "../support/text.rs"]
mod text;

mod places;
mod races;
mod refused;
mod statements;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use engine::{ClientInfo, Instance, LoginToken};
use places::Folders;
use refused::REFUSED;
use statements::STATEMENTS;
use text::Text;

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

/// What statements came to, and the places with which they did.
type Outcomes<'p> = BTreeMap<String, Vec<&'p str>>;

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
    for line in out.out.lines().filter_map(|line| line.strip_prefix("Msg ")) {
        let number = line.split(':').next().unwrap_or_default();
        let system = match () {
            () if line.contains("5(Access is denied.)") => "(5)",
            () if line.contains("error 2(") || line.contains("error 2:") => "(2)",
            () if line.contains("error 32") => "(32)",
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

/// Lines of paths, filled up to a width.
fn filled(names: &[&str]) -> String {
    let mut lines = String::new();
    let mut line = String::from("       ");
    for name in names {
        if line.len() + name.len() > 100 {
            lines.push_str(&line);
            lines.push('\n');
            line = String::from("       ");
        }
        let _ = write!(line, " {name}");
    }
    lines + &line + "\n"
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

/// Where the engine's code asks whether a path may be opened: a statement that is added asks, too,
/// and gets rows in the table.
#[test]
fn each_place_of_the_code_that_takes_a_path_is_known() {
    const ASKING: [(&str, usize); 9] = [
        ("instance/attach.rs", 2),
        ("instance/data_files.rs", 1),
        ("instance/files/create.rs", 1),
        ("instance/permit.rs", 1),
        ("instance/restore.rs", 2),
        ("objects/backup_device.rs", 1),
        ("stmt/backup_media.rs", 1),
        ("stmt/bulk_insert.rs", 1),
        ("stmt/database_files.rs", 1),
    ];
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut found, mut folders) = (BTreeMap::new(), vec![root.clone()]);
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
    let known: BTreeMap<String, usize> = ASKING.iter().map(|(file, n)| (file.to_string(), *n)).collect();
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
    let names = folders.names();
    let places = folders.places();
    let (mut table, mut wrong) = (String::new(), Vec::new());
    for statement in STATEMENTS.iter().chain(REFUSED) {
        let _ = writeln!(table, "{}", statement.name);
        let mut outcomes: Vec<(Vec<&str>, Outcomes<'_>)> = Vec::new();
        // What a sysadmin and a stranger may not is refused to everybody.
        let refused = REFUSED.iter().any(|one| one.name == statement.name);
        let asked = |role: &str| !refused || ["sysadmin", "public"].contains(&role);
        for (role, token) in ROLES.iter().zip(&tokens).filter(|(role, _)| asked(role)) {
            let mut found = Outcomes::new();
            folders.restore_ordinary();
            folders.restore_detached();
            for (shown, path) in &places {
                statement.before(&instance, path);
                let said = outcome(&instance, token, &statement.with(path));
                statement.after(&instance);
                let ordinary = ["a.txt", "a.bak", "a.bak/", "new.x", "good-link"];
                if said == "ok" || ordinary.iter().any(|name| path.ends_with(name)) {
                    folders.restore_ordinary();
                }
                found.entry(said).or_default().push(shown);
            }
            match outcomes.iter_mut().find(|(_, same)| *same == found) {
                Some((roles, _)) => roles.push(role),
                None => outcomes.push((vec![role], found)),
            }
        }
        for (roles, found) in outcomes {
            let _ = writeln!(table, "  {}", roles.join(", "));
            for (said, names) in found {
                let all = names.len() == places.len();
                let _ = writeln!(table, "    {said}:{}", if all { " every place" } else { "" });
                if !all {
                    table.push_str(&filled(&names));
                }
            }
        }
        // Nothing of the instance has changed, whoever asked.
        let mut changed = folders.changed(&before);
        folders.restore_ordinary();
        folders.restore_detached();
        let left = folders.names();
        let (more, less) = (left.difference(&names), names.difference(&left));
        changed.extend(more.chain(less).cloned());
        if !changed.is_empty() {
            wrong.push(format!("{} has changed, made or removed {changed:?}", statement.name));
        }
    }
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
    instance.close().expect("it is closed");
    drop(instance);
    let instance = folders.open();
    folders.check_databases(&instance);
}
