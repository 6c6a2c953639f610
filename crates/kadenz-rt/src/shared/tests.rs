use super::*;

fn name(of: &str) -> String {
    format!("kadenz-test-{of}-{}", std::process::id())
}

#[test]
fn viewers_see_what_the_owner_writes_and_that_it_is_gone() {
    let name = name("sees");
    let owner = Owner::create(&name, 100).unwrap();
    let viewer = Viewer::open(&name).unwrap();
    assert_eq!(
        (viewer.count(), viewer.load(99, Ordering::Acquire)),
        (100, 0)
    );
    owner.words()[99].store(7, Ordering::Release);
    assert_eq!(viewer.load(99, Ordering::Acquire), 7);
    assert!(viewer.owner_lives() && viewer.owner_lives());
    drop(owner);
    assert!(!viewer.owner_lives());
    assert_eq!(
        viewer.load(99, Ordering::Acquire),
        7,
        "the memory stays as long as one looks"
    );
    assert!(matches!(Viewer::open(&name), Err(SharedError::Absent(_))));
}

#[test]
fn memory_for_which_there_is_no_room_is_refused() {
    let file = tempfile::tempfile_in(path_of("room").unwrap().parent().unwrap()).unwrap();
    allocate(&file, 4096).unwrap();
    assert_eq!(file.metadata().unwrap().len(), 4096);
    allocate(&file, 1 << 50).unwrap_err();
}

#[test]
fn a_name_has_one_owner() {
    let name = name("one");
    let first = Owner::create(&name, 1).unwrap();
    assert!(matches!(
        Owner::create(&name, 1),
        Err(SharedError::InUse(_))
    ));
    drop(first);
    Owner::create(&name, 1).unwrap();
}

#[test]
fn what_a_killed_owner_left_is_taken_over_and_its_viewers_keep_what_they_have() {
    let name = name("left");
    let path = path_of(&name).unwrap();
    std::fs::write(&path, [1_u8; 16]).unwrap();
    let old = Viewer::open(&name).unwrap();
    assert!(!old.owner_lives());
    let owner = Owner::create(&name, 4).unwrap();
    assert_eq!(owner.words()[0].load(Ordering::Relaxed), 0);
    assert_eq!(old.load(1, Ordering::Relaxed), u64::from_ne_bytes([1; 8]));
}

