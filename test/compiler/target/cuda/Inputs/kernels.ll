; ModuleID = 'kernels.cu'
source_filename = "kernels.cu"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@_ZZ7softmaxE7partial = internal unnamed_addr addrspace(3) global [32 x float] undef, align 4
@_ZZ7softmaxE4peak = internal unnamed_addr addrspace(3) global [32 x float] undef, align 4
@_ZZ9layerNormE7partial = internal unnamed_addr addrspace(3) global [32 x float] undef, align 4
@_ZZ9transposeE4tile = internal unnamed_addr addrspace(3) global [1056 x float] undef, align 4
@dynamic = external dso_local local_unnamed_addr addrspace(3) global [0 x float], align 4
@_ZZ10asyncScaleE5stage = internal addrspace(3) global [2 x [256 x float]] undef, align 16
@_ZZ9histogramE5local = internal addrspace(3) global [16 x i32] undef, align 4
@_ZZ12reverseWarpsE6values = internal unnamed_addr addrspace(3) global [256 x float] undef, align 4

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: readwrite)
define dso_local ptx_kernel void @scale(ptr noundef writeonly captures(none) %0, ptr noundef readonly captures(none) %1, float noundef %2, i32 noundef %3) local_unnamed_addr #0 !dbg !12 {
  %5 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ctaid.x(), !dbg !15
  %6 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ntid.x(), !dbg !18
  %7 = mul nuw nsw i32 %5, %6, !dbg !21
  %8 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !22
  %9 = add nuw nsw i32 %7, %8, !dbg !25
  %10 = icmp slt i32 %9, %3, !dbg !26
  br i1 %10, label %11, label %17, !dbg !26

11:                                               ; preds = %4
  %12 = zext nneg i32 %9 to i64
  %13 = getelementptr inbounds nuw float, ptr %0, i64 %12
  %14 = getelementptr inbounds nuw float, ptr %1, i64 %12
  %15 = load float, ptr %14, align 4, !dbg !27, !tbaa !28
  %16 = fmul contract float %2, %15, !dbg !30
  store float %16, ptr %13, align 4, !dbg !31, !tbaa !28
  br label %17, !dbg !32

17:                                               ; preds = %11, %4
  ret void, !dbg !33
}

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind memory(argmem: readwrite)
define dso_local ptx_kernel void @scale4(ptr noundef writeonly captures(none) %0, ptr noundef readonly captures(none) %1, float noundef %2, i32 noundef %3) local_unnamed_addr #1 !dbg !34 {
  %5 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ctaid.x(), !dbg !35
  %6 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ntid.x(), !dbg !37
  %7 = mul nuw nsw i32 %5, %6, !dbg !39
  %8 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !40
  %9 = add nuw nsw i32 %7, %8, !dbg !42
  %10 = shl nsw i32 %9, 2, !dbg !43
  %11 = add nuw nsw i32 %10, 4, !dbg !44
  %12 = icmp sgt i32 %11, %3, !dbg !45
  br i1 %12, label %13, label %33, !dbg !45

13:                                               ; preds = %4
  %14 = icmp slt i32 %10, %3, !dbg !46
  br i1 %14, label %15, label %68, !dbg !47

15:                                               ; preds = %13
  %16 = and i32 %3, 3, !dbg !47
  %17 = icmp eq i32 %16, 0, !dbg !47
  br i1 %17, label %29, label %18, !dbg !47

18:                                               ; preds = %15, %18
  %19 = phi i32 [ %26, %18 ], [ %10, %15 ]
  %20 = phi i32 [ %27, %18 ], [ 0, %15 ]
  %21 = zext nneg i32 %19 to i64, !dbg !48
  %22 = getelementptr inbounds nuw float, ptr %1, i64 %21, !dbg !48
  %23 = load float, ptr %22, align 4, !dbg !48, !tbaa !28
  %24 = fmul contract float %2, %23, !dbg !49
  %25 = getelementptr inbounds nuw float, ptr %0, i64 %21, !dbg !50
  store float %24, ptr %25, align 4, !dbg !51, !tbaa !28
  %26 = add nuw nsw i32 %19, 1, !dbg !52
  %27 = add i32 %20, 1, !dbg !47
  %28 = icmp eq i32 %27, %16, !dbg !47
  br i1 %28, label %29, label %18, !dbg !47, !llvm.loop !53

29:                                               ; preds = %18, %15
  %30 = phi i32 [ %10, %15 ], [ %26, %18 ]
  %31 = sub i32 %10, %3, !dbg !47
  %32 = icmp ugt i32 %31, -4, !dbg !47
  br i1 %32, label %68, label %41, !dbg !47

33:                                               ; preds = %4
  %34 = zext nneg i32 %10 to i64, !dbg !55
  %35 = getelementptr inbounds nuw float, ptr %1, i64 %34, !dbg !55
  %36 = load <4 x float>, ptr %35, align 16, !dbg !55, !tbaa !56
  %37 = insertelement <4 x float> poison, float %2, i64 0, !dbg !57
  %38 = shufflevector <4 x float> %37, <4 x float> poison, <4 x i32> zeroinitializer, !dbg !57
  %39 = fmul contract <4 x float> %38, %36, !dbg !58
  %40 = getelementptr inbounds nuw float, ptr %0, i64 %34, !dbg !59
  store <4 x float> %39, ptr %40, align 16, !dbg !60, !tbaa !56
  br label %68, !dbg !61

41:                                               ; preds = %29, %41
  %42 = phi i32 [ %66, %41 ], [ %30, %29 ]
  %43 = zext nneg i32 %42 to i64, !dbg !48
  %44 = getelementptr inbounds nuw float, ptr %1, i64 %43, !dbg !48
  %45 = load float, ptr %44, align 4, !dbg !48, !tbaa !28
  %46 = fmul contract float %2, %45, !dbg !49
  %47 = getelementptr inbounds nuw float, ptr %0, i64 %43, !dbg !50
  store float %46, ptr %47, align 4, !dbg !51, !tbaa !28
  %48 = add nuw nsw i32 %42, 1, !dbg !52
  %49 = zext nneg i32 %48 to i64, !dbg !48
  %50 = getelementptr inbounds nuw float, ptr %1, i64 %49, !dbg !48
  %51 = load float, ptr %50, align 4, !dbg !48, !tbaa !28
  %52 = fmul contract float %2, %51, !dbg !49
  %53 = getelementptr inbounds nuw float, ptr %0, i64 %49, !dbg !50
  store float %52, ptr %53, align 4, !dbg !51, !tbaa !28
  %54 = add nuw nsw i32 %42, 2, !dbg !52
  %55 = zext nneg i32 %54 to i64, !dbg !48
  %56 = getelementptr inbounds nuw float, ptr %1, i64 %55, !dbg !48
  %57 = load float, ptr %56, align 4, !dbg !48, !tbaa !28
  %58 = fmul contract float %2, %57, !dbg !49
  %59 = getelementptr inbounds nuw float, ptr %0, i64 %55, !dbg !50
  store float %58, ptr %59, align 4, !dbg !51, !tbaa !28
  %60 = add nuw nsw i32 %42, 3, !dbg !52
  %61 = zext nneg i32 %60 to i64, !dbg !48
  %62 = getelementptr inbounds nuw float, ptr %1, i64 %61, !dbg !48
  %63 = load float, ptr %62, align 4, !dbg !48, !tbaa !28
  %64 = fmul contract float %2, %63, !dbg !49
  %65 = getelementptr inbounds nuw float, ptr %0, i64 %61, !dbg !50
  store float %64, ptr %65, align 4, !dbg !51, !tbaa !28
  %66 = add nuw nsw i32 %42, 4, !dbg !52
  %67 = icmp eq i32 %66, %3, !dbg !46
  br i1 %67, label %68, label %41, !dbg !47, !llvm.loop !62

68:                                               ; preds = %29, %41, %13, %33
  ret void, !dbg !65
}

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @softmax(ptr noundef writeonly captures(none) %0, ptr noundef readonly captures(none) %1, i32 noundef %2) local_unnamed_addr #2 !dbg !66 {
  %4 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ctaid.x(), !dbg !67
  %5 = mul nsw i32 %2, %4, !dbg !69
  %6 = sext i32 %5 to i64, !dbg !70
  %7 = getelementptr inbounds float, ptr %1, i64 %6, !dbg !70
  %8 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !71
  %9 = icmp slt i32 %8, %2, !dbg !73
  br i1 %9, label %10, label %12, !dbg !74

10:                                               ; preds = %3
  %11 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  br label %31, !dbg !74

12:                                               ; preds = %31, %3
  %13 = phi float [ 0xFFF0000000000000, %3 ], [ %38, %31 ], !dbg !75
  %14 = tail call contract float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %13, i32 16, i32 31), !dbg !76
  %15 = fcmp contract ogt float %13, %14, !dbg !79
  %16 = select contract i1 %15, float %13, float %14, !dbg !82
  %17 = tail call contract float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %16, i32 8, i32 31), !dbg !76
  %18 = fcmp contract ogt float %16, %17, !dbg !79
  %19 = select contract i1 %18, float %16, float %17, !dbg !82
  %20 = tail call contract float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %19, i32 4, i32 31), !dbg !76
  %21 = fcmp contract ogt float %19, %20, !dbg !79
  %22 = select contract i1 %21, float %19, float %20, !dbg !82
  %23 = tail call contract float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %22, i32 2, i32 31), !dbg !76
  %24 = fcmp contract ogt float %22, %23, !dbg !79
  %25 = select contract i1 %24, float %22, float %23, !dbg !82
  %26 = tail call contract float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %25, i32 1, i32 31), !dbg !76
  %27 = fcmp contract ogt float %25, %26, !dbg !79
  %28 = select contract i1 %27, float %25, float %26, !dbg !82
  %29 = and i32 %8, 31, !dbg !83
  %30 = icmp eq i32 %29, 0, !dbg !83
  br i1 %30, label %41, label %45, !dbg !83

31:                                               ; preds = %10, %31
  %32 = phi i32 [ %8, %10 ], [ %39, %31 ]
  %33 = phi float [ 0xFFF0000000000000, %10 ], [ %38, %31 ]
  %34 = zext nneg i32 %32 to i64, !dbg !84
  %35 = getelementptr inbounds nuw float, ptr %7, i64 %34, !dbg !84
  %36 = load float, ptr %35, align 4, !dbg !84, !tbaa !28
  %37 = fcmp contract ogt float %33, %36, !dbg !85
  %38 = select contract i1 %37, float %33, float %36, !dbg !87
  %39 = add nuw nsw i32 %32, %11, !dbg !88
  %40 = icmp slt i32 %39, %2, !dbg !73
  br i1 %40, label %31, label %12, !dbg !74, !llvm.loop !89

41:                                               ; preds = %12
  %42 = lshr exact i32 %8, 5, !dbg !91
  %43 = zext nneg i32 %42 to i64, !dbg !92
  %44 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ7softmaxE4peak to ptr), i64 %43, !dbg !92
  store float %28, ptr %44, align 4, !dbg !93, !tbaa !28
  br label %45, !dbg !92

