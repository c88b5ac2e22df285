//! An instance in folders of its own with one of each file that it keeps, and the places that
//! statements name.

use crate::support::{scratch, text};
use std::collections::BTreeSet;
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use disk::OsDisk;
use engine::{Instance, InstanceOptions};

use super::run;

/// Files of the instance's folder that no statement changes, whatever it is given.
const OWN: [&str; 14] = [
    "instance.id",
    "instance.id.copy",
    "instance.lock",
    "server-cert.pem",
    "server-key.pem",
    "init-scripts.txt",
    "credentials.registry",
    "credentials.registry.copy",
    "credentials.registry.damaged",
    "repair/rebuild-1/master.mdf",
    "ca-certificates/ca.pem",
    "tempdb.mdf.sort-77",
    "closed.mdf",
    "closed_log.ldf",
];

/// What statements that may make files make in a folder.
const MADE: [&str; 12] = [
    "gone-again_log.ldf",
    "new.x",
    "new.x.ldf",
    "new\nx",
    "new-folder",
    "server",
    "?",
    "s3:",
    "file:",
    "file:instance.id",
    "spare.mdf",
    "spare.mdf.ldf",
];

/// Second names in the open folder of files of the instance.
const SECOND_NAMES: [(&str, &str); 8] = [
    ("databases.registry.copy", "registry-again"),
    ("log/ERRORLOG.1", "log-again"),
    ("mastlog.ldf", "mastlog-again.ldf"),
    ("other_log.ldf", "other-log-again.ldf"),
    ("gone.mdf", "gone-again.mdf"),
    ("instance.id", "second-name"),
    ("closed.mdf", "closed-again.mdf"),
    ("other.mdf", "other-again.mdf"),
];

/// Where everything of the test is.
pub struct Folders {
    scratch: tempfile::TempDir,
}

/// Writes a file that is not there or was written since the last time, which its time tells.
fn restore(path: &Path, content: impl FnOnce() -> Vec<u8>) {
    let is_same = path.metadata().is_ok_and(|file| file.modified().ok() == Some(UNIX_EPOCH));
    if !is_same {
        std::fs::write(path, content()).expect("a file");
        let file = std::fs::File::options().write(true).open(path).expect("a file");
        file.set_modified(UNIX_EPOCH).expect("a time");
    }
}

impl Folders {
    /// In memory where there is room: thousands of files are written.
    pub fn new() -> Folders {
        let folders = Folders { scratch: scratch::folder() };
        let own = ["data/ca-certificates", "data/repair/rebuild-1"];
        for folder in own.into_iter().chain(["allowed", "volume", "outside", "copy", "saved"]) {
            std::fs::create_dir_all(folders.at(folder)).expect("a folder");
        }
        folders
    }

    pub fn at(&self, below: &str) -> PathBuf {
        self.scratch.path().join(below)
    }

    /// The instance; `allowed` and drive V are open to everybody.
    pub fn open(&self) -> Arc<Instance> {
        let options = InstanceOptions {
            memory_bytes: Some(64 << 20),
            volumes: [('V', self.at("volume"))].into_iter().collect(),
            allowed_folders: vec![self.at("allowed")],
            protected_files: vec![self.at("outside/password")],
            // Nothing waits for the device: what is read is what was written.
            disk: Arc::new(OsDisk::scratch(self.at("data"))),
            ..InstanceOptions::new(self.at("data"))
        };
        Instance::open(options).expect("it opens")
    }

