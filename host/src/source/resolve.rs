//! Resolves references to files that may run, and moves pins.

use std::{
    collections::{BTreeMap, BTreeSet},
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
};

use super::{
    Cache, ContentHash, EvaluatorSource, Fetched, Pin, Pins, SourceError, Sources,
    cache::{Cached, Held, Known},
    model::sha256,
    reference::{Wanted, is_file_path, join},
};
use crate::{process::Cancellation, runtime::PrepareEvent};

/// A cached evaluator that may run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resolved {
    /// The file.
    pub path: PathBuf,
    /// Hash of all its files.
    pub hash: ContentHash,
    /// Files that a cache has to have for it.
    pub files: Vec<PathBuf>,
    /// Whether this resolution pinned the evaluator.
    pub newly_pinned: bool,
}

/// Settings of a resolution.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// Sources of the evaluators.
    pub sources: &'a Sources,
    /// Cache of the evaluators.
    pub cache: &'a Cache,
    /// Lock file; need not exist.
    pub lock_file: &'a Path,
    /// Whether evaluators without a pin are refused instead of pinned.
    pub locked: bool,
    /// Stops fetching.
    pub cancellation: &'a Cancellation,
}

/// Finds each evaluator in the cache or fetches it, and compares it with its pin; evaluators without a pin are pinned.
///
/// Returns one result for each, in their order. Fetches several at a time and blocks until all are done.
pub fn resolve(
    wanted: &[Wanted],
    context: Context<'_>,
    on_event: &mut dyn FnMut(PrepareEvent),
) -> Vec<Result<Resolved, SourceError>> {
    if wanted.is_empty() {
        return Vec::new();
    }
    let pins = match Pins::load(context.lock_file) {
        Ok(pins) => pins,
        Err(error) => return wanted.iter().map(|_| Err(error.clone())).collect(),
    };
    let distinct = distinct(wanted);
    let found = in_parallel(&distinct, on_event, |wanted, say| {
        Evaluator::new(wanted, context)?.resolve(pins.get(wanted), say)
    });
    let found = pin_new(found, &distinct, context);
    let found: BTreeMap<&Wanted, _> = distinct.into_iter().zip(found).collect();
    wanted.iter().map(|one| found[one].clone()).collect()
}

/// Returns the evaluators, sorted, each once.
fn distinct(wanted: &[Wanted]) -> Vec<&Wanted> {
    BTreeSet::from_iter(wanted).into_iter().collect()
}

/// A cached evaluator, and its new pin if it had none.
type Found = (Cached, Option<Pin>);

/// Writes the new pins at once, next to those that other processes have written in the meantime.
fn pin_new(
    found: Vec<Result<Found, SourceError>>,
    wanted: &[&Wanted],
    context: Context<'_>,
) -> Vec<Result<Resolved, SourceError>> {
    let resolved = |cached: Cached, newly_pinned| Resolved {
        files: cached.files(),
        path: cached.path,
        hash: cached.hash,
        newly_pinned,
    };
    let pinned = |pins: &mut Pins, one: &Wanted, found: Result<Found, SourceError>| {
        let (cached, pin) = found?;
        let Some(pin) = pin else { return Ok(resolved(cached, false)) };
        match pins.get(one) {
            Some(other) if other.hash != cached.hash => {
                return Err(mismatch(one, other, &cached.hash, "the one found here", context));
            }
            Some(_) => return Ok(resolved(cached, false)),
            None => pins.set(one.clone(), pin),
        }
        Ok(resolved(cached, true))
    };
    let has_new = found.iter().flatten().any(|(_, pin)| pin.is_some());
    let written = has_new.then(|| {
        change_pins(context, |pins| {
            let each = wanted.iter().zip(found.clone());
            each.map(|(one, found)| pinned(pins, one, found)).collect()
        })
    });
    match written {
        Some(Ok(resolved)) => resolved,
        failed => {
            let each = found.into_iter().map(|found| match (found?, &failed) {
                ((_, Some(_)), Some(Err(error))) => Err(error.clone()),
                ((cached, _), _) => Ok(resolved(cached, false)),
            });
            each.collect()
        }
    }
}

