//===- BlockOp.cpp - text form and verifier of exec.block -----------------===//
#include "dialects/exec/IR/Exec.h"
#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace minigptc::exec;

// exec.block @name(%a: memref<…> {attrs}, …) inputs N frame BYTES attributes {…} { … }
ParseResult BlockOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  IntegerAttr numInputs, frameSize;
  Type i64 = parser.getBuilder().getI64Type();
  if (parser.parseSymbolName(name) ||
      parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren, /*allowType=*/true,
                               /*allowAttrs=*/true) ||
      parser.parseKeyword("inputs") || parser.parseAttribute(numInputs, i64) ||
      parser.parseKeyword("frame") || parser.parseAttribute(frameSize, i64) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();

  SmallVector<Type> types;
  SmallVector<Attribute> argumentAttrs;
  bool anyAttrs = false;
  for (OpAsmParser::Argument &argument : arguments) {
    types.push_back(argument.type);
    argumentAttrs.push_back(argument.attrs ? argument.attrs
                                           : DictionaryAttr::get(parser.getContext()));
    anyAttrs |= argument.attrs && !argument.attrs.empty();
  }
  Properties &properties = result.getOrAddProperties<Properties>();
  properties.sym_name = name;
  properties.function_type = TypeAttr::get(parser.getBuilder().getFunctionType(types, {}));
  properties.numInputs = numInputs;
  properties.frameSize = frameSize;
  if (anyAttrs)
    properties.arg_attrs = parser.getBuilder().getArrayAttr(argumentAttrs);
  return parser.parseRegion(*result.addRegion(), arguments);
}

void BlockOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << '(';
  ArrayAttr attrs = getArgAttrsAttr();
  llvm::interleaveComma(getBody().getArguments(), printer, [&](BlockArgument argument) {
    auto dictionary =
        attrs ? cast<DictionaryAttr>(attrs[argument.getArgNumber()]) : DictionaryAttr();
    printer.printRegionArgument(argument,
                                dictionary ? dictionary.getValue() : ArrayRef<NamedAttribute>());
  });
  printer << ") inputs " << getNumInputs() << " frame " << getFrameSize();
  printer.printOptionalAttrDictWithKeyword((*this)->getDiscardableAttrDictionary().getValue());
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult BlockOp::verify() {
  int64_t numArguments = int64_t(getBody().getNumArguments()), numInputs = int64_t(getNumInputs());
  int64_t frameSize = int64_t(getFrameSize());
  if (getFunctionType().getNumResults() != 0)
    return emitOpError("has no results: outputs are arguments");
  if (numInputs < 0 || numInputs > numArguments)
    return emitOpError() << "has " << numInputs << " inputs but " << numArguments << " arguments";
  if (frameSize < 0 || frameSize % 64 != 0)
    return emitOpError() << "has a frame of " << frameSize
                         << " bytes, which is not a multiple of 64";
  for (BlockArgument argument : getBody().getArguments())
    if (failed(verifyBufferType(*this, argument.getType())))
      return failure();
  if (getBody().front().empty() || !isa<ReturnOp>(getBody().front().back()))
    return emitOpError("must end in exec.return");
  return success();
}