45:                                               ; preds = %41, %12
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0), !dbg !94
  %46 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %47 = lshr i32 %46, 5
  %48 = icmp eq i32 %47, 0, !dbg !95
  br i1 %48, label %72, label %49, !dbg !96

49:                                               ; preds = %45
  %50 = and i32 %47, 3, !dbg !96
  %51 = icmp samesign ult i32 %46, 128, !dbg !96
  br i1 %51, label %56, label %52, !dbg !96

52:                                               ; preds = %49
  %53 = and i32 %47, 60, !dbg !96
  br label %74, !dbg !96

54:                                               ; preds = %74
  %55 = icmp eq i32 %50, 0, !dbg !96
  br i1 %55, label %72, label %56, !dbg !96

56:                                               ; preds = %54, %49
  %57 = phi i32 [ 0, %49 ], [ %101, %54 ]
  %58 = phi float [ %28, %49 ], [ %100, %54 ]
  %59 = icmp ne i32 %50, 0, !dbg !96
  tail call void @llvm.assume(i1 %59), !dbg !96
  br label %60, !dbg !96

60:                                               ; preds = %60, %56
  %61 = phi i32 [ %69, %60 ], [ %57, %56 ]
  %62 = phi float [ %68, %60 ], [ %58, %56 ]
  %63 = phi i32 [ %70, %60 ], [ 0, %56 ]
  %64 = zext nneg i32 %61 to i64, !dbg !97
  %65 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ7softmaxE4peak to ptr), i64 %64, !dbg !97
  %66 = load float, ptr %65, align 4, !dbg !97, !tbaa !28
  %67 = fcmp contract ogt float %62, %66, !dbg !98
  %68 = select contract i1 %67, float %62, float %66, !dbg !100
  %69 = add nuw nsw i32 %61, 1, !dbg !101
  %70 = add i32 %63, 1, !dbg !96
  %71 = icmp eq i32 %70, %50, !dbg !96
  br i1 %71, label %72, label %60, !dbg !96, !llvm.loop !102

72:                                               ; preds = %54, %60, %45
  %73 = phi float [ %28, %45 ], [ %100, %54 ], [ %68, %60 ], !dbg !75
  br i1 %9, label %171, label %104, !dbg !103

74:                                               ; preds = %74, %52
  %75 = phi i32 [ 0, %52 ], [ %101, %74 ]
  %76 = phi float [ %28, %52 ], [ %100, %74 ]
  %77 = phi i32 [ 0, %52 ], [ %102, %74 ]
  %78 = zext nneg i32 %75 to i64, !dbg !97
  %79 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ7softmaxE4peak to ptr), i64 %78, !dbg !97
  %80 = load float, ptr %79, align 4, !dbg !97, !tbaa !28
  %81 = fcmp contract ogt float %76, %80, !dbg !98
  %82 = select contract i1 %81, float %76, float %80, !dbg !100
  %83 = zext nneg i32 %75 to i64, !dbg !97
  %84 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ7softmaxE4peak to ptr), i64 %83, !dbg !97
  %85 = getelementptr inbounds nuw i8, ptr %84, i64 4, !dbg !97
  %86 = load float, ptr %85, align 4, !dbg !97, !tbaa !28
  %87 = fcmp contract ogt float %82, %86, !dbg !98
  %88 = select contract i1 %87, float %82, float %86, !dbg !100
  %89 = zext nneg i32 %75 to i64, !dbg !97
  %90 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ7softmaxE4peak to ptr), i64 %89, !dbg !97
  %91 = getelementptr inbounds nuw i8, ptr %90, i64 8, !dbg !97
  %92 = load float, ptr %91, align 4, !dbg !97, !tbaa !28
  %93 = fcmp contract ogt float %88, %92, !dbg !98
  %94 = select contract i1 %93, float %88, float %92, !dbg !100
  %95 = zext nneg i32 %75 to i64, !dbg !97
  %96 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ7softmaxE4peak to ptr), i64 %95, !dbg !97
  %97 = getelementptr inbounds nuw i8, ptr %96, i64 12, !dbg !97
  %98 = load float, ptr %97, align 4, !dbg !97, !tbaa !28
  %99 = fcmp contract ogt float %94, %98, !dbg !98
  %100 = select contract i1 %99, float %94, float %98, !dbg !100
  %101 = add nuw nsw i32 %75, 4, !dbg !101
  %102 = add i32 %77, 4, !dbg !96
  %103 = icmp eq i32 %102, %53, !dbg !96
  br i1 %103, label %54, label %74, !dbg !96, !llvm.loop !104

104:                                              ; preds = %171, %72
  %105 = phi float [ 0.000000e+00, %72 ], [ %180, %171 ], !dbg !75
  %106 = tail call contract float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %105, i32 16, i32 31), !dbg !106
  %107 = fadd contract float %105, %106, !dbg !111
  %108 = tail call contract float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %107, i32 8, i32 31), !dbg !106
  %109 = fadd contract float %107, %108, !dbg !111
  %110 = tail call contract float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %109, i32 4, i32 31), !dbg !106
  %111 = fadd contract float %109, %110, !dbg !111
  %112 = tail call contract float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %111, i32 2, i32 31), !dbg !106
  %113 = fadd contract float %111, %112, !dbg !111
  %114 = tail call contract float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %113, i32 1, i32 31), !dbg !106
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0), !dbg !112
  br i1 %30, label %115, label %120, !dbg !113

115:                                              ; preds = %104
  %116 = lshr exact i32 %8, 5
  %117 = zext nneg i32 %116 to i64
  %118 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ7softmaxE7partial to ptr), i64 %117
  %119 = fadd contract float %113, %114
  store float %119, ptr %118, align 4, !dbg !114, !tbaa !28
  br label %120, !dbg !115

120:                                              ; preds = %115, %104
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0), !dbg !116
  br i1 %48, label %169, label %121, !dbg !117

121:                                              ; preds = %120
  %122 = and i32 %47, 3, !dbg !117
  %123 = icmp samesign ult i32 %46, 128, !dbg !117
  br i1 %123, label %154, label %124, !dbg !117

124:                                              ; preds = %121
  %125 = and i32 %47, 60, !dbg !117
  br label %126, !dbg !117

126:                                              ; preds = %126, %124
  %127 = phi i32 [ 0, %124 ], [ %149, %126 ]
  %128 = phi float [ 0.000000e+00, %124 ], [ %148, %126 ]
  %129 = phi i32 [ 0, %124 ], [ %150, %126 ]
  %130 = zext nneg i32 %127 to i64, !dbg !118
  %131 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ7softmaxE7partial to ptr), i64 %130, !dbg !118
  %132 = load float, ptr %131, align 4, !dbg !118, !tbaa !28
  %133 = fadd contract float %128, %132, !dbg !119
  %134 = zext nneg i32 %127 to i64, !dbg !118
  %135 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ7softmaxE7partial to ptr), i64 %134, !dbg !118
  %136 = getelementptr inbounds nuw i8, ptr %135, i64 4, !dbg !118
  %137 = load float, ptr %136, align 4, !dbg !118, !tbaa !28
  %138 = fadd contract float %133, %137, !dbg !119
  %139 = zext nneg i32 %127 to i64, !dbg !118
  %140 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ7softmaxE7partial to ptr), i64 %139, !dbg !118
  %141 = getelementptr inbounds nuw i8, ptr %140, i64 8, !dbg !118
  %142 = load float, ptr %141, align 4, !dbg !118, !tbaa !28
  %143 = fadd contract float %138, %142, !dbg !119
  %144 = zext nneg i32 %127 to i64, !dbg !118
  %145 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ7softmaxE7partial to ptr), i64 %144, !dbg !118
  %146 = getelementptr inbounds nuw i8, ptr %145, i64 12, !dbg !118
  %147 = load float, ptr %146, align 4, !dbg !118, !tbaa !28
  %148 = fadd contract float %143, %147, !dbg !119
  %149 = add nuw nsw i32 %127, 4, !dbg !120
  %150 = add i32 %129, 4, !dbg !117
  %151 = icmp eq i32 %150, %125, !dbg !117
  br i1 %151, label %152, label %126, !dbg !117, !llvm.loop !121

152:                                              ; preds = %126
  %153 = icmp eq i32 %122, 0, !dbg !117
  br i1 %153, label %169, label %154, !dbg !117

154:                                              ; preds = %152, %121
  %155 = phi i32 [ 0, %121 ], [ %149, %152 ]
  %156 = phi float [ 0.000000e+00, %121 ], [ %148, %152 ]
  %157 = icmp ne i32 %122, 0, !dbg !117
  tail call void @llvm.assume(i1 %157), !dbg !117
  br label %158, !dbg !117

158:                                              ; preds = %158, %154
  %159 = phi i32 [ %166, %158 ], [ %155, %154 ]
  %160 = phi float [ %165, %158 ], [ %156, %154 ]
  %161 = phi i32 [ %167, %158 ], [ 0, %154 ]
  %162 = zext nneg i32 %159 to i64, !dbg !118
  %163 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ7softmaxE7partial to ptr), i64 %162, !dbg !118
  %164 = load float, ptr %163, align 4, !dbg !118, !tbaa !28
  %165 = fadd contract float %160, %164, !dbg !119
  %166 = add nuw nsw i32 %159, 1, !dbg !120
  %167 = add i32 %161, 1, !dbg !117
  %168 = icmp eq i32 %167, %122, !dbg !117
  br i1 %168, label %169, label %158, !dbg !117, !llvm.loop !123

169:                                              ; preds = %152, %158, %120
  %170 = phi float [ 0.000000e+00, %120 ], [ %148, %152 ], [ %165, %158 ], !dbg !124
  br i1 %9, label %184, label %183, !dbg !125

171:                                              ; preds = %72, %171
  %172 = phi i32 [ %181, %171 ], [ %8, %72 ]
  %173 = phi float [ %180, %171 ], [ 0.000000e+00, %72 ]
  %174 = zext nneg i32 %172 to i64, !dbg !126
  %175 = getelementptr inbounds nuw float, ptr %7, i64 %174, !dbg !126
  %176 = load float, ptr %175, align 4, !dbg !126, !tbaa !28
  %177 = fsub contract float %176, %73, !dbg !127
  %178 = fmul contract float %177, 0x3FF7154760000000, !dbg !128
  %179 = tail call contract noundef float @llvm.nvvm.ex2.approx.ftz.f32(float %178), !dbg !129
  %180 = fadd contract float %173, %179, !dbg !132
  %181 = add nuw nsw i32 %172, %46, !dbg !133
  %182 = icmp slt i32 %181, %2, !dbg !134
  br i1 %182, label %171, label %104, !dbg !103, !llvm.loop !135

183:                                              ; preds = %184, %169
  ret void, !dbg !137

