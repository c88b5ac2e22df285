//! A real S3 server as a child process with one bucket, `backups`, and a proxy in front of it that
//! dies on time.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

pub const KEY_ID: &str = "RINGWOODTEST";
pub const SECRET: &str = "nobodyneedstoknow";

/// The server's program; installed when it is not there.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/s3-server");
        let out = Command::new(&script).output().expect("scripts/s3-server runs");
        let errors = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "the S3 server cannot be installed:\n{errors}");
        PathBuf::from(String::from_utf8_lossy(&out.stdout).trim())
    })
}

/// A running server; it ends with this value.
pub struct Server {
    child: Child,
    port: u16,
    folder: tempfile::TempDir,
}

impl Server {
    pub fn start() -> Server {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("backups")).expect("a bucket");
        let port =
            TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port").port();
        let child = Command::new(program())
            .args(["--host", "127.0.0.1", "--port", &port.to_string()])
            .args(["--access-key", KEY_ID, "--secret-key", SECRET])
            .arg(folder.path())
            .env("RUST_LOG", "error")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let server = Server { child, port, folder };
        let begin = Instant::now();
        while TcpStream::connect(server.host()).is_err() {
            assert!(begin.elapsed() < Duration::from_secs(30), "the server does not answer");
            std::thread::sleep(Duration::from_millis(20));
        }
        server
    }

    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Files of objects in the bucket.
    pub fn objects(&self) -> Vec<String> {
        files(&self.folder.path().join("backups"))
    }

    /// Files of uploads that were not completed: the server keeps their parts beside the buckets.
    pub fn leftovers(&self) -> Vec<String> {
        files(self.folder.path()).into_iter().filter(|name| name.contains(".part-")).collect()
    }
}

fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("the server's folder").flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else {
                found.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
    }
    found
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has nothing to save.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Carries so many bytes to and from a server; then every connection is cut and none is taken any
/// more.
pub struct Proxy {
    port: u16,
    dead: Arc<AtomicBool>,
}

impl Proxy {
    pub fn start(to: &str, bytes: i64) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("a port").port();
        listener.set_nonblocking(true).expect("a listener that does not wait");
        let (dead, left) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicI64::new(bytes)));
        let (to, over) = (to.to_string(), dead.clone());
        std::thread::spawn(move || {
            while !over.load(Relaxed) {
                let Ok((here, _)) = listener.accept() else {
                    std::thread::sleep(Duration::from_millis(2));
                    continue;
                };
                here.set_nonblocking(false).expect("a stream that waits");
                let there = TcpStream::connect(&to).expect("the server is there");
                for (from, to) in [(&here, &there), (&there, &here)] {
                    let (from, to) =
                        (from.try_clone().expect("a copy"), to.try_clone().expect("a copy"));
                    let (left, over) = (left.clone(), over.clone());
                    std::thread::spawn(move || carry(from, to, &left, &over));
                }
            }
        });
        Proxy { port, dead }
    }

    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.dead.store(true, Relaxed);
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream, left: &AtomicI64, dead: &AtomicBool) {
    let mut buf = vec![0; 64 << 10];
    let _ = from.set_read_timeout(Some(Duration::from_millis(50)));
    while !dead.load(Relaxed) {
        match from.read(&mut buf) {
            Ok(0) => break,
            Ok(n) => {
                if left.fetch_sub(n as i64, Relaxed) < n as i64 {
                    dead.store(true, Relaxed);
                } else if to.write_all(&buf[..n]).is_err() {
                    break;
                }
            }
            Err(e)
                if matches!(
                    e.kind(),
                    std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
                ) => {}
            Err(_) => break,
        }
    }
    for stream in [from, to] {
        // The other side may have been faster.
        let _ = stream.shutdown(Shutdown::Both);
    }
}

/// Answers as S3 does where no bucket is; the real server of these tests makes buckets by itself.
/// Ends with the process.
pub fn without_buckets() -> String {
    const BODY: &str =
        "<?xml version=\"1.0\"?><Error><Code>NoSuchBucket</Code><Message>none</Message></Error>";
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let host = listener.local_addr().expect("a port").to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut head = Vec::new();
            let mut stream = std::io::BufReader::new(stream);
            while !head.ends_with(b"\r\n\r\n") {
                if std::io::BufRead::read_until(&mut stream, b'\n', &mut head).unwrap_or(0) == 0 {
                    break;
                }
            }
            let body = if head.starts_with(b"HEAD") { "" } else { BODY };
            let answer = format!(
                "HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
                BODY.len()
            );
            // The client may have gone.
            let _ = stream.get_mut().write_all(answer.as_bytes());
        }
    });
    host
}
