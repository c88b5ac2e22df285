//! The studies over the wire, at a tiny scale, against `ringwood serve`: every cell is there that a
//! server can give, what it cannot is named with its reason, and the server is left as it was.

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

const PASSWORD: &str = "Wire-of-the-lab-1";

/// A server of our own, and the command that ends and starts it.
struct Server {
    folder: PathBuf,
    port: u16,
    first: Child,
}

impl Server {
    fn start(folder: &Path) -> Server {
        let mut first = Command::new(env!("CARGO_BIN_EXE_ringwood"))
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(folder.join("db"))
            .env("MSSQL_SA_PASSWORD", PASSWORD)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(first.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().rsplit(':').next().unwrap().parse().unwrap();
        std::fs::write(folder.join("pid"), first.id().to_string()).unwrap();
        for dir in ["data", "data2", "log", "backup"] {
            std::fs::create_dir(folder.join(dir)).unwrap();
        }
        Server { folder: folder.into(), port, first }
    }

    fn address(&self, user: &str) -> String {
        let dir = |name: &str| format!("{name}={}", self.folder.join(name).display());
        let dirs = ["data", "data2", "log", "backup"].map(dir).join("&");
        format!("mssql://{user}@127.0.0.1:{}/?{dirs}", self.port)
    }

    /// A process that was ended may be there still until its parent has seen that.
    fn hook(&self) -> String {
        format!(
            "cd '{folder}'; p=$(cat pid); \
             gone() {{ while [ -d /proc/$p ] && ! grep -q '^State:.Z' /proc/$p/status; do sleep 0.01; done; }}; \
             case $1 in kill) kill -9 $p; gone;; stop) kill $p; gone;; \
             start) '{program}' serve --listen 127.0.0.1:{port} --data db > serve.log 2>&1 & echo $! > pid;; esac",
            folder = self.folder.display(),
            program = env!("CARGO_BIN_EXE_ringwood"),
            port = self.port
        )
    }

    fn databases(&self) -> String {
        let out = Command::new(env!("CARGO_BIN_EXE_ringwood"))
            .args([
                "sql",
                "--format",
                "csv",
                "-Q",
                "select name from sys.databases order by name",
                "--data",
            ])
            .arg(self.folder.join("db"))
            .output()
            .unwrap();
        String::from_utf8(out.stdout).unwrap()
    }

    fn stop(&mut self) {
        let stopped =
            Command::new("sh").args(["-c", &self.hook(), "hook", "stop"]).status().unwrap();
        assert!(stopped.success());
        // Seen here where it was never restarted.
        let _ = self.first.kill();
        self.first.wait().unwrap();
    }
}

fn lab(server: &Server, study: &str, runs: &str, hook: bool, out: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ringwood"));
    command.args(["lab", "run", study, "--scale", "tiny", "--runs", runs, "--out"]).arg(out);
    command.args(["--target", &server.address(&format!("sa:{PASSWORD}"))]);
    // The server that the hook starts takes it from there.
    command.env("MSSQL_SA_PASSWORD", PASSWORD);
    if hook {
        command.args(["--restart-with", &server.hook()]);
    }
    command.output().unwrap()
}

fn results(output: &Output, out: &Path) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read_to_string(out.join("results.json")).unwrap();
    for file in ["results.json", "report.html", "runs.jsonl"] {
        let text = std::fs::read_to_string(out.join(file)).unwrap();
        assert!(!text.contains(PASSWORD), "{file} has the password");
    }
    serde_json::from_str(&text).unwrap()
}

fn study<'a>(results: &'a Value, name: &str) -> &'a Value {
    let studies = results["studies"].as_array().unwrap();
    studies
        .iter()
        .find(|s| s["study"] == name && s["target"] == "mssql")
        .unwrap_or_else(|| panic!("{name} is missing"))
}

fn value(study: &Value, level: &str, measure: &str) -> Option<f64> {
    let cells = study["cells"].as_array().unwrap();
    cells.iter().find(|c| c["level"] == level && c["measure"] == measure)?["median"].as_f64()
}

