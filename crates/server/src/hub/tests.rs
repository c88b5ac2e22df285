//! A stop, and connections that workers have while it begins.

use super::*;
use crate::serve::serve;
use crate::wire::Wire;
use engine::InstanceOptions;
use std::net::TcpStream;

/// A worker that finds nothing to read leaves its connection to those that wait for sockets,
/// perhaps just after the stop has looked for idle ones.
#[test]
fn a_connection_that_is_left_while_the_server_stops_ends() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = InstanceOptions::new(folder.path());
    options.memory_bytes = Some(16 << 20);
    let instance = Instance::open(options).unwrap();
    let options = ServerOptions::new("127.0.0.1:0".parse().unwrap(), folder.path());
    let hub = Hub::new(instance, options, None, vec![Shard::new().unwrap()], None);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (socket, peer) = listener.accept().unwrap();
    let (id, surplus) = hub.admit(false).unwrap();
    let wire = Wire::new(None, hub.counters.clone(), hub.instance.memory());
    hub.enter(Connection::new(id, socket, peer, surplus, false, wire).unwrap()).unwrap();
    let connection = hub.find(id).unwrap();

    assert!(connection.ready(true, false, false), "a worker takes it");
    serve(&hub, &connection);
    assert!(connection.idle_since().is_some() && hub.connections() == 1, "it is left");

    assert!(connection.ready(true, false, false));
    hub.begin_stop();
    assert_eq!(hub.connections(), 1, "the worker has it");
    serve(&hub, &connection);
    assert_eq!(hub.connections(), 0);
}
