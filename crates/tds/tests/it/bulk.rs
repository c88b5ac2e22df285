//! Bulk load data in pieces.

use ringwood_tds::client::ClientCodec;
use ringwood_tds::packet::HEADER;
use ringwood_tds::request::{BulkEvent, BulkReader};
use ringwood_tds::{
    Column, ColumnFlags, FixedType, Limits, Size, TdsError, TdsVersion, TokenWriter, TypeInfo,
    WireCollation,
};
use types::Value;

fn columns() -> Vec<Column> {
    let collation = WireCollation([9, 4, 0xD0, 0, 0x34]);
    let types = [
        TypeInfo::Fixed(FixedType::Int),
        TypeInfo::NVarChar(Size::Bytes(40), collation),
        TypeInfo::VarBinary(Size::Max),
        TypeInfo::Text(collation),
        TypeInfo::Variant,
        TypeInfo::Int(8),
    ];
    let column = |(i, ty)| Column::new(format!("c{i}"), ty, ColumnFlags::NULLABLE);
    types.into_iter().enumerate().map(column).collect()
}

fn rows() -> Vec<Vec<Value>> {
    let row = |i: i32| {
        vec![
            Value::Int(i),
            if i % 2 == 0 { Value::Null } else { Value::str("caf\u{e9}") },
            if i % 3 == 0 { Value::Null } else { Value::bytes(vec![i as u8; 700]) },
            if i % 5 == 0 { Value::Null } else { Value::str("text") },
            match i % 7 {
                0 => Value::Null,
                _ => types::variant::of(
                    Value::Int(i),
                    types::DataType::Int,
                    types::Collation::DEFAULT,
                ),
            },
            Value::BigInt(i64::from(i)),
        ]
    };
    (0..40).map(row).collect()
}

/// The payload of a message of one packet's worth after the other.
fn payload(version: TdsVersion, with_done: bool) -> Vec<u8> {
    let mut codec = ClientCodec::new(version);
    codec.packet_size = 32767;
    let bytes = codec.bulk(&columns(), &rows(), with_done).unwrap();
    bytes.chunks(32767).flat_map(|packet| &packet[HEADER..]).copied().collect()
}

fn read(
    payload: &[u8],
    piece: usize,
    version: TdsVersion,
    limit: usize,
) -> Result<Vec<Vec<Value>>, TdsError> {
    let mut reader = BulkReader::new(version, Limits { memory: limit });
    let (mut rows, mut row) = (Vec::new(), Vec::new());
    let mut pieces = payload.chunks(piece);
    loop {
        match reader.next_row(&mut row)? {
            BulkEvent::NeedMore => match pieces.next() {
                Some(piece) => reader.feed(piece),
                None => reader.end(),
            },
            BulkEvent::Columns => assert_eq!(reader.columns().len(), 6),
            BulkEvent::Row => rows.push(row.clone()),
            BulkEvent::End => return Ok(rows),
        }
    }
}

#[test]
fn rows_in_pieces_of_any_size() {
    for version in [TdsVersion::V7_1, TdsVersion::V7_2, TdsVersion::V7_4] {
        for with_done in [true, false] {
            let payload = match version {
                // Columns of MAX types do not exist there.
                TdsVersion::V7_1 => {
                    let error =
                        read(&payload(version, with_done), 1000, version, 1 << 20).unwrap_err();
                    assert_eq!(error, TdsError::TypeLength(0xA5));
                    continue;
                }
                _ => payload(version, with_done),
            };
            for piece in [1, 7, 512, payload.len()] {
                let got = read(&payload, piece, version, 2000).unwrap();
                assert_eq!(format!("{got:?}"), format!("{:?}", rows()), "pieces of {piece}");
            }
        }
    }
}

