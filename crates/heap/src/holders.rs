//! Which object holds which: a tree of shortest paths from the roots of the heap.

use crate::dump::Dump;
use std::iter;

/// Not reached from any root.
const NONE: u32 = u32::MAX;

/// The tree.
#[derive(Debug)]
pub struct Holders {
    holder: Vec<u32>,
    /// Objects, each after its holder.
    order: Vec<u32>,
}

impl Holders {
    /// Finds a path to each object. Code and the stack hold much by the way: paths through them count where there is no other.
    pub fn of(dump: &Dump) -> Holders {
        let mut tree = Holders {
            holder: vec![NONE; dump.len()],
            order: Vec::with_capacity(dump.len()),
        };
        let (stack, roots): (Vec<u32>, Vec<u32>) = dump
            .roots()
            .into_iter()
            .partition(|root| dump.is_stack(*root));
        let mut walked = 0;
        roots.into_iter().for_each(|root| tree.reach(root, root));
        let mut code = Vec::new();
        tree.walk(dump, &mut walked, |object| {
            let waits = dump.is_code(object);
            code.extend(waits.then_some(object));
            !waits
        });
        code.into_iter().for_each(|object| tree.hold(dump, object));
        tree.walk(dump, &mut walked, |_| true);
        stack.into_iter().for_each(|root| tree.reach(root, root));
        tree.walk(dump, &mut walked, |_| true);
        tree
    }

    /// On from what is reached, through those that `goes_on` lets pass.
    fn walk(&mut self, dump: &Dump, walked: &mut usize, mut goes_on: impl FnMut(u32) -> bool) {
        while let Some(object) = self.order.get(*walked).copied() {
            *walked += 1;
            if goes_on(object) {
                self.hold(dump, object);
            }
        }
    }

    fn hold(&mut self, dump: &Dump, holder: u32) {
        for held in dump.references(holder) {
            self.reach(*held, holder);
        }
    }

    fn reach(&mut self, held: u32, holder: u32) {
        let place = &mut self.holder[held as usize];
        if *place == NONE {
            *place = holder;
            self.order.push(held);
        }
    }

    /// Objects that are reached, each after its holder.
    pub fn in_order(&self) -> &[u32] {
        &self.order
    }

    /// What holds an object; a root holds itself.
    pub fn holder(&self, object: u32) -> u32 {
        self.holder[object as usize]
    }

    /// The way up from an object, itself first, to the nearest class or module with a name, else to a root.
    pub fn way(&self, dump: &Dump, from: u32) -> impl Iterator<Item = u32> {
        iter::successors(Some(from), |object| {
            (!dump.begins_way(*object)).then(|| self.holder(*object))
        })
    }
}
