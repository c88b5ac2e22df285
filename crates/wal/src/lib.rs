//! The transaction log: one circular stream of log blocks cut into virtual log files
