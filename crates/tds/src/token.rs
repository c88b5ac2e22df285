//! The byte that each token of a server's answer begins with.

pub const RETURN_STATUS: u8 = 0x79;
pub const COLMETADATA: u8 = 0x81;
pub const TABNAME: u8 = 0xA4;
pub const COLINFO: u8 = 0xA5;
pub const ORDER: u8 = 0xA9;
pub const ERROR: u8 = 0xAA;
pub const INFO: u8 = 0xAB;
pub const RETURN_VALUE: u8 = 0xAC;
pub const LOGIN_ACK: u8 = 0xAD;
pub const FEATURE_EXT_ACK: u8 = 0xAE;
pub const ROW: u8 = 0xD1;
pub const NBCROW: u8 = 0xD2;
pub const ENV_CHANGE: u8 = 0xE3;
pub const DONE: u8 = 0xFD;
pub const DONE_PROC: u8 = 0xFE;
pub const DONE_IN_PROC: u8 = 0xFF;
