import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { makeFolder } from './make-folder.ts'

test('creates a folder with its missing parents, and refuses if none can be created', async () => {
  const root = await mkdtemp(path.join(tmpdir(), 'waxwing-folder-'))
  await using cleanup = new AsyncDisposableStack()
  cleanup.defer(() => rm(root, { recursive: true }))
  const deep = path.join(root, 'a', 'b', 'c')
  expect(await makeFolder(deep, 0o700)).toBe(path.join(root, 'a'))
  expect((await stat(deep)).mode & 0o777).toBe(0o700)
  expect(await makeFolder(deep, 0o700)).toBeNull()

  await writeFile(path.join(root, 'file'), '')
  await expect(makeFolder(path.join(root, 'file'), 0o700)).rejects.toThrow('EEXIST')
  await expect(makeFolder(path.join(root, 'file', 'x'), 0o700)).rejects.toThrow('ENOTDIR')
  if (process.platform === 'linux') {
    await expect(makeFolder('/proc/x', 0o700)).rejects.toThrow('/proc accepts no new folders')
    await expect(makeFolder('/proc/x/y', 0o700)).rejects.toThrow('/proc accepts no new folders')
  }
})
