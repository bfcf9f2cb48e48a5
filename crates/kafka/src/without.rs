//! In place of the client where it is left out: no value of these types exists, so that the compiler drops what would use one.

use crate::{Access, Address, Entry, Group, KafkaError, Message, Place, Sent};
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

/// As the client's.
#[derive(Debug, Clone, Copy)]
pub enum Cluster {}

/// As the client's.
#[derive(Debug)]
pub enum Member {}

/// As the client's.
#[derive(Debug)]
pub enum Reading {}

/// As the client's.
#[derive(Debug)]
pub enum Writer {}

#[allow(missing_docs, clippy::missing_errors_doc, clippy::must_use_candidate)]
impl Cluster {
    pub fn connect(_: &Address, _: &Access) -> Result<Self, KafkaError> {
        Err(KafkaError::LeftOut)
    }
    pub fn have_topic(&self, _: &str, _: u32) -> Result<(), KafkaError> {
        match *self {}
    }
    pub fn must_have(&self) -> Result<u32, KafkaError> {
        match *self {}
    }
    pub fn reading(&self, _: &str) -> Result<Reading, KafkaError> {
        match *self {}
    }
    pub fn writer(&self, _: u64) -> Result<Writer, KafkaError> {
        match *self {}
    }
    pub fn members(&self, _: &str) -> Result<Vec<String>, KafkaError> {
        match *self {}
    }
    pub fn join(&self, _: &str) -> Result<Member, KafkaError> {
        match *self {}
    }
}

#[allow(missing_docs, clippy::missing_errors_doc)]
impl Reading {
    pub fn read(&mut self, _: impl FnMut(Place, Message)) -> Result<(), KafkaError> {
        match *self {}
    }
    pub fn close(self) {
        match self {}
    }
}

#[allow(missing_docs, clippy::must_use_candidate)]
impl Writer {
    pub fn send(&self, _: Message) {
        match *self {}
    }
    pub fn send_when_there_is_room(&self, _: Message) {
        match *self {}
    }
    pub fn sent(&self) -> Sent {
        match *self {}
    }
    pub fn finish(&mut self, _: Duration) {
        match *self {}
    }
}

#[allow(missing_docs)]
impl Member {
    pub fn leave(self) {
        match self {}
    }
}

impl Group for Member {
    fn poll(&mut self, _: Duration) -> Result<Vec<(Place, Message)>, KafkaError> {
        match *self {}
    }
    fn assignment(&mut self) -> Option<(String, Vec<i32>)> {
        match *self {}
    }
    fn unclaimed(&mut self, _: &[i32]) -> Result<BTreeMap<i32, Range<i64>>, KafkaError> {
        match *self {}
    }
    fn seek(&mut self, _: i32, _: i64) -> Result<(), KafkaError> {
        match *self {}
    }
    fn position(&mut self, _: i32) -> Option<i64> {
        match *self {}
    }
    fn members(&mut self) -> Result<Option<BTreeMap<String, Vec<i32>>>, KafkaError> {
        match *self {}
    }
    fn say(&mut self, _: &Entry) -> Result<(), KafkaError> {
        match *self {}
    }
    fn heard(&mut self) -> Result<Vec<Entry>, KafkaError> {
        match *self {}
    }
    fn claim(&mut self, _: &[(i32, i64)]) -> Result<(), KafkaError> {
        match *self {}
    }
    fn now_ns(&mut self) -> u64 {
        match *self {}
    }
}
