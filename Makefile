# Trireme's entry points; `make help` lists them.
PREFIX_BUILD = build
B := $(PREFIX_BUILD)/$(if $(SAN),$(SAN),$(if $(DEBUG),debug,release))
MPICXX ?= $(firstword $(shell command -v mpicxx.mpich mpicxx))
MPIEXEC ?= $(firstword $(shell command -v mpiexec.mpich mpiexec))
CXXFLAGS := -std=c++20 $(if $(DEBUG),-O0,-O3) -g -fopenmp -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Isrc -I. -MMD -MP \
  $(if $(ARCH),-march=$(ARCH)) $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -DTRIREME_NO_CLONES)
LIBS := -lfmt -lopenblas -lxxhash -fopenmp $(if $(SAN),-fsanitize=$(SAN))
SOURCES := $(filter-out src/main.cpp,$(wildcard src/*/*.cpp kernels/*.cpp kernels/cpu/*.cpp))
OBJECTS := $(SOURCES:%.cpp=$B/%.o)
UNIT := $(wildcard validation/unit/*.cpp)
TESTS := $(UNIT:validation/unit/%.cpp=$B/test/%)
Q := $(if $(V),,@)

build: $B/trireme  ## build the program
$B/trireme: $B/src/main.o $B/libtrireme.a
	$(Q)$(MPICXX) -o $@ $^ $(LIBS)
$B/libtrireme.a: $(OBJECTS)
	$(Q)rm -f $@; ar rcs $@ $^
$B/%.o: %.cpp Makefile
	@mkdir -p $(@D); echo "c++  $<"
	$(Q)$(MPICXX) $(CXXFLAGS) -c -o $@ $<
$B/test/%: $B/validation/unit/%.o $B/libtrireme.a
	@mkdir -p $(@D)
	$(Q)$(MPICXX) -o $@ $^ -lgtest $(LIBS)
tests: $(TESTS)
.PRECIOUS: $B/%.o
.PHONY: build tests
-include $(shell test -d $B && find $B -name '*.d')