/// Changes the lock file under its lock.
fn change_pins<T>(
    context: Context<'_>,
    change: impl FnOnce(&mut Pins) -> T,
) -> Result<T, SourceError> {
    let failed = |error: std::io::Error| SourceError::disk("find", context.lock_file, &error);
    let file = std::path::absolute(context.lock_file).map_err(failed)?;
    let _lock = context.cache.lock_for(&file)?;
    let before = Pins::load(context.lock_file)?;
    let mut pins = before.clone();
    let result = change(&mut pins);
    if pins != before {
        pins.save(context.lock_file)?;
    }
    Ok(result)
}

/// Next step for an evaluator.
enum Decision {
    /// Run the cached evaluator.
    Use(Cached),
    /// Fetch it: the cache has none, or one from another origin.
    Fetch,
    /// Fetch it: the cached one is outdated, and the source may have the pinned one.
    Replace { outdated: SourceError },
}

/// An evaluator while it is resolved.
struct Evaluator<'a> {
    wanted: &'a Wanted,
    source: std::sync::Arc<dyn EvaluatorSource>,
    context: Context<'a>,
}

impl<'a> Evaluator<'a> {
    fn new(wanted: &'a Wanted, context: Context<'a>) -> Result<Self, SourceError> {
        Ok(Self { wanted, source: context.sources.get(&wanted.source)?, context })
    }

    fn resolve(&self, pin: Option<&Pin>, say: Say<'_>) -> Result<Found, SourceError> {
        if pin.is_none() && self.context.locked {
            return Err(SourceError::Pinned {
                reason: format!(
                    "{} is not pinned in {}, and --locked forbids new pins; run once without it, and keep the file",
                    self.wanted,
                    self.context.lock_file.display()
                ),
            });
        }
        if self.context.cache.is_complete {
            return self.look(pin);
        }
        if self.source.is_near() {
            return self.copy(pin);
        }
        let mut held = self.hold()?;
        let cached = held.read()?;
        match (self.decide(cached, pin, held.known())?, pin) {
            (Decision::Use(cached), pin) => {
                self.remember(&mut held, &cached)?;
                let origin = || held.known().and_then(|known| known.origin.clone());
                let new = pin.is_none().then(|| self.pin(&cached.hash, origin()));
                Ok((cached, new))
            }
            (Decision::Fetch, Some(pin)) => {
                let fetched = self.fetch(say)?;
                self.install_pinned(&mut held, &fetched, pin)
            }
            (Decision::Replace { outdated }, Some(pin)) => {
                let fetched = self.fetch(say).map_err(|error| SourceError::Pinned {
                    reason: format!("{outdated}; it could not be fetched again: {error}"),
                })?;
                self.install_pinned(&mut held, &fetched, pin)
            }
            (Decision::Fetch | Decision::Replace { .. }, None) => {
                self.install(&mut held, say).map(|(cached, pin)| (cached, Some(pin)))
            }
        }
    }

    /// Returns an evaluator of a cache that has everything. Writes nothing: the cache may be read only.
    fn look(&self, pin: Option<&Pin>) -> Result<Found, SourceError> {
        let cache = self.context.cache;
        match (cache.look(&self.slot()?, &self.wanted.reference)?, pin) {
            (Some(cached), Some(pin)) if cached.hash == pin.hash => Ok((cached, None)),
            (Some(cached), Some(pin)) => {
                Err(mismatch(self.wanted, pin, &cached.hash, "the cached copy", self.context))
            }
            _ => {
                let directory = cache.directory().unwrap_or(Path::new("")).display();
                let place = format!("{directory}, and nothing is fetched here");
                Err(SourceError::NotFound { what: self.wanted.to_string(), place })
            }
        }
    }

