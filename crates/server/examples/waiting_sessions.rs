//! Many sessions of one login that all wait, over loopback: how long an administrator's login and
//! KILL take beside them, what the server uses of the processor, how many threads and how much
//! memory it has. One line of JSON for each way to wait.
//!
//! `./bench waiting-sessions [SESSIONS]`
//!
//! The server is a process of its own, so that its figures are not those of the clients.

#[path = "../tests/it/support/mod.rs"]
mod support;

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use engine::{Instance, InstanceOptions};
use ringwood_server::{Server, ServerOptions};
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, setrlimit};
use support::{Client, PASSWORD};
use tds::prelogin::Encryption;

/// Sessions unless somebody says.
const SESSIONS: usize = 10_000;
/// How long the server is watched while all wait.
const WATCHED: Duration = Duration::from_secs(10);
/// Of the buffer pool.
const MEMORY: u64 = 256 << 20;
/// Threads that open connections.
const OPENERS: usize = 8;

fn main() {
    raise_limit();
    let mut args = std::env::args().skip(1);
    match args.next().as_deref() {
        Some("--serve") => serve(),
        sessions => {
            let sessions = sessions.map_or(SESSIONS, |n| n.parse().expect("a number of sessions"));
            for wait in [WaitReason::Delay, WaitReason::Lock, WaitReason::Client] {
                measure(sessions, wait);
            }
        }
    }
}

/// As many descriptors as this user may have.
fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })
        .expect("more descriptors");
}

/// The server: its addresses on standard output, its end when standard input ends.
fn serve() {
    let folder = tempfile::tempdir().expect("a folder");
    let options =
        InstanceOptions { memory_bytes: Some(MEMORY), ..InstanceOptions::new(folder.path()) };
    let instance = Instance::open(options).expect("an instance");
    instance.set_sa_password(PASSWORD).expect("a password");
    let any: SocketAddr = "127.0.0.1:0".parse().expect("an address");
    let options =
        ServerOptions { admin_listen: Some(any), ..ServerOptions::new(any, folder.path()) };
    let server = Server::start(instance.clone(), options).expect("a server");
    println!("{} {}", server.addresses()[0], server.admin_address().expect("an address"));
    std::io::stdout().flush().expect("standard output");
    std::io::stdin().read_line(&mut String::new()).expect("standard input");
    assert!(server.stop(Duration::from_secs(10)), "requests have not ended");
    instance.close().expect("closed");
}

/// What sessions wait for.
#[derive(Clone, Copy, Debug)]
enum WaitReason {
    /// WAITFOR.
    Delay,
    /// A row that another session has locked.
    Lock,
    /// Their client, which does not read.
    Client,
}

impl WaitReason {
    fn batch(self) -> &'static str {
        match self {
            WaitReason::Delay => "waitfor delay '01:00:00'",
            WaitReason::Lock => "update app..t set n = n + 1 where id = 1",
            WaitReason::Client => "select replicate('x', 8000) from generate_series(1, 5000)",
        }
    }
}

/// The server's process.
struct ServerProcess {
    child: Child,
    address: SocketAddr,
    admin: SocketAddr,
}

impl ServerProcess {
    fn start() -> ServerProcess {
        let program = std::env::current_exe().expect("this program");
        let mut child = Command::new(program)
            .arg("--serve")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a server");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("its output"))
            .read_line(&mut line)
            .expect("its addresses");
        let mut words = line.split_whitespace().map(|word| word.parse().expect("an address"));
        let (address, admin) =
            (words.next().expect("an address"), words.next().expect("another one"));
        ServerProcess { child, address, admin }
    }

    fn login(&self, name: &str) -> Client {
        Client::connect(self.address, Encryption::NotSupported, name, PASSWORD, "")
            .expect("a login")
    }

    fn file(&self, name: &str) -> String {
        std::fs::read_to_string(format!("/proc/{}/{name}", self.child.id()))
            .expect("a file of the process")
    }

