//! From the first byte to a session: encryption in each mode, logins that fail, limits, clients
//! that send half of something.

use std::io::Write;
use std::time::{Duration, Instant};

use crate::support::{Client, PASSWORD, TestServer};
use ringwood_server::Encryption as Mode;
use tds::client::Token;
use tds::login::Login7;
use tds::prelogin::Encryption;
use tds::{PacketType, TdsVersion};

/// Connects, and asks for a value.
fn works(server: &TestServer, wish: Encryption, login_only: bool) {
    let mut client = Client::open(server.address);
    client.prelogin(wish);
    if login_only {
        // The login is encrypted, its answer is not.
        let login = Login7::new(TdsVersion::V7_4, "sa", PASSWORD);
        client.send(&client.codec.login(&login));
        client.drop_tls();
        assert!(client.read().unwrap().tokens.iter().any(|t| matches!(t, Token::LoginAck { .. })));
    } else {
        client.log_in("sa", PASSWORD, "").unwrap();
    }
    assert_eq!(client.int("select 41 + 1"), 42, "{wish:?}");
    let encrypted = client.is_encrypted();
    let told = client.int(
        "select case encrypt_option when 'TRUE' then 1 else 0 end from sys.dm_exec_connections where session_id = @@spid",
    );
    assert_eq!(told == 1, encrypted);
}

#[test]
fn encryption_is_what_both_sides_want() {
    let server = TestServer::start();
    works(&server, Encryption::NotSupported, false);
    works(&server, Encryption::Off, true);
    works(&server, Encryption::On, false);
    works(&server, Encryption::Required, false);
    let mut strict = Client::connect_strict(server.address);
    assert_eq!(strict.int("select 1"), 1);

    let required = TestServer::with(|o| o.encryption = Mode::Required);
    works(&required, Encryption::On, false);
    works(&required, Encryption::Off, false);
    let mut plain = Client::open(required.address);
    assert_eq!(plain.prelogin(Encryption::NotSupported), Encryption::Required);
    plain.send(&plain.codec.login(&Login7::new(TdsVersion::V7_4, "sa", PASSWORD)));
    assert!(plain.is_closed());

    let off = TestServer::with(|o| o.encryption = Mode::Off);
    works(&off, Encryption::NotSupported, false);
    assert_eq!(Client::open(off.address).prelogin(Encryption::On), Encryption::NotSupported);

    let strict_only = TestServer::with(|o| o.encryption = Mode::Strict);
    assert_eq!(Client::connect_strict(strict_only.address).int("select 1"), 1);
    let mut other = Client::open(strict_only.address);
    other.send(&other.codec.prelogin(&Default::default()));
    assert!(other.is_closed());
}

#[test]
fn a_listener_that_others_reach_does_not_go_without_encryption() {
    let folder = tempfile::tempdir().unwrap();
    let instance = engine::Instance::open(engine::InstanceOptions::new(folder.path())).unwrap();
    let mut options =
        ringwood_server::ServerOptions::new("0.0.0.0:0".parse().unwrap(), folder.path());
    options.encryption = Mode::Off;
    let error = ringwood_server::Server::start(instance, options).err().unwrap();
    assert!(error.to_string().contains("loopback"), "{error}");
}

#[test]
fn failed_logins_tell_the_client_little_and_the_log_all() {
    let server = TestServer::start();
    let connect = |user: &str, password: &str, database: &str| {
        Client::connect(server.address, Encryption::NotSupported, user, password, database).err()
    };
    assert_eq!(connect("sa", "wrong", ""), Some(vec![18456]));
    assert_eq!(connect("nobody\nat all", PASSWORD, ""), Some(vec![18456]));
    assert_eq!(connect("sa", PASSWORD, "nodb"), Some(vec![4060, 18456]));
    assert_eq!(connect("SA", PASSWORD, "msdb"), None);
    let log = server.instance.error_log().lines();
    let has = |text: &str| log.iter().any(|line| line.contains(text));
    assert!(has("Error: 18456, Severity: 14, State: 8."), "{log:?}");
    assert!(has("State: 5.") && has("State: 38."), "{log:?}");
    assert!(
        has("Login failed for user 'nobody?at all'. Reason: Could not find a login"),
        "{log:?}"
    );
    assert!(has("[CLIENT: 127.0.0.1]") && !has("wrong"), "{log:?}");
}

