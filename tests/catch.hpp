#pragma once
// One door to Catch2: 2.13 (Debian 12) and 3.x differ in their headers only as far as we use them.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif
