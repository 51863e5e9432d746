// phase.h -- the phases of a job as its launcher sees them, and the events that lead from one to the next. Private.
#pragma once
#include <cstdint>

namespace bora::launch {
enum class Phase : std::uint8_t {
  connecting,    // the launcher waits for the hosts
  running,       // the ranks of a generation train
  draining,      // the launcher has asked them to leave it after their next step, since more ranks fit now
  regrouping,    // a rank has left the generation in order, and the others follow
  recovering,    // a rank of the generation was lost, and the others leave it
  handing_over,  // in this generation processes without a rank in the next one only send their state to the others
  failing,       // a rank has ended with an error that ends the job, and the others end by themselves
  stopping,      // the launcher has passed the user's signal on, and the ranks end in order
  // The job is over, and all processes are killed:
  ended,    // the ranks ended, or failed
  stopped,  // the user stopped it
  failed    // no other attempt has a chance
};
enum class Event : std::uint8_t {
  ready,      // the hosts have answered, and the ranks are started
  asked,      // hosts have come, and the launcher asks the ranks to leave
  left,       // a rank has left its generation in order
  lost,       // of an elastic job: a rank has ended by itself, or one that has left its generation misses another
  fatal,      // a rank ended with bad input, or a job that is not elastic has lost one
  regrouped,  // every process that is left waits, and the next generation has started
  hand_over,  // the same, and it is one of handing over
  hopeless,   // the job has too few ranks, or did not get further for too long
  stop,       // the user's signal
  deadline,   // the time is up that the others have after the first that left or ended
  finished    // no rank runs
};
/// The phase after an event. An event changes nothing in a phase that the event's rows do not name:
///
///   event      phases                                                       next phase
///   ready      connecting                                                   running
///   asked      running                                                      draining
///   left       running draining                                             regrouping
///   lost       running draining regrouping handing_over                     recovering
///   fatal      running draining regrouping handing_over recovering          failing
///   regrouped  regrouping handing_over recovering                           running
///   hand_over  regrouping recovering                                        handing_over
///   hopeless   regrouping handing_over recovering                           failed
///   stop       connecting running draining failing                          stopping
///   stop       regrouping handing_over recovering stopping ended            stopped
///   deadline   failing                                                      ended
///   deadline   stopping                                                     stopped
///   finished   running draining regrouping handing_over recovering failing  ended
///   finished   stopping                                                     stopped
Phase next(Phase, Event);
/// True if all processes that are left are killed.
constexpr bool is_over(Phase p) { return p >= Phase::ended; }
}  // namespace bora::launch