    /// Copies an evaluator of this machine, so that it runs with the files that would be fetched and no others. Its source
    /// decides, however often it was copied before: an edit is always compared with the pin.
    fn copy(&self, pin: Option<&Pin>) -> Result<Found, SourceError> {
        let fetched = self.fetch(&|_| ())?;
        if let Some(pin) = pin {
            return self.install_pinned(&mut self.hold()?, &fetched, pin);
        }
        let origin = self.source.origin()?;
        let cached = self.hold()?.install(&fetched, origin.clone())?;
        let pin = self.pin(&cached.hash, Some(origin));
        Ok((cached, Some(pin)))
    }

    /// Returns the next step for an evaluator.
    fn decide(
        &self,
        cached: Option<Cached>,
        pin: Option<&Pin>,
        known: Option<&Known>,
    ) -> Result<Decision, SourceError> {
        let origin = known.and_then(|known| known.origin.as_ref());
        match (cached, pin) {
            (None, _) => Ok(Decision::Fetch),
            (Some(cached), Some(pin)) if cached.hash == pin.hash => Ok(Decision::Use(cached)),
            (Some(cached), _) if known.is_some_and(|known| known.hash != cached.hash) => {
                Err(self.tampered(&cached))
            }
            (Some(cached), Some(pin)) => {
                let mismatch =
                    mismatch(self.wanted, pin, &cached.hash, "the cached copy", self.context);
                match origin {
                    // An older state that was fetched by us: the pin has moved on.
                    Some(_) => Ok(Decision::Replace { outdated: mismatch }),
                    None => Err(mismatch),
                }
            }
            (Some(cached), None) => match origin {
                // It is an evaluator of the same name, from elsewhere.
                Some(origin) if self.source.origin()? != *origin => Ok(Decision::Fetch),
                _ => Ok(Decision::Use(cached)),
            },
        }
    }

    fn hold(&self) -> Result<Held, SourceError> {
        self.context.cache.hold(&self.slot()?, &self.wanted.reference)
    }

    /// Returns the directory of the source in the cache. Sources on this machine have one for each location, so that projects
    /// with evaluators of the same name do not replace those of each other.
    fn slot(&self) -> Result<String, SourceError> {
        let source = &self.wanted.source;
        if !self.source.is_near() {
            return Ok(source.clone());
        }
        let origin = sha256(self.source.origin()?.as_bytes());
        Ok(format!("{source}-{}", &origin[..16]))
    }

    /// Records a cached evaluator without a record, so that later changes are detected.
    fn remember(&self, held: &mut Held, cached: &Cached) -> Result<(), SourceError> {
        match held.known() {
            Some(known) if known.hash == cached.hash => Ok(()),
            _ => held.record(Known { hash: cached.hash.clone(), origin: None }),
        }
    }

    fn fetch(&self, say: Say<'_>) -> Result<Fetched, SourceError> {
        if self.context.cancellation.is_cancelled() {
            return Err(SourceError::Cancelled);
        }
        say(self.wanted.to_string());
        let fetched = self.source.fetch(&self.wanted.reference, self.context.cancellation)?;
        // Registered sources are not trusted: paths must stay in the cache, and the entrypoint must be among the files.
        let whole = |path: &str| join(&fetched.directory, path);
        let is_safe = |path: &str| is_file_path(&whole(path));
        let main = self.wanted.reference.as_str();
        if !fetched.files.iter().all(|file| is_safe(&file.path))
            || !fetched.files.iter().any(|file| whole(&file.path) == main)
            || (fetched.whole_directory && fetched.directory.is_empty())
        {
            return Err(SourceError::Unsafe {
                reason: format!("the source `{}` gave other files than {main}", self.wanted.source),
            });
        }
        Ok(fetched)
    }

    /// Fetches the evaluator, and returns it with its pin.
    fn install(&self, held: &mut Held, say: Say<'_>) -> Result<(Cached, Pin), SourceError> {
        let fetched = self.fetch(say)?;
        let origin = self.source.origin()?;
        let cached = held.install(&fetched, origin.clone())?;
        let pin = self.pin(&cached.hash, Some(origin));
        Ok((cached, pin))
    }

