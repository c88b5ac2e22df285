//! The events that triggers of a database and of the server can watch, and the groups that they are
//! in. Guarantee: an event that is taken here is raised by every statement that is one.

/// An event, and the groups that hold it besides those of all events of its level.
type Event = (&'static str, &'static [&'static str]);

/// The beginning of a client's session: for triggers of the server, and in no group.
pub const LOGON: &str = "LOGON";

/// Groups of all events of a database.
const ALL: [&str; 2] = ["DDL_EVENTS", "DDL_DATABASE_LEVEL_EVENTS"];
/// Groups of all events of the server.
const ALL_OF_SERVER: [&str; 2] = ["DDL_EVENTS", "DDL_SERVER_LEVEL_EVENTS"];

/// Events that only triggers of the server can watch.
const SERVER_EVENTS: &[Event] = &[
    ("CREATE_DATABASE", &["DDL_DATABASE_EVENTS"]),
    ("ALTER_DATABASE", &["DDL_DATABASE_EVENTS"]),
    ("DROP_DATABASE", &["DDL_DATABASE_EVENTS"]),
    ("CREATE_LOGIN", &["DDL_LOGIN_EVENTS", "DDL_SERVER_SECURITY_EVENTS"]),
    ("ALTER_LOGIN", &["DDL_LOGIN_EVENTS", "DDL_SERVER_SECURITY_EVENTS"]),
    ("DROP_LOGIN", &["DDL_LOGIN_EVENTS", "DDL_SERVER_SECURITY_EVENTS"]),
    ("CREATE_SERVER_ROLE", &["DDL_SERVER_SECURITY_EVENTS"]),
    ("ALTER_SERVER_ROLE", &["DDL_SERVER_SECURITY_EVENTS"]),
    ("DROP_SERVER_ROLE", &["DDL_SERVER_SECURITY_EVENTS"]),
];

const EVENTS: &[Event] = &[
    ("CREATE_TABLE", &["DDL_TABLE_EVENTS", "DDL_TABLE_VIEW_EVENTS"]),
    ("ALTER_TABLE", &["DDL_TABLE_EVENTS", "DDL_TABLE_VIEW_EVENTS"]),
    ("DROP_TABLE", &["DDL_TABLE_EVENTS", "DDL_TABLE_VIEW_EVENTS"]),
    ("CREATE_VIEW", &["DDL_VIEW_EVENTS", "DDL_TABLE_VIEW_EVENTS"]),
    ("ALTER_VIEW", &["DDL_VIEW_EVENTS", "DDL_TABLE_VIEW_EVENTS"]),
    ("DROP_VIEW", &["DDL_VIEW_EVENTS", "DDL_TABLE_VIEW_EVENTS"]),
    ("CREATE_INDEX", &["DDL_INDEX_EVENTS", "DDL_TABLE_VIEW_EVENTS"]),
    ("ALTER_INDEX", &["DDL_INDEX_EVENTS", "DDL_TABLE_VIEW_EVENTS"]),
    ("DROP_INDEX", &["DDL_INDEX_EVENTS", "DDL_TABLE_VIEW_EVENTS"]),
    ("CREATE_STATISTICS", &["DDL_STATISTICS_EVENTS", "DDL_TABLE_VIEW_EVENTS"]),
    ("UPDATE_STATISTICS", &["DDL_STATISTICS_EVENTS", "DDL_TABLE_VIEW_EVENTS"]),
    ("DROP_STATISTICS", &["DDL_STATISTICS_EVENTS", "DDL_TABLE_VIEW_EVENTS"]),
    ("CREATE_PROCEDURE", &["DDL_PROCEDURE_EVENTS"]),
    ("ALTER_PROCEDURE", &["DDL_PROCEDURE_EVENTS"]),
    ("DROP_PROCEDURE", &["DDL_PROCEDURE_EVENTS"]),
    ("CREATE_FUNCTION", &["DDL_FUNCTION_EVENTS"]),
    ("ALTER_FUNCTION", &["DDL_FUNCTION_EVENTS"]),
    ("DROP_FUNCTION", &["DDL_FUNCTION_EVENTS"]),
    ("CREATE_TRIGGER", &["DDL_TRIGGER_EVENTS"]),
    ("ALTER_TRIGGER", &["DDL_TRIGGER_EVENTS"]),
    ("DROP_TRIGGER", &["DDL_TRIGGER_EVENTS"]),
    ("CREATE_SYNONYM", &["DDL_SYNONYM_EVENTS"]),
    ("DROP_SYNONYM", &["DDL_SYNONYM_EVENTS"]),
    ("CREATE_SEQUENCE", &["DDL_SEQUENCE_EVENTS"]),
    ("ALTER_SEQUENCE", &["DDL_SEQUENCE_EVENTS"]),
    ("DROP_SEQUENCE", &["DDL_SEQUENCE_EVENTS"]),
    ("CREATE_TYPE", &["DDL_TYPE_EVENTS"]),
    ("DROP_TYPE", &["DDL_TYPE_EVENTS"]),
    ("CREATE_SCHEMA", &["DDL_SCHEMA_EVENTS", "DDL_DATABASE_SECURITY_EVENTS"]),
    ("DROP_SCHEMA", &["DDL_SCHEMA_EVENTS", "DDL_DATABASE_SECURITY_EVENTS"]),
    ("CREATE_USER", &["DDL_USER_EVENTS", "DDL_DATABASE_SECURITY_EVENTS"]),
    ("ALTER_USER", &["DDL_USER_EVENTS", "DDL_DATABASE_SECURITY_EVENTS"]),
    ("DROP_USER", &["DDL_USER_EVENTS", "DDL_DATABASE_SECURITY_EVENTS"]),
    ("CREATE_ROLE", &["DDL_ROLE_EVENTS", "DDL_DATABASE_SECURITY_EVENTS"]),
    ("ALTER_ROLE", &["DDL_ROLE_EVENTS", "DDL_DATABASE_SECURITY_EVENTS"]),
    ("DROP_ROLE", &["DDL_ROLE_EVENTS", "DDL_DATABASE_SECURITY_EVENTS"]),
    ("CREATE_APPLICATION_ROLE", &["DDL_APPLICATION_ROLE_EVENTS", "DDL_DATABASE_SECURITY_EVENTS"]),
    ("ALTER_APPLICATION_ROLE", &["DDL_APPLICATION_ROLE_EVENTS", "DDL_DATABASE_SECURITY_EVENTS"]),
    ("DROP_APPLICATION_ROLE", &["DDL_APPLICATION_ROLE_EVENTS", "DDL_DATABASE_SECURITY_EVENTS"]),
];

/// Events and groups of T-SQL that nothing raises here yet, or whose statements are none of a
/// database's.
const OTHERS: [&str; 25] = [
    "ALTER_INSTANCE",
    "ALTER_SERVER_CONFIGURATION",
    "GRANT_SERVER",
    "DENY_SERVER",
    "REVOKE_SERVER",
    "DDL_GDR_SERVER_EVENTS",
    "ADD_SERVER_ROLE_MEMBER",
    "DROP_SERVER_ROLE_MEMBER",
    "ALTER_AUTHORIZATION_SERVER",
    "CREATE_CREDENTIAL",
    "ALTER_CREDENTIAL",
    "DROP_CREDENTIAL",
    "DDL_CREDENTIAL_EVENTS",
    "RENAME",
    "GRANT_DATABASE",
    "DENY_DATABASE",
    "REVOKE_DATABASE",
    "DDL_GDR_DATABASE_EVENTS",
    "ADD_ROLE_MEMBER",
    "DROP_ROLE_MEMBER",
    "ALTER_SCHEMA",
    "ALTER_AUTHORIZATION_DATABASE",
    "CREATE_EXTENDED_PROPERTY",
    "ALTER_EXTENDED_PROPERTY",
    "DROP_EXTENDED_PROPERTY",
];

/// What an event of CREATE TRIGGER is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownEvent {
    Raised,
    /// Of T-SQL, and not raised.
    Missing,
    /// Of another kind of trigger.
    Elsewhere,
    No,
}

/// Whether a word is an event or a group, for a trigger of a database or of the server.
pub fn known(word: &str, of_server: bool) -> KnownEvent {
    let raised = |(event, groups): &Event| *event == word || groups.contains(&word);
    if ALL.contains(&word) || EVENTS.iter().any(raised) {
        KnownEvent::Raised
    } else if word == LOGON || ALL_OF_SERVER.contains(&word) || SERVER_EVENTS.iter().any(raised) {
        if of_server { KnownEvent::Raised } else { KnownEvent::Elsewhere }
    } else if OTHERS.contains(&word) {
        KnownEvent::Missing
    } else {
        KnownEvent::No
    }
}

/// The events that a word of a trigger means, each with its number in sys.trigger_events.
pub fn meant(word: &str, of_server: bool) -> impl Iterator<Item = (i32, &'static str)> {
    let of = move |events: &'static [Event], all: [&'static str; 2]| {
        let all = all.contains(&word);
        let meant = move |event: &&Event| all || event.0 == word || event.1.contains(&word);
        events.iter().filter(meant).map(|(event, _)| (number(event), *event))
    };
    let server = if of_server { SERVER_EVENTS } else { &[] };
    let logon = (of_server && word == LOGON).then_some((147, LOGON));
    of(EVENTS, ALL).chain(of(server, ALL_OF_SERVER)).chain(logon)
}

