//! Extended properties: what can have them, transactions, what goes with what, who may see and
//! change them.

use crate::support::text::{self, Text, run, try_open};
use engine::Instance;
use sim::SimDisk;
use std::sync::Arc;

fn instance() -> (SimDisk, Arc<Instance>) {
    let disk = SimDisk::new(1);
    let instance = try_open(&disk, 32 << 20).unwrap();
    run(&instance, "create database d");
    (disk, instance)
}

/// What a batch says, but for the message of USE.
fn say(instance: &Arc<Instance>, sql: &str) -> String {
    text::say(instance, sql).replace("Changed database context to 'd'.", "").trim().to_owned()
}

const ALL: &str = "use d; select class, class_desc, object_name(major_id), minor_id, name, value from sys.extended_properties \
                   order by class, major_id, minor_id, name";

#[test]
fn everything_that_can_have_properties() {
    let (_disk, instance) = instance();
    run(
        &instance,
        "use d
        create table t (id int constraint pk primary key, v varchar(20) constraint df default 'x', constraint ck check (id > 0));
        create index ix on t (v); create type dbo.phone from varchar(20); create user u without login",
    );
    run(&instance, "use d; exec('create view w as select id as a, v as b from t')");
    run(&instance, "use d; exec('create procedure p @first int, @second int as select @first')");
    run(&instance, "use d; exec('create trigger tr on t after insert as print ''x''')");
    run(
        &instance,
        "use d; exec('create trigger watch on database for create_table as print ''x''')",
    );
    run(&instance, "use d; exec('create schema s')");
    let add = |value: &str, levels: &str| {
        run(&instance, &format!("use d; exec sp_addextendedproperty 'P', {value}{levels}"))
    };
    add("'database'", "");
    add("'schema'", ", 'schema', s");
    add("N'table'", ", 'SCHEMA', dbo, 'TABLE', t");
    add("N'column'", ", 'schema', [dbo], 'table', [T], 'column', V");
    add("42", ", N'SCHEMA', N'dbo', N'TABLE', N't', N'INDEX', N'ix'");
    add("1.50", ", 'schema', dbo, 'table', t, 'constraint', ck");
    add("'2024-02-29'", ", 'schema', dbo, 'table', t, 'constraint', df");
    add("0x0102", ", 'schema', dbo, 'table', t, 'trigger', tr");
    add("'watches'", ", 'trigger', watch");
    add("'view'", ", 'user', dbo, 'view', w");
    add("'view column'", ", 'schema', dbo, 'view', w, 'column', b");
    add("'procedure'", ", 'schema', dbo, 'procedure', p");
    add("'parameter'", ", 'schema', dbo, 'procedure', p, 'parameter', '@second'");
    add("'type'", ", 'schema', dbo, 'type', phone");
    add("'user'", ", 'user', u");
    let text = "use d; select class_desc, minor_id, name, value \
                from sys.extended_properties order by class, minor_id, cast(value as nvarchar(50))";
    assert_eq!(
        say(&instance, text),
        "DATABASE|0|P|database\n\
         OBJECT_OR_COLUMN|0|P|1.50\n\
         OBJECT_OR_COLUMN|0|P|2024-02-29\n\
         OBJECT_OR_COLUMN|0|P|procedure\n\
         OBJECT_OR_COLUMN|0|P|table\n\
         OBJECT_OR_COLUMN|0|P|view\n\
         OBJECT_OR_COLUMN|0|P|watches\n\
         OBJECT_OR_COLUMN|0|P|0x0102\n\
         OBJECT_OR_COLUMN|2|P|column\n\
         OBJECT_OR_COLUMN|2|P|view column\n\
         PARAMETER|2|P|parameter\n\
         SCHEMA|0|P|schema\n\
         DATABASE_PRINCIPAL|0|P|user\n\
         TYPE|0|P|type\n\
         INDEX|2|P|42"
    );
    // As tools list them.
    let list = |args: &str| {
        say(
            &instance,
            &format!(
                "use d; select * from fn_listextendedproperty({args}) order by objtype, objname"
            ),
        )
    };
    assert_eq!(list("null, null, null, null, null, null, null"), "NULL|NULL|P|database");
    assert_eq!(
        list("default, 'schema', 's', default, default, default, default"),
        "SCHEMA|s|P|schema"
    );
    assert_eq!(list("'p', 'schema', 'dbo', 'table', null, null, null"), "TABLE|t|P|table");
    assert_eq!(list("null, 'trigger', null, null, null, null, null"), "TRIGGER|watch|P|watches");
    run(&instance, "use d; drop trigger watch on database");
    assert_eq!(say(&instance, "use d; select count(*) from sys.extended_properties"), "14");
    assert_eq!(list("null, 'schema', 'dbo', 'table', 't', 'column', null"), "COLUMN|v|P|column");
    assert_eq!(
        list("null, 'schema', 'dbo', 'table', 't', 'constraint', null"),
        "CONSTRAINT|ck|P|1.50\nCONSTRAINT|df|P|2024-02-29"
    );
    assert_eq!(list("'other', 'schema', 'dbo', 'table', 't', null, null"), "");
}

