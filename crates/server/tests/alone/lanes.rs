//! Sessions that wait, in numbers: others are served, administrators get in, ends of transactions
//! get through, and what waits for a thread can be withdrawn.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::alone;
use crate::support::{Client, PASSWORD, TestServer};
use ringwood_server::ServerOptions;
use tds::prelogin::Encryption;
use tds::request::TransactionRequest;

/// Others are answered within this, whatever somebody does.
const SOON: Duration = Duration::from_secs(10);

fn soon<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    assert!(start.elapsed() < SOON, "{what} took {:?}", start.elapsed());
    result
}

/// A server with the logins `one` and `two`, which have no rights but in their database.
fn server_with(change: impl FnOnce(&mut ServerOptions)) -> TestServer {
    let server = TestServer::with(change);
    let mut owner = server.client();
    owner.run("create database app");
    for name in ["one", "two"] {
        owner.run(&format!(
            "create login {name} with password = '{PASSWORD}', default_database = app; \
             exec ('use app; create user {name}; alter role db_owner add member {name}')"
        ));
    }
    owner.run("exec ('use app; create table t (id int primary key, n int); insert t values (1, 0), (2, 0)')");
    server
}

fn login(address: SocketAddr, name: &str) -> Client {
    Client::connect(address, Encryption::NotSupported, name, PASSWORD, "").unwrap()
}

/// So many sessions of a login, opened by some threads at once, that have sent this batch and wait
/// for its answer.
fn waiting(server: &TestServer, name: &str, count: usize, batch: &str) -> Vec<Client> {
    let address = server.address;
    let open = |n: usize| {
        let (name, batch) = (name.to_owned(), batch.to_owned());
        std::thread::spawn(move || {
            let clients = (0..n).map(|_| {
                let mut client = login(address, &name);
                client.send(&client.codec.batch(&batch));
                client
            });
            clients.collect::<Vec<_>>()
        })
    };
    let threads: Vec<_> = (0..8).map(|n| open(count / 8 + usize::from(n < count % 8))).collect();
    threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
}

/// Of this process.
pub fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

