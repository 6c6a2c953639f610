use super::*;
use kadenz::msg::service::types_on_wire::KnownTypes;
use kadenz::msg::watch::{ChannelFigures, ReceivedMessage, WatchOptions, Watcher};
use kadenz::rt::clock::MonotonicTime;

fn figures(names: &[&str]) -> Vec<ChannelFigures> {
    let mut watcher = Watcher::new(WatchOptions::default());
    let at = MonotonicTime::from_ns(1);
    for name in names {
        watcher.add(&ReceivedMessage::at(at, Channel::new(name).unwrap(), 8));
    }
    watcher.figures(at)
}

fn heard(names: &[&str]) -> Vec<HeardChannel> {
    rows(&figures(names))
}

fn rows(figures: &[ChannelFigures]) -> Vec<HeardChannel> {
    HeardChannel::all(figures, &KnownTypes::default(), "memq://")
}

fn draw(view: &mut View, names: &[&str], rows: usize) -> Vec<ScreenLine> {
    let heard = heard(names);
    let text = table_of(&heard, 60);
    view.draw_table(&heard, &text, "head", None, (60, rows))
}

fn chosen(lines: &[ScreenLine]) -> Vec<&str> {
    let chosen = lines.iter().filter(|it| it.is_chosen);
    chosen
        .filter_map(|it| it.text.split_whitespace().next())
        .collect()
}

#[test]
fn arrows_choose_a_channel_and_no_further() {
    let mut view = View::default();
    let names = ["A", "B", "C"];
    assert_eq!(chosen(&draw(&mut view, &names, 24)), ["A"]);
    view.press(Key::Up);
    assert_eq!(chosen(&draw(&mut view, &names, 24)), ["A"]);
    for _ in 0..9 {
        view.press(Key::Down);
    }
    assert_eq!(chosen(&draw(&mut view, &names, 24)), ["C"]);
}

#[test]
fn the_choice_stays_with_its_channel_when_others_appear() {
    let mut view = View::default();
    draw(&mut view, &["B", "C"], 24);
    view.press(Key::Down);
    assert_eq!(chosen(&draw(&mut view, &["A", "B", "C"], 24)), ["C"]);
    view.press(Key::Enter);
    assert_eq!(view.looked_at(), Channel::new("C").ok());
    view.press(Key::Back);
    assert_eq!(view.looked_at(), None);
}

#[test]
fn the_chosen_row_is_on_a_screen_that_is_too_small_for_all() {
    let mut view = View::default();
    let names: Vec<String> = (10..60).map(|at| format!("CHANNEL_{at}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    draw(&mut view, &names, 8);
    view.press(Key::PageDown);
    view.press(Key::PageDown);
    let lines = draw(&mut view, &names, 8);
    assert_eq!(chosen(&lines), ["CHANNEL_30"]);
    assert_eq!(lines.len(), 8);
    assert!(lines.iter().all(|it| it.text.chars().count() <= 60));
}

#[test]
fn a_name_cannot_steer_the_terminal() {
    let text = table_of(&heard(&["\u{1b}[2J\u{9b}x"]), 200);
    assert!(
        !text.contains('\u{1b}') && !text.contains('\u{9b}'),
        "{text}"
    );
}

#[test]
fn a_narrow_terminal_drops_the_least_important_columns() {
    let heard = heard(&["FEEDBACK_OF_AN_ARM"]);
    let head = |width: usize| {
        let text = table_of(&heard, width);
        assert!(width < 20 || text.lines().all(|line| line.chars().count() <= width));
        text.lines().next().unwrap().to_owned()
    };
    assert!(head(200).contains("Last s"));
    assert!(!head(80).contains("Last s") && head(80).contains("Bandwidth"));
    assert!(!head(40).contains("Type") && head(40).contains("Hz"));
    assert!(head(1).contains("Channel"));
}

#[test]
fn keys_filter_sort_and_pause() {
    let mut view = View::default();
    let shown = |view: &View| -> Vec<String> {
        let mut all = heard(&["ARM", "LEG", "LEG_2"]);
        let shown = view.arrange(&mut all);
        shown.iter().map(|it| it.channel.to_string()).collect()
    };
    assert_eq!(shown(&view), ["ARM", "LEG", "LEG_2"]);
    for character in "/leg".chars() {
        view.press(Key::Character(character));
    }
    view.press(Key::Enter);
    assert_eq!(shown(&view), ["LEG", "LEG_2"]);
    assert!(
        draw(&mut view, &["LEG"], 24)
            .last()
            .unwrap()
            .text
            .contains("leg")
    );
    view.press(Key::Back);
    assert_eq!(shown(&view).len(), 3);
    view.press(Key::Character('p'));
    assert!(view.is_paused());
    view.press(Key::Character(' '));
    assert!(!view.is_paused());
    view.press(Key::Character('?'));
    let help = draw(&mut view, &["LEG"], 24);
    assert!(help.iter().any(|line| line.text.contains("sort by name")));
    assert_eq!(view.press(Key::Character('q')), Action::Quit);
}

#[test]
fn channels_are_sorted_by_what_is_large() {
    let mut watcher = Watcher::new(WatchOptions::default());
    for ms in 0..40_u64 {
        let at = MonotonicTime::from_ns(1 + ms * 1_000_000);
        let names: &[&str] = if ms % 4 == 0 { &["A", "B"] } else { &["B"] };
        for name in names {
            let bytes = if *name == "A" { 1000 } else { 8 };
            watcher.add(&ReceivedMessage::at(at, Channel::new(name).unwrap(), bytes));
        }
    }
    let figures = watcher.figures(MonotonicTime::from_ns(40_000_000));
    // One list for all sort orders, as during a pause.
    let mut all = rows(&figures);
    let mut view = View::default();
    let mut first = || {
        let first = view.arrange(&mut all)[0].channel;
        view.press(Key::Character('s'));
        first.as_str().to_owned()
    };
    assert_eq!([first(), first(), first()], ["A", "B", "A"]);
    assert_eq!(
        [first(), first()],
        ["A", "A"],
        "without a loss by name again"
    );
    for character in "/b".chars() {
        view.press(Key::Character(character));
    }
    assert_eq!(view.arrange(&mut all).len(), 1);
    view.press(Key::Back);
    assert_eq!(view.arrange(&mut all).len(), 2);
}

#[test]
fn nothing_is_chosen_before_something_is_heard() {
    let mut view = View::default();
    draw(&mut view, &[], 24);
    view.press(Key::Enter);
    assert_eq!(view.looked_at(), None);
    assert_eq!(view.press(Key::Quit), Action::Quit);
}