#[test]
fn rows_with_a_bitmap() {
    let types: Vec<TypeInfo> = columns().iter().map(|c| c.ty).collect();
    let mut payload =
        ClientCodec::new(TdsVersion::V7_4).bulk(&columns(), &[], false).unwrap().split_off(HEADER);
    let mut writer = TokenWriter::new(&mut payload, TdsVersion::V7_4);
    rows().iter().for_each(|row| writer.nbc_row(&types, row).unwrap());
    for piece in [1, 100, payload.len()] {
        let got = read(&payload, piece, TdsVersion::V7_4, 2000).unwrap();
        assert_eq!(format!("{got:?}"), format!("{:?}", rows()));
    }
}

#[test]
fn a_text_column_as_clients_describe_it() {
    // ntext: its table's name is one text with a count of characters, without a count of parts.
    let mut payload =
        vec![0x81, 1, 0, 0, 0, 0, 0, 9, 0, 0x63, 0xFE, 0xFF, 0xFF, 0x7F, 9, 4, 0xD0, 0, 0x34];
    payload.extend([2, 0, b't', 0, b'b', 0, 1, b'n', 0]);
    payload.extend([0xD1, 16].iter().chain(&[0; 24]).chain(&[2, 0, 0, 0, b'x', 0, 0xD1, 0]));
    let mut reader = BulkReader::new(TdsVersion::V7_4, Limits::default());
    reader.feed(&payload);
    reader.end();
    let mut row = Vec::new();
    assert_eq!(reader.next_row(&mut row), Ok(BulkEvent::Columns));
    assert_eq!(
        (reader.columns()[0].name.as_str(), &reader.columns()[0].table[..]),
        ("n", &["tb".to_owned()][..])
    );
    assert_eq!(reader.next_row(&mut row), Ok(BulkEvent::Row));
    assert_eq!(row[0].as_str(), Some("x"));
    assert_eq!(reader.next_row(&mut row), Ok(BulkEvent::Row));
    assert!(row[0].is_null());
    assert_eq!(reader.next_row(&mut row), Ok(BulkEvent::End));
}

#[test]
fn a_row_over_the_limit_is_refused() {
    let payload = payload(TdsVersion::V7_4, false);
    let error = read(&payload, 10, TdsVersion::V7_4, 500).unwrap_err();
    assert_eq!(error, TdsError::TooLarge { what: "a row of bulk load data", limit: 500 });
}

#[test]
fn data_that_ends_too_early_or_goes_on_too_long() {
    let whole = payload(TdsVersion::V7_4, true);
    for cut in 1..whole.len() {
        // A cut between rows is an end without DONE, which clients may send.
        if let Ok(got) = read(&whole[..cut], 4096, TdsVersion::V7_4, 1 << 20) {
            assert!(got.len() <= 40);
        }
    }
    let mut long = whole.clone();
    long.push(0xD1);
    assert!(matches!(
        read(&long, 4096, TdsVersion::V7_4, 1 << 20),
        Err(TdsError::Malformed { .. })
    ));
    assert!(matches!(read(&[0xD1], 1, TdsVersion::V7_4, 100), Err(TdsError::Malformed { .. })));
    assert!(matches!(
        read(&[0x81, 0, 0], 1, TdsVersion::V7_4, 100),
        Err(TdsError::Malformed { .. })
    ));
}

/// A load of one column that these bytes describe, of these rows.
fn load(described: &[u8], rows: &[&[u8]], done: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x81, 1, 0, 0, 0, 0, 0, 1, 0];
    bytes.extend_from_slice(described);
    bytes.extend_from_slice(&[1, b'c', 0]);
    for row in rows {
        bytes.push(0xD1);
        bytes.extend_from_slice(row);
    }
    bytes.extend_from_slice(done);
    bytes
}

/// The values of a load of one column.
fn values(payload: &[u8]) -> Result<Vec<String>, TdsError> {
    let mut reader = BulkReader::new(TdsVersion::V7_4, Limits::default());
    reader.feed(payload);
    reader.end();
    let (mut found, mut row) = (Vec::new(), Vec::new());
    loop {
        match reader.next_row(&mut row)? {
            BulkEvent::NeedMore => panic!("the load has ended"),
            BulkEvent::Columns => {}
            BulkEvent::Row => found.push(row[0].to_string()),
            BulkEvent::End => return Ok(found),
        }
    }
}

