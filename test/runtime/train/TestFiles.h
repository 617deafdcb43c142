// Temporary folders and files of the tests in this folder.
#ifndef MINIGPTC_TEST_RUNTIME_TRAIN_TESTFILES_H
#define MINIGPTC_TEST_RUNTIME_TRAIN_TESTFILES_H

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace minigptc::test {

/// A fresh folder, removed at the end of the test.
struct TempFolder {
  std::filesystem::path path;
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "minigptc-test-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string file(const std::string &name) const { return (path / name).string(); }
};

inline std::string readText(const std::string &path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline void writeText(const std::string &path, const std::string &contents) {
  std::ofstream(path, std::ios::binary) << contents;
}

inline bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

} // namespace minigptc::test

#endif // MINIGPTC_TEST_RUNTIME_TRAIN_TESTFILES_H