/// Whether a trigger that watches `word` is fired by an event.
pub fn covers(word: &str, event: &str) -> bool {
    meant(word, true).any(|(_, name)| name == event)
}

/// sys.trigger_event_types.type of an event.
fn number(event: &str) -> i32 {
    let kinds = [
        ("TABLE", 21),
        ("INDEX", 24),
        ("STATISTICS", 27),
        ("SYNONYM", 34),
        ("VIEW", 41),
        ("PROCEDURE", 51),
        ("FUNCTION", 61),
        ("TRIGGER", 71),
        ("TYPE", 91),
        ("USER", 131),
        ("ROLE", 134),
        ("APPLICATION_ROLE", 137),
        ("SCHEMA", 141),
        ("LOGIN", 144),
        ("DATABASE", 201),
        ("SERVER_ROLE", 300),
        ("SEQUENCE", 303),
    ];
    let (verb, kind) = event.split_once('_').unwrap_or((event, ""));
    let first = kinds.iter().find(|(known, _)| *known == kind).map_or(0, |(_, first)| *first);
    // Synonyms and types cannot be altered: DROP comes right behind CREATE, but for types it has
    // the third number.
    let step = match (verb, kind) {
        ("CREATE", _) => 0,
        ("DROP", "SYNONYM") => 2,
        ("ALTER" | "UPDATE", _) => 1,
        _ => 2,
    };
    first + step
}