fn texts(study: &Value, field: &str) -> String {
    study[field]
        .as_array()
        .unwrap()
        .iter()
        .map(|l| l.as_str().unwrap())
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn the_five_studies_run_on_a_server() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path());
    let out = folder.path().join("out");
    let results = results(&lab(&server, "all", "1", true, &out), &out);

    let vlfs = study(&results, "vlf-count");
    for level in ["16", "1000", "1000, remedied"] {
        for measure in [
            "insert",
            "update",
            "delete",
            "log backup",
            "log backup, pages",
            "recovery",
            "mix of short transactions",
        ] {
            assert!(
                value(vlfs, level, measure).is_some_and(|v| v > 0.0),
                "{level}, {measure}: {vlfs}"
            );
        }
    }
    assert!(value(vlfs, "1000", "update, VLF changes").unwrap() >= 20.0);
    let setup = texts(vlfs, "setup");
    for said in [
        "Ringwood as SQL Server 2022 (16.0.1000.6",
        "rule of SQL Server 2008",
        "in 1004 VLFs",
        "compatibility level",
    ] {
        assert!(setup.contains(said), "{said}: {setup}");
    }
    assert!(
        vlfs["waits"].as_array().unwrap().iter().any(|w| w["wait_type"] == "WRITELOG"),
        "{}",
        vlfs["waits"]
    );
    let log = vlfs["io"].as_array().unwrap().iter().find(|io| io["file"] == "log").unwrap();
    assert!(
        log["bytes_written"].as_i64().unwrap() > 0
            && !log["write_sizes"].as_array().unwrap().is_empty()
    );

    // Two arrays are two folders of the address; devices are for an embedded Ringwood.
    let files = study(&results, "data-files");
    for level in ["1", "16"] {
        assert!(value(files, level, "load").is_some_and(|v| v > 0.0), "{level}");
    }
    assert!(texts(files, "missing").contains("iscsi-8x15000"), "{}", files["missing"]);

    let commits = study(&results, "delayed-durability");
    for level in
        ["one transaction", "per row, durable", "raw write + fdatasync", "per row, delayed"]
    {
        assert!(
            value(commits, level, "one-row inserts").is_some_and(|v| v > 0.0),
            "{level}: {}",
            commits["missing"]
        );
    }
    assert_eq!(value(commits, "clean stop", "missing of the acknowledged"), Some(0.0));
    assert_eq!(value(commits, "kill after sp_flush_log", "missing of the acknowledged"), Some(0.0));
    assert!(
        value(commits, "kill, window 960 KB", "missing of the acknowledged").unwrap()
            <= 960.0 * 1024.0 / 104.0
    );

    let growth = study(&results, "log-growth");
    for measure in [
        "growing",
        "updates, pre-grown",
        "log backup",
        "full backup",
        "full backup, pages",
        "full backup, lines of STATS = 1",
    ] {
        assert!(
            value(growth, "128 KB", measure).is_some_and(|v| v > 0.0),
            "{measure}: {}",
            growth["missing"]
        );
    }
    assert!(
        value(growth, "128 KB", "VLFs after growing").unwrap()
            > value(growth, "4 MB", "VLFs after growing").unwrap()
    );

    let blocks = study(&results, "log-block-size");
    for level in ["default", "512", "4096"] {
        assert!(
            value(blocks, level, "payload < 4096").is_some_and(|v| v > 0.0),
            "{level}: {}",
            blocks["missing"]
        );
    }
    assert_eq!(value(blocks, "default", "payload < 4096, read-modify-writes"), Some(0.0));
    assert!(texts(blocks, "missing").contains("-T1800"), "{}", blocks["missing"]);

    server.stop();
    let left = server.databases();
    assert!(left.contains("master") && !left.contains("lab_"), "{left}");
}

#[test]
fn what_needs_a_hook_is_left_out_without_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path());
    let out = folder.path().join("out");
    // The second round makes its databases where those of the first one were.
    let results = results(&lab(&server, "delayed-durability", "2", false, &out), &out);
    let commits = study(&results, "delayed-durability");
    assert_eq!(value(commits, "clean stop", "missing of the acknowledged"), None);
    assert!(texts(commits, "missing").contains("no --restart-with"), "{}", commits["missing"]);
    assert!(texts(commits, "setup").contains("no --restart-with"));

    let wrong = Command::new(env!("CARGO_BIN_EXE_ringwood"))
        .args(["lab", "run", "log-growth", "--scale", "tiny", "--out"])
        .arg(folder.path().join("wrong"))
        .args(["--target", &server.address("sa")])
        .env("SQLCMDPASSWORD", "wrong")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(!wrong.status.success() && said.contains("Msg 18456"), "{said}");
    server.stop();
}
