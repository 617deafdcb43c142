//===- GraphBase.td - types and op classes shared by the op families ------===//
#ifndef MINIGPTC_GRAPH_BASE_TD
#define MINIGPTC_GRAPH_BASE_TD

include "dialects/graph/IR/GraphDialect.td"
include "dialects/graph/IR/GraphInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/CallInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"

def Graph_Float : AnyTypeOf<[F64, F32, BF16, F16], "f64, f32, bf16 or f16">;
def Graph_Int : AnyTypeOf<[I64, I32, I8, UI64, UI32], "i64, i32, i8, ui64 or ui32">;
def Graph_Num : AnyTypeOf<[Graph_Float, Graph_Int], "a number">;
def Graph_Elem : AnyTypeOf<[Graph_Float, Graph_Int, I1], "a graph element type">;
def Graph_Logical : AnyTypeOf<[Graph_Int, I1], "an integer or i1">;

def Graph_Tensor : StaticShapeTensorOf<[Graph_Elem]>;
def Graph_FloatTensor : StaticShapeTensorOf<[Graph_Float]>;
def Graph_NumTensor : StaticShapeTensorOf<[Graph_Num]>;
def Graph_LogicalTensor : StaticShapeTensorOf<[Graph_Logical]>;
def Graph_IntTensor : StaticShapeTensorOf<[Graph_Int]>;
def Graph_PredTensor : StaticShapeTensorOf<[I1]>;
def Graph_IndexTensor : StaticShapeTensorOf<[I32, I64, UI32]>;
def Graph_F32Tensor : StaticShapeTensorOf<[F32]>;
/// A random key: two 32-bit words of Philox-4x32-10.
def Graph_Key : Type<CPred<"::minigptc::graph::isKeyType($_self)">, "tensor<2xui32>">,
    BuildableType<"::minigptc::graph::getKeyType($_builder.getContext())">;
/// The number of a part, of those in which a draw is made.
def Graph_Part : Type<CPred<"::minigptc::graph::isPartType($_self)">, "tensor<i64>">,
    BuildableType<"::minigptc::graph::getPartType($_builder.getContext())">;

class Graph_Op<string mnemonic, list<Trait> traits = []>
    : Op<Graph_Dialect, mnemonic, traits>;

/// A pure op. `fusionKind` answers `FusibleOp`; `cost` is given only where the
/// default (no matrix product, all bytes once) is wrong.
class Graph_PureOp<string mnemonic, list<Trait> traits = [], Trait cost = CostOp>
    : Graph_Op<mnemonic, !listconcat(
          [Pure, cost, DeclareOpInterfaceMethods<FusibleOp>], traits)> {
  string fusionKind = "elementwise";
  string extraDefinition = "";
  let extraClassDefinition = "::minigptc::graph::FusionKind $cppClass::getFusionKind() { return ::minigptc::graph::FusionKind::"
      # fusionKind # "; }" # extraDefinition;
}

/// Of ops that call functions: pure, but where `graph.prints` says that what they call prints.
def Graph_PureUnlessPrinting : TraitList<[AlwaysSpeculatable,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    NativeOpTrait<"PureUnlessPrinting", [], "", [{
      void $cppClass::getEffects(
          ::llvm::SmallVectorImpl<::mlir::MemoryEffects::EffectInstance> &effects) {
        ::minigptc::graph::detail::addPrintEffect(*this, effects);
      }
    }]>]>;

defvar Graph_Sharded = DeclareOpInterfaceMethods<ShardingRuleOp>;

/// A pure op all of whose dimensions pass through. `linearity` is that of its rule, in the
/// operands with a 1 in `linear` (a bit each; all by default).
class Graph_ElementwiseOp<string mnemonic, list<Trait> traits = []>
    : Graph_PureOp<mnemonic, !listconcat([Graph_Sharded], traits)> {
  string linearity = "none";
  string linear = "";
  let extraDefinition = "\n::minigptc::graph::ShardingRule $cppClass::getShardingRule() {"
      " return ::minigptc::graph::detail::elementwiseRule(*this, ::minigptc::graph::Linearity::"
      # linearity # ", {" # linear # "}); }";
}

defvar Graph_Differentiable = DeclareOpInterfaceMethods<DifferentiableOp>;
/// The op's `inferReturnTypes` takes an adaptor; its errors are the op's errors
/// (see Diagnostics.h), so that a frontend may ask before it builds the op.
defvar Graph_Infer = InferTypeOpAdaptor;
/// Results may be of the accumulator type instead: sums that are not rounded yet.
defvar Graph_InferWidening = InferTypeOpAdaptorWithIsCompatible;
/// All operands and the result have one type; says which operand differs.
def Graph_SameTypes : TraitList<[
    DeclareOpInterfaceMethods<InferTypeOpInterface>,
    NativeOpTrait<"InferSameTypes", [], "", [{
      ::llvm::LogicalResult $cppClass::inferReturnTypes(::mlir::MLIRContext *,
          std::optional<::mlir::Location> location, ::mlir::ValueRange operands, ::mlir::DictionaryAttr,
          ::mlir::OpaqueProperties, ::mlir::RegionRange, ::llvm::SmallVectorImpl<::mlir::Type> &inferredTypes) {
        return ::minigptc::graph::detail::inferSameTypes(location, getOperationName(), operands, inferredTypes);
      }
    }]>, SameTypeOperands]>;
defvar Graph_Indexing = DeclareOpInterfaceMethods<IndexingOp>;
defvar Graph_ElementMove = DeclareOpInterfaceMethods<ElementMoveOp>;
defvar Graph_Decomposable = DeclareOpInterfaceMethods<DecomposableOp>;

#endif // MINIGPTC_GRAPH_BASE_TD
