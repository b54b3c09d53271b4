# The kernels are compiled once an instruction set, with FB_ISA naming it, and one copy is chosen at load time.
# Everything else is compiled for the baseline alone, so that the library loads on any machine.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|amd64|AMD64")
    set(FB_ISAS "base;avx2;avx512" CACHE STRING "Instruction sets to compile the kernels for")
    target_compile_options(fb_flags INTERFACE -march=x86-64)
else()
    set(FB_ISAS "base" CACHE STRING "Instruction sets to compile the kernels for")
endif()
set(FB_ISA_FLAGS_avx2 -mavx2 -mfma -mf16c)
set(FB_ISA_FLAGS_avx512 -mavx512f -mavx512dq -mavx512bw -mavx512vl -mfma -mf16c -mprefer-vector-width=512)

# Every file may ask which copies exist: FB_HAVE_ISA_base, FB_HAVE_ISA_avx2, FB_HAVE_ISA_avx512.
foreach(isa IN LISTS FB_ISAS)
    if(NOT isa STREQUAL "base" AND NOT DEFINED FB_ISA_FLAGS_${isa})
        message(FATAL_ERROR "FB_ISAS=${FB_ISAS}: ${isa} is unknown; base, avx2 and avx512 are known")
    endif()
    target_compile_definitions(fb_flags INTERFACE FB_HAVE_ISA_${isa}=1)
endforeach()

# Appends to the list `objects` one set of objects of the given sources for each instruction set.
function(fb_add_kernels objects)
    if(ARGN)
        foreach(isa IN LISTS FB_ISAS)
            add_library(fb_kernels_${isa} OBJECT ${ARGN})
            target_link_libraries(fb_kernels_${isa} PRIVATE fb_flags)
            target_compile_definitions(fb_kernels_${isa} PRIVATE FB_ISA=${isa} FB_ISA_${isa}=1)
            target_compile_options(fb_kernels_${isa} PRIVATE ${FB_ISA_FLAGS_${isa}})
            list(APPEND ${objects} $<TARGET_OBJECTS:fb_kernels_${isa}>)
        endforeach()
    endif()
    set(${objects} ${${objects}} PARENT_SCOPE)
endfunction()
