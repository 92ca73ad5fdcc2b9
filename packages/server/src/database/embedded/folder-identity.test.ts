import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rename, rm, stat, utimes } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { waitUntil } from '../../../test/wait-until.ts'
import { identifyFolder } from './folder-identity.ts'

const run = promisify(execFile)

async function makeFolder() {
  const folder = await mkdtemp(path.join(tmpdir(), 'waxwing-folder-'))
  return { path: folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
}

/** Changes a folder until its time of change shows it: clocks of file systems are coarse. */
async function changeLater(folder: string) {
  const readChange = async () => (await stat(folder, { bigint: true })).ctimeNs
  const before = await readChange()
  await waitUntil('a later change', async () => {
    await utimes(folder, 0, 0)
    return (await readChange()) !== before
  })
}

test('a folder keeps its identity when it changes and when it is moved, and a copy has another', async () => {
  await using parent = await makeFolder()
  const folder = path.join(parent.path, 'data')
  await mkdir(folder)
  await changeLater(folder)
  const identity = await identifyFolder(folder)
  await changeLater(folder)
  expect(await identifyFolder(folder)).toEqual(identity)

  await run('cp', ['--archive', folder, `${folder}.copy`])
  await rename(folder, `${folder}.moved`)
  await rename(`${folder}.copy`, folder)
  expect(await identifyFolder(`${folder}.moved`)).toEqual(identity)
  expect((await identifyFolder(folder)).inode).not.toBe(identity.inode)
})

test('a folder keeps its identity when its file system is mounted again', async context => {
  await using parent = await makeFolder()
  const image = path.join(parent.path, 'image')
  const mounted = path.join(parent.path, 'mounted')
  await mkdir(mounted)
  await run('truncate', ['--size=4M', image])
  const mount = async () => {
    await run('mount', ['--options', 'loop', image, mounted])
    return { [Symbol.asyncDispose]: async () => void (await run('umount', [mounted])) }
  }
  try {
    await run('mkfs.ext4', ['-q', image])
    await (await mount())[Symbol.asyncDispose]()
  } catch {
    return context.skip('A loop mount needs root, the right to mount, and mkfs.ext4')
  }
  const folder = path.join(mounted, 'data')
  const identities = []
  for (let round = 0; round < 2; round += 1) {
    await using _mounted = await mount()
    if (round === 0) await mkdir(folder)
    if (round === 0) await changeLater(folder)
    identities.push(await identifyFolder(folder))
  }
  expect(identities[1]).toEqual(identities[0])
})
