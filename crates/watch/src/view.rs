//! What of a window is on the screen, and what keys change.

use crate::window::Window;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// What the rows of the table are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tab {
    #[default]
    Processes,
    Endpoints,
}

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Draw again.
    Draw,
    End,
    Nothing,
}

/// The state of the screen.
#[derive(Debug, Clone, Default)]
pub struct View {
    pub tab: Tab,
    pub selected: usize,
    pub colour: bool,
    /// Where the files are.
    pub source: String,
    /// Why the last reading failed.
    pub problem: Option<String>,
}

impl View {
    /// Takes a key.
    pub fn key(&mut self, key: KeyEvent, window: Option<&Window>) -> Action {
        if key.kind == KeyEventKind::Release {
            return Action::Nothing;
        }
        let rows = window.map_or(0, |window| match self.tab {
            Tab::Processes => window.processes.len(),
            Tab::Endpoints => window.endpoints.len(),
        });
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => return Action::End,
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                return Action::End;
            }
            KeyCode::Tab | KeyCode::BackTab | KeyCode::Left | KeyCode::Right => {
                self.tab = match self.tab {
                    Tab::Processes => Tab::Endpoints,
                    Tab::Endpoints => Tab::Processes,
                };
                self.selected = 0;
            }
            KeyCode::Down => self.selected = (self.selected + 1).min(rows.saturating_sub(1)),
            KeyCode::Up => self.selected = self.selected.saturating_sub(1),
            KeyCode::Home => self.selected = 0,
            KeyCode::End => self.selected = rows.saturating_sub(1),
            _ => return Action::Nothing,
        }
        Action::Draw
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys() {
        let mut view = View::default();
        let mut press = |code, modifiers| view.key(KeyEvent::new(code, modifiers), None);
        let none = KeyModifiers::NONE;
        assert_eq!(press(KeyCode::Char('q'), none), Action::End);
        assert_eq!(
            press(KeyCode::Char('c'), KeyModifiers::CONTROL),
            Action::End
        );
        assert_eq!(press(KeyCode::Char('c'), none), Action::Nothing);
        assert_eq!(press(KeyCode::Tab, none), Action::Draw);
        assert_eq!(press(KeyCode::Down, none), Action::Draw);
        assert_eq!((view.tab, view.selected), (Tab::Endpoints, 0));
    }
}
