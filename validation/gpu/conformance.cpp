// On a machine with a GPU: the micro-kernels of kernels/cuda/conformance.h, built by nvcc, with the inputs and against the dumps
// of validation/reference/conformance, which are the simulator's. Equal words: the simulator's layouts are the chip's. Exit: 0
// equal, 1 no GPU or it fails, 3 different. What the GPU gave is written to the folder given.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/cuda/conformance.h"

namespace trireme::kernels::cuda {
namespace {

using Words = std::vector<std::uint32_t>;

void check(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

/// Hexadecimal words, so many
Words kept(const std::string& name, std::size_t count) {
  const std::string path = "validation/reference/conformance/" + name;
  std::ifstream file(path);
  Words words;
  for (std::string word; file >> word;) words.push_back(static_cast<std::uint32_t>(std::stoul(word, nullptr, 16)));
  if (words.size() != count) throw std::runtime_error(path + " does not hold " + std::to_string(count) + " words");
  return words;
}

void write(const std::string& path, const Words& words) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) throw std::runtime_error("cannot write " + path);
  for (std::size_t i = 0; i < words.size(); ++i) std::fprintf(file, "%08x%c", words[i], i % 8 == 7 ? '\n' : ' ');
  std::fclose(file);
}

/// What the kernel gives; memory that it does not write is 0xFF, as in the simulator.
Words run(const Conformance& kernel) {
  const Words in = kept(std::string(kernel.name) + ".in.txt", kernel.in);
  Words out(kernel.out);
  std::uint32_t *from, *to;
  check(cudaMalloc(reinterpret_cast<void**>(&from), 4 * kernel.in));
  check(cudaMalloc(reinterpret_cast<void**>(&to), 4 * kernel.out));
  check(cudaMemcpy(from, in.data(), 4 * kernel.in, cudaMemcpyHostToDevice));
  check(cudaMemset(to, 0xFF, 4 * kernel.out));
  kernel.run(from, to, nullptr);
  check(cudaDeviceSynchronize());
  check(cudaMemcpy(out.data(), to, 4 * kernel.out, cudaMemcpyDeviceToHost));
  check(cudaFree(from));
  check(cudaFree(to));
  return out;
}

int compare_all(const std::string& folder) {
  int devices = 0, different = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::fprintf(stderr, "gpu: there is no CUDA device here: nothing was compared\n");
    return 1;
  }
  for (const Conformance& kernel : conformance) {
    const Words out = run(kernel), expected = kept(std::string(kernel.name) + ".txt", kernel.out);
    write(folder + "/" + kernel.name + ".txt", out);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < out.size(); ++i) wrong += out[i] != expected[i];
    std::printf("%-28s %4zu words, %zu different\n", kernel.name, out.size(), wrong);
    different += wrong > 0;
  }
  std::printf("gpu: %d kernels, %d different from the simulator; dumps in %s\n", conformance_count, different, folder.c_str());
  return different == 0 ? 0 : 3;
}

}  // namespace
}  // namespace trireme::kernels::cuda

int main(int, char** arguments) {
  try {
    return trireme::kernels::cuda::compare_all(arguments[1]);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "gpu: %s\n", e.what());
    return 1;
  }
}