184:                                              ; preds = %169, %184
  %185 = phi i32 [ %196, %184 ], [ %8, %169 ]
  %186 = zext nneg i32 %185 to i64, !dbg !138
  %187 = getelementptr inbounds nuw float, ptr %7, i64 %186, !dbg !138
  %188 = load float, ptr %187, align 4, !dbg !138, !tbaa !28
  %189 = fsub contract float %188, %73, !dbg !139
  %190 = fmul contract float %189, 0x3FF7154760000000, !dbg !140
  %191 = tail call contract noundef float @llvm.nvvm.ex2.approx.ftz.f32(float %190), !dbg !141
  %192 = fdiv contract float %191, %170, !dbg !143
  %193 = add nsw i32 %185, %5, !dbg !144
  %194 = sext i32 %193 to i64, !dbg !145
  %195 = getelementptr inbounds float, ptr %0, i64 %194, !dbg !145
  store float %192, ptr %195, align 4, !dbg !146, !tbaa !28
  %196 = add nuw nsw i32 %185, %46, !dbg !147
  %197 = icmp slt i32 %196, %2, !dbg !148
  br i1 %197, label %184, label %183, !dbg !125, !llvm.loop !149
}

; Function Attrs: convergent nocallback nounwind
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) #3

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @layerNorm(ptr noundef writeonly captures(none) %0, ptr noundef readonly captures(none) %1, ptr noundef readonly captures(none) %2, ptr noundef readonly captures(none) %3, i32 noundef %4) local_unnamed_addr #2 !dbg !151 {
  %6 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ctaid.x(), !dbg !152
  %7 = mul nsw i32 %4, %6, !dbg !154
  %8 = sext i32 %7 to i64, !dbg !155
  %9 = getelementptr inbounds float, ptr %1, i64 %8, !dbg !155
  %10 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !156
  %11 = icmp slt i32 %10, %4, !dbg !158
  br i1 %11, label %12, label %14, !dbg !159

12:                                               ; preds = %5
  %13 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  br label %88, !dbg !159

14:                                               ; preds = %88, %5
  %15 = phi float [ 0.000000e+00, %5 ], [ %94, %88 ], !dbg !160
  %16 = tail call contract float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %15, i32 16, i32 31), !dbg !161
  %17 = fadd contract float %15, %16, !dbg !164
  %18 = tail call contract float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %17, i32 8, i32 31), !dbg !161
  %19 = fadd contract float %17, %18, !dbg !164
  %20 = tail call contract float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %19, i32 4, i32 31), !dbg !161
  %21 = fadd contract float %19, %20, !dbg !164
  %22 = tail call contract float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %21, i32 2, i32 31), !dbg !161
  %23 = fadd contract float %21, %22, !dbg !164
  %24 = tail call contract float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %23, i32 1, i32 31), !dbg !161
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0), !dbg !165
  %25 = and i32 %10, 31, !dbg !166
  %26 = icmp eq i32 %25, 0, !dbg !166
  br i1 %26, label %27, label %32, !dbg !166

27:                                               ; preds = %14
  %28 = lshr exact i32 %10, 5
  %29 = zext nneg i32 %28 to i64
  %30 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ9layerNormE7partial to ptr), i64 %29
  %31 = fadd contract float %23, %24
  store float %31, ptr %30, align 4, !dbg !167, !tbaa !28
  br label %32, !dbg !168

32:                                               ; preds = %27, %14
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0), !dbg !169
  %33 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %34 = lshr i32 %33, 5
  %35 = icmp eq i32 %34, 0, !dbg !170
  br i1 %35, label %84, label %36, !dbg !171

36:                                               ; preds = %32
  %37 = and i32 %34, 3, !dbg !171
  %38 = icmp samesign ult i32 %33, 128, !dbg !171
  br i1 %38, label %69, label %39, !dbg !171

39:                                               ; preds = %36
  %40 = and i32 %34, 60, !dbg !171
  br label %41, !dbg !171

41:                                               ; preds = %41, %39
  %42 = phi i32 [ 0, %39 ], [ %64, %41 ]
  %43 = phi float [ 0.000000e+00, %39 ], [ %63, %41 ]
  %44 = phi i32 [ 0, %39 ], [ %65, %41 ]
  %45 = zext nneg i32 %42 to i64, !dbg !172
  %46 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ9layerNormE7partial to ptr), i64 %45, !dbg !172
  %47 = load float, ptr %46, align 4, !dbg !172, !tbaa !28
  %48 = fadd contract float %43, %47, !dbg !173
  %49 = zext nneg i32 %42 to i64, !dbg !172
  %50 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ9layerNormE7partial to ptr), i64 %49, !dbg !172
  %51 = getelementptr inbounds nuw i8, ptr %50, i64 4, !dbg !172
  %52 = load float, ptr %51, align 4, !dbg !172, !tbaa !28
  %53 = fadd contract float %48, %52, !dbg !173
  %54 = zext nneg i32 %42 to i64, !dbg !172
  %55 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ9layerNormE7partial to ptr), i64 %54, !dbg !172
  %56 = getelementptr inbounds nuw i8, ptr %55, i64 8, !dbg !172
  %57 = load float, ptr %56, align 4, !dbg !172, !tbaa !28
  %58 = fadd contract float %53, %57, !dbg !173
  %59 = zext nneg i32 %42 to i64, !dbg !172
  %60 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ9layerNormE7partial to ptr), i64 %59, !dbg !172
  %61 = getelementptr inbounds nuw i8, ptr %60, i64 12, !dbg !172
  %62 = load float, ptr %61, align 4, !dbg !172, !tbaa !28
  %63 = fadd contract float %58, %62, !dbg !173
  %64 = add nuw nsw i32 %42, 4, !dbg !174
  %65 = add i32 %44, 4, !dbg !171
  %66 = icmp eq i32 %65, %40, !dbg !171
  br i1 %66, label %67, label %41, !dbg !171, !llvm.loop !175

67:                                               ; preds = %41
  %68 = icmp eq i32 %37, 0, !dbg !171
  br i1 %68, label %84, label %69, !dbg !171

69:                                               ; preds = %67, %36
  %70 = phi i32 [ 0, %36 ], [ %64, %67 ]
  %71 = phi float [ 0.000000e+00, %36 ], [ %63, %67 ]
  %72 = icmp ne i32 %37, 0, !dbg !171
  tail call void @llvm.assume(i1 %72), !dbg !171
  br label %73, !dbg !171

73:                                               ; preds = %73, %69
  %74 = phi i32 [ %81, %73 ], [ %70, %69 ]
  %75 = phi float [ %80, %73 ], [ %71, %69 ]
  %76 = phi i32 [ %82, %73 ], [ 0, %69 ]
  %77 = zext nneg i32 %74 to i64, !dbg !172
  %78 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ9layerNormE7partial to ptr), i64 %77, !dbg !172
  %79 = load float, ptr %78, align 4, !dbg !172, !tbaa !28
  %80 = fadd contract float %75, %79, !dbg !173
  %81 = add nuw nsw i32 %74, 1, !dbg !174
  %82 = add i32 %76, 1, !dbg !171
  %83 = icmp eq i32 %82, %37, !dbg !171
  br i1 %83, label %84, label %73, !dbg !171, !llvm.loop !177

84:                                               ; preds = %67, %73, %32
  %85 = phi float [ 0.000000e+00, %32 ], [ %63, %67 ], [ %80, %73 ], !dbg !178
  %86 = sitofp i32 %4 to float, !dbg !179
  %87 = fdiv contract float %85, %86, !dbg !180
  br i1 %11, label %167, label %97, !dbg !181

88:                                               ; preds = %12, %88
  %89 = phi float [ 0.000000e+00, %12 ], [ %94, %88 ]
  %90 = phi i32 [ %10, %12 ], [ %95, %88 ]
  %91 = zext nneg i32 %90 to i64, !dbg !182
  %92 = getelementptr inbounds nuw float, ptr %9, i64 %91, !dbg !182
  %93 = load float, ptr %92, align 4, !dbg !182, !tbaa !28
  %94 = fadd contract float %89, %93, !dbg !183
  %95 = add nuw nsw i32 %90, %13, !dbg !184
  %96 = icmp slt i32 %95, %4, !dbg !158
  br i1 %96, label %88, label %14, !dbg !159, !llvm.loop !185

97:                                               ; preds = %167, %84
  %98 = phi float [ 0.000000e+00, %84 ], [ %175, %167 ], !dbg !160
  %99 = tail call contract float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %98, i32 16, i32 31), !dbg !187
  %100 = fadd contract float %98, %99, !dbg !190
  %101 = tail call contract float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %100, i32 8, i32 31), !dbg !187
  %102 = fadd contract float %100, %101, !dbg !190
  %103 = tail call contract float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %102, i32 4, i32 31), !dbg !187
  %104 = fadd contract float %102, %103, !dbg !190
  %105 = tail call contract float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %104, i32 2, i32 31), !dbg !187
  %106 = fadd contract float %104, %105, !dbg !190
  %107 = tail call contract float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %106, i32 1, i32 31), !dbg !187
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0), !dbg !191
  br i1 %26, label %108, label %113, !dbg !192

108:                                              ; preds = %97
  %109 = lshr exact i32 %10, 5
  %110 = zext nneg i32 %109 to i64
  %111 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ9layerNormE7partial to ptr), i64 %110
  %112 = fadd contract float %106, %107
  store float %112, ptr %111, align 4, !dbg !193, !tbaa !28
  br label %113, !dbg !194

113:                                              ; preds = %108, %97
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0), !dbg !195
  br i1 %35, label %162, label %114, !dbg !196

114:                                              ; preds = %113
  %115 = and i32 %34, 3, !dbg !196
  %116 = icmp samesign ult i32 %33, 128, !dbg !196
  br i1 %116, label %147, label %117, !dbg !196

117:                                              ; preds = %114
  %118 = and i32 %34, 60, !dbg !196
  br label %119, !dbg !196

119:                                              ; preds = %119, %117
  %120 = phi i32 [ 0, %117 ], [ %142, %119 ]
  %121 = phi float [ 0.000000e+00, %117 ], [ %141, %119 ]
  %122 = phi i32 [ 0, %117 ], [ %143, %119 ]
  %123 = zext nneg i32 %120 to i64, !dbg !197
  %124 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ9layerNormE7partial to ptr), i64 %123, !dbg !197
  %125 = load float, ptr %124, align 4, !dbg !197, !tbaa !28
  %126 = fadd contract float %121, %125, !dbg !198
  %127 = zext nneg i32 %120 to i64, !dbg !197
  %128 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ9layerNormE7partial to ptr), i64 %127, !dbg !197
  %129 = getelementptr inbounds nuw i8, ptr %128, i64 4, !dbg !197
  %130 = load float, ptr %129, align 4, !dbg !197, !tbaa !28
  %131 = fadd contract float %126, %130, !dbg !198
  %132 = zext nneg i32 %120 to i64, !dbg !197
  %133 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ9layerNormE7partial to ptr), i64 %132, !dbg !197
  %134 = getelementptr inbounds nuw i8, ptr %133, i64 8, !dbg !197
  %135 = load float, ptr %134, align 4, !dbg !197, !tbaa !28
  %136 = fadd contract float %131, %135, !dbg !198
  %137 = zext nneg i32 %120 to i64, !dbg !197
  %138 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ9layerNormE7partial to ptr), i64 %137, !dbg !197
  %139 = getelementptr inbounds nuw i8, ptr %138, i64 12, !dbg !197
  %140 = load float, ptr %139, align 4, !dbg !197, !tbaa !28
  %141 = fadd contract float %136, %140, !dbg !198
  %142 = add nuw nsw i32 %120, 4, !dbg !199
  %143 = add i32 %122, 4, !dbg !196
  %144 = icmp eq i32 %143, %118, !dbg !196
  br i1 %144, label %145, label %119, !dbg !196, !llvm.loop !200

