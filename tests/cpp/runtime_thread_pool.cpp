// Threads that kernels run on.
#include "runtime/thread_pool.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <semaphore.h>

#include <atomic>
#include <csignal>
#include <ctime>
#include <vector>

namespace cresset {
namespace {

// What the tasks of a round leave, one number each.
struct Round {
  std::vector<int> runs;
  std::atomic<int> arrived{0};
  pthread_t leader = pthread_self(), other = leader;
};

void count(void* const* buffers, int64_t begin, int64_t end, void*) {
  auto* round = static_cast<Round*>(buffers[0]);
  for (int64_t i = begin; i < end; ++i) ++round->runs[i];
}

// Of two tasks each waits for the other, so that two threads run them.
void meet(void* const* buffers, int64_t, int64_t, void*) {
  auto* round = static_cast<Round*>(buffers[0]);
  if (!pthread_equal(pthread_self(), round->leader)) round->other = pthread_self();
  ++round->arrived;
  while (round->arrived < 2) sched_yield();
}

void run(Round& round, KernelFunction kernel, int64_t tasks) {
  void* buffers[] = {&round};
  parallel_for(kernel, buffers, 0, tasks, 1, 64);
}

class ThreadPool : public ::testing::Test {
 protected:
  int before_ = num_threads();
  void SetUp() override { set_num_threads(2); }
  void TearDown() override { set_num_threads(before_); }
};

TEST_F(ThreadPool, RunsEachTaskOnce) {
  Round round{std::vector<int>(1000)};
  for (int regions = 0; regions < 20; ++regions)
    together([&] {
      for (int rounds = 0; rounds < 50; ++rounds) run(round, count, 1000);
    });
  EXPECT_EQ(round.runs, std::vector<int>(1000, 1000));
}

sem_t go_on, is_held;
std::atomic<bool> waited_in_vain{false};

// On a thread whose processor "another process has": it does nothing until it is let go, at most half a minute.
void hold(int) {
  sem_post(&is_held);
  timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 30;
  if (sem_timedwait(&go_on, &until) != 0) waited_in_vain = true;
}

TEST_F(ThreadPool, DoesNotWaitForAThreadThatHasNotBegun) {
  sem_init(&go_on, 0, 0), sem_init(&is_held, 0, 0);
  struct sigaction action {}, old;
  action.sa_handler = hold;
  sigaction(SIGUSR2, &action, &old);
  Round round{std::vector<int>(100)};
  together([&] {
    run(round, meet, 2);
    ASSERT_FALSE(pthread_equal(round.other, round.leader));
    pthread_kill(round.other, SIGUSR2);
    while (sem_wait(&is_held) != 0) {
    }
    for (int rounds = 0; rounds < 50; ++rounds) run(round, count, 100);
    sem_post(&go_on);
  });
  EXPECT_FALSE(waited_in_vain);
  EXPECT_EQ(round.runs, std::vector<int>(100, 50));
  round.arrived = 0;
  together([&] { run(round, meet, 2); });  // both are there again
  sigaction(SIGUSR2, &old, nullptr);
}

}  // namespace
}  // namespace cresset
