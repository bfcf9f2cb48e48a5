//! What of it is on the screen, and what keys change.

use crate::detail::{Detail, Part};
use crate::seen::Seen;
use crate::subject::Subject;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// What the rows of the first screen's table are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tab {
    #[default]
    Processes,
    Endpoints,
}

impl Tab {
    pub(crate) fn next(self) -> Self {
        match self {
            Self::Processes => Self::Endpoints,
            Self::Endpoints => Self::Processes,
        }
    }
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
    /// One process or endpoint in detail.
    pub(crate) detail: Option<Detail>,
    pub colour: bool,
    /// Where the files are.
    pub source: String,
    /// Why the last reading failed.
    pub problem: Option<String>,
}

impl View {
    /// Shows one process or endpoint in detail.
    pub fn open(&mut self, subject: Subject) {
        self.detail = Some(Detail::of(subject));
    }

    /// What is shown in detail.
    #[must_use]
    pub fn subject(&self) -> Option<&Subject> {
        self.detail.as_ref().map(|detail| &detail.subject)
    }

    /// Takes a key.
    pub fn key(&mut self, key: KeyEvent, seen: &Seen) -> Action {
        if key.kind == KeyEventKind::Release {
            return Action::Nothing;
        }
        let rows = self.rows(seen);
        let selected = match &mut self.detail {
            Some(detail) => detail.selected(),
            None => &mut self.selected,
        };
        // The row that is shown as selected, where the table has become shorter.
        *selected = (*selected).min(rows.saturating_sub(1));
        match key.code {
            KeyCode::Char('q') => return Action::End,
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                return Action::End;
            }
            KeyCode::Esc | KeyCode::Backspace => return self.back(key.code),
            KeyCode::Enter => return self.enter(seen),
            KeyCode::Tab | KeyCode::Right => self.turn(true),
            KeyCode::BackTab | KeyCode::Left => self.turn(false),
            KeyCode::Down => *selected = (*selected + 1).min(rows.saturating_sub(1)),
            KeyCode::Up => *selected = selected.saturating_sub(1),
            KeyCode::Home => *selected = 0,
            KeyCode::End => *selected = rows.saturating_sub(1),
            _ => return Action::Nothing,
        }
        Action::Draw
    }

    fn rows(&self, seen: &Seen) -> usize {
        match &self.detail {
            Some(detail) => detail.rows(seen),
            None => seen.window.as_ref().map_or(0, |window| match self.tab {
                Tab::Processes => window.processes.len(),
                Tab::Endpoints => window.endpoints.len(),
            }),
        }
    }

    fn turn(&mut self, forward: bool) {
        match &mut self.detail {
            Some(detail) => detail.turn(forward),
            None => {
                self.tab = self.tab.next();
                self.selected = 0;
            }
        }
    }

    /// One screen back; from the first one `Esc` ends.
    fn back(&mut self, key: KeyCode) -> Action {
        match &mut self.detail {
            Some(detail) => {
                if detail.course.take().is_none() {
                    self.detail = None;
                }
                Action::Draw
            }
            None if key == KeyCode::Esc => Action::End,
            None => Action::Nothing,
        }
    }

    /// Opens the row that is selected.
    fn enter(&mut self, seen: &Seen) -> Action {
        let subject = match &mut self.detail {
            Some(detail) if detail.part == Part::Slowest => {
                return match detail.open_course(seen) {
                    true => Action::Draw,
                    false => Action::Nothing,
                };
            }
            Some(detail) => detail.other(seen),
            None => seen.window.as_ref().and_then(|window| match self.tab {
                Tab::Processes => {
                    let row = window.processes.get(self.selected)?;
                    Some(Subject::Process(row.process.id))
                }
                Tab::Endpoints => {
                    let row = window.endpoints.get(self.selected)?;
                    Some(Subject::Endpoint(row.name.clone()))
                }
            }),
        };
        match subject {
            Some(subject) => {
                self.open(subject);
                Action::Draw
            }
            None => Action::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{process, reading, served};
    use std::time::Duration;

    fn press(view: &mut View, code: KeyCode, seen: &mut Seen) -> Action {
        let action = view.key(KeyEvent::new(code, KeyModifiers::NONE), seen);
        seen.look_at(view.subject());
        action
    }

    #[test]
    fn keys_of_the_first_screen() {
        let (mut view, mut seen) = (View::default(), Seen::default());
        let control = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(view.key(control, &seen), Action::End);
        let mut press = |code| press(&mut view, code, &mut seen);
        assert_eq!(press(KeyCode::Char('q')), Action::End);
        assert_eq!(press(KeyCode::Esc), Action::End);
        assert_eq!(press(KeyCode::Char('c')), Action::Nothing);
        assert_eq!(press(KeyCode::Enter), Action::Nothing);
        assert_eq!(press(KeyCode::Tab), Action::Draw);
        assert_eq!(press(KeyCode::Down), Action::Draw);
        assert_eq!((view.tab, view.selected), (Tab::Endpoints, 0));
    }

    #[test]
    fn enter_opens_a_row_and_esc_goes_back() {
        let mut seen = Seen::new(Duration::from_secs(5));
        seen.push(reading(0, vec![process(1, 0, &[]), process(2, 1, &[])]));
        let busy = process(2, 1, &[("a", served(9, 1, 1))]);
        seen.push(reading(5, vec![process(1, 0, &[]), busy]));
        let mut view = View::default();
        let mut go = |codes: &[KeyCode]| {
            for code in codes {
                assert_eq!(press(&mut view, *code, &mut seen), Action::Draw, "{code:?}");
            }
            view.subject().cloned()
        };
        let second = process(2, 1, &[]).id;
        let opened = go(&[KeyCode::Down, KeyCode::Enter]);
        assert_eq!(opened, Some(Subject::Process(second)));
        // From the minutes to the endpoints of the process, and from there to one of them.
        let opened = go(&[KeyCode::Tab, KeyCode::Enter]);
        assert_eq!(opened, Some(Subject::Endpoint("a".to_owned())));
        assert_eq!(go(&[KeyCode::Esc]), None);
        let opened = go(&[KeyCode::Tab, KeyCode::Enter]);
        assert_eq!(opened, Some(Subject::Endpoint("a".to_owned())));
        assert_eq!(
            press(&mut view, KeyCode::Backspace, &mut seen),
            Action::Draw
        );
        assert_eq!(
            press(&mut view, KeyCode::Backspace, &mut seen),
            Action::Nothing
        );
    }
}
