//! What a statement may open: each statement that takes a path, with each file of an instance and
//! with special places, as each fixed role. `tests/data/paths.txt` is the table of what happens;
//! the files that no statement may touch are compared byte for byte afterwards, and the instance
//! opens again with all its databases.
//!
//! `UPDATE_EXPECTED=1` writes the table anew.

extern crate ringwood_engine as engine;

#[path = "../support/text.rs"]
mod text;

mod places;
mod statements;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use engine::{ClientInfo, Instance, LoginToken};
use places::Folders;
use statements::STATEMENTS;
use text::Text;

const PASSWORD: &str = "Long-And-5trange";
/// Fixed roles of the server and of the database `app`, and a login without one, which may insert
/// into a table.
const ROLES: [&str; 6] = ["sysadmin", "dbcreator", "bulkadmin", "db_owner", "db_backupoperator", "public"];

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

/// Whatever an instance makes in its folder is on its list.
#[test]
fn nothing_in_the_folder_of_an_instance_is_read() {
    let folders = Folders::new();
    let instance = folders.open();
    folders.fill(&instance);
    let files = folders.files_of_the_instance();
    assert!(files.len() > 20, "{files:?}");
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
    let places = folders.places();
    let mut table = String::new();
    for statement in STATEMENTS {
        let _ = writeln!(table, "{}", statement.name);
        let mut outcomes: Vec<(Vec<&str>, Outcomes<'_>)> = Vec::new();
        for (role, token) in ROLES.iter().zip(&tokens) {
            let mut found = Outcomes::new();
            folders.restore_ordinary();
            folders.restore_detached();
            for (shown, path) in &places {
                statement.before(&instance, path);
                let said = outcome(&instance, token, &statement.with(path));
                statement.after(&instance);
                if ["a.txt", "a.bak", "new.x"].iter().any(|ordinary| path.ends_with(ordinary)) {
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
        assert_eq!(folders.changed(&before), Vec::<String>::new(), "{}", statement.name);
    }
    let expected = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/paths.txt");
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        std::fs::write(&expected, &table).expect("the table is written");
    }
    let expected = std::fs::read_to_string(expected).expect("the table is there");
    let differs = table.lines().zip(expected.lines()).position(|(one, other)| one != other);
    assert!(table == expected, "the table differs at line {differs:?}:\n{table}");
    folders.check_databases(&instance);
    instance.close().expect("it is closed");
    drop(instance);
    let instance = folders.open();
    folders.check_databases(&instance);
}
