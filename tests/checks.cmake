# Checks of the repository itself, and the command-line tests.
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# check(NAME LABEL command...): exit code 77 is a skip; the output says why.
function(check name label)
  add_test(NAME ${name} COMMAND ${ARGN} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS ${label} SKIP_RETURN_CODE 77 TIMEOUT 600)
endfunction()

check(tools unit Python3::Interpreter tests/tools/tools_test.py)
check(layers unit Python3::Interpreter tools/check_layers.py)
check(skips unit Python3::Interpreter tools/check_skips.py)

check(web.built web sh tools/check_web.sh built)
check(web.browser web sh tools/check_web.sh browser)
set_tests_properties(web.built web.browser PROPERTIES RESOURCE_LOCK web)

if(TARGET sinkscope)
  check(docs unit Python3::Interpreter tools/check_docs.py --bin $<TARGET_FILE:sinkscope>)
  check(ablate_resume cli Python3::Interpreter tests/tools/sweep_resume_test.py $<TARGET_FILE:sinkscope> ablate)
  check(theory_resume cli Python3::Interpreter tests/tools/sweep_resume_test.py $<TARGET_FILE:sinkscope> theory)
  check(train_resume cli Python3::Interpreter tests/tools/train_resume_test.py $<TARGET_FILE:sinkscope>)
  check(kill_resume cli Python3::Interpreter tests/tools/kill_resume_test.py $<TARGET_FILE:sinkscope>)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/cli/*.test)
  foreach(file ${files})
    get_filename_component(name ${file} NAME_WE)
    check(cli.${name} cli Python3::Interpreter tools/run_cli_tests.py --bin $<TARGET_FILE:sinkscope> ${file})
  endforeach()
endif()
