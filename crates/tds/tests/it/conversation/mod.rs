//! Whole conversations at the level of the codec: random requests and answers that follow the
//! protocol, a server and a client that read them, and damage in between. Everything follows from a
//! seed.

mod make;
mod read;

use fastrand::Rng;
use ringwood_tds::packet::{Event, MessageReader};

use make::{bytes, client_script, server_script, version};
use read::{receive, receive_pieces, serve};

/// Damages bytes: changes, inserts, removes, repeats and cuts some. Lengths and type bytes are hit
/// more often than at random, because small and extreme numbers are put in.
pub fn damage(rng: &mut Rng, bytes: &mut Vec<u8>) {
    const NUMBERS: [u8; 12] = [0, 1, 2, 7, 8, 0x1F, 0x7F, 0x80, 0xF0, 0xF3, 0xFE, 0xFF];
    for _ in 0..rng.usize(1..5) {
        if bytes.is_empty() {
            return;
        }
        let at = rng.usize(..bytes.len());
        match rng.u8(..8) {
            0 => bytes[at] = rng.u8(..),
            1 | 2 => bytes[at] = NUMBERS[rng.usize(..NUMBERS.len())],
            3 => bytes[at] ^= 1 << rng.u8(..8),
            4 => {
                bytes.remove(at);
            }
            5 => bytes.insert(at, NUMBERS[rng.usize(..NUMBERS.len())]),
            6 => {
                let end = bytes.len().min(at + rng.usize(1..64));
                let part = bytes[at..end].to_vec();
                let to = rng.usize(..=bytes.len());
                bytes.splice(to..to, part);
            }
            _ => bytes.truncate(at),
        }
    }
}

/// Damages the payloads of some messages and puts them into whole packets again, so that the damage
/// reaches what is inside.
pub fn damage_inside(rng: &mut Rng, bytes: &[u8]) -> Vec<u8> {
    let mut reader = MessageReader::new(usize::MAX >> 1, false);
    let (mut input, mut out) = (bytes, Vec::new());
    while let Ok(Some(Event::Message(mut message))) = reader.read(&mut input) {
        if rng.bool() {
            damage(rng, &mut message.payload);
        }
        let packet_size = rng.usize(512..=32767);
        out.extend(ringwood_tds::client::message(message.kind, &message.payload, packet_size, 0));
    }
    out
}

/// One round with a seed: an undamaged script must be understood as it was meant; damaged ones must
/// be survived.
pub fn round(seed: u64) {
    let mut rng = Rng::with_seed(seed);
    let script = client_script(&mut rng);
    let seen = serve(&script.bytes, script.version, &mut rng);
    assert_eq!(seen, script.expected, "seed {seed}, {:?}", script.version);
    let answer = server_script(&mut rng);
    let rows = receive(&answer.bytes, answer.version);
    assert_eq!(rows, answer.expected, "seed {seed}, {:?}", answer.version);
    let rows = receive_pieces(&answer.bytes, answer.version, &mut rng);
    assert_eq!(rows, answer.expected, "seed {seed}, {:?}, in pieces", answer.version);
    for _ in 0..4 {
        let mut bytes = script.bytes.clone();
        damage(&mut rng, &mut bytes);
        serve(&bytes, script.version, &mut rng);
        let bytes = damage_inside(&mut rng, &script.bytes);
        serve(&bytes, script.version, &mut rng);
        // Another version's layouts in the same bytes.
        let other = version(&mut rng);
        serve(&bytes, other, &mut rng);
        let bytes = damage_inside(&mut rng, &answer.bytes);
        receive(&bytes, answer.version);
        receive_pieces(&bytes, answer.version, &mut rng);
    }
    let noise = bytes(&mut rng, 2000);
    serve(&noise, script.version, &mut rng);
    receive(&noise, script.version);
}
