// Loading kernels for composites from C++; in Python torch_cresset.load_plugin. The plugin's side is cresset/kernel_plugin.h.
#pragma once

#include <string>

namespace cresset {

/// Loads a plugin and registers its kernels: programs compiled from here on are offered to it first. The library is loaded in a child process first, so
/// that one that crashes is an error here as well. Throws std::runtime_error that names the path and what is wrong; nothing is registered then.
void load_plugin(const std::string& path);

}  // namespace cresset
