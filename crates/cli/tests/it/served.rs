//! A served instance: its memory when idle, `ringwood sql -S` through pipes and at the prompt,
//! `ringwood top -S`.

use crate::support::served::{self, PASSWORD, ServedInstance, batch, run};
use crate::support::terminal::Terminal;
use std::process::Output;
use std::time::{Duration, Instant};

/// Resident memory of an idle server with default settings after a login, in KB.
const IDLE_KB: u64 = 60 << 10;

#[test]
fn an_idle_server_is_small_whatever_the_machine_has() {
    let folder = tempfile::tempdir().unwrap();
    let server = ServedInstance::start(folder.path(), &[]);
    let mut connection = server.connect();
    assert_eq!(batch(&mut connection, "select 1").unwrap().ints(), [1]);
    drop(connection);
    // What the start has left behind may take a moment to be given back.
    let end = Instant::now() + served::PATIENCE;
    while server.status_kb("VmRSS") >= IDLE_KB && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(server.status_kb("VmRSS") < IDLE_KB, "{} KB", server.status_kb("VmRSS"));
    assert_eq!(server.stop(), Some(0));
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Standard output, what is said, and the exit code.
fn parts(output: &Output) -> (String, String, Option<i32>) {
    (text(&output.stdout), text(&output.stderr), output.status.code())
}

const SCRIPT: &str = "set quoted_identifier on
create table customer (c_id int not null primary key, c_name nvarchar(40) null, c_at datetime2(3) null)
GO
insert customer values (1, N'Ada', '2024-02-03T04:05:06.789'), (2, N'Zürich', null)
GO
print 'here'
select c_id, c_name, c_at, cast(1.50 as decimal(9, 2)) as d, 0x01ff as b, cast(0.1 as float) as f from customer order by c_id
select count(*) from customer
GO
set nocount on
select 'a' as a where 1 = 0
raiserror('said', 10, 1)
GO
select 1 / 0
GO
create procedure p as begin select 7 as seven raiserror('inside', 16, 3) return 4 end
GO
exec p
GO 2
select * from nowhere
GO
:setvar T customer
select count(*) as n from $(T)
";

#[test]
fn a_script_says_the_same_embedded_and_at_a_server() {
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = ServedInstance::start(there.path(), &["--memory", "32MB"]);
    let data = here.path().display().to_string();
    for (number, format) in ["table", "csv", "json", "markdown", "vertical"].into_iter().enumerate()
    {
        let database = format!("d{number}");
        let create = format!("create database {database}");
        let embedded = |args: &[&str], input: &str| {
            run(&[&["sql", "--memory", "32MB", "--data", &data], args].concat(), input)
        };
        assert_eq!(parts(&embedded(&["-Q", &create], "")).2, Some(0));
        assert_eq!(parts(&server.sql(&["-Q", &create], "")).2, Some(0));
        let args = ["-d", database.as_str(), "--format", format];
        let (one, other) = (embedded(&args, SCRIPT), server.sql(&args, SCRIPT));
        assert_eq!(parts(&one), parts(&other), "{format}");
        let said = "Msg 50000, Level 16, State 3, Procedure p, Line 1\ninside\n";
        assert_eq!(text(&one.stderr).matches(said).count(), 2, "{format}");
        assert_eq!(one.status.code(), Some(1));
    }
    let timed = server.sql(&["-t", "1", "-Q", "waitfor delay '0:1:0'"], "");
    assert!(
        text(&timed.stderr).contains("Timeout expired: the batch was cancelled after 1 second."),
        "{timed:?}"
    );
    let asked = server.sql(&["-h-1", "-W", "-Q", "exit(select 41 + 1)"], "");
    assert_eq!(parts(&asked), ("42\n\n(1 row affected)\n".into(), String::new(), Some(42)));
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn logins_and_certificates_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let server = ServedInstance::start(folder.path(), &["--memory", "32MB"]);
    let certificate = folder.path().join("server-cert.pem").display().to_string();
    let query = ["-h-1", "-W", "-Q", "set nocount on select 5"];
    let with = |args: &[&str]| parts(&server.sql(&[args, &query].concat(), ""));
    for good in [
        vec![],
        vec!["-C"],
        vec!["-N", "o"],
        vec!["-N", "m", "-C"],
        vec!["-N", "m", "-J", &certificate],
        vec!["-J", &certificate],
        vec!["-N", "s", "-C"],
        vec!["-N", "s", "-J", &certificate],
        vec!["-U", "sa", "-P", PASSWORD],
    ] {
        assert_eq!(with(&good), ("5\n".into(), String::new(), Some(0)), "{good:?}");
    }
    for (bad, why) in [
        (vec!["-N", "m"], "certificate"),
        (vec!["-P", "wrong"], "Login failed for user 'sa'."),
        (vec!["-d", "nowhere"], "Cannot open database"),
    ] {
        let (out, err, code) = with(&bad);
        assert!(out.is_empty() && code == Some(1) && err.contains(why), "{bad:?}: {err}");
    }
    let name = server.name();
    assert_eq!(server.stop(), Some(0));
    let (_, err, code) = parts(&run(&["sql", "-S", &name, "-Q", "select 1"], ""));
    assert!(code == Some(1) && err.contains("refused"), "{err}");
}

#[test]
fn a_server_that_goes_away_ends_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let server = ServedInstance::start(folder.path(), &["--memory", "32MB"]);
    let (_, err, code) = parts(
        &server.sql(&[], "select 1\nGO\nshutdown with nowait\nGO\nselect 2\nGO\nselect 3\nGO\n"),
    );
    assert_eq!(code, Some(1));
    assert_eq!(err.matches("The connection to the server is lost").count(), 1, "{err}");
}

