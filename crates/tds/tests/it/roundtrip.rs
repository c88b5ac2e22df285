//! Properties: what is written is read again as the same; what is read never takes more than its
//! limit.

use proptest::prelude::*;
use ringwood_tds::decode::ValuePlace;
use ringwood_tds::encode::{encode_at, type_of};
use ringwood_tds::packet::{Event, MessageBuffer, MessageReader, PacketType};
use ringwood_tds::request::{Procedure, RpcReader, RpcValue};
use ringwood_tds::text::{from_utf16, push_utf16};
use ringwood_tds::{
    Limits, Reader, Size, TdsError, TdsVersion, TokenWriter, TypeInfo, WireCollation, client,
    decode_value, plp,
};
use types::datetime::{DAY_TICKS, MAX_DAY};
use types::{DataType, Decimal, Len, Value};

const COLL: WireCollation = WireCollation([0x09, 0x04, 0xD0, 0x00, 0x34]);

/// A type and a value of it.
fn typed() -> impl Strategy<Value = (TypeInfo, Value)> {
    let decimal =
        (1u8..=38, any::<u8>(), any::<i128>(), any::<bool>()).prop_map(|(p, s, n, numeric)| {
            let scale = s % (p + 1);
            let n = n % 10i128.pow(u32::from(p));
            let value = Value::Decimal(Decimal::new(n, p, scale).expect("it fits"));
            (TypeInfo::Decimal { precision: p, scale, numeric }, value)
        });
    let moment = (0u8..=7, 0..DAY_TICKS, 0..=MAX_DAY, -840i16..=840, 0u8..3).prop_map(
        |(s, t, days, offset, which)| {
            let ticks = t - t % 10u64.pow(7 - u32::from(s));
            match which {
                0 => (TypeInfo::Time(s), Value::Time(ticks)),
                1 => (TypeInfo::DateTime2(s), Value::DateTime2 { days, ticks }),
                _ => (TypeInfo::DateTimeOffset(s), Value::DateTimeOffset { days, ticks, offset }),
            }
        },
    );
    let text = ".{0,60}".prop_map(|s| Value::str(&s));
    let unicode = (text, 0u8..4).prop_map(|(value, which)| {
        let ty = match which {
            0 => TypeInfo::NVarChar(Size::Bytes(8000), COLL),
            1 => TypeInfo::NVarChar(Size::Max, COLL),
            2 => TypeInfo::NText(COLL),
            _ => {
                return (
                    TypeInfo::Variant,
                    types::variant::of(
                        value,
                        types::DataType::SqlVariant,
                        types::Collation::DEFAULT,
                    ),
                );
            }
        };
        (ty, value)
    });
    let bytes =
        (proptest::collection::vec(any::<u8>(), 0..100), 0u8..4).prop_map(|(bytes, which)| {
            let ty = match which {
                0 => TypeInfo::VarBinary(Size::Bytes(100)),
                1 => TypeInfo::VarBinary(Size::Max),
                2 => TypeInfo::Image,
                _ => {
                    return (
                        TypeInfo::Variant,
                        types::variant::of(
                            Value::bytes(bytes),
                            types::DataType::SqlVariant,
                            types::Collation::DEFAULT,
                        ),
                    );
                }
            };
            (ty, Value::bytes(bytes))
        });
    prop_oneof![
        any::<i64>().prop_map(|n| (TypeInfo::Int(8), Value::BigInt(n))),
        any::<i32>().prop_map(|n| (TypeInfo::Int(4), Value::Int(n))),
        any::<i64>().prop_map(|n| (TypeInfo::Money(8), Value::Money(n))),
        any::<f64>()
            .prop_filter("finite", |f| f.is_finite())
            .prop_map(|f| (TypeInfo::Float(8), Value::Float(f))),
        any::<[u8; 16]>().prop_map(|guid| (TypeInfo::Guid, Value::Guid(guid))),
        decimal,
        moment,
        unicode,
        bytes,
    ]
}

