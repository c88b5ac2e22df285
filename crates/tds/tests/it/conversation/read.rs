//! Both sides' readers: what they understood, and why they stopped.

use fastrand::Rng;
use ringwood_tds::client::{AnswerReader, AnswerToken, Token, TokenReader};
use ringwood_tds::decode::ValuePlace;
use ringwood_tds::encode::encode_at;
use ringwood_tds::login::Login7;
use ringwood_tds::packet::{Event, Message, MessageReader, PacketType};
use ringwood_tds::prelogin::{Prelogin, ServerEncryption};
use ringwood_tds::request::{
    BulkEvent, BulkReader, RpcReader, RpcValue, SqlBatch, TransactionRequest,
};
use ringwood_tds::{Limits, Reader, TdsError, TdsVersion, TypeInfo, decode_value};
use types::Value;

/// Longest message that the server reads.
pub const MESSAGE_LIMIT: usize = 1 << 20;
/// What one call may take decoded.
pub const CALL_LIMIT: usize = 1 << 20;

/// Reads what a client sent, in pieces of random length, as a server does: what it understood,
/// then, if something was wrong, why it stopped.
pub fn serve(bytes: &[u8], version: TdsVersion, rng: &mut Rng) -> Vec<String> {
    let mut reader = MessageReader::new(MESSAGE_LIMIT, true);
    let mut seen = Vec::new();
    let mut bulk = None;
    let mut rest = bytes;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rng.usize(1..=rest.len().min(5000)));
        rest = after;
        let mut input = piece;
        loop {
            match reader.read(&mut input) {
                Ok(None) => break,
                Ok(Some(Event::Message(message))) => handle(&message, version, &mut seen),
                Ok(Some(Event::Bulk { bytes, last, ignored, .. })) => {
                    let load = bulk.get_or_insert_with(|| {
                        Some(BulkReader::new(version, Limits { memory: CALL_LIMIT }))
                    });
                    if let Some(active) = load {
                        active.feed(bytes);
                        if last && !ignored {
                            active.end();
                        }
                        if let Err(error) = bulk_rows(active, &mut seen) {
                            note(&error, &mut seen);
                            *load = None;
                        }
                    }
                    if last {
                        bulk = None;
                    }
                }
                Err(error) => {
                    note(&error, &mut seen);
                    return seen;
                }
            }
        }
    }
    seen
}

fn note(error: &TdsError, seen: &mut Vec<String>) {
    let answer = error.to_sql_error();
    assert!(answer.number > 0 && !answer.message.is_empty());
    seen.push(format!("error {} {:?}", answer.number, error.after()));
}

fn bulk_rows(reader: &mut BulkReader, seen: &mut Vec<String>) -> Result<(), TdsError> {
    let mut row = Vec::new();
    loop {
        match reader.next_row(&mut row)? {
            BulkEvent::NeedMore => return Ok(()),
            BulkEvent::Columns => seen.push(format!("{:?}", reader.columns())),
            BulkEvent::Row => seen.push(format!("{row:?}")),
            BulkEvent::End => {
                seen.push("end of bulk load".into());
                return Ok(());
            }
        }
    }
}

fn handle(message: &Message, version: TdsVersion, seen: &mut Vec<String>) {
    if message.ignored {
        return;
    }
    let payload = &message.payload;
    let done = match message.kind {
        PacketType::Prelogin => Prelogin::parse(payload).map(|prelogin| {
            let (reply, _) = prelogin.reply(ServerEncryption::Optional, (16, 0, 1000));
            reply.write(&mut Vec::new());
            seen.push(format!("{prelogin:?}"));
        }),
        PacketType::Login7 => Login7::parse(payload).map(|login| {
            let _ = login.check_supported();
            seen.push(format!("{login:?}"));
        }),
        PacketType::SqlBatch => SqlBatch::parse(payload, version)
            .map(|batch| seen.push(format!("batch {:?}", batch.text))),
        PacketType::Rpc => calls(payload, version, seen),
        PacketType::TransactionManager => TransactionRequest::parse(payload, version)
            .map(|(_, request)| seen.push(format!("{request:?}"))),
        PacketType::Attention => {
            seen.push("attention".into());
            Ok(())
        }
        other => {
            seen.push(format!("unexpected {other:?}"));
            Ok(())
        }
    };
    if let Err(error) = done {
        note(&error, seen);
    }
}

fn calls(payload: &[u8], version: TdsVersion, seen: &mut Vec<String>) -> Result<(), TdsError> {
    let mut reader = RpcReader::new(payload, version, Limits { memory: CALL_LIMIT })?;
    while let Some(call) = reader.next_call()? {
        for param in &call.params {
            if let RpcValue::Scalar { ty, value } = &param.value {
                comes_back(value, ty);
            }
        }
        seen.push(format!("{call:?}"));
    }
    Ok(())
}

/// A value that was read can be written and is read again as the same. Only text with replaced
/// characters may have become too long.
fn comes_back(value: &Value, ty: &TypeInfo) {
    let mut out = Vec::new();
    match encode_at(value, ty, ValuePlace::Parameter, &mut out) {
        Ok(()) => {
            let mut reader = Reader::new(&out, "value");
            let again = decode_value(&mut reader, ty, ValuePlace::Parameter)
                .expect("what was written can be read");
            assert!(reader.is_empty());
            let lossy = value.as_str().is_some() && ty.collation().is_some();
            assert!(
                lossy || format!("{again:?}") == format!("{value:?}"),
                "{value:?} and {again:?} of {ty:?}"
            );
        }
        Err(TdsError::ValueTooLong { .. }) if value.as_str().is_some() => {}
        Err(error) => panic!("{value:?} of {ty:?}: {error}"),
    }
}

/// Reads an answer as a client does: its rows, then, if something was wrong, why it stopped.
pub fn receive(bytes: &[u8], version: TdsVersion) -> Vec<String> {
    let mut reader = MessageReader::new(MESSAGE_LIMIT, false);
    let (mut input, mut seen) = (bytes, Vec::new());
    loop {
        match reader.read(&mut input) {
            Ok(None) => return seen,
            Ok(Some(Event::Message(message))) => {
                let mut tokens = TokenReader::new(&message.payload, version);
                loop {
                    match tokens.next_token() {
                        Ok(None) => break,
                        Ok(Some(token)) => {
                            let shown = format!("{token:?}");
                            if shown.starts_with("Row(") {
                                seen.push(shown);
                            }
                        }
                        Err(error) => {
                            note(&error, &mut seen);
                            break;
                        }
                    }
                }
            }
            Ok(Some(other)) => panic!("{other:?}"),
            Err(error) => {
                note(&error, &mut seen);
                return seen;
            }
        }
    }
}

/// Reads an answer as it arrives, in pieces of random length: as [`receive`] does, if nothing is
/// wrong.
pub fn receive_pieces(bytes: &[u8], version: TdsVersion, rng: &mut Rng) -> Vec<String> {
    let mut reader = AnswerReader::new(version, MESSAGE_LIMIT);
    let (mut rest, mut seen) = (bytes, Vec::new());
    while !rest.is_empty() {
        let (mut input, after) = rest.split_at(rng.usize(1..=rest.len().min(3000)));
        rest = after;
        loop {
            match reader.read(&mut input) {
                Ok(None) => break,
                Ok(Some(AnswerToken::Token(token @ Token::Row(_)))) => {
                    seen.push(format!("{token:?}"))
                }
                Ok(Some(_)) => {}
                Err(error) => {
                    note(&error, &mut seen);
                    return seen;
                }
            }
        }
    }
    seen
}
