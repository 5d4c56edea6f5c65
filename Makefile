# Every entry point of the project. Sites without apt: say where things are, e.g.
#   make MPICXX=mpicxx HDF5_HOME=/opt/hdf5 BLAS_LIBS="-L/opt/openblas/lib -lopenblas" ARCH=znver4
ARCH       ?=            # -march of the host code; empty: portable, kernels choose their instructions when they start
MPICXX     ?= $(firstword $(shell command -v mpicxx.mpich mpicxx) mpicxx) # the C++ compiler of the MPI library
MPIEXEC    ?= $(firstword $(shell command -v mpiexec.mpich mpiexec) mpiexec) # its launcher, for run, test, validate and bench
HDF5_HOME  ?=            # empty: pkg-config hdf5-mpich, then hdf5
BLAS_LIBS  ?= -lopenblas # what to link for cblas.h, e.g. "-L/opt/openblas/lib -lopenblas"
CUDA_HOME  ?= /usr/local/cuda # for cuda-check, gpu and NVTX; the program itself has no device build yet
NCCL_HOME  ?= /usr        # for cuda-check, which compiles what uses NCCL; else it looks in CUDA_HOME
CUDA_ARCHS ?= 80 90       # compute capabilities of the CUDA kernels; those named *_sm90 are for 90a in any case
NVTX ?=                  # 1: ranges for NVIDIA's profilers; needs CUDA_HOME/include/nvtx3
V ?=                     # 1: print the commands
DEBUG ?=                 # 1: build/debug, unoptimised
SAN ?=                   # address, undefined, address,undefined or thread: build/asan, ubsan, asan-ubsan, tsan
CLANG ?= clang++         # for make fuzz, which needs its libFuzzer
FUZZ_SECONDS ?= 60       # of make fuzz, for each format
T ?=                     # filter of test programs, e.g. T=kernels, and of cuda-check's sources
JUNIT ?=                 # .xml file: make validate writes its verdicts there as JUnit XML

, := ,
MPICXX  := $(strip $(MPICXX))
MPIEXEC := $(strip $(MPIEXEC))
given    = $(if $(filter command,$(origin $(1))),$(strip $($(1))))# a variable's value where it was written behind make
variables := $(shell sed -n 's/^\([A-Z_0-9]*\) *?=.*\# .*/\1/p' Makefile)
variant := $(or $(subst $(,),-,$(subst address,asan,$(subst undefined,ubsan,$(subst thread,tsan,$(strip $(SAN)))))),$(if $(strip $(DEBUG)),debug,release))
B       := build/$(variant)
hdf5    := $(firstword $(shell for name in hdf5-mpich hdf5; do pkg-config --exists $$name 2>/dev/null && echo $$name; done))
H5FLAGS := $(if $(strip $(HDF5_HOME)),-I$(strip $(HDF5_HOME))/include,$(shell pkg-config --cflags $(hdf5) 2>/dev/null))
H5LIBS  := $(if $(strip $(HDF5_HOME)),-L$(strip $(HDF5_HOME))/lib -Wl$(,)-rpath$(,)$(strip $(HDF5_HOME))/lib -lhdf5,$(shell pkg-config --libs $(hdf5) 2>/dev/null))
FLAGS   := -std=c++20 -g -fopenmp -Wall -Wextra -Wshadow -Wconversion -Isrc -I. $(H5FLAGS) \
           $(if $(strip $(NVTX)),-DTRIREME_NVTX -isystem $(strip $(CUDA_HOME))/include) \
           $(if $(strip $(DEBUG)),-O0,$(if $(strip $(SAN)),-O1,-O2)) $(if $(strip $(ARCH)),-march=$(strip $(ARCH))) \
           $(if $(strip $(SAN)),-fsanitize=$(strip $(SAN)) -fno-sanitize-recover=all -fno-omit-frame-pointer -DTRIREME_NO_CLONES) \
           $(if $(findstring thread,$(SAN)),-DTRIREME_RACES)
