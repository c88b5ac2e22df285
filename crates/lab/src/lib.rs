//! The studies: targets, drivers, statistics, reports
