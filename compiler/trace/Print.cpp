//===- Print.cpp - values of a run, as lines ------------------------------===//
#include "minigptc/trace/Print.h"
#include "compiler/trace/Emit.h"
#include "runtime/base/PrintLine.h"
#include "runtime/base/Suggest.h"

using namespace minigptc;
using namespace minigptc::detail;
using llvm::SmallVector;

std::string PrintArgument::textOf(float number) {
  return runtime::toText({f32, {}, reinterpret_cast<const std::byte *>(&number)});
}

std::string PrintArgument::textOf(double number) {
  return runtime::toText({f64, {}, reinterpret_cast<const std::byte *>(&number)});
}

namespace {

/// A format on its way to texts and values.
class Printer {
public:
  Printer(const PrintFormat &format, std::span<const PrintArgument> arguments)
      : emit(format.where), format(format) {
    for (const PrintArgument &argument : arguments)
      for (const auto &[path, leaf] : leavesOf(argument))
        (path.empty() ? unnamed : named).push_back({path, leaf, argument.text, argument.isText});
  }

  void run() {
    if (emit.context.scope().isHost)
      emit.fail("print: a function of the host cannot print");
    readFormat();
    checkUsed();
    texts.push_back(text);
    createOp();
  }

private:
  struct Place {
    std::string path;
    Value value;
    std::string text;
    bool isText = false, used = false;
  };

  static std::vector<std::pair<std::string, Value>> leavesOf(const PrintArgument &argument) {
    if (argument.isText)
      return {{"", Value()}};
    return argument.tree.flatten();
  }

  [[noreturn]] void fail(const std::string &what, const std::string &note = {}) const {
    emit.fail("print: " + what + ", in \"" + std::string(format.text) + "\"",
              note.empty() ? std::vector<std::string>{} : std::vector{note});
  }

  void readFormat() {
    std::string_view rest = format.text;
    while (!rest.empty()) {
      size_t brace = std::min(rest.find_first_of("{}"), rest.size());
      text += rest.substr(0, brace);
      rest.remove_prefix(brace);
      if (rest.empty())
        return;
      if (rest.size() > 1 && rest[0] == rest[1]) {
        text += rest[0];
        rest.remove_prefix(2);
        continue;
      }
      size_t end = rest.find('}');
      if (rest[0] == '}' || end == rest.npos)
        fail("a brace without its other one", "write {{ or }} for a brace that is printed");
      put(find(std::string(rest.substr(1, end - 1))));
      rest.remove_prefix(end + 1);
    }
  }

  Place &find(const std::string &name) {
    if (name.find(':') != name.npos)
      fail("'{" + name + "}' asks for a format; places have none",
           "numbers are printed with the digits that tell them apart");
    if (name.empty()) {
      if (next == unnamed.size())
        fail("a place '{}' without a value: there " +
                 (unnamed.size() == 1 ? std::string("is 1")
                                      : "are " + std::to_string(unnamed.size())) +
                 ", besides those of trees",
             "write {{}} for braces that are printed");
      return unnamed[next++];
    }
    std::vector<std::string> paths;
    for (Place &place : named) {
      if (place.path == name)
        return place;
      paths.push_back(place.path);
    }
    fail("there is no value '" + name + "'",
         paths.empty() ? "names are those of trees: print(\"{x}\", Tree{{\"x\", x}})"
                       : runtime::suggestion(name, paths));
  }

  void put(Place &place) {
    place.used = true;
    if (place.isText) {
      text += place.text;
      return;
    }
    values.push_back(emit.context.localize(place.value, format.where));
    texts.push_back(std::exchange(text, {}));
  }

  void checkUsed() const {
    if (next < unnamed.size())
      fail("value " + std::to_string(next + 1) + " of " + std::to_string(unnamed.size()) +
               " has no place",
           "write {} where it is to stand");
    for (const Place &place : named)
      if (!place.used)
        fail("value '" + place.path + "' has no place",
             "write {" + place.path + "} where it is to stand");
  }

  void createOp() const {
    TraceContext &context = emit.context;
    mlir::OpBuilder &builder = context.scope().builder;
    SmallVector<mlir::StringRef> parts(texts.begin(), texts.end());
    AxisSet axes = context.varyingHere();
    for (mlir::Value value : values)
      axes |= context.varying(value);
    SmallVector<mlir::StringRef> names;
    for (const MeshAxis &axis : context.mesh().axes())
      if (context.axisSet({axis.name}) & axes)
        names.push_back(axis.name);
    graph::PrintOp::create(builder, context.location(format.where), values,
                           builder.getStrArrayAttr(parts), /*examples=*/0,
                           names.empty() ? mlir::ArrayAttr() : builder.getStrArrayAttr(names));
  }

  Emitter emit;
  const PrintFormat &format;
  std::vector<Place> unnamed, named;
  size_t next = 0;  ///< of those without a name
  std::string text; ///< since the last value
  std::vector<std::string> texts;
  SmallVector<mlir::Value> values;
};

} // namespace

void minigptc::detail::runPrint(const PrintFormat &format,
                                std::span<const PrintArgument> arguments) {
  Printer(format, arguments).run();
}
