//! Messages are found wherever TLS records begin and end; a short answer is one record, which one
//! plain call of the system sends.

use super::*;
use crate::certificate;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use std::io::IoSlice;
use std::net::TcpListener;
use std::sync::mpsc;
use std::time::Duration;

/// A server's configurations, and one of its clients.
fn configs() -> (TlsConfigs, Arc<ClientConfig>) {
    let folder = tempfile::tempdir().unwrap();
    let identity = certificate::load_or_make(folder.path(), &["localhost".to_string()]).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(identity.chain[0].clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap();
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"tds/8.0".to_vec()];
    (TlsConfigs::new(&identity).unwrap(), Arc::new(config))
}

fn client(config: &Arc<ClientConfig>) -> ClientConnection {
    ClientConnection::new(config.clone(), ServerName::try_from("localhost").unwrap()).unwrap()
}

fn message(kind: PacketType, payload: &[u8]) -> Vec<u8> {
    let mut buffer = MessageBuffer::of_kind(kind, tds::packet::DEFAULT_PACKET_SIZE, 0);
    buffer.payload().extend_from_slice(payload);
    let mut bytes = Vec::new();
    buffer.finish(&mut bytes);
    bytes
}

/// The next message, when it has come.
fn next(wire: &mut Wire, socket: &TcpStream) -> (PacketType, Vec<u8>) {
    loop {
        match wire.receive(socket, true, false).unwrap() {
            ReceivedInput::Blocked => std::thread::sleep(Duration::from_millis(1)),
            ReceivedInput::Message(received) => {
                return (received.message.kind, received.message.payload);
            }
            got => panic!("{got:?}"),
        }
    }
}

#[test]
fn messages_are_found_wherever_records_end() {
    let (configs, config) = configs();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (server, _) = listener.accept().unwrap();
    server.set_nonblocking(true).unwrap();
    let first = message(PacketType::SqlBatch, b"first");
    let second = message(PacketType::Rpc, b"second");
    let third = message(PacketType::SqlBatch, b"third");
    let attention = message(PacketType::Attention, &[]);
    let long = vec![7; 50_000];
    let pieces = [
        [&first[..], &second, &third[..10]].concat(),
        [&third[10..], &attention].concat(),
        message(PacketType::SqlBatch, &long),
    ];
    let (go, wait) = mpsc::channel::<()>();
    let sender = std::thread::spawn(move || {
        let mut tls = client(&config);
        let mut stream = rustls::Stream::new(&mut tls, &mut socket);
        for piece in pieces {
            stream.write_all(&piece).unwrap();
            stream.flush().unwrap();
            wait.recv().unwrap();
        }
    });
    let account = Arc::new(MemoryAccount::unlimited());
    let mut wire = Wire::new(Some(configs), Arc::new(Counters::new()), &account);
    assert_eq!(next(&mut wire, &server), (PacketType::SqlBatch, b"first".to_vec()));
    assert!(wire.has_more());
    assert_eq!(next(&mut wire, &server), (PacketType::Rpc, b"second".to_vec()));
    assert!(wire.has_more(), "the beginning of the third");
    assert!(matches!(wire.receive(&server, false, false).unwrap(), ReceivedInput::Blocked));
    go.send(()).unwrap();
    assert_eq!(next(&mut wire, &server), (PacketType::SqlBatch, b"third".to_vec()));
    assert!(wire.has_more());
    assert_eq!(next(&mut wire, &server), (PacketType::Attention, Vec::new()));
    assert!(!wire.has_more());
    go.send(()).unwrap();
    assert_eq!(next(&mut wire, &server), (PacketType::SqlBatch, long));
    assert!(!wire.has_more());
    go.send(()).unwrap();
    sender.join().unwrap();
}

/// A client that sends a message without end leaves others a turn, and nothing of it is lost.
#[test]
fn a_long_message_is_read_in_turns() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (server, _) = listener.accept().unwrap();
    server.set_nonblocking(true).unwrap();
    let mut bytes = message(PacketType::SqlBatch, &vec![7; 24 << 20]);
    bytes.extend(message(PacketType::Attention, b""));
    let counters = Arc::new(Counters::new());
    let account = Arc::new(MemoryAccount::unlimited());
    let mut wire = Wire::new(None, counters.clone(), &account);
    // It is refused, and read to its end.
    wire.logged_in(1 << 20, tds::packet::DEFAULT_PACKET_SIZE);
    let sender = std::thread::spawn(move || {
        socket.write_all(&bytes).unwrap();
        socket
    });
    let mut kinds = Vec::new();
    while kinds.len() < 2 {
        let before = counters.get(ServerCount::BytesReceived);
        let got = wire.receive(&server, true, false).unwrap();
        let read = (counters.get(ServerCount::BytesReceived) - before) as usize;
        assert!(read < TURN + READ, "{read}");
        assert!(!wire.is_cut() || read >= TURN);
        match got {
            ReceivedInput::Blocked => {}
            ReceivedInput::Message(received) => kinds.push((received.kind, received.refused)),
            got => panic!("{got:?}"),
        }
    }
    assert_eq!(kinds, [(PacketType::SqlBatch, true), (PacketType::Attention, false)]);
    drop(sender.join().unwrap());
}

/// What a socket was given, and in how many calls, those of lists among them.
#[derive(Default)]
struct Calls {
    bytes: Vec<u8>,
    all: usize,
    lists: usize,
}

impl Write for Calls {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.all += 1;
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn write_vectored(&mut self, list: &[IoSlice<'_>]) -> io::Result<usize> {
        self.all += 1;
        self.lists += 1;
        list.iter().for_each(|bytes| self.bytes.extend_from_slice(bytes));
        Ok(list.iter().map(|bytes| bytes.len()).sum())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// How many TLS records of data there are.
fn records(mut bytes: &[u8]) -> usize {
    let mut count = 0;
    while let [kind, _, _, high, low, rest @ ..] = bytes {
        assert_eq!(*kind, 0x17);
        bytes = &rest[usize::from(u16::from_be_bytes([*high, *low]))..];
        count += 1;
    }
    assert!(bytes.is_empty());
    count
}

#[test]
fn an_answer_is_sent_by_one_call() {
    let (configs, config) = configs();
    for accepts in [&configs.wrapped, &configs.strict] {
        let (mut server, mut client) = (tls::accept(accepts).unwrap(), client(&config));
        while server.is_handshaking() || client.is_handshaking() {
            let mut bytes = Vec::new();
            while client.wants_write() {
                client.write_tls(&mut bytes).unwrap();
            }
            assert!(tls::feed(&mut server, &bytes, |_| {}).unwrap());
            let mut flight = Vec::new();
            tls::write(&mut server, &mut flight, &[]).unwrap();
            let mut flight = &flight[..];
            while !flight.is_empty() {
                client.read_tls(&mut flight).unwrap();
                client.process_new_packets().unwrap();
            }
        }
        let mut socket = Calls::default();
        assert_eq!(tls::write(&mut server, &mut socket, &[1; 300]).unwrap(), 300);
        assert_eq!((socket.all, socket.lists, records(&socket.bytes)), (1, 0, 1));
        // A long one is several records.
        assert_eq!(tls::write(&mut server, &mut socket, &[2; 40_000]).unwrap(), 40_000);
        assert_eq!((socket.all, socket.lists, records(&socket.bytes)), (2, 1, 4));
    }
}