#[test]
fn filegroups_and_their_files() {
    let (_disk, instance) = instance();
    run(
        &instance,
        "alter database d add filegroup g; alter database d add file (name = part) to filegroup g",
    );
    run(
        &instance,
        "use d
        exec sp_addextendedproperty 'P', 'first', 'filegroup', [primary]
        exec sp_addextendedproperty 'P', 'group', 'FILEGROUP', g
        exec sp_addextendedproperty 'P', 'file', 'FILEGROUP', G, 'LOGICAL FILE NAME', PART
        exec sp_addextendedproperty 'P', 'data', 'filegroup', 'primary', 'logical file name', d",
    );
    let all = "use d; select class, class_desc, major_id, minor_id, value from sys.extended_properties order by class, major_id";
    assert_eq!(
        say(&instance, all),
        "20|DATASPACE|1|0|first\n20|DATASPACE|2|0|group\n22|DATABASE_FILE|1|0|data\n22|DATABASE_FILE|3|0|file"
    );
    let list = |levels: &str| {
        say(
            &instance,
            &format!(
                "use d; select * from fn_listextendedproperty(null, {levels}, null, null) order by 2"
            ),
        )
    };
    assert_eq!(
        list("'filegroup', null, null, null"),
        "FILEGROUP|g|P|group\nFILEGROUP|PRIMARY|P|first"
    );
    assert_eq!(
        list("'filegroup', 'g', 'logical file name', null"),
        "LOGICAL FILE NAME|part|P|file"
    );
    assert_eq!(list("'filegroup', 'g', 'logical file name', 'd'"), "");
    run(
        &instance,
        "use d; exec sp_updateextendedproperty 'P', 'other', 'filegroup', g; exec sp_dropextendedproperty 'P', 'filegroup', 'primary'",
    );
    assert_eq!(list("'filegroup', null, null, null"), "FILEGROUP|g|P|other");
    // The log is in no filegroup, and a file is in its own one.
    for levels in [
        "'primary', 'logical file name', 'd_log'",
        "'primary', 'logical file name', 'part'",
        "'g', 'table', 't'",
    ] {
        let said = say(
            &instance,
            &format!("use d; exec sp_addextendedproperty 'P', 1, 'filegroup', {levels}"),
        );
        assert!(said.starts_with("Msg 15135:"), "{levels}: {said}");
    }
    run(&instance, "use d; create user u without login");
    let said = say(
        &instance,
        "use d; execute as user = 'u'; exec sp_addextendedproperty 'Q', 1, 'filegroup', g",
    );
    assert!(said.starts_with("Msg 15135:"), "{said}");
    run(
        &instance,
        "use d; grant alter to u; execute as user = 'u'; exec sp_addextendedproperty 'Q', 1, 'filegroup', g",
    );
}