145:                                              ; preds = %119
  %146 = icmp eq i32 %115, 0, !dbg !196
  br i1 %146, label %162, label %147, !dbg !196

147:                                              ; preds = %145, %114
  %148 = phi i32 [ 0, %114 ], [ %142, %145 ]
  %149 = phi float [ 0.000000e+00, %114 ], [ %141, %145 ]
  %150 = icmp ne i32 %115, 0, !dbg !196
  tail call void @llvm.assume(i1 %150), !dbg !196
  br label %151, !dbg !196

151:                                              ; preds = %151, %147
  %152 = phi i32 [ %159, %151 ], [ %148, %147 ]
  %153 = phi float [ %158, %151 ], [ %149, %147 ]
  %154 = phi i32 [ %160, %151 ], [ 0, %147 ]
  %155 = zext nneg i32 %152 to i64, !dbg !197
  %156 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ9layerNormE7partial to ptr), i64 %155, !dbg !197
  %157 = load float, ptr %156, align 4, !dbg !197, !tbaa !28
  %158 = fadd contract float %153, %157, !dbg !198
  %159 = add nuw nsw i32 %152, 1, !dbg !199
  %160 = add i32 %154, 1, !dbg !196
  %161 = icmp eq i32 %160, %115, !dbg !196
  br i1 %161, label %162, label %151, !dbg !196, !llvm.loop !202

162:                                              ; preds = %145, %151, %113
  %163 = phi float [ 0.000000e+00, %113 ], [ %141, %145 ], [ %158, %151 ], !dbg !203
  %164 = fdiv contract float %163, %86, !dbg !204
  %165 = fadd contract float %164, 0x3EE4F8B580000000, !dbg !205
  %166 = tail call contract float @llvm.nvvm.rsqrt.approx.f(float %165), !dbg !206
  br i1 %11, label %179, label %178, !dbg !207

167:                                              ; preds = %84, %167
  %168 = phi i32 [ %176, %167 ], [ %10, %84 ]
  %169 = phi float [ %175, %167 ], [ 0.000000e+00, %84 ]
  %170 = zext nneg i32 %168 to i64, !dbg !208
  %171 = getelementptr inbounds nuw float, ptr %9, i64 %170, !dbg !208
  %172 = load float, ptr %171, align 4, !dbg !208, !tbaa !28
  %173 = fsub contract float %172, %87, !dbg !209
  %174 = fmul contract float %173, %173, !dbg !210
  %175 = fadd contract float %169, %174, !dbg !211
  %176 = add nuw nsw i32 %168, %33, !dbg !212
  %177 = icmp slt i32 %176, %4, !dbg !213
  br i1 %177, label %167, label %97, !dbg !181, !llvm.loop !214

178:                                              ; preds = %179, %162
  ret void, !dbg !216

179:                                              ; preds = %162, %179
  %180 = phi i32 [ %195, %179 ], [ %10, %162 ]
  %181 = zext nneg i32 %180 to i64, !dbg !217
  %182 = getelementptr inbounds nuw float, ptr %9, i64 %181, !dbg !217
  %183 = load float, ptr %182, align 4, !dbg !217, !tbaa !28
  %184 = fsub contract float %183, %87, !dbg !218
  %185 = fmul contract float %166, %184, !dbg !219
  %186 = getelementptr inbounds nuw float, ptr %2, i64 %181, !dbg !220
  %187 = load float, ptr %186, align 4, !dbg !220, !tbaa !28
  %188 = fmul contract float %187, %185, !dbg !221
  %189 = getelementptr inbounds nuw float, ptr %3, i64 %181, !dbg !222
  %190 = load float, ptr %189, align 4, !dbg !222, !tbaa !28
  %191 = fadd contract float %190, %188, !dbg !223
  %192 = add nsw i32 %180, %7, !dbg !224
  %193 = sext i32 %192 to i64, !dbg !225
  %194 = getelementptr inbounds float, ptr %0, i64 %193, !dbg !225
  store float %191, ptr %194, align 4, !dbg !226, !tbaa !28
  %195 = add nuw nsw i32 %180, %33, !dbg !227
  %196 = icmp slt i32 %195, %4, !dbg !228
  br i1 %196, label %179, label %178, !dbg !207, !llvm.loop !229
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(none)
declare float @llvm.nvvm.rsqrt.approx.f(float) #4

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @transpose(ptr noundef writeonly captures(none) %0, ptr noundef readonly captures(none) %1, i32 noundef %2, i32 noundef %3) local_unnamed_addr #2 !dbg !231 {
  %5 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !232
  %6 = and i32 %5, 31, !dbg !234
  %7 = lshr i32 %5, 5, !dbg !235
  %8 = tail call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x(), !dbg !236
  %9 = shl nsw i32 %8, 5, !dbg !237
  %10 = or disjoint i32 %9, %6, !dbg !238
  %11 = tail call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y(), !dbg !239
  %12 = shl nuw nsw i32 %11, 5, !dbg !240
  %13 = or disjoint i32 %12, %7, !dbg !241
  %14 = icmp slt i32 %10, %3
  %15 = icmp slt i32 %13, %2, !dbg !242
  %16 = select i1 %15, i1 %14, i1 false, !dbg !243
  br i1 %16, label %17, label %27, !dbg !243

17:                                               ; preds = %4
  %18 = mul nsw i32 %13, %3, !dbg !244
  %19 = add nuw nsw i32 %18, %10, !dbg !245
  %20 = zext nneg i32 %19 to i64, !dbg !246
  %21 = getelementptr inbounds nuw float, ptr %1, i64 %20, !dbg !246
  %22 = load float, ptr %21, align 4, !dbg !246, !tbaa !28
  %23 = mul nuw nsw i32 %7, 33, !dbg !247
  %24 = add nuw nsw i32 %23, %6, !dbg !248
  %25 = zext nneg i32 %24 to i64, !dbg !249
  %26 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ9transposeE4tile to ptr), i64 %25, !dbg !249
  store float %22, ptr %26, align 4, !dbg !250, !tbaa !28
  br label %27, !dbg !249

27:                                               ; preds = %4, %17
  %28 = add nuw nsw i32 %13, 8, !dbg !251
  %29 = icmp slt i32 %28, %2, !dbg !242
  %30 = select i1 %29, i1 %14, i1 false, !dbg !243
  br i1 %30, label %31, label %42, !dbg !243

31:                                               ; preds = %27
  %32 = mul nsw i32 %28, %3, !dbg !244
  %33 = add nuw nsw i32 %32, %10, !dbg !245
  %34 = zext nneg i32 %33 to i64, !dbg !246
  %35 = getelementptr inbounds nuw float, ptr %1, i64 %34, !dbg !246
  %36 = load float, ptr %35, align 4, !dbg !246, !tbaa !28
  %37 = mul nuw nsw i32 %7, 33, !dbg !247
  %38 = add nuw nsw i32 %37, 264, !dbg !247
  %39 = add nuw nsw i32 %38, %6, !dbg !248
  %40 = zext nneg i32 %39 to i64, !dbg !249
  %41 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ9transposeE4tile to ptr), i64 %40, !dbg !249
  store float %36, ptr %41, align 4, !dbg !250, !tbaa !28
  br label %42, !dbg !249

42:                                               ; preds = %31, %27
  %43 = add nuw nsw i32 %13, 16, !dbg !251
  %44 = icmp slt i32 %43, %2, !dbg !242
  %45 = select i1 %44, i1 %14, i1 false, !dbg !243
  br i1 %45, label %46, label %57, !dbg !243

46:                                               ; preds = %42
  %47 = mul nsw i32 %43, %3, !dbg !244
  %48 = add nuw nsw i32 %47, %10, !dbg !245
  %49 = zext nneg i32 %48 to i64, !dbg !246
  %50 = getelementptr inbounds nuw float, ptr %1, i64 %49, !dbg !246
  %51 = load float, ptr %50, align 4, !dbg !246, !tbaa !28
  %52 = mul nuw nsw i32 %7, 33, !dbg !247
  %53 = add nuw nsw i32 %52, 528, !dbg !247
  %54 = add nuw nsw i32 %53, %6, !dbg !248
  %55 = zext nneg i32 %54 to i64, !dbg !249
  %56 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ9transposeE4tile to ptr), i64 %55, !dbg !249
  store float %51, ptr %56, align 4, !dbg !250, !tbaa !28
  br label %57, !dbg !249

57:                                               ; preds = %46, %42
  %58 = add nuw nsw i32 %13, 24, !dbg !251
  %59 = icmp slt i32 %58, %2, !dbg !242
  %60 = select i1 %59, i1 %14, i1 false, !dbg !243
  br i1 %60, label %61, label %72, !dbg !243

61:                                               ; preds = %57
  %62 = mul nsw i32 %58, %3, !dbg !244
  %63 = add nuw nsw i32 %62, %10, !dbg !245
  %64 = zext nneg i32 %63 to i64, !dbg !246
  %65 = getelementptr inbounds nuw float, ptr %1, i64 %64, !dbg !246
  %66 = load float, ptr %65, align 4, !dbg !246, !tbaa !28
  %67 = mul nuw nsw i32 %7, 33, !dbg !247
  %68 = add nuw nsw i32 %67, 792, !dbg !247
  %69 = add nuw nsw i32 %68, %6, !dbg !248
  %70 = zext nneg i32 %69 to i64, !dbg !249
  %71 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ9transposeE4tile to ptr), i64 %70, !dbg !249
  store float %66, ptr %71, align 4, !dbg !250, !tbaa !28
  br label %72, !dbg !249

72:                                               ; preds = %61, %57
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0), !dbg !252
  %73 = or disjoint i32 %12, %6, !dbg !253
  %74 = or disjoint i32 %9, %7, !dbg !254
  %75 = icmp slt i32 %73, %2
  %76 = mul nuw nsw i32 %6, 33
  %77 = add nuw nsw i32 %76, %7
  %78 = icmp slt i32 %74, %3, !dbg !255
  %79 = select i1 %78, i1 %75, i1 false, !dbg !256
  br i1 %79, label %80, label %88, !dbg !256

80:                                               ; preds = %72
  %81 = zext nneg i32 %77 to i64, !dbg !257
  %82 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ9transposeE4tile to ptr), i64 %81, !dbg !257
  %83 = load float, ptr %82, align 4, !dbg !257, !tbaa !28
  %84 = mul nsw i32 %74, %2, !dbg !258
  %85 = add nuw nsw i32 %84, %73, !dbg !259
  %86 = zext nneg i32 %85 to i64, !dbg !260
  %87 = getelementptr inbounds nuw float, ptr %0, i64 %86, !dbg !260
  store float %83, ptr %87, align 4, !dbg !261, !tbaa !28
  br label %88, !dbg !260

