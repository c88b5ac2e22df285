//! PRELOGIN and LOGIN7, byte for byte and in every version.

use super::*;

#[test]
fn prelogin_byte_for_byte() {
    // VERSION, ENCRYPTION on, INSTOPT, THREADID, MARS, FEDAUTHREQUIRED, as drivers send them.
    let payload = [
        0, 0, 31, 0, 6, 1, 0, 37, 0, 1, 2, 0, 38, 0, 1, 3, 0, 39, 0, 4, 4, 0, 43, 0, 1, 6, 0, 44,
        0, 1, 0xFF, //
        18, 0, 0, 1, 0, 0, 1, 0, 0, 0, 4, 0xD2, 0, 1,
    ];
    let client = Prelogin::parse(&payload).unwrap();
    assert_eq!(client.encryption, Some(Encryption::On));
    assert_eq!(
        (client.thread, client.mars, client.fed_auth_required),
        (Some(1234), Some(false), Some(true))
    );
    let (reply, after) = client.reply(ServerEncryption::Optional, (16, 0, 1000));
    assert_eq!(after, AfterPrelogin::Everything);
    let mut out = Vec::new();
    reply.write(&mut out);
    let expected = [
        0, 0, 31, 0, 6, 1, 0, 37, 0, 1, 2, 0, 38, 0, 1, 3, 0, 39, 0, 0, 4, 0, 39, 0, 1, 6, 0, 40,
        0, 1, 0xFF, //
        16, 0, 3, 0xE8, 0, 0, 1, 0, 0, 0,
    ];
    assert_eq!(out, expected);
    assert_eq!(Prelogin::parse(&out).unwrap(), reply);
    for cut in 0..payload.len() {
        assert!(Prelogin::parse(&payload[..cut]).is_err(), "{cut} bytes");
    }
}

#[test]
fn the_encryption_matrix() {
    use AfterPrelogin::{Everything, Impossible, LoginOnly, Plain};
    use Encryption::{NotSupported, Off, On, Required};
    let table = [
        (Off, [(Off, LoginOnly), (Required, Everything), (NotSupported, Plain)]),
        (On, [(On, Everything), (On, Everything), (NotSupported, Impossible)]),
        (NotSupported, [(NotSupported, Plain), (Required, Impossible), (NotSupported, Plain)]),
        (Required, [(On, Everything), (On, Everything), (NotSupported, Impossible)]),
    ];
    let servers =
        [ServerEncryption::Optional, ServerEncryption::Forced, ServerEncryption::Unavailable];
    for (client, answers) in table {
        for (server, answer) in servers.into_iter().zip(answers) {
            assert_eq!(server.answer(client), answer, "{client:?} to {server:?}");
        }
    }
    assert_eq!(Encryption::from_byte(0x81), Some(On), "the bit of a client certificate");
    assert_eq!(Encryption::from_byte(4), Some(Required), "go-mssqldb under TDS 8.0");
}

#[test]
fn logins_of_every_version() {
    for version in VERSIONS {
        let mut login = Login7::new(version, "sa", "p\u{e4}ss {w}\u{1F600}");
        login.host = "box".into();
        login.app = "tests".into();
        login.server = "tcp:host,1433".into();
        login.library = "raw".into();
        login.language = "us_english".into();
        login.database = "shop".into();
        login.packet_size = 8000;
        login.options.read_only_intent = true;
        login.client_id = [1, 2, 3, 4, 5, 6];
        if version >= TdsVersion::V7_4 {
            login.features = vec![
                Feature { id: feature::UTF8_SUPPORT, data: vec![1] },
                Feature { id: feature::SESSION_RECOVERY, data: Vec::new() },
            ];
        }
        let bytes = ClientCodec::new(version).login(&login);
        let message = one_message(&bytes);
        assert_eq!(message.kind, PacketType::Login7);
        let parsed = Login7::parse(&message.payload).unwrap();
        assert_eq!(parsed, login, "{version:?}");
        parsed.check_supported().unwrap();
        assert!(!format!("{parsed:?}").contains("{w}"), "a password is never shown");
        for cut in 0..message.payload.len() {
            assert!(Login7::parse(&message.payload[..cut]).is_err(), "{version:?}: {cut} bytes");
        }
    }
}

#[test]
fn a_login_byte_for_byte() {
    let mut login = Login7::new(TdsVersion::V7_4, "sa", "a");
    login.options = Default::default();
    let mut out = Vec::new();
    login.write(&mut out);
    assert_eq!(out.len(), 94 + 4 + 2);
    assert_eq!(out[..8], [100, 0, 0, 0, 0x04, 0x00, 0x00, 0x74]);
    assert_eq!(out[40..48], [94, 0, 2, 0, 98, 0, 1, 0], "user and password");
    // 'a' is 0x0061: the halves of each byte change places, then 0xA5 is added modulo 2.
    assert_eq!(out[94..], [b's', 0, b'a', 0, 0xB3, 0xA5]);
}

#[test]
fn logins_that_are_refused() {
    let login = Login7::new(TdsVersion::V7_4, "u", "p");
    let unsupported = |change: fn(&mut Login7)| {
        let mut login = login.clone();
        change(&mut login);
        let mut out = Vec::new();
        login.write(&mut out);
        matches!(
            Login7::parse(&out).unwrap().check_supported(),
            Err(TdsError::Unsupported(_) | TdsError::IntegratedLogin)
        )
    };
    assert!(unsupported(|l| l.options.integrated_security = true));
    assert!(unsupported(|l| l.attach_file = "x.mdf".into()));
    assert!(unsupported(|l| l.options.user_instance = true));
    assert!(unsupported(|l| l.features.push(Feature { id: feature::FED_AUTH, data: vec![0] })));

    let mut out = Vec::new();
    login.write(&mut out);
    let with = |at: usize, byte: u8| {
        let mut bytes = out.clone();
        bytes[at] = byte;
        Login7::parse(&bytes).map(|_| ())
    };
    assert!(matches!(with(7, 0x70), Err(TdsError::Login(_))), "7.0");
    assert!(matches!(with(24, 0x01), Err(TdsError::Login(_))), "big-endian");
    assert!(matches!(with(42, 200), Err(TdsError::Login(_))), "a name of 200 characters");
    assert!(matches!(with(41, 9), Err(TdsError::Login(_))), "a field outside");
}

#[test]
fn packet_sizes_and_acknowledged_versions() {
    let mut login = Login7::new(TdsVersion::V7_4, "", "");
    for (asked, given) in [(0, 4096), (1, 512), (8000, 8000), (1 << 20, 32767)] {
        login.packet_size = asked;
        assert_eq!(login.negotiated_packet_size(4096), given);
    }
    let cases = [
        (0x7100_0000, Some(TdsVersion::V7_1)),
        (0x7209_0002, Some(TdsVersion::V7_2)),
        (0x730A_0003, Some(TdsVersion::V7_3A)),
        (0x730B_0003, Some(TdsVersion::V7_3B)),
        (0x7400_0004, Some(TdsVersion::V7_4)),
        (0x0800_0000, Some(TdsVersion::V8_0)),
        (0x7500_0000, Some(TdsVersion::V7_4)),
        (0x7000_0000, None),
        (0x0402_0000, None),
    ];
    for (number, version) in cases {
        assert_eq!(TdsVersion::negotiate(number), version, "{number:x}");
    }
    login.version_number = 0x7100_0000;
    login.version = TdsVersion::V7_1;
    assert_eq!(login.ack_number(), 0x0701_0000);
}