#[test]
fn columns_that_are_described_with_no_length() {
    const COLLATION: [u8; 5] = [9, 4, 0xD0, 0, 0x34];
    let text = |id: u8| -> Vec<u8> { [id, 0, 0].into_iter().chain(COLLATION).collect() };
    let one_byte: &[u8] = &[2, 0, b'a', b'b'];
    let two_bytes: &[u8] = &[4, 0, b'a', 0, b'b', 0];
    for (described, row) in [
        (text(0xA7), one_byte),
        (text(0xAF), one_byte),
        (text(0xE7), two_bytes),
        (text(0xEF), two_bytes),
    ] {
        let found = values(&load(&described, &[row, &[0xFF, 0xFF], &[0, 0]], &[]));
        assert_eq!(found.unwrap(), ["ab", "NULL", ""], "{described:x?}");
    }
    for id in [0xA5, 0xAD] {
        let found = values(&load(&[id, 0, 0], &[&[1, 0, 7], &[0xFF, 0xFF]], &[]));
        assert_eq!(found.unwrap(), ["0x07", "NULL"], "{id:x}");
    }
    for id in [0x24, 0x26, 0x68, 0x6D, 0x6E, 0x6F] {
        assert_eq!(values(&load(&[id, 0], &[&[0]], &[])).unwrap(), ["NULL"], "{id:x}");
        assert_eq!(values(&load(&[id, 3], &[&[0]], &[])), Err(TdsError::TypeLength(id)), "{id:x}");
    }
}

#[test]
fn decimals_of_any_described_length() {
    for id in [0x6A, 0x6C] {
        for len in [0, 5, 9, 17, 38] {
            let found = values(&load(&[id, len, 18, 2], &[&[5, 1, 123, 0, 0, 0], &[0]], &[]));
            assert_eq!(found.unwrap(), ["1.23", "NULL"], "{id:x} {len}");
        }
        // No precision: of NULLs alone, or of whatever comes.
        let found = values(&load(&[id, 17, 0, 0], &[&[0], &[5, 0, 9, 0, 0, 0]], &[]));
        assert_eq!(found.unwrap(), ["NULL", "-9"], "{id:x}");
        assert_eq!(values(&load(&[id, 17, 39, 0], &[], &[])), Err(TdsError::TypeMetadata(id)));
        assert_eq!(values(&load(&[id, 17, 2, 3], &[], &[])), Err(TdsError::TypeMetadata(id)));
    }
}

#[test]
fn a_done_that_counts_in_four_bytes() {
    let done = |rest: usize| -> Vec<u8> {
        std::iter::once(0xFD).chain(std::iter::repeat_n(0, rest)).collect()
    };
    for rest in [8, 12] {
        let payload = load(&[0x30], &[&[7]], &done(rest));
        assert_eq!(values(&payload).unwrap(), ["7"], "{rest}");
        // In pieces: what is missing may still come.
        let mut reader = BulkReader::new(TdsVersion::V7_4, Limits::default());
        let mut row = Vec::new();
        let mut events = Vec::new();
        for byte in &payload {
            reader.feed(&[*byte]);
            events.push(reader.next_row(&mut row).unwrap());
        }
        reader.end();
        events.push(reader.next_row(&mut row).unwrap());
        events.retain(|event| *event != BulkEvent::NeedMore);
        assert_eq!(events, [BulkEvent::Columns, BulkEvent::Row, BulkEvent::End], "{rest}");
    }
    for rest in [0, 7, 9, 11] {
        let found = values(&load(&[0x30], &[&[7]], &done(rest)));
        assert!(matches!(found, Err(TdsError::Truncated { .. })), "{rest}: {found:?}");
    }
}
