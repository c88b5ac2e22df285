//! Packets: messages of any length in packets of any size, bulk data, what is withdrawn or wrong.

use super::*;

#[test]
fn packets_of_every_size_carry_messages_of_every_length() {
    for size in [512, 513, 4096, 32767] {
        for len in [0, 1, size - 9, size - 8, size - 7, 2 * (size - 8), 3 * size, 70_000] {
            let payload: Vec<u8> = (0..len).map(|i| i as u8).collect();
            let bytes = message(PacketType::SqlBatch, &payload, size, status::RESET_CONNECTION);
            let packets = len.div_ceil(size - 8).max(1);
            assert_eq!(bytes.len(), len + 8 * packets, "only as many packets as needed");
            let got = one_message(&bytes);
            assert_eq!(
                (got.kind, got.resets(), got.keeps_transaction()),
                (PacketType::SqlBatch, true, false)
            );
            assert_eq!(got.payload, payload);
        }
    }
}

#[test]
fn a_header_byte_for_byte() {
    let mut buffer = MessageBuffer::new(4096, 0x0133);
    buffer.payload().extend_from_slice(b"xy");
    let mut out = Vec::new();
    buffer.finish(&mut out);
    assert_eq!(out, [0x04, 0x01, 0x00, 0x0A, 0x01, 0x33, 0x01, 0x00, b'x', b'y']);
    assert!(!buffer.has_started());
}

#[test]
fn packets_go_out_while_a_message_is_made() {
    let mut buffer = MessageBuffer::new(512, 1);
    let mut out = Vec::new();
    buffer.payload().resize(504, 1);
    assert_eq!(buffer.take_full(&mut out), 0, "the last packet must not be empty");
    buffer.payload().push(2);
    assert_eq!(buffer.take_full(&mut out), 512);
    assert_eq!((out[1], buffer.pending(), buffer.has_started()), (0, 1, true));
    for _ in 0..300 {
        let len = buffer.pending() + 504;
        buffer.payload().resize(len, 3);
        buffer.take_full(&mut out);
    }
    assert!(buffer.has_started(), "also after 256 packets");
    buffer.finish(&mut out);
    let got = one_message(&out);
    assert_eq!(got.payload.len(), 505 + 300 * 504);
    assert_eq!(out[512 * 255 + 6], 0, "packet numbers are taken modulo 256");
}

#[test]
fn bytes_may_arrive_one_by_one() {
    let mut bytes = message(PacketType::Rpc, &[7; 1000], 512, 0);
    bytes.extend(message(PacketType::Attention, &[], 512, 0));
    let mut reader = MessageReader::new(1000, false);
    let mut got = Vec::new();
    for byte in &bytes {
        let mut input = std::slice::from_ref(byte);
        if let Some(Event::Message(message)) = reader.read(&mut input).unwrap() {
            got.push((message.kind, message.payload.len()));
        }
    }
    assert_eq!(got, [(PacketType::Rpc, 1000), (PacketType::Attention, 0)]);
}

#[test]
fn wrong_packets_are_refused() {
    fn read(mut bytes: &[u8]) -> Result<Option<Event<'_>>, TdsError> {
        MessageReader::new(100, false).read(&mut bytes)
    }
    assert!(matches!(read(&[9, 1, 0, 8, 0, 0, 1, 0]), Err(TdsError::Packet(_))), "type");
    assert!(matches!(read(&[1, 1, 0, 7, 0, 0, 1, 0]), Err(TdsError::Packet(_))), "length");
    assert!(matches!(read(&[1, 1, 0xFF, 0xFF, 0, 0, 1, 0]), Err(TdsError::Packet(_))), "too long");
    let two_types = [1, 0, 0, 9, 0, 0, 1, 0, b'x', 3, 1, 0, 9, 0, 0, 2, 0, b'y'];
    assert!(matches!(read(&two_types), Err(TdsError::Packet(_))));
    let long = message(PacketType::SqlBatch, &[0; 101], 4096, 0);
    assert_eq!(read(&long), Err(TdsError::TooLarge { what: "a message", limit: 100 }));
}

