//===- Diagnostics.cpp ----------------------------------------------------===//
#include "compiler/pipelines/Diagnostics.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

std::string minigptc::placeOf(Location location) {
  if (auto file = dyn_cast<FileLineColLoc>(location))
    return file.getFilename().str() + ":" + std::to_string(file.getLine()) + ":" +
           std::to_string(file.getColumn());
  if (auto named = dyn_cast<NameLoc>(location))
    return placeOf(named.getChildLoc());
  if (auto call = dyn_cast<CallSiteLoc>(location)) {
    std::string callee = placeOf(call.getCallee()), caller = placeOf(call.getCaller());
    bool isUsers = !callee.empty() && !StringRef(callee).starts_with("compiler/");
    return isUsers || caller.empty() ? callee : caller;
  }
  if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      if (std::string place = placeOf(part); !place.empty())
        return place;
  return "";
}

static std::string format(Diagnostic &diagnostic) {
  std::string text = diagnostic.str();
  if (std::string place = minigptc::placeOf(diagnostic.getLocation()); !place.empty())
    text += "\n  at " + place;
  for (Diagnostic &note : diagnostic.getNotes()) {
    text += "\n  note: " + note.str();
    if (std::string place = minigptc::placeOf(note.getLocation()); !place.empty())
      text += " (" + place + ")";
  }
  return text;
}

minigptc::DiagnosticCollector::DiagnosticCollector(MLIRContext *context)
    : handler(context, [this](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == DiagnosticSeverity::Warning)
          llvm::errs() << "warning: " << format(diagnostic) << "\n";
        else if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
          llvm::errs() << "remark: " << format(diagnostic) << "\n";
        else if (first.empty())
          first = format(diagnostic);
        return success();
      }) {
  context->printOpOnDiagnostic(false); // The user has not written it.
}

std::string minigptc::DiagnosticCollector::text() const {
  return first.empty() ? "the compiler failed without saying why" : first;
}
