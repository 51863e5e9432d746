// uncaught.h -- exceptions of a rank that its program does not catch.
#pragma once

namespace bora::transport {
/// From now on an Error, or a std::bad_alloc, that nobody catches ends the process with one line, "bora: " and its
/// text, and exit code 86 (a RankLost) or 2, as `bora` itself ends, instead of abort(): else the loss of one rank
/// leaves core files of all. Programs with a handler of their own (std::set_terminate) keep it, and other
/// exceptions end as ever.
void end_in_order_if_uncaught();
}  // namespace bora::transport
