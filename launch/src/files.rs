//! Reads files of others so that no pipe, device or size stops this program, and writes files so that a reader finds the old
//! content or the new one, and never a part.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, Read as _, Write},
    path::{Path, PathBuf},
};

/// Maximum size of a source file, manifest or list of an evaluator that is read, in bytes.
pub const MAX_SOURCE: u64 = 16 << 20;

/// Reads a file that another program or person has made, e.g. a source file of an evaluator. Links are followed.
///
/// # Errors
///
/// It cannot be read, is not a regular file, or has more than `limit` bytes.
pub fn read_regular(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    read_all(open_regular(path)?, limit)
}

/// Reads a file as [`read_regular`] does, unless it is a link: what a contained program or build leaves could lead anywhere.
///
/// # Errors
///
/// It cannot be read, is a link or not a regular file, or has more than `limit` bytes.
pub fn read_own(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let found = fs::symlink_metadata(path)?;
    if found.is_symlink() {
        return Err(io::Error::other("it is a link"));
    }
    read_all(open(path, &found, true)?, limit)
}

/// Opens a regular file for reading. Links are followed. Opening a pipe would wait for its writer, and reading a device may
/// never end.
///
/// # Errors
///
/// It cannot be opened, or is not a regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    open(path, &fs::metadata(path)?, false)
}

fn open(path: &Path, found: &fs::Metadata, refuses_links: bool) -> io::Result<File> {
    check_regular(found)?;
    let mut options = OpenOptions::new();
    options.read(true);
    // It may be replaced by another one meanwhile.
    #[cfg(unix)]
    {
        let links = if refuses_links { libc::O_NOFOLLOW } else { 0 };
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK | links);
    }
    #[cfg(not(unix))]
    let _ = refuses_links;
    let file = options.open(path)?;
    check_regular(&file.metadata()?)?;
    Ok(file)
}

fn check_regular(found: &fs::Metadata) -> io::Result<()> {
    if found.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory"));
    }
    if found.is_file() { Ok(()) } else { Err(io::Error::other("it is not a regular file")) }
}

fn read_all(file: File, limit: u64) -> io::Result<Vec<u8>> {
    let too_large =
        || io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {limit} bytes"));
    if file.metadata()?.len() > limit {
        return Err(too_large());
    }
    let mut content = Vec::new();
    file.take(limit + 1).read_to_end(&mut content)?;
    if content.len() as u64 > limit { Err(too_large()) } else { Ok(content) }
}

/// Maximum number of symbolic links that are followed, as on Linux.
const MAX_LINKS: usize = 40;

/// Options of [`atomic_write`]. The default keeps the mode of an existing file and gives a new one the mode that
/// the umask leaves.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteOptions {
    /// Only the owner may read and write the file, whatever its mode was.
    pub private: bool,
    /// The content and the name are on the disk when the function returns.
    pub durable: bool,
}

/// Where the content of a path goes.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Destination {
    /// A new file replaces this name. All links are resolved; the file may be absent.
    Replace(PathBuf),
    /// The content is written into what is there: a pipe or a device.
    InPlace,
    /// The same for an open descriptor, which has this path below `/proc`.
    Descriptor(PathBuf),
}

/// Writes a file in one step: into a temporary file next to it, which is then renamed.
///
/// Symbolic links are followed and stay. An existing file keeps its mode and, where the system permits it, its owner.
/// Only regular files are replaced; pipes and devices are written to, as are paths below `/proc` such as `/dev/stdout`.
/// If anything fails, a regular file has its old content and no temporary file is left.
///
/// # Errors
///
/// The file is a directory, the system refuses to write it, or `write` fails.
pub fn atomic_write(
    path: &Path,
    options: WriteOptions,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    match destination(path)? {
        Destination::Replace(file) => replace(&file, options, write),
        Destination::InPlace | Destination::Descriptor(_) => {
            // Append: another process may have written through the same descriptor, and that must stay.
            let mut out = BufWriter::new(OpenOptions::new().append(true).open(path)?);
            write(&mut out)?;
            out.flush()
        }
    }
}

