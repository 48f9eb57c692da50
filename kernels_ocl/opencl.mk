# opencl.mk - embeds kernels_ocl/*.cl in the library as kernel sources, which the user's OpenCL driver compiles.

OPENCL_SOURCES := $(sort $(wildcard kernels_ocl/*.cl))
OPENCL_PARTS   := $(OPENCL_SOURCES) $(wildcard kernels_ocl/*.h lib/device/*.h lib/physics/*.h)

$(B)/opencl/embedded.c: $(OPENCL_PARTS) kernels_ocl/embed.sh
	@mkdir -p $(@D)
	$(Q)sh kernels_ocl/embed.sh $(@D) $(OPENCL_SOURCES)

$(B)/lib/embedded_opencl.o: $(B)/opencl/embedded.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(COMMON) $(FLAGS_lib) -MMD -MP -c -o $@ $<