#[test]
fn removed_filegroups_and_files_have_no_properties() {
    let (disk, instance) = instance();
    let make =
        "alter database d add filegroup g; alter database d add file (name = part) to filegroup g";
    let give = "use d
        exec sp_addextendedproperty 'P', 'group', 'filegroup', g
        exec sp_addextendedproperty 'P', 'file', 'filegroup', g, 'logical file name', part
        exec sp_addextendedproperty 'P', 'data', 'filegroup', 'primary', 'logical file name', d";
    let remove = "alter database d remove file part; alter database d remove filegroup g";
    let all = "use d; select class, major_id, value from sys.extended_properties order by class";
    let both = "20|2|group\n22|1|data\n22|3|file";
    run(&instance, make);
    run(&instance, give);
    assert_eq!(say(&instance, all), both);
    // They stay with what gets another name.
    run(
        &instance,
        "alter database d modify file (name = part, newname = piece); alter database d modify filegroup g name = h;
        alter database d modify file (name = piece, newname = part); alter database d modify filegroup h name = g",
    );
    assert_eq!(say(&instance, all), both);
    run(&instance, remove);
    assert_eq!(say(&instance, all), "22|1|data");
    let call = |rest: &str| say(&instance, &format!("use d; exec {rest}"));
    assert!(call("sp_dropextendedproperty 'P', 'filegroup', g").starts_with("Msg 15135:"));
    assert_eq!(
        say(
            &instance,
            "use d; select count(*) from fn_listextendedproperty(null, 'filegroup', null, null, null, null, null)"
        ),
        "0"
    );
    // Others that get their ids, also after a start, have none.
    drop(instance);
    let instance = try_open(&disk.crash(1), 32 << 20).unwrap();
    assert_eq!(say(&instance, all), "22|1|data");
    run(&instance, &make.replace("part", "other"));
    let id = "select data_space_id from d.sys.database_files where name = 'other'";
    assert_eq!(say(&instance, id), "2");
    assert_eq!(say(&instance, all), "22|1|data");
}

#[test]
fn a_filegroup_waits_for_no_properties_of_an_earlier_one() {
    let (_disk, instance) = instance();
    run(&instance, "alter database d add filegroup g");
    let mut open = instance.session().unwrap();
    let mut out = Text::default();
    open.execute("use d; begin tran; exec sp_addextendedproperty 'P', 1, 'filegroup', g", &mut out);
    run(&instance, "alter database d remove filegroup g");
    let said = say(&instance, "alter database d add filegroup h");
    assert!(said.starts_with("Msg 5061:") && said.contains("Msg 5069:"), "{said}");
    open.execute("commit", &mut out);
    let count = "use d; select count(*) from sys.extended_properties";
    assert_eq!(say(&instance, count), "0");
    // Also where each statement would begin a transaction.
    run(
        &instance,
        "set implicit_transactions on; alter database d add filegroup h; if @@trancount > 0 raiserror('open', 16, 1)",
    );
    assert_eq!(say(&instance, count), "0");
}

