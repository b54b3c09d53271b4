# Runs the generator over the operator table while CMake configures, because only then are the names of the files
# that it writes known. A change of the table or the generator configures again (under a second); a file whose text
# stays the same keeps its time, so that only what changed is compiled.
set(FB_OPGEN ${CMAKE_CURRENT_SOURCE_DIR}/../tools/opgen CACHE PATH "Folder of the generator's main.py")
set(FB_OPGEN_PYTHON OFF CACHE BOOL "Also write the Python files of the core package, to <build>/gen/python/_gen")
set(FB_GEN ${CMAKE_CURRENT_BINARY_DIR}/gen)

file(GLOB_RECURSE inputs CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/ops/*.toml ${FB_OPGEN}/*.py)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${inputs})

set(fresh ${FB_GEN}.new)
file(REMOVE_RECURSE ${fresh})
file(MAKE_DIRECTORY ${fresh} ${FB_GEN})
set(arguments --ops ${CMAKE_CURRENT_SOURCE_DIR}/ops --out ${fresh})
if(FB_OPGEN_PYTHON)
    list(APPEND arguments --python ${fresh}/python/_gen)
endif()
execute_process(COMMAND ${Python3_EXECUTABLE} -B ${FB_OPGEN}/main.py ${arguments} RESULT_VARIABLE status)
if(status)
    message(FATAL_ERROR "tools/opgen/main.py failed")
endif()

file(GLOB_RECURSE old RELATIVE ${FB_GEN} ${FB_GEN}/*)
file(GLOB_RECURSE new RELATIVE ${fresh} ${fresh}/*)
foreach(name IN LISTS new)
    get_filename_component(folder ${FB_GEN}/${name} DIRECTORY)
    file(MAKE_DIRECTORY ${folder})
    file(COPY_FILE ${fresh}/${name} ${FB_GEN}/${name} ONLY_IF_DIFFERENT)
endforeach()
foreach(name IN LISTS old)
    if(NOT name IN_LIST new)
        file(REMOVE ${FB_GEN}/${name})
    endif()
endforeach()
file(REMOVE_RECURSE ${fresh})

# kernels/*.gen.c are compiled once an instruction set, *.gen.c once; pybind.gen.c belongs to the Python module.
file(GLOB FB_GEN_SOURCES ${FB_GEN}/*.gen.c)
list(REMOVE_ITEM FB_GEN_SOURCES ${FB_GEN}/pybind.gen.c)
file(GLOB FB_GEN_KERNELS ${FB_GEN}/kernels/*.gen.c)
