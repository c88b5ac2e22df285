//! Asks a server whether it answers, without logging in: what health checks of containers and load
//! balancers want.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use tds::TdsVersion;
use tds::client::ClientCodec;
use tds::prelogin::{Encryption, Prelogin};

use crate::options::{ClientError, Trust};
use crate::tls;
use crate::wire::Wire;

/// Sends PRELOGIN, with `strict` inside TLS as TDS 8.0 does, and waits for the answer; the server's
/// version.
///
/// # Errors
/// Nobody listens, no answer came within `timeout`, or it is not TDS.
pub fn probe(address: SocketAddr, strict: bool, timeout: Duration) -> io::Result<[u8; 6]> {
    let end = Instant::now() + timeout;
    let mut wire = Wire::new(TcpStream::connect_timeout(&address, timeout)?, end)?;
    let answered = ask(&mut wire, address, strict);
    answered.map_err(|error| match error {
        ClientError::Io(error) => error,
        other => io::Error::other(other),
    })
}

fn ask(wire: &mut Wire, address: SocketAddr, strict: bool) -> Result<[u8; 6], ClientError> {
    if strict {
        // Nothing secret is sent.
        wire.strict(tls::begin(&address.ip().to_string(), &Trust::Any, true)?)?;
    }
    let hello =
        Prelogin { encryption: Some(Encryption::Off), mars: Some(false), ..Prelogin::default() };
    let version = if strict { TdsVersion::V8_0 } else { TdsVersion::LATEST };
    wire.send(&ClientCodec::new(version).prelogin(&hello))?;
    Ok(Prelogin::parse(&wire.message()?)?.version)
}