88:                                               ; preds = %72, %80
  %89 = add nuw nsw i32 %74, 8, !dbg !262
  %90 = icmp slt i32 %89, %3, !dbg !255
  %91 = select i1 %90, i1 %75, i1 false, !dbg !256
  br i1 %91, label %92, label %101, !dbg !256

92:                                               ; preds = %88
  %93 = zext nneg i32 %77 to i64, !dbg !257
  %94 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ9transposeE4tile to ptr), i64 %93, !dbg !257
  %95 = getelementptr inbounds nuw i8, ptr %94, i64 32, !dbg !257
  %96 = load float, ptr %95, align 4, !dbg !257, !tbaa !28
  %97 = mul nsw i32 %89, %2, !dbg !258
  %98 = add nuw nsw i32 %97, %73, !dbg !259
  %99 = zext nneg i32 %98 to i64, !dbg !260
  %100 = getelementptr inbounds nuw float, ptr %0, i64 %99, !dbg !260
  store float %96, ptr %100, align 4, !dbg !261, !tbaa !28
  br label %101, !dbg !260

101:                                              ; preds = %92, %88
  %102 = add nuw nsw i32 %74, 16, !dbg !262
  %103 = icmp slt i32 %102, %3, !dbg !255
  %104 = select i1 %103, i1 %75, i1 false, !dbg !256
  br i1 %104, label %105, label %114, !dbg !256

105:                                              ; preds = %101
  %106 = zext nneg i32 %77 to i64, !dbg !257
  %107 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ9transposeE4tile to ptr), i64 %106, !dbg !257
  %108 = getelementptr inbounds nuw i8, ptr %107, i64 64, !dbg !257
  %109 = load float, ptr %108, align 4, !dbg !257, !tbaa !28
  %110 = mul nsw i32 %102, %2, !dbg !258
  %111 = add nuw nsw i32 %110, %73, !dbg !259
  %112 = zext nneg i32 %111 to i64, !dbg !260
  %113 = getelementptr inbounds nuw float, ptr %0, i64 %112, !dbg !260
  store float %109, ptr %113, align 4, !dbg !261, !tbaa !28
  br label %114, !dbg !260

114:                                              ; preds = %105, %101
  %115 = add nuw nsw i32 %74, 24, !dbg !262
  %116 = icmp slt i32 %115, %3, !dbg !255
  %117 = select i1 %116, i1 %75, i1 false, !dbg !256
  br i1 %117, label %118, label %127, !dbg !256

118:                                              ; preds = %114
  %119 = zext nneg i32 %77 to i64, !dbg !257
  %120 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ9transposeE4tile to ptr), i64 %119, !dbg !257
  %121 = getelementptr inbounds nuw i8, ptr %120, i64 96, !dbg !257
  %122 = load float, ptr %121, align 4, !dbg !257, !tbaa !28
  %123 = mul nsw i32 %115, %2, !dbg !258
  %124 = add nuw nsw i32 %123, %73, !dbg !259
  %125 = zext nneg i32 %124 to i64, !dbg !260
  %126 = getelementptr inbounds nuw float, ptr %0, i64 %125, !dbg !260
  store float %122, ptr %126, align 4, !dbg !261, !tbaa !28
  br label %127, !dbg !260

127:                                              ; preds = %118, %114
  ret void, !dbg !263
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 2147483647) i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #5

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 65535) i32 @llvm.nvvm.read.ptx.sreg.ctaid.y() #5

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @treeSum(ptr noundef writeonly captures(none) %0, ptr noundef readonly captures(none) %1, i32 noundef %2) local_unnamed_addr #2 !dbg !264 {
  %4 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ctaid.x(), !dbg !265
  %5 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ntid.x(), !dbg !267
  %6 = mul nuw nsw i32 %4, %5, !dbg !269
  %7 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !270
  %8 = add nuw nsw i32 %6, %7, !dbg !272
  %9 = icmp slt i32 %8, %2, !dbg !273
  br i1 %9, label %10, label %14, !dbg !274

10:                                               ; preds = %3
  %11 = zext nneg i32 %8 to i64
  %12 = getelementptr inbounds nuw float, ptr %1, i64 %11
  %13 = load float, ptr %12, align 4, !dbg !275, !tbaa !28
  br label %14, !dbg !274

14:                                               ; preds = %3, %10
  %15 = phi contract float [ %13, %10 ], [ 0.000000e+00, %3 ], !dbg !274
  %16 = zext nneg i32 %7 to i64, !dbg !276
  %17 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @dynamic to ptr), i64 %16, !dbg !276
  store float %15, ptr %17, align 4, !dbg !277, !tbaa !28
  %18 = icmp samesign ult i32 %5, 2, !dbg !278
  br i1 %18, label %19, label %21, !dbg !279

19:                                               ; preds = %32, %14
  %20 = icmp eq i32 %7, 0, !dbg !280
  br i1 %20, label %34, label %38, !dbg !280

21:                                               ; preds = %14, %32
  %22 = phi i32 [ %23, %32 ], [ %5, %14 ]
  %23 = lshr i32 %22, 1, !dbg !281
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0), !dbg !282
  %24 = icmp samesign ult i32 %7, %23, !dbg !283
  br i1 %24, label %25, label %32, !dbg !283

25:                                               ; preds = %21
  %26 = add nuw nsw i32 %23, %7
  %27 = zext nneg i32 %26 to i64
  %28 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @dynamic to ptr), i64 %27
  %29 = load float, ptr %28, align 4, !dbg !284, !tbaa !28
  %30 = load float, ptr %17, align 4, !dbg !285, !tbaa !28
  %31 = fadd contract float %29, %30, !dbg !285
  store float %31, ptr %17, align 4, !dbg !285, !tbaa !28
  br label %32, !dbg !286

32:                                               ; preds = %21, %25
  %33 = icmp samesign ult i32 %22, 4, !dbg !278
  br i1 %33, label %19, label %21, !dbg !279, !llvm.loop !287

34:                                               ; preds = %19
  %35 = zext nneg i32 %4 to i64
  %36 = getelementptr inbounds nuw float, ptr %0, i64 %35
  %37 = load float, ptr addrspacecast (ptr addrspace(3) @dynamic to ptr), align 4, !dbg !289, !tbaa !28
  store float %37, ptr %36, align 4, !dbg !290, !tbaa !28
  br label %38, !dbg !291

38:                                               ; preds = %34, %19
  ret void, !dbg !292
}

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @asyncScale(ptr noundef writeonly captures(none) %0, ptr noundef %1, i32 noundef %2) local_unnamed_addr #2 !dbg !293 {
  %4 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !294
  %5 = icmp sgt i32 %2, 0, !dbg !296
  %6 = icmp samesign ult i32 %4, 64
  %7 = select i1 %5, i1 %6, i1 false, !dbg !299
  br i1 %7, label %8, label %15, !dbg !299

8:                                                ; preds = %3
  %9 = shl nuw nsw i32 %4, 2
  %10 = zext nneg i32 %9 to i64
  %11 = getelementptr inbounds nuw float, ptr %1, i64 %10
  %12 = addrspacecast ptr %11 to ptr addrspace(1)
  %13 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ10asyncScaleE5stage to ptr), i64 %10
  %14 = addrspacecast ptr %13 to ptr addrspace(3)
  tail call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) %14, ptr addrspace(1) %12), !dbg !300
  br label %15, !dbg !300

15:                                               ; preds = %3, %8
  tail call void @llvm.nvvm.cp.async.commit.group(), !dbg !301
  br i1 %5, label %16, label %24, !dbg !302

16:                                               ; preds = %15
  %17 = shl nuw nsw i32 %4, 2
  %18 = zext nneg i32 %17 to i64
  %19 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ10asyncScaleE5stage to ptr), i64 %18, !dbg !302
  %20 = getelementptr inbounds nuw float, ptr %1, i64 %18, !dbg !302
  %21 = sub nsw i32 255, %4
  %22 = sext i32 %21 to i64
  %23 = getelementptr float, ptr addrspacecast (ptr addrspace(3) @_ZZ10asyncScaleE5stage to ptr), i64 %22, !dbg !302
  br label %25, !dbg !302

24:                                               ; preds = %39, %15
  ret void, !dbg !303

25:                                               ; preds = %16, %39
  %26 = phi i32 [ 0, %16 ], [ %27, %39 ]
  %27 = add nuw nsw i32 %26, 1, !dbg !304
  %28 = icmp slt i32 %27, %2, !dbg !305
  %29 = and i1 %6, %28, !dbg !307
  br i1 %29, label %30, label %39, !dbg !307

30:                                               ; preds = %25
  %31 = and i32 %27, 1, !dbg !308
  %32 = zext nneg i32 %31 to i64, !dbg !309
  %33 = getelementptr inbounds nuw [256 x float], ptr %19, i64 %32, !dbg !309
  %34 = addrspacecast ptr %33 to ptr addrspace(3), !dbg !310
  %35 = shl nsw i32 %27, 8, !dbg !311
  %36 = zext nneg i32 %35 to i64, !dbg !312
  %37 = getelementptr inbounds nuw float, ptr %20, i64 %36, !dbg !313
  %38 = addrspacecast ptr %37 to ptr addrspace(1), !dbg !314
  tail call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) %34, ptr addrspace(1) %38), !dbg !315
  br label %39, !dbg !315

39:                                               ; preds = %25, %30
  tail call void @llvm.nvvm.cp.async.commit.group(), !dbg !316
  tail call void @llvm.nvvm.cp.async.wait.group(i32 1), !dbg !317
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0), !dbg !318
  %40 = and i32 %26, 1, !dbg !319
  %41 = zext nneg i32 %40 to i64, !dbg !320
  %42 = getelementptr [256 x float], ptr %23, i64 %41, !dbg !320
  %43 = load float, ptr %42, align 4, !dbg !320, !tbaa !28
  %44 = fmul contract float %43, 2.000000e+00, !dbg !321
  %45 = shl nsw i32 %26, 8, !dbg !322
  %46 = add nuw nsw i32 %45, %4, !dbg !323
  %47 = zext nneg i32 %46 to i64, !dbg !324
  %48 = getelementptr inbounds nuw float, ptr %0, i64 %47, !dbg !324
  store float %44, ptr %48, align 4, !dbg !325, !tbaa !28
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0), !dbg !326
  %49 = icmp eq i32 %27, %2, !dbg !327
  br i1 %49, label %24, label %25, !dbg !302, !llvm.loop !328
}

; Function Attrs: nounwind
declare void @llvm.nvvm.cp.async.wait.group(i32 immarg) #6

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @histogram(ptr noundef captures(none) %0, ptr noundef readonly captures(none) %1, i32 noundef %2) local_unnamed_addr #2 !dbg !330 {
  %4 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !331
  %5 = icmp samesign ult i32 %4, 16, !dbg !333
  br i1 %5, label %6, label %9, !dbg !333

6:                                                ; preds = %3
  %7 = zext nneg i32 %4 to i64
  %8 = getelementptr inbounds nuw i32, ptr addrspacecast (ptr addrspace(3) @_ZZ9histogramE5local to ptr), i64 %7
  store i32 0, ptr %8, align 4, !dbg !334, !tbaa !8
  br label %9, !dbg !335