#[test]
fn withdrawn_messages() {
    let mut buffer = MessageBuffer::of_kind(PacketType::SqlBatch, 512, 0);
    buffer.payload().resize(2000, 0);
    let mut out = Vec::new();
    buffer.take_full(&mut out);
    buffer.finish_ignored(&mut out);
    assert!(one_message(&out).ignored);

    // An attention in the middle of a message takes its place.
    let mut bytes = Vec::new();
    buffer.payload().resize(2000, 0);
    buffer.take_full(&mut bytes);
    bytes.extend(message(PacketType::Attention, &[], 512, 0));
    assert_eq!(one_message(&bytes).kind, PacketType::Attention);
    assert!(!one_message(&bytes).resets());
    // The reset that was to come before it is not withdrawn.
    bytes[1] |= 0x08;
    let attention = one_message(&bytes);
    assert!(
        attention.kind == PacketType::Attention
            && attention.resets()
            && !attention.keeps_transaction()
    );

    // In the middle of a bulk load that is streamed, its end comes first.
    let mut buffer = MessageBuffer::of_kind(PacketType::BulkLoad, 512, 0);
    buffer.payload().resize(600, 0);
    let mut bytes = Vec::new();
    buffer.take_full(&mut bytes);
    bytes.extend(message(PacketType::Attention, &[], 512, 0));
    let mut reader = MessageReader::new(0, true);
    let mut input = &bytes[..];
    let mut seen = Vec::new();
    while let Some(event) = reader.read(&mut input).unwrap() {
        seen.push(match event {
            Event::Bulk { bytes, last, ignored, .. } => (bytes.len(), last, ignored),
            Event::Message(message) => (usize::from(message.kind.byte()), true, false),
        });
    }
    assert_eq!(seen, [(504, false, false), (0, true, true), (6, true, false)]);
}

#[test]
fn bulk_data_is_streamed_beyond_the_limit() {
    let payload: Vec<u8> = (0..5000).map(|i| i as u8).collect();
    let bytes = message(PacketType::BulkLoad, &payload, 512, 0);
    let mut reader = MessageReader::new(10, true);
    let (mut got, mut ends) = (Vec::new(), 0);
    for piece in bytes.chunks(100) {
        let mut input = piece;
        while let Some(event) = reader.read(&mut input).unwrap() {
            let Event::Bulk { bytes, last, ignored, .. } = event else { panic!("{event:?}") };
            got.extend_from_slice(bytes);
            ends += usize::from(last);
            assert!(!ignored);
        }
    }
    assert_eq!((got, ends), (payload, 1));
    assert!(!reader.is_mid_message());
}

#[test]
fn a_refused_message_is_read_to_its_end() {
    let mut reader = MessageReader::new(100, true);
    reader.set_limit(1000);
    let mut bytes = message(PacketType::SqlBatch, &[1; 5000], 512, 0);
    bytes.extend(message(PacketType::SqlBatch, &[2; 1000], 512, 0));
    let mut seen = Vec::new();
    for piece in bytes.chunks(77) {
        let mut input = piece;
        while let Some(event) = reader.read(&mut input).unwrap() {
            let Event::Message(message) = event else { panic!("{event:?}") };
            seen.push((message.payload.len(), message.refused));
        }
        assert!(reader.held() <= 1000);
    }
    assert_eq!(seen, [(0, true), (1000, false)], "beyond the limit");

    // Where there is no memory for what comes of it.
    let bytes = message(PacketType::SqlBatch, &[1; 900], 512, 0);
    let (mut first, mut rest) = bytes.split_at(600);
    assert_eq!(reader.read(&mut first), Ok(None));
    assert!(reader.held() > 500);
    reader.refuse();
    assert_eq!(reader.held(), 0);
    let Ok(Some(Event::Message(refused))) = reader.read(&mut rest) else { panic!("no message") };
    assert!(refused.refused && refused.payload.is_empty());

    // An attention ends one that is refused.
    let mut bytes = message(PacketType::SqlBatch, &[1; 5000], 512, 0);
    bytes.truncate(4 * 512);
    bytes.extend(message(PacketType::Attention, &[], 512, 0));
    let mut input = &bytes[..];
    let Ok(Some(Event::Message(attention))) = reader.read(&mut input) else { panic!("no message") };
    assert_eq!((attention.kind, attention.refused), (PacketType::Attention, false));
}
