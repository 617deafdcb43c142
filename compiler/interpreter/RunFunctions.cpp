//===- RunFunctions.cpp - running a module's test functions ---------------===//
#include "compiler/interpreter/RunFunctions.h"
#include "compiler/interpreter/Devices.h"
#include "compiler/interpreter/Element.h"
#include "compiler/interpreter/Interpreter.h"
#include "dialects/dist/IR/Dist.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/Format.h"

#include <cmath>

using namespace mlir;
using namespace minigptc;
using namespace minigptc::interpreter;

static void printElement(raw_ostream &os, const Tensor &tensor, int64_t position) {
  dispatch(tensor.getType().getElementType(), [&]<typename T>() {
    auto x = widen(elements<T>(tensor)[position]);
    if constexpr (std::is_same_v<T, bool>)
      os << (x ? "true" : "false");
    else if constexpr (!isFloat<T>)
      os << +x;             // a number, of i8 too
    else if (std::isnan(x)) // without the sign, which operations leave open
      os << "nan";
    else
      os << llvm::format("%g", x);
  });
}

static void printElements(raw_ostream &os, const Tensor &tensor, unsigned dim, int64_t &position) {
  if (dim == tensor.getShape().size())
    return printElement(os, tensor, position++);
  os << "[";
  for (int64_t i = 0; i < tensor.getShape()[dim]; ++i) {
    os << (i ? ", " : "");
    printElements(os, tensor, dim + 1, position);
  }
  os << "]";
}

void interpreter::print(raw_ostream &os, const Tensor &tensor) {
  int64_t position = 0;
  os << tensor.getType() << " ";
  printElements(os, tensor, 0, position);
}

namespace {
struct RunFunctions : PassWrapper<RunFunctions, OperationPass<ModuleOp>> {
  explicit RunFunctions(raw_ostream &os) : os(os) {}

  StringRef getArgument() const override { return "run"; }
  StringRef getDescription() const override {
    return "Call @main or all functions @test_… in the interpreter and print their results";
  }

  void runOnOperation() override {
    bool any = false;
    for (auto function : getOperation().getOps<FunctionOpInterface>()) {
      StringRef name = function.getName();
      if ((name != "main" && !name.starts_with("test_")) || function.getNumArguments() != 0)
        continue;
      any = true;
      os << "@" << name << "\n";
      FailureOr<DeviceTensors> results = run(name);
      if (failed(results))
        return signalPassFailure();
      for (auto [device, mine] : llvm::enumerate(*results))
        for (const Tensor &result : mine) {
          if (results->size() > 1)
            os << "device " << device << ": ";
          print(os, result);
          os << "\n";
        }
    }
    if (!any) {
      getOperation().emitError("nothing to run: no function @main or @test_… without arguments");
      signalPassFailure();
    }
  }

private:
  FailureOr<DeviceTensors> run(StringRef function) {
    if (dist::MeshOp mesh = dist::findMesh(getOperation()))
      return evaluateOnDevices(getOperation(), function,
                               DeviceTensors(mesh.getMesh().getNumDevices()));
    FailureOr<SmallVector<Tensor>> results = evaluate(getOperation(), function, {});
    if (failed(results))
      return failure();
    return DeviceTensors{*std::move(results)};
  }

  raw_ostream &os;
};
} // namespace

std::unique_ptr<Pass> interpreter::createRunFunctionsPass(raw_ostream &os) {
  return std::make_unique<RunFunctions>(os);
}