#[test]
fn changes_and_their_errors() {
    let (_disk, instance) = instance();
    run(&instance, "use d; create table t (id int, v int)");
    let call = |rest: &str| say(&instance, &format!("use d; exec {rest}"));
    let on = "'schema', dbo, 'table', t";
    assert_eq!(call(&format!("sp_addextendedproperty 'MS_Description', N'one', {on}")), "");
    assert_eq!(
        call(&format!("sp_addextendedproperty 'ms_description', N'two', {on}")),
        "Msg 15233: Property cannot be added. Property 'ms_description' already exists for 'dbo.t'."
    );
    assert_eq!(
        call(
            "sp_updateextendedproperty @name = N'MS_Description', @value = N'two', @level0type = N'SCHEMA', @level0name = dbo, @level1type = 'TABLE', @level1name = t"
        ),
        ""
    );
    assert_eq!(call(&format!("sp_addextendedproperty 'Other', null, {on}")), "");
    assert_eq!(
        say(&instance, ALL),
        "1|OBJECT_OR_COLUMN|t|0|MS_Description|two\n1|OBJECT_OR_COLUMN|t|0|Other|NULL"
    );
    assert_eq!(call(&format!("sp_dropextendedproperty 'MS_Description', {on}")), "");
    let missing = "Msg 15217: Property cannot be updated or deleted. Property 'MS_Description' does not exist for 'dbo.t.v'.";
    assert_eq!(
        call(&format!("sp_dropextendedproperty 'MS_Description', {on}, 'column', v")),
        missing
    );
    assert_eq!(
        call(&format!("sp_updateextendedproperty 'MS_Description', 1, {on}, 'column', v")),
        missing
    );
    let invalid = call("sp_addextendedproperty 'a', 'b', 'schema', dbo, 'table', nowhere");
    assert_eq!(
        invalid,
        "Msg 15135: Object is invalid. Extended properties are not permitted on 'dbo.nowhere', or the object does not exist."
    );
    assert!(
        call("sp_addextendedproperty 'a', 'b', 'filegroup', 'nowhere'").starts_with("Msg 15135:")
    );
    assert!(
        call("sp_addextendedproperty 'a', 'b', 'filegroup', 'PRIMARY', 'table', 't'")
            .starts_with("Msg 15135:")
    );
    assert!(call("sp_addextendedproperty 'a', 'b', 'schema'").starts_with("Msg 15600:"));
    assert!(
        call("sp_addextendedproperty 'a', 'b', null, null, 'table', t").starts_with("Msg 15600:")
    );
    assert!(call("sp_addextendedproperty").starts_with("Msg 201:"));
    run(
        &instance,
        "use d; declare @x nvarchar(3750) = replicate(N'x', 3750); exec sp_addextendedproperty 'long', @x",
    );
    let long = say(
        &instance,
        "use d; declare @x nvarchar(3751) = replicate(N'x', 3751); exec sp_addextendedproperty 'longer', @x",
    );
    assert_eq!(
        long,
        "Msg 15097: The size associated with an extended property cannot be more than 7,500 bytes."
    );
    // Of a text of one byte a character there may be twice as many, and it stays one.
    run(&instance, "use d; exec sp_addextendedproperty 'narrow', ''");
    let change = |length: usize| {
        let text = "x".repeat(length);
        say(&instance, &format!("use d; exec sp_updateextendedproperty 'narrow', '{text}'"))
    };
    assert_eq!((change(7500), change(7501)), (String::new(), long));
    assert_eq!(
        say(
            &instance,
            "use d; select len(cast(value as varchar(8000))), sql_variant_property(value, 'BaseType'), \
             sql_variant_property(value, 'MaxLength') from sys.extended_properties where name = 'narrow'"
        ),
        "7500|varchar|7500"
    );
}

