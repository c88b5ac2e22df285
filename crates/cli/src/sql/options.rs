//! The options of `ringwood sql`: sqlcmd's letters where they mean something without a server, a
//! clear error where they do not.

use super::server_args::ServerArgs;
use crate::InstanceArgs;
use crate::output::Format;
use crate::output::table::{Control, Headers, TableStyle};
use clap::{ArgAction, Args, FromArgMatches};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "Examples:
  ringwood sql
  ringwood sql -Q \"select name from sys.databases\" --format csv
  ringwood sql -d Sales -i schema.sql -i load.sql -b
  ringwood sql -v TABLE=customer -Q \"select count(*) from $(TABLE)\"
  ringwood sql -d Sales -W -s '|' -h -1 -Q \"select * from customer\" -o customer.txt
  ringwood sql --volume E=/mnt/fast -i create-database.sql
  SQLCMDPASSWORD=... ringwood sql -S db.example.com -U ann -d Sales
  SQLCMDPASSWORD=... ringwood sql -A -S 127.0.0.1 -Q \"kill 57\"

Commands in scripts and at the prompt: GO [n], :r FILE, :setvar NAME VALUE, :out FILE, :error FILE, :on error exit,
:list, :reset, :exit, EXIT(query), !! COMMAND, \\d and more; :help names them all.";

/// Options of an instance that this process opens.
const INSTANCE: [&str; 11] = [
    "data",
    "read_only",
    "memory",
    "query_memory",
    "max_query_memory",
    "volumes",
    "trace_flags",
    "device",
    "device_paths",
    "io_depth",
    "io_threads",
];

/// Run T-SQL on an embedded instance, or with -S on a server. GO [n] separates batches. Without -i
/// and -Q: a prompt on a terminal, else standard input, batch by batch.
#[derive(Args)]
#[command(after_help = EXAMPLES, disable_help_flag = true)]
pub struct SqlArgs {
    #[command(flatten)]
    pub instance: InstanceArgs,
    /// Server to connect to instead of opening an instance: HOST, HOST:PORT or HOST,PORT, admin:
    /// before it for -A
    #[arg(short = 'S', long = "server", value_name = "HOST[:PORT]", value_parser = client::parse_server, conflicts_with_all = INSTANCE)]
    pub server: Option<client::ServerName>,
    /// The server's dedicated administrator connection: for a sysadmin when all others wait. The
    /// same as -S admin:HOST
    #[arg(short = 'A', long = "dedicated-admin-connection", requires = "server")]
    pub dedicated: bool,
    #[command(flatten)]
    pub login: ServerArgs,
    /// Database to use first
    #[arg(short = 'd', value_name = "DATABASE")]
    pub database: Option<String>,
    /// Script to run, `-` is standard input; may be repeated or a list with commas
    #[arg(short = 'i', value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Text to run
    #[arg(short = 'Q', value_name = "TEXT")]
    pub query: Vec<String>,
    /// Text to run before the prompt or standard input
    #[arg(short = 'q', value_name = "TEXT", conflicts_with_all = ["query", "files"])]
    pub first: Option<String>,
    /// Stop at the first batch that fails
    #[arg(short = 'b')]
    pub stop: bool,
    /// Scripting variables for $(NAME)
    #[arg(short = 'v', value_name = "NAME=VALUE", num_args = 1.., value_parser = parse_variable)]
    pub variables: Vec<(String, String)>,
    /// Leave $(NAME) as it is
    #[arg(short = 'x')]
    pub no_variables: bool,
    /// Refuse !! and environment variables; -X1 ends at a refused command
    #[arg(short = 'X', value_name = "1", num_args = 0..=1, default_missing_value = "0", value_parser = ["0", "1"])]
    pub safe: Option<String>,
    /// Word that ends a batch instead of GO
    #[arg(short = 'c', value_name = "WORD", default_value = "GO", value_parser = parse_terminator)]
    pub terminator: String,
    /// Code page of scripts and written files, or i:PAGE,o:PAGE for scripts and all output; UTF-8
    /// unless given
    #[arg(short = 'f', value_name = "CODEPAGE", value_parser = parse_code_pages, default_value = "65001")]
    pub code_pages: CodePages,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Seconds after which a batch is cancelled
    #[arg(short = 't', value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=65_534))]
    pub timeout: Option<u32>,
    /// Seconds to wait for another process that has the folder open, or for a server's answer to
    /// the login
    #[arg(short = 'l', value_name = "SECONDS", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=65_534))]
    pub open_timeout: u32,
    /// Name of this computer for HOST_NAME()
    #[arg(short = 'H', value_name = "NAME")]
    pub host: Option<String>,
    /// Quoted identifiers: always on
    #[arg(short = 'I')]
    pub quoted_identifiers: bool,
    /// Print help
    #[arg(long, short = '?', action = ArgAction::Help)]
    pub help: Option<bool>,
    #[command(flatten)]
    refused: RefusedOptions,
}

