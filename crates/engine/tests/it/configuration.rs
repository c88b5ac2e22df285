//! sp_configure, RECONFIGURE and sys.configurations.

use crate::support::text::{Bench, Text, fails, run, say};

const INSTALL: &str = "Run the RECONFIGURE statement to install.";

fn changed(name: &str, from: i32, to: i32) -> String {
    format!("Configuration option '{name}' changed from {from} to {to}. {INSTALL}")
}

#[test]
fn options_are_set_installed_and_kept() {
    let mut b = Bench::new();
    let degree = "max degree of parallelism";
    let show = format!("EXEC sp_configure '{degree}'");
    b.fails(&show, 15_123);
    b.check(
        "EXEC sp_configure 'SHOW advanced options', 1",
        &changed("show advanced options", 0, 1),
    );
    b.fails(&show, 15_123);
    b.check("RECONFIGURE", "");
    b.check(&show, &format!("{degree}|0|32767|0|0"));
    b.check("EXEC sp_configure 'max degree', 4", &changed(degree, 0, 4));
    b.check(&show, &format!("{degree}|0|32767|4|0"));
    b.check("RECONFIGURE WITH OVERRIDE", "");
    let view = "SELECT CAST(value AS int), CAST(value_in_use AS int) FROM sys.configurations WHERE configuration_id = 1539";
    b.check(view, "4|4");
    b.check(&format!("EXEC sp_configure '{degree}', 6"), &changed(degree, 4, 6));
    let mut b = b.restart();
    b.check(view, "6|4");
    b.check(&show, &format!("{degree}|0|32767|6|4"));
    b.check(
        "EXEC sp_configure 'show advanced options', 0 RECONFIGURE",
        &changed("show advanced options", 1, 0),
    );
    let listed = b.run("EXEC sp_configure");
    assert!(listed.contains("nested triggers|0|1|1|1\n") && !listed.contains(degree), "{listed}");
    b.check("SELECT COUNT(*) - COUNT(DISTINCT configuration_id) FROM sys.configurations", "0");
}

#[test]
fn values_that_would_change_statements_are_refused() {
    let b = Bench::new();
    run(&b.instance, "EXEC sp_configure 'show advanced options', 1 RECONFIGURE");
    for (option, value, number) in [
        ("nested triggers", 0, 40_510),
        ("xp_cmdshell", 1, 40_510),
        ("clr enabled", 1, 40_510),
        ("two digit year cutoff", 2030, 40_510),
        ("user options", 512, 40_510),
        ("max server memory (MB)", 100_000, 40_510),
        ("contained database authentication", 1, 40_510),
        ("nested triggers", 2, 15_129),
        ("cost threshold for parallelism", 40_000, 15_129),
        ("nothing", 1, 15_123),
        ("max", 1, 15_124),
    ] {
        fails(&b.instance, &format!("EXEC sp_configure '{option}', {value}"), &[number]);
    }
    // The usual value may be said.
    assert_eq!(
        say(&b.instance, "EXEC sp_configure 'xp_cmdshell', 0"),
        changed("xp_cmdshell", 0, 0)
    );
    let memory = say(
        &b.instance,
        "SELECT CAST(value AS int) FROM sys.configurations WHERE configuration_id = 1544",
    );
    run(&b.instance, &format!("EXEC sp_configure 'max server memory (MB)', {memory}"));
}

#[test]
fn backups_follow_their_defaults() {
    let b = Bench::new();
    // (Compressed, HasBackupChecksums) of a backup.
    let header = |file: &str| {
        let mut out = Text::default();
        out.names = true;
        let restore = format!("RESTORE HEADERONLY FROM DISK = '{file}'");
        b.instance.session().unwrap().execute(&restore, &mut out);
        let (names, row) = out.out.split_once('\n').unwrap();
        let names = names.trim_matches(['[', ']']).split('|');
        let of = |name: &str| {
            let at = names.clone().position(|column| column == name).unwrap();
            row.trim_end().split('|').nth(at).unwrap().to_string()
        };
        (of("Compressed"), of("HasBackupChecksums"))
    };
    run(&b.instance, "BACKUP DATABASE t TO DISK = 'plain.bak'");
    run(&b.instance, "BACKUP DATABASE t TO DISK = 'both.bak' WITH COMPRESSION, CHECKSUM");
    run(
        &b.instance,
        "EXEC sp_configure 'backup compression default', 1 EXEC sp_configure 'backup checksum default', 1
         BACKUP DATABASE t TO DISK = 'before.bak'
         RECONFIGURE
         BACKUP DATABASE t TO DISK = 'after.bak'
         BACKUP DATABASE t TO DISK = 'without.bak' WITH NO_COMPRESSION, NO_CHECKSUM",
    );
    let both = |on: &str| (on.to_string(), on.to_string());
    for (file, on) in [
        ("plain.bak", "0"),
        ("both.bak", "1"),
        ("before.bak", "0"),
        ("after.bak", "1"),
        ("without.bak", "0"),
    ] {
        assert_eq!(header(file), both(on), "{file}");
    }
}