#[test]
fn a_property_goes_with_what_has_it_and_with_its_transaction() {
    let (disk, instance) = instance();
    run(
        &instance,
        "use d; create table t (id int constraint pk primary key, v int, w int constraint df default 1); create index ix on t (v)",
    );
    let add = |levels: &str| {
        run(
            &instance,
            &format!(
                "use d; exec sp_addextendedproperty 'P', '{}', 'schema', dbo, 'table', t{levels}",
                levels.replace('\'', "")
            ),
        )
    };
    let left = |instance: &Arc<Instance>| {
        say(instance, "use d; select count(*) from sys.extended_properties")
    };
    add("");
    add(", 'column', v");
    add(", 'column', w");
    add(", 'index', ix");
    add(", 'constraint', df");
    add(", 'constraint', pk");
    assert_eq!(left(&instance), "6");
    run(&instance, "use d; begin tran; drop table t; rollback");
    assert_eq!(left(&instance), "6");
    // Others see what is committed.
    let mut session = instance.session().unwrap();
    let mut out = Text::default();
    session.execute("use d; begin tran; exec sp_addextendedproperty 'open', 1; select count(*) from sys.extended_properties", &mut out);
    assert_eq!(out.out.lines().last(), Some("7"));
    assert_eq!(left(&instance), "6");
    let waits =
        say(&instance, "use d; set lock_timeout 0; exec sp_addextendedproperty 'second', 1");
    assert!(waits.starts_with("Msg 1222:"), "{waits}");
    session.execute("rollback; exec sp_addextendedproperty 'closed', 1", &mut out);
    assert_eq!(left(&instance), "7");
    run(&instance, "use d; alter table t drop constraint df");
    assert_eq!(left(&instance), "6");
    run(&instance, "use d; alter table t drop column w; drop index ix on t");
    assert_eq!(left(&instance), "4");
    // A number that is given again begins without properties.
    run(&instance, "use d; create index ix on t (v); alter table t add w int");
    assert_eq!(left(&instance), "4");
    run(
        &instance,
        "use d; exec sp_rename 't.v', 'renamed', 'COLUMN'; drop index ix on t; alter table t alter column renamed bigint",
    );
    assert_eq!(
        say(
            &instance,
            "use d; select objname from fn_listextendedproperty(null, 'schema', 'dbo', 'table', 't', 'column', null)"
        ),
        "renamed"
    );
    drop(session);
    drop(instance);
    let instance = try_open(&disk, 32 << 20).unwrap();
    assert_eq!(left(&instance), "4");
    run(&instance, "use d; drop table t");
    assert_eq!(say(&instance, ALL), "0|DATABASE|NULL|0|closed|1");
    run(
        &instance,
        "use d; exec('create procedure p @a int as select 1'); exec sp_addextendedproperty 'x', 1, 'schema', dbo, 'procedure', p, 'parameter', '@a'; exec sp_addextendedproperty 'x', 1, 'schema', dbo, 'procedure', p",
    );
    run(
        &instance,
        "use d; exec('create schema s'); exec sp_addextendedproperty 'x', 1, 'schema', s; create user u without login; exec sp_addextendedproperty 'x', 1, 'user', u; create type ty from int; exec sp_addextendedproperty 'x', 1, 'schema', dbo, 'type', ty",
    );
    assert_eq!(left(&instance), "6");
    run(&instance, "use d; drop procedure p; drop schema s; drop user u; drop type ty");
    assert_eq!(left(&instance), "1");
}

#[test]
fn who_may_see_and_change() {
    let (_disk, instance) = instance();
    run(
        &instance,
        "use d; create table mine (id int); create table other (id int); create user u without login; grant alter on mine to u; grant select on mine to u",
    );
    run(
        &instance,
        "use d; exec sp_addextendedproperty 'P', 'other', 'schema', dbo, 'table', other",
    );
    let as_u =
        |text: &str| say(&instance, &format!("use d; execute as user = 'u'; {text}; revert"));
    assert_eq!(
        as_u("exec sp_addextendedproperty 'P', 'mine', 'schema', dbo, 'table', mine, 'column', id"),
        ""
    );
    for levels in ["", ", 'schema', dbo", ", 'schema', dbo, 'table', other", ", 'user', u"] {
        let said = as_u(&format!("exec sp_addextendedproperty 'Q', 'x'{levels}"));
        assert!(said.starts_with("Msg 15135:"), "{levels}: {said}");
    }
    assert!(
        as_u("exec sp_dropextendedproperty 'P', 'schema', dbo, 'table', other")
            .starts_with("Msg 15135:")
    );
    assert_eq!(as_u("select value from sys.extended_properties"), "mine");
    assert_eq!(
        as_u(
            "select value from fn_listextendedproperty(null, 'schema', 'dbo', 'table', null, null, null)"
        ),
        ""
    );
    assert_eq!(
        as_u(
            "select value from fn_listextendedproperty(null, 'schema', 'dbo', 'table', 'mine', 'column', null)"
        ),
        "mine"
    );
}