/// Returns an error if [`atomic_write`] can be seen to fail on this path, without touching the file.
///
/// # Errors
///
/// The path, or what its links lead to, is a directory or below something that is not a directory.
pub fn check_destination(path: &Path) -> io::Result<()> {
    let Destination::Replace(file) = destination(path)? else { return Ok(()) };
    let directory = directory_of(&file);
    match fs::metadata(directory) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(not_a(io::ErrorKind::NotADirectory, directory, "is not a directory")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(not_a(io::ErrorKind::NotFound, directory, "does not exist"))
        }
        Err(error) => Err(error),
    }
}

/// Returns true if [`atomic_write`] replaces or creates a file at this path, and false for pipes, devices and descriptors.
pub fn is_replaced(path: &Path) -> bool {
    matches!(destination(path), Ok(Destination::Replace(_)))
}

/// Returns true if the path leads to the standard output of this process, as `/dev/stdout` does. Its position in a file is
/// known to the stream alone, so it is better written to than the path.
pub fn is_stdout(path: &Path) -> bool {
    let Ok(Destination::Descriptor(link)) = destination(path) else { return false };
    let own = fs::canonicalize("/proc/self/fd");
    link.file_name().is_some_and(|name| name == "1")
        && own.is_ok_and(|own| fs::canonicalize(directory_of(&link)).is_ok_and(|of| of == own))
}

/// Decides how to write to `path`, which no part of this function changes.
fn destination(path: &Path) -> io::Result<Destination> {
    let mut file = path.to_owned();
    for _ in 0..MAX_LINKS {
        let found = match fs::symlink_metadata(&file) {
            Ok(found) => found.file_type(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Destination::Replace(file));
            }
            Err(error) => return Err(error),
        };
        if found.is_dir() {
            return Err(not_a(io::ErrorKind::IsADirectory, &file, "is a directory"));
        }
        if !found.is_symlink() {
            let is_replaceable = found.is_file() && !is_in_proc(&file);
            return Ok(if is_replaceable {
                Destination::Replace(file)
            } else {
                Destination::InPlace
            });
        }
        // The links of `/proc` lead to open descriptors, which may have no name any more.
        if is_in_proc(&file) {
            return Ok(Destination::Descriptor(file));
        }
        let target = fs::read_link(&file)?;
        // An absolute target replaces the whole path.
        file = directory_of(&file).join(target);
    }
    Err(not_a(io::ErrorKind::InvalidInput, path, "leads through too many symbolic links"))
}

fn not_a(kind: io::ErrorKind, path: &Path, what: &str) -> io::Error {
    io::Error::new(kind, format!("{} {what}", path.display()))
}

/// Returns true if the entry itself, whatever it leads to, is below `/proc`.
fn is_in_proc(path: &Path) -> bool {
    cfg!(unix)
        && fs::canonicalize(directory_of(path))
            .is_ok_and(|directory| directory.starts_with("/proc"))
}

fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn replace(
    file: &Path,
    options: WriteOptions,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let directory = directory_of(file);
    let mut builder = tempfile::Builder::new();
    builder.prefix(".evaluator-").suffix(".part");
    // Before the umask is applied. Elsewhere, files in a user's profile belong to the user.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(if options.private {
        0o600
    } else {
        0o666
    }));
    let mut new = builder.tempfile_in(directory)?;
    let mut out = BufWriter::new(new.as_file_mut());
    write(&mut out)?;
    out.flush()?;
    drop(out);
    #[cfg(unix)]
    if !options.private {
        take_over(file, new.as_file())?;
    }
    if options.durable {
        new.as_file().sync_all()?;
    }
    match new.persist(file) {
        Ok(_) => {}
        // A single file that is mounted, as containers have it, can be written but not replaced.
        Err(failed) if failed.error.kind() == io::ErrorKind::ResourceBusy => {
            fs::copy(failed.file.path(), file)?;
        }
        Err(failed) => return Err(failed.error),
    }
    if options.durable { sync_directory(directory) } else { Ok(()) }
}

/// Copies mode and owner of the file that is about to be replaced, if there is one.
#[cfg(unix)]
fn take_over(file: &Path, new: &File) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let Ok(old) = fs::metadata(file) else { return Ok(()) };
    let made = new.metadata()?;
    if (old.uid(), old.gid()) != (made.uid(), made.gid()) {
        // Only root may give files away; the group may be one of the user's own.
        let _ = std::os::unix::fs::fchown(new, Some(old.uid()), Some(old.gid()))
            .or_else(|_| std::os::unix::fs::fchown(new, None, Some(old.gid())));
    }
    let mode = old.mode() & 0o777;
    // Some file systems do not support modes.
    if new.metadata()?.mode() & 0o777 == mode {
        return Ok(());
    }
    new.set_permissions(fs::Permissions::from_mode(mode))
}

