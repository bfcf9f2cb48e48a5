//! A dump of the heap as a graph: objects in the order of their addresses, references as indices.

use crate::HeapError;
use crate::lines::{self, Wrong};
use crate::strings::Strings;
use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::io::BufRead;

/// So many take 2 GB here, and a server with so many takes more than that itself.
const MOST_OBJECTS: usize = 16_000_000;
const MOST_REFERENCES: usize = 100_000_000;

/// Of one object, at most: with as many objects as there may be, their sum is a number.
const MOST_BYTES: u64 = 1 << 39;

/// The stack and registers of the thread that dumped: what is there by chance is held by nothing else.
const STACK: &str = "machine_context";

/// Kinds of Ruby's own objects that code consists of.
const CODE: [&str; 6] = [
    "callcache",
    "callinfo",
    "constcache",
    "cref",
    "iseq",
    "ment",
];

/// An object, or a root of the heap, whose address is 0.
#[derive(Debug, Clone, Copy)]
pub struct Node {
    pub address: u64,
    /// Address of its class.
    class: u64,
    /// Number of its type's text, such as `ARRAY`.
    kind: u32,
    /// Number of what it is called: a class by its name, a root by its kind, an object of a C extension by its type.
    label: u32,
    /// Elements, pairs or bytes; 0 of what has none.
    pub elements: u32,
    /// Index into `sites`.
    pub site: u32,
    /// Number of the collection after which it was made; 0: before the rounds.
    pub made_in: u64,
    pub bytes: u64,
    first_reference: usize,
}

/// A file and a line of it.
pub type Line<'a> = (&'a str, u32);

/// Where objects are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Site {
    file: u32,
    line: u32,
}

/// A heap.
#[derive(Debug)]
pub struct Dump {
    nodes: Vec<Node>,
    references: Vec<u32>,
    sites: Vec<Site>,
    strings: Strings,
    /// The class above, for classes without a name.
    superclasses: HashMap<u64, u64>,
}

#[derive(Deserialize)]
struct Object<'a> {
    #[serde(default)]
    address: Address,
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(default)]
    class: Address,
    #[serde(default)]
    superclass: Address,
    #[serde(default, borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    root: Option<Cow<'a, str>>,
    #[serde(default, rename = "struct", borrow)]
    of_c: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    imemo_type: Option<Cow<'a, str>>,
    #[serde(default)]
    length: Option<u64>,
    #[serde(default)]
    size: Option<u64>,
    #[serde(default)]
    bytesize: Option<u64>,
    #[serde(default)]
    references: Vec<Address>,
    #[serde(default, borrow)]
    file: Option<Cow<'a, str>>,
    #[serde(default)]
    line: u32,
    #[serde(default)]
    generation: u64,
    #[serde(default)]
    memsize: u64,
}

/// As Ruby writes it: hexadecimal with `0x`.
#[derive(Debug, Clone, Copy, Default)]
struct Address(u64);

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Address, D::Error> {
        struct Hexadecimal;
        impl Visitor<'_> for Hexadecimal {
            type Value = Address;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an address such as 0x7f12")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Address, E> {
                let digits = text.strip_prefix("0x");
                let read = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
                read.map(Address)
                    .ok_or_else(|| E::custom(format!("{text:?} is no address")))
            }
        }
        deserializer.deserialize_str(Hexadecimal)
    }
}

impl Dump {
    /// Reads a dump line by line.
    ///
    /// # Errors
    /// It cannot be read, a line is no JSON of the format, or the heap is too large.
    pub fn read(input: impl BufRead) -> Result<Dump, HeapError> {
        let mut reading = Reading::default();
        lines::each(input, |line| reading.take(serde_json::from_slice(line)?))?;
        Ok(reading.finish())
    }

    /// Of all objects, the roots among them.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Bytes of all objects.
    pub fn bytes(&self) -> u64 {
        self.nodes.iter().map(|node| node.bytes).sum()
    }

    pub fn node(&self, index: u32) -> &Node {
        &self.nodes[index as usize]
    }

    /// What an object holds.
    pub fn references(&self, index: u32) -> &[u32] {
        let at = index as usize;
        let end = self.nodes.get(at + 1).map(|next| next.first_reference);
        &self.references[self.nodes[at].first_reference..end.unwrap_or(self.references.len())]
    }

    /// The roots.
    pub fn roots(&self) -> Vec<u32> {
        // Their address is 0, so that they are first.
        let count = self.nodes.partition_point(|node| node.address == 0);
        (0..count as u32).collect()
    }

    /// Whether a root is the stack of the thread that dumped.
    pub fn is_stack(&self, root: u32) -> bool {
        self.text(self.node(root).label) == STACK
    }

    /// Whether it is a part of compiled code, such as a method or one of its caches, and no object that code made.
    pub fn is_code(&self, index: u32) -> bool {
        let node = self.node(index);
        self.text(node.kind) == "IMEMO" && CODE.contains(&self.text(node.label))
    }

    pub fn is_root(&self, index: u32) -> bool {
        self.node(index).address == 0
    }

    /// Whether it is a class or a module with a name.
    pub fn is_named_module(&self, index: u32) -> bool {
        self.is_module(index) && self.node(index).label != 0
    }