9:                                                ; preds = %6, %3
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0), !dbg !336
  %10 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ctaid.x(), !dbg !337
  %11 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ntid.x(), !dbg !339
  %12 = mul nuw nsw i32 %10, %11, !dbg !341
  %13 = add nuw nsw i32 %12, %4, !dbg !342
  %14 = icmp slt i32 %13, %2, !dbg !343
  br i1 %14, label %15, label %23, !dbg !343

15:                                               ; preds = %9
  %16 = zext nneg i32 %13 to i64, !dbg !344
  %17 = getelementptr inbounds nuw i32, ptr %1, i64 %16, !dbg !344
  %18 = load i32, ptr %17, align 4, !dbg !344, !tbaa !8
  %19 = and i32 %18, 15, !dbg !345
  %20 = zext nneg i32 %19 to i64, !dbg !346
  %21 = getelementptr inbounds nuw i32, ptr addrspacecast (ptr addrspace(3) @_ZZ9histogramE5local to ptr), i64 %20, !dbg !346
  %22 = atomicrmw add ptr %21, i32 1 seq_cst, align 4, !dbg !347
  br label %23, !dbg !347

23:                                               ; preds = %15, %9
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0), !dbg !348
  br i1 %5, label %24, label %30, !dbg !349

24:                                               ; preds = %23
  %25 = zext nneg i32 %4 to i64
  %26 = getelementptr inbounds nuw i32, ptr addrspacecast (ptr addrspace(3) @_ZZ9histogramE5local to ptr), i64 %25
  %27 = getelementptr inbounds nuw i32, ptr %0, i64 %25
  %28 = load i32, ptr %26, align 4, !dbg !350, !tbaa !8
  %29 = atomicrmw add ptr %27, i32 %28 seq_cst, align 4, !dbg !351
  br label %30, !dbg !351

30:                                               ; preds = %24, %23
  ret void, !dbg !352
}

; Function Attrs: convergent mustprogress noinline norecurse nounwind
define dso_local ptx_kernel void @reverseWarps(ptr noundef writeonly captures(none) %0, ptr noundef readonly captures(none) %1) local_unnamed_addr #2 !dbg !353 {
  %3 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ctaid.x(), !dbg !354
  %4 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ntid.x(), !dbg !356
  %5 = mul nuw nsw i32 %3, %4, !dbg !358
  %6 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !359
  %7 = add nuw nsw i32 %5, %6, !dbg !361
  %8 = zext nneg i32 %7 to i64, !dbg !362
  %9 = getelementptr inbounds nuw float, ptr %1, i64 %8, !dbg !362
  %10 = load float, ptr %9, align 4, !dbg !362, !tbaa !28
  %11 = zext nneg i32 %6 to i64, !dbg !363
  %12 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ12reverseWarpsE6values to ptr), i64 %11, !dbg !363
  store float %10, ptr %12, align 4, !dbg !364, !tbaa !28
  tail call void @llvm.nvvm.bar.warp.sync(i32 -1), !dbg !365
  %13 = xor i32 %6, 31, !dbg !366
  %14 = zext nneg i32 %13 to i64, !dbg !367
  %15 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @_ZZ12reverseWarpsE6values to ptr), i64 %14, !dbg !367
  %16 = load float, ptr %15, align 4, !dbg !367, !tbaa !28
  %17 = getelementptr inbounds nuw float, ptr %0, i64 %8, !dbg !368
  store float %16, ptr %17, align 4, !dbg !369, !tbaa !28
  ret void, !dbg !370
}

; Function Attrs: convergent nocallback nounwind
declare void @llvm.nvvm.bar.warp.sync(i32) #3

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 1, 1025) i32 @llvm.nvvm.read.ptx.sreg.ntid.x() #5

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #5

; Function Attrs: convergent nocallback nounwind memory(inaccessiblemem: readwrite)
declare float @llvm.nvvm.shfl.sync.bfly.f32(i32, float, i32, i32) #7

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(none)
declare float @llvm.nvvm.ex2.approx.ftz.f32(float) #4

; Function Attrs: nocallback nounwind memory(argmem: readwrite)
declare void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) noalias writeonly, ptr addrspace(1) noalias readonly) #8

; Function Attrs: nounwind
declare void @llvm.nvvm.cp.async.commit.group() #6

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(inaccessiblemem: write)
declare void @llvm.assume(i1 noundef) #9

attributes #0 = { mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: readwrite) "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_80" "target-features"="+ptx88,+sm_80" "uniform-work-group-size"="true" }
attributes #1 = { mustprogress nofree noinline norecurse nosync nounwind memory(argmem: readwrite) "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_80" "target-features"="+ptx88,+sm_80" "uniform-work-group-size"="true" }
attributes #2 = { convergent mustprogress noinline norecurse nounwind "frame-pointer"="all" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_80" "target-features"="+ptx88,+sm_80" "uniform-work-group-size"="true" }
attributes #3 = { convergent nocallback nounwind }
attributes #4 = { mustprogress nocallback nofree nosync nounwind willreturn memory(none) }
attributes #5 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #6 = { nounwind }
attributes #7 = { convergent nocallback nounwind memory(inaccessiblemem: readwrite) }
attributes #8 = { nocallback nounwind memory(argmem: readwrite) }
attributes #9 = { nocallback nofree nosync nounwind willreturn memory(inaccessiblemem: write) }

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3, !4, !5, !6}
!llvm.ident = !{!7}
!llvm.errno.tbaa = !{!8}

