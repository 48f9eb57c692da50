# opencl.mk - kernels_ocl/*.cl become a part of the library, as text: the user's OpenCL driver compiles them.

OPENCL_SOURCES := $(sort $(wildcard kernels_ocl/*.cl))
OPENCL_PARTS   := $(OPENCL_SOURCES) $(wildcard kernels_ocl/*.h lib/device/*.h lib/physics/*.h)

$(B)/opencl/embedded.c: $(OPENCL_PARTS) kernels_ocl/embed.sh
	@mkdir -p $(@D)
	$(Q)sh kernels_ocl/embed.sh $(@D) $(OPENCL_SOURCES)

$(B)/lib/embedded_opencl.o: $(B)/opencl/embedded.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(COMMON) $(FLAGS_lib) -MMD -MP -c -o $@ $<