    /// Databases that are open, closed and detached, and one of each thing that is kept in a file.
    pub fn fill(&self, instance: &Arc<Instance>) {
        for name in ["app", "other", "closed", "gone"] {
            run(instance, &format!("CREATE DATABASE {name}"));
            run(
                instance,
                &format!(
                    "USE {name}; CREATE TABLE t (c varchar(100)); INSERT t VALUES ('secret of {name}')"
                ),
            );
        }
        run(
            instance,
            &format!("BACKUP DATABASE app TO DISK = '{}'", self.at("data/base.bak").display()),
        );
        run(instance, "BACKUP DATABASE other TO DISK = 'good.bak'");
        run(instance, "ALTER DATABASE closed SET OFFLINE; EXEC sp_detach_db 'gone'");
        run(
            instance,
            "CREATE CREDENTIAL [s3://host/bucket] WITH IDENTITY = 'S3 Access Key', SECRET = 'key:secret'",
        );
        run(instance, "EXEC sp_addumpdevice 'disk', 'kept', 'good.bak'; EXEC sp_cycle_errorlog");
        for file in [
            "server-cert.pem",
            "server-key.pem",
            "init-scripts.txt",
            "ca-certificates/ca.pem",
            "credentials.registry.damaged",
            "repair/rebuild-1/master.mdf",
        ] {
            std::fs::write(self.at("data").join(file), format!("content of {file}\n"))
                .expect("a file");
        }
        std::fs::write(self.at("data/tempdb.mdf.sort-77"), "rows of others").expect("a file");
        std::fs::write(self.at("outside/password"), "of sa").expect("a file");
        // The folder of another instance, which does not run.
        for file in ["databases.registry", "instance.id", "app.mdf", "app_log.ldf"] {
            std::fs::copy(self.at("data").join(file), self.at("copy").join(file)).expect("a copy");
        }
        for file in ["gone.mdf", "gone_log.ldf"] {
            std::fs::copy(self.at("data").join(file), self.at("saved").join(file)).expect("a copy");
        }
        self.restore();
    }