#[test]
fn guessing_passwords_becomes_slow() {
    let server = TestServer::start();
    let began = Instant::now();
    for _ in 0..5 {
        Client::connect(server.address, Encryption::NotSupported, "sa", "guess", "").err().unwrap();
    }
    assert!(began.elapsed() > Duration::from_millis(250 + 500), "{:?}", began.elapsed());
}

#[test]
fn the_login_says_what_clients_need() {
    let server = TestServer::start();
    let mut client = Client::open(server.address);
    client.prelogin(Encryption::NotSupported);
    let mut login = Login7::new(TdsVersion::V7_4, "sa", PASSWORD);
    login.packet_size = 8000;
    let answer = client.log_in_as(&login).unwrap();
    assert_eq!(answer.env_changes(), [1, 7, 2, 4]);
    assert!(answer.tokens.iter().any(|t| matches!(t,
        Token::LoginAck { interface: 1, version: 0x7400_0004, name, product: [16, 0, _, _] } if name == "Microsoft SQL Server")));
    assert_eq!(client.int("select @@spid"), i64::from(answer.spid));
    // The packets have the size that was agreed on.
    client.send(&client.codec.batch("select replicate(cast('x' as varchar(max)), 20000)"));
    assert_eq!(client.read_packet().unwrap().2.len(), 8000 - 8);
    // Without PRELOGIN, as old clients do.
    let mut old = Client::open(server.address);
    old.codec.version = TdsVersion::V7_1;
    let answer = old.log_in("sa", PASSWORD, "").unwrap();
    assert!(
        answer.tokens.iter().any(|t| matches!(t, Token::LoginAck { version: 0x7100_0001, .. }))
    );
    assert_eq!(old.int("select 7"), 7);
}

#[test]
fn who_connects_is_visible() {
    let server = TestServer::start();
    let mut client = server.client();
    let port = client.socket.local_addr().unwrap().port();
    let answer = client.batch(
        "select s.program_name, s.host_name, s.client_interface_name, c.net_transport, c.client_net_address, \
         c.client_tcp_port from sys.dm_exec_sessions s join sys.dm_exec_connections c on c.session_id = s.session_id \
         where s.session_id = @@spid",
    );
    let shown: Vec<String> = answer.rows()[0].iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["tests", "here", "raw", "TCP", "127.0.0.1", &port.to_string()]);
}

#[test]
fn half_of_something_holds_up_nobody() {
    let server = TestServer::with(|o| o.login_timeout = Duration::from_secs(2));
    let login = {
        let client = Client::open(server.address);
        client.codec.login(&Login7::new(TdsVersion::V7_4, "sa", PASSWORD))
    };
    let mut halves: Vec<Client> = (0..100).map(|_| Client::open(server.address)).collect();
    for (at, half) in halves.iter_mut().enumerate() {
        half.socket.write_all(&login[..at % (login.len() - 1)]).unwrap();
    }
    let mut in_a_batch: Vec<Client> = (0..20).map(|_| server.client()).collect();
    for (at, client) in in_a_batch.iter_mut().enumerate() {
        let batch = client.codec.batch("select 1");
        client.send(&batch[..1 + at % (batch.len() - 1)]);
    }
    let mut client = server.client();
    for _ in 0..100 {
        assert_eq!(client.int("select 1"), 1);
    }
    // The rest of the batch comes later; the rest of the login never.
    for (at, client) in in_a_batch.iter_mut().enumerate() {
        let batch = client.codec.batch("select 1");
        client.send(&batch[1 + at % (batch.len() - 1)..]);
        assert_eq!(client.read().unwrap().rows().len(), 1);
    }
    let began = Instant::now();
    for half in &mut halves {
        assert!(half.is_closed());
    }
    assert!(began.elapsed() < Duration::from_secs(30));
    assert_eq!(client.int("select 1"), 1);
}

