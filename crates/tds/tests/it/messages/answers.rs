//! The tokens of an answer.

use super::*;

#[test]
fn tokens_byte_for_byte() {
    let mut out = Vec::new();
    let mut check = |write: &dyn Fn(&mut TokenWriter<'_>), version, expected: &[u8]| {
        out.clear();
        write(&mut TokenWriter::new(&mut out, version));
        assert_eq!(out, expected);
    };
    let coll = WireCollation([9, 4, 0xD0, 0, 0x34]);
    let v = TdsVersion::V7_4;
    let collation = [0xE3, 8, 0, 7, 5, 9, 4, 0xD0, 0, 0x34, 0];
    check(&|w| w.env_change(EnvChange::Collation { new: coll, old: None }), v, &collation);
    check(
        &|w| w.env_change(EnvChange::Database { new: "ab", old: "m" }),
        v,
        &[0xE3, 9, 0, 1, 2, b'a', 0, b'b', 0, 1, b'm', 0],
    );
    check(
        &|w| w.env_change(EnvChange::PacketSize { new: 800, old: 4096 }),
        v,
        &[0xE3, 17, 0, 4, 3, b'8', 0, b'0', 0, b'0', 0, 4, b'4', 0, b'0', 0, b'9', 0, b'6', 0],
    );
    check(
        &|w| w.env_change(EnvChange::BeginTransaction(7)),
        v,
        &[0xE3, 11, 0, 8, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0],
    );
    check(
        &|w| w.env_change(EnvChange::RollbackTransaction(7)),
        v,
        &[0xE3, 11, 0, 10, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0],
    );
    check(&|w| w.env_change(EnvChange::CommitTransaction(7)), TdsVersion::V7_1, &[]);
    check(&|w| w.env_change(EnvChange::ResetAck), v, &[0xE3, 3, 0, 18, 0, 0]);
    let done = |w: &mut TokenWriter<'_>| {
        w.done(DoneKind::InProc, DoneStatus::MORE, command::SELECT, Some(258));
    };
    check(&done, v, &[0xFF, 0x11, 0, 0xC1, 0, 2, 1, 0, 0, 0, 0, 0, 0]);
    check(&done, TdsVersion::V7_1, &[0xFF, 0x11, 0, 0xC1, 0, 2, 1, 0, 0]);
    let error = SqlError::new(208, 16, 1, "no").at_line(3);
    let body = [208, 0, 0, 0, 1, 16, 2, 0, b'n', 0, b'o', 0, 1, b's', 0, 0, 3, 0];
    let mut old = vec![0xAA, 18, 0];
    old.extend(body);
    check(&|w| w.error(&error, "s", ""), TdsVersion::V7_1, &old);
    let mut new = vec![0xAB, 20, 0];
    new.extend(body);
    new.extend([0, 0]);
    check(&|w| w.info(&error, "s", ""), v, &new);
    check(&|w| w.login_ack(0x7400_0004, "M", (16, 0, 1000)), v, &{
        [0xAD, 12, 0, 1, 0x74, 0, 0, 4, 1, b'M', 0, 16, 0, 3, 0xE8]
    });
    check(&|w| w.feature_ext_ack(&[(10, &[1])]), v, &[0xAE, 10, 1, 0, 0, 0, 1, 0xFF]);
    check(&|w| w.return_status(-6), v, &[0x79, 0xFA, 0xFF, 0xFF, 0xFF]);
    check(&|w| w.order(&[1, 3]), v, &[0xA9, 4, 0, 1, 0, 3, 0]);
    check(&|w| w.no_columns(), v, &[0x81, 0xFF, 0xFF]);
    let value = ReturnValue {
        ordinal: 2,
        name: "@h",
        is_function_result: false,
        user_type: 0,
        flags: ColumnFlags::default(),
        ty: TypeInfo::Int(4),
        value: &Value::Int(5),
    };
    let expected = [0xAC, 2, 0, 2, b'@', 0, b'h', 0, 1, 0, 0, 0, 0, 0, 0, 0x26, 4, 4, 5, 0, 0, 0];
    check(&|w| w.return_value(&value).unwrap(), v, &expected);
}

#[test]
fn an_answer_comes_back_as_data() {
    for version in VERSIONS {
        let mut out = Vec::new();
        let mut writer = TokenWriter::new(&mut out, version);
        let long = SqlError::new(50000, 16, 1, "\u{20ac}".repeat(40_000));
        writer.error(&long, &"s".repeat(300), "p");
        let table = vec!["db".to_owned(), "dbo".to_owned(), "t".to_owned()];
        writer.table_names(std::slice::from_ref(&table));
        let base_name = Some("x".to_owned());
        let source = ColumnSource {
            column: 1,
            table: 1,
            expression: false,
            key: true,
            hidden: false,
            base_name,
        };
        writer.column_sources(std::slice::from_ref(&source));
        writer.done(DoneKind::Done, DoneStatus::ERROR, 0, None);
        let tokens = TokenReader::read_all(&out, version).unwrap();
        let [Token::Error(error), Token::TableNames(tables), Token::ColumnSources(sources), last] =
            &tokens[..]
        else {
            panic!("{tokens:?}")
        };
        assert_eq!((error.message.chars().count(), error.server.len()), (16_000, 255));
        assert_eq!((tables, sources), (&vec![table], &vec![source]));
        assert!(matches!(last, Token::Done { status: DoneStatus::ERROR, rows: 0, .. }));
        assert!(TokenReader::read_all(&[0x42], version).is_err());
        let _ = tds::Budget::new(Limits::default());
    }
}
