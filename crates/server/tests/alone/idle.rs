//! Connections that have nothing to do cost no threads.

use crate::alone;
use crate::lanes::threads;
use crate::support::TestServer;

#[test]
fn a_thousand_idle_connections_hold_no_threads() {
    let _alone = alone();
    let server = TestServer::start();
    let mut clients: Vec<_> = (0..1000).map(|_| server.client()).collect();
    assert!(threads() < 200, "{}", threads());
    for client in clients.iter_mut().step_by(50) {
        assert_eq!(client.int("select 1"), 1);
    }
    assert_eq!(
        clients[0].int("select count(*) from sys.dm_exec_sessions where program_name = 'tests'"),
        1000
    );
}