!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus_14, file: !1, producer: "Debian clang version 22.1.8 (1~deb12u1)", isOptimized: true, runtimeVersion: 0, emissionKind: DebugDirectivesOnly, splitDebugInlining: false, nameTableKind: None)
!1 = !DIFile(filename: "kernels.cu", directory: ".")
!2 = !{i32 7, !"Dwarf Version", i32 2}
!3 = !{i32 2, !"Debug Info Version", i32 3}
!4 = !{i32 1, !"wchar_size", i32 4}
!5 = !{i32 4, !"nvvm-reflect-ftz", i32 0}
!6 = !{i32 7, !"frame-pointer", i32 2}
!7 = !{!"Debian clang version 22.1.8 (1~deb12u1)"}
!8 = !{!9, !9, i64 0}
!9 = !{!"int", !10, i64 0}
!10 = !{!"omnipotent char", !11, i64 0}
!11 = !{!"Simple C++ TBAA"}
!12 = distinct !DISubprogram(name: "scale", scope: !1, file: !1, line: 40, type: !13, scopeLine: 40, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!13 = !DISubroutineType(types: !14)
!14 = !{}
!15 = !DILocation(line: 11, column: 27, scope: !16, inlinedAt: !17)
!16 = distinct !DISubprogram(name: "bid", scope: !1, file: !1, line: 11, type: !13, scopeLine: 11, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!17 = distinct !DILocation(line: 41, column: 11, scope: !12)
!18 = !DILocation(line: 12, column: 31, scope: !19, inlinedAt: !20)
!19 = distinct !DISubprogram(name: "threads", scope: !1, file: !1, line: 12, type: !13, scopeLine: 12, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!20 = distinct !DILocation(line: 41, column: 19, scope: !12)
!21 = !DILocation(line: 41, column: 17, scope: !12)
!22 = !DILocation(line: 10, column: 27, scope: !23, inlinedAt: !24)
!23 = distinct !DISubprogram(name: "tid", scope: !1, file: !1, line: 10, type: !13, scopeLine: 10, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!24 = distinct !DILocation(line: 41, column: 31, scope: !12)
!25 = !DILocation(line: 41, column: 29, scope: !12)
!26 = !DILocation(line: 42, column: 9, scope: !12)
!27 = !DILocation(line: 43, column: 14, scope: !12)
!28 = !{!29, !29, i64 0}
!29 = !{!"float", !10, i64 0}
!30 = !DILocation(line: 43, column: 20, scope: !12)
!31 = !DILocation(line: 43, column: 12, scope: !12)
!32 = !DILocation(line: 43, column: 5, scope: !12)
!33 = !DILocation(line: 44, column: 1, scope: !12)
!34 = distinct !DISubprogram(name: "scale4", scope: !1, file: !1, line: 48, type: !13, scopeLine: 48, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!35 = !DILocation(line: 11, column: 27, scope: !16, inlinedAt: !36)
!36 = distinct !DILocation(line: 49, column: 12, scope: !34)
!37 = !DILocation(line: 12, column: 31, scope: !19, inlinedAt: !38)
!38 = distinct !DILocation(line: 49, column: 20, scope: !34)
!39 = !DILocation(line: 49, column: 18, scope: !34)
!40 = !DILocation(line: 10, column: 27, scope: !23, inlinedAt: !41)
!41 = distinct !DILocation(line: 49, column: 32, scope: !34)
!42 = !DILocation(line: 49, column: 30, scope: !34)
!43 = !DILocation(line: 49, column: 39, scope: !34)
!44 = !DILocation(line: 50, column: 9, scope: !34)
!45 = !DILocation(line: 50, column: 13, scope: !34)
!46 = !DILocation(line: 54, column: 14, scope: !34)
!47 = !DILocation(line: 54, column: 5, scope: !34)
!48 = !DILocation(line: 55, column: 16, scope: !34)
!49 = !DILocation(line: 55, column: 22, scope: !34)
!50 = !DILocation(line: 55, column: 7, scope: !34)
!51 = !DILocation(line: 55, column: 14, scope: !34)
!52 = !DILocation(line: 54, column: 19, scope: !34)
!53 = distinct !{!53, !54}
!54 = !{!"llvm.loop.unroll.disable"}
!55 = !DILocation(line: 51, column: 17, scope: !34)
!56 = !{!10, !10, i64 0}
!57 = !DILocation(line: 52, column: 33, scope: !34)
!58 = !DILocation(line: 52, column: 31, scope: !34)
!59 = !DILocation(line: 52, column: 5, scope: !34)
!60 = !DILocation(line: 52, column: 27, scope: !34)
!61 = !DILocation(line: 53, column: 3, scope: !34)
!62 = distinct !{!62, !47, !63, !64}
!63 = !DILocation(line: 55, column: 24, scope: !34)
!64 = !{!"llvm.loop.mustprogress"}
!65 = !DILocation(line: 57, column: 1, scope: !34)
!66 = distinct !DISubprogram(name: "softmax", scope: !1, file: !1, line: 59, type: !13, scopeLine: 59, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!67 = !DILocation(line: 11, column: 27, scope: !16, inlinedAt: !68)
!68 = distinct !DILocation(line: 62, column: 27, scope: !66)
!69 = !DILocation(line: 62, column: 33, scope: !66)
!70 = !DILocation(line: 62, column: 25, scope: !66)
!71 = !DILocation(line: 10, column: 27, scope: !23, inlinedAt: !72)
!72 = distinct !DILocation(line: 64, column: 16, scope: !66)
!73 = !DILocation(line: 64, column: 25, scope: !66)
!74 = !DILocation(line: 64, column: 3, scope: !66)
!75 = !DILocation(line: 0, scope: !66)
!76 = !DILocation(line: 23, column: 19, scope: !77, inlinedAt: !78)
!77 = distinct !DISubprogram(name: "warpMax", scope: !1, file: !1, line: 21, type: !13, scopeLine: 21, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!78 = distinct !DILocation(line: 66, column: 9, scope: !66)
!79 = !DILocation(line: 14, column: 50, scope: !80, inlinedAt: !81)
!80 = distinct !DISubprogram(name: "larger", scope: !1, file: !1, line: 14, type: !13, scopeLine: 14, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!81 = distinct !DILocation(line: 23, column: 9, scope: !77, inlinedAt: !78)
!82 = !DILocation(line: 14, column: 48, scope: !80, inlinedAt: !81)
!83 = !DILocation(line: 67, column: 18, scope: !66)
!84 = !DILocation(line: 65, column: 23, scope: !66)
!85 = !DILocation(line: 14, column: 50, scope: !80, inlinedAt: !86)
!86 = distinct !DILocation(line: 65, column: 11, scope: !66)
!87 = !DILocation(line: 14, column: 48, scope: !80, inlinedAt: !86)
!88 = !DILocation(line: 64, column: 38, scope: !66)
!89 = distinct !{!89, !74, !90, !64}
!90 = !DILocation(line: 65, column: 29, scope: !66)
!91 = !DILocation(line: 68, column: 16, scope: !66)
!92 = !DILocation(line: 68, column: 5, scope: !66)
!93 = !DILocation(line: 68, column: 22, scope: !66)
!94 = !DILocation(line: 69, column: 3, scope: !66)
!95 = !DILocation(line: 70, column: 21, scope: !66)
!96 = !DILocation(line: 70, column: 3, scope: !66)
!97 = !DILocation(line: 71, column: 23, scope: !66)
!98 = !DILocation(line: 14, column: 50, scope: !80, inlinedAt: !99)
!99 = distinct !DILocation(line: 71, column: 11, scope: !66)
!100 = !DILocation(line: 14, column: 48, scope: !80, inlinedAt: !99)
!101 = !DILocation(line: 70, column: 39, scope: !66)
!102 = distinct !{!102, !54}
!103 = !DILocation(line: 73, column: 3, scope: !66)
!104 = distinct !{!104, !96, !105, !64}
!105 = !DILocation(line: 71, column: 30, scope: !66)
!106 = !DILocation(line: 18, column: 10, scope: !107, inlinedAt: !108)
!107 = distinct !DISubprogram(name: "warpSum", scope: !1, file: !1, line: 16, type: !13, scopeLine: 16, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!108 = distinct !DILocation(line: 29, column: 7, scope: !109, inlinedAt: !110)
!109 = distinct !DISubprogram(name: "blockSum", scope: !1, file: !1, line: 28, type: !13, scopeLine: 28, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!110 = distinct !DILocation(line: 75, column: 9, scope: !66)
!111 = !DILocation(line: 18, column: 7, scope: !107, inlinedAt: !108)
!112 = !DILocation(line: 30, column: 3, scope: !109, inlinedAt: !110)
!113 = !DILocation(line: 31, column: 18, scope: !109, inlinedAt: !110)
!114 = !DILocation(line: 32, column: 25, scope: !109, inlinedAt: !110)
!115 = !DILocation(line: 32, column: 5, scope: !109, inlinedAt: !110)
!116 = !DILocation(line: 33, column: 3, scope: !109, inlinedAt: !110)
!117 = !DILocation(line: 35, column: 3, scope: !109, inlinedAt: !110)
!118 = !DILocation(line: 36, column: 12, scope: !109, inlinedAt: !110)
!119 = !DILocation(line: 36, column: 9, scope: !109, inlinedAt: !110)
!120 = !DILocation(line: 35, column: 39, scope: !109, inlinedAt: !110)
!121 = distinct !{!121, !117, !122, !64}
!122 = !DILocation(line: 36, column: 21, scope: !109, inlinedAt: !110)
!123 = distinct !{!123, !54}
!124 = !DILocation(line: 0, scope: !109, inlinedAt: !110)
!125 = !DILocation(line: 76, column: 3, scope: !66)
!126 = !DILocation(line: 74, column: 24, scope: !66)
!127 = !DILocation(line: 74, column: 31, scope: !66)
!128 = !DILocation(line: 74, column: 38, scope: !66)
!129 = !DILocation(line: 13, column: 43, scope: !130, inlinedAt: !131)
!130 = distinct !DISubprogram(name: "exp2Approx", scope: !1, file: !1, line: 13, type: !13, scopeLine: 13, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!131 = distinct !DILocation(line: 74, column: 12, scope: !66)
!132 = !DILocation(line: 74, column: 9, scope: !66)
!133 = !DILocation(line: 73, column: 38, scope: !66)
!134 = !DILocation(line: 73, column: 25, scope: !66)
!135 = distinct !{!135, !103, !136, !64}
!136 = !DILocation(line: 74, column: 51, scope: !66)
!137 = !DILocation(line: 78, column: 1, scope: !66)
!138 = !DILocation(line: 77, column: 44, scope: !66)
!139 = !DILocation(line: 77, column: 51, scope: !66)
!140 = !DILocation(line: 77, column: 58, scope: !66)
!141 = !DILocation(line: 13, column: 43, scope: !130, inlinedAt: !142)
!142 = distinct !DILocation(line: 77, column: 32, scope: !66)
!143 = !DILocation(line: 77, column: 73, scope: !66)
!144 = !DILocation(line: 77, column: 25, scope: !66)
!145 = !DILocation(line: 77, column: 5, scope: !66)
!146 = !DILocation(line: 77, column: 30, scope: !66)
!147 = !DILocation(line: 76, column: 38, scope: !66)
!148 = !DILocation(line: 76, column: 25, scope: !66)
!149 = distinct !{!149, !125, !150, !64}
!150 = !DILocation(line: 77, column: 75, scope: !66)
!151 = distinct !DISubprogram(name: "layerNorm", scope: !1, file: !1, line: 80, type: !13, scopeLine: 80, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!152 = !DILocation(line: 11, column: 27, scope: !16, inlinedAt: !153)
!153 = distinct !DILocation(line: 82, column: 27, scope: !151)
!154 = !DILocation(line: 82, column: 33, scope: !151)
!155 = !DILocation(line: 82, column: 25, scope: !151)
!156 = !DILocation(line: 10, column: 27, scope: !23, inlinedAt: !157)
!157 = distinct !DILocation(line: 84, column: 16, scope: !151)
!158 = !DILocation(line: 84, column: 25, scope: !151)
!159 = !DILocation(line: 84, column: 3, scope: !151)
!160 = !DILocation(line: 0, scope: !151)
!161 = !DILocation(line: 18, column: 10, scope: !107, inlinedAt: !162)
!162 = distinct !DILocation(line: 29, column: 7, scope: !109, inlinedAt: !163)
!163 = distinct !DILocation(line: 86, column: 16, scope: !151)
!164 = !DILocation(line: 18, column: 7, scope: !107, inlinedAt: !162)
!165 = !DILocation(line: 30, column: 3, scope: !109, inlinedAt: !163)
!166 = !DILocation(line: 31, column: 18, scope: !109, inlinedAt: !163)
!167 = !DILocation(line: 32, column: 25, scope: !109, inlinedAt: !163)
!168 = !DILocation(line: 32, column: 5, scope: !109, inlinedAt: !163)
!169 = !DILocation(line: 33, column: 3, scope: !109, inlinedAt: !163)
!170 = !DILocation(line: 35, column: 21, scope: !109, inlinedAt: !163)
!171 = !DILocation(line: 35, column: 3, scope: !109, inlinedAt: !163)
!172 = !DILocation(line: 36, column: 12, scope: !109, inlinedAt: !163)
!173 = !DILocation(line: 36, column: 9, scope: !109, inlinedAt: !163)
!174 = !DILocation(line: 35, column: 39, scope: !109, inlinedAt: !163)
!175 = distinct !{!175, !171, !176, !64}
!176 = !DILocation(line: 36, column: 21, scope: !109, inlinedAt: !163)
!177 = distinct !{!177, !54}
!178 = !DILocation(line: 0, scope: !109, inlinedAt: !163)
!179 = !DILocation(line: 86, column: 41, scope: !151)
!180 = !DILocation(line: 86, column: 39, scope: !151)
!181 = !DILocation(line: 88, column: 3, scope: !151)
!182 = !DILocation(line: 85, column: 12, scope: !151)
!183 = !DILocation(line: 85, column: 9, scope: !151)
!184 = !DILocation(line: 84, column: 38, scope: !151)
!185 = distinct !{!185, !159, !186, !64}
!186 = !DILocation(line: 85, column: 17, scope: !151)
!187 = !DILocation(line: 18, column: 10, scope: !107, inlinedAt: !188)
!188 = distinct !DILocation(line: 29, column: 7, scope: !109, inlinedAt: !189)
!189 = distinct !DILocation(line: 90, column: 39, scope: !151)
!190 = !DILocation(line: 18, column: 7, scope: !107, inlinedAt: !188)
!191 = !DILocation(line: 30, column: 3, scope: !109, inlinedAt: !189)
!192 = !DILocation(line: 31, column: 18, scope: !109, inlinedAt: !189)
!193 = !DILocation(line: 32, column: 25, scope: !109, inlinedAt: !189)
!194 = !DILocation(line: 32, column: 5, scope: !109, inlinedAt: !189)
!195 = !DILocation(line: 33, column: 3, scope: !109, inlinedAt: !189)
!196 = !DILocation(line: 35, column: 3, scope: !109, inlinedAt: !189)
!197 = !DILocation(line: 36, column: 12, scope: !109, inlinedAt: !189)
!198 = !DILocation(line: 36, column: 9, scope: !109, inlinedAt: !189)
!199 = !DILocation(line: 35, column: 39, scope: !109, inlinedAt: !189)
!200 = distinct !{!200, !196, !201, !64}
!201 = !DILocation(line: 36, column: 21, scope: !109, inlinedAt: !189)
!202 = distinct !{!202, !54}
!203 = !DILocation(line: 0, scope: !109, inlinedAt: !189)
!204 = !DILocation(line: 90, column: 66, scope: !151)
!205 = !DILocation(line: 90, column: 76, scope: !151)
!206 = !DILocation(line: 90, column: 17, scope: !151)
!207 = !DILocation(line: 91, column: 3, scope: !151)
!208 = !DILocation(line: 89, column: 17, scope: !151)
!209 = !DILocation(line: 89, column: 24, scope: !151)
!210 = !DILocation(line: 89, column: 32, scope: !151)
!211 = !DILocation(line: 89, column: 13, scope: !151)
!212 = !DILocation(line: 88, column: 38, scope: !151)
!213 = !DILocation(line: 88, column: 25, scope: !151)
!214 = distinct !{!214, !181, !215, !64}
!215 = !DILocation(line: 89, column: 48, scope: !151)
!216 = !DILocation(line: 93, column: 1, scope: !151)
!217 = !DILocation(line: 92, column: 33, scope: !151)
!218 = !DILocation(line: 92, column: 40, scope: !151)
!219 = !DILocation(line: 92, column: 48, scope: !151)
!220 = !DILocation(line: 92, column: 58, scope: !151)
!221 = !DILocation(line: 92, column: 56, scope: !151)
!222 = !DILocation(line: 92, column: 70, scope: !151)
!223 = !DILocation(line: 92, column: 68, scope: !151)
!224 = !DILocation(line: 92, column: 25, scope: !151)
!225 = !DILocation(line: 92, column: 5, scope: !151)
!226 = !DILocation(line: 92, column: 30, scope: !151)
!227 = !DILocation(line: 91, column: 38, scope: !151)
!228 = !DILocation(line: 91, column: 25, scope: !151)
!229 = distinct !{!229, !207, !230, !64}
!230 = !DILocation(line: 92, column: 76, scope: !151)
!231 = distinct !DISubprogram(name: "transpose", scope: !1, file: !1, line: 96, type: !13, scopeLine: 96, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!232 = !DILocation(line: 10, column: 27, scope: !23, inlinedAt: !233)
!233 = distinct !DILocation(line: 98, column: 11, scope: !231)
!234 = !DILocation(line: 98, column: 17, scope: !231)
!235 = !DILocation(line: 98, column: 33, scope: !231)
!236 = !DILocation(line: 99, column: 16, scope: !231)
!237 = !DILocation(line: 99, column: 47, scope: !231)
!238 = !DILocation(line: 99, column: 52, scope: !231)
!239 = !DILocation(line: 99, column: 63, scope: !231)
!240 = !DILocation(line: 99, column: 94, scope: !231)
!241 = !DILocation(line: 99, column: 99, scope: !231)
!242 = !DILocation(line: 101, column: 17, scope: !231)
!243 = !DILocation(line: 101, column: 24, scope: !231)
!244 = !DILocation(line: 102, column: 45, scope: !231)
!245 = !DILocation(line: 102, column: 55, scope: !231)
!246 = !DILocation(line: 102, column: 32, scope: !231)
!247 = !DILocation(line: 102, column: 20, scope: !231)
!248 = !DILocation(line: 102, column: 25, scope: !231)
!249 = !DILocation(line: 102, column: 7, scope: !231)
!250 = !DILocation(line: 102, column: 30, scope: !231)
!251 = !DILocation(line: 101, column: 13, scope: !231)
!252 = !DILocation(line: 103, column: 3, scope: !231)
!253 = !DILocation(line: 104, column: 48, scope: !231)
!254 = !DILocation(line: 105, column: 45, scope: !231)
!255 = !DILocation(line: 107, column: 17, scope: !231)
!256 = !DILocation(line: 107, column: 27, scope: !231)
!257 = !DILocation(line: 108, column: 40, scope: !231)
!258 = !DILocation(line: 108, column: 21, scope: !231)
!259 = !DILocation(line: 108, column: 28, scope: !231)
!260 = !DILocation(line: 108, column: 7, scope: !231)
!261 = !DILocation(line: 108, column: 38, scope: !231)
!262 = !DILocation(line: 107, column: 13, scope: !231)
!263 = !DILocation(line: 109, column: 1, scope: !231)
!264 = distinct !DISubprogram(name: "treeSum", scope: !1, file: !1, line: 113, type: !13, scopeLine: 113, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!265 = !DILocation(line: 11, column: 27, scope: !16, inlinedAt: !266)
!266 = distinct !DILocation(line: 114, column: 11, scope: !264)
!267 = !DILocation(line: 12, column: 31, scope: !19, inlinedAt: !268)
!268 = distinct !DILocation(line: 114, column: 19, scope: !264)
!269 = !DILocation(line: 114, column: 17, scope: !264)
!270 = !DILocation(line: 10, column: 27, scope: !23, inlinedAt: !271)
!271 = distinct !DILocation(line: 114, column: 31, scope: !264)
!272 = !DILocation(line: 114, column: 29, scope: !264)
!273 = !DILocation(line: 115, column: 22, scope: !264)
!274 = !DILocation(line: 115, column: 20, scope: !264)
!275 = !DILocation(line: 115, column: 28, scope: !264)
!276 = !DILocation(line: 115, column: 3, scope: !264)
!277 = !DILocation(line: 115, column: 18, scope: !264)
!278 = !DILocation(line: 116, column: 34, scope: !264)
!279 = !DILocation(line: 116, column: 3, scope: !264)
!280 = !DILocation(line: 121, column: 13, scope: !264)
!281 = !DILocation(line: 116, scope: !264)
!282 = !DILocation(line: 117, column: 5, scope: !264)
!283 = !DILocation(line: 118, column: 15, scope: !264)
!284 = !DILocation(line: 119, column: 25, scope: !264)
!285 = !DILocation(line: 119, column: 22, scope: !264)
!286 = !DILocation(line: 119, column: 7, scope: !264)
!287 = distinct !{!287, !279, !288, !64}
!288 = !DILocation(line: 120, column: 3, scope: !264)
!289 = !DILocation(line: 122, column: 18, scope: !264)
!290 = !DILocation(line: 122, column: 16, scope: !264)
!291 = !DILocation(line: 122, column: 5, scope: !264)
!292 = !DILocation(line: 123, column: 1, scope: !264)
!293 = distinct !DISubprogram(name: "asyncScale", scope: !1, file: !1, line: 126, type: !13, scopeLine: 126, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!294 = !DILocation(line: 10, column: 27, scope: !23, inlinedAt: !295)
!295 = distinct !DILocation(line: 128, column: 11, scope: !293)
!296 = !DILocation(line: 130, column: 14, scope: !297, inlinedAt: !298)
!297 = distinct !DISubprogram(name: "operator()", scope: !1, file: !1, line: 129, type: !13, scopeLine: 129, flags: DIFlagPrototyped, spFlags: DISPFlagLocalToUnit | DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!298 = distinct !DILocation(line: 135, column: 3, scope: !293)
!299 = !DILocation(line: 130, column: 22, scope: !297, inlinedAt: !298)
!300 = !DILocation(line: 131, column: 7, scope: !297, inlinedAt: !298)
!301 = !DILocation(line: 133, column: 5, scope: !297, inlinedAt: !298)
!302 = !DILocation(line: 136, column: 3, scope: !293)
!303 = !DILocation(line: 143, column: 1, scope: !293)
!304 = !DILocation(line: 137, column: 16, scope: !293)
!305 = !DILocation(line: 130, column: 14, scope: !297, inlinedAt: !306)
!306 = distinct !DILocation(line: 137, column: 5, scope: !293)
!307 = !DILocation(line: 130, column: 22, scope: !297, inlinedAt: !306)
!308 = !DILocation(line: 131, column: 97, scope: !297, inlinedAt: !306)
!309 = !DILocation(line: 131, column: 86, scope: !297, inlinedAt: !306)
!310 = !DILocation(line: 131, column: 43, scope: !297, inlinedAt: !306)
!311 = !DILocation(line: 132, column: 102, scope: !297, inlinedAt: !306)
!312 = !DILocation(line: 132, column: 95, scope: !297, inlinedAt: !306)
!313 = !DILocation(line: 132, column: 108, scope: !297, inlinedAt: !306)
!314 = !DILocation(line: 132, column: 43, scope: !297, inlinedAt: !306)
!315 = !DILocation(line: 131, column: 7, scope: !297, inlinedAt: !306)
!316 = !DILocation(line: 133, column: 5, scope: !297, inlinedAt: !306)
!317 = !DILocation(line: 138, column: 5, scope: !293)
!318 = !DILocation(line: 139, column: 5, scope: !293)
!319 = !DILocation(line: 140, column: 38, scope: !293)
!320 = !DILocation(line: 140, column: 27, scope: !293)
!321 = !DILocation(line: 140, column: 52, scope: !293)
!322 = !DILocation(line: 140, column: 14, scope: !293)
!323 = !DILocation(line: 140, column: 20, scope: !293)
!324 = !DILocation(line: 140, column: 5, scope: !293)
!325 = !DILocation(line: 140, column: 25, scope: !293)
!326 = !DILocation(line: 141, column: 5, scope: !293)
!327 = !DILocation(line: 136, column: 27, scope: !293)
!328 = distinct !{!328, !302, !329, !64}
!329 = !DILocation(line: 142, column: 3, scope: !293)
!330 = distinct !DISubprogram(name: "histogram", scope: !1, file: !1, line: 145, type: !13, scopeLine: 145, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!331 = !DILocation(line: 10, column: 27, scope: !23, inlinedAt: !332)
!332 = distinct !DILocation(line: 147, column: 7, scope: !330)
!333 = !DILocation(line: 147, column: 13, scope: !330)
!334 = !DILocation(line: 148, column: 18, scope: !330)
!335 = !DILocation(line: 148, column: 5, scope: !330)
!336 = !DILocation(line: 149, column: 3, scope: !330)
!337 = !DILocation(line: 11, column: 27, scope: !16, inlinedAt: !338)
!338 = distinct !DILocation(line: 150, column: 11, scope: !330)
!339 = !DILocation(line: 12, column: 31, scope: !19, inlinedAt: !340)
!340 = distinct !DILocation(line: 150, column: 19, scope: !330)
!341 = !DILocation(line: 150, column: 17, scope: !330)
!342 = !DILocation(line: 150, column: 29, scope: !330)
!343 = !DILocation(line: 151, column: 9, scope: !330)
!344 = !DILocation(line: 152, column: 41, scope: !330)
!345 = !DILocation(line: 152, column: 47, scope: !330)
!346 = !DILocation(line: 152, column: 35, scope: !330)
!347 = !DILocation(line: 152, column: 5, scope: !330)
!348 = !DILocation(line: 153, column: 3, scope: !330)
!349 = !DILocation(line: 154, column: 13, scope: !330)
!350 = !DILocation(line: 155, column: 48, scope: !330)
!351 = !DILocation(line: 155, column: 5, scope: !330)
!352 = !DILocation(line: 156, column: 1, scope: !330)
!353 = distinct !DISubprogram(name: "reverseWarps", scope: !1, file: !1, line: 159, type: !13, scopeLine: 159, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!354 = !DILocation(line: 11, column: 27, scope: !16, inlinedAt: !355)
!355 = distinct !DILocation(line: 161, column: 22, scope: !353)
!356 = !DILocation(line: 12, column: 31, scope: !19, inlinedAt: !357)
!357 = distinct !DILocation(line: 161, column: 30, scope: !353)
!358 = !DILocation(line: 161, column: 28, scope: !353)
!359 = !DILocation(line: 10, column: 27, scope: !23, inlinedAt: !360)
!360 = distinct !DILocation(line: 161, column: 42, scope: !353)
!361 = !DILocation(line: 161, column: 40, scope: !353)
!362 = !DILocation(line: 161, column: 19, scope: !353)
!363 = !DILocation(line: 161, column: 3, scope: !353)
!364 = !DILocation(line: 161, column: 17, scope: !353)
!365 = !DILocation(line: 162, column: 3, scope: !353)
!366 = !DILocation(line: 163, column: 49, scope: !353)
!367 = !DILocation(line: 163, column: 36, scope: !353)
!368 = !DILocation(line: 163, column: 3, scope: !353)
!369 = !DILocation(line: 163, column: 34, scope: !353)
!370 = !DILocation(line: 164, column: 1, scope: !353)