# The kernels' own: sqrt and the like as instructions, so that loops vectorise; this is not fast-math.
KFLAGS  := $(if $(strip $(DEBUG)),,-O3) -fno-math-errno
# CUDA sources as the simulator runs them: what a kernel leaves unset is a pattern, not luck.
pattern := -ftrivial-auto-var-init=pattern
SIMTFLAGS := -x c++ -O1 -Wno-unknown-pragmas $(shell $(MPICXX) $(pattern) -E -x c++ /dev/null >/dev/null 2>&1 && echo $(pattern))
NVCC    := $(strip $(CUDA_HOME))/bin/nvcc
NVFLAGS := -std=c++20 -O3 -lineinfo -Isrc -I. -Xptxas -v,-warn-spills,-warn-lmem-usage --Werror all-warnings -Xcompiler -Wall,-Wextra
archs   = $(foreach a,$(if $(findstring _sm90,$(1)),90a,$(CUDA_ARCHS)),-gencode arch=compute_$a,code=sm_$a)
CUDALIBS := -lfmt -L$(strip $(CUDA_HOME))/lib64 -lcudart_static -ldl -lrt -lpthread
LIBS    := $(H5LIBS) $(BLAS_LIBS) -lfmt
sources := $(filter-out src/main.cpp,$(wildcard src/*/*.cpp kernels/*.cpp kernels/cpu/*.cpp kernels/cpu/*/*.cpp))
kernels := $(wildcard kernels/cuda/*/*.cu validation/conformance/*.cu validation/rehearsal/*.cu)
engine  := $(patsubst %.cpp,$B/%.o,$(wildcard kernels/simt/*.cpp)) $B/kernels/device.o
simt    := $(engine) $(patsubst %.cpp,$B/%.o,$(wildcard kernels/cuda/*.cpp)) $(kernels:%.cu=$B/%.simt.o)
bugs    := validation/unit/simt/mutations# tables of bugs; copies of the kernels into which any of them can be planted
tables  := $(shell find $(bugs) -name '*.bugs')
copies  := $(patsubst %,$B/planted/%,$(wildcard kernels/cuda/*/*.cu kernels/cuda/*/*.cuh validation/rehearsal/*.cu))
planted := $(patsubst %.cu,%.simt.o,$(filter %.cu,$(copies)))
wire_bugs := validation/unit/backend/mutations# the same of the communicators for device memory
wire_tables := $(shell find $(wire_bugs) -name '*.bugs')
wire_planted := $(wire_tables:$(wire_bugs)/%.cpp.bugs=$B/planted/%.o)
native  := $B/validation/gpu/native.o $B/kernels/simt/options.o $B/kernels/device.o
formats := $(filter-out %/harness.cpp,$(wildcard validation/fuzz/*.cpp))
not_read := src/store/checkpoint_% src/store/master% src/store/shard% src/store/frame% src/view/forecast% src/view/checkpoint% src/view/layout%
fuzzed  := $(filter-out $(not_read),$(wildcard $(foreach f,base config data schedule spec store view,src/$f/*.cpp))) src/grid/activity.cpp src/grid/device_times.cpp
FUZZFLAGS := -std=c++20 -g -O1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -DTRIREME_NO_CLONES -Isrc -I. $(H5FLAGS)
tests   := $(patsubst validation/unit/%.cpp,$B/test/%,$(wildcard validation/unit/*/*.np?.cpp validation/unit/simt/*/*.np?.cpp))
pick    = $(strip $(if $(strip $(T)),$(foreach f,$(1),$(if $(findstring $(strip $(T)),$(f:$B/test/%=%)),$f)),$(1)))
chosen  := $(call pick,$(tests))
cuda_host := $(patsubst %.cpp,build/cuda/%.o,$(wildcard kernels/cuda/*.cpp))
nccl_header := $(wildcard $(strip $(NCCL_HOME))/include/nccl.h $(strip $(CUDA_HOME))/include/nccl.h)
nccl_host := $(if $(nccl_header),build/cuda/src/grid/nccl_communicator.o build/cuda/validation/gpu/nccl_signatures.o)
on_gpu  := $(call pick,$(patsubst validation/unit/simt/kernels/%.np1.cpp,build/gpu/%.np1,$(wildcard $(foreach k,$(kernels),validation/unit/simt/kernels/$(basename $(notdir $k)).np1.cpp))))
in_simt := $(filter $B/test/simt/%,$(chosen))
others  := $(filter-out $(in_simt),$(chosen))
benches := $(patsubst validation/bench/%.cpp,$B/bench/%,$(wildcard validation/bench/*.cpp))
some    = @$(if $(1),,echo "make: T=$(strip $(T)) names no $(2)" >&2; exit 2)
say     = @printf '%-5s %s\n' $(1) $(2)
Q       := $(if $(strip $(V)),,@)
cores   := $(shell nproc 2>/dev/null || echo 2)
jobs     = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(cores))

help:  ## this text
	@sed -n 's/^\([a-z-]*\):.*##/  make \1 \t/p' Makefile | expand -t 24
	@$(foreach v,$(variables),printf '  %-21s %s\n' '$v=$(strip $($v))' "$$(sed -n 's/^$v *?=[^#]*# //p' Makefile)";)
deps:  ## install what is missing (apt, as root or by sudo), or say what to load
	@MPICXX="$(MPICXX)" H5FLAGS="$(H5FLAGS)" H5LIBS="$(H5LIBS)" HDF5_HOME="$(strip $(HDF5_HOME))" BLAS_LIBS="$(BLAS_LIBS)" \
	  CUDA_GIVEN="$(call given,CUDA_HOME)" NCCL_GIVEN="$(call given,NCCL_HOME)" .ci/deps
build: $B/trireme  ## the program, build/release/trireme and the link build/trireme
run: deps  ## train a small GPT on English text on 4 ranks
	@$(MAKE) $(jobs) --no-print-directory build
	@input/fetch_novels.sh data/novels
	@test -f data/novels/train.idx || $B/trireme prepare data/novels/train.txt --output data/novels/train
	@test -f data/novels/validation.idx || $B/trireme prepare data/novels/validation.txt --output data/novels/validation
	$(MPIEXEC) -n 4 $B/trireme train input/novels.toml
	@echo
	@$B/trireme plot runs/novels
	@$B/trireme trace runs/novels/traces/step-00000003.h5 --svg runs/novels/plots/step-00000003.svg
test: deps  ## build and run the tests; the last line counts them
	$(call some,$(chosen),test program)
	@$(MAKE) $(jobs) --no-print-directory $(if $(others),build) $(chosen)
	@MPIEXEC="$(MPIEXEC)" validation/unit/run.sh $(chosen)
test-long:  ## 200 random kills; a crash, and a full disk, at every change of the disk
	@TRIREME_LONG=1 TEST_SECONDS=7200 $(MAKE) --no-print-directory test T=resume.
test-slurm: deps  ## the job scripts under a real Slurm, which is started for this alone (Debian's packages); three to five minutes
	@$(MAKE) $(jobs) --no-print-directory build
	@validation/slurm/run.sh $B/trireme
test-sanitize: deps  ## the tests under address and undefined-behaviour sanitizers, the CUDA kernels' also under ThreadSanitizer; T=simt: these only
	$(call some,$(chosen),test program)
	@$(MAKE) $(jobs) --no-print-directory SAN=address,undefined $(if $(others),build) $(chosen:$B/%=build/asan-ubsan/%)
	@$(if $(in_simt),$(MAKE) $(jobs) --no-print-directory SAN=thread $(in_simt:$B/%=build/tsan/%))
	@TRIREME_SMALL=1 MPIEXEC="$(MPIEXEC)" validation/unit/run.sh $(in_simt:$B/%=build/asan-ubsan/%) $(in_simt:$B/%=build/tsan/%) \
	  $(others:$B/%=build/asan-ubsan/%)
mutations: deps  ## bugs planted into the CUDA kernels: which build finds which, in which order of threads
	@for san in "" address,undefined thread; do $(MAKE) $(jobs) --no-print-directory SAN=$$san mutation-check 2>&1 || exit 1; done
mutation-check: $B/test/simt/kernels/mutations.np1
	@TRIREME_SMALL=1 $< >$B/mutations 2>/dev/null; status=$$?; grep -v '^\[' $B/mutations; exit $$status
validate: deps  ## every reference case on several layouts, and invariants; one table; JUNIT=file writes it for CI too
	@$(MAKE) $(jobs) --no-print-directory build $B/validate
	@$B/validate $B/trireme "$(MPIEXEC)" $(JUNIT)
bench-build: deps  ## the benchmarks
	@$(MAKE) $(jobs) --no-print-directory $(benches)
bench: bench-build  ## rates of matrix products, of each kernel, of a whole step, in one run; the pipeline bubble
	$(MPIEXEC) -n 1 $B/bench/kernels threads=1
	$(MPIEXEC) -n 1 $B/bench/step threads=1
	for p in 2 4 8; do $(MPIEXEC) -n $$p $B/bench/bubble; done
	$(MPIEXEC) -n 2 $B/bench/save build
cuda-check: toolkit  ## compile each CUDA kernel by nvcc, and what uses NCCL; warnings, spills and stack are faults; a table of registers; T=gemm: these sources only
	$(call some,$(call pick,$(kernels)),CUDA source)
	@$(MAKE) $(jobs) --no-print-directory $(patsubst %.cu,build/cuda/%/object.o,$(call pick,$(kernels))) $(cuda_host) $(nccl_host)
	$(if $(nccl_header),,@echo "make: no nccl.h in NCCL_HOME or CUDA_HOME: what uses NCCL was not compiled")
	@NVCC=$(NVCC) validation/gpu/resources.sh build/cuda $(call pick,$(kernels))
gpu: driver  ## on a machine with a GPU: the tests of the CUDA kernels and of their instructions on it; T=gemm: these only
	@$(MAKE) --no-print-directory gpu-build
	@$(firstword $(on_gpu)) --gtest_list_tests >/dev/null
	@validation/unit/run.sh $(on_gpu)
gpu-bench: driver  ## on a machine with a GPU: rates of each kernel and of matrix products, in bf16 and fp32
	@$(MAKE) --no-print-directory gpu-build
	build/gpu/kernels width=2 hidden=2048 heads=16 sequence=2048 batch=4 vocabulary=51200
	build/gpu/kernels width=4 hidden=2048 heads=16 sequence=2048 batch=1 vocabulary=51200
gpu-build: deps toolkit  ## what these two run, build/gpu/*, where there is no GPU
	$(call some,$(on_gpu),test program of CUDA kernels)
	@$(MAKE) $(jobs) --no-print-directory $(on_gpu) build/gpu/kernels
driver:
	@[ -e /dev/nvidiactl ] || { echo "make: no NVIDIA GPU here: there is no /dev/nvidiactl. make gpu-build compiles without one" >&2; exit 1; }
toolkit:
	@[ -x $(NVCC) ] || { echo "make: no $(NVCC): set CUDA_HOME to the CUDA toolkit" >&2; exit 1; }
fuzz:  ## damaged files of every format, by libFuzzer, FUZZ_SECONDS each; what crashes stays in build/fuzz/found
	@mkdir -p build/fuzz
	@echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }' >build/fuzz/probe.cpp
	@$(CLANG) -fsanitize=fuzzer,address,undefined -o build/fuzz/probe build/fuzz/probe.cpp 2>build/fuzz/probe.log || { cat build/fuzz/probe.log >&2; \
	  echo "make: $(CLANG) does not link -fsanitize=fuzzer,address,undefined: it takes clang and its run-time library (Debian: clang, libclang-rt-14-dev), or CLANG=..." >&2; exit 2; }
	@$(MAKE) $(jobs) --no-print-directory build/fuzz/harness
	@validation/fuzz/run.sh build/fuzz/harness $(FUZZ_SECONDS)
documents: build  ## write the tables of keys in input/README.md anew
	@{ sed '/^<!-- keys/q' input/README.md; $B/trireme train --help-markdown; } >build/keys.md && mv build/keys.md input/README.md
lint: deps  ## format, what may include what, every header by itself, the tables of keys
	@$(MAKE) $(jobs) --no-print-directory build
	@MPICXX="$(MPICXX)" FLAGS="$(FLAGS)" .ci/lint
format:  ## rewrite the sources in the project's format
	$(Q)git ls-files -co --exclude-standard '*.cpp' '*.h' '*.cu' '*.cuh' | xargs clang-format -i
clean:  ## remove build/
	$(Q)rm -rf build

# Objects depend on the flags, so that another ARCH or CUDA_HOME rebuilds.
$B/flags: FORCE
	@mkdir -p $B; echo '$(MPICXX) $(FLAGS) $(KFLAGS) $(SIMTFLAGS) $(LIBS)' > $@.new; cmp -s $@.new $@ || cp $@.new $@
$B/kernels/%.o: FLAGS += $(KFLAGS)
$B/kernels/simt/%.o: not_here := -fsanitize=thread# The simulator says itself what threads do to each other's memory.
$B/%.o: %.cpp $B/flags
	$(call say,c++,$<)
	@mkdir -p $(@D)
	$(Q)$(MPICXX) $(filter-out $(not_here),$(FLAGS)) -MMD -MP -c -o $@ $<
$B/%.simt.o: %.cu $B/flags
	$(call say,simt,$<)
	@mkdir -p $(@D)
	$(Q)$(MPICXX) $(FLAGS) $(SIMTFLAGS) -MMD -MP -c -o $@ $<
build/cuda/flags: FORCE
	@mkdir -p build/cuda; echo '$(NVCC) $(NVFLAGS) $(CUDA_ARCHS)' > $@.new; cmp -s $@.new $@ || cp $@.new $@
build/cuda/%/object.o: %.cu build/cuda/flags  # its folder keeps the log, PTX and cubins
	$(call say,nvcc,$<)
	@rm -rf $(@D) && mkdir -p $(@D)
	$(Q)$(NVCC) $(NVFLAGS) $(call archs,$<) --keep --keep-dir $(@D) -MMD -MP -MF $(@D)/object.d -c -o $@ $< >$(@D)/log 2>&1 || \
	  { grep -v '^ptxas info' $(@D)/log >&2; exit 1; }
build/cuda/libkernels.a: $(kernels:%.cu=build/cuda/%/object.o)
	$(Q)rm -f $@ && ar rcs $@ $^
$(cuda_host) $(nccl_host): build/cuda/%.o: %.cpp $B/flags build/cuda/flags
	$(call say,c++,$<)
	@mkdir -p $(@D)
	$(Q)$(MPICXX) $(FLAGS) -Werror -DTRIREME_CUDA $(addprefix -isystem ,$(filter-out /usr/include,$(nccl_header:%/nccl.h=%))) -isystem $(strip $(CUDA_HOME))/include -MMD -MP -c -o $@ $<
build/gpu/%.np1: $B/validation/unit/simt/kernels/%.np1.o $(native) build/cuda/libkernels.a
	$(call say,link,$@)
	@mkdir -p $(@D)
	$(Q)$(CXX) -o $@ $^ -lgtest $(CUDALIBS)
build/gpu/kernels: $B/validation/bench/kernels.o $B/validation/bench/kernels/step.o $B/validation/bench/kernels/cuda.o $(cuda_host) build/cuda/libkernels.a $B/libtrireme.a
	$(call say,link,$@)
	@mkdir -p $(@D)
	$(Q)$(CXX) -o $@ $^ $(CUDALIBS)
$B/validation/gpu/%.o: FLAGS += -isystem $(strip $(CUDA_HOME))/include
$B/libsimt.a: $(simt)
	$(Q)rm -f $@ && ar rcs $@ $^
$B/libtrireme.a: $(sources:%.cpp=$B/%.o)
	$(Q)rm -f $@ && ar rcs $@ $^
$B/trireme: $B/src/main.o $B/libtrireme.a
	$(call say,link,$@)
	$(Q)$(MPICXX) $(FLAGS) -o $@ $^ $(LIBS) && ln -sfn release/trireme build/trireme
$B/test/simt/%.np1: $B/validation/unit/simt/%.np1.o $B/libsimt.a
	$(call say,link,$@)
	@mkdir -p $(@D)
	$(Q)$(MPICXX) $(FLAGS) -o $@ $^ -lgtest -lgtest_main $(LIBS)
$B/test/simt/kernels/mutations.np1: $B/validation/unit/simt/kernels/mutations.np1.o $B/$(bugs)/checks.o $B/planted/mutations.o $(planted) $(engine)
	$(call say,link,$@)
	@mkdir -p $(@D)
	$(Q)$(MPICXX) $(FLAGS) -o $@ $^ -lgtest -lgtest_main $(LIBS)
$(planted): $B/planted/%.simt.o: $B/planted/%.cu $B/flags | $(copies)
	$(call say,simt,$<)
	$(Q)$(MPICXX) -I$B/planted $(FLAGS) $(SIMTFLAGS) -MMD -MP -c -o $@ $<
$B/$(bugs)/checks.o: FLAGS := -I$B/planted $(FLAGS)
$B/$(bugs)/checks.o: | $(copies)
$B/planted/mutations.o: $B/planted/mutations.cpp $B/flags
	$(call say,c++,$<)
	$(Q)$(MPICXX) $(FLAGS) -MMD -MP -c -o $@ $<
$B/planted/mutations.cpp: $(tables) $(bugs)/read.awk $(bugs)/list.awk
	@mkdir -p $(@D)
	$(Q)awk -f $(bugs)/read.awk -f $(bugs)/list.awk $(tables) > $@.new && mv $@.new $@
$(wire_planted:%.o=%.cpp): $B/planted/%: % $(wire_bugs)/%.bugs $(bugs)/read.awk $(bugs)/plant.awk
	@mkdir -p $(@D)
	$(Q)awk -v source=$< -v table=$(filter %.bugs,$^) -f $(bugs)/read.awk -f $(bugs)/plant.awk > $@.new && mv $@.new $@
$(wire_planted) $B/planted/communicators.o: %.o: %.cpp $B/flags
	$(call say,c++,$<)
	$(Q)$(MPICXX) $(FLAGS) -MMD -MP -c -o $@ $<
$B/planted/communicators.cpp: $(wire_tables) $(bugs)/read.awk $(bugs)/list.awk
	@mkdir -p $(@D)
	$(Q)awk -f $(bugs)/read.awk -f $(bugs)/list.awk $(wire_tables) > $@.new && mv $@.new $@
$B/test/backend/communicator_mutations.np3: $B/planted/communicators.o $(wire_planted)
$B/test/backend/%: $B/validation/unit/backend/%.o $B/libtrireme.a $B/libsimt.a
	$(call say,link,$@)
	@mkdir -p $(@D)
	$(Q)$(MPICXX) $(FLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) -lgtest $(LIBS)
$B/libformats.a: $(formats:%.cpp=$B/%.o)
	$(Q)rm -f $@ && ar rcs $@ $^
$B/test/fuzz/%.np1: $B/validation/unit/fuzz/%.np1.o $B/libformats.a $B/libtrireme.a
	$(call say,link,$@)
	@mkdir -p $(@D)
	$(Q)$(MPICXX) $(FLAGS) -o $@ $^ -lgtest -lgtest_main $(LIBS)
build/fuzz/flags: FORCE
	@mkdir -p build/fuzz; echo '$(CLANG) $(FUZZFLAGS)' > $@.new; cmp -s $@.new $@ || cp $@.new $@
build/fuzz/%.o: %.cpp build/fuzz/flags
	$(call say,clang,$<)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(FUZZFLAGS) -MMD -MP -c -o $@ $<
build/fuzz/harness: $(patsubst %.cpp,build/fuzz/%.o,$(fuzzed) $(formats) validation/fuzz/harness.cpp)
	$(call say,link,$@)
	$(Q)$(CLANG) $(FUZZFLAGS) -fsanitize=fuzzer -o $@ $^ $(H5LIBS) -lfmt
$B/test/file_faults.so: validation/unit/support/file_faults.cpp
	$(call say,link,$@)
	@mkdir -p $(@D)
	$(Q)$(CXX) -std=c++20 -O1 -Wall -Wextra -shared -fPIC -o $@ $< -ldl
$B/test/%.np1: $B/validation/unit/%.np1.o $B/libtrireme.a | $B/test/file_faults.so
	$(call say,link,$@)
	@mkdir -p $(@D)
	$(Q)$(MPICXX) $(FLAGS) -o $@ $^ -lgtest -lgtest_main $(LIBS)
$B/test/%: $B/validation/unit/%.o $B/libtrireme.a | $B/test/file_faults.so
	$(call say,link,$@)
	@mkdir -p $(@D)
	$(Q)$(MPICXX) $(FLAGS) -o $@ $^ -lgtest $(LIBS)
$B/validate: $B/validation/validate.o $B/libtrireme.a
	$(call say,link,$@)
	$(Q)$(MPICXX) $(FLAGS) -o $@ $^ $(LIBS)
$B/bench/kernels: $B/validation/bench/kernels/step.o $B/validation/bench/kernels/cpu.o
$B/bench/%: $B/validation/bench/%.o $B/libtrireme.a
	$(call say,link,$@)
	@mkdir -p $(@D)
	$(Q)$(MPICXX) $(FLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LIBS)
.SECONDEXPANSION:
$(copies): $B/planted/%: % $$(wildcard $(bugs)/$$*.bugs) $(bugs)/read.awk $(bugs)/plant.awk
	@mkdir -p $(@D)
	$(Q)awk -v source=$< -v table=$(filter %.bugs,$^) -f $(bugs)/read.awk -f $(bugs)/plant.awk > $@.new && mv $@.new $@
FORCE:
.PHONY: help deps build documents run test test-long test-slurm test-sanitize mutations mutation-check validate bench bench-build cuda-check gpu gpu-bench gpu-build driver toolkit fuzz lint format clean FORCE
.SECONDARY:
-include $(shell find $B build/cuda build/fuzz -name '*.d' 2>/dev/null)
