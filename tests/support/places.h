// places.h -- where a build's own files are. Only places.cpp is compiled with their names: the compiler's cache has all
// other units of tests for every checkout.
#pragma once
#include <string>

namespace bora::test {
std::string source_dir();       // of the repository
std::string command();          // the program bora
std::string network_command();  // bora_net: a command in a network of its own
std::string transport_rank();   // a process of a job of the transport's tests
std::string transport_soak();   // the same, with random collectives
std::string fail_nth();         // the library that lets calls of the C library fail; empty where it is not built
}  // namespace bora::test
