// zmq_context.h -- the start of ZeroMQ.
#pragma once
#include <memory>

namespace zmq {
class context_t;
}

namespace bora::transport {
/// A context whose threads run. Where the system refuses one of them, or a descriptor, libzmq calls abort(), which only
/// a signal handler that does not return keeps from ending the process: for this moment SIGABRT has one. Throws
/// TransportError instead.
std::shared_ptr<zmq::context_t> begin_zmq();
}  // namespace bora::transport
