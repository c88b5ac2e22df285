//! Somebody who reads a document and does what it says, in a folder of their own. Guarantee: a
//! server that an example starts ends with its reader.

use super::examples;
use std::fmt::Write as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The variable by which a child learns which program it runs.
pub const PROGRAM: &str = "RINGWOOD_DOCUMENT_PROGRAM";
/// The test that the child is, in this program.
const CHILD: &str = "documents::a_program_of_a_document";
/// What the last command has said, a file in the reader's folder.
const OUT: &str = ".out";
/// What stands for a password that a document leaves out.
const PASSWORD: &str = "'a Good one 4 you'";

/// `ringwood` as the documents call it: servers run in the background, on the reader's own port,
/// and the command ends when the server answers; who calls a server without a port means this one.
const RINGWOOD: &str = r#"#!/bin/sh
for word do
  shift
  case "$word" in 127.0.0.1|127.0.0.1:1433|127.0.0.1,1433) word=127.0.0.1:$DOCUMENT_PORT ;; esac
  set -- "$@" "$word"
done
case "$1" in
serve)
  shift
  "$DOCUMENT_RINGWOOD" serve --memory 64MB --listen "127.0.0.1:$DOCUMENT_PORT" "$@" > serve.out 2>&1 &
  echo $! > "$DOCUMENT_TOOLS/server.pid"
  for try in $(seq 600); do
    "$DOCUMENT_RINGWOOD" health --server "127.0.0.1:$DOCUMENT_PORT" > health.out 2>&1 && exit 0
    sleep 0.1
  done
  cat serve.out health.out >&2
  exit 1 ;;
health) shift; exec "$DOCUMENT_RINGWOOD" health --server "127.0.0.1:$DOCUMENT_PORT" "$@" ;;
*) exec "$DOCUMENT_RINGWOOD" "$@" ;;
esac
"#;
const SQLCMD: &str = "#!/bin/sh\nexec ringwood sql \"$@\"\n";
const CARGO: &str = r#"#!/bin/sh
[ "$1 $2 $3" = "run --release --" ] || { echo "cargo $*: only the program can be run" >&2; exit 1; }
shift 3
exec ringwood "$@"
"#;

pub struct Reader {
    folder: tempfile::TempDir,
    /// Programs that stand for others, and what is noted of a server.
    tools: tempfile::TempDir,
    port: u16,
}

impl Reader {
    pub fn new() -> Reader {
        let folder = tempfile::tempdir().expect("a folder");
        let tools = tempfile::tempdir().expect("a folder");
        for (name, text) in [("ringwood", RINGWOOD), ("sqlcmd", SQLCMD), ("cargo", CARGO)] {
            let path = tools.path().join(name);
            std::fs::write(&path, text).expect("a program");
            use std::os::unix::fs::PermissionsExt as _;
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))
                .expect("it can run");
        }
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("its number").port();
        Reader { folder, tools, port }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Runs a command in the folder to its end.
    fn run(&self, command: &mut Command) -> Result<(), String> {
        let paths = std::env::var_os("PATH").unwrap_or_default();
        let paths =
            std::iter::once(self.tools.path().to_owned()).chain(std::env::split_paths(&paths));
        let out = self.path().join(OUT);
        let file = std::fs::File::create(&out).map_err(|e| e.to_string())?;
        let errors = file.try_clone().map_err(|e| e.to_string())?;
        // A file and no pipe: a server that goes on in the background would keep a pipe open.
        let status = command
            .current_dir(self.path())
            .env("PATH", std::env::join_paths(paths).map_err(|e| e.to_string())?)
            .env("DOCUMENT_RINGWOOD", env!("CARGO_BIN_EXE_ringwood"))
            .env("DOCUMENT_PORT", self.port.to_string())
            .env("DOCUMENT_TOOLS", self.tools.path())
            .env_remove("MSSQL_SA_PASSWORD")
            .env_remove("SQLCMDPASSWORD")
            .stdin(Stdio::null())
            .stdout(file)
            .stderr(errors)
            .status();
        let status = status.map_err(|e| e.to_string())?;
        let said = std::fs::read_to_string(&out).unwrap_or_default();
        if status.success() { Ok(()) } else { Err(format!("{status}\n{said}")) }
    }

    /// Lines for a shell, which ends with the first that fails.
    pub fn shell(&self, before: &str, lines: &str) -> Result<(), String> {
        let lines = lines.replace("'...'", PASSWORD);
        self.run(Command::new("sh").args(["-e", "-c", &format!("{before}\n{lines}\n")]))
    }

    /// A script for the prompt, with what it takes for granted in front of it, as batches of their
    /// own.
    pub fn script(&self, before: &str, lines: &str) -> Result<(), String> {
        let mut script = String::new();
        let _ = writeln!(script, "{before}\ngo\n{lines}");
        let path: PathBuf = self.path().join(".script.sql");
        std::fs::write(&path, script).map_err(|e| e.to_string())?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_ringwood"));
        self.run(command.args(["sql", "--memory", "64", "--data", "./data", "-i", ".script.sql"]))
    }

    /// A program that stands in the document as it stands among the examples.
    pub fn program(&self, lines: &str) -> Result<(), String> {
        let name = examples::name_of(lines)
            .ok_or("no function of tests/it/documents/examples.rs has these lines")?;
        let this = std::env::current_exe().map_err(|e| e.to_string())?;
        self.run(Command::new(this).args(["--exact", CHILD]).env(PROGRAM, name))?;
        // Without a test of this name the child passes as well.
        let said = std::fs::read_to_string(self.path().join(OUT)).map_err(|e| e.to_string())?;
        if said.contains("1 passed") { Ok(()) } else { Err(format!("no test {CHILD}: {said}")) }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if let Ok(pid) = std::fs::read_to_string(self.tools.path().join("server.pid")) {
            let _ = Command::new("kill").arg(pid.trim()).status();
        }
    }
}
