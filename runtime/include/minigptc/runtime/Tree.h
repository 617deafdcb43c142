//===- Tree.h - an ordered map of names to leaves or sub-trees --*- C++ -*-===//
//
// The one structure that functions take and give: parameters, optimizer state,
// batches. `Tree` (leaves are traced Values) and `ArrayTree` (leaves are Arrays)
// are this template.
//
//   TreeOf<Array> t{{"params", {{"w", w}, {"b", b}}}, {"count", c}};
//   t["params"]["w"];          // a sub-tree; converts to its leaf
//   for (auto &[path, leaf] : t.flatten()) ...   // "params.w", "params.b", "count"
//
//===----------------------------------------------------------------------===//
#ifndef MINIGPTC_RUNTIME_TREE_H
#define MINIGPTC_RUNTIME_TREE_H

#include <algorithm>
#include <concepts>
#include <initializer_list>
#include <memory>
#include <optional>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace minigptc {

/// An error that concerns a tree's structure: a missing entry, a leaf where a
/// sub-tree is expected.
struct TreeError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// How a tree of such leaves reports an error; the tracing frontend specialises
/// it to throw its own kind of exception.
template <typename Leaf> struct TreeTraits {
  [[noreturn]] static void fail(const std::string &message, const std::source_location &where) {
    throw TreeError(message + "\n  at " + where.file_name() + ":" + std::to_string(where.line()));
  }
};

/// A name, and the place that asks for it (an operator can have no default
/// arguments, a constructor can).
struct TreeKey {
  template <typename Text>
    requires std::convertible_to<const Text &, std::string_view>
  TreeKey(const Text &name, std::source_location where = std::source_location::current())
      : name(name), where(where) {}
  std::string_view name;
  std::source_location where;
};

/// Makes a user's struct convertible to a tree: specialise it with
/// `static TreeOf<Leaf> toTree(const T &)`.
template <typename T> struct TreeConversion {};

template <typename Leaf> class TreeOf {
public:
  /// An entry of a braced tree: a name and what it holds.
  struct Entry;

  TreeOf() = default;
  TreeOf(Leaf leaf) : leaf_(std::move(leaf)) {}
  TreeOf(std::initializer_list<Entry> entries);
  template <typename T>
    requires requires(const T &value) {
      { TreeConversion<T>::toTree(value) } -> std::same_as<TreeOf>;
    }
  TreeOf(const T &value) : TreeOf(TreeConversion<T>::toTree(value)) {}

  bool isLeaf() const { return leaf_.has_value(); }
  bool empty() const { return !isLeaf() && entries_.empty(); }
  size_t size() const { return entries_.size(); }
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  const TreeOf *find(std::string_view name) const;

  /// The sub-tree of that name; an error names those that exist, and the
  /// caller's place.
  const TreeOf &at(const TreeKey &key) const;
  const TreeOf &operator[](const TreeKey &key) const { return at(key); }
  TreeOf &operator[](const TreeKey &key) {
    return const_cast<TreeOf &>(std::as_const(*this).at(key));
  }
  /// Adds an entry or replaces it.
  void set(std::string name, TreeOf value);

  const Leaf &leaf(std::source_location where = std::source_location::current()) const;
  operator const Leaf &() const { return leaf(); }
  /// The number in a one-element leaf (of concrete arrays).
  double scalar() const
    requires requires(const Leaf &leaf) {
      { leaf.scalar() } -> std::convertible_to<double>;
    }
  {
    return leaf().scalar();
  }

  const std::vector<std::pair<std::string, TreeOf>> &entries() const { return entries_; }

  /// All leaves with their paths, names joined by dots, in order.
  std::vector<std::pair<std::string, Leaf>> flatten() const;
  /// A tree from paths and leaves: the inverse of `flatten`.
  static TreeOf unflatten(const std::vector<std::pair<std::string, Leaf>> &leaves);
  /// Equal structure, `fn(leaf)` for each leaf.
  template <typename Fn> auto map(Fn &&fn) const;

private:
  void flattenInto(std::string &path, std::vector<std::pair<std::string, Leaf>> &out) const;

  std::optional<Leaf> leaf_;
  std::vector<std::pair<std::string, TreeOf>> entries_;
};

