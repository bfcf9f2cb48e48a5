//! Which module of a crate uses which, from its source. Tests inside of a module are left out: they may use anything.
//!
//! A use counts between siblings: where `a::x` uses `b::y`, module `a` uses module `b`. A parent and its child belong together.

use crate::circles::Graph;
use proc_macro2::{TokenStream, TokenTree};
use std::collections::BTreeSet;
use std::path::Path;
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, Meta, UseTree};

type Module = Vec<String>;

/// The graph of the crate's modules, each by its path.
pub fn of_crate(source: &Path) -> Graph {
    let mut files = Vec::new();
    read(source, &Vec::new(), &mut files);
    let modules: BTreeSet<Module> = files.iter().map(|(module, _)| module.clone()).collect();
    let mut graph = Graph::new();
    for (module, file) in &files {
        let mut seen = Uses {
            module,
            paths: Vec::new(),
        };
        seen.visit_file(file);
        for path in seen.paths {
            if let Some((from, to)) = siblings(module, &longest(&modules, path)) {
                graph.entry(to.clone()).or_default();
                graph.entry(from).or_default().insert(to);
            }
        }
    }
    graph
}

/// The files of a folder that is module `of`. `tests.rs` and folders of tests are no part of it.
fn read(folder: &Path, of: &Module, into: &mut Vec<(Module, syn::File)>) {
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let child: Module = match name.as_str() {
            "lib" | "main" | "mod" => of.clone(),
            "tests" | "bin" => continue,
            _ => of.iter().cloned().chain([name]).collect(),
        };
        if path.is_dir() {
            read(&path, &child, into);
        } else if path.extension().is_some_and(|it| it == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let file = syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            into.push((child, file));
        }
    }
}

/// The module that a path leads into.
fn longest(modules: &BTreeSet<Module>, mut path: Module) -> Module {
    while !path.is_empty() && !modules.contains(&path) {
        path.pop();
    }
    path
}

/// The two siblings by which one module depends on another, if they are not one in the other.
fn siblings(from: &Module, to: &Module) -> Option<(String, String)> {
    let common = from.iter().zip(to).take_while(|(a, b)| a == b).count();
    let inside = from.len() > common && to.len() > common;
    inside.then(|| (from[..=common].join("::"), to[..=common].join("::")))
}

struct Uses<'a> {
    module: &'a Module,
    /// From the crate's root.
    paths: Vec<Module>,
}

impl Uses<'_> {
    fn note(&mut self, segments: &[String]) {
        let ups = segments.iter().take_while(|one| *one == "super").count();
        let base: &[String] = match segments.first().map(String::as_str) {
            Some("crate") => &[],
            Some("self") => self.module,
            Some("super") => &self.module[..self.module.len().saturating_sub(ups)],
            _ => return,
        };
        let rest = &segments[ups.max(1)..];
        self.paths.push(base.iter().chain(rest).cloned().collect());
    }

    fn note_tree(&mut self, tree: &UseTree, before: &mut Vec<String>) {
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.note_tree(&path.tree, before);
                before.pop();
            }
            UseTree::Group(group) => group
                .items
                .iter()
                .for_each(|one| self.note_tree(one, before)),
            UseTree::Name(syn::UseName { ident })
            | UseTree::Rename(syn::UseRename { ident, .. }) => {
                before.push(ident.to_string());
                self.note(before);
                before.pop();
            }
            UseTree::Glob(_) => self.note(before),
        }
    }

    /// Macros have tokens alone.
    fn note_tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => path.push(ident.to_string()),
                TokenTree::Punct(mark) if mark.as_char() == ':' => {}
                TokenTree::Group(group) => {
                    self.note(&std::mem::take(&mut path));
                    self.note_tokens(group.stream());
                }
                _ => self.note(&std::mem::take(&mut path)),
            }
        }
        self.note(&path);
    }
}

impl<'ast> Visit<'ast> for Uses<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Mod(it) => &it.attrs,
            Item::Fn(it) => &it.attrs,
            Item::Use(it) => &it.attrs,
            Item::Impl(it) => &it.attrs,
            _ => return visit::visit_item(self, item),
        };
        if !attributes.iter().any(is_for_tests) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        assert!(
            module.content.is_none(),
            "module {} of {:?} has no file",
            module.ident,
            self.module
        );
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.note_tree(&item.tree, &mut Vec::new());
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path
            .segments
            .iter()
            .map(|one| one.ident.to_string())
            .collect();
        self.note(&segments);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.note_tokens(call.tokens.clone());
        visit::visit_macro(self, call);
    }
}

fn is_for_tests(attribute: &Attribute) -> bool {
    match &attribute.meta {
        Meta::List(list) if list.path.is_ident("cfg") => list.tokens.to_string().contains("test"),
        Meta::Path(path) => path.is_ident("test"),
        _ => false,
    }
}