    fn install_pinned(
        &self,
        held: &mut Held,
        fetched: &Fetched,
        pin: &Pin,
    ) -> Result<Found, SourceError> {
        let hash = ContentHash::of(&fetched.files);
        if hash != pin.hash {
            return Err(mismatch(self.wanted, pin, &hash, "the source now", self.context));
        }
        Ok((held.install(fetched, self.source.origin()?)?, None))
    }

    /// Returns the pin of a content.
    fn pin(&self, hash: &ContentHash, origin: Option<String>) -> Pin {
        // Paths below the project are written relative to it, so that they are the same on every machine.
        let directory = self.context.lock_file.parent().and_then(|directory| {
            let here = Path::new(".");
            if directory.as_os_str().is_empty() { here } else { directory }.canonicalize().ok()
        });
        let portable = |origin: String| {
            let inside = directory
                .as_ref()
                .and_then(|directory| Path::new(&origin).strip_prefix(directory).ok());
            inside.map_or(origin.clone(), |inside| inside.display().to_string().replace('\\', "/"))
        };
        Pin { hash: hash.clone(), origin: origin.map(portable) }
    }

    fn tampered(&self, cached: &Cached) -> SourceError {
        SourceError::Pinned {
            reason: format!(
                "{} was changed since it was fetched; delete it to fetch it again, or accept what the source has now with `evaluator update`",
                cached.whole()
            ),
        }
    }
}

fn mismatch(
    wanted: &Wanted,
    pin: &Pin,
    found: &ContentHash,
    what: &str,
    context: Context<'_>,
) -> SourceError {
    SourceError::Pinned {
        reason: format!(
            "{wanted} is pinned to {} in {}, and {what} is {}; if the change is wanted, run `evaluator update`",
            pin.hash.short(),
            context.lock_file.display(),
            found.short()
        ),
    }
}

/// Returns a description of an evaluator and its cached file, without network access or changes.
pub(crate) fn peek(
    wanted: &Wanted,
    context: Context<'_>,
) -> Result<(String, Option<PathBuf>), SourceError> {
    let evaluator = Evaluator::new(wanted, context)?;
    let pins = Pins::load(context.lock_file)?;
    let pin = pins.get(wanted);
    if pin.is_none() && context.locked {
        let reason = format!("{wanted} is not pinned in {}", context.lock_file.display());
        return Err(SourceError::Pinned { reason });
    }
    let pinned = if pin.is_some() { "pinned" } else { "not pinned yet" };
    let slot = evaluator.slot()?;
    let cached = context.cache.look(&slot, &wanted.reference)?;
    let usable = if evaluator.source.is_near() {
        let found = ContentHash::of(&evaluator.fetch(&|_| ())?.files);
        if let Some(pin) = pin.filter(|pin| pin.hash != found) {
            return Err(mismatch(wanted, pin, &found, "the source now", context));
        }
        cached.filter(|cached| cached.hash == found)
    } else {
        let known = context.cache.known(&slot, &wanted.reference);
        match evaluator.decide(cached, pin, known.as_ref())? {
            Decision::Use(cached) => Some(cached),
            Decision::Fetch | Decision::Replace { .. } => None,
        }
    };
    match usable {
        Some(cached) => {
            let found = format!("{wanted} ({}, {pinned})", cached.path.display());
            Ok((found, Some(cached.path)))
        }
        None => {
            let origin = evaluator.source.origin()?;
            Ok((format!("{wanted} (to be fetched from {origin}, {pinned})"), None))
        }
    }
}

/// Result of updating one evaluator.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Updated {
    /// The evaluator.
    pub wanted: Wanted,
    /// Pin before the update.
    pub before: Option<ContentHash>,
    /// New pin, or the reason why the old one was kept.
    pub after: Result<ContentHash, SourceError>,
}

