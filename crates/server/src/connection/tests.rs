//! A request that begins when its client has withdrawn it already, or has gone away.

use super::*;
use crate::counters::Counters;
use engine::{Instance, InstanceOptions, Sink, SqlError};
use memory::MemoryAccount;
use std::net::TcpListener;

struct Nobody;

impl SessionWatcher for Nobody {
    fn begins_to_wait(&self) {}
    fn killed(&self) {}
}

#[derive(Default)]
struct Errors(Vec<i32>);

impl Sink for Errors {
    fn error(&mut self, error: &SqlError) -> Result<(), SqlError> {
        self.0.push(error.number);
        Ok(())
    }
}

/// The thread that reads for the worker may have read an attention when the request before it ran,
/// and tell of it before the next one begins.
#[test]
fn what_came_before_a_request_begins_stops_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = InstanceOptions::new(folder.path());
    options.memory_bytes = Some(16 << 20);
    let instance = Instance::open(options).unwrap();
    let mut session = instance.session().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (socket, peer) = listener.accept().unwrap();
    let account = Arc::new(MemoryAccount::unlimited());
    let wire = Wire::new(None, Arc::new(Counters::new()), &account);
    let connection = Connection::new(1, socket, peer, false, false, wire).unwrap();
    connection.set_logged_in(session.cancel_handle(), Arc::new(Nobody));
    for round in 0..3 {
        let mut gate = connection.gate.lock();
        (gate.attention, gate.gone) = (round == 0, round == 1);
        drop(gate);
        connection.begin_request(false);
        let begun = Instant::now();
        let mut errors = Errors::default();
        let delay = if round == 2 { "0:00:00" } else { "0:02:00" };
        session.execute(&format!("waitfor delay '{delay}'"), &mut errors);
        assert!(begun.elapsed() < Duration::from_secs(60), "round {round}");
        assert_eq!(errors.0, if round == 2 { vec![] } else { vec![3617] });
        assert_eq!(connection.end_request(), round == 0);
    }
}