#[test]
fn garbage_ends_its_connection_alone() {
    let server = TestServer::start();
    let mut random = 7u64;
    for round in 0..200 {
        let mut client =
            if round % 2 == 0 { Client::open(server.address) } else { server.client() };
        let bytes: Vec<u8> = (0..64)
            .map(|_| {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (random >> 56) as u8
            })
            .collect();
        let kinds = [
            PacketType::SqlBatch,
            PacketType::Rpc,
            PacketType::TransactionManager,
            PacketType::Login7,
            PacketType::Prelogin,
        ];
        let bytes = match round % 3 {
            0 => bytes,
            _ => tds::client::message(kinds[round % kinds.len()], &bytes, 4096, 0),
        };
        // It may be closed while it is being sent.
        let _ = client.try_send(&bytes);
    }
    assert_eq!(server.client().int("select 1"), 1);
}

/// No thread reads for ever what stands behind the end of TLS: the connection ends there.
#[test]
fn who_ends_tls_has_ended_the_connection() {
    let server = TestServer::start();
    for behind in ["", "more", "more than the records of the handshake: ".repeat(500).as_str()] {
        let encrypted =
            Client::connect(server.address, Encryption::On, "sa", PASSWORD, "").unwrap();
        for mut client in [encrypted, Client::connect_strict(server.address)] {
            client.socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            client.end_tls(behind.as_bytes());
            assert!(client.is_closed(), "{} bytes behind the end", behind.len());
        }
    }
    assert_eq!(server.client().int("select 1"), 1);
}

#[test]
fn too_many_connections_are_told_so() {
    let server = TestServer::with(|o| o.max_connections = 3);
    let mut clients: Vec<Client> = (0..3).map(|_| server.client()).collect();
    let refused =
        || Client::connect(server.address, Encryption::NotSupported, "sa", PASSWORD, "").err();
    assert_eq!(refused(), Some(vec![17809]));
    clients.pop();
    let end = Instant::now() + Duration::from_secs(10);
    while refused().is_some() {
        assert!(Instant::now() < end, "the place is not free again");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn too_large_a_request_is_refused() {
    let server = TestServer::with(|o| o.max_message = 1 << 20);
    let mut client = server.client();
    let text = format!("select 1 -- {}", "x".repeat(1 << 20));
    assert_eq!(client.batch(&text).error_numbers(), [701]);
    assert_eq!(client.int("select 1"), 1, "the connection goes on behind it");
}

#[test]
fn idle_connections_end_where_that_is_wanted() {
    let server = TestServer::with(|o| o.idle_timeout = Some(Duration::from_secs(1)));
    let mut client = server.client();
    client.run("create table #t (n int)");
    assert!(client.is_closed());
}

#[test]
fn a_probe_needs_no_login() {
    let second = Duration::from_secs(5);
    let server = TestServer::start();
    assert_eq!(client::probe::probe(server.address, false, second).unwrap()[0], 16);
    assert_eq!(client::probe::probe(server.address, true, second).unwrap()[0], 16);
    let strict = TestServer::with(|o| o.encryption = Mode::Strict);
    assert!(client::probe::probe(strict.address, false, second).is_err());
    assert_eq!(client::probe::probe(strict.address, true, second).unwrap()[0], 16);
}

/// A logon trigger that rolls back refuses the login; the client is told that and nothing else.
#[test]
fn a_logon_trigger_refuses_a_client() {
    let server = TestServer::start();
    let mut sa = server.client();
    sa.run(
        "create login ann with password = 'An-0ther-one'; create login bob with password = 'An-0ther-one'",
    );
    sa.run("create trigger gate on all server for logon as if original_login() = 'ann' rollback");
    let enter = |login: &str| {
        let mut client = Client::open(server.address);
        client.prelogin(Encryption::NotSupported);
        client.log_in(login, "An-0ther-one", "").map(|_| client.int("select @@trancount"))
    };
    assert_eq!(enter("ann"), Err(vec![17_892]));
    assert_eq!(enter("bob"), Ok(0));
    sa.run("disable trigger gate on all server");
    assert_eq!(enter("ann"), Ok(0));
}