template <typename Leaf> struct TreeOf<Leaf>::Entry {
  Entry(std::string name, TreeOf value) : name(std::move(name)), value(std::move(value)) {}
  Entry(std::string name, Leaf leaf) : name(std::move(name)), value(std::move(leaf)) {}
  Entry(std::string name, std::initializer_list<Entry> entries)
      : name(std::move(name)), value(entries) {}
  std::string name;
  TreeOf value;
};

template <typename Leaf> TreeOf<Leaf>::TreeOf(std::initializer_list<Entry> entries) {
  for (const Entry &entry : entries)
    set(entry.name, entry.value);
}

template <typename Leaf> const TreeOf<Leaf> *TreeOf<Leaf>::find(std::string_view name) const {
  for (const auto &[key, value] : entries_)
    if (key == name)
      return &value;
  return nullptr;
}

template <typename Leaf> const TreeOf<Leaf> &TreeOf<Leaf>::at(const TreeKey &key) const {
  if (const TreeOf *found = find(key.name))
    return *found;
  std::string message = "no entry '" + std::string(key.name) + "' in this tree; it has";
  if (isLeaf() || entries_.empty())
    message += isLeaf() ? " none: it is a leaf" : " none: it is empty";
  for (const auto &entry : entries_)
    message += " '" + entry.first + "'";
  TreeTraits<Leaf>::fail(message, key.where);
}

template <typename Leaf> void TreeOf<Leaf>::set(std::string name, TreeOf value) {
  for (auto &[key, old] : entries_)
    if (key == name) {
      old = std::move(value);
      return;
    }
  entries_.emplace_back(std::move(name), std::move(value));
}

template <typename Leaf> const Leaf &TreeOf<Leaf>::leaf(std::source_location where) const {
  if (!leaf_)
    TreeTraits<Leaf>::fail("this tree has " + std::to_string(size()) +
                               " entries where a single tensor is expected",
                           where);
  return *leaf_;
}

template <typename Leaf>
void TreeOf<Leaf>::flattenInto(std::string &path,
                               std::vector<std::pair<std::string, Leaf>> &out) const {
  if (leaf_)
    out.emplace_back(path, *leaf_);
  size_t length = path.size();
  for (const auto &[name, value] : entries_) {
    if (length > 0)
      path += '.';
    path += name;
    value.flattenInto(path, out);
    path.resize(length);
  }
}

template <typename Leaf> std::vector<std::pair<std::string, Leaf>> TreeOf<Leaf>::flatten() const {
  std::vector<std::pair<std::string, Leaf>> out;
  std::string path;
  flattenInto(path, out);
  return out;
}

template <typename Leaf>
TreeOf<Leaf> TreeOf<Leaf>::unflatten(const std::vector<std::pair<std::string, Leaf>> &leaves) {
  TreeOf root;
  for (const auto &[path, leaf] : leaves) {
    if (path.empty())
      return TreeOf(leaf);
    TreeOf *node = &root;
    for (size_t begin = 0; begin <= path.size();) {
      size_t end = std::min(path.find('.', begin), path.size());
      std::string name = path.substr(begin, end - begin);
      if (!node->find(name))
        node->set(name, TreeOf());
      node = &(*node)[name];
      begin = end + 1;
    }
    *node = TreeOf(leaf);
  }
  return root;
}

template <typename Leaf> template <typename Fn> auto TreeOf<Leaf>::map(Fn &&fn) const {
  using Out = std::decay_t<decltype(fn(std::declval<const Leaf &>()))>;
  if (leaf_)
    return TreeOf<Out>(fn(*leaf_));
  TreeOf<Out> out;
  for (const auto &[name, value] : entries_)
    out.set(name, value.map(fn));
  return out;
}

} // namespace minigptc

#endif // MINIGPTC_RUNTIME_TREE_H
