//! A request that begins when its client has withdrawn it already, or has gone away; what a client
//! sends ahead.

use super::*;
use crate::counters::Counters;
use crate::wire::ReceivedMessage;
use engine::{Instance, InstanceOptions, Sink, SqlError};
use memory::MemoryAccount;
use std::io::Write;
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

/// A connection, and its client's side.
fn connected() -> (Connection, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (socket, peer) = listener.accept().unwrap();
    let account = Arc::new(MemoryAccount::unlimited());
    let wire = Wire::new(None, Arc::new(Counters::new()), &account);
    (Connection::new(1, socket, peer, false, false, wire).unwrap(), client)
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
    let (connection, _client) = connected();
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

fn packet(kind: u8, status: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind, status];
    bytes.extend(((payload.len() + 8) as u16).to_be_bytes());
    bytes.extend([0, 0, 1, 0]);
    bytes.extend(payload);
    bytes
}

/// The bytes of what was read.
fn bytes_of(next: NextInput) -> Vec<u8> {
    match next {
        NextInput::Got(ReceivedInput::Message(received)) => received.payload.clone(),
        NextInput::Got(ReceivedInput::Bulk { bytes, .. }) => bytes,
        _ => panic!("nothing was read"),
    }
}

/// A worker leaves a connection of which all has been read, and no other one: not while bytes are
/// at hand, nor after the system has told of more, nor while another thread reads.
#[test]
fn a_connection_is_left_when_all_was_read() {
    let (connection, mut client) = connected();
    let mut send = |bytes: &[u8]| {
        client.write_all(bytes).unwrap();
        let mut room = [0; 256];
        while connection.socket.peek(&mut room).unwrap_or(0) < bytes.len() {
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    let next = || connection.next().unwrap().map(bytes_of);
    let (first, second) = (packet(1, 1, b"first"), packet(1, 1, b"second"));
    send(&[&first[..], &second, &first[..10]].concat());
    assert!(connection.ready(true, true, false), "a worker takes it");
    assert_eq!(next().unwrap(), b"first");
    assert!(!connection.wire().has_nothing(), "the second message is at hand");
    assert_eq!(next().unwrap(), b"second");
    assert!(!connection.wire().has_nothing(), "half of a message is");
    assert_eq!(next(), None);
    assert!(connection.idle_since().is_some());

    send(&first[10..]);
    assert!(connection.ready(true, false, false));
    assert_eq!(next().unwrap(), b"first");
    assert!(connection.wire().has_nothing());
    // More comes before the worker has left it.
    send(&second);
    assert!(!connection.ready(true, false, false), "it is the worker's");
    assert_eq!(next().unwrap(), b"second");
    assert!(connection.wire().has_nothing() && connection.idle_since().is_none());
    assert_eq!(next(), None);
    assert!(connection.idle_since().is_some());

    // And afterwards: a worker takes it again.
    send(&first);
    assert!(connection.ready(true, false, false));
    assert_eq!(next().unwrap(), b"first");
    connection.hang_up();
    assert!(!connection.ready(true, true, true), "it is the worker's");
    assert!(matches!(connection.next(), Ok(Some(NextInput::Gone))), "the end is found");
}

/// Several threads may be told of bytes while a request runs, and one of them come to read when the
/// next one has begun, a load that reads by itself.
#[test]
fn what_is_sent_ahead_is_read_in_its_order() {
    let (connection, mut client) = connected();
    let sent = [
        packet(1, 1, b"announced"),
        packet(7, 0, b"first"),
        packet(7, 0, b"second"),
        packet(7, 1, b"last"),
    ];
    let sent = sent.concat();
    client.write_all(&sent).unwrap();
    let mut room = [0; 256];
    while connection.socket.peek(&mut room).unwrap_or(0) < sent.len() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let next = || bytes_of(connection.next().unwrap().unwrap());
    let more = || bytes_of(connection.wait_next(None, &|wait| wait()).unwrap());
    for wanted in [&b"announced"[..], b"first"] {
        connection.listen(false);
        connection.listen(false);
        assert_eq!(next(), wanted);
    }
    connection.begin_request(true);
    connection.listen(false);
    assert_eq!(more(), b"second");
    assert_eq!(more(), b"last");
    assert!(!connection.end_request());
}

/// Attentions that come one after another while a request runs are answered each.
#[test]
fn a_second_attention_is_not_lost_in_the_first() {
    let (connection, mut client) = connected();
    let mut gate = connection.gate.lock();
    (gate.owned, gate.running) = (true, true);
    drop(gate);
    let attention = packet(6, 1, b"");
    for _ in 0..2 {
        client.write_all(&attention).unwrap();
        let mut room = [0; 256];
        while connection.socket.peek(&mut room).unwrap_or(0) < attention.len() {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(!connection.ready(true, false, false), "the worker has it");
    }
    assert!(connection.end_request());
    let Some(NextInput::Got(ReceivedInput::Message(second))) = connection.next().unwrap() else {
        panic!("nothing was read");
    };
    assert_eq!(second.kind, PacketType::Attention);
    // The same where both are there when the request begins.
    client.write_all(&attention.repeat(2)).unwrap();
    let mut room = [0; 256];
    while connection.socket.peek(&mut room).unwrap_or(0) < 2 * attention.len() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut gate = connection.gate.lock();
    (gate.attention, gate.readable) = (true, true);
    drop(gate);
    connection.begin_request(false);
    assert!(connection.end_request());
    for _ in 0..2 {
        let got = connection.next().unwrap();
        let attention = |got: &ReceivedMessage| got.kind == PacketType::Attention;
        assert!(
            matches!(&got, Some(NextInput::Got(ReceivedInput::Message(got))) if attention(got))
        );
    }
}

/// An attention that is to reset its session may have to wait for a thread. It is not withdrawn by
/// those that come meanwhile, and each of them has its own answer.
#[test]
fn an_attention_does_not_withdraw_an_earlier_one() {
    let (connection, mut client) = connected();
    let mut send = |bytes: &[u8]| {
        client.write_all(bytes).unwrap();
        let mut room = [0; 256];
        while connection.socket.peek(&mut room).unwrap_or(0) < bytes.len() {
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    let next = || match connection.next().unwrap() {
        Some(NextInput::Got(ReceivedInput::Message(received))) => received,
        _ => panic!("nothing was read"),
    };
    // The first bit ends the message, the other one asks for the reset.
    for (kind, withdrawn) in [(6, 0), (1, 1)] {
        send(&packet(kind, 9, b""));
        connection.ready(true, false, false);
        let mut held = next();
        assert!(held.resets());
        for _ in 0..2 + withdrawn {
            let mut gate = connection.gate.lock();
            // As it is queued, and a listener finds an attention.
            (gate.held, gate.attention) = (Some(ReceivedInput::Message(held)), true);
            drop(gate);
            held = next();
            assert!(held.kind == PacketType::Attention && held.resets());
        }
        assert_eq!(connection.take_more_attentions(), 2);
        assert_eq!(connection.take_more_attentions(), 0);
    }
}

/// A request may end where a read does, and an attention stand behind it of which the system has
/// told already.
#[test]
fn an_attention_behind_a_full_read_is_found() {
    let (connection, mut client) = connected();
    // As much as is read at a time.
    let part = vec![b'x'; 4088];
    let mut sent: Vec<u8> = (0..4).flat_map(|n| packet(1, u8::from(n == 3), &part)).collect();
    assert_eq!(sent.len(), 16 << 10);
    sent.extend(packet(6, 1, b""));
    client.write_all(&sent).unwrap();
    let mut room = vec![0; 32 << 10];
    while connection.socket.peek(&mut room).unwrap_or(0) < sent.len() {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(connection.ready(true, false, false));
    assert_eq!(bytes_of(connection.next().unwrap().unwrap()).len(), 4 * part.len());
    connection.begin_request(false);
    assert!(connection.end_request());
    assert!(connection.next().unwrap().is_none());
}