/// Fetches each evaluator regardless of the cache and pins its current content. Evaluators that cannot be fetched keep their
/// pins. Each pin is moved as soon as its evaluator is fetched.
///
/// # Errors
///
/// [`SourceError`] if the lock file cannot be read.
pub fn update(
    wanted: &[Wanted],
    context: Context<'_>,
    on_event: &mut dyn FnMut(PrepareEvent),
) -> Result<Vec<Updated>, SourceError> {
    // Before anything is fetched: a lock file that cannot be read is not written over.
    let pinned = change_pins(context, |pins| pins.clone())?;
    let distinct = distinct(wanted);
    let moved = in_parallel(&distinct, on_event, |wanted, say| {
        let evaluator = Evaluator::new(wanted, context)?;
        let mut held = evaluator.hold()?;
        let (cached, pin) = evaluator.install(&mut held, say)?;
        // Not for all at the end: the old content is no longer in the cache, so that an interrupted update would leave
        // evaluators that cannot run.
        let before = change_pins(context, |pins| {
            let before = pins.get(wanted).map(|pin| pin.hash.clone());
            pins.set(wanted.clone(), pin);
            before
        })?;
        Ok((before, cached.hash))
    });
    let each = distinct.into_iter().zip(moved);
    let updated = each.map(|(wanted, moved)| {
        let (before, after) = match moved {
            Ok((before, after)) => (before, Ok(after)),
            Err(error) => (pinned.get(wanted).map(|pin| pin.hash.clone()), Err(error)),
        };
        Updated { wanted: wanted.clone(), before, after }
    });
    Ok(updated.collect())
}

/// Maximum number of evaluators that are fetched at a time.
const AT_A_TIME: usize = 8;

/// Receives the name of the evaluator that is being fetched.
type Say<'a> = &'a dyn Fn(String);

/// Runs `work` for each item, several at a time; returns the results in the order of `items`.
fn in_parallel<T: Send>(
    items: &[&Wanted],
    on_event: &mut dyn FnMut(PrepareEvent),
    work: impl Fn(&Wanted, Say<'_>) -> Result<T, SourceError> + Sync,
) -> Vec<Result<T, SourceError>> {
    enum Message<T> {
        Line(String),
        Done(usize, Result<T, SourceError>),
    }
    // Placeholder until there is a result.
    let mut results: Vec<Result<T, SourceError>> =
        items.iter().map(|_| Err(SourceError::Cancelled)).collect();
    let (sender, messages) = mpsc::channel();
    let next = AtomicUsize::new(0);
    let mut fetching = 0_usize;
    thread::scope(|scope| {
        for _ in 0..items.len().min(AT_A_TIME) {
            let (sender, next, work) = (sender.clone(), &next, &work);
            scope.spawn(move || {
                while let Some((index, item)) = {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    items.get(index).map(|item| (index, item))
                } {
                    // The receiver lives as long as this scope.
                    let say = |line| drop(sender.send(Message::Line(line)));
                    // A panic of a registered source must not affect other items.
                    let result = catch_unwind(AssertUnwindSafe(|| work(item, &say)));
                    let result = result.unwrap_or_else(|_| {
                        Err(SourceError::Unsafe { reason: format!("fetching {item} panicked") })
                    });
                    drop(sender.send(Message::Done(index, result)));
                }
            });
        }
        drop(sender);
        for message in messages {
            match message {
                Message::Line(line) => {
                    if fetching == 0 {
                        let what = "fetching evaluators".to_owned();
                        on_event(PrepareEvent::Started { what });
                    }
                    fetching += 1;
                    on_event(PrepareEvent::Progress { line });
                }
                Message::Done(index, result) => results[index] = result,
            }
        }
    });
    if fetching > 0 {
        let noun = if fetching == 1 { "evaluator" } else { "evaluators" };
        on_event(PrepareEvent::Finished { what: format!("fetched {fetching} {noun}") });
    }
    results
}