#[test]
fn the_prompt_works_at_a_server() {
    let folder = tempfile::tempdir().unwrap();
    let server = ServedInstance::start(folder.path(), &["--memory", "32MB"]);
    let mut connection = server.connect();
    for text in [
        "create database Sales",
        "use Sales create table customer (c_id int not null identity primary key, c_name nvarchar(40) default 'x')
         create index by_name on customer (c_name desc) include (c_id)",
        "insert Sales.dbo.customer (c_name) values (N'Ada'), (N'Grace')",
    ] {
        assert!(batch(&mut connection, text).unwrap().errors.is_empty(), "{text}");
    }
    let mut terminal = Terminal::spawn(
        folder.path(),
        &["sql", "-S", &server.name(), "-U", "sa", "-d", "Sales"],
        &[],
    );
    terminal.wait_for("Password of sa:");
    terminal.send(format!("{PASSWORD}\r").as_bytes());
    terminal.wait_for("Sales 1>");
    assert!(!terminal.text().contains(PASSWORD));
    terminal.fresh("select c_name from cus\t where c_id = 2\rGO\r");
    terminal.wait_for("from customer where");
    terminal.wait_for("Grace");
    terminal.fresh("\\dt\r");
    terminal.wait_for("customer");
    terminal.fresh("\\d customer\r");
    terminal.wait_for("nvarchar(40)");
    terminal.wait_for("identity(1, 1)");
    terminal.wait_for("c_name desc");
    terminal.fresh("\\plan select * from customer where c_id = 1\r");
    terminal.wait_for("Clustered Index Seek");
    terminal.fresh("waitfor delay '0:1:0'\rGO\r");
    // It is cancelled when it runs, not while it is typed.
    let end = Instant::now() + served::PATIENCE;
    let runs = "select count(*) from sys.dm_exec_requests where session_id <> @@spid";
    while batch(&mut connection, runs).unwrap().ints() != [1] {
        assert!(Instant::now() < end, "{}", terminal.text());
        std::thread::sleep(Duration::from_millis(20));
    }
    terminal.send(b"\x03");
    terminal.wait_for("cancelled");
    terminal.fresh("use master\rGO\r");
    terminal.wait_for("master 1>");
    terminal.fresh("exit\r");
    // The cancelled batch has failed.
    assert_eq!(terminal.exit_code(), Some(1));
    drop(connection);
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn top_looks_at_a_server() {
    let folder = tempfile::tempdir().unwrap();
    let server = ServedInstance::start(folder.path(), &["--memory", "32MB"]);
    let name = server.name();
    let (out, err, code) = parts(&run(&["top", "-S", &name, "--json"], ""));
    assert_eq!((err.as_str(), code), ("", Some(0)));
    assert!(out.contains("\"name\":\"master\"") && out.contains("\"flushes\":"), "{out}");
    let (out, err, code) = parts(&run(&["top", "-S", &name, "--once", "--interval", "0.1"], ""));
    assert_eq!((err.as_str(), code), ("", Some(0)));
    assert!(out.contains("master"), "{out}");
    let mut connection = server.connect();
    for text in [
        "create login ann with password = 'Long-And-5trange'",
        "create login bo with password = 'Long-And-5trange'",
        "grant view server state to bo",
    ] {
        assert!(batch(&mut connection, text).unwrap().errors.is_empty(), "{text}");
    }
    let asks = |user| {
        parts(&run(&["top", "-S", &name, "-U", user, "-P", "Long-And-5trange", "--json"], ""))
    };
    let (_, err, code) = asks("ann");
    assert!(code == Some(1) && err.contains("VIEW SERVER PERFORMANCE STATE"), "{err}");
    assert_eq!(asks("bo").2, Some(0));
}

/// The environment of SQL Server's containers, the log as JSON, and a service manager that waits
/// for the port.
#[test]
fn a_service_is_told_what_it_must_know_and_tells_it() {
    use std::io::{BufRead, BufReader};
    use std::os::unix::net::UnixDatagram;
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    std::fs::write(file("password"), format!("{PASSWORD}\n")).unwrap();
    let manager = UnixDatagram::bind(file("notify")).unwrap();
    manager.set_read_timeout(Some(served::PATIENCE)).unwrap();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_ringwood"))
        .args(["serve", "--log-format", "json", "--audit-logins", "all", "--data"])
        .arg(file("data"))
        .env_remove("MSSQL_SA_PASSWORD")
        .env_remove("SA_PASSWORD")
        .envs([("ACCEPT_EULA", "Y"), ("MSSQL_PID", "Developer"), ("MSSQL_MEMORY_LIMIT_MB", "48")])
        .env("MSSQL_SA_PASSWORD_FILE", file("password"))
        .env("MSSQL_TCP_PORT", port.to_string())
        .env("NOTIFY_SOCKET", file("notify"))
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let told = |manager: &UnixDatagram| {
        let mut room = [0; 256];
        let n = manager.recv(&mut room).unwrap();
        text(&room[..n])
    };
    assert!(told(&manager).contains("READY=1"));
    // It is ready: nobody has to try twice.
    let mut options = client::Options::new("127.0.0.1", port, "sa", PASSWORD);
    options.encryption = client::Encryption::Optional;
    let mut connection = client::Connection::connect(&options).unwrap();
    let memory = "select cast(value_in_use as int) from sys.configurations where name like 'max server memory%'";
    assert_eq!(batch(&mut connection, memory).unwrap().ints(), [48]);
    options.password = "wrong".into();
    assert!(client::Connection::connect(&options).is_err());
    drop(connection);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(told(&manager).contains("STOPPING=1"));
    let lines: Vec<serde_json::Value> = BufReader::new(child.stderr.take().unwrap())
        .lines()
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
        .collect();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let find = |what: &str| {
        let found = lines.iter().find(|line| line["message"].as_str().unwrap().contains(what));
        found.unwrap_or_else(|| panic!("{what} is not in {lines:#?}"))
    };
    assert_eq!(find("Login succeeded for user 'sa'")["client"], "127.0.0.1");
    let failed = find("Error: 18456");
    assert_eq!((&failed["source"], &failed["level"]), (&"Logon".into(), &"error".into()));
    assert_eq!(
        (&failed["error"], &failed["severity"], &failed["state"]),
        (&18456.into(), &14.into(), &8.into())
    );
    assert!(find("Ringwood is ready.")["time"].as_str().unwrap().ends_with('Z'));
    assert!(!lines.iter().any(|line| line.to_string().contains(PASSWORD)));
}

#[test]
fn the_environment_of_a_running_server_has_no_password() {
    let folder = tempfile::tempdir().unwrap();
    let server = ServedInstance::start(folder.path(), &[]);
    let environment = std::fs::read(format!("/proc/{}/environ", server.child.id())).unwrap();
    let environment = String::from_utf8_lossy(&environment);
    assert!(
        !environment.contains(PASSWORD) && !environment.contains("MSSQL_SA_PASSWORD="),
        "{environment}"
    );
    // It is the password all the same, and nobody reads the environment through the server either.
    let mut connection = server.connect();
    let mut paths = vec!["/proc/self/environ".to_string(), "/proc/1/environ".into()];
    // Nor whatever else it keeps in its folder.
    let mut folders = vec![folder.path().to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            match entry.file_type().unwrap().is_dir() {
                true => folders.push(entry.path()),
                false => paths.push(entry.path().display().to_string()),
            }
        }
    }
    assert!(
        paths.iter().any(|path| path.ends_with("server-key.pem")) && paths.len() > 12,
        "{paths:?}"
    );
    for path in paths {
        let query = format!("select bulkcolumn from openrowset(bulk '{path}', single_blob) x");
        let errors = batch(&mut connection, &query).unwrap().errors;
        assert!(errors.first() == Some(&4861), "{path}: {errors:?}");
    }
    drop(connection);
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn what_the_environment_says_wrongly_is_told() {
    let folder = tempfile::tempdir().unwrap();
    for (name, value, why) in [
        ("MSSQL_TCP_PORT", "many", "MSSQL_TCP_PORT: many is no port"),
        ("MSSQL_MEMORY_LIMIT_MB", "3", "MSSQL_MEMORY_LIMIT_MB: at least 16MB"),
        ("MSSQL_SA_PASSWORD_FILE", "/nowhere/at/all", "MSSQL_SA_PASSWORD_FILE: /nowhere/at/all: "),
        ("MSSQL_SA_PASSWORD", "weak", "MSSQL_SA_PASSWORD: Password validation failed."),
    ] {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_ringwood"))
            .args(["serve", "--log-format", "none", "--data"])
            .arg(folder.path())
            .env_remove("MSSQL_SA_PASSWORD")
            .env_remove("SA_PASSWORD")
            .env(name, value)
            .output()
            .unwrap();
        let (out, err, code) = parts(&output);
        assert!(out.is_empty() && code == Some(1) && err.contains(why), "{name}: {err}");
    }
}

/// A port that nobody listens at.
fn free_port() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port().to_string()
}

