//===- Devices.cpp - one program on many devices --------------------------===//
#include "compiler/interpreter/Devices.h"
#include "dialects/dist/IR/Dist.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace minigptc;
using namespace minigptc::interpreter;

FailureOr<DeviceTensors> interpreter::evaluateOnDevices(ModuleOp module, StringRef function,
                                                        const DeviceTensors &arguments) {
  auto callee = module.lookupSymbol<FunctionOpInterface>(function);
  if (!callee)
    return module.emitError("the module has no function @") << function;
  dist::MeshOp mesh = dist::findMesh(module);
  int64_t devices = mesh ? mesh.getMesh().getNumDevices() : 1;
  if (int64_t(arguments.size()) != devices)
    return callee.emitError("called on ")
           << arguments.size() << " devices; the mesh has " << devices;
  for (auto [device, tensors] : llvm::enumerate(arguments)) {
    if (tensors.size() != callee.getNumArguments())
      return callee.emitError("called with ")
             << tensors.size() << " arguments, takes " << callee.getNumArguments();
    for (auto [index, type] : llvm::enumerate(callee.getArgumentTypes()))
      if (tensors[index].getType() != type)
        return callee.emitError("called with ")
               << tensors[index].getType() << " as argument " << index << " of device " << device
               << ", takes " << type;
  }
  return evaluateCallable(callee, callee, arguments);
}