proptest! {
    #[test]
    fn values_come_back((ty, value) in typed(), in_row in any::<bool>()) {
        let place = if in_row { ValuePlace::Row } else { ValuePlace::Parameter };
        let mut out = Vec::new();
        ty.write(&mut out);
        encode_at(&value, &ty, place, &mut out).unwrap();
        let mut reader = Reader::new(&out, "value");
        let read = TypeInfo::read(&mut reader, TdsVersion::V7_4).unwrap();
        prop_assert_eq!(read, ty);
        let again = decode_value(&mut reader, &read, place).unwrap();
        prop_assert_eq!(format!("{again:?}"), format!("{value:?}"));
        prop_assert!(reader.is_empty());
        for cut in 0..out.len() {
            let mut reader = Reader::new(&out[..cut], "value");
            let ended = TypeInfo::read(&mut reader, TdsVersion::V7_4).and_then(|ty| decode_value(&mut reader, &ty, place));
            prop_assert!(matches!(ended, Err(TdsError::Truncated { .. })), "{} of {} bytes: {:?}", cut, out.len(), ended);
        }
    }

    #[test]
    fn text_survives_utf16(text in "\\PC*") {
        let mut out = Vec::new();
        push_utf16(&text, &mut out);
        prop_assert_eq!(from_utf16(&out), text);
    }

    #[test]
    fn chunks_may_be_cut_anywhere(bytes in proptest::collection::vec(any::<u8>(), 0..3000), size in 1usize..500, known in any::<bool>()) {
        let mut out = Vec::new();
        plp::write_start(known.then_some(bytes.len() as u64), &mut out);
        bytes.chunks(size).for_each(|chunk| plp::write_chunk(chunk, &mut out));
        plp::write_end(&mut out);
        let value = decode_value(&mut Reader::new(&out, "value"), &TypeInfo::VarBinary(Size::Max), ValuePlace::Row).unwrap();
        prop_assert_eq!(value.as_bytes(), Some(&bytes[..]));
    }

    #[test]
    fn packets_may_arrive_in_any_pieces(
        payload in proptest::collection::vec(any::<u8>(), 0..5000),
        packet in 512usize..3000,
        pieces in proptest::collection::vec(1usize..900, 1..20),
    ) {
        let mut buffer = MessageBuffer::new(packet, 7);
        let mut sent = Vec::new();
        for part in payload.chunks(777) {
            buffer.payload().extend_from_slice(part);
            buffer.take_full(&mut sent);
            prop_assert!(buffer.pending() <= packet - 8);
        }
        buffer.finish(&mut sent);
        let mut reader = MessageReader::new(payload.len(), false);
        let (mut rest, mut sizes, mut got) = (&sent[..], pieces.iter().cycle(), Vec::new());
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.len().min(*sizes.next().unwrap()));
            rest = after;
            let mut input = piece;
            while let Some(event) = reader.read(&mut input).unwrap() {
                got.push(event);
            }
        }
        let [Event::Message(message)] = &got[..] else { panic!("{got:?}") };
        prop_assert_eq!((message.kind, message.spid, &message.payload), (PacketType::Reply, 7, &payload));
    }
}

#[test]
fn rows_of_every_declared_type_are_read_by_the_client() {
    let types = [
        DataType::Bit,
        DataType::TinyInt,
        DataType::decimal(10, 3),
        DataType::NVarChar(Len::Max),
        DataType::DateTimeOffset(3),
        DataType::SqlVariant,
    ];
    let infos: Vec<TypeInfo> = types.iter().map(|&ty| type_of(ty)).collect();
    let mut out = Vec::new();
    TokenWriter::new(&mut out, TdsVersion::V7_4)
        .row(&infos, &vec![Value::Null; infos.len()])
        .unwrap();
    assert_eq!(out[0], 0xD2);
}