#[test]
fn an_administrator_has_a_connection_of_his_own() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let server =
        ServedInstance::start(folder.path(), &["--admin-listen", &format!("127.0.0.1:{port}")]);
    let endpoint =
        "set nocount on select endpoint_id from sys.dm_exec_connections where session_id = @@spid";
    let ask = |options: &[&str]| {
        let output = run(&[&["sql"], options, &["-h", "-1", "-W", "-Q", endpoint]].concat(), "");
        let (out, said, code) = parts(&output);
        (out.trim().to_owned(), said, code)
    };
    let (prefixed, plain) = (format!("admin:127.0.0.1,{port}"), format!("127.0.0.1,{port}"));
    assert_eq!(ask(&["-S", &prefixed]), ("1".into(), String::new(), Some(0)));
    assert_eq!(ask(&["-A", "-S", &plain]), ("1".into(), String::new(), Some(0)));
    assert_eq!(ask(&["-S", &server.name()]), ("4".into(), String::new(), Some(0)));
    // It is one at a time.
    let mut options = server.options();
    options.port = port.parse().unwrap();
    let first = client::Connection::connect(&options).unwrap();
    let (out, said, code) = ask(&["-S", &prefixed]);
    assert_eq!((out.as_str(), code), ("", Some(1)));
    assert!(said.contains("Msg 17810, Level 20, State 2"), "{said}");
    drop(first);
    assert_eq!(server.stop(), Some(0));
}