impl SqlArgs {
    /// The options that run one script and stop at its first error.
    pub fn for_script(script: &Path) -> SqlArgs {
        let command = SqlArgs::augment_args(clap::Command::new("sql").no_binary_name(true));
        let given = [OsStr::new("-b"), OsStr::new("-i"), script.as_os_str()];
        let matches = command.get_matches_from(given);
        SqlArgs::from_arg_matches(&matches).unwrap_or_else(|e| e.exit())
    }
}

/// Where output goes and how it looks.
#[derive(Args)]
pub struct OutputArgs {
    /// Output format
    #[arg(long, value_enum, default_value = "table")]
    pub format: Format,
    /// File for results and messages
    #[arg(short = 'o', value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Results in UTF-16
    #[arg(short = 'u')]
    pub unicode: bool,
    /// Print the batches too
    #[arg(short = 'e')]
    pub echo: bool,
    /// Messages on standard error: 0 errors only, 1 all (which is so without -r)
    #[arg(short = 'r', value_name = "0|1", num_args = 0..=1, default_missing_value = "0", value_parser = ["0", "1"])]
    pub redirect: Option<String>,
    /// Show only messages and errors of this severity or more; -1 shows numbers with messages too
    #[arg(short = 'm', value_name = "SEVERITY", allow_negative_numbers = true, value_parser = clap::value_parser!(i32).range(-1..=25))]
    pub error_level: Option<i32>,
    /// Errors below this severity do not count as failure; the exit code is the severity
    #[arg(short = 'V', value_name = "SEVERITY", value_parser = clap::value_parser!(u8).range(1..=25))]
    pub severity: Option<u8>,
    /// Print the time of each batch; -p1 with colons
    #[arg(short = 'p', value_name = "1", num_args = 0..=1, default_missing_value = "0", value_parser = ["0", "1"])]
    pub statistics: Option<String>,
    /// Table: text between columns
    #[arg(short = 's', value_name = "TEXT", allow_hyphen_values = true)]
    pub separator: Option<String>,
    /// Table: no padding
    #[arg(short = 'W', conflicts_with_all = ["max_type_width", "type_width"])]
    pub trim: bool,
    /// Table: column names again after so many rows, 0 only once, -1 never
    #[arg(short = 'h', value_name = "ROWS", allow_negative_numbers = true, value_parser = clap::value_parser!(i32).range(-1..))]
    pub headers: Option<i32>,
    /// Table: longer lines are broken; 9 to 65535
    #[arg(short = 'w', value_name = "WIDTH", value_parser = clap::value_parser!(u32).range(9..=65_535))]
    pub line_width: Option<u32>,
    /// Table: most characters of (max) types, 0 all
    #[arg(short = 'y', value_name = "WIDTH")]
    pub max_type_width: Option<u32>,
    /// Table: most characters of other character and binary types, 0 all
    #[arg(short = 'Y', value_name = "WIDTH")]
    pub type_width: Option<u32>,
    /// Table: a space for each control character; -k2 for each run of them
    #[arg(short = 'k', value_name = "1|2", num_args = 0..=1, default_missing_value = "1", value_parser = ["1", "2"])]
    pub control: Option<String>,
}

impl OutputArgs {
    /// What the options say of tables.
    pub fn style(&self) -> TableStyle {
        let plain = TableStyle::default();
        TableStyle {
            separator: self.separator.clone().unwrap_or(plain.separator),
            trim: self.trim,
            headers: headers(self.headers.unwrap_or(0)),
            line_width: self.line_width.unwrap_or(0) as usize,
            max_type_width: self.max_type_width.unwrap_or(0) as usize,
            type_width: self.type_width.unwrap_or(0) as usize,
            control: match self.control.as_deref() {
                None => Control::Keep,
                Some("2") => Control::OneSpace,
                Some(_) => Control::Spaces,
            },
        }
    }
}

