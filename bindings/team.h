// The threads that share a call's work, in a build whose memory they share.
#ifndef LAYERNORM_BINDINGS_TEAM_H_
#define LAYERNORM_BINDINGS_TEAM_H_

#include "layernorm/layernorm.h"

namespace layernorm {

#ifdef LAYERNORM_THREADS

/// In how many parts the team is to run a call: 1 where that is no gain, or where it cannot be split.
size_t count_shares(const Call& call);

/// Runs a call in so many parts, on this thread and the others, and returns when all are done.
void run_shared(const Call& call, size_t parts);

#else

constexpr size_t count_shares(const Call&) { return 1; }
inline void run_shared(const Call&, size_t) {}

#endif

}  // namespace layernorm

#endif  // LAYERNORM_BINDINGS_TEAM_H_