#[test]
fn a_file_that_replaced_an_abandoned_one_is_not_removed() {
    let name = name("replaced");
    let path = path_of(&name).unwrap();
    std::fs::write(&path, [1; 8]).unwrap();
    // As another process does that is faster.
    let replaced: fn(&File) -> io::Result<bool> = |file| {
        let path = path_of(&self::name("replaced")).unwrap();
        std::fs::remove_file(&path)?;
        std::fs::write(path, [2; 8])?;
        try_lock(file)
    };
    remove_abandoned(&path, &name, replaced).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), [2; 8]);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn viewers_that_look_whether_the_owner_lives_keep_no_new_owner_out() {
    let name = name("looked-at");
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let _ = Viewer::open(&name).map(|viewer| viewer.owner_lives());
            }
        });
        for _ in 0..300 {
            // As a killed owner leaves it.
            std::fs::write(path_of(&name).unwrap(), [1; 8]).unwrap();
            let made = Owner::create(&name, 1);
            is_over.fetch_or(made.is_err(), Ordering::Relaxed);
            drop(made.unwrap());
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_viewer_whose_check_takes_long_keeps_no_new_owner_out() {
    let name = name("long-check");
    // As a killed owner leaves it.
    let path = path_of(&name).unwrap();
    std::fs::write(&path, [1; 8]).unwrap();
    let check = File::open(&path).unwrap();
    assert!(try_lock_shared(&check).unwrap());
    std::thread::scope(|scope| {
        let owner = scope.spawn(|| Owner::create(&name, 1));
        std::thread::sleep(Duration::from_millis(200));
        drop(check);
        owner.join().unwrap().unwrap();
    });
}

#[test]
fn an_owner_has_ended_although_a_child_process_still_holds_its_file() {
    let name = name("held");
    let owner = Owner::create(&name, 1).unwrap();
    let viewer = Viewer::open(&name).unwrap();
    // A process that was just forked shares the open file.
    let held_by_child = owner.file.try_clone().unwrap();
    drop(owner);
    assert!(!viewer.owner_lives());
    drop(held_by_child);
}

#[test]
fn what_another_made_of_the_name_is_neither_waited_for_nor_followed() {
    let name = name("squatted");
    let path = path_of(&name).unwrap();
    let target = tempfile::tempdir().unwrap();
    let nowhere = target.path().join("nowhere");
    let fifo = || {
        let mut make = std::process::Command::new("mkfifo");
        assert!(make.arg(&path).status().unwrap().success());
    };
    let link = || std::os::unix::fs::symlink(&nowhere, &path).unwrap();
    for (squat, found) in [(&fifo as &dyn Fn(), "a FIFO"), (&link, "a symbolic link")] {
        squat();
        let mut touch = std::process::Command::new("touch");
        touch.args(["-h", "-d", "1 hour ago"]).arg(&path);
        assert!(touch.status().unwrap().success());
        assert_eq!(sweep(&name), 0, "{found} is not ours to remove");
        for error in [
            Owner::create(&name, 1).unwrap_err(),
            Viewer::open(&name).unwrap_err(),
        ] {
            let text = error.to_string();
            assert!(text.contains(found) && text.contains("remove it"), "{text}");
        }
        assert!(!nowhere.exists());
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn names_and_sizes_that_make_no_sense_are_refused() {
    for bad in ["", ".hidden", "a/b", "../x", "x y"] {
        assert!(
            matches!(Owner::create(bad, 1), Err(SharedError::Name(_))),
            "{bad}"
        );
    }
    assert!(matches!(
        Owner::create("kadenz-size", 0),
        Err(SharedError::Size(0))
    ));
    assert!(matches!(
        Owner::create("kadenz-size", usize::MAX),
        Err(SharedError::Size(_))
    ));
}

#[test]
#[should_panic(expected = "word 3 of 2")]
fn a_word_that_is_not_there_is_a_panic_and_no_foreign_memory() {
    let name = name("beyond");
    let _owner = Owner::create(&name, 2).unwrap();
    let _ = Viewer::open(&name).unwrap().load(3, Ordering::Relaxed);
}

#[test]
fn what_killed_owners_left_long_ago_is_swept_and_nothing_else() {
    let prefix = name("swept");
    let (old, young, owned) = (
        format!("{prefix}-old"),
        format!("{prefix}-young"),
        format!("{prefix}-owned"),
    );
    let owner = Owner::create(&owned, 1).unwrap();
    for left in [&old, &young] {
        std::fs::write(path_of(left).unwrap(), [0; 8]).unwrap();
    }
    for aged in [&old, &owned] {
        let mut touch = std::process::Command::new("touch");
        touch.args(["-d", "1 hour ago"]).arg(path_of(aged).unwrap());
        assert!(touch.status().unwrap().success());
    }
    assert_eq!(sweep(&prefix), 1);
    assert!(matches!(Viewer::open(&old), Err(SharedError::Absent(_))));
    assert!(Viewer::open(&young).is_ok() && Viewer::open(&owned).is_ok());
    std::fs::remove_file(path_of(&young).unwrap()).unwrap();
    drop(owner);
}

#[test]
fn bytes_are_copied_and_seen_where_they_lie() {
    let name = name("bytes");
    let mut owner = Owner::create(&name, 4).unwrap();
    owner.bytes_mut(9..12).copy_from_slice(b"abc");
    let viewer = Viewer::open(&name).unwrap();
    let mut copied = [0; 5];
    viewer.copy_to(8, &mut copied);
    assert_eq!(&copied, b"\0abc\0");
    assert_eq!(viewer.bytes(10..11)[0].load(Ordering::Relaxed), b'b');
    let beyond = std::panic::catch_unwind(|| viewer.copy_to(28, &mut [0; 5]));
    assert!(beyond.is_err());
}

#[test]
fn a_viewer_that_waits_for_a_word_is_woken() {
    let name = name("waits");
    let owner = Owner::create(&name, 2).unwrap();
    let viewer = Viewer::open(&name).unwrap();
    // No owner wakes the viewer: the wait ends by its span.
    viewer.wait(1, 0, Duration::from_millis(1));
    let waiting = std::thread::spawn(move || {
        while viewer.load(1, Ordering::Acquire) == 0 {
            viewer.wait(1, 0, Duration::from_secs(600));
        }
    });
    owner.words()[1].store(1, Ordering::Release);
    owner.wake(1);
    waiting.join().unwrap();
}

#[test]
fn a_wanted_name_is_listed_until_no_process_wants_it() {
    let name = name("wanted");
    let prefix = name.clone();
    assert_eq!(wanted(&prefix), Vec::<String>::new());
    let first = Wanted::say(&name).unwrap();
    let second = Wanted::say(&name).unwrap();
    assert_eq!(wanted(&prefix), std::slice::from_ref(&name));
    drop(first);
    assert_eq!(wanted(&prefix), std::slice::from_ref(&name));
    drop(second);
    assert_eq!(names(&prefix), Vec::<String>::new(), "nothing is left");
    assert_eq!(wanted(&prefix), Vec::<String>::new());
}