/// `-h` and SQLCMDHEADERS.
pub fn headers(rows: i32) -> Headers {
    match u32::try_from(rows) {
        Err(_) => Headers::Never,
        Ok(0) => Headers::Once,
        Ok(rows) => Headers::Every(rows),
    }
}

/// `-f`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodePages {
    /// Of scripts without a mark.
    pub input: u16,
    /// Of files that are written.
    pub files: u16,
    /// Of standard output and error.
    pub streams: u16,
}

fn parse_code_pages(text: &str) -> Result<CodePages, String> {
    let mut pages = CodePages { input: UTF_8, files: UTF_8, streams: UTF_8 };
    for part in text.split(',') {
        let (input, files, streams, number) = match part.split_once(':') {
            // As in sqlcmd, a terminal or pipe keeps its own.
            None => (true, true, false, part),
            Some(("i" | "I", number)) => (true, false, false, number),
            Some(("o" | "O", number)) => (false, true, true, number),
            Some(_) => return Err("expected PAGE, i:PAGE or o:PAGE".into()),
        };
        let number: u16 =
            number.trim().parse().map_err(|_| format!("{number:?} is not a code page"))?;
        if codepage::to_encoding(number).is_none() {
            return Err(format!(
                "code page {number} is not known; 1252, 65001 (UTF-8) and 1200 (UTF-16) are"
            ));
        }
        if input {
            pages.input = number;
        }
        if files {
            pages.files = number;
        }
        if streams {
            pages.streams = number;
        }
    }
    Ok(pages)
}

/// The code page of UTF-8.
pub const UTF_8: u16 = 65_001;

fn parse_variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    if !super::variables::is_name(name) {
        return Err(format!("{name:?} is not a name: letters, digits, _ - and ."));
    }
    Ok((name.to_owned(), value.to_owned()))
}

fn parse_terminator(text: &str) -> Result<String, String> {
    if text.is_empty() || text.contains(char::is_whitespace) || syntax::is_reserved(text) {
        return Err("a word that T-SQL does not reserve".into());
    }
    Ok(text.to_owned())
}

/// Options of sqlcmd that are about servers, logins and networks.
#[derive(Args)]
struct RefusedOptions {
    #[arg(short = 'L', hide = true, num_args = 0..=1, default_missing_value = "", value_parser = no_server)]
    list: Option<String>,
    #[arg(short = 'a', hide = true, num_args = 0..=1, default_missing_value = "", value_parser = no_server)]
    packet: Option<String>,
    #[arg(short = 'D', hide = true, num_args = 0..=1, default_missing_value = "", value_parser = no_server)]
    source: Option<String>,
    #[arg(short = 'K', hide = true, num_args = 0..=1, default_missing_value = "", value_parser = no_server)]
    intent: Option<String>,
    #[arg(short = 'M', hide = true, num_args = 0..=1, default_missing_value = "", value_parser = no_server)]
    failover: Option<String>,
    #[arg(short = 'E', hide = true, num_args = 0..=1, default_missing_value = "", value_parser = no_login)]
    trusted: Option<String>,
    #[arg(short = 'G', hide = true, num_args = 0..=1, default_missing_value = "", value_parser = no_login)]
    directory: Option<String>,
    #[arg(short = 'z', hide = true, num_args = 0..=1, default_missing_value = "", value_parser = no_login)]
    change: Option<String>,
    #[arg(short = 'Z', hide = true, num_args = 0..=1, default_missing_value = "", value_parser = no_login)]
    change_and_exit: Option<String>,
    #[arg(short = 'g', hide = true, num_args = 0..=1, default_missing_value = "", value_parser = not_here)]
    column_encryption: Option<String>,
    #[arg(short = 'j', hide = true, num_args = 0..=1, default_missing_value = "", value_parser = not_here)]
    raw_errors: Option<String>,
    #[arg(short = 'R', hide = true, num_args = 0..=1, default_missing_value = "", value_parser = not_here)]
    regional: Option<String>,
}

fn no_server(_: &str) -> Result<String, String> {
    Err("sqlcmd's option about servers has no counterpart here".into())
}

fn no_login(_: &str) -> Result<String, String> {
    Err("logins have a name and a password: -U and -P".into())
}

fn not_here(_: &str) -> Result<String, String> {
    Err("sqlcmd's option has no counterpart here".into())
}
