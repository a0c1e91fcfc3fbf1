// The machine's limits, measured whenever run.py asks: for each line "BYTES" of input one line of JSON, the peak of
// multiply-adds, the bandwidth of a copy that reads and writes so many bytes in all, and how far cores are apart. Argument: threads.
#include <cstdlib>
#include <iostream>

#include "machine.h"

int main(int argc, char** argv) {
  int threads = argc > 1 ? std::atoi(argv[1]) : 0;
  if (threads < 1) {
    std::cerr << "usage: bench_limits THREADS, then bytes on standard input\n";
    return 2;
  }
  for (size_t bytes; std::cin >> bytes;)
    std::cout << "{\"fma_gflops\": " << cresset::bench::fma_peak(threads) << ", \"copy_gbs\": " << cresset::bench::copy_bandwidth(threads, bytes)
              << ", \"core_to_core_ns\": " << cresset::bench::core_to_core(threads) << "}" << std::endl;
}
