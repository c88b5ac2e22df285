//! Where the studies' T-SQL runs: which server of which version, the name of the study's database,
//! the folders of its files. What T-SQL a version has is decided here and nowhere else; sources are
//! the "Applies to" lines of Microsoft's reference.

use std::sync::LazyLock;

/// A server as far as statements depend on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Product {
    /// Ringwood, which has all that SQL Server 2022 has here and a few views and options of its
    /// own.
    pub ringwood: bool,
    /// Major version, minor version and build: 10.0 is SQL Server 2008, 10.50 is 2008 R2, then 11
    /// (2012) to 16 (2022).
    pub version: (u32, u32, u32),
}

/// By which rule a growth of the log is cut into virtual log files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VlfRule {
    /// By the size of the growth alone: the rule of the authors' servers.
    Size2008,
    /// A growth of less than an eighth of the log makes one; since SQL Server 2014.
    Eighth2014,
    /// Besides, a growth of at most 64 MB makes one; since SQL Server 2022.
    Small2022,
}

impl VlfRule {
    /// In words, for the report.
    pub fn text(self) -> &'static str {
        match self {
            VlfRule::Size2008 => "growths of the log make VLFs by the rule of SQL Server 2008",
            VlfRule::Eighth2014 => {
                "growths of the log make VLFs by the rule of SQL Server 2014: one of less than an eighth of the log makes \
                 one VLF, where the authors' servers made two to sixteen"
            }
            VlfRule::Small2022 => {
                "growths of the log make VLFs by the rule of SQL Server 2022: one of less than an eighth of the log, or of \
                 at most 64 MB, makes one VLF, where the authors' servers made two to sixteen"
            }
        }
    }
}

impl Product {
    /// Reads `SERVERPROPERTY('ProductVersion')`, e.g. `15.0.4430.1`.
    pub fn parse(version: &str, ringwood: bool) -> Option<Product> {
        let mut parts = version.split('.').map(|p| p.parse().ok());
        let mut next = || parts.next().flatten();
        Some(Product { ringwood, version: (next()?, next()?, next()?) })
    }

    fn since(&self, version: (u32, u32, u32)) -> bool {
        self.ringwood || self.version >= version
    }

    /// `DELAYED_DURABILITY` and `sp_flush_log`: SQL Server 2014.
    pub fn has_delayed_durability(&self) -> bool {
        self.since((12, 0, 0))
    }

    /// `sys.dm_db_log_info`: SQL Server 2016 SP2.
    pub fn has_log_info(&self) -> bool {
        self.since((13, 0, 5026))
    }

    /// `sys.dm_db_log_space_usage`: SQL Server 2012.
    pub fn has_log_space_usage(&self) -> bool {
        self.since((11, 0, 0))
    }

    /// How growths are cut. Ringwood goes by the compatibility level, which the studies set to 100;
    /// SQL Server by its version.
    pub fn vlf_rule(&self) -> VlfRule {
        match self.version.0 {
            _ if self.ringwood => VlfRule::Size2008,
            0..12 => VlfRule::Size2008,
            12..16 => VlfRule::Eighth2014,
            _ => VlfRule::Small2022,
        }
    }

    /// The year by which people know the version.
    pub fn year(&self) -> &'static str {
        match self.version {
            (..10, ..) => "before 2008",
            (10, 50, _) => "2008 R2",
            (10, ..) => "2008",
            (11, ..) => "2012",
            (12, ..) => "2014",
            (13, ..) => "2016",
            (14, ..) => "2017",
            (15, ..) => "2019",
            (16, ..) => "2022",
            (17, ..) => "2025",
            _ => "after 2025",
        }
    }
}

/// Folders of files as the server names them, each with its separator at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folders {
    /// Data files.
    pub data: String,
    /// Every other data file of an arm on two arrays.
    pub data2: String,
    /// The log.
    pub log: String,
    /// Backups.
    pub backup: String,
}

/// A server and the study's database on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The server.
    pub product: Product,
    /// The study's database; its files are called after it.
    pub database: String,
    /// Where they lie.
    pub folders: Folders,
    /// Least size of the first data file, KB: a new database is never smaller than `model`.
    pub least_data_kb: u64,
}

impl Site {
    /// The path of the n-th data file.
    pub(super) fn data_file(&self, file: u32, arrays: u32) -> String {
        let folder =
            if arrays > 1 && file % 2 == 1 { &self.folders.data2 } else { &self.folders.data };
        let ending = if file == 0 { "mdf" } else { "ndf" };
        quoted(&format!("{folder}{}.{ending}", self.file_name(file)))
    }

    /// The logical name of the n-th data file.
    pub(super) fn file_name(&self, file: u32) -> String {
        if file == 0 { self.database.clone() } else { format!("{}_{}", self.database, file + 1) }
    }

    /// The path of the log.
    pub(super) fn log_file(&self) -> String {
        quoted(&format!("{}{}_log.ldf", self.folders.log, self.database))
    }

    /// The path of a backup with that ending.
    pub(super) fn backup(&self, ending: &str) -> String {
        quoted(&format!("{}{}{ending}", self.folders.backup, self.database))
    }
}

/// A T-SQL string.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The site of an embedded instance: drive letters stand for the roles of files, and the database
/// has an instance to itself.
pub static EMBEDDED: LazyLock<Site> = LazyLock::new(|| Site {
    product: Product { ringwood: true, version: (16, 0, 1000) },
    database: super::DATABASE.into(),
    folders: Folders {
        data: r"E:\".into(),
        data2: r"G:\".into(),
        log: r"F:\".into(),
        backup: r"H:\".into(),
    },
    least_data_kb: 4 << 10,
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_go_round_the_arrays() {
        let all: Vec<String> = (0..3).map(|i| EMBEDDED.data_file(i, 2)).collect();
        assert_eq!(all, [r"'E:\lab.mdf'", r"'G:\lab_2.ndf'", r"'E:\lab_3.ndf'"]);
        assert_eq!(EMBEDDED.data_file(3, 1), r"'E:\lab_4.ndf'");
        assert_eq!(quoted("it's"), "'it''s'");
    }

    #[test]
    fn versions_have_what_they_came_with() {
        let of = |text: &str| Product::parse(text, false).unwrap();
        let (sql_2008, sql_2012, sql_2014) =
            (of("10.0.1600.22"), of("11.0.2100.60"), of("12.0.2000.8"));
        assert!(!sql_2008.has_log_space_usage() && sql_2012.has_log_space_usage());
        assert!(!sql_2012.has_delayed_durability() && sql_2014.has_delayed_durability());
        assert!(!of("13.0.4001.0").has_log_info() && of("13.0.5026.0").has_log_info());
        let rules =
            [sql_2012, sql_2014, of("15.0.2000.5"), of("16.0.1000.6")].map(|p| p.vlf_rule());
        assert_eq!(
            rules,
            [VlfRule::Size2008, VlfRule::Eighth2014, VlfRule::Eighth2014, VlfRule::Small2022]
        );
        assert_eq!((of("10.50.1600.1").year(), of("16.0.1.1").year()), ("2008 R2", "2022"));
        assert_eq!(Product::parse("sixteen", false), None);
        let ringwood = Product::parse("16.0.1000.6", true).unwrap();
        assert_eq!(ringwood.vlf_rule(), VlfRule::Size2008);
    }
}