    /// Whether paths are shown from here on: it is a root, or a class or a module with a name.
    pub fn begins_way(&self, index: u32) -> bool {
        self.is_root(index) || self.is_named_module(index)
    }

    pub fn is_module(&self, index: u32) -> bool {
        matches!(self.text(self.node(index).kind), "CLASS" | "MODULE")
    }

    /// What is alike in objects of a class, and in those that Ruby keeps for itself.
    pub fn kind_of(&self, index: u32) -> (u32, u64, u32) {
        let node = self.node(index);
        match self.is_module(index) {
            true => (node.kind, 0, 0),
            false => (node.kind, node.class, node.label),
        }
    }

    /// Where it was made; `None` where no line of Ruby code was running.
    pub fn made_at(&self, index: u32) -> Option<Line<'_>> {
        let site = self.sites[self.node(index).site as usize];
        (site.file != 0).then(|| (self.text(site.file), site.line))
    }

    /// What it is: its class, or of a class its own name.
    pub fn what(&self, index: u32) -> String {
        let node = self.node(index);
        let own = self.text(node.label);
        match self.text(node.kind) {
            "ROOT" => format!("root {own}"),
            "CLASS" | "MODULE" if own.is_empty() => "a class without a name".to_owned(),
            "CLASS" | "MODULE" => own.to_owned(),
            "IMEMO" => match own {
                "env" => "variables of a block".to_owned(),
                own => format!("Ruby's {own}"),
            },
            kind => self
                .class_of(node)
                .map_or_else(|| kind.to_owned(), str::to_owned),
        }
    }

    fn class_of(&self, node: &Node) -> Option<&str> {
        let mut class = node.class;
        // A singleton class has no name; a damaged dump may have a circle.
        for _ in 0..64 {
            let found = self.nodes.binary_search_by_key(&class, |node| node.address);
            let label = found.map(|at| self.nodes[at].label).unwrap_or_default();
            if class != 0 && label != 0 {
                return Some(self.text(label));
            }
            class = *self.superclasses.get(&class)?;
        }
        None
    }

    fn text(&self, number: u32) -> &str {
        self.strings.text(number)
    }
}

#[derive(Default)]
struct Reading {
    nodes: Vec<Node>,
    references: Vec<u64>,
    sites: HashMap<Site, u32>,
    strings: Strings,
    superclasses: HashMap<u64, u64>,
}

impl Reading {
    fn take(&mut self, line: Object<'_>) -> Result<(), Wrong> {
        // Shapes have addresses, and are no objects. Address 0 is kept for roots.
        if line.kind == "SHAPE" || (line.kind == "ROOT") != (line.address.0 == 0) {
            return Ok(());
        }
        if self.nodes.len() == MOST_OBJECTS {
            return Err(too_large(MOST_OBJECTS, "objects"));
        }
        if self.references.len() + line.references.len() > MOST_REFERENCES {
            return Err(too_large(MOST_REFERENCES, "references"));
        }
        let own = [&line.name, &line.root, &line.of_c, &line.imemo_type];
        let own = own.into_iter().flatten().next();
        let site = Site {
            file: self.strings.number(line.file.as_deref().unwrap_or("")),
            line: line.line,
        };
        let count = self.sites.len() as u32;
        if line.superclass.0 != 0 {
            self.superclasses.insert(line.address.0, line.superclass.0);
        }
        self.nodes.push(Node {
            address: line.address.0,
            class: line.class.0,
            kind: self.strings.number(&line.kind),
            label: own.map_or(0, |own| self.strings.number(own)),
            elements: line
                .length
                .or(line.size)
                .or(line.bytesize)
                .map_or(0, |count| u32::try_from(count).unwrap_or(u32::MAX)),
            site: *self.sites.entry(site).or_insert(count),
            made_in: line.generation,
            bytes: line.memsize.min(MOST_BYTES),
            first_reference: self.references.len(),
        });
        self.references
            .extend(line.references.iter().map(|held| held.0));
        Ok(())
    }

    fn finish(mut self) -> Dump {
        let ends: Vec<usize> = (self.nodes.iter().skip(1).map(|node| node.first_reference))
            .chain([self.references.len()])
            .collect();
        let mut order: Vec<u32> = (0..self.nodes.len() as u32).collect();
        order.sort_by_key(|at| self.nodes[*at as usize].address);
        let addresses: Vec<u64> = order
            .iter()
            .map(|at| self.nodes[*at as usize].address)
            .collect();
        let mut references = Vec::with_capacity(self.references.len());
        let mut nodes = Vec::with_capacity(order.len());
        for at in order {
            let node = &mut self.nodes[at as usize];
            let held = &self.references[node.first_reference..ends[at as usize]];
            node.first_reference = references.len();
            nodes.push(*node);
            let known = held
                .iter()
                .filter(|held| **held != 0)
                .filter_map(|held| addresses.binary_search(held).ok());
            references.extend(known.map(|at| at as u32));
        }
        let mut sites: Vec<(Site, u32)> = self.sites.into_iter().collect();
        sites.sort_by_key(|(_, number)| *number);
        Dump {
            nodes,
            references,
            sites: sites.into_iter().map(|(site, _)| site).collect(),
            strings: self.strings,
            superclasses: self.superclasses,
        }
    }
}

fn too_large(most: usize, what: &'static str) -> Wrong {
    Wrong::Heap(HeapError::TooLarge { most, what })
}