/// Text is read in blocks: characters of every length at every place, and halves of pairs.
#[test]
fn text_of_every_length() {
    for ascii in 0..70 {
        for tail in ["", "\u{e9}", "\u{4e2d}b", "\u{1F600}", "\u{1F600}\u{e9}\u{4e2d}"] {
            for repeat in [1, 7, 40] {
                let text = "a".repeat(ascii) + &tail.repeat(repeat);
                let mut out = Vec::new();
                push_utf16(&text, &mut out);
                assert_eq!(out.len(), 2 * text.encode_utf16().count());
                let ty = TypeInfo::NVarChar(Size::Max, COLL);
                let mut value = Vec::new();
                encode_at(&Value::str(&text), &ty, ValuePlace::Row, &mut value).unwrap();
                let read =
                    decode_value(&mut Reader::new(&value, "value"), &ty, ValuePlace::Row).unwrap();
                assert_eq!(read.as_str(), Some(&text[..]));
                out.extend([0x00, 0xD8, b'x', 0, 0x00]);
                assert_eq!(from_utf16(&out), text + "\u{10F800}x\u{FFFD}");
            }
        }
    }
}

/// Halves of pairs come and go as they are, alone and in the wrong order.
#[test]
fn every_unit_survives() {
    let units = [0xDE42, 0xD83D, 0xD83D, 0xDE42, 0xDBFF, 0xDFFF, 0x61, 0xDC00, 0xD800];
    for length in 0..=units.len() {
        for before in ["", "b", "\u{e9}"] {
            let mut bytes: Vec<u8> = before.encode_utf16().flat_map(u16::to_le_bytes).collect();
            bytes.extend(units[..length].iter().copied().flat_map(u16::to_le_bytes));
            let text = from_utf16(&bytes);
            let mut out = Vec::new();
            push_utf16(&text, &mut out);
            assert_eq!(out, bytes, "{length} behind {before:?}");
        }
    }
}

/// One byte of a table's row, or four of a parameter, must not become unbounded memory.
#[test]
fn small_input_cannot_take_much_memory() {
    let mut payload = vec![1, 0, b'p', 0, 0, 0];
    payload.extend([0, 0, 0xF3, 0, 0, 0, 100, 0]);
    for _ in 0..100 {
        payload.extend([0, 0, 0, 0, 1, 0, 0x26, 4, 0]);
    }
    payload.push(0);
    // 10,000 rows of 100 NULLs, 101 bytes each, would be 32 MB of values.
    for _ in 0..10_000 {
        payload.push(1);
        payload.extend([0; 100]);
    }
    payload.push(0);
    let mut message = vec![22, 0, 0, 0, 18, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0];
    message.extend(payload);
    let read = |memory| {
        let mut reader = RpcReader::new(&message, TdsVersion::V7_4, Limits { memory }).unwrap();
        reader.next_call().map(Option::unwrap)
    };
    let error = read(1 << 20).unwrap_err();
    assert_eq!(error.to_sql_error().number, 701, "{error}");
    let call = read(64 << 20).unwrap();
    assert_eq!(call.procedure, Procedure::Name("p".into()));
    let RpcValue::Table(table) = &call.params[0].value else { panic!() };
    assert_eq!(table.rows().count(), 10_000);
    assert_eq!(client::message(PacketType::Rpc, &[], 512, 0).len(), 8);
}

#[test]
fn a_message_in_the_room_of_another_is_its_own() {
    let packets = |mut buffer: MessageBuffer, text: &[u8]| {
        let mut out = Vec::new();
        buffer.payload().extend_from_slice(text);
        buffer.finish(&mut out);
        (out, buffer.into_room())
    };
    let (long, room) = packets(MessageBuffer::new(512, 7), &[1; 3000]);
    assert!(long.len() > 3000 && room.capacity() >= 3000);
    let (short, room) = packets(MessageBuffer::in_room(512, 8, room), b"short");
    assert_eq!(short, packets(MessageBuffer::new(512, 8), b"short").0);
    // What one has left behind is not told by the next.
    let left = MessageBuffer::in_room(512, 7, [room, b"left".to_vec()].concat());
    assert_eq!(packets(left, b"short").0, packets(MessageBuffer::new(512, 7), b"short").0);
}
