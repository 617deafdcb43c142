#include "runtime/base/File.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace minigptc::runtime {
namespace {

/// Closes on every way out.
struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0)
      close(number);
  }
};

std::string folderOf(const std::string &path) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

/// Opens a regular file for reading and gives its size.
StatusOr<int> openRegular(const std::string &path, uint64_t &size) {
  // Opening a pipe would wait for its writer; for regular files the flag means nothing.
  int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return fileError(errno, "open", path);
  struct stat info;
  int error = fstat(descriptor, &info) != 0 ? errno : S_ISDIR(info.st_mode) ? EISDIR : 0;
  if (!error && S_ISREG(info.st_mode)) {
    size = uint64_t(info.st_size);
    return descriptor;
  }
  close(descriptor);
  if (error)
    return fileError(error, "read", path);
  return Status(StatusCode::failedPrecondition, "cannot read '" + path + "': not a regular file");
}

/// Bytes of a regular file, from an offset on.
Status readRange(int descriptor, const std::string &path, uint64_t offset,
                 std::span<std::byte> out) {
  while (!out.empty()) {
    ssize_t count =
        pread(descriptor, out.data(), std::min<size_t>(out.size(), 1 << 30), off_t(offset));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return fileError(errno, "read", path);
    if (count == 0)
      return Status(StatusCode::dataLoss, "'" + path + "' became shorter while it was read");
    out = out.subspan(size_t(count));
    offset += uint64_t(count);
  }
  return {};
}

template <typename Container> StatusOr<Container> readInto(const std::string &path) {
  uint64_t size = 0;
  StatusOr<int> opened = openRegular(path, size);
  if (!opened)
    return opened.status();
  Descriptor descriptor{*opened};
  Container contents;
  if (size > contents.max_size())
    return Status(StatusCode::resourceExhausted, "'" + path + "' does not fit into memory");
  contents.resize(size);
  MINIGPTC_RETURN_IF_ERROR(
      readRange(descriptor.number, path, 0, std::as_writable_bytes(std::span(contents))));
  return contents;
}

} // namespace

Status fileError(int error, std::string_view action, std::string_view path) {
  StatusCode code = StatusCode::failedPrecondition;
  if (error == ENOENT || error == ENOTDIR)
    code = StatusCode::notFound;
  else if (error == ENOSPC || error == EDQUOT || error == EFBIG || error == ENOMEM)
    code = StatusCode::resourceExhausted;
  std::string reason = std::generic_category().message(error);
  Status status(code, "cannot " + std::string(action) + " '" + std::string(path) + "': " + reason);
  if (error == ENOSPC || error == EDQUOT)
    return std::move(status).withHelp("free some space on this disk, or write elsewhere");
  return status;
}

StatusOr<std::vector<std::byte>> readFile(const std::string &path) {
  return readInto<std::vector<std::byte>>(path);
}

StatusOr<std::string> readTextFile(const std::string &path) { return readInto<std::string>(path); }

Status writeFileAtomically(const std::string &path, std::span<const std::byte> bytes) {
  StatusOr<AtomicFile> file = AtomicFile::create(path);
  if (!file)
    return file.status();
  MINIGPTC_RETURN_IF_ERROR(file->write(bytes));
  return file->commit();
}

Status writeFileAtomically(const std::string &path, std::string_view text) {
  return writeFileAtomically(path, std::as_bytes(std::span(text)));
}

Status checkFolderWritable(const std::string &path) {
  std::error_code error;
  std::filesystem::path there = std::filesystem::absolute(path, error);
  while (!std::filesystem::exists(std::filesystem::symlink_status(there, error)) &&
         there.has_relative_path())
    there = there.parent_path();
  if (!std::filesystem::is_directory(there, error))
    return fileError(ENOTDIR, "create the folder", path);
  return access(there.c_str(), W_OK | X_OK) == 0 ? Status()
                                                 : fileError(errno, "write to the folder", path);
}

Status createDirectories(const std::string &path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error)
    return fileError(error.value(), "create the folder", path);
  if (!std::filesystem::is_directory(path, error))
    return fileError(ENOTDIR, "create the folder", path);
  return {};
}

Status syncDirectory(const std::string &path) {
  Descriptor descriptor{open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (descriptor.number < 0)
    return fileError(errno, "open the folder", path);
  // Some file systems cannot flush a folder and say EINVAL.
  if (fsync(descriptor.number) != 0 && errno != EINVAL)
    return fileError(errno, "flush the folder", path);
  return {};
}

/// The file that a link leads to, else `path`: renaming onto a link would replace the link.
static std::string resolveLink(const std::string &path) {
  std::error_code error;
  if (!std::filesystem::is_symlink(path, error))
    return path;
  std::filesystem::path target = std::filesystem::canonical(path, error);
  return error ? path : target.string();
}

/// A device, a pipe, a socket.
static bool isSpecial(const std::filesystem::file_status &file) {
  return std::filesystem::exists(file) && !std::filesystem::is_regular_file(file) &&
         !std::filesystem::is_directory(file);
}

Status checkWritable(const std::string &path) {
  std::error_code ignored;
  // Opening a pipe would wait for its reader, and closing it ends what the reader gets.
  if (isSpecial(std::filesystem::status(path, ignored)))
    return access(path.c_str(), W_OK) == 0 ? Status() : fileError(errno, "write", path);
  // The temporary file goes away with the object.
  return AtomicFile::create(path).status();
}

StatusOr<AtomicFile> AtomicFile::openSpecial(const std::string &path) {
  int descriptor = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0)
    return fileError(errno, "write", path);
  return AtomicFile(path, "", descriptor);
}

