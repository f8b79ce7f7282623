//! Content and lifetime of the compile cache.

use std::fs;

use super::*;

/// Files that are kept, however deep.
fn kept(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => found.extend(kept(&path)),
            path => found.push(path),
        }
    }
    found
}

async fn run_to_its_end(command: &CommandSpec) -> Outcome {
    started(command, b"{}", &Limits::with_timeout(BOUNDED)).await
}

#[tokio::test]
async fn what_was_compiled_is_used_and_deleted_in_the_end() {
    for node in nodes() {
        let directory = directory();
        let file = directory.file("check.js", "console.log(require('mean').mean([1, 2]))");
        let Ok((_, cached)) = commands(&node, &file) else { continue };
        let home = cached.needs.parent().unwrap().to_owned();
        assert_eq!(run_to_its_end(&cached.command).await.ending, Ending::Exited(0));
        assert!(kept(&home).len() >= 3, "{:?}", kept(&home));
        let tells = cached.command.clone().env("NODE_DEBUG_NATIVE", "COMPILE_CACHE");
        let said = run_to_its_end(&tells).await.stderr.text();
        assert!(said.contains("mean.js was accepted"), "{said}");
        drop(cached);
        assert!(!home.exists());
    }
}

#[tokio::test]
async fn what_is_kept_is_of_this_content_only() {
    for node in nodes() {
        let directory = directory();
        let file = directory.file("check.js", "console.log('one')");
        let Ok((_, cached)) = commands(&node, &file) else { continue };
        for word in ["one", "one", "two", "two", "six"] {
            directory.file("check.js", format!("console.log('{word}')"));
            let outcome = run_to_its_end(&cached.command).await;
            assert_eq!(outcome.stdout.head(), format!("{word}\n").as_bytes());
        }
        // A damaged entry is compiled again.
        for file in kept(cached.needs.parent().unwrap()) {
            if file != cached.needs {
                fs::write(file, "nonsense").unwrap();
            }
        }
        let outcome = run_to_its_end(&cached.command).await;
        assert_eq!((outcome.stdout.head(), outcome.stderr.text().as_str()), (&b"six\n"[..], ""));
    }
}

#[tokio::test]
async fn where_nothing_can_be_kept_nothing_else_changes() {
    for node in nodes() {
        let directory = directory();
        let file = directory.file("check.js", "console.log(require('mean').mean([1, 2]))");
        let Ok((plain, cached)) = commands(&node, &file) else { continue };
        // A file has the path of the directory.
        fs::write(cached.needs.with_file_name("kept"), "").unwrap();
        assert_eq!(
            seen(&run_to_its_end(&cached.command).await),
            seen(&run_to_its_end(&plain).await)
        );
    }
}

#[tokio::test]
async fn processes_at_the_same_time_do_not_disturb_each_other() {
    for node in nodes() {
        let directory = directory();
        let long: String = (0..2000).map(|n| format!("exports.f{n} = () => {n};\n")).collect();
        directory.file("long.js", long);
        let file = directory
            .file("check.js", "console.log(require('./long').f7() + require('mean').mean([1]))");
        let Ok((_, cached)) = commands(&node, &file) else { continue };
        for _ in 0..3 {
            let command = &cached.command;
            let (a, b, c, d) = tokio::join!(
                run_to_its_end(command),
                run_to_its_end(command),
                run_to_its_end(command),
                run_to_its_end(command)
            );
            for outcome in [a, b, c, d] {
                assert_eq!(outcome.stdout.head(), b"8\n", "{}", outcome.stderr.text());
            }
        }
    }
}

#[tokio::test]
async fn one_that_is_late_is_timed_out_like_any_other() {
    for node in nodes() {
        let directory = directory();
        let file = directory
            .file("check.js", "require('mean'); console.log(1); setInterval(() => {}, 1000)");
        let Ok((plain, cached)) = commands(&node, &file) else { continue };
        let limits = Limits::with_timeout(Duration::from_secs(2));
        let both = [&plain, &cached.command].map(|command| started(command, b"", &limits));
        let [plain, cached] = both;
        let (plain, cached) = tokio::join!(plain, cached);
        assert_eq!(seen(&cached), seen(&plain));
        assert!(matches!(cached.ending, Ending::TimedOut { .. }), "{cached:?}");
    }
}