/// Groups: number and name in sys.trigger_event_types, and the number of the group around.
const GROUPS: [(i32, &str, Option<i32>); 21] = [
    (10_001, "DDL_EVENTS", None),
    (10_002, "DDL_SERVER_LEVEL_EVENTS", Some(10_001)),
    (10_004, "DDL_DATABASE_EVENTS", Some(10_002)),
    (10_005, "DDL_SERVER_SECURITY_EVENTS", Some(10_002)),
    (10_006, "DDL_LOGIN_EVENTS", Some(10_005)),
    (10_016, "DDL_DATABASE_LEVEL_EVENTS", Some(10_001)),
    (10_017, "DDL_TABLE_VIEW_EVENTS", Some(10_016)),
    (10_018, "DDL_TABLE_EVENTS", Some(10_017)),
    (10_019, "DDL_VIEW_EVENTS", Some(10_017)),
    (10_020, "DDL_INDEX_EVENTS", Some(10_017)),
    (10_021, "DDL_STATISTICS_EVENTS", Some(10_017)),
    (10_022, "DDL_SYNONYM_EVENTS", Some(10_016)),
    (10_023, "DDL_FUNCTION_EVENTS", Some(10_016)),
    (10_024, "DDL_PROCEDURE_EVENTS", Some(10_016)),
    (10_025, "DDL_TRIGGER_EVENTS", Some(10_016)),
    (10_028, "DDL_TYPE_EVENTS", Some(10_016)),
    (10_029, "DDL_DATABASE_SECURITY_EVENTS", Some(10_016)),
    (10_031, "DDL_USER_EVENTS", Some(10_029)),
    (10_032, "DDL_ROLE_EVENTS", Some(10_029)),
    (10_033, "DDL_APPLICATION_ROLE_EVENTS", Some(10_029)),
    (10_034, "DDL_SCHEMA_EVENTS", Some(10_029)),
];
/// It came later than the others.
const SEQUENCES: (i32, &str, Option<i32>) = (10_070, "DDL_SEQUENCE_EVENTS", Some(10_016));

/// The number of a group.
pub fn group_number(group: &str) -> Option<i32> {
    let mut groups = GROUPS.iter().chain([&SEQUENCES]);
    groups.find(|(_, name, _)| *name == group).map(|(number, ..)| *number)
}

/// Events and groups with their numbers, and the numbers of the groups that they are in.
pub fn types() -> impl Iterator<Item = (i32, &'static str, Option<i32>)> {
    let of_events = EVENTS.iter().chain(SERVER_EVENTS).map(|(event, groups)| {
        (number(event), *event, groups.first().and_then(|group| group_number(group)))
    });
    of_events.chain([(147, LOGON, None)]).chain(GROUPS).chain([SEQUENCES])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_hold_their_events() {
        assert!(
            covers("DDL_TABLE_EVENTS", "DROP_TABLE")
                && covers("DDL_DATABASE_LEVEL_EVENTS", "CREATE_ROLE")
        );
        assert!(covers("CREATE_TABLE", "CREATE_TABLE") && !covers("CREATE_TABLE", "DROP_TABLE"));
        assert!(!covers("DDL_INDEX_EVENTS", "CREATE_TABLE"));
        assert_eq!(
            (known("DDL_VIEW_EVENTS", false), known("RENAME", false), known("LOGON", false)),
            (KnownEvent::Raised, KnownEvent::Missing, KnownEvent::Elsewhere)
        );
        assert_eq!(
            (known("LOGON", true), known("LOGOFF", true)),
            (KnownEvent::Raised, KnownEvent::No)
        );
        assert_eq!(meant("DROP_TABLE", false).next(), Some((23, "DROP_TABLE")));
        assert_eq!(meant("DROP_LOGIN", true).next(), Some((146, "DROP_LOGIN")));
        assert_eq!(meant("DDL_EVENTS", false).count(), EVENTS.len());
        assert_eq!(meant("DDL_EVENTS", true).count(), EVENTS.len() + SERVER_EVENTS.len());
        assert_eq!(meant("DDL_SERVER_LEVEL_EVENTS", true).count(), SERVER_EVENTS.len());
        // Each group has its number.
        let groups = EVENTS.iter().chain(SERVER_EVENTS).flat_map(|(_, groups)| groups.iter());
        for group in groups.chain(&ALL).chain(&ALL_OF_SERVER) {
            assert!(group_number(group).is_some(), "{group}");
        }
    }
}