/// The name by which a file can be found that has none.
static std::string descriptorName(int descriptor) {
  return "/proc/self/fd/" + std::to_string(descriptor);
}

/// A file in the folder that goes away with the process, however that ends, unless it is given a
/// name. -1 where the system has none: some file systems, no /proc.
static int openNameless(const std::string &folder) {
  int descriptor = open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (descriptor >= 0 && access(descriptorName(descriptor).c_str(), F_OK) != 0)
    close(std::exchange(descriptor, -1));
  return descriptor;
}

/// Gives a file that has no name this one.
static bool nameFile(int descriptor, const std::string &name) {
  struct stat info;
  if (fstat(descriptor, &info) != 0 || info.st_nlink > 0)
    return true;
  unlink(name.c_str()); // left by a process that had this one's number
  return linkat(AT_FDCWD, descriptorName(descriptor).c_str(), AT_FDCWD, name.c_str(),
                AT_SYMLINK_FOLLOW) == 0;
}

StatusOr<AtomicFile> AtomicFile::create(const std::string &name) {
  std::error_code ignored;
  std::filesystem::file_status target = std::filesystem::status(name, ignored);
  if (std::filesystem::is_directory(target))
    return fileError(EISDIR, "write", name);
  if (isSpecial(target))
    return openSpecial(name);
  std::string path = resolveLink(name);
  static std::atomic<uint64_t> number{0};
  if (int descriptor = openNameless(folderOf(path)); descriptor >= 0)
    return AtomicFile(
        path, path + ".tmp-" + std::to_string(getpid()) + "-" + std::to_string(number.fetch_add(1)),
        descriptor);
  std::string temporary = path + ".tmp-XXXXXX";
  int descriptor = mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0)
    return fileError(errno, "write", path);
  mode_t mask = umask(0); // mkostemp gives 0600; a result is readable like any other file
  umask(mask);
  (void)fchmod(descriptor, 0666 & ~mask);
  return AtomicFile(path, std::move(temporary), descriptor);
}

AtomicFile::AtomicFile(AtomicFile &&other) noexcept
    : path_(std::move(other.path_)), temporary_(std::move(other.temporary_)),
      descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}

AtomicFile &AtomicFile::operator=(AtomicFile &&other) noexcept {
  std::swap(path_, other.path_);
  std::swap(temporary_, other.temporary_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_, other.size_);
  return *this;
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() {
  if (descriptor_ < 0)
    return;
  close(std::exchange(descriptor_, -1));
  if (!temporary_.empty())
    unlink(temporary_.c_str());
}

Status AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t count = ::write(descriptor_, bytes.data(), std::min<size_t>(bytes.size(), 1 << 30));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return fileError(errno, "write", path_);
    size_ += uint64_t(count);
    bytes = bytes.subspan(size_t(count));
  }
  return {};
}

Status AtomicFile::commit() {
  if (temporary_.empty())
    return close(std::exchange(descriptor_, -1)) == 0 ? Status() : fileError(errno, "write", path_);
  // A full disk may show only here.
  if (fsync(descriptor_) != 0) {
    Status status = fileError(errno, "write", path_);
    discard();
    return status;
  }
  // Only renaming replaces what is there.
  if (!nameFile(descriptor_, temporary_) || rename(temporary_.c_str(), path_.c_str()) != 0) {
    Status status = fileError(errno, "write", path_);
    discard();
    return status;
  }
  close(std::exchange(descriptor_, -1));
  return syncDirectory(folderOf(path_));
}

StatusOr<RandomAccessFile> RandomAccessFile::open(const std::string &path) {
  uint64_t size = 0;
  StatusOr<int> descriptor = openRegular(path, size);
  if (!descriptor)
    return descriptor.status();
  return RandomAccessFile(path, *descriptor, size);
}

RandomAccessFile::RandomAccessFile(RandomAccessFile &&other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_) {}

RandomAccessFile::~RandomAccessFile() {
  if (descriptor_ >= 0)
    close(descriptor_);
}

Status RandomAccessFile::read(uint64_t offset, std::span<std::byte> out) const {
  return readRange(descriptor_, path_, offset, out);
}

} // namespace minigptc::runtime
