//! ALTER DATABASE ... WITH ROLLBACK IMMEDIATE and clients: whose session is ended is disconnected,
//! and what it had begun is taken back before the statement returns.

use crate::support::{Client, PASSWORD, TestServer};
use tds::prelogin::Encryption;

#[test]
fn a_client_in_the_way_is_disconnected() {
    let server = TestServer::start();
    let mut sa = server.client();
    sa.run("create database d");
    sa.run("use d create table t (a int) insert t values (1)");
    let connect = || {
        Client::connect(server.address, Encryption::NotSupported, "sa", PASSWORD, "d")
            .map_err(|e| e[0])
    };
    let (mut idle, mut writer) = (connect().unwrap(), connect().unwrap());
    idle.run("select 1");
    writer.run("begin tran update t set a = 2");
    assert_eq!(
        sa.batch("alter database d set single_user with no_wait").error_numbers(),
        [5070, 5069]
    );
    assert_eq!(writer.int("select a from t"), 2);
    sa.run("alter database d set single_user with rollback immediate");
    assert_eq!(sa.int("select a from t with (readcommittedlock)"), 1);
    assert!(idle.is_closed() && writer.is_closed());
    // The next one is refused, until the one that is in has gone.
    assert_eq!(connect().err(), Some(4060));
    let log = server.instance.error_log().lines().join("\n");
    let reason = "Failed to open the explicitly specified database 'd': Database 'd' is already open and can only have \
                  one user at a time.";
    assert!(log.contains(reason), "{log}");
    sa.run("use master");
    assert!(connect().is_ok());
}