/// Waits until a question to an administrator has this answer.
fn wait_until(admin: &mut Client, question: &str, wanted: i64) {
    let end = Instant::now() + SOON;
    while admin.int(question) != wanted {
        assert!(Instant::now() < end, "{question}: {}", admin.int(question));
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until as many requests run or wait as a while before: what was sent is where it stays.
fn settle(server: &TestServer) {
    let (mut admin, end) = (login(server.address, "sa"), Instant::now() + SOON);
    let (mut before, mut same) = (-1, 0);
    while same < 5 {
        assert!(Instant::now() < end, "requests come and go: {before}");
        std::thread::sleep(Duration::from_millis(50));
        let now = admin.int("select count(*) from sys.dm_exec_requests");
        same = if now == before { same + 1 } else { 0 };
        before = now;
    }
}

const OF_ONE: &str = "select count(*) from sys.dm_exec_sessions where login_name = 'one'";

/// An administrator and another login get in and are served while sessions of `one` wait; two of
/// those after `holder` are killed.
fn others_are_served(server: &TestServer, left: i64, holder: i64) {
    let mut admin = soon("the administrator's login", || login(server.address, "sa"));
    soon("the administrator's request", || assert_eq!(admin.int("select 1"), 1));
    let mut other = soon("another login", || login(server.address, "two"));
    soon("its request", || assert_eq!(other.int("select n from app..t where id = 2"), 0));
    soon("a new connection of the login that waits", || login(server.address, "one"));
    // The last one is not only queued but has never run.
    for which in ["min", "max"] {
        let victim = admin.int(&format!(
            "select {which}(session_id) from sys.dm_exec_sessions \
             where login_name = 'one' and session_id > {holder}"
        ));
        soon("KILL", || admin.run(&format!("kill {victim}")));
        let question =
            format!("select count(*) from sys.dm_exec_sessions where session_id = {victim}");
        wait_until(&mut admin, &question, 0);
    }
    wait_until(&mut admin, OF_ONE, left - 2);
}

#[test]
fn sessions_in_waitfor_hold_up_nobody_else() {
    let _alone = alone();
    let mut server = server_with(|_| {});
    let clients = waiting(&server, "one", 700, "waitfor delay '01:00:00'");
    settle(&server);
    // At most the share of those that run and of those that wait, and what the server has besides.
    assert!(threads() < 640, "{} threads", threads());
    others_are_served(&server, 700, 0);
    // They wait without work for the processor: neither themselves nor those that look after them.
    let before = cpu_time();
    std::thread::sleep(Duration::from_secs(2));
    let took = cpu_time() - before;
    assert!(took < Duration::from_millis(600), "{took:?} of the processor in 2 s");
    // Requests have the time of this stop to end by themselves, and are ended then.
    let (began, time) = (Instant::now(), Duration::from_secs(2));
    server.stop_within(time);
    assert!((time..time + SOON).contains(&began.elapsed()), "the stop took {:?}", began.elapsed());
    drop(clients);
}

/// CPU time of this process.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<u64> = stat
        .rsplit(')')
        .next()
        .unwrap()
        .split_whitespace()
        .map(|f| f.parse().unwrap_or(0))
        .collect();
    // Ticks of 10 ms.
    Duration::from_millis((fields[11] + fields[12]) * 10)
}

#[test]
fn sessions_that_wait_for_a_lock_hold_up_nobody_else_and_the_holder_least() {
    let _alone = alone();
    let server = server_with(|_| {});
    let mut holder = login(server.address, "one");
    holder.run("begin tran; update t set n = n + 1 where id = 1");
    let spid = holder.int("select @@spid");
    let mut clients = waiting(&server, "one", 700, "update t set n = n + 1 where id = 1");
    settle(&server);
    others_are_served(&server, 701, spid);
    // Whoever holds the lock goes on, and its COMMIT gets through.
    soon("the holder's update", || holder.run("update t set n = n + 0 where id = 1"));
    soon("the holder's commit", || holder.run("commit"));
    let mut done = 0;
    for client in &mut clients {
        // Two were killed: their clients see an error, or the end.
        done += i64::from(client.read().is_ok_and(|answer| answer.errors().is_empty()));
    }
    assert!((698..=699).contains(&done), "{done} were done");
    assert_eq!(login(server.address, "two").int("select n from t where id = 1"), done + 1);
}

#[test]
fn clients_that_do_not_read_hold_up_nobody_else() {
    let _alone = alone();
    // Making 600 answers keeps a slow machine busy for a while, in which clients log in.
    let server = server_with(|options| options.login_timeout = Duration::from_secs(60));
    let big = "select replicate('x', 8000) from generate_series(1, 5000)";
    let clients = waiting(&server, "one", 600, big);
    std::thread::sleep(Duration::from_secs(2));
    others_are_served(&server, 600, 0);
    drop(clients);
    let mut admin = login(server.address, "sa");
    wait_until(&mut admin, OF_ONE, 0);
}

#[test]
fn two_logins_that_wait_leave_room_for_a_third() {
    let _alone = alone();
    let server = server_with(|options| options.max_workers = 16);
    let one = waiting(&server, "one", 60, "waitfor delay '01:00:00'");
    let two = waiting(&server, "two", 60, "waitfor delay '01:00:00'");
    std::thread::sleep(Duration::from_millis(500));
    let mut admin = login(server.address, "sa");
    admin.run(&format!("create login three with password = '{PASSWORD}'"));
    let mut third = soon("a third login", || login(server.address, "three"));
    soon("its request", || assert_eq!(third.int("select 1"), 1));
    let running = "select count(*) from sys.dm_exec_requests where wait_type = 'WAITFOR' or command = 'WAITFOR'";
    assert!(admin.int(running) < 32, "{} run", admin.int(running));
    drop((one, two));
    wait_until(&mut admin, OF_ONE, 0);
}

/// Transactions of one login that all wait for a row, each with its own row locked: those that run
/// are bounded, and the ends of those that do not wait get through.
#[test]
fn what_sessions_in_transactions_hold_is_bounded_and_commits_pass() {
    let _alone = alone();
    let server = server_with(|options| options.max_workers = 8);
    let mut owner = login(server.address, "one");
    owner.run("insert t select value, 0 from generate_series(3, 200)");
    let mut in_transaction: Vec<Client> = (3..83)
        .map(|row| {
            let mut client = login(server.address, "one");
            client.run(&format!("begin tran; update t set n = 1 where id = {row}"));
            client
        })
        .collect();
    let mut holder = login(server.address, "one");
    holder.run("begin tran; update t set n = 1 where id = 1");
    let mut idle = in_transaction.split_off(60);
    for client in &mut in_transaction {
        client.send(&client.codec.batch("update t set n = n + 1 where id = 1; commit"));
    }
    std::thread::sleep(Duration::from_millis(500));
    let mut admin = login(server.address, "sa");
    let running = admin.int("select count(*) from sys.dm_exec_requests where session_id <> @@spid");
    // A share of 8 that run, of 8 that wait, of 4 in transactions.
    assert_eq!(running, 10);
    let rollback = TransactionRequest::Rollback { name: String::new(), then: None };
    let mut last = idle.pop().unwrap();
    last.send(&last.codec.transaction(&rollback));
    soon("a rollback", || assert!(last.read().unwrap().errors().is_empty()));
    for client in &mut idle {
        soon("a commit", || client.run("if @@trancount > 0 commit tran"));
    }
    soon("the holder's commit", || holder.run("commit"));
    for client in &mut in_transaction {
        assert!(soon("a request that was queued", || client.read().unwrap()).errors().is_empty());
    }
    assert_eq!(login(server.address, "two").int("select n from t where id = 1"), 61);
}

/// One login may have 4 requests that run or wait here: further ones are queued.
fn queued_beside_four(server: &TestServer) -> (Vec<Client>, Client) {
    let busy = waiting(server, "one", 40, "waitfor delay '01:00:00'");
    std::thread::sleep(Duration::from_millis(300));
    (busy, login(server.address, "one"))
}

#[test]
fn a_queued_request_is_withdrawn_by_an_attention() {
    let _alone = alone();
    let server = server_with(|options| options.max_workers = 4);
    let (busy, mut client) = queued_beside_four(&server);
    for _ in 0..3 {
        client.send(&client.codec.batch("update t set n = 100 where id = 2"));
        std::thread::sleep(Duration::from_millis(100));
        client.send(&client.codec.attention());
        soon("an attention's answer", || assert!(client.read().unwrap().is_attention()));
    }
    // Together with the request.
    let mut bytes = client.codec.batch("update t set n = 100 where id = 2");
    bytes.extend(client.codec.attention());
    client.send(&bytes);
    soon("an attention's answer", || while !client.read().unwrap().is_attention() {});
    // The connection is of use when there is room.
    client.send(&client.codec.batch("select n from t where id = 2"));
    drop(busy);
    let answer = soon("a request that was queued", || client.read().unwrap());
    assert_eq!(answer.rows()[0][0].as_i64(), Some(0));
}

#[test]
fn what_comes_behind_a_queued_request_is_answered() {
    let _alone = alone();
    let server = server_with(|options| options.max_workers = 4);
    let (busy, mut client) = queued_beside_four(&server);
    for n in 1..=3 {
        client.send(&client.codec.batch(&format!("select {n}")));
        // The server reads each by itself.
        std::thread::sleep(Duration::from_millis(100));
    }
    drop(busy);
    for n in 1..=3 {
        let answer = soon("a request that was queued", || client.read().unwrap());
        assert_eq!(answer.rows()[0][0].as_i64(), Some(n));
    }
}

/// A COMMIT gets through where others wait; what its client has sent behind it has no right to.
#[test]
fn what_follows_a_commit_asks_for_its_own_thread() {
    let _alone = alone();
    let server = server_with(|options| options.max_workers = 4);
    let mut client = login(server.address, "one");
    client.run("begin tran; update t set n = 1 where id = 2");
    let busy = waiting(&server, "one", 40, "waitfor delay '01:00:00'");
    std::thread::sleep(Duration::from_millis(300));
    // In one piece: the second one is there when the first one has run.
    let mut bytes = client.codec.batch("commit");
    client.codec.transaction = 0;
    bytes.extend(client.codec.batch("update t set n = 100 where id = 2"));
    client.send(&bytes);
    let answer = soon("a commit", || client.read().unwrap());
    assert!(answer.errors().is_empty(), "{:?}", answer.errors());
    let mut admin = login(server.address, "sa");
    assert_eq!(admin.int("select n from app..t where id = 2"), 1);
    drop(busy);
    let answer = soon("a request that was queued", || client.read().unwrap());
    assert!(answer.errors().is_empty(), "{:?}", answer.errors());
    assert_eq!(admin.int("select n from app..t where id = 2"), 100);
}

#[test]
fn a_queued_request_that_is_withdrawn_resets_its_session() {
    let _alone = alone();
    let server = server_with(|options| options.max_workers = 4);
    let mut client = login(server.address, "one");
    client.run("set context_info 0x01");
    let busy = waiting(&server, "one", 40, "waitfor delay '01:00:00'");
    std::thread::sleep(Duration::from_millis(300));
    client.codec.status = tds::packet::status::RESET_CONNECTION;
    client.send(&client.codec.batch("select 1"));
    client.codec.status = 0;
    std::thread::sleep(Duration::from_millis(100));
    client.send(&client.codec.attention());
    let changes = soon("an attention's answer", || {
        let mut changes = Vec::new();
        loop {
            let answer = client.read().unwrap();
            changes.extend(answer.env_changes());
            if answer.is_attention() {
                return changes;
            }
        }
    });
    assert!(changes.contains(&18), "{changes:?}");
    drop(busy);
    assert_eq!(client.int("select isnull(len(context_info()), 0)"), 0);
}

#[test]
fn queued_requests_of_clients_that_leave_and_of_killed_sessions_do_not_run() {
    let _alone = alone();
    let server = server_with(|options| options.max_workers = 4);
    let (busy, mut client) = queued_beside_four(&server);
    let mut admin = login(server.address, "sa");
    let mut leaving: Vec<Client> = (0..5).map(|_| login(server.address, "one")).collect();
    for leaving in &mut leaving {
        leaving.send(&leaving.codec.batch("update t set n = 100 where id = 2"));
    }
    let spid = {
        client.send(&client.codec.batch("update t set n = 100 where id = 2"));
        admin.int("select max(session_id) from sys.dm_exec_sessions where login_name = 'one'")
    };
    std::thread::sleep(Duration::from_millis(100));
    wait_until(&mut admin, OF_ONE, 46);
    drop(leaving);
    wait_until(&mut admin, OF_ONE, 41);
    // `client` was opened before those that have left.
    let killed =
        admin.int("select max(session_id) from sys.dm_exec_sessions where login_name = 'one'");
    assert!(killed < spid);
    admin.run(&format!("kill {killed}"));
    soon("the end of a killed session", || assert!(client.is_closed()));
    wait_until(&mut admin, OF_ONE, 40);
    drop(busy);
    wait_until(&mut admin, OF_ONE, 0);
    assert_eq!(admin.int("select n from app..t where id = 2"), 0);
}

#[test]
fn queued_requests_run_in_their_turn() {
    let _alone = alone();
    let server = server_with(|options| options.max_workers = 4);
    let mut clients = waiting(
        &server,
        "one",
        200,
        "waitfor delay '00:00:00.020'; update t set n = n + 1 where id = 1",
    );
    for client in &mut clients {
        assert!(soon("a request", || client.read().unwrap()).errors().is_empty());
    }
    assert_eq!(login(server.address, "two").int("select n from t where id = 1"), 200);
}

#[test]
fn a_killed_client_that_does_not_read_is_ended() {
    let _alone = alone();
    let server = server_with(|_| {});
    let mut client = login(server.address, "one");
    client.send(&client.codec.batch("select replicate('x', 8000) from generate_series(1, 5000)"));
    std::thread::sleep(Duration::from_millis(200));
    let mut admin = login(server.address, "sa");
    let spid =
        admin.int("select max(session_id) from sys.dm_exec_sessions where login_name = 'one'");
    admin.run(&format!("kill {spid}"));
    wait_until(&mut admin, OF_ONE, 0);
}

#[test]
fn idle_connections_and_unfinished_logins_are_ended_in_their_time() {
    let _alone = alone();
    let server = server_with(|options| {
        options.idle_timeout = Some(Duration::from_millis(600));
        options.login_timeout = Duration::from_millis(600);
    });
    let mut idle = login(server.address, "one");
    let mut stranger = Client::open(server.address);
    soon("the end of an idle connection", || assert!(idle.is_closed()));
    soon("the end of an unfinished login", || assert!(stranger.is_closed()));
    // Whoever asks all the time stays.
    let mut busy = login(server.address, "one");
    for _ in 0..15 {
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(busy.int("select 1"), 1);
    }
}