    /// The names of all files below the folders of the test.
    pub fn names(&self) -> BTreeSet<String> {
        let (mut names, mut folders) = (BTreeSet::new(), vec![self.scratch.path().to_path_buf()]);
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                names.insert(
                    path.strip_prefix(self.scratch.path()).expect("below").display().to_string(),
                );
                if path.is_dir() && !path.is_symlink() {
                    folders.push(path);
                }
            }
        }
        names
    }

    /// Each file in the instance's folder that is not one of the test's own.
    pub fn files_of_the_instance(&self) -> Vec<String> {
        let (mut files, mut folders) = (Vec::new(), vec![self.at("data")]);
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                let name = path.display().to_string();
                match path.is_dir() {
                    true => folders.push(path),
                    false if name.ends_with(".bak") || name.ends_with("a.txt") => {}
                    false => files.push(name),
                }
            }
        }
        files
    }

    /// Links, a pipe, a socket; what is returned keeps the socket.
    pub fn make_special(&self) -> UnixListener {
        let data = |name: &str| self.at("data").join(name);
        let allowed = |name: &str| self.at("allowed").join(name);
        symlink(data("databases.registry"), allowed("link")).expect("a link");
        symlink(self.at("data"), allowed("folder-link")).expect("a link");
        symlink(self.at("outside"), allowed("way-out")).expect("a link");
        symlink("/nowhere/at/all", allowed("dangling")).expect("a link");
        symlink("loop", allowed("loop")).expect("a link");
        symlink("/proc/self/environ", allowed("environment")).expect("a link");
        symlink("/dev/zero", allowed("zero")).expect("a link");
        symlink("../data/instance.id", allowed("relative-link")).expect("a link");
        symlink("chain-2", allowed("chain-1")).expect("a link");
        symlink("chain-3", allowed("chain-2")).expect("a link");
        symlink("folder-link/instance.id.copy", allowed("chain-3")).expect("a link");
        symlink("a.bak", allowed("good-link")).expect("a link");
        symlink("pipe", allowed("pipe-link")).expect("a link");
        self.make_second_names("");
        let fifo = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, allowed("pipe"), fifo, 0o600.into(), 0)
            .expect("a pipe");
        UnixListener::bind(data("instance.sock")).expect("a socket")
    }

    /// Makes second names that end in this where they lead to nothing of the instance any more: it
    /// may have replaced a file by another one.
    fn make_second_names(&self, end: &str) {
        for (own, again) in SECOND_NAMES.into_iter().filter(|(_, again)| again.ends_with(end)) {
            let (own, again) = (self.at("data").join(own), self.at("allowed").join(again));
            let inode = |path: &Path| path.symlink_metadata().ok().map(|file| file.ino());
            if inode(&own) != inode(&again) {
                let _ = std::fs::remove_file(&again);
                std::fs::hard_link(own, again).expect("a second name");
            }
        }
    }

    /// Before a statement with a path.
    pub fn prepare(&self, path: &str) {
        if let Some(name) = path.strip_prefix(self.at("allowed/").to_str().expect("a text")) {
            self.make_second_names(name);
        }
    }

    /// Files that statements may overwrite are what they were: a text and a backup in each folder,
    /// and the files of the database that was detached.
    pub fn restore(&self) {
        for folder in ["data", "allowed", "volume", "outside"] {
            restore(&self.at(folder).join("a.txt"), || b"one\ntwo\n".to_vec());
            restore(&self.at(folder).join("a.bak"), || {
                std::fs::read(self.at("data/good.bak")).expect("a backup")
            });
            // What a statement before has made.
            for entry in std::fs::read_dir(self.at(folder)).expect("a folder").flatten() {
                if MADE.iter().any(|name| entry.file_name() == *name) {
                    let made = entry.path();
                    let _ = std::fs::remove_file(&made).or_else(|_| std::fs::remove_dir_all(&made));
                }
            }
        }
        for file in ["gone.mdf", "gone_log.ldf"] {
            restore(&self.at("data").join(file), || {
                std::fs::read(self.at("saved").join(file)).expect("a file")
            });
        }
    }

    /// Each place with its short name: files of the instance as it is named in its folder, then the
    /// others.
    pub fn places(&self) -> Vec<(String, String)> {
        let own = [
            "databases.registry",
            "databases.registry.new",
            "databases.registry.copy",
            "databases.registry.copy.new",
            "backup-devices.registry",
            "backup-devices.registry.copy",
            "new.registry",
            "log",
            "log/ERRORLOG",
            r"log\ERRORLOG",
            "log/ERRORLOG.1",
            "LOG/errorlog",
            "log/new.txt",
            "repair",
            "repair/new.mdf",
            "ca-certificates/new.pem",
            "instance.sock",
            "DATABASES.REGISTRY",
            "./databases.registry",
            r"sub\..\databases.registry",
            "databases.registry ",
            "master.mdf",
            "mastlog.ldf",
            "tempdb.mdf",
            "tempdb_log.ldf",
            "spare.mdf",
            "model.mdf",
            "model_log.ldf",
            "msdb.mdf",
            "msdb_log.ldf",
            "app.mdf",
            "app_log.ldf",
            "other.mdf",
            "other_log.ldf",
            "gone.mdf",
            "gone_log.ldf",
            "a.txt",
            "a.bak",
            "new.x",
            r"V:\a.txt",
            r"V:\a.bak",
            r"V:\new.x",
            "",
            " ",
            ".",
            "..",
            "nul\u{0}x",
            "new\nx",
            "a.bak/",
            "/",
            "//",
            "databases.registry/",
            "master.mdf/.",
            "../data/instance.id",
            "new-folder/new.x",
            r"\\server\share\new.x",
            r"\\?\C:\instance.id",
            "s3://host/bucket/new.x",
            "file:///proc/self/environ",
            "file:instance.id",
            "/proc/self/environ",
            "/proc/self/mem",
            "/proc/self/fd/0",
            "/proc/self/root/etc/passwd",
            "/proc/self/cwd/new.x",
            "//proc//self//environ",
            "/proc/cpuinfo",
            "/proc/none",
            "/sys/kernel/mm/transparent_hugepage/enabled",
            "/sys/none",
            "/dev/zero",
            "/dev/stdin",
            "/dev/../proc/self/environ",
            "/dev/random",
            "/dev/mem",
            "/dev/tty",
            "/dev/none",
            "/dev/fd/0",
        ];
        let below = [
            "data/databases.registry",
            "data//databases.registry",
            "allowed/link",
            "allowed/folder-link/instance.id",
            "allowed/folder-link/new.registry",
            "allowed/way-out/a.bak",
            "allowed/way-out/new.x",
            "allowed/dangling",
            "allowed/loop",
            "allowed/environment",
            "allowed/zero",
            "allowed/relative-link",
            "allowed/chain-1",
            "allowed/good-link",
            "allowed/pipe-link",
            "allowed/pipe/below",
            "allowed/registry-again",
            "allowed/log-again",
            "allowed/mastlog-again.ldf",
            "allowed/other-log-again.ldf",
            "allowed/gone-again.mdf",
            "allowed/second-name",
            "allowed/closed-again.mdf",
            "allowed/other-again.mdf",
            "allowed/pipe",
            "allowed",
            "allowed/a.txt",
            "allowed/a.bak",
            "allowed/new.x",
            "outside/password",
            "outside/a.txt",
            "outside/a.bak",
            "outside/new.x",
            "copy/databases.registry",
            "copy/instance.id",
            "copy/app.mdf",
            "outside/a.txt/below",
        ];
        let named =
            |name: &str| (format!("{name:?}").trim_matches('"').to_string(), name.to_string());
        let mut places: Vec<(String, String)> = own.into_iter().chain(OWN).map(named).collect();
        for name in below {
            places.push((format!("~/{name}"), self.at(name).display().to_string()));
        }
        // Longer than a name, and longer than a path of the operating system.
        places.push(("n*300".into(), "n".repeat(300)));
        places.push(("~/allowed/(n*100/)*50".into(), {
            let long = format!("{}/", "n".repeat(100)).repeat(50);
            self.at("allowed").join(long.trim_end_matches('/')).display().to_string()
        }));
        for (shown, _) in &mut places {
            if shown.is_empty() || shown.contains(' ') {
                *shown = format!("'{shown}'");
            }
        }
        places
    }

    /// The content of what no statement may change.
    pub fn untouchable(&self) -> Vec<(String, Vec<u8>)> {
        let own = OWN.iter().map(|name| format!("data/{name}"));
        let others = ["databases.registry", "instance.id"];
        let others =
            others.iter().map(|name| format!("copy/{name}")).chain(["outside/password".into()]);
        own.chain(others)
            .map(|name| (name.clone(), std::fs::read(self.at(&name)).expect("a file")))
            .collect()
    }

    /// Which of them is not what it was.
    pub fn changed(&self, before: &[(String, Vec<u8>)]) -> Vec<String> {
        let same = |(name, bytes): &&(String, Vec<u8>)| {
            std::fs::read(self.at(name)).ok().as_ref() != Some(bytes)
        };
        before.iter().filter(same).map(|(name, _)| name.clone()).collect()
    }

    /// All databases are there, whole and with what was in them.
    pub fn check_databases(&self, instance: &Arc<Instance>) {
        let registry = std::fs::read(self.at("data/databases.registry")).expect("the list");
        assert!(registry.starts_with(b"ringwood"), "{}", String::from_utf8_lossy(&registry));
        run(instance, "ALTER DATABASE closed SET ONLINE");
        for name in ["app", "other", "closed"] {
            let said =
                text::say(instance, &format!("SELECT c FROM {name}.dbo.t WHERE c LIKE 'secret%'"));
            assert_eq!(said.trim(), format!("secret of {name}"));
            run(instance, &format!("DBCC CHECKDB ({name}) WITH NO_INFOMSGS"));
        }
        run(instance, "ALTER DATABASE closed SET OFFLINE");
        let kept = "SELECT (SELECT COUNT(*) FROM sys.credentials), (SELECT COUNT(*) FROM sys.backup_devices)";
        assert_eq!(text::say(instance, kept).trim(), "1|1");
        let log = std::fs::read_to_string(self.at("data/log/ERRORLOG")).expect("the error log");
        assert!(log.contains("Ringwood is ready.") || log.contains("reinitialized"), "{log}");
    }
}
