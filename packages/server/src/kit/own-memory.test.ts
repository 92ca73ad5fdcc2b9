import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir, totalmem } from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { ownMemory, readMemoryLimit } from './own-memory.ts'

const V1 = 'sys/fs/cgroup/memory'
const V2 = 'sys/fs/cgroup'
const GROUPS_V1 = '5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n0::/\n'
/** Content of the file of version 1 without a limit. */
const NO_LIMIT_V1 = '9223372036854771712\n'

test.each<[name: string, files: Record<string, string>, limit: number | null]>([
  ['no cgroups', {}, null],
  ['no limit', { 'proc/self/cgroup': '0::/\n', [`${V2}/memory.max`]: 'max\n' }, null],
  [
    'its own group at the top',
    { 'proc/self/cgroup': '0::/\n', [`${V2}/memory.max`]: '536870912\n' },
    536870912,
  ],
  [
    'a limit that only slows it down',
    {
      'proc/self/cgroup': '0::/a\n',
      [`${V2}/a/memory.max`]: 'max\n',
      [`${V2}/a/memory.high`]: '1000\n',
    },
    null,
  ],
  [
    'a limit of a group above',
    {
      'proc/self/cgroup': '0::/system.slice/waxwing.service\n',
      [`${V2}/system.slice/memory.max`]: '2000\n',
      [`${V2}/system.slice/waxwing.service/memory.max`]: '3000\n',
    },
    2000,
  ],
  [
    'version 1, its own group',
    { 'proc/self/cgroup': GROUPS_V1, [`${V1}/docker/abc/memory.limit_in_bytes`]: '1000\n' },
    1000,
  ],
  [
    'version 1, its own group at the top, under no name',
    { 'proc/self/cgroup': GROUPS_V1, [`${V1}/memory.limit_in_bytes`]: '1000\n' },
    1000,
  ],
  [
    'version 1, memory beside another controller',
    { 'proc/self/cgroup': '4:cpu,memory:/a\n', [`${V1}/a/memory.limit_in_bytes`]: '1000\n' },
    1000,
  ],
  [
    'version 1, no limit',
    {
      'proc/self/cgroup': GROUPS_V1,
      [`${V1}/docker/abc/memory.limit_in_bytes`]: NO_LIMIT_V1,
      [`${V1}/docker/abc/memory.soft_limit_in_bytes`]: '1000\n',
    },
    null,
  ],
  [
    'more than the machine has',
    { 'proc/self/cgroup': '0::/\n', [`${V2}/memory.max`]: `${totalmem() + 4096}\n` },
    null,
  ],
])('the limit of a process with %s', async (_name, files, limit) => {
  const root = await mkdtemp(path.join(tmpdir(), 'waxwing-cgroup-'))
  await using cleanUp = new AsyncDisposableStack()
  cleanUp.defer(() => rm(root, { recursive: true }))
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(root, name)
    await mkdir(path.dirname(file), { recursive: true })
    await writeFile(file, text)
  }
  expect(readMemoryLimit(root)).toBe(limit)
})

test('the use of the memory that is nearest to its limit is below it', () => {
  const { bytes, bytesMax } = ownMemory()()
  expect(bytes).toBeGreaterThan(0)
  expect(bytes).toBeLessThan(bytesMax)
})
