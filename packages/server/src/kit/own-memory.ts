import { readFileSync } from 'node:fs'
import { totalmem } from 'node:os'
import path from 'node:path'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** How much of a memory is used, in bytes. A process that needs more than `bytesMax` is killed, or ends itself. */
export interface MemoryUse {
  of: 'container memory' | 'heap'
  bytes: number
  bytesMax: number
}

/** Where version 2 and version 1 of cgroups name the group of a process, and keep the limit of a group. */
const CGROUPS = [
  { line: /^0::(.*)$/m, folder: 'sys/fs/cgroup', file: 'memory.max' },
  {
    line: /^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(.*)$/m,
    folder: 'sys/fs/cgroup/memory',
    file: 'memory.limit_in_bytes',
  },
]

/**
 * The memory of this process's container in bytes, or null without a limit. `process.constrainedMemory()` would also
 * count limits beyond which nothing is killed, such as `memory.high`.
 * @param root where `/proc` and `/sys` are
 */
export function readMemoryLimit(root = '/'): number | null {
  const groups = readText(path.join(root, 'proc/self/cgroup'))
  const limits = CGROUPS.flatMap(({ line, folder, file }) => {
    const names = (line.exec(groups)?.[1] ?? '').split('/').filter(name => name !== '')
    // Each group above limits it as well. Within a container, its own group may be at the top, under no name.
    const above = Array.from({ length: names.length + 1 }, (_, count) => names.slice(0, count))
    return above.map(group => Number.parseInt(readText(path.join(root, folder, ...group, file)), 10))
  })
  // Without a limit it is "max", or more than any machine has.
  const real = limits.filter(limit => limit <= totalmem())
  return real.length > 0 ? Math.min(...real) : null
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

/** Reads the use of the container's memory or of V8's heap, whichever is nearer to its limit. */
export function ownMemory(): () => MemoryUse {
  const limit = readMemoryLimit()
  return () => {
    const { used_heap_size: bytes, heap_size_limit: bytesMax } = getHeapStatistics()
    const heap: MemoryUse = { of: 'heap', bytes, bytesMax }
    if (limit === null) return heap
    const container: MemoryUse = { of: 'container memory', bytes: process.memoryUsage.rss(), bytesMax: limit }
    return shareOf(container) > shareOf(heap) ? container : heap
  }
}

/** The share that is used, from 0 to 1. */
export function shareOf({ bytes, bytesMax }: MemoryUse): number {
  return bytes / bytesMax
}

/** Collects all garbage, which stops the process for some tenths of a second. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  // Only a context that is made after the flag was set has the function.
  const collect: () => void = runInNewContext('gc')
  collect()
}