    /// A number of /proc/PID/status.
    fn status(&self, field: &str) -> u64 {
        let text = self.file("status");
        let line = text.lines().find_map(|line| line.strip_prefix(field)).expect("a line");
        line.trim_start_matches(':').trim().trim_end_matches(" kB").parse().expect("a number")
    }

    /// CPU time so far, in ticks of 10 ms.
    fn ticks(&self) -> u64 {
        let stat = self.file("stat");
        let rest = stat.rsplit(')').next().expect("fields");
        let fields: Vec<&str> = rest.split_whitespace().collect();
        fields[11].parse::<u64>().expect("a number") + fields[12].parse::<u64>().expect("a number")
    }
}

fn ms<T>(work: impl FnOnce() -> T) -> (T, u128) {
    let began = Instant::now();
    let result = work();
    (result, began.elapsed().as_millis())
}

fn measure(sessions: usize, wait: WaitReason) {
    let mut served = ServerProcess::start();
    let mut owner = served.login("sa");
    owner.run(&format!("create database app; create login app with password = '{PASSWORD}'"));
    owner.run("exec ('use app; create user app; alter role db_owner add member app')");
    owner.run(
        "exec ('use app; create table t (id int primary key, n int); insert t values (1, 0)')",
    );
    let mut holder = served.login("app");
    if matches!(wait, WaitReason::Lock) {
        holder.run("begin tran; update app..t set n = 1 where id = 1");
    }
    let (clients, opened) = ms(|| open(&served, sessions, wait));
    std::thread::sleep(Duration::from_secs(2));
    let before = served.ticks();
    std::thread::sleep(WATCHED);
    let percent = (served.ticks() - before) as f64 / WATCHED.as_secs_f64();
    let (mut admin, login) = ms(|| served.login("sa"));
    let last = "select max(session_id) from sys.dm_exec_sessions where login_name = 'app'";
    let (victim, query) = ms(|| admin.int(last));
    let gone = format!("select count(*) from sys.dm_exec_sessions where session_id = {victim}");
    let ((), kill) = ms(|| {
        admin.run(&format!("kill {victim}"));
        while admin.int(&gone) > 0 {
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    let connect = || Client::connect(served.admin, Encryption::NotSupported, "sa", PASSWORD, "");
    let (mut dedicated, dedicated_login) = ms(|| connect().expect("the dedicated connection"));
    dedicated.run("select 1");
    let (threads, resident) = (served.status("Threads"), served.status("VmRSS") >> 10);
    // As SIGTERM does for `ringwood serve`.
    let (status, stop) = ms(|| {
        drop(served.child.stdin.take());
        let end = Instant::now() + Duration::from_secs(60);
        while Instant::now() < end {
            if let Some(status) = served.child.try_wait().expect("its end") {
                return Some(status.success());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let pid = Pid::from_child(&served.child);
        kill_process(pid, Signal::KILL).expect("its end");
        None
    });
    println!(
        "{{\"wait\": \"{wait:?}\", \"sessions\": {sessions}, \"opened_ms\": {opened}, \"cpu_percent_of_a_core\": {percent:.1}, \
         \"threads\": {threads}, \"resident_mb\": {resident}, \"login_ms\": {login}, \"query_ms\": {query}, \
         \"kill_ms\": {kill}, \"dedicated_login_ms\": {dedicated_login}, \"stop_ms\": {stop}, \"stopped\": {}}}",
        status == Some(true)
    );
    drop((clients, holder, owner));
}

/// Sessions that have sent their batch.
fn open(served: &ServerProcess, sessions: usize, wait: WaitReason) -> Vec<Client> {
    std::thread::scope(|scope| {
        let openers: Vec<_> = (0..OPENERS)
            .map(|n| {
                let count = sessions / OPENERS + usize::from(n < sessions % OPENERS);
                scope.spawn(move || {
                    let clients = (0..count).map(|_| {
                        let mut client = served.login("app");
                        client.send(&client.codec.batch(wait.batch()));
                        client
                    });
                    clients.collect::<Vec<_>>()
                })
            })
            .collect();
        openers.into_iter().flat_map(|opener| opener.join().expect("clients")).collect()
    })
}