/// Writes the entries of a directory to the disk, where directories can be opened.
///
/// # Errors
///
/// The system cannot open or write the directory.
pub fn sync_directory(directory: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(directory)?.sync_all() } else { Ok(()) }
}

#[cfg(all(test, unix))]
mod tests {
    use std::{
        os::unix::{
            fs::{FileTypeExt as _, PermissionsExt as _, symlink},
            net::UnixListener,
        },
        thread,
    };

    use super::*;
    use crate::runtime::testing::Directory;

    fn write(path: &Path, text: &str) -> io::Result<()> {
        atomic_write(path, WriteOptions::default(), |out| out.write_all(text.as_bytes()))
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("it is there").permissions().mode() & 0o777
    }

    fn names(directory: &Directory) -> Vec<String> {
        let entries = fs::read_dir(directory.path("")).expect("it is a directory");
        let name = |entry: io::Result<fs::DirEntry>| entry.expect("it is there").file_name();
        let mut names: Vec<String> =
            entries.map(|entry| name(entry).to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn only_regular_files_of_a_limited_size_are_read() {
        let directory = Directory::new("files-read");
        let file = directory.file("file", "12345");
        let link = directory.path("link");
        symlink(&file, &link).unwrap();
        let pipe = directory.path("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RWXU,
            0,
        )
        .unwrap();
        let zero = directory.path("zero");
        symlink("/dev/zero", &zero).unwrap();
        let error = |path: &Path| read_regular(path, 5).unwrap_err().to_string();
        assert_eq!(read_regular(&file, 5).unwrap(), b"12345");
        assert_eq!(read_regular(&link, 5).unwrap(), b"12345");
        assert_eq!(read_regular(&file, 4).unwrap_err().to_string(), "it has more than 4 bytes");
        assert_eq!(error(&pipe), "it is not a regular file");
        assert_eq!(error(&zero), "it is not a regular file");
        assert_eq!(error(&directory.path("")), "it is a directory");
        assert_eq!(read_own(&file, 5).unwrap(), b"12345");
        assert_eq!(read_own(&link, 5).unwrap_err().to_string(), "it is a link");
        // Its size is not known before it is read.
        let error = read_regular(Path::new("/proc/self/maps"), 5).unwrap_err();
        assert_eq!(error.to_string(), "it has more than 5 bytes");
    }

    #[test]
    fn only_absent_and_regular_files_are_replaced() {
        let directory = Directory::new("files-decision");
        let absent = directory.path("absent");
        assert_eq!(destination(&absent).unwrap(), Destination::Replace(absent));
        let regular = directory.file("regular", "x");
        assert_eq!(destination(&regular).unwrap(), Destination::Replace(regular));
        // Nothing is written here: this only looks at them.
        for device in ["/dev/null", "/dev/full", "/dev/tty"] {
            if Path::new(device).exists() {
                assert_eq!(destination(Path::new(device)).unwrap(), Destination::InPlace);
                let link = directory.path(device.replace('/', "-"));
                symlink(device, &link).unwrap();
                assert_eq!(destination(&link).unwrap(), Destination::InPlace);
            }
        }
        if Path::new("/proc/self/fd/1").exists() {
            let link = directory.path("stdout");
            symlink("/dev/stdout", &link).unwrap();
            for path in ["/proc/self/fd/1", "/dev/stdout", "/dev/fd/1", link.to_str().unwrap()] {
                let found = destination(Path::new(path)).unwrap();
                assert!(matches!(found, Destination::Descriptor(_)), "{path}: {found:?}");
                assert!(is_stdout(Path::new(path)), "{path}");
            }
            for path in ["/dev/fd/2", "/proc/1/fd/1", "/dev/null"] {
                assert!(!is_stdout(Path::new(path)), "{path}");
            }
        }
        let error = destination(&directory.path("")).unwrap_err();
        assert!(error.to_string().ends_with(" is a directory"), "{error}");
    }

    #[test]
    fn an_existing_file_keeps_its_mode_and_a_new_one_gets_the_usual_one() {
        let directory = Directory::new("files-mode");
        let file = directory.file("report", "old");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        write(&file, "new").unwrap();
        assert_eq!((fs::read_to_string(&file).unwrap().as_str(), mode(&file)), ("new", 0o640));
        // Whatever the umask is, it is that of any other new file.
        let usual = directory.file("usual", "");
        let new = directory.path("new");
        write(&new, "").unwrap();
        assert_eq!(mode(&new), mode(&usual));
        // Only root can give the file another owner, who then stays.
        if std::os::unix::fs::chown(&file, Some(65534), Some(65534)).is_ok() {
            use std::os::unix::fs::MetadataExt as _;
            write(&file, "newer").unwrap();
            let found = fs::metadata(&file).unwrap();
            assert_eq!((found.uid(), found.gid(), mode(&file)), (65534, 65534, 0o640));
        }
        let private = WriteOptions { private: true, durable: true };
        atomic_write(&file, private, |out| out.write_all(b"secret")).unwrap();
        assert_eq!(mode(&file), 0o600);
        assert_eq!(names(&directory), ["new", "report", "usual"]);
    }

    #[test]
    fn links_stay_and_what_they_lead_to_is_written() {
        let directory = Directory::new("files-links");
        let target = directory.file("below/target", "old");
        symlink("below/target", directory.path("link")).unwrap();
        symlink("link", directory.path("chain")).unwrap();
        symlink("below/absent", directory.path("dangling")).unwrap();
        for (link, target) in [("chain", "below/target"), ("dangling", "below/absent")] {
            write(&directory.path(link), link).unwrap();
            assert!(directory.path(link).is_symlink());
            assert_eq!(fs::read_to_string(directory.path(target)).unwrap(), link);
        }
        assert!(directory.path("link").is_symlink() && !target.is_symlink());
        symlink("loop", directory.path("loop")).unwrap();
        let error = write(&directory.path("loop"), "x").unwrap_err().to_string();
        assert!(error.ends_with("leads through too many symbolic links"), "{error}");
        symlink("no/such/directory", directory.path("nowhere")).unwrap();
        let error = check_destination(&directory.path("nowhere")).unwrap_err().to_string();
        assert!(error.ends_with("no/such does not exist"), "{error}");
        assert_eq!(fs::read_dir(directory.path("below")).unwrap().count(), 2);
    }

    #[test]
    fn pipes_and_descriptors_are_written_to() {
        let directory = Directory::new("files-pipe");
        let pipe = directory.path("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::from_raw_mode(0o600))
            .unwrap();
        let reader = thread::spawn({
            let pipe = pipe.clone();
            move || fs::read_to_string(pipe).unwrap()
        });
        write(&pipe, "through").unwrap();
        assert_eq!(reader.join().unwrap(), "through");
        assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
        if cfg!(target_os = "linux") {
            use std::os::fd::AsRawFd as _;
            // As with `--output-file /dev/stdout >>file`.
            let file = directory.file("open", "before\n");
            let open = File::open(&file).unwrap();
            let link = directory.path("descriptor");
            symlink(format!("/proc/self/fd/{}", open.as_raw_fd()), &link).unwrap();
            write(&link, "after\n").unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), "before\nafter\n");
            assert!(link.is_symlink());
        }
        let socket = directory.path("socket");
        let _listener = UnixListener::bind(&socket).unwrap();
        assert!(write(&socket, "x").is_err());
        assert!(fs::symlink_metadata(&socket).unwrap().file_type().is_socket());
    }

    #[test]
    fn a_failure_leaves_the_old_file_and_nothing_else() {
        let directory = Directory::new("files-failure");
        let file = directory.file("report", "old");
        let fail = |out: &mut dyn Write| {
            out.write_all(b"half")?;
            Err(io::Error::other("no more"))
        };
        for name in ["report", "absent"] {
            let error =
                atomic_write(&directory.path(name), WriteOptions::default(), fail).unwrap_err();
            assert_eq!(error.to_string(), "no more");
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), "old");
        assert_eq!(names(&directory), ["report"]);
    }
}
