//! The dedicated administrator connection: one session, of a sysadmin, that needs nothing of what
//! others use up.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::support::{Client, PASSWORD, TestServer};
use tds::prelogin::Encryption;

/// An administrator is answered within this, whatever others do.
const SOON: Duration = Duration::from_secs(10);

fn soon<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    assert!(start.elapsed() < SOON, "{what} took {:?}", start.elapsed());
    result
}

fn server() -> (TestServer, SocketAddr) {
    let server = TestServer::with(|options| {
        options.admin_listen = Some("127.0.0.1:0".parse().unwrap());
        options.max_workers = 4;
    });
    let address = server.server.as_ref().unwrap().admin_address().unwrap();
    (server, address)
}

fn connect(address: SocketAddr, name: &str) -> Result<Client, Vec<i32>> {
    Client::connect(address, Encryption::NotSupported, name, PASSWORD, "")
}

fn error_log(server: &TestServer) -> String {
    server.instance.error_log().lines().join("\n")
}

#[test]
fn one_session_of_a_sysadmin() {
    let (server, address) = server();
    assert!(error_log(&server).contains(&format!(
        "Dedicated admin connection support was established for listening locally on port {}.",
        address.port()
    )));
    let mut sa = server.client();
    sa.run(&format!("create login app with password = '{PASSWORD}'"));
    assert_eq!(connect(address, "app").err(), Some(vec![18456]));
    assert!(error_log(&server).contains("Only members of sysadmin can use the dedicated"));
    let mut admin = connect(address, "sa").unwrap();
    assert_eq!(connect(address, "sa").err(), Some(vec![17810]));
    assert!(error_log(&server).contains("Error: 17810, Severity: 20, State: 2."));
    // Refusals have not hurt the one that is there.
    assert_eq!(admin.int("select 1"), 1);
    let mine = "from sys.dm_exec_connections c join sys.endpoints e on e.endpoint_id = c.endpoint_id \
                where c.session_id = @@spid";
    assert_eq!(admin.int(&format!("select c.endpoint_id {mine} and e.is_admin_endpoint = 1")), 1);
    assert_eq!(admin.int(&format!("select c.local_tcp_port {mine}")), i64::from(address.port()));
    assert_eq!(sa.int(&format!("select c.endpoint_id {mine} and e.is_admin_endpoint = 0")), 4);
    // It is at the loopback address. A server whose one is not says so to its instance.
    let remote =
        "select cast(value_in_use as int) from sys.configurations where configuration_id = 1576";
    assert_eq!(sa.int(remote), 0);
    server.instance.set_remote_admin(true);
    assert_eq!(sa.int(remote), 1);
    drop(admin);
    // The next one gets in as soon as the server has noticed.
    let end = Instant::now() + SOON;
    while connect(address, "sa").is_err() {
        assert!(Instant::now() < end);
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(
        error_log(&server).contains("Dedicated administrator connection has been disconnected.")
    );
}

#[test]
fn a_member_of_sysadmin_may_and_one_that_was_may_not() {
    let (server, address) = server();
    let mut sa = server.client();
    sa.run(&format!(
        "create login boss with password = '{PASSWORD}'; alter server role sysadmin add member boss"
    ));
    let mut boss = connect(address, "boss").unwrap();
    assert_eq!(boss.int("select is_srvrolemember('sysadmin')"), 1);
    drop(boss);
    sa.run("alter server role sysadmin drop member boss");
    assert_eq!(connect(address, "boss").err(), Some(vec![18456]));
}

/// All sessions of `sa` and of an application wait, more than may have threads: the connection for
/// administrators is answered, its requests can be withdrawn, and KILL frees the others.
#[test]
fn it_works_where_all_others_wait() {
    let (server, address) = server();
    let mut sa = server.client();
    sa.run("create table t (n int); insert t values (1)");
    let mut waiting: Vec<Client> = (0..80).map(|_| server.client()).collect();
    for client in &mut waiting {
        client.send(&client.codec.batch("waitfor delay '01:00:00'"));
    }
    std::thread::sleep(Duration::from_millis(300));
    // Not even sa gets on otherwise: all that is kept for it is used up by its own sessions.
    sa.send(&sa.codec.batch("select n from t"));
    let mut admin = soon("the login", || connect(address, "sa").unwrap());
    soon("a query", || assert_eq!(admin.int("select n from t"), 1));
    admin.send(&admin.codec.batch("waitfor delay '01:00:00'"));
    std::thread::sleep(Duration::from_millis(50));
    // Its one thread is at work: who comes is refused all the same.
    assert_eq!(soon("a second login", || connect(address, "sa")).err(), Some(vec![17810]));
    admin.send(&admin.codec.attention());
    soon("an attention", || while !admin.read().unwrap().is_attention() {});
    let others =
        admin.batch("select session_id from sys.dm_exec_requests where command = 'WAITFOR'").rows();
    assert!(others.len() >= 4 && others.len() < 80, "{}", others.len());
    let all = admin.batch(
        "select session_id from sys.dm_exec_sessions where is_user_process = 1 and session_id <> @@spid \
         order by session_id desc",
    );
    for row in all.rows().iter().take(80) {
        admin.run(&format!("kill {}", row[0].as_i64().unwrap()));
    }
    soon("what waited for a thread", || {
        assert_eq!(sa.read().unwrap().rows()[0][0].as_i64(), Some(1))
    });
}

#[test]
fn a_logon_trigger_that_refuses_all_does_not_refuse_it() {
    let (server, address) = server();
    let mut sa = server.client();
    sa.run("create trigger nobody on all server for logon as rollback");
    assert_eq!(connect(server.address, "sa").err(), Some(vec![17892]));
    let mut admin = connect(address, "sa").unwrap();
    admin.run("drop trigger nobody on all server");
    assert!(connect(server.address, "sa").is_ok());
}

/// Memory that others hold is none that it needs: a sort beside statements that have all of it.
#[test]
fn it_has_memory_of_its_own() {
    let (server, address) = server();
    let mut admin = connect(address, "sa").unwrap();
    let mut sa = server.client();
    let used = "select cast(used_memory_kb as bigint) from sys.dm_exec_query_resource_semaphores \
                where resource_semaphore_id = 0";
    let before = sa.int(used);
    // A cursor that keeps its rows holds memory of the session that has it.
    let keeps = "declare c cursor static global for select replicate('x', 1000) from generate_series(1, 4000); open c";
    admin.run(keeps);
    assert_eq!(sa.int(used), before, "of its own");
    let mut other = server.client();
    other.run(keeps);
    assert!(sa.int(used) > before, "of all others");
}

/// A client that connects there and sends nothing holds up no other client.
#[test]
fn strangers_make_room() {
    let (server, address) = server();
    let strangers: Vec<Client> = (0..200).map(|_| Client::open(address)).collect();
    let mut admin = soon("the login", || connect(address, "sa").unwrap());
    let more: Vec<Client> = (0..200).map(|_| Client::open(address)).collect();
    soon("a query", || assert_eq!(admin.int("select 1"), 1));
    assert!(server.server.as_ref().unwrap().connections() < 100);
    drop((strangers, more));
}

#[test]
fn a_stop_ends_it_like_others() {
    let (mut server, address) = server();
    let mut idle = connect(address, "sa").unwrap();
    soon("the stop", || server.stop());
    assert!(idle.is_closed());
    assert!(std::net::TcpStream::connect(address).is_err());
}
